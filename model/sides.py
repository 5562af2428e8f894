"""The other ways of PyTorch code by sizes: which of the conditions for taking the first one are conditions of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..lang.checked import Conditions, EntryCondition
from ..lang.expressions import names_in
from ..simplify.solver.prove import prove
from .arms_by_data import is_way
from .contract import conditions_of
from .told import ReadRun, Told
from .ways import OtherWay, branches


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
        said = conditions_of(read.report.checked)
        self.demanded = [c.text for c in said.conditions if not self._is_only_way(c)]
        self.left = set(_open_in(self.told, said))
        self.refused: dict[int, bool | None] = {}

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

    def _is_free_of(self, condition: EntryCondition, number: int) -> bool:
        """Whether what is not refused may break a condition on another way."""
        region = [*branches(self.others[number].run), *self.given]
        return not _follow(region, [condition.text]) and self._is_refused(number) is not True

    def way(self, condition: EntryCondition) -> list[str]:
        """The condition of a way: in full, where the conditions on this way have made it shorter."""
        facts = self._facts(condition)
        is_whole = not set(names_in(*facts)) <= set(self.told.trace.hints) or _follow([condition.text], facts)
        return [condition.text] if is_whole else facts

    def _facts(self, condition: EntryCondition) -> list[str]:
        return list(dict.fromkeys(self.told.fact(a.place.line) for a in condition.asked))

    def _is_refused(self, number: int) -> bool | None:
        if number not in self.refused:
            self.refused[number] = self._refusal(self.others[number])
        return self.refused[number]

    def _refusal(self, other: OtherWay) -> bool | None:
        if other.same:
            return False
        read = self.result(other)
        if read is None or not read.report.ok or read.report.checked is None:
            return None if other.run.stopped is not None and other.run.stopped.is_unread else True
        said = conditions_of(read.report.checked)
        if not self.left.issuperset(_open_in(read.told, said)):
            return None
        theirs = [*(c.text for c in said.conditions), *read.inner]
        region = [*branches(other.run), *self.given]
        is_same = _follow([*self.demanded, *region], theirs) and _follow([*theirs, *region], self.demanded)
        return False if is_same and self._are_same(other.run.shapes, region) else None

    def _are_same(self, shapes: Sequence[Sequence[str]], region: Sequence[str]) -> bool:
        """Whether the first way's results have these shapes wherever the sizes are in a region."""
        own = self.told.trace.shapes
        if [len(shape) for shape in shapes] != [len(shape) for shape in own]:
            return False
        pairs = [p for a, b in zip(shapes, own, strict=True) for p in zip(a, b, strict=True)]
        return _follow(region, [f"{a} == {b}" for a, b in dict.fromkeys(pairs) if a != b])


def _open_in(told: Told, said: Conditions) -> Iterator[str]:
    """The lines with checks that sizes do not decide."""
    steps = (told.step(asked.place.line) for asked in said.left)
    yield from (step.place.key for step in steps if step is not None)


def _follow(facts: Sequence[str], texts: Iterable[str]) -> bool:
    return all(prove(facts, text)["result"] in ("valid", "vacuous") for text in texts)
