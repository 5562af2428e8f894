"""The other paths of PyTorch code by sizes: decides which conditions for taking the first path are conditions on its
inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ..lang.checked import Checked, Conditions, EntryCondition, UndecidedCheck
from ..lang.expressions import names_in
from ..lang.node import replace
from ..lang.source import Source, Span
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from .arms_by_data import outputs_of, selects_path
from .contract import Typed, conditions_of, failed
from .paths import OtherPath, branches, joined, region_of
from .replay import Unanswered, failure_at
from .told import ReadRun, Told

# The largest lower bound that is tried.
_MOST_LEAST = 4


class PathConditions:
    """Judges the conditions for taking the first path by the checks of the other paths."""

    def __init__(
        self,
        read: ReadRun,
        others: Sequence[OtherPath],
        result: Callable[[OtherPath], ReadRun | None],
        given: Sequence[str],
    ) -> None:
        assert read.report.checked is not None
        self.told, self.checked = read.told, read.report.checked
        self.others, self.result, self.given = others, result, given
        self.own = results_of(self.told, self.checked)
        self.left = set(_open_in(self.told, conditions_of(self.checked)))
        self.refused: dict[int, bool | None] = {}
        self.read: dict[int, ReadRun | None] = {}
        parts = [_parts(self.told, self.checked, c) for c in conditions_of(self.checked).conditions]
        self.conditions = [part for found in parts for part in found[:2]]
        self.joined = {path.text: (bound.text, whole) for bound, path, whole in (p for p in parts if len(p) == 3)}
        self.own_demands = [c.text for c in self.conditions if not _only_selects_path(self.told, c)]

    @cached_property
    def more(self) -> list[tuple[EntryCondition, Told, Checked]]:
        """The conditions of other paths that all sizes of the first one satisfy, mostly that they are not 0."""
        own, found = [*self.own_demands, *branches(self.told.trace)], list[tuple[EntryCondition, Told, Checked]]()
        for number, other in enumerate(self.others):
            read = self.reading(number)
            if read is None or not read.report.ok or read.report.checked is None:
                continue
            known = [*self.own_demands, *(c.text for c, _, _ in found), *branches(other.run), *self.given]
            theirs = [c for c in _bounds(read.told, read.report.checked) if follow(own, [c.text])]
            found += [(c, read.told, read.report.checked) for c in theirs if not follow(known, [c.text])]
        return found

    def said(self, kept: Mapping[str, bool | None]) -> Iterator[EntryCondition]:
        """The conditions; where one was split and both parts are kept, the original one."""
        whole = {path: both for path, both in self.joined.items() if kept[path]}
        bounds = {bound for bound, _ in whole.values()}
        yield from (whole[c.text][1] if c.text in whole else c for c in self.conditions if c.text not in bounds)

    def reading(self, number: int) -> ReadRun | None:
        """The check of another path; None where it was not checked, and where it computes the same."""
        if number not in self.read:
            self.read[number] = None if self.others[number].same else self.result(self.others[number])
        return self.read[number]

    def selects_path(self, condition: EntryCondition) -> bool:
        return selects_path(self.told, condition)

    def of(self, condition: EntryCondition) -> bool | None:
        """Whether the other side of a branch is refused; None where it is another case, or was not run."""
        if not _only_selects_path(self.told, condition):
            return None
        facts = set(_facts(self.told, condition))
        there = [n for n, o in enumerate(self.others) if o.broken & facts]
        found = self._is_refused(there[0]) if there else None
        if found is None or any(self._is_refused(n) is not found for n in there[1:]):
            return None
        return None if found and any(self._is_free_of(condition, n) for n in range(len(self.others))) else found

    def weaker(self, condition: EntryCondition) -> tuple[EntryCondition, Told, Checked] | None:
        """A lower bound that excludes exactly the sizes that the other paths refuse, where a condition excludes more."""
        facts = set(_facts(self.told, condition))
        if (
            len(condition.sizes) != 1
            or not _only_selects_path(self.told, condition)
            or not facts <= {*branches(self.told.trace)}
        ):
            return None  # if the code asked for a number, no other was tried
        [name], numbers = condition.sizes, range(len(self.others))
        runs = (self.told.trace, *(other.run for other in self.others))
        anywhere = " || ".join(joined([f"{name} >= 0", *branches(run)]) for run in runs)
        for least in range(1, _MOST_LEAST):
            text = f"{name} >= {least}"
            is_run = follow([condition.text], [text]) and follow([text, *self._demanded], [anywhere])
            if is_run and all(self._is_bound(n, condition.text, text, f"{name} < {least}") for n in numbers):
                return self._where_refused(condition, text, {**self.told.trace.hints, name: least - 1})
        return None

    def not_run(self, taken: Sequence[str]) -> Mapping[str, int] | None:
        """Sizes that satisfy these conditions and take a path that no run took."""
        runs = (self.told.trace, *(other.run for other in self.others))
        known = [*(f"{name} >= 0" for name in self.told.trace.hints), *taken]
        found = prove(known, " || ".join(map(region_of, runs))).get("witness") if branches(self.told.trace) else None
        return None if found is None else {**self.told.trace.hints, **found}

    def _where_refused(
        self, condition: EntryCondition, text: str, below: Mapping[str, int]
    ) -> tuple[EntryCondition, Told, Checked]:
        """A weaker condition, with the failing check on the path of the sizes below it."""
        for number, other in enumerate(self.others):
            read = self.reading(number)
            if (
                read is not None
                and read.report.checked is not None
                and all(holds_at(t, below) for t in branches(other.run))
            ):
                said = _failure(read.report.checked, read.told, below)
                if said is not None:
                    found = replace(condition, text=text, asked=(said,), witness=below)
                    return found, read.told, read.report.checked
        return replace(condition, text=text), self.told, self.checked

    def _is_bound(self, number: int, own: str, inside: str, outside: str) -> bool:
        """Whether another path accepts the sizes inside and no others, apart from those of the first path."""
        region, theirs = self._region(number), self._theirs(number)
        if follow(region, [own]):
            return True
        if self._is_refused(number):
            return follow(region, [outside])
        known = [*region, inside, *self._demanded]
        return theirs is not None and follow([*region, *theirs], [inside]) and follow(known, theirs)

    def _is_free_of(self, condition: EntryCondition, number: int) -> bool:
        """Whether accepted sizes may break a condition on another path."""
        return not follow(self._region(number), [condition.text]) and self._is_refused(number) is not True

    def path(self, condition: EntryCondition) -> list[str]:
        """The condition of a path; in full, where the other conditions on it made it shorter."""
        facts, text = _facts(self.told, condition), condition.text
        if not set(names_in(*facts)) <= set(self.told.trace.hints) or follow([text], facts):
            return [text]
        others = [demanded for demanded in self.own_demands if demanded != text]
        return facts if follow([*facts, *others, *self.given], [text]) else [*facts, text]

    def _is_refused(self, number: int) -> bool | None:
        if number not in self.refused:
            self.refused[number] = self._refusal(number)
        return self.refused[number]

    def _refusal(self, number: int) -> bool | None:
        other, read = self.others[number], self.reading(number)
        if not other.same and (read is None or not read.report.ok or read.report.checked is None):
            return None if other.run.stopped is not None and other.run.stopped.is_unread else True
        theirs = self._theirs(number)
        return False if theirs is not None and follow([*self._demanded, *self._region(number)], theirs) else None

    @cached_property
    def _demanded(self) -> list[str]:
        return [*self.own_demands, *(c.text for c, _, _ in self.more)]

    def _region(self, number: int) -> list[str]:
        return [*branches(self.others[number].run), *self.given]

    def _theirs(self, number: int) -> list[str] | None:
        """The conditions of another path that has the results of the first one and imposes its conditions; else None."""
        read, region = self.reading(number), self._region(number)
        if self.others[number].same or read is None or read.report.checked is None:
            return [] if self.others[number].same else None
        said = conditions_of(read.report.checked)
        theirs = [*(c.text for c in said.conditions), *read.inner]
        fits = self.left.issuperset(_open_in(read.told, said)) and follow([*theirs, *region], self._demanded)
        return theirs if fits and self._are_same(results_of(read.told, read.report.checked), region) else None

    def _are_same(self, results: Sequence[Typed], region: Sequence[str]) -> bool:
        """Whether the first path's results have these types wherever the sizes are in a region."""
        own = self.own
        if [(r.dtype, len(r.shape or ())) for r in results] != [(r.dtype, len(r.shape or ())) for r in own]:
            return False
        pairs = [p for a, b in zip(results, own, strict=True) for p in zip(a.shape or (), b.shape or (), strict=True)]
        return follow(region, [f"{a} == {b}" for a, b in dict.fromkeys(pairs) if a != b])

    def outputs(self, facts: Sequence[str]) -> Iterator[Typed]:
        """The results of the check; a size that it knows only for the first path is taken from the trace."""
        regions = [[*facts, *self._region(n)] for n in range(len(self.others)) if self._is_refused(n) is not True]
        for said, traced in zip(outputs_of(self.told.trace, self.checked), self.own, strict=True):
            dims = zip(said.shape or (), traced.shape or (), strict=said.shape is not None)
            known = tuple(a if a == b or all(follow(r, [f"{a} == {b}"]) for r in regions) else b for a, b in dims)
            yield replace(said, shape=known) if said.shape is not None else said


