"""Kernels of the element-wise primitives: one NumPy function each, or whole-array expressions.

They differ from NumPy in three cases. A Python number beside an ml_dtypes array, where it is not weak, is cast to the array's
dtype. Integers of less than 8 bits are computed in 8 bits and cast back, as several functions return 8 bits. Floats of less
than 32 bits are computed in float32 if a function takes several steps.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, pi, sqrt
from typing import Any

import numpy as np

from ..allocation import BINARY, PREDICATES, UNARY
from .quiet import quiet
from .registry import DIRECT, BadValue, kernel, rows

Array = Any  # an ndarray, a NumPy scalar, or a Python number for a literal
Dtype = np.dtype[Any] | None  # of an array, or of the result if requested
Function = Callable[..., Any]

# These return integers unchanged.
_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}

DIRECT.update(UNARY | BINARY | PREDICATES | {"where": "where"})

_SQRT_HALF = sqrt(0.5)
_SQRT_TWO_BY_PI = sqrt(2 / pi)
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _one_dtype(x: Array, y: Array) -> tuple[Array, Array]:
    """Both operands as NumPy's own functions treat them best: of one dtype, with at least 8 bits."""
    if not hasattr(x, "dtype") and hasattr(y, "dtype") and y.dtype.isbuiltin != 1:
        x = np.asarray(x, y.dtype)
    if not hasattr(y, "dtype") and hasattr(x, "dtype") and x.dtype.isbuiltin != 1:
        y = np.asarray(y, x.dtype)
    return _at_least_a_byte(x), _at_least_a_byte(y)


def _at_least_a_byte(x: Array) -> Array:
    if not hasattr(x, "dtype") or x.dtype.isbuiltin != 2 or "int" not in x.dtype.name:
        return x
    return x.astype(np.uint8 if x.dtype.name.startswith("u") else np.int8)


def _as(result: Array, *operands: Array) -> Array:
    """Cast the result to the operands' dtype."""
    for x in operands:
        if hasattr(x, "dtype"):
            return result if result.dtype == x.dtype else result.astype(x.dtype)
    return result


def _unary(function: Function) -> Function:
    @quiet
    def run(x: Array) -> Array:
        return _as(function(_at_least_a_byte(x)), x)

    return run


def _binary(function: Function) -> Function:
    @quiet
    def run(x: Array, y: Array) -> Array:
        return _as(function(*_one_dtype(x, y)), x, y)

    return run


def _predicate(function: Function) -> Function:
    @quiet
    def run(*operands: Array) -> Array:
        return function(*operands)

    return run


def _rounding(function: Function) -> Function:
    @quiet
    def run(x: Array) -> Array:
        x = np.asarray(x)
        return _as(function(x), x) if _is_float(x.dtype) or x.dtype.kind == "c" else x

    return run


for _wrap, _table in ((_unary, UNARY), (_binary, BINARY), (_predicate, PREDICATES), (_rounding, _ROUNDING)):
    for _name, _function in _table.items():
        if _name != "abs":
            kernel(_name)(_wrap(getattr(np, _function)))


@kernel("abs")
@quiet
def abs_(x: Array) -> Array:
    result = np.absolute(_at_least_a_byte(x))
    return result if result.dtype.kind == "f" else _as(result, x)


def _is_float(dtype: np.dtype[Any]) -> bool:
    """Whether it is a floating dtype, NumPy's or ml_dtypes'."""
    return dtype.kind == "f" or (dtype.isbuiltin == 2 and "float" in dtype.name)


def widened(x: Array) -> Array:
    """The array, with floats of less than 32 bits as float32."""
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype.itemsize < 4 and _is_float(x.dtype) else x


# The number of elements in a block: all that a function uses at once stays in the cache of a core.
_BLOCK = 1 << 16


