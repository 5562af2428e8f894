"""Dimensions that annotations know only as a product or sum: `[b, s, h * d]` does not determine h or d.

An expression of unknown names that stands in several places and can be any size (a product or a sum of different names) is
bound as if it were a name: `h * d` is `x.dim(2)`, and the other places assert that.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..lang.node import replace
from ..lang.printer import print_expr


def spelling(expr: sweet.Expr) -> str:
    """Return the name of a compound in a scope; no user's name looks like it."""
    return print_expr(expr)


def smallest(expr: sweet.Expr, free: set[str]) -> sweet.Expr:
    """Return the smallest part of an expression that holds all the unknown names."""
    match expr:
        case sweet.Binary():
            left, right = names(expr.left) & free, names(expr.right) & free
            if not left or not right:
                return smallest(expr.left if left else expr.right, free)
        case sweet.Unary():
            return smallest(expr.operand, free)
    return expr


def names(expr: sweet.Expr) -> set[str]:
    return {n.name for n in _names(expr)}


def _names(expr: sweet.Expr) -> Iterator[sweet.Name]:
    match expr:
        case sweet.Name():
            yield expr
        case sweet.Binary():
            yield from _names(expr.left)
            yield from _names(expr.right)
        case sweet.Unary():
            yield from _names(expr.operand)
        case sweet.Call(callee=sweet.Name()):
            for arg in expr.args:
                yield from _names(arg.value)


def is_any_size(expr: sweet.Expr, free: set[str]) -> bool:
    """Whether an expression of unknown names can be every size: each occurs once, under `*` and `+` alone."""
    found = [n.name for n in _names(expr)]
    return len(found) == len(set(found)) >= 2 and set(found) <= free and _is_plain(expr)


def _is_plain(expr: sweet.Expr) -> bool:
    match expr:
        case sweet.Name():
            return True
        case sweet.Binary(op="*" | "+"):
            return _is_plain(expr.left) and _is_plain(expr.right)
    return False


def count(expr: sweet.Expr, compound: str) -> int:
    """Count the occurrences of a compound in an expression."""
    match expr:
        case sweet.Binary():
            return 1 if spelling(expr) == compound else count(expr.left, compound) + count(expr.right, compound)
        case sweet.Unary():
            return count(expr.operand, compound)
        case sweet.Call(callee=sweet.Name()):
            return sum(count(a.value, compound) for a in expr.args)
    return 0


def uses(expr: sweet.Expr, wanted: set[str]) -> int:
    """Count the occurrences of some names in an expression."""
    return sum(n.name in wanted for n in _names(expr))


def folded(expr: sweet.Expr, compounds: set[str]) -> sweet.Expr:
    """Return the expression with compounds as names."""
    match expr:
        case sweet.Binary() if spelling(expr) in compounds:
            return sweet.Name(expr.span, spelling(expr))
        case sweet.Binary():
            return replace(expr, left=folded(expr.left, compounds), right=folded(expr.right, compounds))
        case sweet.Unary():
            return replace(expr, operand=folded(expr.operand, compounds))
        case sweet.Call(callee=sweet.Name()):
            return replace(expr, args=tuple(replace(a, value=folded(a.value, compounds)) for a in expr.args))
    return expr
