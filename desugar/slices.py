"""`x[a:b, i, None, ...]` to `@slice`, `@expand_dims` and `@take`."""

from __future__ import annotations

from ..lang import codes, core, sweet
from . import arguments, levels, shapes
from .code import FunctionCode, Typed, spelled
from .errors import fail


class _Range:
    """The slice of one axis."""

    __slots__ = ("axis", "item")

    def __init__(self, axis: int, item: sweet.SliceItem) -> None:
        self.axis, self.item = axis, item


def index(code: FunctionCode, expr: sweet.Index) -> Typed:
    """Apply the slices first, then the new axes, then each index, which removes its axis (a tensor of indices puts its own
    there)."""
    ranges, new, picks = _axes(code, expr)
    if levels.level(code, expr.value) == "Shape":
        shapes.refuse_part_of_shape(code, expr)
    if not ranges:
        value = arguments.tensor(code, expr.value)
    else:
        value = _sliced(code, expr, shapes.tensor_name(code, expr.value), ranges)
    if new:
        axes = core.ShapeLit(expr.span, tuple(core.SizeLit(expr.span, axis) for axis in new))
        args = core.Arg(expr.span, None, value), core.Arg(expr.span, "axis", axes)
        value = core.Call(expr.span, primitive(code, "expand_dims", expr), args)
    positives = sorted((p for p in picks if p[0] >= 0), key=lambda p: -p[0])
    negatives = sorted((p for p in picks if p[0] < 0), key=lambda p: p[0])
    for axis, item in (*positives, *negatives):
        value = _take(code, expr, value, axis, item)
    return value, core.TENSOR


def _axes(code: FunctionCode, expr: sweet.Index) -> tuple[list[_Range], list[int], list[tuple[int, sweet.Expr]]]:
    """Return each item with its axis, counted from the front, and after `...` from the end. Slices are counted before new
    axes are added, indices after that."""
    ranges: list[_Range] = []
    new: list[int] = []
    picks: list[tuple[int, sweet.Expr]] = []
    count = sum(_is_new_axis(code, item) for item in expr.items)
    dots = [i for i, item in enumerate(expr.items) if isinstance(item, sweet.Dots)]
    if len(dots) > 1:
        fail(codes.E221, "`...` can stand once in an index", expr.items[dots[1]].span)
    for position, item in enumerate(expr.items):
        behind = dots and position > dots[0]
        axis = position - len(expr.items) if behind else position
        match item:
            case sweet.Dots():
                pass
            case sweet.SliceItem():
                if (item.start, item.stop, item.step) != (None, None, None):
                    ranges.append(_Range(axis + count - len(new) if behind else axis - len(new), item))
            case _ if _is_new_axis(code, item):
                new.append(axis)
            case _:
                picks.append((axis, item))
    if sum(levels.level(code, item) == "Tensor" for _, item in picks) > 1:
        fail(
            codes.E221,
            "only one axis can be indexed by a tensor at a time",
            expr.span,
            help="`@gather_nd`, or index twice",
        )
    return ranges, new, picks


def _is_new_axis(code: FunctionCode, item: sweet.Expr | sweet.SliceItem) -> bool:
    return sweet.is_none(item) and code.scope.find("None") is None


def _sliced(code: FunctionCode, expr: sweet.Index, tensor: str, ranges: list[_Range]) -> core.Value:
    """Return all slices in one call; if a step is computed, backward slices get a call of their own before it."""
    steps = [1 if r.item.step is None else levels.literal_int(code, r.item.step) for r in ranges]
    back = [r for r, step in zip(ranges, steps, strict=True) if step is not None and step < 0]
    if not back or None not in steps:
        return _slice(code, expr, core.Var(expr.value.span, tensor), tensor, ranges)
    value = _slice(code, expr, core.Var(expr.value.span, tensor), tensor, back)
    return _slice(code, expr, value, tensor, [r for r in ranges if r not in back])


def _slice(code: FunctionCode, expr: sweet.Index, value: core.Value, tensor: str, ranges: list[_Range]) -> core.Value:
    """Slice a value whose axes in `ranges` are those of the tensor."""
    starts: list[core.SizeExpr] = []
    stops: list[core.SizeExpr] = []
    steps: list[core.SizeExpr] = []
    for found in ranges:
        start, stop, step = _bounds(code, tensor, found)
        starts.append(start)
        stops.append(stop)
        steps.append(step)
    span = expr.span
    axes = tuple(core.SizeLit(r.item.span, r.axis) for r in ranges)
    args = [
        core.Arg(span, None, value),
        core.Arg(span, "starts", core.ShapeLit(span, tuple(starts))),
        core.Arg(span, "stops", core.ShapeLit(span, tuple(stops))),
        core.Arg(span, "axes", core.ShapeLit(span, axes)),
    ]
    if any(not isinstance(step, core.SizeLit) or step.value != 1 for step in steps):
        args.append(core.Arg(span, "steps", core.ShapeLit(span, tuple(steps))))
    if not all(isinstance(step, core.SizeLit) for step in steps):
        args.append(core.Arg(span, "forward", core.Number(span, True)))
    return core.Call(span, primitive(code, "slice", expr), tuple(args))


def _bounds(code: FunctionCode, tensor: str, found: _Range) -> tuple[core.SizeExpr, core.SizeExpr, core.SizeExpr]:
    """Return the start, stop and step of a slice. A backward slice starts at the end and stops before the first element; its
    step has to be literal."""
    item = found.item
    literal = 1 if item.step is None else levels.literal_int(code, item.step)
    if literal == 0:
        fail(codes.E220, "the step of a slice has to be another number than 0", (item.step or item).span)
    ahead = literal is None or literal > 0
    length = core.DimOf(item.span, tensor, found.axis)
    zero, one = core.SizeLit(item.span, 0), core.SizeLit(item.span, 1)
    before_first = core.operation(item.span, "-", core.operation(item.span, "-", zero, length), one)
    start = shapes.size(code, item.start) if item.start else (zero if ahead else length)
    stop = shapes.size(code, item.stop) if item.stop else (length if ahead else before_first)
    if literal is None and item.step is not None:
        return start, stop, shapes.size(code, item.step)
    return start, stop, core.SizeLit(item.span, literal or 1)


def _take(code: FunctionCode, expr: sweet.Index, value: core.Value, axis: int, item: sweet.Expr) -> core.Value:
    at: core.Value
    if isinstance(item, sweet.ListExpr):
        taken = f"@take({spelled(expr.value.span)}, {spelled(item.span)}, axis={axis})"
        fail(codes.E206, "an index is one size, or a tensor of them", item.span, help=f"`{taken}` takes several")
    at = arguments.tensor(code, item) if levels.level(code, item) == "Tensor" else shapes.size(code, item)
    args = (
        core.Arg(expr.span, None, value),
        core.Arg(item.span, None, at),
        core.Arg(expr.span, "axis", core.SizeLit(item.span, axis)),
    )
    return core.Call(expr.span, primitive(code, "take", expr), args)


def primitive(code: FunctionCode, name: str, at: sweet.Expr) -> core.FnRef:
    """Return the primitive that sugar stands for, under its name in the core."""
    found = code.symbols.primitive(name)
    assert found is not None
    return core.FnRef(at.span, found.name)
