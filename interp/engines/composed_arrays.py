"""Kernels that are short compositions of others: parts and order of arrays, diagonals, cells of recurrent networks."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from ...ops.windows import spatial_axes, spread
from ...sizes.partial import applied
from .table import Ops, Unsupported, composed

Array = Any

# Parts


@composed("repeat")
def repeat(ops: Ops, x: Array, repeats: Any, axis: int | None) -> Array:
    if axis is None:
        x, axis = ops.reshape(x, (prod(x.shape),)), 0
    shape, at = x.shape, axis % len(x.shape)
    wide = ops.broadcast_to(ops.expand_dims(x, (at + 1,)), (*shape[: at + 1], repeats, *shape[at + 1 :]))
    return ops.reshape(wide, (*shape[:at], shape[at] * repeats, *shape[at + 1 :]))


@composed("upsample")
def upsample(ops: Ops, x: Array, scales: Any, mode: str, layout: str, align_corners: bool) -> Array:
    if mode != "nearest":
        raise Unsupported("the engine does not take these arguments")
    axes = spatial_axes(len(x.shape), len(x.shape) - 2, layout)
    for axis, times in zip(axes, spread(scales, len(axes), 1), strict=True):
        x = ops.repeat(x, times, axis)
    return x


@composed("diff")
def diff(ops: Ops, x: Array, axis: int, n: Any, prepend: Array | None, append: Array | None) -> Array:
    parts = [part for part in (prepend, x, append) if part is not None]
    made = ops.concat(parts, axis) if len(parts) > 1 else x
    if not isinstance(n, int):
        raise Unsupported("the engine does not take these arguments")
    for _ in range(n):
        size = made.shape[axis]
        made = ops.subtract(ops.slice(made, (1,), (size,), (axis,)), ops.slice(made, (0,), (-1,), (axis,)))
    return made


@composed("meshgrid")
def meshgrid(ops: Ops, xs: Any, indexing: str) -> Any:
    places = list(range(len(xs)))
    if indexing != "ij" and len(xs) > 1:
        places[:2] = [1, 0]
    shape: list[Any] = [0] * len(xs)
    for x, place in zip(xs, places, strict=True):
        shape[place] = prod(x.shape)
    sizes = [[n if i == place else 1 for i, n in enumerate(shape)] for place in places]
    return tuple(ops.broadcast_to(ops.reshape(x, tuple(own)), tuple(shape)) for x, own in zip(xs, sizes, strict=True))


@composed("eye")
def eye(ops: Ops, n: Any, m: Any, k: int, dtype: Any) -> Array:
    rows, columns = ops.arange(n), ops.arange(n if m is None else m)
    found = ops.equal(columns, ops.add(ops.expand_dims(rows, (1,)), ops.size_to_tensor(k)))
    return ops.cast(found, ops.named("float32") if dtype is None else dtype)


@composed("linspace")
def linspace(ops: Ops, start: float, stop: float, num: Any, endpoint: bool, dtype: Any) -> Array:
    """In float64, as NumPy's; the last is the end itself."""
    wide = ops.named("float64")
    places = ops.cast(ops.arange(num), wide)
    parts = ops.size_to_tensor(num - 1 if endpoint else num, wide)
    step = ops.divide(ops.multiply(ops.maximum(ops.abs(parts), 0.0), stop - start), ops.maximum(ops.square(parts), 1.0))
    made = ops.add(ops.multiply(places, step), start)
    if endpoint:
        is_last = ops.logical_and(ops.equal(places, parts), ops.greater(places, 0.0))
        made = ops.where(is_last, stop, made)
    return ops.cast(made, ops.named("float32") if dtype is None else dtype)


# Diagonals and products


@composed("diagonal")
def diagonal(ops: Ops, x: Array, offset: Any) -> Array:
    *lead, n, m = x.shape
    if not isinstance(offset, int):
        raise Unsupported("the engine does not take these arguments")
    count = applied(max, (applied(min, (n + min(offset, 0), m - max(offset, 0))), 0))
    start = offset if offset >= 0 else -offset * m
    places = ops.add(ops.multiply(ops.arange(count), ops.size_to_tensor(m + 1)), ops.size_to_tensor(start))
    return ops.take(ops.reshape(x, (*lead, n * m)), places, axis=len(lead))


@composed("trace")
def trace(ops: Ops, x: Array, offset: Any) -> Array:
    return ops.sum(ops.diagonal(x, offset), (len(x.shape) - 2,))


@composed("tensordot")
def tensordot(ops: Ops, x: Array, y: Array, axes: int, x_axes: Any, y_axes: Any) -> Array:
    ranks = len(x.shape), len(y.shape)
    if x_axes is None:
        x_axes, y_axes = tuple(range(ranks[0] - axes, ranks[0])), tuple(range(axes))
    x_axes, y_axes = (tuple(i % r for i in given) for given, r in zip((x_axes, y_axes), ranks, strict=True))
    left, right = ([i for i in range(r) if i not in used] for r, used in zip(ranks, (x_axes, y_axes), strict=True))
    outer, inner = [x.shape[i] for i in left], prod([x.shape[i] for i in x_axes])
    last = [y.shape[i] for i in right]
    one = ops.reshape(ops.permute_dims(x, (*left, *x_axes)), (prod(outer), inner))
    other = ops.reshape(ops.permute_dims(y, (*y_axes, *right)), (inner, prod(last)))
    return ops.reshape(ops.matmul(one, other), (*outer, *last))


# Sums


