"""An expression over one dimension to what it adds to it: `x.dim(0) - 3` and `h - x.dim(0)`, not `x.dim(0) / 2`."""

from __future__ import annotations

from . import core
from .node import Node


class Offset(Node):
    """`sign` times the dimension, and the terms with their signs."""

    sign: int
    terms: tuple[tuple[int, core.SizeExpr], ...]


def offset(expr: core.SizeExpr, tensor: str, axis: int | None) -> Offset | None:
    """What an expression adds to a dimension; None where it does more with it, or does not have it."""
    if isinstance(expr, core.DimOf):
        return Offset(1, ()) if (expr.tensor, expr.axis) == (tensor, axis) else None
    if not isinstance(expr, core.SizeOp) or expr.op not in ("+", "-"):
        return None
    sign = 1 if expr.op == "+" else -1
    left, right = offset(expr.left, tensor, axis), offset(expr.right, tensor, axis)
    if left is not None and right is None:
        return Offset(left.sign, (*left.terms, (sign, expr.right)))
    if right is not None and left is None:
        return Offset(sign * right.sign, ((1, expr.left), *((sign * s, term) for s, term in right.terms)))
    return None
