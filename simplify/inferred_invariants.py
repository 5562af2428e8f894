"""The conditions that the turns of a loop may keep without an annotation: carries of any shape keep their first shape, axis
by axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..lang import core
from ..lang.core import Status
from ..lang.walk import walk
from .known.values import Shape, plain


def candidates(loop: core.Loop, firsts: Mapping[str, Shape]) -> tuple[core.Invariant, ...]:
    """For each carry whose first value has a name and a known rank: its rank, and the sizes that no condition mentions.
    `firsts` are the shapes of the first values of carries that are tensors."""
    own = {c.name for c in loop.carries}
    found: list[core.Invariant] = []
    for carry in loop.carries:
        shape = firsts.get(carry.name, (None,))
        if isinstance(carry.init, core.Var) and carry.init.name not in own and plain(shape):
            found += _of(carry, carry.init.name, len(shape), loop)
    return tuple(found)


def _of(carry: core.Carry, first: str, rank: int, loop: core.Loop) -> Iterator[core.Invariant]:
    said = [n for n in walk(*(i.cond for i in loop.invariant)) if getattr(n, "tensor", None) == carry.name]
    if any(isinstance(n, core.ShapeOf) or (isinstance(n, core.DimOf) and n.axis < 0) for n in said):
        return
    span, name = carry.span, carry.name
    if not any(isinstance(n, core.RankOf) for n in said):
        yield _invariant(carry, "rank", core.RankOf(span, name), core.SizeLit(span, rank))
    known = {n.axis for n in said if isinstance(n, core.DimOf)}
    for axis in range(rank):
        if axis not in known:
            yield _invariant(carry, "dim", core.DimOf(span, name, axis), core.DimOf(span, first, axis))


def _invariant(carry: core.Carry, what: str, left: core.SizeExpr, right: core.SizeExpr) -> core.Invariant:
    return core.Invariant(
        carry.span, core.Compare(carry.span, "==", left, right), core.Origin(carry.span, what, False, None)
    )


def proved(tried: tuple[core.Invariant, ...]) -> tuple[core.Invariant, ...]:
    """The conditions that hold before the first turn and after each."""
    return tuple(i for i in tried if i.entry is Status.PROVED and i.turn is Status.PROVED)
