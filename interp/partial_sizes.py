"""Rules and conditions over partly known sizes: the facts about a primitive's call or a condition that are certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partialmethod
from itertools import chain

import numpy as np

from ..lang import core
from ..lang.dtypes import DTYPES, DType
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..ops.dtypes_column import dtypes_of
from ..ops.ground import GroundCtx, Violation, evaluate
from ..ops.holds import condition
from ..ops.model import WILDCARD, AnyDType, Primitive, PrimitiveParam, RankUnknown, Segment, TensorInfo
from ..ops.requirements import DTypeRequirement, Requirement
from ..sizes.evaluate import Name, evaluate as evaluate_expr
from ..sizes.integers import Undefined
from ..sizes.operators import SIZE_OPERATORS
from ..sizes.partial import Open, Partial, PartialArithmetic, Sizes, UnknownSize, all_of, any_of, compare, operation
from .dtypes import dtype_of
from .engine_types import DomainSize, DomainTruth, RunValue
from .follow import MadeFunction, State
from .guards import seen, tensor_info

# The facts about a value: a tensor's type, anything else itself; None if unknown.
Value = (
    TensorInfo[DomainSize]
    | int
    | UnknownSize
    | float
    | str
    | DType
    | core.FnRef
    | MadeFunction[DomainSize]
    | tuple["Value", ...]
    | None
)


class PartialCtx(PartialArithmetic, GroundCtx):
    """A rule's context in which some sizes are unknown, and conditions on them open: only a certain failure is a violation.
    `sure`: no question of the rule was open."""

    def __init__(self) -> None:
        self.sure = True

    def require(self, asked: Requirement, cond: bool | None = None) -> None:
        holds = self.decide(condition(asked, self) if cond is None else cond)
        if holds is False:
            raise Violation(asked)

    def decide(self, cond: bool | None) -> DomainTruth:
        self.sure = self.sure and cond is not None
        return cond

    def require_either(self, known: bool | None, asked: DTypeRequirement) -> None:
        self.require(asked, known is True)

    def _compared(self, op: str, a: DomainSize, b: DomainSize) -> DomainTruth:
        return compare(op, a, b)

    eq, ne = partialmethod(_compared, "=="), partialmethod(_compared, "!=")
    le, lt = partialmethod(_compared, "<="), partialmethod(_compared, "<")

    def any_of(self, *conds: bool | None) -> DomainTruth:
        return any_of(*conds)

    def all_of(self, *conds: bool | None) -> DomainTruth:
        return all_of(*conds)

    def common(self, *sizes: DomainSize) -> DomainSize:
        one = {size for size in sizes if size != 1}
        return next(iter(one), 1) if len(one) <= 1 else next((s for s in one if isinstance(s, int)), UnknownSize())

    def factor(self, product: DomainSize, other: DomainSize) -> DomainSize:
        return operation(SIZE_OPERATORS["//"], product, other)

    def fresh(self, name: str, at_least: object = 0, at_most: object = None) -> DomainSize:
        return UnknownSize()

    def held_in(self, param: str) -> DomainSize:
        return UnknownSize()

    def fits(self, value: DomainSize, dtype: AnyDType | None) -> bool:
        return isinstance(value, int) and super().fits(value, dtype)


# Expressions of the shape level


class _Known(Partial):
    """The facts about slots; for tensors, their types."""

    def __init__(self, env: State[Value]) -> None:
        self.env = env

    def named(self, e: Name) -> DomainSize:
        return looked_up(self.env, e.name)

    def shape_of(self, slot: str) -> DomainSize:
        return tensor(self.env, slot).shape

    def dtype_of(self, slot: str) -> DomainSize:
        return tensor(self.env, slot).dtype

    def in_class(self, e: core.InClass, item: DomainSize) -> bool:
        return item in dtypes_of(e.choices)


def shape_level(e: core.ShapeLevel | core.Splice, env: State[Value]) -> DomainSize:
    """Evaluate an expression over the facts about its names; raises Open for an unknown name, and Undefined if it has no
    value."""
    return evaluate_expr(e, _Known(env))


def truth(e: core.BoolExpr, env: State[Value]) -> bool | None:
    """Evaluate a condition; None if it is open."""
    try:
        found: bool = evaluate_expr(e, _Known(env))
        return found
    except Open:
        return None


def looked_up(env: State[Value], slot: str) -> DomainSize:
    found = env.get(slot)
    if found is None:
        raise Open
    return found


def tensor(env: State[Value], slot: str) -> TensorInfo[DomainSize]:
    found = looked_up(env, slot)
    if not isinstance(found, TensorInfo):
        raise Open
    return found


def dims(info: TensorInfo[DomainSize]) -> tuple[Sizes, ...]:
    return tuple(d for d in info.shape if not isinstance(d, Segment))


# Values from outside, and calls


def info(value: DomainSize) -> Value:
    """The facts about an actual value, without the elements of tensors; `constant` keeps those of the program's own
    tensors."""
    if isinstance(value, np.ndarray | np.generic):
        return TensorInfo(tuple(value.shape), dtype_of(value.dtype))
    if isinstance(value, tuple | list):
        return tuple(map(info, value))
    found: Value = dtype_of(value) if isinstance(value, np.dtype) else value
    return found


constant = tensor_info


_NO_SIZE = 2**63


def primitive(row: Primitive, args: Sequence[RunValue], ctx: PartialCtx | None = None) -> tuple[Value, bool]:
    """The result of a primitive's call, and whether its requirements hold for any elements; raises Violation if one surely
    fails, and Open if nothing is known."""
    ctx = ctx or PartialCtx()
    try:
        found = evaluate(row, seen(row, args, _info), ctx)
    except (RankUnknown, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        raise Open from None
    if any(type(d) is int and d >= _NO_SIZE for tensor in found.tensors for d in tensor.shape):
        raise Open  # that is no size, and growing numbers would never end
    sure = ctx.sure and not any(map(_hides, args))
    if row.results == "size":
        return found.size, sure
    return found.tensors if row.results == "tuple" else found.tensors[0], sure


def _hides(value: object) -> bool:
    """Whether a rule would read unknown elements of a tensor."""
    if isinstance(value, tuple):
        return any(map(_hides, value))
    if not isinstance(value, TensorInfo) or len(value.shape) > 1 or (value.data is not None and None not in value.data):
        return False
    return isinstance(value.dtype, DType) and value.dtype.kind in ("int", "uint")


def _info(param: PrimitiveParam, value: DomainSize) -> DomainSize:
    if value is None or isinstance(value, TensorInfo | DType):
        return value
    if param.kind in ("tensor", "index") and isinstance(value, bool | int | float):
        name = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
        keeps = param.kind == "index" and type(value) is int
        return value if keeps else TensorInfo((), DTYPES[name], (value,) if type(value) is int else None)
    return tuple(_info(param, v) for v in value) if param.kind == "tensors" else value


def argument(param: PrimitiveParam, v: core.Value | None, env: State[Value]) -> DomainSize:
    """One argument of a primitive as its kernel takes it."""
    is_shape = param.kind in ("ints", "sizes", "shape", "target")
    if v is None:
        return param.default
    if isinstance(v, core.Number):
        return (v.value,) if is_shape else float(v.value) if param.kind == "float" else v.value
    if isinstance(v, core.ListValue | core.TupleValue):
        return tuple(argument(_SIZE if is_shape else param, item, env) for item in v.items)
    if param.kind == "target" and isinstance(v, core.ShapeLit):
        parts = ((WILDCARD,) if d == _MINUS_ONE else operand(replace(v, dims=(d,)), env) for d in v.dims)
        return tuple(chain.from_iterable(parts))
    value = operand(v, env)
    return (value,) if is_shape and isinstance(v, core.SizeExpr) else value


_MINUS_ONE = core.SizeLit(NOWHERE, -1)
_SIZE = PrimitiveParam("", "size")


def operand(v: core.Value, env: State[Value]) -> DomainSize:
    """The facts about an operand; raises Open."""
    match v:
        case core.Var(name=slot):
            return looked_up(env, slot)
        case core.Number(value=value) | core.Text(value=value):
            return value
        case core.TupleValue(items=items) | core.ListValue(items=items):
            return tuple(known(item, env) for item in items)
        case core.FnRef():
            return v
        case core.TensorLit() | core.Load() | core.Call() | core.If() | core.Loop() | core.Lambda():
            raise TypeError(f"not an operand: {v!r}")
    return shape_level(v, env)


def known(v: core.Value, env: State[Value]) -> Value:
    """Like `operand`; None if nothing is known."""
    try:
        found: Value = operand(v, env)
        return found
    except (Open, Undefined):
        return None


class Consts(dict[str, Value]):
    """The facts about a program's own tensors, by slot."""

    def __init__(self, space: Mapping[str, object]) -> None:
        super().__init__()
        self.space = space

    def __missing__(self, slot: str) -> Value:
        value = self.space.get(slot)
        known = self[slot] = constant(value) if isinstance(value, np.ndarray | np.generic) else info(value)
        return known
