"""A statement of a callee to the same statement in its caller's names."""

from __future__ import annotations

from ..lang import core
from ..lang.node import Node, replace
from ..lang.walk import rewrite


def renamed(stmt: core.Stmt, names: dict[str, core.Value]) -> core.Stmt:
    """`names` maps the callee's names to what the caller calls them; the origins stay the callee's."""

    def change(node: Node) -> Node:
        if isinstance(node, core.Variable) and node.name in names:
            new = names[node.name]
            return type(node)(node.span, new.name) if isinstance(new, core.Var) else new
        if isinstance(node, core.Splice):
            return replace(node, name=_name_of(names, node.name))
        if isinstance(node, core.DimOf | core.RankOf | core.DTypeOf | core.ShapeOf):
            return replace(node, tensor=_name_of(names, node.tensor))
        if isinstance(node, core.MatchShape):
            binds = tuple(_name_of(names, b) for b in node.binds)
            return replace(node, tensor=_name_of(names, node.tensor), binds=binds)
        if isinstance(node, core.Let):
            return replace(node, names=tuple(_name_of(names, n) for n in node.names))
        return node

    return rewrite(stmt, change)


def _name_of(names: dict[str, core.Value], name: str) -> str:
    new = names.get(name)
    return new.name if isinstance(new, core.Var | core.SizeVar | core.ShapeVar) else name
