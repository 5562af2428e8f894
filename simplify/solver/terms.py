"""Sizes as polynomials over interned-by-structure atoms, kept in one normal form, so that equal sizes are `==`.

A `Size` is an `int` or a `Term`; every operation returns an `int` where the result is constant. An atom is a variable,
a floor division that does not come out, or a maximum; remainders, minima and ceilings are written with those:

    a % b == a - b * (a // b)        min(a, b) == -max(-a, -b)        ceildiv(a, b) == -(-a // b)

Identities of `//` hold for divisors that are not 0, which is the obligation of whoever writes a division; so that
everything is total, `evaluate` takes `a // 0` as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from typing import Any, Union, final

Size = Union[int, "Term"]
Bounds = tuple[int | None, int | None]


@final
class Var:
    """A size variable; two are the same when their serials are."""

    __slots__ = ("key", "name", "nonneg", "serial")

    def __init__(self, name: str, serial: int, nonneg: bool = True) -> None:
        self.name = name
        self.serial = serial
        self.nonneg = nonneg
        self.key: tuple[Any, ...] = (0, serial)

    def __hash__(self) -> int:
        return self.serial

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Var and other.serial == self.serial)

    def __lt__(self, other: Var) -> bool:
        return self.serial < other.serial

    def __repr__(self) -> str:
        return f"Var({self.name!r}, {self.serial}{'' if self.nonneg else ', nonneg=False'})"


@final
class Floor:
    """The atom `num // den`: den is an int above 1 or a Term; nothing can be taken out of it."""

    __slots__ = ("_hash", "den", "key", "num", "vars", "weight")

    def __init__(self, num: Size, den: Size) -> None:
        self.num = num
        self.den = den
        self.key: tuple[Any, ...] = (1, size_key(den), size_key(num))
        self._hash = hash((num, den))
        self.vars = _size_vars(num) | _size_vars(den)
        self.weight: int = 1 + weight(num) + weight(den)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is Floor and self._hash == other._hash and self.num == other.num and self.den == other.den

    def __repr__(self) -> str:
        return f"({self.num!r} // {self.den!r})"


@final
class Max:
    """The atom `max(0, *args)`: args have no common factor and a positive leading coefficient."""

    __slots__ = ("_hash", "args", "key", "vars", "weight")

    def __init__(self, args: tuple[Size, ...]) -> None:
        self.args = args
        self.key: tuple[Any, ...] = (2, *(size_key(a) for a in args))
        self._hash = hash(args) + 1
        self.vars = frozenset().union(*(_size_vars(a) for a in args))
        self.weight: int = 1 + sum(weight(a) for a in args)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Max and self._hash == other._hash and self.args == other.args)

    def __repr__(self) -> str:
        return f"max(0, {', '.join(map(repr, self.args))})"


Atom = Var | Floor | Max
Mono = tuple[Atom, ...]


@final
class Term:
    """A polynomial that is not constant: a dictionary from monomials (sorted tuples of atoms) to coefficients."""

    __slots__ = ("_hash", "_key", "_vars", "mons")

    def __init__(self, mons: dict[Mono, int]) -> None:
        self.mons = mons
        self._hash: int | None = None
        self._key: tuple[Any, ...] | None = None
        self._vars: frozenset[Var] | None = None

    def __hash__(self) -> int:
        found = self._hash
        if found is None:
            found = self._hash = hash(frozenset(self.mons.items()))
        return found

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Term and self.mons == other.mons)

    def __repr__(self) -> str:
        return f"Term({self.mons!r})"

    def __add__(self, other: Size) -> Size:
        if isinstance(other, int):
            if not other:
                return self
            mons = self.mons.copy()
            constant = mons.get((), 0) + other
            if constant:
                mons[()] = constant
            else:
                del mons[()]
            return Term(mons)
        if type(other) is not Term:
            return NotImplemented
        mons = self.mons.copy()
        for mono, k in other.mons.items():
            total = mons.get(mono, 0) + k
            if total:
                mons[mono] = total
            else:
                del mons[mono]
        return close(mons)

    __radd__ = __add__

    def __neg__(self) -> Term:
        return Term({mono: -k for mono, k in self.mons.items()})

    def __sub__(self, other: Size) -> Size:
        if isinstance(other, int):
            return self + -other
        if type(other) is not Term:
            return NotImplemented
        mons = self.mons.copy()
        for mono, k in other.mons.items():
            total = mons.get(mono, 0) - k
            if total:
                mons[mono] = total
            else:
                del mons[mono]
        return close(mons)

    def __rsub__(self, other: int) -> Size:
        return -self + other

    def __mul__(self, other: Size) -> Size:
        if isinstance(other, int):
            if other == 1:
                return self
            return Term({mono: k * other for mono, k in self.mons.items()}) if other else 0
        if type(other) is not Term:
            return NotImplemented
        return _product(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return floordiv(other, self)

    def __mod__(self, other: Size) -> Size:
        return mod(self, other)

    def __rmod__(self, other: int) -> Size:
        return mod(other, self)


def close(mons: dict[Mono, int]) -> Size:
    if not mons:
        return 0
    if len(mons) == 1 and () in mons:
        return mons[()]
    return Term(mons)


def var(name: str, serial: int, nonneg: bool = True) -> Term:
    """The size that is one variable."""
    return Term({(Var(name, serial, nonneg),): 1})


def of_atom(atom: Atom) -> Term:
    """The size that is one atom."""
    return Term({(atom,): 1})


# ---------------------------------------------------------------- order


def atom_key(atom: Atom) -> tuple[Any, ...]:
    return atom.key


def mono_key(mono: Mono) -> tuple[Any, ...]:
    """The order of monomials: by degree, then by atoms."""
    return (len(mono), *(a.key for a in mono))


def term_key(term: Term) -> tuple[Any, ...]:
    """A total order of terms that is the same in every process."""
    key = term._key
    if key is None:
        key = term._key = tuple(sorted((mono_key(m), k) for m, k in term.mons.items()))
    return key


def size_key(size: Size) -> tuple[Any, ...]:
    return term_key(size) if type(size) is Term else (((0,), size),)


def lead(term: Term) -> Mono:
    """The greatest monomial."""
    mons = term.mons
    if len(mons) == 1:
        return next(iter(mons))
    return max(mons, key=mono_key)


# ---------------------------------------------------------------- multiplication


class TooLarge(ArithmeticError):
    """A product of so many monomials that nobody can reason about it."""


# A product with more monomials than this is not written out.
_MOST_MONOMIALS = 4096


def _product(a: Term, b: Term) -> Size:
    if len(a.mons) * len(b.mons) > _MOST_MONOMIALS:
        raise TooLarge
    mons: dict[Mono, int] = {}
    squares = False
    for m, k in a.mons.items():
        for n, j in b.mons.items():
            if not m:
                mono = n
            elif not n:
                mono = m
            else:
                mono = tuple(sorted(m + n, key=atom_key))
                squares = squares or _has_square_max(mono)
            total = mons.get(mono, 0) + k * j
            if total:
                mons[mono] = total
            else:
                del mons[mono]
    return _flatten_squares(mons) if squares else close(mons)


def _has_square_max(mono: Mono) -> bool:
    return any(type(x) is Max and len(x.args) == 1 and x == y for x, y in zip(mono, mono[1:], strict=False))


def _flatten_squares(mons: dict[Mono, int]) -> Size:
    """max(0, d) ** 2 == d * max(0, d)."""
    result: Size = 0
    for mono, k in mons.items():
        if not _has_square_max(mono):
            result = result + Term({mono: k})
            continue
        at = next(i for i in range(len(mono)) if _has_square_max(mono[i : i + 2]))
        square = mono[at]
        assert type(square) is Max
        rest = mono[:at] + mono[at + 1 :]
        result = result + Term({rest: k}) * square.args[0]
    return result


# ---------------------------------------------------------------- floor division


def floordiv(a: Size, b: Size) -> Size:
    """`a // b`, rounding down."""
    if isinstance(b, int):
        if b < 0:
            a, b = -a, -b
        if isinstance(a, int):
            return a // b if b else 0
        if b == 1:
            return a
        return _floor_by_int(a, b) if b else 0
    return _floor_by_term(a, b)


def mod(a: Size, b: Size) -> Size:
    """`a % b`, with the sign of b."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b if b else a
    return a - b * floordiv(a, b)


