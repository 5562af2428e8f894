"""Floor division of sizes: whole parts are taken out, the remaining quotient is one atom."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm

from .polynomials import (
    Floor,
    Max,
    Mono,
    Size,
    Term,
    Var,
    close,
    common_atoms,
    divides,
    lead,
    leads_negative,
    mono_key,
    of_atom,
    shrink,
    size_key,
    without,
)
from .ranges import at_least, bounds, is_nonneg
from .steps import charge


def floordiv(a: Size, b: Size) -> Size:
    """`a // b`, rounding down."""
    if isinstance(b, int):
        if b < 0:
            a, b = -a, -b
        a = a if b in (0, 1) else _few(a)
        if isinstance(a, int):
            return a // b if b else 0
        if b == 1:
            return a
        return _few(_floor_by_int(a, b)) if b else 0
    return _floor_by_term(a, b)


def mod(a: Size, b: Size) -> Size:
    """`a % b`, with the sign of b."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b if b else a
    return a - b * floordiv(a, b)


def ceildiv(a: Size, b: Size) -> Size:
    """`a / b`, rounding up."""
    return -floordiv(-a, b)


Term.floordiv = floordiv


def _few(size: Size) -> Size:
    return merge_floors(size) if type(size) is Term and len(size.mons) > 1 else size


# By a number


def _floor_by_int(a: Term, c: int) -> Size:
    if any(type(x) is not Var for mono in a.mons for x in mono):
        low, high = bounds(a)
        if low is not None and high is not None and low // c == high // c:
            return low // c
    whole: dict[Mono, int] = {}
    rest: dict[Mono, int] = {}
    for mono, k in a.mons.items():
        q, r = divmod(k, c)
        if q:
            whole[mono] = q
        if r:
            rest[mono] = r
    if not rest or (len(rest) == 1 and () in rest):
        return close(whole)
    plain = _without_maximum(rest)
    if plain is not None:
        return close(whole) + _floor_by_int(plain, c)
    taken = {mono for mono, k in a.mons.items() if k < 0}
    return close(whole) + _floor_of_rest(rest, c, taken)


def _without_maximum(rest: dict[Mono, int]) -> Term | None:
    """`(max(0, x) + b) // c == (x + b) // c`, if b is in 0..c-1 and x + b is never negative."""
    constant = rest.get((), 0)
    if len(rest) != 1 + (constant != 0):
        return None
    mono = next(m for m in rest if m)
    if rest[mono] != 1 or len(mono) != 1 or type(mono[0]) is not Max or len(mono[0].args) != 1:
        return None
    inside = mono[0].args[0] + constant
    return inside if type(inside) is Term and at_least(inside, 0) else None


