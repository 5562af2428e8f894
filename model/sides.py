"""The other ways of PyTorch code by sizes: which of the conditions for taking the first one are conditions of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from ..lang.checked import Checked, Conditions, EntryCondition
from ..lang.expressions import names_in
from ..lang.node import replace
from ..simplify.solver.prove import prove
from .arms_by_data import is_way, outputs_of
from .contract import conditions_of
from .told import ReadRun, Told
from .ways import OtherWay, branches, joined

# The largest lower bound that is looked for.
_MOST_LEAST = 4


class Sides:
    """What the other ways say of the conditions that the first one has for being taken."""

    def __init__(
        self,
        read: ReadRun,
        others: Sequence[OtherWay],
        result: Callable[[OtherWay], ReadRun | None],
        given: Sequence[str],
    ) -> None:
        assert read.report.checked is not None
        self.told, self.others, self.result, self.given = read.told, others, result, given
        self.own = _shapes(read.told, read.report.checked)
        said = conditions_of(read.report.checked)
        self.own_demands = [c.text for c in said.conditions if not self._is_only_way(c)]
        self.left = set(_open_in(self.told, said))
        self.refused: dict[int, bool | None] = {}
        self.read: dict[int, ReadRun | None] = {}

    @cached_property
    def more(self) -> list[tuple[EntryCondition, Told, Checked]]:
        """The conditions of other ways that all sizes of the first one satisfy: that they are not 0, mostly."""
        own, found = [*self.own_demands, *branches(self.told.trace)], list[tuple[EntryCondition, Told, Checked]]()
        for number, other in enumerate(self.others):
            read = self._reading(number)
            if read is None or not read.report.ok or read.report.checked is None:
                continue
            known = [*self.own_demands, *(c.text for c, _, _ in found), *branches(other.run), *self.given]
            theirs = [c for c in conditions_of(read.report.checked).conditions if _follow(own, [c.text])]
            found += [(c, read.told, read.report.checked) for c in theirs if not _follow(known, [c.text])]
        return found

    def _reading(self, number: int) -> ReadRun | None:
        if number not in self.read:
            self.read[number] = None if self.others[number].same else self.result(self.others[number])
        return self.read[number]

    def is_way(self, condition: EntryCondition) -> bool:
        return is_way(self.told, condition)

    def _is_only_way(self, condition: EntryCondition) -> bool:
        """Whether a condition says no more than which way is taken."""
        return self.is_way(condition) and _follow(self._facts(condition), [condition.text])

    def of(self, condition: EntryCondition) -> bool | None:
        """Whether the other side of a way is refused; None where it is another case, or was not run."""
        if not self._is_only_way(condition):
            return None
        facts = set(self._facts(condition))
        there = [n for n, o in enumerate(self.others) if o.broken & facts]
        found = self._is_refused(there[0]) if there else None
        if found is None or any(self._is_refused(n) is not found for n in there[1:]):
            return None
        return None if found and any(self._is_free_of(condition, n) for n in range(len(self.others))) else found

    def weaker(self, condition: EntryCondition) -> EntryCondition | None:
        """A lower bound that leaves out just what the other ways refuse, where a condition leaves out more."""
        facts = set(self._facts(condition))
        if len(condition.sizes) != 1 or not self._is_only_way(condition) or not facts <= {*branches(self.told.trace)}:
            return None  # of a number that the code asked for no other was tried
        [name], numbers = condition.sizes, range(len(self.others))
        runs = (self.told.trace, *(other.run for other in self.others))
        anywhere = " || ".join(joined([f"{name} >= 0", *branches(run)]) for run in runs)
        for least in range(1, _MOST_LEAST):
            text = f"{name} >= {least}"
            is_run = _follow([condition.text], [text]) and _follow([text], [anywhere])
            if is_run and all(self._is_bound(n, condition.text, text, f"{name} < {least}") for n in numbers):
                return replace(condition, text=text)
        return None

    def _is_bound(self, number: int, own: str, inside: str, outside: str) -> bool:
        """Whether another way takes the sizes inside and no others, of those that are not the first way's own."""
        region, theirs = self._region(number), self._theirs(number)
        if _follow(region, [own]):
            return True
        if self._is_refused(number):
            return _follow(region, [outside])
        known = [*region, inside, *self._demanded]
        return theirs is not None and _follow([*region, *theirs], [inside]) and _follow(known, theirs)

    def _is_free_of(self, condition: EntryCondition, number: int) -> bool:
        """Whether what is not refused may break a condition on another way."""
        return not _follow(self._region(number), [condition.text]) and self._is_refused(number) is not True

    def way(self, condition: EntryCondition) -> list[str]:
        """The condition of a way: in full, where the conditions on this way have made it shorter."""
        facts, text = self._facts(condition), condition.text
        if not set(names_in(*facts)) <= set(self.told.trace.hints) or _follow([text], facts):
            return [text]
        others = [demanded for demanded in self.own_demands if demanded != text]
        return facts if _follow([*facts, *others, *self.given], [text]) else [*facts, text]

    def _facts(self, condition: EntryCondition) -> list[str]:
        """The facts of the way that a condition says: those at its lines, or all of its sizes where these make it wider."""
        asked = list(dict.fromkeys(self.told.fact(a.place.line) for a in condition.asked))
        own = [text for text in branches(self.told.trace) if set(names_in(text)) <= set(condition.sizes)]
        return own if not _follow(asked, [condition.text]) and _follow(own, [condition.text]) else asked

    def _is_refused(self, number: int) -> bool | None:
        if number not in self.refused:
            self.refused[number] = self._refusal(number)
        return self.refused[number]

    def _refusal(self, number: int) -> bool | None:
        other, read = self.others[number], self._reading(number)
        if not other.same and (read is None or not read.report.ok or read.report.checked is None):
            return None if other.run.stopped is not None and other.run.stopped.is_unread else True
        theirs = self._theirs(number)
        return False if theirs is not None and _follow([*self._demanded, *self._region(number)], theirs) else None

    @cached_property
    def _demanded(self) -> list[str]:
        return [*self.own_demands, *(c.text for c, _, _ in self.more)]

    def _region(self, number: int) -> list[str]:
        return [*branches(self.others[number].run), *self.given]

    def _theirs(self, number: int) -> list[str] | None:
        """The conditions of another way that gives the results of the first one and asks what that asks; else None."""
        read, region = self._reading(number), self._region(number)
        if self.others[number].same or read is None or read.report.checked is None:
            return [] if self.others[number].same else None
        said = conditions_of(read.report.checked)
        theirs = [*(c.text for c in said.conditions), *read.inner]
        fits = self.left.issuperset(_open_in(read.told, said)) and _follow([*theirs, *region], self._demanded)
        return theirs if fits and self._are_same(_shapes(read.told, read.report.checked), region) else None

    def _are_same(self, shapes: Sequence[Sequence[int | str]], region: Sequence[str]) -> bool:
        """Whether the first way's results have these shapes wherever the sizes are in a region."""
        own = self.own
        if [len(shape) for shape in shapes] != [len(shape) for shape in own]:
            return False
        pairs = [p for a, b in zip(shapes, own, strict=True) for p in zip(a, b, strict=True)]
        return _follow(region, [f"{a} == {b}" for a, b in dict.fromkeys(pairs) if a != b])


def _shapes(told: Told, checked: Checked) -> list[Sequence[int | str]]:
    """The shapes of a way's results as the trace knows them; a size that only the program knows, as checking does."""
    found = zip(told.trace.shapes, outputs_of(told.trace, checked), strict=True)
    return [[_known(told, *dims) for dims in zip(own, one.shape or own, strict=True)] for own, one in found]


def _known(told: Told, traced: str, checked: int | str) -> int | str:
    return traced if checked == "?" or set(names_in(traced)) <= set(told.trace.hints) else checked


def _open_in(told: Told, said: Conditions) -> Iterator[str]:
    """The lines with checks that sizes do not decide."""
    steps = (told.step(asked.place.line) for asked in said.left)
    yield from (step.place.key for step in steps if step is not None)


def _follow(facts: Sequence[str], texts: Iterable[str]) -> bool:
    return all(prove(facts, text)["result"] in ("valid", "vacuous") for text in texts)
