"""Primitives that choose elements by position, by value or by order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...lang.dtypes import DTYPES
from ...lang.node import replace
from ..arranged import along, flat, indices_of, laid_along, moved, spread
from ..axes import (
    Shape,
    axis_of,
    indices,
    is_plain,
    known_shape,
    not_negative,
    number,
    place,
    product,
    put,
    same,
    shape_and_axis,
    smaller,
)
from ..broadcast import broadcast
from ..model import Ctx, Dim, ElementRange, Elements, Out, RankUnknown, Segment, TensorInfo, Trait
from ..operands import choice, rank_at_least, ranked
from ..ranges import columns, entry, in_range
from ..registry import primitive
from ..requirements import (
    Argument,
    AtLeast,
    AtMost,
    Axis,
    DTypeIn,
    Equal,
    Is,
    Number,
    OfRank,
    Other,
    Plus,
    SizeEntry,
    in_range_for,
)
from ..tracked import count_of, integers
from ..tracking import half_up, ordered, stored

# Beyond this number of known positions only the extreme ones are checked.
_MANY = 64
_BOOL, _INT64 = DTYPES["bool"], DTYPES["int64"]


@primitive(
    "take",
    "x: tensor, indices: index, axis: int = none",
    "T:any, I:integer -> T",
    onnx=("Gather",),
    refuses="indices",
    selects="x",
)
def take(ctx: Ctx, x: TensorInfo, indices: TensorInfo | Dim, axis: int | None) -> Out:
    """The entries of one axis at the given positions: the shape of `indices` replaces the axis.

    `take([4, 10], [6, 2], axis=1)` is `[4, 6, 2]`; a Size as index drops the axis. An index i counts from the end if
    it is negative; -n <= i < n, checked on the values when it runs. `axis` may be left out where `x` has rank 1. Array
    API `take`, ONNX Gather.
    """
    shape = known_shape(ctx, x)
    i = _axis_of_vector(ctx, shape) if axis is None else place(ctx, shape, axis)
    chosen = known_shape(ctx, indices) if isinstance(indices, TensorInfo) else ()
    data = indices.data if isinstance(indices, TensorInfo) else (indices,)
    for index in _outermost(data or ()):
        _in_range(ctx, index, axis_of("x", shape, i))
    if isinstance(indices, TensorInfo) and (data is None or all(e is not None for e in data)):
        in_range(ctx, "indices", indices, axis_of("x", shape, i))
    if data is None and is_plain(chosen):  # the run found some index in range
        ctx.passed(ctx.any_of(ctx.le(1, shape[i]), ctx.eq(product(chosen), 0)))
    taken = put(shape, i, *chosen)
    elements = _taken(x, shape, data, chosen, taken, i)
    made = entry(ctx, x, i, data[0], taken) if x.ranges and not chosen and data and data[0] is not None else ()
    if made:
        return Out(taken, elements if taken or elements is not None else (made[0].first,), made)
    places = integers(data) if isinstance(shape[i], int) and shape[i] else None
    kept = () if not x.ranges or places is None else columns(x, i, [place % shape[i] for place in places])
    return Out(taken, elements, kept)


def _outermost(data: Sequence[Any]) -> Iterator[Dim]:
    """The positions, of many numbers only the extreme ones. The number that needs the longest axis comes first: where it is
    in range, all numbers are."""
    numbers = [e for e in data if type(e) is int]
    if len(numbers) > _MANY:
        numbers = [max(numbers), min(numbers)]
    yield from sorted(numbers, key=lambda i: max(i, ~i), reverse=True)
    yield from (e for e in data if e is not None and type(e) is not int)


def _axis_of_vector(ctx: Ctx, shape: Shape) -> int:
    if not is_plain(shape):
        raise RankUnknown
    if len(shape) != 1:
        of = (Argument("x"),)
        ctx.fail(OfRank("an axis: it may be left out for rank 1", of, f"the rank of {{0}} is {len(shape)}", ()))
    return 0


def _in_range(ctx: Ctx, index: Dim, axis: Axis) -> None:
    indices = Argument("indices")
    if isinstance(index, int):
        least = index + 1 if index >= 0 else -index
        ctx.require(AtLeast(axis, least, f"for the index {index}", (("indices", None),)))
    else:
        inside = ctx.all_of(ctx.le(0 - axis.size, index), ctx.lt(index, axis.size))
        ctx.require(in_range_for(indices, axis), inside)


def _taken(x: TensorInfo, own: Shape, data: Elements, chosen: Shape, shape: Shape, i: int) -> Elements:
    if x.data is None or data is None or not all(type(e) is int for e in data):
        return None
    if own[i] == 0 or count_of(chosen) is None:
        return None
    at, behind = flat(chosen), i + len(chosen)
    return moved(x.data, own, shape, lambda to: put(to[:i], i, data[at(to[i:behind])] % own[i], *to[behind:]))


@primitive(
    "take_along_axis",
    "x: tensor, indices: tensor, axis: int = -1",
    "T:any, I:integer -> T",
    refuses="indices",
    selects="x",
)
def take_along_axis(ctx: Ctx, x: TensorInfo, indices: TensorInfo, axis: int) -> Out:
    """The elements of `x` at the positions along one axis that `indices` gives for each position of the other axes.

    Equal ranks; the size of the axis is that of `indices`, the other axes are broadcast. -n <= index < n, checked on
    the values. Array API `take_along_axis`.
    """
    a, b = known_shape(ctx, x), known_shape(ctx, indices)
    _equal_rank(ctx, a, b, "indices")
    i, j = place(ctx, a, axis), place(ctx, b, axis)
    in_range(ctx, "indices", indices, axis_of("x", a, i))
    joined = broadcast(ctx, put(a, i, 1), put(b, j, 1), names=("x", "indices"))
    shape = put(joined, j, b[j])
    wide = put(shape, j, a[i]) if is_plain(a) and is_plain(b) else shape
    return Out(shape, _picked(spread(x.data, a, wide), wide, spread(indices.data, b, shape), shape, j))


def _picked(data: Elements, own: Shape, chosen: Elements, shape: Shape, i: int) -> Elements:
    """Elements at positions along one axis, which a tensor of the result's shape holds."""
    places = integers(chosen)
    if places is None or count_of(own) is None or not all(-own[i] <= n < own[i] for n in places):
        return None
    at = flat(shape)
    return moved(data, own, shape, lambda to: put(tuple(to), i, places[at(to)] % own[i]))


