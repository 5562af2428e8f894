"""Fixes if an annotation and a tensor disagree: adapt the tensor, or correct the annotation."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...lang.dtypes import DTYPES
from ...lang.walk import walk
from ..case import Dims, Fix, FixCase, dims_text, inserted, replaced
from ..weights import GIVING_WAY, weight
from . import shapes
from .conditions import signature_names
from .literals import named_literal, rewrite, sources_of_axis
from .operands import wrap
from .shapes import Wanted, product


def fixes(case: FixCase) -> Iterator[Fix]:
    asked = case.subject.declared
    if asked is None or not case.subject.at or case.diagnostic.code.of_dtypes:
        return
    found = case.tree.of(asked.source).find(asked, sweet.TensorType, sweet.ListExpr)
    dims = found.shape if isinstance(found, sweet.TensorType) else found
    if case.callee:
        yield from _as_others(case)
    shape = _shape(case)
    scalar = case.tree.find(asked, sweet.NamedType)
    if scalar is not None and scalar.name in DTYPES and shape and not case.callee:
        sizes = dims_text(d if _speakable(d) else "?" for d in shape)
        text = f"Tensor({sizes}, {scalar.name})"
        yield case.fix(
            "declare its shape, a dtype alone is a scalar", [replaced(scalar, text)], GIVING_WAY, show=asked, guess=True
        )
    if isinstance(dims, sweet.ListExpr) and shape is not None:
        wanted = _wanted(case, dims)
        if wanted is not None:
            yield from _adapted(case, shape, wanted)
        yield from _annotation(case, dims, shape)
        yield from _declaration(case, dims)


def _shape(case: FixCase) -> Dims | None:
    operands = case.subject.operands
    found = case.operand(case.subject.at[0][0]) or (operands[0] if len(operands) == 1 else None)
    return found.shape if found is not None else None


def _wanted(case: FixCase, dims: sweet.ListExpr) -> Wanted | None:
    """Return the sizes that an annotation demands; those that it binds or computes are open."""
    if _is_open(dims):
        return None
    wanted: list[int | str | None] = []
    given = signature_names(case.function.fn) if case.function is not None and not case.callee else set()
    for axis, item in enumerate(dims.items):
        if isinstance(item, sweet.IntLit):
            wanted.append(item.value)
        elif all(n.name in given for n in walk(item) if isinstance(n, sweet.Name)) and product(item.span.text):
            wanted.append(item.span.text)
        elif case.subject.at[0][1] == axis and case.subject.wanted:
            wanted.append(case.subject.wanted[0])
        else:
            wanted.append(None)
    return tuple(wanted)


def _is_open(dims: sweet.ListExpr) -> bool:
    return any(isinstance(i, sweet.Splice | sweet.Dots) for i in dims.items)


def value_of(case: FixCase) -> sweet.Expr | None:
    """Return the expression whose value does not fit the annotation."""
    declared = case.subject.declared
    assert declared is not None
    if case.callee:
        return case.arguments.get(case.subject.at[0][0])
    let = case.tree.enclosing(declared, sweet.Let)
    if let is not None and let.type is not None and declared.within(let.type.span) and not let.is_tuple:
        return let.value
    carry = case.tree.enclosing(declared, sweet.Carry)
    if carry is not None and carry.type is not None and declared.within(carry.type.span):
        return carry.init if case.subject.is_first else _next(case, carry)
    decl = case.tree.enclosing(declared, sweet.FnDecl)
    if decl is not None and decl.fn.result is not None and declared.within(decl.fn.result.span):
        return decl.fn.body.result if decl.fn.body is not None else None
    return None


def _next(case: FixCase, carry: sweet.Carry) -> sweet.Expr | None:
    """Return the expression of a carry's next value, if it is in the last line of the turn."""
    loop = case.tree.loop_of(carry)
    if loop is None:
        return None
    many, result = len(loop.carries) + len(loop.stack) > 1, loop.body.result
    parts = result.items if isinstance(result, sweet.TupleExpr) and many else () if many else (result,)
    return next((p for c, p in zip(loop.carries, parts, strict=False) if c is carry), None)


