"""The dimensions of the tensors that a value or an annotation speaks of."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang import core
from ...ops.model import Segment, TensorInfo
from ..solver.terms import Size
from .state import State
from .values import Env, TupleValue, Value


def of_subject(origin: core.Origin, env: Env, state: State) -> tuple[Size, ...]:
    """The dimensions of the tensor that an annotation speaks of."""
    if origin.declared is None or origin.declared.tensor not in env:
        return ()
    return of_values((env[origin.declared.tensor].value,), state)


def of_values(values: Iterable[Value], state: State) -> tuple[Size, ...]:
    """The dimensions of all tensors among the values."""
    found: list[Size] = []
    for value in values:
        if isinstance(value, TensorInfo):
            found.extend(d for d in state.resolve(value.shape) if not isinstance(d, Segment))
        elif isinstance(value, TupleValue):
            found.extend(of_values(value.items, state))
    return tuple(found)
