"""A satisfying point for conditions, or the facts that exclude each other: by ranges, a few points, elimination, cases."""

from __future__ import annotations

from . import linear, points
from .cases import split
from .conditions import Eq0, Ge0, cond_vars
from .propagation import propagate
from .solved import Point, Solved
from .terms import charge


class Budget:
    """The number of cases that may still be tried."""

    __slots__ = ("cases",)

    def __init__(self, cases: int) -> None:
        self.cases = cases


def solve(state: Solved, budget: Budget) -> Point | int | None:
    """Return a point that satisfies everything, the facts that exclude each other, or None if neither was found."""
    budget.cases -= 1
    charge(4 * (len(state.lits) + len(state.solved) + len(state.ranges)))
    propagate(state)
    if state.contradiction is not None:
        return state.contradiction
    found = sample(state)
    if found is not None:
        return found
    free = sorted(set().union(*(cond_vars(c) for c in state.lits)))
    few = points.every(free, state.ranges)
    if few is not None:
        # all existing points; variables outside of the literals have some value in their ranges
        conds = list(state.lits)
        return next((_widened(state, p) for p in few if points.holds(conds, p)), state.mask())
    least = [(c.term, m) for c, m in state.lits.items() if type(c) is Ge0]
    equal = [(c.term, m) for c, m in state.lits.items() if type(c) is Eq0]
    answer = linear.refute(least, equal, state.ranges, state.spans) if least or equal else None
    if isinstance(answer, int):
        return answer
    for candidate in answer or ():
        whole = _widened(state, candidate)
        if all_hold(state, whole):
            return whole
    return _by_cases(state, budget)


def _widened(state: Solved, point: Point) -> Point:
    return state.complete({**{v: points.nearest(1, state.range_of(v)) for v in state.free()}, **point})


def sample(state: Solved) -> Point | None:
    """Return one of a few sample points if it satisfies everything."""
    free = state.free()
    conds = list(state.lits)
    for point in points.samples(free, state.ranges):
        if points.holds(conds, point):
            return state.complete(point)
    return None


def all_hold(state: Solved, point: Point) -> bool:
    """Whether the literals and ranges are satisfied."""
    for v, (low, high) in state.ranges.items():
        if (low is not None and point[v] < low) or (high is not None and point[v] > high):
            return False
    return all(v.serial < 0 or not v.nonneg or x >= 0 for v, x in point.items()) and points.holds(
        list(state.lits), point
    )


def _by_cases(state: Solved, budget: Budget) -> Point | int | None:
    parted = split(state)
    if parted is None:
        return None
    cases, mask, base = parted
    open_ = False
    for case in cases:
        if budget.cases <= 0:
            return None
        child = base.copy()
        child.learn(case, mask)
        answer = solve(child, budget)
        if answer is None:
            open_ = True
        elif isinstance(answer, int):
            mask |= answer
        else:
            return answer
    return None if open_ else mask
