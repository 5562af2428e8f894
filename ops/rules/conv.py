"""Convolution and transposed convolution over one, two, three or more spatial axes."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, not_negative
from ..model import Ctx, Dim, Primitive, TensorInfo
from ..operands import choice, rank_at_least, ranked
from ..registry import parse_params, register
from ..requirements import Argument, AtLeast, Axis, Equal, Is, Multiple, Number, OfRank, Other, SizeEntry, Times
from ..windows import (
    LAYOUTS,
    WINDOWS,
    Pairs,
    Windows,
    count_windows,
    extent,
    spatial_pads,
    spatial_sizes,
    transposed_size,
)

Ints = tuple[int, ...]

_COMMON = """One entry of `strides`, `dilations` and `pads` holds for all spatial axes; without `pads` there is no padding.
    With `auto_pad` "same_upper" or "same_lower" the padding keeps {same} (an odd one is larger at the end, or at the
    beginning); "valid" is no padding. `layout` "channels_last" means `x : [n, *s, c]` and `weight : {last}`, as TensorFlow
    has them."""


class _Layout:
    """The places of the axes of `x` and of `weight`, counted from 0."""

    def __init__(self, layout: str, rank: int, transposed: bool = False) -> None:
        last = self.last = layout == "channels_last"
        count = rank - 2
        self.channels = rank - 1 if last else 1
        self.spatial = tuple(range(1, rank - 1)) if last else tuple(range(2, rank))
        self.kernel = tuple(range(count)) if last else tuple(range(2, rank))
        # [out, in, *k] and [*k, in, out]; for a transposed one [in, out, *k] and [*k, out, in].
        first, second = (rank - 1, rank - 2) if last else (0, 1)
        self.inputs, self.outputs = (first, second) if transposed else (second, first)

    def result(self, batch: Dim, channels: Dim, sizes: Shape) -> Shape:
        return (batch, *sizes, channels) if self.last else (batch, channels, *sizes)


_SPATIAL = {1: "length", 2: "height, width", 3: "depth, height, width"}


def _operands(ctx: Ctx, x: TensorInfo, weight: TensorInfo, spatial: int | None, layout: str) -> tuple[Shape, Shape]:
    """The dimensions of both operands; requires two axes more than the spatial ones."""
    if spatial is not None:
        sizes = _SPATIAL[spatial]
        axes = f"[batch, {sizes}, channels]" if layout == "channels_last" else f"[batch, channels, {sizes}]"
        return ranked(ctx, "x", x, spatial + 2, axes), ranked(ctx, "weight", weight, spatial + 2)
    a, w = ctx.dims(x), ctx.dims(weight)
    rank_at_least(ctx, "x", a, 3)
    rank_at_least(ctx, "weight", w, 3)
    if len(a) != len(w):
        both = (Argument("x"), Argument("weight"))
        ctx.fail(OfRank("{0} and {1} to have one rank", both, f"{{0}} has rank {len(a)} and {{1}} {len(w)}"))
    return a, w


def _groups(ctx: Ctx, groups: Dim) -> None:
    least = AtLeast(Argument("groups", groups), 1)
    if isinstance(groups, int) and groups < 1:
        ctx.fail(least)
    if not isinstance(groups, int):
        ctx.require(least)


def _multiple(ctx: Ctx, name: str, axis: int, size: Dim, groups: Dim) -> None:
    """Require the channels, of x or of the result, to be a multiple of the groups."""
    if not (isinstance(groups, int) and groups == 1):
        count = Number(groups) if isinstance(groups, int) else Argument("groups", groups)
        whose = "its" if name == "x" else "the result's"
        ctx.require(Multiple(Axis(name, axis, size, f"{whose} channels"), count, "the groups"))


def _bias(ctx: Ctx, bias: TensorInfo | None, size: Dim, axis: int, groups: Dim) -> None:
    if bias is None:
        return
    (b,) = ranked(ctx, "bias", bias, 1)
    made = Axis("weight", axis, size, "the result's channels")
    wanted = made if isinstance(groups, int) and groups == 1 else Times(Argument("groups", groups), made)
    ctx.require(Equal(Axis("bias", 0, b), wanted))


def _kernel(ctx: Ctx, w: Shape, axes: Ints) -> None:
    for axis in axes:
        ctx.require(AtLeast(Axis("weight", axis, w[axis], "the kernel's"), 1))


def _windows(
    ctx: Ctx,
    w: Shape,
    where: _Layout,
    strides: Shape | None,
    pads: Pairs | None,
    auto_pad: str,
    dilations: Shape | None,
) -> list[Windows]:
    count = len(where.spatial)
    steps = spatial_sizes(ctx, "strides", strides, count)
    gaps = spatial_sizes(ctx, "dilations", dilations, count)
    padding = spatial_pads(ctx, pads, auto_pad, count)
    _kernel(ctx, w, where.kernel)
    same = auto_pad.startswith("same")
    return [
        Windows(extent(w[axis], gap), step, low, high, same)
        for axis, gap, step, (low, high) in zip(where.kernel, gaps, steps, padding, strict=True)
    ]


def _channels(ctx: Ctx, a: Shape, w: Shape, where: _Layout, groups: Dim) -> None:
    """Require x to have the channels that `weight` expects."""
    c, i = where.channels, where.inputs
    own, its = Axis("x", c, a[c], "its channels"), Axis("weight", i, w[i])
    if isinstance(groups, int) and groups == 1:
        ctx.require(Equal(own, its))
    else:
        count = Number(groups, "groups") if isinstance(groups, int) else Argument("groups", groups)
        ctx.require(Is(own, Times(count, its)))


def _define_conv(name: str, spatial: int | None, onnx: tuple[str, ...]) -> None:
    def rule(
        ctx: Ctx,
        x: TensorInfo,
        weight: TensorInfo,
        bias: TensorInfo | None,
        strides: Shape | None,
        pads: Pairs | None,
        auto_pad: str,
        dilations: Shape | None,
        groups: Dim,
        layout: str,
    ) -> Shape:
        choice(ctx, "layout", layout, LAYOUTS)
        a, w = _operands(ctx, x, weight, spatial, layout)
        where = _Layout(layout, len(a))
        _groups(ctx, groups)
        _channels(ctx, a, w, where, groups)
        _multiple(ctx, "weight", where.outputs, w[where.outputs], groups)
        _bias(ctx, bias, w[where.outputs], where.outputs, 1)
        windows = _windows(ctx, w, where, strides, pads, auto_pad, dilations)
        sizes = tuple(
            # The kernel's size is its extent unless it is dilated.
            count_windows(ctx, a[axis], window, axis, (("x", axis), ("weight", k))[: 1 + (window.extent is w[k])])
            for axis, k, window in zip(where.spatial, where.kernel, windows, strict=True)
        )
        return where.result(a[0], w[where.outputs], sizes)

    axes = "any number of spatial axes" if spatial is None else f"{spatial} spatial ax{'i' if spatial == 1 else 'e'}s"
    doc = f"""Convolution over {axes}: `x : [n, c, *s]` and `weight : [o, c // groups, *k]` give `[n, o, *t]`; `bias : [o]`.

    For each spatial axis t = floor((s + pads - dilation * (k - 1) - 1) / stride) + 1. The extent of the kernel,
    dilation * (k - 1) + 1, is at most s with its pads, or the call is refused; but an empty axis gives an empty one if the
    formula gives 0. `groups` divides c and o; k, strides, dilations and groups are at least 1, pads at least 0.

    {_COMMON.format(same="t = ceil(s / stride)", last="[*k, c // groups, o]")} ONNX Conv; PyTorch's
    `{name if spatial else "conv2d"}`."""
    params = (
        "x: tensor, weight: tensor, bias: tensor = none, strides: sizes = none, pads: pairs = none, "
        'auto_pad: str = "notset", dilations: sizes = none, groups: size = 1, layout: str = "channels_first"'
    )
    register(Primitive(name, parse_params(params), "T:numeric, T, T -> T", rule, doc, onnx=onnx, traits=WINDOWS))


for _name, _spatial, _onnx in (("conv", None, ("Conv",)), ("conv1d", 1, ()), ("conv2d", 2, ()), ("conv3d", 3, ())):
    _define_conv(_name, _spatial, _onnx)


def _define_conv_transpose(name: str, spatial: int | None, onnx: tuple[str, ...]) -> None:
    def rule(
        ctx: Ctx,
        x: TensorInfo,
        weight: TensorInfo,
        bias: TensorInfo | None,
        strides: Shape | None,
        pads: Pairs | None,
        auto_pad: str,
        output_padding: Shape | None,
        output_shape: Shape | None,
        dilations: Shape | None,
        groups: Dim,
        layout: str,
    ) -> Shape:
        choice(ctx, "layout", layout, LAYOUTS)
        a, w = _operands(ctx, x, weight, spatial, layout)
        where = _Layout(layout, len(a), transposed=True)
        _groups(ctx, groups)
        _channels(ctx, a, w, where, 1)
        _multiple(ctx, "x", where.channels, a[where.channels], groups)
        made = w[where.outputs] * groups
        _bias(ctx, bias, w[where.outputs], where.outputs, groups)
        windows = _windows(ctx, w, where, strides, pads, auto_pad, dilations)
        gaps = spatial_sizes(ctx, "dilations", dilations, len(windows))
        more = _output_padding(ctx, output_padding, windows, gaps, output_shape)
        if output_shape is not None:
            sizes = _given_sizes(ctx, a, where, windows, output_shape)
        else:
            sizes = tuple(
                transposed_size(ctx, a[axis], window, extra, axis)
                for axis, window, extra in zip(where.spatial, windows, more, strict=True)
            )
        return where.result(a[0], made, sizes)

    axes = "any number of spatial axes" if spatial is None else f"{spatial} spatial ax{'i' if spatial == 1 else 'e'}s"
    doc = f"""Transposed convolution over {axes}: `x : [n, c, *s]` and `weight : [c, o // groups, *k]` give `[n, o, *t]`; `bias
    : [o]`. It maps the shapes of a convolution back.

    For each spatial axis t = (s - 1) * stride + dilation * (k - 1) + 1 - pads + output_padding, which is at least 1, as s is;
    but an empty axis gives an empty one if the formula gives 0. `output_padding` is less than the stride or than the
    dilation. Instead of it `output_shape` may say t: a size that the convolution with the same attributes maps to s. `groups`
    divides c; k, strides, dilations and groups are at least 1, pads at least 0.

    {_COMMON.format(same="t = s * stride", last="[*k, o // groups, c]")} ONNX ConvTranspose; PyTorch's
    `{name if spatial else "conv_transpose2d"}`; TensorFlow's `conv2d_transpose` for `output_shape`."""
    params = (
        "x: tensor, weight: tensor, bias: tensor = none, strides: sizes = none, pads: pairs = none, "
        'auto_pad: str = "notset", output_padding: sizes = none, output_shape: sizes = none, dilations: sizes = none, '
        'groups: size = 1, layout: str = "channels_first"'
    )
    register(Primitive(name, parse_params(params), "T:numeric, T, T -> T", rule, doc, onnx=onnx, traits=WINDOWS))


