"""NumPy kernels of blocks at positions and of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...lang.dtypes import int_range
from ..dtypes import dtype_of
from . import shape
from .elementwise import Array
from .index import combine, positions_of
from .quiet import quiet
from .registry import BadValue, kernel, rows
from .windows import narrow, wide

Ints = tuple[int, ...]


def _ids(ids: Array, count: int) -> Array:
    found: Array = np.asarray(positions_of(ids)).astype(np.int64, copy=False)
    bad = found[(found < 0) | (found >= count)]
    if bad.size:
        raise BadValue(f"`ids` holds {bad[0]}, but there are {count} segments")
    return found


# So many rows, or as many as there are segments, are added up one after the other; then such sums are added in float64.
_ROWS = 1 << 13


def _sums(x: Array, ids: Array, count: int) -> Any:
    source, ids = wide(x), _ids(ids, count)
    rows = max(_ROWS, count)
    if source.dtype.kind != "f" or len(source) <= rows:
        return _partial(source, ids, count)
    parts = (_partial(source[at : at + rows], ids[at : at + rows], count) for at in range(0, len(source), rows))
    return sum(parts, np.zeros((count, *x.shape[1:]), np.float64)).astype(source.dtype, copy=False)


def _partial(source: Array, ids: Array, count: int) -> Array:
    sums = np.zeros((count, *source.shape[1:]), source.dtype)
    np.add.at(sums, ids, source)
    return sums


@kernel("segment_mean")
@quiet
def segment_mean(x: Array, ids: Array, count: int) -> Array:
    total = _sums(x, ids, count)
    members = np.bincount(_ids(ids, count), minlength=count).reshape(-1, *(1,) * (x.ndim - 1))
    return narrow(total / np.maximum(members, 1).astype(total.dtype), x.dtype)


def _extremes(ufunc: np.ufunc, x: Array, ids: Array, count: int, greatest: bool) -> Array:
    kind = dtype_of(x.dtype)
    empty = int_range(kind)[greatest] if kind.kind in ("int", "uint") else np.inf if greatest else -np.inf
    source = wide(x)
    result = np.full((count, *x.shape[1:]), empty, source.dtype)
    ufunc.at(result, _ids(ids, count), source)
    return narrow(result, x.dtype)


@kernel("repeat_each")
def repeat_each(x: Array, counts: Array, axis: int, total: int | None) -> Array:
    times = np.asarray(positions_of(counts)).astype(np.int64, copy=False)
    bad = times[times < 0]
    if bad.size:
        raise BadValue(f"`counts` holds {bad[0]}")
    if total not in (None, shape.total(times)):
        raise BadValue(f"the sum of `counts` is {shape.total(times)}, but `total` is {total}")
    return shape.repeated(x, times, axis)


def _places(x: Array, starts: Array, sizes: Ints, collapse: Ints | None) -> tuple[Array, ...]:
    """The places of the blocks' elements: for each axis of x an array with the axes of the starts, then those of a block."""
    positions = np.asarray(positions_of(starts)).astype(np.int64, copy=False)
    rest = [axis for axis in range(x.ndim) if axis not in (collapse or ())]
    where: list[Array] = []
    for axis, size in enumerate(sizes):
        begin = np.zeros(positions.shape[:-1], np.int64)
        if axis < positions.shape[-1]:
            begin = positions[..., axis]
            bad = begin[(begin < 0) | (begin > x.shape[axis] - size)]
            if bad.size:
                raise BadValue(
                    f"`starts` holds {bad[0]}, but axis {axis} of `x` has size {x.shape[axis]} for blocks of {size}"
                )
        own = np.arange(size).reshape([size if other == axis else 1 for other in rest] if axis in rest else [])
        where.append(begin.reshape(*begin.shape, *(1,) * len(rest)) + own)
    return tuple(where)


@kernel("gather_slices")
def gather_slices(x: Array, starts: Array, sizes: Ints, collapse: Ints | None) -> Array:
    where = _places(x, starts, sizes, collapse)
    return np.asarray(x[where], x.dtype) if where else np.broadcast_to(x, starts.shape[:-1])


@kernel("scatter_slices")
@quiet
def scatter_slices(x: Array, starts: Array, updates: Array, collapse: Ints | None, reduction: str) -> Array:
    result = x.copy()
    lead, gone = starts.ndim - 1, collapse or ()
    given = iter(updates.shape[lead:])
    sizes = tuple(1 if axis in gone else next(given) for axis in range(x.ndim))
    where = _places(x, starts, sizes, collapse) or (np.zeros(updates.shape, np.int64),)
    combine(result if result.ndim else result.reshape(1), where, updates, reduction)
    return result


rows(
    {
        "segment_sum": quiet(lambda x, ids, count: narrow(_sums(x, ids, count), x.dtype)),
        "segment_max": quiet(lambda x, ids, count: _extremes(np.maximum, x, ids, count, greatest=False)),
        "segment_min": quiet(lambda x, ids, count: _extremes(np.minimum, x, ids, count, greatest=True)),
    }
)
