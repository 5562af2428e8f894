"""Fixes of a result of another rank than declared: the axes of directions and batch in a layer's states."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...lang.diagnostics import Edit
from ...ops.registry import lookup
from ..case import Fix, FixCase, appended, inserted
from ..tree import callee
from ..weights import weight
from .claims import value_of

_FIRST = '"batch_first"'


def fixes(case: FixCase) -> Iterator[Fix]:
    """Use `layout="batch_first"` for a layer that takes the time first, and drop the axis of its directions."""
    declared = case.subject.declared
    if declared is None or case.callee or case.subject.what != "rank" or declared.source is not case.tree.source:
        return
    value, operands = value_of(case), case.subject.operands
    shape = operands[0].shape if len(operands) == 1 else None
    if value is None or shape is None:
        return
    for node in case.tree.upstream([value]):
        edit = _batch_first(case, node)
        for axis in range(len(shape)) if edit is not None else ():
            assert edit is not None
            before, after = _squeezed(value, axis)
            what = f"add `layout={_FIRST}` to @{callee(node)} and drop axis {axis}"
            shown = f": `{before.text}{value.span.text}{after.text}`"
            yield Fix(
                what + shown * (len(shown) <= 72),
                (edit, before, after),
                weight("states") + axis,
                f"layout {axis}",
                guess=True,
            )


def _batch_first(case: FixCase, node: sweet.Call) -> Edit | None:
    row = lookup(callee(node))
    takes = row is not None and any(p.name == "layout" and p.default == "time_first" for p in row.params)
    return appended(node, f"layout={_FIRST}") if takes and "layout" not in case.tree.arguments(node) else None


def _squeezed(value: sweet.Expr, axis: int) -> tuple[Edit, Edit]:
    return inserted(value.span, value.span.start, "@squeeze("), inserted(value.span, value.span.end, f", axis={axis})")
