"""Kernels of operators of onnxruntime's domain and of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import widened
from .registry import Array, BadValue, kernel


def unpacked(packed: Array, bits: int) -> Array:
    """Unpack integers of few bits from bytes, along the last axis, the low bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    made: Array = (packed[..., None] >> shifts) & np.uint8(2**bits - 1)
    return made.reshape(*packed.shape[:-1], packed.shape[-1] * len(shifts))


@kernel("onnx.matmul_bits")
def matmul_bits(
    x: Array, weight: Array, scales: Array, zero_points: Array | None, k: int, n: int, block: int, bits: int
) -> Array:
    blocks = -(-k // block)
    numbers = unpacked(weight.reshape(n, blocks, -1), bits)[..., :block].astype(np.float32)
    numbers -= _zeros(zero_points, n, blocks, bits)
    columns = (numbers * widened(scales).reshape(n, blocks, 1)).reshape(n, blocks * block)[:, :k]
    return np.asarray(np.matmul(widened(x), columns.T.astype(widened(x).dtype))).astype(x.dtype)


def _zeros(given: Array | None, n: int, blocks: int, bits: int) -> Array:
    """The zero point of each block."""
    if given is None:
        return np.full((1, 1, 1), 2 ** (bits - 1), np.float32)
    if given.dtype != np.uint8:
        return np.asarray(widened(given)).reshape(n, blocks, 1)
    return unpacked(given.reshape(n, -1), bits)[:, :blocks].astype(np.float32)[..., None]


@kernel("onnx.label_encoder")
def label_encoder(x: Array, keys: Array, values: Array, default: Array, finds_nan: bool) -> Array:
    table: dict[Any, Any] = {}
    for key, value in zip(keys.ravel().tolist(), values.ravel().tolist(), strict=True):
        table[key] = value
    nan = next((v for k, v in reversed(table.items()) if k != k and finds_nan), default.item())
    found = [table.get(e, nan if e != e else default.item()) for e in x.ravel().tolist()]
    return np.array(found, values.dtype).reshape(x.shape)


@kernel("onnx.feature_extractor")
def feature_extractor(x: Array, indices: Array) -> Array:
    places = indices.ravel()
    if places.size and not 0 <= places.min() <= places.max() < x.shape[-1]:
        raise BadValue(f"`indices` has {places.min()} to {places.max()}; the axis has {x.shape[-1]} entries")
    made: Array = x[..., places]
    return made.reshape(1, -1) if x.ndim == 1 else made


@kernel("onnx.tensor_scatter")
def tensor_scatter(cache: Array, update: Array, starts: Array | None, axis: int, circular: bool) -> Array:
    made, at = cache.copy(), axis % cache.ndim
    length, most = update.shape[at], cache.shape[at]
    first = np.zeros(len(cache), np.int64) if starts is None else starts.ravel()
    if not circular and first.size and length and not 0 <= first.min() <= first.max() <= most - length:
        raise BadValue(f"`starts` has {first.min()} to {first.max()}; {length} of {most} entries are written")
    for row, start in enumerate(first):
        places = (start + np.arange(length)) % max(most, 1)
        entry = made[row]
        entry[(*(slice(None),) * (at - 1), places)] = update[row]
    return made
