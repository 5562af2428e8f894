"""Axes and products of sizes for the shape rules of several families: an axis as a place in a shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .model import Ctx, Dim, ElementRange, Out, RankUnknown, Segment, TensorInfo
from .requirements import AtLeast, Axis, AxisInRange, Equal, OfRank, Other, Quantity

Shape = tuple[Any, ...]


def known_shape(ctx: Ctx, x: TensorInfo) -> Shape:
    """The shape of x: its dimensions if all are known, else also Segments for the unknown ones."""
    try:
        return ctx.dims(x)
    except RankUnknown:
        return x.shape


def is_plain(shape: Iterable[object]) -> bool:
    """Whether every part of a shape is a dimension."""
    return not any(isinstance(d, Segment) for d in shape)


def place(ctx: Ctx, shape: Shape, axis: int, name: str = "axis") -> int:
    """The place of an axis in a shape; raises RankUnknown if it is counted across a Segment.

    `place([*s, n, d], -2)` is 1: negative axes are known where only leading parts are unknown.
    """
    if not is_plain(shape):
        between = shape[: axis + 1] if axis >= 0 else shape[axis:]
        if len(between) < (axis + 1 if axis >= 0 else -axis) or not is_plain(between):
            raise RankUnknown
        return axis if axis >= 0 else len(shape) + axis
    return _of_rank(ctx, len(shape), axis, name)


def shape_and_axis(ctx: Ctx, x: TensorInfo, axis: int) -> tuple[Shape, int]:
    """The shape of x, and the place of one of its axes."""
    shape = known_shape(ctx, x)
    return shape, place(ctx, shape, axis)


def _of_rank(ctx: Ctx, rank: int, axis: int, name: str) -> int:
    if rank == 0:
        ctx.fail(OfRank(f"a tensor with at least one axis where {name} is {axis}", but="the rank is 0"))
    if not -rank <= axis < rank:
        ctx.fail(AxisInRange(name, axis, rank))
    return axis % rank


def places(ctx: Ctx, shape: Shape, axes: Sequence[int], name: str = "axis") -> tuple[int, ...]:
    """The places of several axes in a shape; each may be named once."""
    if is_plain(shape):
        found = tuple(_of_rank(ctx, len(shape), axis, name) for axis in axes)
    else:
        found = tuple(place(ctx, shape, axis, name) for axis in axes)
    distinct(ctx, found, axes, name)
    return found


def distinct(ctx: Ctx, found: Sequence[int], axes: Sequence[int], name: str) -> None:
    """Require that no axis is named twice (`found` are the places of `axes`)."""
    first: dict[int, int] = {}
    for at, axis in zip(found, axes, strict=True):
        if at in first:
            twice = f"{axis} and {first[at]} are the same axis"
            ctx.fail(Other(f"{name} to name each axis once", but=twice))
        first[at] = axis


def number(shape: Shape, index: int) -> int:
    """The number of the axis at a place, as a user would count it: from the end if the front is unknown."""
    return index if is_plain(shape[:index]) else index - len(shape)


def axis_of(name: str, shape: Shape, index: int, noun: str = "") -> Axis:
    """An axis of an operand, for a requirement."""
    return Axis(name, number(shape, index), shape[index], noun)


def product(sizes: Iterable[Dim]) -> Dim:
    """The product of sizes, 1 for none."""
    result: Dim = 1
    for size in sizes:
        if isinstance(size, int) and size == 1:
            continue
        result = size if isinstance(result, int) and result == 1 else result * size
    return result


def total(sizes: Iterable[Dim]) -> Dim:
    """The sum of sizes, 0 for none."""
    result: Dim = 0
    for size in sizes:
        result = size if isinstance(result, int) and result == 0 else result + size
    return result


def indices(ctx: Ctx, shape: Shape, most: Dim) -> Out:
    """A result with elements from 0 to `most`; the element of a result that has only one is tracked."""
    return among(ctx, shape, (ElementRange(0, most),))


def among(ctx: Ctx, shape: Shape, ranges: tuple[ElementRange, ...]) -> Out:
    """A result with elements in some ranges; the element of a result that has only one is tracked."""
    is_one = shape == () or len(shape) == 1 and isinstance(shape[0], int) and shape[0] == 1
    if not is_one or len(ranges) != 1 or not isinstance(ranges[0].least, int) or ranges[0].least < 0:
        return Out(shape, None, ranges)
    element = ctx.element(ranges[0].least, ranges[0].most)
    return Out(shape, None if element is None else (element,), ranges)


def smaller(ctx: Ctx, a: Dim, b: Dim) -> Dim:
    """min(a, b), as one of the two if the smaller one is known."""
    if ctx.decide(ctx.le(a, b)):
        return a
    return b if ctx.decide(ctx.le(b, a)) else ctx.min(a, b)


def larger(ctx: Ctx, a: Dim, b: Dim) -> Dim:
    """max(a, b), as one of the two if the larger one is known."""
    if ctx.decide(ctx.le(b, a)):
        return a
    return b if ctx.decide(ctx.le(a, b)) else ctx.max(a, b)


def same(ctx: Ctx, left: Quantity, right: Quantity, label: str = "") -> Dim:
    """Require two sizes to be equal and return one of them, a literal if there is one."""
    ctx.require(Equal(left, right, label))
    return right.size if isinstance(right.size, int) else left.size


def not_negative(ctx: Ctx, size: Quantity) -> None:
    """Require a computed size to be at least 0."""
    ctx.require(AtLeast(size, 0))


def without(shape: Shape, index: int) -> Shape:
    return shape[:index] + shape[index + 1 :]


def put(shape: Shape, index: int, *dims: Dim) -> Shape:
    """The shape with one place replaced by any number of others."""
    return shape[:index] + dims + shape[index + 1 :]


def as_tuple(axes: int | tuple[int, ...]) -> tuple[int, ...]:
    """One axis or several, as a tuple."""
    return (axes,) if isinstance(axes, int) else axes


def with_new_axis(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """Insert new axes in a shape with unknown parts; raises RankUnknown if an axis is counted across such a part."""
    if len({*axes}) < len(axes):
        raise RankUnknown
    for axis in sorted(axes, key=lambda axis: axis if axis >= 0 else -axis):
        at = axis if axis >= 0 else len(shape) + 1 + axis
        passed = shape[:at] if axis >= 0 else shape[max(at, 0) :]
        if not 0 <= at <= len(shape) or not is_plain(passed):
            raise RankUnknown
        shape = (*shape[:at], 1, *shape[at:])
    return shape
