"""The known shapes of the elements of sequences, optional values and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from ..lang.dtypes import DType
from ..lang.node import Node
from .model import Ctx, Out, ResultOpen, Segment, TensorInfo


class HeldElements(Node):
    """The contents of a sequence, an optional value or a map: the facts about each of the `items` if they are known one by
    one, and about all of them together (`each`); `count` is a size, their number, if only that is known. It is the one
    element of a tensor of rank 0 (`TensorInfo.data`).

    A tensor inside is a tuple of its sizes, None for an unknown size; a value that holds others is its contents; else None.
    """

    items: tuple[Inside, ...] | None
    each: Inside
    count: Any = None


Inside = tuple[Any, ...] | HeldElements | None
NOTHING = HeldElements(None, None)
Same = Callable[[Any, Any], bool]


def held(x: TensorInfo) -> HeldElements:
    """The contents of an opaque value."""
    found = x.data[0] if x.data else None
    return found if isinstance(found, HeldElements) else NOTHING


def how_many(value: HeldElements) -> Any:
    """The number of values inside, None if unknown."""
    return value.count if value.items is None else len(value.items)


def inside(x: TensorInfo) -> Inside:
    """The facts about a value that is put into another one."""
    if x.shape == () and x.data is not None and isinstance(x.data[0], HeldElements):
        return x.data[0]
    return None if any(isinstance(d, Segment) for d in x.shape) else tuple(x.shape)


def same(ctx: Ctx) -> Same:
    """Whether two sizes are surely one."""
    return lambda a, b: a is b or ctx.decide(ctx.eq(a, b)) is True


def common(a: Inside, b: Inside, is_same: Same) -> Inside:
    """The facts that two values share."""
    match a, b:
        case HeldElements(), HeldElements():
            items, count = None, how_many(a)
            if a.items is not None and b.items is not None and len(a.items) == len(b.items):
                items = tuple(common(x, y, is_same) for x, y in zip(a.items, b.items, strict=True))
            elif count is None or how_many(b) is None or not is_same(count, how_many(b)):
                count = None
            return HeldElements(items, _each(a, b, is_same), count if items is None else None)
        case tuple(), tuple() if len(a) == len(b):
            return tuple(
                x if x is not None and y is not None and is_same(x, y) else None for x, y in zip(a, b, strict=True)
            )
    return None


def _each(a: HeldElements, b: HeldElements, is_same: Same) -> Inside:
    """The facts about every element of both; an empty value has no elements and agrees with anything."""
    if a.items == ():
        return b.each
    return a.each if b.items == () else common(a.each, b.each, is_same)


def of_items(items: Iterable[Inside], is_same: Same) -> HeldElements:
    """The contents that consist of these items, in order."""
    known = tuple(items)
    return HeldElements(known, reduce(lambda a, b: common(a, b, is_same), known) if known else None)


def out(value: HeldElements) -> Out:
    """An opaque result."""
    return Out((), (value,))


def taken(ctx: Ctx, x: TensorInfo, value: Inside) -> Out:
    """A value taken out of an opaque value; its unknown sizes become new sizes."""
    if isinstance(x.dtype, DType) and x.dtype.of[-1:] and x.dtype.of[-1].is_opaque:
        return out(value if isinstance(value, HeldElements) else NOTHING)
    if value is None or isinstance(value, HeldElements):
        raise ResultOpen
    return Out(tuple(ctx.fresh("size") if size is None else size for size in value))


def sizes_held(value: Inside) -> list[Any]:
    """The sizes in the facts about a value."""
    if isinstance(value, HeldElements):
        inside = [size for part in (*(value.items or ()), value.each) for size in sizes_held(part)]
        return inside if value.count is None else [*inside, value.count]
    return [size for size in value or () if size is not None]
