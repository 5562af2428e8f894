"""Kernels of ONNX's pooling, normalisation, dropout and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import widened
from .onnx_shape import integers
from .pool import inverse
from .quiet import quiet
from .registry import Array, kernel, lookup, rows
from .totals import mean_of, total, variance_of
from .windows import narrow

Ints = tuple[int, ...]


@kernel("onnx.average_pool")
def average_pool(x: Array, kernel_shape: Ints, count_include_pad: bool, *windows: Any) -> Array:
    return np.asarray(lookup("average_pool")(x, kernel_shape, *windows, count_include_pad, "channels_first"))


@kernel("onnx.global_lp_pool")
@quiet
def global_lp_pool(x: Array, p: float) -> Array:
    powers = np.abs(widened(x)) ** p
    added = total(powers, tuple(range(2, x.ndim)), True)
    return np.asarray(added ** inverse(p), x.dtype)


@kernel("onnx.lp_normalization")
@quiet
def lp_normalization(x: Array, axis: int, p: int) -> Array:
    wide = widened(x)
    norm = total(np.abs(wide) ** p, axis, True) ** (1 / p)
    return np.asarray(np.where(norm == 0, 0, wide / np.where(norm == 0, 1, norm)), x.dtype)


@kernel("onnx.batch_normalization")
@quiet
def batch_normalization(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, spatial: bool
) -> Array:
    wide = widened(x)
    over = (-1, *(1,) * (x.ndim - 2)) if spatial else x.shape[1:]
    gain, shift, middle, spread = (widened(given).reshape(over) for given in (scale, bias, mean, variance))
    factor = gain / np.sqrt(spread + np.asarray(epsilon, spread.dtype))
    made: Array = wide * factor + (shift - middle * factor)
    return np.asarray(made, x.dtype)


@kernel("onnx.batch_normalization_training")
@quiet
def batch_normalization_training(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, momentum: float
) -> tuple[Array, ...]:
    wide, axes, shape = widened(x), (0, *range(2, x.ndim)), (-1, *(1,) * (x.ndim - 2))
    middle, spread = mean_of(wide, axes), variance_of(wide, axes)
    factor = widened(scale) / np.sqrt(spread + epsilon)
    made = (wide - middle.reshape(shape)) * factor.reshape(shape) + widened(bias).reshape(shape)
    running = [
        narrow(widened(old) * momentum + new * (1 - momentum), old.dtype)
        for old, new in ((mean, middle), (variance, spread))
    ]
    return (narrow(made, x.dtype), *running)


@kernel("onnx.dropout")
@quiet
def dropout(x: Array, ratio: Array | None, training: Array | None, seed: int | None) -> tuple[Array, Array]:
    share = 0.5 if ratio is None else float(ratio.ravel()[0])
    if training is None or not training.ravel()[0] or share == 0:
        return x, np.ones(x.shape, np.bool_)
    stays = np.asarray(np.random.RandomState(seed).uniform(0, 1.0, x.shape) >= share)
    return (stays * widened(x) * (1.0 / (1.0 - share))).astype(x.dtype), stays


def _cumulative(name: str) -> None:
    @kernel(f"onnx.cumulative_{name}")
    def cumulative(x: Array, axis: Array, exclusive: bool, reverse: bool) -> Array:
        return np.asarray(lookup(f"cumulative_{name}")(x, int(axis.ravel()[0]), None, False, exclusive, reverse))


_cumulative("sum")
_cumulative("prod")

_REDUCTIONS: dict[str, Callable[[Array, Any, bool], Any]] = {
    "sum": lambda x, axes, keep: total(x, axes, keep),
    "mean": lambda x, axes, keep: lookup("onnx.mean")(x, axes, keep),
    "prod": lambda x, axes, keep: np.prod(x, axes, keepdims=keep, dtype=x.dtype),
    "max": lambda x, axes, keep: lookup("onnx.max")(x, axes, keep),
    "min": lambda x, axes, keep: lookup("onnx.min")(x, axes, keep),
    "l1": lambda x, axes, keep: total(np.abs(x), axes, keep),
    "l2": lambda x, axes, keep: lookup("onnx.root")(total(np.square(x), axes, keep)),
    "log_sum": lambda x, axes, keep: lookup("onnx.log")(total(x, axes, keep)),
    "log_sum_exp": lambda x, axes, keep: lookup("onnx.logsumexp")(x, axes, keep),
    "sum_square": lambda x, axes, keep: total(np.square(x), axes, keep),
}


@kernel("onnx.reduce")
@quiet
def reduce(x: Array, axes: Array, how: str, keepdims: bool, noop: bool) -> Array:
    found = integers(axes)
    return np.asarray(_REDUCTIONS[how](x, found if found or noop else None, keepdims))


@kernel("onnx.conv_transpose")
def conv_transpose(
    x: Array,
    weight: Array,
    bias: Array | None,
    output_shape: Ints,
    strides: Ints | None,
    output_padding: Ints | None,
    dilations: Ints | None,
    groups: int,
    upper: bool,
    filled: bool,
) -> Array:
    made = lookup("conv_transpose")(
        x, weight, None, strides, None, "notset", output_padding, None, dilations, groups, "channels_first"
    )
    sizes = output_shape[-(x.ndim - 2) :]
    result = np.zeros((*made.shape[:2], *sizes), made.dtype)
    source, target = [slice(None)] * 2, [slice(None)] * 2
    for full, size in zip(made.shape[2:], sizes, strict=True):
        more = max(full - size, 0)
        low = more // 2 if upper else more - more // 2
        source.append(slice(low, low + size))
        target.append(slice(0, min(full, size)))
    result[tuple(target)] = made[tuple(source)]
    return result if bias is None else result + bias.reshape(-1, *(1,) * (x.ndim - 2))


rows(
    {
        "onnx.max_pool": lambda x, kernel_shape, *windows: np.asarray(
            lookup("max_pool")(x, kernel_shape, *windows, "channels_first")
        ),
        "onnx.lp_pool": lambda x, kernel_shape, p, *windows: np.asarray(
            lookup("lp_pool")(x, kernel_shape, p, *windows, "channels_first")
        ),
    }
)
