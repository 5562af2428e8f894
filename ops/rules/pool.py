"""Pooling: the largest or the mean element of the windows over the spatial axes, or of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang.node import Node
from ..axes import Shape
from ..model import Ctx, Dim, Primitive, TensorInfo
from ..operands import choice, rank_at_least
from ..registry import parse_params, primitive, register
from ..requirements import Argument, AtLeast, AtMost, Axis, Number, OfRank, Other, Pad
from ..windows import (
    LAYOUTS,
    WINDOWS,
    Pairs,
    Windows,
    count_windows,
    extent,
    image,
    spatial_axes,
    spatial_count,
    spatial_pads,
    spatial_sizes,
    with_sizes,
)

_WINDOWS = """For each spatial axis t = floor((s + pads - dilation * (k - 1) - 1) / stride) + 1, where s is at least 1; with
    `ceil_mode` the quotient is rounded up, but the last window begins in the axis or in the padding before it. A call without
    a window (t = 0) is refused; but an empty axis gives an empty one if the formula gives 0. Each pad is at most k // 2. With
    `auto_pad` "same_upper" or "same_lower" the padding keeps t = ceil(s / stride) (an odd one is larger at the end, or at the
    beginning); "valid" is no padding.

    One entry of `kernel_shape`, `strides`, `dilations` and `pads` holds for all spatial axes. Without `strides` the windows lie
    side by side: the strides are `kernel_shape` (as in PyTorch; ONNX means 1). `layout` "channels_last" means `x : [n, *s,
    c]`."""


def _image(ctx: Ctx, x: TensorInfo, kernel_shape: Shape, spatial: int | None) -> tuple[Shape, int]:
    """The dimensions, and the number of spatial ones; the batch axis may be missing."""
    a = ctx.dims(x)
    rank = len(a)
    if spatial is None:
        if len(kernel_shape) == 1:
            rank_at_least(ctx, "x", a, 3)
        spatial = spatial_count(kernel_shape, rank)
    if rank not in (spatial + 1, spatial + 2):
        phrase = f"{{0}} to have rank {spatial + 2}, or {spatial + 1} without a batch axis"
        ctx.fail(OfRank(phrase, (Argument("x"),), f"its rank is {rank}", rank=spatial + 2))
    return a, spatial


def pooled(
    ctx: Ctx,
    x: TensorInfo,
    spatial: int | None,
    kernel_shape: Shape,
    strides: Shape | None,
    pads: Pairs | None,
    auto_pad: str,
    dilations: Shape | None,
    ceil_mode: bool,
    layout: str,
    any_pads: bool = False,
) -> Shape:
    """The shape of pooling. Pads are at most half the kernel, unless `any_pads` is set."""
    choice(ctx, "layout", layout, LAYOUTS)
    a, count = _image(ctx, x, kernel_shape, spatial)
    kernel = spatial_sizes(ctx, "kernel_shape", kernel_shape, count)
    steps = kernel if strides is None else spatial_sizes(ctx, "strides", strides, count)
    gaps = spatial_sizes(ctx, "dilations", dilations, count)
    padding = spatial_pads(ctx, pads, auto_pad, count)
    result = list(a)
    for i, axis in enumerate(spatial_axes(len(a), count, layout)):
        low, high = padding[i]
        if not any_pads:
            _at_most_half(ctx, (low, high), kernel[i], i)
        same = auto_pad.startswith("same")
        windows = Windows(extent(kernel[i], gaps[i]), steps[i], low, high, same, ceil_mode, filled=True)
        result[axis] = count_windows(ctx, a[axis], windows, axis, (("x", axis),))
    return tuple(result)


def _at_most_half(ctx: Ctx, pads: tuple[Dim, Dim], size: Dim, i: int) -> None:
    half = size // 2
    for n, pad in enumerate(pads):
        asked = Pad(i, bool(n), pad, "spatial axis")
        if not isinstance(half, int):
            if not (isinstance(pad, int) and pad == 0):
                ctx.require(Other("{0} to be at most half the kernel", (asked,)), ctx.le(pad, half))
        elif not isinstance(pad, int):
            ctx.require(AtMost(asked, Number(half), "half the kernel"))
        elif pad > half:
            ctx.fail(Other(f"{{0}} to be at most {half}, half the kernel", (asked,), f"it is {pad}"))


class _Kind(Node):
    """The properties of one kind of pooling: its dtypes, names elsewhere, parameters, documentation."""

    dtypes: str
    onnx: str
    torch: str
    doc: str
    first: str = ""
    last: str = ""
    more: str = ""

    def rule(self, spatial: int | None) -> Callable[..., Shape]:
        def rule(ctx: Ctx, x: TensorInfo, kernel_shape: Shape, *given: Any) -> Shape:
            p, window = (given[0], given[1:]) if self.first else (1, given)
            if p <= 0:
                ctx.fail(Other("p to be positive", but=f"it is {p}"))
            strides, pads, auto_pad, dilations, ceil_mode, *_, layout = window
            return pooled(ctx, x, spatial, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout)

        return rule

    def params(self) -> str:
        return (
            f'x: tensor, kernel_shape: sizes, {self.first}strides: sizes = none, pads: pairs = none, auto_pad: str = "notset", '
            f'dilations: sizes = none, ceil_mode: bool = false, {self.last}layout: str = "channels_first"'
        )


_KINDS = {
    "max_pool": _Kind(
        "T:real -> T",
        "MaxPool",
        "max_pool",
        """The largest element of each window over {axes}: `x : [n, c, *s]` gives `[n, c, *t]`; the n may be
    missing. nan if there is a nan in the window; padding counts as less than everything.""",
    ),
    "average_pool": _Kind(
        "T:floating -> T",
        "AveragePool",
        "avg_pool",
        """The mean of each window over {axes}: `x : [n, c, *s]` gives `[n, c, *t]`; the n may be missing. Padding
    counts only with `count_include_pad` (as zeros); places beyond the padding never count.""",
        last="count_include_pad: bool = false, ",
        more=""", which counts the
    padding by default""",
    ),
    "lp_pool": _Kind(
        "T:floating -> T",
        "LpPool",
        "lp_pool",
        """The p-norm of each window, sum(|x| ** p) ** (1 / p), over {axes}: `x : [n, c, *s]` gives
    `[n, c, *t]`; the n may be missing. p is positive; padding counts as 0.""",
        first="p: float = 2.0, ",
        more=", without the absolute value",
    ),
}


def _axes(spatial: int | None) -> str:
    if spatial is None:
        return "the spatial axes, as many as `kernel_shape` has entries (one entry: all but the first two)"
    return f"{spatial} spatial ax{'i' if spatial == 1 else 'e'}s"


def _define(name: str, kind: _Kind, suffix: str, spatial: int | None) -> None:
    doc = f"""{kind.doc.format(axes=_axes(spatial))}

    {_WINDOWS} ONNX {kind.onnx}; PyTorch's `{kind.torch}{suffix or "2d"}`{kind.more}."""
    onnx = () if suffix else (kind.onnx,)
    params = parse_params(kind.params())
    register(Primitive(name + suffix, params, kind.dtypes, kind.rule(spatial), doc, onnx=onnx, traits=WINDOWS))


