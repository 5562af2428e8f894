"""ONNX's pooling, normalisation, dropout and reductions, where they differ from Rx's own."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, known_shape, larger, not_negative, place, shape_and_axis
from ..model import Ctx, Dim, Primitive, TensorInfo
from ..operands import choice, rank_at_least, ranked
from ..registry import lookup, parse_params, primitive, register
from ..requirements import Argument, AtLeast, AtMost, Axis, Equal, Other, SizeEntry, WrittenSize
from ..windows import WINDOWS, spatial_sizes
from .onnx_shape import elements
from .pool import pooled
from .reduce import reduced

_WINDOWS = (
    'strides: sizes = none, pads: pairs = none, auto_pad: str = "notset", dilations: sizes = none, '
    "ceil_mode: bool = false"
)


def _pool(name: str, params: str, dtypes: str, doc: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, kernel_shape: Shape, *rest: Any) -> Shape:
        strides, pads, auto_pad, dilations, ceil_mode = rest[-5:]
        return pooled(
            ctx, x, None, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, "channels_first", any_pads=True
        )

    listed = parse_params(f"x: tensor, kernel_shape: sizes, {params}{_WINDOWS}")
    register(Primitive(f"onnx.{name}", listed, dtypes, rule, doc, traits=WINDOWS))


_pool("max_pool", "", "T:real -> T", "`@max_pool` with pads of any size. ONNX MaxPool.")
_pool(
    "average_pool", "count_include_pad: bool = false, ", "T:floating -> T",
    "`@average_pool` with pads of any size. ONNX AveragePool.",
)  # fmt: skip
_pool("lp_pool", "p: float = 2.0, ", "T:floating -> T", "`@lp_pool` with pads of any size. ONNX LpPool.")


@primitive("onnx.global_lp_pool", "x: tensor, p: float = 2.0", "T:floating -> T")
def global_lp_pool(ctx: Ctx, x: TensorInfo, p: float) -> Shape:
    """The root of the sum of powers over all spatial axes. ONNX GlobalLpPool."""
    dims = ctx.dims(x)
    rank_at_least(ctx, "x", dims, 3)
    return (*dims[:2], *(1 for _ in dims[2:]))


@primitive("onnx.lp_normalization", "x: tensor, axis: int = -1, p: int = 2", "T:floating -> T", elementwise=True)
def lp_normalization(ctx: Ctx, x: TensorInfo, axis: int, p: int) -> Shape:
    """x divided by its norm along an axis, 0 where that is 0. ONNX LpNormalization."""
    return shape_and_axis(ctx, x, axis)[0]


@primitive(
    "onnx.batch_normalization",
    "x: tensor, scale: tensor, bias: tensor, mean: tensor, variance: tensor, epsilon: float = 1e-5, spatial: bool = true",
    "T:floating, U:floating, U, V:floating, V -> T",
)
def batch_normalization(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, bias: TensorInfo, mean: TensorInfo, variance: TensorInfo,
    epsilon: float, spatial: bool,
) -> Shape:  # fmt: skip
    """`@batch_normalization` whose weights and statistics have their own dtypes, and without `spatial` the shape of an
    element of the batch. ONNX BatchNormalization."""
    dims = ctx.dims(x)
    rank_at_least(ctx, "x", dims, 2)
    for name, weight in (("scale", scale), ("bias", bias), ("mean", mean), ("variance", variance)):
        sizes = ranked(ctx, name, weight, 1 if spatial else len(dims) - 1)
        for at, size in enumerate(sizes):
            ctx.require(Equal(Axis(name, at, size), Axis("x", at + 1, dims[at + 1])))
    return dims


@primitive(
    "onnx.batch_normalization_training",
    "x: tensor, scale: tensor, bias: tensor, mean: tensor, variance: tensor, epsilon: float = 1e-5, momentum: float = 0.9",
    "T:floating, U:floating, U, V:floating, V -> T, V, V", results="tuple",
)  # fmt: skip
def batch_normalization_training(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, bias: TensorInfo, mean: TensorInfo, variance: TensorInfo, *rest: float
) -> list[Shape]:
    """x normalised with the mean and the variance of this batch, and the updated running ones. ONNX BatchNormalization with
    training_mode."""
    dims = ctx.dims(x)
    rank_at_least(ctx, "x", dims, 2)
    for name, weight in (("scale", scale), ("bias", bias), ("mean", mean), ("variance", variance)):
        (size,) = ranked(ctx, name, weight, 1)
        ctx.require(Equal(Axis(name, 0, size), Axis("x", 1, dims[1], "its channels")))
    for axis in (0, *range(2, len(dims))):
        ctx.require(AtLeast(Axis("x", axis, dims[axis]), 1))
    return [dims, (dims[1],), (dims[1],)]


@primitive(
    "onnx.dropout",
    "x: tensor, ratio: tensor = none, training: tensor = none, seed: int = none",
    "T:floating, R:floating, bool -> T, bool", results="tuple",
)  # fmt: skip
def dropout(
    ctx: Ctx, x: TensorInfo, ratio: TensorInfo | None, training: TensorInfo | None, seed: int | None
) -> list[Shape]:
    """x, in training with elements dropped at random and the others scaled; and a mask of those that stay. ONNX Dropout."""
    shape = known_shape(ctx, x)
    return [shape, shape]


def _cumulative(name: str, doc: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, axis: TensorInfo, exclusive: bool, reverse: bool) -> Shape:
        shape = known_shape(ctx, x)
        rank_at_least(ctx, "x", shape, 1)
        for found in elements(ctx, axis):
            if isinstance(found, int):
                place(ctx, shape, found)
            else:
                ctx.leave_open(Other("{0} to be an axis of {1}", (Argument("axis"), Argument("x"))))
        return shape

    params = parse_params("x: tensor, axis: tensor, exclusive: bool = false, reverse: bool = false")
    dtypes = "T:numeric, I:{int32, int64} -> T"
    register(Primitive(f"onnx.cumulative_{name}", params, dtypes, rule, doc, elementwise=True))


_cumulative("sum", "The sums of all elements so far along an axis that is a tensor. ONNX CumSum.")
_cumulative("prod", "The products of all elements so far along an axis that is a tensor. ONNX CumProd.")

REDUCTIONS = ("sum", "mean", "prod", "max", "min", "l1", "l2", "log_sum", "log_sum_exp", "sum_square")


@primitive(
    "onnx.reduce",
    'x: tensor, axes: tensor, how: str = "sum", keepdims: bool = true, noop: bool = false',
    "T:ordered, I:{int64} -> T",
)
def onnx_reduce(ctx: Ctx, x: TensorInfo, axes: TensorInfo, how: str, keepdims: bool, noop: bool) -> Shape:
    """A reduction over the axes in a tensor; if it has none, over all, or over none with `noop`. ONNX ReduceSum and the
    like."""
    choice(ctx, "how", how, REDUCTIONS)
    found = elements(ctx, axes)
    numbers = tuple(e for e in found if isinstance(e, int))
    if len(numbers) == len(found):
        return reduced(ctx, x, numbers if numbers or noop else None, keepdims)[0]
    dims = ctx.dims(x)
    if len(found) >= len(dims):
        return tuple(1 for _ in dims) if keepdims else ()
    if not keepdims:
        return tuple(ctx.fresh("size") for _ in dims[len(found) :])
    return tuple(ctx.fresh("size", 0, larger(ctx, d, 1)) for d in dims)


@primitive(
    "onnx.conv_transpose",
    "x: tensor, weight: tensor, bias: tensor = none, output_shape: sizes, strides: sizes = none, "
    "output_padding: sizes = none, dilations: sizes = none, groups: size = 1, upper: bool = false, filled: bool = false",
    "T:numeric, T, T -> T",
    traits=WINDOWS,
)
def conv_transpose(
    ctx: Ctx,
    x: TensorInfo,
    weight: TensorInfo,
    bias: TensorInfo | None,
    output_shape: Shape,
    strides: Shape | None,
    output_padding: Shape | None,
    dilations: Shape | None,
    groups: Dim,
    upper: bool,
    filled: bool,
) -> Shape:
    """`@conv_transpose` to given sizes: a surplus is cut off at both sides (the larger half of an odd one in front, unless
    `upper`); a shortage is filled behind, by less than a stride unless `filled`. ONNX ConvTranspose with output_shape."""
    own = lookup("conv_transpose")
    assert own is not None and own.rule is not None
    made = own.rule(
        ctx, x, weight, bias, strides, None, "notset", output_padding, None, dilations, groups, "channels_first"
    )
    sizes = output_shape[2:] if len(output_shape) == len(made) else output_shape
    if len(sizes) != len(made) - 2:
        ctx.fail(Other(f"{len(made) - 2} sizes in {{0}}", (Argument("output_shape"),), f"it has {len(sizes)}"))
    steps = spatial_sizes(ctx, "strides", strides, len(sizes))
    for i, (size, whole, step) in enumerate(zip(sizes, made[2:], steps, strict=True)):
        not_negative(ctx, SizeEntry("output_shape", i, size))
        if not filled:
            most = WrittenSize("what there is without pads, and less than a stride more", whole + step - 1)
            ctx.require(AtMost(SizeEntry("output_shape", i, size), most))
    return (*made[:2], *sizes)
