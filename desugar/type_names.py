"""Types to what stands in them: the names of sizes, shapes and dtypes, the dimensions, the shape as it is meant."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..lang.dtypes import DTYPES
from ..lang.node import Node
from ..lang.source import Span


def size_names(expr: object) -> Iterator[sweet.Name]:
    """The names that a dimension speaks of as values: not the functions it calls, nor tensors asked for a dimension."""
    stack = [expr]
    while stack:
        node = stack.pop()
        match node:
            case sweet.Name():
                yield node
            case sweet.Splice():
                yield sweet.Name(node.name.span, node.name.name)
            case sweet.Attr() | sweet.FnName() | sweet.Call(callee=sweet.Attr()):
                pass
            case sweet.InClass():
                stack.append(node.item)
            case sweet.Call(callee=sweet.FnName()):
                pass
            case sweet.Call():
                stack.extend(a.value for a in reversed(node.args))
            case sweet.If() | sweet.For() | sweet.While() | sweet.Lambda():
                pass
            case Node():
                stack.extend(getattr(node, f) for f in reversed(node._fields) if f != "span")
            case tuple() if not isinstance(node, Span):
                stack.extend(reversed(node))


def type_names(type_: sweet.Type) -> Iterator[sweet.Name]:
    """The names of sizes, shapes and dtypes in a type, dtypes themselves left out."""
    if isinstance(type_, sweet.TensorType):
        yield from (n for n in size_names((type_.shape, type_.dtype)) if n.name not in DTYPES)


def all_names(type_: sweet.Type | None) -> Iterator[sweet.Name]:
    """The names in a type, its tuples included."""
    match type_:
        case sweet.TensorType():
            yield from type_names(type_)
        case sweet.TupleType():
            for item in type_.items:
                yield from all_names(item)


def dimensions(type_: sweet.Type | None) -> Iterator[sweet.Expr]:
    """What stands between the brackets of a type."""
    match type_:
        case sweet.TensorType(shape=sweet.ListExpr(items=items)):
            yield from items
        case sweet.TupleType():
            for item in type_.items:
                yield from dimensions(item)


def shape_of(type_: sweet.Type) -> sweet.Expr | None:
    """The shape of a type: a list, or an expression for the whole. `[*s]` is s, `[...]` and `?` are nothing."""
    shape = type_.shape if isinstance(type_, sweet.TensorType) else None
    if isinstance(shape, sweet.ListExpr) and len(shape.items) == 1:
        match shape.items[0]:
            case sweet.Splice(name=name):
                return sweet.Name(name.span, name.name)
            case sweet.Dots():
                return None
    return None if isinstance(shape, sweet.Unknown) else shape