@composed("logsumexp")
def logsumexp(ops: Ops, x: Array, axis: Any, keepdims: bool) -> Array:
    axes = tuple(range(len(x.shape))) if axis is None else axis
    greatest = ops.max(x, axes, True)
    top = ops.where(ops.isfinite(greatest), greatest, 0.0)
    total = ops.log(ops.sum(ops.exp(ops.subtract(x, top)), axes, keepdims))
    return ops.add(total, top if keepdims else ops.reshape(top, total.shape))


@composed("vector_norm")
def vector_norm(ops: Ops, x: Array, axis: Any, keepdims: bool, ord: float) -> Array:
    if ops.dtype_of(x).kind == "complex" or ord not in (1, 2):
        raise Unsupported("the engine does not take these arguments")
    if ord == 1:
        return ops.sum(ops.abs(x), axis, keepdims)
    return ops.sqrt(ops.sum(ops.square(x), axis, keepdims))


@composed("sum_to")
def sum_to(ops: Ops, x: Array, shape: Any) -> Array:
    leading = len(x.shape) - len(shape)
    stretched = (leading + i for i, size in enumerate(shape) if size == 1 and x.shape[leading + i] != 1)
    axes = (*range(leading), *stretched)
    return ops.reshape(ops.sum(x, axes), shape) if axes else ops.identity(x)


@composed("hypot")
def hypot(ops: Ops, x: Array, y: Array) -> Array:
    parts = ops.abs(x), ops.abs(y)
    greater, less = ops.maximum(*parts), ops.minimum(*parts)
    rate = ops.divide(less, ops.where(ops.equal(greater, 0.0), 1.0, greater))
    made = ops.multiply(greater, ops.sqrt(ops.add(ops.square(rate), 1.0)))
    return ops.where(ops.logical_or(ops.isinf(x), ops.isinf(y)), inf, made)


@composed("isin")
def isin(ops: Ops, x: Array, values: Array, invert: bool) -> Array:
    same = ops.equal(ops.expand_dims(x, (-1,)), ops.reshape(values, (prod(values.shape),)))
    found = ops.greater(ops.sum(ops.cast(same, ops.named("int64")), (len(x.shape),)), 0)
    return ops.logical_not(found) if invert else found


# Order


@composed("sort")
def sort(ops: Ops, x: Array, axis: int, descending: bool) -> Array:
    return ops.take_along_axis(x, ops.argsort(x, axis, descending), axis)


@composed("argsort")
def argsort(ops: Ops, x: Array, axis: int, descending: bool) -> Array:
    """Of equals the foremost first; then what is no number comes last, or first where all is turned round."""
    kind, count = ops.dtype_of(x).kind, x.shape[axis]
    if kind == "complex" or ops.dtype_of(x).name == "uint64":
        raise Unsupported("the engine does not take these arguments")
    if kind != "float":
        return ops.topk(ops.cast(x, ops.named("int64")), count, axis, descending)[1]
    strange = ops.isnan(x)
    order = ops.topk(ops.where(strange, 0.0, x), count, axis, descending)[1]
    flags = ops.take_along_axis(ops.cast(strange, ops.named("int64")), order, axis)
    return ops.take_along_axis(order, ops.topk(flags, count, axis, descending)[1], axis)


# Cells


def _given(
    ops: Ops, x: Array, h: Array, w: Array, r: Array, b: Array | None, count: int
) -> tuple[list[Array], list[Array]]:
    """What comes of the inputs and of the state for each gate, each with its biases."""
    made = [ops.matmul(x, ops.matrix_transpose(w)), ops.matmul(h, ops.matrix_transpose(r))]
    if b is not None:
        made = [ops.add(m, part) for m, part in zip(made, ops.split(b, 2), strict=True)]
    first, second = (list(ops.split(m, count, axis=1)) for m in made)
    return first, second


@composed("rnn_cell")
def rnn_cell(ops: Ops, x: Array, h: Array, w: Array, r: Array, b: Array | None, activation: str) -> Array:
    (given,), (state,) = _given(ops, x, h, w, r, b, 1)
    made = ops.add(given, state)
    return ops.tanh(made) if activation == "tanh" else ops.relu(made)


@composed("lstm_cell")
def lstm_cell(ops: Ops, x: Array, h: Array, c: Array, w: Array, r: Array, b: Array | None) -> Any:
    i, o, f, g = map(ops.add, *_given(ops, x, h, w, r, b, 4))
    cell = ops.add(ops.multiply(ops.sigmoid(f), c), ops.multiply(ops.sigmoid(i), ops.tanh(g)))
    return ops.multiply(ops.sigmoid(o), ops.tanh(cell)), cell


@composed("gru_cell")
def gru_cell(ops: Ops, x: Array, h: Array, w: Array, r: Array, b: Array | None, linear_before_reset: bool) -> Array:
    (zx, rx, nx), (zh, rh, nh) = _given(ops, x, h, w, r, b, 3)
    z, reset = ops.sigmoid(ops.add(zx, zh)), ops.sigmoid(ops.add(rx, rh))
    if linear_before_reset:
        new = ops.tanh(ops.add(nx, ops.multiply(reset, nh)))
    else:
        size = h.shape[1]
        rows = ops.slice(r, (2 * size,), (3 * size,), (0,))
        inner = ops.matmul(ops.multiply(reset, h), ops.matrix_transpose(rows))
        if b is not None:
            inner = ops.add(inner, ops.slice(b, (5 * size,), (6 * size,), (0,)))
        new = ops.tanh(ops.add(nx, inner))
    return ops.add(new, ops.multiply(z, ops.subtract(h, new)))
