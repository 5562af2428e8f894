"""Kernels that make new tensors, change dtypes, and cross between sizes and tensors."""

from __future__ import annotations

import numpy as np

from ...ops.casts import beyond
from .elementwise import Array, Dtype
from .quiet import quiet
from .registry import BadValue, clamped, kernel, rows

Shape = tuple[int, ...]


@quiet
def _to(x: Array, dtype: Dtype) -> Array:
    """Cast the array as NumPy does; a float that an integer dtype cannot hold becomes an arbitrary number."""
    x = np.asarray(x)
    if dtype is None or x.dtype == dtype:
        return x
    if x.dtype.kind == "T":
        x = _spelled(x, dtype)
    elif x.dtype.isbuiltin == 2 and np.dtype(dtype).isbuiltin != 1:
        # NumPy does not cast between two dtypes that are not its own.
        x = x.astype(np.int64 if "int" in x.dtype.name else np.float32)
    return x.astype(dtype, copy=False)


def _spelled(x: Array, dtype: Dtype) -> Array:
    """The numbers that strings spell; as bools, whether they are nonempty."""
    if np.dtype(dtype) == np.bool_:
        return x != ""
    try:
        return x.astype(
            np.complex128 if np.dtype(dtype).kind == "c" else np.int64 if "int" in str(dtype) else np.float64
        )
    except ValueError as problem:
        raise BadValue("`x` holds a string that spells no number of that dtype") from problem


@kernel("full")
def full(shape: Shape, value: Array, dtype: Dtype) -> Array:
    value = _to(value, dtype)
    return np.full(shape, value, value.dtype)


@kernel("arange")
def arange(start: int, stop: int | None, step: int, dtype: Dtype) -> Array:
    if step == 0:
        raise BadValue("`step` is 0")
    first, last = (0, start) if stop is None else (start, stop)
    numbers = range(first, last, step)
    if (asked := beyond(numbers, str(dtype))) is not None:
        raise BadValue(f"it needs {asked}")
    if not numbers:
        return _to(np.zeros(0, np.int64), dtype)
    held = np.dtype("uint64" if max(numbers[0], numbers[-1]) >= 2**63 else "int64")
    return _to(np.arange(first, last, step, dtype=held), dtype)


@kernel("one_hot")
def one_hot(indices: Array, depth: int, dtype: Dtype) -> Array:
    places = np.asarray(indices)
    if places.dtype.kind != "u":
        places = places.astype(np.int64, copy=False)
        places = np.where(places < 0, places + depth, places)
    return (places[..., None] == np.arange(depth)).astype(np.float32 if dtype is None else dtype)


@kernel("cast")
def cast(x: Array, dtype: Dtype) -> Array:
    return _to(x, dtype)


rows(
    {
        "zeros": lambda shape, dtype: np.zeros(shape, np.float32 if dtype is None else dtype),
        "ones": lambda shape, dtype: np.ones(shape, np.float32 if dtype is None else dtype),
        "zeros_like": lambda x, dtype: np.zeros(np.shape(x), np.asarray(x).dtype if dtype is None else dtype),
        "ones_like": lambda x, dtype: np.ones(np.shape(x), np.asarray(x).dtype if dtype is None else dtype),
        "full_like": lambda x, value, dtype: full(np.shape(x), value, np.asarray(x).dtype if dtype is None else dtype),
        "eye": lambda n, m, k, dtype: np.eye(n, m, clamped(k), dtype=np.float32 if dtype is None else dtype),
        "meshgrid": lambda xs, indexing: tuple(
            np.meshgrid(*xs, indexing="ij" if indexing == "ij" else "xy", copy=False)
        ),
        "shape": lambda x: np.array(np.shape(x), np.int64),
        "size": lambda x: np.array(np.size(x), np.int64),
        "size_to_tensor": lambda n, dtype: _to(np.array(n, np.int64), dtype),
        "item": lambda t: int(t),
        "linspace": quiet(
            lambda start, stop, num, endpoint, dtype: np.linspace(start, stop, num, endpoint=endpoint).astype(
                np.float32 if dtype is None else dtype
            )
        ),
    }
)
