"""Kernels of reductions, cumulative sums, softmax and normalisation, in exactly the dtype of the row."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .create import cast
from .elementwise import Array, Dtype, Function, in_blocks, widened
from .quiet import quiet
from .registry import kernel, rows
from .totals import accumulated, mean_of, total, variance_of
from .windows import narrow, wide

Axes = tuple[int, ...] | None


def _accumulator(x: Array) -> Array:
    """The dtype to add up in: the array's own, float32 for shorter floats."""
    return widened(x[..., :0] if x.ndim else x).dtype


def _along(ufunc: np.ufunc, x: Array, axis: Axes | int, keepdims: bool, **options: Any) -> Array:
    return ufunc.reduce(x, axis=axis, keepdims=keepdims, **options)


@kernel("sum")
@quiet
def sum_(x: Array, axis: Axes, keepdims: bool, dtype: Dtype) -> Array:
    x = cast(x, dtype)
    wide = _accumulator(x)
    if wide != x.dtype:
        return _along(np.add, x, axis, keepdims, dtype=wide).astype(x.dtype)
    return total(x, axis, keepdims)


@kernel("prod")
@quiet
def prod_(x: Array, axis: Axes, keepdims: bool, dtype: Dtype) -> Array:
    x = cast(x, dtype)
    return _along(np.multiply, x, axis, keepdims, dtype=_accumulator(x)).astype(x.dtype, copy=False)


@kernel("max")
def max_(x: Array, axis: Axes, keepdims: bool) -> Array:
    x = np.asarray(x)
    return _along(np.maximum, x, axis, keepdims).astype(x.dtype, copy=False)


@kernel("min")
def min_(x: Array, axis: Axes, keepdims: bool) -> Array:
    x = np.asarray(x)
    return _along(np.minimum, x, axis, keepdims).astype(x.dtype, copy=False)


@kernel("mean")
@quiet
def mean_(x: Array, axis: Axes, keepdims: bool) -> Array:
    x = np.asarray(x)
    return mean_of(widened(x), axis, keepdims).astype(x.dtype, copy=False)


@kernel("var")
@quiet
def var(x: Array, axis: Axes, keepdims: bool, correction: float) -> Array:
    x = np.asarray(x)
    return variance_of(widened(x), axis, keepdims, correction).astype(x.dtype, copy=False)


@kernel("std")
@quiet
def std(x: Array, axis: Axes, keepdims: bool, correction: float) -> Array:
    x = np.asarray(x)
    return np.sqrt(variance_of(widened(x), axis, keepdims, correction)).astype(x.dtype, copy=False)


def _accumulate(
    ufunc: np.ufunc, x: Array, axis: int | None, dtype: Dtype, initial: bool, exclusive: bool, reverse: bool
) -> Array:
    x = cast(x, dtype)
    axis = (axis or 0) % x.ndim
    source = np.flip(x, axis) if reverse else x
    if not (initial or exclusive):
        result = accumulated(ufunc, source, axis, _accumulator(x))
    else:
        result = np.empty((*x.shape[:axis], x.shape[axis] + initial, *x.shape[axis + 1 :]), _accumulator(x))
        before = (slice(None),) * axis
        result[(*before, slice(0, 1))] = ufunc.identity
        source = source if initial else source[(*before, slice(None, -1))]
        accumulated(ufunc, source, axis, result.dtype, result[(*before, slice(1, None))])
    result = result.astype(x.dtype, copy=False)
    return np.flip(result, axis) if reverse else result


def _running(ufunc: Any, x: Array, axis: int, reverse: bool) -> Array:
    source = np.flip(wide(x), axis) if reverse else wide(x)
    result = narrow(ufunc.accumulate(source, axis=axis), x.dtype)
    return np.flip(result, axis) if reverse else result


def _greatest(x: Array, axis: Axes) -> Array:
    """The largest element along the axes, which are kept; 0 if it is not finite or there is none."""
    greatest = _along(np.maximum, x, axis, True, initial=-np.inf)
    return np.where(np.isfinite(greatest), greatest, np.zeros_like(greatest))


@kernel("logsumexp")
@quiet
def logsumexp(x: Array, axis: Axes, keepdims: bool) -> Array:
    x = np.asarray(x)
    wide = widened(x)
    greatest = _greatest(wide, axis)
    result = np.log(total(np.exp(wide - greatest), axis, True)) + greatest
    if not keepdims:
        result = result.squeeze(tuple(range(x.ndim)) if axis is None else axis)
    return result.astype(x.dtype, copy=False)


def _along_rows(function: Function, x: Array, axis: int, out: Array | None) -> Array:
    """Apply a function of rows along an axis; to a block of rows at a time if it is the last one."""
    x = np.asarray(x)
    if axis % x.ndim == x.ndim - 1:
        return in_blocks(lambda rows, into: function(rows, -1, into), x, x.shape[-1], out)
    return function(widened(x), axis, None).astype(x.dtype, copy=False)


# Rows up to this length are added up as products with ones, which is exact enough and faster than a reduction for each row.
_NARROW = 1 << 10
# If exponentials add up to less, small ones may be lost.
_LEAST = 1e-3


def _totals(x: Array, axis: int) -> Array:
    width = x.shape[axis]
    if axis == -1 and width <= _NARROW:
        return np.vecdot(x, np.ones(width, x.dtype))[..., None]
    return total(x, axis, True)


