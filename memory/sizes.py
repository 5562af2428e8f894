"""Sizes of memory: which of two is surely larger, and the largest over the turns of a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..simplify.solver import terms
from ..simplify.solver.rendering import render
from ..simplify.solver.terms import Size

Limits = tuple[Size, Size]


class Peak:
    """The greatest of some sizes: those of which none is surely below another one. `of_turns` are names of sizes that each turn
    of a loop has others of."""

    def __init__(self) -> None:
        self.sizes: list[Size] = []
        self.of_turns: set[str] = set()

    def add(self, size: Size) -> None:
        if not any(below(size, other) for other in self.sizes):
            self.sizes = [other for other in self.sizes if not below(other, size)] + [size]

    def at(self, sizes: Mapping[str, int]) -> int:
        """The bytes where the names have these values."""
        point = {v: sizes[v.name] for size in self.sizes for v in terms.variables(size)}
        return max((terms.evaluate(size, point) for size in self.sizes), default=0)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({v.name for size in self.sizes for v in terms.variables(size)}))

    @property
    def per_turn(self) -> tuple[str, ...]:
        """The names in it that say what a turn takes."""
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
    """The greatest value over the turns of a loop, or more: what grows counts as in the last turn, what falls as in the first.
    Where nobody knows how many turns there are, the index stays."""
    if limits is None or isinstance(size, int):
        return size
    [variable] = terms.variables(index)
    parts: list[Size] = [terms.close({mono: factor}) for mono, factor in size.mons.items()]
    first, last = ({variable: limit} for limit in limits)
    return sum((terms.substitute(p, last if terms.is_nonneg(p) else first) for p in parts), 0)
