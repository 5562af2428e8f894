"""Operators of onnxruntime's domain com.microsoft, most of which fuse several operators."""

from __future__ import annotations

from collections.abc import Callable

from . import images, shapes
from .math import gemm
from .registry import Reader, Row, Untranslatable, add, listed, number, operator, rows
from .windows import pairs, pooling, spaced

DOMAIN = "com.microsoft"


def _own(name: str) -> Callable[[Row], Row]:
    return operator(name, 1, DOMAIN)


# Activations


def _biased(node: Reader) -> str:
    """The sum of an operand and a bias, which is broadcast to its shape."""
    return f"{node.x(0)} + @broadcast_to({node.x(1)}, {node.x(0)}.shape)"


@_own("FastGelu")
def fast_gelu(node: Reader) -> str:
    x = _biased(node) if node.has(1) else node.x(0)
    return f'@gelu({x}, approximate="tanh")'


# Products


@_own("FusedMatMul")
@_own("TransposeMatMul")
def fused_matmul(node: Reader) -> str:
    sides = (
        f"@matrix_transpose({_batches(node, at, batch)})" if node.integer(name, 0) else _batches(node, at, batch)
        for at, name, batch in ((0, "transA", "transBatchA"), (1, "transB", "transBatchB"))
    )
    text, alpha = f"@matmul({', '.join(sides)})", node.number("alpha", 1.0)
    return text if alpha == 1.0 else f"{number(alpha)} * {text}"


def _batches(node: Reader, at: int, flag: str) -> str:
    """The operand, with its first axis moved behind the other batch axes if the attribute says so."""
    return f"@moveaxis({node.x(at)}, 0, -2)" if node.integer(flag, 0) else node.x(at)


# The expression of each activation, and the defaults of its parameters.
_ACTIVATIONS: dict[str, tuple[str, tuple[float, ...]]] = {
    "Relu": ("@relu({})", ()),
    "Tanh": ("@tanh({})", ()),
    "Sigmoid": ("@sigmoid({})", ()),
    "Softplus": ("@softplus({})", ()),
    "Softsign": ("@softsign({})", ()),
    "LeakyRelu": ("@leaky_relu({}, alpha={})", (0.01,)),
    "Elu": ("@elu({}, alpha={})", (1.0,)),
    "HardSigmoid": ("@hard_sigmoid({}, alpha={}, beta={})", (0.2, 0.5)),
    "Clip": ("@clip({}, min={}, max={})", ()),
}


def _activated(node: Reader, text: str, attributes: tuple[float, ...] = ()) -> str:
    name = node.word("activation", "")
    if not name:
        return text
    template, usual = _ACTIVATIONS.get(name, ("", ()))
    given = attributes or tuple(
        node.number(f"activation_{which}", default) for which, default in zip(("alpha", "beta"), usual, strict=False)
    )
    if template.count("{}") != 1 + len(given):
        raise Untranslatable(f"has the activation {name} with {len(given)} numbers, which Rx has not")
    return template.format(text, *map(number, given))


@_own("FusedConv")
def fused_conv(node: Reader) -> str:
    group = node.integer("group", 1)
    shaped = spaced(node, "strides", "pads", "dilations", filters=1) + ("" if group == 1 else f", groups={group}")
    text = f"@conv({node.x(0)}, {node.of_kernel(1)}{node.optional(2, 'bias')}{shaped})"
    found = node.attribute("activation_params")
    given = tuple(float(v) for v in found if isinstance(v, int | float)) if isinstance(found, tuple) else ()
    return _activated(node, f"{text} + {node.x(3)}" if node.has(3) else text, given)


# Normalisation


def _layer(node: Reader, x: str, scale: int, bias: int | None) -> str:
    epsilon = number(node.number("epsilon", 1e-12))
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
    """onnxruntime's operator, in the default domain."""
    if node.outputs() > 1:
        raise Untranslatable("gives deviations")
    epsilon = number(node.number("epsilon", 1e-5))
    return f"@rms_norm({node.x(0)}, {node.x(1)}, axis={node.integer('axis', -1)}, epsilon={epsilon})"


@_own("EmbedLayerNormalization")
def embed_layer_normalization(node: Reader) -> str:
    """Rows of tables of words, places and segments, their normalised sum; the numbers of words that count; and the sum."""
    tables = [node.x(2), node.x(3), node.x(4) if node.has(4) else None]
    return embedded(node, tables, _scales(node, 5, 6), 7, 8)


def _scales(node: Reader, scale: int, bias: int) -> str:
    return f"{node.x(scale)}, bias={node.x(bias)}"


def _rows(table: str | None, ids: str) -> str:
    """Rows of a table; negative indices are not counted from its end, but are out of range."""
    return f"@take({table}, @cast({ids}, uint64), axis=0)"