def exponentials(x: Array, axis: int) -> tuple[Array, Array]:
    """Exponentials along an axis, and their sum; of the elements themselves, or of the elements less the greatest if that
    would be too large or too small."""
    result = np.asarray(np.exp(x))
    added = _totals(result, axis)
    if not np.all((added > _LEAST) & (added < np.inf)):
        greatest = _along(np.maximum, x, axis, True, initial=-np.inf)
        greatest[greatest == -np.inf] = 0
        np.exp(np.subtract(x, greatest, out=result), out=result)
        added = _totals(result, axis)
    return result, added


def _softmax(x: Array, axis: int, out: Array | None) -> Array:
    result, added = exponentials(x, axis)
    return np.divide(result, added, out=result if out is None else out)


# Rows of two-byte floats up to this length are computed with every step rounded, as in ONNX; in longer ones such a sum would
# be too inexact.
_SHORT = 1 << 6


def _softmax_by_steps(x: Array, axis: int) -> Array:
    result = np.exp(x - _along(np.maximum, x, axis, True, initial=-np.inf))
    return np.divide(result, total(result, axis, True))


@kernel("softmax")
@quiet
def softmax(x: Array, axis: int, out: Array | None = None) -> Array:
    x = np.asarray(x)
    if x.dtype.itemsize == 2 and x.shape[axis] <= _SHORT:
        return _softmax_by_steps(x, axis)
    return _along_rows(_softmax, x, axis, out)


def _log_softmax(x: Array, axis: int, out: Array | None) -> Array:
    result = x - _along(np.maximum, x, axis, True, initial=-np.inf)
    result -= np.log(total(np.exp(result), axis, True))
    return result


@kernel("log_softmax")
@quiet
def log_softmax(x: Array, axis: int, out: Array | None = None) -> Array:
    return _along_rows(_log_softmax, x, axis, out)


def _over_rows(function: Function, x: Array, axis: int, out: Array | None) -> Array:
    """Apply a function of rows, which are all the axes from one on."""
    x = np.asarray(x)
    lead = x.shape[: axis % x.ndim]
    width = prod(x.shape[axis % x.ndim :])
    rows = in_blocks(function, x.reshape(*lead, width), width, None if out is None else out.reshape(*lead, width))
    return rows.reshape(x.shape)


@kernel("layer_norm")
@quiet
def layer_norm(
    x: Array, scale: Array, bias: Array | None, axis: int, epsilon: float, out: Array | None = None
) -> Array:
    factor, more = widened(scale).reshape(-1), None if bias is None else widened(bias).reshape(-1)

    def normalize(rows: Array, out: Array | None) -> Array:
        result = normalized(rows, epsilon)
        into = result if out is None else out
        if more is None:
            return np.multiply(result, factor, out=into)
        result *= factor
        return np.add(result, more, out=into)

    return _over_rows(normalize, x, axis, out)


@kernel("rms_norm")
@quiet
def rms_norm(x: Array, scale: Array, axis: int, epsilon: float, out: Array | None = None) -> Array:
    factor = widened(scale).reshape(-1)

    def normalize(rows: Array, out: Array | None) -> Array:
        result = rows * _inverse_root(rows, epsilon)
        result *= factor
        return result

    return _over_rows(normalize, x, axis, out)


def normalized(rows: Array, epsilon: float) -> Array:
    """Scale rows to mean 0 and variance 1."""
    result = rows - _totals(rows, -1) / np.asarray(rows.shape[-1], rows.dtype)
    result *= _inverse_root(result, epsilon)
    return result


def _inverse_root(rows: Array, epsilon: float) -> Array:
    """1 / sqrt(mean + epsilon), for the mean of each row's squares."""
    means = np.vecdot(rows, rows)[..., None] / np.asarray(rows.shape[-1], rows.dtype)
    means += np.asarray(epsilon, rows.dtype)
    return np.reciprocal(np.sqrt(means, out=means), out=means)


@kernel("sum_to")
def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    leading = x.ndim - len(shape)
    stretched = (leading + i for i, size in enumerate(shape) if size == 1 and x.shape[leading + i] != 1)
    axes = (*range(leading), *stretched)
    return sum_(x, axes, False, None).reshape(shape) if axes else x


rows(
    {
        "all": lambda x, axis, keepdims: _along(np.logical_and, np.asarray(x), axis, keepdims),
        "any": lambda x, axis, keepdims: _along(np.logical_or, np.asarray(x), axis, keepdims),
        "argmax": lambda x, axis, keepdims: np.argmax(np.asarray(x), axis=axis, keepdims=keepdims).astype(
            np.int64, copy=False
        ),
        "argmin": lambda x, axis, keepdims: np.argmin(np.asarray(x), axis=axis, keepdims=keepdims).astype(
            np.int64, copy=False
        ),
        "cumulative_max": lambda x, axis, reverse: _running(np.maximum, x, axis, reverse),
        "cumulative_min": lambda x, axis, reverse: _running(np.minimum, x, axis, reverse),
        "cumulative_logsumexp": quiet(lambda x, axis, reverse: _running(np.logaddexp, x, axis, reverse)),
        "cumulative_sum": quiet(
            lambda x, axis, dtype, include_initial, exclusive, reverse: _accumulate(
                np.add, x, axis, dtype, include_initial, exclusive, reverse
            )
        ),
        "cumulative_prod": quiet(
            lambda x, axis, dtype, include_initial, exclusive, reverse: _accumulate(
                np.multiply, x, axis, dtype, include_initial, exclusive, reverse
            )
        ),
    }
)
