"""Small questions about terms: whether a size is one variable, which one, and how large it can be in practice."""

from __future__ import annotations

from itertools import product
from math import isqrt

from .terms import Mono, Size, Term, Var, of_atom, variables
from .terms.polynomials import atom_key


def single_var(size: Size) -> Var | None:
    """The variable, if the size is exactly one variable."""
    if isinstance(size, int) or len(size.mons) != 1:
        return None
    (mono, factor), *_ = size.mons.items()
    return mono[0] if factor == 1 and len(mono) == 1 and isinstance(mono[0], Var) else None


def is_ordinary(size: Size, bits: int = 63) -> bool:
    """Whether it surely fits an integer of `bits` bits beside the sign: dimensions are assumed below 2**31 if two are
    multiplied, else below 2**46."""
    if isinstance(size, int):
        return -(1 << bits) <= size < 1 << bits
    if not all(v.nonneg for v in variables(size)):  # a Size parameter may be any integer
        return False
    degree = max(map(len, size.mons))
    factors = sum(map(abs, size.mons.values()))
    if bits < 63:
        return degree <= 1 and factors <= 1 << (bits - 46)
    return degree <= 2 and factors <= 2**16


def square_root(size: Size) -> Size | None:
    """A size, of either sign, whose square this is, or None."""
    if isinstance(size, int):
        return isqrt(size) if size >= 0 and isqrt(size) ** 2 == size else None
    squares = [_root_of(mono, factor) for mono, factor in size.mons.items()]
    roots = [root for root in squares if root is not None]
    for signs in product((1, -1), repeat=len(roots) - 1) if 1 <= len(roots) <= 3 else ():
        found = roots[0]
        for sign, root in zip(signs, roots[1:], strict=True):
            found = found + root * sign
        if found * found == size:
            return found
    return None


def _root_of(mono: Mono, factor: int) -> Size | None:
    """The root of a monomial that is a square, or None."""
    atoms = sorted(mono, key=atom_key)
    if factor < 0 or isqrt(factor) ** 2 != factor or atoms[::2] != atoms[1::2]:
        return None
    found: Size = isqrt(factor)
    for atom in atoms[::2]:
        found = of_atom(atom) * found
    return found


def only_var(term: Term) -> Var:
    """The variable that a term made by `var` consists of."""
    found = single_var(term)
    assert found is not None
    return found


def is_older(size: Size, newest: int) -> bool:
    """Whether all variables of a size have at most this serial number."""
    return isinstance(size, int) or all(v.serial <= newest for v in variables(size))
