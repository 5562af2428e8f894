"""Ranges of variables from conditions, and conditions divided by their factors."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from .conditions import Cond, Condition, Eq0, Ge0, Ne0, ge0, substitute_cond
from .solved import Literal, Solved
from .terms import (
    Atom,
    Bounds,
    Floor,
    Max,
    Mono,
    Size,
    Term,
    Var,
    at_least,
    atom_key,
    bounds,
    close,
    divides,
    mono_interval,
    of_atom,
    term_vars,
    without,
)

_MOST_DIVISIONS = 12
_MOST_TOGETHER = 10  # the most monomials of an inequality and an equation that is substituted into it
_FAR = 1 << 64  # a bound beyond this is diverging


def propagate(state: Solved) -> None:
    """Narrow the variables' ranges through the literals, for a limited number of rounds."""
    left, divisions = 60 + 4 * len(state.lits), _MOST_DIVISIONS
    again = True
    while again and state.contradiction is None:
        again = False
        for cond, mask in list(state.lits.items()):
            if type(cond) is Ge0:
                news = _narrow_by(state, cond.term, mask)
            elif type(cond) is Eq0:
                news = _narrow_by(state, cond.term, mask) or _narrow_by(state, -cond.term, mask)
            else:
                news = _fold(state, cond, mask)
            if state.contradiction is not None:
                return
            if news:
                left -= 1
                again = left > 0
                if not again:
                    return
                if state.solved:
                    break
        if not again and divisions:
            divisions -= 1
            again = any(_divide(state, *lit) for lit in _inequalities(state))


def _inequalities(state: Solved) -> Iterator[tuple[Term, int]]:
    for cond, mask in list(state.lits.items()):
        if type(cond) is Ge0 or type(cond) is Eq0:
            yield cond.term, mask
        if type(cond) is Eq0:
            yield -cond.term, mask


def _fold(state: Solved, cond: Condition, mask: int) -> bool:
    now, used = state.current(cond, mask)
    if type(now) is Ne0:
        term = now.term
        low, high = bounds(term, state.ranges)
        if low == 0 or high == 0:
            now, used = ge0(term - 1) if low == 0 else ge0(-1 - term), used | state.spanned_by(term_vars(term))
    if now is cond or now == cond:
        return False
    state.lits.pop(cond, None)
    state.learn(now, used)
    return True


