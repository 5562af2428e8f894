"""Windows as axes of their own, and the inverse: frames of signals, their Fourier transforms, patches of images."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, axis_of, known_shape, not_negative, place, product, put
from ..model import Ctx, Dim, Primitive, TensorInfo
from ..operands import attribute_at_least, is_one, rank_at_least, ranked
from ..registry import parse_params, primitive, register
from ..requirements import Argument, AtLeast, AtMost, Axis, Equal, Is, Multiple, Number, Other, WrittenSize
from ..windows import Pairs, Windows, count_windows, extent, per_axis, spatial_pads, spatial_sizes


@primitive(
    "frame", "x: tensor, length: size, step: size = 1", "T:numeric -> T", needs={"length": "exact", "step": "exact"}
)
def frame(ctx: Ctx, x: TensorInfo, length: Dim, step: Dim) -> Shape:
    """The windows of `length` elements along the last axis that begin at every `step`-th one: `[*s, t]` gives `[*s, k,
    length]`.

    k = (t - length) // step + 1; length and step are at least 1, length is at most t. The rest after the last window is
    dropped. PyTorch's `unfold`, TensorFlow's `tf.signal.frame`.
    """
    shape = known_shape(ctx, x)
    i = place(ctx, shape, -1)
    attribute_at_least(ctx, "length", 1, length)
    attribute_at_least(ctx, "step", 1, step)
    ctx.require(AtMost(Argument("length", length), axis_of("x", shape, i)))
    return put(shape, i, _frames(shape[i] - length, step), length)


def _frames(rest: Dim, step: Dim) -> Dim:
    return (rest if is_one(step) else rest // step) + 1


@primitive("overlap_add", "x: tensor, step: size", "T:numeric -> T", needs={"step": "exact"})
def overlap_add(ctx: Ctx, x: TensorInfo, step: Dim) -> Shape:
    """Frames laid `step` elements after each other and added: `[*s, k, length]` gives `[*s, (k - 1) * step + length]`.

    k and step are at least 1: the transpose of `frame`. TensorFlow's `tf.signal.overlap_and_add`.
    """
    shape = known_shape(ctx, x)
    rank_at_least(ctx, "x", shape, 2)
    i, j = place(ctx, shape, -2), place(ctx, shape, -1)
    attribute_at_least(ctx, "step", 1, step)
    ctx.require(AtLeast(axis_of("x", shape, i), 1, "the frames"))
    return (*shape[:i], (shape[i] - 1) * step + shape[j])


_SPECTRUM = "length: size, step: size, window: tensor = none, center: bool = true"


@primitive(
    "stft", f"x: tensor, {_SPECTRUM}", "T:{float32, float64}, T -> complex(T)",
    needs={"length": "exact", "step": "exact"},
)  # fmt: skip
def stft(ctx: Ctx, x: TensorInfo, length: Dim, step: Dim, window: TensorInfo | None, center: bool) -> Shape:
    """The short-time Fourier transform: the spectra of windows along the last axis, `[*s, t]` gives `[*s, length // 2 + 1, k]`.

    Window i begins at i * step and is multiplied with `window : [length]` (ones if it is left out): element f of its
    spectrum is sum_j(x_j * exp(-2i * pi * f * j / length)). With `center` the axis is padded first by length // 2 mirrored
    elements on each side, which are fewer than t. k = (t + pads - length) // step + 1. PyTorch's `stft` with
    `return_complex`.
    """
    shape = known_shape(ctx, x)
    i = place(ctx, shape, -1)
    _spectrum(ctx, length, step, window)
    half = length // 2
    own = axis_of("x", shape, i)
    if center:
        asked = Other("half of {0} to be less than {1}", (Argument("length", length), own))
        ctx.require(asked, ctx.lt(half, shape[i]))
        return put(shape, i, half + 1, _frames(shape[i] + half * 2 - length, step))
    ctx.require(AtMost(Argument("length", length), own))
    return put(shape, i, half + 1, _frames(shape[i] - length, step))


def _spectrum(ctx: Ctx, length: Dim, step: Dim, window: TensorInfo | None) -> None:
    attribute_at_least(ctx, "length", 1, length)
    attribute_at_least(ctx, "step", 1, step)
    if window is not None:
        (size,) = ranked(ctx, "window", window, 1)
        ctx.require(Equal(Axis("window", 0, size), Argument("length", length)))


@primitive(
    "istft", f"x: tensor, {_SPECTRUM}", "T:{complex64, complex128}, real(T) -> real(T)",
    needs={"length": "exact", "step": "exact"},
)  # fmt: skip
def istft(ctx: Ctx, x: TensorInfo, length: Dim, step: Dim, window: TensorInfo | None, center: bool) -> Shape:
    """The signal of spectra that overlap: `[*s, length // 2 + 1, k]` gives `[*s, (k - 1) * step + length - pads]`.

    The windows are transformed back, multiplied with `window`, added, and divided by the sum of the squared windows where
    that is not 0. With `center` the first and the last length // 2 elements are dropped: those that `stft` padded. k is at
    least 1. PyTorch's `istft`.
    """
    shape = known_shape(ctx, x)
    rank_at_least(ctx, "x", shape, 2)
    i, j = place(ctx, shape, -2), place(ctx, shape, -1)
    _spectrum(ctx, length, step, window)
    half = length // 2
    ctx.require(Is(axis_of("x", shape, i), WrittenSize("length // 2 + 1", half + 1)))
    ctx.require(AtLeast(axis_of("x", shape, j), 1, "the windows"))
    size = (shape[j] - 1) * step + length
    return (*shape[:i], size - half * 2 if center else size)


# Patches of images

_PATCHES = """One entry of `kernel_shape`, `strides`, `dilations` and `pads` holds for all spatial axes; for each of them t =
    floor((s + pads - dilation * (k - 1) - 1) / stride) + 1, as convolutions count."""
_ATTRIBUTES = "kernel_shape: sizes, strides: sizes = none, pads: pairs = none, dilations: sizes = none"


def _counts(
    ctx: Ctx,
    sizes: Shape,
    at: Any,
    kernel_shape: Shape,
    strides: Shape | None,
    pads: Pairs | None,
    dilations: Shape | None,
) -> tuple[Dim, Dim]:
    """The number of places of a kernel, and the total number of windows."""
    count = len(sizes)
    kernel = spatial_sizes(ctx, "kernel_shape", kernel_shape, count)
    steps = spatial_sizes(ctx, "strides", strides, count)
    gaps = spatial_sizes(ctx, "dilations", dilations, count)
    padding = spatial_pads(ctx, pads, "notset", count)
    found = []
    for i, size in enumerate(sizes):
        low, high = padding[i]
        window = Windows(extent(kernel[i], gaps[i]), steps[i], low, high)
        found.append(count_windows(ctx, size, window, at[i][1], (at[i],)))
    return product(kernel), product(found)


def _unfold(
    ctx: Ctx,
    x: TensorInfo,
    kernel_shape: Shape,
    strides: Shape | None,
    pads: Pairs | None,
    dilations: Shape | None,
) -> Shape:
    dims = ctx.dims(x)
    rank_at_least(ctx, "x", dims, 3)
    at = [("x", axis) for axis in range(2, len(dims))]
    places, windows = _counts(ctx, dims[2:], at, kernel_shape, strides, pads, dilations)
    return (dims[0], dims[1] * places, windows)


register(
    Primitive(
        "unfold", parse_params(f"x: tensor, {_ATTRIBUTES}"), "T:numeric -> T", _unfold,
        f"""The patches of images as columns: `x : [n, c, *s]` gives `[n, c * prod(k), prod(t)]`, im2col.

    {_PATCHES} Element c * prod(k) + j of a column is the one at place j of the kernel in channel c; 0 in the padding.
    PyTorch's `unfold`.""", needs={"kernel_shape": "exact"}, ) )  # fmt: skip


