"""Fixes of two sizes that differ by a number, as `t - 1` and `t - 2`: a slice that cuts off too much, or is missing, or the
annotation."""

from __future__ import annotations

from collections.abc import Iterator

from ...desugar.written import size_of
from ...lang import sweet
from ...lang.diagnostics import RxError
from ...lang.node import Node, replace
from ...lang.parser import parse_expr
from ...lang.walk import children, walk
from ...ops.elsewhere_args import integer
from ...ops.model import Trait
from ...simplify.solver.term_sizes import written_size
from ...simplify.solver.terms import Size, var
from ..case import Fix, FixCase, replaced
from ..tree import has
from ..weights import weight

_MOST_NODES = 40
# An operand, its axis, and the size of that axis.
Place = tuple[str, int, int | str | None]


def fixes(case: FixCase) -> Iterator[Fix]:
    places = [(name, axis, case.size(name, axis)) for name, axis in case.subject.at if axis is not None]
    if len(places) == 2:
        yield from _not_shifted(case, places[0][0], places[1][0])
        yield from _not_shifted(case, places[1][0], places[0][0])
    if len(places) == 1:  # a parameter of a function has another size
        name, axis, own = places[0]
        for asked in [w for w in case.subject.wanted if _difference(own, w)]:
            yield from _declared(case, name, axis, own, asked)
    if len(places) != 2 or not case.callee:
        return
    (one, _, first), (other, _, second) = places
    by = _difference(first, second)
    if by:
        yield from _sliced(case, one, other, by)
        yield from _unsliced(case, places if by > 0 else places[::-1], abs(by))
        for (name, axis, size), wanted in ((places[1], first), (places[0], second)):
            yield from _declared(case, name, axis, size, wanted)


def _difference(one: int | str | None, other: int | str | None) -> int | None:
    """Return the first size minus the second; None if that is no number."""
    if isinstance(one, int) and isinstance(other, int):
        return one - other
    sizes = [_size(text) for text in (one, other) if isinstance(text, str)]
    if len(sizes) != 2 or sizes[0] is None or sizes[1] is None:
        return None
    found = sizes[0] - sizes[1]
    return found if isinstance(found, int) else None


def _size(text: str) -> Size | None:
    try:
        expr = parse_expr(text)
    except RxError:
        return None
    names = {n.name for n in walk(expr) if isinstance(n, sweet.Name)}
    return written_size(size_of(expr), {name: var(name, 0) for name in names})


def _sliced(case: FixCase, one: str, other: str, by: int) -> Iterator[Fix]:
    """Change a number in a slice that either operand depends on; cutting off less is likelier meant."""
    for name, more in ((one, -by), (other, by)):
        expr = case.arguments.get(name)
        for node in _indexed(case, expr):
            for literal, number in _bounds(node, more):
                rank = weight("whole slice" if number == 0 else "less cut off" if more > 0 else "more cut off")
                line = node.span.line
                what = f"write {number} for the {literal.value} in line {line}"
                yield case.fix(what, [replaced(literal, str(number))], rank, show=node.span, guess=True)


def _unsliced(case: FixCase, places: list[Place], by: int) -> Iterator[Fix]:
    """Cut the surplus of the first operand off a tensor that it is made of, first at the other end than the other operand's
    slice."""
    (operand, axis, size), (other, _, wanted) = places
    if not (isinstance(size, str) and isinstance(wanted, str) and has(case.callee, Trait.BROADCASTS, Trait.LOSS)):
        return
    expr, rank, beside = case.arguments.get(operand), len(case.shape(operand) or ()), case.arguments.get(other)
    names = [expr] if isinstance(expr, sweet.Name) else children(expr) if isinstance(expr, sweet.Binary) else ()
    before = "..., " if rank > 1 and axis % rank == rank - 1 else ":, " * (axis % rank)
    said = beside.span.text if beside is not None else ""
    ends = sorted((("first", f"{by}:"), ("last", f":-{by}")), key=lambda end: end[1] in said)
    for name in (n for n in names if isinstance(n, sweet.Name)):
        for position, (which, bounds) in enumerate(ends):
            what = f"leave out the {which}{f' {by}' * (by > 1)} along axis {axis % rank} of `{name.name}`"
            text = f"{name.name}[{before}{bounds}]"
            uses = case.tree.uses(case.function)[name.name] if case.function is not None else 1
            likely = weight("uncut" if uses > 1 else "uncut, used once")
            yield case.fix(what, [replaced(name, text)], likely + position, guess=True)


def _not_shifted(case: FixCase, whole: str, part: str) -> Iterator[Fix]:
    """Shift the targets to `tokens[:, 1:]` beside `logits[:, :-1]`, and adapt the sizes written around them."""
    leaves = [n for n in _made_of(case, case.arguments.get(whole)) if isinstance(n, sweet.Name)]
    slices = [n for n in _indexed(case, case.arguments.get(part)) if isinstance(n.value, sweet.Name)]
    if slices and not list(_indexed(case, case.arguments.get(whole))):
        axis = next(
            (i for i, s in enumerate(slices[0].items) if isinstance(s, sweet.SliceItem) and (s.start or s.stop)), 0
        )
        size, cut = _item(case, slices[0].value, axis), slices[0].items[axis]
        if isinstance(size, sweet.Name) and isinstance(cut, sweet.SliceItem):
            for leaf in leaves:
                yield from _shifted(case, leaf, size.name, cut)


