"""The values of expressions if sizes are numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from ...lang import sweet
from ...lang.node import Node
from ...ops.model import TensorInfo
from ...simplify.solver.terms import MOST_BITS
from ...sizes.integers import Undefined, operation
from ...sizes.operators import SIZE_OPERATORS

# A size, a truth value, a word, a tensor of known shape, a function, or a tuple of these; None is unknown.
Value = Any
Env = dict[str, Value]

_ONE = TensorInfo[int]((), None)


class NumberFunction(Node):
    """A function of the text, and the names that it sees."""

    fn: sweet.Fn
    env: Env


class Misfit(Exception):
    """Something does not fit at these sizes."""


class Untold(Exception):
    """Sizes alone do not determine the value."""


def told(value: Value) -> Value:
    if value is None:
        raise Untold
    return value


def size_of(value: Value) -> int:
    if not isinstance(value, int):
        raise Untold
    return value


def bearable(sizes: Iterable[object]) -> None:
    """Raise Untold for a number of too many bits."""
    if any(isinstance(size, int) and size.bit_length() > MOST_BITS for size in sizes):
        raise Untold


def tensor_of(value: Value) -> TensorInfo:
    """Return an operand; a number is a tensor without axes."""
    if isinstance(value, int | float):
        return _ONE
    if not isinstance(value, TensorInfo):
        raise Untold
    return value


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def arithmetic(op: str, left: int, right: int) -> int | bool:
    """Return `left op right`; raise Misfit if it has no value, and Untold for numbers too large for sizes."""
    if op not in SIZE_OPERATORS and op not in _COMPARISONS or left.bit_length() + right.bit_length() > MOST_BITS:
        raise Untold
    if op in _COMPARISONS:
        return _COMPARISONS[op](left, right)
    try:
        return operation(op, left, right)
    except Undefined:
        raise Misfit from None
