"""A satisfying point for many conditions, updated with each change: only variables near the change move.

A question about one of hundreds of connected facts thus costs only as much as the facts next to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import points
from .conditions import Cond, Condition, cond_vars, evaluate_cond, substitute_cond
from .decide import Budget, solve
from .ledger import Ledger
from .solved import Point, Solved
from .terms import Var

_ROUNDS = 3
_MOST_MOVED = 14
_MOST_TOUCHED = 60
_CASES = 8
_BEHIND = 400  # no new point is searched this many changes after the last one


class Standing:
    """A point that satisfies the contents of a ledger, in its unsolved variables."""

    __slots__ = ("at", "ledger", "point")

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.point: Point = {}  # replaced, never changed: a scope keeps the one from its beginning
        self.at = 0  # the length of the trail when the point was valid

    @property
    def place(self) -> tuple[Point, int]:
        """The data that a scope restores at its end."""
        return self.point, self.at

    @place.setter
    def place(self, place: tuple[Point, int]) -> None:
        self.point, self.at = place

    def now(self) -> Point | None:
        """Return a point for the current facts; None if none was found near the last one."""
        steps = self.ledger.trail.steps
        if self.at == len(steps):
            return self.point
        if len(steps) - self.at > _BEHIND and self.at:
            return None
        point = dict(self.point)
        fresh = self._changed(point)
        wrong = [c for c in self.ledger.literals.in_order(fresh) if not evaluate_cond(c, point)]
        moved = self._moved(point, wrong) if wrong else point
        if moved is not None:
            self.point, self.at = moved, len(steps)
        return moved

    def where(self, cond: Cond) -> Point | None:
        """Return a point that satisfies the facts and the condition."""
        point = self.now()
        if point is None or cond is False:
            return None
        if cond is True:
            return point
        self._settle(cond_vars(cond), point := dict(point))
        return point if evaluate_cond(cond, point) else self._moved(point, [cond])

    def _changed(self, point: Point) -> set[Condition]:
        """The literals added since the point was valid, and those whose variables had to move into a range."""
        ledger, found = self.ledger, set()
        for table, key, _ in ledger.trail.steps[self.at :]:
            if table is ledger.lits:
                found.add(key)
            elif table is ledger.ranges and key in ledger.ranges:
                value = point.get(key, 1)
                point[key] = points.nearest(value, ledger.range_of(key))
                if point[key] != value:
                    found.update(ledger.literals.homes.get(key, ()))
        found = {c for c in found if c in ledger.lits}
        self._settle(set().union(*map(cond_vars, found)), point)
        return found

    def _settle(self, variables: Iterable[Var], point: Point) -> None:
        """Give values to variables without one."""
        for v in variables:
            if v not in point:
                point[v] = points.nearest(1, self.ledger.range_of(v))

    def _moved(self, point: Point, wanted: list[Condition]) -> Point | None:
        """The point, moved so that the wanted conditions hold too: first by their variables, then by neighbouring ones."""
        ledger = self.ledger
        moving: frozenset[Var] = frozenset().union(*map(cond_vars, wanted))
        for _ in range(_ROUNDS):
            touched = set().union(*(ledger.literals.homes.get(v, {}).keys() for v in moving))
            if len(moving) > _MOST_MOVED or len(touched) > _MOST_TOUCHED:
                return None
            conds = [*wanted, *ledger.literals.in_order(touched)]
            self._settle(set().union(*map(cond_vars, conds)), point)
            found = self._solved(conds, moving, point)
            if found is not None:
                return found
            moving = moving.union(*map(cond_vars, conds))
        return None

    def beside(self, moving: Iterable[Var], point: Point) -> Solved:
        """The conditions on some variables, with all others fixed at the point."""
        moving = frozenset(moving)
        touched = set().union(*(self.ledger.literals.homes.get(v, {}).keys() for v in moving))
        return self._held(self.ledger.literals.in_order(touched), moving, point)

    def _held(self, conds: Iterable[Condition], moving: frozenset[Var], point: Point) -> Solved:
        small = Solved()
        small.made, small.scope = self.ledger.made, moving
        for v in sorted(moving):
            if v in self.ledger.ranges:
                small.ranges[v], small.spans[v] = self.ledger.ranges[v], 0
        for cond in conds:
            small.learn(substitute_cond(cond, {v: point[v] for v in cond_vars(cond) - moving}), 0)
        return small

    def _solved(self, conds: list[Condition], moving: frozenset[Var], point: Point) -> Point | None:
        found = solve(self._held(conds, moving, point), Budget(_CASES))
        if not isinstance(found, dict) or not found.keys() >= moving:
            return None
        whole = {**point, **{v: found[v] for v in moving}}
        inside = all(points.nearest(whole[v], self.ledger.range_of(v)) == whole[v] for v in moving)
        return whole if inside and points.holds(conds, whole) else None
