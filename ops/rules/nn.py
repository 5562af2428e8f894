"""Network layers other than convolution, pooling and recurrence: normalisation by channel, resizing, attention."""

from __future__ import annotations

from ..axes import Shape, axis_of, is_plain, known_shape, place
from ..broadcast import broadcast
from ..model import Ctx, Dim, RankUnknown, TensorInfo
from ..operands import attribute_at_least, choice, layer, multiple, rank_at_least, ranked
from ..registry import primitive
from ..requirements import (
    Argument,
    AtLeast,
    Axis,
    BroadcastTo,
    Equal,
    Multiple,
    Number,
    OfRank,
    Other,
    WrittenSize,
)
from ..windows import WINDOWS, image, spatial_sizes, with_sizes


@primitive(
    "dense",
    "x: tensor, weight: tensor, bias: tensor = none",
    "T:numeric, T, T -> T",
    made_of=((-1, "weight", 1),),
    summed=(("x", -1), ("weight", -2)),
)
def dense(ctx: Ctx, x: TensorInfo, weight: TensorInfo, bias: TensorInfo | None) -> Shape:
    """A dense layer, x @ weight + bias: `[*s, i]` and `[i, o]` give `[*s, o]`; `bias` is `[o]`.

    Keras' `Dense`. `linear` takes the weight transposed.
    """
    source = known_shape(ctx, x)
    rank_at_least(ctx, "x", source, 1)
    return layer(ctx, source, ranked(ctx, "weight", weight, 2), 0, bias)


@primitive("dropout", "x: tensor, ratio: float = 0.5", "T:any -> T", elementwise=True, onnx=("Dropout",))
def dropout(ctx: Ctx, x: TensorInfo, ratio: float) -> Shape:
    """x itself, as dropout leaves it in inference. ONNX Dropout without training_mode."""
    return known_shape(ctx, x)


@primitive("prelu", 'x: tensor, slope: tensor, layout: str = "channels_first"', "T:floating, T -> T", onnx=("PRelu",))
def prelu(ctx: Ctx, x: TensorInfo, slope: TensorInfo, layout: str) -> Shape:
    """x where it is positive, else slope * x, with one slope for all or one for each channel.

    `x : [n, c, *s]` of rank 2 or more, `slope : [c]` or `[1]`; the result has the shape of x. `layout` "channels_last" means
    `x : [n, *s, c]`. PyTorch's `prelu`.
    """
    dims, axis, _ = image(ctx, x, layout, least=2)
    (size,) = ranked(ctx, "slope", slope, 1)
    channels = Axis("x", axis, dims[axis], "its channels")
    ctx.require(BroadcastTo(Axis("slope", 0, size), channels, "{0} to be 1, or {1}"))
    return dims


# Normalisation by channel


def _by_channel(ctx: Ctx, channels: Dim, axis: int, **weights: TensorInfo | None) -> None:
    """Require each weight to have an entry for each channel."""
    for name, weight in weights.items():
        if weight is not None:
            (size,) = ranked(ctx, name, weight, 1)
            ctx.require(Equal(Axis(name, 0, size), Axis("x", axis, channels, "its channels")))


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
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, channel by channel, with the statistics from training.

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
    ctx.require(AtLeast(Argument("num_groups", num_groups), 1))
    _by_channel(ctx, dims[axis], axis, scale=scale, bias=bias)
    if not (isinstance(num_groups, int) and num_groups == 1):
        groups = Number(num_groups) if isinstance(num_groups, int) else Argument("num_groups", num_groups)
        ctx.require(Multiple(Axis("x", axis, dims[axis], "its channels"), groups, "the groups"))
    return dims


@primitive(
    "lrn",
    "x: tensor, size: size, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, "
    'layout: str = "channels_first"',
    "T:floating -> T", onnx=("LRN",),
)  # fmt: skip
def lrn(ctx: Ctx, x: TensorInfo, size: Dim, alpha: float, beta: float, bias: float, layout: str) -> Shape:
    """x / (bias + alpha / size * sum(x * x)) ** beta, with the sum over `size` neighbouring channels.

    Each channel itself, (size - 1) // 2 before it, and the rest after it. `x : [n, c, *s]` of rank 3 or more, or `[n, *s, c]`
    with `layout` "channels_last"; the result has the shape of x. ONNX LRN.
    """
    dims, _, _ = image(ctx, x, layout)
    attribute_at_least(ctx, "size", 1, size)
    return dims


# Larger and smaller images


_IMAGE = 'mode: str = "nearest", layout: str = "channels_first", align_corners: bool = false'


def _modes(ctx: Ctx, mode: str, align_corners: bool) -> None:
    choice(ctx, "mode", mode, ("nearest", "linear", "cubic"))
    if align_corners and mode == "nearest":
        ctx.fail(Other('no align_corners where mode is "nearest"'))


@primitive("upsample", f"x: tensor, scales: sizes, {_IMAGE}", "T:floating -> T", traits=WINDOWS)
def upsample(ctx: Ctx, x: TensorInfo, scales: Shape, mode: str, layout: str, align_corners: bool) -> Shape:
    """The spatial axes a whole number of times as long: `x : [n, c, *s]` gives `[n, c, *(s * scale)]`.

    One entry of `scales` holds for all spatial axes; each is at least 1. `mode` "nearest" repeats elements, "linear" and
    "cubic" interpolate along each axis; with `align_corners` the first and the last element stay where they are, else the
    borders do. `layout` "channels_last" means `x : [n, *s, c]`. PyTorch's `Upsample`, Keras' `UpSampling2D`.
    """
    _modes(ctx, mode, align_corners)
    dims, _, axes = image(ctx, x, layout)
    result = list(dims)
    for axis, scale in zip(axes, spatial_sizes(ctx, "scales", scales, len(axes)), strict=True):
        result[axis] = dims[axis] * scale
    return tuple(result)


