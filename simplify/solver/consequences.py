"""Direct consequences of an inequality or an equation for its factors, such as: a product is at least 1."""

from __future__ import annotations

from collections.abc import Iterator

from .terms import Bounds, Floor, Mono, Ranges, Size, Term, at_least, mod, mono_interval, of_atom


def at_least_one(term: Term, ranges: Ranges) -> Iterator[Size]:
    """The sizes that are at least 1 if `term >= 0` bounds a product or a quotient from below by 1: its factors, its
    dividend."""
    mono = _lone(term)
    if mono is None or term.mons[mono] < 0 or term.mons.get((), 0) >= 0:
        return
    if len(mono) > 1:
        if all(_is_natural(mono_interval((atom,), ranges)) for atom in mono):
            yield from map(of_atom, dict.fromkeys(mono))
    elif type(atom := mono[0]) is Floor and at_least(atom.den, 0, ranges):
        yield atom.num
        if type(atom.den) is Term:
            yield atom.den


def without_quotient(term: Term) -> Size | None:
    """A size that is at least 0 if a bound of a quotient by a number holds: `x - 8 >= 0` for `x // 4 - 2 >= 0`."""
    mono = _lone(term)
    if mono is None or len(mono) > 1 or type(atom := mono[0]) is not Floor or type(atom.den) is Term:
        return None
    k, rest = term.mons[mono], term.mons.get((), 0)
    return atom.num + rest // k * atom.den if k > 0 else (rest // -k + 1) * atom.den - 1 - atom.num


def remainders(term: Term, ranges: Ranges) -> list[Size] | None:
    """The remainders that must be 0 if `x * y == x // 4 * (y // 5) * 20` for sizes from 1 on: a quotient times its divisor is
    at most its dividend, so that their product reaches the whole only if each does."""
    for mono, k in term.mons.items():
        quotients = [a for a in mono if type(a) is Floor and isinstance(a.den, int) and a.den > 0]
        if len(mono) < 2 or len(quotients) < len(mono):
            continue
        whole: Size = 1
        scale = 1
        for quotient in quotients:
            whole = whole * quotient.num
            scale *= quotient.den if isinstance(quotient.den, int) else 1
        sides = Term({mono: scale}) - whole
        if abs(k) == scale and term in (sides, -sides) and all(at_least(q.num, 1, ranges) for q in quotients):
            return [mod(q.num, q.den) for q in dict.fromkeys(quotients)]
    return None


def _lone(term: Term) -> Mono | None:
    """The only monomial beside a constant, or None."""
    if len(term.mons) != 1 + (() in term.mons):
        return None
    return next((mono for mono in term.mons if mono), None)


def _is_natural(interval: Bounds) -> bool:
    return interval[0] is not None and interval[0] >= 0
