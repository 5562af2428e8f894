"""The expensive layers of a question: sampled points, a proof or a point by search, and z3 for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from ...lang.node import Node, replace
from . import points
from .conditions import Cond, Condition, cond_vars, evaluate_cond, negate
from .decide import Budget, solve
from .ledger import Ledger
from .nearby import Standing
from .propagation import propagate
from .solved import Point, Solved
from .terms import Var

Found = Point | int | None  # a point, the facts that exclude all points, or neither
# Up to this many connected facts are searched as a whole; of more, first those near the question. The limit keeps hundreds of
# facts from quadratic costs; its value matters little: with 6 and with 96, programs of both kinds get the same answers, in
# steps that differ by a tenth.
NEAR = 24
_CASES = 60
_FEW_CASES = 6  # with many connected facts
_PATIENCE = 1_000_000  # the effort allowed without result on whole sets of facts, in squares of their number
_EFFORT = 10_000  # the effort of a question to z3
_STEPS = 600


class Verdict(Node):
    """The answer to a question, the layer that found it, and the facts that it rests on, one bit for each.

    kind is proved, refuted, open (there are points of both kinds), unknown, or vacuous (the facts contradict each
    other). The witness of an open one satisfies the facts and fails the condition.
    """

    kind: str
    by: str
    witness: dict[Var, int] | None = None
    mask: int = 0


@cache
def no_z3() -> str:
    """Return the reason why z3 cannot be used: it cannot be imported, or no thread can be started to watch it. Empty if it
    can."""
    try:
        import_module(".smt", __package__).try_thread()
    except (ImportError, RuntimeError) as wrong:
        return str(wrong)
    return ""


class Absent:
    """A stand-in for a session without z3: each question stays unknown."""

    stopped = 0

    def __init__(self) -> None:
        self.unasked = 0

    def solve(self, known: Iterable[Cond], wanted: Iterable[Cond], values: bool = True) -> list[None]:
        answers = [None for _ in wanted]
        self.unasked += len(answers)
        return answers


class Search:
    """The layers over the contents of a ledger. Each question tells whether the ledger is `complete`: then its points satisfy
    every fact."""

    def __init__(self, state: Ledger) -> None:
        self._state = state
        self.standing = Standing(state)
        self._patience = _PATIENCE
        self._session: Any = None  # the z3 session, from its first question on

    def verdict(self, plain: Condition, mask: int, complete: bool) -> Verdict:
        """Sample points; then search for a proof or a point for each truth value not seen."""
        near = self._state.near(plain, NEAR)
        if near is not None:
            return self._nearby(near, plain, mask, complete)
        part = self._state.part(plain)
        seen = _sampled(part, plain)
        if len(seen) == 2 and complete:
            return Verdict("open", "points", self.shown(seen[False]), mask | part.mask())
        answers: dict[bool, Found] = dict(seen)
        for value in (True, False):
            if value not in answers:
                answers[value] = _solved(part, plain if value else negate(plain), _CASES)
        by = "points" if all(isinstance(a, dict) for a in answers.values()) else "facts"
        left = [value for value, answer in answers.items() if answer is None]
        if left:
            by = "z3"
            answers.update(zip(left, self._ask(part, *(plain if v else negate(plain) for v in left)), strict=True))
        for value, answer in answers.items():
            if isinstance(answer, dict) and not _shows(answer, part, plain, value):
                answers[value] = None
        verdict, no = self._told(answers, by, mask, part, complete), answers[False]
        return replace(verdict, witness=self.shown(no)) if verdict.kind == "open" and isinstance(no, dict) else verdict

    def _nearby(self, near: Solved, plain: Condition, mask: int, complete: bool) -> Verdict:
        """Decide with many connected facts: a point is moved only near the question, and the facts near it are tried before
        all of them."""
        wishes = {True: plain, False: negate(plain)}
        answers: dict[bool, Found] = {v: self.standing.where(wish) for v, wish in wishes.items()}
        by = "points"
        for layer in ("near", "whole", "z3"):
            for value, wish in wishes.items():
                if answers[value] is None and not any(isinstance(a, int) for a in answers.values()):
                    by, answers[value] = "z3" if layer == "z3" else "facts", self._excluded(layer, near, plain, wish)
        return self._told(answers, by, mask, near, complete)

    def _excluded(self, layer: str, near: Solved, plain: Condition, wish: Cond) -> Found:
        """Return the facts that exclude a wish, or a point of everything connected to it."""
        if layer == "near":
            found = _solved(near, wish, _FEW_CASES)
        elif self._patience <= 0:
            return None
        elif layer == "z3":
            found = near.mask() if self._smt.solve(near.conditions(), [wish], values=False)[0] is False else None
            self._patience -= _EFFORT if found is None else 0
        else:
            part = self._state.part(plain)
            found = _solved(part, wish, 1)
            if not isinstance(found, int):
                self._patience -= len(part.lits) ** 2
            if isinstance(found, dict) and _shows(found, part, plain, wish is plain):
                return found
        return found if isinstance(found, int) else None

    def _ask(self, part: Solved, *wanted: Cond) -> list[Found]:
        """Return z3's answer for each wanted condition under the known ones."""
        answers = self._smt.solve(part.conditions(), wanted)
        return [a if isinstance(a, dict) else None if a is None else part.mask() for a in answers]

    @property
    def _smt(self) -> Any:
        if self._session is None:
            self._session = Absent() if no_z3() else import_module(".smt", __package__).SmtSession()
        return self._session

    @property
    def stopped(self) -> int:
        """The number of times that z3 had to be stopped."""
        return 0 if self._session is None else int(self._session.stopped)

    @property
    def unasked(self) -> int:
        """The number of questions that z3 could not be asked."""
        return self._session.unasked if isinstance(self._session, Absent) else 0

    def rest(self) -> None:
        """Release z3's data for these facts; a later question builds it again."""
        self._session = None

    def _told(self, answers: dict[bool, Found], by: str, mask: int, part: Solved, complete: bool) -> Verdict:
        yes, no = answers[True], answers[False]
        if isinstance(yes, int) and isinstance(no, int):
            return Verdict("vacuous", by, None, yes | no)
        if isinstance(no, int):
            return Verdict("proved", by, None, mask | no)
        if isinstance(yes, int):
            return Verdict("refuted", by, None, mask | yes)
        everything = mask | part.mask()
        if yes is None or no is None or not complete:
            return Verdict("unknown", "unknown", None, everything)
        return Verdict("open", by, None, everything)

    def shown(self, point: Point) -> Point:
        """Add the values of solved variables to a point, and keep the user's own variables."""
        whole = self._state.complete(point)
        return {v: whole[v] for v in sorted(whole) if v.serial >= 0}

    def point(self, state: Solved) -> Found:
        """Return a point of a state, or the facts that exclude all points."""
        found = solve(state.copy(), Budget(_CASES))
        return self._ask(state, True)[0] if found is None else found

    def smallest(self, part: Solved, wish: Cond) -> Point | None:
        """Return the smallest point of a part that satisfies a wish too, in the variables that are left free."""
        child = part.copy()
        child.learn(wish, 0)
        propagate(child)
        conds = list(child.lits)
        free = child.free()
        some = solve(child.copy(), Budget(_CASES))
        if some is None:
            some = self._ask(part, wish)[0]
        if not isinstance(some, dict):
            return None
        least = _least(child, free)
        for point in points.smallest_first(free, least, child.ranges, _STEPS):
            if points.holds(conds, point):
                return child.complete(point)
        start = {v: some.get(v, least[v]) for v in free}
        if not points.holds(conds, start):
            return some
        low = {v: x for v, x in least.items() if start[v] > x}
        return child.complete(points.lessened(conds, start, low))


