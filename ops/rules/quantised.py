"""Conversions between numbers and the integers that stand for them: one scale for a tensor, or one per entry of an axis."""

from __future__ import annotations

from ..axes import Shape, axis_of, known_shape, place
from ..model import Ctx, TensorInfo
from ..registry import primitive
from ..requirements import Argument, Axis, Equal, OfRank

_Q = "Q:{int8, uint8, int16, uint16, int32}"


def _scaled(ctx: Ctx, x: TensorInfo, scale: TensorInfo, zero_point: TensorInfo | None, axis: int) -> Shape:
    """The shape of x; requires a scale and a zero point of rank 0, or with one entry for each one of the axis."""
    shape = known_shape(ctx, x)
    for name, given in (("scale", scale), ("zero_point", zero_point)):
        if given is None:
            continue
        dims = ctx.dims(given)
        if len(dims) > 1:
            ctx.fail(OfRank("{0} to have rank 0 or 1", (Argument(name),), f"its rank is {len(dims)}"))
        if len(dims) == 1:
            i = place(ctx, shape, axis)
            ctx.require(Equal(Axis(name, 0, dims[0]), axis_of("x", shape, i)))
    if zero_point is not None and ctx.rank(zero_point) != ctx.rank(scale):
        ctx.fail(OfRank("{0} and {1} to have one rank", (Argument("scale"), Argument("zero_point"))))
    return shape


@primitive(
    "quantize",
    "x: tensor, scale: tensor, zero_point: tensor, axis: int = 1",
    f"T:floating, T, {_Q} -> Q",
    onnx=("QuantizeLinear",),
)
def quantize(ctx: Ctx, x: TensorInfo, scale: TensorInfo, zero_point: TensorInfo, axis: int) -> Shape:
    """round(x / scale) + zero_point, as the nearest integer in the dtype of `zero_point`; of two equally near the even one.

    `scale` and `zero_point` are scalars, for the whole tensor, or both `[c]`, with an entry for each one of `axis`; the
    result has the shape of x. nan becomes the zero point. ONNX QuantizeLinear, PyTorch's `quantize_per_tensor` and
    `quantize_per_channel`.
    """
    return _scaled(ctx, x, scale, zero_point, axis)


@primitive(
    "dequantize",
    "x: tensor, scale: tensor, zero_point: tensor = none, axis: int = 1",
    f"{_Q}, T:floating, Q -> T",
    onnx=("DequantizeLinear",),
)
def dequantize(ctx: Ctx, x: TensorInfo, scale: TensorInfo, zero_point: TensorInfo | None, axis: int) -> Shape:
    """(x - zero_point) * scale, in the dtype of `scale`: the number that an integer stands for.

    `scale` and `zero_point` (0 if it is left out) are scalars, or both `[c]`, with an entry for each one of `axis`; the
    result has the shape of x. ONNX DequantizeLinear, PyTorch's `dequantize`.
    """
    return _scaled(ctx, x, scale, zero_point, axis)