@primitive("resize", f"x: tensor, sizes: sizes, {_IMAGE}", "T:floating -> T", onnx=("Resize",), traits=WINDOWS)
def resize(ctx: Ctx, x: TensorInfo, sizes: Shape, mode: str, layout: str, align_corners: bool) -> Shape:
    """The spatial axes interpolated to given sizes: `x : [n, c, *s]` gives `[n, c, *sizes]`.

    One entry of `sizes` holds for all spatial axes. `mode` "nearest" takes the element at floor(i * s / t), "linear" and
    "cubic" (a = -0.75) interpolate along each axis; with `align_corners` the first and the last element stay where they are,
    else the borders do (half-pixel positions). An axis of size 0 can only be resized to 0. `layout` "channels_last" means `x
    : [n, *s, c]`. PyTorch's `interpolate`.
    """
    _modes(ctx, mode, align_corners)
    dims, _, axes = image(ctx, x, layout)
    return with_sizes(ctx, dims, axes, "sizes", sizes)


@primitive("pixel_shuffle", "x: tensor, factor: size", "T:any -> T")
def pixel_shuffle(ctx: Ctx, x: TensorInfo, factor: Dim) -> Shape:
    """Channels moved into blocks of pixels: `[*s, c, h, w]` becomes `[*s, c // factor ** 2, h * factor, w * factor]`.

    c is a multiple of `factor ** 2`. PyTorch's `pixel_shuffle`, ONNX DepthToSpace in mode CRD (`depth_to_space` is DCR).
    """
    shape, (c, h, w) = _pixels(ctx, x, factor)
    squared = factor * factor
    multiple(ctx, axis_of("x", shape, c), squared, "the square of {1}", "factor", factor)
    return (*shape[:c], shape[c] // squared, shape[h] * factor, shape[w] * factor)


@primitive("pixel_unshuffle", "x: tensor, factor: size", "T:any -> T")
def pixel_unshuffle(ctx: Ctx, x: TensorInfo, factor: Dim) -> Shape:
    """Blocks of pixels moved into channels: `[*s, c, h, w]` becomes `[*s, c * factor ** 2, h // factor, w // factor]`.

    h and w are multiples of `factor`. PyTorch's `pixel_unshuffle`, the inverse of `pixel_shuffle`.
    """
    shape, (c, h, w) = _pixels(ctx, x, factor)
    for i in (h, w):
        multiple(ctx, axis_of("x", shape, i), factor, "{1}", "factor", factor)
    return (*shape[:c], shape[c] * (factor * factor), shape[h] // factor, shape[w] // factor)


def _pixels(ctx: Ctx, x: TensorInfo, factor: Dim) -> tuple[Shape, tuple[int, int, int]]:
    attribute_at_least(ctx, "factor", 1, factor)
    shape = known_shape(ctx, x)
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
    position counts, or floats to add. With `causal` position i attends to the first i + 1 positions. Where no position counts
    the result is 0. PyTorch's `scaled_dot_product_attention`.
    """
    shapes = {name: _heads(ctx, name, x) for name, x in (("q", q), ("k", k), ("v", v))}
    a, b, c = shapes.values()
    for first, second, axis in (("q", "k", -1), ("k", "v", -2)):
        one, two = shapes[first], shapes[second]
        i, j = place(ctx, one, axis), place(ctx, two, axis)
        ctx.require(Equal(axis_of(first, one, i), axis_of(second, two, j)))
    batch = broadcast(ctx, a[:-2], b[:-2], c[:-2], names=("q", "k", "v"), last=-3)
    if mask is not None:
        _mask(ctx, known_shape(ctx, mask), (*batch, a[-2], b[-2]))
    return (*batch, a[-2], c[-1])


def _heads(ctx: Ctx, name: str, x: TensorInfo) -> Shape:
    shape = known_shape(ctx, x)
    rank_at_least(ctx, name, shape, 2)
    if not is_plain(shape[-2:]):
        raise RankUnknown
    return shape


def _mask(ctx: Ctx, given: Shape, scores: Shape) -> None:
    """Require the mask to broadcast to the scores without enlarging them."""
    if is_plain(given) and is_plain(scores) and len(given) > len(scores):
        phrase = f"{{0}} to have rank {len(scores)} or less"
        ctx.fail(OfRank(phrase, (Argument("mask"),), f"its rank is {len(given)}", rank=len(scores)))
    if is_plain(scores) and len(given) > len(scores):
        raise RankUnknown
    for axis in range(-1, -1 - min(len(given), len(scores)), -1):
        size, wanted = given[axis], scores[axis]
        if not is_plain((size, wanted)):
            if size is not wanted:
                raise RankUnknown
            continue
        scores_axis = WrittenSize(f"axis {axis} of the scores", wanted)
        where = Axis("qk"[axis], -2, wanted) if axis >= -2 else scores_axis
        asked = BroadcastTo(Axis("mask", axis, size), where, "{0} and {1} to be equal, or the first to be 1")
        ctx.require(asked)
