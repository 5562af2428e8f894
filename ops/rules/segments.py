"""Blocks of a tensor at positions in the data, read or written, and sums of entries by segment."""

from __future__ import annotations

from ..axes import Shape, axis_of, known_shape, not_negative, place, put, shape_and_axis
from ..model import Ctx, Dim, Primitive, RankUnknown, TensorInfo
from ..operands import rank_at_least, ranked
from ..registry import parse_params, primitive, register
from ..requirements import Argument, AtMost, Axis, Equal, Is, Number, Other, SizeEntry
from .index import check_reduction


def _segments(name: str, dtypes: str, what: str, elsewhere: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, ids: TensorInfo, count: Dim) -> Shape:
        shape = known_shape(ctx, x)
        i = place(ctx, shape, 0)
        (n,) = ranked(ctx, "ids", ids, 1)
        ctx.require(Equal(Axis("ids", 0, n), Axis("x", 0, shape[i])))
        not_negative(ctx, Argument("count", count))
        return (count, *shape[1:])

    doc = f"""{what} of the entries of axis 0 that belong to each segment: `x : [n, *s]` and `ids : [n]` give `[count, *s]`.

    Entry i belongs to segment `ids[i]`, from 0 to count - 1, checked on the values; the ids need not be in order.
    {elsewhere}"""
    params = parse_params("x: tensor, ids: tensor, count: size")
    register(Primitive(name, params, dtypes, rule, doc, needs={"count": "exact"}, refuses="ids"))


_segments(
    "segment_sum", "T:numeric, I:integer -> T", "The sum", "A segment without entries gives 0. JAX's `segment_sum`."
)
_segments(
    "segment_mean",
    "T:floating, I:integer -> T",
    "The mean",
    "A segment without entries gives 0. TensorFlow's `segment_mean`.",
)
_segments(
    "segment_max", "T:real, I:integer -> T", "The largest",
    "A segment without entries gives the least number of the dtype. JAX's `segment_max`.",
)  # fmt: skip
_segments(
    "segment_min", "T:real, I:integer -> T", "The smallest",
    "A segment without entries gives the greatest number of the dtype. JAX's `segment_min`.",
)  # fmt: skip


@primitive(
    "repeat_each",
    "x: tensor, counts: tensor, axis: int = 0, total: size = none",
    "T:any, integer -> T",
    needs={"total": "exact"},
    refuses="counts",
    selects="x",
    counts=("summed", "counts"),
)
def repeat_each(ctx: Ctx, x: TensorInfo, counts: TensorInfo, axis: int, total: Dim | None) -> Shape:
    """Entry i of `axis` repeated `counts[i]` times in a row: `x : [n, *s]` and `counts : [n]` give `[k, *s]`.

    k is the sum of the counts: `total` if it is given, else the data decides it. No count is negative, and the sum is
    `total`; both are checked on the values. Array API `repeat` with an array, PyTorch's `repeat_interleave` (`total` is its
    `output_size`).
    """
    shape, i = shape_and_axis(ctx, x, axis)
    (n,) = ranked(ctx, "counts", counts, 1)
    ctx.require(Equal(Axis("counts", 0, n), axis_of("x", shape, i)))
    if total is None:
        return put(shape, i, ctx.fresh("k", 0))
    not_negative(ctx, Argument("total", total))
    return put(shape, i, total)


def _kept(ctx: Ctx, rank: int, collapse: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a block that the result keeps."""
    for i, axis in enumerate(collapse):
        if not 0 <= axis < rank or axis in collapse[:i]:
            ctx.fail(Other(f"collapse to name axes from 0 to {rank - 1}, each once", but=f"it is {list(collapse)}"))
    return tuple(axis for axis in range(rank) if axis not in collapse)


def _starts(ctx: Ctx, a: Shape, starts: TensorInfo) -> Shape:
    """The shape of the starts without its last axis, which has a position for each of the first axes of x."""
    b = ctx.dims(starts)
    rank_at_least(ctx, "starts", b, 1)
    if not isinstance(b[-1], int):
        raise RankUnknown
    if b[-1] > len(a):
        phrase = f"positions of at most {len(a)} axes in the last axis of {{0}}"
        ctx.fail(Other(phrase, (Argument("starts"),), f"it has {b[-1]}", (("starts", len(b) - 1),)))
    return b[:-1]


@primitive(
    "gather_slices",
    "x: tensor, starts: tensor, sizes: sizes, collapse: ints = none",
    "T:any, I:integer -> T",
    needs={"sizes": "exact"},
    refuses="starts",
    selects="x",
)
def gather_slices(ctx: Ctx, x: TensorInfo, starts: TensorInfo, sizes: Shape, collapse: tuple[int, ...] | None) -> Shape:
    """The blocks of `sizes` that begin at given positions: `starts : [*s, k]` gives `[*s, *sizes]`.

    A position lies on the first k axes of x; blocks begin at 0 along the others. `sizes` has an entry for each axis of x,
    from 0 to its size. A block lies inside: 0 <= start and start + size <= the axis, checked on the values. Axes of
    `collapse` have size 1 and are left out of the result. JAX's `lax.gather` without clamping.
    """
    a = ctx.dims(x)
    lead = _starts(ctx, a, starts)
    if len(sizes) != len(a):
        ctx.fail(
            Other(f"a size for each of the {len(a)} axes of {{0}}", (Argument("x"),), f"there are {len(sizes)}", ())
        )
    for i, (size, most) in enumerate(zip(sizes, a, strict=True)):
        not_negative(ctx, SizeEntry("sizes", i, size))
        ctx.require(AtMost(SizeEntry("sizes", i, size), Axis("x", i, most)))
    for axis in collapse or ():
        _kept(ctx, len(a), collapse or ())
        ctx.require(Is(SizeEntry("sizes", axis, sizes[axis]), Number(1)))
    return (*lead, *(sizes[i] for i in _kept(ctx, len(a), collapse or ())))


@primitive(
    "scatter_slices",
    'x: tensor, starts: tensor, updates: tensor, collapse: ints = none, reduction: str = "none"',
    "T:any, I:integer, T -> T",
    refuses="starts",
)
def scatter_slices(
    ctx: Ctx,
    x: TensorInfo,
    starts: TensorInfo,
    updates: TensorInfo,
    collapse: tuple[int, ...] | None,
    reduction: str,
) -> Shape:
    """A copy of `x` with the blocks that begin at given positions replaced by `updates`, or combined with them.

    The inverse of `gather_slices` with the same `starts : [*s, k]` and `collapse`: `updates` is `[*s, ...]` with a
    size for each axis of x that is not in `collapse`, at most that of x. Blocks lie inside, checked on the values.
    `reduction` is none (the last one wins), add, mul, max or min. JAX's `lax.scatter`.
    """
    check_reduction(ctx, x, reduction)
    a = ctx.dims(x)
    lead = _starts(ctx, a, starts)
    kept = _kept(ctx, len(a), collapse or ())
    u = ranked(ctx, "updates", updates, len(lead) + len(kept))
    for i, size in enumerate(lead):
        ctx.require(Equal(Axis("starts", i, size), Axis("updates", i, u[i])))
    for n, axis in enumerate(kept, len(lead)):
        ctx.require(AtMost(Axis("updates", n, u[n]), Axis("x", axis, a[axis])))
    for axis in collapse or ():
        ctx.require(AtMost(Number(1), Axis("x", axis, a[axis])))
    return a