def _solved(part: Solved, wish: Cond, cases: int) -> Found:
    """Return a point of a part that satisfies a wish too, or the facts that exclude it."""
    child = part.copy()
    child.learn(wish, 0)
    return solve(child, Budget(cases))


def _least(state: Solved, free: list[Var]) -> Point:
    """The least values that leave no size at 0: 1, or less for a quotient if the sizes made from it stay positive."""
    least = {v: points.nearest(1, state.range_of(v)) for v in free}
    for v in free:
        low = state.range_of(v)[0]
        if v.serial < 0 and low is not None and low < least[v]:
            whole = state.complete({**least, v: low})
            if all(x >= 1 for w, x in whole.items() if w.serial >= 0 and w.nonneg):
                least[v] = low
    return least


def _shows(point: Point, part: Solved, plain: Condition, value: bool) -> bool:
    """Whether the point really gives the truth value; the evaluation is independent of the search."""
    conds = list(part.lits)
    inside = all(
        (low is None or point.get(v, low) >= low) and (high is None or point.get(v, high) <= high)
        for v, (low, high) in part.ranges.items()
    )
    return inside and points.holds_given([*conds, plain if value else negate(plain)], point)


def _sampled(part: Solved, plain: Condition) -> dict[bool, Point]:
    """A point for each truth value of the condition, as far as sample points show it."""
    free = sorted({*part.free(), *cond_vars(plain)})
    conds = list(part.lits)
    seen: dict[bool, Point] = {}
    for point in points.samples(free, part.ranges):
        if points.holds(conds, point):
            seen.setdefault(evaluate_cond(plain, point), point)
            if len(seen) == 2:
                break
    return seen
