"""Kernels of products, layers, convolution and pooling that write nodes of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnx import helper

from ...lang.dtypes import DType
from ..engine_types import EngineArray as Array, EngineResult, EngineSize, EngineSizes, NodeAttribute, RunValue
from . import composed_turns, expressions
from .onnx_graph import elem_type, literal
from .onnx_kernels import KERNELS, Emit, Emitter, kernel, names_of, refused  # noqa: F401 - words of the rows
from .symbolic import Dim, Truth, both, compared
from .table import Refused

# Products


@kernel("einsum")
def einsum(e: Emit, equation: str, xs: Sequence[Array]) -> EngineResult:
    """Write an Einsum. ONNX's `...` stands for as many axes in all operands: lacking ones are added, with size 1."""
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    hidden = [len(x.shape) - len(t.replace("...", "")) if "..." in t else None for t, x in zip(terms, xs, strict=True)]
    most, names = max((n for n in hidden if n is not None), default=0), []
    for term, count, x in zip(terms, hidden, xs, strict=True):
        first = term.find("...")
        lacking = range(first, first + most - count) if count is not None else ()
        names.append(e.node("Unsqueeze", x.value, e.ints(lacking)) if lacking else x.value)
    return either(
        e,
        filled(*(prod(x.shape) for x in xs)),
        lambda e: e.over("Einsum", xs[0].dtype, *names, last=len(xs), equation=equation),
        lambda e: e.node("Expand", e.graph.constant(literal(0, e.out.dtype)), e.graph.sizes(e.out.shape)),
    )


def filled(*counts: EngineSize) -> bool | Truth | None:
    """Whether all counts are at least 1: onnxruntime refuses operands without elements, returns arbitrary memory, or its
    process ends."""
    return both("and", *(compared("<=", 1, count) for count in counts))


def either(e: Emit, cond: bool | Truth | None, run: Emitter, other: Emitter) -> EngineResult:
    """Write both kernels, and return the result of the one that a condition chooses."""
    if not isinstance(cond, Truth):
        return run(e) if cond else other(e)
    arms = []
    for make in (run, other):
        graph = e.graph.inner()
        made = make(Emit(graph, e.outs, e.engine))
        names = [graph.ended(name) for name in (made if isinstance(made, tuple) else (made,))]
        types = [elem_type(out.dtype) for out in e.outs if isinstance(out.dtype, DType)]
        infos = [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types, strict=True)]
        arms.append(graph.proto(names[0], [], infos))
    found = e.graph.add("If", (e.graph.truth(cond),), len(e.outs), {"then_branch": arms[0], "else_branch": arms[1]})
    return found if len(found) > 1 else found[0]


# Layers, some of which take turns

_LAYERS = """
layer_norm | LayerNormalization(x, scale, *names_of(bias), axis=axis, epsilon=epsilon) if all(
    [isinstance(n, int) and n for n in x.shape[axis:]]) else refused("rows of nothing")
batch_normalization | BatchNormalization(x, scale, bias, mean, variance, epsilon=epsilon) if (
    layout == "channels_first") else refused("these arguments")
linear | refused("such operands") if bias is None or x.dtype.name != "float32" or len(x.shape) < 2 else (
    Gemm(x, weight, bias, transB=1) if len(x.shape) == 2 else Reshape(
    Gemm(Reshape(x, e.graph.sizes((prod(x.shape[:-1]), x.shape[-1])), allowzero=1), weight, bias, transB=1),
    e.graph.sizes(e.out.shape), allowzero=1))
rnn | turns(e, "RNN", x, w, r, b, (initial_h,), direction, layout, composed_turns.rnn_turn(activation),
    activations=[activation.title()] * (1 + (direction == "bidirectional")))
lstm | turns(e, "LSTM", x, w, r, b, (initial_h, initial_c), direction, layout, composed_turns.lstm_turn)
gru | turns(e, "GRU", x, w, r, b, (initial_h,), direction, layout, composed_turns.gru_turn(linear_before_reset),
    linear_before_reset=int(linear_before_reset))
"""


def turns(
    e: Emit, op: str, x: Array, w: Array, r: Array, b: Array | None, initial: Sequence[Array | None], direction: str,
    layout: str, begin: RunValue, **more: NodeAttribute,
) -> EngineResult:  # fmt: skip
    """Write a layer as one node, with time as the first axis. Without steps, or with infinite numbers or NaN, the node gives
    something else, and turns are taken."""
    hidden, given = r.shape[-1], (x, w, r, b, *initial)
    if x.dtype.name != "float32" or not all(isinstance(n, int) and n for n in (hidden, x.shape[-1])):
        raise Refused("such operands")

    def turned(e: Emit, name: str, *order: int) -> str:
        return e.node("Transpose", name, perm=order) if layout == "batch_first" else name

    def run(e: Emit) -> EngineResult:
        values = ["" if v is None else v.value for v in given]
        names = [n if not n or 0 < i < 4 else turned(e, n, 1, 0, 2) for i, n in enumerate(values)]
        named = {"hidden_size": hidden, "direction": direction, **more}
        steps, *last = e.node(op, *names[:4], "", *names[4:], outputs=1 + len(initial), **named)
        return turned(e, steps, 2, 0, 1, 3), *(turned(e, s, 1, 0, 2) for s in last)

    def by_turns(e: Emit) -> EngineResult:
        with e.engine.within(e.graph):
            made = composed_turns.layer(e.engine.ops, begin, x, w, r, b, direction, layout, *initial)
        return tuple(v.value for v in made)

    squares = [e.node("ReduceSumSquare", v.value, keepdims=0) for v in given if v is not None]
    small = e.node("Less", e.node("Sum", *squares), e.graph.constant(literal(1e30, x.dtype)))
    return either(e, both("and", filled(prod(x.shape[:2])), Truth("value", small)), run, by_turns)


