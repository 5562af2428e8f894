"""NumPy kernels of sets, by one stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import Array, kernel


def _sorted(x: Array) -> tuple[Array, Array, Array]:
    """The elements in ascending order, their places in x, and which are the first of equal ones."""
    flat = x.reshape(-1)
    order = np.argsort(flat, kind="stable").astype(np.int64, copy=False)
    ordered = flat[order]
    first = np.ones(len(flat), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered, order, first


def _counts(first: Array) -> Array:
    (starts,) = np.nonzero(first)
    return np.diff(starts, append=len(first)).astype(np.int64, copy=False)


def _places(order: Array, first: Array, shape: tuple[int, ...]) -> Array:
    """For each element the number of its distinct value."""
    result = np.empty(len(order), np.int64)
    result[order] = np.cumsum(first) - 1
    return result.reshape(shape)


@kernel("unique_all")
def unique_all(x: Array) -> tuple[Array, ...]:
    ordered, order, first = _sorted(x)
    return ordered[first], order[first], _places(order, first, x.shape), _counts(first)


@kernel("unique_counts")
def unique_counts(x: Array) -> tuple[Array, ...]:
    ordered, _, first = _sorted(x)
    return ordered[first], _counts(first)


@kernel("unique_inverse")
def unique_inverse(x: Array) -> tuple[Array, ...]:
    ordered, order, first = _sorted(x)
    return ordered[first], _places(order, first, x.shape)


@kernel("isin")
def isin(x: Any, values: Any, invert: bool) -> Array:
    x, values = np.asarray(x), np.asarray(values)
    among = np.sort(values.reshape(-1))
    found = np.zeros(x.shape, np.bool_)
    if among.size:
        places = np.minimum(np.searchsorted(among, x), among.size - 1)
        found = np.asarray(among[places] == x, np.bool_)
    return np.logical_not(found) if invert else found
