"""Sums written as one product and a number, as they arise when windows over a picture must fill a layer."""

from __future__ import annotations

from math import gcd

from .terms import Atom, Mono, Size, Term, atom_key, of_atom, term_vars


def product_of(term: Term) -> tuple[Size, Size, int] | None:
    """Return two factors, and the value of their product if a sum is 0.

    x * y - x * 4 - y * 4 - 33  ->  x - 4, y - 4, 49
    """
    found = _factors(term.mons)
    return None if found is None or found[2] == 0 else found


def product_modulo(term: Term, number: int) -> list[Size]:
    """Return the factors of a product that is divisible by a number exactly if a sum is; empty if there is none.

    b * x * y * 15 + b * x * 3 + b * y * 3 + b * 7, 16  ->  b, x - 3, y - 3
    """
    own: set[Atom] = set.intersection(*(set(mono) for mono in term.mons))
    mons = {tuple(a for a in mono if a not in own): _near(k, number) for mono, k in term.mons.items()}
    found = _factors({mono: k for mono, k in mons.items() if k}) if len(mons) == len(term.mons) else None
    if found is None or found[2] % number:
        return []
    return [*map(of_atom, sorted(own, key=atom_key)), *found[:2]]


def _near(k: int, number: int) -> int:
    """The number nearest to 0 with the same remainder."""
    k %= number
    return k - number if 2 * k > number else k


def _factors(mons: dict[Mono, int]) -> tuple[Size, Size, int] | None:
    """Two sums without common names, and the value of their product if the given sum is 0."""
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
    """Divide the second factor and the product's value by their common factor, and by the sign of the second factor."""
    shared = gcd(*right.mons.values(), rest)
    shared = -shared if all(k < 0 for mono, k in right.mons.items() if mono) else shared
    return left, Term({mono: k // shared for mono, k in right.mons.items()}), rest // shared


def _vars(atom: Atom) -> frozenset[object]:
    return frozenset(term_vars(of_atom(atom)))
