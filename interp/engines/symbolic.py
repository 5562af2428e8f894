"""Sizes that are known when a model runs: polynomials over dimensions and results of operations. Each object is made once, so
that equal sizes are one object. No decision may depend on one: that raises Open."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, partialmethod
from math import prod

from ...ops.holds import condition
from ...ops.model import AnyDType
from ...ops.requirements import Requirement
from ...sizes.integers import Undefined, operation
from ...sizes.partial import Open, UnknownSize, are_same, compare
from ..engine_types import DomainSize, DomainTruth, EngineSize, Kernel
from ..partial_sizes import PartialCtx

# Products of atoms, by their numbers, each with its count in a sum.
Terms = tuple[tuple[tuple[int, ...], int], ...]


class Atom:
    """A size that is no sum: a dimension (`dim`, a tensor's name and an axis), the value of a scalar (`item`), or the result
    of an operation on two sizes. `natural`: it is not below 0."""

    def __init__(self, number: int, op: str, args: tuple[EngineSize, ...], *, natural: bool) -> None:
        self.number = number
        self.op = op
        self.args = args
        self.natural = natural


class Dim(UnknownSize):
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

    def __add__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.sum(self, other, 1)

    __radd__ = __add__  # type: ignore[assignment]

    def __sub__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.sum(self, other, -1)

    def __rsub__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.sum(-self, other, 1)

    def __neg__(self) -> EngineSize:  # type: ignore[override]
        return self * -1

    def __mul__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.product(self, other)

    __rmul__ = __mul__  # type: ignore[assignment]

    def __floordiv__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.of("//", self, other)

    def __rfloordiv__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.of("//", other, self)

    def __mod__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.of("%", self, other)

    def __rmod__(self, other: EngineSize) -> EngineSize:  # type: ignore[override]
        return self.table.of("%", other, self)

    def of(self, function: Kernel, sizes: Sequence[EngineSize]) -> EngineSize:
        if not _are_known(*sizes):
            return UnknownSize()
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
        self._atoms: dict[Hashable, Dim] = {}
        self._dims: dict[Terms, Dim] = {}
        # The known values of atoms.
        self.known: dict[int, EngineSize] = {}

    def atom(self, op: str, *args: EngineSize, natural: bool = False) -> Dim:
        key = (op, *args)
        if key not in self._atoms:
            self.atoms.append(Atom(len(self.atoms), op, args, natural=natural))
            found = self._made({(len(self.atoms) - 1,): 1})
            assert isinstance(found, Dim)
            self._atoms[key] = found
        return self._atoms[key]

    def learn(self, dim: Dim, value: EngineSize) -> bool:
        """Write a dimension as an equal size from now on; return whether that was possible."""
        number = self.single(dim)
        if number is None or self.atoms[number].op != "dim" or number in self.known or number in _inside(self, value):
            return False
        self.known[number] = value
        return True

    def single(self, dim: EngineSize) -> int | None:
        """The number of the atom that is the whole size, or None."""
        if not isinstance(dim, Dim) or len(dim.terms) != 1:
            return None
        ((mono, count),) = dim.terms
        return mono[0] if len(mono) == 1 and count == 1 else None

    def settled(self, size: EngineSize) -> EngineSize:
        """A size with the known values of its atoms."""
        if not isinstance(size, Dim) or not self.known:
            return size
        total: EngineSize = 0
        for mono, count in size.terms:
            part: EngineSize = count
            for number in mono:
                part = part * (self.settled(self.known[number]) if number in self.known else self._made({(number,): 1}))
            total = total + part
        return total

    def leaves(self, size: EngineSize) -> set[tuple[str, str]]:
        """The tensors that a size depends on, by their dimensions (`dim`) or their values (`item`)."""
        atoms = [self.atoms[number] for number in _inside(self, self.settled(size))]
        return {(atom.op, atom.args[0]) for atom in atoms if atom.op in ("dim", "item")}

    def divisors(self, sizes: Sequence[EngineSize]) -> list[Dim]:
        """The divisors in sizes that are known at a call only."""
        parts = [part for size in sizes for part in (size if isinstance(size, tuple) else (size,))]
        numbers = sorted({number for part in parts if isinstance(part, Dim) for number in _inside(self, part)})
        return [
            a.args[1]
            for a in map(self.atoms.__getitem__, numbers)
            if a.op in ("//", "%") and isinstance(a.args[1], Dim)
        ]

    def sum(self, a: EngineSize, b: EngineSize, times: int) -> EngineSize:
        if not _are_known(a, b):
            return UnknownSize()
        found = dict(_terms(a))
        for mono, count in _terms(b):
            found[mono] = found.get(mono, 0) + times * count
        return self._made(found)

    def product(self, a: EngineSize, b: EngineSize) -> EngineSize:
        if not _are_known(a, b):
            return UnknownSize()
        found: dict[tuple[int, ...], int] = {}
        for m, c in _terms(a):
            for n, d in _terms(b):
                mono = tuple(sorted(m + n))
                found[mono] = found.get(mono, 0) + c * d
        return self._made(found)

    def of(self, op: str, a: EngineSize, b: EngineSize) -> EngineSize:
        """A quotient, a remainder, a minimum or maximum, or the size that two sizes broadcast to."""
        if not _are_known(a, b):
            return UnknownSize()
        quotient = self._quotient(a, b) if op in ("//", "%") else None
        if quotient is not None:
            return quotient if op == "//" else 0
        if op in ("min", "max", "broadcast"):
            if are_same(a, b):
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

    def _quotient(self, a: EngineSize, b: EngineSize) -> EngineSize | None:
        """The exact quotient if the divisor is one product, and a factor of every product of `a`; else None."""
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

    def _made(self, found: dict[tuple[int, ...], int]) -> EngineSize:
        terms = tuple(sorted((mono, count) for mono, count in found.items() if count))
        if not terms or terms[0][0] == () and len(terms) == 1:
            return terms[0][1] if terms else 0
        if terms not in self._dims:
            self._dims[terms] = Dim(self, terms)
        return self._dims[terms]


def _are_known(*sizes: EngineSize) -> bool:
    return all(isinstance(size, int | Dim) for size in sizes)


def _terms(size: EngineSize) -> Terms:
    return size.terms if isinstance(size, Dim) else (((), int(size)),)


def _inside(table: Dims, size: EngineSize) -> set[int]:
    """The atoms in a size, including those in operations."""
    found: set[int] = set()
    for mono, _ in _terms(size):
        for number in mono:
            found.add(number)
            for arg in table.atoms[number].args:
                if isinstance(arg, Dim):
                    found |= _inside(table, arg)
    return found


def _least(a: EngineSize, b: EngineSize) -> bool:
    """Whether a is surely at least b, which is at most 0."""
    return isinstance(b, int) and b <= 0 and isinstance(a, Dim) and a.is_natural


def _named(op: str) -> Kernel:
    return lambda table, a, b: table.of(op, a, b)


_FUNCTIONS: dict[Kernel, Kernel] = {min: _named("min"), max: _named("max")}


class Truth:
    """A condition that is known when the model runs: a comparison of two sizes (`==`, `<`, `<=`), `and`, `or` and `not` of
    others, or a truth value of the model, whose name is its only argument (`value`)."""

    def __init__(self, op: str, *args: EngineSize) -> None:
        self.op = op
        self.args = args


def compared(op: str, a: EngineSize, b: EngineSize) -> bool | Truth | None:
    """Compare sizes or shapes; a comparison that all natural numbers decide alike is decided. None if nothing is known."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        equal = both("and", *(compared("==", x, y) for x, y in zip(a, b, strict=True)))
        return equal if op == "==" else negated(equal)
    if op in _TURNED:
        return compared(_TURNED[op], b, a)
    if not isinstance(a, Dim) and not isinstance(b, Dim):
        return compare(op, a, b)
    if not _are_known(a, b):
        return None
    if op == "!=":
        return negated(compared("==", a, b))
    more, less = a - b, b - a
    if isinstance(more, int):
        return compare(op, more, 0)
    if _natural(more - 1):
        return False
    if _natural(less - 1):
        return op != "=="
    if op == "<" and _natural(more) or op == "<=" and _natural(less):
        return op == "<="
    return Truth(op, a, b)


_TURNED = {">": "<", ">=": "<="}


def _natural(size: EngineSize) -> bool:
    return size.is_natural if isinstance(size, Dim) else size >= 0


def negated(cond: bool | Truth | None) -> bool | Truth | None:
    if not isinstance(cond, Truth):
        return None if cond is None else not cond
    return cond.args[0] if cond.op == "not" else Truth("not", cond)


def both(op: str, *conds: bool | Truth | None) -> bool | Truth | None:
    """Join conditions by `and` or `or`; None if an unknown one matters."""
    decisive = op == "or"
    if any(c is decisive for c in conds):
        return decisive
    left = [c for c in conds if c is not (not decisive)]
    if None in left:
        return None
    return Truth(op, *left) if len(left) > 1 else left[0] if left else not decisive


class SymbolicCtx(PartialCtx):
    """A rule's context over such sizes. `asked` are the requirements that only a call decides."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Truth] = []

    def require(self, asked: Requirement, cond: DomainTruth = None) -> None:
        try:
            holds = condition(asked, self) if cond is None else cond
        except LookupError:  # its quantities are unknown
            holds = None
        if isinstance(holds, Truth):
            self.asked.append(holds)
        elif holds is None:
            self.sure = False
        else:
            super().require(asked, holds)

    def fits(self, value: DomainSize, dtype: AnyDType | None) -> bool:
        """Whether a size surely fits: dimensions, and products of two, are far below the limit of int64."""
        if not isinstance(value, Dim):
            return super().fits(value, dtype)
        atoms = (value.table.atoms[number] for number in _inside(value.table, value))
        is_small = all(len(mono) <= 2 and abs(count) < 2**16 for mono, count in value.terms)
        return is_small and str(dtype) == "int64" and all(atom.op != "item" for atom in atoms)

    def decide(self, cond: DomainTruth) -> DomainTruth:
        """Return None for an open condition: the rule then does what is right for all sizes."""
        return None if isinstance(cond, Truth) else cond

    def _compared(self, op: str, a: EngineSize, b: EngineSize) -> DomainTruth:
        return compared(op, a, b)

    eq, ne = partialmethod(_compared, "=="), partialmethod(_compared, "!=")
    le, lt = partialmethod(_compared, "<="), partialmethod(_compared, "<")

    def any_of(self, *conds: DomainTruth) -> DomainTruth:
        return both("or", *conds)

    def all_of(self, *conds: DomainTruth) -> DomainTruth:
        return both("and", *conds)

    def common(self, *sizes: EngineSize) -> EngineSize:
        found: EngineSize = 1
        for size in sizes:
            if size is found or (isinstance(size, int) and size == 1):
                continue
            if isinstance(found, int) and found == 1:
                found = size
            elif isinstance(found, int) and isinstance(size, Dim):
                continue  # beside a number a size is 1 or the same number
            elif isinstance(size, int) and isinstance(found, Dim):
                found = size
            elif isinstance(found, Dim) and isinstance(size, Dim):
                found = found.table.of("broadcast", found, size)
        return found


class Values:
    """Sizes and conditions at one call; `given` has the inputs' dimensions (`dim`, a name and an axis) and sizes (`item` and
    a name)."""

    def __init__(self, dims: Dims, given: Mapping[tuple[Hashable, ...], int]) -> None:
        self.dims = dims
        self.given = given

    def holds(self, cond: Truth) -> bool:
        """Whether a condition holds; one without a value does not."""
        try:
            return self._truth(cond)
        except Undefined:
            return False

    def _truth(self, cond: DomainTruth) -> bool:
        if not isinstance(cond, Truth):
            return bool(cond)
        if cond.op in ("and", "or"):
            return (all if cond.op == "and" else any)(map(self._truth, cond.args))
        if cond.op == "not":
            return not self._truth(cond.args[0])
        return bool(compare(cond.op, *map(self.size, cond.args)))

    def size(self, size: EngineSize) -> int:
        total = 0
        for mono, count in _terms(size):
            total += count * prod(self._atom(self.dims.atoms[number]) for number in mono)
        return total

    def _atom(self, atom: Atom) -> int:
        if atom.op in ("dim", "item"):
            return self.given[(atom.op, *atom.args)]
        a, b = map(self.size, atom.args)
        return _AT_A_CALL[atom.op](a, b)


_AT_A_CALL: dict[str, Callable[[int, int], int]] = {
    **{op: partial(operation, op) for op in ("//", "%", "min", "max")}, "broadcast": lambda a, b: b if a == 1 else a
}  # fmt: skip


class Spelling:
    """Sizes and conditions in Rx; `name` gives the name of an atom that is one of the inputs' sizes."""

    def __init__(self, dims: Dims, name: Callable[[int], str | None]) -> None:
        self.dims = dims
        self.name = name

    def truth(self, cond: DomainTruth) -> str:
        if not isinstance(cond, Truth):
            return str(cond).lower()
        if cond.op in ("and", "or"):
            return (" && " if cond.op == "and" else " || ").join(map(self._grouped, cond.args))
        if cond.op == "not":
            (inner,) = cond.args
            return (
                f"{self.size(inner.args[0])} != {self.size(inner.args[1])}"
                if inner.op == "=="
                else f"!({self.truth(inner)})"
            )
        left, right = map(self._side, cond.args)
        is_least = isinstance(cond.args[0], int) and cond.op != "=="
        return f"{right} {cond.op.replace('<', '>')} {left}" if is_least else f"{left} {cond.op} {right}"

    def _grouped(self, cond: Truth) -> str:
        return f"({self.truth(cond)})" if cond.op in ("and", "or") else self.truth(cond)

    def _side(self, size: EngineSize) -> str:
        """A side of a comparison, without outer parentheses."""
        text = self.size(size)
        return text[1:-1] if text.startswith("(") and self.dims.single(self.dims.settled(size)) is not None else text

    def size(self, size: EngineSize) -> str:
        text = ""
        for mono, count in sorted(_terms(self.dims.settled(size)), key=lambda term: term[1] < 0):
            factors = [*([str(abs(count))] if abs(count) != 1 or not mono else []), *map(self._atom, mono)]
            sign = ("" if count >= 0 else "-") if not text else " + " if count > 0 else " - "
            text += sign + " * ".join(factors)
        return text or "0"

    def _atom(self, number: int) -> str:
        atom = self.dims.atoms[number]
        name = self.name(number)
        if name is not None:
            return name
        a, b = map(self.size, atom.args)
        if atom.op not in ("//", "%"):
            return f"{atom.op}({a}, {b})"
        a, b = (text if text.isidentifier() or text.isdigit() else f"({text})" for text in (a, b))
        return f"({a} {atom.op} {b})"

    def asked(self, conds: Sequence[Truth]) -> list[str]:
        """The texts of conditions, each once."""
        parts = (part for cond in conds for part in (cond.args if cond.op == "and" else (cond,)))
        return list(dict.fromkeys(map(self.truth, parts)))
