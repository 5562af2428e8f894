"""Fixes of convolutions and pooling, and of operations before them: the layout of the input, its sizes."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...ops.model import Trait
from ...ops.requirements import AtLeast, AtMost
from ..case import Fix, FixCase, dims_text, replaced
from ..tree import has
from ..weights import weight
from . import shapes
from .operands import wrap


def fixes(case: FixCase) -> Iterator[Fix]:
    if case.call is None or may_be_too_small(case):
        return
    yield from _resized(case)
    if not has(case.callee, Trait.WINDOWS):
        return
    yield from _layout_of_input(case)


def may_be_too_small(case: FixCase) -> bool:
    """Whether only some inputs are too small for a window: the author decides on the smallest input, and the operation is
    right."""
    return (
        case.diagnostic.code.is_unproved
        and has(case.callee, Trait.WINDOWS)
        and isinstance(case.asked, AtLeast | AtMost)
    )


def _is_of_sizes(case: FixCase) -> bool:
    """Whether sizes disagree, or a window does not fit."""
    code = case.diagnostic.code
    return code.of_sizes or code.of_elements or code.only_empty or code.is_unproved


def _resized(case: FixCase) -> Iterator[Fix]:
    """Resize a tensor that was enlarged by an integer factor to the tensor that it meets."""
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
                yield case.fix(
                    f"make it as large as {case.named(case.arguments[other_name])}",
                    edits,
                    weight("resized"),
                    show=made.span,
                )


def _layout_of_input(case: FixCase) -> Iterator[Fix]:
    """Move the channels of the input to where the layers take them."""
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
            yield wrap(case, expr, change, weight("layout of input"))
