"""NumPy kernels of frames, short-time Fourier transforms and patches: strided views, and sums over the places of a window."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ops.windows import Pairs, spread
from .elementwise import Array
from .quiet import quiet
from .registry import kernel
from .windows import Grid, narrow, wide

Ints = tuple[int, ...]


@kernel("frame")
def frame(x: Array, length: int, step: int) -> Array:
    # NumPy makes windows by the letter of a dtype, and float8 has none of its own.
    plain = x if x.dtype.isbuiltin == 1 else x.view(f"V{x.itemsize}")
    return np.lib.stride_tricks.sliding_window_view(plain, length, axis=-1)[..., ::step, :].view(x.dtype)


@kernel("overlap_add")
@quiet
def overlap_add(x: Array, step: int) -> Array:
    *lead, count, length = x.shape
    parts = max(-(-length // step), 1)
    # A frame is cut into parts of `step` elements; the n-th parts of all frames are added at once.
    blocks = wide(x)
    if parts * step != length:
        blocks = np.concatenate([blocks, np.zeros((*lead, count, parts * step - length), blocks.dtype)], -1)
    blocks = blocks.reshape(*lead, count, parts, step)
    total = np.zeros((*lead, count + parts - 1, step), blocks.dtype)
    for part in range(parts):
        total[..., part : part + count, :] += blocks[..., part, :]
    flat = total.reshape(*lead, (count + parts - 1) * step)
    return narrow(flat[..., : (count - 1) * step + length], x.dtype)


@kernel("stft")
@quiet
def stft(x: Array, length: int, step: int, window: Array | None, center: bool) -> Array:
    if center:
        half = length // 2
        x = np.pad(x, [*[(0, 0)] * (x.ndim - 1), (half, half)], mode="reflect") if x.size else _longer(x, 2 * half)
    frames = frame(x, length, step)
    if window is not None:
        frames = frames * window
    if not frames.size:
        return np.zeros((*x.shape[:-1], length // 2 + 1, frames.shape[-2]), np.result_type(x, np.complex64))
    return np.swapaxes(np.fft.rfft(frames, axis=-1), -1, -2)


def _longer(x: Array, more: int) -> Array:
    """An empty tensor with a longer last axis."""
    return np.zeros((*x.shape[:-1], x.shape[-1] + more), x.dtype)


@kernel("istft")
@quiet
def istft(x: Array, length: int, step: int, window: Array | None, center: bool) -> Array:
    weights = np.ones(length, x.real.dtype) if window is None else window
    half = length // 2
    *lead, _, count = x.shape
    if not x.size:
        signal = np.zeros((*lead, (count - 1) * step + length), weights.dtype)
    else:
        frames = np.fft.irfft(np.swapaxes(x, -1, -2), length, axis=-1)
        signal = overlap_add(frames * weights, step)
    squares = overlap_add(np.broadcast_to(np.square(weights), (count, length)), step)
    signal = signal / np.where(squares > 1e-11, squares, 1)
    return signal[..., half : signal.shape[-1] - half] if center else signal


@kernel("unfold")
def unfold(x: Array, kernel_shape: Ints, strides: Ints | None, pads: Pairs | None, dilations: Ints | None) -> Array:
    count = x.ndim - 2
    grid = Grid(x.shape[2:], spread(kernel_shape, count, 1), strides, pads, "notset", dilations)
    n, c = x.shape[:2]
    columns = np.empty((n, c, prod(grid.kernel), *grid.counts), x.dtype)
    if columns.size:
        padded = grid.padded(x, x.dtype.type(0))
        for i, where in enumerate(grid.offsets()):
            columns[:, :, i] = padded[where]
    return columns.reshape(n, c * prod(grid.kernel), prod(grid.counts))


@kernel("fold")
@quiet
def fold(
    x: Array, output_shape: Ints, kernel_shape: Ints, strides: Ints | None, pads: Pairs | None, dilations: Ints | None
) -> Array:
    count = max(len(output_shape), len(kernel_shape))
    sizes = spread(output_shape, count, 1)
    grid = Grid(sizes, spread(kernel_shape, count, 1), strides, pads, "notset", dilations)
    places = prod(grid.kernel)
    n, c = x.shape[0], x.shape[1] // places
    return narrow(grid.added(wide(x).reshape(n, c, places, *grid.counts)), x.dtype)