def _fold(
    ctx: Ctx,
    x: TensorInfo,
    output_shape: Shape,
    kernel_shape: Shape,
    strides: Shape | None,
    pads: Pairs | None,
    dilations: Shape | None,
) -> Shape:
    n, c, windows = ranked(ctx, "x", x, 3, "[batch, channels times places, windows]")
    sizes = per_axis(ctx, "output_shape", output_shape, max(len(output_shape), len(kernel_shape)))
    for size in sizes:
        not_negative(ctx, Argument("output_shape", size))
    at = [("output_shape", axis) for axis in range(len(sizes))]
    places, count = _counts(ctx, sizes, at, kernel_shape, strides, pads, dilations)
    channels = Axis("x", 1, c)
    if isinstance(places, int):
        ctx.require(Multiple(channels, Number(places), "the places of the kernel"))
    else:
        each = Other("{0} to be a multiple of the places of the kernel", (channels,))
        ctx.require(each, ctx.eq(c % places, 0))
    ctx.require(Is(Axis("x", 2, windows), WrittenSize("the number of windows", count)))
    return (n, c // places, *sizes)


register(
    Primitive(
        "fold", parse_params(f"x: tensor, output_shape: sizes, {_ATTRIBUTES}"), "T:numeric -> T", _fold,
        f"""Columns added up as the patches of images: `x : [n, c * prod(k), prod(t)]` gives `[n, c, *output_shape]`, col2im.

    {_PATCHES} Here s is `output_shape`: the transpose of `unfold`. PyTorch's `fold`, ONNX Col2Im.""",
        onnx=("Col2Im",), needs={"output_shape": "exact", "kernel_shape": "exact"},
    )
)  # fmt: skip
