"""Fixes of a missing operation: a repeat along an axis, a broadcast to the declared shape, a reshape that merges or splits
axes; and of an operand that is changed where it is bound, as all its uses need it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.expressions import names_in
from ...lang.node import replace
from ...lang.walk import walk
from ...ops.einsum import Equation, parse_equation
from ...ops.elsewhere_args import integer
from ...ops.model import Trait
from ...ops.registry import lookup
from ...ops.requirements import Equal
from ..case import Dims, Fix, FixCase, dims_text, replaced
from ..tree import callee, factors, has, is_reshape, summed
from ..weights import weight
from . import claims, elements, operands, shapes
from .operands import wrap

_MOST_SHAPES = 3


def fixes(case: FixCase) -> Iterator[Fix]:
    if not case.diagnostic.code.of_shapes:
        return
    yield from _repeated(case)
    yield from _enlarged(case)
    yield from _declared(case)
    yield from _pooled(case)
    yield from _merged(case)
    yield from _split(case)
    yield from _before_permutation(case)
    yield from _as_elsewhere(case)
    yield from _where_bound(case)


# A repeat


def _repeated(case: FixCase) -> Iterator[Fix]:
    """Repeat an axis whose size divides the other one: heads of keys that several heads of queries share."""
    for expr, axis, size, wanted in _conflicts(case):
        times = (_quotient(wanted, size) or _told(case, wanted, size)) if not isinstance(wanted, int) else None
        if times not in (None, "", "1") and _is_said(case, str(times)):
            yield wrap(case, expr, shapes.repeated(axis, str(times), weight("repeated")))
        elif _is_shared(case, size, wanted):
            yield wrap(case, expr, shapes.repeated(axis, str(int(wanted) // int(size)), weight("repeated")))


def _pooled(case: FixCase) -> Iterator[Fix]:
    """Replace `@flatten(y, start=1)` before a product over the channels alone by the mean of the image."""
    for name, _ in case.subject.at if summed(case.callee) else ():
        flat = case.tree.upstream([case.arguments[name]]) if name in case.arguments else ()
        for call in [c for c in flat if isinstance(c, sweet.Call) and is_laid_out(case, c)][:1]:
            image = case.tree.arguments(call)["x"]
            mean = f"@global_average_pool({image.span.text})"
            fix = case.fix(
                f"take the mean of each channel of {case.named(image)}",
                [replaced(image, mean)],
                weight("mean"),
                guess=True,
            )
            yield replace(fix, shown=f"`{mean}`")


def is_laid_out(case: FixCase, call: sweet.Call) -> bool:
    """Whether a call is a flattening: it merges axes and takes no sizes."""
    row = lookup(callee(call))
    return row is not None and Trait.REGROUPS in row.traits and "x" in case.tree.arguments(call)


def _is_shared(case: FixCase, size: int | str, wanted: int | str) -> bool:
    """Whether it is a label of an equation that its result keeps: heads of keys that several heads of queries share."""
    label = case.asked.label if isinstance(case.asked, Equal) else ""
    if not label or not isinstance(size, int) or not isinstance(wanted, int) or size < 2:
        return False
    written = [e.value for e in case.arguments.values() if isinstance(e, sweet.StrLit)]
    kept = [e.result for e in map(parse_equation, written) if isinstance(e, Equation)]
    return any(label in term.head + term.tail for term in kept) and wanted % size == 0


def _conflicts(case: FixCase) -> Iterator[tuple[sweet.Expr, int, int | str, int | str]]:
    """Yield tensors with an axis of a wrong size, and the wanted size."""
    places = [(n, a) for n, a in case.subject.at if a is not None]
    sizes = {place: case.size(*place) for place in places}
    for (name, axis), size in sizes.items():
        dims, expr = case.shape(name) or _own(case), case.arguments.get(name) or _annotated(case)
        if size is None and dims is not None and -len(dims) <= axis < len(dims):
            size = dims[axis]
        others = [s for place, s in sizes.items() if place != (name, axis) and s is not None]
        wanted = [*others, *case.subject.wanted]
        if expr is None or dims is None or size is None or _is_summed(case, name, axis, len(dims)):
            continue
        for other in dict.fromkeys(wanted):
            if other != size:
                yield expr, axis % len(dims), size, other


def _is_summed(case: FixCase, name: str, axis: int, rank: int) -> bool:
    return (name, axis if axis < 0 else axis - rank) in summed(case.callee)


def _own(case: FixCase) -> Dims | None:
    """Return the shape of the annotated value."""
    found = case.subject.operands
    return found[0].shape if not case.callee and len(found) == 1 else None


def _annotated(case: FixCase) -> sweet.Expr | None:
    return claims.value_of(case) if case.subject.declared is not None and not case.callee else None


def _quotient(whole: int | str, part: int | str) -> str | None:
    """Return `g` for `g * n` and `n`; None if the one is no multiple of the other."""
    top, below = shapes.product(whole), shapes.product(part)
    if top is None or below is None:
        return None
    (number, names), (divisor, others) = top, below
    if divisor == 0 or number % divisor or others - names:
        return None
    rest = sorted((names - others).elements())
    factor = number // divisor
    return " * ".join([*([str(factor)] if factor != 1 or not rest else []), *rest])


def _told(case: FixCase, whole: str, part: int | str) -> str | None:
    """Return `h // g` if the function has the condition `h % g == 0`; None otherwise."""
    for cond in case.function.fn.where if case.function is not None else ():
        match cond:
            case sweet.Binary(op="==", left=sweet.Binary(op="%", left=left, right=right), right=sweet.IntLit(value=0)):
                if (left.span.text, right.span.text) == (whole, part):
                    return f"{whole} // {part}"
    return None


def _is_said(case: FixCase, text: str) -> bool:
    """Whether all names of a size are names of the program."""
    return case.tree.names().issuperset(names_in(text))


def _enlarged(case: FixCase) -> Iterator[Fix]:
    """Enlarge the spatial axes of one operand if those of another are a multiple."""
    tensors = [(expr, dims) for _, expr, dims in case.tensors() if dims is not None and len(dims) > 2]
    for expr, dims in tensors:
        for _, other in tensors:
            times = {_quotient(a, b) for a, b in zip(other[2:], dims[2:], strict=False)}
            number = times.pop() if len(other) == len(dims) and len(times) == 1 else None
            if number is not None and number.isdigit() and number not in "01":
                yield wrap(case, expr, shapes.enlarged(int(number), "channels_first", weight("enlarged")))


# A broadcast


def _declared(case: FixCase) -> Iterator[Fix]:
    """Broadcast or reshape a value to its declared shape."""
    dims, value, asked = _own(case), _annotated(case), case.subject.declared
    if dims is None or value is None or asked is None:
        return
    found = case.tree.of(asked.source).find(asked, sweet.TensorType, sweet.ListExpr)
    shape = found.shape if isinstance(found, sweet.TensorType) else found
    if not isinstance(shape, sweet.ListExpr) or any(isinstance(i, sweet.Splice | sweet.Dots) for i in shape.items):
        return
    text, sizes = shape.span.text, [item.span.text for item in shape.items]
    if 1 in dims and len(dims) == len(sizes) or _lacks_the_first(dims, sizes):
        yield replace(wrap(case, value, shapes.broadcast(text)), guess=len(dims) < len(sizes))
    as_many = _quotient(_times(dims), _times(sizes)) == "1"
    if len(dims) == len(sizes) and not (as_many and 1 in dims) or len(dims) < 2:
        return
    if as_many or [str(dims[0])] == sizes[:1]:
        # With an axis of size 1, adding or dropping it is likelier.
        certain = as_many and 1 not in dims and "1" not in sizes
        rank = weight("declared shape" if certain else "reshape as declared")
        for change in shapes.laid_out(dims, sizes, _factors(shape.items), rank):
            yield wrap(case, value, change)


def _lacks_the_first(dims: Dims, sizes: list[str]) -> bool:
    """Whether some sizes are the last of others, or 1."""
    last = sizes[len(sizes) - len(dims) :]
    return 0 < len(dims) < len(sizes) and all(d == 1 or str(d) == size for d, size in zip(dims, last, strict=True))


def _factors(sizes: Iterable[sweet.Expr]) -> list[str]:
    return [factor.span.text for size in sizes for factor in factors(size)]


def _times(sizes: Iterable[int | str]) -> str:
    return " * ".join(map(str, sizes)) or "1"


def _is_sayable(case: FixCase, dims: Dims) -> bool:
    return all(isinstance(d, int) or shapes.product(d) is not None and _is_said(case, d) for d in dims)


# A reshape


def _merged(case: FixCase) -> Iterator[Fix]:
    """Merge neighbouring axes whose product is the wanted size of the last of them."""
    for expr, axis, _, wanted in [*_conflicts(case), *_of_products(case)]:
        name = next((n for n, e in case.arguments.items() if e is expr), "")
        dims = case.shape(name)
        if dims is None or not _is_sayable(case, (*dims, wanted)):
            continue
        for first in range(axis):
            if first < 2 and axis == len(dims) - 1:
                continue  # a flatten, which another fix does
            if _quotient(wanted, _times(dims[first : axis + 1])) == "1":
                text = dims_text((*dims[:first], wanted, *dims[axis + 1 :]))
                yield wrap(case, expr, shapes.reshaped(text, weight("axes to one")))


def _of_products(case: FixCase) -> Iterator[tuple[sweet.Expr, int, int | str, int | str]]:
    """Yield the axes that a product sums over, which `_conflicts` leaves out."""
    places = [(n, a, case.size(n, a)) for n, a in case.subject.at if a is not None]
    for name, axis, size in places if summed(case.callee) else ():
        dims, expr = case.shape(name), case.arguments.get(name)
        for other_name, _, wanted in places:
            if name != other_name and dims and expr is not None and size is not None and wanted is not None:
                yield expr, axis % len(dims), size, wanted


def _split(case: FixCase) -> Iterator[Fix]:
    """Split an axis that is declared as a product, if one more axis is needed."""
    x = case.arguments.get("x")
    bound = case.tree.binding(x.name, x.span) if isinstance(x, sweet.Name) else None
    type_ = bound.type if bound is not None else None
    shape = type_.shape if isinstance(type_, sweet.TensorType) else None
    if not isinstance(shape, sweet.ListExpr) or x is None or case.diagnostic.severity != "error":
        return
    for position, item in enumerate(shape.items):
        if isinstance(item, sweet.Binary) and item.op == "*":
            parts = [i.span.text for i in shape.items]
            parts[position : position + 1] = [item.left.span.text, item.right.span.text]
            text = f"[{', '.join(parts)}]"
            yield wrap(case, x, shapes.reshaped(text, weight("split axis")))


def _before_permutation(case: FixCase) -> Iterator[Fix]:
    """Reshape the operand of an order of axes with another rank to the shape that gives the declared result."""
    x, axes = case.arguments.get("x"), case.arguments.get("axes")
    asked = _declared_shape(case)
    order = [i.value for i in axes.items if isinstance(i, sweet.IntLit)] if isinstance(axes, sweet.ListExpr) else []
    if x is None or asked is None or not has(case.callee, Trait.MOVES_AXES):
        return
    if sorted(order) == list(range(len(asked.items))) and len(case.shape("x") or order) != len(order):
        items = dict(zip(order, asked.items, strict=True))
        before = [items[axis] for axis in range(len(order))]
        is_mixed = elements.mixes(case.shape("x") or (), _factors(before))
        text = dims_text(item.span.text for item in before)
        is_idle = order == sorted(order)  # such an order is meaningless, so there is another mistake
        rank = weight("rows mixed" if is_mixed else "shape before an order")
        yield wrap(case, x, shapes.reshaped(text, rank, guess=is_mixed or is_idle))


def _as_elsewhere(case: FixCase) -> Iterator[Fix]:
    """Split the axes of an operand with too few axes for an order, as other reshapes of the function split or merge them."""
    x, dims, rank = case.arguments.get("x"), case.shape("x"), _rank_of_order(case)
    if x is None or dims is None or rank is None or rank <= len(dims) or case.function is None:
        return
    written = [list(parts) for parts in _shapes_written(case) if len(parts) == rank and _are_parts(parts, dims)]
    for text in list(dict.fromkeys(map(dims_text, written)))[:_MOST_SHAPES]:
        yield wrap(case, x, shapes.reshaped(text, weight("shape as elsewhere")))


def _shapes_written(case: FixCase) -> Iterator[tuple[str, ...]]:
    """Yield the targets of all reshapes, also in the order of axes that is applied to them directly."""
    for node in walk(case.function):
        shape = case.tree.arguments(node).get("shape") if is_reshape(callee(node)) else None
        if not isinstance(shape, sweet.ListExpr):
            continue
        parts = tuple(item.span.text for item in shape.items)
        yield parts
        above = case.tree.parent(node)
        above = case.tree.parent(above) if isinstance(above, sweet.Arg) else above
        moved = None if above is None else case.tree.arguments(above).get("axes")
        order = [integer(i) for i in moved.items] if isinstance(moved, sweet.ListExpr) else []
        if sorted(i for i in order if i is not None) == list(range(len(parts))):
            yield tuple(parts[i] for i in order if i is not None)


def _rank_of_order(case: FixCase) -> int | None:
    """Return the rank that an order of axes needs."""
    axes = case.arguments.get("axes") if has(case.callee, Trait.MOVES_AXES) else None
    return len(axes.items) if isinstance(axes, sweet.ListExpr) else None


def _are_parts(parts: tuple[str, ...], dims: Dims) -> bool:
    """Whether these dimensions are the products of consecutive sizes."""
    left = list(parts)
    for dim in dims:
        taken = 1 if shapes.product(dim) != (1, Counter()) else 0
        while _quotient(dim, _times(left[:taken])) != "1":
            taken += 1
            if taken > len(left):
                return False
        del left[:taken]
    return not left


def _declared_shape(case: FixCase) -> sweet.ListExpr | None:
    """Return the declared shape of the call's value, if it is all of a `let` or of a result."""
    above = case.tree.parent(case.call) if case.call is not None else None
    fn = case.function.fn if case.function is not None else None
    body = fn.body if fn is not None else None
    type_ = above.type if isinstance(above, sweet.Let) else None
    if fn is not None and body is not None and body.result is case.call and isinstance(fn.result, sweet.TensorType):
        type_ = fn.result
    shape = type_.shape if isinstance(type_, sweet.TensorType) else None
    return shape if isinstance(shape, sweet.ListExpr) else None


# Fixes at the binding of a name


def _where_bound(case: FixCase) -> Iterator[Fix]:
    """Put the addition to a name around its value instead, if the name is used more than once."""
    for family in (operands.fixes, _repeated):
        for fix in family(case):
            name, let = _wrapped(case, fix)
            if name is not None and let is not None:
                before, after = fix.around
                text = f"{before}{let.value.span.text}{after}"
                edit = Edit(let.value.span, text)
                what = f"{fix.what} where it is bound"
                yield case.fix(what, [edit], fix.rank + weight("where bound"), show=let.span, guess=fix.guess)


def _wrapped(case: FixCase, fix: Fix) -> tuple[sweet.Name | None, sweet.Let | None]:
    """Return the name that a fix puts something around, with the `let` that binds it."""
    edit = fix.edits[0]
    name = case.tree.find(edit.span, sweet.Name)
    if len(fix.edits) != 1 or name is None or not fix.around:
        return None, None
    bound = case.tree.binding(name.name, name.span)
    if not isinstance(bound, sweet.Let) or bound.is_tuple or case.function is None:
        return None, None
    uses = [n for n in walk(case.function) if isinstance(n, sweet.Name) and n.name == name.name]
    return (name, bound) if len(uses) > 1 else (None, None)
