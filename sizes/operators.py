"""The operators of sizes, a row each: an operator's meaning, and its condition on its operands.

A meaning uses `+ - * // %` of the sizes and, for a minimum or maximum, its context. So the same meaning applies to integers,
partly known sizes, terms of the solver, the Python text that computes a size, and bytes of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang.node import Node


class Arithmetic:
    """The operations that sizes lack beside `+ - * // %`, here for integers."""

    def min(self, *sizes: Any) -> Any:
        return min(sizes)

    def max(self, *sizes: Any) -> Any:
        return max(sizes)


class SizeOperator(Node):
    """An operator of two sizes.

    `called`: it is written as a function, `min(a, b)`; if it takes `several`, `min(a, b, c)` is `min(min(a, b), c)`.
    `divides`: its right operand has to be positive. `exactly`: it also has to divide the left one. `fits`: both are equal, or
    one of them is 1. `neutral` is the right operand that changes nothing. `check` names the helper that generated code calls if
    the operands may violate the condition: any row with a condition has one, with a name of its choice.
    """

    name: str
    meaning: Callable[[Any, Any, Any], Any]
    called: bool = False
    several: bool = False
    divides: bool = False
    exactly: bool = False
    fits: bool = False
    neutral: int | None = None
    check: str = ""


def _broadcast(c: Arithmetic, a: Any, b: Any) -> Any:
    """The common size of two sizes that broadcast: the larger one, but 0 if they are 0 and 1."""
    return c.min(c.max(a, b), c.max(a + b - 1, c.min(a, b)))


_ROWS = (
    SizeOperator("+", lambda c, a, b: a + b, neutral=0),
    SizeOperator("-", lambda c, a, b: a - b, neutral=0),
    SizeOperator("*", lambda c, a, b: a * b, neutral=1),
    SizeOperator("//", lambda c, a, b: a // b, divides=True, neutral=1, check="floor"),
    SizeOperator("%", lambda c, a, b: a % b, divides=True, check="modulo"),
    SizeOperator("/", lambda c, a, b: a // b, divides=True, exactly=True, neutral=1, check="exact"),
    SizeOperator("min", lambda c, a, b: c.min(a, b), called=True, several=True),
    SizeOperator("max", lambda c, a, b: c.max(a, b), called=True, several=True),
    SizeOperator("ceildiv", lambda c, a, b: -(-a // b), called=True, divides=True, neutral=1, check="ceildiv"),
    SizeOperator("broadcast", _broadcast, called=True, several=True, fits=True, neutral=1, check="broadcast"),
)
assert all(row.check for row in _ROWS if row.divides or row.exactly or row.fits)

SIZE_OPERATORS: dict[str, SizeOperator] = {row.name: row for row in _ROWS}


# The function that gives the number of elements of a shape.
PROD = "prod"


def is_called(name: str) -> bool:
    """Whether a name is that of a function of sizes, such as `min`."""
    row = SIZE_OPERATORS.get(name)
    return row is not None and row.called


def is_function(name: str) -> bool:
    """Whether a name is that of a function of sizes or shapes."""
    return name == PROD or is_called(name)


def size_functions() -> tuple[str, ...]:
    """The operators that are written as functions."""
    return tuple(row.name for row in SIZE_OPERATORS.values() if row.called)


def size_signs() -> frozenset[str]:
    """The operators that are written between their operands."""
    return frozenset(row.name for row in SIZE_OPERATORS.values() if not row.called)
