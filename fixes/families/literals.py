"""Fixes of literal numbers: the one that a wrong size comes from becomes another number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...lang import sweet
from ...lang.node import replace
from ...lang.source import Span
from ...lang.walk import walk
from ...ops.registry import lookup
from ...simplify.known.values import SizeValue
from ...simplify.messages.subject import Held
from ..case import Fix, FixCase, replaced
from ..tree import TextTree, callee, is_reshape, keeps_shape
from ..weights import weight

_DEPTH = 12
_FARTHEST = 1000
# The kinds of parameters that give the whole shape of a result.
SHAPES = ("shape", "target")


def fixes(case: FixCase) -> Iterator[Fix]:
    if not is_reshape(case.callee):
        yield from _conflicting(case)
    yield from _passed(case)


# A size passed to a function


def _passed(case: FixCase) -> Iterator[Fix]:
    """Replace a number that a condition of the callee forbids by the nearest that it allows."""
    asked = case.asked
    if not isinstance(asked, Held):
        return
    for name, expr in case.arguments.items():
        if isinstance(expr, sweet.IntLit) and dict(asked.given).get(name) == SizeValue(expr.value):
            near = (expr.value + sign * step for step in range(1, _FARTHEST) for sign in (-1, 1))
            legal = (n for n in near if n >= 0 and asked.holds(name, n))
            for position, number in enumerate(islice(legal, 2)):
                edit = replaced(expr, str(number))
                fix = case.fix(f"write {number} for {expr.value}", [edit], weight("legal size") + position, guess=True)
                yield replace(fix, legal=number, legal_for=f"of `{name}`")


# A size traced to its literal


def _conflicting(case: FixCase) -> Iterator[Fix]:
    """Change the literal of one of two sizes that must be equal to the other."""
    places = [(name, axis) for name, axis in case.subject.at if axis is not None]
    sizes: list[tuple[str, int, int | str]] = []
    for name, axis in places:
        dims = case.shape(name)
        if dims is not None and -len(dims) <= axis < len(dims):
            sizes.append((name, axis, dims[axis]))
    yield from _alike(case, sizes)
    # A number written elsewhere does not restore rows that an earlier reshape mixed.
    mixed = any(_first_is_open(case, name, axis) for name, axis, _ in sizes)
    first = weight("number of mixed rows" if mixed else "number of a size")
    # The input is more likely right than a tensor made for it.
    ordered = sorted(sizes, key=lambda s: (s[0] == "x", -sizes.index(s)))
    for position, (name, axis, size) in enumerate(ordered):
        others = [s for n, a, s in sizes if (n, a) != (name, axis) and s != size]
        for wanted in dict.fromkeys([*case.subject.wanted, *others]):
            if isinstance(wanted, int) or wanted.isidentifier():
                several = wanted in case.subject.wanted and len(case.subject.wanted) > 1
                yield from _rewritten(case, name, axis, wanted, first + position, several)


def open_rows(given: dict[str, sweet.Expr]) -> tuple[sweet.Expr, sweet.Expr] | None:
    """Return the two entries of a reshape to `[-1, k]`, which may mix rows."""
    match given.get("shape"):
        case sweet.ListExpr(items=(sweet.Unary() as first, last)) if first.span.text == "-1":
            return first, last
    return None


def _first_is_open(case: FixCase, name: str, axis: int) -> bool:
    """Whether it is the first axis, and an earlier reshape changed the number of rows: `[-1, 3136]`."""
    expr, dims = case.arguments.get(name), case.shape(name)
    found = case.tree.upstream([expr]) if expr is not None and dims and axis in (0, -len(dims)) else ()
    return any(is_reshape(callee(n)) and open_rows(case.tree.arguments(n)) is not None for n in found)


def _rewritten(case: FixCase, name: str, axis: int, wanted: int | str, rank: int, several: bool) -> Iterator[Fix]:
    expr = case.arguments.get(name)
    if expr is not None:
        yield from rewrite(case, sources_of_axis(case.tree, expr, axis), wanted, rank, legal=several)
    dims = case.shape(name)
    if expr is not None and dims is not None and isinstance(wanted, int):
        from_the_end = axis if axis < 0 else axis - len(dims)
        for literal, size in scaled(case.tree, expr, from_the_end, wanted):
            yield from rewrite(case, (literal,), size, rank + 1)


def _alike(case: FixCase, sizes: list[tuple[str, int, int | str]]) -> Iterator[Fix]:
    """Change the same wrong size of several operands, as of the scale, bias, mean and variance of a normalisation."""
    if len(sizes) != 2 or len(case.shape(sizes[0][0]) or ()) != 1:
        return
    (name, _, wrong), (_, _, wanted) = sizes
    like = [o.name for o in case.subject.operands if o.shape == (wrong,) and o.dtype and o.name in case.arguments]
    literals = [n for o in like for n in sources_of_axis(case.tree, case.arguments[o], 0)]
    places = {n.span.start: n for n in literals}
    if len(like) < 2 or len(places) < len(like) or not (isinstance(wanted, int) or wanted.isidentifier()):
        return
    lines = tuple(dict.fromkeys(n.span.line for n in places.values()))
    what = f"write {wanted} for each {wrong}"
    edits = tuple(replaced(n, str(wanted)) for n in places.values())
    yield Fix(what, edits, weight("each number"), f"{what} {edits}", guess=True, lines=lines)


def scaled(
    tree: TextTree, expr: sweet.Expr, axis: int, wanted: int, depth: int = _DEPTH
) -> Iterator[tuple[sweet.Expr, int]]:
    """Yield the literals that an axis (counted from the end) is a multiple or a part of, through splits and flattened axes,
    each with its new value for `wanted`."""
    given = tree.arguments(expr)
    match expr:
        case sweet.Name(name=name):
            bound = tree.binding(name, expr.span)
            if depth > 0 and isinstance(bound, sweet.Let):
                yield from scaled(tree, bound.value, axis, wanted, depth - 1)
        case sweet.Binary(left=left, right=right):
            yield from (*scaled(tree, left, axis, wanted, depth - 1), *scaled(tree, right, axis, wanted, depth - 1))
        case sweet.Call() if keeps_shape(callee(expr)) and "x" in given:
            yield from scaled(tree, given["x"], axis, wanted, depth - 1)
        case sweet.Call() if isinstance(given.get("sections"), sweet.IntLit) and "x" in given:
            parts = given["sections"]
            assert isinstance(parts, sweet.IntLit)
            for literal in sources_of_axis(tree, given["x"], axis, depth):
                yield literal, wanted * parts.value


def rewrite(
    case: FixCase, literals: tuple[sweet.Expr, ...], wanted: int | str, rank: int, *, legal: bool = False
) -> Iterator[Fix]:
    """Write a size at all its literals, or also at all equal ones of the same list."""
    if not literals or literals[0].span.text == str(wanted):
        return
    first = literals[0]
    around = case.tree.parent(first)
    call = case.tree.parent(around) if isinstance(around, sweet.Arg) else None
    shown = around if isinstance(around, sweet.ListExpr) else call if isinstance(call, sweet.Call) else None
    line = first.span.line
    what = f"write {wanted} for the {first.span.text}"
    show = shown.span if shown is not None else first.span
    # A parameter's type is less likely wrong.
    given = any(isinstance(node, sweet.Param) for node in case.tree.above(first))
    rank += weight("of a parameter") * given
    given |= isinstance(around, sweet.Arg)
    fix = case.fix(what, [replaced(n, str(wanted)) for n in literals], rank, show=show, guess=given)
    yield replace(fix, lines=(line,), legal=wanted if legal and isinstance(wanted, int) else None)
    if isinstance(around, sweet.ListExpr):
        same = [i for i in around.items if i.span.text == first.span.text]
        if len(same) > 1:
            each = f"write {wanted} for each {first.span.text}"
            fix = case.fix(each, [replaced(i, str(wanted)) for i in same], rank, show=show, guess=given)
            yield replace(fix, lines=(line,))


def sources_of_axis(tree: TextTree, expr: sweet.Expr, axis: int, depth: int = _DEPTH) -> tuple[sweet.Expr, ...]:
    """Return the literals that give an axis of a tensor its size, if it can be traced: in the annotation of a `let` and in
    its value."""
    if depth == 0:
        return ()
    match expr:
        case sweet.Name(name=name):
            bound = tree.binding(name, expr.span)
            if bound is None:
                return ()
            found = _of_type(tree, bound.type, axis, expr.span)
            if not isinstance(bound, sweet.Let) or bound.is_tuple:
                return found
            made = sources_of_axis(tree, bound.value, axis, depth - 1)
            return (*found, *(n for n in made if not found or n.span.text == found[0].span.text))
        case sweet.Binary(left=left, right=right):
            found = sources_of_axis(tree, left, axis, depth - 1) if axis < 0 else ()
            return found or sources_of_axis(tree, right if axis < 0 else left, axis, depth - 1)
        case sweet.Call():
            return _of_call(tree, expr, axis, depth - 1)
    return ()


def _of_call(tree: TextTree, call: sweet.Call, axis: int, depth: int) -> tuple[sweet.Expr, ...]:
    name, given = callee(call), tree.arguments(call)
    row = lookup(name)
    if row is not None and "shape" in given and any(p.name == "shape" and p.kind in SHAPES for p in row.params):
        return _of_list(tree, given["shape"], axis, call.span)
    if keeps_shape(name) and "x" in given:
        return sources_of_axis(tree, given["x"], axis, depth)
    for made, param, operand_axis in row.made_of if row is not None else ():
        if made == axis and param in given:
            return sources_of_axis(tree, given[param], operand_axis, depth)
    if row is not None and row.made_of and "x" in given and axis != -1:
        return sources_of_axis(tree, given["x"], axis, depth)
    decl = tree.function(name)
    return _of_function(tree, decl.fn, given, axis, depth) if decl is not None else ()


def _of_function(
    tree: TextTree, fn: sweet.Fn, given: dict[str, sweet.Expr], axis: int, depth: int
) -> tuple[sweet.Expr, ...]:
    """Trace an axis through the annotations of a function: to a parameter of sort Size, or an axis of a tensor."""
    dim = _item(fn.result, axis)
    if not isinstance(dim, sweet.Name):
        return ()
    for param in fn.params:
        expr = given.get(param.name.name)
        if expr is None:
            continue
        if param.name.name == dim.name:
            return (expr,) if isinstance(expr, sweet.IntLit) else ()
        items = _items(param.type)
        for position, item in enumerate(items):
            if isinstance(item, sweet.Name) and item.name == dim.name:
                at = position if not any(isinstance(i, sweet.Splice) for i in items) else position - len(items)
                return sources_of_axis(tree, expr, at, depth)
    return ()


def _items(type_: sweet.Type | None) -> tuple[sweet.Expr, ...]:
    shape = type_.shape if isinstance(type_, sweet.TensorType) else None
    return shape.items if isinstance(shape, sweet.ListExpr) else ()


def _item(type_: sweet.Type | None, axis: int) -> sweet.Expr | None:
    items = _items(type_)
    if any(isinstance(i, sweet.Splice | sweet.Dots) for i in items[: axis + 1 if axis >= 0 else 0]):
        axis -= len(items)
    return items[axis] if -len(items) <= axis < len(items) else None


def _of_type(tree: TextTree, type_: sweet.Type | None, axis: int, place: Span) -> tuple[sweet.Expr, ...]:
    found = _item(type_, axis)
    literal = None if found is None else named_literal(tree, found, place)
    return () if literal is None else (literal,)


def _of_list(tree: TextTree, shape: sweet.Expr, axis: int, place: Span) -> tuple[sweet.Expr, ...]:
    if isinstance(shape, sweet.ListExpr) and -len(shape.items) <= axis < len(shape.items):
        literal = named_literal(tree, shape.items[axis], place)
        return () if literal is None else (literal,)
    return ()


def named_literal(tree: TextTree, expr: sweet.Expr, place: Span) -> sweet.Expr | None:
    """Return a literal, or the one bound to a name of a size; arithmetic of literals counts as one."""
    if isinstance(expr, sweet.Name):
        bound = tree.binding(expr.name, place)
        value = bound.value if isinstance(bound, sweet.Let) else None
        return value if isinstance(value, sweet.IntLit) else None
    if all(isinstance(n, sweet.IntLit | sweet.Binary) for n in walk(expr)):
        return expr
    return None
