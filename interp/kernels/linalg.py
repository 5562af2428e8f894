"""NumPy kernels of linear algebra. NumPy's products give float32 for the small float types of ml_dtypes; these cast
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...ops.einsum import Equation, Term, parse_equation
from ...ops.requirements import Other
from ...ops.wording import plain
from .constants import is_constant, once
from .registry import DIRECT, FRESH, BadValue, clamped, kernel

Array = np.ndarray[Any, Any]

# NumPy's stubs do not know the axis of this one.
_vecdot: Any = np.vecdot

DIRECT["matmul"] = "matmul"
FRESH.update({"matmul": "matrix", "linear": "always", "outer": "always"})


@kernel("matmul")
def matmul(x: Array, y: Array) -> Array:
    return _as(np.matmul(x, y, order="C"), x.dtype)


def _as(result: Any, dtype: Any) -> Array:
    if result.dtype is dtype or result.dtype == dtype:
        return result  # type: ignore[no-any-return]
    return result.astype(dtype)  # type: ignore[no-any-return]


# With so few rows a product takes longer to read a transposed weight than to compute.
_FEW = 64


@kernel("linear")
def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    """One product of two matrices, whatever the rank of x: NumPy multiplies stacked matrices one by one."""
    rows = x.reshape(_size(x.shape[:-1]), x.shape[-1])
    if is_constant(weight):
        result = np.matmul(rows, once(_columns, weight))
    elif 1 < len(rows) <= _FEW and weight.flags.c_contiguous:
        result = np.array(np.matmul(weight, rows.T).T, order="C")
    else:
        result = np.matmul(rows, weight.T)
    if bias is not None:
        result += bias
    return _as(result, x.dtype).reshape(*x.shape[:-1], weight.shape[0])


def _columns(weight: Array) -> Array:
    return np.ascontiguousarray(weight.T)


def _size(shape: Sequence[int]) -> int:
    result = 1
    for size in shape:
        result *= size
    return result


@kernel("tensordot")
def tensordot(x: Array, y: Array, axes: int, x_axes: tuple[int, ...] | None, y_axes: tuple[int, ...] | None) -> Array:
    if x_axes is None or y_axes is None:
        return _as(np.tensordot(x, y, axes), x.dtype)
    return _as(np.tensordot(x, y, (x_axes, y_axes)), x.dtype)


@kernel("vecdot")
def vecdot(x: Array, y: Array, axis: int) -> Array:
    return np.asarray(_as(_vecdot(x, y, axis=axis), x.dtype))


@kernel("outer")
def outer(x: Array, y: Array) -> Array:
    return np.multiply(x[:, np.newaxis], y[np.newaxis, :])


@kernel("cross")
@np.errstate(all="ignore")
def cross(x: Array, y: Array, axis: int) -> Array:
    a, b = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    left = [a[..., (i + 1) % 3] * b[..., (i + 2) % 3] for i in range(3)]
    right = [a[..., (i + 2) % 3] * b[..., (i + 1) % 3] for i in range(3)]
    return np.stack([p - q for p, q in zip(left, right, strict=True)], axis)


@kernel("diagonal")
def diagonal(x: Array, offset: int) -> Array:
    return np.diagonal(x, clamped(offset), -2, -1)


@kernel("trace")
def trace(x: Array, offset: int) -> Array:
    return np.asarray(np.trace(x, clamped(offset), -2, -1, dtype=x.dtype))


# Einsum


@kernel("einsum")
def einsum(equation: str, xs: Sequence[Array]) -> Array:
    """Two operands by one matrix product, which is two to three times as fast as numpy.einsum; more of them pair by
    pair.
    """
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
        return _as(np.einsum(f"{labelled[0]}->{result}", xs[0]), dtype)
    return _as(np.einsum(f"{','.join(labelled)}->{result}", *xs, optimize="greedy"), dtype)


def _without_ellipsis(equation: Equation, xs: Sequence[Array]) -> tuple[tuple[str, ...], str]:
    return _labels(equation, tuple(x.ndim for x in xs))


@lru_cache(maxsize=256)
def _labels(equation: Equation, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The terms and the result with a letter for every axis: those of an ellipsis get letters that nobody uses."""
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
    product = np.matmul(a, b)
    sizes = dict(zip(right + left, y.shape + x.shape, strict=True))
    spread: Array = product.reshape((*product.shape[:-2], *(sizes[c] for c in rows + columns)))
    return spread.transpose(order)


def _reduced(x: Array, labels: str, wanted: str) -> tuple[Array, str]:
    """Repeated labels of one operand as a diagonal, and labels that nobody else has summed."""
    once = "".join(dict.fromkeys(labels))
    if once != labels:
        letters = {c: chr(ord("a") + i) for i, c in enumerate(once)}
        spelled = "".join(letters[c] for c in labels)
        x = _diagonal(x, spelled, "".join(letters[c] for c in once))
    lonely = tuple(i for i, c in enumerate(once) if c not in wanted)
    if lonely:
        x = _as(np.add.reduce(x, axis=lonely, dtype=None if x.dtype.kind == "V" else x.dtype), x.dtype)
    return x, "".join(c for c in once if c in wanted)


def _diagonal(x: Array, labels: str, once: str) -> Array:
    """The elements whose repeated labels have one index."""
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
    """x as a stack of matrices: axes of the batch, then `first` merged, then `second` merged; a view where it can be
    one.
    """
    x = x.transpose([labels.index(c) for c in batch + first + second])
    shape = x.shape
    n, m = len(batch), len(batch) + len(first)
    x = x.reshape((*shape[:n], _size(shape[n:m]), _size(shape[m:])))
    if x.itemsize in x.strides[-2:]:
        return x
    return np.ascontiguousarray(x)
