"""Sizes that are known when a model runs: polynomials over dimensions and what is computed of them, each object made once, so
that sizes that are the same are one object. Nothing may be decided of one: that raises Open."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partialmethod
from typing import Any

from ...sizes.partial import Open, Unknown
from ..partial_sizes import PartialCtx

# A product of atoms, by their numbers, and how often it stands in a sum.
Terms = tuple[tuple[tuple[int, ...], int], ...]
Sizes = Any  # int or Dim


class Atom:
    """A size that is no sum: a dimension (`dim`, a tensor's name and an axis), what a scalar holds (`item`), or what an
    operation gives of two sizes. `natural`: it is not below 0."""

    def __init__(self, number: int, op: str, args: tuple[Any, ...], *, natural: bool) -> None:
        self.number = number
        self.op = op
        self.args = args
        self.natural = natural


class Dim(Unknown):
    """A sum of products of atoms."""

    def __init__(self, table: Dims, terms: Terms) -> None:
        self.table = table
        self.terms = terms

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, int | Dim):
            return False
        if isinstance(self - other, int):
            return False
        raise Open

    def __add__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.sum(self, other, 1)

    __radd__ = __add__  # type: ignore[assignment]

    def __sub__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.sum(self, other, -1)

    def __rsub__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.sum(-self, other, 1)

    def __neg__(self) -> Sizes:  # type: ignore[override]
        return self * -1

    def __mul__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.product(self, other)

    __rmul__ = __mul__  # type: ignore[assignment]

    def __floordiv__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.of("//", self, other)

    def __rfloordiv__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.of("//", other, self)

    def __mod__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.of("%", self, other)

    def __rmod__(self, other: Sizes) -> Sizes:  # type: ignore[override]
        return self.table.of("%", other, self)

    def of(self, function: Any, sizes: Sequence[Any]) -> Any:
        if not all(isinstance(size, int | Dim) for size in sizes):
            return Unknown()
        if function not in _FUNCTIONS:
            return function(*sizes)
        result = sizes[0]
        for size in sizes[1:]:
            result = _FUNCTIONS[function](self.table, result, size)
        return result

    @property
    def is_natural(self) -> bool:
        """Whether it is surely not below 0."""
        atoms = self.table.atoms
        return all(count > 0 and all(atoms[a].natural for a in mono) for mono, count in self.terms)


class Dims:
    """All sizes of one model."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self._atoms: dict[Any, Dim] = {}
        self._dims: dict[Terms, Dim] = {}
        # What an atom is known to be.
        self.known: dict[int, Sizes] = {}

    def atom(self, op: str, *args: Any, natural: bool = False) -> Dim:
        key = (op, *args)
        if key not in self._atoms:
            self.atoms.append(Atom(len(self.atoms), op, args, natural=natural))
            found = self._made({(len(self.atoms) - 1,): 1})
            assert isinstance(found, Dim)
            self._atoms[key] = found
        return self._atoms[key]

    def learn(self, dim: Dim, value: Sizes) -> bool:
        """From here on a dimension is written as a size that is equal; tells whether that could be."""
        number = self.single(dim)
        if number is None or number in self.known or number in _inside(self, value):
            return False
        self.known[number] = value
        return True

    def single(self, dim: Sizes) -> int | None:
        """The atom that is all of a size."""
        if not isinstance(dim, Dim) or len(dim.terms) != 1:
            return None
        ((mono, count),) = dim.terms
        return mono[0] if len(mono) == 1 and count == 1 else None

    def settled(self, size: Sizes) -> Sizes:
        """A size with what is known of its atoms."""
        if not isinstance(size, Dim) or not self.known:
            return size
        total: Sizes = 0
        for mono, count in size.terms:
            part: Sizes = count
            for number in mono:
                part = part * (self.settled(self.known[number]) if number in self.known else self._made({(number,): 1}))
            total = total + part
        return total

    def sum(self, a: Sizes, b: Sizes, times: int) -> Sizes:
        found = dict(_terms(a))
        for mono, count in _terms(b):
            found[mono] = found.get(mono, 0) + times * count
        return self._made(found)

    def product(self, a: Sizes, b: Sizes) -> Sizes:
        found: dict[tuple[int, ...], int] = {}
        for m, c in _terms(a):
            for n, d in _terms(b):
                mono = tuple(sorted(m + n))
                found[mono] = found.get(mono, 0) + c * d
        return self._made(found)

    def of(self, op: str, a: Sizes, b: Sizes) -> Sizes:
        """A quotient, a remainder, a minimum or maximum, or what two sizes broadcast to."""
        quotient = self._quotient(a, b) if op in ("//", "%") else None
        if quotient is not None:
            return quotient if op == "//" else 0
        if op in ("min", "max", "broadcast"):
            if a is b or (isinstance(a, int) and isinstance(b, int) and a == b):
                return a
            difference = a - b
            if op != "broadcast" and isinstance(difference, int):
                return a if (difference < 0) == (op == "min") else b
            if op == "max" and _least(a, b):
                return a
            if op == "max" and _least(b, a):
                return b
            if op == "min" and (_least(a, b) or _least(b, a)):
                return b if _least(a, b) else a
        natural = op == "%" or all(isinstance(s, int) and s >= 0 or isinstance(s, Dim) and s.is_natural for s in (a, b))
        return self.atom(op, a, b, natural=natural)

    def _quotient(self, a: Sizes, b: Sizes) -> Sizes | None:
        """Where every product of `a` has the divisor, which is one product, as a factor."""
        divisor = _terms(b)
        if len(divisor) != 1 or divisor[0][1] == 0:
            return None
        mono, count = divisor[0]
        found: dict[tuple[int, ...], int] = {}
        for own, times in _terms(a):
            left = list(own)
            for number in mono:
                if number not in left:
                    return None
                left.remove(number)
            if times % count:
                return None
            found[tuple(left)] = times // count
        return self._made(found)

    def _made(self, found: dict[tuple[int, ...], int]) -> Sizes:
        terms = tuple(sorted((mono, count) for mono, count in found.items() if count))
        if not terms or terms[0][0] == () and len(terms) == 1:
            return terms[0][1] if terms else 0
        if terms not in self._dims:
            self._dims[terms] = Dim(self, terms)
        return self._dims[terms]


def _terms(size: Sizes) -> Terms:
    return size.terms if isinstance(size, Dim) else (((), int(size)),)


def _inside(table: Dims, size: Sizes) -> set[int]:
    """The atoms in a size, those of operations among them."""
    found: set[int] = set()
    for mono, _ in _terms(size):
        for number in mono:
            found.add(number)
            for arg in table.atoms[number].args:
                if isinstance(arg, Dim):
                    found |= _inside(table, arg)
    return found


def _least(a: Sizes, b: Sizes) -> bool:
    """Whether a is surely at least b, which is no more than 0."""
    return isinstance(b, int) and b <= 0 and isinstance(a, Dim) and a.is_natural


def _named(op: str) -> Any:
    return lambda table, a, b: table.of(op, a, b)


_FUNCTIONS: dict[Any, Any] = {min: _named("min"), max: _named("max")}


class SymbolicCtx(PartialCtx):
    """A rule's context over such sizes: what holds of all natural numbers is decided."""

    def _compared(self, op: str, a: Any, b: Any) -> Any:
        if not isinstance(a, Dim) and not isinstance(b, Dim):
            return super()._compared(op, a, b)
        if not all(isinstance(s, int | Dim) for s in (a, b)):
            return None
        apart = a - b
        if isinstance(apart, int):
            return super()._compared(op, apart, 0)
        if apart.is_natural and op == "<":
            return False
        return True if (-apart).is_natural and op == "<=" else None

    eq, ne = partialmethod(_compared, "=="), partialmethod(_compared, "!=")
    le, lt = partialmethod(_compared, "<="), partialmethod(_compared, "<")

    def common(self, *sizes: Any) -> Any:
        found: Any = 1
        for size in sizes:
            if size is found or (isinstance(size, int) and size == 1):
                continue
            if isinstance(found, int) and found == 1:
                found = size
            elif isinstance(found, int) and isinstance(size, Dim):
                continue  # a number beside which only 1 or the same can stand
            elif isinstance(size, int) and isinstance(found, Dim):
                found = size
            elif isinstance(found, Dim) and isinstance(size, Dim):
                found = found.table.of("broadcast", found, size)
        return found
