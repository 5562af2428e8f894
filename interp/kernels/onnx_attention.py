"""Kernels of ONNX's attention, rotary embeddings and causal convolution."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .elementwise import widened
from .quiet import quiet
from .registry import Array, BadValue, kernel


def _heads(x: Array, count: int) -> Array:
    """`[batch, heads, length, size]`"""
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], count, x.shape[2] // count).swapaxes(1, 2)


def _packed(x: Array) -> Array:
    """Merge the heads into the last of three axes."""
    n, heads, length, size = x.shape
    return x.swapaxes(1, 2).reshape(n, length, heads * size)


def _per_group(x: Array, heads: int) -> Array:
    """Repeat each head of keys for the heads of queries that use it."""
    return x if x.shape[1] == heads else np.asarray(np.repeat(x, heads // x.shape[1], 1))


@kernel("onnx.attention")
def attention(*given: Any) -> Array:
    return np.asarray(attention_parts(*given)[0])


@kernel("onnx.attention_parts")
@quiet
def attention_parts(
    q: Array, k: Array, v: Array, mask: Array | None, past_key: Array | None, past_value: Array | None,
    counts: Array | None, q_heads: int, kv_heads: int, scale: float | None, causal: bool, softcap: float, left: int,
    right: int, mode: int, precision: Any,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    queries, keys, values = _heads(q, q_heads), _heads(k, kv_heads), _heads(v, kv_heads)
    keys = keys if past_key is None else np.concatenate((past_key, keys), 2)
    values = values if past_value is None else np.concatenate((past_value, values), 2)
    factor = 1 / sqrt(max(queries.shape[-1], 1)) if scale is None else scale
    scores = _scores(queries, _per_group(keys, queries.shape[1]), factor)
    shown = scores
    if softcap > 0:
        scores = np.tanh(scores / np.asarray(softcap, scores.dtype)) * np.asarray(softcap, scores.dtype)
        shown = scores if mode == 1 else shown
    ahead = 0 if past_key is None else past_key.shape[2]
    bias = _bias(scores, mask, counts, ahead, (left, 0 if causal and right < 0 else min(right, 0) if causal else right))
    if bias is not None:
        scores = scores + bias
    shown = scores if mode == 2 else shown
    weights = widened(_shares(scores if precision is None else scores.astype(precision), bias).astype(q.dtype))
    result = np.matmul(weights, widened(_per_group(values, queries.shape[1]))).astype(q.dtype)
    shown = weights if mode == 3 else shown
    return _packed(result) if q.ndim == 3 else result, keys, values, shown.astype(q.dtype)


def _scores(queries: Array, keys: Array, factor: float) -> Array:
    """The products of queries and keys, times a factor; for short floats both are multiplied by its root and rounded, as in
    the standard."""
    wide = widened(queries)
    if wide.dtype == queries.dtype:
        return np.asarray(np.matmul(wide * np.asarray(factor, wide.dtype), np.swapaxes(keys, -1, -2)))
    root = widened(np.asarray(sqrt(abs(factor))).astype(queries.dtype))
    left, right = (widened((widened(x) * root).astype(queries.dtype)) for x in (queries, keys))
    made = np.matmul(np.copysign(1, factor) * left, np.swapaxes(right, -1, -2))
    return np.asarray(made).astype(queries.dtype)


def _bias(scores: Array, mask: Array | None, counts: Array | None, ahead: int, window: tuple[int, int]) -> Array | None:
    """The bias to add to scores, or None: -inf where a query does not see a key."""
    length, total = scores.shape[-2:]
    bias = None
    if mask is not None:
        rest = [(0, 0)] * (mask.ndim - 1) + [(0, total - mask.shape[-1])]
        full = np.pad(mask, rest, constant_values=mask.dtype.type(False if mask.dtype == bool else -np.inf))
        bias = np.where(full, 0, -np.inf).astype(scores.dtype) if full.dtype == bool else full.astype(scores.dtype)
    column = np.arange(total)
    row = np.arange(length)[:, None] + (ahead if counts is None else (counts.reshape(-1, 1, 1, 1) - length))
    left, right = window
    seen: list[Array] = [column <= row + right] if right >= 0 else []
    seen += [column >= row - left] if left >= 0 else []
    seen += [column < counts.reshape(-1, 1, 1, 1)] if counts is not None else []
    for one in seen:
        hidden = np.where(one, 0, -np.inf).astype(scores.dtype)
        bias = hidden if bias is None else bias + hidden
    return bias


def _shares(scores: Array, bias: Array | None) -> Array:
    """Softmax; a query that sees no key has weights 0."""
    if not scores.shape[-1]:
        return scores
    most = np.max(scores, -1, keepdims=True)
    made: Array = np.exp(scores - np.where(np.isneginf(most), 0, most).astype(scores.dtype))
    total = np.sum(made, -1, keepdims=True)
    made = made / np.where(total == 0, 1, total).astype(made.dtype)
    if bias is None:
        return made
    hidden = np.isneginf(np.max(bias, -1, keepdims=True))
    return np.asarray(np.where(hidden, made.dtype.type(0), made))


@kernel("onnx.linear_attention")
def linear_attention(
    q: Array, k: Array, v: Array, past: Array | None, decay: Array | None, beta: Array | None, q_heads: int,
    kv_heads: int, scale: float | None, rule: str, dtype: Any,
) -> tuple[Array, Array]:  # fmt: skip
    queries, keys, values = (_heads(x, h).astype(np.float32) for x, h in ((q, q_heads), (k, kv_heads), (v, kv_heads)))
    n, _, length, size = queries.shape
    state = np.zeros((n, kv_heads, size, values.shape[3]), np.float32) if past is None else past.astype(np.float32)
    factor = np.float32(scale or 1 / sqrt(max(size, 1)))
    gates = None if decay is None or "gated" not in rule else np.exp(_heads(decay, kv_heads).astype(np.float32))
    rates = None if beta is None or "delta" not in rule else beta.astype(np.float32).swapaxes(1, 2)
    made = np.zeros((n, q_heads, length, values.shape[3]), np.float32)
    for i in range(length):
        key, value = keys[:, :, i], values[:, :, i]
        state = state if gates is None else state * gates[:, :, i, :, None]
        if rates is not None:
            value = rates[:, :, i, None] * (value - np.matmul(key[:, :, None], state)[:, :, 0])
        state = state + key[..., None] * value[:, :, None]
        made[:, :, i] = factor * np.matmul(queries[:, :, i, None], _per_group(state, q_heads))[:, :, 0]
    return _packed(made).astype(q.dtype), state.astype(dtype or (q.dtype if past is None else past.dtype))


@kernel("onnx.causal_conv")
def causal_conv(x: Array, weight: Array, bias: Array | None, past: Array | None) -> tuple[Array, Array]:
    size, length = weight.shape[2], x.shape[2]
    before = np.zeros((*x.shape[:2], size - 1), x.dtype) if past is None else past
    padded = np.concatenate((before, x), 2)
    wide = widened(padded)
    made = np.zeros(x.shape, wide.dtype)
    for i in range(size):
        made += wide[:, :, i : i + length] * widened(weight)[:, 0, i, None]
    if bias is not None:
        made += widened(bias)[:, None]
    return made.astype(x.dtype), padded[:, :, length:]


@kernel("onnx.rotary_embedding")
def rotary_embedding(
    x: Array, cosines: Array, sines: Array, positions: Array | None, heads: int, size: int, interleaved: bool
) -> Array:
    whole = _heads(x, heads)
    size = size or whole.shape[-1]
    if positions is not None:
        if positions.size and not 0 <= positions.min() <= positions.max() < len(cosines):
            raise BadValue(f"`positions` has {positions.min()} to {positions.max()}; there are {len(cosines)} rows")
        cosines, sines = cosines[positions], sines[positions]
    cosine, sine = (widened(t)[:, None] for t in (cosines, sines))
    turned, half = widened(whole[..., :size]), size // 2
    a, b = (turned[..., ::2], turned[..., 1::2]) if interleaved else (turned[..., :half], turned[..., half:])
    one, two = cosine * a - sine * b, sine * a + cosine * b
    joined = np.stack((one, two), -1).reshape(turned.shape) if interleaved else np.concatenate((one, two), -1)
    made = np.concatenate((joined.astype(x.dtype), whole[..., size:]), -1)
    return _packed(made) if x.ndim == 3 else made
