"""The size behind the -1 of a reshape, and the type of a loop's stacked results if a turn tells it, both in the names of
their scope.

`[b, t, h * k]` reshaped to `[b, -1, h, k]` has t there, also if h is 0: numbers alone would not tell this, nor does a loop
without a turn tell the type of its stack. So the results of a function's own walk are kept in the core for every later
reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from functools import reduce
from itertools import chain, combinations
from typing import Any, TypeGuard, TypeVar

from ..lang import core
from ..lang.dtypes import DType
from ..lang.node import Node
from ..lang.source import Span
from ..lang.walk import rewrite
from ..ops.model import AnyDType, Segment, TensorInfo
from .known.state import State
from .known.values import DTypeValue, Entry, Env, Shape, ShapeValue, SizeValue, Value, plain
from .solver.conditions import Cond, eq, ge
from .solver.terms import (
    Allowance,
    Atom,
    Floor,
    Max,
    Mono,
    OutOfSteps,
    Size,
    Term,
    Var,
    at_least,
    charge,
    floordiv,
    of_atom,
    size_key,
    smax,
)

# With more axes than this no group of them is searched.
_MOST_AXES = 5
T = TypeVar("T", bound=Node)
Decide = Callable[[Cond], bool | None]


class Solutions:
    """The solution of each -1 of a program, by its place, and those that were read without one; and the stacks of loops."""

    def __init__(self) -> None:
        self.found: dict[Span, core.SizeExpr] = {}
        # By place and name: a tuple from a turn is stacked part by part, all of them at one place.
        self.stacks: dict[tuple[Span, str], core.Stacked] = {}
        # The conditions on its carries' shapes that a loop's turns keep, beside those in the program.
        self.kept: dict[Span, tuple[core.Invariant, ...]] = {}
        self._read: set[Span] = set()

    def read(self, value: core.Value) -> core.Value:
        """A target as an inlined body reads it: an unsolved -1 stays so from here on."""
        if not isinstance(value, core.ShapeLit):
            return value
        self._read.update(d.span for d in value.dims if _is_open(d) and d.span not in self.found)
        return self.put(value)

    def is_free(self, value: core.Value) -> bool:
        """Whether the -1 of a target can still be solved."""
        return isinstance(value, core.ShapeLit) and not any(d.span in self._read for d in value.dims if _is_open(d))

    def keep(self, target: core.ShapeLit, solution: core.SizeExpr) -> None:
        """Store the solution of a target's -1."""
        self.found.update((d.span, solution) for d in target.dims if _is_open(d))

    def put(self, tree: T) -> T:
        """A tree with the known solutions in place of each -1."""
        return rewrite(tree, self._solved) if self.found or self.stacks else tree

    def kept_apart(self) -> Solutions:
        """A copy to go back to."""
        now = Solutions()
        now.back_to(self)
        return now

    def back_to(self, then: Solutions) -> None:
        """Forget the solutions since then."""
        self.found, self.stacks, self.kept, self._read = (
            dict(then.found), dict(then.stacks), dict(then.kept), set(then._read)
        )  # fmt: skip

    def _solved(self, node: Node) -> Node:
        if isinstance(node, core.Stacked):
            return self.stacked(node)
        return self.found.get(node.span, node) if _is_open(node) else node

    def stacked(self, stacked: core.Stacked) -> core.Stacked:
        """A stack with its type, if that was found."""
        return self.stacks.get((stacked.span, stacked.name), stacked) if stacked.dtype is None else stacked


def _is_open(node: object) -> TypeGuard[core.SizeLit]:
    return isinstance(node, core.SizeLit) and node.value == -1


