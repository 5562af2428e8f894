"""Upper bounds of sizes that only the run decides."""

from __future__ import annotations

from collections.abc import Mapping

from ..solver.terms import Atom, Max, Mono, Size, Term, Var, close, floordiv, is_nonneg, of_atom, smax

Bounds = Mapping[Var, Size | None]


def upper_bound(size: Size, opaque: Bounds) -> Size | None:
    """Return an upper bound over the inputs, from the bounds of sizes that only the run decides: n for `n - k` and for
    `min(k, m)`, which is k less a maximum that is never below 0. A term added to a maximum is added to each of its arguments,
    which may give a smaller bound."""
    if isinstance(size, int):
        return size
    greatest = [mono for mono, k in size.mons.items() if k > 0 and _is_open_maximum(mono, opaque)]
    if len(greatest) != 1:
        return _of_sum(size, opaque)
    (maximum,), factor = greatest[0], size.mons[greatest[0]]
    assert isinstance(maximum, Max)
    rest = size - factor * of_atom(maximum)
    bounds = [upper_bound(rest + factor * one, opaque) for one in (0, *maximum.args)]
    known = [b for b in bounds if b is not None]
    return smax(*known) if len(known) == len(bounds) else _of_sum(size, opaque)


def _is_open_maximum(mono: Mono, opaque: Bounds) -> bool:
    return len(mono) == 1 and isinstance(mono[0], Max) and _is_open(mono[0], opaque)


def _of_sum(size: Term, opaque: Bounds) -> Size | None:
    total: Size = 0
    for mono, factor in size.mons.items():
        part = _of_part(mono, factor, opaque)
        if part is None:
            return None
        total = total + part
    return total


def _of_part(mono: Mono, factor: int, opaque: Bounds) -> Size | None:
    """An upper bound of one product. Only its own factors are replaced by their bounds: inside a quotient or a maximum a
    larger part may make the whole smaller."""
    if not any(_is_open(a, opaque) for a in mono):
        return close({mono: factor})
    if not all(is_nonneg(of_atom(a)) for a in mono):
        return None
    product: Size = max(factor, 0)
    for atom in mono if factor > 0 else ():
        bound = _of_atom(atom, opaque) if _is_open(atom, opaque) else of_atom(atom)
        if bound is None:
            return None
        product = product * bound
    return product


def _of_atom(atom: Atom, opaque: Bounds) -> Size | None:
    """An upper bound of an atom that only the run decides; a quotient and a maximum grow with their parts."""
    if isinstance(atom, Var):
        bound = opaque.get(atom)
        return None if bound is None else upper_bound(bound, opaque)
    if isinstance(atom, Max):
        bounds = [upper_bound(arg, opaque) for arg in atom.args]
        known = [b for b in bounds if b is not None]
        return smax(0, *known) if len(known) == len(bounds) else None
    num = upper_bound(atom.num, opaque) if isinstance(atom.den, int) else None
    return None if num is None else floordiv(num, atom.den)


def _is_open(atom: Atom, opaque: Bounds) -> bool:
    """Whether only the run decides the value."""
    return atom in opaque if isinstance(atom, Var) else any(v in opaque for v in atom.vars)
