"""Annotations and signatures of the sweet tree to the record that the core keeps of them: spans, names and sizes."""

from __future__ import annotations

from collections.abc import Mapping

from ..lang import core, sweet
from ..lang.source import Span
from ..lang.walk import walk
from .levels import SIZE_SIGNS
from .spelt import Spelt, names_in
from .type_names import size_names


def annotation(type_: sweet.Type) -> core.Annotation:
    match type_:
        case sweet.TensorType(shape=shape, dtype=dtype):
            items = shape.items if isinstance(shape, sweet.ListExpr) else None
            written, of_dtype = (None if e is None else core.Written(e.span, names_in(e)) for e in (shape, dtype))
            names = tuple(dict.fromkeys(n for w in (written, of_dtype) if w is not None for n in w.names))
            dims = None if items is None else tuple(map(dimension, items))
            return core.Annotation(type_.span, "tensor", names, _shape_names(type_), written, dims, of_dtype)
        case sweet.TupleType(items=types):
            return core.Annotation(
                type_.span, "tuple", names_in(type_), _shape_names(type_), items=tuple(map(annotation, types))
            )
        case sweet.FnType():
            return core.Annotation(type_.span, "function", names_in(type_), _shape_names(type_))
        case sweet.NamedType():
            return core.Annotation(type_.span, "name", ())


def dimension(expr: sweet.Expr) -> core.Written:
    if isinstance(expr, sweet.Name):  # most dimensions are names
        return core.Written(expr.span, (expr.name,), core.SizeVar(expr.span, expr.name))
    names = () if isinstance(expr, sweet.Splice) else tuple(dict.fromkeys(n.name for n in size_names(expr)))
    return core.Written(expr.span, names, size_of(expr))


def size_of(expr: sweet.Expr) -> core.SizeExpr | None:
    """Return a size that consists of numbers, names and arithmetic; None for other expressions."""
    match expr:
        case sweet.IntLit(value=value):
            return core.SizeLit(expr.span, value)
        case sweet.Name(name=name):
            return core.SizeVar(expr.span, name)
        case sweet.Binary(op=op) if op in SIZE_SIGNS:
            left, right = size_of(expr.left), size_of(expr.right)
            return None if left is None or right is None else core.operation(expr.span, op, left, right)
    return None


def declaration(decl: sweet.FnDecl, defaults: Mapping[str, core.Value], body: Spelt) -> core.Declaration:
    """Return the record of a signature. `defaults` are the values of the literal defaults, by parameter."""
    fn = decl.fn
    return core.Declaration(
        tuple(_param(p, defaults.get(p.name.name)) for p in fn.params),
        tuple(core.Written(c.span, names_in(c)) for c in fn.where),
        None if fn.result is None else annotation(fn.result),
        None if decl.prefixes or fn.body is None else Span(decl.span.source, decl.name.span.start, fn.body.span.start),
        None if fn.body is None else tuple(dict.fromkeys(body.names)),
        tuple(dict.fromkeys(body.bound)),
    )


def _param(param: sweet.Param, value: core.Value | None) -> core.DeclaredParam:
    type_ = None if param.type is None else annotation(param.type)
    default = None if param.default is None else core.Default(param.default.span, value)
    return core.DeclaredParam(param.span, param.name.name, type_, default)


def _shape_names(type_: sweet.Type) -> tuple[str, ...]:
    nodes = list(walk(type_))
    whole = [n.shape.name for n in nodes if isinstance(n, sweet.TensorType) and isinstance(n.shape, sweet.Name)]
    return (*whole, *(n.name.name for n in nodes if isinstance(n, sweet.Splice)))
