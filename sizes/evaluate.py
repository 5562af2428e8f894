"""An expression over sizes, shapes, dtypes and conditions to its value, in any domain of values.

No other module matches on these expressions to evaluate them. A domain (`Domain`) defines the values of names and the results
of operations: integers, partly known sizes, terms of the solver, Python text, or the same expressions over other names.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, assert_never

from ..lang import core
from .operators import SIZE_OPERATORS, Arithmetic, SizeOperator

Literal = core.SizeLit | core.DTypeLit | core.BoolConst
Operation = core.SizeOp | core.BroadcastOf
Name = core.SizeVar | core.ShapeVar | core.DTypeVar | core.BoolVar | core.Splice


class Domain(Arithmetic):
    """The values of expressions. A domain overrides the methods that it needs; `rank`, `dimension` and `of_parts` assume that
    the shapes of tensors are sequences."""

    def literal(self, e: Literal) -> Any:
        return e.dtype if isinstance(e, core.DTypeLit) else e.value

    def named(self, e: Name) -> Any:
        """The value of a name; for a splice, its dimensions."""
        raise NotImplementedError

    def shape_of(self, tensor: str) -> Any:
        """The shape of the tensor of that name."""
        raise NotImplementedError

    def dtype_of(self, tensor: str) -> Any:
        raise NotImplementedError

    def rank(self, e: core.RankOf) -> Any:
        return len(self.shape_of(e.tensor))

    def dimension(self, e: core.DimOf) -> Any:
        return self.shape_of(e.tensor)[e.axis]

    def of_parts(self, parts: list[tuple[bool, Any]]) -> Any:
        """A shape from its parts: whether each is a splice, and its value."""
        return tuple(size for is_splice, part in parts for size in (part if is_splice else (part,)))

    # Sizes

    def operation(self, row: SizeOperator, e: Any, left: Any, right: Any) -> Any:
        return row.meaning(self, left, right)

    # Shapes

    def prod(self, shape: Any) -> Any:
        return prod(shape)

    def broadcast(self, e: Operation, left: Any, right: Any) -> Any:
        rank, row = max(len(left), len(right)), SIZE_OPERATORS["broadcast"]
        sides = ((1,) * (rank - len(shape)) + tuple(shape) for shape in (left, right))
        return tuple(self.operation(row, e, a, b) for a, b in zip(*sides, strict=True))

    # Conditions

    def compare(self, e: core.Compare, left: Any, right: Any) -> Any:
        raise NotImplementedError

    def in_class(self, e: core.InClass, item: Any) -> Any:
        raise NotImplementedError

    def negation(self, e: core.Not, operand: Any) -> Any:
        return not operand

    def logic(self, e: core.Logic, left: Any, right: Callable[[], Any]) -> Any:
        """`left && right` or `left || right`; the right side is evaluated on demand."""
        return left if left is (e.op == "||") else right()


def evaluate(e: core.ShapeLevel | core.Splice, of: Domain) -> Any:
    """The value of an expression in a domain; the most frequent kinds come first."""
    match e:
        case core.SizeLit() | core.DTypeLit() | core.BoolConst():
            return of.literal(e)
        case core.DimOf():
            return of.dimension(e)
        case core.SizeVar() | core.ShapeVar() | core.DTypeVar() | core.BoolVar() | core.Splice():
            return of.named(e)
        case core.Compare():
            return of.compare(e, evaluate(e.left, of), evaluate(e.right, of))
        case core.RankOf():
            return of.rank(e)
        case core.SizeOp():
            return of.operation(SIZE_OPERATORS[e.op], e, evaluate(e.left, of), evaluate(e.right, of))
        case core.ProdOf():
            return of.prod(evaluate(e.shape, of))
        case core.BroadcastOf():
            return of.broadcast(e, evaluate(e.left, of), evaluate(e.right, of))
        case core.ShapeOf():
            return of.shape_of(e.tensor)
        case core.ShapeLit():
            return of.of_parts([(isinstance(d, core.Splice), evaluate(d, of)) for d in e.dims])
        case core.DTypeOf():
            return of.dtype_of(e.tensor)
        case core.InClass():
            return of.in_class(e, evaluate(e.item, of))
        case core.Not():
            return of.negation(e, evaluate(e.operand, of))
        case core.Logic():
            return of.logic(e, evaluate(e.left, of), lambda: evaluate(e.right, of))
        case _:
            assert_never(e)