def ceildiv(a: Size, b: Size) -> Size:
    """`a / b`, rounding up."""
    return -floordiv(-a, b)


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
    taken = {mono for mono, k in a.mons.items() if k < 0}
    return close(whole) + _floor_of_rest(rest, c, taken)


def _floor_of_rest(rest: dict[Mono, int], c: int, taken: set[Mono]) -> Size:
    """Floor of a sum whose coefficients are in 1..c-1, not all of them constant; `taken` came with a minus."""
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
    # a // c == -((c - 1 - a) // c); the multiples of c that make the coefficients positive come out
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
    if (_leads_negative(mirrored), size_key(mirrored)) < (_leads_negative(a), size_key(a)):
        return out - q - _floor_of_reduced(mirrored, b)  # a // b == -((b - 1 - a) // b)
    return out + _floor_of_reduced(a, b)


def _floor_of_reduced(a: Size, b: Term) -> Size:
    """`a // b` for a b that is at least 0, where nothing can be taken out any more."""
    if type(a) is Term:
        for mono in sorted(a.mons, key=mono_key):
            if a.mons[mono] == 1 and len(mono) == 1 and type(mono[0]) is Floor:
                inner = mono[0]
                others = a - of_atom(inner)
                if isinstance(inner.den, int) or others == 0:
                    return floordiv(inner.num + inner.den * others, inner.den * b)
    if at_least(a, 0) and at_least(b - 1 - a, 0):
        return 0
    return of_atom(Floor(a, b))


