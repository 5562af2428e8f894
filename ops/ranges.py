"""The ranges of the elements of integer tensors of any size: `data` knows the elements of small tensors, ranges bound those
of all.

Every range holds for each element: the range of the dtype replaces it where an operation may wrap around, or nothing is known
of an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import product
from typing import Any, Concatenate, ParamSpec

from ..lang.dtypes import DType, exact_integers
from ..lang.node import Node, replace
from .axes import Shape, is_plain, larger, smaller
from .model import AnyDType, Ctx, Dim, ElementRange, Out, Segment, TensorInfo
from .requirements import Argument, Axis, InRange, Number, in_range_for

Ranges = tuple[ElementRange, ...]
P = ParamSpec("P")
# The range of an operation's result in a shape, from the ranges of its operands; None if unknown.
Ends = Callable[..., ElementRange | None]
# The greatest number of ranges of a tensor.
_MOST = 6


def sizes_of(x: TensorInfo) -> list[Any]:
    """The sizes in the ranges of a tensor."""
    return [size for r in x.ranges for size in (r.least, r.most, *(r.steps or ()), *r.counts)]


def _told(made: Callable[Concatenate[Ctx, P], Ranges]) -> Callable[Concatenate[Ctx, P], Ranges]:
    """Wrap a function that computes ranges, so that the context decides whether they are computed."""

    @wraps(made)
    def told(ctx: Ctx, /, *args: P.args, **named: P.kwargs) -> Ranges:
        return ctx.ranges(lambda: made(ctx, *args, **named))

    return told


def constant(value: Any, rank: int) -> ElementRange:
    """The range of a tensor with one value throughout."""
    return ElementRange(value, value, True, True, value, (0,) * rank)


def progression(ctx: Ctx, first: Dim, steps: Sequence[Dim], shape: Shape) -> ElementRange | None:
    """The range of elements that change by steps along the axes; None if the sign of a step is unknown."""
    least = most = first
    for step, size in zip(steps, shape, strict=True):
        if isinstance(step, int) and step == 0:
            continue
        if _surely(ctx, 0, step):
            most = most + step * (size - 1)
        elif _surely(ctx, step, 0):
            least = least + step * (size - 1)
        else:
            return None
    dense = all(isinstance(step, int) and abs(step) <= 1 for step in steps)
    return ElementRange(least, most, True, dense, first, tuple(steps))


def _surely(ctx: Ctx, a: Dim, b: Dim) -> bool:
    return a <= b if isinstance(a, int) and isinstance(b, int) else ctx.decide(ctx.le(a, b)) is True


def _is_one_value(r: ElementRange) -> bool:
    return bool(r.least is r.most or r.least == r.most)


def _some(r: ElementRange) -> ElementRange:
    """The range of an unknown subset of the elements."""
    return ElementRange(r.least, r.most, counts=r.counts, narrow=r.narrow)


def _of_dtype(dtype: DType) -> ElementRange:
    return ElementRange(*((0, 1) if dtype.kind == "bool" else exact_integers(dtype)))


def ranges_of(x: TensorInfo) -> Ranges:
    """The ranges of a tensor's elements, by default that of its dtype; none if its elements are not integers."""
    data = tuple(dict.fromkeys(x.data or ()))
    if data and all(e is not None and not isinstance(e, Node) for e in data):
        if all(type(e) is int for e in data) and len(data) > 1:
            return (ElementRange(min(data), max(data), True),)
        if len(data) <= _MOST:
            return tuple(constant(e, len(x.shape)) for e in data)
    if x.ranges:
        return x.ranges
    return (_of_dtype(x.dtype),) if isinstance(x.dtype, DType) and x.dtype.kind in ("bool", "int", "uint") else ()


# Operations that move elements


def some_of(x: TensorInfo) -> Ranges:
    """The ranges of an unknown subset of a tensor's elements."""
    return tuple(map(_some, x.ranges))


