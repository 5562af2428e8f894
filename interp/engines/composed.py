"""Kernels that are short compositions of others: of each element, of sums, of shapes."""

from __future__ import annotations

from itertools import accumulate
from math import pi, prod, sqrt
from typing import Any

from ..kernels.elementwise import _ERFC_32, _ERFC_64
from .table import Ops, composed

Array = Any

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805

# Element by element


@composed("positive")
@composed("stop_gradient")
@composed("dropout")
def same(ops: Ops, x: Array, ratio: float = 0.0) -> Array:
    return ops.identity(x)


@composed("square")
def square(ops: Ops, x: Array) -> Array:
    return ops.multiply(x, x)


@composed("reciprocal")
def reciprocal(ops: Ops, x: Array) -> Array:
    return ops.divide(1, x)


@composed("rsqrt")
def rsqrt(ops: Ops, x: Array) -> Array:
    return ops.divide(1, ops.sqrt(x))


@composed("sigmoid")
def sigmoid(ops: Ops, x: Array) -> Array:
    return ops.divide(1, ops.add(ops.exp(ops.negative(x)), 1))


@composed("relu")
def relu(ops: Ops, x: Array) -> Array:
    return ops.maximum(x, 0)


@composed("softplus")
def softplus(ops: Ops, x: Array) -> Array:
    return ops.add(ops.maximum(x, 0), ops.log1p(ops.exp(ops.negative(ops.abs(x)))))


@composed("log1p")
def log1p(ops: Ops, x: Array) -> Array:
    """log(u) * x / (u - 1) for u = x + 1, in which what u loses of x cancels."""
    more = ops.add(x, 1)
    rest = ops.subtract(more, 1)
    lost = ops.equal(rest, 0)
    exact = ops.multiply(ops.log(more), ops.divide(x, ops.where(lost, 1.0, rest)))
    return ops.where(lost, x, ops.where(ops.isfinite(more), exact, ops.log(more)))


@composed("expm1")
def expm1(ops: Ops, x: Array) -> Array:
    """tanh(x / 2) * (exp(x) + 1), which loses nothing where x is small."""
    power = ops.exp(x)
    near = ops.multiply(ops.tanh(ops.multiply(x, 0.5)), ops.add(power, 1))
    return ops.where(ops.less(ops.abs(x), 1), near, ops.subtract(power, 1))


@composed("log2")
def log2(ops: Ops, x: Array) -> Array:
    return ops.multiply(ops.log(x), 1.4426950408889634)


@composed("log10")
def log10(ops: Ops, x: Array) -> Array:
    return ops.multiply(ops.log(x), 0.4342944819032518)


@composed("silu")
def silu(ops: Ops, x: Array) -> Array:
    return ops.multiply(x, ops.sigmoid(x))


@composed("mish")
def mish(ops: Ops, x: Array) -> Array:
    return ops.multiply(x, ops.tanh(ops.softplus(x)))


@composed("softsign")
def softsign(ops: Ops, x: Array) -> Array:
    return ops.divide(x, ops.add(ops.abs(x), 1))


@composed("hard_sigmoid")
def hard_sigmoid(ops: Ops, x: Array, alpha: float, beta: float) -> Array:
    return ops.clip(ops.add(ops.multiply(x, alpha), beta), 0.0, 1.0)


@composed("hard_swish")
def hard_swish(ops: Ops, x: Array) -> Array:
    return ops.multiply(x, ops.clip(ops.add(ops.divide(x, 6), 0.5), 0.0, 1.0))


@composed("leaky_relu")
def leaky_relu(ops: Ops, x: Array, alpha: float) -> Array:
    return ops.where(ops.less(x, 0), ops.multiply(x, alpha), x)


@composed("elu")
def elu(ops: Ops, x: Array, alpha: float) -> Array:
    return ops.where(ops.less(x, 0), ops.multiply(ops.expm1(ops.minimum(x, 0)), alpha), x)


@composed("selu")
def selu(ops: Ops, x: Array) -> Array:
    return ops.multiply(ops.elu(x, _SELU_ALPHA), _SELU_SCALE)


