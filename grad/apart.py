"""Names for the shapes of tensors that are later needed only for their shapes, so that the tensors need not be kept."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import core
from ..lang.node import Node
from ..lang.walk import rewrite, walk
from .flat import Flat, tensors

_Asked = core.ShapeOf | core.DTypeOf | core.DimOf
_SORTS = {core.ShapeOf: core.SHAPE, core.DTypeOf: core.DTYPE, core.DimOf: core.SIZE}


def shapes_apart(flat: Flat, stmts: list[core.Stmt]) -> list[core.Stmt]:
    """Return the statements, with a tensor's shape, dtype or size bound right after the tensor if it is read after the last
    use."""
    made = {n: i for i, s in enumerate(stmts) if isinstance(s, core.Let) for n in s.names}
    last = {n: i for i, s in enumerate(stmts) for n in tensors(s)}
    named: dict[_Asked, str] = {}
    more: dict[int, list[core.Stmt]] = {}
    for i, stmt in enumerate(stmts):
        for asked in _asked(stmt):
            name = asked.tensor
            if name in made and last.get(name, made[name]) < i and asked not in named:
                sort = _SORTS[type(asked)]
                named[asked] = flat.bind("of''", sort)
                let = core.Let(asked.span, (named[asked],), False, sort, asked)
                more.setdefault(made[name], []).append(let)
    found: list[core.Stmt] = []
    for i, stmt in enumerate(stmts):

        def changed(node: Node, i: int = i) -> Node:
            if not isinstance(node, _Asked) or node not in named or last.get(node.tensor, made[node.tensor]) >= i:
                return node
            return core.variable(node.span, named[node], _SORTS[type(node)])

        found += [rewrite(stmt, changed) if isinstance(stmt, core.Let) else stmt, *more.get(i, ())]
    return found


def _asked(stmt: core.Stmt) -> Iterator[_Asked]:
    """Yield the shapes and dtypes that a statement reads, and the sizes that it reads in any case: only then must the axis
    exist."""
    if not isinstance(stmt, core.Let):
        return
    is_sure = not isinstance(stmt.value, core.If | core.Loop)
    for node in walk(stmt.value):
        if isinstance(node, core.ShapeOf | core.DTypeOf) or (is_sure and isinstance(node, core.DimOf)):
            yield node