def _shifted(case: FixCase, leaf: sweet.Name, size: str, cut: sweet.SliceItem) -> Iterator[Fix]:
    """Cut a parameter at the other end along the axis of that size, if it has one."""
    axis = next((i for i, item in enumerate(_items(case, leaf)) if item.span.text == size), None)
    if axis is None:
        return
    by = _cut_off(cut, size)
    if by:
        bounds = f"{by}:" if cut.stop is not None else f":-{by}"
        sizes = [n for s in _written_sizes(case, leaf) for n in walk(s) if isinstance(n, sweet.Name) and n.name == size]
        text = f"{leaf.name}[{':, ' * axis}{bounds}]"
        edits = [replaced(leaf, text), *(replaced(n, f"({size} - {by})") for n in sizes)]
        what = f"shift the targets: `{text}`" + f", of `{size} - {by}`" * bool(sizes)
        yield replace(case.fix(what, edits, weight("shifted targets"), guess=True), shown="")


def _cut_off(cut: sweet.SliceItem, size: str) -> int:
    """Return the number of entries that a slice leaves out at one end; 0 for any other slice."""
    match cut:
        case sweet.SliceItem(start=sweet.IntLit(value=first), stop=None, step=None):
            return first
        case sweet.SliceItem(start=None | sweet.IntLit(value=0), stop=stop, step=None) if stop is not None:
            back = integer(stop)
            return -back if back is not None and back < 0 else _difference(size, stop.span.text) or 0
    return 0


def _written_sizes(case: FixCase, leaf: sweet.Name) -> Iterator[sweet.Expr]:
    """Yield the shapes in the calls around a name in its statement."""
    for node in case.tree.above(leaf):
        if isinstance(node, sweet.Call):
            given = case.tree.arguments(node)
            yield from [given["shape"]] if "shape" in given else []
        if isinstance(node, sweet.Stmt):
            return


def _items(case: FixCase, expr: sweet.Expr) -> tuple[sweet.Expr, ...]:
    """Return the dimensions in a parameter's annotation."""
    bound = case.tree.binding(expr.name, expr.span) if isinstance(expr, sweet.Name) else None
    shape = bound.type.shape if isinstance(bound, sweet.Param) and isinstance(bound.type, sweet.TensorType) else None
    return shape.items if isinstance(shape, sweet.ListExpr) else ()


def _indexed(case: FixCase, expr: sweet.Expr | None) -> Iterator[sweet.Index]:
    """Yield the slices that an operand depends on, the nearest first."""
    return (node for node in _made_of(case, expr) if isinstance(node, sweet.Index))


def _made_of(case: FixCase, expr: sweet.Expr | None) -> Iterator[Node]:
    """Yield the nodes that an operand depends on, through the names of the function, the nearest first."""
    queue: list[Node] = [expr] if expr is not None else []
    seen: set[int] = set()
    while queue and len(seen) < _MOST_NODES:
        node = queue.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, sweet.Name):
            bound = case.tree.binding(node.name, node.span)
            queue += [bound.value] if isinstance(bound, sweet.Let) else []
        else:
            queue += children(node)


def _bounds(node: sweet.Index, more: int) -> Iterator[tuple[sweet.IntLit, int]]:
    """Yield the numbers of a slice, each with its new value for so many more entries: `2:`, `:-1`."""
    for item in node.items:
        if isinstance(item, sweet.SliceItem) and item.step is None:
            for bound in (item.start, item.stop):
                match bound:
                    case sweet.IntLit(value=value) if bound is item.start and value - more >= 0:
                        yield bound, value - more
                    case sweet.Unary(op="-", operand=sweet.IntLit(value=value) as literal) if bound is item.stop:
                        if value - more >= 1:
                            yield literal, value - more


def _declared(case: FixCase, name: str, axis: int, size: int | str | None, wanted: int | str | None) -> Iterator[Fix]:
    """Replace `t + 1` in a parameter's annotation by the `t` of the other operand."""
    expr = case.arguments.get(name)
    item = _item(case, expr, axis)
    if isinstance(item, sweet.Binary) and item.span.text == size and isinstance(wanted, str):
        line = item.span.line
        around = case.tree.parent(item)
        show = around.span if isinstance(around, sweet.ListExpr) else item.span
        what = f"write {wanted} for the {item.span.text} in line {line}"
        yield case.fix(what, [replaced(item, wanted)], weight("declared size"), show=show, guess=True)


def _item(case: FixCase, expr: sweet.Expr | None, axis: int) -> sweet.Expr | None:
    """Return a dimension in a parameter's annotation."""
    items = _items(case, expr) if expr is not None else ()
    return items[axis] if -len(items) <= axis < len(items) else None