def moved(x: TensorInfo | Out, steps: Callable[[tuple[Dim, ...]], Sequence[Dim] | None]) -> Ranges:
    """The ranges of all elements of a tensor, reordered or repeated; `steps` computes the new steps."""
    made = ((r, steps(r.steps) if r.steps is not None else None) for r in x.ranges)
    return tuple(replace(r, steps=None if new is None else tuple(new), column=None) for r, new in made)


def permuted(x: TensorInfo, order: Sequence[int]) -> Ranges:
    """The ranges of a tensor with permuted axes: axis i of the result was `order[i]`."""
    steps = moved(x, lambda steps: [steps[i] for i in order])
    columns = [r.column and (order.index(r.column[0]), r.column[1]) for r in x.ranges]
    return tuple(replace(r, column=column) for r, column in zip(steps, columns, strict=True))


def columns(x: TensorInfo | Out, axis: int, places: Sequence[int]) -> Ranges:
    """The ranges of the elements at some positions of an axis."""
    of_axis = [r for r in x.ranges if r.column is not None and r.column[0] == axis]
    if len(of_axis) == len(x.ranges):
        return tuple(replace(r, steps=None, column=None) for r in of_axis if r.column and r.column[1] in places)
    return tuple(_some(r) for r in x.ranges if r not in of_axis or r.column and r.column[1] in places)


def spread(x: TensorInfo, own: Shape, shape: Shape) -> Ranges:
    """The ranges of a tensor that is broadcast to a shape."""
    return moved(x, lambda steps: _aligned(steps, own, shape))


def _aligned(steps: tuple[Dim, ...], own: Shape, shape: Shape) -> tuple[Dim, ...] | None:
    behind = shape[len(shape) - len(own) :]
    if len(steps) != len(own) or not is_plain((*own, *shape)):
        return None
    kept = [0 if isinstance(d, int) and d == 1 else step for step, d in zip(steps, own, strict=True)]
    if any(
        d is not b and d != b and not (isinstance(s, int) and s == 0) for s, d, b in zip(kept, own, behind, strict=True)
    ):
        return None
    return (0,) * (len(shape) - len(own)) + tuple(kept)


def laid(x: TensorInfo, axis: int, rank: int) -> Ranges:
    """The ranges of a row whose elements are repeated along all axes but one."""
    return moved(x, lambda steps: (0,) * axis + steps + (0,) * (rank - 1 - axis))


def refitted(x: TensorInfo | Out, own: Shape, shape: Shape) -> Ranges:
    """The ranges of a tensor after adding or removing axes of one element."""

    def steps(old: tuple[Dim, ...]) -> list[Dim] | None:
        kept = [(d, s) for d, s in zip(own, old, strict=True) if not _is_unit(d)]
        if [d for d, _ in kept] != [d for d in shape if not _is_unit(d)]:
            return None
        rest = iter(s for _, s in kept)
        return [0 if _is_unit(d) else next(rest) for d in shape]

    return moved(x, steps)


def _is_unit(size: Any) -> bool:
    return isinstance(size, int) and size == 1


@_told
def entry(ctx: Ctx, x: TensorInfo, i: int, place: Dim, shape: Shape) -> Ranges:
    """The range of one entry of an axis, if the elements change by constant steps; `shape` is that of the result."""
    [r] = x.ranges if len(x.ranges) == 1 else [None]
    if r is None or r.steps is None or r.narrow is not None or not is_plain(shape) or not _surely(ctx, 0, place):
        return ()
    made = progression(ctx, r.first + r.steps[i] * place, (*r.steps[:i], *r.steps[i + 1 :]), shape)
    return () if made is None else (made,)


@_told
def cut(ctx: Ctx, x: TensorInfo | Out, i: int, start: Dim | None, step: Dim, shape: Shape) -> Ranges:
    """The ranges of every `step`-th entry of one axis, from a start on; `shape` is that of the result."""
    if (
        isinstance(start, int)
        and isinstance(step, int)
        and isinstance(shape[i], int)
        and any(r.column for r in x.ranges)
    ):
        return columns(x, i, range(start, start + step * shape[i], step))
    return tuple(_cut(ctx, r, i, start, step, shape) for r in x.ranges)


