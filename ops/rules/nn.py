"""Layers of networks that are no convolution, pooling or recurrence: normalisation by channel, resizing, attention."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, is_plain, known, number, place
from ..broadcast import broadcast
from ..model import Ctx, Dim, RankUnknown, TensorInfo
from ..operands import choice, rank_at_least, ranked
from ..registry import primitive
from ..windows import image, spatial_ints, with_sizes


@primitive("dense", "x: tensor, weight: tensor, bias: tensor = none", "T:numeric, T, T -> T")
def dense(ctx: Ctx, x: TensorInfo, weight: TensorInfo, bias: TensorInfo | None) -> Shape:
    """A dense layer, x @ weight + bias: `[*s, i]` and `[i, o]` give `[*s, o]`; `bias` is `[o]`.

    Keras' `Dense`. `linear` has the weight the other way round.
    """
    source = known(ctx, x)
    rank_at_least(ctx, "x", source, 1)
    w = ranked(ctx, "weight", weight, 2)
    i = place(ctx, source, -1)
    what = "axis -1 of `x` and axis 0 of `weight` to be equal"
    ctx.require(ctx.eq(source[i], w[0]), what, (("x", number(source, i)), ("weight", 0)))
    if bias is not None:
        (b,) = ranked(ctx, "bias", bias, 1)
        what = "axis 0 of `bias` and axis 1 of `weight` to be equal"
        ctx.require(ctx.eq(b, w[1]), what, (("bias", 0), ("weight", 1)))
    return (*source[:-1], w[1])


@primitive("dropout", "x: tensor, ratio: float = 0.5", "T:any -> T", elementwise=True, onnx=("Dropout",))
def dropout(ctx: Ctx, x: TensorInfo, ratio: float) -> Shape:
    """x as it is: what dropout does in inference. ONNX Dropout without training_mode."""
    return known(ctx, x)


@primitive("prelu", 'x: tensor, slope: tensor, layout: str = "channels_first"', "T:floating, T -> T", onnx=("PRelu",))
def prelu(ctx: Ctx, x: TensorInfo, slope: TensorInfo, layout: str) -> Shape:
    """x where it is positive, else slope * x, with one slope for all or one for each channel.

    `x : [n, c, *s]` of rank 2 or more, `slope : [c]` or `[1]`; the result has the shape of x. `layout` "channels_last" means
    `x : [n, *s, c]`. PyTorch's `prelu`.
    """
    dims, axis, _ = image(ctx, x, layout, least=2)
    (size,) = ranked(ctx, "slope", slope, 1)
    what = f"axis 0 of `slope` to be 1, or axis {axis} of `x` (its channels)"
    ctx.require(ctx.any_of(ctx.eq(size, 1), ctx.eq(size, dims[axis])), what, (("slope", 0), ("x", axis)))
    return dims


# Normalisation by channel


def _by_channel(ctx: Ctx, channels: Dim, axis: int, **weights: TensorInfo | None) -> None:
    """Each weight has an entry for each channel."""
    for name, weight in weights.items():
        if weight is not None:
            (size,) = ranked(ctx, name, weight, 1)
            what = f"axis 0 of `{name}` and axis {axis} of `x` (its channels) to be equal"
            ctx.require(ctx.eq(size, channels), what, ((name, 0), ("x", axis)))


@primitive(
    "batch_normalization",
    "x: tensor, scale: tensor, bias: tensor, mean: tensor, variance: tensor, epsilon: float = 1e-5, "
    'layout: str = "channels_first"',
    "T:floating, T, T, T, T -> T", onnx=("BatchNormalization",),
)  # fmt: skip
def batch_normalization(
    ctx: Ctx,
    x: TensorInfo,
    scale: TensorInfo,
    bias: TensorInfo,
    mean: TensorInfo,
    variance: TensorInfo,
    epsilon: float,
    layout: str,
) -> Shape:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, channel by channel, with the statistics of the training.

    `x : [n, c, *s]` of rank 2 or more, the other operands `[c]`; the result has the shape of x. `layout` "channels_last"
    means `x : [n, *s, c]`. ONNX BatchNormalization without training_mode.
    """
    dims, axis, _ = image(ctx, x, layout, least=2)
    _by_channel(ctx, dims[axis], axis, scale=scale, bias=bias, mean=mean, variance=variance)
    return dims


@primitive(
    "instance_normalization",
    'x: tensor, scale: tensor, bias: tensor, epsilon: float = 1e-5, layout: str = "channels_first"',
    "T:floating, T, T -> T", onnx=("InstanceNormalization",),
)  # fmt: skip
def instance_normalization(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, bias: TensorInfo, epsilon: float, layout: str
) -> Shape:
    """(x - mean) / sqrt(var + epsilon) * scale + bias, with mean and variance over the spatial axes of each channel of each
    instance.

    `x : [n, c, *s]` of rank 3 or more, `scale` and `bias` `[c]`; the result has the shape of x. `layout` "channels_last"
    means `x : [n, *s, c]`. ONNX InstanceNormalization.
    """
    dims, axis, _ = image(ctx, x, layout)
    _by_channel(ctx, dims[axis], axis, scale=scale, bias=bias)
    return dims


