"""ONNX's conversions between numbers and the integers or small floats that stand for them, and products of such integers."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, axis_of, is_plain, known_shape, place, product
from ..model import AnyDType, Ctx, Dim, Out, TensorInfo
from ..registry import lookup, primitive
from ..requirements import Argument, Axis, Is, Number, OfRank, Other
from .linalg import matmul
from .onnx_shape import one_element


def _entries(ctx: Ctx, name: str, given: TensorInfo | None, shape: Shape, axis: int, block: int) -> None:
    """Require a scale or zero point to have one element, one for each entry of the axis, or one for each block of it."""
    if given is None:
        return
    dims = ctx.dims(given)
    if not dims:
        return
    if block:
        _blocked(ctx, name, dims, shape, axis, block)
    elif len(dims) > 1:
        ctx.fail(OfRank("{0} to have rank 0 or 1", (Argument(name),), f"its rank is {len(dims)}"))
    else:
        _along(ctx, name, dims[0], shape, axis)


def _along(ctx: Ctx, name: str, size: Dim, shape: Shape, axis: int) -> None:
    """Require a vector to have one element, or one for each entry of an axis, if there is that axis."""
    own = Axis(name, 0, size)
    if isinstance(size, int) and size == 1:
        return
    if is_plain(shape) and not -len(shape) <= axis < len(shape):
        ctx.require(Is(own, Number(1)))
        return
    at = place(ctx, shape, axis)
    known = ctx.any_of(ctx.eq(size, 1), ctx.eq(size, shape[at]))
    ctx.require(Other("{0} to be 1 or equal to {1}", (own, axis_of("x", shape, at))), known)


def _blocked(ctx: Ctx, name: str, dims: Shape, shape: Shape, axis: int, block: int) -> None:
    if not is_plain(shape):
        return
    if len(dims) != len(shape):
        ctx.fail(OfRank("{0} to have the rank of {1}", (Argument(name), Argument("x"))))
    at = place(ctx, shape, axis)
    for i, (size, own) in enumerate(zip(dims, shape, strict=True)):
        wanted = ctx.ceildiv(own, block) if i == at else own
        asked = Other("an entry of {0} for each block of {1}", (Axis(name, i, size), axis_of("x", shape, i)))
        ctx.require(asked, ctx.eq(size, wanted))


def _scaled(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, zero_point: TensorInfo | None, axis: int, block_size: int
) -> Shape:
    """The shape of x; requires the scale and the zero point to fit its entries or blocks."""
    shape = known_shape(ctx, x)
    _entries(ctx, "scale", scale, shape, axis, block_size)
    _entries(ctx, "zero_point", zero_point, shape, axis, block_size)
    if zero_point is not None:
        asked = Other("as many elements in {0} as in {1}", (Argument("zero_point"), Argument("scale")))
        ctx.require(asked, ctx.eq(product(ctx.dims(zero_point)), product(ctx.dims(scale))))
    return shape


@primitive(
    "onnx.quantize",
    "x: tensor, scale: tensor, zero_point: tensor = none, axis: int = 1, block_size: int = 0, dtype: dtype = none, "
    "saturate: bool = true, precision: dtype = none",
    "T:real, S:{floating, int32}, Q:real -> Q=dtype",
)
def quantize(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, zero_point: TensorInfo | None, axis: int, block_size: int,
    dtype: AnyDType | None, saturate: bool, precision: AnyDType | None,
) -> Shape:  # fmt: skip
    """round(x / scale) + zero_point as a small integer, or x / scale as a small float; one scale for all, for each entry of
    an axis, or for each block of one. ONNX QuantizeLinear."""
    return _scaled(ctx, x, scale, zero_point, axis, block_size)


@primitive(
    "onnx.dequantize",
    "x: tensor, scale: tensor, zero_point: tensor = none, axis: int = 1, block_size: int = 0, dtype: dtype = none",
    "Q:real, S:floating, Q -> S=dtype",
)
def dequantize(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, zero_point: TensorInfo | None, axis: int, block_size: int,
    dtype: AnyDType | None,
) -> Shape:  # fmt: skip
    """(x - zero_point) * scale, with one scale for all, for each entry of an axis, or for each block of one. ONNX
    DequantizeLinear."""
    return _scaled(ctx, x, scale, zero_point, axis, block_size)


@primitive("onnx.dynamic_quantize", "x: tensor", "T:floating -> uint8, T, uint8", results="tuple")
def dynamic_quantize(ctx: Ctx, x: TensorInfo) -> list[Any]:
    """x as integers, with a scale and a zero point computed from its least and greatest element. ONNX
    DynamicQuantizeLinear."""
    return [known_shape(ctx, x), (), ()]


@primitive(
    "onnx.matmul_integer",
    "x: tensor, y: tensor, x_zero: tensor = none, y_zero: tensor = none",
    "A:integer, B:integer, A, B -> int32",
)
def matmul_integer(
    ctx: Ctx, x: TensorInfo, y: TensorInfo, x_zero: TensorInfo | None, y_zero: TensorInfo | None
) -> Shape:
    """The product of integers less their zero points: one for all, for each row of x, for each column of y. ONNX
    MatMulInteger."""
    found: Shape = matmul(ctx, x, y)
    _of_line(ctx, "x_zero", x_zero, x, "x", -2)
    _of_line(ctx, "y_zero", y_zero, y, "y", -1)
    return found


def _of_line(ctx: Ctx, name: str, given: TensorInfo | None, x: TensorInfo, of: str, axis: int) -> None:
    """Require one element; or one for each row or column, as a vector, or with the other axes of x and 1 along the lines."""
    if given is None:
        return
    sizes, dims = ctx.dims(given), ctx.dims(x)
    if len(dims) < 2 or not sizes:
        one_element(ctx, name, given)
    elif len(sizes) == 1:
        own = axis_of(of, dims, place(ctx, dims, axis))
        known = ctx.any_of(ctx.eq(sizes[0], 1), ctx.eq(sizes[0], dims[axis]))
        ctx.require(Other("{0} to be 1 or equal to {1}", (Axis(name, 0, sizes[0]), own)), known)
    elif len(sizes) != len(dims):
        ctx.fail(OfRank("{0} to have the rank of {1}", (Argument(name), Argument(of))))
    else:
        for at, (size, wanted) in enumerate(zip(sizes, dims, strict=True)):
            if at - len(dims) == -3 - axis:
                ctx.require(Is(Axis(name, at, size), Number(1)))
            else:
                known = ctx.any_of(ctx.eq(size, 1), ctx.eq(size, wanted))
                ctx.require(Other("{0} to be 1 or equal to {1}", (Axis(name, at, size), axis_of(of, dims, at))), known)


@primitive(
    "onnx.qlinear_matmul",
    "x: tensor, x_scale: tensor, x_zero: tensor, y: tensor, y_scale: tensor, y_zero: tensor, scale: tensor, zero: tensor",
    "A:real, S:floating, A, B:real, S, B, S, C:real -> C",
)
def qlinear_matmul(
    ctx: Ctx, x: TensorInfo, x_scale: TensorInfo, x_zero: TensorInfo, y: TensorInfo, y_scale: TensorInfo,
    y_zero: TensorInfo, scale: TensorInfo, zero: TensorInfo,
) -> Shape:  # fmt: skip
    """The product of quantised matrices, quantised again. ONNX QLinearMatMul."""
    found: Shape = matmul(ctx, x, y)
    for name, given in (("x_scale", x_scale), ("x_zero", x_zero)):
        _of_line(ctx, name, given, x, "x", -2)
    for name, given in (("y_scale", y_scale), ("y_zero", y_zero)):
        _of_line(ctx, name, given, y, "y", -1)
    one_element(ctx, "scale", scale)
    one_element(ctx, "zero", zero)
    return found


_WINDOWS = (
    'strides: sizes = none, pads: pairs = none, auto_pad: str = "notset", dilations: sizes = none, groups: size = 1'
)


@primitive(
    "onnx.conv_integer",
    f"x: tensor, weight: tensor, x_zero: tensor = none, weight_zero: tensor = none, {_WINDOWS}",
    "A:integer, B:integer, A, B -> int32",
)
def conv_integer(
    ctx: Ctx,
    x: TensorInfo,
    weight: TensorInfo,
    x_zero: TensorInfo | None,
    weight_zero: TensorInfo | None,
    *windows: Any,
) -> Shape:
    """The convolution of integers less their zero points. ONNX ConvInteger."""
    found = _conv(ctx, x, weight, None, windows)
    one_element(ctx, "x_zero", x_zero)
    _of_filter(ctx, "weight_zero", weight_zero, weight)
    return found


def _conv(ctx: Ctx, x: TensorInfo, weight: TensorInfo, bias: TensorInfo | None, windows: tuple[Any, ...]) -> Shape:
    row = lookup("conv")
    assert row is not None and row.rule is not None
    found: Shape = row.rule(ctx, x, weight, bias, *windows, "channels_first")
    return found


def _of_filter(ctx: Ctx, name: str, given: TensorInfo | None, weight: TensorInfo) -> None:
    """Require one element, or one for each filter."""
    if given is not None and len(ctx.dims(given)) != 1:
        one_element(ctx, name, given)
    elif given is not None:
        (size,), outputs = ctx.dims(given), ctx.dims(weight)[0]
        known = ctx.any_of(ctx.eq(size, 1), ctx.eq(size, outputs))
        ctx.require(Other("{0} to be 1 or equal to {1}", (Axis(name, 0, size), Axis("weight", 0, outputs))), known)


@primitive(
    "onnx.qlinear_conv",
    "x: tensor, x_scale: tensor, x_zero: tensor, weight: tensor, weight_scale: tensor, weight_zero: tensor, scale: tensor, "
    f"zero: tensor, bias: tensor = none, {_WINDOWS}",
    "A:integer, float32, A, B:integer, float32, B, float32, C:integer, int32 -> C",
)
def qlinear_conv(
    ctx: Ctx, x: TensorInfo, x_scale: TensorInfo, x_zero: TensorInfo, weight: TensorInfo, weight_scale: TensorInfo,
    weight_zero: TensorInfo, scale: TensorInfo, zero: TensorInfo, bias: TensorInfo | None, *windows: Any,
) -> Shape:  # fmt: skip
    """The convolution of quantised tensors, quantised again. ONNX QLinearConv."""
    found = _conv(ctx, x, weight, bias, windows)
    ones = {"x_scale": x_scale, "x_zero": x_zero, "scale": scale, "zero": zero}
    for name, given in ones.items():
        one_element(ctx, name, given)
    _of_filter(ctx, "weight_scale", weight_scale, weight)
    _of_filter(ctx, "weight_zero", weight_zero, weight)
    return found


@primitive(
    "onnx.cast",
    'x: tensor, dtype: dtype, saturate: bool = true, round_mode: str = "up"',
    "T:any -> =dtype",
    elementwise=True,
)
def cast(ctx: Ctx, x: TensorInfo, dtype: AnyDType | None, saturate: bool, round_mode: str) -> Out:
    """The elements in another dtype, with ONNX's conversions to small floats and strings. ONNX Cast."""
    row = lookup("cast")
    assert row is not None and row.rule is not None
    found: Out = row.rule(ctx, x, dtype)
    return found


@primitive("onnx.bit_cast", "x: tensor, dtype: dtype", "T:any -> =dtype")
def bit_cast(ctx: Ctx, x: TensorInfo, dtype: AnyDType | None) -> Shape:
    """The same bits as elements of another dtype of the same size. ONNX BitCast."""
    return known_shape(ctx, x)