def _parts(told: Told, checked: Checked, condition: EntryCondition) -> tuple[EntryCondition, ...]:
    """A condition; or the lower bound that an operation needs, the condition of the path, and the original one."""
    bound = None if _only_selects_path(told, condition) else _bound(told, checked, condition)
    if bound is None:
        return (condition,)
    facts = _facts_of_sizes(told, condition)
    for text in facts:
        others = [fact for fact in facts if fact != text]
        facts = others if follow([*others, bound.text], [condition.text]) else facts
    asked = tuple(_check_of(told, condition.asked[0].place.source, text) for text in facts)
    return bound, replace(condition, text=" && ".join(facts), asked=asked), condition


def _check_of(told: Told, source: Source, fact: str) -> UndecidedCheck:
    """The check of a fact that a line of the program asserts."""
    line = next(n for n in told.trace.steps if told.fact(n) == fact)
    start = source.line_starts()[line - 1]
    return UndecidedCheck(f"it needs {fact}", Span(source, start, start + len(source.line(line))))


def _bounds(told: Told, checked: Checked) -> Iterator[EntryCondition]:
    """The conditions of a path, without those that only select it."""
    for condition in conditions_of(checked).conditions:
        yield _bound(told, checked, condition) or condition


def _bound(told: Told, checked: Checked, condition: EntryCondition) -> EntryCondition | None:
    """The least bound that, with the facts of the path, implies a condition that an operation imposes."""
    facts = _facts_of_sizes(told, condition) if len(condition.sizes) == 1 else []
    for least in range(1, _MOST_LEAST if facts else 0):
        text, below = f"{condition.sizes[0]} >= {least}", {**told.trace.hints, condition.sizes[0]: least - 1}
        if follow([*facts, text], [condition.text]):
            is_other = follow([condition.text], [text]) and not follow([text], [condition.text])
            failing = _failure(checked, told, below) if is_other else None
            found = None if failing is None else replace(condition, text=text, asked=(failing,), witness=below)
            return None if found is None or selects_path(told, found) else found
    return None