for _suffix, _spatial in (("", None), ("1d", 1), ("2d", 2), ("3d", 3)):
    for _name, _kind in _KINDS.items():
        _define(_name, _kind, _suffix, _spatial)


# Over all of the spatial axes


@primitive(
    "global_average_pool",
    'x: tensor, layout: str = "channels_first"',
    "T:floating -> T",
    onnx=("GlobalAveragePool",),
    traits=WINDOWS,
)
def global_average_pool(ctx: Ctx, x: TensorInfo, layout: str) -> Shape:
    """The mean over all spatial axes, which stay with size 1: `[n, c, *s]` gives `[n, c, 1, ...]`; nan of no elements.

    The rank is at least 3. `layout` "channels_last" means `x : [n, *s, c]`. ONNX GlobalAveragePool.
    """
    a, _, axes = image(ctx, x, layout)
    return tuple(1 if i in axes else d for i, d in enumerate(a))


@primitive(
    "global_max_pool",
    'x: tensor, layout: str = "channels_first"',
    "T:real -> T",
    onnx=("GlobalMaxPool",),
    traits=WINDOWS,
)
def global_max_pool(ctx: Ctx, x: TensorInfo, layout: str) -> Shape:
    """The largest element over all spatial axes, which stay with size 1: `[n, c, *s]` gives `[n, c, 1, ...]`.

    The rank is at least 3, the spatial sizes at least 1. `layout` "channels_last" means `x : [n, *s, c]`. ONNX
    GlobalMaxPool.
    """
    a, _, axes = image(ctx, x, layout)
    for axis in axes:
        ctx.require(AtLeast(Axis("x", axis, a[axis]), 1))
    return tuple(1 if i in axes else d for i, d in enumerate(a))


def _adaptive(ctx: Ctx, x: TensorInfo, output_shape: Shape, layout: str) -> Shape:
    a, _, axes = image(ctx, x, layout)
    return with_sizes(ctx, a, axes, "output_shape", output_shape)


_ADAPTIVE = "T:floating -> T"


@primitive(
    "adaptive_average_pool", 'x: tensor, output_shape: sizes, layout: str = "channels_first"', _ADAPTIVE, traits=WINDOWS
)
def adaptive_average_pool(ctx: Ctx, x: TensorInfo, output_shape: Shape, layout: str) -> Shape:
    """The means of windows that divide the spatial axes into a given number of parts: `x : [n, c, *s]` gives `[n, c,
    *output_shape]`.

    Window i reaches from floor(i * s / t) to ceil((i + 1) * s / t). One entry of `output_shape` holds for all spatial axes; s
    is at least 1 unless t is 0. `layout` "channels_last" means `x : [n, *s, c]`. PyTorch's `adaptive_avg_pool2d`.
    """
    return _adaptive(ctx, x, output_shape, layout)


@primitive(
    "adaptive_max_pool", 'x: tensor, output_shape: sizes, layout: str = "channels_first"', "T:real -> T", traits=WINDOWS
)
def adaptive_max_pool(ctx: Ctx, x: TensorInfo, output_shape: Shape, layout: str) -> Shape:
    """The largest elements of windows that divide the spatial axes into a given number of parts: `x : [n, c, *s]` gives
    `[n, c, *output_shape]`.

    Window i reaches from floor(i * s / t) to ceil((i + 1) * s / t). One entry of `output_shape` holds for all spatial axes; s
    is at least 1 unless t is 0. `layout` "channels_last" means `x : [n, *s, c]`. PyTorch's `adaptive_max_pool2d`.
    """
    return _adaptive(ctx, x, output_shape, layout)
