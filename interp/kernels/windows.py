"""Windows over the spatial axes of arrays: padding, offsets, and the layout with the channels in front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from ...ops.ground import GroundCtx
from ...ops.model import Ctx, Dim
from ...ops.windows import Pairs, Windows, count_windows, extent, same_pads, spread
from .elementwise import Array, Dtype, widened

Ints = tuple[int, ...]
# A rule that is given ints gives ints.
GROUND: Ctx[Any, Any] = GroundCtx()


def as_int(size: Dim) -> int:
    assert isinstance(size, int)
    return size


def channels_first(x: Array, layout: str, batched: bool = True) -> Array:
    return np.moveaxis(x, -1, 1 if batched else 0) if layout == "channels_last" else x


def channels_back(x: Array, layout: str, batched: bool = True) -> Array:
    return np.moveaxis(x, 1 if batched else 0, -1) if layout == "channels_last" else x


def wide(x: Array) -> Array:
    """The array in a dtype to add up in: at least 32 bits of a float, 8 of an integer."""
    x = np.asarray(x)
    if x.dtype.isbuiltin == 2 and "int" in x.dtype.name:
        return x.astype(np.uint8 if x.dtype.name.startswith("u") else np.int8)
    return widened(x)


def narrow(x: Array, dtype: Dtype) -> Array:
    return x if x.dtype == dtype else x.astype(dtype)


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
        """The windows along one axis, as the shape rules have them."""
        low, high = self.pads[i]
        return Windows(self.extents[i], self.strides[i], low, high, self.same, self.ceil)

    def padded(self, x: Array, value: Array) -> Array:
        """The array with its last axes padded, and lengthened as far as the windows reach."""
        borders = []
        for i, (low, high) in enumerate(self.pads):
            reach = (self.counts[i] - 1) * self.strides[i] + self.extents[i]
            borders.append((low, max(high, reach - self.sizes[i] - low)))
        if not any(map(any, borders)):
            return x
        before = [(0, 0)] * (x.ndim - len(borders))
        return np.pad(x, [*before, *borders], constant_values=value)

    def offsets(self) -> Iterator[tuple[Any, ...]]:
        """For each place in the kernel, where in a padded array the elements are that it meets."""
        for place in product(*map(range, self.kernel)):
            starts = [p * d for p, d in zip(place, self.dilations, strict=True)]
            parts = zip(starts, self.counts, self.strides, strict=True)
            yield (..., *(slice(a, a + (n - 1) * s + 1, s) for a, n, s in parts))
