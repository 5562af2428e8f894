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
    """Assertions by outcome. `entry` counts the checks that functions make on their own entry; `inner` counts those among
    them that outside callers never meet: in a program with @main or a script, the checks of the functions that it calls."""

    total: int = 0
    proved: int = 0
    refuted: int = 0
    residual: int = 0
    entry: int = 0
    inner: int = 0


class Case(Node):
    """A value's shape under a condition; if data decides, `when` is None and the shape is that in one arm of an `if`."""

    when: str | None
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        """The condition in words."""
        return "in one arm of an `if`" if self.when is None else f"where {self.when}"


class Binding(Node):
    """The facts about one name. A dimension is an int or Rx text, "?" if unknown; `shape` is None if the rank is unknown, and
    then `open` has the known part: `[*s, d]`. `data` has the elements of integers if all of them are known as sizes.

    `exactness` is exact, upper_bound or unknown per dimension; `bounds` has the text of the upper bound, if there is one.
    `sort` is Tensor, Size, Shape, ...; for a tuple, `items` has its parts. `cases` has the shapes if sizes decide the rank.
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
    """A function's demands on its inputs, as a signature: the type of each parameter, conditions, and the result's type if it
    is known. `complete` is False if a signature cannot express some check. `place` is the part of the source that the
    signature can replace (NOWHERE if there is none). `necessary` is False if the signature asks too much of empty tensors."""

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
    """An open check: what it needs in words, its place, and a short form of the words."""

    needs: str
    place: Span
    gist: str = ""


class EntryCondition(Node):
    """A condition on the inputs, as Rx text, with its sizes, the checks that ask for it, and the smallest sizes that break
    only this condition."""

    text: str
    sizes: tuple[str, ...]
    asked: tuple[UndecidedCheck, ...]
    witness: Mapping[str, int] | None


class Conditions(Node):
    """The conditions on a function's inputs beyond the `entry_check`, which its signature states about sizes. `left` are the
    checks that sizes do not decide; `exact` is False if inputs may break a condition and still pass; for `supposed` see the
    options of simplify. `by_sizes` are the calls where sizes decide whether indices are in range; `narrower`: some conditions
    ask more than the operations need."""

    name: str
    conditions: tuple[EntryCondition, ...]
    left: tuple[UndecidedCheck, ...]
    exact: bool
    supposed: tuple[str, ...] = ()
    entry_check: tuple[str, ...] = ()
    by_sizes: tuple[Span, ...] = ()
    narrower: bool = False


class Fact(Node):
    """A known fact, and the place that it comes from (NOWHERE: it follows from others)."""

    text: str
    place: Span


class Explanation(Node):
    """The facts about one name in one function."""

    function: str
    name: str
    known: str
    span: Span
    facts: tuple[Fact, ...]


# Whether inputs with the given sizes, by name, pass all checks.
Takes = Callable[[Mapping[str, int]], bool]


class Checked(Node):
    """`program` is the simplified core: proved assertions removed, decided branches folded, implementations chosen. Residual
    assertions stay in place with status RESIDUAL; those of a callee's entry check precede the call (which has `decided` set).
    `before` is the core before simplification. `questions` counts the solver's answers by layer. `silence` gives the warnings
    that an error hides: they appear when it is fixed. `headers` are the weight headers that the answers rest on, by path and
    key. `steps` is the cost of reasoning, `walked` the cost of walking, in the same unit; `ended`: the budget did not last
    for the whole program. `length` is the number of statements, in units of `let y = x + x`."""

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
    # Checks `before` once more, with options and headers: a Checker.
    anew: Callable[..., Any] = dict

    @property
    def silenced(self) -> tuple[Diagnostic, ...]:
        """The hidden warnings, worded on demand."""
        return self.silence()

    @property
    def shapes(self) -> tuple[FunctionShapes, ...]:
        """The facts about every binding, written out on demand."""
        return self.describe()

    @property
    def demands(self) -> tuple[Demands, ...]:
        """The demands of each function on its inputs, computed on demand."""
        return self.demand()

    @property
    def conditions(self) -> tuple[Conditions, ...]:
        """The demands condition by condition, each with the checks that ask for it."""
        return self.require()

    def takes(self, function: str) -> Takes | None:
        """A predicate on sizes: whether inputs with them pass all checks of a function; None if sizes do not decide."""
        return self.taking(function)
