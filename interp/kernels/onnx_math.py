"""Kernels of ONNX's arithmetic, reductions and normalisations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .elementwise import widened
from .pool import laid, least
from .quiet import quiet
from .registry import Array, kernel, lookup, rows
from .totals import mean_of, total, variance_of

Axes = tuple[int, ...] | None


@kernel("onnx.div")
def div(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    with np.errstate(divide="ignore"):
        whole = np.floor_divide(x, y)
        inexact = (whole < 0) & (whole * y != x)
    made: Array = whole + inexact
    return made.astype(x.dtype, copy=False)


@kernel("onnx.mod")
def mod(x: Array, y: Array) -> Array:
    with np.errstate(divide="ignore"):
        made: Array = np.remainder(x, y)
    return made


@kernel("onnx.fmod")
def fmod(x: Array, y: Array) -> Array:
    made: Array = np.fmod(x, y)
    return made


def _square_root(x: Array) -> Array:
    """x ** 0.5, which differs from the square root at minus infinity and at -0."""
    made: Array = np.sqrt(x + x.dtype.type(0))
    return np.where(np.isneginf(x), np.inf, made).astype(x.dtype, copy=False)


# Powers of floats with functions of their own: these are exact if the result is a number of the dtype.
_POWERS: dict[float, Callable[[Array], Array]] = {0.5: _square_root, 2.0: np.square}


@kernel("onnx.pow")
@quiet
def power(x: Array, y: Array) -> Array:
    plain = _POWERS.get(float(y.item())) if y.size == 1 and x.dtype.kind == "f" else None
    if plain is not None:
        return np.reshape(plain(x), np.broadcast_shapes(x.shape, y.shape))
    if x.dtype.kind in "iu" and y.dtype.kind in "iu" and np.all(y >= 0):
        return np.asarray(np.power(x, y.astype(x.dtype, copy=False)))
    if x.dtype.kind == "f" and y.dtype == x.dtype:
        return np.power(x, y)
    with np.errstate(all="ignore"):
        made: Array = np.power(x.astype(np.float64), y.astype(np.float64))
    return made.astype(x.dtype)


def _in_floats(x: Array, function: Callable[[Array], Array]) -> Array:
    """Apply a function of floats; the result has the operand's dtype."""
    made = (
        x
        if x.dtype.kind == "f" and x.dtype.itemsize > 2
        else x.astype(np.float32 if x.dtype.itemsize <= 2 else np.float64)
    )
    return np.asarray(function(made)).astype(x.dtype, copy=False)


@kernel("onnx.root")
def root(x: Array) -> Array:
    return _in_floats(x, np.sqrt)


@kernel("onnx.celu")
def celu(x: Array, alpha: float) -> Array:
    made: Array = np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)).astype(x.dtype)
    return made


@kernel("onnx.isinf")
def isinf(x: Array, positive: bool, negative: bool) -> Array:
    made: Array = np.isinf(x) & (((x > 0) & positive) | ((x < 0) & negative))
    return made


@kernel("onnx.hardmax")
def hardmax(x: Array, axis: int) -> Array:
    made = np.zeros_like(x)
    if x.size:
        np.put_along_axis(made, np.expand_dims(np.argmax(x, axis), axis), 1, axis)
    return made


def _from(name: str) -> Callable[[Array, int], Array]:
    def computed(x: Array, axis: int) -> Array:
        at = axis + x.ndim if axis < 0 else axis
        flat = np.reshape(x, (int(np.prod(x.shape[:at], dtype=np.int64)), int(np.prod(x.shape[at:], dtype=np.int64))))
        return np.reshape(lookup(name)(flat, -1), x.shape)

    return computed


for _name, _of in (("softmax", "softmax"), ("log_softmax", "log_softmax"), ("hardmax", "onnx.hardmax")):
    kernel(f"onnx.{_name}_from")(_from(_of))


@kernel("onnx.mean")
def mean(x: Array, axis: Axes, keepdims: bool) -> Array:
    if x.size == 0:  # undefined in the standard; exporters rely on 0, for the mean of an empty bag
        return np.asarray(total(x, axis, keepdims))
    if x.dtype.kind in "iu":
        return np.asarray(np.mean(x, axis, keepdims=keepdims)).astype(x.dtype)
    return np.asarray(lookup("mean")(x, axis, keepdims))