@primitive(
    "group_normalization",
    "x: tensor, scale: tensor, bias: tensor, num_groups: size, epsilon: float = 1e-5, "
    'layout: str = "channels_first"',
    "T:floating, T, T -> T", onnx=("GroupNormalization",),
)  # fmt: skip
def group_normalization(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, bias: TensorInfo, num_groups: Dim, epsilon: float, layout: str
) -> Shape:
    """(x - mean) / sqrt(var + epsilon) * scale + bias, with mean and variance over each group of channels of each instance.

    `x : [n, c, *s]` of rank 2 or more, `scale` and `bias` `[c]`; c is a multiple of `num_groups`, which is at least 1. The
    result has the shape of x. `layout` "channels_last" means `x : [n, *s, c]`. ONNX GroupNormalization.
    """
    dims, axis, _ = image(ctx, x, layout, least=2)
    ctx.require(ctx.le(1, num_groups), "`num_groups` to be at least 1", (("num_groups", None),))
    _by_channel(ctx, dims[axis], axis, scale=scale, bias=bias)
    groups = num_groups if isinstance(num_groups, int) else "`num_groups`"
    if not (isinstance(num_groups, int) and num_groups == 1):
        what = f"axis {axis} of `x` (its channels) to be a multiple of {groups}, the groups"
        ctx.require(ctx.eq(dims[axis] % num_groups, 0), what, (("x", axis),))
    return dims


@primitive(
    "lrn",
    "x: tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, "
    'layout: str = "channels_first"',
    "T:floating -> T", onnx=("LRN",),
)  # fmt: skip
def lrn(ctx: Ctx, x: TensorInfo, size: int, alpha: float, beta: float, bias: float, layout: str) -> Shape:
    """x / (bias + alpha / size * sum(x * x)) ** beta, with the sum over `size` neighbouring channels.

    Those are (size - 1) // 2 before each channel and the rest behind it. `x : [n, c, *s]` of rank 3 or more, or `[n, *s, c]`
    with `layout` "channels_last"; the result has the shape of x. ONNX LRN.
    """
    dims, _, _ = image(ctx, x, layout)
    if size < 1:
        ctx.fail(f"size to be at least 1, but it is {size}")
    return dims


# Larger and smaller images


_IMAGE = 'mode: str = "nearest", layout: str = "channels_first", align_corners: bool = false'


def _modes(ctx: Ctx, mode: str, align_corners: bool) -> None:
    choice(ctx, "mode", mode, ("nearest", "linear", "cubic"))
    if align_corners and mode == "nearest":
        ctx.fail('no align_corners where mode is "nearest"')


@primitive("upsample", f"x: tensor, scales: ints, {_IMAGE}", "T:floating -> T")
def upsample(ctx: Ctx, x: TensorInfo, scales: tuple[int, ...], mode: str, layout: str, align_corners: bool) -> Shape:
    """The spatial axes a whole number of times as long: `x : [n, c, *s]` gives `[n, c, *(s * scale)]`.

    One entry of `scales` holds for all spatial axes; each is at least 1. `mode` "nearest" repeats elements, "linear" and
    "cubic" interpolate along each axis; with `align_corners` the first and the last element stay where they are, else the
    borders do. `layout` "channels_last" means `x : [n, *s, c]`. PyTorch's `Upsample`, Keras' `UpSampling2D`.
    """
    _modes(ctx, mode, align_corners)
    dims, _, axes = image(ctx, x, layout)
    result = list(dims)
    for axis, scale in zip(axes, spatial_ints(ctx, "scales", scales, len(axes)), strict=True):
        result[axis] = dims[axis] * scale
    return tuple(result)


@primitive("resize", f"x: tensor, sizes: sizes, {_IMAGE}", "T:floating -> T", onnx=("Resize",))
def resize(ctx: Ctx, x: TensorInfo, sizes: Shape, mode: str, layout: str, align_corners: bool) -> Shape:
    """The spatial axes interpolated to given sizes: `x : [n, c, *s]` gives `[n, c, *sizes]`.

    One entry of `sizes` holds for all spatial axes. `mode` "nearest" takes the element at floor(i * s / t), "linear" and
    "cubic" (a = -0.75) interpolate along each axis; with `align_corners` the first and the last element stay where they are,
    else the borders do (half-pixel positions). An axis without elements can only stay so. `layout` "channels_last" means
    `x : [n, *s, c]`. PyTorch's `interpolate`.
    """
    _modes(ctx, mode, align_corners)
    dims, _, axes = image(ctx, x, layout)
    return with_sizes(ctx, dims, axes, "sizes", sizes)