def _equal_rank(ctx: Ctx, a: Shape, b: Shape, name: str) -> None:
    if is_plain(a) and is_plain(b):
        if len(a) != len(b):
            given = (Argument(name), Argument("x"))
            phrase = f"{{0}} to have rank {len(a)}, the rank of {{1}}"
            ctx.fail(OfRank(phrase, given, f"it is {len(b)}", ((name, None),), len(a)))
    elif [isinstance(d, Segment) for d in a] != [isinstance(d, Segment) for d in b]:
        raise RankUnknown


@primitive(
    "gather_elements",
    "x: tensor, indices: tensor, axis: int = 0",
    "T:any, I:integer -> T",
    onnx=("GatherElements",),
    refuses="indices",
    selects="x",
)
def gather_elements(ctx: Ctx, x: TensorInfo, indices: TensorInfo, axis: int) -> Out:
    """The elements of `x` at the positions along one axis that `indices` gives for each of its own positions.

    Equal ranks; on the other axes `indices` is no larger than `x`, and nothing is broadcast. -n <= index < n, checked on
    the values. The result has the shape of `indices`. ONNX GatherElements, PyTorch's `gather`.
    """
    a, b = ctx.dims(x), ctx.dims(indices)
    i = place(ctx, a, axis)
    _within(ctx, a, b, i)
    in_range(ctx, "indices", indices, axis_of("x", a, i))
    return Out(b, _picked(x.data, a, indices.data, b, i))


