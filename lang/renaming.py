"""A statement of a callee to the same statement in its caller's names."""

from __future__ import annotations

from typing import TypeVar

from . import core
from .node import PROVENANCE, Node, replace
from .walk import rewrite

T = TypeVar("T")
# Names in `known` belong to the checker.
_NOT_NAMED = PROVENANCE | core.KNOWN


def renamed(piece: T, names: dict[str, core.Value], *, annotated: bool = False) -> T:
    """Replace the callee's names by the caller's values in `names`; the origins stay the callee's. With `annotated`, also
    rename the tensors of the annotations inside."""

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
            node = replace(node, tensor=_name_of(names, node.tensor), binds=binds)
        if isinstance(node, core.Let):
            return replace(node, names=tuple(_name_of(names, n) for n in node.names))
        if isinstance(node, core.Carry | core.Param):
            return replace(node, name=_name_of(names, node.name))
        if annotated and isinstance(node, core.Assert | core.MatchShape) and node.origin.declared is not None:
            declared = replace(node.origin.declared, tensor=_name_of(names, node.origin.declared.tensor))
            return replace(node, origin=replace(node.origin, declared=declared))
        return node

    return rewrite(piece, change, _NOT_NAMED)


def _name_of(names: dict[str, core.Value], name: str) -> str:
    new = names.get(name)
    return new.name if isinstance(new, core.Var | core.SizeVar | core.ShapeVar) else name
