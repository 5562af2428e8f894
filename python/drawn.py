"""Random arguments for a function: sizes that satisfy its checks, and elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interp.dtypes import numpy_dtype
from ..lang import core
from ..lang.dtypes import DTYPES, DType
from ..lang.source import NOWHERE
from ..ops.dtypes_column import dtypes_of
from ..sizes.evaluate import Domain, Name, evaluate
from ..sizes.integers import Undefined, operation
from ..sizes.operators import SizeOperator
from ..sizes.partial import compare

# The first number of draws has sizes up to the second number; the next row applies to later draws.
_LARGEST = ((10, 7), (25, 16), (1_000, 40))
_MOST = 100_000


class Undrawn(Exception):
    """Raised if no arguments can be drawn for a function; the message says why."""


class _Refused(Exception):
    """Raised if drawn sizes fail a check."""


def arguments(
    function: core.Function, consts: dict[str, Any], pinned: int | None, random: np.random.Generator, draw: int
) -> list[Any] | None:
    """Arguments whose sizes differ pairwise and are at least 2, except that about half are `pinned` if that is a number; None
    if they fail the function's checks. Later draws have larger sizes; every third draw has only positive floats. Raises
    Undrawn."""
    sizes = _Sizes(function, consts, pinned, random, next(n for most, n in _LARGEST if draw < most))
    try:
        for stmt in function.checks:
            sizes.statement(stmt)
        return [sizes.value(p.name, p.sort, draw) for p in function.params]
    except (_Refused, Undefined):
        return None


class _Sizes(Domain):
    """The known tensors and sizes; a rank or a dimension is drawn on first use."""

    def __init__(
        self,
        function: core.Function,
        consts: dict[str, Any],
        pinned: int | None,
        random: np.random.Generator,
        largest: int,
    ) -> None:
        self.env = dict(consts)
        self.drawn = {p.name for p in function.params if p.sort == core.SIZE}
        self.pinned, self.random = pinned, random
        self.pool = [int(n) for n in random.permutation(np.arange(2, largest + 1))]
        self.shapes: dict[str, list[int | None]] = {}
        self.dtypes: dict[str, DType] = {}
        self.parts: dict[str, tuple[str, ...]] = {}

    def size(self) -> int:
        if self.pinned is not None and self.random.random() < 0.5:
            return self.pinned
        if not self.pool:
            raise _Refused
        return self.pool.pop()

    # Expressions

    def named(self, e: Name) -> Any:
        if e.name not in self.env and e.name in self.drawn:
            self.env[e.name] = self.size()
        if e.name not in self.env:
            raise Undrawn(f"what `{e.name}` is cannot be drawn")
        return self.env[e.name]

    def dims(self, tensor: str, rank: int | None = None) -> list[int | None]:
        if tensor not in self.shapes:
            count = int(self.random.integers(1, 3)) if rank is None else rank
            self.shapes[tensor] = [None] * count
        return self.shapes[tensor]

    def shape_of(self, tensor: str) -> tuple[int, ...]:
        return tuple(self.dimension_at(tensor, i) for i in range(len(self.dims(tensor))))

    def rank(self, e: core.RankOf) -> int:
        return len(self.dims(e.tensor))

    def dimension(self, e: core.DimOf) -> int:
        return self.dimension_at(e.tensor, e.axis)

    def dimension_at(self, tensor: str, axis: int) -> int:
        dims = self.dims(tensor)
        if not -len(dims) <= axis < len(dims):
            raise _Refused
        found = dims[axis]
        if found is None:
            found = dims[axis] = self.size()
        return found

    def dtype_of(self, tensor: str) -> DType:
        return self.dtypes.setdefault(tensor, DTYPES["float64"])

    def operation(self, row: SizeOperator, e: core.SizeOp, left: Any, right: Any) -> int:
        return operation(row.name, left, right)

    def compare(self, e: core.Compare, left: Any, right: Any) -> bool:
        return bool(compare(e.op, left, right))

    def in_class(self, e: core.InClass, item: Any) -> bool:
        return item in dtypes_of(e.choices)

    # Checks

    def statement(self, stmt: core.Stmt) -> None:
        if isinstance(stmt, core.Assert):
            self.hold(stmt.cond)
        elif isinstance(stmt, core.MatchShape):
            self.match(stmt)
        elif isinstance(stmt, core.Let) and isinstance(stmt.value, core.Var):
            self.parts[stmt.value.name] = stmt.names
        elif isinstance(stmt, core.Let) and core.is_shape_level(stmt.value):
            self.env[stmt.names[0]] = evaluate(stmt.value, self)

    def match(self, stmt: core.MatchShape) -> None:
        """Match a pattern of dimensions; a splice takes one dimension if the rank is not known yet."""
        fixed = [d for d in stmt.dims if not isinstance(d, core.Splice)]
        dims = self.dims(stmt.tensor, len(stmt.dims))
        more = len(dims) - len(fixed)
        at = 0
        for dim in stmt.dims:
            if isinstance(dim, core.Splice):
                if more < 0:
                    raise _Refused
                found = tuple(self.dimension_at(stmt.tensor, at + i) for i in range(more))
                if self.env.setdefault(dim.name, found) != found:
                    raise _Refused
                at += more
                continue
            if isinstance(dim, core.SizeVar) and dim.name in stmt.binds:
                self.env[dim.name] = self.dimension_at(stmt.tensor, at)
            elif isinstance(dim, core.DimOf) and dim.tensor == stmt.tensor:
                pass  # a dimension equals itself
            elif dims[at] is None:
                dims[at] = evaluate(dim, self)
            elif dims[at] != evaluate(dim, self):
                raise _Refused
            at += 1

    def hold(self, cond: core.BoolExpr) -> None:
        match cond:
            case core.Logic(op="&&", left=left, right=right):
                self.hold(left)
                self.hold(right)
                return
            case core.Logic(op="||", left=left, right=right):
                self.hold(left if self.random.random() < 0.5 else right)
                return
            case core.Compare(op="==", left=left, right=right):
                self.equal(left, right)
                self.equal(right, left)
            case core.InClass(item=core.DTypeOf(tensor=tensor)) if tensor not in self.dtypes:
                for name in ("float64", "int64", "bool", "complex128"):
                    self.dtypes[tensor] = DTYPES[name]
                    if evaluate(cond, self):
                        break
        if not evaluate(cond, self):
            raise _Refused

    def equal(self, left: core.ShapeLevel, right: core.ShapeLevel) -> None:
        """Set the left side, if it is open, to the value of the right side."""
        match left:
            case core.RankOf(tensor=tensor) if tensor not in self.shapes:
                self.dims(tensor, evaluate(right, self))
            case core.DimOf(tensor=tensor, axis=axis) if -len(self.dims(tensor)) <= axis < len(self.dims(tensor)):
                if self.dims(tensor)[axis] is None:
                    found = evaluate(right, self)
                    if self.dims(tensor)[axis] is None and found >= 0:
                        self.dims(tensor)[axis] = found
            case core.ShapeOf(tensor=tensor) if tensor not in self.shapes:
                self.shapes[tensor] = list(evaluate(right, self))
            case core.DTypeOf(tensor=tensor) if tensor not in self.dtypes:
                self.dtypes[tensor] = evaluate(right, self)

    # Values

    def value(self, name: str, sort: core.Sort, draw: int) -> Any:
        if isinstance(sort, core.TupleSort):
            if name not in self.parts:
                raise Undrawn(f"what `{name}` is made of is not declared")
            return tuple(self.value(n, s, draw) for n, s in zip(self.parts[name], sort.items, strict=True))
        if sort == core.SIZE:
            return self.named(core.SizeVar(NOWHERE, name))
        if sort == core.BOOL:
            return bool(self.env.get(name, self.random.random() < 0.5))
        if sort != core.TENSOR:
            raise Undrawn(f"`{name}` is neither a tensor nor a size")
        return self.tensor(self.shape_of(name), self.dtype_of(name), draw)

    def tensor(self, shape: tuple[int, ...], dtype: DType, draw: int) -> Any:
        if np.prod(shape, dtype=float) > _MOST:
            raise _Refused
        made = numpy_dtype(dtype)
        if dtype.kind == "float":
            is_positive = draw % 3 == 2
            return self.random.uniform(0.2, 0.9, shape) if is_positive else self.random.normal(size=shape)
        if dtype.kind == "bool":
            return self.random.random(shape) < 0.5
        if dtype.kind == "complex":
            return (self.random.normal(size=shape) + 1j * self.random.normal(size=shape)).astype(made)
        known = [d for dims in self.shapes.values() for d in dims if d]
        return self.random.integers(0, max(min(known, default=1) if draw % 2 == 0 else 1, 1), shape).astype(made)
