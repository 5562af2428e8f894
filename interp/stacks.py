"""The stacked results of a loop's turns as one tensor along a new first axis: functions that generated code calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..lang.stored import MAX_RANK
from ..sizes.integers import Undefined
from .engine_types import EngineArray, EngineDType


def buffer_for(total: int, first: EngineArray) -> EngineArray:
    """Memory for what all turns leave, which is like what the first one left."""
    shape = _of_some_rank((total, *first.shape))
    try:
        return np.empty(shape, first.dtype)
    except (OverflowError, ValueError):
        raise MemoryError(f"Unable to allocate an array with shape {shape}") from None


def _of_some_rank(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, where an array may have as many axes."""
    if len(shape) > MAX_RANK:
        raise Undefined(f"a tensor has at most {MAX_RANK} axes, and the stack would have {len(shape)}")
    return shape


def owned(value: EngineArray) -> EngineArray:
    """What a turn left, to be kept: a view would keep all that it is a view of."""
    return value if value.base is None else value.copy()


def stacked(shape: tuple[int, ...], dtype: EngineDType, values: Sequence[EngineArray] = ()) -> EngineArray:
    """The values of all turns; where there was none, nothing of this shape and dtype, if they are known. A size of the type may
    be below 0 then, and stands for 0."""
    if not values and dtype is None:
        raise Undefined("no turn ran, and only a turn gives the shape and the dtype of the stack")
    if not values:
        return np.empty([max(size, 0) for size in _of_some_rank(shape)], dtype)
    made = buffer_for(len(values), values[0])
    for number, value in enumerate(values):
        made[number] = value
    return made
