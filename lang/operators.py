"""Operators on tensors: sugar for primitives."""

from __future__ import annotations

BINARY = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide", "%": "remainder", "**": "pow",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "&&": "logical_and", "||": "logical_or",
}  # fmt: skip
UNARY = {"-": "negative", "!": "logical_not"}
# How a primitive is written, where that is an operator.
WRITTEN = {name: operator for operator, name in BINARY.items()}