@primitive("pixel_shuffle", "x: tensor, factor: int", "T:any -> T")
def pixel_shuffle(ctx: Ctx, x: TensorInfo, factor: int) -> Shape:
    """Channels moved into blocks of pixels: `[*s, c, h, w]` becomes `[*s, c // factor ** 2, h * factor, w * factor]`.

    c is a multiple of `factor ** 2`. PyTorch's `pixel_shuffle`, ONNX DepthToSpace in mode CRD (`depth_to_space` is DCR).
    """
    shape, (c, h, w) = _pixels(ctx, x, factor)
    squared = factor * factor
    axis = number(shape, c)
    ctx.require(ctx.eq(shape[c] % squared, 0), f"axis {axis} of `x` to be a multiple of {squared}", (("x", axis),))
    return (*shape[:c], shape[c] // squared, shape[h] * factor, shape[w] * factor)


@primitive("pixel_unshuffle", "x: tensor, factor: int", "T:any -> T")
def pixel_unshuffle(ctx: Ctx, x: TensorInfo, factor: int) -> Shape:
    """Blocks of pixels moved into channels: `[*s, c, h, w]` becomes `[*s, c * factor ** 2, h // factor, w // factor]`.

    h and w are multiples of `factor`. PyTorch's `pixel_unshuffle`, the inverse of `pixel_shuffle`.
    """
    shape, (c, h, w) = _pixels(ctx, x, factor)
    for i in (h, w):
        axis = number(shape, i)
        ctx.require(ctx.eq(shape[i] % factor, 0), f"axis {axis} of `x` to be a multiple of {factor}", (("x", axis),))
    return (*shape[:c], shape[c] * (factor * factor), shape[h] // factor, shape[w] // factor)


def _pixels(ctx: Ctx, x: TensorInfo, factor: int) -> tuple[Shape, tuple[int, int, int]]:
    if factor < 1:
        ctx.fail(f"factor to be at least 1, but it is {factor}")
    shape = known(ctx, x)
    rank_at_least(ctx, "x", shape, 3)
    return shape, (place(ctx, shape, -3), place(ctx, shape, -2), place(ctx, shape, -1))


# Attention


@primitive(
    "attention",
    "q: tensor, k: tensor, v: tensor, mask: tensor = none, causal: bool = false, scale: float = none",
    "T:floating, T, T, M:{bool, float16, bfloat16, float32, float64} -> T",
)
def attention(
    ctx: Ctx,
    q: TensorInfo,
    k: TensorInfo,
    v: TensorInfo,
    mask: TensorInfo | None,
    causal: bool,
    scale: float | None,
) -> Shape:
    """softmax(q @ k^T * scale + mask) @ v: `[*s, l, d]`, `[*s, m, d]` and `[*s, m, e]` give `[*s, l, e]`.

    Leading axes are broadcast. `scale` is 1 / sqrt(d) if it is left out. `mask` is broadcast to `[*s, l, m]`: true where a
    position counts, or floats to add. With `causal` position i counts the first i + 1. Where no position counts the result is
    0. PyTorch's `scaled_dot_product_attention`.
    """
    shapes = {name: _heads(ctx, name, x) for name, x in (("q", q), ("k", k), ("v", v))}
    a, b, c = shapes.values()
    for first, second, axis in (("q", "k", -1), ("k", "v", -2)):
        one, two = shapes[first], shapes[second]
        what = f"axis {axis} of `{first}` and axis {axis} of `{second}` to be equal"
        i, j = place(ctx, one, axis), place(ctx, two, axis)
        ctx.require(ctx.eq(one[i], two[j]), what, ((first, number(one, i)), (second, number(two, j))))
    batch = broadcast(ctx, a[:-2], b[:-2], c[:-2], names=("q", "k", "v"), last=-3)
    if mask is not None:
        _mask(ctx, known(ctx, mask), (*batch, a[-2], b[-2]))
    return (*batch, a[-2], c[-1])


def _heads(ctx: Ctx, name: str, x: TensorInfo) -> Shape:
    shape = known(ctx, x)
    rank_at_least(ctx, name, shape, 2)
    if not is_plain(shape[-2:]):
        raise RankUnknown
    return shape


def _mask(ctx: Ctx, given: Shape, scores: Shape) -> None:
    """The mask is broadcast to the scores, and they are not broadcast to it."""
    if is_plain(given) and is_plain(scores) and len(given) > len(scores):
        ctx.fail(f"`mask` to have rank {len(scores)} or less, but its rank is {len(given)}", (("mask", None),))
    if is_plain(scores) and len(given) > len(scores):
        raise RankUnknown
    for axis in range(-1, -1 - min(len(given), len(scores)), -1):
        size, wanted = given[axis], scores[axis]
        if not is_plain((size, wanted)):
            if size is not wanted:
                raise RankUnknown
            continue
        where = {-1: "axis -2 of `k`", -2: "axis -2 of `q`"}.get(axis, f"axis {axis} of the scores")
        fits: Any = ctx.any_of(ctx.eq(size, wanted), ctx.eq(size, 1))
        ctx.require(fits, f"axis {axis} of `mask` and {where} to be equal, or the first to be 1", (("mask", axis),))
