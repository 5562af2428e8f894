"""Texts of sizes and conditions to what they are where every size is a number."""

from __future__ import annotations

from collections.abc import Mapping

from .conditions import evaluate_cond
from .exprs import ExpressionError, Scope, read_condition, read_size
from .sizes import only_var
from .terms import TooLarge, Var, evaluate

Sizes = Mapping[str, int]


def size_at(text: int | str, sizes: Sizes) -> int | None:
    """None for what is no size, or speaks of another one than these."""
    if isinstance(text, int):
        return text
    scope = Scope()
    try:
        size = read_size(text, scope)
        point = _point(scope, sizes)
        return None if point is None else evaluate(size, point)
    except (ExpressionError, TooLarge):
        return None


def holds_at(text: str, sizes: Sizes) -> bool | None:
    """The same of a condition."""
    scope = Scope()
    try:
        cond = read_condition(text, scope)
        point = _point(scope, sizes)
        return None if point is None else evaluate_cond(cond, point)
    except (ExpressionError, TooLarge):
        return None


def _point(scope: Scope, sizes: Sizes) -> dict[Var, int] | None:
    """The values of a text's names; None where one has none, or a divisor is not positive."""
    if not scope.names.keys() <= sizes.keys():
        return None
    point = {only_var(term): sizes[name] for name, term in scope.names.items()}
    owed = (cond for cond, guard, _ in scope.obligations if evaluate_cond(guard, point))
    return point if all(evaluate_cond(cond, point) for cond in owed) else None
