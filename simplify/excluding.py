"""From the contradictory conditions of a signature to those that exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..lang import core

# Up to this many conditions are left out one by one, more by halves; the most conditions assumed in all.
_ONE_BY_ONE, _MOST_ASSUMED = 40, 4_000


def excluding(function: core.Function, contradictory: Callable[[Sequence[core.Stmt]], bool]) -> list[core.Assert]:
    """Return a contradictory part of a signature's conditions on sizes, minimal unless there are very many."""
    kept = list(function.checks)
    conditions = [s for s in kept if isinstance(s, core.Assert) and s.origin.what in ("where", "dim")]
    room = _MOST_ASSUMED
    many = 1 if len(conditions) <= _ONE_BY_ONE else len(conditions) // 2
    while many and room > 0:
        for start in range(0, len(conditions), many):
            left_out = set(map(id, conditions[start : start + many]))
            fewer = [s for s in kept if id(s) not in left_out]
            room -= len(fewer)
            if room > 0 and contradictory(fewer):
                kept = fewer
        conditions = [c for c in conditions if any(c is s for s in kept)]
        many //= 2
    return conditions