def _output_padding(
    ctx: Ctx, given: Shape | None, windows: list[Windows], gaps: Shape, output_shape: Shape | None
) -> Shape:
    if given is not None and output_shape is not None:
        ctx.fail(Other("one of output_padding and output_shape"))
    if given is not None and windows[0].same:
        ctx.fail(Other('no output_padding where auto_pad is "same_upper" or "same_lower"'))
    more = spatial_sizes(ctx, "output_padding", given, len(windows), default=0, least=0)
    for extra, window, gap in zip(more, windows, gaps, strict=True):
        _less_than_either(ctx, extra, window.stride, gap)
    return more


def _less_than_either(ctx: Ctx, extra: Dim, stride: Dim, gap: Dim) -> None:
    phrase = "{0} to be less than the stride or the dilation"
    if isinstance(extra, int) and isinstance(stride, int) and isinstance(gap, int):
        if extra >= max(stride, gap):
            written = f"output_padding to be less than the stride or the dilation, {max(stride, gap)}"
            ctx.fail(Other(written, but=f"it is {extra}"))
    elif not (isinstance(extra, int) and extra == 0):
        less = ctx.any_of(ctx.lt(extra, stride), ctx.lt(extra, gap))
        ctx.require(Other(phrase, (Argument("output_padding"),), blamed=(("output_padding", None),)), less)