@composed("gelu")
def gelu(ops: Ops, x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        inner = ops.add(ops.multiply(ops.multiply(x, x), 0.044715), 1)
        rate = ops.tanh(ops.multiply(ops.multiply(inner, x), sqrt(2 / pi)))
    else:
        rate = ops.erf(ops.multiply(x, sqrt(0.5)))
    return ops.multiply(ops.multiply(x, 0.5), ops.add(rate, 1))


@composed("clip")
def clip(ops: Ops, x: Array, min: Array, max: Array) -> Array:
    result = x if min is None else ops.maximum(x, min)
    return result if max is None else ops.minimum(result, max)


@composed("logaddexp")
def logaddexp(ops: Ops, x: Array, y: Array) -> Array:
    greater = ops.maximum(x, y)
    apart = ops.negative(ops.abs(ops.subtract(x, y)))
    alike = ops.equal(x, y)  # infinities too, whose difference is no number
    return ops.add(greater, ops.log1p(ops.exp(ops.where(alike, 0.0, apart))))


@composed("not_equal")
def not_equal(ops: Ops, x: Array, y: Array) -> Array:
    return ops.logical_not(ops.equal(x, y))


@composed("logical_xor")
def logical_xor(ops: Ops, x: Array, y: Array) -> Array:
    return ops.not_equal(x, y)


@composed("isfinite")
def isfinite(ops: Ops, x: Array) -> Array:
    return ops.logical_not(ops.logical_or(ops.isnan(x), ops.isinf(x)))


@composed("erf")
def erf(ops: Ops, x: Array) -> Array:
    """By the polynomial that NumPy's kernel has."""
    scale, coefficients = _ERFC_32 if ops.dtype_of(x).bits == 32 else _ERFC_64
    size = ops.abs(x)
    t = ops.reciprocal(ops.add(ops.multiply(size, scale), 1))
    total = ops.multiply(t, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = ops.multiply(ops.add(total, coefficient), t)
    rest = ops.subtract(1, ops.multiply(total, ops.exp(ops.negative(ops.square(size)))))
    return ops.multiply(rest, ops.sign(x))


@composed("tan")
def tan(ops: Ops, x: Array) -> Array:
    return ops.divide(ops.sin(x), ops.cos(x))


@composed("sinh")
def sinh(ops: Ops, x: Array) -> Array:
    """The half of exp(x) - 1 and of how much more that is than exp(-x) - 1, which are small where x is."""
    more, less = ops.expm1(x), ops.expm1(ops.negative(x))
    return ops.multiply(ops.subtract(more, less), 0.5)


@composed("cosh")
def cosh(ops: Ops, x: Array) -> Array:
    return ops.add(ops.multiply(ops.exp(x), 0.5), ops.multiply(ops.exp(ops.negative(x)), 0.5))


@composed("asinh")
def asinh(ops: Ops, x: Array) -> Array:
    size = ops.abs(x)
    square = ops.square(size)
    near = ops.log1p(ops.add(size, ops.divide(square, ops.add(ops.sqrt(ops.add(square, 1)), 1))))
    return ops.multiply(ops.sign(x), ops.where(ops.less(size, 1e100), near, ops.add(ops.log(size), 0.6931471805599453)))


@composed("acosh")
def acosh(ops: Ops, x: Array) -> Array:
    rest = ops.subtract(x, 1)
    near = ops.log1p(ops.add(rest, ops.sqrt(ops.multiply(rest, ops.add(x, 1)))))
    return ops.where(ops.less(x, 1e100), near, ops.add(ops.log(x), 0.6931471805599453))


@composed("atanh")
def atanh(ops: Ops, x: Array) -> Array:
    return ops.multiply(ops.subtract(ops.log1p(x), ops.log1p(ops.negative(x))), 0.5)


@composed("atan")
def atan(ops: Ops, x: Array) -> Array:
    """Halved three times, and the series of what is left."""
    t = ops.abs(x)
    far = ops.greater(t, 1)
    t = ops.where(far, ops.reciprocal(t), t)
    for _ in range(3):
        t = ops.divide(t, ops.add(ops.sqrt(ops.add(ops.square(t), 1)), 1))
    square = ops.square(t)
    total = ops.multiply(square, 0.0)
    for n in range(21, 0, -2):
        total = ops.add(ops.multiply(ops.negative(total), square), 1 / n)
    whole = ops.multiply(ops.multiply(t, total), 8)
    return ops.multiply(ops.sign(x), ops.where(far, ops.subtract(pi / 2, whole), whole))


@composed("asin")
def asin(ops: Ops, x: Array) -> Array:
    rest = ops.sqrt(ops.multiply(ops.subtract(1, x), ops.add(x, 1)))
    return ops.multiply(ops.atan(ops.divide(x, ops.add(rest, 1))), 2)


@composed("acos")
def acos(ops: Ops, x: Array) -> Array:
    return ops.multiply(ops.atan(ops.sqrt(ops.divide(ops.subtract(1, x), ops.add(x, 1)))), 2)


# Reductions


@composed("var")
def var(ops: Ops, x: Array, axis: Any, keepdims: bool, correction: float) -> Array:
    apart = ops.square(ops.subtract(x, ops.mean(x, axis, True)))
    if correction == 0:
        return ops.mean(apart, axis, keepdims)
    axes = range(len(x.shape)) if axis is None else axis
    count = ops.size_to_tensor(prod([x.shape[i] for i in axes]), x.dtype)
    return ops.divide(ops.sum(apart, axis, keepdims), ops.maximum(ops.subtract(count, correction), 0))


@composed("std")
def std(ops: Ops, x: Array, axis: Any, keepdims: bool, correction: float) -> Array:
    return ops.sqrt(ops.var(x, axis, keepdims, correction))


@composed("count_nonzero")
def count_nonzero(ops: Ops, x: Array, axis: Any, keepdims: bool) -> Array:
    true = x if ops.dtype_of(x).kind == "bool" else ops.not_equal(x, 0)
    return ops.sum(ops.cast(true, ops.named("int8")), axis, keepdims, ops.named("int64"))


@composed("any")
def any_(ops: Ops, x: Array, axis: Any, keepdims: bool) -> Array:
    return ops.cast(ops.max(ops.cast(x, ops.named("uint8")), axis, keepdims), ops.named("bool"))


@composed("all")
def all_(ops: Ops, x: Array, axis: Any, keepdims: bool) -> Array:
    return ops.logical_not(ops.any(ops.logical_not(x), axis, keepdims))


@composed("softmax")
def softmax(ops: Ops, x: Array, axis: int) -> Array:
    powers = ops.exp(ops.subtract(x, ops.max(x, (axis,), True)))
    return ops.divide(powers, ops.sum(powers, (axis,), True))


@composed("log_softmax")
def log_softmax(ops: Ops, x: Array, axis: int) -> Array:
    apart = ops.subtract(x, ops.max(x, (axis,), True))
    return ops.subtract(apart, ops.log(ops.sum(ops.exp(apart), (axis,), True)))


@composed("prod")
def prod_(ops: Ops, x: Array, axis: Any, keepdims: bool, dtype: Any) -> Array:
    """One factor after the other."""
    rank = len(x.shape)
    gone = tuple(range(rank)) if axis is None else tuple(sorted(a % rank for a in axis))
    left = [i for i in range(rank) if i not in gone]
    source = x if dtype is None else ops.cast(x, dtype)
    shape = (prod(x.shape[i] for i in gone), *(x.shape[i] for i in left))
    rows = ops.reshape(ops.permute_dims(source, (*gone, *left)), shape)
    first = ops.ones(shape[1:], source.dtype)
    (made,), _ = ops.scan(lambda states, given: (ops.multiply(states[0], given[0]),), (first,), (rows,))
    return ops.expand_dims(made, gone) if keepdims and gone else made


# Shapes


@composed("moveaxis")
def moveaxis(ops: Ops, x: Array, source: Any, destination: Any) -> Array:
    rank = len(x.shape)
    moved = dict(zip((d % rank for d in destination), (s % rank for s in source), strict=True))
    left = iter([i for i in range(rank) if i not in moved.values()])
    return ops.permute_dims(x, [moved[i] if i in moved else next(left) for i in range(rank)])


@composed("swapaxes")
def swapaxes(ops: Ops, x: Array, axis1: int, axis2: int) -> Array:
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return ops.permute_dims(x, order)


@composed("matrix_transpose")
def matrix_transpose(ops: Ops, x: Array) -> Array:
    return ops.swapaxes(x, -1, -2)


@composed("flatten")
def flatten(ops: Ops, x: Array, start: int, end: int) -> Array:
    shape = x.shape
    if not len(shape):
        return ops.reshape(x, (1,))
    first, last = start % len(shape), end % len(shape)
    return ops.reshape(x, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@composed("stack")
def stack(ops: Ops, xs: Any, axis: int) -> Array:
    return ops.concat([ops.expand_dims(x, (axis,)) for x in xs], axis)


@composed("unstack")
def unstack(ops: Ops, x: Array, axis: int) -> Any:
    count = range(x.shape[axis])
    return tuple(ops.squeeze(ops.slice(x, (i,), (i + 1,), (axis,)), (axis,)) for i in count)


@composed("split")
def split(ops: Ops, x: Array, sections: Any, sizes: Any, indices: Any, axis: int, uneven: bool) -> Any:
    """Slices; where the parts end is known of their sizes."""
    size = x.shape[axis]
    if indices is not None:
        ends = [*indices, size]
    elif sizes is not None:
        ends = list(accumulate(sizes))
    else:
        count = 1 if sections is None else sections
        part = -(-size // count) if uneven else size // count
        ends = [part * (n + 1) for n in range(count)]
    starts = [0, *ends[:-1]] if ends else []
    return tuple(ops.slice(x, (a,), (b,), (axis,)) for a, b in zip(starts, ends, strict=True))


@composed("part")
def part(ops: Ops, xs: Any, position: int) -> Array:
    return ops.identity(xs[position])


@composed("zeros")
def zeros(ops: Ops, shape: Any, dtype: Any) -> Array:
    return ops.full(shape, 0, ops.named("float32") if dtype is None else dtype)


@composed("ones")
def ones(ops: Ops, shape: Any, dtype: Any) -> Array:
    return ops.full(shape, 1, ops.named("float32") if dtype is None else dtype)


@composed("full_like")
def full_like(ops: Ops, x: Array, value: Array, dtype: Any) -> Array:
    return ops.full(x.shape, value, x.dtype if dtype is None else dtype)


@composed("zeros_like")
def zeros_like(ops: Ops, x: Array, dtype: Any) -> Array:
    return ops.zeros(x.shape, x.dtype if dtype is None else dtype)


@composed("ones_like")
def ones_like(ops: Ops, x: Array, dtype: Any) -> Array:
    return ops.ones(x.shape, x.dtype if dtype is None else dtype)


@composed("one_hot")
def one_hot(ops: Ops, indices: Array, depth: Any, dtype: Any) -> Array:
    places = ops.cast(indices, ops.named("int64"))
    turned = ops.where(ops.less(places, 0), ops.add(places, ops.size_to_tensor(depth)), places)
    found = ops.equal(ops.expand_dims(turned, (-1,)), ops.arange(depth))
    return ops.cast(found, ops.named("float32") if dtype is None else dtype)


@composed("size")
def size(ops: Ops, x: Array) -> Array:
    return ops.size_to_tensor(prod(x.shape))


@composed("depth_to_space")
def depth_to_space(ops: Ops, x: Array, block: Any) -> Array:
    n, c, h, w = x.shape
    left = c // (block * block)
    blocks = ops.permute_dims(ops.reshape(x, (n, block, block, left, h, w)), (0, 3, 4, 1, 5, 2))
    return ops.reshape(blocks, (n, left, h * block, w * block))


@composed("space_to_depth")
def space_to_depth(ops: Ops, x: Array, block: Any) -> Array:
    n, c, h, w = x.shape
    cut = ops.reshape(x, (n, c, h // block, block, w // block, block))
    return ops.reshape(ops.permute_dims(cut, (0, 3, 5, 1, 2, 4)), (n, c * block * block, h // block, w // block))


@composed("pixel_shuffle")
def pixel_shuffle(ops: Ops, x: Array, factor: Any) -> Array:
    *lead, c, h, w = x.shape
    n, left = len(lead), c // (factor * factor)
    blocks = ops.reshape(x, (*lead, left, factor, factor, h, w))
    moved = ops.permute_dims(blocks, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(moved, (*lead, left, h * factor, w * factor))


@composed("pixel_unshuffle")
def pixel_unshuffle(ops: Ops, x: Array, factor: Any) -> Array:
    *lead, c, h, w = x.shape
    n = len(lead)
    blocks = ops.reshape(x, (*lead, c, h // factor, factor, w // factor, factor))
    moved = ops.permute_dims(blocks, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(moved, (*lead, c * factor * factor, h // factor, w // factor))


@composed("tril")
def tril(ops: Ops, x: Array, k: Any) -> Array:
    return ops.where(_below(ops, x, k), x, ops.zeros_like(x))


@composed("triu")
def triu(ops: Ops, x: Array, k: Any) -> Array:
    return ops.where(_below(ops, x, k - 1), ops.zeros_like(x), x)


def _below(ops: Ops, x: Array, k: Any) -> Array:
    """Whether the column of an element is at most its row + k."""
    rows, columns = ops.arange(x.shape[-2]), ops.arange(x.shape[-1])
    return ops.less_equal(columns, ops.add(ops.expand_dims(rows, (1,)), ops.size_to_tensor(k)))
