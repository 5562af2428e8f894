"""The known shapes of the elements of sequences, optional values and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from ..lang.dtypes import DType
from ..lang.node import Node
from .model import Ctx, Out, ResultOpen, Segment, TensorInfo


class HeldElements(Node):
    """What a sequence, an optional value or a map holds: what is known of each of the `items` where they are known one by one,
    and of every one of them (`each`); a size that is their number (`count`) where only that is known. It is the one element of
    a tensor of rank 0 (`TensorInfo.data`).

    Of a tensor inside its sizes are known, None of one that is not; of what holds something else again that; else None.
    """

    items: tuple[Inside, ...] | None
    each: Inside
    count: Any = None


Inside = tuple[Any, ...] | HeldElements | None
NOTHING = HeldElements(None, None)
Same = Callable[[Any, Any], bool]


def held(x: TensorInfo) -> HeldElements:
    """What an opaque value holds."""
    found = x.data[0] if x.data else None
    return found if isinstance(found, HeldElements) else NOTHING


def how_many(value: HeldElements) -> Any:
    """How many values something holds, None where that is not known."""
    return value.count if value.items is None else len(value.items)


def inside(x: TensorInfo) -> Inside:
    """What is known of a value that is put into another one."""
    if x.shape == () and x.data is not None and isinstance(x.data[0], HeldElements):
        return x.data[0]
    return None if any(isinstance(d, Segment) for d in x.shape) else tuple(x.shape)


def same(ctx: Ctx) -> Same:
    """Whether two sizes are surely one."""
    return lambda a, b: a is b or ctx.decide(ctx.eq(a, b)) is True


def common(a: Inside, b: Inside, is_same: Same) -> Inside:
    """What two values have in common."""
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
    """An empty one says nothing of its elements, and so agrees with all."""
    if a.items == ():
        return b.each
    return a.each if b.items == () else common(a.each, b.each, is_same)


def of_items(items: Iterable[Inside], is_same: Same) -> HeldElements:
    """What holds these, in order."""
    known = tuple(items)
    return HeldElements(known, reduce(lambda a, b: common(a, b, is_same), known) if known else None)


def out(value: HeldElements) -> Out:
    """An opaque result."""
    return Out((), (value,))


def taken(ctx: Ctx, x: TensorInfo, value: Inside) -> Out:
    """What is taken out of an opaque value: sizes that are not known are sizes of their own."""
    if isinstance(x.dtype, DType) and x.dtype.of[-1:] and x.dtype.of[-1].is_opaque:
        return out(value if isinstance(value, HeldElements) else NOTHING)
    if value is None or isinstance(value, HeldElements):
        raise ResultOpen
    return Out(tuple(ctx.fresh("size") if size is None else size for size in value))


def sizes_held(value: Inside) -> list[Any]:
    """The sizes that it speaks of."""
    if isinstance(value, HeldElements):
        inside = [size for part in (*(value.items or ()), value.each) for size in sizes_held(part)]
        return inside if value.count is None else [*inside, value.count]
    return [size for size in value or () if size is not None]
