"""NumPy kernels of counts, quantiles and differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import widened
from .quiet import quiet
from .registry import Array, BadValue, kernel

# NumPy's stubs want the method as a literal.
_quantile: Any = np.quantile


@kernel("count_nonzero")
def count_nonzero(x: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
    true = np.not_equal(x, "") if np.asarray(x).dtype.kind == "T" else np.asarray(x).astype(np.bool_)
    return np.asarray(true.sum(axis, np.int64, keepdims=keepdims))


@kernel("quantile")
@quiet
def quantile(x: Array, q: Any, axis: tuple[int, ...] | None, keepdims: bool, method: str) -> Array:
    wide, parts = widened(x), np.asarray(q).astype(np.float64)
    if parts.size and not (parts.min() >= 0 and parts.max() <= 1):
        raise BadValue("`q` holds a number that is not from 0 to 1")
    if axis == ():
        return np.broadcast_to(np.asarray(x), (*parts.shape, *np.shape(x)))
    # NumPy refuses an empty list of parts.
    asked = parts.reshape(-1) if parts.size else np.array([0.5])
    made = np.asarray(_quantile(wide, asked, axis=axis, keepdims=keepdims, method=method))[: parts.size]
    return made.astype(x.dtype).reshape((*parts.shape, *made.shape[1:]))


@kernel("bincount")
def bincount(x: Array, length: int) -> Array:
    if x.size and (x.min() < 0 or x.max() >= length):
        bad = x[(x < 0) | (x >= length)][0]
        raise BadValue(f"`x` holds {bad}, which is not from 0 to {length - 1}")
    return np.bincount(x.astype(np.int64), minlength=length).astype(np.int64, copy=False)


@kernel("diff")
@quiet
def diff(x: Array, axis: int, n: int, prepend: Array | None, append: Array | None) -> Array:
    parts = [part for part in (prepend, x, append) if part is not None]
    result = np.concatenate(parts, axis) if len(parts) > 1 else x
    front = np.moveaxis(result, axis, 0)
    for _ in range(min(n, len(front))):
        front = np.subtract(front[1:], front[:-1]).astype(x.dtype, copy=False)
    return np.moveaxis(front, 0, axis)
