"""Fixes of a reshape: its target, its operand, and rows that an earlier one mixed up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import isqrt

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.node import replace
from ...lang.source import Span
from ...lang.walk import walk
from ...ops.model import Trait
from ...ops.requirements import Reordered
from ..case import Dims, Fix, FixCase, count, dims_text, replaced
from ..edits import applied
from ..tree import callee, factors, has, is_reshape
from ..weights import weight
from . import shapes
from .literals import open_rows, rewrite, sources_of_axis

# More parts can be merged in too many ways.
_MOST_PARTS = 6
# Of more sizes too many pairs can be swapped.
_MOST_SIZES = 4


def fixes(case: FixCase) -> Iterator[Fix]:
    if isinstance(case.asked, Reordered):
        yield from _reordered(case, case.asked)
    elif is_reshape(case.callee):
        yield from _target(case)
    else:
        yield from _earlier_reshape(case)
        yield from _grouped(case)
        yield from _exchanged(case)


def _reordered(case: FixCase, asked: Reordered) -> Iterator[Fix]:
    """Move axes, between reshapes that split and join them, where a reshape was meant to do that."""
    x, target = case.arguments.get("x"), case.arguments.get("shape")
    items = target.items if isinstance(target, sweet.ListExpr | sweet.TupleExpr) else ()
    if case.call is None or x is None or target is None:
        return
    split = [items[s].span.text if isinstance(s, int) and s < len(items) else str(s) for s in asked.split or ()]
    made = x.span.text if asked.split is None else f"@reshape({x.span.text}, {dims_text(split)})"
    moved = [i for i, at in enumerate(asked.order) if at != i]
    if len(moved) == 2 < len(asked.order):
        of_end = len(asked.order) * any(isinstance(i, sweet.Splice) for i in items)
        made = f"@swapaxes({made}, {moved[0] - of_end}, {moved[1] - of_end})"
    else:
        made = f"@permute_dims({made}, {dims_text(map(str, asked.order))})"
    made = f"@reshape({made}, {target.span.text})" if asked.joins else made
    fix = case.fix("move the axes", [replaced(case.call, made)], 0, guess=True)
    yield replace(fix, shown=f"`{made}`")


def _target(case: FixCase) -> Iterator[Fix]:
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
                yield case.fix(
                    f"write {wanted} for {item.span.text}",
                    [replaced(item, str(wanted))],
                    weight("entry") + position,
                )
        yield from _side(case, target, dims, asked, position)
        if -1 not in rest and (fitting or count(dims) is None or count(rest) is None):
            yield case.fix(f"write -1 for {item.span.text}", [replaced(item, "-1")], weight("open entry") + position)
    yield from _heads(case, target)
    yield from _operand(case, dims, asked)
    if len(asked) == 2:
        first = case.arguments["x"].span.text
        edit = Edit(target.span, f"[{dims[0]}, -1]" if dims and isinstance(dims[0], int) else "[-1]")
        if dims and isinstance(dims[0], int) and len(first) < 40:
            yield case.fix("keep the first axis", [edit], weight("first axis kept"))


def _side(case: FixCase, target: sweet.ListExpr, dims: Dims, asked: Dims, position: int) -> Iterator[Fix]:
    """Write the right number for equal height and width."""
    size = asked[position]
    same = [item for item, d in zip(target.items, asked, strict=True) if d == size]
    if not isinstance(size, int) or len(same) != 2 or same[0] is not target.items[position]:
        return
    rest = [d for d in asked if d != size]
    total, known = count(shapes.without(dims, rest)), count(shapes.without(rest, dims))
    if total is None or known is None or known < 1 or total % known:  # a -1 and smaller numbers are no sizes
        return
    side = isqrt(total // known)
    if side > 1 and side * side * known == total:
        edits = [replaced(item, str(side)) for item in same]
        yield case.fix(f"write {side} for each {same[0].span.text}", [_as_one(target, edits)], weight("each side"))


def _as_one(node: sweet.Expr, edits: list[Edit]) -> Edit:
    """Return edits inside an expression as one edit of the whole."""
    start = node.span.start
    inner = [Edit(Span(e.span.source, e.span.start - start, e.span.end - start), e.text) for e in edits]
    return replaced(node, applied(node.span.text, inner))


def _operand(case: FixCase, dims: Dims, asked: Dims) -> Iterator[Fix]:
    """Change the size of the operand instead."""
    target = case.arguments["shape"]
    if any(isinstance(n, sweet.Binary) and n.op == "//" for n in walk(target)):
        return  # nobody chose the result of a division as a size
    for axis, size in enumerate(dims):
        for wanted in _fitting(asked, (*dims[:axis], *dims[axis + 1 :])) if -1 not in asked else ():
            if isinstance(size, int) and isinstance(wanted, int) and wanted != size:
                literals = sources_of_axis(case.tree, case.arguments["x"], axis - len(dims))
                yield from rewrite(case, literals, wanted, weight("operand of a reshape"))


def _earlier_reshape(case: FixCase) -> Iterator[Fix]:
    """Keep the first axis, with the -1 last, in an earlier `[-1, 3136]`, which took elements of other rows."""
    wanted = [*case.subject.wanted, *(s for o in case.subject.operands if o.shape for s in o.shape[:1])]
    named = [w for w in dict.fromkeys(wanted) if isinstance(w, int) or w.isidentifier()]
    for node in _reshapes(case):
        rows = open_rows(case.tree.arguments(node))
        for name in named[:2] if rows is not None else ():
            assert rows is not None
            edit = Edit(rows[0].span.to(rows[1].span), f"{name}, -1")
            yield case.fix(f"keep {name} rows", [edit], weight("kept rows of a reshape"), show=node.span)


def _grouped(case: FixCase) -> Iterator[Fix]:
    """Merge other axes: `[b * t, v]` for `[b, t * v]`."""
    for node in _reshapes(case):
        target = case.tree.arguments(node).get("shape")
        items = target.items if isinstance(target, sweet.ListExpr) else ()
        written = [factor for item in items for factor in factors(item)]
        parts = [f"({f.span.text})" if isinstance(f, sweet.Binary) else f.span.text for f in written]
        if target is None or len(parts) == len(items) or len(parts) > _MOST_PARTS:
            continue
        for cuts in combinations(range(1, len(parts)), len(items) - 1):
            groups = [" * ".join(parts[a:b]) for a, b in pairwise((0, *cuts, len(parts)))]
            yield case.fix("merge other axes", [Edit(target.span, dims_text(groups))], weight("merged"), show=node.span)


def _exchanged(case: FixCase) -> Iterator[Fix]:
    """Swap two sizes of `@reshape(x, [b, d, t])`: moving its axes fits equally well, and only the author knows which is
    meant. If axes are moved already, moving was meant, except for the parts of a split axis, which are neighbours."""
    for node, moved in _reshaped(case):
        target = case.tree.arguments(node).get("shape")
        texts = [item.span.text for item in target.items] if isinstance(target, sweet.ListExpr) else []
        for i, j in combinations(range(len(texts)), 2) if len(texts) <= _MOST_SIZES else ():
            order = list(texts)
            order[i], order[j] = texts[j], texts[i]
            assert target is not None
            if order != texts and (j == i + 1 or not moved):
                yield case.fix(
                    "order the sizes otherwise",
                    [Edit(target.span, dims_text(order))],
                    weight("sizes"),
                    show=node.span,
                )


def _reshaped(case: FixCase) -> Iterator[tuple[sweet.Expr, bool]]:
    """Yield the reshapes that the diagnostic is about, and whether their axes are moved afterwards."""
    moved = case.callee is not None and has(case.callee, Trait.MOVES_AXES)
    for node in (*case.arguments.values(), *_result(case)):
        if is_reshape(callee(node)):
            if case.callee:
                yield node, moved
        elif has(callee(node), Trait.MOVES_AXES):
            yield from ((n, True) for n in case.tree.arguments(node).values() if is_reshape(callee(n)))


def _reshapes(case: FixCase) -> Iterator[sweet.Call]:
    for node in case.tree.upstream([*case.arguments.values(), *_result(case)]):
        if is_reshape(callee(node)):
            yield node


def _result(case: FixCase) -> Iterator[sweet.Expr]:
    """Yield the result of the enclosing function, if the diagnostic is about it."""
    declared, decl = case.subject.declared, case.function
    if not case.callee and declared is not None and decl is not None and decl.fn.body is not None:
        result = decl.fn.body.result
        if result is not None and decl.fn.result is not None and decl.fn.result.span.start <= declared.start:
            yield result


def _heads(case: FixCase, target: sweet.ListExpr) -> Iterator[Fix]:
    """Write another divisor in `[b, t, 8, 60 // 8]`, wherever it stands."""
    for item in target.items:
        match item:
            case sweet.Binary(op="//", left=sweet.IntLit(value=total), right=sweet.IntLit(value=now)) if total > 0:
                same = [n for n in walk(target) if isinstance(n, sweet.IntLit) and n.value == now]
                declared = _declared_as(case, now)
                divisors = sorted((d for d in range(1, total + 1) if total % d == 0), key=lambda d: abs(d - now))
                for rank, divisor in enumerate(divisors[:2] if len(same) > 1 and total < 100_000 else ()):
                    edit = _as_one(target, [replaced(n, str(divisor)) for n in same])
                    edits = [edit, *(replaced(n, str(divisor)) for n in declared)]
                    what = f"write {divisor} for {'each ' * bool(declared)}{now}"
                    fix = replace(case.fix(what, edits, weight("number that divides") + rank), legal=divisor)
                    yield replace(fix, legal_for=f"for the {now}") if declared else fix


def _declared_as(case: FixCase, number: int) -> list[sweet.Expr]:
    """Return the dimensions of the function's result that are declared as the same number."""
    result = case.function.fn.result if case.function is not None else None
    shape = result.shape if isinstance(result, sweet.TensorType) else None
    items = shape.items if isinstance(shape, sweet.ListExpr) else ()
    return [item for item in items if isinstance(item, sweet.IntLit) and item.value == number]


def _fitting(dims: Dims, rest: Dims) -> Iterator[int | str]:
    """Yield the possible entries beside `rest` for which a tensor of these dimensions fits."""
    sizes = [d for d in rest if d != -1]
    left, known = shapes.without(dims, sizes), shapes.without(sizes, dims)
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
