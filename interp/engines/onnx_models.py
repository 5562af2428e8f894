"""Kernels of the primitives that only imported models have: they write the models' nodes."""

from __future__ import annotations

from ...ops import registry
from ...ops.model import Primitive
from ..engine_types import EngineArray as Array, EngineResult, RunValue
from . import expressions
from .onnx_graph import elem_type  # noqa: F401 - a word of the rows
from .onnx_kernels import (
    KERNELS,
    Emit,
    Emitter,
    names_of,  # noqa: F401 - a word of the rows
    parts,  # noqa: F401
    refused,  # noqa: F401
    safe_divisor,
)
from .onnx_windows import or_nothing
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
onnx.slice | Slice(x, starts, ends, *names_of(axes, steps))
onnx.split | parts(e, "Split", x.value, sizes.value, axis=axis)
onnx.pad | Pad(x, pads, *names_of(value, axes), mode=mode)
onnx.range | Range(start, limit, delta)
onnx.nonzero | NonZero(x)
onnx.compress | Compress(x, condition, axis=axis)
onnx.one_hot | OneHot(indices, depth, values, axis=axis)
onnx.eye_like | EyeLike(x, k=k, dtype=elem_type(e.out.dtype))
onnx.div | divided(e, x, y)
onnx.mod | KERNELS["remainder"](e, x, y)
onnx.pow | Pow(x, e.cast(y.value, y.dtype, x.dtype)) if x.dtype.kind == "float" else (
    KERNELS["pow"](e, x, y.data[0]) if not y.shape and y.data and isinstance(y.data[0], int) else refused(
    "powers of integers whose exponents are data"))
onnx.root | Sqrt(x) if x.dtype.kind == "float" else refused(f"tensors of {x.dtype}")
onnx.log | Log(x) if x.dtype.kind == "float" else refused(f"tensors of {x.dtype}")
onnx.isinf | IsInf(x, detect_positive=int(positive), detect_negative=int(negative))
onnx.hardmax | Hardmax(x, axis=axis)
onnx.mean | KERNELS["mean"](e, x, axis, keepdims, 1) if x.dtype.kind == "float" else refused(f"tensors of {x.dtype}")
onnx.max | KERNELS["max"](e, x, axis, keepdims)
onnx.min | KERNELS["min"](e, x, axis, keepdims)
onnx.argmax | KERNELS["argmax"](e, x, axis, keepdims) if not last else refused("`last`")
onnx.argmin | KERNELS["argmin"](e, x, axis, keepdims) if not last else refused("`last`")
onnx.layer_normalization | parts(e, "LayerNormalization", *names_of(x, scale, bias), axis=axis, epsilon=epsilon)
onnx.resize | Resize(x, *names_of(None, scales, sizes), axes=axes, mode=mode, nearest_mode=nearest_mode,
    coordinate_transformation_mode=places) if (
    roi is None and policy == "stretch" and nearest_mode != "outward" and mode != "cubic" and not antialias
    and places in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")) else refused("these arguments")
"""


def divided(e: Emit, x: Array, y: Array) -> str:
    """Divide integers toward 0; division by 0 or by -1, which would end the process, is replaced by a product."""
    if x.dtype.kind not in ("int", "uint"):
        return e.node("Div", x.value, y.value)  # type: ignore[no-any-return]
    divisor, factor = safe_divisor(e, y, y.value)
    assert factor is not None
    return e.node("Mul", e.node("Div", x.value, divisor), factor)  # type: ignore[no-any-return]


def _of_tensors(row: Primitive, function: Emitter) -> Emitter:
    """A kernel of tensors for a program that may have numbers instead."""

    def run(e: Emit, *args: RunValue) -> EngineResult:
        tensors = (arg for param, arg in zip(row.params, args, strict=True) if param.kind == "tensor")
        if not all(arg is None or hasattr(arg, "value") for arg in tensors):
            raise Refused("numbers without a dtype")
        return function(e, *args)

    return run


for _name, _function in expressions.kernels(_ROWS, globals(), "e", expressions.Nodes):
    _row = registry.lookup(_name)
    assert _row is not None
    KERNELS[_name] = _of_tensors(_row, or_nothing(_function, 0) if _name == "onnx.resize" else _function)
