"""Values that nothing is known of, and values with everything written out that is known by now."""

from __future__ import annotations

from typing import assert_never

from ...lang import core
from ...lang.node import replace
from ...ops.model import TensorInfo
from ..solver.conditions import eq
from .state import State
from .values import BoolValue, DTypeValue, Entry, FnValue, ShapeValue, SizeValue, TupleValue, Value


def unknown(state: State, sort: core.Sort, name: str) -> Value:
    """A value of a sort that nothing is known of, called `name`."""
    match sort:
        case core.TupleSort():
            return TupleValue(tuple(unknown(state, s, f"{name}.{i}") for i, s in enumerate(sort.items)))
        case core.FnSort():
            return FnValue(name, sort.signature)
        case core.BaseSort(name="Size"):
            return SizeValue(state.size(name, nonneg=False))
        case core.BaseSort(name="Shape"):
            return ShapeValue((state.segment(name),))
        case core.BaseSort(name="DType"):
            return DTypeValue(state.dtype_symbol(name))
        case core.BaseSort(name="Bool"):
            return BoolValue(eq(state.size(name, nonneg=False), 1))
        case core.BaseSort():
            return TensorInfo((state.segment(name),), state.dtype_symbol(f"{name}.dtype"))
        case _:
            assert_never(sort)


def settle(state: State, entry: Entry) -> Entry:
    """The value with everything written out that is known by now."""
    return replace(entry, value=_settled(state, entry.value))


def _settled(state: State, value: Value) -> Value:
    if isinstance(value, TensorInfo):
        dtype = None if value.dtype is None else state.dtype(value.dtype)
        return TensorInfo(state.resolve(value.shape), dtype, value.data)
    if isinstance(value, SizeValue):
        return SizeValue(state.settled(value.size))
    if isinstance(value, TupleValue):
        return TupleValue(tuple(_settled(state, item) for item in value.items))
    return value
