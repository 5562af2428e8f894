"""Primitives that reshape, reorder or repeat the same elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...lang import codes
from .. import ranges
from ..arranged import moved, same_elements, spread
from ..axes import (
    Shape,
    as_tuple,
    axis_of,
    distinct,
    is_plain,
    known_shape,
    not_negative,
    number,
    place,
    places,
    product,
    put,
    with_new_axis,
    without,
)
from ..broadcast import broadcast
from ..model import WILDCARD, Ctx, Dim, Out, RankUnknown, ResultOpen, Segment, TensorInfo, Trait
from ..ranges import refitted
from ..registry import primitive
from ..requirements import (
    Argument,
    At,
    Axis,
    BroadcastTo,
    ElementsDivide,
    Is,
    Number,
    OfRank,
    Other,
    SameElements,
    SizeEntry,
)

# Reshape


@primitive(
    "reshape",
    "x: tensor, shape: target",
    "T:any -> T",
    onnx=("Reshape",),
    needs={"shape": "exact"},
    mismatch=codes.E307,
    traits=[Trait.RESHAPES, Trait.REGROUPS, Trait.WHOLE],
    selects="x",
)
def reshape(ctx: Ctx, x: TensorInfo, shape: Shape) -> Out:
    """The same elements, in row-major order, in another shape.

    `reshape(x, [d1, ..., dn])` has shape `[d1, ..., dn]`. The element counts are equal: the products of both shapes. One size
    may be a literal -1 and is solved: sizes that both shapes have cancel (so `[n, d]` to `[-1, d]` gives n, also for d = 0),
    `[b, t, h * k]` to `[b, -1, h, k]` gives t; if formulas do not give it, the product of the other new sizes that are left
    is at least 1 and divides that of the old sizes that are left. Other negative sizes are refused. Array API `reshape`, ONNX
    Reshape (where a 0 means the old size; here it is the size 0).
    """
    source = known_shape(ctx, x)
    wild = [i for i, d in enumerate(shape) if d is WILDCARD]
    if len(wild) > 1:
        at = tuple(("shape", i) for i in wild)
        ctx.fail(Other("at most one -1 in {0}", (Argument("shape"),), blamed=at))
    for i, d in enumerate(shape):
        if i not in wild and not isinstance(d, Segment):
            _new_size(ctx, d, i)
    if wild:
        others = without(shape, wild[0])
        solved = put(shape, wild[0], _solve(ctx, source, others))
    else:
        ctx.require(SameElements(_all_axes(source), (_count(ctx, source), _count(ctx, shape))))
        solved = shape
    return Out(solved, same_elements(x.data, solved), refitted(x, source, solved))


def _all_axes(source: Shape) -> At:
    return tuple(("x", number(source, i)) for i, d in enumerate(source) if not isinstance(d, Segment))


def _new_size(ctx: Ctx, size: Dim, axis: int) -> None:
    own = SizeEntry("shape", axis, size, "size")
    if isinstance(size, int) and size == -1:
        ctx.fail(Other("{0} to be at least 0 (only a -1 that is written in the call is solved)", (own,)))
    not_negative(ctx, own)


def _solve(ctx: Ctx, source: Shape, others: Shape) -> Dim:
    """The size that a -1 stands for beside the others."""
    left, rest = cancel(source, others, lambda a, b: _is_plainly_same(ctx, a, b))
    solution = ctx.solution(left, rest) if rest and is_plain(left + rest) else None
    if solution is not None:
        return solution
    left, rest = cancel(source, others, lambda a, b: _is_same(ctx, a, b))
    count = _count(ctx, left)
    divisor = _count(ctx, rest)
    if isinstance(divisor, int) and divisor == 1:
        return count
    empty = _zeros_that_may_cancel(ctx, left, rest)
    beside = Other("the sizes beside the -1 in {0} to be at least 1", (Argument("shape"),), blamed=())
    ctx.require(beside, ctx.any_of(ctx.le(1, divisor), *empty))
    if isinstance(divisor, int) and divisor < 1:
        return ctx.factor(count, divisor) if empty else 0
    exact = not empty or ctx.decide(ctx.le(1, divisor)) is True
    whole = divisor if exact else ctx.max(divisor, 1)
    ctx.require(ElementsDivide(_all_axes(source)), ctx.any_of(ctx.eq(count % whole, 0), *empty))
    return count // divisor if exact else ctx.factor(count, divisor)


def _zeros_that_may_cancel(ctx: Ctx, left: Shape, rest: Shape) -> list[Any]:
    """The conditions under which a 0 beside the -1 cancels with a 0 that `x` happens to have."""
    pairs = [(size, other) for size in rest for other in left]
    zeros = [tuple(ctx.eq(0, d) for d in pair if not isinstance(d, Segment)) for pair in pairs]
    possible = [z for z in zeros if ctx.decide(ctx.all_of(*z)) is not False]
    if len(rest) == 1 and is_plain(left + rest):
        return [ctx.all_of(*z) for z in possible]
    # Other sizes have to fit too: the run decides that.
    return [ctx.all_of(*z, ctx.eq(0, ctx.fresh("left"))) for z in possible]


def cancel(source: Shape, others: Shape, same: Callable[[Any, Any], bool]) -> tuple[Shape, Shape]:
    """The factors that are left in two lists after equal ones cancel in pairs; a 1 in the second list is dropped."""
    left = list(source)
    rest = []
    for other in others:
        if isinstance(other, int) and other == 1:
            continue
        partner = next((i for i, d in enumerate(left) if same(d, other)), None)
        if partner is None:
            rest.append(other)
        else:
            left.pop(partner)
    return tuple(left), tuple(rest)


def _is_plainly_same(ctx: Ctx, a: Any, b: Any) -> bool:
    return not isinstance(a, Segment) and not isinstance(b, Segment) and ctx.eq(a, b) is True


def _is_same(ctx: Ctx, a: Any, b: Any) -> bool:
    if isinstance(a, Segment) or isinstance(b, Segment):
        return isinstance(a, Segment) and isinstance(b, Segment) and a.symbol == b.symbol
    return ctx.decide(ctx.eq(a, b)) is True


def _count(ctx: Ctx, shape: Shape) -> Dim:
    """The element count of a shape; a Segment has the same count in all shapes."""
    return product(ctx.elements(d) if isinstance(d, Segment) else d for d in shape)


@primitive(
    "flatten",
    "x: tensor, start: int = 0, end: int = -1",
    "T:any -> T",
    onnx=("Flatten",),
    traits=[Trait.REGROUPS, Trait.WHOLE],
    selects="x",
)
def flatten(ctx: Ctx, x: TensorInfo, start: int, end: int) -> Out:
    """The axes `start` to `end` (both included) as one; all of them by default. A rank-0 tensor becomes `[1]`.

    `flatten([b, h, w, c], start=1)` is `[b, h * w * c]`: the merged size is the product, in row-major order. `start`
    may not come after `end`. PyTorch's `flatten`; ONNX Flatten is two of these.
    """
    shape = known_shape(ctx, x)
    if not is_plain(shape) and start == 0 and end == -1:
        return Out((_count(ctx, shape),))
    if not shape and start in (0, -1) and end in (0, -1):
        return Out((1,), same_elements(x.data, (1,)))
    first, last = place(ctx, shape, start, "start"), place(ctx, shape, end, "end")
    if first > last:
        but = f"they are axes {number(shape, first)} and {number(shape, last)}"
        ctx.fail(Other("start to come before end", but=but))
    merged = (*shape[:first], _count(ctx, shape[first : last + 1]), *shape[last + 1 :])
    return Out(merged, same_elements(x.data, merged), refitted(x, shape, merged))


# Order of axes


@primitive(
    "permute_dims",
    "x: tensor, axes: ints = none",
    "T:any -> T",
    onnx=("Transpose",),
    traits=[Trait.MOVES_AXES, Trait.WHOLE],
    selects="x",
)
def permute_dims(ctx: Ctx, x: TensorInfo, axes: tuple[int, ...] | None) -> Out:
    """The axes in another order: axis i of the result is axis `axes[i]` of `x`; reversed if `axes` is left out.

    `axes` names each axis once. Array API `permute_dims`, ONNX Transpose.
    """
    dims = ctx.dims(x)
    if axes is None:
        return _permuted(x, dims, range(len(dims))[::-1])
    if len(axes) != len(dims):
        each = f"axes to name each of the {len(dims)} axes of {{0}} once"
        ctx.fail(Other(each, (Argument("x"),), f"it has {len(axes)} entries", ()))
    return _permuted(x, dims, places(ctx, dims, axes, "axes"))


def _permuted(x: TensorInfo, dims: Shape, order: Sequence[int]) -> Out:
    """The result of a permutation, whose axis i is axis `order[i]`."""
    shape = tuple(dims[i] for i in order)
    data = moved(x.data, dims, shape, lambda index: [index[order.index(i)] for i in range(len(dims))])
    return Out(shape, data, ranges.permuted(x, order))


@primitive(
    "swapaxes", "x: tensor, axis1: int, axis2: int", "T:any -> T", traits=[Trait.MOVES_AXES, Trait.WHOLE], selects="x"
)
def swapaxes(ctx: Ctx, x: TensorInfo, axis1: int, axis2: int) -> Out:
    """Two axes swapped. NumPy's `swapaxes`."""
    shape = known_shape(ctx, x)
    i, j = place(ctx, shape, axis1, "axis1"), place(ctx, shape, axis2, "axis2")
    order = [*range(len(shape))]
    order[i], order[j] = j, i
    return _permuted(x, shape, order)


