"""Fixes of a call's operands: two of them swapped, one transposed, an axis added or dropped, flattened, cast."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...lang.node import replace
from ...lang.source import Span
from ...ops.elsewhere_args import integer
from ...ops.model import Trait
from ...ops.registry import lookup
from ...ops.requirements import AtLeast, OfRank, RankAtLeast, RankIs
from ..case import Dims, Fix, FixCase, dims_text, inserted, replaced
from ..tree import callee, has, is_reshape, keeps_shape, summed, turns
from ..weights import weight
from . import shapes
from .shapes import TensorChange

# The other of the last two axes.
_BESIDE = {-1: -2, -2: -1}
# Primitives that only move, add or drop axes.
_MOVING = (Trait.MOVES_AXES, Trait.UNIT_AXES)


def fixes(case: FixCase) -> Iterator[Fix]:
    if case.call is None:
        return
    if case.diagnostic.code.of_dtypes:
        yield from _one_hot(case)
        yield from _swap(case)
        return
    if case.diagnostic.code.spreads:
        yield from _paired(case)
        return
    yield from _inlined(case)
    yield from _all_turned(case)
    if not has(case.callee, *_MOVING, Trait.BROADCASTS) and (case.callee or case.is_of_rank):
        yield from _missing_flatten(case)
    yield from _left_out(case)
    yield from _one_size(case)
    if summed(case.callee):
        yield from _product(case, *summed(case.callee))
    elif has(case.callee, Trait.BROADCASTS):
        yield from _broadcast(case)
    elif not is_reshape(case.callee) and (case.subject.declared is None or case.subject.what == "where"):
        yield from _others(case)
    yield from _swap(case)


def _all_turned(case: FixCase) -> Iterator[Fix]:
    """Swap the batch and time axes of all tensors of a call that takes the time first, and of its result."""
    decl, call = case.tree.function(case.callee), case.call
    given = [(expr, dims) for _, expr, dims in case.tensors() if dims is not None and len(dims) > 2]
    result = decl.fn.result if decl is not None else None
    if len(given) < 2 or call is None or not isinstance(result, sweet.TensorType):
        return
    edits = [replaced(expr, f"@swapaxes({expr.span.text}, 0, 1)") for expr, _ in given]
    if isinstance(result.shape, sweet.ListExpr) and len(result.shape.items) > 2:
        edits += [inserted(call.span, call.span.start, "@swapaxes("), inserted(call.span, call.span.end, ", 0, 1)")]
    yield case.fix(
        f"swap axes 0 and 1 of all that @{case.callee} takes and gives", edits, weight("all turned"), guess=True
    )


def _left_out(case: FixCase) -> Iterator[Fix]:
    """Leave out the call itself, or one that made an operand, if it only moves axes."""
    assert case.call is not None
    certain = not (case.diagnostic.code.is_unproved or case.diagnostic.code.only_empty)
    if has(case.callee, *_MOVING) and certain and "axes" not in case.arguments:
        yield from _without(case, case.call, weight("call left out"))
    for name, expr, _ in case.tensors():
        bound = case.tree.binding(expr.name, expr.span) if isinstance(expr, sweet.Name) else None
        made = bound.value if isinstance(bound, sweet.Let) and not bound.is_tuple else expr
        fits = _meets_turned(case, name) if turns(made) else _meets_without(case, name, made)
        yield from _without(case, made, weight("needless") + weight("unlike") * (not fits))


def _meets_turned(case: FixCase, turned: str) -> bool:
    """Whether a product's operand has the size to sum over before its last axis."""
    axes = dict(summed(case.callee))
    other = next((name for name in axes if name != turned), None)
    if turned not in axes or other is None:
        return True
    return case.size(turned, _BESIDE[axes[turned]]) == case.size(other, axes[other])


def _meets_without(case: FixCase, name: str, made: sweet.Expr) -> bool:
    """Whether an operand broadcasts against the others without the axis of size 1 that it was given."""
    now, dims = integer(case.tree.arguments(made).get("axis")), case.shape(name)
    if not has(case.callee, Trait.BROADCASTS) or now is None or not dims or not -len(dims) <= now < len(dims):
        return True
    now %= len(dims)
    others = [other for own, _, other in case.tensors() if own != name and other is not None]
    return all(_broadcasts((*dims[:now], *dims[now + 1 :]), other) for other in others)


def _fit_swapped(case: FixCase) -> bool:
    """Whether the operands of a product fit in the other order."""
    axes = summed(case.callee)
    sizes = [case.size(name, axis) for name, (_, axis) in zip((n for n, _ in axes), reversed(axes), strict=True)]
    return len(sizes) == 2 and sizes[0] is not None and sizes[0] == sizes[1]


