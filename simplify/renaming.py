"""A statement of a callee to the same statement in its caller's names."""

from __future__ import annotations

from typing import Any

from ..lang import core
from ..lang.node import Node, replace
from ..lang.source import Span


def renamed(node: Any, names: dict[str, core.Value]) -> Any:
    """`names` maps the callee's names to what the caller calls them; the origins stay the callee's."""
    match node:
        case core.Origin() | core.Declared() | Span():
            return node
        case tuple():
            return tuple(renamed(item, names) for item in node)
        case core.SizeVar() | core.ShapeVar() | core.DTypeVar() | core.BoolVar() | core.Var() if node.name in names:
            new = names[node.name]
            return type(node)(node.span, new.name) if isinstance(new, core.Var) else new
        case core.Splice() if node.name in names:
            new = names[node.name]
            assert isinstance(new, core.Var | core.ShapeVar)
            return core.Splice(node.span, new.name)
        case core.DimOf() | core.RankOf() | core.DTypeOf() | core.ShapeOf() if node.tensor in names:
            new = names[node.tensor]
            assert isinstance(new, core.Var)
            return replace(node, tensor=new.name)
        case core.MatchShape():
            return replace(
                node,
                tensor=_name_of(names, node.tensor),
                binds=tuple(_name_of(names, b) for b in node.binds),
                dims=renamed(node.dims, names),
            )
        case core.Let():
            return replace(node, names=tuple(_name_of(names, n) for n in node.names), value=renamed(node.value, names))
        case Node():
            return replace(node, **{f: renamed(getattr(node, f), names) for f in node._compared})
    return node


def _name_of(names: dict[str, core.Value], name: str) -> str:
    new = names.get(name)
    return new.name if isinstance(new, core.Var | core.SizeVar | core.ShapeVar) else name