@primitive(
    "moveaxis",
    "x: tensor, source: ints, destination: ints",
    "T:any -> T",
    traits=[Trait.MOVES_AXES, Trait.WHOLE],
    selects="x",
)
def moveaxis(ctx: Ctx, x: TensorInfo, source: tuple[int, ...], destination: tuple[int, ...]) -> Out:
    """Axes moved from `source` to `destination`; the others keep their order. Array API `moveaxis`."""
    dims = known_shape(ctx, x)
    if len(source) != len(destination):
        but = f"they have {len(destination)} and {len(source)}"
        ctx.fail(OfRank("as many axes in destination as in source", but=but))
    return _permuted(x, dims, _move(ctx, dims, source, destination))


def _move(ctx: Ctx, dims: Shape, source: Sequence[int], destination: Sequence[int]) -> list[int]:
    """The order of the axes after a move; places count from the front or the end; across a Segment RankUnknown is raised."""
    origins = places(ctx, dims, source, "source")
    if is_plain(dims):
        destination = places(ctx, dims, destination, "destination")
    distinct(ctx, destination, destination, "destination")
    order = [i for i in range(len(dims)) if i not in origins]
    for target, origin in sorted(zip(destination, origins, strict=True), key=lambda m: (m[0] < 0, abs(m[0]))):
        at = target if target >= 0 else len(order) + 1 + target
        passed = order[:at] if target >= 0 else order[max(at, 0) :]
        if not 0 <= at <= len(order) or not is_plain(dims[i] for i in passed):
            raise RankUnknown
        order.insert(at, origin)
    return order


