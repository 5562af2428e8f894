"""Another library's arguments to those of a primitive: `x.view(n, -1)`, whose sizes are a list."""

from __future__ import annotations

from collections.abc import Sequence

from ..lang import sweet
from ..lang.node import Node
from . import elsewhere
from .model import PrimitiveParam

# Kinds of parameters that take a list, of sizes or of tensors.
LISTS = ("sizes", "shape", "target", "ints", "tensors")


def is_spread(order: Sequence[PrimitiveParam], most: int, given: Sequence[sweet.Expr], count: int) -> bool:
    """Whether a list argument of one parameter is given item by item: `x.view(n, -1)`, and `x.view(-1)`."""
    if not order or not given or isinstance(given[0], sweet.ListExpr | sweet.TupleExpr):
        return False
    if order[0].kind == "ints":
        return count > most and all(integer(expr) is not None for expr in given)
    return order[0].kind == "target" or len(given) > 1 and (count > most or order[0].kind in ("shape", "tensors"))


def parameters(name: str, value: sweet.Expr, params: Sequence[PrimitiveParam]) -> tuple[str, ...]:
    """The parameters that another library's keyword may mean: `padding` for `pads`, and `padding="same"` for `auto_pad`."""
    found = elsewhere.parameters(name, params)
    fit = [p.name for p in params if p.name in found and (p.kind == "str") == isinstance(value, sweet.StrLit)]
    return tuple(fit) or found


def integer(expr: Node | None) -> int | None:
    """A literal integer, perhaps with a sign, or None."""
    match expr:
        case sweet.IntLit(value=value):
            return value
        case sweet.Unary(op="-", operand=sweet.IntLit(value=value)):
            return -value
        case _:
            return None
