"""Quantisation, products of quantised numbers, and casts."""

from __future__ import annotations

from .registry import Reader, Untranslatable, operator
from .windows import spaced


def _scaled(node: Reader) -> str:
    """The axis and blocks of scales that are not one number."""
    block = node.integer("block_size", 0)
    return f", axis={node.integer('axis', 1)}" + (f", block_size={block}" if block else "")


@operator("QuantizeLinear", 10)
def quantize(node: Reader) -> str:
    dtype = node.dtype("output_dtype") if node.integer("output_dtype", 0) else None
    more = "" if node.has(2) else f", dtype={dtype or 'uint8'}"
    more += "" if node.integer("saturate", 1) else ", saturate=false"
    more += f", precision={node.dtype('precision')}" if node.integer("precision", 0) else ""
    return f"@onnx.quantize({node.x(0)}, {node.x(1)}{node.optional(2, 'zero_point')}{_scaled(node)}{more})"


@operator("DequantizeLinear", 10)
def dequantize(node: Reader) -> str:
    more = f", dtype={node.dtype('output_dtype')}" if node.integer("output_dtype", 0) else ""
    return f"@onnx.dequantize({node.x(0)}, {node.x(1)}{node.optional(2, 'zero_point')}{_scaled(node)}{more})"


def _windows(node: Reader, filters: int) -> str:
    group = node.integer("group", 1)
    return spaced(node, "strides", "pads", "dilations", filters=filters) + ("" if group == 1 else f", groups={group}")


@operator("ConvInteger", 10)
def conv_integer(node: Reader) -> str:
    zeros = f"{node.optional(2, 'x_zero')}{node.optional(3, 'weight_zero')}"
    return f"@onnx.conv_integer({node.x(0)}, {node.of_kernel(1)}{zeros}{_windows(node, 1)})"


@operator("QLinearConv", 10)
def qlinear_conv(node: Reader) -> str:
    operands = ", ".join(node.of_kernel(at) if at == 3 else node.x(at) for at in range(8))
    return f"@onnx.qlinear_conv({operands}{node.optional(8, 'bias')}{_windows(node, 3)})"


def _casting(node: Reader, dtype: str) -> str:
    """A cast with options that ours does not have."""
    more = "" if node.integer("saturate", 1) else ", saturate=false"
    mode = node.word("round_mode", "up")
    more += "" if mode == "up" else f', round_mode="{mode}"'
    return f"@onnx.cast({node.x(0)}, {dtype}{more})"


# Dtypes for which our own cast is ONNX's.
_PLAIN = {
    "bool", "complex64", "complex128", "float16", "float32", "float64", "bfloat16",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}  # fmt: skip


@operator("Cast", 6)
def cast(node: Reader) -> str:
    dtype = node.dtype("to")
    if dtype is None:
        raise Untranslatable("says no dtype to cast to")
    return f"@cast({node.x(0)}, {dtype})" if dtype in _PLAIN else _casting(node, dtype)


@operator("CastLike", 15)
def cast_like(node: Reader) -> str:
    return _casting(node, f"{node.x(1)}.dtype")


@operator("BitCast", 26)
def bit_cast(node: Reader) -> str:
    dtype = node.dtype("to")
    if dtype is None:
        raise Untranslatable("says no dtype to cast to")
    return f"@onnx.bit_cast({node.x(0)}, {dtype})"
