"""Functions of one size as polynomials by remainder, on stretches of the naturals: exact under addition, multiplication,
division by numbers, and comparison."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import zip_longest
from math import gcd, lcm
from typing import NamedTuple

from .conditions import AllOf, AnyOf, Compare, Cond, Eq0, Ge0, Ne0
from .terms import Floor, Max, Size, Var, evaluate

# The coefficients of a polynomial in q = n // modulus, lowest first.
Poly = tuple[int, ...]
# The most polynomials that are made for one condition.
_MOST = 50_000
# A growing or falling term is bisected below 2 to this power.
_FAR = 62


class NotPiecewise(ArithmeticError):
    """A condition of another form, or with too many polynomials."""


class Stretch(NamedTuple):
    """The naturals from `start` to `end` (excluded; None: without end), with one polynomial for each remainder modulo their
    number."""

    start: int
    end: int | None
    polys: tuple[Poly, ...]


Function = list[Stretch]


def truth(cond: Cond, name: Var) -> Function:
    """1 if a condition on one size holds, else 0; raises NotPiecewise."""
    return _Maker(name).truth(cond)


def values(size: Size, name: Var) -> Function:
    """A size in one name; raises NotPiecewise."""
    return _Maker(name).value(size)


class _Maker:
    def __init__(self, name: Var) -> None:
        self.name, self.left = name, _MOST

    def truth(self, cond: Cond) -> Function:
        match cond:
            case bool():
                return _constant(cond)
            case AllOf(parts=parts):
                return reduce(self.product, map(self.truth, parts))
            case AnyOf(parts=parts):
                return self.difference(_constant(1), reduce(self.product, map(self.untruth, parts)))
            case Compare(term=term):
                if isinstance(cond, Ge0) and (found := self.threshold(term)):
                    return found
                return _merged(self.judged(stretch, type(cond)) for stretch in self.by_sign(self.value(term)))

    def untruth(self, cond: Cond) -> Function:
        return self.difference(_constant(1), self.truth(cond))

    def threshold(self, term: Size) -> Function | None:
        """The truth of `term >= 0` for a growing or falling term; None for others. For a chain of divisions, bisection takes
        a few evaluations instead of a polynomial for each remainder."""
        falls = _grows(-term, self.name)
        if not falls and not _grows(term, self.name):
            return None

        def changed(n: int) -> bool:
            return (evaluate(term, {self.name: n}) >= 0) != falls

        high = next((1 << k for k in range(_FAR) if changed(1 << k)), None)
        if high is None:
            return None
        at = bisect_left(range(high), True, key=changed)
        below, above = ((int(falls),),), ((int(not falls),),)
        return [Stretch(0, at, below), Stretch(at, None, above)] if at else [Stretch(0, None, above)]

    def judged(self, stretch: Stretch, kind: type[Compare]) -> Stretch:
        def holds(sign: int) -> bool:
            return sign == 0 if kind is Eq0 else sign != 0 if kind is Ne0 else sign >= 0

        return stretch._replace(polys=shortest([(int(holds(sign)),) for sign in _signs(stretch)]))

    def value(self, size: Size) -> Function:
        if isinstance(size, int):
            return _constant(size)
        return reduce(self.sum, (self.monomial(mono, k) for mono, k in size.mons.items()))

    def monomial(self, mono: Sequence[Var | Floor | Max], times: int) -> Function:
        return reduce(self.product, map(self.atom, mono), _constant(times))

    def atom(self, atom: Var | Floor | Max) -> Function:
        match atom:
            case Var():
                if atom != self.name:
                    raise NotPiecewise
                return [Stretch(0, None, ((0, 1),))]
            case Floor(num=num, den=int(den)):
                return [self.divided(stretch, den) for stretch in self.value(num)]
            case Max(args=args):
                return reduce(self.maximum, map(self.value, args), _constant(0))
        raise NotPiecewise

    def sum(self, f: Function, g: Function) -> Function:
        return self.joined(f, g, _plus)

    def difference(self, f: Function, g: Function) -> Function:
        return self.joined(f, g, lambda a, b: _plus(a, tuple(-c for c in b)))

    def product(self, f: Function, g: Function) -> Function:
        return self.joined(f, g, _times)

    def maximum(self, f: Function, g: Function) -> Function:
        by_sign = self.by_sign(self.difference(f, g))
        chosen = [s._replace(polys=tuple((int(sign >= 0),) for sign in _signs(s))) for s in by_sign]
        return self.sum(self.product(chosen, self.difference(f, g)), g)

    def joined(self, f: Function, g: Function, make: Callable[[Poly, Poly], Poly]) -> Function:
        found: Function = []
        for start, end, one, other in _common(f, g):
            a, b = self.short(start, end, one).polys, self.short(start, end, other).polys
            whole = lcm(len(a), len(b))
            found.append(Stretch(start, end, tuple(map(make, self.spread(a, whole), self.spread(b, whole)))))
        return found

    def spread(self, polys: tuple[Poly, ...], modulus: int) -> tuple[Poly, ...]:
        """The polynomials by the remainders modulo a multiple of their number."""
        self.left -= modulus
        if self.left < 0:
            raise NotPiecewise
        own, times = len(polys), modulus // len(polys)
        return polys if times == 1 else tuple(_put(polys[r % own], r // own, times) for r in range(modulus))

    def divided(self, stretch: Stretch, den: int) -> Stretch:
        """Divide polynomials by a number, after a refinement that makes all coefficients but the constant its multiples."""
        parts = (den // gcd(den, *poly[1:]) for poly in stretch.polys)
        polys = self.spread(stretch.polys, len(stretch.polys) * lcm(*parts))
        return stretch._replace(polys=tuple(tuple(c // den for c in poly) for poly in polys))

    def by_sign(self, f: Function) -> Iterator[Stretch]:
        """The stretches, cut where one of the polynomials changes its sign."""
        for stretch in f:
            cuts = sorted({cut for r in range(len(stretch.polys)) for cut in _cuts(stretch, r)})
            for start, end in zip((stretch.start, *cuts), (*cuts, stretch.end), strict=True):
                yield self.short(start, end, stretch.polys)

    def short(self, start: int, end: int | None, polys: tuple[Poly, ...]) -> Stretch:
        """A stretch shorter than its number of polynomials gets one constant for each of its sizes instead."""
        if end is None or end - start >= len(polys):
            self.left -= len(polys)
            return Stretch(start, end, polys)
        modulus, count = len(polys), end - start
        values = {n % count: (_at(polys[n % modulus], n // modulus),) for n in range(start, end)}
        self.left -= count
        return Stretch(start, end, tuple(values[r] for r in range(count)))


def _grows(size: Size, name: Var) -> bool:
    """Whether it never falls as the name grows, by its form: sums of multiples, divisions by numbers and maxima do not."""
    return isinstance(size, int) or all(
        not mono or (k > 0 and len(mono) == 1 and _atom_grows(mono[0], name)) for mono, k in size.mons.items()
    )


def _atom_grows(atom: Var | Floor | Max, name: Var) -> bool:
    match atom:
        case Floor(num=num, den=int(den)):
            return den > 0 and _grows(num, name)
        case Max(args=args):
            return all(_grows(arg, name) for arg in args)
    return atom == name


def shortest(polys: Sequence[Poly]) -> tuple[Poly, ...]:
    """The shortest period of a list of constants."""
    whole = len(polys)
    least = next((n for n in range(1, whole // 2 + 1) if whole % n == 0 and polys[n:] == polys[:-n]), whole)
    return tuple(polys[:least])


def _merged(stretches: Iterable[Stretch]) -> Function:
    """Merge neighbours with the same constants."""
    found: Function = []
    for stretch in stretches:
        if found and found[-1].polys == stretch.polys:
            found[-1] = found[-1]._replace(end=stretch.end)
        else:
            found.append(stretch)
    return found


def _constant(value: int) -> Function:
    return [Stretch(0, None, ((int(value),),))]


def _common(f: Function, g: Function) -> Iterator[tuple[int, int | None, tuple[Poly, ...], tuple[Poly, ...]]]:
    """The common stretches of two functions, with the polynomials of both."""
    i = j = start = 0
    while i < len(f) and j < len(g):
        ends = [s.end for s in (f[i], g[j]) if s.end is not None]
        end = min(ends) if ends else None
        yield start, end, f[i].polys, g[j].polys
        i, j = i + (f[i].end == end), j + (g[j].end == end)
        start = end or 0


def _plus(a: Poly, b: Poly) -> Poly:
    return _close([x + y for x, y in zip_longest(a, b, fillvalue=0)])


def _times(a: Poly, b: Poly) -> Poly:
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return _close(out)


def _close(poly: list[int]) -> Poly:
    while len(poly) > 1 and not poly[-1]:
        poly.pop()
    return tuple(poly)


def _put(poly: Poly, shift: int, times: int) -> Poly:
    """Return the polynomial of shift + times * q."""
    if len(poly) < 3:  # nearly all are
        return (poly[0] + poly[1] * shift, poly[1] * times) if len(poly) == 2 else poly
    found: Poly = (0,)
    for c in reversed(poly):
        found = _plus(_times(found, (shift, times)), (c,))
    return found


def _at(poly: Poly, q: int) -> int:
    return reduce(lambda value, c: value * q + c, reversed(poly), 0)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _signs(stretch: Stretch) -> list[int]:
    """The sign of each polynomial, which is constant on a stretch."""
    modulus = len(stretch.polys)
    return [_sign(_at(poly, _first(stretch.start, r, modulus))) for r, poly in enumerate(stretch.polys)]


def _first(start: int, remainder: int, modulus: int) -> int:
    """The first q with remainder + modulus * q >= start."""
    return -((remainder - start) // modulus)


def _cuts(stretch: Stretch, remainder: int) -> Iterable[int]:
    """The sizes where the polynomial of a remainder changes its sign."""
    modulus = len(stretch.polys)
    first = _first(stretch.start, remainder, modulus)
    end = None if stretch.end is None else _first(stretch.end, remainder, modulus)
    return [remainder + modulus * q for q in _changes(stretch.polys[remainder], first, end)]


def _changes(poly: Poly, first: int, end: int | None) -> list[int]:
    """The q, above `first` and below `end`, at which a polynomial has another sign than at q - 1; it is monotone between the
    sign changes of its difference."""
    if len(poly) == 1:
        return []
    # Beyond Cauchy's bound a polynomial keeps its sign.
    bound = max(2 + max(map(abs, poly[:-1])) // abs(poly[-1]), first + 1) + 1
    end = bound if end is None else min(end, bound)
    step = _plus(_put(poly, 1, 1), tuple(-c for c in poly))
    turns = [first, *_changes(step, first, end), end - 1]
    found: set[int] = set()
    for low, high in zip(turns, turns[1:], strict=False):
        while low < high and _sign(_at(poly, low)) != _sign(_at(poly, high)):
            low = _next_change(poly, low, high)
            found.add(low)
    return sorted(found)


def _next_change(poly: Poly, low: int, high: int) -> int:
    """The first q above `low` with another sign than at `low`, for a polynomial that is monotone up to `high`."""
    sign, start = _sign(_at(poly, low)), low
    while high - start > 1:
        middle = (start + high) // 2
        if _sign(_at(poly, middle)) == sign:
            start = middle
        else:
            high = middle
    return high
