"""Memory allocated before a result is computed, and the result in it: functions that generated code calls."""

from __future__ import annotations

from math import prod

import numpy as np

from .engine_types import EngineArray, EngineDType


def alloc_buffer(count: int, dtype: EngineDType) -> EngineArray:
    """Allocate memory for `count` elements, as bytes; None for a dtype whose elements are not plain bytes."""
    return None if dtype.hasobject or dtype.kind == "T" else np.empty(count * dtype.itemsize, np.uint8)


def alloc_tensor(buffer: EngineArray, shape: tuple[int, ...], dtype: EngineDType) -> EngineArray:
    """Return a row-major tensor in a buffer."""
    return np.empty(shape, dtype) if buffer is None else np.ndarray(shape, dtype, buffer)


def placed(memory: EngineArray, value: EngineArray) -> EngineArray:
    """Copy a value into its allocated memory, with the same strides: results computed from it stay the same to the last
    bit."""
    assert value.shape == memory.shape and value.dtype == memory.dtype, f"{value.shape} in memory for {memory.shape}"
    strides = _dense(value)
    if strides is None or memory.base is None:
        return value
    made = np.ndarray(value.shape, value.dtype, memory.base, 0, strides)
    made[...] = value
    return made


def _dense(value: EngineArray) -> tuple[int, ...] | None:
    """The strides of a tensor that fills its memory without gaps, or None."""
    order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
    inner = [prod(value.shape[axis] for axis in order[at + 1 :]) * value.itemsize for at in range(value.ndim)]
    alike = all(value.shape[axis] == 1 or value.strides[axis] == size for axis, size in zip(order, inner, strict=True))
    return value.strides if alike or not value.size else None