# Axes of size 1


@primitive(
    "expand_dims",
    "x: tensor, axis: ints = 0",
    "T:any -> T",
    onnx=("Unsqueeze",),
    traits=[Trait.RESHAPES, Trait.UNIT_AXES, Trait.NEW_AXIS, Trait.REGROUPS, Trait.WHOLE],
    selects="x",
)
def expand_dims(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...]) -> Out:
    """New axes of size 1, at the given places of the result.

    `expand_dims([n, d], axis=0)` is `[1, n, d]`, with `axis=-1` it is `[n, d, 1]`. Array API `expand_dims`, ONNX
    Unsqueeze.
    """
    axes = as_tuple(axis)
    shape = known_shape(ctx, x)
    if not is_plain(shape):
        return Out(with_new_axis(shape, axes))
    rank = len(shape) + len(axes)
    result: list[int | None] = [None] * rank
    if rank:
        for i in places(ctx, tuple(result), axes, "axis"):
            result[i] = 1
    rest = iter(shape)
    solved = tuple(1 if d == 1 else next(rest) for d in result)
    return Out(solved, same_elements(x.data, solved), refitted(x, shape, solved))


@primitive(
    "squeeze",
    "x: tensor, axis: ints = none",
    "T:any -> T",
    onnx=("Squeeze",),
    traits=[Trait.UNIT_AXES, Trait.REGROUPS, Trait.WHOLE],
    selects="x",
)
def squeeze(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None) -> Out:
    """Axes of size 1 removed: those of `axis`, each of which is required to have size 1.

    Without `axis` every axis of size 1 is removed, so the rank depends on the sizes: if Rx does not know which of them are 1,
    it checks the function case by case. Array API `squeeze` (whose `axis` is not optional), ONNX Squeeze.
    """
    shape = known_shape(ctx, x)
    if axis is None:
        gone = tuple(i for i, d in enumerate(shape) if _is_one(ctx, d))
    else:
        gone = places(ctx, shape, as_tuple(axis), "axis")
        for i in gone:
            ctx.require(Is(axis_of("x", shape, i), Number(1)))
    solved = tuple(d for i, d in enumerate(shape) if i not in gone)
    return Out(solved, same_elements(x.data, solved), refitted(x, shape, solved))


def _is_one(ctx: Ctx, part: Dim | Segment) -> bool:
    if isinstance(part, Segment):
        raise ResultOpen
    is_one = ctx.eq(part, 1)
    answer = ctx.decide(is_one)
    if answer is None:
        raise ResultOpen(is_one)
    return answer


# Repetition


