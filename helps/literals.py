"""Mends of the numbers that a program is made of: the literal that a wrong size comes from, the target of a reshape."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..lang.diagnostics import Edit
from ..lang.node import replace
from ..lang.source import Span
from .case import Case, Dims, Mend, count, replaced
from .edits import applied
from .tree import Tree, callee, nodes_below

_SHAPED = {"zeros", "ones", "full", "broadcast_to", "reshape"}
_KEEPING = {
    "cast", "relu", "softmax", "log_softmax", "log", "exp", "tanh", "sigmoid", "sqrt", "square", "abs", "gelu", "silu",
    "negative", "layer_norm", "rms_norm", "identity", "clip", "erf", "leaky_relu", "elu",
}  # fmt: skip
_DEPTH = 12


def mends(case: Case) -> Iterator[Mend]:
    if case.callee == "reshape":
        yield from _target(case)
    else:
        yield from _conflicting(case)
        yield from _earlier_reshape(case)


# A size is traced to the literal that it was written as


def _conflicting(case: Case) -> Iterator[Mend]:
    """Of two sizes that should be one, the literal of one becomes the other."""
    places = [(name, axis) for name, axis in case.subject.at if axis is not None]
    sizes: list[tuple[str, int, int | str]] = []
    for name, axis in places:
        dims = case.shape(name)
        if dims is not None and -len(dims) <= axis < len(dims):
            sizes.append((name, axis, dims[axis]))
    for position, (name, axis, size) in enumerate(reversed(sizes)):
        others = [s for n, a, s in sizes if (n, a) != (name, axis) and s != size]
        for wanted in dict.fromkeys([*case.subject.wanted, *others]):
            if isinstance(wanted, int) or wanted.isidentifier():
                several = wanted in case.subject.wanted and len(case.subject.wanted) > 1
                yield from _rewritten(case, name, axis, wanted, 32 + position, several)


def _rewritten(case: Case, name: str, axis: int, wanted: int | str, rank: int, several: bool) -> Iterator[Mend]:
    expr = case.arguments.get(name)
    if expr is not None:
        yield from rewrite(case, sources_of_axis(case.tree, expr, axis), wanted, rank, legal=several)


def rewrite(
    case: Case, literals: tuple[sweet.Expr, ...], wanted: int | str, rank: int, *, legal: bool = False
) -> Iterator[Mend]:
    """A size wherever it was written, or with it all of the same list that say the same."""
    if not literals or literals[0].span.text == str(wanted):
        return
    first = literals[0]
    around = case.tree.parent(first)
    call = case.tree.parent(around) if isinstance(around, sweet.Arg) else None
    shown = around if isinstance(around, sweet.ListExpr) else call if isinstance(call, sweet.Call) else None
    line = first.span.source.position(first.span.start)[0]
    what = f"write {wanted} for the {first.span.text} in line {line}"
    show = shown.span if shown is not None else first.span
    # What comes from outside is less likely to be what is wrong.
    given = any(isinstance(node, sweet.Param) for node in case.tree.above(first))
    rank += 2 * given
    mend = case.mend(what, [replaced(n, str(wanted)) for n in literals], rank, show=show, guess=given)
    yield replace(mend, legal=wanted) if legal and isinstance(wanted, int) else mend
    if isinstance(around, sweet.ListExpr):
        same = [i for i in around.items if i.span.text == first.span.text]
        if len(same) > 1:
            each = f"write {wanted} for each {first.span.text} in line {line}"
            yield case.mend(each, [replaced(i, str(wanted)) for i in same], rank, show=show, guess=given)


def sources_of_axis(tree: Tree, expr: sweet.Expr, axis: int, depth: int = _DEPTH) -> tuple[sweet.Expr, ...]:
    """The literals that an axis of a tensor has its size from, if it can be followed to some: in the annotation of a `let`
    and in what made the value."""
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


def _of_call(tree: Tree, call: sweet.Call, axis: int, depth: int) -> tuple[sweet.Expr, ...]:
    name, given = callee(call), tree.arguments(call)
    if name in _SHAPED and "shape" in given:
        return _of_list(tree, given["shape"], axis, call.span)
    if name in _KEEPING and "x" in given:
        return sources_of_axis(tree, given["x"], axis, depth)
    if name == "matmul" and axis == -1 and "y" in given:
        return sources_of_axis(tree, given["y"], -1, depth)
    if name == "linear" and axis == -1 and "weight" in given:
        return sources_of_axis(tree, given["weight"], 0, depth)
    if name in ("matmul", "linear") and "x" in given and axis != -1:
        return sources_of_axis(tree, given["x"], axis, depth)
    decl = tree.function(name)
    return _of_function(tree, decl.fn, given, axis, depth) if decl is not None else ()


def _of_function(
    tree: Tree, fn: sweet.Fn, given: dict[str, sweet.Expr], axis: int, depth: int
) -> tuple[sweet.Expr, ...]:
    """Through the annotations of a function: a parameter of sort Size, or an axis of a tensor's."""
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


def _of_type(tree: Tree, type_: sweet.Type | None, axis: int, place: Span) -> tuple[sweet.Expr, ...]:
    found = _item(type_, axis)
    literal = None if found is None else named_literal(tree, found, place)
    return () if literal is None else (literal,)