@kernel("onnx.logsumexp")
def logsumexp(x: Array, axis: Axes, keepdims: bool) -> Array:
    made = x if x.dtype.kind == "f" else x.astype(np.float64)
    return np.asarray(lookup("logsumexp")(made, axis, keepdims)).astype(x.dtype, copy=False)


def _extreme(name: str, reduction: Any, least: bool) -> None:
    @kernel(f"onnx.{name}")
    def extreme(x: Array, axis: Axes, keepdims: bool) -> Array:
        return np.asarray(reduction(x, axis=axis, keepdims=keepdims, initial=_limit(x.dtype, least)))


def _limit(dtype: np.dtype[Any], least: bool) -> Any:
    """The bound below, or above, all numbers of a dtype."""
    if dtype.kind == "b":
        return not least
    if dtype.kind in "iu":
        return getattr(np.iinfo(dtype), "min" if least else "max")
    return dtype.type(-np.inf if least else np.inf)


_extreme("max", np.max, True)
_extreme("min", np.min, False)


def _index_of(name: str, choose: Any) -> None:
    @kernel(f"onnx.{name}")
    def index(x: Array, axis: int, keepdims: bool, last: bool) -> Array:
        if not last:
            return np.asarray(choose(x, axis=axis, keepdims=keepdims))
        made: Array = x.shape[axis] - 1 - np.asarray(choose(np.flip(x, axis), axis=axis, keepdims=keepdims))
        return made


_index_of("argmax", np.argmax)
_index_of("argmin", np.argmin)


@kernel("onnx.layer_normalization")
def layer_normalization(
    x: Array, scale: Array, bias: Array | None, axis: int, epsilon: float
) -> tuple[Array, Array, Array]:
    axes = tuple(range(axis % x.ndim, x.ndim))
    made = x.astype(np.float32, copy=False)
    middle = mean_of(made, axes, True)
    inverse = 1 / np.sqrt(variance_of(made, axes, True) + np.float32(epsilon))
    scaled = ((made - middle) * inverse * scale + (0 if bias is None else bias)).astype(x.dtype)
    return scaled, middle, inverse


@kernel("onnx.rms_normalization")
def rms_normalization(x: Array, scale: Array, axis: int, epsilon: float) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    made = x.astype(np.float32, copy=False) if x.dtype.itemsize < 4 else x
    root = np.sqrt(mean_of(made * made, axes, True) + made.dtype.type(epsilon))
    scaled: Array = made / root * scale
    return scaled.astype(x.dtype)


@kernel("onnx.max_pool_indices")
def max_pool_indices(
    x: Array,
    kernel_shape: Any,
    strides: Any,
    pads: Any,
    auto_pad: str,
    dilations: Any,
    ceil_mode: bool,
    column_major: bool,
) -> tuple[Array, Array]:
    """Visit the places of the windows one after the other, each a strided slice of the image and of the elements' numbers."""
    count = x.ndim - 2
    image, grid = laid(x, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, "channels_first", count)
    order = np.arange(prod(x.shape[-count:])).reshape(x.shape[-count:], order="F" if column_major else "C")
    padded, numbers = grid.padded(image, least(x.dtype)), grid.padded(order, -1)
    best, where = None, None
    for place in product(*map(range, grid.kernel)):
        at = tuple(grid.places(i, p) for i, p in enumerate(place))
        value, number = padded[(..., *at)], np.broadcast_to(numbers[at], padded[(..., *at)].shape)
        if best is None or where is None:
            best, where = value.copy(), number.copy()
            continue
        more = (value > best) | ((where < 0) & (number >= 0))
        best, where = np.where(more, value, best), np.where(more, number, where)
    assert best is not None and where is not None
    start = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1,) * count) * order.size
    return best.astype(x.dtype, copy=False), (where + start).astype(np.int64)


rows(
    {
        "onnx.log": lambda x: _in_floats(x, np.log),
        "onnx.erf": lambda x: _in_floats(x, lookup("erf")),
        "onnx.det": lambda x: np.asarray(lookup("det")(widened(x)), x.dtype),
        "onnx.shrink": lambda x, bias, lambd: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)).astype(
            x.dtype
        ),
    }
)
