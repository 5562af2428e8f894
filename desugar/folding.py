"""Arithmetic of literal numbers: an operator or a function with literal operands to the resulting number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ..lang import core, sweet
from ..lang.operators import WRITTEN
from ..ops import of_numbers
from ..ops.model import Primitive

Number = int | float | bool

_ARITHMETIC: dict[str, Callable[[int | float, int | float], int | float | complex]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MOST_BITS = 64  # of an integer result: longer ones fit no dtype


def folded(op: str, left: core.Value, right: core.Value) -> Number | None:
    """Return the result of an operator on two literal numbers; None if one is no literal, or the result depends on dtypes."""
    if not isinstance(left, core.Number) or not isinstance(right, core.Number):
        return None
    a, b = left.value, right.value
    if isinstance(a, bool) != isinstance(b, bool):
        return None
    if op in _COMPARISONS:
        return _COMPARISONS[op](*_of_one_kind(a, b)) if _is_comparable(op, a, b) else None
    if isinstance(a, bool):
        return {"&&": a and b, "||": a or b}.get(op) if isinstance(b, bool) else None
    return _computed(op, *_of_one_kind(a, b)) if op in _ARITHMETIC else None


def applied(row: Primitive, args: Sequence[core.Arg]) -> Number | None:
    """Return the result of a function of literal numbers; None if an argument is no number, or the result is not finite."""
    given = {a.name or row.params[i].name: a.value for i, a in enumerate(args) if isinstance(a.value, core.Number)}
    if not given or len(given) < len(row.params):
        return None
    values = [given[p.name] for p in row.params]
    if row.name in WRITTEN:
        return folded(WRITTEN[row.name], *values)
    found = of_numbers.computed(row, [v.value for v in values])
    return found if found is None or _is_small(found) else None


def _is_comparable(op: str, a: Number, b: Number) -> bool:
    return (op in ("==", "!=") or not isinstance(a, bool)) and all(_is_small(n) for n in (a, b))


def _is_small(number: Number) -> bool:
    return not isinstance(number, int) or number.bit_length() < _MOST_BITS


def _of_one_kind(a: Number, b: Number) -> tuple[Number, Number]:
    """Return both numbers as floats if one is a float."""
    if isinstance(a, float) == isinstance(b, float) or not (_is_small(a) and _is_small(b)):
        return a, b
    return float(a), float(b)


def _computed(op: str, a: int | float, b: int | float) -> int | float | None:
    if isinstance(a, int) and isinstance(b, int) and not _stays_whole(op, a, b):
        return None
    found = of_numbers.finite(lambda: _ARITHMETIC[op](a, b))
    return None if isinstance(found, complex) or found is None or not _is_small(found) else found


def _stays_whole(op: str, a: int, b: int) -> bool:
    """Whether an operator gives an integer for integers, of a length that is worth computing."""
    return op != "/" and (op != "**" or b >= 0 and b * max(1, a.bit_length()) <= 4 * _MOST_BITS)


def literal(number: core.Number) -> sweet.Expr:
    """Return the number as a literal expression."""
    value = number.value
    if isinstance(value, bool):
        return sweet.BoolLit(number.span, value)
    return (
        sweet.IntLit(number.span, value) if isinstance(value, int) else sweet.FloatLit(number.span, value, repr(value))
    )


def number_of(literal: sweet.Expr | None) -> Number | None:
    """Return the value of a literal number."""
    return literal.value if isinstance(literal, sweet.IntLit | sweet.FloatLit | sweet.BoolLit) else None
