"""New values without facts, values with all present facts applied, and the dimensions in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from ...lang import core
from ...lang.node import replace
from ...ops.model import Segment, TensorInfo
from ..solver.conditions import eq
from ..solver.terms import Size
from .state import State
from .values import BoolValue, DTypeValue, Entry, Env, FnValue, ShapeValue, SizeValue, TupleValue, Value, tensors_in


def unknown(state: State, sort: core.Sort, name: str) -> Value:
    """Return a value of the sort, named `name`, about which nothing is known."""
    match sort:
        case core.TupleSort():
            return TupleValue(tuple(unknown(state, s, f"{name}[{i}]") for i, s in enumerate(sort.items)))
        case core.FnSort():
            return FnValue(name, sort.signature)
        case core.BaseSort(name="Size"):
            return SizeValue(state.size(name, nonneg=False))
        case core.BaseSort(name="Shape"):
            return ShapeValue((state.segment(name),))
        case core.BaseSort(name="DType"):
            return DTypeValue(state.dtype_symbol(name))
        case core.BaseSort(name="Bool"):
            return BoolValue(eq(state.truth(name), 1))
        case core.BaseSort():
            return TensorInfo((state.segment(name),), state.dtype_symbol(f"{name}.dtype"))
        case _:
            assert_never(sort)


def settle(state: State, entry: Entry) -> Entry:
    """Return the entry with all facts known so far applied to its value."""
    return replace(entry, value=_settled(state, entry.value))


def _settled(state: State, value: Value) -> Value:
    if isinstance(value, TensorInfo):
        dtype = None if value.dtype is None else state.dtype(value.dtype)
        return replace(value, shape=state.resolve(value.shape), dtype=dtype)
    if isinstance(value, SizeValue):
        return SizeValue(state.settled(value.size))
    if isinstance(value, TupleValue):
        return TupleValue(tuple(_settled(state, item) for item in value.items))
    return value


def dims_of_subject(origin: core.Origin, env: Env, state: State) -> tuple[Size, ...]:
    """The dimensions of the tensor that an annotation describes."""
    if origin.declared is None or origin.declared.tensor not in env:
        return ()
    return dims_of((env[origin.declared.tensor].value,), state)


def dims_of(values: Iterable[Value], state: State) -> tuple[Size, ...]:
    """The dimensions of all tensors among the values."""
    shapes = (state.resolve(t.shape) for t in tensors_in(*values))
    return tuple(d for shape in shapes for d in shape if not isinstance(d, Segment))


def sizes_among(values: Sequence[Value], state: State) -> tuple[Size, ...]:
    """The sizes among the values and the dimensions of the tensors among them."""
    return (*dims_of(values, state), *(v.size for v in values if isinstance(v, SizeValue)))
