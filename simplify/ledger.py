"""Solved conditions in scopes: opening one costs nothing, closing it as much as was learnt in it.

A question looks only at what shares variables with it, directly or through others, which an index finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .conditions import Cond, Condition, cond_vars
from .decide import Solved
from .terms import Var
from .trail import Literals, Solutions, Table, Trail


class Ledger(Solved):
    """A `Solved` that can go back to where it was."""

    __slots__ = ("literals", "scopes", "solutions", "trail")

    def __init__(self, trail: Trail) -> None:
        super().__init__()
        self.trail = trail
        self.scopes: list[tuple[int | None, int]] = []
        self.solved = self.solutions = Solutions(trail)
        self.lits = self.literals = Literals(trail)
        self.masks, self.ranges, self.spans = Table(trail), Table(trail), Table(trail)

    def push(self) -> None:
        """Opens a scope. What is on the trail is for its owner to undo."""
        self.scopes.append((self.contradiction, self.made))

    def pop(self) -> None:
        """Closes a scope, after the trail was undone."""
        self.contradiction, self.made = self.scopes.pop()

    def copy(self) -> Solved:
        other = super().copy()
        other.lits = self.literals.in_order(self.literals)
        return other

    def literals_with(self, v: Var) -> dict[Condition, int]:
        return self.literals.mentioning(v)

    def solutions_with(self, v: Var) -> list[Var]:
        return self.solutions.mentioning(v)

    def part(self, *conds: Cond) -> Solved:
        """What shares variables with the conditions, directly or through others; its solutions are left behind."""
        return self._around(set().union(*(cond_vars(c) for c in conds)))

    def parts(self) -> Iterator[Solved]:
        """Everything, in parts that have no variable in common."""
        seen: set[Var] = set()
        for cond in self.literals.in_order(self.literals):
            if seen.isdisjoint(cond_vars(cond)):
                part = self._around(cond_vars(cond))
                seen |= part.scope
                yield part
        alone = self.ranges.keys() - seen
        if alone:
            yield self._around(alone)

    def _around(self, start: Iterable[Var]) -> Solved:
        reached = set(start)
        waiting = list(reached)
        kept: set[Condition] = set()
        homes = self.literals.homes
        while waiting:
            for cond in homes.get(waiting.pop(), ()):
                if cond not in kept:
                    kept.add(cond)
                    waiting.extend(cond_vars(cond) - reached)
                    reached |= cond_vars(cond)
        other = Solved()
        other.lits = self.literals.in_order(kept)
        for v in reached:
            if v in self.ranges:
                other.ranges[v] = self.ranges[v]
                other.spans[v] = self.spans[v]
        other.made = self.made
        other.scope = frozenset(reached)
        return other
