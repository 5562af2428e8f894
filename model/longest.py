"""The longest inputs that a model takes, if no formula gives them: searched with numbers, then proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from ..lang.checked import Checked
from ..lang.diagnostics import Diagnostic, RxError
from ..lang.expressions import names_in
from ..lang.given import Given, read_given
from ..lang.node import Node
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.terms.steps import StepBudget
from .at_sizes import smallest
from .contract import Clause, Contract, Writer, failed
from .replay import Parameter, Unanswered, failure_at
from .tried import Tried

Sizes = Mapping[str, int]
# Larger models are not searched, as each number takes as long as a check of the model, nor those with more sizes; nor are
# longer inputs.
_MOST_NODES, _MOST_LENGTH = 200, 4_000
_MOST_SIZES = 4
_FARTHEST = 2**16
# Steps of reasoning for all numbers that are tried, which are mostly evaluated.
_MOST_STEPS = 100_000


class Longest(Node):
    """The largest number at which a size passes all checks; the sizes just beyond it, and the failure there."""

    name: str
    most: int
    beyond: Sizes
    failure: Diagnostic


def longest(tried: Tried, made: Contract, check: Callable[[Given], Tried]) -> Iterator[Clause]:
    """Conditions such as `t <= 512` that the remaining checks impose: each refuses only inputs that surely fail. `check`
    checks the model under given conditions."""
    checked, left = tried.report.checked, {d.node for d in made.undecided}
    names = names_in(*(size for i in made.inputs for size in i.shape or ()))
    if not left or checked is None or len(names) > _MOST_SIZES:
        return
    if len(tried.model.graph.operations) > _MOST_NODES or checked.length > _MOST_LENGTH:
        return
    writer = Writer(tried.model, tried.translation, made.inputs, checked)
    known = [c.condition for c in made.conditions]
    numbers = _Numbers(checked, writer.params, [*writer.entry_check, *known], names)
    for name in names:
        found = numbers.longest(name)
        if found is None or writer.demand(failed(found.failure)).node not in left or numbers.passes_somewhere(found):
            continue
        empties = numbers.empties(found)
        if _always_fails(check, [*known, f"{name} > {found.most}", *(f"{e} >= 1" for e in empties)]):
            yield _clause(writer, found, empties)


def _always_fails(check: Callable[[Given], Tried], given: Sequence[str]) -> bool:
    """Whether a model is refused at all sizes that satisfy the given conditions."""
    try:
        report = check(read_given(f"@main: {', '.join(given)}")).report
    except RxError:  # a condition that no signature can state
        return False
    return not report.ok and report.counts.refuted > 0


def _clause(writer: Writer, found: Longest, empties: Sequence[str]) -> Clause:
    text = " || ".join((f"{found.name} <= {found.most}", *(f"{e} == 0" for e in empties)))
    demand = writer.demand(failed(found.failure), [found.name])
    return Clause(text, (found.name, *empties), (demand,), found.beyond, demand)


class _Numbers:
    """A checked model at sizes that are numbers and satisfy the known conditions."""

    def __init__(
        self, checked: Checked, params: tuple[Parameter, ...], known: Sequence[str], names: Sequence[str]
    ) -> None:
        self.checked, self.params, self.known, self.names = checked, params, known, names
        self._found: dict[tuple[int, ...], Diagnostic | None] = {}
        self._steps = _MOST_STEPS

    def longest(self, name: str) -> Longest | None:
        """The end of the range that passes, from the smallest number on; all other sizes are small."""
        begin = self._begin
        if not self._is_known(begin) or self._failure(begin) is not None:
            return None
        end = self._last(name, self._is_known, _FARTHEST)
        if self._failure({**begin, name: end}) is None:
            return None
        most = self._last(name, lambda sizes: self._failure(sizes) is None, end)
        beyond = {**begin, name: most + 1}
        failure = self._failure(beyond)
        return None if failure is None or not self._is_known(beyond) else Longest(name, most, beyond, failure)

    def _last(self, name: str, passes: Callable[[Sizes], bool], end: int) -> int:
        """The last number that passes, between the smallest one and `end`; all other sizes are small."""
        low, high = self._begin[name], max(2 * self._begin[name], 1)
        while high < end and passes({**self._begin, name: high}):
            low, high = high, 2 * high
        high = min(high, end)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if passes({**self._begin, name: middle}) else (low, middle)
        return high if passes({**self._begin, name: high}) else low

    @cached_property
    def _begin(self) -> Sizes:
        return smallest(self.params, self.known)

    def empties(self, found: Longest) -> list[str]:
        """The sizes that let a longer input pass if they are 0."""
        others = [n for n in self.names if n != found.name]
        return [n for n in others if self._failure({**found.beyond, n: 0}) is None]

    def passes_somewhere(self, found: Longest) -> bool:
        """Whether a longer input passes if the other sizes are doubled."""
        sizes = {n: 2 * size for n, size in found.beyond.items()} | {found.name: found.beyond[found.name]}
        return self._is_known(sizes) and self._failure(sizes) is None

    def _is_known(self, sizes: Sizes) -> bool:
        return all(holds_at(text, sizes) for text in self.known)

    def _failure(self, sizes: Sizes) -> Diagnostic | None:
        key = tuple(sizes[name] for name in self.names)
        if key not in self._found:
            try:
                with StepBudget(self._steps) as budget:
                    self._found[key] = failure_at(self.checked, self.params, sizes)
                self._steps = max(budget.left, 0)
            except Unanswered:
                self._found[key] = None
        return self._found[key]
