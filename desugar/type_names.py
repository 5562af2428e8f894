"""The parts of a type: names of sizes, shapes and dtypes, dimensions, and its whole shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lang import sweet
from ..lang.dtypes import DTYPES
from ..lang.node import Node
from ..lang.walk import walk

# The fields of a dimension that hold no values: callees, and the choices of a dtype.
_NO_VALUES = frozenset({"span", "callee", "choices"})


def size_names(expr: object) -> Iterable[sweet.Name]:
    """Return the names that a dimension uses as values: neither the functions that it calls, nor tensors whose dimensions it
    reads."""
    return (expr,) if isinstance(expr, sweet.Name) else _size_names(expr)  # most dimensions are names


def _size_names(expr: object) -> Iterator[sweet.Name]:
    for node in walk(expr, fields=_NO_VALUES, without=_is_no_size):
        if isinstance(node, sweet.Name):
            yield node
        elif isinstance(node, sweet.Splice):
            yield sweet.Name(node.name.span, node.name.name)


_NO_SIZES = frozenset({sweet.Attr, sweet.FnName, sweet.If, sweet.For, sweet.While, sweet.Lambda})


def _is_no_size(node: Node) -> bool:
    if type(node) is sweet.Call:
        return not isinstance(node.callee, sweet.Name)
    return type(node) in _NO_SIZES


def type_names(type_: sweet.Type) -> Iterator[sweet.Name]:
    """Yield the names of sizes, shapes and dtypes in a type, dtypes themselves left out."""
    if isinstance(type_, sweet.TensorType):
        shape = type_.shape
        for part in (*(shape.items if isinstance(shape, sweet.ListExpr) else (shape,)), type_.dtype):
            yield from (n for n in size_names(part) if n.name not in DTYPES)


def all_names(type_: sweet.Type | None) -> Iterator[sweet.Name]:
    """Return the names in a type, its tuples included."""
    return (name for tensor in _tensor_types(type_) for name in type_names(tensor))


def dimensions(type_: sweet.Type | None) -> Iterator[sweet.Expr]:
    """Return the items between the brackets of a type."""
    shapes = (tensor.shape for tensor in _tensor_types(type_))
    return (item for shape in shapes if isinstance(shape, sweet.ListExpr) for item in shape.items)


def _tensor_types(type_: sweet.Type | None) -> Iterator[sweet.TensorType]:
    nodes = walk(type_, without=lambda node: isinstance(node, sweet.FnType))
    return (node for node in nodes if isinstance(node, sweet.TensorType))


def shape_of(type_: sweet.Type) -> sweet.Expr | None:
    """Return the shape of a type: a list, or an expression for the whole. `[*s]` is s, `[...]` and `?` are nothing."""
    shape = type_.shape if isinstance(type_, sweet.TensorType) else None
    if isinstance(shape, sweet.ListExpr) and len(shape.items) == 1:
        match shape.items[0]:
            case sweet.Splice(name=name):
                return sweet.Name(name.span, name.name)
            case sweet.Dots():
                return None
    return None if isinstance(shape, sweet.Unknown) else shape
