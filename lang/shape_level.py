"""Expressions of the shape level: sizes, shapes, dtypes and conditions over them; and the checker's facts about a value, in
these terms. They are part of the core tree (`core.py`)."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, get_args

from .dtypes import DType
from .node import Node
from .source import Placed, Span

if TYPE_CHECKING:
    from typing_extensions import TypeIs


# Sizes, shapes, dtypes, conditions


class SizeLit(Placed):
    value: int


class SizeVar(Placed):
    """A name of sort Size: a parameter, a const, or one bound by a `let k : Size` or a MatchShape."""

    name: str


class SizeOp(Placed):
    """op is the name of an operator of sizes; `/` is exact division (with the obligation that it divides)."""

    op: str
    left: SizeExpr
    right: SizeExpr


def operation(span: Span, op: str, *parts: SizeExpr) -> SizeExpr:
    """An operator of two sizes, or of several from left to right."""
    return reduce(lambda a, b: SizeOp(span, op, a, b), parts)


def sides(expr: object, *ops: str) -> tuple[SizeExpr, SizeExpr] | None:
    """The operands of an operation, if its operator is one of `ops`."""
    return (expr.left, expr.right) if isinstance(expr, SizeOp) and (expr.op in ops or not ops) else None


class RankOf(Placed):
    tensor: str


class DimOf(Placed):
    """`x.dim(axis)` with a literal axis, negative from the end."""

    tensor: str
    axis: int


class ProdOf(Placed):
    """`prod(s)`: the number of elements of a tensor of that shape."""

    shape: ShapeExpr


class ShapeVar(Placed):
    name: str


class ShapeOf(Placed):
    """`x.shape` of a tensor variable."""

    tensor: str


REST = "_rest"
"""The core's name for `...` in a shape, as the core has no unnamed splice."""


UNSAID = "''"
"""The suffix of generated names, which no message mentions."""


class Splice(Placed):
    """`*s` inside a ShapeLit."""

    name: str


class ShapeLit(Placed):
    dims: tuple[SizeExpr | Splice, ...]


class BroadcastOf(Placed):
    """`broadcast(s, t)`: the shape that both broadcast to (with the obligation that there is one)."""

    left: ShapeExpr
    right: ShapeExpr


class DTypeLit(Placed):
    dtype: DType


class DTypeVar(Placed):
    name: str


class DTypeOf(Placed):
    tensor: str


class BoolConst(Placed):
    value: bool


class BoolVar(Placed):
    """A parameter or const of sort Bool."""

    name: str


class Compare(Placed):
    """Both sides are Sizes, or Shapes (== and != only), or DTypes (== and != only), or Bools (== and != only)."""

    op: str
    left: ShapeLevel
    right: ShapeLevel


class InClass(Placed):
    """`d in floating` / `d in {float16, float32}`: choices are class names and dtype names, braces tells which form."""

    item: DTypeExpr
    choices: tuple[str, ...]
    braces: bool


class Not(Placed):
    operand: BoolExpr


class Logic(Placed):
    """op is && or ||, decided left to right."""

    op: str
    left: BoolExpr
    right: BoolExpr


SizeExpr = SizeLit | SizeVar | SizeOp | RankOf | DimOf | ProdOf
ShapeExpr = ShapeVar | ShapeOf | ShapeLit | BroadcastOf
DTypeExpr = DTypeLit | DTypeVar | DTypeOf
BoolExpr = BoolConst | BoolVar | Compare | InClass | Not | Logic
ShapeLevel = SizeExpr | ShapeExpr | DTypeExpr | BoolExpr

_SHAPE_LEVEL = frozenset(get_args(ShapeLevel))


def is_shape_level(value: Node) -> TypeIs[ShapeLevel]:
    """Whether a value is a Size, Shape, DType or Bool; every value is asked, so its class is looked up."""
    return type(value) in _SHAPE_LEVEL


# The facts about a value

# The fields with the checker's facts: no part of a program's meaning, in the checker's own names.
KNOWN = frozenset({"known", "behind"})


class Known(Node):
    """The checker's facts about a tensor: its dimensions (None if even their number is open), its dtype, and its elements if
    they are sizes. Sizes are expressions over the checker's own names, not names of the program: equal expressions of one
    function are equal sizes. An unnamed size is called `?` and a number. A Size has only `data`: it has no shape."""

    shape: tuple[SizeExpr, ...] | None
    dtype: DTypeExpr
    data: SizeExpr | tuple[SizeExpr, ...] | None = None
