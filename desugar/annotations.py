"""Annotated values to annotated tensors: tuples are unpacked first."""

from __future__ import annotations

from ..lang import core, sweet
from ..lang.node import replace
from ..lang.source import Span
from .binding import AnnotatedTensor
from .code import FunctionCode, part_name
from .sorts import says_nothing


def leaves(
    code: FunctionCode,
    name: str,
    type_: sweet.Type,
    kind: str,
    subject: core.Called,
    span: Span,
    position: int | None = None,
) -> list[AnnotatedTensor]:
    """Return the tensors with annotations in a value called `name`; a tuple gets a `let (x_0, x_1) = x` first."""
    match type_:
        case sweet.TensorType():
            return [] if says_nothing(type_) else [AnnotatedTensor(span, name, type_, kind, subject, position)]
        case sweet.NamedType():
            if type_.name in ("Size", "Shape", "DType", "Bool"):
                return []
            return [AnnotatedTensor(span, name, type_, kind, subject, position)]
        case sweet.FnType():
            return []
        case sweet.TupleType():
            return _of_tuple(code, name, type_, kind, subject, position)


def _of_tuple(
    code: FunctionCode, name: str, type_: sweet.TupleType, kind: str, subject: core.Called, position: int | None
) -> list[AnnotatedTensor]:
    if not any(_says_something(t) for t in type_.items):
        return []
    names = tuple(code.fresh(part_name(name, i)) for i in range(len(type_.items)))
    code.emit(core.Let(type_.span, names, True, None, core.Var(type_.span, name)))
    found: list[AnnotatedTensor] = []
    for i, (part, item) in enumerate(zip(names, type_.items, strict=True)):
        found += leaves(code, part, item, kind, replace(subject, items=(*subject.items, i)), item.span, position)
    return found


def _says_something(type_: sweet.Type) -> bool:
    match type_:
        case sweet.TensorType():
            return not says_nothing(type_)
        case sweet.NamedType():
            return type_.name not in ("Size", "Shape", "DType", "Bool")
        case sweet.TupleType():
            return any(_says_something(t) for t in type_.items)
        case sweet.FnType():
            return False