def _within(ctx: Ctx, a: Shape, b: Shape, skip: int) -> None:
    """Require `indices` to have the rank of x and to be no larger, on all axes but one."""
    _equal_rank(ctx, a, b, "indices")
    for n, (size, most) in enumerate(zip(b, a, strict=True)):
        if n != skip:
            ctx.require(AtMost(Axis("indices", n, size), Axis("x", n, most)))


@primitive(
    "gather_nd",
    "x: tensor, indices: tensor, batch_dims: int = 0",
    "T:any, I:integer -> T",
    onnx=("GatherND",),
    refuses="indices",
    selects="x",
)
def gather_nd(ctx: Ctx, x: TensorInfo, indices: TensorInfo, batch_dims: int) -> Out:
    """The parts of `x` at the positions in the last axis of `indices`.

    With `indices : [*s, k]`, k a literal, the result is `[*s, ...]` with the axes of `x` after the first k. The first
    `batch_dims` axes of both correspond one to one and have equal sizes. ONNX GatherND.
    """
    a, b = ctx.dims(x), ctx.dims(indices)
    depth = _depth(ctx, a, b, batch_dims)
    batch = _batch(ctx, a, b, batch_dims, "indices")
    _columns_in_range(ctx, indices, b, [axis_of("x", a, batch_dims + n) for n in range(depth)])
    shape = (*batch, *b[batch_dims:-1], *a[batch_dims + depth :])
    return Out(shape, _at_positions(x.data, a, indices.data, b, batch_dims, shape))


def _at_positions(data: Elements, own: Shape, chosen: Elements, b: Shape, batch: int, shape: Shape) -> Elements:
    places, depth = integers(chosen), b[-1]
    if places is None or count_of(b) != len(places) or count_of(own) is None:
        return None
    sizes = own[batch : batch + depth]
    if not all(-sizes[n % depth] <= place < sizes[n % depth] for n, place in enumerate(places)):
        return None
    at = flat(b)

    def source(to: Sequence[int]) -> tuple[int, ...]:
        spelt = (places[at((*to[: len(b) - 1], n))] % size for n, size in enumerate(sizes))
        return (*to[:batch], *spelt, *to[len(b) - 1 :])

    return moved(data, own, shape, source)


def _columns_in_range(ctx: Ctx, indices: TensorInfo, shape: Shape, axes: Sequence[Axis]) -> None:
    """Require the last axis of `indices` to hold positions in range for the given axes."""
    for n, axis in enumerate(axes):
        data = None if indices.data is None else indices.data[n :: len(axes)]
        own = indices.ranges if len(axes) == 1 else columns(indices, len(shape) - 1, [n])
        in_range(ctx, "indices", replace(indices, data=data, ranges=own), axis)


def _depth(ctx: Ctx, a: Shape, b: Shape, batch: int) -> int:
    """The length of one position, which determines the rank of the result."""
    rank_at_least(ctx, "indices", b, 1)
    if not 0 <= batch < len(b) or batch > len(a):
        ctx.fail(Other(f"batch_dims to be between 0 and {min(len(b) - 1, len(a))}", but=f"it is {batch}"))
    depth, phrase = b[-1], f"positions of 1 to {len(a) - batch} axes in the last axis of {{0}}"
    if not isinstance(depth, int):
        asked = Other(phrase, (Argument("indices"),), blamed=(("indices", len(b) - 1),))
        ctx.require(asked, ctx.all_of(ctx.le(1, depth), ctx.le(depth, len(a) - batch)))
        raise RankUnknown
    if not 1 <= depth <= len(a) - batch:
        ctx.fail(Other(phrase, (Argument("indices"),), f"it has {depth}", (("indices", len(b) - 1),)))
    return depth


def _batch(ctx: Ctx, a: Shape, b: Shape, count: int, name: str) -> Shape:
    return tuple(same(ctx, Axis("x", i, a[i]), Axis(name, i, b[i])) for i in range(count))


