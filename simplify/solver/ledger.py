"""Solved conditions in scopes: opening one is free, closing one costs as much as was learnt in it.

A question reads only the conditions that share variables with it, directly or through others; an index finds them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from .conditions import Cond, Condition, cond_vars
from .solved import Solved
from .terms import Var, evaluate, term_vars
from .trail import Indexed, Table, Trail, literal_vars, solution_vars


class Ledger(Solved):
    """A `Solved` that can return to an earlier state."""

    __slots__ = ("literals", "scopes", "solutions", "trail")

    def __init__(self, trail: Trail) -> None:
        super().__init__()
        self.trail = trail
        self.scopes: list[tuple[int | None, int]] = []
        self.solved = self.solutions = Indexed(trail, solution_vars)
        self.lits = self.literals = Indexed(trail, literal_vars)
        self.masks, self.ranges, self.spans = Table(trail), Table(trail), Table(trail)

    def push(self) -> None:
        """Open a scope. Its owner undoes the trail."""
        self.scopes.append((self.contradiction, self.made))

    def keep(self) -> None:
        """Close a scope and keep what was learnt in it."""
        self.scopes.pop()

    def pop(self) -> None:
        """Close a scope after the trail was undone."""
        self.contradiction, self.made = self.scopes.pop()

    def copy(self) -> Solved:
        other = super().copy()
        other.lits = self.literals.in_order(self.literals)
        return other

    def literals_with(self, v: Var) -> dict[Condition, int]:
        return self.literals.mentioning(v)

    def solutions_with(self, v: Var) -> list[Var]:
        return list(self.solutions.mentioning(v))

    def is_new(self, v: Var) -> bool:
        """Whether nothing is known of a variable."""
        speaks = self.literals.homes.get(v) or self.solutions.homes.get(v) or v in self.ranges
        return not speaks and v not in self.solved and self.contradiction is None

    def told(self, point: dict[Var, int], also: Iterable[Var]) -> dict[Var, int]:
        """The point in named variables, extended to solved variables that it determines: those next to it, and those of
        `also`."""
        whole = dict(point)
        beside = {w for v in point for w in self.solutions.mentioning(v)}
        for w in beside.union(also) & self.solved.keys():
            value = self.solved[w]
            if isinstance(value, int) or point.keys() >= term_vars(value):
                whole[w] = evaluate(value, point)
        return {v: whole[v] for v in sorted(whole) if v.serial >= 0}

    def part(self, *conds: Cond) -> Solved:
        """The conditions that share variables with the given ones, directly or through others, without solutions."""
        return self._around(set().union(*(cond_vars(c) for c in conds)))

    def parts(self) -> Iterator[Solved]:
        """Everything, in parts without common variables."""
        seen: set[Var] = set()
        for cond in self.literals.in_order(self.literals):
            if seen.isdisjoint(cond_vars(cond)):
                part = self._around(cond_vars(cond))
                seen |= part.scope
                yield part
        alone = self.ranges.keys() - seen
        if alone:
            yield self._around(alone)

    def near(self, cond: Cond, most: int) -> Solved | None:
        """As `part`, but only the `most` nearest literals; None if there are no more."""
        kept, reached, all_ = self._reach(cond_vars(cond), most)
        return None if all_ else self._taken(kept, reached)

    def _around(self, start: Iterable[Var]) -> Solved:
        kept, reached, _ = self._reach(start, None)
        return self._taken(kept, reached)

    def _reach(self, start: Iterable[Var], most: int | None) -> tuple[set[Condition], set[Var], bool]:
        """The literals and variables reached from some variables, the nearest first, and whether these are all; there are at
        most `most` literals."""
        reached = set(start)
        waiting = deque(sorted(reached))
        kept: set[Condition] = set()
        homes = self.literals.homes
        while waiting:
            new = [c for c in homes.get(waiting.popleft(), ()) if c not in kept]
            if most is not None and len(kept) + len(new) > most:
                newest = sorted(new, key=self.literals.since.__getitem__)[len(new) + len(kept) - most :]
                return kept.union(newest), reached, False
            kept.update(new)
            for cond in self.literals.in_order(new):
                beside = cond_vars(cond) - reached
                waiting.extend(sorted(beside))
                reached |= beside
        return kept, reached, True

    def _taken(self, kept: Iterable[Condition], reached: set[Var]) -> Solved:
        other = Solved()
        other.lits = self.literals.in_order(kept)
        for v in reached.union(*map(cond_vars, other.lits)):
            if v in self.ranges:
                other.ranges[v] = self.ranges[v]
                other.spans[v] = self.spans[v]
        other.made = self.made
        other.scope = frozenset(reached)
        return other
