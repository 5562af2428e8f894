"""The arguments of a call, as the rule of its primitive takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...lang import sweet
from ...lang.dtypes import DTYPES, DType
from ...ops.model import WILDCARD, Primitive, PrimitiveParam, TensorInfo
from .values import Misfit, Untold, Value, size_of, tensor_of

_ATTRIBUTES: dict[str, Any] = {"float": int | float, "bool": bool, "str": str, "dtype": DType}


def is_for(arg: sweet.Arg, position: int, param: PrimitiveParam, index: int) -> bool:
    return arg.name.name == param.name if arg.name is not None else position == index


def argument(param: PrimitiveParam, value: Value) -> Value:
    """Return an argument as the rule takes it."""
    match param.kind:
        case "tensor" | "index":
            if isinstance(value, tuple):
                return TensorInfo((len(value),), DTYPES["int64"], _sizes(value))
            return value if param.kind == "index" and isinstance(value, int) else tensor_of(value)
        case "tensors":
            return tuple(map(tensor_of, _listed(value)))
        case "pairs":
            pairs = ((value, value),) if isinstance(value, int) else _listed(value)
            if any(len(_sizes(pair)) != 2 for pair in pairs):
                raise Misfit
            return pairs
        case "size" | "int":
            return size_of(value)
        case "target":
            return tuple(WILDCARD if v == -1 else v for v in _sizes(value))
        case "sizes" | "ints" | "shape":
            return (value,) if isinstance(value, int) else _sizes(value)
    if not isinstance(value, _ATTRIBUTES[param.kind]):
        raise Misfit
    return value


def parts_of(row: Primitive, given: Mapping[str, Value]) -> int:
    """Return an upper bound on the number of results of a primitive that gives as many as its arguments or an axis say."""
    told = [given[p.name] for p in row.params if p.kind in ("size", "sizes") and p.name in given]
    if told:
        return max(len(n) + 1 if isinstance(n, tuple) else n for n in told)
    shapes = [x.shape for x in given.values() if isinstance(x, TensorInfo)]
    return max((size for shape in shapes for size in shape if isinstance(size, int)), default=0)


def _listed(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise Untold
    return value


def _sizes(value: Value) -> tuple[int, ...]:
    return tuple(map(size_of, _listed(value)))
