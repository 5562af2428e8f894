"""Primitives that change a tensor's shape or rearrange its elements without computing with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..axes import (
    Shape,
    is_plain,
    known,
    not_negative,
    number,
    place,
    places,
    product,
    put,
    same,
    total,
    without,
)
from ..model import WILDCARD, Ctx, Dim, Out, RankUnknown, Segment, TensorInfo
from ..operands import choice, rank_at_least, ranked
from ..registry import primitive
from ..slices import SENTINEL, slice_length

# Elements are tracked (shapes as data) only in tensors of about a shape's length.
TRACKED = 64


# Reshape


@primitive("reshape", "x: tensor, shape: target", "T:any -> T", onnx=("Reshape",), needs={"shape": "exact"})
def reshape(ctx: Ctx, x: TensorInfo, shape: Shape) -> Out:
    """The same elements, in row-major order, in another shape.

    `reshape(x, [d1, ..., dn])` has shape `[d1, ..., dn]`. The element counts are equal: the products of both shapes.
    One size may be a literal -1 and is solved: sizes that both shapes have cancel (so `[n, d]` to `[-1, d]` gives n,
    also for d = 0); what is left of the others is at least 1 and divides what is left of `x`. Other negative sizes are
    refused. Array API `reshape`, ONNX Reshape (which writes a 0 for "as it was": here a 0 is the size 0).
    """
    source = known(ctx, x)
    wild = [i for i, d in enumerate(shape) if d is WILDCARD]
    if len(wild) > 1:
        ctx.fail("at most one -1 in `shape`", tuple(("shape", i) for i in wild))
    for i, d in enumerate(shape):
        if i not in wild and not isinstance(d, Segment):
            _new_size(ctx, d, i)
    if wild:
        others = without(shape, wild[0])
        solved = put(shape, wild[0], _solve(ctx, source, others))
    else:
        ctx.require(
            ctx.eq(*_counts(ctx, source, shape)),
            "as many elements in `shape` as `x` has",
            tuple(("x", number(source, i)) for i, d in enumerate(source) if not isinstance(d, Segment)),
        )
        solved = shape
    return Out(solved, _same_elements(x.data, solved))


def _new_size(ctx: Ctx, size: Dim, axis: int) -> None:
    what = f"size {axis} of `shape`"
    if isinstance(size, int) and size == -1:
        ctx.fail(f"{what} to be at least 0 (only a -1 that is written in the call is solved)", (("shape", axis),))
    not_negative(ctx, size, what, (("shape", axis),))


def _solve(ctx: Ctx, source: Shape, others: Shape) -> Dim:
    """The size that a -1 stands for beside the others."""
    left, rest = cancel(ctx, source, others)
    count = _count(ctx, left)
    divisor = _count(ctx, rest)
    if isinstance(divisor, int) and divisor == 1:
        return count
    empty = _zeros_that_may_cancel(ctx, left, rest)
    ctx.require(ctx.any_of(ctx.le(1, divisor), *empty), "the sizes beside the -1 in `shape` to be at least 1")
    if isinstance(divisor, int) and divisor < 1:
        return ctx.factor(count, divisor) if empty else 0
    exact = not empty or ctx.decide(ctx.le(1, divisor)) is True
    whole = divisor if exact else ctx.max(divisor, 1)
    ctx.require(
        ctx.any_of(ctx.eq(count % whole, 0), *empty),
        "the elements of `x` to divide evenly into the sizes beside the -1 in `shape`",
        tuple(("x", number(source, i)) for i, d in enumerate(source) if not isinstance(d, Segment)),
    )
    return count // divisor if exact else ctx.factor(count, divisor)


def _zeros_that_may_cancel(ctx: Ctx, left: Shape, rest: Shape) -> list[Any]:
    """The conditions under which a 0 beside the -1 is struck out after all, with a 0 that `x` happens to have."""
    pairs = [(size, other) for size in rest for other in left]
    zeros = [tuple(ctx.eq(0, d) for d in pair if not isinstance(d, Segment)) for pair in pairs]
    possible = [z for z in zeros if ctx.decide(ctx.all_of(*z)) is not False]
    if len(rest) == 1 and is_plain(left + rest):
        return [ctx.all_of(*z) for z in possible]
    # Beside others, which have to fit as well: that is for the run to say.
    return [ctx.all_of(*z, ctx.eq(0, ctx.fresh("left"))) for z in possible]


def cancel(ctx: Ctx, source: Shape, others: Shape) -> tuple[Shape, Shape]:
    """What is left of two lists of factors when equal ones are struck out in pairs; a 1 is nobody's partner."""
    left = list(source)
    rest = []
    for other in others:
        if isinstance(other, int) and other == 1:
            continue
        partner = next((i for i, d in enumerate(left) if _is_same(ctx, d, other)), None)
        if partner is None:
            rest.append(other)
        else:
            left.pop(partner)
    return tuple(left), tuple(rest)


