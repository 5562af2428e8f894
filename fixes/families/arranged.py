"""Fixes that rearrange the axes of a tensor whose sizes are known numbers: axes added, dropped, merged or swapped in
expressions that the mistake may come from. There are many; they serve when nothing else fits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from ...lang import sweet
from ...lang.node import replace
from ..case import Fix, FixCase, dims_text
from ..numbers.screen import Screen
from ..weights import weight
from . import shapes
from .operands import wrap
from .shapes import TensorChange
from .typos import later, suspects

_MOST_NODES, _MOST_AXES = 8, 5


def fixes(case: FixCase, screen: Screen) -> Iterator[Fix]:
    operands = (s for s in suspects(case) if isinstance(s, sweet.Call | sweet.Name | sweet.Index))
    tensors = ((node, dims) for node in operands if (dims := screen.shape(node)) is not None)
    for position, (node, dims) in enumerate(islice(tensors, _MOST_NODES)):
        for change in _changes(dims, screen) if len(dims) <= _MOST_AXES else ():
            fix = wrap(case, node, change, change.rank + later(position))
            yield replace(fix, kind="typo", guess=True)


def _changes(dims: tuple[int, ...], screen: Screen) -> Iterator[TensorChange]:
    rank = len(dims)
    for axis in (*range(rank), -1):
        yield shapes.expanded(axis)
    yield shapes.spread((rank, rank + 1), weight("new axis"))
    for axis, size in enumerate(dims):
        if size == 1:
            yield shapes.squeezed(axis)
    for one, other in combinations(range(rank), 2):
        yield shapes.swapped(one, other, weight("swapped where known"))
    texts = [screen.said(size) for size in dims]
    for first in reversed(range(rank - 1)):
        both = screen.said(dims[first] * dims[first + 1])
        merged = [*texts[:first], both, *texts[first + 2 :]]
        if None not in merged:
            yield shapes.reshaped(dims_text(t for t in merged if t is not None), weight("merged where known"))