def _given_sizes(ctx: Ctx, a: Shape, where: _Layout, windows: list[Windows], output_shape: Shape) -> Shape:
    """The sizes in `output_shape`; requires that the convolution maps each to the size of x."""
    sizes = output_shape
    if len(sizes) != len(windows):
        ctx.fail(
            Other(f"a size in output_shape for each of the {len(windows)} spatial axes", but=f"it has {len(sizes)}")
        )
    for i, (axis, window, size) in enumerate(zip(where.spatial, windows, sizes, strict=True)):
        _maps_back(ctx, a[axis], window, size, axis, i)
    return sizes


def _maps_back(ctx: Ctx, size: Dim, window: Windows, wanted: Dim, axis: int, i: int) -> None:
    entry = SizeEntry("output_shape", i, wanted)
    not_negative(ctx, entry)
    if window.same:
        cond: Any = ctx.eq(ctx.ceildiv(wanted, window.stride), size)
    else:
        reach = window.extent - window.low - window.high
        fits = ctx.any_of(ctx.le(reach, wanted), ctx.all_of(ctx.eq(wanted, 0), ctx.eq(size, 0)))
        cond = ctx.all_of(fits, ctx.eq((wanted - reach) // window.stride + 1, size))
    ctx.require(Other("{0} to be a size that the convolution maps to {1}", (entry, Axis("x", axis, size))), cond)


for _name, _spatial, _onnx in (
    ("conv_transpose", None, ("ConvTranspose",)),
    ("conv_transpose1d", 1, ()),
    ("conv_transpose2d", 2, ()),
    ("conv_transpose3d", 3, ()),
):
    _define_conv_transpose(_name, _spatial, _onnx)
