"""A primitive's arguments as its rule wants them, by the kind of their parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang.node import replace
from ..ops.model import Param, RankUnknown, TensorInfo
from .known.values import (
    AnyDType,
    BoolValue,
    DTypeValue,
    ListValue,
    NumberValue,
    ShapeValue,
    SizeValue,
    TextValue,
    TupleValue,
    Value,
    plain,
)
from .solver.sizes import single_var
from .solver.terms import Size, Term
from .walk import Walker


class BadArgument(Exception):
    """An argument of the wrong kind; `what` completes "@name needs ..."."""

    def __init__(self, what: str, param: str) -> None:
        super().__init__(what)
        self.what = what
        self.param = param


class NotLiteral(BadArgument):
    """A number that has to stand in the program does not."""


def argument(param: Param, value: Value, walker: Walker) -> Any:
    """An argument as the rule wants it."""
    return _READERS[param.kind](param, value, walker)


def _tensor(param: Param, value: Value, walker: Walker) -> TensorInfo:
    if isinstance(value, NumberValue):
        data = value.value if isinstance(value.value, int) and not isinstance(value.value, bool) else None
        return TensorInfo((), None, data)
    if isinstance(value, TensorInfo):
        return replace(value, shape=walker.state.resolve(value.shape))
    if isinstance(value, BoolValue) and isinstance(value.cond, bool):
        return TensorInfo((), None, None)
    raise BadArgument(f"`{param.name}` to be a tensor", param.name)


def _tensors(param: Param, value: Value, walker: Walker) -> tuple[TensorInfo, ...]:
    if isinstance(value, ListValue | TupleValue):
        return tuple(_tensor(param, v, walker) for v in value.items)
    raise BadArgument(f"`{param.name}` to be a list of tensors", param.name)


def _index(param: Param, value: Value, walker: Walker) -> Any:
    if isinstance(value, SizeValue):
        return walker.state.settled(value.size)
    if isinstance(value, NumberValue) and isinstance(value.value, int):
        return value.value
    return _tensor(param, value, walker)


def _size(param: Param, value: Value, walker: Walker) -> Size:
    if isinstance(value, SizeValue):
        return walker.state.settled(value.size)
    if isinstance(value, NumberValue) and isinstance(value.value, int):
        return value.value
    if isinstance(value, TensorInfo):
        if walker.state.resolve(value.shape) != ():
            raise RankUnknown
        return value.data if isinstance(value.data, int | Term) else walker.state.size("?scalar", nonneg=False)
    raise BadArgument(f"`{param.name}` to be a size", param.name)


def _sizes(param: Param, value: Value, walker: Walker) -> tuple[Any, ...]:
    if isinstance(value, ShapeValue):
        shape = walker.state.resolve(value.dims)
        if not plain(shape) and param.kind not in ("shape", "target"):
            raise RankUnknown
        return shape
    if isinstance(value, ListValue | TupleValue):
        return tuple(_size(param, v, walker) for v in value.items)
    if isinstance(value, TensorInfo):
        return _from_tensor(param, value, walker)
    return (_size(param, value, walker),)


def _from_tensor(param: Param, value: TensorInfo, walker: Walker) -> tuple[Any, ...]:
    """Sizes given as a rank-1 integer tensor: its tracked elements, else sizes that only the run decides."""
    if isinstance(value.data, tuple):
        return value.data
    shape = walker.state.resolve(value.shape)
    if not plain(shape) or not isinstance(shape[0], int):
        raise RankUnknown
    sizes = tuple(walker.state.size("?", nonneg=False) for _ in range(shape[0]))
    for size in sizes:
        variable = single_var(size)
        assert variable is not None
        walker.state.opaque[variable] = None
    return sizes


def _pairs(param: Param, value: Value, walker: Walker) -> tuple[Any, ...]:
    if isinstance(value, ListValue | TupleValue):
        pairs = tuple(_sizes(param, v, walker) for v in value.items)
        if all(len(p) == 2 for p in pairs):
            return pairs
    raise BadArgument(f"`{param.name}` to be a list of pairs of sizes, like [(0, 1), (2, 2)]", param.name)


def _int(param: Param, value: Value, walker: Walker) -> int:
    size = _size(param, value, walker)
    if isinstance(size, int):
        return size
    raise NotLiteral(f"`{param.name}` to be a literal integer", param.name)


def _ints(param: Param, value: Value, walker: Walker) -> tuple[int, ...]:
    sizes = _sizes(param, value, walker)
    if all(isinstance(s, int) for s in sizes):
        return sizes
    raise NotLiteral(f"`{param.name}` to be literal integers", param.name)


def _float(param: Param, value: Value, walker: Walker) -> float:
    if isinstance(value, NumberValue) and not isinstance(value.value, bool):
        return float(value.value)
    if isinstance(value, SizeValue) and isinstance(value.size, int):
        return float(value.size)
    raise BadArgument(f"`{param.name}` to be a literal number", param.name)


def _bool(param: Param, value: Value, walker: Walker) -> bool:
    if isinstance(value, NumberValue) and isinstance(value.value, bool):
        return value.value
    if isinstance(value, BoolValue) and isinstance(value.cond, bool):
        return value.cond
    raise BadArgument(f"`{param.name}` to be true or false", param.name)


def _str(param: Param, value: Value, walker: Walker) -> str:
    if isinstance(value, TextValue):
        return value.value
    raise BadArgument(f"`{param.name}` to be a string", param.name)


def _dtype(param: Param, value: Value, walker: Walker) -> AnyDType:
    if isinstance(value, DTypeValue):
        return walker.state.dtype(value.dtype)
    raise BadArgument(f"`{param.name}` to be a dtype", param.name)


_READERS: dict[str, Callable[[Param, Value, Walker], Any]] = {
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
