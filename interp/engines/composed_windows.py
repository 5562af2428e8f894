"""Kernels that are short compositions of others: windows over axes, pooling, convolution, sizes of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf, prod

from ...lang.dtypes import int_range
from ...ops.windows import (
    Windows,
    count_windows,
    extent,
    same_pads,
    spatial_axes,
    spatial_count,
    spread,
    transposed_size,
)
from ...sizes.partial import applied, are_same
from ..engine_types import EngineArray as Array, EngineResult, EngineSize, EngineSizes
from .table import Ops, Refused, composed, composed_rows

_ROWS = """
adaptive_max_pool | _adapted(
    ops, x, output_shape, layout, _least(ops, x), max, lambda parts, _: max(parts, (-1,)))
"""
composed_rows(_ROWS, globals())

# Windows


def places(ops: Ops, kernel: EngineSize, dilation: EngineSize, count: EngineSize, stride: EngineSize) -> Array:
    """[kernel, count]: the position along an axis of each place of the kernel, in each window."""
    inside, starts = (
        ops.multiply(ops.arange(n), ops.size_to_tensor(by)) for n, by in ((kernel, dilation), (count, stride))
    )
    return ops.add(ops.expand_dims(inside, (1,)), starts)


class Along:
    """The windows over one axis: their number, the padding of the axis, and the places of their elements."""

    def __init__(
        self, ops: Ops, size: EngineSize, kernel: EngineSize, stride: EngineSize, pad: EngineSizes, auto_pad: str,
        dilation: EngineSize, ceil: bool = False, count: EngineSize = None,
    ) -> None:  # fmt: skip
        reach, is_same = extent(kernel, dilation), auto_pad.startswith("same")
        self.low, self.high = same_pads(size, reach, stride, auto_pad) if is_same else pad
        windows = Windows(reach, stride, self.low, self.high, is_same, ceil)
        self.count = count_windows(ops.sizes, size, windows, 0, ()) if count is None else count
        self.more = applied(max, (self.high, (self.count - 1) * stride + reach - size - self.low))
        self.places = places(ops, kernel, dilation, self.count, stride)
        self.size = size

    def taken(self, ops: Ops, x: Array, axis: int, rest: Array) -> Array:
        """Split an axis in two: the place in the kernel, and the window. `rest` fills the borders."""
        is_plain = isinstance(self.low, int) and isinstance(self.more, int) and not self.low and not self.more
        return ops.take(
            x if is_plain else ops.pad(x, [(self.low, self.more)], value=rest, axes=(axis,)), self.places, axis
        )

    def members(self, ops: Ops, include_pad: bool, like: Array, behind: int) -> Array:
        """The number of elements of each window that count, in the shape for an array with `behind` axes after this one."""
        begin, end = (0, self.low + self.size + self.high) if include_pad else (self.low, self.low + self.size)
        bounds = map(ops.size_to_tensor, (begin, end))
        within = ops.logical_and(ops.less_equal(next(bounds), self.places), ops.less(self.places, next(bounds)))
        found = ops.cast(ops.count_nonzero(within, (0,)), like.dtype)
        return ops.expand_dims(found, tuple(range(1, behind + 1))) if behind else found


def _each(
    ops: Ops, sizes: Sequence[EngineSizes], kernel: EngineSize, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    dilations: EngineSizes, ceil: bool = False
) -> list[Along]:  # fmt: skip
    count = len(sizes)
    given = (
        spread(kernel, count, 1),
        spread(strides, count, 1),
        spread(pads, count, (0, 0)),
        spread(dilations, count, 1),
    )
    return [Along(ops, n, k, s, p, auto_pad, d, ceil) for n, k, s, p, d in zip(sizes, *given, strict=True)]


def _columns(ops: Ops, x: Array, windows: Sequence[Along]) -> Array:
    """[*lead, *s] as [*lead, *kernel, *counts]."""
    count, lead = len(windows), len(x.shape) - len(windows)
    for i in reversed(range(count)):
        x = windows[i].taken(ops, x, lead + i, 0)
    return ops.permute_dims(
        x, (*range(lead), *(lead + 2 * i for i in range(count)), *(lead + 2 * i + 1 for i in range(count)))
    )


def added(ops: Ops, x: Array, places: Array, size: EngineSize) -> Array:
    """Add up [*lead, kernel, count] at their places in [*lead, size]."""
    *lead, kernel, count = x.shape
    flat = ops.reshape(x, (*lead, kernel * count))
    where = ops.broadcast_to(ops.reshape(places, (kernel * count,)), flat.shape)
    return ops.scatter_elements(ops.zeros((*lead, size), x.dtype), where, flat, -1, "add")


# Pooling


def _pooled(
    ops: Ops, x: Array, kernel: EngineSize, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    dilations: EngineSizes, ceil: bool, layout: str, spatial: int | None, rest: Array, reduce: Callable[[Array, int,
    Along], Array],
) -> Array:  # fmt: skip
    """Apply `reduce` to the elements of each window, along one axis after the other."""
    rank = len(x.shape)
    axes = spatial_axes(rank, spatial_count(kernel, rank) if spatial is None else spatial, layout)
    steps = kernel if strides is None else strides
    windows = _each(ops, [x.shape[i] for i in axes], kernel, steps, pads, auto_pad, dilations, ceil)
    for axis, along in zip(axes, windows, strict=True):
        x = reduce(along.taken(ops, x, axis, rest), axis, along)
    return x


def _least(ops: Ops, x: Array) -> EngineResult:
    dtype = ops.dtype_of(x)
    return int_range(dtype)[0] if dtype.kind in ("int", "uint") else -inf


def _max_pool(
    spatial: int | None, ops: Ops, x: Array, kernel_shape: EngineSizes, strides: EngineSizes, pads: EngineSizes,
    auto_pad: str, dilations: EngineSizes, ceil_mode: bool, layout: str,
) -> Array:  # fmt: skip
    given = (kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, spatial)
    return _pooled(ops, x, *given, _least(ops, x), lambda parts, axis, _: ops.max(parts, (axis,)))


def _average_pool(
    spatial: int | None, ops: Ops, x: Array, kernel_shape: EngineSizes, strides: EngineSizes, pads: EngineSizes,
    auto_pad: str, dilations: EngineSizes, ceil_mode: bool, count_include_pad: bool, layout: str,
) -> Array:  # fmt: skip
    def mean(parts: Array, axis: int, along: Along) -> Array:
        total = ops.sum(parts, (axis,))
        return ops.divide(total, along.members(ops, count_include_pad, total, len(total.shape) - 1 - axis))

    return _pooled(ops, x, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, spatial, 0, mean)


def _lp_pool(
    spatial: int | None, ops: Ops, x: Array, kernel_shape: EngineSizes, p: float, strides: EngineSizes,
    pads: EngineSizes, auto_pad: str, dilations: EngineSizes, ceil_mode: bool, layout: str,
) -> Array:  # fmt: skip
    given = (kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, spatial)
    total = _pooled(ops, ops.pow(ops.abs(x), p), *given, 0, lambda parts, axis, _: ops.sum(parts, (axis,)))
    return ops.pow(total, 1 / p if p else inf)


_SUFFIXES = (("", None), ("1d", 1), ("2d", 2), ("3d", 3))
for _suffix, _spatial in _SUFFIXES:
    for _name, _function in (("max_pool", _max_pool), ("average_pool", _average_pool), ("lp_pool", _lp_pool)):
        composed(_name + _suffix)(partial(_function, _spatial))


def _parts(ops: Ops, size: EngineSize, count: EngineSize) -> tuple[Array, Array]:
    """[count, size]: whether an element belongs to each of the windows that divide an axis into parts; and the number of such
    elements."""
    at, many, whole = ops.arange(count), ops.size_to_tensor(applied(max, (count, 1))), ops.size_to_tensor(size)
    starts = ops.floor_divide(ops.multiply(at, whole), many)
    ends = ops.negative(ops.floor_divide(ops.negative(ops.multiply(ops.add(at, 1), whole)), many))
    here, starts, ends = ops.arange(size), ops.expand_dims(starts, (1,)), ops.expand_dims(ends, (1,))
    return ops.logical_and(ops.less_equal(starts, here), ops.less(here, ends)), ops.subtract(ends, starts)


def _adapted(
    ops: Ops, x: Array, output_shape: EngineSizes, layout: str, rest: Array, whole: Callable[..., Array],
    reduce: Callable[..., Array],
) -> Array:  # fmt: skip
    """Apply `reduce` to the parts of an axis, one axis after the other; `whole` if all of an image is one part."""
    rank = len(x.shape)
    axes = spatial_axes(rank, rank - 2, layout)
    counts = spread(output_shape, len(axes), 1)
    if all(isinstance(count, int) and count == 1 for count in counts):
        return whole(x, tuple(axes), True)
    for axis, count in zip(axes, counts, strict=True):
        belongs, members = _parts(ops, x.shape[axis], count)
        last = ops.expand_dims(ops.moveaxis(x, (axis,), (-1,)), (-2,))
        made = reduce(ops.where(belongs, last, rest), ops.squeeze(members, (1,)))
        x = ops.moveaxis(made, (-1,), (axis,))
    return x


@composed("adaptive_average_pool")
def adaptive_average_pool(ops: Ops, x: Array, output_shape: EngineSizes, layout: str) -> Array:
    def mean(parts: Array, members: Array) -> Array:
        return ops.divide(ops.sum(parts, (-1,)), ops.cast(members, x.dtype))

    return _adapted(ops, x, output_shape, layout, 0, ops.mean, mean)


# Convolution


def _conv(
    name: str, ops: Ops, x: Array, weight: Array, bias: Array | None, strides: EngineSizes, pads: EngineSizes,
    auto_pad: str, dilations: EngineSizes, groups: EngineSize, layout: str,
) -> Array:  # fmt: skip
    """Multiply the filters with the elements of the windows."""
    if layout == "channels_last":
        image, filters = ops.moveaxis(x, (-1,), (1,)), ops.moveaxis(weight, (-1, -2), (0, 1))
        made = getattr(ops, name)(image, filters, bias, strides, pads, auto_pad, dilations, groups)
        return ops.moveaxis(made, (1,), (-1,))
    (batch, channels, *sizes), (filters, _, *kernel) = x.shape, weight.shape
    windows = _each(ops, sizes, kernel, strides, pads, auto_pad, dilations)
    counts, width = [along.count for along in windows], channels // groups * prod(kernel)
    columns = ops.reshape(_columns(ops, x, windows), (batch, groups, width, prod(counts)))
    made = ops.matmul(ops.reshape(weight, (groups, filters // groups, width)), columns)
    result = ops.reshape(made, (batch, filters, *counts))
    return result if bias is None else ops.add(result, ops.expand_dims(bias, tuple(range(1, len(sizes) + 1))))


for _suffix, _ in _SUFFIXES:
    composed("conv" + _suffix)(partial(_conv, "conv" + _suffix))


def _conv_transpose(
    name: str, ops: Ops, x: Array, weight: Array, bias: Array | None, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    output_padding: EngineSizes, output_shape: EngineSizes, dilations: EngineSizes, groups: EngineSize, layout: str,
) -> Array:  # fmt: skip
    """Multiply the filters with each element, and add up the products at their places."""
    given = (bias, strides, pads, auto_pad, output_padding, output_shape, dilations, groups)
    if layout == "channels_last":
        image, filters = ops.moveaxis(x, (-1,), (1,)), ops.moveaxis(weight, (-1, -2), (0, 1))
        return ops.moveaxis(getattr(ops, name)(image, filters, *given), (1,), (-1,))
    (batch, inputs, *sizes), (_, each, *kernel), windows = x.shape, weight.shape, []
    spreads = [spread(v, len(sizes), d) for v, d in ((strides, 1), (pads, (0, 0)), (dilations, 1), (output_padding, 0))]
    for i, (n, k, s, p, d, more) in enumerate(zip(sizes, kernel, *spreads, strict=True)):
        own = Windows(extent(k, d), s, p[0], p[1], auto_pad.startswith("same"))
        made = transposed_size(ops.sizes, n, own, more, i) if output_shape is None else output_shape[i]
        windows.append(Along(ops, made, k, s, p, auto_pad, d, count=n))
    turned = ops.matrix_transpose(ops.reshape(weight, (groups, inputs // groups, each * prod(kernel))))
    columns = ops.matmul(turned, ops.reshape(x, (batch, groups, inputs // groups, prod(sizes))))
    result = _folded(ops, ops.reshape(columns, (batch, each * groups, *kernel, *sizes)), windows)
    return result if bias is None else ops.add(result, ops.expand_dims(bias, tuple(range(1, len(sizes) + 1))))


for _suffix, _ in _SUFFIXES:
    composed("conv_transpose" + _suffix)(partial(_conv_transpose, "conv_transpose" + _suffix))


@composed("unfold")
def unfold(
    ops: Ops, x: Array, kernel_shape: EngineSizes, strides: EngineSizes, pads: EngineSizes, dilations: EngineSizes
) -> Array:
    batch, channels, *sizes = x.shape
    windows = _each(ops, sizes, kernel_shape, strides, pads, "notset", dilations)
    reach = prod(spread(kernel_shape, len(sizes), 1))
    return ops.reshape(_columns(ops, x, windows), (batch, channels * reach, prod(along.count for along in windows)))


@composed("fold")
def fold(
    ops: Ops,
    x: Array,
    output_shape: EngineSizes,
    kernel_shape: EngineSizes,
    strides: EngineSizes,
    pads: EngineSizes,
    dilations: EngineSizes,
) -> Array:
    count = max(len(output_shape), len(kernel_shape))
    kernel, sizes = spread(kernel_shape, count, 1), spread(output_shape, count, 1)
    windows = _each(ops, sizes, kernel, strides, pads, "notset", dilations)
    batch, channels = x.shape[0], x.shape[1] // prod(kernel)
    made = ops.reshape(x, (batch, channels, *kernel, *(along.count for along in windows)))
    return _folded(ops, made, windows)


def _folded(ops: Ops, made: Array, windows: Sequence[Along]) -> Array:
    """Add up [n, c, *kernel, *counts] at the places of the kernel in [n, c, *sizes]."""
    for i, along in enumerate(windows):
        left, rank = len(windows) - i, len(made.shape)
        order = [a for a in range(rank) if a not in (2, 2 + left)]
        total = added(
            ops, ops.permute_dims(made, (*order, 2, 2 + left)), along.places, along.low + along.size + along.more
        )
        made = ops.slice(total, (along.low,), (along.low + along.size,), (-1,))
    return made


@composed("lrn")
def lrn(ops: Ops, x: Array, size: EngineSize, alpha: float, beta: float, bias: float, layout: str) -> Array:
    image = ops.moveaxis(x, (-1,), (1,)) if layout == "channels_last" else x
    before = (size - 1) // 2
    along = Along(ops, image.shape[1], size, 1, (before, size - 1 - before), "notset", 1)
    total = ops.sum(along.taken(ops, ops.square(image), 1, 0), (1,))
    share = ops.divide(alpha, ops.size_to_tensor(size, x.dtype))
    made = ops.divide(image, ops.pow(ops.add(ops.multiply(total, share), bias), beta))
    return ops.moveaxis(made, (1,), (-1,)) if layout == "channels_last" else made


# Sizes of images


@composed("upsample")
def upsample(ops: Ops, x: Array, scales: EngineSizes, mode: str, layout: str, align_corners: bool) -> Array:
    axes = spatial_axes(len(x.shape), len(x.shape) - 2, layout)
    factors = list(zip(axes, spread(scales, len(axes), 1), strict=True))
    if mode != "nearest":
        return ops.resize(x, [x.shape[a] * n for a, n in factors], mode, layout, align_corners)
    for axis, times in factors:
        x = ops.repeat(x, times, axis)
    return x


@composed("resize")
def resize(ops: Ops, x: Array, sizes: EngineSizes, mode: str, layout: str, align_corners: bool) -> Array:
    axes = spatial_axes(len(x.shape), len(x.shape) - 2, layout)
    for axis, size in reversed(list(zip(axes, spread(sizes, len(axes), 1), strict=True))):
        old = x.shape[axis]
        if mode == "nearest":
            at = ops.multiply(ops.arange(size), ops.size_to_tensor(old))
            x = ops.take(x, ops.floor_divide(at, ops.size_to_tensor(applied(max, (size, 1)))), axis)
        elif not are_same(size, old):
            x = _interpolated(ops, x, axis, size, mode, align_corners)
    return x


def _interpolated(ops: Ops, x: Array, axis: int, size: EngineSize, mode: str, align_corners: bool) -> Array:
    """A weighted sum of the elements around each new one; beyond the borders they are repeated."""
    wide, old, behind = ops.named("float64"), x.shape[axis], tuple(range(1, len(x.shape) - axis))
    at, (have, want) = ops.cast(ops.arange(size), wide), (ops.size_to_tensor(n, wide) for n in (old, size))
    if align_corners:
        at = ops.multiply(at, ops.divide(ops.subtract(have, 1), ops.maximum(ops.subtract(want, 1), 1)))
    else:
        at = ops.subtract(ops.multiply(ops.add(at, 0.5), ops.divide(have, ops.maximum(want, 1))), 0.5)
    last = ops.maximum(ops.subtract(have, 1), 0)
    if mode == "linear":
        at = ops.clip(at, 0.0, last)
    below = ops.floor(at)
    made: Array = 0
    for offset, share in (_linear if mode == "linear" else _cubic)(ops, ops.subtract(at, below)):
        place = ops.cast(ops.clip(ops.add(below, offset), 0.0, last), ops.named("int64"))
        weight = ops.expand_dims(ops.cast(share, x.dtype), behind) if behind else ops.cast(share, x.dtype)
        part = ops.multiply(ops.take(x, place, axis), weight)
        made = part if isinstance(made, int) else ops.add(made, part)
    return made


def _linear(ops: Ops, t: Array) -> Iterable[tuple[int, Array]]:
    return ((0, ops.subtract(1, t)), (1, t))


def _cubic(ops: Ops, t: Array) -> Iterable[tuple[int, Array]]:
    """Keys' kernel with a = -0.75."""

    def polynomial(d: Array, *factors: float) -> Array:
        made = ops.multiply(d, factors[0])
        for factor in factors[1:-1]:
            made = ops.multiply(ops.add(made, factor), d)
        return ops.add(made, factors[-1])

    near, far = (1.25, -2.25, 0.0, 1.0), (-0.75, 3.75, -6.0, 3.0)
    rest = ops.subtract(1, t)
    return (
        (-1, polynomial(ops.add(t, 1), *far)), (0, polynomial(t, *near)), (1, polynomial(rest, *near)),
        (2, polynomial(ops.add(rest, 1), *far)),
    )  # fmt: skip


