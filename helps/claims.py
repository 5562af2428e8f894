"""Mends where an annotation and a tensor disagree: the tensor is adapted, or the annotation says what is there."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..lang.diagnostics import Operand
from ..lang.node import Node
from ..lang.source import Span
from . import shapes
from .case import Case, Dims, Mend, dims_text, inserted, replaced
from .literals import named_literal, rewrite, source_of_axis
from .operands import wrap
from .shapes import Wanted


def mends(case: Case) -> Iterator[Mend]:
    if case.subject.declared is None or case.diagnostic.code == "E313":
        return
    asked = case.tree.find(case.subject.declared, sweet.TensorType, sweet.ListExpr)
    dims = asked.shape if isinstance(asked, sweet.TensorType) else asked
    found = _operand(case)
    if not isinstance(dims, sweet.ListExpr) or found is None or found.shape is None:
        return
    wanted = _wanted(case, dims)
    if wanted is not None:
        yield from _adapted(case, found.shape, wanted)
    if case.callee:
        yield from _missing_flatten(case, found.shape)
    yield from _annotation(case, dims, found.shape)
    yield from _declaration(case, found.shape, dims)


def _operand(case: Case) -> Operand | None:
    if not case.subject.at:
        return None
    name = case.subject.at[0][0]
    return case.operand(name) or (case.subject.operands[0] if len(case.subject.operands) == 1 else None)


def _wanted(case: Case, dims: sweet.ListExpr) -> Wanted | None:
    """The sizes that an annotation asks for; those that it binds or computes are open."""
    if any(isinstance(i, sweet.Splice | sweet.Dots) for i in dims.items):
        return _spliced(case, dims)
    wanted: list[int | str | None] = []
    for axis, item in enumerate(dims.items):
        if isinstance(item, sweet.IntLit):
            wanted.append(item.value)
        elif case.subject.at[0][1] == axis and case.subject.wanted:
            wanted.append(case.subject.wanted[0])
        else:
            wanted.append(None)
    return tuple(wanted)


def _spliced(case: Case, dims: sweet.ListExpr) -> Wanted | None:
    """`[*s, c]` where another operand says what s is: as many axes as that one has."""
    found = [o for o in case.subject.operands if o.name != case.subject.at[0][0] and o.shape is not None and o.dtype]
    if not found or found[0].shape is None:
        return None
    return (None,) * len(found[0].shape)


def _value(case: Case) -> sweet.Expr | None:
    """The expression whose value is too much or too little for the annotation."""
    name = case.subject.at[0][0]
    if case.callee:
        return case.arguments.get(name)
    assert case.subject.declared is not None
    let = case.tree.enclosing(case.subject.declared, sweet.Let)
    if let is not None and let.type is not None and _within(case.subject.declared, let.type.span) and not let.is_tuple:
        return let.value
    decl = case.tree.enclosing(case.subject.declared, sweet.FnDecl)
    if decl is not None and decl.fn.result is not None and _within(case.subject.declared, decl.fn.result.span):
        return decl.fn.body.result if decl.fn.body is not None else None
    return None


def _adapted(case: Case, shape: Dims, wanted: Wanted) -> Iterator[Mend]:
    value = _value(case)
    for change in shapes.adaptations(shape, wanted):
        if value is not None:
            yield wrap(case, value, change)
        elif not case.callee:
            yield from _bound_again(case, change)


def _bound_again(case: Case, change: shapes.Change) -> Iterator[Mend]:
    """`match_shape` takes a name: it is bound again before."""
    assert case.subject.declared is not None
    statement = case.tree.enclosing(case.subject.declared, sweet.ExprStmt)
    match statement:
        case sweet.ExprStmt(value=sweet.Call(args=(sweet.Arg(value=sweet.Name(name=name)), *_))):
            text = statement.span.source.text
            begin = text.rfind("\n", 0, statement.span.start) + 1
            indent = text[begin : statement.span.start]
            end = f"\n{indent}" if not indent.strip() else "; "
            line = f"let {name} = {change.before}{name}{change.after}"
            what = "reshape" if change.what.startswith("reshape") else change.what
            edit = inserted(statement.span, statement.span.start, line + end)
            yield Mend(f"{what} `{name}` before: `{line}`", (edit,), change.rank, line)


# The annotation gives way


def _annotation(case: Case, dims: sweet.ListExpr, shape: Dims) -> Iterator[Mend]:
    axis = case.subject.at[0][1]
    if any(isinstance(i, sweet.Splice | sweet.Dots) for i in dims.items):
        return
    if len(dims.items) != len(shape):
        text = dims_text(d if _speakable(case, d) else "?" for d in shape)
        yield case.mend("declare the rank that it has", [replaced(dims, text)], 41, show=case.subject.declared)
        return
    differing = [
        (item, size)
        for item, size in zip(dims.items, shape, strict=True)
        if isinstance(item, sweet.IntLit) and item.value != size
    ]
    if len(differing) > 1 or (differing and axis is None):
        edits = [replaced(item, str(size) if _speakable(case, size) else "?") for item, size in differing]
        what = "declare the sizes that it has"
        yield case.mend(what, edits, 42, show=case.subject.declared)
    if axis is not None and -len(shape) <= axis < len(shape):
        item, size = dims.items[axis], shape[axis]
        literal = named_literal(case.tree, item, item.span)
        if literal is not None and isinstance(size, int):
            yield from rewrite(case, literal, size, 42)
        if _speakable(case, size):
            edit = replaced(item, str(size))
            yield case.mend("declare the size that it has", [edit], 42, show=case.subject.declared)


def _speakable(case: Case, size: int | str) -> bool:
    """Whether the names of a size are names where the annotation stands."""
    if isinstance(size, int):
        return True
    return "?" not in size and "'" not in size


def _declaration(case: Case, shape: Dims, dims: sweet.ListExpr) -> Iterator[Mend]:
    """The tensor itself was declared (or made) with the wrong size."""
    name, axis = case.subject.at[0]
    value = _value(case)
    matched = None
    if value is None and not case.callee:
        assert case.subject.declared is not None
        matched = case.tree.enclosing(case.subject.declared, sweet.ExprStmt)
        if isinstance(matched, sweet.ExprStmt) and isinstance(matched.value, sweet.Call) and matched.value.args:
            value = matched.value.args[0].value
    if value is None:
        return
    if axis is not None:
        literal = source_of_axis(case.tree, value, axis)
        for rank, wanted in enumerate(case.subject.wanted):
            if literal is not None and (isinstance(wanted, int) or wanted.isidentifier()):
                yield from rewrite(case, literal, wanted, 36 + rank)
    elif isinstance(value, sweet.Name):
        bound = case.tree.binding(value.name, value.span)
        if isinstance(bound, sweet.Param) and isinstance(bound.type, sweet.TensorType):
            own = bound.type.shape
            if isinstance(own, sweet.ListExpr) and all(isinstance(i, sweet.IntLit) for i in dims.items):
                what = f"declare `{value.name}` with the rank that is asked for"
                yield case.mend(what, [replaced(own, dims.span.text)], 43, show=bound.span)


# What went wrong earlier


def _missing_flatten(case: Case, shape: Dims) -> Iterator[Mend]:
    """A tensor still has its spatial axes: flatten it before the first layer that takes rows."""
    found: list[sweet.Expr] = []
    stack: list[tuple[Node, int]] = [(a, 6) for a in case.arguments.values()]
    while stack:
        node, depth = stack.pop(0)
        match node:
            case sweet.Call(callee=sweet.FnName(), args=args) if args and depth:
                first = args[0].value
                if not isinstance(first, sweet.ListExpr | sweet.IntLit):
                    found.append(first)
                    stack.append((first, depth - 1))
            case sweet.Name(name=name) if depth:
                bound = case.tree.binding(name, node.span)
                if isinstance(bound, sweet.Let):
                    stack.append((bound.value, depth - 1))
    for distance, expr in enumerate(reversed(found)):
        yield wrap(case, expr, shapes.flattened(), 25 + min(distance, 5))


def _within(span: Span, outer: Span) -> bool:
    return span.source is outer.source and outer.start <= span.start and span.end <= outer.end
