"""Sizes of memory: which of two is surely larger, and the largest over the turns of a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..simplify.solver import terms
from ..simplify.solver.rendering import render
from ..simplify.solver.terms import Size

Limits = tuple[Size, Size]


class Peak:
    """The greatest of some sizes: those that are not surely below another one. `of_turns` names the sizes that differ from
    turn to turn."""

    def __init__(self) -> None:
        self.sizes: list[Size] = []
        self.of_turns: set[str] = set()

    def add(self, size: Size) -> None:
        if not any(below(size, other) for other in self.sizes):
            self.sizes = [other for other in self.sizes if not below(other, size)] + [size]

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the bytes for these values of the names."""
        point = {v: sizes[v.name] for size in self.sizes for v in terms.variables(size)}
        return max((terms.evaluate(size, point) for size in self.sizes), default=0)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({v.name for size in self.sizes for v in terms.variables(size)}))

    @property
    def per_turn(self) -> tuple[str, ...]:
        """The names that stand for sizes of a turn."""
        return tuple(name for name in self.names if name in self.of_turns)

    def __str__(self) -> str:
        texts = sorted(map(render, self.sizes), key=lambda text: (-len(text), text))
        return texts[0] if len(texts) == 1 else f"max({', '.join(texts)})" if texts else "0"


def greatest(sizes: Sequence[Size]) -> Size:
    found = sizes[0]
    for size in sizes[1:]:
        if not below(size, found):
            found = size if below(found, size) else terms.smax(found, size)
    return found


def below(a: Size, b: Size) -> bool:
    """Whether a size is surely at most another one."""
    return terms.is_nonneg(b - a)


def over_turns(size: Size, index: Size, limits: Limits | None) -> Size:
    """Return the greatest value over the turns of a loop, or more: a growing term counts as in the last turn, a falling one
    as in the first. The index stays if the number of turns is unknown."""
    if limits is None or isinstance(size, int):
        return size
    [variable] = terms.variables(index)
    parts: list[Size] = [terms.close({mono: factor}) for mono, factor in size.mons.items()]
    first, last = ({variable: limit} for limit in limits)
    return sum((terms.substitute(p, last if terms.is_nonneg(p) else first) for p in parts), 0)