def _matched(case: FixCase) -> tuple[sweet.ExprStmt, sweet.Name] | None:
    """Return the statement `match_shape(x, ...)` around a pattern, and its tensor."""
    assert case.subject.declared is not None
    statement = case.tree.enclosing(case.subject.declared, sweet.ExprStmt)
    match statement:
        case sweet.ExprStmt(value=sweet.Call(args=(sweet.Arg(value=sweet.Name() as name), *_))):
            return statement, name
    return None


def _adapted(case: FixCase, shape: Dims, wanted: Wanted) -> Iterator[Fix]:
    value = value_of(case)
    for change in shapes.adaptations(shape, wanted):
        if value is not None:
            yield wrap(case, value, change)
        elif not case.callee:
            yield from _bound_again(case, change)


def _bound_again(case: FixCase, change: shapes.TensorChange) -> Iterator[Fix]:
    """Bind the name that `match_shape` takes again before it."""
    found = _matched(case)
    if found is None:
        return
    statement, name = found
    begin = statement.span.source.text.rfind("\n", 0, statement.span.start) + 1
    indent = statement.span.source.text[begin : statement.span.start]
    end = f"\n{indent}" if not indent.strip() else "; "
    line = f"let {name.name} = {change.before}{name.name}{change.after}"
    edit = inserted(statement.span, statement.span.start, line + end)
    yield Fix(f"{change.said(f'`{name.name}`')} before", (edit,), change.rank, line, change.guess, f"`{line}`")


# Fixes of the annotation


def _annotation(case: FixCase, dims: sweet.ListExpr, shape: Dims) -> Iterator[Fix]:
    axis = case.subject.at[0][1]
    elsewhere = dims.span.source is not case.tree.source
    if elsewhere or _is_open(dims) or (len(dims.items) != len(shape) and case.callee):
        return
    rank = (
        GIVING_WAY
        if case.diagnostic.severity == "error" and not case.diagnostic.code.is_unproved
        else weight("unproved")
    )
    show = case.subject.declared
    if len(dims.items) != len(shape):
        yield from _declared_rank(case, dims, shape, rank)
        return
    pairs = list(zip(dims.items, shape, strict=True))
    wrong = [(item, size) for item, size in pairs if isinstance(item, sweet.IntLit) and item.value != size]
    if len(wrong) > 1:
        edits = [replaced(item, str(size) if _speakable(size) else "?") for item, size in wrong]
        # An annotation with no size right was written for another tensor.
        all_wrong = len(wrong) == len(pairs) and rank == GIVING_WAY
        yield case.fix(
            "declare the sizes that it has", edits, weight("another") if all_wrong else rank, show=show, guess=True
        )
    if axis is not None and -len(shape) <= axis < len(shape):
        item, size = pairs[axis]
        literal = named_literal(case.tree, item, item.span)
        if literal is not None and isinstance(size, int):
            yield from rewrite(case, (literal,), size, rank)
        if _speakable(size):
            yield case.fix("declare the size that it has", [replaced(item, str(size))], rank, show=show, guess=True)


def _declared_rank(case: FixCase, dims: sweet.ListExpr, shape: Dims, rank: int) -> Iterator[Fix]:
    for position, texts in enumerate(_of_rank(dims, shape)):
        if shape and set(texts) == {"?"}:
            continue  # nobody declares a shape of unknown sizes only
        edit = replaced(dims, dims_text(texts))
        # A scalar is seldom declared by mistake.
        later = 2 * (not shape) + position
        said = "declare the rank that it has"
        yield case.fix(said, [edit], rank + later, show=case.subject.declared, guess=True)


def _of_rank(dims: sweet.ListExpr, shape: Dims) -> Iterator[tuple[int | str, ...]]:
    """Yield a tensor's sizes for a new annotation: as they are, or with the names that the annotation binds."""
    sizes = tuple(d if _speakable(d) else "?" for d in shape)
    yield sizes
    names = [item.name if isinstance(item, sweet.Name) else None for item in dims.items]
    if any(names):
        yield tuple(names[i] or d if i < len(names) else d for i, d in enumerate(sizes))


