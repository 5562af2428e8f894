"""The result of a check: diagnostics, counts, the facts about every binding, and the simplified core program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .diagnostics import Diagnostic
from .node import Node
from .source import NOWHERE, Span

if TYPE_CHECKING:
    from . import core
    from .stored import Header


class Counts(Node):
    """How many assertions ended how. `entry` are the checks that a function makes on its own entry, `inner` those of them that
    nobody meets from outside: of a program that begins with @main or a script, the functions that it calls."""

    total: int = 0
    proved: int = 0
    refuted: int = 0
    residual: int = 0
    entry: int = 0
    inner: int = 0


class Case(Node):
    """The shape that something has where a condition holds, or, where data decides as well, behind one arm of an `if`."""

    when: str | None
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        """Where it has that shape."""
        return "in one arm of an `if`" if self.when is None else f"where {self.when}"


class Binding(Node):
    """What is known of one name. A dimension is an int or Rx text, "?" if unknown; `shape` is None where the rank is unknown,
    and `open` then has what is known: `[*s, d]`. `data` has the elements of integers, where all of them are known as sizes.

    `exactness` is exact, upper_bound or unknown per dimension; `bounds` has the upper bound's text where there is one.
    `sort` is Tensor, Size, Shape, ...; for a tuple, `items` has its parts. `cases` has the shapes of a rank that sizes decide.
    """

    name: str
    span: Span
    sort: str
    shape: tuple[int | str, ...] | None
    exactness: tuple[str, ...]
    bounds: tuple[str | None, ...]
    dtype: str
    asserted: bool = False
    items: tuple[Binding, ...] = ()
    open: str = "?"
    data: tuple[int | str, ...] | None = None
    cases: tuple[Case, ...] = ()


class FunctionShapes(Node):
    """Every binding of one function; `name` with its at sign (`@main` is the script)."""

    name: str
    params: tuple[Binding, ...]
    bindings: tuple[Binding, ...]
    result: Binding | None


class Demands(Node):
    """What a function demands of its inputs, as a signature: the type of each parameter, conditions, the result's type
    where it is known. `complete` is False where some check cannot be said in a signature. `place` is the part of the
    source that it can replace (NOWHERE if there is none). `necessary` is False where more is asked of empty tensors than
    need be."""

    name: str
    params: tuple[tuple[str, str], ...]
    where: tuple[str, ...]
    result: str | None
    complete: bool
    place: Span = NOWHERE
    necessary: bool = True

    def __str__(self) -> str:
        params = ", ".join(f"{name} : {type_}" for name, type_ in self.params)
        result = f" : {self.result}" if self.result is not None else ""
        where = f" where {', '.join(self.where)}" if self.where else ""
        return f"{self.name} = fn({params}){result}{where}"


class UndecidedCheck(Node):
    """An open check: what it needs in words, where it stands, and the same in a few words."""

    needs: str
    place: Span
    gist: str = ""


class EntryCondition(Node):
    """A condition on what comes in, as Rx text, with the sizes that it speaks of, the checks that ask for it, and the smallest
    sizes that break it and no other one."""

    text: str
    sizes: tuple[str, ...]
    asked: tuple[UndecidedCheck, ...]
    witness: Mapping[str, int] | None


class Conditions(Node):
    """What a function's inputs have to satisfy beside what its signature says of sizes, its `entry check`. `left` are the
    checks that sizes do not decide; `exact` is False where some inputs may break a condition and pass; for what is `supposed`
    see the options of simplify. `by_sizes` are the calls of whose indices sizes decide whether they fit; where they are
    `narrower` some are asked beyond what an operation needs."""

    name: str
    conditions: tuple[EntryCondition, ...]
    left: tuple[UndecidedCheck, ...]
    exact: bool
    supposed: tuple[str, ...] = ()
    entry_check: tuple[str, ...] = ()
    by_sizes: tuple[Span, ...] = ()
    narrower: bool = False


class Fact(Node):
    """One thing that is known, and the place that it comes from (NOWHERE: it follows from others)."""

    text: str
    place: Span


class Explanation(Node):
    """What is known of one name in one function."""

    function: str
    name: str
    known: str
    span: Span
    facts: tuple[Fact, ...]


# Whether inputs with some sizes, which are given by name, pass all checks.
Takes = Callable[[Mapping[str, int]], bool]


class Checked(Node):
    """`program` is the simplified core: proved assertions gone, decided branches folded, implementations chosen; residual
    assertions stand where they run, with status RESIDUAL, those of a callee's entry check before the call (which has
    `decided` set). `before` is the core before simplification. `questions` counts the solver's answers by layer. `silence`
    gives the warnings that an error takes the place of: they come to light when it is fixed. `headers` are those of the
    weights that the answers rest on, by path and key. `steps` is what reasoning took, `walked` what walking did, in steps as
    long; `ended`: they did not last for the whole program. `length` is how many statements there are, as long as
    `let y = x + x`."""

    diagnostics: tuple[Diagnostic, ...]
    counts: Counts
    before: core.Program
    program: core.Program
    questions: Mapping[str, int]
    describe: Callable[[], tuple[FunctionShapes, ...]]
    demand: Callable[[], tuple[Demands, ...]]
    explain: Callable[[str], tuple[Explanation, ...]]
    silence: Callable[[], tuple[Diagnostic, ...]] = tuple
    headers: Mapping[tuple[str, str | None], Header] = {}
    steps: int = 0
    length: int = 0
    walked: int = 0
    ended: bool = False
    require: Callable[[], tuple[Conditions, ...]] = tuple
    taking: Callable[[str], Takes | None] = dict[str, Takes]().get
    # What checks `before` once more, with options and headers: a Checker.
    anew: Callable[..., Any] = dict

    @property
    def silenced(self) -> tuple[Diagnostic, ...]:
        """The warnings that are silent, worded when somebody asks."""
        return self.silence()

    @property
    def shapes(self) -> tuple[FunctionShapes, ...]:
        """What is known of every binding, written out when somebody asks."""
        return self.describe()

    @property
    def demands(self) -> tuple[Demands, ...]:
        """What each function demands of its inputs, worked out when somebody asks."""
        return self.demand()

    @property
    def conditions(self) -> tuple[Conditions, ...]:
        """The same condition by condition, each with the checks that ask for it."""
        return self.require()

    def takes(self, function: str) -> Takes | None:
        """What tells of sizes whether inputs that have them pass all checks of a function; None where they do not decide."""
        return self.taking(function)
