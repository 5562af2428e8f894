"""Integers as a domain of sizes: the result of an operation, or the reason why it has no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, TypeVar

from ..lang import core
from ..lang.node import Node
from ..lang.source import NOWHERE
from .evaluate import Domain, Name, Operation
from .operators import PROD, SIZE_OPERATORS, SizeOperator

N = TypeVar("N", bound=Node)


class Undefined(ArithmeticError):
    """An operator's operands violate its condition: the message completes "...: "."""


def checked(row: SizeOperator) -> Callable[[int, int], int]:
    """A function of two integers for an operator; it raises Undefined if the operator has no value for them."""

    def found(a: int, b: int) -> int:
        if row.divides and b <= 0:
            raise Undefined(f"{_written(row, a, b)} has a divisor that is not positive")
        if row.exactly and a % b:
            raise Undefined(f"{a} is not a multiple of {b}")
        if row.fits and a != b and 1 not in (a, b):
            raise Undefined(f"{a} and {b} are not equal, and neither is 1")
        return row.meaning(_INTEGERS, a, b)  # type: ignore[no-any-return]

    return found


def _written(row: SizeOperator, a: int, b: int) -> str:
    return f"{row.name}({a}, {b})" if row.called else f"{a} {row.name} {b}"


class Integers(Domain):
    """Expressions over integers and over actual tensors: objects with `ndim`, `shape` and `dtype`."""

    def __init__(self, env: Mapping[str, Any]) -> None:
        self.env = env

    def named(self, e: Name) -> Any:
        value = self.env[e.name]
        return tuple(value) if isinstance(e, core.ShapeVar) else value

    def shape_of(self, tensor: str) -> Any:
        return tuple(self.env[tensor].shape)

    def dtype_of(self, tensor: str) -> Any:
        return self.env[tensor].dtype

    def operation(self, row: SizeOperator, e: Operation, left: Any, right: Any) -> Any:
        return operation(row.name, left, right)


_INTEGERS = Integers({})
_CHECKED: dict[str, Callable[[int, int], int]] = {}


def operation(op: str, a: int, b: int) -> int:
    """The result of an operator on two integers; raises Undefined if it has no value."""
    found = _CHECKED.get(op)
    if found is None:
        found = _CHECKED[op] = checked(SIZE_OPERATORS[op])
    return found(a, b)


_BOTH = core.BroadcastOf(NOWHERE, core.ShapeVar(NOWHERE, "a"), core.ShapeVar(NOWHERE, "b"))


def helpers() -> dict[str, Callable[..., Any]]:
    """The helpers of generated code: functions of shapes, and operations whose operands have to be checked."""
    return {
        **{row.check: checked(row) for row in SIZE_OPERATORS.values() if row.check},
        PROD: prod, "broadcast_shapes": partial(_INTEGERS.broadcast, _BOTH),
    }  # fmt: skip


def folded(size: N) -> N | core.SizeLit:
    """An operation on numbers as its result; anything else unchanged."""
    if not isinstance(size, core.SizeOp):
        return size
    left, right = size.left, size.right
    if not isinstance(left, core.SizeLit) or not isinstance(right, core.SizeLit):
        return size
    try:
        return core.SizeLit(size.span, operation(size.op, left.value, right.value))
    except Undefined:
        return size