def _without(case: FixCase, expr: sweet.Expr, rank: int) -> Iterator[Fix]:
    name, operand = callee(expr), case.tree.arguments(expr).get("x")
    if has(name, *_MOVING) and operand is not None:
        rank += weight("written axes") * ("axes" in case.tree.arguments(expr))
        edit = replaced(expr, operand.span.text)
        fix = case.fix(f"leave out `@{name}`", [edit], rank, show=_line(expr.span), guess=rank > weight("new axis"))
        yield replace(fix, drops=True)


def _inlined(case: FixCase) -> Iterator[Fix]:
    """Add an axis to an argument of an inlined call, in whose body the check fails."""
    call = case.tree.call(case.diagnostic.span)
    if call is None or call is case.call or not case.is_of_rank:
        return
    for expr in case.tree.arguments(call).values():
        if isinstance(expr, sweet.Name | sweet.Call):
            for change in (shapes.expanded(0, (w := weight("axis of a caller"))), shapes.expanded(-1, w + 1)):
                yield wrap(case, expr, change)


def _line(span: Span) -> Span:
    """Return the trimmed line of a place; the place alone if the line has a function's head."""
    text = span.source.text
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    line = text[start : end if end >= 0 else len(text)]
    if "{" in line:
        return span
    return Span(span.source, start + len(line) - len(line.lstrip()), start + len(line.rstrip()))


def wrap(case: FixCase, expr: sweet.Expr, change: TensorChange, rank: int | None = None) -> Fix:
    """Return a fix that applies the change to an expression in place; an existing order of axes is rewritten."""
    axes = _axes_as_moved(case, expr, change)
    if axes is not None:
        given = case.tree.arguments(expr)["axes"]
        rank = change.rank if rank is None else rank
        return case.fix("order the axes otherwise", [replaced(given, dims_text(axes))], rank, show=expr.span)
    bound = case.tree.binding(expr.name, expr.span) if change.enlarges and isinstance(expr, sweet.Name) else None
    if isinstance(bound, sweet.Let) and not bound.is_tuple and case.tree.is_used_once(bound):
        made = wrap(case, bound.value, change, rank)
        what = f"{change.said(case.named(expr))} where it is bound"
        return replace(made, what=what, around=(), shown=case.outcome(made.edits, bound.span) or made.shown)
    edit = Edit(expr.span, f"{change.before}{expr.span.text}{change.after}")
    if "\n" in expr.span.text or len(expr.span.text) > 200:
        edits = [inserted(expr.span, expr.span.start, change.before), inserted(expr.span, expr.span.end, change.after)]
    else:
        edits = [edit]
    made = case.fix(change.said(case.named(expr)), edits, change.rank if rank is None else rank, guess=change.guess)
    return replace(made, around=(change.before, change.after))


def _axes_as_moved(case: FixCase, expr: sweet.Expr, change: TensorChange) -> tuple[int, ...] | None:
    """Return the axes of a @permute_dims combined with one more move of its result's axes."""
    given = case.tree.arguments(expr).get("axes") if has(callee(expr), Trait.MOVES_AXES) else None
    items = given.items if isinstance(given, sweet.ListExpr) else ()
    order = [i.value for i in items if isinstance(i, sweet.IntLit)]
    moved = shapes.order_of(change, len(order))
    if len(order) < len(items) or sorted(order) != list(range(len(items))) or moved is None or not order:
        return None
    axes = tuple(order[i] for i in moved)
    return axes if axes != tuple(range(len(axes))) else None


def _swap(case: FixCase) -> Iterator[Fix]:
    """Swap two neighbouring operands, which are easily mixed up."""
    tensors = sorted(case.tensors(), key=lambda t: t[1].span.start)
    if isinstance(case.call, sweet.Binary) or isinstance(case.asked, AtLeast):
        return
    if has(case.callee, Trait.WINDOWS) and not case.is_declared and not case.is_of_rank:
        return  # nothing would show that an image and its kernel are swapped
    if has(case.callee, Trait.BROADCASTS, Trait.JOINS) and not case.diagnostic.code.of_dtypes:
        return  # swapping does not change whether they fit
    turned = any(turns(expr) and _meets_turned(case, name) for name, expr, _ in tensors)
    rank = weight("swap that fits" if _fit_swapped(case) and not turned else "swap")
    for (one, a, _), (other, b, _) in zip(tensors, tensors[1:], strict=False):
        involved = {name for name, _ in case.subject.at}
        if not involved & {one, other} or a.span.end > b.span.start or a.span.text == b.span.text:
            continue
        ranks = {len(case.shape(name) or ()) for name in (one, other)}
        if len(ranks) == 2 and case.tree.function(case.callee) is not None and not case.is_of_rank:
            continue  # neither fits in the other's place
        between = Span(a.span.source, a.span.end, b.span.start).text
        if "=" in between:
            continue
        edit = Edit(a.span.to(b.span), f"{b.span.text}{between}{a.span.text}")
        yield case.fix(f"swap {case.named(a)} and {case.named(b)}", [edit], rank)


