"""An equation of products to its form for nonzero factors: common factors cancel."""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import TypeGuard

from .conditions import Cond, Eq0, eq0
from .terms import Size, Term, Var, divides, lead, of_atom, without

_MOST_STEPS = 16


def without_empty(cond: Cond, empties: Collection[Var] | None = None) -> Cond:
    """`p == 0` for `n * p == 0`: the case n = 0, where a tensor has no elements, is left out."""
    if not isinstance(cond, Eq0):
        return cond
    monos = list(cond.term.mons)
    for shared in monos[0]:
        if not isinstance(shared, Var) or not shared.nonneg or (empties is not None and shared not in empties):
            continue
        if all(shared in mono for mono in monos):
            less = eq0(divided(cond.term, shared))
            return cond if isinstance(less, bool) else without_empty(less, empties)
    summed = _without_sum(cond.term, empties)
    return cond if summed is None else summed


def _without_sum(term: Term, empties: Collection[Var] | None) -> Cond | None:
    """`d == h * k` for `(m + q) * d == (m + q) * h * k`: the sizes that make up one axis are not all 0."""
    for solved in dict.fromkeys(atom for mono in term.mons for atom in mono if isinstance(atom, Var)):
        if max(mono.count(solved) for mono in term.mons) > 1:
            continue
        beside = {mono: k for mono, k in term.mons.items() if solved not in mono}
        by = divided(Term({mono: k for mono, k in term.mons.items() if mono not in beside}), solved)
        rest = _quotient(Term(beside), by) if beside and _is_sum(by, empties) else None
        if rest is not None:
            return eq0(of_atom(solved) + rest)
    return None


def _is_sum(size: Size, empties: Collection[Var] | None) -> TypeGuard[Term]:
    """Whether it is a sum of sizes (up to sign), so that it is 0 only if each of them is."""
    if not isinstance(size, Term) or len(size.mons) < 2 or len({k > 0 for k in size.mons.values()}) > 1:
        return False
    sizes = [mono[0] for mono in size.mons if len(mono) == 1]
    return len(sizes) == len(size.mons) and all(
        isinstance(v, Var) and v.nonneg and (empties is None or v in empties) for v in sizes
    )


def _quotient(size: Size, by: Term) -> Size | None:
    """The size divided by a sum of sizes; None if a remainder is left."""
    first = lead(by)
    found: Size = 0
    for _ in range(_MOST_STEPS):
        if isinstance(size, int):
            return found if size == 0 else None
        mono = lead(size)
        factor, left = divmod(size.mons[mono], by.mons[first])
        if left or not divides(first, mono):
            return None
        part = prod((of_atom(atom) for atom in without(mono, first)), start=factor)
        found, size = found + part, size - part * by
    return None


def factors(cond: Cond) -> tuple[Var, ...]:
    """The sizes that are factors of every term of an equation."""
    if not isinstance(cond, Eq0):
        return ()
    first, *others = cond.term.mons
    return tuple(
        v for v in dict.fromkeys(first) if isinstance(v, Var) and v.nonneg and all(v in mono for mono in others)
    )


def divided(term: Term, variable: Var) -> Size:
    total: Size = 0
    for mono, factor in term.mons.items():
        left = list(mono)
        left.remove(variable)
        part: Size = factor
        for atom in left:
            part = part * of_atom(atom)
        total = total + part
    return total
