"""Operators with a template of one line: `{0}` is input 0, `{*}` all inputs, `{1?min}` becomes `, min=x` if input 1 is given,
and `{alpha=1.0}` is an attribute with its default."""

from __future__ import annotations

import re

from .registry import Reader, Row, Untranslatable, number, quoted, rows

# name, with the first version that a line is for after an @ if it is not 1.
_LINES = """
Abs: @abs({0})
Acos: @acos({0})
Acosh: @acosh({0})
Add@7: @add({0}, {1})
And@7: @logical_and({0}, {1})
Asin: @asin({0})
Asinh: @asinh({0})
Atan: @atan({0})
Atanh: @atanh({0})
BitwiseAnd: @bitwise_and({0}, {1})
BitwiseNot: @bitwise_invert({0})
BitwiseOr: @bitwise_or({0}, {1})
BitwiseXor: @bitwise_xor({0}, {1})
Ceil: @ceil({0})
Clip@11: @clip({0}{1?min}{2?max})
Concat@4: @concat([{*}], axis={axis})
Cos: @cos({0})
Cosh: @cosh({0})
Det: @onnx.det({0})
Div@7: @onnx.div({0}, {1})
DynamicQuantizeLinear@11: @onnx.dynamic_quantize({0})
Einsum: @einsum({equation=""}, [{*}])
Elu: @elu({0}, alpha={alpha=1.0})
Equal@7: @equal({0}, {1})
Exp: @exp({0})
Expand: @onnx.expand({0}, {1})
Flatten: @onnx.flatten({0}, axis={axis=1})
Floor: @floor({0})
Gather: @take({0}, {1}, axis={axis=0})
GatherElements: @gather_elements({0}, {1}, axis={axis=0})
GatherND: @gather_nd({0}, {1}, batch_dims={batch_dims=0})
Gelu: @gelu({0}, approximate={approximate="none"})
GlobalAveragePool: @global_average_pool({0})
GlobalMaxPool: @global_max_pool({0})
Greater@7: @greater({0}, {1})
GreaterOrEqual: @greater_equal({0}, {1})
Hardmax@13: @onnx.hardmax({0}, axis={axis=-1})
HardSigmoid: @hard_sigmoid({0}, alpha={alpha=0.2}, beta={beta=0.5})
HardSwish: @hard_swish({0})
Identity: {0}
InstanceNormalization: @instance_normalization({0}, {1}, {2}, epsilon={epsilon=1e-5})
IsNaN: @isnan({0})
LeakyRelu: @leaky_relu({0}, alpha={alpha=0.01})
Less@7: @less({0}, {1})
LessOrEqual: @less_equal({0}, {1})
Log: @log({0})
LogSoftmax@13: @log_softmax({0}, axis={axis=-1})
LpNormalization: @onnx.lp_normalization({0}, axis={axis=-1}, p={p=2})
LRN: @lrn({0}, {size}, alpha={alpha=1e-4}, beta={beta=0.75}, bias={bias=1.0})
MatMul: @matmul({0}, {1})
MatMulInteger@10: @onnx.matmul_integer({0}, {1}{2?x_zero}{3?y_zero})
Mish: @mish({0})
Mul@7: @multiply({0}, {1})
Neg: @negative({0})
NonZero@9: @onnx.nonzero({0})
Not: @logical_not({0})
OptionalGetElement@15: @onnx.optional_get({0})
Or@7: @logical_or({0}, {1})
Pow@7: @onnx.pow({0}, {1})
QLinearMatMul@10: @onnx.qlinear_matmul({*})
Range@11: @onnx.range({0}, {1}, {2})
Reciprocal: @reciprocal({0})
RegexFullMatch@20: @onnx.regex_full_match({0}, {pattern=""})
Relu: @relu({0})
Round: @round({0})
SequenceAt@11: @onnx.sequence_at({0}, {1})
SequenceConstruct@11: @onnx.sequence([{*}])
SequenceErase@11: @onnx.sequence_erase({0}{1?position})
SequenceInsert@11: @onnx.sequence_insert({0}, {1}{2?position})
SequenceLength@11: @onnx.sequence_length({0})
Sigmoid: @sigmoid({0})
Sign: @sign({0})
Sin: @sin({0})
Sinh: @sinh({0})
Size: @size({0})
Softmax@13: @softmax({0}, axis={axis=-1})
Softplus: @softplus({0})
Softsign: @softsign({0})
Sqrt: @sqrt({0})
StringConcat@20: @onnx.string_concat({0}, {1})
Sub@7: @subtract({0}, {1})
Tan: @tan({0})
Tanh: @tanh({0})
Where: @where({0}, {1}, {2})
Xor@7: @logical_xor({0}, {1})
"""

_SLOT = re.compile(r"\{(?:(\d+)(?:\?(\w+))?|(\*)|(\w+)(?:=([^}]*))?)\}")


def _row(template: str) -> Row:
    """A row that fills a template in."""
    return lambda node: _SLOT.sub(lambda slot: _filled(node, slot), template)


def _filled(node: Reader, slot: re.Match[str]) -> str:
    at, optional, everything, attribute, default = slot.groups()
    if everything:
        return ", ".join(node.xs())
    if at is not None:
        return node.optional(int(at), optional) if optional else node.x(int(at))
    found = node.attribute(attribute)
    if found is None and default is None:
        raise Untranslatable(f"its attribute `{attribute}` is missing")
    if found is None:
        return default
    if default is not None and default.startswith('"'):
        return quoted(node.string(attribute, ""))
    if default is None or default.lstrip("-").isdecimal():
        return str(node.integer(attribute))
    return number(node.number(attribute, 0.0))


rows({head: _row(text) for head, _, text in (line.partition(": ") for line in _LINES.strip().splitlines())})