def _one_size(case: FixCase) -> Iterator[Fix]:
    """Repeat the smaller of two sizes that must be equal."""
    found = [(name, axis) for name, axis in case.subject.at if case.size(name, axis) is not None]
    if len(found) != 2 or not (case.diagnostic.code.of_sizes or case.diagnostic.code.is_unproved):
        return
    for (name, axis), (other_name, other_axis) in (found, found[::-1]):
        dims, expr = case.shape(name), case.arguments.get(name)
        other = case.size(other_name, other_axis)
        speakable = isinstance(other, int) or (isinstance(other, str) and other.isidentifier())
        if axis is not None and dims is not None and expr is not None and other is not None and speakable:
            for change in _to_size(case, dims, axis % len(dims), other):
                yield wrap(case, expr, change)


def _to_size(case: FixCase, dims: Dims, axis: int, wanted: int | str) -> Iterator[TensorChange]:
    size = dims[axis]
    if size == wanted or (summed(case.callee) and axis >= len(dims) - 2) or len(dims) < 3:
        return
    if size == 1:
        yield shapes.repeated(
            axis, wanted, weight("repeated to join" if has(case.callee, Trait.JOINS) else "repeated axis")
        )
    elif not isinstance(size, int) or not isinstance(wanted, int):
        return
    elif summed(case.callee) and 0 < size < wanted and wanted % size == 0:
        yield shapes.repeated(axis, wanted // size, weight("repeated whole"))
    elif not case.is_declared:
        return  # nothing says that more is wanted
    elif 1 < size < wanted and wanted % size == 0 and has(case.callee, Trait.BROADCASTS, Trait.JOINS):
        layouts = ("channels_last",) if axis == 1 else ("channels_first", "channels_last")
        for layout in layouts[: 1 if axis == len(dims) - 1 else 2]:
            yield shapes.enlarged(wanted // size, layout, weight("repeated axis"))


# Products


def _product(case: FixCase, one: tuple[str, int], another: tuple[str, int]) -> Iterator[Fix]:
    (first, first_axis), (second, second_axis) = one, another
    x, y = case.arguments.get(first), case.arguments.get(second)
    xs, ys = case.shape(first), case.shape(second)
    if x is None or y is None or xs is None or ys is None:
        return
    if xs and len(ys) >= 2 and shapes.fits(xs[first_axis], turned := ys[_BESIDE[second_axis]]) and not turns(y):
        yield wrap(
            case, y, shapes.transposed(), weight("second transposed") + weight("unlike") * (xs[first_axis] != turned)
        )
    met = ys[max(second_axis, -len(ys))] if ys else None
    if len(xs) >= 2 and ys and shapes.fits(turned := xs[_BESIDE[first_axis]], met) and not turns(x):
        yield wrap(case, x, shapes.transposed(), weight("transpose") + weight("unlike") * (turned != met))
    yield from _of_unlike_ranks(case, (x, xs), (y, ys))
    yield from _axis_brought(case, y, ys, second_axis, xs[first_axis] if xs else None)
    yield from _axis_brought(case, x, xs, first_axis, ys[second_axis] if len(ys) > 1 else None)


def _of_unlike_ranks(case: FixCase, one: tuple[sweet.Expr, Dims], another: tuple[sweet.Expr, Dims]) -> Iterator[Fix]:
    """Make a vector beside a matrix a matrix of one row or column; flatten an operand of higher rank than a matrix."""
    (x, xs), (y, ys) = one, another
    if len(xs) == 1 and len(ys) == 2:
        yield wrap(case, x, shapes.expanded(0))
    if len(ys) == 1 and len(xs) == 2:
        yield wrap(case, y, shapes.expanded(-1))
    if len(xs) > 2 and len(ys) >= 2:
        yield wrap(case, x, shapes.flattened())


def _axis_brought(
    case: FixCase, expr: sweet.Expr, dims: Dims, axis: int | None, wanted: int | str | None
) -> Iterator[Fix]:
    """Swap an axis with another one that has the wanted size."""
    if axis is None or wanted is None or not -len(dims) <= axis < len(dims) or len(dims) < 3:
        return
    axis %= len(dims)
    for other, size in enumerate(dims):
        if other != axis and size == wanted and {axis, other} != {len(dims) - 1, len(dims) - 2}:
            rank = weight("axis of one moved" if dims[axis] == 1 else "swapped axes")
            yield wrap(case, expr, shapes.swapped(min(axis, other), max(axis, other), rank))


# Elementwise


def _broadcast(case: FixCase) -> Iterator[Fix]:
    tensors = [(name, expr, dims) for name, expr, dims in case.tensors() if dims is not None]
    for name, expr, dims in tensors:
        for other_name, _, other in tensors:
            if name != other_name:
                yield from _made_broadcast(case, expr, dims, other)


def _made_broadcast(case: FixCase, expr: sweet.Expr, dims: Dims, other: Dims) -> Iterator[Fix]:
    """Change an operand to broadcast with another one, aligning equal sizes if there are any."""
    # The last axis most likely stays the last.
    for axis in (*range(len(dims) - 1, -1, -1), len(dims)) if len(dims) < len(other) else ():
        shown = axis if axis < len(dims) else -1
        if _broadcasts((*dims[:axis], 1, *dims[axis:]), other):
            yield wrap(case, expr, shapes.expanded(shown), weight("fitting axis"))
    for change in shapes.spreadings(dims, other):
        yield wrap(case, expr, change, weight("spread"))
    yield from _axis_elsewhere(case, expr, dims, other)
    if len(dims) == len(other) == 1 and case.is_declared:
        yield wrap(case, expr, shapes.expanded(-1, weight("new axis anywhere")))
    if len(dims) == len(other):
        for change in shapes.moved(dims, other, broadcast=True):
            yield wrap(case, expr, change)
    if len(other) == 1 < len(dims) and other[0] not in dims:
        yield wrap(case, expr, shapes.flattened(weight("flattened first"), start=0))


def _axis_elsewhere(case: FixCase, expr: sweet.Expr, dims: Dims, other: Dims) -> Iterator[Fix]:
    """Move the new axis of an operand to where it broadcasts."""
    axis = case.tree.arguments(expr).get("axis") if has(callee(expr), Trait.NEW_AXIS) else None
    now = integer(axis)
    if axis is None or now is None or not -len(dims) <= now < len(dims) or dims[now] != 1:
        return
    now %= len(dims)
    before = (*dims[:now], *dims[now + 1 :])
    for new in range(len(dims)):
        if new != now and _broadcasts((*before[:new], 1, *before[new:]), other):
            yield case.fix(f"use axis {new}", [replaced(axis, str(new))], weight("other new axis"), show=expr.span)


def _paired(case: FixCase) -> Iterator[Fix]:
    """Give one of two operands that are both repeated the shape of the other, to pair their elements."""
    tensors = [(expr, dims) for _, expr, dims in case.tensors() if dims is not None]
    if len(tensors) != 2:
        return
    for (expr, dims), (_, other) in (tensors, tensors[::-1]):
        for axis, size in enumerate(dims):
            if size == 1 and (*dims[:axis], *dims[axis + 1 :]) == other:
                yield _as_guess(wrap(case, expr, shapes.squeezed(axis)))
        for axis, size in enumerate(other):
            if size == 1 and (*other[:axis], *other[axis + 1 :]) == dims:
                yield _as_guess(wrap(case, expr, shapes.expanded(axis if axis < len(dims) else -1)))


def _as_guess(fix: Fix) -> Fix:
    return replace(fix, guess=True)


def _broadcasts(a: Dims, b: Dims) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(x == y or 1 in (x, y) or (isinstance(x, str) and isinstance(y, str) and x == y) for x, y in pairs)


# Any other primitive


def _others(case: FixCase) -> Iterator[Fix]:
    if case.is_of_rank:
        involved = {name for name, _ in case.subject.at if case.operand(name) is not None}
        for name, expr, dims in case.tensors():
            if dims is not None and (not involved or name in involved):
                yield from _of_other_rank(case, expr, dims)
    else:
        yield from _reordered(case)


def _of_other_rank(case: FixCase, expr: sweet.Expr, dims: Dims) -> Iterator[Fix]:
    missing = _asked_rank(case) - len(dims)
    if missing > 1:
        for axes in _consecutive(len(dims), missing):
            yield wrap(case, expr, shapes.spread(axes))
    elif missing == 1:
        along = case.arguments.get("axis")
        if isinstance(along, sweet.IntLit) and "indices" in case.arguments:
            yield wrap(case, expr, shapes.expanded(along.value, weight("axis of indices")))
        yield wrap(case, expr, shapes.expanded(0))
        if dims:
            yield wrap(case, expr, shapes.expanded(-1), weight("new axis anywhere"))
        for axis in range(1, len(dims)):
            yield wrap(case, expr, shapes.expanded(axis, weight("new inner axis")))
    for axis, size in enumerate(dims):
        if size == 1:
            yield wrap(case, expr, shapes.squeezed(axis))
    if len(dims) > 2:
        yield wrap(case, expr, shapes.flattened())
    if has(case.callee, Trait.LOSS):
        yield from _labels(case, expr, dims)


def _asked_rank(case: FixCase) -> int:
    """Return the rank that is needed, or the largest of the operands', or one more if all have the same."""
    ranks = [len(shape) for _, _, shape in case.tensors() if shape is not None]
    wanted = case.asked.rank if isinstance(case.asked, RankIs | OfRank) else None
    wanted = case.asked.least if isinstance(case.asked, RankAtLeast) else wanted
    return max(max(ranks), min(ranks) + 1) if wanted is None else wanted


def _consecutive(rank: int, number: int) -> Iterator[tuple[int, ...]]:
    """Yield the given number of new axes side by side: last, in the middle, first."""
    for start in range(rank, -1, -1):
        yield tuple(range(start, start + number))


def _labels(case: FixCase, expr: sweet.Expr, dims: Dims) -> Iterator[Fix]:
    """Make labels one-hot if probabilities are needed, or flatten the labels of flattened rows."""
    if len(dims) > 1 and dims[-1:] != (case.shape("x") or ())[-1:]:  # the last axis has a probability for each class
        yield wrap(case, expr, shapes.flattened(weight("rows of labels"), start=0))
    if expr is case.arguments.get("target"):
        yield from _one_hot(case)


def _one_hot(case: FixCase) -> Iterator[Fix]:
    """Make one-hot rows of indices, for a loss that takes a probability for each class."""
    expr, target, classes = case.arguments.get("target"), case.operand("target"), (case.shape("x") or ())[-1:]
    if not has(case.callee, Trait.LOSS) or expr is None or target is None or not classes:
        return
    if target.shape is None or len(target.shape) != len(case.shape("x") or ()) - 1 or "int" not in target.dtype:
        return
    yield wrap(
        case, expr, shapes.TensorChange("make one-hot rows of", "@one_hot(", f", {classes[0]})", weight("one-hot"))
    )


def _reordered(case: FixCase) -> Iterator[Fix]:
    """Reorder the axes of an operand that has the wanted size on another axis: in a usual order, or by a swap."""
    sizes: dict[tuple[str, int], int | str] = {}
    for name, axis in case.subject.at:
        dims = case.shape(name)
        if axis is not None and dims is not None and -len(dims) <= axis < len(dims):
            sizes[name, axis] = dims[axis]
    for (name, axis), size in sizes.items():
        expr, dims = case.arguments.get(name), case.shape(name)
        others = [s for place, s in sizes.items() if place != (name, axis) and s != size]
        operand = case.operand(name)
        if expr is None or dims is None or operand is None or not operand.dtype:
            continue
        for axes, change in shapes.orders(len(dims)):
            if dims[axes[axis]] in others:
                yield wrap(case, expr, change)
        for other in dict.fromkeys(others):
            yield from _axis_brought(case, expr, dims, axis, other)


# Earlier mistakes


def _missing_flatten(case: FixCase) -> Iterator[Fix]:
    """Flatten a tensor with spatial axes before the first layer that takes rows."""
    ranks = [len(o.shape) for o in case.subject.operands if o.shape is not None and o.dtype]
    if not ranks or max(ranks) < 3 or _keeps_rank(case.callee) or (len(ranks) > 1 and min(ranks) > 2):
        return
    found = [expr for _, expr, shape in reversed(case.tensors()) if shape is not None and len(shape) > 2]
    for call in case.tree.upstream(case.arguments.values()):
        first = call.args[0].value if call.args else None
        if isinstance(first, sweet.Name | sweet.Call) and not _keeps_rank(callee(call)):
            found.append(first)
    for distance, expr in enumerate(reversed(found)):
        yield wrap(case, expr, shapes.flattened(), weight("flattened before") + min(distance, 5))


def _keeps_rank(name: str) -> bool:
    """Whether a primitive needs the spatial axes, or keeps those that it gets, so that no flatten is missing before it."""
    row = lookup(name)
    of_images = row is not None and any(p.name in ("strides", "layout", "pads") for p in row.params)
    return of_images or keeps_shape(name) or has(name, *_MOVING)
