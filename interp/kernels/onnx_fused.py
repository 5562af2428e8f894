"""Kernels of onnxruntime's own operators: attention with caches, masks and positions, packed integers."""

from __future__ import annotations

from math import sqrt

import numpy as np

from .elementwise import widened
from .onnx_extra import unpacked
from .quiet import quiet
from .registry import Array, BadValue, kernel, lookup
from .shape import repeated


@kernel("onnx.mask_bias")
def mask_bias(mask: Array, q: Array, total: int, hidden: float) -> Array:
    if mask.ndim == 2 and mask.shape[1] == 1:
        return np.zeros((len(q), 1, 1, total), q.dtype)
    seen = _within(mask, len(q), total) if mask.ndim == 1 else np.expand_dims(mask, (1, 2)[: 4 - mask.ndim])
    return np.asarray(np.where(seen > 0, q.dtype.type(0), q.dtype.type(hidden)))


def _within(mask: Array, batch: int, total: int) -> Array:
    """Whether each key is seen: those before the end of its batch, and from its start on if `mask` has starts after the
    ends."""
    if mask.size == 3 * batch + 2 and mask.size != 2 * batch:
        raise BadValue("`mask` has the ends of sequences that stand one behind the other")
    column, ends = np.arange(total), mask[:batch].reshape(-1, 1, 1, 1)
    seen = column < ends
    return np.asarray(seen & (column >= mask[batch:].reshape(-1, 1, 1, 1)) if mask.size == 2 * batch > 0 else seen)


@kernel("onnx.positions")
def positions(start: Array, x: Array, heads: bool) -> Array:
    if start.ndim == 2:
        return start.astype(np.int64)
    rows = np.arange(x.shape[2 if heads else 1], dtype=np.int64)
    return np.broadcast_to(start.astype(np.int64) + rows, (len(x), len(rows))).copy()


@kernel("onnx.unpack_bits")
def unpack_bits(x: Array, bits: int) -> Array:
    return unpacked(x, bits)


@kernel("onnx.group_query_attention")
@quiet
def group_query_attention(
    q: Array, k: Array, v: Array, lengths: Array, total: int, past_key: Array | None, past_value: Array | None,
    cosines: Array | None, sines: Array | None, places: Array | None, interleaved: bool, scale: float | None,
    softcap: float, window: int, q_heads: int, kv_heads: int,
) -> tuple[Array, Array, Array]:  # fmt: skip
    batch, length = q.shape[:2]
    ends = lengths.ravel().astype(np.int64) + 1
    starts = np.zeros(batch, np.int64) if length == total else ends - length
    most = total if past_key is None else max(total, past_key.shape[2])
    if batch and not 0 <= starts.min() <= (starts + length).max() <= most:
        raise BadValue(f"`lengths` has {lengths.min()} to {lengths.max()}; there is room for {most} keys")
    if cosines is not None and sines is not None:
        at = starts[:, None] + np.arange(length) if places is None else places
        at = np.where(at < ends[:, None], at, 1) if places is None else at
        size = 2 * cosines.shape[1]
        turned = (
            lookup("onnx.rotary_embedding")(x, cosines, sines, at, heads, size, interleaved)
            for x, heads in ((q, q_heads), (k, kv_heads))
        )
        q, k = turned
    queries, keys, values = (_split(x, heads) for x, heads in ((q, q_heads), (k, kv_heads), (v, kv_heads)))
    keys, values = (_kept(new, past, starts, most) for new, past in ((keys, past_key), (values, past_value)))
    made = np.empty_like(queries)
    factor = scale or 1 / sqrt(max(queries.shape[-1], 1))
    for i in range(batch):
        seen = slice(0, max(int(starts[i]) + length, 0))
        made[i] = _one(queries[i], keys[i, :, seen], values[i, :, seen], int(starts[i]), factor, softcap, window)
    return made.swapaxes(1, 2).reshape(q.shape), keys, values


def _split(x: Array, heads: int) -> Array:
    return x.reshape(*x.shape[:2], heads, -1 if x.size else x.shape[2] // heads).swapaxes(1, 2)


def _kept(new: Array, past: Array | None, starts: Array, most: int) -> Array:
    """The past entries, overwritten with the new ones from the start of each batch on."""
    made = np.zeros((*new.shape[:2], most, new.shape[3]), new.dtype)
    for i, start in enumerate(starts):
        if past is not None:
            made[i, :, : min(int(start), past.shape[2])] = past[i, :, : int(start)]
        made[i, :, start : start + new.shape[2]] = new[i]
    return made


def _one(q: Array, k: Array, v: Array, start: int, factor: float, softcap: float, window: int) -> Array:
    """Attention of one batch: each query sees the keys up to its own place, at most the last `window` of them."""
    k, v = (np.repeat(widened(x), len(q) // len(x), 0) for x in (k, v))
    scores = np.matmul(widened(q), k.swapaxes(1, 2)) * np.float32(factor)
    if softcap > 0:
        scores = softcap * np.tanh(scores / softcap)
    row, column = start + np.arange(q.shape[1])[:, None], np.arange(k.shape[1])
    hidden = (column > row) | ((column <= row - window) if window > 0 else False)
    scores = np.where(hidden, -np.inf, scores)
    shares = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    shares = shares / shares.sum(-1, keepdims=True)
    return np.asarray(np.matmul(shares.astype(scores.dtype), v)).astype(q.dtype)


# 4-bit floats, and the quantiles of the normal distribution, as in bitsandbytes.
_FP4 = np.array(
    [0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25,
     -0.0, -5.208333333e-03, -0.66666667, -1.0, -0.33333333, -0.5, -0.16666667, -0.25], np.float32,
)  # fmt: skip
_NF4 = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
     -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], np.float32,
)  # fmt: skip


@kernel("onnx.matmul_bnb4")
def matmul_bnb4(x: Array, weight: Array, scales: Array, k: int, n: int, block: int, normal: bool) -> Array:
    packed = weight.ravel()
    places = np.stack((packed >> 4, packed & 15), -1).ravel()[: n * k]
    numbers = (_NF4 if normal else _FP4)[places] * repeated(widened(scales).ravel(), block, 0)[: n * k]
    return np.asarray(np.matmul(widened(x), numbers.reshape(n, k).T)).astype(x.dtype)
