"""Where a walk is: what is passed down from a piece of a function to its parts, and the statements that are written there."""

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
    """Names for what simplification binds: none of the program's, and each a new one."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = taken
        self._numbers = count(1)

    def fresh(self) -> str:
        """A name that nothing has."""
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
        """A name that nothing has."""
        return self.temporaries.fresh()

    def inner(self) -> Emitter:
        """For a block inside this one, or for statements that only matter by their values."""
        return Emitter(self.temporaries)


class Side(NamedTuple):
    """An arm of an `if` that something other than sizes decides: of which one, and whether it is the first."""

    choice: int
    first: bool


class DataChoice(NamedTuple):
    """An `if` that something other than sizes decides, by its place and the calls that lead there."""

    place: Span
    calls: tuple[Span, ...]


class Turn(Node):
    """A turn of a loop, whichever it is. What is newer than `since` changes from turn to turn; `path` leads to it; in the first
    turn its sizes are what `firsts` say. Where nothing but the range ends the loop, `ends` are its index in the first turn and
    in the last. `outer` is that of the loop around."""

    since: int
    path: tuple[Cond | None, ...]
    firsts: tuple[Cond, ...]
    index: Size = 0
    ends: tuple[tuple[str, Size], ...] = ()
    outer: Turn | None = None


class Turns(Node):
    """The range of a loop as sizes; `index` is what its name stands for in a turn."""

    start: Size
    stop: Size
    step: Size
    index: Size

    @property
    def count(self) -> Size:
        """How many there are, where the range does not go backwards."""
        return ceildiv(self.stop - self.start, self.step)


class Frame(Node):
    """Where in a walk a piece of a program stands. It is handed down and never written to.

    `out` takes the statements of the block, `names` has what annotations of the scope call its sizes. `path` are the
    conditions of the arms around (None for one that is not about sizes); `sides` are those, as far as it is known which one is
    taken where another is not. In an inlined body `site` is the call in the user's
    function, `calls` are the calls that lead there, outermost first, and `inlined` the functions that they enter, whose bodies
    are nested so deeply in all (`depth`). `quiet`: nothing is counted and nothing told. `trial`: what is asked is whether
    something would hold; `captured` takes why it would not. `turn` is that of the loop around. `is_case`: the sizes are
    those of one case, and what fails there need not fail in another one.
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
        """Whether whoever gets to the function gets here, wherever it takes arms that no sizes decide."""
        return None not in self.sides and len(self.sides) == sum(taken is not True for taken in self.path)

    def block(self) -> Frame:
        """The frame of a block inside."""
        return replace(self, out=self.out.inner())

    def arm(self, taken: Cond | None, side: Side | None = None) -> Frame:
        """The frame of an arm that is taken under a condition, or of a side that something else decides."""
        sides = self.sides if taken is not None else (*self.sides, side)
        return replace(self, path=(*self.path, taken), sides=sides)

    def tried(self, captured: list[Finding] | None = None) -> Frame:
        """The same place, asked only whether something would hold there, whichever turn it is."""
        return replace(self.left_over(), quiet=True, trial=True, captured=captured)

    def left_over(self) -> Frame:
        """The frame of what runs only where nothing else was chosen: in some turns, and maybe not in the first or the last."""
        turn = None if self.turn is None else replace(self.turn, ends=())
        return replace(self, out=self.out.inner(), turn=turn)

    def silent(self, site: Span) -> Frame:
        """For statements of an inlined wrapper: their values matter, not their code."""
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
