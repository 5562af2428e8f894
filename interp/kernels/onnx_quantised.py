"""Kernels of ONNX's quantisation, products of integers and casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .quiet import quiet
from .registry import Array, BadValue, kernel, lookup
from .shape import repeated

Dtype = np.dtype[Any] | None
# Floats of 8 bits, and the largest of each.
_MOST = {"float8_e4m3fn": 448.0, "float8_e4m3fnuz": 240.0, "float8_e5m2": 57344.0, "float8_e5m2fnuz": 57344.0}


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return "int" in dtype.name


def limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and greatest integer of a dtype, including those of few bits."""
    bits = int("".join(c for c in dtype.name if c.isdigit()))
    return (0, 2**bits - 1) if dtype.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def spread(values: Array, x: Array, axis: int, block: int = 0) -> Array:
    """Scales or zero points in a shape that broadcasts with x."""
    if values.size == 1:
        return values.reshape(())
    at = axis % x.ndim
    if values.ndim == 1 and not block:
        return values.reshape(-1, *(1,) * (x.ndim - 1 - at))
    return repeated(values, block, at)[(*(slice(None),) * at, slice(x.shape[at]))]


def rounded(steps: Array, zeros: Array | int, dtype: np.dtype[Any]) -> Array:
    """The nearest integers in a dtype, with zero points added."""
    least, greatest = limits(dtype)
    whole = np.rint(steps).astype(np.float64)
    placed = np.clip(np.where(np.isnan(whole), 0, whole) + zeros, least, greatest)
    return placed.astype(np.int64).astype(dtype)


@kernel("onnx.quantize")
@quiet
def quantize(
    x: Array, scale: Array, zero_point: Array | None, axis: int, block_size: int, dtype: Dtype, saturate: bool,
    precision: Dtype,
) -> Array:  # fmt: skip
    made = np.dtype(zero_point.dtype if zero_point is not None and dtype is None else dtype or np.uint8)
    own = np.dtype(np.float64) if scale.dtype == np.int32 else scale.dtype
    computed = precision or (own if own.itemsize > 1 else x.dtype)
    steps = x.astype(computed) / spread(scale, x, axis, block_size).astype(computed)
    if not _is_integer(made):
        return small_float(steps, made, saturate, "up")
    zeros = 0 if zero_point is None else spread(zero_point, x, axis, block_size).astype(np.float64)
    return rounded(steps, zeros, made)


@kernel("onnx.dequantize")
def dequantize(
    x: Array, scale: Array, zero_point: Array | None, axis: int, block_size: int, dtype: Dtype
) -> Array:  # fmt: skip
    steps = x.astype(np.float32)
    if zero_point is not None:
        zeros = spread(zero_point, x, axis, block_size)
        steps = steps - zeros.astype(np.float32) if x.dtype.itemsize < 4 else (x - zeros).astype(np.float32)
    made: Array = steps * spread(scale, x, axis, block_size).astype(np.float32)
    return made.astype(dtype or scale.dtype)


@kernel("onnx.dynamic_quantize")
@quiet
def dynamic_quantize(x: Array) -> tuple[Array, Array, Array]:
    zero = x.dtype.type(0)
    least, greatest = x.min(initial=zero), x.max(initial=zero)
    scale = (x.dtype.type(1) if least == greatest else greatest - least) / x.dtype.type(255)
    start = np.rint(np.clip(np.nan_to_num(-least / scale), 0, 255))
    steps = np.clip(np.nan_to_num(np.rint(x / scale)) + start, 0, 255)
    return steps.astype(np.uint8), np.asarray(scale, x.dtype), np.asarray(start).astype(np.uint8)


def in_steps(x: Array) -> Array:
    """Quantise x dynamically, and return the numbers that the steps stand for."""
    steps, scale, zero = dynamic_quantize(x)
    made: Array = (steps.astype(x.dtype) - zero.astype(x.dtype)) * scale
    return made


# Products


def _less(x: Array, zero: Array | None, axis: int) -> Array:
    """Integers minus their zero points, as floats whose products are exact."""
    made = x.astype(np.float64)
    return made if zero is None else made - _line(zero, x, axis).astype(np.float64)


def _line(values: Array, x: Array, axis: int) -> Array:
    """One value, one for each row (-2) or column (-1), or as many axes as x has."""
    if values.size == 1:
        return values.reshape(())
    return values[:, None] if values.ndim == 1 and axis == -2 and x.ndim > 1 else values


@kernel("onnx.matmul_integer")
def matmul_integer(x: Array, y: Array, x_zero: Array | None, y_zero: Array | None) -> Array:
    made: Array = np.matmul(_less(x, x_zero, -2), _less(y, y_zero, -1))
    return made.astype(np.int64).astype(np.int32)


@kernel("onnx.qlinear_matmul")
@quiet
def qlinear_matmul(
    x: Array, x_scale: Array, x_zero: Array, y: Array, y_scale: Array, y_zero: Array, scale: Array, zero: Array
) -> Array:
    if not _is_integer(zero.dtype):
        return _small_product(x, x_scale, x_zero, y, y_scale, y_zero, scale, zero)
    total = np.matmul(_less(x, x_zero, -2), _less(y, y_zero, -1))
    left, right = (_line(s, o, a).astype(np.float32) for s, o, a in ((x_scale, x, -2), (y_scale, y, -1)))
    return rounded(total * (left * right / scale.astype(np.float32)), zero.astype(np.float64), zero.dtype)


