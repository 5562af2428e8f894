"""The rank of an expression, as far as the surrounding text shows it, for the range of its axes."""

from __future__ import annotations

from ...lang import sweet
from ...lang.node import Node
from ...ops.elsewhere_args import integer
from ...ops.model import Trait
from ...ops.registry import lookup
from ..tree import TextTree, callee, has, keeps_shape, summed
from .literals import SHAPES

_DEPTH = 8


def rank_of(tree: TextTree, expr: Node | None, depth: int = _DEPTH) -> int | None:
    """Return the rank; None if it takes more than a glance."""
    match expr:
        case sweet.Name(name=name) if depth > 0:
            bound = tree.binding(name, expr.span)
            declared = _declared(bound.type) if bound is not None else None
            if declared is None and isinstance(bound, sweet.Let) and not bound.is_tuple:
                return rank_of(tree, bound.value, depth - 1)
            return declared
        case sweet.IntLit() | sweet.FloatLit():
            return 0
        case sweet.Unary(operand=operand) if depth > 0:
            return rank_of(tree, operand, depth - 1)
        case sweet.Binary(left=left, right=right) if depth > 0:
            sides = [rank_of(tree, side, depth - 1) for side in (left, right)]
            known = [side for side in sides if side is not None]
            return max(known) if len(known) == len(sides) else None
        case sweet.Index(value=value, items=items) if depth > 0:
            whole = rank_of(tree, value, depth - 1)
            more = sum(map(sweet.is_none, items)) - sum(map(_drops, items))
            return None if whole is None or not all(map(_is_index, items)) else whole + more
        case sweet.Call() if depth > 0:
            return _of_call(tree, expr, depth - 1)
    return None


def _declared(type_: Node | None) -> int | None:
    shape = type_.shape if isinstance(type_, sweet.TensorType) else None
    return _length(shape)


def _length(shape: Node | None) -> int | None:
    items = shape.items if isinstance(shape, sweet.ListExpr) else None
    return None if items is None or any(isinstance(i, sweet.Splice | sweet.Dots) for i in items) else len(items)


def _is_index(item: Node) -> bool:
    return isinstance(item, sweet.SliceItem) or sweet.is_none(item) or _drops(item)


def _drops(item: Node) -> bool:
    """Whether an index removes its axis, as sizes do."""
    return isinstance(item, sweet.IntLit | sweet.Binary) or integer(item) is not None


def _of_call(tree: TextTree, call: sweet.Call, depth: int) -> int | None:
    name, given = callee(call), tree.arguments(call)
    row, own = lookup(name), tree.function(name)
    if own is not None:
        return None if own.fn.result is None else _declared(own.fn.result)
    if "shape" in given and row is not None and any(p.name == "shape" and p.kind in SHAPES for p in row.params):
        return _length(given["shape"])
    if has(name, Trait.MOVES_AXES) and "axes" in given:
        return _length(given["axes"])
    if has(name, Trait.JOINS, Trait.MOVES_AXES) or keeps_shape(name) or summed(name):
        return rank_of(tree, given.get("x") or given.get("xs[0]"), depth)
    return None
