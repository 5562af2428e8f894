"""ONNX's Fourier transforms, with real and imaginary parts as a last axis, windows and mel weights."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, place, put
from ..model import Ctx, Dim, RankUnknown, TensorInfo
from ..operands import choice, rank_at_least, ranked
from ..registry import primitive
from ..requirements import Argument, AtLeast, AtMost, Axis, Equal, Is, Number, Other
from .onnx_shape import scalar


def _parts(ctx: Ctx, name: str, dims: Shape) -> None:
    """Require the last axis to hold the real parts, or the real and imaginary ones."""
    last = dims[-1]
    asked = Other("the last axis of {0} to have 1 or 2 elements", (Argument(name),))
    ctx.require(asked, ctx.any_of(ctx.eq(last, 1), ctx.eq(last, 2)))


@primitive(
    "onnx.dft",
    "x: tensor, length: tensor = none, along: tensor = none, axis: int = -2, inverse: bool = false, onesided: bool = false",
    "T:floating, I:{int32, int64}, J:{int32, int64} -> T",
)
def dft(
    ctx: Ctx,
    x: TensorInfo,
    length: TensorInfo | None,
    along: TensorInfo | None,
    axis: int,
    inverse: bool,
    onesided: bool,
) -> Shape:
    """The discrete Fourier transform of numbers whose real and imaginary parts are the last axis. ONNX DFT."""
    dims = ctx.dims(x)
    rank_at_least(ctx, "x", dims, 2)
    _parts(ctx, "x", dims)
    chosen = axis if along is None else scalar(ctx, "axis", along, None)
    if not isinstance(chosen, int):
        raise RankUnknown
    at = place(ctx, dims, chosen)
    if at == len(dims) - 1:
        ctx.fail(Other("another axis than the last"))
    own, back = dims[at], inverse and onesided
    if back:
        ctx.require(Is(Axis("x", len(dims) - 1, dims[-1]), Number(2)))
    if length is not None:
        size = scalar(ctx, "length", length, 1)
    else:
        ctx.require(AtLeast(Axis("x", at, own), 2 if back else 1))
        size = own * 2 - 2 if back else own
    made = size // 2 + 1 if onesided and not inverse else size
    return (*put(dims, at, made)[:-1], 1 if back else 2)


@primitive(
    "onnx.stft",
    "x: tensor, step: tensor, window: tensor = none, length: tensor = none, onesided: bool = true",
    "T:floating, I:{int32, int64}, T, I -> T",
)
def stft(
    ctx: Ctx, x: TensorInfo, step: TensorInfo, window: TensorInfo | None, length: TensorInfo | None, onesided: bool
) -> Shape:
    """The transforms of windows of a signal, `[batch, frames, length, 2]`. ONNX STFT."""
    dims = ctx.dims(x)
    if len(dims) != 2:
        dims = ranked(ctx, "x", x, 3, "[batch, time, 1 or 2]")
        _parts(ctx, "x", dims)
    hop, reach = scalar(ctx, "step", step, 1), _length(ctx, dims[1], window, length)
    ctx.require(AtMost(Argument("length", reach), Axis("x", 1, dims[1])))
    frames = (dims[1] - reach) // hop + 1
    return (dims[0], frames, reach // 2 + 1 if onesided else reach, 2)


def _length(ctx: Ctx, time: Dim, window: TensorInfo | None, length: TensorInfo | None) -> Dim:
    size = None if length is None else scalar(ctx, "length", length, 1)
    if window is None:
        return time if size is None else size
    own: Dim = ranked(ctx, "window", window, 1)[0]
    asked = AtLeast(Axis("window", 0, own), 1)
    ctx.require(asked if size is None else Equal(Argument("length", size), Axis("window", 0, own)))
    return own


@primitive(
    "onnx.window",
    'size: tensor, kind: str = "hann", periodic: bool = true, dtype: dtype = none',
    "I:{int32, int64} -> float32=dtype",
)
def window(ctx: Ctx, size: TensorInfo, kind: str, periodic: bool, dtype: Any) -> Shape:
    """A window of a given number of elements: "hann", "hamming" or "blackman". ONNX HannWindow and the like."""
    choice(ctx, "kind", kind, ("hann", "hamming", "blackman"))
    return (scalar(ctx, "size", size),)


@primitive(
    "onnx.mel_weights",
    "bins: tensor, length: tensor, rate: tensor, low: tensor, high: tensor, dtype: dtype = none",
    "I:{int32, int64}, I, I, F:floating, F -> float32=dtype",
)
def mel_weights(
    ctx: Ctx, bins: TensorInfo, length: TensorInfo, rate: TensorInfo, low: TensorInfo, high: TensorInfo, dtype: Any
) -> Shape:
    """The weight of each frequency of a spectrum in each mel bin, `[length // 2 + 1, bins]`. ONNX MelWeightMatrix."""
    count, size = scalar(ctx, "bins", bins), scalar(ctx, "length", length)
    return (size // 2 + 1, count)