def _small_product(*operands: Array) -> Array:
    x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = operands
    left = _less(x, x_zero, -2) * _line(x_scale, x, -2)
    right = _less(y, y_zero, -1) * _line(y_scale, y, -1)
    return small_float(np.matmul(left, right) / scale, zero.dtype, True, "up")


def _filters(values: Array, weight: Array) -> Array:
    """One value per filter."""
    return values.reshape(-1, *(1,) * (weight.ndim - 1)) if values.size > 1 else values.reshape(())


@kernel("onnx.conv_integer")
def conv_integer(x: Array, weight: Array, x_zero: Array | None, weight_zero: Array | None, *windows: Any) -> Array:
    filters = weight.astype(np.float64)
    if weight_zero is not None:
        filters = filters - _filters(weight_zero, weight).astype(np.float64)
    made = lookup("conv")(_less(x, x_zero, -1), filters, None, *windows, "channels_first")
    return np.asarray(made).astype(np.int64).astype(np.int32)


@kernel("onnx.qlinear_conv")
@quiet
def qlinear_conv(
    x: Array, x_scale: Array, x_zero: Array, weight: Array, weight_scale: Array, weight_zero: Array, scale: Array,
    zero: Array, bias: Array | None, *windows: Any,
) -> Array:  # fmt: skip
    filters = weight.astype(np.float64) - _filters(weight_zero, weight).astype(np.float64)
    more = None if bias is None else bias.astype(np.float64)
    total = lookup("conv")(_less(x, x_zero, -1), filters, more, *windows, "channels_first")
    factor = x_scale.reshape(()) * weight_scale / scale.reshape(())
    shaped = factor.reshape(-1, *(1,) * (x.ndim - 2)) if factor.size > 1 else factor.reshape(())
    return rounded(total * shaped, zero.astype(np.float64), zero.dtype)


# Casts


@kernel("onnx.cast")
@quiet
def cast(x: Array, dtype: np.dtype[Any], saturate: bool, round_mode: str) -> Array:
    if dtype.name in (*_MOST, "float8_e8m0fnu", "float4_e2m1fn") and x.dtype != dtype:
        source = lookup("cast")(x, np.dtype(np.float32)) if x.dtype.kind == "T" or _is_integer(x.dtype) else x
        return small_float(source, dtype, saturate, round_mode)
    if dtype.kind == "T" and x.dtype.kind in "fV" and x.dtype != np.float64:
        return np.array([_text(v, x.dtype) for v in x.ravel()], dtype).reshape(x.shape)
    if _is_integer(dtype) and dtype.itemsize == 1 and dtype.kind not in "iu":
        return _wrapped(lookup("cast")(x, np.dtype(np.int64)), dtype)
    return np.asarray(lookup("cast")(x, dtype))


def _text(value: Any, dtype: np.dtype[Any]) -> str:
    """The shortest text that reads back as the number."""
    return str(value if dtype.kind == "f" else np.float32(value))


def _wrapped(x: Array, dtype: np.dtype[Any]) -> Array:
    """Integers of few bits: the low bits of longer ones."""
    least, greatest = limits(dtype)
    return ((x - least) % (greatest - least + 1) + least).astype(dtype)


def small_float(x: Array, dtype: np.dtype[Any], saturate: bool, round_mode: str) -> Array:
    """Floats of 8 bits or fewer; too large numbers become the largest if they saturate, else the dtype's value for them."""
    if dtype.name == "float8_e8m0fnu":
        return _exponents(x, dtype, saturate, round_mode)
    if saturate and dtype.name in _MOST:
        most = np.float32(_MOST[dtype.name])
        x = np.clip(x.astype(np.float32) if x.dtype != np.float64 else x, -most, most)
    return (x if x.dtype.isbuiltin == 1 else x.astype(np.float32)).astype(dtype)


def _exponents(x: Array, dtype: np.dtype[Any], saturate: bool, round_mode: str) -> Array:
    """Powers of two, with exponents above, below or nearest to the numbers' own."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    exponent, fraction = ((bits >> 23) & 0xFF).astype(np.int64), bits & 0x7FFFFF
    half = fraction >= 0x400000
    more = {"up": fraction > 0, "nearest": half & ((fraction > 0x400000) | (exponent > 0)), "down": fraction < 0}
    if round_mode not in more:
        raise BadValue(f'there is no round_mode "{round_mode}"')
    found = exponent + (more[round_mode] & (exponent < (0xFE if saturate else 0xFF)))
    made: Array = np.where(exponent == 0xFF, 0xFF, found).astype(np.uint8)
    return made.view(dtype)


@kernel("onnx.bit_cast")
def bit_cast(x: Array, dtype: np.dtype[Any]) -> Array:
    if x.dtype.itemsize != dtype.itemsize or x.dtype.kind == "T" or dtype.kind == "T":
        raise BadValue(f"elements of {x.dtype} and {dtype} have not the same bits")
    return np.ascontiguousarray(x).view(dtype).reshape(x.shape)
