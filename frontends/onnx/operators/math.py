"""Operators that compute: reductions, arithmetic of many operands, products, normalisation."""

from __future__ import annotations

import re
from math import isfinite

from .registry import Reader, Row, add, listed, number, operator, rows

# Reductions: our primitives for each, with `onnx.` where ONNX's takes more dtypes than ours.
_REDUCTIONS = {
    "ReduceSum": "@sum({x}{along})", "ReduceMean": "@onnx.mean({x}{along})", "ReduceProd": "@prod({x}{along})",
    "ReduceMax": "@onnx.max({x}{along})", "ReduceMin": "@onnx.min({x}{along})",
    "ReduceL1": "@sum(@abs({x}){along})", "ReduceL2": "@onnx.root(@sum(@square({x}){along}))",
    "ReduceLogSum": "@onnx.log(@sum({x}{along}))", "ReduceLogSumExp": "@onnx.logsumexp({x}{along})",
    "ReduceSumSquare": "@sum(@square({x}){along})",
}  # fmt: skip
# The version that takes the axes as an input instead of an attribute.
_AXES_SINCE = {"ReduceSum": 13}


def _reduction(name: str, template: str, by_input: bool) -> Row:
    def row(node: Reader) -> str:
        axes = node.elements(1) if by_input else node.integers("axes")
        if by_input and node.has(1) and axes is None:
            how = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removeprefix("Reduce")).lower()
            flags = "" if node.integer("keepdims", 1) else ", keepdims=false"
            flags += ", noop=true" if node.integer("noop_with_empty_axes", 0) else ""
            return f'@onnx.reduce({node.x(0)}, {node.x(1)}, how="{how}"{flags})'
        if not axes and node.integer("noop_with_empty_axes", 0):
            axes = ()
            along = ", axis=[]"
        else:
            along = f", axis={listed(axes)}" if axes else ""
        along += ", keepdims=true" if node.integer("keepdims", 1) else ""
        return template.format(x=node.x(0), along=along)

    return row


for _name, _template in _REDUCTIONS.items():
    add(_name, _reduction(_name, _template, by_input=False))
    add(_name, _reduction(_name, _template, by_input=True), _AXES_SINCE.get(_name, 18))


def _arg(name: str) -> Row:
    def row(node: Reader) -> str:
        keep = "true" if node.integer("keepdims", 1) else "false"
        last = ", last=true" if node.integer("select_last_index", 0) else ""
        return f"@onnx.{name}({node.x(0)}, axis={node.integer('axis', 0)}, keepdims={keep}{last})"

    return row


add("ArgMax", _arg("argmax"))
add("ArgMin", _arg("argmin"))


# The deepest nesting of calls; longer sums get names in between.
_NESTED = 16


def _many(name: str) -> Row:
    """An operator of any number of operands, by the one of two, from left to right as onnxruntime evaluates it."""

    def row(node: Reader) -> str:
        made = node.x(0)
        for at, right in enumerate(node.xs()[1:], 1):
            made = f"@{name}({node.let(name, made) if at % _NESTED == 0 else made}, {right})"
        return made

    return row


def _mean(node: Reader) -> str:
    return f"{_many('add')(node)} / {len(node)}.0"


def _alike(row: Row) -> Row:
    """Before version 8: without broadcasting."""

    def alike(node: Reader) -> str:
        for other in dict.fromkeys(node.xs()[1:]):
            node.scope.demand(f"{other}.shape == {node.x(0)}.shape")
        return row(node)

    return alike


for _name, _row in (("Sum", _many("add")), ("Max", _many("maximum")), ("Min", _many("minimum")), ("Mean", _mean)):
    add(_name, _row, 8)
    add(_name, _alike(_row))


@operator("Mod", 10)
def mod(node: Reader) -> str:
    return (
        f"@onnx.fmod({node.x(0)}, {node.x(1)})" if node.integer("fmod", 0) else f"@onnx.mod({node.x(0)}, {node.x(1)})"
    )


_MOST_32 = 3.4028234663852886e38  # the largest number of float32


@operator("Clip", 6)
def clip_attributes(node: Reader) -> str:
    least, most = (number(node.number(side, end)) for side, end in (("min", -_MOST_32), ("max", _MOST_32)))
    return f"@clip({node.x(0)}, min={least}, max={most})"


@operator("IsInf", 10)
def isinf(node: Reader) -> str:
    positive, negative = node.integer("detect_positive", 1), node.integer("detect_negative", 1)
    if positive and negative:
        return f"@isinf({node.x(0)})"
    return f"@onnx.isinf({node.x(0)}, positive={'true' if positive else 'false'}, negative={'true' if negative else 'false'})"


def _coerced(name: str) -> Row:
    """Before version 13: over all axes from `axis` on."""
    return lambda node: f"@onnx.{name}_from({node.x(0)}, axis={node.integer('axis', 1)})"


for _name, _ours in (("Softmax", "softmax"), ("LogSoftmax", "log_softmax"), ("Hardmax", "hardmax")):
    add(_name, _coerced(_ours))


@operator("Gemm", 7)
def gemm(node: Reader) -> str:
    """alpha * a @ b + beta * c, with a and b transposed if the attributes say so."""
    a, b = (
        f"@matrix_transpose({node.x(at)})" if node.integer(name, 0) else node.x(at)
        for at, name in ((0, "transA"), (1, "transB"))
    )
    text = f"@matmul({a}, {b})"
    if node.number("alpha", 1.0) != 1.0:
        text = f"{_factor(node.number('alpha', 1.0))} * {text}"
    if node.has(2):
        beta, added = node.number("beta", 1.0), _onto_product(node)
        text += f" + {_times(beta, added)}"
    return text


