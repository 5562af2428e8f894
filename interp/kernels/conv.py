"""NumPy kernels of convolution: matrix products over blocks of windows, or over all places of a kernel; channel by channel if
each has its own filter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...ops.windows import Pairs, spread, transposed_size
from .constants import once
from .elementwise import Array
from .quiet import quiet
from .registry import kernel
from .windows import GROUND, Grid, as_int, channels_back, channels_first, grid_of, narrow, wide

Ints = tuple[int, ...]


# The number of window elements to process at once, which stay in the cache of a core; the least number of windows in a
# product; and the number of elements of channel runs, which are shorter.
_COLUMNS, _LEAST, _RUNS = 1 << 18, 256, 1 << 17


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
    """Products of the filters with the elements of the windows."""
    image, filters = channels_first(wide(x), layout), once(_filters, weight, layout)
    grid = grid_of(image.shape[2:], filters.shape[2:], strides, pads, auto_pad, dilations)
    result = _biased(_products(image, filters, grid, groups), bias)
    return channels_back(narrow(result, x.dtype), layout)


def _products(image: Array, filters: Array, grid: Grid, groups: int) -> Array:
    """[n, outputs, *t], in its own memory."""
    points = prod(grid.counts)
    if prod(grid.kernel) == 1:
        return _pointwise(image, filters, grid, groups)
    if image.size and points and len(filters) == groups == image.shape[1]:
        if 2 * groups >= points:
            return _channels_inside(image, filters, grid)
        if set(grid.strides) == {1}:
            return _by_channel(image, filters, grid)
    return _by_blocks(image, filters, grid, groups)


def _pointwise(image: Array, filters: Array, grid: Grid, groups: int) -> Array:
    """For a kernel with one place: products with the image itself."""
    met, outputs = grid.windows_of(grid.padded(image, 0)), len(filters)
    points = met.reshape(len(image), groups, image.shape[1] // groups, prod(grid.counts))
    made = np.matmul(filters.reshape(groups, outputs // groups, points.shape[2]), points)
    return made.reshape(len(image), outputs, *grid.counts)


def _channels_inside(image: Array, filters: Array, grid: Grid) -> Array:
    """For many channels with their own filters and few points, an image at a time: sums over memory in which the channels are
    adjacent."""
    channels, count = len(filters), len(grid.kernel)
    padded = np.moveaxis(np.zeros((*grid.reach(), channels), image.dtype), -1, 0)
    inner, windows, weights = padded[grid.inside()], grid.windows_of(padded), once(_by_taps, filters)
    taps, points = list(range(1, 1 + count)), list(range(1 + count, 1 + 2 * count))
    result: Array = np.empty((len(image), channels, *grid.counts), image.dtype)
    for x, made in zip(image, result, strict=True):
        inner[...] = x
        made[...] = np.moveaxis(np.einsum(windows, [0, *taps, *points], weights, [*taps, 0], [*points, 0]), -1, 0)
    return result


def _by_taps(filters: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(filters[:, 0], 0, -1))


def _by_channel(image: Array, filters: Array, grid: Grid) -> Array:
    """For channels with their own filters over many points, some channels at a time. The elements that a place of the kernel
    meets are one run of a padded channel, with those between two rows of the result."""
    taps, lines = prod(grid.kernel), (grid.counts[0], *grid.reach()[1:])
    each = max(_RUNS // (taps * prod(lines)), 1)
    padded: Array = np.zeros((min(each, len(filters)), *grid.reach()), image.dtype)
    inner, runs = padded[grid.inside()], _runs(padded, grid)
    result: Array = np.empty((*image.shape[:2], *grid.counts), image.dtype)
    for n, low in product(range(len(image)), range(0, len(filters), each)):
        some = slice(low, min(low + each, len(filters)))
        count = some.stop - low
        inner[:count] = image[n, some]
        columns = runs[:count].reshape(count, taps, -1)
        made: Array = np.empty((count, 1, prod(lines)), image.dtype)
        np.matmul(filters[some].reshape(count, 1, taps), columns, out=made[..., : columns.shape[2]])
        result[n, some] = made.reshape(count, *lines)[(..., *map(slice, grid.counts))]
    return result


def _runs(padded: Array, grid: Grid) -> Array:
    """[channels, *kernel, elements]: from the first element that a place of the kernel meets to the last one, as a view."""
    steps = padded.strides[1:]
    run = sum((n - 1) * step for n, step in zip(grid.counts, steps, strict=True)) // padded.itemsize + 1
    between = [d * step for d, step in zip(grid.dilations, steps, strict=True)]
    return as_strided(padded, (len(padded), *grid.kernel, run), (padded.strides[0], *between, padded.itemsize))


def _by_blocks(image: Array, filters: Array, grid: Grid, groups: int) -> Array:
    """Multiply a block of windows at a time."""
    outputs, inputs, *sizes = filters.shape
    batch, points, taps = image.shape[0], prod(grid.counts), inputs * prod(sizes)
    result = np.zeros((groups, outputs // groups, batch * points), image.dtype)
    if result.size and taps:
        matrices = filters.reshape(groups, outputs // groups, taps)
        windows = _windows(grid.padded(image, 0), grid, groups)
        for block, where in _blocks(batch, groups, grid, taps):
            columns = windows[block]
            columns = columns.reshape(len(columns), taps, prod(columns.shape[2 + len(sizes) :]))
            np.matmul(matrices[block[0]], columns, out=result[where])
    return result.reshape(outputs, batch, *grid.counts).swapaxes(0, 1)


def _filters(weight: Array, layout: str) -> Array:
    filters = wide(weight)
    return np.ascontiguousarray(np.moveaxis(filters, (-1, -2), (0, 1))) if layout == "channels_last" else filters


def _windows(padded: Array, grid: Grid, groups: int) -> Array:
    """[groups, c, *k, n, *t]: the elements that each place of the kernel meets, as a view."""
    count = len(grid.kernel)
    batch, channels = padded.shape[:2]
    parts = grid.windows_of(padded).reshape(batch, groups, channels // groups, *grid.kernel, *grid.counts)
    return parts.transpose(1, 2, *range(3, 3 + count), 0, *range(3 + count, 3 + 2 * count))


def _blocks(batch: int, groups: int, grid: Grid, taps: int) -> Iterator[tuple[Any, Any]]:
    """The place of each block of windows, and of its products: several groups, several images, or a part of the first axis of
    one."""
    count, points, row = len(grid.kernel), prod(grid.counts), prod(grid.counts[1:])
    most = max(_COLUMNS // taps, _LEAST)
    rows = grid.counts[0] if points <= most else max(most // row, 1)
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
    """Multiply every element with the kernel, and add the products at the kernel's places in the result."""
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
    return channels_back(narrow(_biased(grid.added(columns), bias), x.dtype), layout)


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
