"""NumPy kernels of normalisation by channel, resizing and attention; floats of less than 32 bits go through float32."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy as np

from ...ops.windows import spatial_axes, spread
from .elementwise import Array, in_blocks, widened
from .linalg import linear
from .quiet import quiet
from .reduce import exponentials, normalized
from .registry import kernel, rows
from .shape import repeated
from .windows import channels_back, channels_first, narrow, surrounded

Ints = tuple[int, ...]


# By channel


@kernel("prelu")
@quiet
def prelu(x: Array, slope: Array, layout: str) -> Array:
    image = channels_first(widened(x), layout)
    result = np.where(image > 0, image, image * _over_channels(slope, x.ndim))
    return channels_back(narrow(result, x.dtype), layout)


def _over_channels(weight: Array, rank: int) -> Array:
    """A weight for each channel, in the shape for an array with the channels at axis 1."""
    return widened(weight).reshape(-1, *(1,) * (rank - 2))


@kernel("batch_normalization")
@quiet
def batch_normalization(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, layout: str
) -> Array:
    image = channels_first(widened(x), layout)
    factor = widened(scale) / np.sqrt(widened(variance) + np.asarray(epsilon, image.dtype))
    result = image * _over_channels(factor, x.ndim)
    result += _over_channels(widened(bias) - widened(mean) * factor, x.ndim)
    return channels_back(narrow(result, x.dtype), layout)


@kernel("instance_normalization")
def instance_normalization(x: Array, scale: Array, bias: Array, epsilon: float, layout: str) -> Array:
    channels = x.shape[-1 if layout == "channels_last" else 1]
    return group_normalization(x, scale, bias, max(channels, 1), epsilon, layout)


@kernel("group_normalization")
@quiet
def group_normalization(x: Array, scale: Array, bias: Array, num_groups: int, epsilon: float, layout: str) -> Array:
    image = channels_first(widened(x), layout)
    batch, channels, *sizes = image.shape
    width = channels // num_groups * prod(sizes)
    groups = image.reshape(batch, num_groups, width)
    result = in_blocks(lambda rows, _: normalized(rows, epsilon), groups, width).reshape(image.shape)
    result *= _over_channels(scale, x.ndim)
    result += _over_channels(bias, x.ndim)
    return channels_back(narrow(result, x.dtype), layout)


@kernel("lrn")
@quiet
def lrn(x: Array, size: int, alpha: float, beta: float, bias: float, layout: str) -> Array:
    image = channels_first(widened(x), layout)
    squares = np.square(image)
    before = (size - 1) // 2
    padded = surrounded(squares, [(before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)], 0)
    total = np.zeros_like(squares)
    for offset in range(size):
        total += padded[:, offset : offset + image.shape[1]]
    return channels_back(narrow(image / (bias + alpha / size * total) ** beta, x.dtype), layout)


# Larger and smaller images


@kernel("upsample")
def upsample(x: Array, scales: Ints, mode: str, layout: str, align_corners: bool) -> Array:
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    factors = spread(scales, len(axes), 1)
    return resize(x, tuple(x.shape[a] * f for a, f in zip(axes, factors, strict=True)), mode, layout, align_corners)


@kernel("resize")
def resize(x: Array, sizes: Ints, mode: str, layout: str, align_corners: bool) -> Array:
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    result = x if mode == "nearest" else widened(x)
    for axis, size in reversed(list(zip(axes, spread(sizes, len(axes), 1), strict=True))):
        old = x.shape[axis]
        if mode == "nearest" and old and size % old == 0:
            result = _repeated(result, axis, size // old)
        elif mode == "nearest":
            result = np.take(result, np.arange(size) * old // max(size, 1), axis)
        elif size != x.shape[axis]:
            result = _interpolated(result, axis, size, mode, align_corners)
    return narrow(result, x.dtype)


def _repeated(x: Array, axis: int, times: int) -> Array:
    """Like numpy.repeat, which is slow along the last axis."""
    if axis != x.ndim - 1:
        return repeated(x, times, axis)
    result = np.empty((*x.shape[:-1], x.shape[-1] * times), x.dtype)
    for i in range(times):
        result[..., i::times] = x
    return result


def _interpolated(x: Array, axis: int, size: int, mode: str, align_corners: bool) -> Array:
    """A weighted sum of the elements around each new one; beyond the borders they are repeated."""
    old = x.shape[axis]
    places = _places(old, size, align_corners)
    if mode == "linear":
        places = np.clip(places, 0, max(old - 1, 0))
    below = np.floor(places).astype(np.int64)
    shares = linear_shares if mode == "linear" else cubic_shares
    result = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    for offset, share in shares(places - below) if size else ():
        weight = share.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - 1 - axis))
        result += np.take(x, np.clip(below + offset, 0, old - 1), axis) * weight
    return result


def _places(old: int, size: int, align_corners: bool) -> Array:
    """The places of the new elements among the old ones, by their midpoints; or with the first and the last ones aligned."""
    if align_corners:
        return np.arange(size) * ((old - 1) / max(size - 1, 1))
    return (np.arange(size) + 0.5) * (old / max(size, 1)) - 0.5


def linear_shares(t: Array) -> list[tuple[int, Any]]:
    return [(0, 1 - t), (1, t)]


def cubic_shares(t: Array) -> list[tuple[int, Any]]:
    """Keys' kernel with a = -0.75."""
    a = -0.75

    def near(d: Array) -> Array:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Array) -> Array:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [(-1, far(t + 1)), (0, near(t)), (1, near(1 - t)), (2, far(2 - t))]


