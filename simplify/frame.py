"""The position of a walk: data passed down from a piece of a function to its parts, and the statements written there."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count
from typing import NamedTuple

from ..lang import core
from ..lang.node import Node, replace
from ..lang.source import Span
from .known.finding import Finding
from .known.naming import Names
from .solver.conditions import Cond
from .solver.terms import Size, ceildiv


class Temporaries:
    """Names for bindings that simplification makes: each is new, and none is the program's."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = taken
        self._numbers = count(1)

    def fresh(self) -> str:
        """Return an unused name."""
        return next(name for n in self._numbers if (name := f"t{n}'") not in self._taken)


class Emitter:
    """The simplified statements of one block, while they are written."""

    def __init__(self, temporaries: Temporaries) -> None:
        self.stmts: list[core.Stmt] = []
        self.temporaries = temporaries

    def write(self, *stmts: core.Stmt) -> None:
        """Append statements."""
        self.stmts.extend(stmts)

    def temporary(self) -> str:
        """Return an unused name."""
        return self.temporaries.fresh()

    def inner(self) -> Emitter:
        """Return an emitter for a block inside this one, or for statements of which only the values matter."""
        return Emitter(self.temporaries)


class Side(NamedTuple):
    """An arm of an `if` that something other than sizes decides: the number of the `if`, and whether it is the first arm."""

    choice: int
    first: bool


class DataChoice(NamedTuple):
    """An `if` that something other than sizes decides, by its place and the calls that lead there."""

    place: Span
    calls: tuple[Span, ...]


class Turn(Node):
    """Any turn of a loop. Sizes newer than `since` change from turn to turn; `path` leads to the turn; `firsts` gives the
    sizes in the first turn. If only the range ends the loop, `ends` has the index in the first and in the last turn. `outer`
    is the turn of the loop around."""

    since: int
    path: tuple[Cond | None, ...]
    firsts: tuple[Cond, ...]
    index: Size = 0
    ends: tuple[tuple[str, Size], ...] = ()
    outer: Turn | None = None


class Turns(Node):
    """The range of a loop as sizes; `index` is the loop's index in a turn."""

    start: Size
    stop: Size
    step: Size
    index: Size

    @property
    def count(self) -> Size:
        """The number of turns, for a range that does not go backwards."""
        return ceildiv(self.stop - self.start, self.step)


class Frame(Node):
    """The place of a piece of a program in a walk. It is handed down and never written to.

    `out` takes the statements of the block; `names` has the names that annotations of the scope give to sizes. `path` are the
    conditions of the arms around (None for one that is not about sizes); `sides` identifies the arms that sizes do not decide
    (None if it cannot). In an inlined body `site` is the call in the user's function, `calls` are the calls that lead there,
    outermost first, `inlined` the functions that they enter, and `depth` the nesting of all their bodies. `quiet`: nothing is
    counted or reported. `trial`: the question is whether something would hold; `captured` takes the reason if it would not.
    `turn` is that of the loop around. `is_case`: the sizes are those of one case; a failure there need not occur in another
    one.
    """

    out: Emitter
    names: Names
    site: Span | None = None
    calls: tuple[Span, ...] = ()
    inlined: tuple[str, ...] = ()
    depth: int = 0
    path: tuple[Cond | None, ...] = ()
    sides: tuple[Side | None, ...] = ()
    quiet: bool = False
    trial: bool = False
    captured: list[Finding] | None = None
    turn: Turn | None = None
    is_case: bool = False

    @property
    def is_reached(self) -> bool:
        """Whether every run that takes the arms not decided by sizes gets here."""
        return None not in self.sides and len(self.sides) == sum(taken is not True for taken in self.path)

    def block(self) -> Frame:
        """The frame of a block inside."""
        return replace(self, out=self.out.inner())

    def arm(self, taken: Cond | None, side: Side | None = None) -> Frame:
        """The frame of an arm that is taken under a condition, or of a side that something else decides."""
        sides = self.sides if taken is not None else (*self.sides, side)
        return replace(self, path=(*self.path, taken), sides=sides)

    def tried(self, captured: list[Finding] | None = None) -> Frame:
        """The frame of a trial at the same place: whether something would hold there, in any turn."""
        return replace(self.left_over(), quiet=True, trial=True, captured=captured)

    def left_over(self) -> Frame:
        """The frame of code that runs only if nothing else was chosen: in some turns, perhaps not in the first or the
        last."""
        turn = None if self.turn is None else replace(self.turn, ends=())
        return replace(self, out=self.out.inner(), turn=turn)

    def silent(self, site: Span) -> Frame:
        """The frame for statements of an inlined wrapper, of which only the values matter."""
        return replace(self, out=self.out.inner(), site=self.site or site)

    def into(self, identity: str, call: Span, depth: int) -> Frame:
        """The frame of a body that is inlined at a call, for its value only."""
        return replace(
            self,
            out=self.out.inner(),
            names=Names(self.names.state),
            site=self.site or call,
            calls=(*self.calls, call),
            inlined=(*self.inlined, identity),
            depth=self.depth + depth,
            quiet=True,
        )