@primitive(
    "scatter_nd",
    'x: tensor, indices: tensor, updates: tensor, reduction: str = "none"',
    "T:any, I:integer, T -> T",
    onnx=("ScatterND",),
    refuses="indices",
)
def scatter_nd(ctx: Ctx, x: TensorInfo, indices: TensorInfo, updates: TensorInfo, reduction: str) -> Shape:
    """A copy of `x` with the parts at the given positions replaced by `updates`, or combined with them.

    With `indices : [*s, k]`, `updates` is `[*s, ...]` with the axes of `x` after the first k. `reduction`
    is none (the last one wins), add, mul, max or min. Positions are in range, checked on the values. ONNX ScatterND.
    """
    check_reduction(ctx, x, reduction)
    a, b = ctx.dims(x), ctx.dims(indices)
    rank_at_least(ctx, "x", a, 1)
    if b and not isinstance(b[-1], int):  # the ranks determine the length of a position
        k, most = len(b) - 1 + len(a) - len(ctx.dims(updates)), len(b) + len(a) - 2
        if not 1 <= k <= len(a):
            phrase = f"{{0}} to have rank {len(b) - 1} to {most}"
            ctx.fail(OfRank(phrase, (Argument("updates"),), f"its rank is {len(ctx.dims(updates))}"))
        ctx.require(Is(Axis("indices", len(b) - 1, b[-1]), Number(k)))
        b = (*b[:-1], k)
    depth = _depth(ctx, a, b, 0)
    wanted = (*b[:-1], *a[depth:])
    u = ranked(ctx, "updates", updates, len(wanted))
    for n, (size, d) in enumerate(zip(wanted, u, strict=True)):
        name, axis = ("indices", n) if n < len(b) - 1 else ("x", n - len(b) + 1 + depth)
        ctx.require(Equal(Axis("updates", n, d), Axis(name, axis, size)))
    _columns_in_range(ctx, indices, b, [axis_of("x", a, n) for n in range(depth)])
    return a


_REDUCTIONS = {"none": "any", "add": "numeric", "mul": "numeric", "max": "real", "min": "real"}


def check_reduction(ctx: Ctx, x: TensorInfo, reduction: str) -> None:
    choice(ctx, "reduction", reduction, tuple(_REDUCTIONS))
    ctx.require_dtype(DTypeIn(Argument("x"), x.dtype, (_REDUCTIONS[reduction],), f'for reduction "{reduction}"'))


@primitive(
    "scatter_elements",
    'x: tensor, indices: tensor, updates: tensor, axis: int = 0, reduction: str = "none"',
    "T:any, I:integer, T -> T",
    onnx=("ScatterElements",),
    refuses="indices",
)
def scatter_elements(
    ctx: Ctx, x: TensorInfo, indices: TensorInfo, updates: TensorInfo, axis: int, reduction: str
) -> Shape:
    """A copy of `x` with each element of `updates` at the position along one axis that `indices` gives.

    `indices` and `updates` have one shape and the rank of `x`; on the other axes they are no larger than `x`.
    `reduction` is none, add, mul, max or min. ONNX ScatterElements.
    """
    check_reduction(ctx, x, reduction)
    a, b, u = ctx.dims(x), ctx.dims(indices), ctx.dims(updates)
    i = place(ctx, a, axis)
    _within(ctx, a, b, i)
    _equal_rank(ctx, a, u, "updates")
    for n, (size, d) in enumerate(zip(b, u, strict=True)):
        ctx.require(Equal(Axis("indices", n, size), Axis("updates", n, d)))
    in_range(ctx, "indices", indices, axis_of("x", a, i))
    return a


@primitive(
    "put", "x: tensor, indices: tensor, updates: tensor, axis: int = 0", "T:any, I:integer, T -> T", refuses="indices"
)
def put_(ctx: Ctx, x: TensorInfo, indices: TensorInfo, updates: TensorInfo, axis: int) -> Shape:
    """A copy of `x` with the entries of one axis at the given positions replaced: the entries that `take` reads.

    `indices : [k]`; `updates` has the shape of `x` with k at that axis. If a position occurs twice, the last one wins. -n <=
    index < n, checked on the values. PyTorch's `index_copy`.
    """
    a, u = known_shape(ctx, x), known_shape(ctx, updates)
    (count,) = ranked(ctx, "indices", indices, 1)
    i = place(ctx, a, axis)
    _equal_rank(ctx, a, u, "updates")
    for n, (size, d) in enumerate(zip(a, u, strict=True)):
        if isinstance(size, Segment) or isinstance(d, Segment):
            if size != d:
                raise RankUnknown
        else:
            wanted = Axis("indices", 0, count) if n == i else axis_of("x", a, n)
            ctx.require(Equal(Axis("updates", number(a, n), d), wanted))
    in_range(ctx, "indices", indices, axis_of("x", a, i))
    return a