def _is_same(ctx: Ctx, a: Any, b: Any) -> bool:
    if isinstance(a, Segment) or isinstance(b, Segment):
        return isinstance(a, Segment) and isinstance(b, Segment) and a.symbol == b.symbol
    return ctx.decide(ctx.eq(a, b)) is True


def _counts(ctx: Ctx, a: Shape, b: Shape) -> tuple[Dim, Dim]:
    """The element counts of two shapes; a Segment that both have counts the same in both."""
    counts: list[tuple[Any, Dim]] = []

    def factor(part: Any) -> Dim:
        if not isinstance(part, Segment):
            return part
        for symbol, size in counts:
            if symbol == part.symbol:
                return size
        counts.append((part.symbol, ctx.fresh("elements")))
        return counts[-1][1]

    return product([factor(d) for d in a]), product([factor(d) for d in b])


def _count(ctx: Ctx, shape: Shape) -> Dim:
    return _counts(ctx, shape, ())[0]


def _same_elements(data: Any, shape: Shape) -> Any:
    """The tracked elements of a tensor after its shape changed to another of the same elements."""
    if data is None or not is_plain(shape) or len(shape) > 1:
        return None
    flat = data if isinstance(data, tuple) else (data,)
    if not shape:
        return flat[0] if len(flat) == 1 else None
    return flat if isinstance(shape[0], int) and shape[0] == len(flat) else None


@primitive("flatten", "x: tensor, start: int = 0, end: int = -1", "T:any -> T", onnx=("Flatten",))
def flatten(ctx: Ctx, x: TensorInfo, start: int, end: int) -> Out:
    """The axes `start` to `end` (both included) as one; all of them if nothing else is said. A rank-0 tensor becomes
    `[1]`.

    `flatten([b, h, w, c], start=1)` is `[b, h * w * c]`: the merged size is the product, in row-major order. `start`
    may not come after `end`. PyTorch's `flatten`; ONNX Flatten is two of these.
    """
    shape = known(ctx, x)
    if not is_plain(shape) and start == 0 and end == -1:
        return Out((_count(ctx, shape),))
    if not shape and start in (0, -1) and end in (0, -1):
        return Out((1,), _same_elements(x.data, (1,)))
    first, last = place(ctx, shape, start, "start"), place(ctx, shape, end, "end")
    if first > last:
        ctx.fail(f"start to come before end, but they are axes {number(shape, first)} and {number(shape, last)}")
    return Out((*shape[:first], _count(ctx, shape[first : last + 1]), *shape[last + 1 :]), x.data)


# Order of axes


@primitive("permute_dims", "x: tensor, axes: ints = none", "T:any -> T", onnx=("Transpose",))
def permute_dims(ctx: Ctx, x: TensorInfo, axes: tuple[int, ...] | None) -> Shape:
    """The axes in another order: axis i of the result is axis `axes[i]` of `x`; reversed if `axes` is left out.

    `axes` names each axis once. Array API `permute_dims`, ONNX Transpose.
    """
    dims = ctx.dims(x)
    if axes is None:
        return dims[::-1]
    if len(axes) != len(dims):
        ctx.fail(f"axes to name each of the {len(dims)} axes of `x` once, but it has {len(axes)} entries")
    return tuple(dims[i] for i in places(ctx, dims, axes, "axes"))


@primitive("swapaxes", "x: tensor, axis1: int, axis2: int", "T:any -> T")
def swapaxes(ctx: Ctx, x: TensorInfo, axis1: int, axis2: int) -> Shape:
    """Two axes swapped. NumPy's `swapaxes`."""
    shape = list(known(ctx, x))
    i, j = place(ctx, tuple(shape), axis1, "axis1"), place(ctx, tuple(shape), axis2, "axis2")
    shape[i], shape[j] = shape[j], shape[i]
    return tuple(shape)