def _cut(ctx: Ctx, r: ElementRange, i: int, start: Dim | None, step: Dim, shape: Shape) -> ElementRange:
    if r.steps is None or start is None or not is_plain(shape):
        return _some(r)
    steps = (*r.steps[:i], r.steps[i] * step, *r.steps[i + 1 :])
    made = progression(ctx, r.first + r.steps[i] * start, steps, shape)
    made = made if made is None or r.narrow is None else _stored(ctx, made, r.narrow)
    return _some(r) if made is None else replace(made, counts=r.counts)


@_told
def joined(ctx: Ctx, parts: Sequence[tuple[TensorInfo, Shape]], axis: int) -> Ranges:
    """The ranges of tensors that are joined along an axis."""
    found: list[ElementRange] = []
    are_columns = all(_is_unit(shape[axis]) for _, shape in parts)
    for n, (x, shape) in enumerate(parts):
        if not (own := ranges_of(x)) or not is_plain(shape):
            return ()
        counts, column = tuple(d for d in shape if not isinstance(d, int) or d == 0), (axis, n) if are_columns else None
        found += (replace(r, steps=None, counts=r.counts + counts, column=column) for r in own)
    return tuple(found) if len(found) <= _MOST else ()


# Operations that compute with elements


@_told
def computed(ctx: Ctx, ends: Ends | None, shape: Shape, dtype: AnyDType | None, *operands: TensorInfo) -> Ranges:
    """The ranges of a result in a dtype, computed element by element from operands that broadcast to a shape."""
    if ends is None or not isinstance(dtype, DType) or dtype.kind not in ("bool", "int", "uint"):
        return ()
    sets = [_usable(x, shape, dtype, ends in (added, subtracted, multiplied, turned)) for x in operands]
    if not any(x.ranges or x.data for x in operands) or [len(s) for s in sets if len(s) != 1][1:]:
        return ()
    made = [(_stored(ctx, ends(ctx, shape, *each), dtype), each) for each in product(*sets)]
    found = [replace(r, counts=tuple(c for part in each for c in part.counts)) for r, each in made if r is not None]
    if len(found) != len(made) or len(found) > 1 and not all(map(_are_one_value, (s for s in sets if len(s) == 1))):
        found = [_some(r) for r in found] if len(found) == len(made) else []
    return tuple(found)


def _are_one_value(ranges: Ranges) -> bool:
    return _is_one_value(ranges[0])


def _usable(x: TensorInfo, shape: Shape, dtype: DType, wraps: bool) -> Ranges:
    """The ranges of an operand, with their steps along the axes of the result. Wrapped elements keep their range if the
    operation `wraps` too, as its result is the same for integers and for their wrapped values."""
    found = []
    for r in ranges_of(x):
        if r.narrow is not None and not (wraps and r.narrow == dtype):
            r = _of_dtype(r.narrow)
        steps = None if r.steps is None else _aligned(r.steps, x.shape, shape)
        found.append(replace(r, steps=steps))
    return tuple(found)


def _stored(ctx: Ctx, r: ElementRange | None, dtype: DType) -> ElementRange | None:
    """A range as stored in a dtype."""
    if r is None or dtype.kind == "bool":
        return r
    fits = [ctx.fits(end, dtype) for end in (r.least, r.most)]
    if all(fits):
        return replace(r, narrow=None)
    low, high = exact_integers(dtype)
    if isinstance(r.least, int) and isinstance(r.most, int) and r.least <= low and high <= r.most:
        return None
    return replace(r if r.dense and r.met and any(fits) else _some(r), narrow=dtype)


