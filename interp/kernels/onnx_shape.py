"""Kernels of ONNX's operators that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.slices import of_model
from .registry import Array, BadValue, kernel, lookup, rows


def integers(x: Array) -> tuple[int, ...]:
    return tuple(map(int, x.ravel()))


@kernel("onnx.reshape")
def reshape(x: Array, shape: Array, allowzero: bool, computed: object) -> Array:
    wanted = [x.shape[axis] if size == 0 and not allowzero else size for axis, size in enumerate(integers(shape))]
    return np.reshape(x, wanted)


@kernel("onnx.shape")
def shape(x: Array, start: int, end: int | None) -> Array:
    return np.array(x.shape[start:end], np.int64)


@kernel("onnx.flatten")
def flatten(x: Array, axis: int) -> Array:
    at = axis + x.ndim if axis < 0 else axis
    return np.reshape(x, (int(np.prod(x.shape[:at], dtype=np.int64)), int(np.prod(x.shape[at:], dtype=np.int64))))


@kernel("onnx.slice")
def slice_(x: Array, starts: Array, ends: Array, axes: Array | None, steps: Array | None) -> Array:
    places = range(len(starts)) if axes is None else integers(axes)
    by = (1,) * len(starts) if steps is None else integers(steps)
    found = [slice(None)] * x.ndim
    first, last = (map(of_model, integers(bounds)) for bounds in (starts, ends))
    for axis, start, end, step in zip(places, first, last, by, strict=True):
        found[axis] = slice(start, None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(found)]


@kernel("onnx.pad")
def pad(x: Array, pads: Array, value: Array | None, axes: Array | None, mode: str) -> Array:
    numbers, half = integers(pads), len(pads) // 2
    pairs = tuple(zip(numbers[:half], numbers[half:], strict=True))
    along = range(half) if axes is None else [axis % x.ndim for axis in integers(axes)]
    sizes, kept = list(x.shape), [slice(None)] * x.ndim
    for axis, (low, high) in zip(along, pairs, strict=True):
        kept[axis] = slice(max(-low, 0), max(sizes[axis] + min(high, 0), 0))
        sizes[axis] += low + high
    if min(numbers, default=0) >= 0 or mode != "constant":
        added = tuple((max(low, 0), max(high, 0)) for low, high in pairs)
        return lookup("pad")(x[tuple(kept)], added, mode, value, along)  # type: ignore[no-any-return]
    made = np.full(sizes, x.dtype.type(0) if value is None else value, x.dtype)
    into = [slice(None)] * x.ndim
    for axis, (low, high) in zip(along, pairs, strict=True):
        into[axis] = slice(max(low, 0), max(sizes[axis] - max(high, 0), 0))
    made[tuple(into)] = x[tuple(kept)]
    return made


@kernel("onnx.range")
def range_(start: Array, limit: Array, delta: Array) -> Array:
    if not delta:
        raise BadValue("delta is 0")
    start, limit, delta = (x.reshape(()) for x in (start, limit, delta))  # one element each, of any rank
    if start.dtype.kind in "iu":  # the difference of two integers may exceed their dtype
        count = max(0, -((int(start) - int(limit)) // int(delta)))
    else:
        count = max(0, int(np.ceil((limit - start) / delta)))
    numbers: Array = start + np.arange(count).astype(start.dtype) * delta
    return numbers.astype(start.dtype)


@kernel("onnx.one_hot")
def one_hot(indices: Array, depth: Array, values: Array, axis: int) -> Array:
    size = int(depth.item())
    places = np.expand_dims(indices.astype(np.int64), axis)
    at = axis + indices.ndim + 1 if axis < 0 else axis
    wanted = np.arange(size).reshape([-1 if i == at else 1 for i in range(indices.ndim + 1)])
    hit = (np.where(places < 0, places + size, places)) == wanted
    made: Array = np.where(hit, values[1], values[0])
    return made


@kernel("onnx.nonzero")
def nonzero(x: Array) -> Array:
    found = np.nonzero(np.atleast_1d(x))
    return np.array(found[: x.ndim], np.int64).reshape(x.ndim, len(found[0]))


@kernel("onnx.eye_like")
def eye_like(x: Array, k: int, dtype: np.dtype[Any] | None) -> Array:
    rows, columns = x.shape
    made: Array = np.eye(rows, columns, k, dtype=x.dtype if dtype is None else dtype)
    return made


rows(
    {
        "onnx.expand": lambda x, shape: np.broadcast_to(x, np.broadcast_shapes(x.shape, integers(shape))),
        "onnx.unsqueeze": lambda x, axes: np.expand_dims(x, integers(axes)),
        "onnx.squeeze": lambda x, axes: np.squeeze(x, integers(axes)),
        "onnx.split": lambda x, sizes, axis, count: tuple(np.split(x, np.cumsum(sizes)[:-1], axis)),
        "onnx.compress": lambda x, condition, axis: np.compress(
            condition[: x.size if axis is None else x.shape[axis]], x, axis
        ),
    }
)