@kernel("pixel_shuffle")
def pixel_shuffle(x: Array, factor: int) -> Array:
    *lead, c, h, w = x.shape
    n = len(lead)
    blocks = x.reshape(*lead, c // factor**2, factor, factor, h, w)
    moved = blocks.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*lead, c // factor**2, h * factor, w * factor)


@kernel("pixel_unshuffle")
def pixel_unshuffle(x: Array, factor: int) -> Array:
    *lead, c, h, w = x.shape
    n = len(lead)
    blocks = x.reshape(*lead, c, h // factor, factor, w // factor, factor)
    moved = blocks.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*lead, c * factor**2, h // factor, w // factor)


# Attention


@kernel("attention")
@quiet
def attention(q: Array, k: Array, v: Array, mask: Array | None, causal: bool, scale: float | None) -> Array:
    factor = 1 / sqrt(max(q.shape[-1], 1)) if scale is None else scale
    scores = np.matmul(widened(q) * np.asarray(factor, widened(q).dtype), np.swapaxes(widened(k), -1, -2))
    weights = weighed(scores, mask, np.tri(*scores.shape[-2:], dtype=bool) if causal else None)
    return narrow(np.matmul(weights, widened(v)), q.dtype)


def weighed(scores: Any, mask: Array | None, counts: Array | None) -> Any:
    """The weight of each position, for scores that may be overwritten; if no position counts the weights are 0, not nan."""
    if mask is not None:
        mask = np.asarray(mask)
        scores = _kept(scores, mask) if mask.dtype == bool else scores + mask.astype(scores.dtype)
    if counts is not None:
        scores = _kept(scores, counts)
    return in_blocks(_shares, scores, scores.shape[-1], scores)


def _kept(scores: Any, mask: Array) -> Any:
    least = np.asarray(-np.inf, scores.dtype)
    if np.broadcast_shapes(scores.shape, mask.shape) != scores.shape:
        return np.where(mask, scores, least)
    np.copyto(scores, least, where=np.logical_not(mask))
    return scores


def _shares(rows: Any, out: Any) -> Any:
    result, total = exponentials(rows, -1)
    total[total == 0] = 1
    return np.divide(result, total, out=result if out is None else out)


rows(
    {
        "dense": lambda x, weight, bias: linear(x, weight.T, bias),
        "dropout": lambda x, ratio: np.asarray(x),
    }
)
