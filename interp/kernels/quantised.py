"""NumPy kernels of quantisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import Array, widened
from .quiet import quiet
from .registry import kernel
from .windows import narrow


def _along(values: Array, x: Array, axis: int) -> Any:
    """A scalar, or one value for each entry of an axis, in a shape that broadcasts with x."""
    return values.reshape(-1, *(1,) * (x.ndim - 1 - axis % x.ndim)) if values.ndim else values


@kernel("quantize")
@quiet
def quantize(x: Array, scale: Array, zero_point: Array, axis: int) -> Array:
    x = np.asarray(x)
    zeros = _along(np.asarray(zero_point), x, axis)
    steps = np.rint(widened(x) / _along(widened(scale), x, axis)).astype(np.float64)
    bounds = np.iinfo(zeros.dtype)
    placed = np.clip(np.where(np.isnan(steps), 0, steps) + zeros, bounds.min, bounds.max)
    return np.asarray(placed.astype(zeros.dtype))


@kernel("dequantize")
@quiet
def dequantize(x: Array, scale: Array, zero_point: Array | None, axis: int) -> Array:
    x, wide = np.asarray(x), widened(scale)
    steps = x.astype(np.int64) if zero_point is None else x - _along(np.asarray(zero_point, np.int64), x, axis)
    return narrow(np.asarray(steps.astype(wide.dtype) * _along(wide, x, axis)), np.asarray(scale).dtype)
