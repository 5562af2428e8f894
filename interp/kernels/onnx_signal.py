"""Kernels of ONNX's Fourier transforms, windows and mel weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import widened
from .quiet import quiet
from .registry import Array, BadValue, kernel


def _signal(x: Array) -> Array:
    """Real or complex numbers from their parts in the last axis."""
    wide = widened(x)
    result: Array = wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]
    return result


def _in_parts(x: Array) -> Array:
    return np.stack([x.real, x.imag], -1)


@kernel("onnx.dft")
@quiet
def dft(x: Array, length: Array | None, along: Array | None, axis: int, inverse: bool, onesided: bool) -> Array:
    at = (axis if along is None else int(along.ravel()[0])) % x.ndim
    signal = _signal(x)
    own = x.shape[at]
    size = (own * 2 - 2 if inverse and onesided else own) if length is None else int(length.ravel()[0])
    if not signal.size:
        many = size // 2 + 1 if onesided and not inverse else size
        shape = (*x.shape[:at], many, *x.shape[at + 1 : -1], 1 if inverse and onesided else 2)
        return np.zeros(shape, x.dtype)
    if inverse and onesided:
        return np.fft.irfft(signal, size, at)[..., None].astype(x.dtype)
    made = np.fft.ifft(signal, size, at) if inverse else np.fft.fft(signal, size, at)
    if onesided and not inverse:
        made = np.take(made, np.arange(size // 2 + 1), at)
    return _in_parts(made).astype(x.dtype)


@kernel("onnx.stft")
@quiet
def stft(x: Array, step: Array, window: Array | None, length: Array | None, onesided: bool) -> Array:
    signal = widened(x) if x.ndim == 2 else _signal(x)
    reach = int(length.ravel()[0]) if length is not None else signal.shape[1] if window is None else len(window)
    frames = np.lib.stride_tricks.sliding_window_view(signal, reach, axis=1)[:, :: int(step.ravel()[0])]
    if window is not None:
        frames = frames * window
    count = reach // 2 + 1 if onesided else reach
    made = np.fft.fft(frames, axis=-1)[..., :count] if frames.size else np.zeros((*frames.shape[:2], count))
    return _in_parts(made).astype(x.dtype)


@kernel("onnx.window")
@quiet
def window(size: Array, kind: str, periodic: bool, dtype: Any) -> Array:
    count = int(size.ravel()[0])
    if count < 0:
        raise BadValue("size is negative")
    turn = 2 * np.pi * np.arange(count) / (count if periodic else count - 1)
    if kind == "hann":
        made = (1 - np.cos(turn)) / 2
    elif kind == "hamming":
        made = 25 / 46 - np.cos(turn) * (1 - 25 / 46)
    else:
        made = 0.42 - 0.5 * np.cos(turn) + 0.08 * np.cos(2 * turn)
    return made.astype(np.float32 if dtype is None else dtype)


@kernel("onnx.mel_weights")
def mel_weights(bins: Array, length: Array, rate: Array, low: Array, high: Array, dtype: Any) -> Array:
    """Make each bin a triangle over the frequencies between its neighbours."""
    count, size = int(bins.ravel()[0]), int(length.ravel()[0])
    mels = [2595 * np.log10(1 + float(edge.ravel()[0]) / 700) for edge in (low, high)]
    edges = mels[0] + np.arange(count + 2) * ((mels[1] - mels[0]) / (count + 2))
    hertz = 700 * (10 ** (edges / 2595) - 1)
    at = ((size + 1) * hertz // int(rate.ravel()[0])).astype(np.int64)
    result = np.zeros((size // 2 + 1, count))
    if count and (at.min() < 0 or at.max() >= len(result)):
        raise BadValue("an edge of the bins lies beyond the spectrum")
    for i in range(count):
        first, middle, last = at[i : i + 3]
        if first == middle:
            result[middle, i] = 1
        else:
            result[first : middle + 1, i] = np.arange(middle + 1 - first) / (middle - first)
        if last > middle:
            result[middle:last, i] = np.arange(last - middle, 0, -1) / (last - middle)
    return result.astype(np.float32 if dtype is None else dtype)
