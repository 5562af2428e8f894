"""Rules and conditions over sizes some of which are not known: a call of a primitive, or a condition, to what is certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partialmethod
from itertools import chain
from typing import Any, NoReturn, assert_never

import numpy as np

from ..lang import core
from ..lang.dtypes import DTYPES, DType
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..ops.dtypes_column import dtypes_of
from ..ops.ground import GroundCtx, Violation, evaluate
from ..ops.holds import condition
from ..ops.model import WILDCARD, AnyDType, Param, Primitive, RankUnknown, Segment, TensorInfo
from ..ops.requirements import DTypeRequirement, Requirement
from .dtypes import dtype_of
from .follow import Function, State
from .guards import Undefined, ceildiv, exact, floor, modulo, seen, tensor_info


class Open(Exception):
    """Nothing is known of it."""


class Unknown:
    """A size that only the data decides: equal to itself, and to no other that can be told."""

    def _made(self, *_: object) -> Unknown:
        return Unknown()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = __neg__ = _made
    __rfloordiv__ = __rmod__ = _made

    def of(self, function: Any, sizes: Sequence[Any]) -> Unknown:
        """What a function gives of sizes, of which it is the first that is not known."""
        return Unknown()

    def _asked(self, *_: object) -> NoReturn:
        raise Open

    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __bool__ = _asked

    def __str__(self) -> str:
        return "?"


Sizes = int | Unknown


# What is known of a value: of a tensor its type, anything else itself; None where nothing is.
Value = TensorInfo[Any] | int | Unknown | float | str | DType | core.FnRef | Function[Any] | tuple["Value", ...] | None


class PartialCtx(GroundCtx):
    """A rule's context where some sizes are unknown and what depends on them is open: only what surely fails is a violation.
    `sure`: nothing that the rule asked was open."""

    def __init__(self) -> None:
        self.sure = True

    def require(self, asked: Requirement, cond: bool | None = None) -> None:
        holds = self.decide(condition(asked, self) if cond is None else cond)
        if holds is False:
            raise Violation(asked)

    def decide(self, cond: bool | None) -> Any:
        self.sure = self.sure and cond is not None
        return cond

    def require_either(self, known: bool | None, asked: DTypeRequirement) -> None:
        self.require(asked, known is True)

    def _compared(self, op: str, a: Any, b: Any) -> Any:
        return compare(op, a, b)

    eq, ne = partialmethod(_compared, "=="), partialmethod(_compared, "!=")
    le, lt = partialmethod(_compared, "<="), partialmethod(_compared, "<")

    def any_of(self, *conds: bool | None) -> Any:
        return True if True in conds else None if None in conds else False

    def all_of(self, *conds: bool | None) -> Any:
        return all_of(*conds)

    def min(self, *sizes: Any) -> Any:
        return _known(min, sizes)

    def max(self, *sizes: Any) -> Any:
        return _known(max, sizes)

    def ceildiv(self, a: Any, b: Any) -> Any:
        return _known(ceildiv, (a, b))

    def common(self, *sizes: Any) -> Any:
        one = {size for size in sizes if size != 1}
        return next(iter(one), 1) if len(one) <= 1 else next((s for s in one if isinstance(s, int)), Unknown())

    def factor(self, product: Any, other: Any) -> Any:
        return _known(floor, (product, other))

    def fresh(self, name: str, at_least: object = 0, at_most: object = None) -> Any:
        return Unknown()

    def held_in(self, param: str) -> Any:
        return Unknown()

    def fits(self, value: Any, dtype: AnyDType | None) -> bool:
        return isinstance(value, int) and super().fits(value, dtype)


def all_of(*conds: bool | None) -> bool | None:
    return False if False in conds else None if None in conds else True


def _known(function: Any, sizes: Sequence[Any]) -> Any:
    unknown = next((size for size in sizes if not isinstance(size, int)), None)
    return function(*sizes) if unknown is None else unknown.of(function, sizes)


def compare(op: str, a: Any, b: Any) -> bool | None:
    """A comparison of sizes, of shapes, of dtypes or of truths; None where it is open."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        equal = all_of(len(a) == len(b), *(compare("==", x, y) for x, y in zip(a, b, strict=False)))
        return equal if op == "==" or equal is None else not equal
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return (op in ("==", "<=", ">=")) if a is b else None
    return bool(_COMPARISONS[op](a, b))


_COMPARISONS: Mapping[str, Any] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
_OPERATIONS: Mapping[str, Any] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "min": min, "max": max, "//": floor, "%": modulo, "/": exact, "ceildiv": ceildiv,
}  # fmt: skip


# Expressions of the shape level


