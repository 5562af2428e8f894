"""Ranges of sizes: from signs, from intervals, and from the definitions of quotients and maxima."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .polynomials import Atom, Floor, Max, Mono, Size, Term, Var, atom_key
from .steps import charge

Bounds = tuple[int | None, int | None]
Ranges = Mapping[Var, Bounds]
_NO_RANGES: Ranges = {}


def is_nonneg(size: Size) -> bool:
    """Whether the signs alone show that the size is at least 0."""
    if isinstance(size, int):
        return size >= 0
    for mono, k in size.mons.items():
        if k < 0:
            return False
        for atom in mono:
            if not _atom_is_nonneg(atom):
                return False
    return True


def _atom_is_nonneg(atom: Atom) -> bool:
    if type(atom) is Var:
        return atom.nonneg
    if type(atom) is Max:
        return True
    return is_nonneg(atom.num) and is_nonneg(atom.den)


def at_least(size: Size, least: int, ranges: Ranges = _NO_RANGES) -> bool:
    """Whether the size is known to be at least `least`."""
    low = lower(size, ranges)
    return low is not None and low >= least


def bounds(size: Size, ranges: Ranges = _NO_RANGES) -> Bounds:
    """A range that contains the size; None is no bound."""
    if isinstance(size, int):
        return size, size
    if not _defined(size):
        return _interval(size, ranges)
    low = lower(size, ranges)
    high = lower(-size, ranges)
    return low, None if high is None else -high


def lower(size: Size, ranges: Ranges = _NO_RANGES, depth: int = 3) -> int | None:
    """A lower bound of the size: from intervals, and from the definitions of its floors and maxima."""
    if isinstance(size, int):
        return size
    best = _interval(size, ranges)[0]
    atoms = _defined(size) if depth else []
    if not atoms:
        return best
    if len(atoms) > 4:
        depth = 1
    atoms.sort(key=atom_key, reverse=True)
    minima = [a for a in atoms if type(a) is Max and size.mons[(a,)] < 0]
    for atom in minima[:1] or atoms:  # splitting by a minimum is exact, so no other order is tried
        found = _lower_without(size, atom, ranges, depth - 1)
        if found is not None and (best is None or found > best):
            best = found
    return best


def _defined(size: Term) -> list[Atom]:
    """The quotients and maxima that are monomials by themselves."""
    return [m[0] for m in size.mons if len(m) == 1 and type(m[0]) is not Var]


def _lower_without(size: Term, atom: Atom, ranges: Ranges, depth: int) -> int | None:
    k = size.mons[(atom,)]
    if type(atom) is Floor:
        c = atom.den
        if not isinstance(c, int):
            return None
        rest = size - Term({(atom,): k})
        scaled = rest * c + atom.num * k - (k * (c - 1) if k > 0 else 0)
        if type(scaled) is Term and len(scaled.mons) > len(size.mons):
            return None
        found = lower(scaled, ranges, depth)
        return None if found is None else -(-found // c)
    assert type(atom) is Max
    rest = size - Term({(atom,): k})
    lows = [lower(rest, ranges, depth), *(lower(rest + a * k, ranges, depth) for a in atom.args)]
    if k > 0:
        return max((x for x in lows if x is not None), default=None)
    return None if None in lows else min(x for x in lows if x is not None)


def _interval(size: Size, ranges: Ranges) -> Bounds:
    """The range of a size, by intervals alone."""
    if isinstance(size, int):
        return size, size
    low: int | None = 0
    high: int | None = 0
    charge(len(size.mons))
    for mono, k in size.mons.items():
        least, most = mono_interval(mono, ranges) if mono else (1, 1)
        if k < 0:
            least, most = most, least
        low = None if low is None or least is None else low + k * least
        high = None if high is None or most is None else high + k * most
        if low is None and high is None:
            break
    return low, high


def mono_interval(mono: Mono, ranges: Ranges) -> Bounds:
    """The range of a monomial, by intervals alone."""
    if len(mono) == 1:
        return _atom_interval(mono[0], ranges)
    charge(len(mono) - 1)
    low: int | None = 1
    high: int | None = 1
    at = 0
    while at < len(mono):
        atom = mono[at]
        power = 1
        while at + power < len(mono) and mono[at + power] == atom:
            power += 1
        a_low, a_high = _atom_interval(atom, ranges)
        at += power
        low, high = _times((low, high), _power((a_low, a_high), power))
    return low, high


def _power(interval: Bounds, power: int) -> Bounds:
    low, high = interval
    result = interval
    for _ in range(power - 1):
        result = _times(result, interval)
    if power % 2 == 0 and (low is None or low < 0) and (high is None or high > 0):
        return 0, result[1]
    return result


def _times(a: Bounds, b: Bounds) -> Bounds:
    (al, ah), (bl, bh) = a, b
    if al is not None and bl is not None and al >= 0 and bl >= 0:
        return al * bl, None if _unbounded_product(ah, bh) else _finite_product(ah, bh)
    infinity = float("inf")
    x: list[Any] = [-infinity if al is None else al, infinity if ah is None else ah]
    y: list[Any] = [-infinity if bl is None else bl, infinity if bh is None else bh]
    ends = [0 if i == 0 or j == 0 else _end_product(i, j) for i in x for j in y]
    low, high = min(ends), max(ends)
    return None if low == -infinity else low, None if high == infinity else high


def _end_product(i: Any, j: Any) -> Any:
    if isinstance(i, float) or isinstance(j, float):
        return float("inf") if (i > 0) == (j > 0) else float("-inf")
    return i * j


def _unbounded_product(a: int | None, b: int | None) -> bool:
    return (a is None and b != 0) or (b is None and a != 0)


def _finite_product(a: int | None, b: int | None) -> int:
    return 0 if a is None or b is None else a * b


def _atom_interval(atom: Atom, ranges: Ranges) -> Bounds:
    if type(atom) is Var:
        found = ranges.get(atom)
        return found if found is not None else ((0 if atom.nonneg else None), None)
    if type(atom) is Max:
        lows, highs = zip((0, 0), *(_interval(a, ranges) for a in atom.args), strict=True)
        return max(low for low in lows if low is not None), None if None in highs else max(highs)
    return _floor_interval(atom, ranges)


def _floor_interval(atom: Floor, ranges: Ranges) -> Bounds:
    num, den = atom.num, atom.den
    low, high = _interval(num, ranges)
    if isinstance(den, int):
        return None if low is None else low // den, None if high is None else high // den
    d_low, d_high = _interval(den, ranges)
    if d_low is None or d_low < 0:
        return None, None
    d_low = max(d_low, 1)
    if d_high is not None:
        d_high = max(d_high, 1)
    floor_low = _quotient_end(low, d_low, d_high, lowest=True)
    return floor_low, _quotient_end(high, d_low, d_high, lowest=False)


def _quotient_end(end: int | None, d_low: int, d_high: int | None, lowest: bool) -> int | None:
    if end is None:
        return None
    if (end >= 0) == lowest:
        # furthest towards 0: the greatest divisor
        if d_high is None:
            return 0 if end >= 0 else -1
        return end // d_high
    return end // d_low
