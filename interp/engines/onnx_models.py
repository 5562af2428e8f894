"""Kernels of the primitives that only imported models have: the nodes that they came from."""

from __future__ import annotations

from math import prod

from ...lang.dtypes import DTYPES
from ...ops import registry
from ...ops.model import Primitive
from ...sizes.partial import applied
from ..engine_types import Axes, EngineArray as Array, EngineResult, NodeAttribute, RunValue
from . import expressions
from .onnx_graph import elem_type  # noqa: F401 - a word of the rows
from .onnx_kernels import KERNELS, Emit, Emitter, axes_of, safe_divisor, total
from .symbolic import Dim  # noqa: F401 - a word of the rows
from .table import Refused

_ROWS = """
onnx.shape | Shape(x, start=start, end=end)
onnx.flatten | Flatten(x, axis=axis)
onnx.expand | Expand(x, shape)
onnx.unsqueeze | Unsqueeze(x, axes)
onnx.squeeze | Squeeze(x, axes)
onnx.reshape | Reshape(x, shape, allowzero=int(allowzero)) if any([not isinstance(d, int | Dim) for d in e.out.shape]
    ) else Reshape(x, e.graph.sizes(e.out.shape), allowzero=1)
onnx.slice | Slice(x, starts, ends, *given(axes, steps))
onnx.split | parts(e, "Split", x, sizes, axis=axis)
onnx.pad | Pad(x, pads, *given(value, axes), mode=mode)
onnx.range | Range(start, limit, delta)
onnx.nonzero | NonZero(x)
onnx.compress | Compress(x, condition, axis=axis)
onnx.one_hot | OneHot(indices, depth, values, axis=axis)
onnx.eye_like | EyeLike(x, k=k, dtype=elem_type(e.out.dtype))
onnx.div | divided(e, x, y)
onnx.mod | KERNELS["remainder"](e, x, y)
onnx.pow | power(e, x, y)
onnx.root | Sqrt(x) if x.dtype.kind == "float" else refused(f"tensors of {x.dtype}")
onnx.log | Log(x) if x.dtype.kind == "float" else refused(f"tensors of {x.dtype}")
onnx.isinf | IsInf(x, detect_positive=int(positive), detect_negative=int(negative))
onnx.hardmax | Hardmax(x, axis=axis)
onnx.mean | mean(e, x, axis, keepdims)
onnx.max | KERNELS["max"](e, x, axis, keepdims)
onnx.min | KERNELS["min"](e, x, axis, keepdims)
onnx.argmax | KERNELS["argmax"](e, x, axis, keepdims) if not last else refused("`last`")
onnx.argmin | KERNELS["argmin"](e, x, axis, keepdims) if not last else refused("`last`")
onnx.layer_normalization | parts(e, "LayerNormalization", x, scale, *given(bias), axis=axis, epsilon=epsilon)
onnx.resize | Resize(x, *given(None, scales, sizes), axes=axes, mode=mode, nearest_mode=nearest_mode,
    coordinate_transformation_mode=places) if (
    roi is None and policy == "stretch" and nearest_mode != "outward" and mode != "cubic" and not antialias
    and places in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")) else refused("these arguments")
"""


def given(*xs: Array | None) -> list[str]:
    return ["" if x is None else x.value for x in xs]


def refused(what: str) -> str:
    raise Refused(what)


def parts(e: Emit, op: str, *xs: RunValue, **attributes: NodeAttribute) -> EngineResult:
    """A node with as many outputs as the call has results."""
    names = [x if isinstance(x, str) else x.value for x in xs]
    made = e.node(op, *names, outputs=len(e.outs), **attributes)
    return made if len(e.outs) > 1 else (made,)


def divided(e: Emit, x: Array, y: Array) -> str:
    """Integers are divided toward 0, and by 0 and by -1, where the process would end, multiplied."""
    if x.dtype.kind not in ("int", "uint"):
        return e.node("Div", x.value, y.value)  # type: ignore[no-any-return]
    divisor, factor = safe_divisor(e, y, y.value)
    assert factor is not None
    return e.node("Mul", e.node("Div", x.value, divisor), factor)  # type: ignore[no-any-return]


def power(e: Emit, x: Array, y: Array) -> str:
    if x.dtype.kind == "float":
        return e.node("Pow", x.value, e.cast(y.value, y.dtype, x.dtype))  # type: ignore[no-any-return]
    if y.shape or y.data is None or y.dtype.kind == "float":
        raise Refused("powers of integers whose exponents are data")
    return KERNELS["pow"](e, x, y.data[0])  # type: ignore[no-any-return]


def mean(e: Emit, x: Array, axis: Axes, keepdims: bool) -> str:
    """Of nothing 0."""
    if x.dtype.kind != "float":
        raise Refused(f"tensors of {x.dtype}")
    count = prod(x.shape[a] for a in (range(len(x.shape)) if axis is None else axis))
    made = x.value if axis == () else total(e, x, x.dtype, *axes_of(e, axis), keepdims=int(keepdims))
    return e.node("Div", made, e.cast(e.graph.scalar(applied(max, (count, 1))), DTYPES["int64"], x.dtype))  # type: ignore[no-any-return]


def _of_tensors(row: Primitive, function: Emitter) -> Emitter:
    """A kernel of tensors, where a program may have numbers."""

    def run(e: Emit, *args: RunValue) -> EngineResult:
        for param, arg in zip(row.params, args, strict=True):
            if param.kind == "tensor" and arg is not None and not hasattr(arg, "value"):
                raise Refused("numbers without a dtype")
        return function(e, *args)

    return run


for _name, _function in expressions.kernels(_ROWS, globals(), "e", expressions.Nodes):
    _row = registry.lookup(_name)
    assert _row is not None
    KERNELS[_name] = _of_tensors(_row, _function)
