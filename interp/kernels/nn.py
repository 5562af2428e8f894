"""NumPy kernels of normalisation by channel, resizing and attention; floats of less than 32 bits go through float32."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy as np

from ...ops.windows import spatial_axes, spread
from .elementwise import Array, widened
from .linalg import linear
from .registry import kernel
from .windows import channels_back, channels_first, narrow

Ints = tuple[int, ...]

_quiet = np.errstate(all="ignore")


@kernel("dense")
def dense(x: Array, weight: Array, bias: Array | None) -> Array:
    return linear(x, weight.T, bias)


@kernel("dropout")
def dropout(x: Array, ratio: float) -> Array:
    return np.asarray(x)


# By channel


@kernel("prelu")
@_quiet
def prelu(x: Array, slope: Array, layout: str) -> Array:
    image = channels_first(widened(x), layout)
    result = np.where(image > 0, image, image * _over_channels(slope, x.ndim))
    return channels_back(narrow(result, x.dtype), layout)


def _over_channels(weight: Array, rank: int) -> Any:
    """A weight for each channel, beside an array with the channels at axis 1."""
    return widened(weight).reshape(-1, *(1,) * (rank - 2))


@kernel("batch_normalization")
@_quiet
def batch_normalization(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, layout: str
) -> Array:
    image = channels_first(widened(x), layout)
    root = np.sqrt(_over_channels(variance, x.ndim) + np.asarray(epsilon, image.dtype))
    result = (image - _over_channels(mean, x.ndim)) / root
    result = result * _over_channels(scale, x.ndim) + _over_channels(bias, x.ndim)
    return channels_back(narrow(result, x.dtype), layout)


@kernel("instance_normalization")
def instance_normalization(x: Array, scale: Array, bias: Array, epsilon: float, layout: str) -> Array:
    channels = x.shape[-1 if layout == "channels_last" else 1]
    return group_normalization(x, scale, bias, max(channels, 1), epsilon, layout)


@kernel("group_normalization")
@_quiet
def group_normalization(x: Array, scale: Array, bias: Array, num_groups: int, epsilon: float, layout: str) -> Array:
    image = channels_first(widened(x), layout)
    batch, channels, *sizes = image.shape
    groups = image.reshape(batch, num_groups, channels // num_groups * prod(sizes))
    count = np.asarray(groups.shape[2], image.dtype)
    centred = groups - np.add.reduce(groups, axis=2, keepdims=True) / count
    spread_ = np.add.reduce(np.square(centred), axis=2, keepdims=True) / count
    result = (centred / np.sqrt(spread_ + np.asarray(epsilon, image.dtype))).reshape(image.shape)
    result = result * _over_channels(scale, x.ndim) + _over_channels(bias, x.ndim)
    return channels_back(narrow(result, x.dtype), layout)


@kernel("lrn")
@_quiet
def lrn(x: Array, size: int, alpha: float, beta: float, bias: float, layout: str) -> Array:
    image = channels_first(widened(x), layout)
    squares = np.square(image)
    before = (size - 1) // 2
    borders = [(0, 0)] * x.ndim
    borders[1] = (before, size - 1 - before)
    padded = np.pad(squares, borders)
    total = np.zeros_like(squares)
    for offset in range(size):
        total += padded[:, offset : offset + image.shape[1]]
    return channels_back(narrow(image / (bias + alpha / size * total) ** beta, x.dtype), layout)


# Larger and smaller images


@kernel("upsample")
def upsample(x: Array, scales: Ints, mode: str, layout: str) -> Array:
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    factors = spread(scales, len(axes), 1)
    return resize(x, tuple(x.shape[a] * f for a, f in zip(axes, factors, strict=True)), mode, layout)


@kernel("resize")
def resize(x: Array, sizes: Ints, mode: str, layout: str) -> Array:
    axes = spatial_axes(x.ndim, x.ndim - 2, layout)
    result = x if mode == "nearest" else widened(x)
    for axis, size in zip(axes, spread(sizes, len(axes), 1), strict=True):
        result = _nearest(result, axis, size) if mode == "nearest" else _linear(result, axis, size)
    return narrow(result, x.dtype)


def _nearest(x: Any, axis: int, size: int) -> Any:
    return np.take(x, np.arange(size) * x.shape[axis] // max(size, 1), axis)


def _linear(x: Any, axis: int, size: int) -> Any:
    """Between the two elements whose middles lie around the middle of the new one."""
    old = x.shape[axis]
    if size == old or size == 0:
        return np.take(x, np.arange(size), axis)
    places = np.clip((np.arange(size) + 0.5) * (old / size) - 0.5, 0, old - 1)
    below = places.astype(np.int64)
    share = (places - below).astype(x.dtype).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    above = np.minimum(below + 1, old - 1)
    return np.take(x, below, axis) * (1 - share) + np.take(x, above, axis) * share


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
@_quiet
def attention(q: Array, k: Array, v: Array, mask: Array | None, causal: bool, scale: float | None) -> Array:
    factor = 1 / sqrt(max(q.shape[-1], 1)) if scale is None else scale
    scores = np.matmul(widened(q) * np.asarray(factor, widened(q).dtype), np.swapaxes(widened(k), -1, -2))
    least = np.asarray(-np.inf, scores.dtype)
    if mask is not None:
        mask = np.asarray(mask)
        scores = np.where(mask, scores, least) if mask.dtype == bool else scores + mask.astype(scores.dtype)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, least)
    scores = scores - np.maximum.reduce(scores, axis=-1, keepdims=True, initial=-np.inf)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, axis=-1, keepdims=True)
    return narrow(np.matmul(scores, widened(v)), q.dtype)