def _floor_of_rest(rest: dict[Mono, int], c: int, taken: set[Mono]) -> Size:
    """The floor of a sum with coefficients in 1..c-1 and at least one variable; the monomials in `taken` were negative."""
    constant = rest.pop((), 0)
    g = gcd(c, *rest.values())
    if g > 1:
        rest = {mono: k // g for mono, k in rest.items()}
        constant //= g
        c //= g
        if c == 1:
            return close(rest) + constant
    monos = sorted(rest, key=mono_key)
    for wanted in (1, c - 1):
        for mono in monos:
            if rest[mono] == wanted and len(mono) == 1 and type(mono[0]) is Floor:
                mirrored = mono in taken if c == 2 else wanted != 1
                flat = _unnest(rest, constant, c, mono, mono[0], mirrored)
                if flat is None and c == 2:
                    flat = _unnest(rest, constant, c, mono, mono[0], not mirrored)
                if flat is not None:
                    return flat
    if c == 2 and constant == 1:
        return Term(dict(rest)) - _floor_of_rest(rest, 2, taken)  # n // 2 + (n + 1) // 2 == n
    here = [rest[m] for m in monos] + [constant]
    there = [c - rest[m] for m in monos] + [c - 1 - constant]
    if here <= there:
        return of_atom(Floor(_with_constant(rest, constant), c))
    # a // c == -((c - 1 - a) // c); the multiples of c that make the coefficients positive are taken out
    opposite: dict[Mono, int] = {m: c - k for m, k in rest.items()}
    return Term(dict.fromkeys(rest, 1)) - of_atom(Floor(_with_constant(opposite, c - 1 - constant), c))


def _with_constant(mons: dict[Mono, int], constant: int) -> Term:
    if constant:
        mons[()] = constant
    return Term(mons)


def _unnest(rest: dict[Mono, int], constant: int, c: int, mono: Mono, inner: Floor, mirrored: bool) -> Size | None:
    """(x // b + m) // c == (x + b * m) // (b * c), for an int b or without m; a coefficient of -1 is mirrored first."""
    if not mirrored:
        others = close({m: k for m, k in rest.items() if m != mono}) + constant
        if not isinstance(inner.den, int) and others != 0:
            return None
        return floordiv(inner.num + inner.den * others, inner.den * c)
    others = close({m: -k for m, k in rest.items() if m != mono}) + (c - 1 - constant)
    if not isinstance(inner.den, int) and others != 0:
        return None
    # rest == (c - 1) * inner + o  ->  c - 1 - rest == inner + others - c * inner
    return of_atom(inner) - floordiv(inner.num + inner.den * others, inner.den * c)


# By a term


def _floor_by_term(a: Size, b: Term) -> Size:
    out: Size = 0
    while True:
        if isinstance(a, int) and a == 0:
            return out
        if b.mons[lead(b)] < 0:
            a, b = -a, -b
        a, divisor = _cancel(a, b)
        if isinstance(divisor, int):
            return out + floordiv(a, divisor)
        b = divisor
        q, rest = _divide_out(a, b)
        out = out + q
        if rest == a:
            break
        a = rest
    if not is_nonneg(b):
        return out + of_atom(Floor(a, b))
    q, mirrored = _divide_out(b - 1 - a, b)
    if (leads_negative(mirrored), size_key(mirrored)) < (leads_negative(a), size_key(a)):
        return out - q - _floor_of_reduced(mirrored, b)  # a // b == -((b - 1 - a) // b)
    return out + _floor_of_reduced(a, b)


def _floor_of_reduced(a: Size, b: Term) -> Size:
    """`a // b` for a b that is at least 0, after all whole parts are taken out."""
    if type(a) is Term:
        for mono in sorted(a.mons, key=mono_key):
            if a.mons[mono] == 1 and len(mono) == 1 and type(mono[0]) is Floor:
                inner = mono[0]
                others = a - of_atom(inner)
                if isinstance(inner.den, int) or others == 0:
                    return floordiv(inner.num + inner.den * others, inner.den * b)
    return 0 if at_least(a, 0) and at_least(b - 1 - a, 0) else of_atom(Floor(a, b))


def _cancel(a: Size, b: Term) -> tuple[Size, Size]:
    """Both sizes without their common factors."""
    if isinstance(a, int):
        g = gcd(a, *b.mons.values())
        return (a // g, shrink(b, g, ())) if g > 1 else (a, b)
    common = common_atoms([*a.mons, *b.mons])
    content = gcd(*b.mons.values())
    g = gcd(content, *a.mons.values())
    if g == 1 and content > 1 and () in a.mons and not common and is_nonneg(b):
        # (4 * x + 3) // (4 * y) == x // y
        h = gcd(content, *(k for m, k in a.mons.items() if m))
        if h > 1:
            constant = a.mons[()]
            return shrink(a - constant, h, ()) + constant // h, shrink(b, h, ())
    if g == 1 and not common:
        return a, b
    return shrink(a, g, common), shrink(b, g, common)


def _divide_out(a: Size, b: Term) -> tuple[Size, Size]:
    """q and r with a == q * b + r, where no monomial of r is a multiple of b's leading one."""
    if isinstance(a, int):
        return 0, a
    top = lead(b)
    k = b.mons[top]
    q: Size = 0
    for _ in range(64):
        if isinstance(a, int):
            break
        for mono in sorted(a.mons, key=mono_key, reverse=True):
            times = a.mons[mono] // k
            if times and len(mono) >= len(top) and divides(top, mono):
                part = close({without(mono, top): times})
                q = q + part
                a = a - part * b
                break
        else:
            break
    return q, a


# Sums of quotients


_MOST_QUOTIENTS = 1_024


def merge_floors(term: Term) -> Size:
    """Merge quotients of one size by numbers: `n // 4 + (n + 2) // 4 == n // 2`, and `n - n // 2 - (n + 1) // 4 == (n + 3) //
    4`."""
    groups: dict[Size, list[Floor]] = {}
    for mono in term.mons:
        if len(mono) == 1 and type(mono[0]) is Floor and isinstance(mono[0].den, int):
            num = mono[0].num
            groups.setdefault(num - _constant(num), []).append(mono[0])
    for base, atoms in groups.items():
        for merged in _merged(term, base, atoms) if len(atoms) > 1 else ():
            if type(merged) is not Term:
                return merged
            if len(merged.mons) < len(term.mons):
                return merge_floors(merged)
    return term


def _constant(size: Size) -> int:
    return size if isinstance(size, int) else size.mons.get((), 0)


def _merged(term: Term, base: Size, atoms: list[Floor]) -> Iterator[Size]:
    """Yield forms of the term with other quotients of `base`. For the least common multiple c of the divisors, each quotient
    is a sum of `(base + i) // c`, and the base is the sum over all i; `many` counts each `i`."""
    dens = [atom.den for atom in atoms if isinstance(atom.den, int)]
    c = lcm(*dens)
    if sum(c // den for den in dens) > _MOST_QUOTIENTS:
        return
    rest: Size = term
    many: dict[int, int] = {}
    for atom, den in zip(atoms, dens, strict=True):
        k = term.mons[(atom,)]
        rest = rest - Term({(atom,): k})
        for i in range(_constant(atom.num), _constant(atom.num) + c, den):
            whole, at = divmod(i, c)
            rest, many[at] = rest + whole * k, many.get(at, 0) + k
    charge(len(many))
    yield rest + _grouped(dict(many), base, c)
    dense = range(c) if c <= 2 * len(many) else ()
    for whole in {min(many.values()), max(many.values())} - {0} if dense else ():
        yield rest + base * whole + _grouped({i: many.get(i, 0) - whole for i in dense}, base, c)


def _grouped(many: dict[int, int], base: Size, c: int) -> Size:
    """The sum of `many[i]` times each `(base + i) // c`; complete groups become one quotient by a smaller number."""
    found: Size = 0
    for parts in (p for p in range(len(many), 0, -1) if c % p == 0):
        there: dict[int, list[int]] = {}
        for i, k in many.items():
            if k:
                there.setdefault(i % (c // parts), []).append(k)
        for first, times in there.items():
            common = min(times, key=abs)
            if len(times) == parts and (min(times) > 0 or max(times) < 0):
                found = found + floordiv(base + first, c // parts) * common
                for i in range(first, c, c // parts):
                    many[i] -= common
    return found
