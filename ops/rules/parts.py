"""Primitives that put tensors together, cut them up, or move their elements about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NoReturn

from ...lang import codes
from ...lang.node import replace
from .. import arranged, ranges
from ..arranged import moved
from ..axes import (
    Shape,
    as_tuple,
    axis_of,
    is_plain,
    known_shape,
    larger,
    not_negative,
    number,
    place,
    places,
    put,
    same,
    shape_and_axis,
    smaller,
    total,
    with_new_axis,
    without,
)
from ..model import Ctx, Dim, Elements, Out, RankUnknown, ResultOpen, Segment, TensorInfo, Trait
from ..operands import attribute_at_least, choice, multiple, rank_at_least, ranked
from ..registry import primitive
from ..requirements import (
    Argument,
    AtLeast,
    AtMost,
    Axis,
    Is,
    Multiple,
    NotZero,
    Number,
    OfRank,
    Other,
    Pad,
    SizeEntry,
    Total,
)
from ..slices import SENTINEL, slice_length
from ..tracked import integers

# The greatest number of parts in a tuple.
MOST_PARTS = 8_192

# Joining


@primitive(
    "concat", "xs: tensors, axis: int = 0", "T:any... -> T", onnx=("Concat",), mismatch=codes.E308, traits=[Trait.JOINS]
)
def concat(ctx: Ctx, xs: tuple[TensorInfo, ...], axis: int) -> Out:
    """Tensors joined along one axis, whose sizes are added; all other sizes are equal.

    At least one tensor, all of the same rank, which is at least 1. Array API `concat`, ONNX Concat.
    """
    shapes = _of_one_rank(ctx, xs)
    i = place(ctx, shapes[0], axis)
    common = shapes[0]
    for n, shape in enumerate(shapes[1:], 1):
        common = _agree(ctx, common, shape, n, i)
    joined = put(common, i, total(s[i] for s in shapes))
    return _together(ctx, [*zip(xs, shapes, strict=True)], i, joined)


def _together(ctx: Ctx, parts: list[tuple[TensorInfo, Shape]], axis: int, shape: Shape) -> Out:
    data = arranged.joined(parts, axis, shape)
    return Out(shape, data, ranges.joined(ctx, parts, axis) if data is None else ())


def _of_one_rank(ctx: Ctx, xs: tuple[TensorInfo, ...]) -> list[Shape]:
    """The shapes of tensors; requires at least one tensor, and one rank for all."""
    if not xs:
        ctx.fail(Other("at least one tensor in {0}", (Argument("xs"),), blamed=()))
    shapes = [known_shape(ctx, x) for x in xs]
    first = shapes[0]
    for n, shape in enumerate(shapes):
        if not is_plain(shape):
            if [d for d in shape if isinstance(d, Segment)] != [d for d in first if isinstance(d, Segment)]:
                raise RankUnknown
            if [isinstance(d, Segment) for d in shape] != [isinstance(d, Segment) for d in first]:
                raise RankUnknown
        elif not is_plain(first):
            raise RankUnknown
        elif len(shape) != len(first):
            given = (Argument("xs[0]"), Argument(f"xs[{n}]"))
            ranks = f"{{0}} has rank {len(first)} and {{1}} has rank {len(shape)}"
            ctx.fail(OfRank("tensors of one rank", given, ranks))
    return shapes


def _agree(ctx: Ctx, common: Shape, shape: Shape, n: int, skip: int | None) -> Shape:
    """Require tensor n to have the sizes of the first one, except for one axis; return the common sizes."""
    result = list(common)
    for i, (a, b) in enumerate(zip(common, shape, strict=True)):
        if i != skip and not isinstance(a, Segment):
            axis = number(shape, i)
            result[i] = same(ctx, Axis("xs[0]", axis, a), Axis(f"xs[{n}]", axis, b))
    return tuple(result)


@primitive("stack", "xs: tensors, axis: int = 0", "T:any... -> T", mismatch=codes.E308, traits=[Trait.NEW_AXIS])
def stack(ctx: Ctx, xs: tuple[TensorInfo, ...], axis: int) -> Out:
    """Tensors of one shape joined along a new axis, whose size is their number. At least one tensor. Array API
    `stack`.
    """
    shapes = _of_one_rank(ctx, xs)
    common = shapes[0]
    for n, shape in enumerate(shapes[1:], 1):
        common = _agree(ctx, common, shape, n, None)
    if not is_plain(common):
        opened = with_new_axis(common, (axis,))
        at = axis if axis >= 0 else len(opened) + axis
        return Out(put(opened, at, len(xs)))
    at = place(ctx, (*common, len(xs)), axis)
    stacked = (*common[:at], len(xs), *common[at:])
    return _together(ctx, [(x, put(stacked, at, 1)) for x in xs], at, stacked)


# Splitting


@primitive("unstack", "x: tensor, axis: int = 0", "T:any -> T...", results="tuple", selects="x")
def unstack(ctx: Ctx, x: TensorInfo, axis: int) -> list[Out]:
    """The slices of `x` along one axis, without that axis, as a tuple; its size is known when the program is checked.

    Array API `unstack`.
    """
    shape, i = shape_and_axis(ctx, x, axis)
    count = ctx.number(shape[i])
    if not isinstance(count, int):
        ctx.needs_literal(Other("the size of {0} to be a number: so many results it has", (axis_of("x", shape, i),)))
    rest = without(shape, i)
    slices = [_from(ctx, x, shape, put(shape, i, 1), i, n) for n in range(count)]
    return [Out(rest, part.data, ranges.refitted(part, part.shape, rest)) for part in slices]


@primitive(
    "split",
    "x: tensor, sections: size = none, sizes: sizes = none, indices: sizes = none, axis: int = 0, uneven: bool = false",
    "T:any -> T...",
    results="tuple",
    onnx=("Split",),
    needs={"sections": "exact", "sizes": "exact"},
    selects="x",
)
def split(
    ctx: Ctx,
    x: TensorInfo,
    sections: Dim | None,
    sizes: tuple[Dim, ...] | None,
    indices: tuple[Dim, ...] | None,
    axis: int,
    uneven: bool,
) -> list[Out]:
    """`x` cut along one axis into parts, a tuple. One of three parameters says how.

    `sections` equal parts, at most 8192: the size is a multiple of it; with `uneven` each part has ceildiv(size, sections)
    and the last one the rest, which is not negative (ONNX Split 18 with `num_outputs`). `sizes`: their sum is the size of the
    axis. `indices`: where the second part and each later one begins, clamped as slices are. `numpy.split`, ONNX Split.
    """
    shape, i = shape_and_axis(ctx, x, axis)
    if sum(way is not None for way in (sections, sizes, indices)) != 1:
        ctx.fail(Other("one of sections, sizes and indices"))
    if indices is not None:
        starts, stops = (0, *indices), (*indices, None)
        cuts = [(a, b) for a, b in zip(starts, stops, strict=True)]
        return [_cut(ctx, x, shape, i, a, b) for a, b in cuts]
    parts = _given_parts(ctx, shape, i, sizes) if sizes is not None else _parts(ctx, shape, i, sections, uneven)
    begins = accumulate(parts, initial=0)
    return [_from(ctx, x, shape, put(shape, i, size), i, begin) for begin, size in zip(begins, parts, strict=False)]


@primitive("part", "xs: tensors, position: int", "any... -> ...")
def part(ctx: Ctx, xs: tuple[TensorInfo, ...], position: int) -> Out:
    """One of several tensors, counted from 0, or from the end if negative: `t[0]` of a tuple that a primitive gives."""
    if not -len(xs) <= position < len(xs):
        ctx.fail(
            Other(f"{{0}} to have a part {position}", (Argument("xs"),), f"it has {len(xs)} part{'s' * (len(xs) != 1)}")
        )
    return Out(xs[position].shape, xs[position].data, xs[position].ranges, xs[position].dtype)


def _parts(ctx: Ctx, shape: Shape, i: int, sections: Dim | None, uneven: bool) -> tuple[Dim, ...]:
    count = None if sections is None else ctx.number(sections)
    if sections is None or not isinstance(count, int):
        _open_parts(ctx, shape, i, sections, uneven)
    for size in (sections, count):
        attribute_at_least(ctx, "sections", 1, size)
    if count > MOST_PARTS:
        ctx.fail(Other(f"sections to be at most {MOST_PARTS}", but=f"it is {count}"))
    if count == 1:
        return (shape[i],)
    own = axis_of("x", shape, i)
    if not uneven:
        ctx.require(Multiple(own, Number(count) if count is sections else Argument("sections", sections)))
        return (shape[i] // count,) * count
    part, last = _uneven(ctx, own, count, str(count))
    return (*(part,) * (count - 1), last)


def _open_parts(ctx: Ctx, shape: Shape, i: int, sections: Any, uneven: bool) -> NoReturn:
    """Require a number of parts that only the run knows to be valid; the number of results stays open."""
    own, given = axis_of("x", shape, i), Argument("sections", sections)
    ctx.require(AtLeast(given, 1))
    if uneven:
        _uneven(ctx, own, sections, "as many")
    else:
        ctx.require(Multiple(own, given))
    ctx.require(AtMost(given, Number(MOST_PARTS)))
    raise ResultOpen


def _uneven(ctx: Ctx, own: Axis, sections: Dim, count: str) -> tuple[Dim, Dim]:
    """The size of each part but the last one, and that of the last one."""
    part = ctx.ceildiv(own.size, sections)
    last: Dim = own.size - part * (sections - 1)
    enough = f"{{0}} to be large enough for {count} parts of which only the last is smaller"
    ctx.require(Other(enough, (own,)), ctx.le(0, last))
    return part, last


def _given_parts(ctx: Ctx, shape: Shape, i: int, sizes: tuple[Dim, ...]) -> tuple[Dim, ...]:
    for n, size in enumerate(sizes):
        not_negative(ctx, SizeEntry("sizes", n, size))
    ctx.require(Is(Total("sizes", total(sizes)), axis_of("x", shape, i)))
    return sizes


def _part(data: Elements, own: Shape, shape: Shape, i: int, start: Dim | None, step: Dim = 1) -> Out:
    """The entries along an axis from a start on."""
    if not isinstance(start, int) or not isinstance(step, int):
        return Out(shape)
    return Out(shape, moved(data, own, shape, lambda at: put(at, i, start + at[i] * step)))


def _from(ctx: Ctx, x: TensorInfo, own: Shape, shape: Shape, i: int, start: Dim) -> Out:
    return replace(_part(x.data, own, shape, i, start), ranges=ranges.cut(ctx, x, i, start, 1, shape))


def _cut(ctx: Ctx, x: TensorInfo, shape: Shape, i: int, start: Dim, stop: Dim | None) -> Out:
    end = SENTINEL if stop is None else stop
    after = put(shape, i, slice_length(ctx, shape[i], start, end, 1))
    return _part(x.data, shape, after, i, _first(shape[i], start, 1))


# Slices


@primitive(
    "slice",
    "x: tensor, starts: sizes, stops: sizes, axes: ints = none, steps: sizes = none, forward: bool = false",
    "T:any -> T",
    onnx=("Slice",),
    traits=[Trait.CUTS],
    selects="x",
)
def slice_(
    ctx: Ctx,
    x: TensorInfo,
    starts: tuple[Dim, ...],
    stops: tuple[Dim, ...],
    axes: tuple[int, ...] | None,
    steps: tuple[Dim, ...] | None,
    forward: bool = False,
) -> Out:
    """A part of `x` along some axes (the first ones if `axes` is left out): `x[start:stop:step]`.

    Python's rule: a negative bound counts from the end, then bounds are clamped to the axis, so no slice is out of
    range: for step 1 the size is max(0, min(stop, n) - min(start, n)), for others ceildiv of that by the step. A step
    may be negative, never 0; with `forward` it is at least 1, as in `x[::k]`.
    The stop 2**63 - 1 is the end; with a negative step -2**63 is the beginning, included.
    NumPy, ONNX Slice.
    """
    shape = known_shape(ctx, x)
    n = len(starts)
    axes = tuple(range(n)) if axes is None else axes
    steps = (1,) * n if steps is None else steps
    if not n == len(stops) == len(axes) == len(steps):
        ctx.fail(Other("as many entries in stops, axes and steps as in starts"))
    _check_steps(ctx, steps, forward)
    if is_plain(shape) and axes and len(shape) == 0:
        ctx.fail(OfRank("a tensor with at least one axis", (Argument("x"),), "the rank of {0} is 0", ()))
    out = Out(shape, x.data, x.ranges)
    for i, start, stop, step in zip(places(ctx, shape, axes, "axes"), starts, stops, steps, strict=True):
        after = put(out.shape, i, slice_length(ctx, shape[i], start, stop, step))
        begin = _begin(ctx, shape[i], start, step) if out.ranges else None
        taken = ranges.cut(ctx, out, i, begin, step, after)
        out = replace(_part(out.data, out.shape, after, i, _first(shape[i], start, step), step), ranges=taken)
    return out


def _check_steps(ctx: Ctx, steps: tuple[Dim, ...], forward: bool) -> None:
    for i, step in enumerate(steps):
        if forward:
            ctx.require(Other("steps that are at least 1", blamed=(("steps", i),)), ctx.le(1, step))
        elif isinstance(step, int) and step == 0:
            ctx.fail(Other("steps that are not 0"))
        elif not isinstance(step, int):
            ctx.require(NotZero(SizeEntry("steps", i, step)))


def _first(size: Dim, start: Dim, step: Dim) -> int | None:
    """The first position of a slice, if it is a number; the axis of a call that never runs may be negative."""
    if isinstance(size, int) and size >= 0 and isinstance(start, int) and isinstance(step, int):
        return slice(start, None, step).indices(size)[0]
    return None


def _begin(ctx: Ctx, size: Dim, start: Dim, step: Dim) -> Dim | None:
    """The first position of a slice that is not empty; None if a needed sign is unknown."""
    ahead, from_start = ctx.decide(ctx.le(1, step)), ctx.decide(ctx.le(0, start))
    if ahead is None or from_start is None:
        return None
    if ahead:
        return start if from_start else larger(ctx, start + size, 0)
    return smaller(ctx, start, size - 1) if from_start else start + size


# Borders, order and triangles


@primitive(
    "pad",
    'x: tensor, pads: pairs, mode: str = "constant", value: tensor = none, axes: ints = none',
    "T:any, T -> T",
    onnx=("Pad",),
    needs={"pads": "exact"},
)
def pad(
    ctx: Ctx,
    x: TensorInfo,
    pads: tuple[tuple[Dim, Dim], ...],
    mode: str,
    value: TensorInfo | None,
    axes: tuple[int, ...] | None,
) -> Shape:
    """`pads[i]` more elements before and after axis i, or along `axes[i]`: each size grows by both.

    No pad is negative (a slice removes elements). `mode` is constant (with `value`, else 0), edge, reflect, or wrap.
    `reflect` mirrors without repeating the border: each pad is smaller than its axis. `edge` and `wrap` need an axis
    that is not empty where they pad. `numpy.pad`, ONNX Pad.
    """
    shape = known_shape(ctx, x) if axes is not None else ctx.dims(x)
    choice(ctx, "mode", mode, ("constant", "edge", "reflect", "wrap"))
    padded = padded_axes(ctx, shape, pads, axes)
    if value is not None and ctx.rank(value) != 0:
        ctx.fail(Other("{0} to be a scalar", (Argument("value"),)))
    result = list(shape)
    for i, pair in zip(padded, pads, strict=True):
        for n, side in enumerate(pair):
            not_negative(ctx, Pad(number(shape, i), bool(n), side, "axis"))
            _room(ctx, shape[i], side, mode, number(shape, i))
        result[i] = total((pair[0], shape[i], pair[1]))
    return tuple(result)


def padded_axes(
    ctx: Ctx, shape: Shape, pads: tuple[tuple[Dim, Dim], ...], axes: tuple[int, ...] | None
) -> Sequence[int]:
    """The place of the axis of each pair in `pads`; requires a pair for each axis, or for each of `axes`."""
    if axes is not None and len(pads) != len(axes):
        asked = Other(
            "a pair in {0} for each of `axes`", (Argument("pads"),), f"they are {len(pads)} and {len(axes)}", ()
        )
        ctx.fail(asked)
    if axes is None and len(pads) != len(shape):
        given, each = (Argument("pads"), Argument("x")), f"a pair in {{0}} for each of the {len(shape)} axes of {{1}}"
        ctx.fail(Other(each, given, f"it has {len(pads)}", ()))
    return range(len(pads)) if axes is None else places(ctx, shape, axes, "axes")


@primitive("pad_to_match", "x: tensor, y: tensor", "T:any, U:any -> T")
def pad_to_match(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Shape:
    """`x` with zeros added at the end of each axis that is shorter than that of `y`; the others stay as they are. Both have
    the same rank; only the shape of `y` is read."""
    dims, other = ctx.dims(x), ctx.dims(y)
    if len(dims) != len(other):
        given, ranks = (Argument("x"), Argument("y")), f"{{0}} has rank {len(dims)} and {{1}} has rank {len(other)}"
        ctx.fail(OfRank("tensors of one rank", given, ranks))
    return tuple(larger(ctx, a, b) for a, b in zip(dims, other, strict=True))


def _room(ctx: Ctx, size: Dim, pad: Dim, mode: str, axis: int) -> None:
    """Require the axis to be large enough for a mode that repeats the tensor's own elements."""
    if mode == "constant" or (isinstance(pad, int) and pad == 0):
        return
    enough = ctx.lt(pad, size) if mode == "reflect" else ctx.le(1, size)
    wanted = "smaller than the axis" if mode == "reflect" else "0 where the axis is empty"
    asked = Other(f"the pads of axis {axis} to be {wanted}", blamed=(("x", axis), ("pads", axis)))
    ctx.require(asked, ctx.any_of(ctx.eq(pad, 0), enough))