def _only_selects_path(told: Told, condition: EntryCondition) -> bool:
    """Whether a condition only selects the path."""
    return selects_path(told, condition) and follow(_facts(told, condition), [condition.text])


def _facts(told: Told, condition: EntryCondition) -> list[str]:
    """The path's facts behind a condition: those at its lines, or all about its sizes if only these imply it."""
    asked = list(dict.fromkeys(told.fact(a.place.line) for a in condition.asked))
    own = _facts_of_sizes(told, condition)
    return own if not follow(asked, [condition.text]) and follow(own, [condition.text]) else asked


def _facts_of_sizes(told: Told, condition: EntryCondition) -> list[str]:
    return [text for text in branches(told.trace) if set(names_in(text)) <= set(condition.sizes)]


def _failure(checked: Checked, told: Told, sizes: Mapping[str, int]) -> UndecidedCheck | None:
    """The first check that fails at some sizes."""
    try:
        said = failure_at(checked, told.params, sizes)
    except Unanswered:
        return None
    return None if said is None else failed(said)


def results_of(told: Told, checked: Checked) -> list[Typed]:
    """A path's results, with shapes from the trace; a size that only the program knows is taken from the check."""
    found = zip(told.trace.shapes, outputs_of(told.trace, checked), strict=True)
    return [
        replace(one, shape=tuple(_known(told, *dims) for dims in zip(own, one.shape or own, strict=True)))
        for own, one in found
    ]


def _known(told: Told, traced: str, checked: int | str) -> int | str:
    return traced if checked == "?" or set(names_in(traced)) <= set(told.trace.hints) else checked


def _open_in(told: Told, said: Conditions) -> Iterator[str]:
    """The lines with checks that sizes do not decide."""
    steps = (told.step(asked.place.line) for asked in said.left)
    yield from (step.place.key for step in steps if step is not None)


def follow(facts: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether facts imply all of some conditions."""
    return all(prove(facts, text)["result"] in ("valid", "vacuous") for text in texts)
