"""Operators of com.microsoft over quantised numbers."""

from __future__ import annotations

from . import quantised
from .microsoft import DOMAIN, embedded
from .recurrent import lstm_of, recurrent
from .registry import Reader, Row, Untranslatable, add, listed, number, operator
from .windows import pooling, spaced


def dequantized(node: Reader, x: int, scale: int, zero: int) -> str:
    return f"@onnx.dequantize({node.x(x)}, {node.x(scale)}{node.optional(zero, 'zero_point')})"


def _quantized(node: Reader, text: str, scale: int, zero: int, like: int = 0) -> str:
    if node.has(zero):
        return f"@onnx.quantize({text}, {node.x(scale)}, zero_point={node.x(zero)})"
    return f"@onnx.quantize({text}, {node.x(scale)}, dtype={node.x(like)}.dtype)"


add("QuantizeLinear", quantised.quantize, 1, DOMAIN)
add("DequantizeLinear", quantised.dequantize, 1, DOMAIN)


def _of_two(sign: str) -> Row:
    def row(node: Reader) -> str:
        return _quantized(node, f"{dequantized(node, 0, 1, 2)} {sign} {dequantized(node, 3, 4, 5)}", 6, 7)

    return row


add("QLinearAdd", _of_two("+"), 1, DOMAIN)
add("QLinearMul", _of_two("*"), 1, DOMAIN)


def _of_one(template: str) -> Row:
    def row(node: Reader) -> str:
        text = template.format(x=dequantized(node, 0, 1, 2), alpha=number(node.number("alpha", 0.01)))
        return _quantized(node, text, 3, 4)

    return row


add("QLinearSigmoid", _of_one("@sigmoid({x})"), 1, DOMAIN)
add("QLinearLeakyRelu", _of_one("@leaky_relu({x}, alpha={alpha})"), 1, DOMAIN)


@operator("QLinearSoftmax", 1, DOMAIN)
def qlinear_softmax(node: Reader) -> str:
    """Softmax over one axis from version 13 of the original operator on."""
    x, axis = dequantized(node, 0, 1, 2), node.integer("axis", -1)
    text = f"@softmax({x}, axis={axis})" if node.integer("opset") >= 13 else f"@onnx.softmax_from({x}, axis={axis})"
    return _quantized(node, text, 3, 4)


@operator("QLinearReduceMean", 1, DOMAIN)
def qlinear_reduce_mean(node: Reader) -> str:
    axes = node.integers("axes")
    along = f", axis={listed(axes)}" if axes else ""
    keep = ", keepdims=true" if node.integer("keepdims", 1) else ""
    return _quantized(node, f"@mean({dequantized(node, 0, 1, 2)}{along}{keep})", 3, 4)


@operator("QLinearWhere", 1, DOMAIN)
def qlinear_where(node: Reader) -> str:
    return _quantized(node, f"@where({node.x(0)}, {dequantized(node, 1, 2, 3)}, {dequantized(node, 4, 5, 6)})", 7, 8, 1)


def _layout(node: Reader) -> str:
    return ', layout="channels_last"' if node.integer("channels_last", 0) else ""


@operator("QLinearGlobalAveragePool", 1, DOMAIN)
def qlinear_global_average_pool(node: Reader) -> str:
    return _quantized(node, f"@global_average_pool({dequantized(node, 0, 1, 2)}{_layout(node)})", 3, 4)


@operator("QLinearAveragePool", 1, DOMAIN)
def qlinear_average_pool(node: Reader) -> str:
    kernel = pooling(node)
    flags = ", ceil_mode=true" if node.integer("ceil_mode", 0) else ""
    flags += ", count_include_pad=true" if node.integer("count_include_pad", 0) else ""
    shaped = spaced(node, "strides", "pads", strides=", strides=[1]") + flags
    x, last = dequantized(node, 0, 1, 2), node.integer("channels_last", 0)
    text = f"@onnx.average_pool({f'@moveaxis({x}, -1, 1)' if last else x}, {listed(kernel)}{shaped})"
    return _quantized(node, f"@moveaxis({text}, 1, -1)" if last else text, 3, 4)


@operator("QLinearConcat", 1, DOMAIN)
def qlinear_concat(node: Reader) -> str:
    parts = [dequantized(node, at, at + 1, at + 2) for at in range(2, len(node), 3)]
    return _quantized(node, f"@concat({listed(parts)}, axis={node.integer('axis')})", 0, 1, 2)


# Products


def product(x: str, y: str, x_zero: str, y_zero: str) -> str:
    """The product of integers less their zero points, as a float."""
    return f"@cast(@onnx.matmul_integer({x}, {y}{x_zero}{y_zero}), float32)"