def _cancel(a: Size, b: Term) -> tuple[Size, Size]:
    """Both without their common factors."""
    if isinstance(a, int):
        g = gcd(a, *b.mons.values())
        return (a // g, _shrink(b, g, ())) if g > 1 else (a, b)
    common = common_atoms([*a.mons, *b.mons])
    content = gcd(*b.mons.values())
    g = gcd(content, *a.mons.values())
    if g == 1 and content > 1 and () in a.mons and not common and is_nonneg(b):
        # (4 * x + 3) // (4 * y) == x // y
        h = gcd(content, *(k for m, k in a.mons.items() if m))
        if h > 1:
            constant = a.mons[()]
            return _shrink(a - constant, h, ()) + constant // h, _shrink(b, h, ())
    if g == 1 and not common:
        return a, b
    return _shrink(a, g, common), _shrink(b, g, common)


def _shrink(size: Size, g: int, common: Mono) -> Size:
    if isinstance(size, int):
        return size // g
    return close({without(mono, common): k // g for mono, k in size.mons.items()})


def common_atoms(monos: Iterable[Mono]) -> Mono:
    """The atoms that are in every monomial, as often as they are in all."""
    common: list[Atom] | None = None
    for mono in monos:
        if common is None:
            common = list(mono)
            continue
        left = list(mono)
        kept = []
        for atom in common:
            if atom in left:
                left.remove(atom)
                kept.append(atom)
        common = kept
        if not common:
            return ()
    return tuple(common or ())


def without(mono: Mono, part: Mono) -> Mono:
    """The monomial divided by a part of it."""
    if not part:
        return mono
    left = list(mono)
    for atom in part:
        left.remove(atom)
    return tuple(left)


def divides(part: Mono, mono: Mono) -> bool:
    left = list(mono)
    for atom in part:
        if atom not in left:
            return False
        left.remove(atom)
    return True


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


def merge_floors(term: Term) -> Size:
    """Sums of quotients that make up one: `n // 4 + (n + 2) // 4 == n // 2`, `n // 3 + (n + 1) // 3 + (n + 2) // 3 == n`."""
    groups: dict[tuple[Size, int, int], dict[int, Floor]] = {}
    for mono, k in term.mons.items():
        if len(mono) == 1 and type(mono[0]) is Floor and isinstance(mono[0].den, int):
            atom = mono[0]
            constant = atom.num if isinstance(atom.num, int) else atom.num.mons.get((), 0)
            groups.setdefault((atom.num - constant, mono[0].den, k), {})[constant] = atom
    for (num, c, k), atoms in groups.items():
        for parts in range(2, len(atoms) + 1):
            if c % parts:
                continue
            for first in sorted(atoms):
                shifted = [first + j * (c // parts) for j in range(parts)]
                if all(x in atoms for x in shifted):
                    gone = Term({(atoms[x],): k for x in shifted})
                    merged = term - gone + floordiv(num + first, c // parts) * k
                    return merge_floors(merged) if type(merged) is Term else merged
    return term


# ---------------------------------------------------------------- maximum and minimum


def smax(*xs: Size) -> Size:
    """The greatest of the sizes."""
    if all(isinstance(x, int) for x in xs):
        return max(x for x in xs if isinstance(x, int))
    args: list[Size] = []
    for x in xs:
        for flat in _flat_max(x):
            if flat not in args:
                args.append(flat)
    kept = _undominated(args)
    if len(kept) == 1:
        return kept[0]
    shared = _shared_quotient(kept)
    if shared is not None:
        return shared
    base = kept[0]
    for x in kept[1:]:
        if _leads_negative(x - base):
            base = x
    above = sorted((x - base for x in kept if x is not base), key=size_key)
    spread = [y for x in above for y in _flat_max(x)]
    if len(spread) > len(above):  # max(min(n, m), k) == min(n, m) + max(0, k - n, k - m)
        return base + smax(0, *spread)
    g = 0
    for x in above:
        g = gcd(g, *(x.mons.values() if type(x) is Term else (x,)))
    return base + of_atom(Max(tuple(_shrink(x, g, ()) for x in above))) * g


def smin(*xs: Size) -> Size:
    """The smallest of the sizes."""
    return -smax(*(-x for x in xs))


def _shared_quotient(args: list[Size]) -> Size | None:
    """`max(x // c, y // c) == max(x, y) // c`, for at least two quotients, give or take constants."""
    c = 0
    nums: list[Size] = []
    for x in args:
        if isinstance(x, int):
            continue
        quotients = [(m[0], k) for m, k in x.mons.items() if len(m) == 1 and type(m[0]) is Floor and abs(k) == 1]
        if len(quotients) != 1:
            return None
        ((quotient, k),) = quotients
        den = quotient.den
        rest = x - Term({(quotient,): k})
        if not isinstance(den, int) or not isinstance(rest, int) or (c and den != c):
            return None
        c = den
        nums.append(quotient.num + rest * c if k > 0 else rest * c + c - 1 - quotient.num)
    if len(nums) < 2:
        return None
    return floordiv(smax(*nums, *(x * c for x in args if isinstance(x, int))), c)


def _flat_max(x: Size) -> list[Size]:
    if isinstance(x, int):
        return [x]
    inner = [m for m, k in x.mons.items() if k > 0 and len(m) == 1 and type(m[0]) is Max]
    if not inner:
        return [x]
    mono = min(inner, key=mono_key)
    k = x.mons[mono]
    atom = mono[0]
    assert type(atom) is Max
    base = x - Term({mono: k})
    return [base, *(base + a * k for a in atom.args)]


def _undominated(args: list[Size]) -> list[Size]:
    """Without those that another one is always at least as great as; order is kept."""
    kept: list[Size] = []
    for x in args:
        if any(at_least(y - x, 0) for y in kept):
            continue
        kept = [y for y in kept if not at_least(x - y, 0)]
        kept.append(x)
    return kept


def _leads_negative(x: Size) -> bool:
    return x < 0 if isinstance(x, int) else x.mons[lead(x)] < 0


# ---------------------------------------------------------------- ranges

Ranges = Mapping[Var, Bounds]
_NO_RANGES: Ranges = {}


def is_nonneg(size: Size) -> bool:
    """Is it seen from the signs alone that the size is at least 0?"""
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
    """Is the size known to be at least `least`?"""
    low = lower(size, ranges)
    return low is not None and low >= least


def bounds(size: Size, ranges: Ranges = _NO_RANGES) -> Bounds:
    """A range that the size never leaves; None is no bound."""
    if isinstance(size, int):
        return size, size
    low = lower(size, ranges)
    high = lower(-size, ranges)
    return low, None if high is None else -high


def lower(size: Size, ranges: Ranges = _NO_RANGES, depth: int = 3) -> int | None:
    """A number that the size is never below: by intervals, and by putting its own definition for a floor or maximum."""
    if isinstance(size, int):
        return size
    best = _interval_lower(size, ranges)
    if not depth:
        return best
    atoms = [m[0] for m in size.mons if len(m) == 1 and type(m[0]) is not Var]
    if not atoms:
        return best
    if len(atoms) > 4:
        depth = 1
    atoms.sort(key=atom_key, reverse=True)
    minima = [a for a in atoms if type(a) is Max and size.mons[(a,)] < 0]
    for atom in minima[:1] or atoms:  # the cases of a minimum lose nothing, so that no other order need be tried
        found = _lower_without(size, atom, ranges, depth - 1)
        if found is not None and (best is None or found > best):
            best = found
    return best


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


def _interval_lower(term: Term, ranges: Ranges) -> int | None:
    total = 0
    for mono, k in term.mons.items():
        if not mono:
            total += k
            continue
        low, high = mono_interval(mono, ranges)
        end = low if k > 0 else high
        if end is None:
            return None
        total += k * end
    return total


def mono_interval(mono: Mono, ranges: Ranges) -> Bounds:
    """The range of a monomial, by intervals alone."""
    if len(mono) == 1:
        return _atom_interval(mono[0], ranges)
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
        lows, highs = [0], [0]
        endless = False
        for a in atom.args:
            low, high = (a, a) if isinstance(a, int) else (_interval_lower(a, ranges), _interval_lower(-a, ranges))
            if low is not None:
                lows.append(low)
            if high is None:
                endless = True
            else:
                highs.append(-high if type(a) is Term else high)
        return max(lows), None if endless else max(highs)
    return _floor_interval(atom, ranges)


def _floor_interval(atom: Floor, ranges: Ranges) -> Bounds:
    num, den = atom.num, atom.den
    if isinstance(num, int):
        low: int | None = num
        high: int | None = num
    else:
        low = _interval_lower(num, ranges)
        high = _interval_lower(-num, ranges)
        high = None if high is None else -high
    if isinstance(den, int):
        return None if low is None else low // den, None if high is None else high // den
    d_low = _interval_lower(den, ranges)
    d_high = _interval_lower(-den, ranges)
    d_high = None if d_high is None else -d_high
    if d_low is None or d_low < 0:
        return None, None
    d_low = max(d_low, 1)
    if d_high is not None:
        d_high = max(d_high, 1)
    floor_low = _quotient_end(low, d_low, d_high, lowest=True)
    floor_high = _quotient_end(high, d_low, d_high, lowest=False)
    return floor_low, floor_high


def _quotient_end(end: int | None, d_low: int, d_high: int | None, lowest: bool) -> int | None:
    if end is None:
        return None
    if (end >= 0) == lowest:
        # furthest towards 0: the greatest divisor
        if d_high is None:
            return 0 if end >= 0 else -1
        return end // d_high
    return end // d_low


# ---------------------------------------------------------------- queries


def weight(size: Size) -> int:
    """How many atoms the size is made of, counted as often as they are written."""
    if isinstance(size, int):
        return 0
    return sum(1 if type(a) is Var else a.weight for m in size.mons for a in m)


def _size_vars(size: Size) -> frozenset[Var]:
    return term_vars(size) if type(size) is Term else frozenset()


def term_vars(term: Term) -> frozenset[Var]:
    """Every variable, also those inside of divisions and maxima; a set, so not for anything that is ordered."""
    found = term._vars
    if found is None:
        seen: set[Var] = set()
        for mono in term.mons:
            for atom in mono:
                if type(atom) is Var:
                    seen.add(atom)
                else:
                    seen |= atom.vars
        found = term._vars = frozenset(seen)
    return found


def variables(size: Size) -> tuple[Var, ...]:
    """Every variable, in their order."""
    return tuple(sorted(_size_vars(size)))


def substitute(size: Size, values: Mapping[Var, Size]) -> Size:
    """The size with sizes put for variables, all at once."""
    if isinstance(size, int) or not values or values.keys().isdisjoint(term_vars(size)):
        return size
    mons: dict[Mono, int] = {}
    result: Size = 0
    for mono, k in size.mons.items():
        if all(_untouched(atom, values) for atom in mono):
            mons[mono] = k
            continue
        product: Size = k
        for atom in mono:
            product = product * _substitute_atom(atom, values)
        result = result + product
    return close(mons) + result


def _untouched(atom: Atom, values: Mapping[Var, Size]) -> bool:
    return atom not in values if type(atom) is Var else values.keys().isdisjoint(atom.vars)


def _substitute_atom(atom: Atom, values: Mapping[Var, Size]) -> Size:
    if type(atom) is Var:
        found = values.get(atom)
        return of_atom(atom) if found is None else found
    if values.keys().isdisjoint(atom.vars):
        return of_atom(atom)
    if type(atom) is Floor:
        return floordiv(substitute(atom.num, values), substitute(atom.den, values))
    return smax(0, *(substitute(a, values) for a in atom.args))


def replace_atom(size: Size, atom: Atom, by: Size) -> Size:
    """The size with another size put for an atom, wherever it occurs."""
    if type(size) is not Term:
        return size
    result: Size = 0
    for mono, k in sorted(size.mons.items(), key=lambda p: mono_key(p[0])):
        product: Size = k
        for a in mono:
            product = product * _replaced(a, atom, by)
        result = result + product
    return result


def _replaced(a: Atom, atom: Atom, by: Size) -> Size:
    if a == atom:
        return by
    if type(a) is Floor:
        return floordiv(replace_atom(a.num, atom, by), replace_atom(a.den, atom, by))
    if type(a) is Max:
        return smax(0, *(replace_atom(x, atom, by) for x in a.args))
    return of_atom(a)


def evaluate(size: Size, point: Mapping[Var, int]) -> int:
    """The value at a point; `a // 0` is 0."""
    if isinstance(size, int):
        return size
    total = 0
    for mono, k in size.mons.items():
        for atom in mono:
            k *= point[atom] if type(atom) is Var else _evaluate_atom(atom, point)
        total += k
    return total


def _evaluate_atom(atom: Floor | Max, point: Mapping[Var, int]) -> int:
    if type(atom) is Floor:
        den = evaluate(atom.den, point)
        return evaluate(atom.num, point) // den if den else 0
    return max(0, *(evaluate(a, point) for a in atom.args))
