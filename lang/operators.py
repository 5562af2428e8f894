"""Operators: how tightly each binds, and the primitives that tensor operators stand for."""

from __future__ import annotations

# From the weakest to the strongest; other operators are written as calls.
BINDS = {
    "||": 1, "&&": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6,
}  # fmt: skip
BINARY = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide", "%": "remainder", "**": "pow",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "&&": "logical_and", "||": "logical_or",
}  # fmt: skip
UNARY = {"-": "negative", "!": "logical_not"}
# The operator of each primitive that is written as one.
WRITTEN = {name: operator for operator, name in BINARY.items()}
