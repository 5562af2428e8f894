"""A size that is one of two, decided by a condition on sizes, as a formula."""

from __future__ import annotations

from math import prod

from ..known.state import State
from ..solver.conditions import AllOf, AnyOf, Cond, Condition, Eq0, Ge0, ge, negate
from ..solver.rendering import render
from ..solver.shorter import lighter
from ..solver.terms import Size, TooLarge, Var, smax, smin, substitute, variables

# The deepest nesting of choices that is looked into; a longer formula is less readable than its cases.
_DEEPEST = 4
_LONGEST = 100


def as_formula(size: Size, state: State, depth: int = 0) -> Size | None:
    """Replace each variable that is one of two sizes by a formula: `m + m % 2` for m if m is even, else m + 1; None if there
    is none, or no formula."""
    chosen = [v for v in variables(size) if v in state.choices]
    if not chosen or depth == _DEEPEST:
        return None
    found: dict[Var, Size] = {}
    for variable in chosen:
        formula = _formula(state.choices[variable], state, depth)
        if formula is None:
            return None
        found[variable] = formula
    try:
        plain = lighter(state.facts, substitute(size, found))
        return plain if len(render(plain)) <= _LONGEST else None
    except TooLarge:
        return None


def _formula(cases: tuple[tuple[Cond, Size], ...], state: State, depth: int) -> Size | None:
    if len(cases) != 2 or isinstance(cases[0][0], bool) or negate(cases[0][0]) != cases[1][0]:
        return None
    taken, (one, other) = cases[0][0], (_plain(case, size, state, depth) for case, size in cases)
    if any(v in state.opaque for size in (one, other) for v in variables(size)):
        return None
    try:
        return _extreme(taken, one, other, state) or other + (one - other) * _one_if(taken, state)
    except TooLarge:
        return None


def _plain(case: Cond, size: Size, state: State, depth: int) -> Size:
    """A size as it is under a condition."""
    size = state.settled(size)
    state.facts.push()
    state.facts.assume(case)
    size = lighter(state.facts, as_formula(size, state, depth + 1) or size)
    state.facts.pop()
    return size


def _extreme(taken: Condition, one: Size, other: Size, state: State) -> Size | None:
    """The minimum or maximum of both, if the condition selects that one."""
    for extreme, first, second in ((smin, one, other), (smax, other, one)):
        if _follows(state, taken, ge(second, first)) and _follows(state, negate(taken), ge(first, second)):
            return extreme(one, other)
    return None


def _follows(state: State, given: Cond, asked: Cond) -> bool:
    state.facts.push()
    state.facts.assume(given)
    kind = state.facts.decide(asked).kind
    state.facts.pop()
    return kind in ("proved", "vacuous")


def _one_if(cond: Cond, state: State) -> Size:
    """1 if a condition holds, else 0, as a formula."""
    if isinstance(cond, bool):
        return int(cond)
    if isinstance(cond, AllOf):
        return prod(_one_if(part, state) for part in cond.parts)
    if isinstance(cond, AnyOf):
        return 1 - prod(1 - _one_if(part, state) for part in cond.parts)
    if isinstance(cond, Ge0):
        return lighter(state.facts, smin(1, smax(cond.term + 1, 0)))
    far = lighter(state.facts, smin(1, lighter(state.facts, smax(cond.term, -cond.term))))
    return 1 - far if isinstance(cond, Eq0) else far
