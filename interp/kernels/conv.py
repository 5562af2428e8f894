"""NumPy kernels of convolution: one matrix product over all windows, or over all places of a kernel."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ops.windows import Pairs, spread, transposed_size
from .elementwise import Array
from .registry import kernel
from .windows import GROUND, Grid, as_int, channels_back, channels_first, narrow, wide

Ints = tuple[int, ...]


@np.errstate(all="ignore")
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
    image = channels_first(wide(x), layout)
    filters = wide(weight)
    if layout == "channels_last":
        filters = np.moveaxis(filters, (-1, -2), (0, 1))
    outputs, inputs, *sizes = filters.shape
    grid = Grid(image.shape[2:], sizes, strides, pads, auto_pad, dilations)
    batch, points, taps = image.shape[0], prod(grid.counts), inputs * prod(sizes)
    if points == 0:
        columns = np.zeros((batch, groups, taps, 0), image.dtype)
    else:
        columns = _columns(grid.padded(image, 0), grid).reshape(batch, groups, taps, points)
    result = np.matmul(filters.reshape(groups, outputs // groups, taps), columns)
    result = result.reshape(batch, outputs, *grid.counts)
    return channels_back(narrow(_biased(result, bias), x.dtype), layout)


def _columns(padded: Array, grid: Grid) -> Array:
    """[n, c, *k, *t]: the elements that each place of the kernel meets."""
    count = len(grid.kernel)
    axes = tuple(range(2, 2 + count))
    windows = np.lib.stride_tricks.sliding_window_view(padded, grid.extents, axes)
    chosen = (slice(None, None, s) for s in (*grid.strides, *grid.dilations))
    windows = windows[(slice(None), slice(None), *chosen)]
    return windows.transpose(0, 1, *range(2 + count, 2 + 2 * count), *axes)


def _biased(result: Array, bias: Array | None) -> Array:
    if bias is not None:
        result += wide(bias).reshape(-1, *(1,) * (result.ndim - 2))
    return result


@np.errstate(all="ignore")
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
    image = channels_first(wide(x), layout)
    filters = wide(weight)
    if layout == "channels_last":
        filters = np.moveaxis(filters, (-1, -2), (0, 1))
    batch, inputs, *sizes = image.shape
    outputs = filters.shape[1] * groups
    made = _transposed_sizes(sizes, filters.shape[2:], strides, pads, auto_pad, output_padding, output_shape, dilations)
    grid = Grid(made, filters.shape[2:], strides, pads, auto_pad, dilations, counts=tuple(sizes))
    taps = filters.shape[1] * prod(grid.kernel)
    columns = np.matmul(
        filters.reshape(groups, inputs // groups, taps).swapaxes(-1, -2),
        image.reshape(batch, groups, inputs // groups, prod(sizes)),
    ).reshape(batch, outputs, prod(grid.kernel), *sizes)
    result = np.zeros((batch, outputs, *made), columns.dtype)
    if prod(sizes):
        padded = grid.padded(result, 0)
        padded = padded if padded is not result else result.copy()
        for i, where in enumerate(grid.offsets()):
            padded[where] += columns[:, :, i]
        inner = (slice(low, low + n) for (low, _), n in zip(grid.pads, made, strict=True))
        result = padded[(..., *inner)]
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
