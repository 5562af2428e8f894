"""Mends of convolutions and pooling, and of what came before them: strides, pads, the layout of the input, output sizes."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...ops.model import Trait
from ...ops.registry import lookup
from ...ops.requirements import AtLeast, AtMost, Spoken
from ..case import Case, Mend, appended, dims_text, replaced
from ..tree import callee, has
from . import shapes
from .conditions import FAR_FETCHED
from .operands import wrap

_SAME = '"same_upper"'


def mends(case: Case) -> Iterator[Mend]:
    if case.call is None or may_be_too_small(case):
        return
    yield from _padded(case)
    yield from _resized(case)
    if not has(case.callee, Trait.WINDOWS):
        return
    yield from _strides(case)
    yield from _pads(case)
    yield from _too_large(case)
    yield from _layout_of_input(case)
    yield from _output_shape(case)


def may_be_too_small(case: Case) -> bool:
    """Whether some inputs are too small for a window: how small they get the author says, and the operation is right."""
    return (
        case.diagnostic.code.is_doubt and has(case.callee, Trait.WINDOWS) and isinstance(case.asked, AtLeast | AtMost)
    )


def _is_of_sizes(case: Case) -> bool:
    """Sizes disagree, or there is too little for a window."""
    code = case.diagnostic.code
    return code.of_sizes or code.of_elements or code.only_empty or code.is_doubt


def _padded(case: Case) -> Iterator[Mend]:
    """Convolutions before took the border away: pads that keep the size, in the last one or in all."""
    assert case.call is not None
    if not _is_of_sizes(case):
        return
    upstream = case.tree.upstream([case.call])
    found = [(call, edit) for call in upstream if (edit := _to_same(case, call)) is not None]
    rank = FAR_FETCHED + 15 if has(case.callee, Trait.WINDOWS) else 36
    for call, edit in found[:1]:
        what = f"pad in @{callee(call)}"
        shown = case.outcome([edit], call.span) or f"`auto_pad={_SAME}`"
        yield Mend(what, (edit,), rank, what, shown=shown)
    if len(found) > 1:
        what = f"pad in all {len(found)} convolutions before"
        yield Mend(what, tuple(edit for _, edit in found), rank, what, shown=f"`auto_pad={_SAME}`")


def _to_same(case: Case, call: sweet.Call) -> Edit | None:
    """The edit that gives pads to a convolution without any."""
    given = case.tree.arguments(call)
    kind = given.get("auto_pad")
    row = lookup(callee(call))
    if row is None or "pads" in given or not {"auto_pad", "weight"} <= {p.name for p in row.params}:
        return None
    if kind is None:
        return appended(call, f"auto_pad={_SAME}")
    return replaced(kind, _SAME) if isinstance(kind, sweet.StrLit) and kind.value in ("valid", "notset") else None


def _resized(case: Case) -> Iterator[Mend]:
    """What was made larger by a whole number is made as large as the tensor that it meets."""
    if not _is_of_sizes(case):
        return
    for name, expr, dims in case.tensors():
        made = next((c for c in case.tree.upstream([expr]) if "scales" in case.tree.arguments(c)), None)
        given = case.tree.arguments(made) if made is not None else {}
        if made is None or dims is None:
            continue
        layout = given.get("layout")
        last = isinstance(layout, sweet.StrLit) and layout.value == "channels_last"
        for other_name, _, other in case.tensors():
            if other_name == name or other is None or len(other) != len(dims):
                continue
            sizes = other[1:-1] if last else other[2:]
            if all(isinstance(s, int) or s.isidentifier() for s in sizes):
                edits = [replaced(made.callee, "@resize"), replaced(given["scales"], dims_text(sizes))]
                yield case.mend(
                    f"make it as large as {case.named(case.arguments[other_name])}", edits, 26, show=made.span
                )


def _too_large(case: Case) -> Iterator[Mend]:
    """A window of pooling that does not fit: as large as what is there."""
    kernel = case.arguments.get("kernel_shape")
    sizes = [case.size(name, axis) for name, axis in case.subject.at if name == "x"]
    if not isinstance(kernel, sweet.IntLit) or not sizes or not isinstance(case.asked, AtLeast | Spoken):
        return
    size = sizes[0]
    if isinstance(size, int) and 1 < size < kernel.value:
        yield case.mend(f"write {size} for {kernel.value}", [replaced(kernel, str(size))], FAR_FETCHED + 15)


def _strides(case: Case) -> Iterator[Mend]:
    """The strides before made too little of the input: 1 for them, here or in all windows before."""
    assert case.call is not None
    found = []
    for call in case.tree.upstream([case.call]):
        strides = case.tree.arguments(call).get("strides")
        if isinstance(strides, sweet.IntLit) and strides.value > 1:
            found.append((call, strides))
    for position, (call, strides) in enumerate(found[:2]):
        what = f"use strides=1 in @{callee(call)}"
        yield case.mend(what, [replaced(strides, "1")], FAR_FETCHED + 10 + position, show=call.span, guess=True)
    if len(found) > 1:
        edits = [replaced(strides, "1") for _, strides in found]
        yield Mend(
            f"use strides=1 in all {len(found)} windows before", tuple(edits), FAR_FETCHED + 14, "strides", guess=True
        )
    same = [(c, s) for c, s in found if callee(c) == callee(found[-1][0])]
    if 1 < len(same) < len(found):
        edits = [replaced(strides, "1") for _, strides in same]
        what = f"use strides=1 in each @{callee(same[0][0])}"
        yield Mend(what, tuple(edits), FAR_FETCHED + 13, "strides of one kind", guess=True)


def _pads(case: Case) -> Iterator[Mend]:
    """A pad is at most half the kernel."""
    pads, kernel = case.arguments.get("pads"), case.arguments.get("kernel_shape")
    if not isinstance(pads, sweet.ListExpr) or not isinstance(kernel, sweet.IntLit):
        return
    half = kernel.value // 2
    edits = [
        replaced(n, str(half))
        for pair in pads.items
        if isinstance(pair, sweet.TupleExpr)
        for n in pair.items
        if isinstance(n, sweet.IntLit) and n.value > half
    ]
    if edits:
        yield case.mend(f"pad by {half}", edits, 15)


def _layout_of_input(case: Case) -> Iterator[Mend]:
    """Channels stand first in what comes in and last in what the layers take, or the other way round."""
    assert case.call is not None
    inputs: dict[str, sweet.Name] = {}
    for call in case.tree.upstream([case.call]):
        expr = case.tree.arguments(call).get("x")
        if isinstance(expr, sweet.Name):
            bound = case.tree.binding(expr.name, expr.span)
            if isinstance(bound, sweet.Param) and isinstance(bound.type, sweet.TensorType):
                items = bound.type.shape.items if isinstance(bound.type.shape, sweet.ListExpr) else ()
                if 3 <= len(items) <= 5:
                    inputs[expr.name] = expr
    for expr in list(inputs.values())[:1]:
        bound = case.tree.binding(expr.name, expr.span)
        assert bound is not None and isinstance(bound.type, sweet.TensorType)
        assert isinstance(bound.type.shape, sweet.ListExpr)
        for _, change in list(shapes.orders(len(bound.type.shape.items)))[:2]:
            yield wrap(case, expr, change, 18)


def _output_shape(case: Case) -> Iterator[Mend]:
    """A transposed convolution makes of each size one that is `strides` times as large."""
    given, strides = case.arguments.get("output_shape"), case.arguments.get("strides")
    dims = case.shape("x")
    layout = case.arguments.get("layout")
    if not isinstance(given, sweet.ListExpr) or dims is None or len(dims) != len(given.items) + 2:
        return
    last = isinstance(layout, sweet.StrLit) and layout.value == "channels_last"
    first_axis = 1 if last else 2
    factor = strides.value if isinstance(strides, sweet.IntLit) else 1
    spatial = dims[first_axis : first_axis + len(given.items)]
    if all(isinstance(d, int) for d in spatial):
        text = dims_text(int(d) * factor for d in spatial)
        yield case.mend("give the size that it makes", [Edit(given.span, text)], 16)
    yield from _input_of(case, given, first_axis, factor)


def _input_of(case: Case, given: sweet.ListExpr, first_axis: int, factor: int) -> Iterator[Mend]:
    """The input that would give the output that is asked for."""
    x = case.arguments.get("x")
    bound = case.tree.binding(x.name, x.span) if isinstance(x, sweet.Name) else None
    type_ = bound.type if bound is not None else None
    own = type_.shape if isinstance(type_, sweet.TensorType) else None
    if not isinstance(own, sweet.ListExpr) or len(own.items) != len(given.items) + 2:
        return
    edits = []
    for position, asked in enumerate(given.items):
        item = own.items[first_axis + position]
        if isinstance(asked, sweet.IntLit) and isinstance(item, sweet.IntLit):
            edits.append(replaced(item, str(-(-asked.value // factor))))
    if len(edits) == len(given.items):
        yield case.mend("declare the input that gives this output", edits, 35, show=own.span)