@operator("MatMulIntegerToFloat", 1, DOMAIN)
def matmul_integer_to_float(node: Reader) -> str:
    made = product(node.x(0), node.x(1), node.optional(4, "x_zero"), node.optional(5, "y_zero"))
    text = f"{made} * ({node.x(2)} * {node.x(3)})"
    return f"{text} + {node.x(6)}" if node.has(6) else text


@operator("DynamicQuantizeMatMul", 1, DOMAIN)
def dynamic_quantize_matmul(node: Reader) -> str:
    x, scale, zero = node.scope.parts("part", f"@onnx.dynamic_quantize({node.x(0)})", 3)
    text = f"{product(x, node.x(1), f', x_zero={zero}', node.optional(3, 'y_zero'))} * ({scale} * {node.x(2)})"
    return f"{text} + {node.x(4)}" if node.has(4) else text


@operator("DynamicQuantizeLSTM", 1, DOMAIN)
def dynamic_quantize_lstm(node: Reader) -> str:
    """An LSTM whose weights have a scale for each direction, or for each column."""
    directions = 2 if node.word("direction", "forward") == "bidirectional" else 1

    def weights(given: str, scale: int) -> str:
        less = f" - @cast(@reshape({node.x(scale + 1)}, [{directions}, 1, -1]), float32)" if node.has(scale + 1) else ""
        text = f"(@cast({given}, float32){less}) * @reshape({node.x(scale)}, [{directions}, 1, -1])"
        return node.let("weights", f"@matrix_transpose({text})")

    return lstm_of(node, weights(node.x(1), 8), weights(recurrent(node, axis=1), 10), ", quantised=true")


@operator("QGemm", 1, DOMAIN)
def qgemm(node: Reader) -> str:
    """A quantised product; a float if the result has no scale."""
    a, b = (
        f"@matrix_transpose({node.x(at)})" if node.integer(name, 0) else node.x(at)
        for at, name in ((0, "transA"), (3, "transB"))
    )
    total = product(a, b, node.optional(2, "x_zero"), node.optional(5, "y_zero"))
    total += f" + @cast({node.x(6)}, float32)" if node.has(6) else ""
    text = f"({total}) * ({number(node.number('alpha', 1.0))} * {node.x(1)} * {node.x(4)})"
    return _quantized(node, text, 7, 8) if node.has(7) else text


@operator("MatMulNBits", 1, DOMAIN)
def matmul_n_bits(node: Reader) -> str:
    if node.has(4):
        raise Untranslatable("permutes its groups")
    zeros = node.optional(3, "zero_points")
    sizes = f"{_sizes(node)}, bits={node.integer('bits', 4)}"
    text = f"@onnx.matmul_bits({node.x(0)}, {node.x(1)}, {node.x(2)}{zeros}, {sizes})"
    return f"{text} + {node.x(5)}" if node.has(5) else text


def _sizes(node: Reader) -> str:
    names = (("k", "K"), ("n", "N"), ("block", "block_size"))
    return ", ".join(f"{ours}={node.integer(theirs)}" for ours, theirs in names)


@operator("MatMulBnb4", 1, DOMAIN)
def matmul_bnb4(node: Reader) -> str:
    kind = ", normal=true" if node.integer("quant_type") else ""
    return f"@onnx.matmul_bnb4({node.x(0)}, {node.x(1)}, {node.x(2)}, {_sizes(node)}{kind})"


@operator("GatherBlockQuantized", 1, DOMAIN)
def gather_block_quantized(node: Reader) -> str:
    """Quantised rows; bytes hold several numbers each, and their zero point is the middle of the range."""
    data, bits = node.x(0), node.integer("bits", 4)
    zeros = node.x(3) if node.has(3) else None
    if node.dtype_of(0) == "uint8":
        data = f"@onnx.unpack_bits({data}, {bits})"
        middle = f"@full(@shape({node.x(2)}), tensor({2 ** (bits - 1)}, uint8))"
        zeros = f"@onnx.unpack_bits({zeros}, {bits})" if zeros else middle
    axis, block = node.integer("quantize_axis", 1), node.integer("block_size", 128)
    more = f", zero_point={zeros}" if zeros else ""
    whole = f"@onnx.dequantize({data}, {node.x(2)}{more}, axis={axis}, block_size={block})"
    return f"@take({whole}, {node.x(1)}, axis={node.integer('gather_axis', 0)})"


@operator("QEmbedLayerNormalization", 1, DOMAIN)
def quantised_embed_layer_normalization(node: Reader) -> str:
    """The embedding; each table and each weight has its own scale and zero point, in the order of the tables."""

    def number_of(at: int, nth: int) -> str:
        return node.let("table", dequantized(node, at, 8 + nth, 13 + nth))

    tables = [number_of(2, 0), number_of(3, 1), number_of(4, 2) if node.has(4) else None]
    return embedded(node, tables, f"{number_of(5, 3)}, bias={number_of(6, 4)}", 7, len(node))