def _times(factor: float, x: str) -> str:
    """A multiple of a tensor; for the factor 0 it is 0, even where the tensor is infinite or NaN."""
    return x if factor == 1.0 else f"@zeros_like({x})" if factor == 0 else f"{_factor(factor)} * {x}"


def _factor(value: float) -> str:
    """A factor for floats or integers: a whole number is written as an integer."""
    return number(int(value) if value.is_integer() else value)


def _onto_product(node: Reader) -> str:
    """The addend of the product, broadcast to its shape, unless it is a row of constants that surely fits."""
    held = node.constant_shape(2)
    if node.is_constant(1) and held is not None and len(held) < 3 and held[:-1] in ((), (1,)):
        return node.x(2)
    rows = f"{node.x(0)}.dim({int(bool(node.integer('transA', 0)))})"
    columns = f"{node.x(1)}.dim({int(not node.integer('transB', 0))})"
    return f"@broadcast_to({node.x(2)}, [{rows}, {columns}])"


@operator("LayerNormalization")
def layer_normalization(node: Reader) -> str:
    """The operator; before opset 17 it is onnxruntime's, whose optimiser writes it into models of any version."""
    more = f", axis={node.integer('axis', -1)}, epsilon={number(node.number('epsilon', 1e-5))}"
    is_plain = node.outputs() == 1 and all(_is_of_axes(node, at) for at in (1, 2) if node.has(at))
    given = f"({node.x(0)}, {node.x(1)}{node.optional(2, 'bias')}{more})"
    if is_plain:
        return f"@layer_norm{given}"
    text = f"@onnx.layer_normalization{given}"
    return f"{text}[0]" if node.outputs() == 1 else node.first_of(text, 3)


@operator("RMSNormalization", 23)
def rms_normalization(node: Reader) -> str:
    name = "rms_norm" if _is_of_axes(node, 1) else "onnx.rms_normalization"
    epsilon = number(node.number("epsilon", 1e-5))
    return f"@{name}({node.x(0)}, {node.x(1)}, axis={node.integer('axis', -1)}, epsilon={epsilon})"


def _is_of_axes(node: Reader, at: int) -> bool:
    """Whether a constant weight has exactly the normalised axes, none of size 1, so that it is not broadcast."""
    axis, rank, shape = node.integer("axis", -1), node.rank(0), node.constant_shape(at)
    count = -axis if axis < 0 else rank - axis if rank is not None else None
    return shape is not None and len(shape) == count and 1 not in shape


@operator("GroupNormalization", 21)
def group_normalization(node: Reader) -> str:
    groups, epsilon = node.integer("num_groups"), number(node.number("epsilon", 1e-5))
    return f"@group_normalization({node.x(0)}, {node.x(1)}, {node.x(2)}, {groups}, epsilon={epsilon})"


@operator("GroupNormalization", 18)
def group_normalization_18(node: Reader) -> str:
    """Version 18, whose weights have an entry for each group."""
    x, groups, epsilon = node.x(0), node.integer("num_groups"), number(node.number("epsilon", 1e-5))
    scale, bias = (f"@repeat({node.x(at)}, {x}.dim(1) // {groups}, axis=0)" for at in (1, 2))
    return f"@group_normalization({x}, {scale}, {bias}, {groups}, epsilon={epsilon})"


@operator("PRelu", 7)
def prelu(node: Reader) -> str:
    """PRelu, with the slope broadcast to the shape of x."""
    x, slope = node.x(0), node.x(1)
    if node.constant_shape(1) != ():
        slope = f"@broadcast_to({slope}, {x}.shape)"
    return f"@where({x} < 0, {slope} * {x}, {x})"


@operator("Selu")
def selu(node: Reader) -> str:
    """gamma * alpha * (exp(x) - 1) up to 0, NaN at 0 if alpha is infinite; above 0 gamma * x."""
    x, alpha, gamma = node.x(0), node.number("alpha", 1.67326319), number(node.number("gamma", 1.05070102))
    if isfinite(alpha):
        return f"{gamma} * @elu({x}, alpha={number(alpha)})"
    return f"@where({x} > 0.0, {gamma} * {x}, {gamma} * ({number(alpha)} * @expm1({x})))"


def _is_whole(dtype: str | None) -> bool:
    return dtype is not None and "int" in dtype


@operator("Celu", 12)
def celu(node: Reader) -> str:
    alpha = number(node.number("alpha", 1.0))
    return f"@onnx.celu({node.x(0)}, alpha={alpha})"


@operator("ThresholdedRelu", 10)
def thresholded_relu(node: Reader) -> str:
    x = node.x(0)
    return f"@where({x} > {number(node.number('alpha', 1.0))}, {x}, @zeros_like({x}))"


@operator("Shrink", 9)
def shrink(node: Reader) -> str:
    x, bias, edge = node.x(0), number(node.number("bias", 0.0)), number(node.number("lambd", 0.5))
    return f"@onnx.shrink({x}, bias={bias}, lambd={edge})"


rows(
    {
        "BitShift@11": lambda node: (
            f"@bitwise_{node.word('direction', 'LEFT').lower()}_shift({node.x(0)}, {node.x(1)})"
        ),
        "Erf": lambda node: f"@{'onnx.' if _is_whole(node.dtype_of(0)) else ''}erf({node.x(0)})",
    }
)
