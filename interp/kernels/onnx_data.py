"""Kernels of ONNX's operators whose results depend on the data or on chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from .quiet import quiet
from .registry import Array, kernel, rows

Ints = tuple[int, ...]


@kernel("onnx.unique")
def unique(x: Array, axis: int | None, sorted_: bool) -> tuple[Array, ...]:
    source = x.reshape(-1) if axis is None else x
    along = 0 if axis is None else axis
    made, first, which, counts = _distinct(source, axis)
    if not sorted_:
        order = np.argsort(first, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        made, first, which, counts = np.take(made, order, along), first[order], places[which], counts[order]
    return made, *(a.astype(np.int64, copy=False) for a in (first, which, counts))


def _distinct(x: Array, axis: int | None) -> tuple[Array, ...]:
    """The distinct elements, or distinct parts along an axis, in order: with the first place of each, the number of the
    distinct one at each place, and the counts. NumPy does not order strings along an axis; the order of their ranks is the
    same."""
    if axis is None or x.dtype.kind != "T":
        made, first, which, counts = np.unique(x, True, True, True, axis=axis)
        return made, first, which.reshape(-1), counts
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    _, first, which, counts = np.unique(ranks, True, True, True, axis=axis)
    return np.take(x, first, axis), first, which.reshape(-1), counts


@kernel("onnx.tf_idf")
def tf_idf(
    x: Array,
    pool: Array,
    starts: Ints,
    columns: Ints,
    weights: Array | None,
    shortest: int,
    longest: int,
    skips: int,
    mode: str,
) -> Array:
    grams = _grams(pool.tolist(), starts, columns, shortest, longest)
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    counts = np.zeros((len(rows), max(columns, default=-1) + 1), np.float32)
    for row, found in zip(rows.tolist(), counts, strict=True):
        for size in range(max(shortest, 1), min(longest, len(row), len(starts)) + 1):
            # A single element has no gaps to skip.
            for step in range(1, min(skips + 2, len(row)) if size > 1 else 2):
                for begin in range(len(row) - step * (size - 1)):
                    column = grams.get(tuple(row[begin : begin + step * (size - 1) + 1 : step]))
                    if column is not None:
                        found[column] += 1
    scales = np.ones(len(columns), np.float32) if weights is None else weights
    own = np.zeros(counts.shape[1], np.float32)
    own[list(columns)] = scales
    made = counts if mode == "TF" else (counts > 0) * own if mode == "IDF" else counts * own
    return made.astype(np.float32).reshape(*x.shape[:-1], counts.shape[1])


def _grams(pool: list[Any], starts: Ints, columns: Ints, shortest: int, longest: int) -> dict[tuple[Any, ...], int]:
    """The column of each sequence; the pool has those of one element first, then those of two, and so on."""
    found: dict[tuple[Any, ...], int] = {}
    number = 0
    for size, (start, end) in enumerate(zip(starts, (*starts[1:], len(pool)), strict=True), start=1):
        for at in range(start, end - size + 1, size):
            if shortest <= size <= longest:
                found.setdefault(tuple(pool[at : at + size]), columns[number])
            number += 1
    return found


def _state(seed: float | None) -> np.random.RandomState:
    return np.random.RandomState(None if seed is None else int(seed))


def _drawn(shape: Ints, how: str, a: float, b: float, dtype: Any, seed: float | None) -> Array:
    state = _state(seed)
    if how == "normal":
        return (np.asarray(state.randn(*shape)).astype(dtype) * b + a).astype(dtype)
    return (np.asarray(state.rand(*shape)).astype(dtype) * (b - a) + a).astype(dtype)


@kernel("onnx.multinomial")
@quiet
def multinomial(x: Array, samples: int, dtype: Any, seed: float | None) -> Array:
    shares = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True)) if x.size else x.astype(np.float64)
    bounds = np.cumsum(shares, axis=1)
    at = _state(seed).uniform(size=(len(x), samples)) * bounds[:, -1:]
    found = (at[..., None] >= bounds[:, None, :]).sum(axis=-1)
    return np.asarray(np.minimum(found, x.shape[1] - 1), np.int32 if dtype is None else dtype)


rows(
    {
        "onnx.bernoulli": lambda x, dtype, seed: np.asarray(_state(seed).binomial(1, x.astype(np.float64))).astype(
            x.dtype if dtype is None else dtype
        ),
        "onnx.random_like": lambda x, how, a, b, dtype, seed: _drawn(
            x.shape, how, a, b, x.dtype if dtype is None else dtype, seed
        ),
        "onnx.random": lambda shape, how, a, b, dtype, seed: _drawn(
            shape, how, a, b, np.float32 if dtype is None else dtype, seed
        ),
    }
)
