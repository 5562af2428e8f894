"""NumPy kernels of linear algebra. NumPy's products return float32 for the small float types of ml_dtypes; these cast
back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...ops.einsum import Equation, Term, parse_equation
from ...ops.requirements import Other
from ...ops.wording import plain
from .constants import is_constant, once
from .quiet import quiet
from .registry import DIRECT, Array, BadValue, clamped, kernel, rows
from .totals import total

# NumPy's stubs lack the axis of the one, and the result type of the other.
_vecdot: Any = np.vecdot
_matmul: Callable[..., Array] = np.matmul

DIRECT["matmul"] = "matmul"


@kernel("matmul")
def matmul(x: Array, y: Array) -> Array:
    return _as(_times(x, y), x.dtype)


def _times(x: Array, y: Array) -> Array:
    """x @ y. NumPy multiplies stacked matrices one by one; for a single matrix y this makes one product."""
    if x.ndim < 2 or y.ndim != 2:
        return _matmul(x, y, order="C")
    return product(x.reshape(prod(x.shape[:-1]), x.shape[-1]), y).reshape(*x.shape[:-1], y.shape[1])


def _as(result: Any, dtype: Any) -> Array:
    if result.dtype is dtype or result.dtype == dtype:
        return result  # type: ignore[no-any-return]
    return result.astype(dtype)  # type: ignore[no-any-return]


# BLAS copies the right operand of a product into its own order. With few rows that takes longer than the product. It does not
# copy for a small product: one with at most so many result elements and multiplications.
_FEW, _ELEMENTS, _MULTIPLICATIONS, _LANES = 24, 1 << 10, 10**6, 16
# With at most so many rows it takes longer to read a transposed operand than to transpose the result.
_SEVERAL = 48


def product(x: Array, y: Array) -> Array:
    """x @ y of two matrices, row-major in its own memory. A column-major constant y is rearranged once."""
    count = len(x)
    if count < 2 or x.dtype.char not in "fdFD":
        return _matmul(x, y)
    width = min(_ELEMENTS // count, _MULTIPLICATIONS // (count * x.shape[1] or 1)) // _LANES * _LANES
    if count <= _FEW and 0 < width < y.shape[1]:
        return _by_pieces(x, y, width)
    if y.T.flags.c_contiguous and not y.flags.c_contiguous:
        if count <= _SEVERAL:
            return np.array(np.matmul(y.T, x.T).T, order="C")
        if is_constant(y):
            y = once(_by_rows, y)
    return _matmul(x, y)


def _by_pieces(x: Array, y: Array, width: int) -> Array:
    """x @ y, `width` columns at a time."""
    result = np.empty((len(x), y.shape[1]), x.dtype)
    whole = y.shape[1] // width * width
    pieces, made = (a[:, :whole].reshape(len(a), -1, width).swapaxes(0, 1) for a in (y, result))
    np.matmul(x, pieces, out=made)
    np.matmul(x, y[:, whole:], out=result[:, whole:])
    return result


def _by_rows(y: Array) -> Array:
    return np.array(y, order="C")


@kernel("linear")
def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    result = _times(x, weight.T)
    if bias is not None:
        result += bias
    return _as(result, x.dtype)


@kernel("tensordot")
def tensordot(x: Array, y: Array, axes: int, x_axes: tuple[int, ...] | None, y_axes: tuple[int, ...] | None) -> Array:
    if x_axes is None or y_axes is None:
        x_axes, y_axes = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    left, right = ([chr(i) for i in range(begin, begin + a.ndim)] for begin, a in ((65, x), (65 + x.ndim, y)))
    for i, j in zip(x_axes, y_axes, strict=True):
        right[j] = left[i]
    result = "".join(c for c in left + right if (c in left) != (c in right))
    return _as(_contract("".join(left), "".join(right), result, x, y), x.dtype)


@kernel("vecdot")
def vecdot(x: Array, y: Array, axis: int) -> Array:
    return np.asarray(_as(_vecdot(x, y, axis=axis), x.dtype))


@kernel("cross")
@quiet
def cross(x: Array, y: Array, axis: int) -> Array:
    a, b = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    left = [a[..., (i + 1) % 3] * b[..., (i + 2) % 3] for i in range(3)]
    right = [a[..., (i + 2) % 3] * b[..., (i + 1) % 3] for i in range(3)]
    return np.stack([p - q for p, q in zip(left, right, strict=True)], axis)


# Einsum


@kernel("einsum")
def einsum(equation: str, xs: Sequence[Array]) -> Array:
    """Contract two operands by one matrix product, which is two to three times as fast as numpy.einsum; more of them pair by
    pair."""
    parsed = parse_equation(equation)
    if isinstance(parsed, Other):
        raise BadValue(f"`equation` needs {plain(parsed)}")
    dtype = xs[0].dtype
    labelled, result = _without_ellipsis(parsed, xs)
    if len(xs) == 2:
        return _as(_contract(labelled[0], labelled[1], result, *xs), dtype)
    if dtype.kind == "V":
        xs = [x.astype(np.float32) for x in xs]
    if len(xs) == 1:
        x, labels = _reduced(xs[0], labelled[0], result)
        return _as(np.einsum(f"{labels}->{result}", x), dtype)
    return _as(np.einsum(f"{','.join(labelled)}->{result}", *xs, optimize="greedy"), dtype)


def _without_ellipsis(equation: Equation, xs: Sequence[Array]) -> tuple[tuple[str, ...], str]:
    return _labels(equation, tuple(x.ndim for x in xs))


@lru_cache(maxsize=256)
def _labels(equation: Equation, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The terms and the result with a letter for every axis; those of an ellipsis get unused letters."""
    used = set("".join(t.head + t.tail for t in equation.terms))
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in used]
    widths = [r - len(t.head + t.tail) for t, r in zip(equation.terms, ranks, strict=True)]
    widest = max([w for w, t in zip(widths, equation.terms, strict=True) if t.ellipsis], default=0)
    dots = "".join(free[:widest])

    def spelled(term: Term, width: int) -> str:
        return term.head + (dots[widest - width :] if term.ellipsis else "") + term.tail

    terms = tuple(spelled(t, w) for t, w in zip(equation.terms, widths, strict=True))
    return terms, spelled(equation.result, widest)


