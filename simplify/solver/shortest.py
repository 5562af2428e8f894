"""The shortest quotient that equals a size of one name wherever the name is in a set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from .conditions import Cond, all_of, any_of, eq, ge, le, negate
from .piecewise import NotPiecewise, Poly, truth, values
from .rendering import render
from .size_sets import ResidueInterval, SizeSet, merged
from .terms import Size, Term, Var, evaluate, floordiv, mod, of_atom, smax, smin

# The most fitting constants that are tried, those nearest to 0 first.
_MOST = 4


def member(name: Var, found: SizeSet) -> Cond:
    """The condition that a size is in a set."""
    return any_of(*(cond for part in found.parts for cond in _of_part(of_atom(name), part)))


def _of_part(size: Term, part: ResidueInterval) -> Iterator[Cond]:
    most = True if part.last is None else le(size, part.last)
    rest = mod(size, part.modulus) if part.modulus > 1 else 0
    for first, end in merged((r, r + 1) for r in part.remainders):
        yield all_of(ge(size, part.first), most, ge(rest, first), le(rest, end - 1))


def shortest_on(size: Size, name: Var, found: SizeSet) -> Size:
    """(n * 2 + max(n, 120) * 159 - 18960) // 160 - max(n, 120) + 119, for n >= 100  ->  (n + 80) // 160"""
    if isinstance(size, int) or not found.parts:
        return size
    if found.parts[0].first == found.last:
        return evaluate(size, {name: found.parts[0].first})
    try:
        at_end = next(s for s in values(size, name) if s.end is None or found.last is not None and found.last < s.end)
        tried = [c for c in _guesses(at_end.polys, name, found) if len(render(c)) < len(render(size))]
        return next((c for c in tried if _is_equal(size, c, name, found)), size)
    except NotPiecewise:
        return size


def _guesses(polys: Sequence[Poly], name: Var, found: SizeSet) -> Iterator[Size]:
    """Quotients of the name that are equal on a stretch, if the size grows evenly in the set."""
    modulus = len(polys)
    steps = [(gcd(part.modulus, modulus), part.remainders) for part in found.parts]
    residues = [r for r in range(modulus) if any((r - own) % step == 0 for step, rests in steps for own in rests)]
    if len({polys[r][1:] for r in residues}) != 1 or len(polys[residues[0]]) > 2:
        return
    slope = polys[residues[0]][1] if len(polys[residues[0]]) > 1 else 0
    times, den = slope // gcd(slope, modulus), modulus // gcd(slope, modulus)
    # floor((times * r + c) / den) is the polynomial of r where n = r + modulus * q
    least = max(den * polys[r][0] - times * r for r in residues)
    most = min(den * polys[r][0] + den - 1 - times * r for r in residues)
    for constant in sorted(range(least, min(most, least + den) + 1), key=abs)[:_MOST]:
        grows = floordiv(of_atom(name) * times + constant, den)
        yield grows
        yield smax(grows, 0)
    if not times and least == most:
        yield smin(of_atom(name), least)


def _is_equal(one: Size, other: Size, name: Var, found: SizeSet) -> bool:
    """Whether two sizes are equal wherever the name is in a set."""
    differs = truth(all_of(member(name, found), negate(eq(one, other))), name)
    return all(poly == (0,) for stretch in differs for poly in stretch.polys)