def embedded(node: Reader, tables: list[str | None], scales: str, mask: int, positions: int) -> str:
    words, places, segments = tables
    ids = node.x(0)
    at = _rows(places, node.x(positions)) if node.has(positions) else f"@slice({places}, [0], [{ids}.dim(1)])"
    total = f"{_rows(words, ids)} + {at}"
    total += f" + {_rows(segments, node.x(1))}" if segments is not None and node.has(1) else ""
    total = node.let("total", total)
    made = f"@layer_norm({total}, {scales}, axis=-1, epsilon={number(node.number('epsilon', 1e-12))})"
    if node.outputs() < 2:
        return made
    counts = f"@cast(@sum({node.x(mask)}, axis=1), int32)" if node.has(mask) else f"@zeros([{ids}.dim(0)], int32)"
    return f"({', '.join((made, counts, total)[: node.outputs()])})"


@_own("GroupNorm")
def group_norm(node: Reader) -> str:
    """Group normalisation, with channels last unless the attribute says otherwise."""
    groups, epsilon = node.integer("groups"), number(node.number("epsilon", 1e-5))
    x, last = node.x(0), node.integer("channels_last", 1)
    x = f"@moveaxis({x}, -1, 1)" if last else x
    text = f"@group_normalization({x}, {node.x(1)}, {node.x(2)}, {groups}, epsilon={epsilon})"
    text = f"@moveaxis({text}, 1, -1)" if last else text
    return f"@silu({text})" if node.integer("activation", 0) else text


@_own("BiasSplitGelu")
def bias_split_gelu(node: Reader) -> str:
    left, right = node.parts(f"@split({node.x(0)} + {node.x(1)}, 2, axis=-1)", 2)
    return f"{left} * @gelu({right})"


# Windows with channels in the last axis


@_own("NhwcConv")
def nhwc_conv(node: Reader) -> str:
    group = node.integer("group", 1)
    shaped = spaced(node, "strides", "pads", "dilations", filters=1) + ("" if group == 1 else f", groups={group}")
    weight = f"@moveaxis({node.of_kernel(1, channels_last=True)}, -1, 1)"
    return f'@conv({node.x(0)}, {weight}{node.optional(2, "bias")}{shaped}, layout="channels_last")'


@_own("NhwcMaxPool")
def nhwc_max_pool(node: Reader) -> str:
    kernel = pooling(node)
    ceil = ", ceil_mode=true" if node.integer("ceil_mode", 0) else ""
    shaped = spaced(node, "strides", "pads", "dilations", strides=", strides=[1]")
    text = f"@onnx.max_pool(@moveaxis({node.x(0)}, -1, 1), {listed(kernel)}{shaped}{ceil})"
    return f"@moveaxis({text}, 1, -1)"


@_own("ConvTransposeWithDynamicPads")
def conv_transpose_with_pads(node: Reader) -> str:
    pads = node.elements(2) if node.has(2) else ()
    if pads is None:
        raise Untranslatable("has pads that are computed")
    group = node.integer("group", 1)
    shaped = spaced(node, "strides", "output_padding", "dilations", filters=1) + (
        "" if group == 1 else f", groups={group}"
    )
    if any(pads):
        shaped += f", pads={pairs(pads)}"
    return f"@conv_transpose({node.x(0)}, {node.of_kernel(1)}{node.optional(3, 'bias')}{shaped})"


# Operators that ONNX got later, or does not have


for _name, _row in (
    ("Trilu", shapes.trilu), ("Pad", shapes.pad), ("GridSample", images.grid_sample),
):  # fmt: skip
    add(_name, _row, 1, DOMAIN)


@_own("Range")
def range_(node: Reader) -> str:
    """Range, with steps of 1 by default."""
    step = node.x(2) if node.has(2) else f"@ones_like({node.x(0)})"
    return f"@onnx.range({node.x(0)}, {node.x(1)}, {step})"


@_own("Unique")
def unique(node: Reader) -> str:
    """Unique values, in the order of their first places."""
    values, _, which, counts = node.parts(f"@onnx.unique({node.x(0)}, sorted=false)", 4)
    found = (values, which, counts)[: node.outputs()]
    return found[0] if len(found) == 1 else f"({', '.join(found)})"


@_own("CDist")
def cdist(node: Reader) -> str:
    x, y = node.x(0), node.x(1)
    apart = f"@square(@expand_dims({x}, axis=1) - @expand_dims({y}, axis=0))"
    text = f"@sum({apart}, axis=-1)"
    return text if node.word("metric", "sqeuclidean") == "sqeuclidean" else f"@sqrt({text})"


@_own("ExpandDims")
def expand_dims(node: Reader) -> str:
    axes = node.elements(1)
    if axes is None:
        return f"@onnx.unsqueeze({node.x(0)}, @cast({node.x(1)}, int64))"
    return f"@expand_dims({node.x(0)}, axis={axes[0]})"


rows(
    {
        "Gelu": lambda node: f"@gelu({node.x(0)})",
        "BiasGelu": lambda node: f"@gelu({_biased(node)})",
        "QuickGelu": lambda node: f"{node.x(0)} * @sigmoid({number(node.number('alpha', 1.702))} * {node.x(0)})",
        "FusedGemm": lambda node: _activated(node, gemm(node)),
        "BiasAdd": lambda node: f"{node.x(0)} + {node.x(1)} + {node.x(2)}",
        "Inverse": lambda node: f"@inv({node.x(0)})",
        "SampleOp": lambda node: node.x(0),
    },
    DOMAIN,
)
