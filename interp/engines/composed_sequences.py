"""Kernels that are short compositions of others: sets, segments, places in images."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod

import numpy as np

from ...lang.dtypes import int_range
from ...ops.windows import spread
from ...sizes.partial import applied
from ..engine_types import Axes, EngineArray as Array, EngineDType, EngineResult, EngineSize, EngineSizes
from .composed_turns import bound  # noqa: F401 - a word of the rows
from .table import Ops, Refused, composed, composed_rows, tensors

_ROWS = """
unique_values | filter((found := _distinct(ops, x))[0], found[2])
unique_counts | (filter((found := _distinct(ops, x))[0], found[2]), _members(ops, found[2]))
unique_inverse | (filter((found := _distinct(ops, x))[0], found[2]), _turned_back(ops, *found[1:], x.shape))
segment_sum | _segments(ops, x, ids, count, 0, "add")
segment_max | _segments(ops, x, ids, count, bound(ops, x, greatest=False), "max")
segment_min | _segments(ops, x, ids, count, bound(ops, x, greatest=True), "min")
bincount | segment_sum(ones(x.shape, named("int64")), x, length)
fftshift | _shift(ops, x, axes, back=False)
ifftshift | _shift(ops, x, axes, back=True)
"""
composed_rows(_ROWS, globals())

# Sets


def _distinct(ops: Ops, x: Array) -> tuple[Array, Array, Array]:
    """The elements in ascending order, their places in x, and which are the first of equal ones."""
    count = prod(x.shape)
    flat = ops.reshape(x, (count,))
    order = ops.argsort(flat)
    ordered = ops.take(flat, order)
    later = ops.not_equal(ops.slice(ordered, (1,), (count,)), ops.slice(ordered, (0,), (count - 1,)))
    begins = ops.full((applied(min, (count, 1)),), ops.cast(1, ops.named("bool")))
    return ordered, order, ops.slice(ops.concat([begins, later]), (0,), (count,))


def _members(ops: Ops, first: Array) -> Array:
    (starts,) = ops.nonzero(first)
    ends = ops.concat(
        [ops.slice(starts, (1,), (first.shape[0] + 1,)), ops.expand_dims(ops.size_to_tensor(first.shape[0]), (0,))]
    )
    return ops.subtract(ops.slice(ends, (0,), (starts.shape[0],)), starts)


def _turned_back(ops: Ops, order: Array, first: Array, shape: EngineSizes) -> Array:
    """For each element the number of its distinct value."""
    numbers = ops.subtract(ops.cumulative_sum(ops.cast(first, ops.named("int64"))), 1)
    return ops.reshape(ops.put(ops.zeros_like(order), order, numbers), shape)


@composed("unique_all")
def unique_all(ops: Ops, x: Array) -> EngineResult:
    ordered, order, first = _distinct(ops, x)
    found = ops.filter(ordered, first), ops.filter(order, first)
    return *found, _turned_back(ops, order, first, x.shape), _members(ops, first)


@composed("searchsorted")
def searchsorted(ops: Ops, x: Array, values: Array, side: str) -> Array:
    """The number of elements before each value; NaN comes after all others."""
    x, values = tensors(ops, x, values)
    given = ops.expand_dims(values, (len(values.shape),))
    before = (ops.less_equal if side == "right" else ops.less)(x, given)
    if ops.dtype_of(x).kind == "float":
        is_last = ops.isnan(given)
        rest = is_last if side == "right" else ops.logical_and(is_last, ops.logical_not(ops.isnan(x)))
        before = ops.logical_or(before, rest)
    return ops.count_nonzero(before, (len(values.shape),))


# Segments


def _segments(ops: Ops, x: Array, ids: Array, count: EngineSize, rest: Array, reduction: str) -> Array:
    """Reduce the elements of each segment; an id below 0 becomes one that is refused."""
    places = ops.cast(ids, ops.named("int64"))
    places = ops.where(ops.less(places, 0), ops.size_to_tensor(count), places)
    first = ops.full((count, *x.shape[1:]), rest, x.dtype)
    return ops.scatter_nd(first, ops.expand_dims(places, (1,)), x, reduction)


@composed("segment_mean")
def segment_mean(ops: Ops, x: Array, ids: Array, count: EngineSize) -> Array:
    members = ops.cast(ops.maximum(ops.bincount(ids, count), 1), x.dtype)
    behind = tuple(range(1, len(x.shape)))
    return ops.divide(ops.segment_sum(x, ids, count), ops.expand_dims(members, behind) if behind else members)


# Parts


@composed("update_slice")
def update_slice(ops: Ops, x: Array, update: Array, starts: EngineSizes) -> Array:
    made, within = update, None
    for axis, start in enumerate(starts):
        size, have = x.shape[axis], update.shape[axis]
        made = ops.pad(made, [(start, size - start - have)], axes=(axis,))
        here, first = ops.arange(size), ops.size_to_tensor(start)
        inside = ops.logical_and(ops.less_equal(first, here), ops.less(here, ops.add(first, ops.size_to_tensor(have))))
        behind = tuple(range(1, len(x.shape) - axis))
        inside = ops.expand_dims(inside, behind) if behind else inside
        within = inside if within is None else ops.logical_and(within, inside)
    return ops.identity(update) if within is None else ops.where(within, made, x)


@composed("pad_to_match")
def pad_to_match(ops: Ops, x: Array, y: Array) -> Array:
    return ops.pad(x, [(0, applied(max, (b - a, 0))) for a, b in zip(x.shape, y.shape, strict=True)])


@composed("reverse_sequence")
def reverse_sequence(ops: Ops, x: Array, lengths: Array, time_axis: int, batch_axis: int) -> Array:
    """Reverse the first elements of sequences; a length below 0 becomes one that is refused."""
    moved = ops.moveaxis(x, (time_axis, batch_axis), (0, 1))
    size = ops.size_to_tensor(moved.shape[0])
    counts, times = ops.cast(lengths, ops.named("int64")), ops.expand_dims(ops.arange(moved.shape[0]), (1,))
    counts = ops.where(ops.less(counts, 0), ops.add(size, 1), counts)
    chosen = ops.where(ops.less(times, counts), ops.subtract(ops.subtract(counts, 1), times), times)
    chosen = ops.where(ops.greater(counts, size), size, chosen)
    behind = tuple(range(2, len(x.shape)))
    made = ops.take_along_axis(moved, ops.expand_dims(chosen, behind) if behind else chosen, 0)
    return ops.moveaxis(made, (0, 1), (time_axis, batch_axis))


@composed("repeat_each")
def repeat_each(ops: Ops, x: Array, counts: Array, axis: int, total: EngineSize) -> Array:
    """Repeat each entry by its count: each place of the result takes the entry whose number is that of the ends at or before
    it."""
    ends = ops.cumulative_sum(ops.cast(counts, ops.named("int64")))
    whole = ops.item(ops.sum(ops.cast(counts, ops.named("int64")))) if total is None else total
    return ops.take(x, ops.searchsorted(ends, ops.arange(whole), "right"), axis)


# Frequencies


def _shift(ops: Ops, x: Array, axes: Axes, back: bool) -> Array:
    given = tuple(range(len(x.shape))) if axes is None else axes
    sizes = [x.shape[a] for a in given]
    return ops.roll(x, [(n + 1) // 2 if back else n // 2 for n in sizes], given) if given else ops.identity(x)


def _frequencies(ops: Ops, places: Array, n: EngineSize, d: float, dtype: EngineDType) -> Array:
    wide = ops.named("float64")
    share = ops.divide(1.0, ops.multiply(ops.size_to_tensor(n, wide), d))
    return ops.cast(ops.multiply(ops.cast(places, wide), share), ops.named("float32") if dtype is None else dtype)


@composed("fftfreq")
def fftfreq(ops: Ops, n: EngineSize, d: float, dtype: EngineDType) -> Array:
    half = (n - 1) // 2 + 1
    return _frequencies(ops, ops.concat([ops.arange(half), ops.arange(-(n // 2), 0)]), n, d, dtype)


@composed("rfftfreq")
def rfftfreq(ops: Ops, n: EngineSize, d: float, dtype: EngineDType) -> Array:
    return _frequencies(ops, ops.arange(n // 2 + 1), n, d, dtype)


# Quantiles and quantisation


@composed("quantile")
def quantile(ops: Ops, x: Array, q: Array, axis: Axes, keepdims: bool, method: str) -> Array:
    """Reduce the axes as one, in last place. A part below 0 or beyond 1 becomes a place that is refused."""
    if not hasattr(x, "dtype"):
        x, q = tensors(ops, x, q)
    rank, q = len(x.shape), q if hasattr(q, "dtype") else ops.engine.array(np.float64(q))
    gone = tuple(range(rank)) if axis is None else tuple(a % rank for a in axis)
    left = [i for i in range(rank) if i not in gone]
    rest, size = [x.shape[i] for i in left], prod([x.shape[i] for i in gone])
    rows = ops.sort(ops.reshape(ops.permute_dims(x, (*left, *gone)), (*rest, size)))
    parts, wide = ops.cast(q, ops.named("float64")), ops.named("float64")
    within = ops.logical_and(ops.greater_equal(parts, 0.0), ops.less_equal(parts, 1.0))
    at = ops.multiply(ops.where(within, parts, 0.0), ops.size_to_tensor(size - 1, wide))
    low, high = ops.floor(at), ops.ceil(at)
    if method in ("lower", "higher", "nearest"):
        low = high = {"lower": low, "higher": high, "nearest": ops.round(at)}[method]
    share = 0.5 if method == "midpoint" else ops.cast(ops.subtract(at, low), x.dtype)
    where = [ops.where(within, ops.cast(n, ops.named("int64")), ops.size_to_tensor(size)) for n in (low, high)]
    one, other = (ops.take(rows, place, len(rest)) for place in where)
    made = one
    if method in ("linear", "midpoint"):
        step = ops.multiply(ops.subtract(other, one), share)
        made = ops.where(ops.equal(one, other), one, ops.add(one, step))
    strange = ops.any(ops.isnan(rows), (len(rest),))
    strange = ops.expand_dims(strange, tuple(range(len(rest), len(rest) + len(q.shape)))) if len(q.shape) else strange
    made = ops.where(strange, float("nan"), made)
    made = ops.moveaxis(made, tuple(range(len(rest), len(rest) + len(q.shape))), tuple(range(len(q.shape))))
    return ops.expand_dims(made, tuple(len(q.shape) + i for i in sorted(gone))) if keepdims and gone else made


def _beside(ops: Ops, values: Array, x: Array, axis: int) -> Array:
    """A scalar, or one value for each entry of an axis, in a shape that broadcasts with x."""
    behind = tuple(range(1, len(x.shape) - axis % max(len(x.shape), 1)))
    return ops.expand_dims(values, behind) if len(values.shape) and behind else values


@composed("quantize")
def quantize(ops: Ops, x: Array, scale: Array, zero_point: Array, axis: int) -> Array:
    wide = ops.named("float64")
    steps = ops.cast(ops.round(ops.divide(x, _beside(ops, scale, x, axis))), wide)
    low, high = map(float, int_range(ops.dtype_of(zero_point)))
    placed = ops.add(ops.where(ops.isnan(steps), 0.0, steps), _beside(ops, ops.cast(zero_point, wide), x, axis))
    return ops.cast(ops.clip(placed, low, high), zero_point.dtype)


@composed("dequantize")
def dequantize(ops: Ops, x: Array, scale: Array, zero_point: Array | None, axis: int) -> Array:
    whole = ops.named("int64")
    steps = ops.cast(x, whole)
    if zero_point is not None:
        steps = ops.subtract(steps, _beside(ops, ops.cast(zero_point, whole), x, axis))
    return ops.multiply(ops.cast(steps, scale.dtype), _beside(ops, scale, x, axis))


# Places in images


def _found(ops: Ops, image: Array, rows: Array, columns: Array) -> Array:
    """The elements at whole places of [n, c, h, w], for each image at those of [n, ...], channels second; 0 beyond the
    image."""
    batch, channels, height, width = image.shape
    tall, broad = (ops.size_to_tensor(n, rows.dtype) for n in (height, width))
    inside = [ops.logical_and(ops.less_equal(0.0, p), ops.less(p, n)) for p, n in ((rows, tall), (columns, broad))]
    there = ops.logical_and(*inside)
    row, column = (ops.cast(ops.where(there, p, 0.0), ops.named("int64")) for p in (rows, columns))
    flat = ops.add(ops.multiply(row, ops.size_to_tensor(width)), column)
    count = prod(flat.shape[1:])
    where = ops.reshape(flat, (batch, 1, count))
    taken = ops.take_along_axis(ops.reshape(image, (batch, channels, height * width)), where, 2)
    taken = ops.where(ops.reshape(there, (batch, 1, count)), taken, 0.0)
    return ops.reshape(taken, (batch, channels, *flat.shape[1:]))


def _between(ops: Ops, image: Array, rows: Array, columns: Array) -> Array:
    """The sum of the four elements around each place, each with its weight."""
    top, left = ops.floor(rows), ops.floor(columns)
    total = None
    for row, tall in ((top, ops.subtract(ops.add(top, 1), rows)), (ops.add(top, 1), ops.subtract(rows, top))):
        for column, broad in (
            (left, ops.subtract(ops.add(left, 1), columns)),
            (ops.add(left, 1), ops.subtract(columns, left)),
        ):
            share = ops.multiply(tall, broad)
            share = ops.expand_dims(ops.where(ops.isfinite(share), share, 0.0), (1,))
            part = ops.multiply(_found(ops, image, row, column), share)
            total = part if total is None else ops.add(total, part)
    return total


def _inside(ops: Ops, at: Array, size: EngineSize, padding: str, align_corners: bool) -> Array:
    """The place in the image that stands for one beyond it; unchanged for padding with zeros."""
    if padding == "zeros":
        return at
    whole = ops.size_to_tensor(size, at.dtype)
    last = ops.subtract(whole, 1)
    if padding == "reflection":
        low, span = (0.0, last) if align_corners else (-0.5, whole)
        twice = ops.maximum(ops.multiply(span, 2), 1)
        away = ops.remainder(ops.abs(ops.subtract(at, low)), twice)
        at = ops.where(ops.equal(span, 0), 0.0, ops.add(ops.minimum(away, ops.subtract(twice, away)), low))
    return ops.minimum(ops.maximum(ops.where(ops.isnan(at), 0.0, at), 0.0), last)


@composed("grid_sample")
def grid_sample(ops: Ops, x: Array, grid: Array, mode: str, padding: str, align_corners: bool) -> Array:
    found = []
    for part, size in ((1, x.shape[2]), (0, x.shape[3])):
        at = ops.squeeze(ops.slice(grid, (part,), (part + 1,), (3,)), (3,))
        at, whole = ops.divide(ops.add(at, 1), 2), ops.size_to_tensor(size, x.dtype)
        at = ops.multiply(at, ops.subtract(whole, 1)) if align_corners else ops.subtract(ops.multiply(at, whole), 0.5)
        found.append(_inside(ops, at, size, padding, align_corners))
    return _found(ops, x, *map(ops.round, found)) if mode == "nearest" else _between(ops, x, *found)


@composed("roi_align")
def roi_align(
    ops: Ops, x: Array, boxes: Array, batch_indices: Array, output_shape: EngineSizes, scale: float, samples: EngineSize,
    mode: str, aligned: bool,
) -> Array:  # fmt: skip
    image, corners = ops.take(x, batch_indices, 0), ops.multiply(boxes, scale)
    (height, width), limits, places = spread(output_shape, 2, 1), x.shape[2:], []
    for cells, low, high in ((height, 1, 3), (width, 0, 2)):
        begin, end = (ops.slice(corners, (i,), (i + 1,), (1,)) for i in (low, high))
        if aligned:
            begin, end = ops.subtract(begin, 0.5), ops.subtract(end, 0.5)
        span = ops.subtract(end, begin) if aligned else ops.maximum(ops.subtract(end, begin), 1)
        count = cells * samples
        middles = ops.divide(
            ops.add(ops.cast(ops.arange(count), x.dtype), 0.5), ops.maximum(ops.size_to_tensor(count, x.dtype), 1)
        )
        places.append(ops.add(begin, ops.multiply(span, middles)))
    shape = (boxes.shape[0], height * samples, width * samples)
    rows, columns = (ops.broadcast_to(ops.expand_dims(p, (i,)), shape) for p, i in zip(places, (2, 1), strict=True))
    ends = [ops.size_to_tensor(n, x.dtype) for n in limits]
    beyond = [ops.logical_or(ops.less(p, -1), ops.greater(p, n)) for p, n in zip((rows, columns), ends, strict=True)]
    kept = (ops.minimum(ops.maximum(p, 0.0), ops.subtract(n, 1)) for p, n in zip((rows, columns), ends, strict=True))
    values = ops.where(ops.expand_dims(ops.logical_or(*beyond), (1,)), 0.0, _between(ops, image, *kept))
    cells = ops.reshape(values, (boxes.shape[0], x.shape[1], height, samples, width, samples))
    if mode == "max":
        return ops.max(cells, (3, 5))
    return ops.divide(ops.sum(cells, (3, 5)), ops.size_to_tensor(samples * samples, x.dtype))


@composed("non_max_suppression")
def non_max_suppression(
    ops: Ops, boxes: Array, scores: Array, iou_threshold: float, max_boxes: EngineSize, score_threshold: float | None
) -> Array:  # fmt: skip
    order = ops.argsort(ops.negative(scores))
    if score_threshold is not None:
        order = ops.filter(order, ops.greater(ops.take(scores, order), score_threshold))
    sides = [ops.squeeze(s, (1,)) for s in ops.split(ops.take(boxes, order, 0), 4, axis=1)]
    size, shared = ops.multiply(*(ops.subtract(sides[i + 2], sides[i]) for i in (0, 1))), None
    for i in (0, 1):
        low, high = (
            how(ops.expand_dims(s, (1,)), s) for how, s in ((ops.maximum, sides[i]), (ops.minimum, sides[i + 2]))
        )
        reach = ops.maximum(ops.subtract(high, low), 0)
        shared = reach if shared is None else ops.multiply(shared, reach)
    both = ops.subtract(ops.add(ops.expand_dims(size, (1,)), size), shared)
    at = ops.arange(order.shape[0])
    beyond = ops.logical_and(
        ops.greater(ops.divide(shared, both), iou_threshold), ops.greater(at, ops.expand_dims(at, (1,)))
    )

    def turn(states: Sequence[Array], rows: Sequence[Array]) -> Sequence[Array]:
        """Hide the boxes that a box covers, unless it is hidden itself."""
        hides = ops.logical_and(rows[0], ops.take(states[0], rows[1], 0))
        return (ops.logical_and(states[0], ops.logical_not(hides)),)

    (stays,), _ = ops.scan(turn, (ops.ones(order.shape, ops.named("bool")),), (beyond, at))
    found = ops.filter(order, stays)
    return found if max_boxes is None else ops.slice(found, (0,), (applied(max, (max_boxes, 0)),))


# Integers as bits


@composed("bitwise_left_shift")
def bitwise_left_shift(ops: Ops, x: Array, y: Array) -> Array:
    factor, fits = _power(ops, x, y)
    return ops.where(fits, ops.multiply(x, factor), 0)


@composed("bitwise_right_shift")
def bitwise_right_shift(ops: Ops, x: Array, y: Array) -> Array:
    """Shift right; a far shift leaves the sign alone."""
    x, y = tensors(ops, x, y)
    factor, fits = _power(ops, x, y)
    far = ops.minimum(ops.sign(x), 0) if ops.dtype_of(factor).kind == "int" else ops.multiply(factor, 0)
    return ops.where(fits, ops.floor_divide(x, factor), far)


def _power(ops: Ops, x: Array, y: Array) -> tuple[Array, Array]:
    """2 ** y, and whether y is less than the number of bits that can be shifted."""
    dtype = ops.dtype_of(x if hasattr(x, "dtype") else y)
    bits = dtype.bits - (dtype.kind == "int")
    fits = ops.logical_and(ops.less_equal(0, y), ops.less(y, bits))
    table = ops.engine.array(np.array([1 << i for i in range(bits)], dtype.name))
    return ops.take(table, ops.cast(ops.where(fits, y, 0), ops.named("int64"))), fits


# Of two numbers


@composed("atan2")
def atan2(ops: Ops, x: Array, y: Array) -> Array:
    """The angle of the quotient, corrected by its quadrant."""
    x, y = tensors(ops, x, y)
    rate = ops.divide(x, ops.where(ops.equal(y, 0), 0, y))  # -0.0 would give the other sign
    both_far = ops.logical_and(ops.isinf(x), ops.isinf(y))
    near = ops.where(both_far, ops.multiply(ops.multiply(ops.sign(x), ops.sign(y)), pi / 4), ops.atan(rate))
    half = ops.copysign(ops.full_like(x, pi), x)
    turned = ops.where(ops.less(y, 0), ops.add(near, half), near)
    straight = ops.where(ops.signbit(y), half, x)
    return ops.where(ops.logical_and(ops.equal(x, 0), ops.equal(y, 0)), straight, turned)


@composed("matrix_norm")
def matrix_norm(ops: Ops, x: Array, keepdims: bool, ord: str) -> Array:
    sums = {"1": (-2, "max"), "-1": (-2, "min"), "inf": (-1, "max"), "-inf": (-1, "min")}
    if ord == "fro":
        return ops.sqrt(ops.sum(ops.square(ops.abs(x)), (-2, -1), keepdims))
    if ord not in sums:
        if not ops.engine.has("svdvals"):
            raise Refused("singular values")
        found = ops.engine.kernel("svdvals")(x)
        made = {"nuc": ops.sum, "2": ops.max, "-2": ops.min}[ord](found, (-1,))
        return ops.expand_dims(made, (-2, -1)) if keepdims else made
    axis, how = sums[ord]
    made = getattr(ops, how)(ops.sum(ops.abs(x), (axis,), True), (-3 - axis,), True)
    return made if keepdims else ops.squeeze(made, (-2, -1))