@primitive("moveaxis", "x: tensor, source: ints, destination: ints", "T:any -> T")
def moveaxis(ctx: Ctx, x: TensorInfo, source: tuple[int, ...], destination: tuple[int, ...]) -> Shape:
    """Axes moved from `source` to `destination`; the others keep their order. Array API `moveaxis`."""
    dims = ctx.dims(x)
    if len(source) != len(destination):
        ctx.fail(f"as many axes in destination as in source, but they have {len(destination)} and {len(source)}")
    return tuple(dims[i] for i in _move(ctx, dims, source, destination))


def _move(ctx: Ctx, dims: Shape, source: Sequence[int], destination: Sequence[int]) -> list[int]:
    origins, targets = places(ctx, dims, source, "source"), places(ctx, dims, destination, "destination")
    order = [i for i in range(len(dims)) if i not in origins]
    for target, origin in sorted(zip(targets, origins, strict=True)):
        order.insert(target, origin)
    return order


# Axes of size 1


@primitive("expand_dims", "x: tensor, axis: ints = 0", "T:any -> T", onnx=("Unsqueeze",))
def expand_dims(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...]) -> Out:
    """New axes of size 1, at the given places of the result.

    `expand_dims([n, d], axis=0)` is `[1, n, d]`, with `axis=-1` it is `[n, d, 1]`. Array API `expand_dims`, ONNX
    Unsqueeze.
    """
    axes = _tuple(axis)
    shape = known(ctx, x)
    if not is_plain(shape):
        return Out(_expand_open(shape, axes))
    rank = len(shape) + len(axes)
    result: list[Dim] = [None] * rank
    if rank:
        for i in places(ctx, tuple(result), axes, "axis"):
            result[i] = 1
    rest = iter(shape)
    solved = tuple(1 if d == 1 else next(rest) for d in result)
    return Out(solved, _same_elements(x.data, solved))


def _tuple(axes: int | tuple[int, ...]) -> tuple[int, ...]:
    return (axes,) if isinstance(axes, int) else axes