@primitive("update_slice", "x: tensor, update: tensor, starts: sizes", "T:any, T -> T")
def update_slice(ctx: Ctx, x: TensorInfo, update: TensorInfo, starts: tuple[Dim, ...]) -> Shape:
    """A copy of `x` with the block that begins at `starts` replaced by `update`.

    Equal ranks, one start for each axis; the block lies inside: 0 <= start and start + (size of `update`) <= size of
    `x` (JAX's dynamic_update_slice moves the block instead).
    """
    a, u = ctx.dims(x), ctx.dims(update)
    _equal_rank(ctx, a, u, "update")
    if len(starts) != len(a):
        given, each = (Argument("x"), Argument("starts")), f"a start for each of the {len(a)} axes of {{0}}"
        ctx.fail(Other(each, given, f"{{1}} has {len(starts)}", (("starts", None),)))
    for i, (size, d, start) in enumerate(zip(a, u, starts, strict=True)):
        entry = SizeEntry("starts", i, start)
        not_negative(ctx, entry)
        ctx.require(AtMost(Plus(entry, Axis("update", i, d)), Axis("x", i, size)))
    return a


# By value


@primitive("nonzero", "x: tensor", "T:any -> int64...", results="tuple", onnx=("NonZero",), counts=("true", "x"))
def nonzero(ctx: Ctx, x: TensorInfo) -> list[Out]:
    """The positions of the elements that are not 0, `[k]` for each axis, in row-major order; the data decides k.

    The rank is at least 1. Array API `nonzero`; ONNX NonZero stacks the result.
    """
    dims: Shape = ctx.dims(x)
    rank_at_least(ctx, "x", dims, 1)
    truths = integers(None if x.data is None else tuple(stored(ctx, e, _BOOL) for e in x.data))
    if truths is not None and count_of(dims) == len(truths):
        places = [index for index, true in zip(indices_of(dims), truths, strict=True) if true]
        return [
            Out((len(places),), tuple(place[i] for place in places), (ElementRange(0, dim - 1),))
            for i, dim in enumerate(dims)
        ]
    k = ctx.fresh("k", 0, product(dims))
    return [Out((k,), None, (ElementRange(0, dim - 1),)) for dim in dims]


@primitive("unique_values", "x: tensor", "T:ordered -> T", selects="x", counts=("distinct", "x"))
def unique_values(ctx: Ctx, x: TensorInfo) -> Shape:
    """The distinct elements in ascending order, `[k]`; the data decides k, at most the number of elements.

    Every nan is distinct from the others. Array API `unique_values` (which leaves the order open).
    """
    return (ctx.fresh("k", 0, product(ctx.dims(x))),)


@primitive("searchsorted", 'x: tensor, values: tensor, side: str = "left"', "T:real, T -> int64")
def searchsorted(ctx: Ctx, x: TensorInfo, values: TensorInfo, side: str) -> Out:
    """The positions where the values would be inserted into the ascending `x : [n]` to keep it ascending; the shape of
    `values`.

    With side="left" before equal elements, with "right" after them: from 0 to n. Array API `searchsorted`.
    """
    choice(ctx, "side", side, ("left", "right"))
    (length,) = ranked(ctx, "x", x, 1)
    return indices(ctx, known_shape(ctx, values), length)


# By order


