"""Windows over the spatial axes of arrays: padding, offsets, and the layout with the channels first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...ops.ground import GroundCtx
from ...ops.model import Ctx, Dim
from ...ops.windows import Pairs, Windows, count_windows, extent, same_pads, spread
from .elementwise import Array, Dtype, widened

Ints = tuple[int, ...]
# A rule over ints returns ints.
GROUND: Ctx[Any, Any] = GroundCtx()


def as_int(size: Dim) -> int:
    assert isinstance(size, int)
    return size


def channels_first(x: Array, layout: str, batched: bool = True) -> Array:
    return np.moveaxis(x, -1, 1 if batched else 0) if layout == "channels_last" else x


def channels_back(x: Array, layout: str, batched: bool = True) -> Array:
    return np.moveaxis(x, 1 if batched else 0, -1) if layout == "channels_last" else x


def wide(x: Array) -> Array:
    """The array in a dtype to add up in: floats of at least 32 bits, integers of at least 8."""
    x = np.asarray(x)
    if x.dtype.isbuiltin == 2 and "int" in x.dtype.name:
        return x.astype(np.uint8 if x.dtype.name.startswith("u") else np.int8)
    return widened(x)


def narrow(x: Array, dtype: Dtype) -> Array:
    return x if x.dtype == dtype else x.astype(dtype)


Borders = Sequence[tuple[int, int]]


def surrounded(x: Array, borders: Borders, value: Array) -> Array:
    """The array with borders of a value before and behind its last axes."""
    count = len(borders)
    sizes = x.shape[x.ndim - count :]
    inner = _within(borders, sizes)
    result: Array = np.empty((*x.shape[: x.ndim - count], *_with_borders(borders, sizes)), x.dtype)
    for i, (low, _) in enumerate(borders):
        # Along the axes before this one only the inside: their borders are written.
        for beyond in (slice(0, low), slice(low + sizes[i], None)):
            result[(..., *inner[:i], beyond, *(slice(None),) * (count - i - 1))] = value
    result[(..., *inner)] = x
    return result


def _with_borders(borders: Borders, sizes: Sequence[int]) -> list[int]:
    return [low + n + high for n, (low, high) in zip(sizes, borders, strict=True)]


def _within(borders: Borders, sizes: Sequence[int]) -> list[slice]:
    """The place of the inner array in an array with borders, along its last axes."""
    return [slice(low, low + n) for (low, _), n in zip(borders, sizes, strict=True)]


class Grid:
    """The windows over some axes of an array: kernel sizes, strides, dilations and padding as numbers."""

    def __init__(
        self,
        sizes: Sequence[int],
        kernel: Sequence[int],
        strides: Ints | None,
        pads: Pairs | None,
        auto_pad: str,
        dilations: Ints | None,
        ceil: bool = False,
        counts: Ints | None = None,
    ) -> None:
        count = len(sizes)
        self.sizes, self.kernel = tuple(sizes), tuple(kernel)
        self.strides: Ints = spread(strides, count, 1)
        self.dilations: Ints = spread(dilations, count, 1)
        self.extents: Ints = tuple(as_int(extent(k, d)) for k, d in zip(self.kernel, self.dilations, strict=True))
        self.pads: Pairs = spread(pads, count, (0, 0))
        self.same = auto_pad.startswith("same")
        if self.same:
            parts = zip(self.sizes, self.extents, self.strides, strict=True)
            self.pads = tuple(same_pads(n, reach, stride, auto_pad) for n, reach, stride in parts)
        self.ceil = ceil
        self.counts: Ints = tuple(map(self._count, range(count))) if counts is None else counts

    def _count(self, i: int) -> int:
        return as_int(count_windows(GROUND, self.sizes[i], self.windows(i), i, ()))

    def windows(self, i: int) -> Windows:
        """The windows along one axis, as the shape rules take them."""
        low, high = self.pads[i]
        return Windows(self.extents[i], self.strides[i], low, high, self.same, self.ceil)

    @cached_property
    def borders(self) -> list[tuple[int, int]]:
        """The padding of each axis, extended as far as the windows reach."""
        reaches = ((n - 1) * s + e for n, s, e in zip(self.counts, self.strides, self.extents, strict=True))
        parts = zip(self.pads, reaches, self.sizes, strict=True)
        return [(low, max(high, reach - size - low)) for (low, high), reach, size in parts]

    def reach(self) -> list[int]:
        """The sizes with their borders."""
        return _with_borders(self.borders, self.sizes)

    def inside(self) -> tuple[Any, ...]:
        """The place of the inner array in an array with borders."""
        return (..., *_within(self.borders, self.sizes))

    def padded(self, x: Array, value: Array) -> Array:
        """The array with its last axes padded, and lengthened as far as the windows reach."""
        return surrounded(x, self.borders, value) if any(map(any, self.borders)) else x

    def windows_of(self, padded: Array) -> Array:
        """[*lead, *kernel, *counts]: the elements that each place of the kernel meets, as a view."""
        lead = padded.ndim - len(self.kernel)
        steps = padded.strides[lead:]
        between = [d * step for d, step in zip(self.dilations, steps, strict=True)]
        onwards = [s * step for s, step in zip(self.strides, steps, strict=True)]
        shape, strides = (*self.kernel, *self.counts), (*between, *onwards)
        return as_strided(padded, (*padded.shape[:lead], *shape), (*padded.strides[:lead], *strides))

    def added(self, columns: Array) -> Array:
        """Add up [*lead, places, *counts] at the places of the kernel in [*lead, *sizes]."""
        count = len(self.sizes)
        total: Array = np.zeros((*columns.shape[: -1 - count], *self.reach()), columns.dtype)
        if columns.size:
            for i, where in enumerate(self.offsets()):
                total[where] += columns[(..., i, *(slice(None),) * count)]
        inner: Array = total[self.inside()]
        return inner

    def places(self, i: int, place: int) -> slice:
        """The elements of a padded axis that a place of the kernel meets."""
        start, stride = place * self.dilations[i], self.strides[i]
        return slice(start, start + (self.counts[i] - 1) * stride + 1, stride)

    def offsets(self) -> Iterator[tuple[Any, ...]]:
        """For each place of the kernel, the elements of a padded array that it meets."""
        for place in product(*map(range, self.kernel)):
            yield (..., *map(self.places, range(len(place)), place))


grid_of = lru_cache(maxsize=256)(Grid)