def _of_list(tree: Tree, shape: sweet.Expr, axis: int, place: Span) -> tuple[sweet.Expr, ...]:
    if isinstance(shape, sweet.ListExpr) and -len(shape.items) <= axis < len(shape.items):
        literal = named_literal(tree, shape.items[axis], place)
        return () if literal is None else (literal,)
    return ()


def named_literal(tree: Tree, expr: sweet.Expr, place: Span) -> sweet.Expr | None:
    """A literal, or the one that a name of a size was given; arithmetic of literals counts as one."""
    if isinstance(expr, sweet.Name):
        bound = tree.binding(expr.name, place)
        value = bound.value if isinstance(bound, sweet.Let) else None
        return value if isinstance(value, sweet.IntLit) else None
    if all(isinstance(n, sweet.IntLit | sweet.Binary) for n in nodes_below(expr)):
        return expr
    return None


# Reshape


def _target(case: Case) -> Iterator[Mend]:
    target, dims, asked = case.arguments.get("shape"), case.shape("x"), case.shape("shape")
    if not isinstance(target, sweet.ListExpr) or dims is None or asked is None or len(asked) != len(target.items):
        return
    for position, (item, size) in enumerate(zip(target.items, asked, strict=True)):
        rest = (*asked[:position], *asked[position + 1 :])
        if size == -1 or size in dims:
            continue
        fitting = list(_fitting(dims, rest))
        for wanted in fitting:
            if wanted != size:
                yield case.mend(f"write {wanted} for {item.span.text}", [replaced(item, str(wanted))], 15 + position)
        if -1 not in rest and (fitting or count(dims) is None or count(rest) is None):
            yield case.mend(f"write -1 for {item.span.text}", [replaced(item, "-1")], 28 + position)
    yield from _heads(case, target)
    yield from _operand(case, dims, asked)
    if len(asked) == 2:
        first = case.arguments["x"].span.text
        edit = Edit(target.span, f"[{dims[0]}, -1]" if dims and isinstance(dims[0], int) else "[-1]")
        if dims and isinstance(dims[0], int) and len(first) < 40:
            yield case.mend("keep the first axis", [edit], 30)


def _operand(case: Case, dims: Dims, asked: Dims) -> Iterator[Mend]:
    """The tensor could have another size instead."""
    for axis, size in enumerate(dims):
        for wanted in _fitting(asked, (*dims[:axis], *dims[axis + 1 :])) if -1 not in asked else ():
            if isinstance(size, int) and isinstance(wanted, int) and wanted != size:
                literals = sources_of_axis(case.tree, case.arguments["x"], axis - len(dims))
                yield from rewrite(case, literals, wanted, 34)


def _earlier_reshape(case: Case) -> Iterator[Mend]:
    """`[-1, 3136]` took elements of other rows: the first axis is to be what it should be, and the -1 comes last."""
    wanted = [*case.subject.wanted, *(s for o in case.subject.operands if o.shape for s in o.shape[:1])]
    named = [w for w in dict.fromkeys(wanted) if isinstance(w, str) and w.isidentifier()]
    for node in case.tree.upstream([*case.arguments.values(), *_result(case)]):
        target = case.tree.arguments(node).get("shape") if callee(node) == "reshape" else None
        match target:
            case sweet.ListExpr(items=(sweet.Unary() as first, last)) if first.span.text == "-1":
                for name in named[:2]:
                    edit = Edit(first.span.to(last.span), f"{name}, -1")
                    yield case.mend(f"keep {name} rows", [edit], 29, show=node.span)


def _result(case: Case) -> Iterator[sweet.Expr]:
    """The result of the function around, if it is what the diagnostic is about."""
    declared, decl = case.subject.declared, case.function
    if not case.callee and declared is not None and decl is not None and decl.fn.body is not None:
        result = decl.fn.body.result
        if result is not None and decl.fn.result is not None and decl.fn.result.span.start <= declared.start:
            yield result


def _heads(case: Case, target: sweet.ListExpr) -> Iterator[Mend]:
    """`[b, t, 8, 60 // 8]`: another number that divides, wherever it stands."""
    for item in target.items:
        match item:
            case sweet.Binary(op="//", left=sweet.IntLit(value=total), right=sweet.IntLit(value=now)) if total > 0:
                same = [n for n in nodes_below(target) if isinstance(n, sweet.IntLit) and n.value == now]
                divisors = sorted((d for d in range(1, total + 1) if total % d == 0), key=lambda d: abs(d - now))
                for rank, divisor in enumerate(divisors[:2] if len(same) > 1 and total < 100_000 else ()):
                    start = target.span.start
                    inner = [
                        Edit(Span(n.span.source, n.span.start - start, n.span.end - start), str(divisor)) for n in same
                    ]
                    edit = replaced(target, applied(target.span.text, inner))
                    yield replace(case.mend(f"write {divisor} for {now}", [edit], 14 + rank), legal=divisor)


def _fitting(dims: Dims, rest: Dims) -> Iterator[int | str]:
    """What the entry beside `rest` may be, so that a tensor of these dimensions fits."""
    known = [d for d in rest if d != -1]
    left = list(dims)
    for d in list(known):
        if d in left:
            left.remove(d)
            known.remove(d)
    total, asked = count(left), count(known)
    if total is not None and asked:
        if total % asked == 0 and -1 not in rest:
            yield total // asked
    elif len(left) == 1 and not known:
        yield left[0]
    if -1 in rest:
        tail = count(dims[1:])
        if tail is not None and asked and tail % asked == 0:
            yield tail // asked