@primitive(
    "broadcast_to",
    "x: tensor, shape: shape",
    "T:any -> T",
    onnx=("Expand",),
    needs={"shape": "exact"},
    traits=[Trait.RESHAPES, Trait.WHOLE],
    selects="x",
)
def broadcast_to(ctx: Ctx, x: TensorInfo, shape: Shape) -> Out:
    """`x` repeated along axes of size 1, and along new leading axes, to have exactly `shape`.

    Axes are aligned from the last; each axis of `x` is 1 or equals the size in `shape`. Array API `broadcast_to`; ONNX Expand
    (which also allows a 1 in the target where `x` has another size; that is refused here).
    """
    source = known_shape(ctx, x)
    for j, d in enumerate(shape):
        if not isinstance(d, Segment):
            not_negative(ctx, Axis("shape", j, d))
    broadcast_into(ctx, "x", source, "shape", shape)
    return Out(shape, spread(x.data, source, shape), ranges.spread(x, source, shape))


def broadcast_into(ctx: Ctx, name: str, source: Shape, into: str, shape: Shape) -> None:
    """Require the shape of `name` to broadcast to the shape of `into`, which stays unchanged."""
    for back in range(1, len(source) + 1):
        d = source[-back]
        if isinstance(d, Segment):
            if source[:-back] == shape[:-back] and back <= len(shape) and _is_same(ctx, d, shape[-back]):
                break
            raise RankUnknown
        if back > len(shape):
            given, phrase = (
                (Argument(into), Argument(name)),
                f"a {{0}} of rank {len(source)} or more, the rank of {{1}}",
            )
            ctx.fail(Other(phrase, given, f"it has {len(shape)}", ()))
        if isinstance(shape[-back], Segment):
            raise RankUnknown
        own, target = axis_of(name, source, len(source) - back), axis_of(into, shape, len(shape) - back)
        ctx.require(BroadcastTo(own, target))


@primitive("broadcast_arrays", "xs: tensors", "any... -> ...", results="tuple")
def broadcast_arrays(ctx: Ctx, xs: tuple[TensorInfo, ...]) -> list[Out]:
    """The tensors, each of its own dtype, all with the shape that they broadcast to together, as a tuple. At least one.
    Array API `broadcast_arrays`."""
    if not xs:
        ctx.fail(Other("at least one tensor in {0}", (Argument("xs"),), blamed=()))
    names = tuple(f"xs[{n}]" for n in range(len(xs)))
    shape = broadcast(ctx, *(known_shape(ctx, x) for x in xs), names=names)
    own = [known_shape(ctx, x) for x in xs]
    return [
        Out(shape, spread(x.data, s, shape), ranges.spread(x, s, shape), x.dtype) for x, s in zip(xs, own, strict=True)
    ]


@primitive(
    "tile",
    "x: tensor, repeats: sizes",
    "T:any -> T",
    onnx=("Tile",),
    needs={"repeats": "exact"},
    traits=[Trait.WHOLE],
    selects="x",
)
def tile(ctx: Ctx, x: TensorInfo, repeats: tuple[Dim, ...]) -> Out:
    """`x` laid out `repeats[i]` times along axis i: each size is multiplied.

    The shorter of the shape of `x` and `repeats` is filled with 1 on the left, as in NumPy. No repeat is negative.
    Array API `tile`, ONNX Tile.
    """
    dims: Shape = ctx.dims(x)
    for i, r in enumerate(repeats):
        not_negative(ctx, SizeEntry("repeats", i, r))
    rank = max(len(dims), len(repeats))
    wide = (1,) * (rank - len(dims)) + dims
    times = (1,) * (rank - len(repeats)) + tuple(repeats)
    shape = tuple(product((d, r)) for d, r in zip(wide, times, strict=True))
    begin = rank - len(dims)
    return Out(shape, moved(x.data, dims, shape, lambda at: [i % d for i, d in zip(at[begin:], dims, strict=True)]))


@primitive(
    "repeat",
    "x: tensor, repeats: size, axis: int = none",
    "T:any -> T",
    needs={"repeats": "exact"},
    traits=[Trait.WHOLE],
    selects="x",
)
def repeat(ctx: Ctx, x: TensorInfo, repeats: Any, axis: int | None) -> Out:
    """Each element `repeats` times in a row along `axis`, whose size is multiplied; without `axis` the tensor is
    flattened.

    `repeats` is not negative. Array API `repeat` with one number; `repeat_each` has one for each entry.
    """
    not_negative(ctx, Argument("repeats", repeats))
    shape = known_shape(ctx, x)
    if axis is None:
        shape, axis = (_count(ctx, shape),), 0
    i = place(ctx, shape, axis)
    longer = put(shape, i, product((shape[i], repeats)))
    return Out(longer, moved(x.data, shape, longer, lambda at: put(at, i, at[i] // repeats)))
