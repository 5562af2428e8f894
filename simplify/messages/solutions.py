"""The sizes for which an open condition holds, if that is short: "n = 0 or n = 1", "n == m", "h >= 5"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

from ...lang.diagnostics import Only
from ...lang.node import replace
from ..known.state import State
from ..solver.conditions import (
    AllOf,
    AnyOf,
    Compare,
    Cond,
    any_of,
    cond_variables,
    eq,
    evaluate_cond,
    ge,
    le,
    render_cond,
    substitute_cond,
)
from ..solver.factors import without_empty
from ..solver.shorter import by_remainder
from ..solver.shortest import member
from ..solver.size_sets import set_of
from ..solver.terms import Size, Var, left, mod, of_atom

_FEW = 4
_REACH = 130
_SHORT = 60
_A_QUESTION = 40  # the least number of steps for each size that is asked about


def only_where(state: State, cond: Cond) -> Only | None:
    """Return the condition as a user would write it, or the few sizes that satisfy it; None if neither is short.

    The answer is exact: it was found by solving and verified in both directions. It is `sufficient` if it omits that empty
    tensors pass too.
    """
    found = None
    if not isinstance(cond, bool):
        with state.facts.trying():
            found = _only_where(state, cond)
    return found


def _only_where(state: State, cond: Cond) -> Only | None:
    settled = substitute_cond(cond, {v: state.settled(of_atom(v)) for v in cond_variables(cond)})
    if isinstance(settled, bool):
        return None
    variables = cond_variables(settled)
    if not all(v.name.rstrip("'").isidentifier() for v in variables):
        return None
    if len(variables) == 1:
        (name,) = variables
        found = _few_values(state, settled, name) or _simpler(state, settled, name) or _as_set(settled, name)
        if found is not None:
            return found
    signs = (ge(of_atom(v), 0) for v in variables if not v.nonneg)
    sign = next((s for s in signs if _same(state, settled, s)), None)
    plain = by_remainder(state.facts, without_empty(settled)) if sign is None else sign
    names = cond_variables(plain)
    said = (_as_set(plain, names[0]) if len(names) == 1 and "//" in render_cond(plain) else None) or in_words(plain)
    if said is None:
        return None
    return replace(said, sufficient=not _same(state, settled, plain), by_chance=_is_by_chance(plain))


def _is_by_chance(cond: Cond) -> bool:
    """Whether the condition is like `t == d` or `t == d or t == 1 or d == 1`."""
    parts = cond.parts if isinstance(cond, AnyOf) else (cond,)
    names = [of_atom(v) for v in cond_variables(cond)]
    equal = [eq(a, b) for a in names for b in names if a != b]
    single = [eq(name, n) for name in names for n in (0, 1)]
    return len(names) == 2 and any(p in equal for p in parts) and all(p in equal or p in single for p in parts)


def _few_values(state: State, cond: Cond, variable: Var) -> Only | None:
    values = [n for n in range(_REACH) if evaluate_cond(cond, {variable: n})]
    if not 0 < len(values) <= _FEW:
        return None
    size = of_atom(variable)
    values = [n for n in values if state.facts.decide(eq(size, n)).kind != "refuted"]
    state.facts.push()
    state.assume(cond)
    sure = state.facts.decide(any_of(*(eq(size, n) for n in values))).kind == "proved"
    state.facts.pop()
    if not sure or not values:
        return None
    said, cases = (tuple(f"{variable.name} {sign} {n}" for n in values) for sign in ("=", "=="))
    return Only(" or ".join(said), cases)


def _simpler(state: State, cond: Cond, variable: Var) -> Only | None:
    """`h >= 5` for `(h + 1) // 2 >= 3`: an equivalent bound (with a few sizes below it) or remainder, if necessary with `h ==
    0`."""
    size = of_atom(variable)
    low, high = state.facts.bounds(size)
    tried = range(max(low or 0, 1), _REACH if high is None else min(high, _REACH) + 1)
    holds = [evaluate_cond(cond, {variable: n}) for n in tried]
    for guess in chain(_guesses(size, tried, holds), _remainders(state, size, tried, holds)):
        for exact in (guess, any_of(eq(size, 0), guess)):
            if _same(state, cond, exact) and state.facts.decide(exact).kind != "proved":
                return in_words(exact)
    return None


def _as_set(cond: Cond, variable: Var) -> Only | None:
    """`h is 192 to 703` for `(h + 320) // 512 == 1`."""
    found = set_of([cond], variable)
    if found is None or not found.parts:
        return None
    inside = member(variable, found)
    if isinstance(inside, Compare):
        return in_words(inside)
    said = f"{variable.name} is {found.said(variable.name)}"
    cases = tuple(render_cond(case) for case in (inside.parts if isinstance(inside, AnyOf) else (inside,)))
    return Only(said, cases) if len(said) <= _SHORT and len(cases) <= _FEW else None


def _guesses(size: Size, tried: range, holds: list[bool]) -> Iterator[Cond]:
    if True not in holds or all(holds):
        return
    first = tried[holds.index(True)]
    changes = sum(a != b for a, b in pairwise(holds))
    single, start = _beginning(tried, holds)
    if holds[-1] and len(single) < _FEW:
        yield any_of(*(eq(size, n) for n in single), ge(size, start))
    if changes == 1 and holds[0]:
        yield le(size, tried[holds.index(False)] - 1)
    second = next((n for n, held in zip(tried, holds, strict=True) if held and n > first), first + 1)
    step = second - first
    if changes > 2 and holds == [n % step == first % step for n in tried]:
        yield eq(mod(size, step), first % step)


def _remainders(state: State, size: Size, tried: range, holds: list[bool]) -> Iterator[Cond]:
    """`h % 4 == 0` for `h // 2 % 2 == 0` if h is known to be even: a remainder among the possible sizes."""
    if left() < _A_QUESTION * len(tried):
        return
    possible = {
        n: held for n, held in zip(tried, holds, strict=True) if state.facts.decide(eq(size, n)).kind != "refuted"
    }
    good = [n for n, held in possible.items() if held]
    if len(good) > _FEW and len(possible) < len(tried):
        step = good[1] - good[0]
        if good == [n for n in possible if n % step == good[0] % step]:
            yield eq(mod(size, step), good[0] % step)


def _beginning(tried: range, holds: list[bool]) -> tuple[list[int], int]:
    """The size from which on it always holds, and the sizes below that for which it also holds."""
    start = tried.stop
    while start > tried.start and holds[start - 1 - tried.start]:
        start -= 1
    return [n for n, held in zip(tried, holds, strict=True) if held and n < start], start


def _same(state: State, cond: Cond, guess: Cond, *where: Cond) -> bool:
    return all(_entails(state, (*where, given), asked) for given, asked in ((cond, guess), (guess, cond)))


def _entails(state: State, given: Iterable[Cond], asked: Cond) -> bool:
    state.facts.push()
    for fact in given:
        state.facts.assume(fact)
    kind = state.facts.decide(asked).kind
    state.facts.pop()
    return kind == "proved"


def in_words(cond: Cond) -> Only | None:
    """A comparison, or a choice between comparisons, in a few words."""
    if isinstance(cond, AnyOf):
        parts = [in_words(part) for part in cond.parts]
        cases = tuple(case for part in parts if part is not None for case in part.cases)
        text = " or ".join(cases)
        return Only(text, cases) if len(text) <= _SHORT and None not in parts else None
    if not isinstance(cond, Compare | AllOf):
        return None
    text = render_cond(cond)
    return Only(text, (text,)) if len(text) <= _SHORT // 2 else None
