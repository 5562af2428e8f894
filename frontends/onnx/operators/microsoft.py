"""Operators of onnxruntime's own, com.microsoft: several operators in one, mostly."""

from __future__ import annotations

from collections.abc import Callable

from ..literals import listed
from .registry import Reader, Row, Untranslatable, add, number, operator
from .windows import spaced

DOMAIN = "com.microsoft"


def _own(name: str) -> Callable[[Row], Row]:
    return operator(name, 1, DOMAIN)


# Activations


@_own("Gelu")
def gelu(node: Reader) -> str:
    return f"@gelu({node.x(0)})"


@_own("BiasGelu")
def bias_gelu(node: Reader) -> str:
    return f"@gelu({node.x(0)} + {node.x(1)})"


@_own("FastGelu")
def fast_gelu(node: Reader) -> str:
    x = f"{node.x(0)} + {node.x(1)}" if node.has(1) else node.x(0)
    return f'@gelu({x}, approximate="tanh")'


@_own("QuickGelu")
def quick_gelu(node: Reader) -> str:
    return f"{node.x(0)} * @sigmoid({number(node.number('alpha', 1.702))} * {node.x(0)})"


# Products


@_own("FusedMatMul")
@_own("TransposeMatMul")
def fused_matmul(node: Reader) -> str:
    if node.integer("transBatchA", 0) or node.integer("transBatchB", 0):
        raise Untranslatable("transposes batch axes")
    sides = (
        f"@matrix_transpose({node.x(at)})" if node.integer(name, 0) else node.x(at)
        for at, name in ((0, "transA"), (1, "transB"))
    )
    text, alpha = f"@matmul({', '.join(sides)})", node.number("alpha", 1.0)
    return text if alpha == 1.0 else f"{number(alpha)} * {text}"


_ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}


def _activated(node: Reader, text: str, attributes: tuple[float, ...] = ()) -> str:
    name = node.string("activation", "")
    if name == "LeakyRelu":
        alpha = attributes[0] if attributes else node.number("activation_alpha", 0.01)
        return f"@leaky_relu({text}, alpha={number(alpha)})"
    if name == "Clip" and len(attributes) == 2:
        return f"@clip({text}, min={number(attributes[0])}, max={number(attributes[1])})"
    if name and name not in _ACTIVATIONS:
        raise Untranslatable(f"has the activation {name}, which Rx has not")
    return f"@{_ACTIVATIONS[name]}({text})" if name else text


@_own("FusedGemm")
def fused_gemm(node: Reader) -> str:
    from .math import gemm

    return _activated(node, gemm(node))


@_own("FusedConv")
def fused_conv(node: Reader) -> str:
    group = node.integer("group", 1)
    shaped = spaced(node, "strides", "pads", "dilations") + ("" if group == 1 else f", groups={group}")
    text = f"@conv({node.x(0)}, {node.x(1)}{node.optional(2, 'bias')}{shaped})"
    found = node.attribute("activation_params")
    given = tuple(float(v) for v in found if isinstance(v, int | float)) if isinstance(found, tuple) else ()
    return _activated(node, f"{text} + {node.x(3)}" if node.has(3) else text, given)


# Normalisation


def _layer(node: Reader, x: str, scale: int, bias: int | None) -> str:
    epsilon = number(node.number("epsilon", 1e-12 if bias is not None else 1e-5))
    if bias is None:
        return f"@rms_norm({x}, {node.x(scale)}, axis=-1, epsilon={epsilon})"
    return f"@layer_norm({x}, {node.x(scale)}{node.optional(bias, 'bias')}, axis=-1, epsilon={epsilon})"


def _skipping(bias: int | None, added: int) -> Row:
    """The sum of two operands and a bias, normalised; the fourth output is the sum."""

    def row(node: Reader) -> str:
        if node.uses(1) or node.uses(2):
            raise Untranslatable("gives means or deviations")
        more = f" + {node.x(added)}" if node.has(added) else ""
        total = node.let("total", f"{node.x(0)} + {node.x(1)}{more}")
        text = _layer(node, total, 2, bias)
        nothing = f"@zeros([], {total}.dtype)"
        return f"({text}, {nothing}, {nothing}, {total})" if node.outputs() > 3 else text

    return row