# Signals


@composed("frame")
def frame(ops: Ops, x: Array, length: EngineSize, step: EngineSize) -> Array:
    count = (x.shape[-1] - length) // step + 1
    return ops.take(x, ops.matrix_transpose(places(ops, length, 1, count, step)), len(x.shape) - 1)


@composed("overlap_add")
def overlap_add(ops: Ops, x: Array, step: EngineSize) -> Array:
    count, length = x.shape[-2:]
    return added(ops, ops.matrix_transpose(x), places(ops, length, 1, count, step), (count - 1) * step + length)


@composed("stft")
def stft(ops: Ops, x: Array, length: EngineSize, step: EngineSize, window: Array | None, center: bool) -> Array:
    if not isinstance(length, int) or not prod(x.shape):
        raise Refused("these arguments")
    if center:
        x = ops.pad(x, [(length // 2, length // 2)], "reflect", axes=(len(x.shape) - 1,))
    frames = ops.frame(x, length, step)
    return ops.matrix_transpose(ops.rfft(frames if window is None else ops.multiply(frames, window)))


@composed("istft")
def istft(ops: Ops, x: Array, length: EngineSize, step: EngineSize, window: Array | None, center: bool) -> Array:
    frames, half, count = ops.irfft(ops.matrix_transpose(x), length), length // 2, x.shape[-1]
    weights = ops.ones((length,), frames.dtype) if window is None else window
    signal = ops.overlap_add(ops.multiply(frames, weights), step)
    squares = ops.overlap_add(ops.broadcast_to(ops.square(weights), (count, length)), step)
    signal = ops.divide(signal, ops.where(ops.greater(squares, 1e-11), squares, 1.0))
    return ops.slice(signal, (half,), (signal.shape[-1] - half,), (-1,)) if center else signal