@_told
def counting(ctx: Ctx, first: Dim, step: Dim, shape: Shape, dtype: AnyDType | None, *, refused: bool = False) -> Ranges:
    """The range of a new tensor whose elements change by a step along each axis; none if its elements are not integers. A
    number beyond the dtype is `refused`, or wraps around."""
    made = progression(ctx, first, (step,) * len(shape), shape)
    if refused:
        return () if made is None else (made,)
    found = _stored(ctx, made, dtype) if isinstance(dtype, DType) and dtype.kind in ("int", "uint") else None
    return () if found is None else (found,)


@_told
def cast(ctx: Ctx, x: TensorInfo, dtype: AnyDType | None) -> Ranges:
    """The ranges of a tensor that is cast."""
    if not isinstance(dtype, DType) or dtype.kind not in ("int", "uint"):
        return ()
    made = [_as(ctx, r, dtype) for r in ranges_of(x)]
    return tuple(r for r in made if r is not None) if None not in made else ()


def _as(ctx: Ctx, r: ElementRange, dtype: DType) -> ElementRange | None:
    if r.narrow is None:
        return _stored(ctx, r, dtype)
    low, high = exact_integers(r.narrow)
    return r if all(exact_integers(dtype)[0] <= end <= exact_integers(dtype)[1] for end in (low, high)) else None


def _of_ends(a: ElementRange, b: ElementRange, least: Dim, most: Dim) -> ElementRange:
    """The range of a result that rises with both operands. Its ends and inner integers surely occur only if one operand has
    one value; then they do if those of the other operand do."""
    varied = b if _is_one_value(a) else a
    one = _is_one_value(a) or _is_one_value(b)
    return ElementRange(least, most, one and varied.met, one and varied.dense)


