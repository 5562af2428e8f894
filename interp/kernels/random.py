"""Random numbers from keys. Words of 64 bits come from the counter-based generator Philox 4x64 (Salmon et al. 2011), whose
key is the tensor and whose counter counts the blocks of four words.

Numbers are made of the words with +, -, *, / and square roots alone, which every machine rounds alike: NumPy's logarithms
differ from one processor to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .elementwise import widened
from .quiet import quiet
from .registry import Array, kernel, rows

_WORD = 2**64
# The third word of the counter: numbers drawn from a key, and keys made of it, never come from the same block.
_NUMBERS, _KEYS = 0, 1
# An arbitrary second word, so that the key of seed 0 is not 0.
_SECOND = 0x9E3779B97F4A7C15


def _words(key: Array, count: int, stream: int = _NUMBERS) -> Array:
    generator = np.random.Philox(key=key, counter=np.array([0, 0, stream, 0], np.uint64))
    return generator.random_raw(count)


# The number of binary digits of a dtype.
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


@kernel("random_uniform")
def random_uniform(key: Array, shape: Sequence[int], dtype: Any) -> Array:
    dtype = np.dtype(np.float32 if dtype is None else dtype)
    digits = _DIGITS[dtype.name]
    whole = _words(key, prod(shape)) >> np.uint64(64 - digits)
    return (whole.astype(np.float64) * 2.0**-digits).astype(dtype).reshape(tuple(shape))


def _open_unit(key: Array, count: int) -> Array:
    """Numbers from (0, 1), both ends excluded, exact in float64."""
    return ((_words(key, count) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


@kernel("random_normal")
def random_normal(key: Array, shape: Sequence[int], dtype: Any) -> Array:
    numbers = _normal_quantile(_open_unit(key, prod(shape)))
    return numbers.astype(np.float32 if dtype is None else dtype).reshape(tuple(shape))


@kernel("random_categorical")
@quiet
def random_categorical(key: Array, logits: Array, axis: int) -> Array:
    """The largest of logits with noise of Gumbel's distribution added (Gumbel 1954)."""
    noise = -_log(-_log(_open_unit(key, logits.size))).reshape(logits.shape)
    return np.asarray(np.argmax(widened(logits) + noise, axis), np.int64)


# Functions that every machine rounds alike


_LOG_2 = 0.6931471805599453


def _log(x: Array) -> Array:
    """The logarithm of positive numbers: 2 * artanh(s) for s = (m - 1) / (m + 1), where x is m times a power of two."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < 0.7071067811865476
    mantissa = np.where(small, 2 * mantissa, mantissa)
    exponent = exponent - small
    s = (mantissa - 1) / (mantissa + 1)
    return exponent * _LOG_2 + 2 * s * _polynomial(s * s, [1 / k for k in range(1, 25, 2)])  # type: ignore[no-any-return]


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    result = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result *= x
        result += coefficient
    return result


# Numerators and denominators of AS 241 (Wichura 1988): in the middle, outside of it, and far outside.
_MIDDLE = (
    (3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_OUTSIDE = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def _ratio(x: Array, parts: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    return _polynomial(x, parts[0]) / _polynomial(x, parts[1])


def _normal_quantile(p: Array) -> Array:
    """The quantiles of the normal distribution for the probabilities p."""
    q = p - 0.5
    result = q * _ratio(0.180625 - q * q, _MIDDLE)
    (outside,) = np.nonzero(np.abs(q) > 0.425)
    tail = q[outside]
    r = np.sqrt(-_log(0.5 - np.abs(tail)))
    far = np.where(r > 5, _ratio(r - 5, _FAR), _ratio(r - 1.6, _OUTSIDE))
    result[outside] = np.copysign(far, tail)
    return result


rows(
    {
        "random_key": lambda seed: np.array([seed % _WORD, _SECOND], np.uint64),
        "random_split": lambda key, num: _words(key, 2 * num, _KEYS).reshape(num, 2),
        "random_permutation": lambda key, n: np.argsort(_words(key, n), kind="stable").astype(np.int64, copy=False),
    }
)
