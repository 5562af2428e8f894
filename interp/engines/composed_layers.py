"""Kernels that are short compositions of others: products, normalisation, attention, losses."""

from __future__ import annotations

from math import prod, sqrt

from ..engine_types import Axes, EngineArray as Array, EngineSize
from .table import Ops, Refused, composed, composed_rows

_ROWS = """
linear | _biased(ops, matmul(x, matrix_transpose(weight)), bias)
dense | _biased(ops, matmul(x, weight), bias)
outer | expand_dims(x, (1,)) * expand_dims(y, (0,))
vecdot | sum(conj(x) * y, (axis,))
cosine_similarity | sum(x * y, (axis,)) / (
    maximum(sqrt(sum(square(x), (axis,))), epsilon) * maximum(sqrt(sum(square(y), (axis,))), epsilon))
layer_norm | _biased(ops, _standard(ops, x, _from(x, axis), epsilon) * scale, bias)
rms_norm | x / sqrt(mean(square(x), _from(x, axis), True) + epsilon) * scale
prelu | where(x > 0, x, x * _over_channels(ops, slope, x, layout))
global_average_pool | mean(x, _spatial(x, layout), True)
global_max_pool | max(x, _spatial(x, layout), True)
mse_loss | _reduced(ops, square(x - target), reduction)
l1_loss | _reduced(ops, abs(x - target), reduction)
huber_loss | _reduced(
    ops, where((apart := abs(x - target)) <= delta, square(apart) / 2, (apart * 2 - delta) * delta * 0.5), reduction)
binary_cross_entropy | _reduced(
    ops, -(target * maximum(log(x), -100) + (1 - target) * maximum(log(1 - x), -100)), reduction)
binary_cross_entropy_with_logits | _reduced(ops, maximum(x, 0) - x * target + log1p(exp(-abs(x))), reduction)
kl_div | _reduced(ops, exp(target) * (target - x) if log_target
    else where(target > 0, target * log(target), 0.0) - target * x, reduction)
softmax_cross_entropy | _reduced(ops, -sum(target * log_softmax(x, axis), (axis,)), reduction)
nll_loss | _by_class(ops, x, target, weight, reduction, axis, ignore_index)
cross_entropy_loss | _by_class(
    ops, log_softmax(x, axis), target, weight, reduction, axis, ignore_index, label_smoothing)
"""
composed_rows(_ROWS, globals())


def _biased(ops: Ops, made: Array, bias: Array | None) -> Array:
    return made if bias is None else ops.add(made, bias)


# Products


@composed("conj")
def conj(ops: Ops, x: Array) -> Array:
    if ops.dtype_of(x).kind == "complex":
        raise Refused("these arguments")
    return ops.identity(x)


@composed("cross")
def cross(ops: Ops, x: Array, y: Array, axis: int) -> Array:
    a, b = ops.unstack(x, axis), ops.unstack(y, axis)
    pairs = [(1, 2), (2, 0), (0, 1)]
    parts = [ops.subtract(ops.multiply(a[i], b[j]), ops.multiply(a[j], b[i])) for i, j in pairs]
    return ops.stack(parts, axis)


# Normalisation


def _standard(ops: Ops, x: Array, axes: Axes, epsilon: float) -> Array:
    """Rows of mean 0 and variance 1 along the axes."""
    apart = ops.subtract(x, ops.mean(x, axes, True))
    return ops.divide(apart, ops.sqrt(ops.add(ops.mean(ops.square(apart), axes, True), epsilon)))


def _from(x: Array, axis: int) -> tuple[int, ...]:
    rank = len(x.shape)
    return tuple(range(axis % rank, rank))


def _over_channels(ops: Ops, weight: Array, x: Array, layout: str) -> Array:
    """A weight for each channel, in a shape for images."""
    if layout == "channels_last":
        return weight
    return ops.expand_dims(weight, tuple(range(1, len(x.shape) - 1)))


