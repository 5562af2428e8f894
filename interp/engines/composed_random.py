"""Random numbers from keys as compositions of others: the words of `kernels/random.py`, over halves of 32 bits."""

from __future__ import annotations

from math import prod

import numpy as np

from ..engine_types import EngineArray as Array, EngineDType, EngineSize, EngineSizes
from ..kernels.random import _DIGITS, _FAR, _KEYS, _MIDDLE, _NUMBERS, _OUTSIDE, _SECOND
from .table import Ops, composed

# Philox 4x64 with ten rounds: its factors, and the increments of the key's halves.
_FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_HALF = 2**32


def _product(ops: Ops, factor: int, x: Array) -> tuple[Array, Array]:
    """The upper and the lower 64 bits of a product."""
    (a, b), (c, d) = divmod(factor, _HALF), (ops.floor_divide(x, _HALF), ops.remainder(x, _HALF))
    low = ops.multiply(d, b)
    middle = ops.add(ops.multiply(c, b), ops.floor_divide(low, _HALF))
    other = ops.add(ops.multiply(d, a), ops.remainder(middle, _HALF))
    upper = ops.add(ops.multiply(c, a), ops.add(ops.floor_divide(middle, _HALF), ops.floor_divide(other, _HALF)))
    return upper, ops.multiply(x, factor)


def _words(ops: Ops, key: Array, count: EngineSize, stream: int = _NUMBERS) -> Array:
    """The words of the blocks, four each; the counter of the first block is 1."""
    places = ops.cast(ops.arange(1, (count + 3) // 4 + 1), ops.named("uint64"))
    zero, keys = ops.multiply(places, 0), [ops.take(key, i) for i in (0, 1)]
    c0, c1, c2, c3 = places, zero, ops.add(zero, stream), zero
    for _ in range(10):
        (high, low), (upper, lower) = _product(ops, _FACTORS[0], c0), _product(ops, _FACTORS[1], c2)
        c0, c2 = (
            ops.bitwise_xor(ops.bitwise_xor(x, c), k) for x, c, k in zip((upper, high), (c1, c3), keys, strict=True)
        )
        c1, c3 = lower, low
        keys = [ops.add(k, step) for k, step in zip(keys, _STEPS, strict=True)]
    return ops.slice(ops.reshape(ops.stack([c0, c1, c2, c3], 1), (4 * ((count + 3) // 4),)), (0,), (count,))


@composed("random_key")
def random_key(ops: Ops, seed: Array) -> Array:
    first = ops.expand_dims(ops.cast(ops.size_to_tensor(seed), ops.named("uint64")), (0,))
    return ops.concat([first, ops.engine.array(np.array([_SECOND], np.uint64))])


@composed("random_split")
def random_split(ops: Ops, key: Array, num: EngineSize) -> Array:
    return ops.reshape(_words(ops, key, 2 * num, _KEYS), (num, 2))


@composed("random_uniform")
def random_uniform(ops: Ops, key: Array, shape: EngineSizes, dtype: EngineDType) -> Array:
    dtype = ops.named("float32") if dtype is None else dtype
    digits = _DIGITS[ops.dtype_of(ops.zeros((), dtype)).name]
    whole = ops.floor_divide(_words(ops, key, prod(shape)), 2 ** (64 - digits))
    return ops.reshape(ops.cast(ops.multiply(ops.cast(whole, ops.named("float64")), 2.0**-digits), dtype), shape)


def _open_unit(ops: Ops, key: Array, count: EngineSize) -> Array:
    """Numbers from (0, 1), both ends excluded, exact in float64."""
    whole = ops.cast(ops.floor_divide(_words(ops, key, count), 2**12), ops.named("float64"))
    return ops.multiply(ops.add(whole, 0.5), 2.0**-52)


def _ratio(ops: Ops, x: Array, parts: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    made = []
    for coefficients in parts:
        total = ops.full_like(x, coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = ops.add(ops.multiply(total, x), coefficient)
        made.append(total)
    return ops.divide(*made)


@composed("random_normal")
def random_normal(ops: Ops, key: Array, shape: EngineSizes, dtype: EngineDType) -> Array:
    q = ops.subtract(_open_unit(ops, key, prod(shape)), 0.5)
    middle = ops.multiply(q, _ratio(ops, ops.subtract(0.180625, ops.square(q)), _MIDDLE))
    r = ops.sqrt(ops.negative(ops.log(ops.subtract(0.5, ops.abs(q)))))
    far = ops.where(
        ops.greater(r, 5.0), _ratio(ops, ops.subtract(r, 5.0), _FAR), _ratio(ops, ops.subtract(r, 1.6), _OUTSIDE)
    )
    made = ops.where(ops.greater(ops.abs(q), 0.425), ops.multiply(far, ops.sign(q)), middle)
    return ops.reshape(ops.cast(made, ops.named("float32") if dtype is None else dtype), shape)


@composed("random_categorical")
def random_categorical(ops: Ops, key: Array, logits: Array, axis: int) -> Array:
    chances = ops.reshape(_open_unit(ops, key, prod(logits.shape)), logits.shape)
    noise = ops.negative(ops.log(ops.negative(ops.log(chances))))
    return ops.argmax(ops.add(ops.cast(logits, ops.named("float64")), noise), axis)


@composed("random_permutation")
def random_permutation(ops: Ops, key: Array, n: EngineSize) -> Array:
    return ops.argsort(_words(ops, key, n))