def added(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange:
    if a.steps is not None and b.steps is not None:
        made = progression(ctx, a.first + b.first, [s + t for s, t in zip(a.steps, b.steps, strict=True)], shape)
        if made is not None:
            return made
    return _of_ends(a, b, a.least + b.least, a.most + b.most)


def subtracted(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange:
    return added(ctx, shape, a, turned(ctx, shape, b))


def turned(ctx: Ctx, shape: Shape, r: ElementRange) -> ElementRange:
    first, steps = (None, None) if r.steps is None else (0 - r.first, tuple(0 - s for s in r.steps))
    least, most = 0 - r.least, 0 - r.most
    return replace(r, least=most, most=least if not _is_one_value(r) else most, first=first, steps=steps)


def multiplied(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange | None:
    if not _is_one_value(b):
        a, b = b, a
    factor = b.least
    if not _is_one_value(b):
        is_natural = _surely(ctx, 0, a.least) and _surely(ctx, 0, b.least)
        return ElementRange(a.least * b.least, a.most * b.most) if is_natural else None
    if a.steps is not None:
        return progression(ctx, a.first * factor, [s * factor for s in a.steps], shape)
    return ElementRange(a.least * factor, a.most * factor, a.met) if _surely(ctx, 0, factor) else None


def floor_divided(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange | None:
    if not _is_one_value(b) or not _surely(ctx, 1, b.least):
        return None
    return _of_ends(a, b, a.least // b.least, a.most // b.least)


def quotient(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange | None:
    """Division toward zero, for a range that is not negative."""
    return floor_divided(ctx, shape, a, b) if _surely(ctx, 0, a.least) else None


def remainder(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange | None:
    if not _surely(ctx, 1, b.least):
        return None
    if _is_one_value(b) and _surely(ctx, 0, a.least):
        if _surely(ctx, a.most, b.least - 1):
            return a
        if a.dense and isinstance(a.least, int) and a.least == 0:
            return ElementRange(0, smaller(ctx, a.most, b.least - 1), a.met, True)
    return ElementRange(0, b.most - 1)


def maximum(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange:
    return _of_ends(a, b, larger(ctx, a.least, b.least), larger(ctx, a.most, b.most))


def minimum(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange:
    return _of_ends(a, b, smaller(ctx, a.least, b.least), smaller(ctx, a.most, b.most))


def less(ctx: Ctx, shape: Shape, a: ElementRange, b: ElementRange) -> ElementRange | None:
    """The truth of a < b, if it is the same for all elements."""
    if _surely(ctx, a.most + 1, b.least):
        return constant(1, len(shape))
    return constant(0, len(shape)) if _surely(ctx, b.most, a.least) else None


def negated(r: ElementRange | None) -> ElementRange | None:
    """The opposite of a truth that is the same for all elements."""
    return None if r is None else constant(1 - r.least, len(r.steps or ()))


@_told
def chosen(ctx: Ctx, shape: Shape, dtype: AnyDType | None, where: TensorInfo, x: TensorInfo, y: TensorInfo) -> Ranges:
    """The ranges of elements of `x` where a condition is true, else of `y`."""
    if not isinstance(dtype, DType) or dtype.kind not in ("bool", "int", "uint"):
        return ()
    x_parts, y_parts = (_usable(part, shape, dtype, True) for part in (x, y))
    truth = ranges_of(where)
    if len(truth) == 1 and isinstance(truth[0].most, int) and _is_one_value(truth[0]):
        return x_parts if truth[0].most else y_parts
    found = dict.fromkeys(replace(_some(r), counts=()) for r in (*x_parts, *y_parts)) if x_parts and y_parts else {}
    return tuple(found) if len(found) <= _MOST else ()


# Requirements on elements


@_told
def in_range(ctx: Ctx, name: str, x: TensorInfo, axis: Axis, *, forward: bool = False) -> Ranges:
    """Require the elements of an operand to be indices into an axis; `forward`: negative ones are refused."""
    ranges = ranges_of(x)
    if not ranges or not is_plain(x.shape):
        return ranges
    if x.data == ():
        ctx.elements_fit(_asked(name, None, axis), [], True, True)
        return ranges
    empty = [ctx.eq(d, 0) for d in x.shape if not isinstance(d, Segment) and (not isinstance(d, int) or d == 0)]
    for r in ranges:
        if r.met:
            inside = _inside(ctx, r, axis.size, forward)
            none = [*empty, *(ctx.eq(d, 0) for d in r.counts)]
            ctx.elements_fit(_asked(name, r, axis), none, inside, inside)
    others = [r for r in ranges if not r.met]
    if others:
        surely = ctx.all_of(*(_inside(ctx, r, axis.size, forward) for r in others))
        needed = len(others) < len(ranges) or ctx.any_of(*(_reaches(ctx, r, axis.size, forward) for r in others))
        ctx.elements_fit(_asked(name, others[0] if len(others) == 1 else None, axis), empty, surely, needed)
    return ranges


def _inside(ctx: Ctx, r: ElementRange, size: Dim, forward: bool) -> Any:
    """The condition under which all elements of a range are indices, if there are any."""
    signed = r.narrow is None or r.narrow.kind == "int"
    inside = ctx.all_of(ctx.le(0 if forward or not signed else 0 - size, r.least), ctx.lt(r.most, size))
    if r.narrow is None or r.narrow.bits == 64:
        return inside
    low, high = exact_integers(r.narrow)
    if forward and signed:
        return ctx.all_of(inside, ctx.le(low, r.least), ctx.le(r.most, high))
    return ctx.any_of(inside, ctx.lt(high, size))


def _reaches(ctx: Ctx, r: ElementRange, size: Dim, forward: bool) -> Any:
    """The condition under which some integer of a range, or of its dtype if elements may have wrapped around, is an index."""
    r = r if r.narrow is None else _of_dtype(r.narrow)
    return ctx.all_of(ctx.le(1, size), ctx.lt(r.least, size), ctx.le(0 if forward else 0 - size, r.most))


def _asked(name: str, r: ElementRange | None, axis: Axis) -> InRange:
    of = (Argument(name), axis)
    if r is None:
        return in_range_for(*of)
    if _is_one_value(r):
        return in_range_for(*of, Number(r.least), but="its elements are {2}")
    return in_range_for(*of, Number(r.least), Number(r.most), but="its elements go from {2} to {3}")