@primitive(
    "sort", "x: tensor, axis: int = -1, descending: bool = false", "T:ordered -> T", traits=[Trait.WHOLE], selects="x"
)
def sort(ctx: Ctx, x: TensorInfo, axis: int, descending: bool) -> Out:
    """The elements in order along one axis; NaN counts as the largest. Array API `sort`."""
    shape, i = shape_and_axis(ctx, x, axis)
    return Out(shape, _in_order(x.data, shape, i, descending, shape)[0])


def _in_order(data: Elements, own: Shape, i: int, descending: bool, shape: Shape) -> tuple[Elements, Elements]:
    """The first elements of each row in order, as many as the shape has, and their former positions."""
    rows = along(data, own, (i,)) or []
    orders = [_order(row, descending) for row in rows]
    if data is None or count_of(shape) is None or any(order is None for order in orders):
        return None, None
    found = [[row[n] for n in order or ()] for row, order in zip(rows, orders, strict=True)]
    return laid_along(found, i, shape), laid_along([order or [] for order in orders], i, shape)


def _order(row: Sequence[Any], descending: bool) -> list[int] | None:
    numbers = ordered(row)
    if numbers is None:
        return None
    return sorted(range(len(row)), key=lambda n: -numbers[n] if descending else numbers[n])


@primitive("argsort", "x: tensor, axis: int = -1, descending: bool = false", "T:ordered -> int64")
def argsort(ctx: Ctx, x: TensorInfo, axis: int, descending: bool) -> Out:
    """The positions that sort one axis; equal elements keep their order. NaN counts as the largest. Array API
    `argsort`.
    """
    shape, i = shape_and_axis(ctx, x, axis)
    return Out(shape, _in_order(x.data, shape, i, descending, shape)[1], (ElementRange(0, shape[i] - 1, True, True),))


@primitive(
    "topk",
    "x: tensor, k: size, axis: int = -1, largest: bool = true",
    "T:ordered -> T, int64",
    results="tuple",
    onnx=("TopK",),
    needs={"k": "exact"},
    selects="x",
)
def topk(ctx: Ctx, x: TensorInfo, k: Dim, axis: int, largest: bool) -> list[Out]:
    """The k largest (or smallest) elements of one axis in order, and their positions; equal ones keep their order.

    0 <= k <= n, the size of the axis, which becomes k. NaN counts as the largest. ONNX TopK, PyTorch's `topk`.
    """
    shape, i = shape_and_axis(ctx, x, axis)
    not_negative(ctx, Argument("k", k))
    ctx.require(AtMost(Argument("k", k), axis_of("x", shape, i)))
    chosen = put(shape, i, k)
    values, places = _in_order(x.data, shape, i, largest, chosen)
    return [
        Out(chosen, values),
        indices(ctx, chosen, shape[i] - 1) if places is None else Out(chosen, places, (ElementRange(0, shape[i] - 1),)),
    ]


@primitive(
    "truncate",
    "x: tensor, size: tensor, axis: int = 0",
    "T:any, S:{float32, float64, int64} -> T",
    traits=[Trait.CUTS],
    selects="x",
    counts=("rounded", "size"),
)
def truncate(ctx: Ctx, x: TensorInfo, size: TensorInfo, axis: int) -> Shape:
    """The first `size` entries of one axis; `size` is a scalar of the data, rounded (2.5 to 3) and clamped to the axis.

    The result's size is known exactly where `size` is (`@size_to_tensor(k)`); else the data decides it, at most the
    size of the axis. NaN and infinity are refused when it runs.
    """
    shape, i = shape_and_axis(ctx, x, axis)
    if ctx.rank(size) != 0:
        ctx.fail(OfRank("{0} to be a scalar", (Argument("size"),), f"its rank is {ctx.rank(size)}"))
    asked = None if size.data is None else stored(ctx, half_up(ctx, size.data[0]), _INT64)
    if asked is None:
        return put(shape, i, ctx.fresh("k", 0, shape[i]))
    asked = max(asked, 0) if isinstance(asked, int) else asked if ctx.decide(ctx.le(0, asked)) else ctx.max(asked, 0)
    return put(shape, i, smaller(ctx, asked, shape[i]))
