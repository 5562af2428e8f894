"""Kernels of layers, convolution and pooling that write nodes of ONNX."""

from __future__ import annotations

from math import prod

from onnx import helper

from ...lang.dtypes import DType
from ..engine_types import EngineArray as Array, EngineResult, EngineSize, EngineSizes, NodeAttribute, RunValue
from .onnx_graph import elem_type, literal
from .onnx_kernels import Emit, Emitter, kernel
from .symbolic import Dim, Truth, both, compared
from .table import Refused

# Layers


@kernel("linear")
def linear(e: Emit, x: Array, weight: Array, bias: Array | None) -> str:
    """Over rows one below the other, to which the bias is added in place."""
    if bias is None or x.dtype.name != "float32" or len(x.shape) < 2:
        raise Refused("such operands")
    is_flat = len(x.shape) == 2
    rows = (
        x.value
        if is_flat
        else e.node("Reshape", x.value, e.graph.sizes((prod(x.shape[:-1]), x.shape[-1])), allowzero=1)
    )
    made = e.node("Gemm", rows, weight.value, bias.value, transB=1)
    return made if is_flat else e.node("Reshape", made, e.graph.sizes(e.out.shape), allowzero=1)  # type: ignore[no-any-return]


@kernel("layer_norm")
def layer_norm(e: Emit, x: Array, scale: Array, bias: Array | None, axis: int, epsilon: float) -> str:
    if any(isinstance(n, Dim) or n == 0 for n in x.shape[axis:]):  # it refuses rows of nothing
        raise Refused("these arguments")
    given = [x.value, scale.value, *([] if bias is None else [bias.value])]
    return e.node("LayerNormalization", *given, axis=axis, epsilon=epsilon)  # type: ignore[no-any-return]


@kernel("batch_normalization")
def batch_normalization(
    e: Emit, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, layout: str
) -> str:
    if layout != "channels_first":
        raise Refused("these arguments")
    names = (a.value for a in (x, scale, bias, mean, variance))
    return e.node("BatchNormalization", *names, epsilon=epsilon)  # type: ignore[no-any-return]


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


def _first(layout: str) -> None:
    if layout != "channels_first":
        raise Refused("images with the channels last")


def _window(
    strides: EngineSizes, pads: EngineSizes, auto_pad: str, dilations: EngineSizes, count: int
) -> dict[str, NodeAttribute]:
    found: dict[str, NodeAttribute] = {"strides": _spread(strides, count, 1), "dilations": _spread(dilations, count, 1)}
    if auto_pad == "notset":
        found["pads"] = _pads(pads, count)
    else:
        found["auto_pad"] = auto_pad.upper()
    return found


def conv(
    e: Emit, x: Array, weight: Array, bias: Array | None, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    dilations: EngineSizes, groups: EngineSize, layout: str,
) -> str:  # fmt: skip
    _first(layout)
    if x.dtype.name not in ("float32", "float64") or x.dtype.bits == 64 and len(x.shape) > 4:
        raise Refused(f"tensors of {x.dtype}")
    window = _window(strides, pads, auto_pad, dilations, len(x.shape) - 2)
    given = [x.value, weight.value, *([] if bias is None else [bias.value])]
    return e.node("Conv", *given, group=_numbers([groups], "groups")[0], **window)  # type: ignore[no-any-return]


def conv_transpose(
    e: Emit, x: Array, weight: Array, bias: Array | None, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    output_padding: EngineSizes, output_shape: EngineSizes, dilations: EngineSizes, groups: EngineSize, layout: str,
) -> str:  # fmt: skip
    _first(layout)
    if output_shape is not None or auto_pad != "notset" or x.dtype.kind != "float":
        raise Refused(f"`output_shape`, `auto_pad` or tensors of {x.dtype}")
    count = len(x.shape) - 2
    window = _window(strides, pads, auto_pad, dilations, count)
    given = [x.value, weight.value, *([] if bias is None else [bias.value])]
    more = _spread(output_padding, count, 0)
    group = _numbers([groups], "groups")[0]
    return e.node("ConvTranspose", *given, group=group, output_padding=more, **window)  # type: ignore[no-any-return]


def max_pool(
    e: Emit, x: Array, kernel_shape: EngineSizes, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    dilations: EngineSizes, ceil_mode: bool, layout: str,
) -> str:  # fmt: skip
    _first(layout)
    count = len(x.shape) - 2
    sizes = _spread(kernel_shape, count, 1)
    window = _window(sizes if strides is None else strides, pads, auto_pad, dilations, count)
    if x.dtype.name not in ("float32", "float64", "int8", "uint8"):
        raise Refused(f"tensors of {x.dtype}")
    if ceil_mode:
        raise Refused("`ceil_mode`")
    return e.node("MaxPool", x.value, kernel_shape=sizes, **window)  # type: ignore[no-any-return]


def average_pool(
    e: Emit, x: Array, kernel_shape: EngineSizes, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    dilations: EngineSizes, ceil_mode: bool, count_include_pad: bool, layout: str,
) -> str:  # fmt: skip
    _first(layout)
    count = len(x.shape) - 2
    sizes = _spread(kernel_shape, count, 1)
    window = _window(sizes if strides is None else strides, pads, auto_pad, dilations, count)
    if ceil_mode or x.dtype.name != "float32":
        raise Refused(f"`ceil_mode` or tensors of {x.dtype}")
    include = int(count_include_pad)
    return e.node("AveragePool", x.value, kernel_shape=sizes, count_include_pad=include, **window)  # type: ignore[no-any-return]


def or_nothing(run: Emitter, images: int) -> Emitter:
    """A kernel that is asked for nothing where its result, or one of its first operands, has no elements: onnxruntime's own
    refuse that."""

    def guarded(e: Emit, *args: RunValue) -> EngineResult:
        if not e.guarded:
            return run(e, *args)
        sizes = [prod(x.shape) for x in (e.out, *args[:images])]
        some = both("and", *(compared("<=", 1, size) for size in sizes))
        if not isinstance(some, Truth):
            return run(e, *args) if some else _nothing(e, args[2] if images == 2 else None)
        assert isinstance(e.out.dtype, DType)
        arms = []
        for make in (lambda inner: run(inner, *args), lambda inner: _nothing(inner, args[2] if images == 2 else None)):
            graph = e.graph.inner()
            name = graph.ended(make(Emit(graph, e.outs)))
            arms.append(graph.proto(name, [], [helper.make_tensor_value_info(name, elem_type(e.out.dtype), None)]))
        cond = e.graph.truth(some)
        return e.graph.add("If", (cond,), 1, {"then_branch": arms[0], "else_branch": arms[1]})[0]

    return guarded


def _nothing(e: Emit, bias: Array) -> str:
    """What a sum of nothing is: the bias of each channel."""
    assert isinstance(e.out.dtype, DType)
    if bias is None:
        given = e.graph.constant(literal(0, e.out.dtype))
    else:
        given = e.node("Unsqueeze", bias.value, e.ints(range(1, len(e.out.shape) - 1)))
    return e.node("Expand", given, e.graph.sizes(e.out.shape))  # type: ignore[no-any-return]


_KERNELS: dict[str, tuple[Emitter, int]] = {
    "conv": (conv, 2), "conv_transpose": (conv_transpose, 2), "max_pool": (max_pool, 0), "average_pool": (average_pool, 0)
}  # fmt: skip
for _name, (_function, _images) in _KERNELS.items():
    for _suffix in ("", "1d", "2d", "3d"):
        kernel(_name + _suffix)(or_nothing(_function, _images))