def shape_level(e: core.ShapeLevel | core.Splice, env: State[Value]) -> Any:
    """An expression over what is known of its names; raises Open where nothing is, and Undefined where it has no value."""
    match e:
        case core.SizeLit(value=value) | core.BoolConst(value=value):
            return value
        case core.DTypeLit(dtype=dtype):
            return dtype
        case core.SizeVar() | core.ShapeVar() | core.DTypeVar() | core.BoolVar() | core.Splice():
            return looked_up(env, e.name)
        case core.RankOf(tensor=name):
            return len(tensor(env, name).shape)
        case core.DimOf(tensor=name, axis=axis):
            shape = tensor(env, name).shape
            if not -len(shape) <= axis < len(shape):
                raise Open
            return shape[axis]
        case core.ShapeOf(tensor=name):
            return tensor(env, name).shape
        case core.DTypeOf(tensor=name):
            return tensor(env, name).dtype
        case core.SizeOp(op=op, left=left, right=right):
            return _known(_OPERATIONS[op], (shape_level(left, env), shape_level(right, env)))
        case core.ShapeLit(dims=dims):
            parts = [(d, shape_level(d, env)) for d in dims]
            return tuple(s for d, p in parts for s in (p if isinstance(d, core.Splice) else (p,)))
        case core.Compare() | core.InClass() | core.Not() | core.Logic():
            return truth(e, env)
        case _:
            assert_never(e)


def truth(e: core.BoolExpr, env: State[Value]) -> bool | None:
    """A condition; None where it is open."""
    try:
        match e:
            case core.Compare(op=op, left=left, right=right):
                return compare(op, shape_level(left, env), shape_level(right, env))
            case core.InClass(item=item, choices=choices):
                return shape_level(item, env) in dtypes_of(choices)
            case core.Not(operand=operand):
                inner = truth(operand, env)
                return None if inner is None else not inner
            case core.Logic(op=op, left=left, right=right):
                decisive, first = op == "||", truth(left, env)
                return first if first is decisive else truth(right, env) if first is not None else None
            case core.BoolConst() | core.BoolVar():
                return shape_level(e, env)  # type: ignore[no-any-return]
            case _:
                assert_never(e)
    except Open:
        return None


def looked_up(env: State[Value], slot: str) -> Any:
    found = env.get(slot)
    if found is None:
        raise Open
    return found


def tensor(env: State[Value], slot: str) -> TensorInfo[Any]:
    found = looked_up(env, slot)
    if not isinstance(found, TensorInfo):
        raise Open
    return found


def dims(info: TensorInfo[Any]) -> tuple[Sizes, ...]:
    return tuple(d for d in info.shape if not isinstance(d, Segment))


# Values from outside, and calls


def info(value: Any) -> Value:
    """What is known of a value that is there, but for the elements of tensors: of those that the program has itself too."""
    if isinstance(value, np.ndarray | np.generic):
        return TensorInfo(tuple(value.shape), dtype_of(value.dtype))
    if isinstance(value, tuple | list):
        return tuple(map(info, value))
    found: Value = dtype_of(value) if isinstance(value, np.dtype) else value
    return found


constant = tensor_info


_NO_SIZE = 2**63


def primitive(row: Primitive, args: Sequence[Any], ctx: PartialCtx | None = None) -> tuple[Value, bool]:
    """What a call of a primitive gives, and whether all that it requires holds, whatever the elements are; raises Violation
    where it surely fails, and Open where nothing is known."""
    ctx = ctx or PartialCtx()
    try:
        found = evaluate(row, seen(row, args, _info), ctx)
    except (RankUnknown, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        raise Open from None
    if any(type(d) is int and d >= _NO_SIZE for tensor in found.tensors for d in tensor.shape):
        raise Open  # that is no size, and numbers that grow have no end
    sure = ctx.sure and not any(map(_hides, args))
    if row.results == "size":
        return found.size, sure
    return found.tensors if row.results == "tuple" else found.tensors[0], sure


def _hides(value: object) -> bool:
    """Whether a rule would look at elements of a tensor that are not known."""
    if isinstance(value, tuple):
        return any(map(_hides, value))
    if not isinstance(value, TensorInfo) or len(value.shape) > 1 or (value.data is not None and None not in value.data):
        return False
    return isinstance(value.dtype, DType) and value.dtype.kind in ("int", "uint")


def _info(param: Param, value: Any) -> Any:
    if value is None or isinstance(value, TensorInfo | DType):
        return value
    if param.kind in ("tensor", "index") and isinstance(value, bool | int | float):
        name = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
        keeps = param.kind == "index" and type(value) is int
        return value if keeps else TensorInfo((), DTYPES[name], (value,) if type(value) is int else None)
    return tuple(_info(param, v) for v in value) if param.kind == "tensors" else value


def argument(param: Param, v: core.Value | None, env: State[Value]) -> Any:
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
_SIZE = Param("", "size")


def operand(v: core.Value, env: State[Value]) -> Any:
    """What is known of an operand; raises Open."""
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
    """The same, None where nothing is known."""
    try:
        found: Value = operand(v, env)
        return found
    except (Open, Undefined):
        return None


class Consts(dict[str, Value]):
    """What is known of a program's own tensors, by slot."""

    def __init__(self, space: Mapping[str, object]) -> None:
        super().__init__()
        self.space = space

    def __missing__(self, slot: str) -> Value:
        value = self.space.get(slot)
        known = self[slot] = constant(value) if isinstance(value, np.ndarray | np.generic) else info(value)
        return known
