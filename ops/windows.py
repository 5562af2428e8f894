"""The number of sliding windows along an axis, as convolution and pooling define it, over sizes that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lang.node import Node
from ..sizes.partial import applied
from .axes import Shape, larger, not_negative, smaller
from .model import Ctx, Dim, TensorInfo, Trait
from .operands import attribute_at_least, choice, is_one, rank_at_least
from .requirements import At, AtLeast, AtMost, Axis, Other, Pad, Plus, Requirement, SizeEntry, WrittenSize

LAYOUTS = ("channels_first", "channels_last")
AUTO_PADS = ("notset", "same_upper", "same_lower", "valid")
WINDOWS = frozenset((Trait.WINDOWS,))
Ints = tuple[int, ...]
Pairs = tuple[tuple[Any, Any], ...]


class Windows(Node):
    """The windows along one spatial axis: their extent (dilation included), and their layout on the axis.

    `low` and `high` are the padding. `same` means that the padding keeps ceil(n / stride) windows. With `ceil` a last window
    that only begins in the axis counts. With `filled` an axis without elements has no window, however large the padding is.
    """

    extent: Dim
    stride: Dim
    low: Dim = 0
    high: Dim = 0
    same: bool = False
    ceil: bool = False
    filled: bool = False


# Attributes


def spatial_axes(rank: int, count: int, layout: str) -> tuple[int, ...]:
    """The spatial axes of an image with or without a batch axis."""
    end = rank - 1 if layout == "channels_last" else rank
    return tuple(range(end - count, end))


def spatial_count(kernel_shape: Sequence[Any], rank: int) -> int:
    """The number of spatial axes of a kernel: one entry holds for all axes but the batch and the channels."""
    return len(kernel_shape) if len(kernel_shape) > 1 else rank - 2


def spread(given: Sequence[object] | None, count: int, default: object) -> tuple[Any, ...]:
    """Exactly `count` entries: the default if none is given, a single one repeated."""
    if given is None:
        return (default,) * count
    return tuple(given) * count if len(given) == 1 else tuple(given)


def per_axis(ctx: Ctx, name: str, given: Sequence[object] | None, count: int, default: object = 1) -> tuple[Any, ...]:
    """An entry for each spatial axis; a single one holds for all of them."""
    entries = spread(given, count, default)
    if len(entries) != count:
        each = f"an entry in {name} for each of the {count} spatial axes, or one for all"
        ctx.fail(Other(each, but=f"it has {len(entries)}"))
    return entries


def image(ctx: Ctx, x: TensorInfo, layout: str, least: int = 3) -> tuple[Shape, int, tuple[int, ...]]:
    """The dimensions of `[n, c, *s]`, or of `[n, *s, c]`, the axis of its channels, and the spatial axes."""
    choice(ctx, "layout", layout, LAYOUTS)
    dims = ctx.dims(x)
    rank_at_least(ctx, "x", dims, least)
    rank = len(dims)
    return dims, rank - 1 if layout == "channels_last" else 1, spatial_axes(rank, rank - 2, layout)


def with_sizes(ctx: Ctx, dims: Shape, axes: Ints, name: str, given: Shape) -> Shape:
    """The dimensions with the spatial sizes of `given`, which have to be 0 on an axis without elements."""
    result = list(dims)
    for i, (axis, size) in enumerate(zip(axes, per_axis(ctx, name, given, len(axes)), strict=True)):
        not_negative(ctx, SizeEntry(name, i, size))
        some = ctx.any_of(ctx.le(1, dims[axis]), ctx.eq(size, 0))
        ctx.require(AtLeast(Axis("x", axis, dims[axis]), 1, also=((name, i),)), some)
        result[axis] = size
    return tuple(result)


def spatial_sizes(
    ctx: Ctx, name: str, given: Shape | None, count: int, default: int = 1, least: int = 1
) -> tuple[Any, ...]:
    """Strides, dilations or kernel sizes: an entry for each spatial axis, of at least 1."""
    entries = per_axis(ctx, name, given, count, default)
    written = given or ()
    for i, entry in enumerate(written):
        attribute_at_least(ctx, name, least, entry, i if len(written) > 1 else None)
    return entries


def spatial_pads(ctx: Ctx, given: Pairs | None, auto_pad: str, count: int) -> Pairs:
    """The padding of each spatial axis as written, at least 0; no pads may be given if `auto_pad` determines them."""
    choice(ctx, "auto_pad", auto_pad, AUTO_PADS)
    if given is not None and auto_pad != "notset":
        ctx.fail(Other(f'no pads where auto_pad is "{auto_pad}"'))
    pads = per_axis(ctx, "pads", given, count, (0, 0))
    for i, pair in enumerate(pads):
        for n, pad in enumerate(pair):
            not_negative(ctx, Pad(i, bool(n), pad, "spatial axis"))
    return pads


def extent(size: Dim, dilation: Dim) -> Dim:
    """The reach of a kernel of that size: dilation * (size - 1) + 1."""
    return size if is_one(dilation) else (size - 1) * dilation + 1


def same_pads(size: Any, reach: Any, stride: Any, auto_pad: str) -> tuple[Any, Any]:
    """The padding that keeps ceil(size / stride) windows; an odd one is larger behind (same_upper) or in front
    (same_lower)."""
    count = -(-size // stride)
    total = applied(max, ((count - 1) * stride + reach - size, 0))
    less, more = total // 2, total - total // 2
    return (less, more) if auto_pad == "same_upper" else (more, less)


# Sizes


def count_windows(ctx: Ctx, size: Dim, windows: Windows, axis: int, at: At) -> Dim:
    """The number of windows of an axis: floor((size + low + high - extent) / stride) + 1, or ceil(size / stride) for `same`.

    The extent is at most the padded size, else the call is refused; but where that formula gives exactly 0 for an axis
    without elements, there are 0 windows. With `ceil` the quotient is rounded up, and the last window begins in the axis
    or in the padding before it.
    """
    stride = windows.stride
    if windows.same:
        return size if is_one(stride) else ctx.ceildiv(size, stride)
    need = windows.extent - windows.low - windows.high
    if windows.ceil:
        # The fewer of ceil(..) + 1 windows and those that begin before the padding at the end.
        beyond = smaller(ctx, windows.high - windows.extent + stride, 0)
        shift = windows.low + (stride - 1) + beyond
        need = need - (stride - 1)
    else:
        shift = stride - need
    if windows.filled:
        need = larger(ctx, need, 1)
    _require_room(ctx, size, need, shift, windows, axis, at)
    count = size + shift
    return count if is_one(stride) else count // stride


def _require_room(ctx: Ctx, size: Dim, need: Dim, shift: Dim, windows: Windows, axis: int, at: At) -> None:
    """Require the axis to have a window, or neither elements nor windows."""
    stride = windows.stride
    if isinstance(need, int) and isinstance(shift, int) and isinstance(stride, int):
        vanishes: Any = 0 <= shift < stride
        if need <= (1 if vanishes else 0):
            return
        cond = ctx.any_of(ctx.eq(size, 0), ctx.le(need, size)) if vanishes else ctx.le(need, size)
    else:
        vanishes = ctx.all_of(ctx.eq(size, 0), ctx.le(0, shift), ctx.lt(shift, stride))
        cond = ctx.any_of(ctx.le(need, size), vanishes)
    ctx.require(_room(size, need, windows, axis, at[:1] if isinstance(need, int) else at), cond)


def _room(size: Dim, need: Dim, windows: Windows, axis: int, at: At) -> Requirement:
    pads, own = windows.low + windows.high, Axis("x", axis, size)
    if not isinstance(need, int) or not isinstance(windows.extent, int) or not isinstance(pads, int):
        if isinstance(pads, int) and pads == 0:
            return Other("{0} to be at least the extent of the kernel", (own,), blamed=at)
        return AtMost(
            WrittenSize("the extent of the kernel", windows.extent), Plus(own, WrittenSize("its padding", pads))
        )
    padding = f" with {pads} of padding" if pads else ""
    return AtLeast(own, need, f"for a kernel of extent {windows.extent}{padding}")


def transposed_size(ctx: Ctx, size: Dim, windows: Windows, more: Dim, axis: int) -> Dim:
    """The size of a transposed convolution's result: (size - 1) * stride + extent - low - high + more.

    It is at least 1, as `size` is; but where the formula gives exactly 0 for an axis without elements, it is 0.
    """
    if windows.same:
        return size * windows.stride
    shift = windows.extent - windows.low - windows.high + more - windows.stride
    result = size * windows.stride + shift
    if isinstance(shift, int) and isinstance(windows.stride, int):
        need = max(1, -((shift - 1) // windows.stride))
        if shift != 0:
            ctx.require(AtLeast(Axis("x", axis, size), need))
        return result
    made = ctx.all_of(ctx.le(1, size), ctx.le(1, result))
    nothing = ctx.all_of(ctx.eq(size, 0), ctx.eq(shift, 0))
    asked = Other("{0} to be large enough for its padding", (Axis("x", axis, size),))
    ctx.require(asked, ctx.any_of(made, nothing))
    return result