add("SkipLayerNormalization", _skipping(3, 4), 1, DOMAIN)
add("SkipSimplifiedLayerNormalization", _skipping(None, 3), 1, DOMAIN)


@operator("SimplifiedLayerNormalization")
def simplified_layer_normalization(node: Reader) -> str:
    """onnxruntime's, which stands in the default domain."""
    if node.outputs() > 1:
        raise Untranslatable("gives deviations")
    epsilon = number(node.number("epsilon", 1e-5))
    return f"@rms_norm({node.x(0)}, {node.x(1)}, axis={node.integer('axis', -1)}, epsilon={epsilon})"


# Quantised


def _dequantized(node: Reader, x: int, scale: int, zero: int) -> str:
    return f"@onnx.dequantize({node.x(x)}, {node.x(scale)}{node.optional(zero, 'zero_point')})"


def _quantized(node: Reader, text: str, scale: int, zero: int) -> str:
    if not node.has(zero):
        raise Untranslatable("has no zero point, whose dtype is the result's")
    return f"@onnx.quantize({text}, {node.x(scale)}, zero_point={node.x(zero)})"


def _of_two(sign: str) -> Row:
    def row(node: Reader) -> str:
        return _quantized(node, f"{_dequantized(node, 0, 1, 2)} {sign} {_dequantized(node, 3, 4, 5)}", 6, 7)

    return row


add("QLinearAdd", _of_two("+"), 1, DOMAIN)
add("QLinearMul", _of_two("*"), 1, DOMAIN)


def _of_one(template: str) -> Row:
    def row(node: Reader) -> str:
        text = template.format(x=_dequantized(node, 0, 1, 2), alpha=number(node.number("alpha", 0.01)))
        return _quantized(node, text, 3, 4)

    return row


add("QLinearSigmoid", _of_one("@sigmoid({x})"), 1, DOMAIN)
add("QLinearLeakyRelu", _of_one("@leaky_relu({x}, alpha={alpha})"), 1, DOMAIN)


@_own("QLinearGlobalAveragePool")
def qlinear_global_average_pool(node: Reader) -> str:
    if node.integer("channels_last", 0):
        raise Untranslatable("has channels last")
    return _quantized(node, f"@global_average_pool({_dequantized(node, 0, 1, 2)})", 3, 4)


@_own("QLinearConcat")
def qlinear_concat(node: Reader) -> str:
    parts = [_dequantized(node, at, at + 1, at + 2) for at in range(2, len(node), 3)]
    return _quantized(node, f"@concat({listed(parts)}, axis={node.integer('axis')})", 0, 1)


def _integers(node: Reader, x: str, x_zero: str, y: int, y_zero: int) -> str:
    return f"@cast(@onnx.matmul_integer({x}, {node.x(y)}{x_zero}{node.optional(y_zero, 'y_zero')}), float32)"


@_own("MatMulIntegerToFloat")
def matmul_integer_to_float(node: Reader) -> str:
    text = f"{_integers(node, node.x(0), node.optional(4, 'x_zero'), 1, 5)} * ({node.x(2)} * {node.x(3)})"
    return f"{text} + {node.x(6)}" if node.has(6) else text


@_own("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: Reader) -> str:
    x, scale, zero = node.scope.parts("part", f"@onnx.dynamic_quantize({node.x(0)})", 3)
    text = f"{_integers(node, x, f', x_zero={zero}', 1, 3)} * ({scale} * {node.x(2)})"
    return f"{text} + {node.x(4)}" if node.has(4) else text


@_own("MatMulNBits")
def matmul_n_bits(node: Reader) -> str:
    if node.has(4):
        raise Untranslatable("permutes its groups")
    sizes = ", ".join(
        f"{ours}={node.integer(theirs)}" for ours, theirs in (("k", "K"), ("n", "N"), ("block", "block_size"))
    )
    zeros = node.optional(3, "zero_points")
    text = f"@onnx.matmul_bits({node.x(0)}, {node.x(1)}, {node.x(2)}{zeros}, {sizes}, bits={node.integer('bits', 4)})"
    return f"{text} + {node.x(5)}" if node.has(5) else text