@primitive("flip", "x: tensor, axis: ints = none", "T:any -> T", traits=[Trait.WHOLE], selects="x")
def flip(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None) -> Out:
    """The order of elements reversed along the given axes, or along all. Array API `flip`."""
    shape = known_shape(ctx, x)
    turned = range(len(shape)) if axis is None else places(ctx, shape, as_tuple(axis), "axis")
    return Out(
        shape, moved(x.data, shape, shape, lambda at: [d - 1 - n if i in turned else n for i, n, d in _axes(at, shape)])
    )


def _axes(index: Sequence[int], shape: Shape) -> Iterator[tuple[int, int, Any]]:
    """The axes with the positions along them and their sizes."""
    return zip(range(len(shape)), index, shape, strict=True)


@primitive("roll", "x: tensor, shift: sizes, axis: ints = none", "T:any -> T", traits=[Trait.WHOLE], selects="x")
def roll(ctx: Ctx, x: TensorInfo, shift: Shape, axis: tuple[int, ...] | None) -> Out:
    """Elements moved by `shift` places along an axis; those that leave one end come back at the other; without `axis` in
    row-major order over the whole tensor.

    Along several axes there is a shift for each, or one for all; those of an axis that is named twice are added. Array API
    `roll`."""
    shape = known_shape(ctx, x)
    count = 1 if axis is None else len(axis)
    if len(shift) not in (1, count):
        each = "one shift without `axis`" if axis is None else f"a shift for each of the {count} axes, or one for all"
        ctx.fail(Other(each, (), f"they are {len(shift)}", (("shift", None),)))
    axes = () if axis is None else tuple(place(ctx, shape, a) for a in axis)
    if integers(shift) is None or x.data is None:
        return Out(shape)
    if axis is None:
        turned = -shift[0] % max(len(x.data), 1)
        return Out(shape, x.data[turned:] + x.data[:turned])
    steps: Counter[int] = Counter()
    for i, step in zip(axes, shift * count if len(shift) == 1 else shift, strict=True):
        steps[i] += step
    return Out(shape, moved(x.data, shape, shape, lambda at: [(n - steps[i]) % d for i, n, d in _axes(at, shape)]))


