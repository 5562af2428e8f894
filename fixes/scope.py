"""From a function and a place in it to the names of tensors and of sizes there, and the number of uses of each."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..lang import sweet
from ..lang.source import Span
from ..lang.walk import walk


class FixScope(NamedTuple):
    """`tensors` with their declared shapes, or None; `used` counts the uses in a body, but not in types of parameters."""

    tensors: dict[str, sweet.ListExpr | None]
    sizes: tuple[str, ...]
    used: Counter[str]


def scope_at(decl: sweet.FnDecl, place: Span, used: Counter[str]) -> FixScope:
    tensors: dict[str, sweet.ListExpr | None] = {}
    sizes: dict[str, None] = {}
    for param in decl.fn.params:
        if isinstance(param.type, sweet.TensorType):
            tensors[param.name.name] = _shape(param.type)
            sizes |= dict.fromkeys(_bound_sizes(param.type))
        elif isinstance(param.type, sweet.NamedType) and param.type.name == "Size":
            sizes[param.name.name] = None
    for block in [n for n in walk(decl.fn.body) if isinstance(n, sweet.Block) and place.within(n.span)]:
        for let in block.stmts:
            if isinstance(let, sweet.Let) and let.span.end <= place.start:
                _add(let, tensors, sizes)
    for loop in [n for n in walk(decl.fn.body) if isinstance(n, sweet.For) and place.within(n.body.span)]:
        sizes[loop.index.name] = None
        tensors |= {c.name.name: _shape(c.type) for c in loop.carries if isinstance(c.type, sweet.TensorType)}
    tensors.pop("_", None)
    return FixScope(tensors, tuple(sizes), used)


def _add(let: sweet.Let, tensors: dict[str, sweet.ListExpr | None], sizes: dict[str, None]) -> None:
    """Add the names of a `let`, by its value if nothing is declared."""
    if let.is_tuple:
        tensors |= dict.fromkeys(n.name for n in let.names)
    elif isinstance(let.type, sweet.NamedType):
        sizes |= dict.fromkeys([let.names[0].name] if let.type.name == "Size" else [])
    elif isinstance(let.type, sweet.TensorType):
        tensors[let.names[0].name] = _shape(let.type)
    elif any(_is_tensor(n, tensors) for n in walk(let.value)):
        tensors[let.names[0].name] = None


def _is_tensor(node: object, tensors: dict[str, sweet.ListExpr | None]) -> bool:
    return isinstance(node, sweet.Call | sweet.Index) or isinstance(node, sweet.Name) and node.name in tensors


def _shape(type_: sweet.TensorType) -> sweet.ListExpr | None:
    return type_.shape if isinstance(type_.shape, sweet.ListExpr) else None


def _bound_sizes(type_: sweet.TensorType) -> list[str]:
    shape = _shape(type_)
    found = [n.name for n in walk(shape) if isinstance(n, sweet.Name)] if shape is not None else []
    return [name for name in found if not name.startswith("_")]