def quotient(state: State, decide: Decide, left: tuple[Size, ...], rest: tuple[Size, ...]) -> Size | None:
    """The size that completes the sizes `rest` to the elements of `left`, as a formula that holds for all numbers."""
    count, divisor = state.facts.simplify(_product(left)), state.facts.simplify(_product(rest))
    if divisor != 0:
        whole = floordiv(count, divisor)
        if whole * divisor == count:
            return state.settled(whole)
    groups = (g for n in range(1, len(left) + 1) for g in combinations(range(len(left)), n))
    for group in groups if len(left) <= _MOST_AXES else ():
        if decide(eq(_product(left[i] for i in group), divisor)) is True:
            return _product(d for i, d in enumerate(left) if i not in group)
    return None


def _product(sizes: Any) -> Size:
    return reduce(lambda a, b: a * b, sizes, 1)


_LOOKED_AT = 2_000  # the most sizes of names that are searched


class Sayable:
    """The names that a body can use, with their facts: the `first` before the others, without its `own` and those of the
    wrapper around it. `asks`: expressions are allowed whose value requires that sizes fit."""

    def __init__(
        self,
        state: State,
        env: Env,
        outside: Mapping[str, Entry],
        first: str | None,
        own: Set[str] = frozenset(),
        *,
        asks: bool = False,
    ) -> None:
        self.state, self._env, self._outside = state, env, outside
        self._first, self._own, self._asks = first, own, asks

    def _entries(self, *kinds: type[Value]) -> Iterator[tuple[str, Entry]]:
        names = self._env if self._first is None else chain((self._first,), self._env)
        for name in names:
            entry = self._env.get(name)
            if entry is None or not isinstance(entry.value, kinds):  # most are not
                continue
            if name not in self._own and self._outside.get(name) is not entry:
                yield name, entry

    def written(self, size: Size, span: Span) -> core.SizeExpr | None:
        """A size as an expression over the names, or None."""
        size = self._plain(size)
        if isinstance(size, int):
            return core.SizeLit(span, size)
        whole = self._named(size, span)
        if whole is not None:
            return whole
        parts = [self._monomial(mono, factor, span) for mono, factor in size.mons.items()]
        known = [p for p in parts if p is not None]
        return core.operation(span, "+", *known) if len(known) == len(parts) else None

    def shape(self, shape: Shape, span: Span) -> tuple[core.SizeExpr | core.Splice | None, ...] | None:
        """A shape over the names: None for a size that they do not tell; None as a whole if they do not tell its rank."""
        found: list[core.SizeExpr | core.Splice | None] = []
        while len(shape):
            splices = () if plain(shape) else self._splices()
            name, splice = next(((n, s) for n, s in splices if shape[: len(s)] == s), ("", ()))
            if splice:
                found.append(core.Splice(span, name))
            elif isinstance(shape[0], Segment):
                return None
            else:
                found.append(self.written(shape[0], span))
            shape = shape[max(len(splice), 1) :]
        return tuple(found)

    def _splices(self) -> Iterator[tuple[str, Shape]]:
        """The names of shapes of unknown rank."""
        for name, entry in self._entries(ShapeValue):
            dims = self.state.resolve(entry.value.dims) if isinstance(entry.value, ShapeValue) else ()
            if any(isinstance(d, Segment) for d in dims):
                yield name, dims

    def dtype(self, dtype: AnyDType, span: Span) -> core.DTypeExpr | None:
        dtype = self.state.dtype(dtype)
        if isinstance(dtype, DType):
            return core.DTypeLit(span, dtype)
        for name, entry in self._entries(DTypeValue, TensorInfo):
            value = entry.value
            if isinstance(value, DTypeValue | TensorInfo) and value.dtype and self.state.dtype(value.dtype) == dtype:
                return core.DTypeVar(span, name) if isinstance(value, DTypeValue) else core.DTypeOf(span, name)
        return None

    def _monomial(self, mono: Mono, factor: int, span: Span) -> core.SizeExpr | None:
        atoms = [self._atom(atom, span) for atom in mono]
        known: list[core.SizeExpr] = [a for a in atoms if a is not None]
        if len(known) < len(atoms):
            return None
        factors = [*known, core.SizeLit(span, factor)] if factor != 1 or not known else known
        return core.operation(span, "*", *factors)

    def _atom(self, atom: Atom, span: Span) -> core.SizeExpr | None:
        """An atom as a name, or as a quotient or a maximum of expressions that has a value in any case."""
        found = self._named(of_atom(atom), span)
        if found is not None:
            return found
        if isinstance(atom, Var):
            return self._part(atom, span) or self._common(atom, span)
        op = "max" if isinstance(atom, Max) else "//"
        parts = [self.written(size, span) for size in ((0, *atom.args) if isinstance(atom, Max) else self._total(atom))]
        known = [p for p in parts if p is not None]
        is_said = bool(known) and len(known) == len(parts)
        return core.operation(span, op, *known) if is_said else None

    def _common(self, atom: Var, span: Span) -> core.SizeExpr | None:
        """The broadcast of the sizes that a common size was made of."""
        bases = sorted(self.state.bases.get(atom, ()), key=size_key) if self._asks else []
        parts = [self.written(base, span) for base in bases]
        known = [p for p in parts if p is not None]
        return core.operation(span, "broadcast", *known) if known and len(known) == len(parts) else None

    def _total(self, atom: Floor) -> tuple[Size, ...]:
        """The two sides of a quotient with a positive divisor; those of `-a // -b` for a negative b, as in one that is
        rounded up. Empty if the sign of b is unknown."""
        for num, den in ((atom.num, atom.den), (-atom.num, -atom.den)):
            if at_least(den, 1):
                return num, den
            if self.state.facts.decide(ge(den, 1)).kind == "proved":
                return num, smax(1, den)
        return ()

    def _named(self, size: Term, span: Span) -> core.SizeExpr | None:
        return self._search(span, lambda known, written: written if known == size else None)

    def _part(self, atom: Var, span: Span) -> core.SizeExpr | None:
        """`x.dim(1) // 2` for the d of an axis that is `2 * d` long."""

        def read(known: Size, written: core.SizeExpr) -> core.SizeExpr | None:
            times = known.mons.get((atom,)) if isinstance(known, Term) and len(known.mons) == 1 else None
            return None if times is None else core.operation(span, "//", written, core.SizeLit(span, times))

        return self._search(span, read)

    def _search(self, span: Span, read: Callable[[Size, core.SizeExpr], core.SizeExpr | None]) -> core.SizeExpr | None:
        """The first result of `read` on the sizes of names, or None."""
        try:
            with Allowance(_LOOKED_AT):
                for known, written in self._sizes(span):
                    charge(1)
                    found = read(known, written)
                    if found is not None:
                        return found
        except OutOfSteps:  # names after so many others are not found
            pass
        return None

    def _sizes(self, span: Span) -> Iterator[tuple[Size, core.SizeExpr]]:
        for name, entry in self._entries(SizeValue, TensorInfo):
            if isinstance(entry.value, SizeValue):
                yield self._plain(entry.value.size), core.SizeVar(span, name)
            elif isinstance(entry.value, TensorInfo):
                shape = self.state.resolve(entry.value.shape)
                for axis, dim in _sizes_at(shape):
                    yield self._plain(dim), core.DimOf(span, name, axis)

    def _plain(self, size: Size) -> Size:
        return self.state.facts.simplify(self.state.settled(size))


def _sizes_at(shape: Shape) -> Iterator[tuple[int, Size]]:
    """The sizes of a shape with their axes, counted from the end after a part of unknown rank, without those between two such
    parts."""
    parts = [i for i, d in enumerate(shape) if isinstance(d, Segment)]
    for axis, dim in enumerate(shape):
        if not isinstance(dim, Segment) and not (parts and parts[0] < axis < parts[-1]):
            yield (axis - len(shape) if parts and axis > parts[-1] else axis), dim
