"""NumPy kernels of losses; floats of less than 32 bits go through float32."""

from __future__ import annotations

import numpy as np

from .elementwise import Array, Dtype, widened
from .quiet import quiet
from .reduce import log_softmax
from .registry import BadValue, kernel, rows
from .totals import total
from .windows import narrow


def _reduced(values: Array, reduction: str, dtype: Dtype) -> Array:
    if reduction == "none":
        return narrow(values, dtype)
    added = total(values)
    divisor = {"sum": 1, "mean": values.size, "batchmean": values.shape[0] if values.ndim else 1}[reduction]
    return narrow(np.asarray(added / np.asarray(divisor, values.dtype)), dtype)


# Element by element


@kernel("smooth_l1_loss")
@quiet
def smooth_l1_loss(x: Array, target: Array, reduction: str, beta: float) -> Array:
    distance = np.abs(widened(x) - widened(target))
    values = np.where(distance < beta, np.square(distance) / (2 * beta or 1), distance - beta / 2)
    return _reduced(values, reduction, x.dtype)


@kernel("huber_loss")
@quiet
def huber_loss(x: Array, target: Array, reduction: str, delta: float) -> Array:
    distance = np.abs(widened(x) - widened(target))
    values = np.where(distance <= delta, np.square(distance) / 2, delta * (distance - delta / 2))
    return _reduced(values, reduction, x.dtype)


@kernel("binary_cross_entropy")
@quiet
def binary_cross_entropy(x: Array, target: Array, reduction: str) -> Array:
    p, t = widened(x), widened(target)
    values = -(t * np.maximum(np.log(p), -100) + (1 - t) * np.maximum(np.log(1 - p), -100))
    return _reduced(values, reduction, x.dtype)


@kernel("binary_cross_entropy_with_logits")
@quiet
def binary_cross_entropy_with_logits(x: Array, target: Array, reduction: str) -> Array:
    logits, t = widened(x), widened(target)
    values = np.maximum(logits, 0) - logits * t + np.log1p(np.exp(-np.abs(logits)))
    return _reduced(values, reduction, x.dtype)


@kernel("kl_div")
@quiet
def kl_div(x: Array, target: Array, reduction: str, log_target: bool) -> Array:
    p, t = widened(x), widened(target)
    values = np.exp(t) * (t - p) if log_target else np.where(t > 0, t * np.log(t), 0) - t * p
    return _reduced(values, reduction, x.dtype)


# Class by class


def _classes(x: Array, target: Array, axis: int, ignored: Array) -> Array:
    """The targets as positions, ignored ones as 0; raises BadValue for one that names no class."""
    count = x.shape[axis]
    positions = target.astype(np.int64)
    bad = positions[((positions < 0) | (positions >= count)) & ~ignored]
    if bad.size:
        raise BadValue(f"`target` holds {bad[0]}, but axis {axis} of `x` has size {count}")
    return np.where(ignored, 0, positions)


def _by_class(
    x: Array,
    logarithms: Array,
    target: Array,
    weight: Array | None,
    reduction: str,
    axis: int,
    ignore_index: int | None,
    smoothing: float = 0.0,
) -> Array:
    target = np.asarray(target)
    ignored = np.zeros(target.shape, bool) if ignore_index is None else target.astype(np.int64) == ignore_index
    count = x.shape[axis]
    positions = _classes(x, target, axis, ignored)
    weights = np.ones(count, logarithms.dtype) if weight is None else widened(weight)
    if count == 0:
        # Every target is ignored, or there is none.
        return _reduced_by_weight(np.zeros(target.shape, logarithms.dtype), np.zeros(1), reduction, x.dtype)
    chosen = np.take_along_axis(logarithms, np.expand_dims(positions, axis), axis).squeeze(axis)
    used = np.where(ignored, 0, weights[positions])
    values = np.where(ignored, 0, -chosen * used)
    if smoothing:
        by_class = weights.reshape(-1, *(1,) * (logarithms.ndim - 1 - axis % logarithms.ndim))
        smooth = np.where(ignored, 0, -total(logarithms * by_class, axis))
        values = (1 - smoothing) * values + smoothing / count * smooth
    return _reduced_by_weight(values.astype(logarithms.dtype), used, reduction, x.dtype)


def _reduced_by_weight(values: Array, used: Array, reduction: str, dtype: Dtype) -> Array:
    if reduction != "mean":
        return _reduced(values, reduction, dtype)
    added = total(values)
    return narrow(np.asarray(added / np.add.reduce(used, axis=None).astype(values.dtype)), dtype)


@kernel("cross_entropy_loss")
@quiet
def cross_entropy_loss(
    x: Array,
    target: Array,
    weight: Array | None,
    reduction: str,
    axis: int,
    ignore_index: int | None,
    label_smoothing: float,
) -> Array:
    logarithms = log_softmax(widened(x), axis)
    return _by_class(x, logarithms, target, weight, reduction, axis, ignore_index, label_smoothing)


@kernel("softmax_cross_entropy")
@quiet
def softmax_cross_entropy(x: Array, target: Array, axis: int, reduction: str) -> Array:
    values = -total(widened(target) * log_softmax(widened(x), axis), axis)
    return _reduced(np.asarray(values), reduction, x.dtype)


rows(
    {
        "mse_loss": quiet(
            lambda x, target, reduction: _reduced(np.square(widened(x) - widened(target)), reduction, x.dtype)
        ),
        "l1_loss": quiet(
            lambda x, target, reduction: _reduced(np.abs(widened(x) - widened(target)), reduction, x.dtype)
        ),
        "nll_loss": quiet(
            lambda x, target, weight, reduction, axis, ignore_index: _by_class(
                x, widened(x), target, weight, reduction, axis, ignore_index
            )
        ),
    }
)
