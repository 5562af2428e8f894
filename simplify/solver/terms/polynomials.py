"""The normal form of sizes: polynomials over atoms with `+`, `-` and `*`, in an order that every process shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Union, final

from .steps import TooLarge, charge

Size = Union[int, "Term"]


@final
class Var:
    """A size variable; two are equal if their serials are."""

    __slots__ = ("key", "name", "nonneg", "serial")

    def __init__(self, name: str, serial: int, nonneg: bool = True) -> None:
        self.name, self.serial, self.nonneg = name, serial, nonneg
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
    """The atom `num // den`: den is an int above 1 or a Term; all whole parts are taken out."""

    __slots__ = ("_hash", "den", "key", "num", "vars", "weight")

    def __init__(self, num: Size, den: Size) -> None:
        self.num, self.den = num, den
        self.key: tuple[Any, ...] = (1, size_key(den), size_key(num))
        self._hash = hash((num, den))
        self.vars = _size_vars(num) | _size_vars(den)
        self.weight: int = _bearable(1 + weight(num) + weight(den))

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
        self.weight: int = _bearable(1 + sum(weight(a) for a in args))

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

    # `//` needs ranges, which are made of terms: division.py sets its function here when the package is imported.
    floordiv: ClassVar[Callable[[Size, Size], Size]]

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
        return self._plus(other, 1) if type(other) is Term else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Term:
        return Term({mono: -k for mono, k in self.mons.items()})

    def __sub__(self, other: Size) -> Size:
        if isinstance(other, int):
            return self + -other
        return self._plus(other, -1) if type(other) is Term else NotImplemented

    def _plus(self, other: Term, times: int) -> Size:
        mons = self.mons.copy()
        charge(len(mons))
        for mono, k in other.mons.items():
            total = mons.get(mono, 0) + k * times
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
            charge(len(self.mons))
            if other and (next(iter(self.mons.values())).bit_length() + other.bit_length() > MOST_BITS):
                raise TooLarge
            return Term({mono: k * other for mono, k in self.mons.items()}) if other else 0
        return NotImplemented if type(other) is not Term else _product(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return Term.floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return Term.floordiv(other, self)

    def __mod__(self, other: Size) -> Size:
        return self - other * Term.floordiv(self, other)

    def __rmod__(self, other: int) -> Size:
        return other - self * Term.floordiv(other, self)


def close(mons: dict[Mono, int]) -> Size:
    """The size with these monomials: a number if only a constant is left."""
    if not mons:
        return 0
    return mons[()] if len(mons) == 1 and () in mons else Term(mons)


def var(name: str, serial: int, nonneg: bool = True) -> Term:
    """The size that is one variable."""
    return Term({(Var(name, serial, nonneg),): 1})


def of_atom(atom: Atom) -> Term:
    """The size that is one atom."""
    return Term({(atom,): 1})


# Order


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
    return next(iter(mons)) if len(mons) == 1 else max(mons, key=mono_key)


def leads_negative(x: Size) -> bool:
    """Whether the greatest monomial has a minus."""
    return x < 0 if isinstance(x, int) else x.mons[lead(x)] < 0


# Products


# Products with more monomials or factors than this are not written out, nor atoms of greater weight.
_MOST_MONOMIALS = 4096
_MOST_FACTORS = 48
_MOST_WEIGHT = 1_500
# Sizes of tensors have at most 63 bits; intermediate numbers may have more, up to this.
MOST_BITS = 4_096


def _bearable(weight: int) -> int:
    charge(weight)
    if weight > _MOST_WEIGHT:
        raise TooLarge
    return weight


def _product(a: Term, b: Term) -> Size:
    pairs, factors = len(a.mons) * len(b.mons), max(map(len, a.mons)) + max(map(len, b.mons))
    charge(pairs * (1 + factors // 8))
    if pairs > _MOST_MONOMIALS or factors > _MOST_FACTORS:
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


# Common factors


def common_atoms(monos: Iterable[Mono]) -> Mono:
    """The atoms common to all monomials, with multiplicity."""
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
    """Whether `mono` has all atoms of `part`."""
    left = list(mono)
    for atom in part:
        if atom not in left:
            return False
        left.remove(atom)
    return True


def shrink(size: Size, g: int, common: Mono) -> Size:
    """The size divided by a number and by atoms that divide all its monomials."""
    if isinstance(size, int):
        return size // g
    return close({without(mono, common): k // g for mono, k in size.mons.items()})


# Parts of a size


def weight(size: Size) -> int:
    """The number of atoms in a size, with repetition."""
    if isinstance(size, int):
        return 0
    return sum(1 if type(a) is Var else a.weight for m in size.mons for a in m)


def _size_vars(size: Size) -> frozenset[Var]:
    return term_vars(size) if type(size) is Term else frozenset()


def term_vars(term: Term) -> frozenset[Var]:
    """Every variable, also inside of divisions and maxima, as a set; for ordered results use `variables`."""
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
    """The variables in sorted order."""
    return tuple(sorted(_size_vars(size)))