def _speakable(size: int | str) -> bool:
    """Whether a size can be written in a program."""
    return isinstance(size, int) or not any(part in size for part in ("?", "'", "min(", "max(", "."))


def _declaration(case: FixCase, dims: sweet.ListExpr) -> Iterator[Fix]:
    """Correct the size with which the tensor was declared or made."""
    axis = case.subject.at[0][1]
    matched = _matched(case) if not case.callee else None
    value = matched[1] if matched is not None else value_of(case)
    if value is None:
        return
    if axis is not None:
        literals = sources_of_axis(case.tree, value, axis)
        for rank, wanted in enumerate(case.subject.wanted):
            if isinstance(wanted, int) or wanted.isidentifier():
                yield from rewrite(
                    case, literals, wanted, weight("as declared") + rank, legal=len(case.subject.wanted) > 1
                )
    elif isinstance(value, sweet.Name) and all(isinstance(i, sweet.IntLit) for i in dims.items):
        bound = case.tree.binding(value.name, value.span)
        own = bound.type.shape if bound is not None and isinstance(bound.type, sweet.TensorType) else None
        if isinstance(bound, sweet.Param) and isinstance(own, sweet.ListExpr):
            what = f"declare `{value.name}` with the rank that is asked for"
            yield case.fix(what, [replaced(own, dims.span.text)], weight("declared rank"), show=bound.span, guess=True)


# Parameters that share their shape


def _as_others(case: FixCase) -> Iterator[Fix]:
    """Give one argument the shape of another for parameters that share it: `x : Tensor(s)` and `y : Tensor(s)`, or `[*s, c]`
    and `[*s]`."""
    decl = case.tree.function(case.callee)
    if decl is None:
        return
    named = [(p.name.name, p.type.shape) for p in decl.fn.params if isinstance(p.type, sweet.TensorType)]
    known = {name: case.shape(name) for name, _ in named}
    for name, pattern in reversed(named):
        for other, other_pattern in named:
            shape, theirs = known[name], known[other]
            if name == other or shape is None or theirs is None or name not in case.arguments:
                continue
            wanted = _shared(pattern, other_pattern, theirs)
            if wanted is not None:
                yield from _like(case, name, shape, wanted)


def _shared(pattern: sweet.Expr | None, other: sweet.Expr | None, theirs: Dims) -> Wanted | None:
    """Return a parameter's shape, as far as a shared name of sort Shape gives it from another parameter of known shape."""
    own, known = _parts(pattern), _parts(other)
    if own is None or known is None or own[1] != known[1]:
        return None
    before, _, after = known
    if len(theirs) < before + after:
        return None
    middle = theirs[before : len(theirs) - after]
    if own[0] == before and own[2] == after:
        return theirs
    return (None,) * own[0] + middle + (None,) * own[2]


def _parts(pattern: sweet.Expr | None) -> tuple[int, str, int] | None:
    """Return the Shape's name, with the number of dimensions before and after it."""
    if isinstance(pattern, sweet.Name):
        return 0, pattern.name, 0
    if isinstance(pattern, sweet.ListExpr):
        at = [i for i, item in enumerate(pattern.items) if isinstance(item, sweet.Splice)]
        if len(at) == 1:
            splice = pattern.items[at[0]]
            assert isinstance(splice, sweet.Splice)
            return at[0], splice.name.name, len(pattern.items) - at[0] - 1
    return None


def _like(case: FixCase, name: str, shape: Dims, wanted: Wanted) -> Iterator[Fix]:
    expr = case.arguments[name]
    for change in shapes.adaptations(shape, wanted):
        yield wrap(case, expr, change)
    if len(shape) != len(wanted):
        return
    for axis, (have, want) in enumerate(zip(shape, wanted, strict=True)):
        if want is not None and want != have and (isinstance(want, int) or want.isidentifier()):
            yield from rewrite(case, sources_of_axis(case.tree, expr, axis - len(shape)), want, weight("shared size"))