KERNELS.update(expressions.kernels(_LAYERS, globals(), "e", expressions.Nodes))


# Windows


def _numbers(values: EngineSizes, what: str) -> list[int]:
    if any(isinstance(v, Dim) for v in values):
        raise Refused(f"{what} that are known at a call only")
    return [int(v) for v in values]


def _spread(values: EngineSizes, count: int, default: int) -> list[int]:
    given = [default] * count if values is None else list(values)
    return _numbers(given * count if len(given) == 1 else given, "strides, dilations and kernels")


def _pads(pads: EngineSizes, count: int) -> list[int]:
    pairs = [(0, 0)] * count if pads is None else list(pads)
    pairs = pairs * count if len(pairs) == 1 else pairs
    return _numbers([low for low, _ in pairs] + [high for _, high in pairs], "pads")


def _window(
    strides: EngineSizes, pads: EngineSizes, auto_pad: str, dilations: EngineSizes, count: int
) -> dict[str, NodeAttribute]:
    found: dict[str, NodeAttribute] = {"strides": _spread(strides, count, 1), "dilations": _spread(dilations, count, 1)}
    if auto_pad == "notset":
        found["pads"] = _pads(pads, count)
    else:
        found["auto_pad"] = auto_pad.upper()
    return found


def _pooled(window: dict[str, NodeAttribute], ceil_mode: bool) -> dict[str, int]:
    """Only dilated windows may contain padding alone, for which onnxruntime gives something else: they are refused."""
    if max(window["dilations"], default=1) > 1 and any(window.get("pads", (1,))):
        raise Refused("dilated windows over padding")
    if ceil_mode and "auto_pad" in window:
        raise Refused("`ceil_mode` beside `auto_pad`")
    return {"ceil_mode": int(ceil_mode)}


def or_nothing(run: Emitter, images: int) -> Emitter:
    """A kernel that is not run if its result, or one of its first operands, has no elements: onnxruntime's own refuse
    that."""

    def guarded(e: Emit, *args: RunValue) -> EngineResult:
        bias, some = args[2] if images == 2 else None, filled(*(prod(x.shape) for x in (e.out, *args[:images])))
        if not e.guarded or some is None:
            return run(e, *args)
        return either(e, some, lambda inner: run(inner, *args), lambda inner: _nothing(inner, bias))

    return guarded


def _nothing(e: Emit, bias: Array) -> str:
    """The result of an empty sum: the bias of each channel."""
    assert isinstance(e.out.dtype, DType)
    if bias is None:
        given = e.graph.constant(literal(0, e.out.dtype))
    else:
        given = e.node("Unsqueeze", bias.value, e.ints(range(1, len(e.out.shape) - 1)))
    return e.node("Expand", given, e.graph.sizes(e.out.shape))  # type: ignore[no-any-return]


_WINDOWS = """
conv | Conv(*names_of(x, weight, bias), group=_numbers([groups], "groups")[0],
    **_window(strides, pads, auto_pad, dilations, len(x.shape) - 2)) if (
    layout == "channels_first" and x.dtype.name == "float32") else refused(f"channels last or tensors of {x.dtype}")
conv_transpose | ConvTranspose(*names_of(x, weight, bias), group=_numbers([groups], "groups")[0],
    output_padding=_spread(output_padding, len(x.shape) - 2, 0),
    **_window(strides, pads, auto_pad, dilations, len(x.shape) - 2)) if (
    layout == "channels_first" and output_shape is None and auto_pad == "notset" and x.dtype.name == "float32"
    ) else refused(f"channels last, `output_shape`, `auto_pad` or tensors of {x.dtype}")
max_pool | MaxPool(x, kernel_shape=(sizes := _spread(kernel_shape, len(x.shape) - 2, 1)),
    **(window := _window(sizes if strides is None else strides, pads, auto_pad, dilations, len(sizes))),
    **_pooled(window, ceil_mode)) if layout == "channels_first" and x.dtype.name in (
    "float32", "float64", "int8", "uint8") else refused(f"channels last or tensors of {x.dtype}")
average_pool | AveragePool(x, kernel_shape=(sizes := _spread(kernel_shape, len(x.shape) - 2, 1)),
    **(window := _window(sizes if strides is None else strides, pads, auto_pad, dilations, len(sizes))),
    count_include_pad=int(count_include_pad), **_pooled(window, ceil_mode)) if (
    layout == "channels_first" and x.dtype.name == "float32") else refused(f"channels last or tensors of {x.dtype}")
"""
for _name, _function in expressions.kernels(_WINDOWS, globals(), "e", expressions.Nodes):
    for _suffix in ("", "1d", "2d", "3d"):
        KERNELS[_name + _suffix] = or_nothing(_function, 2 * _name.startswith("conv"))
