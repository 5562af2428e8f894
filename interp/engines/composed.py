"""Kernels that are short compositions of others: of each element, of sums, of shapes."""

from __future__ import annotations

from itertools import accumulate
from math import pi, prod

from ..engine_types import Axes, EngineArray as Array, EngineDType, EngineResult, EngineSize, EngineSizes
from ..kernels.elementwise import _ERFC_32, _ERFC_64
from .table import Ops, composed, composed_rows, tensors  # noqa: F401 - a word of the rows

# log1p is log(u) * x / (u - 1) for u = x + 1, in which the rounding of u cancels; expm1 is tanh(x / 2) * (exp(x) + 1), which
# loses nothing for small x; equal operands of logaddexp may be infinite, and have no difference then.
_ROWS = """
positive stop_gradient dropout | identity(x)
square | x * x
reciprocal | 1 / x
rsqrt | 1 / sqrt(x)
sigmoid | 1 / (exp(-x) + 1)
relu | maximum(x, 0)
softplus | maximum(x, 0) + log1p(exp(-abs(x)))
expm1 | where(abs(x) < 1, tanh(x * 0.5) * ((power := exp(x)) + 1), power - 1)
log1p | where(equal(rest := (more := x + 1) - 1, 0), x,
    where(isfinite(more), log(more) * (x / where(equal(rest, 0), 1.0, rest)), log(more)))
log2 | log(x) * 1.4426950408889634
log10 | log(x) * 0.4342944819032518
silu | x * sigmoid(x)
mish | x * tanh(softplus(x))
softsign | x / (abs(x) + 1)
hard_sigmoid | clip(x * alpha + beta, 0.0, 1.0)
hard_swish | x * clip(x / 6 + 0.5, 0.0, 1.0)
leaky_relu | where(x < 0, x * alpha, x)
elu | where(x < 0, expm1(minimum(x, 0)) * alpha, x)
selu | elu(x, 1.6732632423543772) * 1.0507009873554805
gelu | x * 0.5 * (1 + (
    tanh((x * x * 0.044715 + 1) * x * 0.7978845608028654) if approximate == "tanh" else erf(x * 0.7071067811865476)))
logaddexp | maximum(x, y) + log1p(exp(where(equal(x, y), 0.0, -abs(x - y))))
not_equal | logical_not(equal(x, y))
logical_xor | not_equal(x, y)
isfinite | logical_not(logical_or(isnan(x), isinf(x)))
tan | sin(x) / cos(x)
sinh | (expm1(x) - expm1(-x)) * 0.5
cosh | exp(x) * 0.5 + exp(-x) * 0.5
acosh | where(x < 1e100, log1p((rest := x - 1) + sqrt(rest * (x + 1))), log(x) + 0.6931471805599453)
atanh | (log1p(x) - log1p(-x)) * 0.5
asin | atan(x / (sqrt((1 - x) * (x + 1)) + 1)) * 2
acos | atan(sqrt((1 - x) / (x + 1))) * 2
copysign | where(signbit((pair := tensors(ops, x, y))[1]), -(size := abs(pair[0])), size)
signbit | logical_or(x < 0, 1 / x < 0)
std | sqrt(var(x, axis, keepdims, correction))
count_nonzero | sum(
    cast(x if dtype_of(x).kind == "bool" else not_equal(x, 0), named("int8")), axis, keepdims, named("int64"))
any | cast(max(cast(x, named("uint8")), axis, keepdims), named("bool"))
all | logical_not(any(logical_not(x), axis, keepdims))
softmax | (powers := exp(x - max(x, (axis,), True))) / sum(powers, (axis,), True)
log_softmax | (apart := x - max(x, (axis,), True)) - log(sum(exp(apart), (axis,), True))
matrix_transpose | swapaxes(x, -1, -2)
stack | concat([expand_dims(part, (axis,)) for part in xs], axis)
part | identity(xs[position])
zeros | full(shape, 0, dtype or named("float32"))
ones | full(shape, 1, dtype or named("float32"))
full_like | full(x.shape, value, dtype or x.dtype)
zeros_like | zeros(x.shape, dtype or x.dtype)
ones_like | ones(x.shape, dtype or x.dtype)
one_hot | cast(
    equal(expand_dims(where((at := cast(indices, named("int64"))) < 0, at + size_to_tensor(depth), at), (-1,)), arange(depth)),
    dtype or named("float32"))
tril | where(_below(ops, x, k), x, zeros_like(x))
triu | where(_below(ops, x, k, 1), zeros_like(x), x)
"""
composed_rows(_ROWS, globals())

# Element by element


@composed("clip")
def clip(ops: Ops, x: Array, min: Array, max: Array) -> Array:
    result = x if min is None else ops.maximum(x, min)
    return result if max is None else ops.minimum(result, max)


