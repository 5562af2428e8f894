"""NumPy kernels that choose elements by position, value or order; errors about positions out of range name the argument."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .registry import DIRECT, Array, BadValue, kernel, rows

DIRECT["sort"] = "sort"


@kernel("take")
def take(x: Array, indices: Array, axis: int | None) -> Array:
    axis = 0 if axis is None else axis
    positions = positions_of(indices)
    if not x.size:  # NumPy checks positions only if there is something to take
        positions = checked(np.asarray(positions), "indices", x.shape[axis], axis)
    try:
        return np.asarray(np.take(x, positions, axis))
    except IndexError as error:
        raise _out_of_range(positions, "indices", x.shape[axis], axis) from error


def positions_of(indices: Any) -> Any:
    """Indices in a dtype that NumPy indexes with: it takes neither uint64 nor the small integers of ml_dtypes."""
    dtype = getattr(indices, "dtype", None)
    if dtype is None or dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize < 8):
        return indices
    if dtype.kind == "u":
        # A number beyond int64 is out of every range, as is the largest int64.
        return np.minimum(indices, np.uint64(np.iinfo(np.int64).max)).astype(np.int64)
    return indices.astype(np.int64)


def _out_of_range(positions: Array, name: str, size: int, axis: int) -> BadValue:
    """The error for positions of which at least one is out of range."""
    values = np.ravel(np.asarray(positions))
    bad = values[(values < -size) | (values >= size)]
    shown = bad[0] if bad.size else "a position"
    return BadValue(f"`{name}` holds {shown}, but axis {axis} of `x` has size {size}")


def checked(positions: Array, name: str, size: int, axis: int) -> Array:
    """Check that all positions are in range, and count them from the front."""
    if positions.size and (positions.min() < -size or positions.max() >= size):
        raise _out_of_range(positions, name, size, axis)
    return np.where(positions < 0, positions + size, positions)


@kernel("take_along_axis")
def take_along_axis(x: Array, indices: Array, axis: int) -> Array:
    axis %= x.ndim
    positions = checked(positions_of(indices).astype(np.int64, copy=False), "indices", x.shape[axis], axis)
    others = [(1, *s[:axis], *s[axis + 1 :]) for s in (x.shape, positions.shape)]
    common = np.broadcast_shapes(*others)[1:]
    source = np.broadcast_to(x, (*common[:axis], x.shape[axis], *common[axis:]))
    positions = np.broadcast_to(positions, (*common[:axis], positions.shape[axis], *common[axis:]))
    return np.take_along_axis(source, positions, axis)


@kernel("gather_elements")
def gather_elements(x: Array, indices: Array, axis: int) -> Array:
    result: Array = x[_place_of_elements(x, indices, axis)]
    return result


def _place_of_elements(x: Array, indices: Array, axis: int) -> tuple[Any, ...]:
    """The positions along one axis, one array for each axis of x; the other axes index themselves."""
    axis %= x.ndim
    positions = checked(positions_of(indices), "indices", x.shape[axis], axis)
    where: list[Array] = list(np.ogrid[tuple(slice(n) for n in positions.shape)])
    where[axis] = positions
    return tuple(where)


@kernel("gather_nd")
def gather_nd(x: Array, indices: Array, batch_dims: int) -> Array:
    # NumPy gives a str for a single string.
    return np.asarray(x[_place_of_parts(x, indices, batch_dims)], x.dtype)


def _place_of_parts(x: Array, indices: Array, batch_dims: int) -> tuple[Any, ...]:
    """The positions in the last axis of `indices`, one array for each axis of x that they index; batch axes index
    themselves."""
    positions = positions_of(indices)
    rank = positions.ndim - 1
    where: list[Array] = []
    for axis in range(batch_dims):
        where.append(np.arange(x.shape[axis]).reshape(*(-1 if i == axis else 1 for i in range(rank))))
    for n in range(positions.shape[-1]):
        axis = batch_dims + n
        where.append(checked(positions[..., n], "indices", x.shape[axis], axis))
    return tuple(where)


@kernel("scatter_nd")
def scatter_nd(x: Array, indices: Array, updates: Array, reduction: str) -> Array:
    result = x.copy()
    combine(result, _place_of_parts(x, indices, 0), updates, reduction)
    return result


def combine(result: Array, where: tuple[Any, ...], updates: Array, reduction: str) -> None:
    if reduction == "none":
        result[where] = updates
    else:
        how = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
        how.at(result, where, updates)


@kernel("scatter_elements")
def scatter_elements(x: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    result = x.copy()
    combine(result, _place_of_elements(x, indices, axis), updates, reduction)
    return result


@kernel("put")
def put(x: Array, indices: Array, updates: Array, axis: int) -> Array:
    axis %= x.ndim
    result = x.copy()
    positions = checked(positions_of(indices), "indices", x.shape[axis], axis)
    result[(slice(None),) * axis + (positions,)] = updates
    return result


@kernel("update_slice")
def update_slice(x: Array, update: Array, starts: tuple[int, ...]) -> Array:
    result = np.array(x)
    result[tuple(slice(a, a + n) for a, n in zip(starts, np.shape(update), strict=True))] = update
    return result


@kernel("embedding")
def embedding(ids: Array, table: Array) -> Array:
    positions = np.asarray(positions_of(ids))
    size = table.shape[0]
    if positions.size and (positions.min() < 0 or positions.max() >= size):
        values = positions[(positions < 0) | (positions >= size)]
        raise BadValue(f"`ids` holds {values.flat[0]}, but `table` has the rows 0 to {size - 1}")
    return np.take(table, positions, 0)


# By value


@kernel("filter")
def filter_(x: Array, mask: Array) -> Array:
    result: Array = x[mask]
    return result


@kernel("searchsorted")
def searchsorted(x: Array, values: Array, side: str) -> Array:
    found = np.searchsorted(x, values, side="right" if side == "right" else "left")
    return np.asarray(found, np.int64)


# By order


@kernel("sort")
def sort(x: Array, axis: int, descending: bool) -> Array:
    ordered = np.sort(x, axis)
    return np.flip(ordered, axis) if descending else ordered


@kernel("argsort")
def argsort(x: Array, axis: int, descending: bool) -> Array:
    if not descending:
        return np.argsort(x, axis, kind="stable").astype(np.int64, copy=False)
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    order: Array = x.shape[axis] - 1 - np.flip(backwards, axis)
    return order.astype(np.int64, copy=False)


# Up to so many elements are found faster one after the other than by sorting the axis.
_FEW = 32


@kernel("topk")
def topk(x: Array, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    first = _one_by_one(x, k, axis, largest) if 0 < k <= _FEW and x.dtype.char in "fdbhilqBHILQ" else None
    if first is None:
        first = np.take(argsort(x, axis, largest), np.arange(k), axis)
    return np.take_along_axis(x, first, axis), first


def _one_by_one(x: Array, k: int, axis: int, largest: bool) -> Array | None:
    """The positions of the first k elements along an axis, equal ones in order; None if the value that replaces found
    elements may be among them, or NaN would have to come last."""
    bounds = (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    last = bounds[0 if largest else 1]
    left = np.array(np.moveaxis(x, axis, -1), order="C")
    rows, every = left.reshape(-1, left.shape[-1]), np.arange(left.size // left.shape[-1])
    found = np.empty((k, len(rows)), np.int64)
    for at in found:
        (np.argmax if largest else np.argmin)(rows, 1, out=at)
        chosen = rows[every, at]
        if np.any(chosen == last) or not (largest or np.all(chosen == chosen)):
            return None
        rows[every, at] = last
    return np.moveaxis(found.T.reshape(*left.shape[:-1], k), -1, axis)


@kernel("truncate")
def truncate(x: Array, size: Array, axis: int) -> Array:
    # The arithmetic of a Python number neither overflows nor rounds.
    asked = np.asarray(size).item()
    if not math.isfinite(asked):
        raise BadValue(f"`size` is {asked}, which is no finite number")
    whole = math.floor(asked)
    count = min(max(whole + (asked - whole >= 0.5), 0), x.shape[axis])
    result: Array = x[(slice(None),) * (axis % x.ndim) + (slice(count),)]
    return result


rows(
    {
        "nonzero": lambda x: tuple(positions.astype(np.int64, copy=False) for positions in np.nonzero(x)),
        "unique_values": lambda x: np.unique(x, equal_nan=False),
    }
)
