"""Kernels that are short compositions of others: parts and order of arrays, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from ...sizes.partial import applied
from ..engine_types import Axes, EngineArray as Array, EngineDType, EngineResult, EngineSize, EngineSizes
from .table import Ops, Refused, composed, composed_rows, tensors  # noqa: F401 - a word of the rows

_ROWS = """
trace | sum(diagonal(x, offset), (-1,))
hypot | where(logical_or(isinf((pair := tensors(ops, x, y))[0]), isinf(pair[1])), inf,
    (most := maximum(one := abs(pair[0]), other := abs(pair[1])))
    * sqrt(square(minimum(one, other) / where(equal(most, 0.0), 1.0, most)) + 1.0))
isin | (logical_not if invert else identity)(
    any(equal(expand_dims((pair := tensors(ops, x, values))[0], (-1,)), flatten(pair[1])), (-1,)))
sort | take_along_axis(x, argsort(x, axis, descending), axis)
"""
composed_rows(_ROWS, globals())

# Parts


@composed("repeat")
def repeat(ops: Ops, x: Array, repeats: EngineSizes, axis: int | None) -> Array:
    if axis is None:
        x, axis = ops.reshape(x, (prod(x.shape),)), 0
    shape, at = x.shape, axis % len(x.shape)
    wide = ops.broadcast_to(ops.expand_dims(x, (at + 1,)), (*shape[: at + 1], repeats, *shape[at + 1 :]))
    return ops.reshape(wide, (*shape[:at], shape[at] * repeats, *shape[at + 1 :]))


@composed("diff")
def diff(ops: Ops, x: Array, axis: int, n: EngineSize, prepend: Array | None, append: Array | None) -> Array:
    parts = [part for part in (prepend, x, append) if part is not None]
    made = ops.concat(parts, axis) if len(parts) > 1 else x
    if not isinstance(n, int):
        raise Refused("these arguments")
    for _ in range(n):
        size = made.shape[axis]
        made = ops.subtract(ops.slice(made, (1,), (size,), (axis,)), ops.slice(made, (0,), (-1,), (axis,)))
    return made


@composed("meshgrid")
def meshgrid(ops: Ops, xs: Sequence[Array], indexing: str) -> EngineResult:
    places = list(range(len(xs)))
    if indexing != "ij" and len(xs) > 1:
        places[:2] = [1, 0]
    shape: list[EngineSizes] = [0] * len(xs)
    for x, place in zip(xs, places, strict=True):
        shape[place] = prod(x.shape)
    sizes = [[n if i == place else 1 for i, n in enumerate(shape)] for place in places]
    return tuple(ops.broadcast_to(ops.reshape(x, tuple(own)), tuple(shape)) for x, own in zip(xs, sizes, strict=True))


@composed("eye")
def eye(ops: Ops, n: EngineSize, m: EngineSize, k: int, dtype: EngineDType) -> Array:
    rows, columns = ops.arange(n), ops.arange(n if m is None else m)
    found = ops.equal(columns, ops.add(ops.expand_dims(rows, (1,)), ops.size_to_tensor(k)))
    return ops.cast(found, ops.named("float32") if dtype is None else dtype)


@composed("linspace")
def linspace(ops: Ops, start: float, stop: float, num: EngineSize, endpoint: bool, dtype: EngineDType) -> Array:
    """In float64, as NumPy; the last element is `stop` itself."""
    wide = ops.named("float64")
    places = ops.cast(ops.arange(num), wide)
    parts = ops.size_to_tensor(num - 1 if endpoint else num, wide)
    step = ops.divide(ops.multiply(ops.maximum(ops.abs(parts), 0.0), stop - start), ops.maximum(ops.square(parts), 1.0))
    made = ops.add(ops.multiply(places, step), start)
    if endpoint:
        is_last = ops.logical_and(ops.equal(places, parts), ops.greater(places, 0.0))
        made = ops.where(is_last, stop, made)
    return ops.cast(made, ops.named("float32") if dtype is None else dtype)


@composed("pad")
def pad(ops: Ops, x: Array, pads: EngineSizes, mode: str, value: Array | None, axes: Axes) -> Array:
    """Take the inside elements that stand for the places beyond the border."""
    for axis, (low, high) in zip(range(len(x.shape)) if axes is None else axes, pads, strict=True):
        if mode == "constant" or (isinstance(low, int) and isinstance(high, int) and not low and not high):
            x = ops.pad(x, [(low, high)], value=value, axes=(axis,)) if mode == "constant" else x
            continue
        size, at = x.shape[axis], ops.arange(-low, x.shape[axis] + high)
        if mode == "edge":
            at = ops.minimum(ops.maximum(at, 0), ops.size_to_tensor(size - 1))
        elif mode == "wrap":
            at = ops.remainder(at, ops.size_to_tensor(applied(max, (size, 1))))
        else:
            at = ops.abs(at)
            at = ops.minimum(at, ops.subtract(ops.size_to_tensor(2 * size - 2), at))
        x = ops.take(x, at, axis)
    return x


@composed("gather_slices")
def gather_slices(ops: Ops, x: Array, starts: Array, sizes: EngineSizes, collapse: EngineSizes) -> Array:
    if not len(x.shape):
        return ops.broadcast_to(x, starts.shape[:-1])
    return ops.gather_nd(x, _blocks(ops, x, starts, sizes, collapse))


@composed("scatter_slices")
def scatter_slices(ops: Ops, x: Array, starts: Array, updates: Array, collapse: EngineSizes, reduction: str) -> Array:
    if not len(x.shape):
        places = ops.zeros((*updates.shape, 1), ops.named("int64"))
        return ops.reshape(ops.scatter_nd(ops.reshape(x, (1,)), places, updates, reduction), ())
    own = updates.shape[len(starts.shape) - 1 :]
    if len(own) != len(x.shape) - len(collapse or ()):
        raise Refused("blocks of another rank than its tensor")
    given = iter(own)
    sizes = [1 if axis in (collapse or ()) else next(given) for axis in range(len(x.shape))]
    return ops.scatter_nd(x, _blocks(ops, x, starts, sizes, collapse), updates, reduction)


def _blocks(ops: Ops, x: Array, starts: Array, sizes: EngineSizes, collapse: EngineSizes) -> Array:
    """The places of the elements of blocks: the axes of the starts, then those of a block, then a place for each axis of x. A
    block that is not inside gets a place that is refused."""
    *lead, told = starts.shape
    rest, parts = [axis for axis in range(len(x.shape)) if axis not in (collapse or ())], []
    shape = (*lead, *(sizes[axis] for axis in rest))
    for axis, size in enumerate(sizes):
        own = ops.reshape(ops.arange(size), [size if other == axis else 1 for other in rest] if axis in rest else ())
        if axis < told:
            begin = ops.cast(ops.take(starts, axis, len(lead)), ops.named("int64"))
            last = ops.size_to_tensor(x.shape[axis] - size)
            fits = ops.logical_and(ops.less_equal(0, begin), ops.less_equal(begin, last))
            begin = ops.where(fits, begin, ops.size_to_tensor(x.shape[axis]))
            own = ops.add(
                ops.expand_dims(begin, tuple(range(len(lead), len(lead) + len(rest)))) if rest else begin, own
            )
        parts.append(ops.expand_dims(ops.broadcast_to(own, shape), (len(shape),)))
    return ops.concat(parts, len(shape))


# Diagonals and products


@composed("diagonal")
def diagonal(ops: Ops, x: Array, offset: EngineSize) -> Array:
    *lead, n, m = x.shape
    if not isinstance(offset, int):
        raise Refused("these arguments")
    count = applied(max, (applied(min, (n + min(offset, 0), m - max(offset, 0))), 0))
    start = offset if offset >= 0 else -offset * m
    places = ops.add(ops.multiply(ops.arange(count), ops.size_to_tensor(m + 1)), ops.size_to_tensor(start))
    return ops.take(ops.reshape(x, (*lead, n * m)), places, axis=len(lead))


@composed("tensordot")
def tensordot(ops: Ops, x: Array, y: Array, axes: int, x_axes: Axes, y_axes: Axes) -> Array:
    ranks = len(x.shape), len(y.shape)
    if x_axes is None or y_axes is None:
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
def logsumexp(ops: Ops, x: Array, axis: Axes, keepdims: bool) -> Array:
    axes = tuple(range(len(x.shape))) if axis is None else axis
    if any(isinstance(x.shape[a], int) and not x.shape[a] for a in axes):
        return ops.log(ops.sum(x, axes, keepdims))
    greatest = ops.max(x, axes, True)
    top = ops.where(ops.isfinite(greatest), greatest, 0.0)
    total = ops.log(ops.sum(ops.exp(ops.subtract(x, top)), axes, keepdims))
    return ops.add(total, top if keepdims else ops.reshape(top, total.shape))


@composed("vector_norm")
def vector_norm(ops: Ops, x: Array, axis: Axes, keepdims: bool, ord: float) -> Array:
    if ord == 2 and ops.dtype_of(x).kind != "complex":
        return ops.sqrt(ops.sum(ops.square(x), axis, keepdims))
    sizes = ops.abs(x)
    if ord in (inf, -inf):
        return ops.max(sizes, axis, keepdims) if ord > 0 else ops.min(sizes, axis, keepdims)
    if ord == 0:
        return ops.sum(ops.cast(ops.not_equal(sizes, 0), sizes.dtype), axis, keepdims)
    return sizes if axis == () else ops.pow(ops.sum(ops.pow(sizes, ord), axis, keepdims), 1 / ord)


@composed("sum_to")
def sum_to(ops: Ops, x: Array, shape: EngineSizes) -> Array:
    leading = len(x.shape) - len(shape)
    stretched = (leading + i for i, size in enumerate(shape) if size == 1 and x.shape[leading + i] != 1)
    axes = (*range(leading), *stretched)
    return ops.reshape(ops.sum(x, axes), shape) if axes else ops.identity(x)


# Order


@composed("argsort")
def argsort(ops: Ops, x: Array, axis: int, descending: bool) -> Array:
    """Equal elements keep their order; NaN comes last, or first if the order is descending."""
    kind, count = ops.dtype_of(x).kind, x.shape[axis]
    if kind == "complex":
        raise Refused("order of complex numbers")
    if ops.dtype_of(x).name == "uint64":
        x = ops.bitwise_xor(x, 2**63)  # the order in int64 is the same
    if kind != "float":
        return ops.topk(ops.cast(x, ops.named("int64")), count, axis, descending)[1]
    strange = ops.isnan(x)
    order = ops.topk(ops.where(strange, 0.0, x), count, axis, descending)[1]
    flags = ops.take_along_axis(ops.cast(strange, ops.named("int64")), order, axis)
    return ops.take_along_axis(order, ops.topk(flags, count, axis, descending)[1], axis)