def in_blocks(function: Function, x: Array, width: int = 1, out: Array | None = None) -> Array:
    """Apply a function of one row of `width` elements to all rows of x, in blocks if there are many, whose results go into
    `out` if that is given, which may be x. The function gets floats of at least 32 bits, which it does not change, and an
    array to write into, or None, which it may ignore."""
    x = np.asarray(x)
    if x.size <= 2 * _BLOCK or not x.flags.c_contiguous or not width:
        return _as(function(widened(x), None), x)
    result = np.empty_like(x) if out is None or not out.flags.c_contiguous else out
    source, target = (a.reshape(-1, width) if width > 1 else a.reshape(-1) for a in (x, result))
    rows = max(_BLOCK // width, 1)
    for start in range(0, len(source), rows):
        part, block = widened(source[start : start + rows]), target[start : start + rows]
        made = function(part, block if part.dtype == block.dtype else None)
        if made is not block:
            block[...] = made
    return result


def _activation(function: Function) -> Function:
    """Make a kernel of a function of each element."""

    @quiet
    def run(x: Array, *attributes: object, out: Array | None = None) -> Array:
        return in_blocks(lambda part, _: function(part, *attributes), x, out=out)

    return run


@kernel("pow")
@quiet
def pow_(x: Array, y: Array) -> Array:
    if isinstance(y, (int, float)) and hasattr(x, "dtype"):
        power = _literal_power(x, y)
        if power is not None:
            return _as(power, x)
    base, exponent = _one_dtype(x, y)
    if all(np.asarray(v).dtype.kind in "iu" for v in (base, exponent)) and np.any(np.less(exponent, 0)):
        raise BadValue("the exponent `y` of integers holds a negative number")
    return _as(np.power(base, exponent), x, y)


def _literal_power(x: Array, y: int | float) -> Array | None:
    """x ** y by multiplications if y is a small integer: NumPy's general power takes many times as long."""
    if not 0 <= y <= 8 or y != int(y):
        return None
    if y == 0:
        return np.ones_like(x)
    result, square, left = None, x, int(y)
    while True:
        if left % 2:
            result = square if result is None else result * square
        left //= 2
        if left == 0:
            return result
        square = square * square


@kernel("where")
def where(condition: Array, x: Array, y: Array, out: Array | None = None) -> Array:
    if out is None or out is condition:
        return _as(np.where(condition, *_one_dtype(x, y)), x, y)
    if out is x:
        np.copyto(out, y, where=np.logical_not(condition))
    else:
        np.copyto(out, x, where=condition)
    return out


@kernel("clip")
def clip(x: Array, min: Array | None, max: Array | None) -> Array:
    result = np.asarray(x, next((a.dtype for a in (x, min, max) if a is not None and hasattr(a, "dtype")), None))
    if min is not None:
        result = _as(np.maximum(*_one_dtype(result, min)), result)
    if max is not None:
        result = _as(np.minimum(*_one_dtype(result, max)), result)
    return result


# erfc(x) = exp(-x * x) * (c1 * t + ... + cn * t ** n) for x >= 0, with t = 1 / (1 + p * x): the form of Abramowitz and
# Stegun 7.1.26. The coefficients are minimax fits on [0, 6.2], made with Remez's exchange in 50 digits; the largest
# differences are 4.4e-8 and 1.4e-16.
_ERFC_32 = (
    0.375,
    (
        0.24166032250591556, -0.02056683827413584, 0.9300159530953788, -1.0259633111928047, 1.126824904285132,
        -0.2519709895901391,
    ),
)  # fmt: skip
_ERFC_64 = (
    0.3125,
    (
        0.17643505324817459, 0.17420000988616252, 0.18364671437461391, 0.079258284717072142, 0.33155079328579103,
        -0.29216432148838971, 0.50593465359688167, -0.10745779598386259, -0.41040946213066530, 0.8398601915278013,
        -0.77392966665968368, 0.38102053515624343, -0.098649743588787659, 0.010704754058648466,
    ),
)  # fmt: skip


def _erfc(magnitude: Array) -> Array:
    """1 - erf of a nonnegative float32 or float64 array. (Fresh arrays cost more than the arithmetic.)"""
    p, coefficients = _ERFC_32 if magnitude.dtype == np.float32 else _ERFC_64
    t = np.asarray(magnitude * p)
    t += 1
    np.reciprocal(t, out=t)
    result = np.asarray(t * coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result += coefficient
        result *= t
    np.multiply(magnitude, magnitude, out=t)
    np.negative(t, out=t)
    result *= np.exp(t, out=t)
    return result


def _erf(x: Array) -> Array:
    result = _erfc(np.abs(x))
    np.subtract(1, result, out=result)
    return np.copysign(result, x, out=result)


def _sigmoid(x: Array) -> Array:
    # If exp(-x) overflows, 1 / inf is 0, as it should be.
    result = np.exp(-x)
    result += 1
    return np.reciprocal(result)


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


# atanh(erf(x / sqrt(2))) = h * (c0 + c1 * h**2 + ...) for h = x / 2, fitted on [0, 6] for the least difference of
# x * (1 + erf) / 2, which is 6.6e-8 (Lawson's iteration).
_GELU_32 = (
    1.5957685368324717, 0.290673192921684, -0.001056854586724086, -0.007074993174731157, 0.002034723988093022,
    -0.00027398791977471327, 1.4859684874370616e-05,
)  # fmt: skip


def _gelu_erf(x: Array, out: Array | None) -> Array:
    """x / 2 * (1 + erf(x / sqrt(2))). For float32 by a polynomial in a tanh, which takes half the time of an erf."""
    if x.dtype != np.float32:
        return _gelu_64(x)
    half = np.asarray(x * 0.5)
    squares = np.asarray(half * half)
    result = np.asarray(squares * _GELU_32[-1])
    for coefficient in _GELU_32[-2:0:-1]:
        result += coefficient
        result *= squares
    result += _GELU_32[0]
    result *= half
    np.tanh(result, out=result)
    result += 1
    return np.multiply(result, half, out=result if out is None else out)


def _gelu_64(x: Array) -> Array:
    """max(x, 0) - |x| * erfc(|x| / sqrt(2)) / 2, which is x / 2 * (1 + erf(x / sqrt(2))) without cancellation.

    Beyond 40 the second term is 0; at minus infinity it is NaN, as its factors give.
    """
    magnitude = np.clip(np.abs(x), 0, 40)
    magnitude *= _SQRT_HALF
    result = _erfc(magnitude)
    result *= magnitude
    result *= -_SQRT_HALF
    result += np.clip(x, 0, np.inf)
    result[x == -np.inf] = np.nan
    return result


def _gelu_tanh(x: Array, out: Array | None) -> Array:
    result = np.asarray(x * x)
    result *= 0.044715
    result += 1
    result *= x
    result *= _SQRT_TWO_BY_PI
    np.tanh(result, out=result)
    result += 1
    result *= x
    result *= 0.5
    return result


def _leaky(x: Array, alpha: float) -> Array:
    """x, times `alpha` below 0. If `alpha` is finite and positive, this is the maximum or minimum of both, which takes a
    third of the time."""
    scaled = x * x.dtype.type(alpha)
    if isfinite(alpha) and alpha > 0:
        return (np.maximum if alpha <= 1 else np.minimum)(x, scaled)
    return np.where(x < 0, scaled, x)


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x < 0, np.expm1(np.minimum(x, 0)) * x.dtype.type(alpha), x)


kernel("erf")(_activation(_erf))
kernel("sigmoid")(_activation(_sigmoid))
kernel("softplus")(_activation(_softplus))
kernel("silu")(_activation(lambda x: x * _sigmoid(x)))
kernel("mish")(_activation(lambda x: x * np.tanh(_softplus(x))))
kernel("softsign")(_activation(lambda x: x / (1 + np.abs(x))))
kernel("rsqrt")(_activation(lambda x: np.reciprocal(np.sqrt(x))))
kernel("hard_swish")(_activation(lambda x: x * np.clip(x / 6 + 0.5, 0, 1)))
kernel("hard_sigmoid")(_activation(lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1)))
kernel("leaky_relu")(_activation(_leaky))
kernel("elu")(_activation(_elu))
kernel("selu")(_activation(lambda x: _SELU_SCALE * _elu(x, _SELU_ALPHA)))


rows(
    {
        "stop_gradient": lambda x: np.asarray(x),
        "identity": lambda x: np.asarray(x),
        "relu": lambda x: clip(x, 0, None),
        "gelu": quiet(
            lambda x, approximate, out=None: in_blocks(_gelu_tanh if approximate == "tanh" else _gelu_erf, x, out=out)
        ),
    }
)
