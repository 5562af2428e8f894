"""A primitive's arguments in the form that its rule expects, by the kind of their parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang.dtypes import WEAK
from ..lang.node import Node, replace
from ..ops.model import AnyDType, PrimitiveParam, RankUnknown, TensorInfo
from ..ops.requirements import Argument, Other
from ..ops.tracked import of_literal
from .known.state import State
from .known.values import (
    BoolValue,
    DTypeValue,
    ListValue,
    NumberValue,
    ShapeValue,
    SizeValue,
    TextValue,
    TupleValue,
    UnknownValue,
    Value,
    plain,
)
from .solver.sizes import only_var
from .solver.terms import Size, over


class BadArgument(Exception):
    """An argument of the wrong kind; `wanted` describes the right one."""

    def __init__(self, wanted: str, param: PrimitiveParam) -> None:
        super().__init__(wanted)
        self.asked = Other(f"{{0}} to be {wanted}", (Argument(param.name),))


class NotLiteral(BadArgument):
    """An argument that must be a literal number and is not."""


# Larger tensors are not treated as lists of sizes.
_MOST_SIZES = 2**16


def argument(param: PrimitiveParam, value: Value, state: State) -> Any:
    """Return an argument in the form that its rule expects."""
    return _READERS[param.kind](param, value, state)


def _tensor(param: PrimitiveParam, value: Value, state: State) -> TensorInfo:
    if isinstance(value, NumberValue):
        return TensorInfo((), None, of_literal((value.value,), WEAK[type(value.value)]))
    if isinstance(value, TensorInfo):
        # Once nothing is decided any more, known sizes need not be filled in.
        dtype, shape = (
            value.dtype and state.dtype(value.dtype),
            (state.spread if over() else state.resolve)(value.shape),
        )
        is_same = shape is value.shape and dtype is value.dtype
        return value if is_same else replace(value, shape=shape, dtype=dtype)
    if isinstance(value, BoolValue) and isinstance(value.cond, bool):
        return TensorInfo((), None, None)
    raise BadArgument("a tensor", param)


def _tensors(param: PrimitiveParam, value: Value, state: State) -> tuple[TensorInfo, ...]:
    if isinstance(value, ListValue | TupleValue):
        return tuple(_tensor(param, v, state) for v in value.items)
    if isinstance(value, UnknownValue):
        raise RankUnknown
    raise BadArgument("a list of tensors", param)


def _index(param: PrimitiveParam, value: Value, state: State) -> Any:
    if isinstance(value, SizeValue):
        return state.settled(value.size)
    if isinstance(value, NumberValue) and isinstance(value.value, int):
        return value.value
    return _tensor(param, value, state)


def _size(param: PrimitiveParam, value: Value, state: State) -> Size:
    if isinstance(value, SizeValue):
        return state.settled(value.size)
    if isinstance(value, NumberValue) and isinstance(value.value, int):
        return value.value
    if isinstance(value, TensorInfo):
        if state.resolve(value.shape) != ():
            raise RankUnknown
        return value.sizes if value.sizes is not None else _unknown(state)
    raise BadArgument("a size", param)


def _sizes(param: PrimitiveParam, value: Value, state: State) -> tuple[Any, ...]:
    if isinstance(value, ShapeValue):
        shape = state.resolve(value.dims)
        if not plain(shape) and param.kind not in ("shape", "target"):
            raise RankUnknown
        return shape
    if isinstance(value, ListValue | TupleValue):
        return tuple(_size(param, v, state) for v in value.items)
    if isinstance(value, TensorInfo):
        return _from_tensor(param, value, state)
    return (_size(param, value, state),)


def _from_tensor(param: PrimitiveParam, value: TensorInfo, state: State) -> tuple[Any, ...]:
    """Return sizes given as an integer tensor of rank 1, or of rank 0 if one size may stand for all: its tracked elements,
    else sizes that only the run decides."""
    shape = state.resolve(value.shape)
    if shape == ():
        return (_size(param, value, state),)
    if not plain(shape) or not isinstance(shape[0], int) or shape[0] > _MOST_SIZES:
        raise RankUnknown
    known = value.data if value.data is not None and len(shape) == 1 else (None,) * shape[0]
    return tuple(_unknown(state) if e is None or isinstance(e, Node) else e for e in known)


def _unknown(state: State) -> Size:
    """Return a new size about which nothing is known."""
    size = state.size("?", nonneg=False)
    state.opaque.begin(only_var(size), None)
    return size


def _pairs(param: PrimitiveParam, value: Value, state: State) -> tuple[Any, ...]:
    if isinstance(value, ListValue | TupleValue):
        pairs = tuple(_sizes(param, v, state) for v in value.items)
        if all(len(p) == 2 for p in pairs):
            return pairs
    raise BadArgument("a list of pairs of sizes, like [(0, 1), (2, 2)]", param)


def _int(param: PrimitiveParam, value: Value, state: State) -> int:
    size = _size(param, value, state)
    if isinstance(size, int):
        return size
    raise NotLiteral("a literal integer", param)


def _ints(param: PrimitiveParam, value: Value, state: State) -> tuple[int, ...]:
    sizes = _sizes(param, value, state)
    if all(isinstance(s, int) for s in sizes):
        return sizes
    raise NotLiteral("literal integers", param)


def _float(param: PrimitiveParam, value: Value, state: State) -> float:
    number = value.value if isinstance(value, NumberValue) else value.size if isinstance(value, SizeValue) else None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadArgument("a literal number", param)
    try:
        return float(number)
    except OverflowError:
        raise BadArgument("a number that float64 can hold", param) from None


def _bool(param: PrimitiveParam, value: Value, state: State) -> bool:
    if isinstance(value, NumberValue) and isinstance(value.value, bool):
        return value.value
    if isinstance(value, BoolValue) and isinstance(value.cond, bool):
        return value.cond
    raise BadArgument("true or false", param)


def _str(param: PrimitiveParam, value: Value, state: State) -> str:
    if isinstance(value, TextValue):
        return value.value
    raise BadArgument("a string", param)


def _dtype(param: PrimitiveParam, value: Value, state: State) -> AnyDType:
    if isinstance(value, DTypeValue):
        return state.dtype(value.dtype)
    raise BadArgument("a dtype", param)


_READERS: dict[str, Callable[[PrimitiveParam, Value, State], Any]] = {
    "tensor": _tensor,
    "tensors": _tensors,
    "index": _index,
    "size": _size,
    "sizes": _sizes,
    "shape": _sizes,
    "target": _sizes,
    "pairs": _pairs,
    "int": _int,
    "ints": _ints,
    "float": _float,
    "bool": _bool,
    "str": _str,
    "dtype": _dtype,
}
