"""Sums that are one product and a number, as where windows over a picture have to fill a layer: they are written as that."""

from __future__ import annotations

from math import gcd

from .terms import Atom, Mono, Size, Term, atom_key, of_atom, term_vars


def product_of(term: Term) -> tuple[Size, Size, int] | None:
    """Two factors, and the number that their product has to be where a sum is 0.

    x * y - x * 4 - y * 4 - 33  ->  x - 4, y - 4, 49
    """
    found = _factors(term.mons)
    return None if found is None or found[2] == 0 else found


def product_modulo(term: Term, number: int) -> list[Size]:
    """The factors of a product that leaves no remainder by a number where, and only where, a sum leaves none; empty if there
    is none.

    b * x * y * 15 + b * x * 3 + b * y * 3 + b * 7, 16  ->  b, x - 3, y - 3
    """
    own: set[Atom] = set.intersection(*(set(mono) for mono in term.mons))
    mons = {tuple(a for a in mono if a not in own): _near(k, number) for mono, k in term.mons.items()}
    found = _factors({mono: k for mono, k in mons.items() if k}) if len(mons) == len(term.mons) else None
    if found is None or found[2] % number:
        return []
    return [*map(of_atom, sorted(own, key=atom_key)), *found[:2]]


def _near(k: int, number: int) -> int:
    """What leaves the same remainder and is next to 0."""
    k %= number
    return k - number if 2 * k > number else k


def _factors(mons: dict[Mono, int]) -> tuple[Size, Size, int] | None:
    """Two sums without a name in common whose product differs from what is given, or from its opposite, by a number."""
    pairs = {mono: k for mono, k in mons.items() if len(mono) == 2}
    if len(mons) - len(pairs) - (() in mons) < 1 or any(len(mono) > 2 for mono in mons):
        return None
    one, other = min(pairs, key=lambda mono: abs(pairs[mono]), default=(None, None))
    if one is None or other is None or not _vars(one).isdisjoint(_vars(other)):
        return None
    sides: list[Size] = []
    scale = pairs[one, other]
    for pivot, share in ((other, scale), (one, 1)):
        inside = {mono: k for mono, k in mons.items() if pivot in mono}
        if any(k % share for k in inside.values()):
            return None
        side: Size = 0
        for mono, k in inside.items():
            rest = tuple(a for a in mono if a != pivot)
            side = side + (of_atom(rest[0]) * (k // share) if rest else k // share)
        sides.append(side)
    left, right = sides
    difference = left * right - Term(mons)
    if not isinstance(difference, int) or not isinstance(left, Term) or not isinstance(right, Term):
        return None
    return _shrunk(left, right, difference)


def _shrunk(left: Term, right: Term, rest: int) -> tuple[Size, Size, int]:
    """Without a number or a sign that all of the second factor has, where what it has to be has it too."""
    shared = gcd(*right.mons.values(), rest)
    shared = -shared if all(k < 0 for mono, k in right.mons.items() if mono) else shared
    return left, Term({mono: k // shared for mono, k in right.mons.items()}), rest // shared


def _vars(atom: Atom) -> frozenset[object]:
    return frozenset(term_vars(of_atom(atom)))
