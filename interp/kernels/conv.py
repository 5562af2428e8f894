"""NumPy kernels of convolution: matrix products over blocks of windows, or over all places of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ...ops.windows import Pairs, spread, transposed_size
from .constants import once
from .elementwise import Array, quiet
from .registry import kernel
from .windows import GROUND, Grid, as_int, channels_back, channels_first, narrow, wide

Ints = tuple[int, ...]


# How many elements the windows have that are in hand at once, so that they stay in the cache of a core; and how many of them
# a product takes at least.
_COLUMNS, _LEAST = 1 << 18, 256


@quiet
def conv(
    x: Array,
    weight: Array,
    bias: Array | None,
    strides: Ints | None,
    pads: Pairs | None,
    auto_pad: str,
    dilations: Ints | None,
    groups: int,
    layout: str,
) -> Array:
    """Products of the filters with the elements that windows hold, a block of windows at a time."""
    image, filters = channels_first(wide(x), layout), once(_filters, weight, layout)
    outputs, inputs, *sizes = filters.shape
    grid = Grid(image.shape[2:], sizes, strides, pads, auto_pad, dilations)
    batch, points, taps = image.shape[0], prod(grid.counts), inputs * prod(sizes)
    result = np.zeros((groups, outputs // groups, batch * points), image.dtype)
    if result.size and taps:
        matrices, windows = (
            filters.reshape(groups, outputs // groups, taps),
            _windows(grid.padded(image, 0), grid, groups),
        )
        for block, where in _blocks(batch, groups, grid, taps):
            columns = windows[block]
            columns = columns.reshape(len(columns), taps, prod(columns.shape[2 + len(sizes) :]))
            np.matmul(matrices[block[0]], columns, out=result[where])
    shaped = result.reshape(outputs, batch, *grid.counts).swapaxes(0, 1)
    return channels_back(narrow(_biased(shaped, bias), x.dtype), layout)


def _filters(weight: Array, layout: str) -> Array:
    filters = wide(weight)
    return np.ascontiguousarray(np.moveaxis(filters, (-1, -2), (0, 1))) if layout == "channels_last" else filters


def _windows(padded: Array, grid: Grid, groups: int) -> Array:
    """[groups, c, *k, n, *t]: the elements that each place of the kernel meets, as a view."""
    count = len(grid.kernel)
    batch, channels = padded.shape[:2]
    windows = np.lib.stride_tricks.sliding_window_view(padded, grid.extents, tuple(range(2, 2 + count)))
    windows = windows[(slice(None), slice(None), *(slice(None, None, s) for s in (*grid.strides, *grid.dilations)))]
    parts = windows.reshape(batch, groups, channels // groups, *windows.shape[2:])
    return parts.transpose(1, 2, *range(3 + count, 3 + 2 * count), 0, *range(3, 3 + count))


def _blocks(batch: int, groups: int, grid: Grid, taps: int) -> Iterator[tuple[Any, Any]]:
    """Where each block of windows is, and its products: several groups, several images, or a part of the first axis of one. The
    windows of a kernel of one place are a view, and no block of them is too large."""
    count, points, row = len(grid.kernel), prod(grid.counts), prod(grid.counts[1:])
    most = max(_COLUMNS // taps, _LEAST)
    rows = grid.counts[0] if points <= most or prod(grid.kernel) == 1 else max(most // row, 1)
    fits = max(most // points, 1)
    groups_each, images_each = (1, fits) if groups == 1 else (fits, 1)
    every = (slice(None),) * (1 + count)
    for group in range(0, groups, groups_each):
        for image in range(0, batch, images_each):
            for low in range(0, grid.counts[0], rows):
                high = min(low + rows, grid.counts[0])
                last = min(image + images_each, batch)
                block = (slice(group, group + groups_each), *every, slice(image, last), slice(low, high))
                begin, end = image * points + low * row, (last - 1) * points + high * row
                yield block, (block[0], slice(None), slice(begin, end))


def _biased(result: Array, bias: Array | None) -> Array:
    if bias is not None:
        result += wide(bias).reshape(-1, *(1,) * (result.ndim - 2))
    return result


@quiet
def conv_transpose(
    x: Array,
    weight: Array,
    bias: Array | None,
    strides: Ints | None,
    pads: Pairs | None,
    auto_pad: str,
    output_padding: Ints | None,
    output_shape: Ints | None,
    dilations: Ints | None,
    groups: int,
    layout: str,
) -> Array:
    """The products of every element with the kernel, added where the places of the kernel lie in the result."""
    image, filters = channels_first(wide(x), layout), once(_filters, weight, layout)
    batch, inputs, *sizes = image.shape
    outputs = filters.shape[1] * groups
    made = _transposed_sizes(sizes, filters.shape[2:], strides, pads, auto_pad, output_padding, output_shape, dilations)
    grid = Grid(made, filters.shape[2:], strides, pads, auto_pad, dilations, counts=tuple(sizes))
    taps = filters.shape[1] * prod(grid.kernel)
    columns = np.matmul(
        filters.reshape(groups, inputs // groups, taps).swapaxes(-1, -2),
        image.reshape(batch, groups, inputs // groups, prod(sizes)),
    ).reshape(batch, outputs, prod(grid.kernel), *sizes)
    result = grid.added(columns)
    return channels_back(narrow(_biased(result, bias), x.dtype), layout)


def _transposed_sizes(
    sizes: Ints,
    kernel_sizes: Ints,
    strides: Ints | None,
    pads: Pairs | None,
    auto_pad: str,
    output_padding: Ints | None,
    output_shape: Ints | None,
    dilations: Ints | None,
) -> Ints:
    """The spatial sizes of the result."""
    if output_shape is not None:
        return output_shape
    grid = Grid(sizes, kernel_sizes, strides, pads, auto_pad, dilations, counts=tuple(sizes))
    more = spread(output_padding, len(kernel_sizes), 0)
    return tuple(as_int(transposed_size(GROUND, n, grid.windows(i), more[i], i)) for i, n in enumerate(sizes))


for _suffix in ("", "1d", "2d", "3d"):
    kernel(f"conv{_suffix}")(conv)
    kernel(f"conv_transpose{_suffix}")(conv_transpose)
