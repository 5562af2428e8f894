"""The offset of an expression from one dimension in it: `x.dim(0) - 3`, `h - x.dim(0)`, `5 - x.dim(0) / 2`."""

from __future__ import annotations

from . import core
from .node import Node, replace


class Offset(Node):
    """`sign` times the dimension plus the terms with their factors, all divided by a number."""

    sign: int
    terms: tuple[tuple[int, core.SizeExpr], ...]
    divisor: int = 1


def offset(expr: core.SizeExpr, tensor: str, axis: int | None) -> Offset | None:
    """The offset of an expression from a dimension; None if the expression does more with it, or does not contain it."""
    if isinstance(expr, core.DimOf):
        return Offset(1, ()) if (expr.tensor, expr.axis) == (tensor, axis) else None
    match core.sides(expr, "/"):
        case dividend, core.SizeLit(value=divisor) if divisor >= 1:
            inner = offset(dividend, tensor, axis)
            return None if inner is None else replace(inner, divisor=inner.divisor * divisor)
    sides, sign = core.sides(expr, "+", "-"), 1 if core.sides(expr, "+") else -1
    if sides is None:
        return None
    left, right = (offset(side, tensor, axis) for side in sides)
    if left is not None and right is None:
        return replace(left, terms=(*left.terms, (sign * left.divisor, sides[1])))
    if right is not None and left is None:
        terms = ((right.divisor, sides[0]), *((sign * s, term) for s, term in right.terms))
        return Offset(sign * right.sign, terms, right.divisor)
    return None
