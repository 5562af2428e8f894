"""The stacked results of a loop's turns as one tensor along a new first axis: functions that generated code calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..lang.stored import MAX_RANK
from ..sizes.integers import Undefined
from .engine_types import EngineArray, EngineDType


def buffer_for(total: int, first: EngineArray) -> EngineArray:
    """Allocate memory for the values of all turns, which are like the first one."""
    shape = _of_some_rank((total, *first.shape))
    try:
        return np.empty(shape, first.dtype)
    except (OverflowError, ValueError):
        raise MemoryError(f"Unable to allocate an array with shape {shape}") from None


def _of_some_rank(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape if an array may have as many axes; raises Undefined."""
    if len(shape) > MAX_RANK:
        raise Undefined(f"a tensor has at most {MAX_RANK} axes, and the stack would have {len(shape)}")
    return shape


def owned(value: EngineArray) -> EngineArray:
    """The value of a turn, to be kept: a view is copied, since it would keep its whole base."""
    return value if value.base is None else value.copy()


def stacked(shape: tuple[int, ...], dtype: EngineDType, values: Sequence[EngineArray] = ()) -> EngineArray:
    """The values of all turns; without turns an empty tensor of this shape and dtype, if they are known. A size of the shape
    may be below 0 then, and stands for 0."""
    if not values and dtype is None:
        raise Undefined("no turn ran, and only a turn gives the shape and the dtype of the stack")
    if not values:
        return np.empty([max(size, 0) for size in _of_some_rank(shape)], dtype)
    made = buffer_for(len(values), values[0])
    for number, value in enumerate(values):
        made[number] = value
    return made
