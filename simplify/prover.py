"""Decides obligations: proved, refuted, or left for run time; counts them, and reports them if that matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat

from ..lang.core import Status
from ..lang.diagnostics import Only
from ..lang.node import replace
from ..lang.source import Span
from .arms import with_the_wrong_size
from .findings import Log
from .frame import DataChoice, Frame, Side
from .known.finding import Asked, Finding
from .known.outcome import IN_FULL, Options, Outcome
from .known.shape_level import Truth
from .known.state import State
from .known.values import Undecided
from .messages.origins import roots
from .messages.solutions import in_words, only_where
from .messages.telling import InShort
from .solver.conditions import (
    AllOf,
    AnyOf,
    Cond,
    Eq0,
    Ge0,
    Ne0,
    all_of,
    any_of,
    cond_variables,
    eq,
    evaluate_cond,
    ge,
    negate,
)
from .solver.facts import Facts
from .solver.points import Point
from .solver.search import Verdict
from .solver.shorter import shorter
from .solver.terms import A_FACT, Size, TooLarge, Var, of_atom, over, spent, stride, variables
from .weakest import DTypeDemand, OpenCheck

# Sizes up to this are not huge.
_USUAL = 1_000
# After more checks in arms than this no witness is searched.
_MOST_HURDLES = 40
# Sizes beyond this number each cost as much as a written fact.
_FEW_SIZES = 16


class Prover:
    """Discharges the obligations of one function under the facts of a State."""

    def __init__(self, state: State, log: Log, options: Options, function: str) -> None:
        self.state, self.log, self.options, self.function = state, log, options, function
        # The checks that stayed open, for the function's demands.
        self.demands: list[OpenCheck] = []
        self.dtype_demands: list[DTypeDemand] = []
        # The conditions assumed of sizes that are not huge.
        self.supposed: list[Cond] = []
        # The calls whose elements have to fit, and whether sizes decide that they do.
        self.by_sizes: dict[Span, bool] = {}
        # Whether the open checks in the bodies of called functions are included.
        self.thorough = False
        # The newest input size; newer sizes were made on the way.
        self.newest_input = 0
        # Conditions on the sizes of a witness under which a run does not end before it gets there.
        self.hurdles: list[Cond] = []
        # The number of `if`s met so far that no sizes decide.
        self.choices = 0
        # Conditions on sizes, and choices that data decides, on which a rank depends.
        self.open_ranks: list[Cond | DataChoice] = []
        # The sides that the current case takes of choices by data, and the number of open checks when each was first met.
        self.sides: dict[DataChoice, bool] = {}
        self.met: dict[DataChoice, int] = {}
        # Whether anything in the function may fail at run time, its callees included.
        self.may_fail = False

    def rank_rests_on(self, frame: Frame, cond: object) -> None:
        """Record that the rank of a value depends on a condition; None is an unknown one."""
        if isinstance(cond, DataChoice) and (
            frame.turn is not None or (self.thorough and not self.options.errors_only)
        ):
            return
        if not frame.trial and isinstance(cond, Eq0 | Ne0 | Ge0 | AllOf | AnyOf | DataChoice):
            self.open_ranks.append(cond)

    def side(self, choice: DataChoice) -> bool | None:
        """Whether an `if` takes its first arm in the current case; None if that is left open."""
        if choice in self.sides:
            self.met.setdefault(choice, len(self.demands))
        return self.sides.get(choice)

    def sort_by_sides(self, since: int) -> None:
        """Keep the checks of a case that come before an `if` for its first side only: they do not depend on the arm."""
        kept = []
        for at, check in enumerate(self.demands[since:], since):
            behind = [self.met.get(choice, at + 1) <= at for choice in self.sides]
            if all(is_behind or first for is_behind, first in zip(behind, self.sides.values(), strict=True)):
                own = iter(behind)
                check.path = tuple(c for c in check.path if c is not None or next(own, True))
                check.sides = tuple(
                    s for s, stays in zip(check.sides, chain(behind, repeat(True)), strict=False) if stays
                )
                check.in_arm = any(behind)
                kept.append(check)
        self.demands[since:] = kept
        self.met.clear()

    def aside(self) -> Prover:
        """Return a prover with the same facts for a call that is not in the program: its findings stay apart."""
        other = Prover(self.state, Log(), self.options, self.function)
        other.newest_input = self.newest_input
        return other

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Discard everything that is found inside."""
        may_fail, hurdles, supposed = self.may_fail, len(self.hurdles), len(self.supposed)
        self.state.push()
        try:
            with self.state.names.apart():
                yield
        finally:
            self.state.pop()
            self.may_fail = may_fail
            del self.hurdles[hurdles:], self.supposed[supposed:]

    def supposes(self, cond: Cond) -> bool:
        """Assume an undecided condition that only huge sizes break; return whether it was assumed."""
        if not self.options.supposing or not evaluate_cond(cond, dict.fromkeys(cond_variables(cond), _USUAL)):
            return False
        self.state.assume(cond)
        self.supposed.append(cond)
        return True

    def judge(
        self,
        frame: Frame,
        truth: Truth,
        asked: Asked,
        *,
        claim: bool,
        sizes: Iterable[Size] = (),
        empty_rule: bool = True,
        demand: bool = True,
    ) -> tuple[Status, Finding | None]:
        """Return the status, and the finding if it may have to be reported. `sizes` are the dimensions of the tensors
        involved, for the rule about empty tensors and for witnesses."""
        if truth is True:
            return self.plain(frame), None
        verdict, found = self._verdict(truth), None
        if verdict.kind in ("proved", "vacuous") or (frame.is_case and self.state.facts.contradictory):
            return self._record(frame, Status.PROVED), None
        if not self._is_spare(frame):
            if verdict.kind == "refuted" and self._reachable():
                return self._refuted(frame, truth, asked, sizes)
            if not isinstance(truth, Undecided | bool) and not over():
                refuted = self._refuted_in_some_turn(frame, truth, asked, sizes)
                if refuted is not None:
                    return refuted
        cond, never = None if isinstance(truth, Undecided) else truth, verdict.kind == "refuted" and self._reachable()
        if demand and (not frame.quiet or (self.thorough and not frame.trial)):
            self.demands.append(OpenCheck(cond, frame.path, asked.span, frame.turn, frame.sides))
            self.demands[-1].never, self.demands[-1].needs, self.demands[-1].about = never, asked.in_words, asked.about
        if not frame.quiet and claim and self.log.is_long and over():
            self.log.left[asked.span] = None
        elif not frame.quiet:
            asks_of_empty = empty_rule and not never and not frame.is_case and not spent()
            only_empty = asks_of_empty and cond is not None and self._only_empty(frame, cond, sizes)
            if claim or only_empty:
                found = self._unproved(frame, truth, asked, sizes, only_empty=only_empty, never=never)
                if demand:
                    self.demands[-1].finding = found
        self._open(frame, truth, of_dtypes=not demand)
        if never and frame.is_case and frame.turn is None and not frame.trial:
            self.state.assume(False)  # no run gets past it
        return self._record(frame, Status.RESIDUAL), found

    def _refuted_in_some_turn(
        self, frame: Frame, cond: Cond, asked: Asked, sizes: Iterable[Size]
    ) -> tuple[Status, Finding | None] | None:
        """Return the refutation of a check that fails in the first or the last turn of the loop around, outside of arms in
        it."""
        if frame.turn is None or frame.path != frame.turn.path:
            return None
        for turn, index in frame.turn.ends:
            self.state.facts.push()
            self.state.facts.assume(eq(frame.turn.index, index))
            try:
                if self._verdict(cond).kind == "refuted" and self.state.facts.possible(True):
                    return self._refuted(frame, cond, asked, sizes, turn)
            finally:
                self.state.facts.pop()
        return None

    def _unproved(
        self, frame: Frame, truth: Truth, asked: Asked, sizes: Iterable[Size], *, only_empty: bool, never: bool
    ) -> Finding:
        """Return the finding about an undecided check: with sizes under which it fails, unless there are enough findings."""
        cond = None if isinstance(truth, Undecided) else truth
        if frame.is_case and cond is not None and None not in frame.path:
            cond = any_of(*(negate(c) for c in frame.path if c is not None), cond)
        only = None if cond is None or self.is_brief_on_unproved else self._only(frame, cond)
        witness = None if self.is_brief_on_unproved else self._witness(frame, truth, sizes)
        outcome = Outcome(Status.RESIDUAL, only_empty, witness, cond=cond, only=only, never=never)
        found = self._report(frame, asked, outcome)
        if cond is not None and not only_empty and not self.options.spare_arms:
            found.arm = with_the_wrong_size(self.state, frame.path, cond, asked.given())
        return found

    def _only(self, frame: Frame, cond: Cond) -> Only | None:
        """The sizes for which it holds; in a case, beside the sizes of other cases."""
        if not frame.is_case:
            return only_where(self.state, cond)
        return None if None in frame.path else in_words(shorter(Facts(), cond))

    def plain(self, frame: Frame) -> Status:
        """Record a check that is true by itself."""
        self.state.facts.counts["ground"] += 1
        return self._record(frame, Status.PROVED)

    def _refuted(
        self, frame: Frame, truth: Truth, asked: Asked, sizes: Iterable[Size], turn: str = ""
    ) -> tuple[Status, Finding | None]:
        found = None
        if self._is_told(frame):
            found = self._report(frame, asked, replace(self._refutation(frame, truth, asked, sizes), turn=turn))
        self.hinder(frame)
        return self._record(frame, Status.REFUTED), found

    def fail_where_both_arms_do(self, frame: Frame, choice: int, since: int) -> None:
        """Refute an `if` that sizes do not decide, if each of its arms has a check that never holds; the demands of its arms
        begin at `since`."""
        arms = [
            [
                d
                for d in self.demands[since:]
                if d.never and d.path[:-1] == frame.path and d.sides == (*frame.sides, side)
            ]
            for side in (Side(choice, True), Side(choice, False))
        ]
        if all(arms):
            self._fail_in_both(frame, arms[0][0])

    def fail_where_both_cases_do(self, frame: Frame, cond: Cond, since: int) -> None:
        """The same for two cases that sizes decide."""
        paths = [(*frame.path, side) for side in (cond, negate(cond))]
        never = [next((d for d in self.demands[since:] if d.never and d.path == path), None) for path in paths]
        if never[0] is not None and never[1] is not None:
            self._fail_in_both(frame, never[0])

    def never_passes(self, frame: Frame, since: int) -> bool:
        """Whether one of the demands since then always fails in a run that gets there."""
        return any(d.never and d.path == frame.path and d.sides == frame.sides for d in self.demands[since:])

    def _fail_in_both(self, frame: Frame, check: OpenCheck) -> None:
        found = check.finding
        if self._is_spare(frame):
            self.demands.append(OpenCheck(False, frame.path, check.span, frame.turn, frame.sides))
            self.demands[-1].never, self.demands[-1].finding, self.demands[-1].needs = True, found, check.needs
        elif found is not None:
            found.outcome = replace(found.outcome, status=Status.REFUTED, only_empty=False)
            self.log.refute(found)
            self.hinder(frame)

    def _refutation(self, frame: Frame, truth: Truth, asked: Asked, sizes: Iterable[Size]) -> Outcome:
        if self.is_brief:
            return Outcome(Status.REFUTED, False, None)
        witness = None if isinstance(truth, bool) else self._witness(frame, truth, sizes)
        concerned = asked.concerned(self.state) if witness is None else ()
        smallest = self._smallest(concerned, self._given(frame)) if concerned else None
        reasons = () if frame.trial or isinstance(truth, Undecided) else self.state.facts.core(truth)
        return Outcome(Status.REFUTED, False, witness, smallest, reasons)

    @property
    def is_brief(self) -> bool:
        """Whether there are so many findings that no more examples are searched."""
        return len(self.log.findings) >= IN_FULL or spent()

    @property
    def is_brief_on_unproved(self) -> bool:
        return self.options.errors_only or self.is_brief

    def decide(self, truth: Truth) -> bool | None:
        """Return True or False if that follows, else None; neither counted nor reported."""
        if isinstance(truth, Undecided):
            return None
        if isinstance(truth, bool):
            return truth
        kind = self.state.facts.decide(truth).kind
        return {"proved": True, "vacuous": True, "refuted": False}.get(kind)

    def _verdict(self, truth: Truth) -> Verdict:
        if isinstance(truth, Undecided):
            return Verdict("unknown", "unknown")
        try:
            return self.state.facts.decide(truth)
        except TooLarge:
            return Verdict("unknown", "unknown")

    def _reachable(self) -> bool:
        """Whether some execution may get here; asked only if a fact might contradict the others unnoticed."""
        return not self.state.unsure or (not over() and self.state.facts.possible(True))

    def _is_spare(self, frame: Frame) -> bool:
        """Whether a run may avoid this place, in a setting where an arm that never works is no error."""
        return frame.is_case or (self.options.spare_arms and any(taken is not True for taken in frame.path))

    def _only_empty(self, frame: Frame, truth: Cond, sizes: Iterable[Size]) -> bool:
        """Whether it holds only if one of the sizes is 0, and none of them is known to be 0. A size that changes from turn to
        turn may be 0 in one and not in another."""
        symbolic = [s for s in dict.fromkeys(self.state.settled(s) for s in sizes) if not isinstance(s, int)]
        if frame.turn is not None:
            symbolic = [s for s in symbolic if all(v.serial <= frame.turn.since for v in variables(s))]
        if not symbolic or 0 in sizes:
            return False
        self.state.facts.push()
        stride(A_FACT * max(len(symbolic) - _FEW_SIZES, 0))
        for size in symbolic:
            self.state.facts.assume(ge(size, 1))
        kind = self.state.facts.decide(truth).kind
        self.state.facts.pop()
        return kind == "refuted"

    def _witness(self, frame: Frame, truth: Truth, sizes: Iterable[Size]) -> dict[str, int] | None:
        if isinstance(truth, Undecided):
            return None
        of_turns = (c for c in frame.path if c is not None and frame.turn is not None)
        symbolic = [
            *(s for s in sizes if not isinstance(s, int)),
            *(of_atom(v) for c in of_turns for v in cond_variables(c)),
        ]
        return self._point(truth, False, symbolic, self._given(frame))

    def _smallest(self, sizes: Iterable[Size], given: tuple[Cond, ...]) -> dict[str, int] | None:
        """The smallest sizes, at least 1, that satisfy `given`, the conditions under which a run gets here."""
        symbolic = [s for s in sizes if not isinstance(s, int)]
        found = self._point(all_of(*(ge(s, 1) for s in symbolic)), True, symbolic, given)
        inside = {v.name for s in symbolic for v in variables(s)}
        return {name: n for name, n in (found or {}).items() if name in inside} or None

    def _point(self, cond: Cond, wanted: bool, sizes: Iterable[Size], given: tuple[Cond, ...]) -> dict[str, int] | None:
        """Input sizes that satisfy `given`, the conditions under which a run gets here, and make the condition `wanted` or
        not."""
        if False in given:
            return None
        self.state.facts.push()
        for hurdle in given:
            self.state.facts.assume(hurdle)
        shown = self._shown(self.state.facts.witness(cond, wanted, sizes))
        self.state.facts.pop()
        return shown

    def _shown(self, point: Point | None) -> dict[str, int] | None:
        if point is None or not all(map(self._is_given, point)):
            return None
        truths = self.state.truths
        named = {
            v.name: int(n == 1) if v in truths else n for v, n in sorted(point.items(), key=lambda item: item[0].serial)
        }
        return {name: n for name, n in named.items() if name.rstrip("'").isidentifier()}

    # Conditions of a witness

    def _given(self, frame: Frame) -> tuple[Cond, ...]:
        """The conditions under which a run gets here, beyond the facts; False if they are unknown."""
        if None in frame.path or False in self.hurdles or len(self.hurdles) > _MOST_HURDLES:
            return (False,)
        return (*self.hurdles, *(frame.turn.firsts if frame.turn is not None else ()))

    def hinder(self, frame: Frame, passes: Cond = False) -> None:
        """Record that no run gets past this place unless `passes` holds, as a condition on input sizes if possible."""
        self.may_fail = True
        if over():  # no witness is searched any more
            self.hurdles.append(False)
            return
        around = (negate(c) for c in frame.path if c is not None)
        hurdle = any_of(*filter(self._speaks_of_inputs, (*around, passes)))
        if hurdle is not True:
            self.hurdles.append(hurdle)

    def _open(self, frame: Frame, truth: Truth, *, of_dtypes: bool) -> None:
        """Record an open check: it holds after this place, and after the arm that it is in. Some dtypes always fit."""
        if frame.trial:
            return
        self.may_fail = True
        if isinstance(truth, Undecided):
            if not of_dtypes:
                self.hinder(frame)
        elif any(v in self.state.opaque for v in cond_variables(truth)):
            self.hinder(frame)  # the possible values are unknown: it may hold for none
        elif frame.path:
            self.hinder(frame, truth)

    def _speaks_of_inputs(self, cond: Cond) -> bool:
        return isinstance(cond, bool) or all(v.serial <= self.newest_input for v in cond_variables(cond))

    def _is_given(self, variable: Var) -> bool:
        """Whether input sizes decide a size. The possible values of sizes that only the data decides are unknown: a witness
        would claim too much."""
        if variable in self.state.choices:
            return all(self._is_made_of_given(size) for _, size in self.state.choices[variable])
        if variable.serial <= self.newest_input:
            return True
        size = self.state.facts.simplify(self.state.settled(of_atom(variable)))
        return variable not in variables(size) and self._is_made_of_given(size)

    def _is_made_of_given(self, size: Size) -> bool:
        return all(self._is_given(v) for v in variables(size))

    def _is_told(self, frame: Frame) -> bool:
        """Whether a failure there is to be reported."""
        if frame.trial:
            return frame.captured is not None
        return not frame.quiet or (frame.site is not None and (not self.log.certain or frame.is_reached))

    def _report(self, frame: Frame, asked: Asked, outcome: Outcome) -> Finding:
        site = frame.site if frame.quiet and not frame.trial else None
        between = tuple(s for s in frame.calls if s != site)
        certain = outcome.status is Status.REFUTED or outcome.only_empty
        whole = not (self.log.is_full if certain else self.log.is_long)
        kept, state = (asked.kept(self.state), self.state.past()) if whole else (asked, self.state)
        found = Finding(kept, outcome, state, self.function, self.options, site, between)
        found.is_whole, found.of_case = whole, frame.is_case
        if not whole and asked.fails_as is not None:  # an environment has many names
            found.asked = InShort(asked.span, asked.fails_as)
        if not frame.quiet and whole:
            found.roots = roots(self.state, asked.sizes())
        if frame.captured is None or not frame.trial:
            self.log.add(found)
        else:
            frame.captured.append(found)
        return found

    def _record(self, frame: Frame, status: Status) -> Status:
        if not frame.quiet:
            self.log.count(status)
        return status
