"""Shapes to the one shape that they broadcast to: NumPy's rule, over sizes that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ..lang.node import Node
from .axes import Shape, known_shape
from .model import Ctx, Dim, RankUnknown, Segment, TensorInfo
from .requirements import Axis, Broadcast, SizeEntry


class _Operand(Node):
    """One operand at one axis: its place among the operands, its parameter's name, and its size there; for a shape that a
    tensor holds, `entries` is its length."""

    place: int
    name: str
    size: Dim
    entries: int = 0

    @property
    def literal(self) -> bool:
        return isinstance(self.size, int)


def broadcast(
    ctx: Ctx, *shapes: Shape, names: Sequence[str] = ("x", "y", "z"), last: int = -1, entries: Sequence[int] = (0, 0, 0)
) -> Shape:
    """The common shape of right-aligned shapes; requires that there is one.

    `names` are the operands' parameters, for the blame; `last` is the number of the last axis of the shapes (-3 for the batch
    axes of a matrix product); `entries` is the length of each shape that a tensor holds. A segment (`*batch`) broadcasts with
    itself and with nothing; RankUnknown is raised if operands do not line up around one.

    [n, 3], [3] -> [n, 3];  [2, n], [3] -> [2, 3] if n == 3 or n == 1
    [n], [m] -> [the one of n and m that is not 1] if n == m or n == 1 or m == 1
    """
    result: dict[int, Any] = {}
    columns: list[tuple[int, int | None, list[_Operand]]] = []
    axis: int | None = last
    for position in range(1, 1 + max(map(len, shapes), default=0)):
        parts = [
            _Operand(i, names[i], shape[-position], *entries[i : i + 1])
            for i, shape in enumerate(shapes)
            if position <= len(shape)
        ]
        if any(isinstance(part.size, Segment) for part in parts):
            result[position] = _same_segment(parts)
            axis = None
        else:
            columns.append((position, axis, parts))
            axis = None if axis is None else axis - 1
    # Axes that surely conflict come first, so that only they are reported.
    for position, axis, parts in sorted(columns, key=lambda c: not _clash(c[2])):
        result[position] = _join(ctx, parts, axis)
    return tuple(result[position] for position in sorted(result, reverse=True))


def broadcast_tensors(ctx: Ctx, **operands: TensorInfo) -> Shape:
    """The common shape of operands, given by their parameters' names."""
    shapes = (known_shape(ctx, x) for x in operands.values())
    return broadcast(ctx, *shapes, names=tuple(operands))


def _same_segment(parts: list[_Operand]) -> Segment:
    """The segment that all operands have at this place, counted from the right; raises RankUnknown if they differ."""
    segments = [part.size for part in parts if isinstance(part.size, Segment)]
    if len(segments) < len(parts) or any(s.symbol is not segments[0].symbol for s in segments):
        raise RankUnknown
    return segments[0]


def _join(ctx: Ctx, operands: list[_Operand], axis: int | None) -> Dim:
    """The common size of one axis."""
    left = _distinct(ctx, [o for o in operands if not (o.literal and o.size == 1)])
    if len(left) > 1:
        left = [o for o in left if o.literal or ctx.decide(ctx.eq(o.size, 1)) is not True]
    if len(left) <= 1:
        return left[0].size if left else 1
    known = next((o for o in left if o.literal), None) or next(
        (o for o in left if ctx.decide(ctx.ne(o.size, 1)) is True), None
    )
    if known is not None:
        return _join_known(ctx, known, left, axis)
    for a, b in combinations(left, 2):
        ctx.require(_broadcast(a, b, axis))
    leading = _leading(ctx, left)
    return leading[0].size if len(leading) == 1 else ctx.common(*(o.size for o in leading))


def _leading(ctx: Ctx, operands: list[_Operand]) -> list[_Operand]:
    """The operands that determine the common size, if all fit: an operand that is 1 wherever another one is adds nothing."""
    kept: list[_Operand] = []
    for operand in operands:
        if not any(_is_one_with(ctx, other, operand) for other in kept):
            kept = [other for other in kept if not _is_one_with(ctx, operand, other)] + [operand]
    return kept


def _is_one_with(ctx: Ctx, a: _Operand, b: _Operand) -> bool:
    """Whether b is 1 wherever a is 1: then a has the common size of both."""
    return ctx.decide(ctx.any_of(ctx.ne(a.size, 1), ctx.eq(b.size, 1))) is True


def _join_known(ctx: Ctx, known: _Operand, operands: list[_Operand], axis: int | None) -> Dim:
    """The size of `known`, which is not 1 and so is the common one; requires each other size to equal it or 1."""
    for other in operands:
        if other is known:
            continue
        a, b = min(known, other, key=_place), max(known, other, key=_place)
        ctx.require(_broadcast(a, b, axis), ctx.any_of(ctx.eq(other.size, known.size), ctx.eq(other.size, 1)))
    return known.size


def _clash(operands: list[_Operand]) -> bool:
    """Whether two literal sizes differ and none of them is 1."""
    return len({o.size for o in operands if o.literal} - {1}) > 1


def _distinct(ctx: Ctx, operands: list[_Operand]) -> list[_Operand]:
    """The operands with distinct sizes: of equal sizes one stays, a literal if there is one."""
    kept: list[_Operand] = []
    for operand in sorted(operands, key=lambda o: not o.literal):
        if not any(_same(ctx, operand, other) for other in kept):
            kept.append(operand)
    return sorted(kept, key=_place)


def _same(ctx: Ctx, a: _Operand, b: _Operand) -> bool:
    if a.literal and b.literal:
        return bool(a.size == b.size)
    return a.size is b.size or ctx.decide(ctx.eq(a.size, b.size)) is True


def _place(operand: _Operand) -> int:
    return operand.place


def _broadcast(a: _Operand, b: _Operand, axis: int | None) -> Broadcast:
    return Broadcast(_quantity(a, axis), _quantity(b, axis))


def _quantity(operand: _Operand, axis: int | None) -> Axis | SizeEntry:
    if operand.entries and axis is not None:
        return SizeEntry(operand.name, operand.entries + axis, operand.size)
    return Axis(operand.name, axis, operand.size)