def _expand_open(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """One new axis in a shape with unknown parts: known where it is counted from a known side."""
    if not axes:
        return shape
    if len(axes) > 1:
        raise RankUnknown
    at = axes[0] if axes[0] >= 0 else len(shape) + 1 + axes[0]
    passed = shape[:at] if axes[0] >= 0 else shape[max(at, 0) :]
    if not 0 <= at <= len(shape) or not is_plain(passed):
        raise RankUnknown
    return (*shape[:at], 1, *shape[at:])


@primitive("squeeze", "x: tensor, axis: ints = none", "T:any -> T", onnx=("Squeeze",))
def squeeze(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None) -> Out:
    """Axes of size 1 removed: those of `axis`, each of which is required to have size 1.

    Without `axis` every axis of size 1 goes, so the rank depends on the sizes: it is known only where each size is
    known to be 1 or known not to be. Array API `squeeze` (whose `axis` is not optional), ONNX Squeeze.
    """
    shape = known(ctx, x)
    if axis is None:
        gone = tuple(i for i, d in enumerate(ctx.dims(x)) if _is_one(ctx, d))
    else:
        gone = places(ctx, shape, _tuple(axis), "axis")
        for i in gone:
            at = number(shape, i)
            ctx.require(ctx.eq(shape[i], 1), f"axis {at} of `x` to be 1", (("x", at),))
    solved = tuple(d for i, d in enumerate(shape) if i not in gone)
    return Out(solved, _same_elements(x.data, solved))


def _is_one(ctx: Ctx, size: Dim) -> bool:
    answer = ctx.decide(ctx.eq(size, 1))
    if answer is None:
        raise RankUnknown
    return answer


# Repetition


@primitive("broadcast_to", "x: tensor, shape: shape", "T:any -> T", onnx=("Expand",), needs={"shape": "exact"})
def broadcast_to(ctx: Ctx, x: TensorInfo, shape: Shape) -> Out:
    """`x` repeated along axes of size 1, and along new leading axes, to have exactly `shape`.

    Axes are aligned from the last; each axis of `x` is 1 or equals the size in `shape`. Array API `broadcast_to`; ONNX
    Expand (which also lets the target have a 1 where `x` has another size: that is refused here).
    """
    source = known(ctx, x)
    for j, d in enumerate(shape):
        if not isinstance(d, Segment):
            not_negative(ctx, d, f"axis {j} of `shape`", (("shape", j),))
    for back in range(1, len(source) + 1):
        d = source[-back]
        if isinstance(d, Segment):
            if source[:-back] == shape[:-back] and back <= len(shape) and _is_same(ctx, d, shape[-back]):
                break
            raise RankUnknown
        if back > len(shape):
            ctx.fail(f"a `shape` of rank {len(source)} or more, the rank of `x`, but it has {len(shape)}")
        if isinstance(shape[-back], Segment):
            raise RankUnknown
        i, j = number(source, len(source) - back), number(shape, len(shape) - back)
        ctx.require(
            ctx.any_of(ctx.eq(d, shape[-back]), ctx.eq(d, 1)),
            f"axis {i} of `x` to be 1 or equal to axis {j} of `shape`",
            (("x", i), ("shape", j)),
        )
    return Out(shape, _spread(x.data, shape))


def _spread(data: Any, shape: Shape) -> Any:
    if data is None or not is_plain(shape) or len(shape) > 1:
        return None
    if not shape:
        return data
    flat = data if isinstance(data, tuple) else (data,)
    if not isinstance(shape[0], int) or not 0 <= shape[0] <= TRACKED:
        return None
    return flat * shape[0] if len(flat) == 1 else flat


@primitive("tile", "x: tensor, repeats: sizes", "T:any -> T", onnx=("Tile",), needs={"repeats": "exact"})
def tile(ctx: Ctx, x: TensorInfo, repeats: tuple[Dim, ...]) -> Out:
    """`x` laid out `repeats[i]` times along axis i: each size is multiplied.

    The shorter of the shape of `x` and `repeats` is filled with 1 on the left, as in NumPy. No repeat is negative.
    Array API `tile`, ONNX Tile.
    """
    dims = ctx.dims(x)
    for i, r in enumerate(repeats):
        not_negative(ctx, r, f"entry {i} of `repeats`", (("repeats", i),))
    rank = max(len(dims), len(repeats))
    wide = (1,) * (rank - len(dims)) + dims
    times = (1,) * (rank - len(repeats)) + tuple(repeats)
    shape = tuple(product((d, r)) for d, r in zip(wide, times, strict=True))
    return Out(shape, _tiled(x.data, times, shape))


def _tiled(data: Any, times: Shape, shape: Shape) -> Any:
    if len(shape) > 1 or data is None:
        return None
    if not shape:
        return data
    flat = data if isinstance(data, tuple) else (data,)
    return flat * times[0] if isinstance(times[0], int) and 0 <= len(flat) * times[0] <= TRACKED else None


@primitive("repeat", "x: tensor, repeats: size, axis: int = none", "T:any -> T", needs={"repeats": "exact"})
def repeat(ctx: Ctx, x: TensorInfo, repeats: Dim, axis: int | None) -> Shape:
    """Each element `repeats` times in a row along `axis`, whose size is multiplied; without `axis` the tensor is
    flattened.

    `repeats` is not negative. Array API `repeat` with one number.
    """
    not_negative(ctx, repeats, "`repeats`", (("repeats", None),))
    shape = known(ctx, x)
    if axis is None:
        return (product((_count(ctx, shape), repeats)),)
    i = place(ctx, shape, axis)
    return put(shape, i, product((shape[i], repeats)))


# Joining and splitting


@primitive("concat", "xs: tensors, axis: int = 0", "T:any... -> T", onnx=("Concat",))
def concat(ctx: Ctx, xs: tuple[TensorInfo, ...], axis: int) -> Out:
    """Tensors joined along one axis, whose sizes are added; all other sizes are equal.

    At least one tensor, all of the same rank, which is at least 1. Array API `concat`, ONNX Concat.
    """
    if not xs:
        ctx.fail("at least one tensor in `xs`")
    shapes = [known(ctx, x) for x in xs]
    _same_rank(ctx, shapes)
    i = place(ctx, shapes[0], axis)
    common = shapes[0]
    for n, shape in enumerate(shapes[1:], 1):
        common = _agree(ctx, common, shape, n, i)
    joined = put(common, i, total(s[i] for s in shapes))
    return Out(joined, _joined([x.data for x in xs]) if len(joined) == 1 else None)


def _same_rank(ctx: Ctx, shapes: list[Shape]) -> None:
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
            at = (("xs[0]", None), (f"xs[{n}]", None))
            ctx.fail(f"tensors of one rank, but `xs[0]` has rank {len(first)} and `xs[{n}]` has rank {len(shape)}", at)


def _agree(ctx: Ctx, common: Shape, shape: Shape, n: int, skip: int | None) -> Shape:
    """Require tensor n to have the sizes of the first one, but for one axis."""
    result = list(common)
    for i, (a, b) in enumerate(zip(common, shape, strict=True)):
        if i != skip and not isinstance(a, Segment):
            axis = number(shape, i)
            at = (("xs[0]", axis), (f"xs[{n}]", axis))
            result[i] = same(ctx, a, b, f"axis {axis} of `xs[0]` and `xs[{n}]` to be equal", at)
    return tuple(result)


def _joined(parts: list[Any]) -> Any:
    if not all(isinstance(p, tuple) for p in parts):
        return None
    elements = tuple(e for p in parts for e in p)
    return elements if len(elements) <= TRACKED else None


@primitive("stack", "xs: tensors, axis: int = 0", "T:any... -> T")
def stack(ctx: Ctx, xs: tuple[TensorInfo, ...], axis: int) -> Out:
    """Tensors of one shape joined along a new axis, whose size is their number. At least one tensor. Array API
    `stack`.
    """
    if not xs:
        ctx.fail("at least one tensor in `xs`")
    shapes = [known(ctx, x) for x in xs]
    _same_rank(ctx, shapes)
    common = shapes[0]
    for n, shape in enumerate(shapes[1:], 1):
        common = _agree(ctx, common, shape, n, None)
    if not is_plain(common):
        opened = _expand_open(common, (axis,))
        at = axis if axis >= 0 else len(opened) + axis
        return Out(put(opened, at, len(xs)))
    at = place(ctx, (*common, len(xs)), axis)
    data = tuple(x.data for x in xs) if not common and all(x.data is not None for x in xs) else None
    return Out((*common[:at], len(xs), *common[at:]), data)


@primitive("unstack", "x: tensor, axis: int = 0", "T:any -> T...", results="tuple")
def unstack(ctx: Ctx, x: TensorInfo, axis: int) -> list[Out]:
    """The slices of `x` along one axis, without that axis, as a tuple; its size is known when the program is checked.

    Array API `unstack`.
    """
    shape = known(ctx, x)
    i = place(ctx, shape, axis)
    if not isinstance(shape[i], int):
        at = number(shape, i)
        ctx.fail(f"the size of axis {at} of `x` to be a literal: it is the number of results", (("x", at),))
    data = x.data if isinstance(x.data, tuple) else (None,) * shape[i]
    return [Out(without(shape, i), d) for d in data]


@primitive(
    "split",
    "x: tensor, sections: int = none, sizes: sizes = none, indices: sizes = none, axis: int = 0, uneven: bool = false",
    "T:any -> T...",
    results="tuple",
    onnx=("Split",),
    needs={"sizes": "exact"},
)
def split(
    ctx: Ctx,
    x: TensorInfo,
    sections: int | None,
    sizes: tuple[Dim, ...] | None,
    indices: tuple[Dim, ...] | None,
    axis: int,
    uneven: bool,
) -> list[Out]:
    """`x` cut along one axis into parts, a tuple. One of three says how.

    `sections` equal parts: the size is a multiple of it; with `uneven` each part has ceildiv(size, sections) and the
    last one what is left, which is not negative (ONNX Split 18 with `num_outputs`). `sizes`: their sum is the size of
    the axis. `indices`: where the second part and each later one begins, clamped as slices are. `numpy.split`, ONNX
    Split.
    """
    shape = known(ctx, x)
    i = place(ctx, shape, axis)
    if sum(way is not None for way in (sections, sizes, indices)) != 1:
        ctx.fail("one of sections, sizes and indices")
    if indices is not None:
        starts, stops = (0, *indices), (*indices, None)
        cuts = [(a, b) for a, b in zip(starts, stops, strict=True)]
        return [_cut(ctx, x, shape, i, a, b) for a, b in cuts]
    parts = _given_parts(ctx, shape, i, sizes) if sizes is not None else _parts(ctx, shape, i, sections or 0, uneven)
    return _cut_up(x.data, shape, i, parts)


def _parts(ctx: Ctx, shape: Shape, i: int, sections: int, uneven: bool) -> tuple[Dim, ...]:
    if sections < 1:
        ctx.fail(f"sections to be at least 1, but it is {sections}")
    if sections == 1:
        return (shape[i],)
    axis = number(shape, i)
    if not uneven:
        what = f"axis {axis} of `x` to be a multiple of {sections}"
        ctx.require(ctx.eq(shape[i] % sections, 0), what, (("x", axis),))
        return (shape[i] // sections,) * sections
    part = ctx.ceildiv(shape[i], sections)
    last = shape[i] - part * (sections - 1)
    what = f"axis {axis} of `x` to be large enough for {sections} parts of which only the last is smaller"
    ctx.require(ctx.le(0, last), what, (("x", axis),))
    return (*(part,) * (sections - 1), last)


def _given_parts(ctx: Ctx, shape: Shape, i: int, sizes: tuple[Dim, ...]) -> tuple[Dim, ...]:
    axis = number(shape, i)
    for n, size in enumerate(sizes):
        not_negative(ctx, size, f"entry {n} of `sizes`", (("sizes", n),))
    ctx.require(ctx.eq(total(sizes), shape[i]), f"the sum of `sizes` to be axis {axis} of `x`", (("x", axis),))
    return sizes


def _cut_up(data: Any, shape: Shape, i: int, parts: tuple[Dim, ...]) -> list[Out]:
    if data is None or not all(isinstance(p, int) for p in parts):
        return [Out(put(shape, i, p)) for p in parts]
    ends = [sum(parts[: n + 1]) for n in range(len(parts))]
    return [Out((p,), data[end - p : end]) for p, end in zip(parts, ends, strict=True)]


def _cut(ctx: Ctx, x: TensorInfo, shape: Shape, i: int, start: Dim, stop: Dim | None) -> Out:
    end = SENTINEL if stop is None else stop
    return Out(put(shape, i, slice_length(ctx, shape[i], start, end, 1)), _slice_data(x.data, start, end, 1))


# Slices


@primitive(
    "slice",
    "x: tensor, starts: sizes, stops: sizes, axes: ints = none, steps: ints = none",
    "T:any -> T",
    onnx=("Slice",),
)
def slice_(
    ctx: Ctx,
    x: TensorInfo,
    starts: tuple[Dim, ...],
    stops: tuple[Dim, ...],
    axes: tuple[int, ...] | None,
    steps: tuple[int, ...] | None,
) -> Out:
    """A part of `x` along some axes (the first ones if `axes` is left out): `x[start:stop:step]`.

    Python's rule: a negative bound counts from the end, then bounds are clamped to the axis, so no slice is out of
    range: for step 1 the size is max(0, min(stop, n) - min(start, n)), for others ceildiv of that by the step. A step
    may be negative, never 0. The stop 2**63 - 1 is the end; with a negative step -2**63 is the beginning, included.
    NumPy, ONNX Slice.
    """
    shape = known(ctx, x)
    n = len(starts)
    axes = tuple(range(n)) if axes is None else axes
    steps = (1,) * n if steps is None else steps
    if not n == len(stops) == len(axes) == len(steps):
        ctx.fail("as many entries in stops, axes and steps as in starts")
    if any(step == 0 for step in steps):
        ctx.fail("steps that are not 0")
    if is_plain(shape) and axes and len(shape) == 0:
        ctx.fail("a tensor with at least one axis, but the rank of `x` is 0")
    result = list(shape)
    data = x.data if len(shape) == 1 else None
    for i, start, stop, step in zip(places(ctx, shape, axes, "axes"), starts, stops, steps, strict=True):
        result[i] = slice_length(ctx, shape[i], start, stop, step)
        data = _slice_data(data, start, stop, step)
    return Out(tuple(result), data)


def _slice_data(data: Any, start: Dim, stop: Dim, step: int) -> Any:
    if not isinstance(data, tuple) or not isinstance(start, int) or not isinstance(stop, int):
        return None
    return data[start:stop:step]


# Borders, order and triangles


@primitive(
    "pad",
    'x: tensor, pads: pairs, mode: str = "constant", value: tensor = none',
    "T:any, T -> T",
    onnx=("Pad",),
    needs={"pads": "exact"},
)
def pad(ctx: Ctx, x: TensorInfo, pads: tuple[tuple[Dim, Dim], ...], mode: str, value: TensorInfo | None) -> Shape:
    """`pads[i]` more elements before and after axis i: each size grows by both.

    No pad is negative (a slice removes elements). `mode` is constant (with `value`, else 0), edge, reflect, or wrap.
    `reflect` mirrors without repeating the border: each pad is smaller than its axis. `edge` and `wrap` need an axis
    that is not empty where they pad. `numpy.pad`, ONNX Pad.
    """
    shape = ctx.dims(x)
    choice(ctx, "mode", mode, ("constant", "edge", "reflect", "wrap"))
    if len(pads) != len(shape):
        ctx.fail(f"a pair in `pads` for each of the {len(shape)} axes of `x`, but it has {len(pads)}")
    if value is not None and ctx.rank(value) != 0:
        ctx.fail("`value` to be a scalar", (("value", None),))
    for i, pair in enumerate(pads):
        for n, side in enumerate(pair):
            not_negative(ctx, side, f"the pad {'after' if n else 'before'} axis {i}", (("pads", i),))
            _room(ctx, shape[i], side, mode, i)
    return tuple(total((before, d, after)) for d, (before, after) in zip(shape, pads, strict=True))


def _room(ctx: Ctx, size: Dim, pad: Dim, mode: str, axis: int) -> None:
    """What a mode that repeats the tensor's own elements needs of an axis."""
    if mode == "constant" or (isinstance(pad, int) and pad == 0):
        return
    at = (("x", axis), ("pads", axis))
    enough = ctx.lt(pad, size) if mode == "reflect" else ctx.le(1, size)
    wanted = "smaller than the axis" if mode == "reflect" else "0 where the axis is empty"
    ctx.require(ctx.any_of(ctx.eq(pad, 0), enough), f"the pads of axis {axis} to be {wanted}", at)


@primitive("flip", "x: tensor, axis: ints = none", "T:any -> T")
def flip(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None) -> Out:
    """The order of elements reversed along the given axes, or along all. Array API `flip`."""
    shape = known(ctx, x)
    if axis is not None:
        places(ctx, shape, _tuple(axis), "axis")
    reverse = isinstance(x.data, tuple) and (axis is None or _tuple(axis) != ())
    return Out(shape, x.data[::-1] if reverse else x.data)


@primitive("roll", "x: tensor, shift: size, axis: int = none", "T:any -> T")
def roll(ctx: Ctx, x: TensorInfo, shift: Dim, axis: int | None) -> Shape:
    """Elements moved by `shift` places along an axis, those that fall off come back at the other end; without `axis` in
    row-major order over the whole tensor. Array API `roll`."""
    shape = known(ctx, x)
    if axis is not None:
        place(ctx, shape, axis)
    return shape


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
    shape = known(ctx, x)
    rank_at_least(ctx, "x", shape, 2)
    if not is_plain(shape):
        place(ctx, shape, -2)
    return shape


@primitive("depth_to_space", "x: tensor, block: int", "T:any -> T", onnx=("DepthToSpace",))
def depth_to_space(ctx: Ctx, x: TensorInfo, block: int) -> Shape:
    """Channels moved into blocks of pixels: `[n, c, h, w]` becomes `[n, c // block ** 2, h * block, w * block]`.

    The channels are a multiple of `block ** 2`. ONNX DepthToSpace, mode DCR.
    """
    n, c, h, w = _image(ctx, x, block)
    ctx.require(ctx.eq(c % (block * block), 0), f"axis 1 of `x` to be a multiple of {block * block}", (("x", 1),))
    return (n, c // (block * block), h * block, w * block)


@primitive("space_to_depth", "x: tensor, block: int", "T:any -> T", onnx=("SpaceToDepth",))
def space_to_depth(ctx: Ctx, x: TensorInfo, block: int) -> Shape:
    """Blocks of pixels moved into channels: `[n, c, h, w]` becomes `[n, c * block ** 2, h // block, w // block]`.

    Height and width are multiples of `block`. ONNX SpaceToDepth.
    """
    n, c, h, w = _image(ctx, x, block)
    for axis, size in ((2, h), (3, w)):
        ctx.require(ctx.eq(size % block, 0), f"axis {axis} of `x` to be a multiple of {block}", (("x", axis),))
    return (n, c * (block * block), h // block, w // block)


def _image(ctx: Ctx, x: TensorInfo, block: int) -> Shape:
    if block < 1:
        ctx.fail(f"block to be at least 1, but it is {block}")
    return ranked(ctx, "x", x, 4, "[batch, channels, height, width]")