@primitive("tril", "x: tensor, k: size = 0", "T:any -> T")
def tril(ctx: Ctx, x: TensorInfo, k: Dim) -> Shape:
    """The lower triangle of the last two axes, 0 above diagonal `k`. The rank is at least 2. Array API `tril`, ONNX
    Trilu.
    """
    return _triangle(ctx, x)


@primitive("triu", "x: tensor, k: size = 0", "T:any -> T")
def triu(ctx: Ctx, x: TensorInfo, k: Dim) -> Shape:
    """The upper triangle of the last two axes, 0 below diagonal `k`. The rank is at least 2. Array API `triu`, ONNX
    Trilu.
    """
    return _triangle(ctx, x)


def _triangle(ctx: Ctx, x: TensorInfo) -> Shape:
    shape = known_shape(ctx, x)
    rank_at_least(ctx, "x", shape, 2)
    if not is_plain(shape):
        place(ctx, shape, -2)
    return shape


# Blocks of pixels


@primitive("depth_to_space", "x: tensor, block: size", "T:any -> T", onnx=("DepthToSpace",))
def depth_to_space(ctx: Ctx, x: TensorInfo, block: Dim) -> Shape:
    """Channels moved into blocks of pixels: `[n, c, h, w]` becomes `[n, c // block ** 2, h * block, w * block]`.

    The channels are a multiple of `block ** 2`. ONNX DepthToSpace, mode DCR.
    """
    n, c, h, w = _image(ctx, x, block)
    multiple(ctx, Axis("x", 1, c), block * block, "the square of {1}", "block", block)
    return (n, c // (block * block), h * block, w * block)


@primitive("space_to_depth", "x: tensor, block: size", "T:any -> T", onnx=("SpaceToDepth",))
def space_to_depth(ctx: Ctx, x: TensorInfo, block: Dim) -> Shape:
    """Blocks of pixels moved into channels: `[n, c, h, w]` becomes `[n, c * block ** 2, h // block, w // block]`.

    Height and width are multiples of `block`. ONNX SpaceToDepth.
    """
    n, c, h, w = _image(ctx, x, block)
    for axis, size in ((2, h), (3, w)):
        multiple(ctx, Axis("x", axis, size), block, "{1}", "block", block)
    return (n, c * (block * block), h // block, w // block)


def _image(ctx: Ctx, x: TensorInfo, block: Dim) -> Shape:
    attribute_at_least(ctx, "block", 1, block)
    return ranked(ctx, "x", x, 4, "[batch, channels, height, width]")
