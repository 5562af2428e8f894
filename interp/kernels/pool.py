"""NumPy kernels of pooling: a loop over the places of the kernel along each axis, each a strided slice of the whole array."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...lang.dtypes import int_range
from ...ops.windows import Pairs, spatial_axes, spatial_count, spread
from ..dtypes import dtype_of
from .elementwise import Array
from .quiet import quiet
from .registry import kernel
from .totals import mean_of
from .windows import Grid, channels_back, channels_first, narrow, wide

Ints = tuple[int, ...]


def laid(
    x: Array,
    kernel_shape: Ints,
    strides: Ints | None,
    pads: Pairs | None,
    auto_pad: str,
    dilations: Ints | None,
    ceil_mode: bool,
    layout: str,
    count: int,
) -> tuple[Any, Grid]:
    """The image with its spatial axes last, and the windows over them; without strides they are adjacent."""
    image = channels_first(wide(x), layout, x.ndim == count + 2)
    steps = kernel_shape if strides is None else strides
    sizes = spread(kernel_shape, count, 1)
    return image, Grid(image.shape[-count:], sizes, steps, pads, auto_pad, dilations, ceil_mode)


def _back(result: Array, x: Array, layout: str, count: int) -> Array:
    """The result in the dtype and the layout of the operand."""
    return channels_back(narrow(result, x.dtype), layout, x.ndim == count + 2)


def _over_windows(ufunc: np.ufunc, image: Array, grid: Grid, rest: Array) -> Any:
    """Apply a ufunc over each window, along one axis after the other; `rest` fills the borders."""
    if prod(grid.counts) == 0:
        return np.zeros((*image.shape[: -len(grid.counts)], *grid.counts), image.dtype)
    result = grid.padded(image, rest)
    for i, size in enumerate(grid.kernel):
        after = (slice(None),) * (len(grid.counts) - 1 - i)
        first, *others = (result[(..., grid.places(i, p), *after)] for p in range(size))
        result = first.copy()
        for other in others:
            ufunc(result, other, out=result)
    return result


def least(dtype: np.dtype[Any]) -> Array:
    """A value less than every element, or the least element."""
    kind = dtype_of(dtype)
    return int_range(kind)[0] if kind.kind in ("int", "uint") else -np.inf


def _means(image: Array, grid: Grid, include_pad: bool) -> Array:
    count, result = len(grid.counts), _over_windows(np.add, image, grid, 0)
    if prod(grid.counts):
        for i in range(count):
            divisor = _divisor(grid, i, include_pad).astype(image.dtype)
            result /= divisor.reshape(-1, *(1,) * (count - 1 - i))
    return result


def _divisor(grid: Grid, i: int, include_pad: bool) -> Array:
    """For each window along an axis, the number of its places that count."""
    low, high = grid.pads[i]
    begin, end = (-low, grid.sizes[i] + high) if include_pad else (0, grid.sizes[i])
    starts = np.arange(grid.counts[i]) * grid.strides[i] - low
    places = starts[:, None] + np.arange(grid.kernel[i]) * grid.dilations[i]
    return ((begin <= places) & (places < end)).sum(axis=1)


def _define(suffix: str, spatial: int | None) -> None:
    def count_of(x: Array, kernel_shape: Ints) -> int:
        return spatial_count(kernel_shape, x.ndim) if spatial is None else spatial

    @kernel(f"max_pool{suffix}")
    def max_pool(
        x: Array, kernel_shape: Ints, strides: Ints | None, pads: Pairs | None, auto_pad: str,
        dilations: Ints | None, ceil_mode: bool, layout: str,
    ) -> Array:  # fmt: skip
        count = count_of(x, kernel_shape)
        image, grid = laid(x, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, count)
        return _back(_over_windows(np.maximum, image, grid, least(x.dtype)), x, layout, count)

    @kernel(f"average_pool{suffix}")
    @quiet
    def average_pool(
        x: Array, kernel_shape: Ints, strides: Ints | None, pads: Pairs | None, auto_pad: str,
        dilations: Ints | None, ceil_mode: bool, count_include_pad: bool, layout: str,
    ) -> Array:  # fmt: skip
        count = count_of(x, kernel_shape)
        image, grid = laid(x, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, count)
        return _back(_means(image, grid, count_include_pad), x, layout, count)

    @kernel(f"lp_pool{suffix}")
    @quiet
    def lp_pool(
        x: Array, kernel_shape: Ints, p: float, strides: Ints | None, pads: Pairs | None,
        auto_pad: str, dilations: Ints | None, ceil_mode: bool, layout: str,
    ) -> Array:  # fmt: skip
        count = count_of(x, kernel_shape)
        image, grid = laid(x, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, count)
        return _back(_over_windows(np.add, np.abs(image) ** p, grid, 0) ** inverse(p), x, layout, count)


for _suffix, _spatial in (("", None), ("1d", 1), ("2d", 2), ("3d", 3)):
    _define(_suffix, _spatial)


def inverse(p: float) -> float:
    """The exponent of a sum of powers."""
    return 1 / p if p else np.inf


# Over all of the spatial axes


@kernel("global_average_pool")
@quiet
def global_average_pool(x: Array, layout: str) -> Array:
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    return narrow(mean_of(wide(x), axes, True), x.dtype)


@kernel("global_max_pool")
def global_max_pool(x: Array, layout: str) -> Array:
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    return narrow(np.maximum.reduce(wide(x), axis=axes, keepdims=True), x.dtype)


def _parts(size: int, count: int) -> tuple[Any, Any]:
    """The starts and the ends of the windows that divide an axis into parts."""
    places = np.arange(count)
    return places * size // count, -(-(places + 1) * size // count)


def _reduced_parts(ufunc: np.ufunc, x: Array, axis: int, count: int, rest: Array) -> Array:
    """Apply a ufunc over each part of an axis; `rest` is one more element, at which the last part ends."""
    starts, ends = _parts(x.shape[axis], count)
    tail = np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), rest, x.dtype)
    bounds = np.stack([starts, ends], 1).reshape(-1)
    reduced = ufunc.reduceat(np.concatenate([x, tail], axis), bounds, axis=axis)
    return reduced[(*(slice(None),) * axis, slice(None, None, 2))]


@kernel("adaptive_average_pool")
@quiet
def adaptive_average_pool(x: Array, output_shape: Ints, layout: str) -> Array:
    result = wide(x)
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    for axis, count in zip(axes, spread(output_shape, len(axes), 1), strict=True):
        if result.size == 0 or count == 0:
            result = np.zeros((*result.shape[:axis], count, *result.shape[axis + 1 :]), result.dtype)
            continue
        starts, ends = _parts(x.shape[axis], count)
        result = _reduced_parts(np.add, result, axis, count, 0)
        result = result / (ends - starts).astype(result.dtype).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    return narrow(result, x.dtype)


@kernel("adaptive_max_pool")
def adaptive_max_pool(x: Array, output_shape: Ints, layout: str) -> Array:
    result = wide(x)
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    for axis, count in zip(axes, spread(output_shape, len(axes), 1), strict=True):
        if result.size == 0 or count == 0:
            result = np.zeros((*result.shape[:axis], count, *result.shape[axis + 1 :]), result.dtype)
        else:
            result = _reduced_parts(np.maximum, result, axis, count, least(x.dtype))
    return narrow(result, x.dtype)