def _contract(left: str, right: str, result: str, x: Array, y: Array) -> Array:
    x, left = _reduced(x, left, right + result)
    y, right = _reduced(y, right, left + result)
    batch, contracted, rows, columns, order = _plan(left, right, result)
    a = _arranged(x, left, batch, rows, contracted)
    b = _arranged(y, right, batch, contracted, columns)
    made = product(a, b) if a.ndim == 2 else np.matmul(a, b)
    sizes = dict(zip(right + left, y.shape + x.shape, strict=True))
    spread: Array = made.reshape((*made.shape[:-2], *(sizes[c] for c in rows + columns)))
    return spread.transpose(order)


def _reduced(x: Array, labels: str, wanted: str) -> tuple[Array, str]:
    """Take the diagonal of repeated labels of one operand, and sum over labels that no other has."""
    once = "".join(dict.fromkeys(labels))
    if once != labels:
        letters = {c: chr(ord("a") + i) for i, c in enumerate(once)}
        spelled = "".join(letters[c] for c in labels)
        x = _diagonal(x, spelled, "".join(letters[c] for c in once))
    lonely = tuple(i for i, c in enumerate(once) if c not in wanted)
    if lonely:
        x = _as(total(x, lonely), x.dtype)
    return x, "".join(c for c in once if c in wanted)


def _diagonal(x: Array, labels: str, once: str) -> Array:
    """The elements at which repeated labels have one index."""
    while len(labels) > len(once):
        label = next(c for c in labels if labels.count(c) > 1)
        i, j = [n for n, c in enumerate(labels) if c == label][:2]
        x = np.diagonal(x, 0, i, j)
        labels = "".join(c for n, c in enumerate(labels) if n not in (i, j)) + label
    return x.transpose([labels.index(c) for c in once])


@lru_cache(maxsize=256)
def _plan(left: str, right: str, result: str) -> tuple[str, str, str, str, tuple[int, ...]]:
    """The labels by their part in the product, and the transposition of the product to the result."""
    batch = "".join(c for c in result if c in left and c in right)
    contracted = "".join(c for c in left if c in right and c not in result)
    rows = "".join(c for c in left if c not in right)
    columns = "".join(c for c in right if c not in left)
    made = batch + rows + columns
    return batch, contracted, rows, columns, tuple(made.index(c) for c in result)


def _arranged(x: Array, labels: str, batch: str, first: str, second: str) -> Array:
    """x as a stack of matrices: axes of the batch, then `first` merged, then `second` merged; a view if possible."""
    order = tuple(labels.index(c) for c in batch + first + second)
    return once(_matrices, x, order, len(batch), len(batch) + len(first))


def _matrices(x: Array, order: tuple[int, ...], first: int, second: int) -> Array:
    x = x.transpose(order)
    shape = x.shape
    x = x.reshape((*shape[:first], prod(shape[first:second]), prod(shape[second:])))
    return x if x.itemsize in x.strides[-2:] else np.ascontiguousarray(x)


rows(
    {
        "outer": lambda x, y: np.multiply(x[:, np.newaxis], y[np.newaxis, :]),
        "diagonal": lambda x, offset: np.diagonal(x, clamped(offset), -2, -1),
        "trace": lambda x, offset: np.asarray(np.trace(x, clamped(offset), -2, -1, dtype=x.dtype)),
    }
)