@composed("batch_normalization")
def batch_normalization(
    ops: Ops, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, layout: str
) -> Array:
    factor = ops.divide(scale, ops.sqrt(ops.add(variance, epsilon)))
    rest = ops.subtract(bias, ops.multiply(mean, factor))
    over = [_over_channels(ops, w, x, layout) for w in (factor, rest)]
    return ops.add(ops.multiply(x, over[0]), over[1])


@composed("instance_normalization")
def instance_normalization(ops: Ops, x: Array, scale: Array, bias: Array, epsilon: float, layout: str) -> Array:
    rank = len(x.shape)
    axes = tuple(range(1, rank - 1) if layout == "channels_last" else range(2, rank))
    over = [_over_channels(ops, w, x, layout) for w in (scale, bias)]
    return ops.add(ops.multiply(_standard(ops, x, axes, epsilon), over[0]), over[1])


@composed("group_normalization")
def group_normalization(
    ops: Ops, x: Array, scale: Array, bias: Array, num_groups: EngineSize, epsilon: float, layout: str
) -> Array:
    image = ops.moveaxis(x, (-1,), (1,)) if layout == "channels_last" else x
    batch, channels, *sizes = image.shape
    groups = ops.reshape(image, (batch, num_groups, channels // num_groups * prod(sizes)))
    made = ops.reshape(_standard(ops, groups, (2,), epsilon), image.shape)
    over = [_over_channels(ops, w, x, "channels_first") for w in (scale, bias)]
    result = ops.add(ops.multiply(made, over[0]), over[1])
    return ops.moveaxis(result, (1,), (-1,)) if layout == "channels_last" else result


def _spatial(x: Array, layout: str) -> tuple[int, ...]:
    rank = len(x.shape)
    return tuple(range(1, rank - 1) if layout == "channels_last" else range(2, rank))


# Attention


def _kept(ops: Ops, scores: Array, mask: Array | None) -> Array:
    if mask is None:
        return scores
    if ops.dtype_of(mask).kind == "bool":
        return ops.where(mask, scores, float("-inf"))
    return ops.add(scores, ops.cast(mask, scores.dtype))


def _shares(ops: Ops, scores: Array) -> Array:
    """The weight of each position; if no position counts the weights are 0, not nan."""
    if isinstance(scores.shape[-1], int) and scores.shape[-1] == 0:
        return scores
    least = -3.4e38 if ops.dtype_of(scores).bits == 32 else -1.7e308  # a row of these has weights, and gradients
    shares = ops.softmax(ops.maximum(scores, least), -1)
    return ops.where(ops.equal(scores, float("-inf")), 0.0, shares)


def _scaled(ops: Ops, q: Array, scale: float | None) -> Array:
    """Queries times 1 / sqrt of their width, or times the given scale."""
    if scale is not None:
        return ops.multiply(q, scale)
    width = q.shape[-1]
    if isinstance(width, int):
        return ops.multiply(q, 1 / sqrt(max(width, 1)))
    return ops.divide(q, ops.sqrt(ops.maximum(ops.size_to_tensor(width, q.dtype), 1)))


@composed("attention")
def attention(ops: Ops, q: Array, k: Array, v: Array, mask: Array | None, causal: bool, scale: float | None) -> Array:
    scores = ops.matmul(_scaled(ops, q, scale), ops.matrix_transpose(k))
    scores = _kept(ops, _kept(ops, scores, mask), _sees(ops, q, k, 0) if causal else None)
    return ops.matmul(_shares(ops, scores), v)


def _sees(ops: Ops, q: Array, k: Array, past: EngineSize) -> Array:
    """Whether the row of a query is at or behind the column of a key, with `past` keys before the first query."""
    rows = ops.add(ops.arange(q.shape[-2]), ops.size_to_tensor(past))
    return ops.less_equal(ops.arange(k.shape[-2]), ops.expand_dims(rows, (1,)))


@composed("grouped_query_attention")
def grouped_query_attention(
    ops: Ops, q: Array, k: Array, v: Array, mask: Array | None, causal: bool, past: EngineSize, scale: float | None
) -> Array:
    """Stack the heads of a group, so that one product serves them all."""
    *lead, heads, rows, width = q.shape
    groups, columns = k.shape[-3:-1]
    each = heads // groups * rows
    asked = ops.reshape(_scaled(ops, q, scale), (*lead, groups, each, width))
    scores = ops.reshape(ops.matmul(asked, ops.matrix_transpose(k)), (*lead, heads, rows, columns))
    scores = _kept(ops, _kept(ops, scores, mask), _sees(ops, q, k, past) if causal else None)
    weights = ops.reshape(_shares(ops, scores), (*lead, groups, each, columns))
    return ops.reshape(ops.matmul(weights, v), (*lead, heads, rows, v.shape[-1]))


@composed("rotary_embedding")
def rotary_embedding(ops: Ops, x: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    half, width, last = cos.shape[-1], x.shape[-1], (len(x.shape) - 1,)
    if interleaved:
        first, second = (ops.slice(x, (i,), (2 * half,), last, (2,)) for i in (0, 1))
    else:
        first, second = ops.slice(x, (0,), (half,), last), ops.slice(x, (half,), (2 * half,), last)
    turned = [
        ops.subtract(ops.multiply(first, cos), ops.multiply(second, sin)),
        ops.add(ops.multiply(second, cos), ops.multiply(first, sin)),
    ]
    if interleaved:
        made = ops.stack(turned, -1)
        turned = [ops.reshape(made, (*made.shape[:-2], 2 * half))]
    return ops.concat([*turned, ops.slice(x, (2 * half,), (width,), last)], -1)


# Losses


def _reduced(ops: Ops, values: Array, reduction: str) -> Array:
    if reduction == "none":
        return values
    total = ops.sum(values)
    if reduction == "sum":
        return total
    shape = values.shape if reduction == "mean" else values.shape[:1]
    return ops.divide(total, ops.size_to_tensor(prod(shape), values.dtype))


@composed("smooth_l1_loss")
def smooth_l1_loss(ops: Ops, x: Array, target: Array, reduction: str, beta: float) -> Array:
    apart = ops.abs(ops.subtract(x, target))
    near = ops.divide(ops.square(apart), 2 * beta or 1)
    return _reduced(ops, ops.where(ops.less(apart, beta), near, ops.subtract(apart, beta / 2)), reduction)


def _by_class(
    ops: Ops, logs: Array, target: Array, weight: Array | None, reduction: str, axis: int, ignored: int | None,
    smoothing: float = 0.0,
) -> Array:  # fmt: skip
    """The losses of targets that name classes, without the ignored ones."""
    places = ops.cast(target, ops.named("int64"))
    skipped = None if ignored is None else ops.equal(places, ignored)
    places = places if skipped is None else ops.where(skipped, 0, places)
    weights = ops.ones((logs.shape[axis],), logs.dtype) if weight is None else weight
    used = ops.squeeze(ops.embedding(places, ops.expand_dims(weights, (1,))), (-1,))
    column = ops.expand_dims(places, (axis,))
    values = ops.negative(ops.multiply(ops.squeeze(ops.take_along_axis(logs, column, axis), (axis,)), used))
    if smoothing:
        beside = ops.expand_dims(weights, tuple(range(1, len(logs.shape) - axis % len(logs.shape))))
        smooth = ops.negative(ops.sum(ops.multiply(logs, beside), (axis,)))
        share = ops.divide(smoothing, ops.size_to_tensor(logs.shape[axis], logs.dtype))
        values = ops.add(ops.multiply(values, 1 - smoothing), ops.multiply(smooth, share))
    if skipped is not None:
        values, used = ops.where(skipped, 0.0, values), ops.where(skipped, 0.0, used)
    if reduction != "mean":
        return _reduced(ops, values, reduction)
    return ops.divide(ops.sum(values), ops.sum(used))