@composed("erf")
def erf(ops: Ops, x: Array) -> Array:
    """Use the polynomial of NumPy's kernel."""
    scale, coefficients = _ERFC_32 if ops.dtype_of(x).bits == 32 else _ERFC_64
    size = ops.abs(x)
    t = ops.reciprocal(ops.add(ops.multiply(size, scale), 1))
    total = ops.multiply(t, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = ops.multiply(ops.add(total, coefficient), t)
    rest = ops.subtract(1, ops.multiply(total, ops.exp(ops.negative(ops.square(size)))))
    return ops.multiply(rest, ops.sign(x))


@composed("asinh")
def asinh(ops: Ops, x: Array) -> Array:
    size = ops.abs(x)
    square = ops.square(size)
    near = ops.log1p(ops.add(size, ops.divide(square, ops.add(ops.sqrt(ops.add(square, 1)), 1))))
    return ops.multiply(ops.sign(x), ops.where(ops.less(size, 1e100), near, ops.add(ops.log(size), 0.6931471805599453)))


@composed("atan")
def atan(ops: Ops, x: Array) -> Array:
    """Halve the angle three times, and add up the series of the rest."""
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


# Reductions


@composed("var")
def var(ops: Ops, x: Array, axis: Axes, keepdims: bool, correction: float) -> Array:
    apart = ops.square(ops.subtract(x, ops.mean(x, axis, True)))
    if correction == 0:
        return ops.mean(apart, axis, keepdims)
    axes = range(len(x.shape)) if axis is None else axis
    count = ops.size_to_tensor(prod([x.shape[i] for i in axes]), x.dtype)
    return ops.divide(ops.sum(apart, axis, keepdims), ops.maximum(ops.subtract(count, correction), 0))


@composed("prod")
def prod_(ops: Ops, x: Array, axis: Axes, keepdims: bool, dtype: EngineDType) -> Array:
    """Multiply one factor after the other."""
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
def moveaxis(ops: Ops, x: Array, source: tuple[int, ...], destination: tuple[int, ...]) -> Array:
    rank = len(x.shape)
    moved = dict(zip((d % rank for d in destination), (s % rank for s in source), strict=True))
    left = iter([i for i in range(rank) if i not in moved.values()])
    return ops.permute_dims(x, [moved[i] if i in moved else next(left) for i in range(rank)])


@composed("swapaxes")
def swapaxes(ops: Ops, x: Array, axis1: int, axis2: int) -> Array:
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return ops.permute_dims(x, order)


@composed("flatten")
def flatten(ops: Ops, x: Array, start: int, end: int) -> Array:
    shape = x.shape
    if not len(shape):
        return ops.reshape(x, (1,))
    first, last = start % len(shape), end % len(shape)
    return ops.reshape(x, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@composed("split")
def split(
    ops: Ops, x: Array, sections: EngineSizes, sizes: EngineSizes, indices: EngineSizes, axis: int, uneven: bool
) -> EngineResult:
    """Slices; the sizes of the parts give their ends."""
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


@composed("size")
def size(ops: Ops, x: Array) -> Array:
    return ops.size_to_tensor(prod(x.shape))


@composed("depth_to_space")
def depth_to_space(ops: Ops, x: Array, block: EngineSize) -> Array:
    n, c, h, w = x.shape
    left = c // (block * block)
    blocks = ops.permute_dims(ops.reshape(x, (n, block, block, left, h, w)), (0, 3, 4, 1, 5, 2))
    return ops.reshape(blocks, (n, left, h * block, w * block))


@composed("space_to_depth")
def space_to_depth(ops: Ops, x: Array, block: EngineSize) -> Array:
    n, c, h, w = x.shape
    cut = ops.reshape(x, (n, c, h // block, block, w // block, block))
    return ops.reshape(ops.permute_dims(cut, (0, 3, 5, 1, 2, 4)), (n, c * block * block, h // block, w // block))


@composed("pixel_shuffle")
def pixel_shuffle(ops: Ops, x: Array, factor: EngineSize) -> Array:
    *lead, c, h, w = x.shape
    n, left = len(lead), c // (factor * factor)
    blocks = ops.reshape(x, (*lead, left, factor, factor, h, w))
    moved = ops.permute_dims(blocks, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(moved, (*lead, left, h * factor, w * factor))


@composed("pixel_unshuffle")
def pixel_unshuffle(ops: Ops, x: Array, factor: EngineSize) -> Array:
    *lead, c, h, w = x.shape
    n = len(lead)
    blocks = ops.reshape(x, (*lead, c, h // factor, factor, w // factor, factor))
    moved = ops.permute_dims(blocks, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(moved, (*lead, c * factor * factor, h // factor, w // factor))


def _below(ops: Ops, x: Array, k: EngineSize, less: int = 0) -> Array:
    """Whether the column of an element is at most its row + k - less."""
    rows, columns = ops.arange(x.shape[-2]), ops.arange(x.shape[-1])
    return ops.less_equal(columns, ops.add(ops.expand_dims(rows, (1,)), ops.size_to_tensor(k - less)))


@composed("unstack")
def unstack(ops: Ops, x: Array, axis: int) -> EngineResult:
    count = range(x.shape[axis])
    return tuple(ops.squeeze(ops.slice(x, (i,), (i + 1,), (axis,)), (axis,)) for i in count)