def _narrow_by(state: Solved, term: Term, mask: int) -> bool:
    """Narrow each monomial of `term >= 0` by the ranges of the others."""
    tops: list[tuple[Mono, int, int | None]] = []
    total = term.mons.get((), 0)
    endless = 0
    for mono, k in term.mons.items():
        if not mono:
            continue
        low, high = mono_interval(mono, state.ranges)
        end = high if k > 0 else low
        if end is None:
            endless += 1
            if endless > 1:
                return False
            tops.append((mono, k, None))
        else:
            total += k * end
            tops.append((mono, k, k * end))
    if not endless and total < 0:
        state.contradiction = mask | state.spanned_by(term_vars(term))
        return True
    news = False
    for mono, k, top in tops:
        if endless and top is not None:
            continue
        rest = total - (top or 0)
        if abs(rest) > _FAR:
            continue
        # k * mono >= -rest
        to: Bounds = (-(rest // k), None) if k > 0 else (None, rest // -k)
        changed = (
            _narrow_atom(state, mono[0], to, term, mask)
            if len(mono) == 1
            else _narrow_factors(state, mono, to, term, mask)
        )
        if changed:
            news = True
            if state.contradiction is not None or term_vars(term) & state.solved.keys():
                return True
    return news


def _narrow_factors(state: Solved, mono: Mono, to: Bounds, term: Term, mask: int) -> bool:
    """Narrow factors from 0 on: `x * y <= 9` bounds x from above if y is at least 1, `x * y >= 9` bounds it from below."""
    most, least = to[1], to[0]
    lows = {a: mono_interval((a,), state.ranges)[0] for a in mono}
    if any(low is None or low < 0 for low in lows.values()):
        return False
    news = False
    for atom in dict.fromkeys(mono):
        others = [a for a in mono if a != atom]
        power = len(mono) - len(others)
        floor = 1
        for a in others:
            floor *= lows[a] or 0
        if most is not None and most >= 0 and floor >= 1:
            news = _narrow_atom(state, atom, (None, _root(most // floor, power)), term, mask) or news
        elif least is not None and least >= 1:
            ceiling = mono_interval(tuple(others), state.ranges)[1] if others else 1
            wanted = 1 if ceiling is None else -(-least // max(ceiling, 1))
            news = _narrow_atom(state, atom, (_root(wanted - 1, power) + 1, None), term, mask) or news
        if state.contradiction is not None or term_vars(term) & state.solved.keys():
            return True
    return news


def _divide(state: Solved, term: Term, mask: int) -> bool:
    """Divide `term >= 0` by its factors, as it is and with an equation substituted into it."""
    if _divide_by_factors(state, term, mask):
        return True
    equations = [(c.term, m) for c, m in state.lits.items() if type(c) is Eq0 and c.term != term]
    for equation, known in equations:
        if len(equation.mons) + len(term.mons) > _MOST_TOGETHER or max(map(len, equation.mons)) < 2:
            continue
        for part, k in equation.mons.items():
            for mono, times in term.mons.items():
                if part and times % k == 0 and divides(part, mono):
                    other = term - Term({without(mono, part): times // k}) * equation
                    if (
                        type(other) is Term
                        and len(other.mons) <= len(term.mons)
                        and _divide_by_factors(state, other, mask | known)
                    ):
                        return True
    return False


def _divide_by_factors(state: Solved, term: Term, mask: int) -> bool:
    """Learn `p >= 0` from `v * p + r >= 0` if `r < v`, and `p >= 1` if `r < 0`, for a factor v from 0 on."""
    factors = dict.fromkeys(a for m in term.mons if len(m) > 1 for a in m)
    for v in sorted(factors, key=atom_key):
        inside = {without(m, (v,)): k for m, k in term.mons.items() if v in m}
        whole: Size = close(inside)
        low = mono_interval((v,), state.ranges)[0]
        if low is None or low < 0 or isinstance(whole, int) or len(inside) == 1:
            continue
        rest: Size = close({m: k for m, k in term.mons.items() if v not in m})
        for room in (0, 1):
            known = _at_least(state, of_atom(v) * room - 1 - rest)
            if known is not None:
                cond = ge0(whole - 1 + room)
                if not _known(state, cond):
                    state.learn(cond, mask | known | state.spanned_by(term_vars(of_atom(v))))
                    return True
                break
    return False


def _at_least(state: Solved, size: Size) -> int | None:
    """The facts behind `size >= 0`, from the ranges and perhaps one literal; None if it is not shown."""
    if at_least(size, 0, state.ranges):
        return state.spanned_by(term_vars(size)) if type(size) is Term else 0
    if isinstance(size, int):
        return None
    vars_ = term_vars(size)
    for cond, mask in state.lits.items():
        if type(cond) is Ge0 and not vars_.isdisjoint(term_vars(cond.term)):
            rest = size - cond.term
            if at_least(rest, 0, state.ranges):
                return mask | (state.spanned_by(term_vars(rest)) if type(rest) is Term else 0)
    return None


def _narrow_atom(state: Solved, atom: Atom, to: Bounds, term: Term, mask: int) -> bool:
    if type(atom) is Var:
        low, high = state.range_of(atom)
        if (to[0] is None or (low is not None and low >= to[0])) and (
            to[1] is None or (high is not None and high <= to[1])
        ):
            return False
        work: list[Literal] = []
        span = mask | state.spanned_by(term_vars(term))
        news = state.narrow(atom, to, span, work)
        for lit in work:
            state.learn(*lit)
        return news
    low, high = mono_interval((atom,), state.ranges)
    conds: list[Cond] = []
    if to[1] is not None and (high is None or to[1] < high):
        if type(atom) is Floor and isinstance(atom.den, int):
            conds.append(ge0(atom.den * to[1] + atom.den - 1 - atom.num))
        elif type(atom) is Max:
            conds += [ge0(to[1] - a) for a in (0, *atom.args)]
    if to[0] is not None and (low is None or to[0] > low) and type(atom) is Floor and isinstance(atom.den, int):
        conds.append(ge0(atom.num - atom.den * to[0]))
    news = False
    for cond in conds:
        if cond is not True and not _known(state, cond):
            state.learn(cond, mask | state.spanned_by(term_vars(term)))
            news = True
    return news


def _known(state: Solved, cond: Cond) -> bool:
    if isinstance(cond, bool):
        return cond
    return substitute_cond(cond, {}, state.ranges) is True or cond in state.lits


def _root(value: int, power: int) -> int:
    """The greatest number whose power is at most the value, which is at least 0."""
    if power == 1:
        return value
    if power == 2:
        return isqrt(value)
    low, high = 0, 1 << (value.bit_length() // power + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**power <= value else (low, middle - 1)
    return low
