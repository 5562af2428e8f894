"""An expression over one dimension to its offset from it: `x.dim(0) - 3`, `h - x.dim(0)`, `5 - x.dim(0) / 2`."""

from __future__ import annotations

from . import core
from .node import Node, replace


class Offset(Node):
    """`sign` times the dimension, and the terms with their factors, all of it divided by a number."""

    sign: int
    terms: tuple[tuple[int, core.SizeExpr], ...]
    divisor: int = 1


def offset(expr: core.SizeExpr, tensor: str, axis: int | None) -> Offset | None:
    """What an expression adds to a dimension; None where it does more with it, or does not have it."""
    if isinstance(expr, core.DimOf):
        return Offset(1, ()) if (expr.tensor, expr.axis) == (tensor, axis) else None
    if not isinstance(expr, core.SizeOp) or expr.op not in ("+", "-", "/"):
        return None
    left, right = offset(expr.left, tensor, axis), offset(expr.right, tensor, axis)
    if expr.op == "/":
        if left is None or not isinstance(expr.right, core.SizeLit) or expr.right.value < 1:
            return None
        return replace(left, divisor=left.divisor * expr.right.value)
    sign = 1 if expr.op == "+" else -1
    if left is not None and right is None:
        return replace(left, terms=(*left.terms, (sign * left.divisor, expr.right)))
    if right is not None and left is None:
        terms = ((right.divisor, expr.left), *((sign * s, term) for s, term in right.terms))
        return Offset(sign * right.sign, terms, right.divisor)
    return None
