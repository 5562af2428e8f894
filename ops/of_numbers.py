"""The values of element-wise functions of literal numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..lang.dtypes import WEAK
from .dtypes_column import parse_dtypes
from .model import Primitive

_MATH = (
    "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "atan2", "hypot", "copysign", "erf",
)  # fmt: skip
# Functions of numbers of the kinds that their rows take; rounding keeps the kind of the number.
_FUNCTIONS: dict[str, Callable[..., int | float]] = {
    **{name: getattr(math, name) for name in _MATH},
    **{name: lambda a, f=f: type(a)(f(a)) for name, f in {
        "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round, "sign": lambda a: (a > 0) - (a < 0),
    }.items()},
    "abs": abs, "negative": operator.neg, "square": lambda a: a * a, "reciprocal": lambda a: 1 / a,
    "clip": lambda a, low, high: min(max(a, low), high), "where": lambda chosen, a, b: a if chosen else b,
    "rsqrt": lambda a: 1 / math.sqrt(a), "maximum": max, "minimum": min, "relu": lambda a: max(a, type(a)(0)),
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)), "softplus": lambda a: math.log1p(math.exp(-abs(a))) + max(a, 0.0),
}  # fmt: skip


def computed(row: Primitive, numbers: Sequence[int | float | bool]) -> Any:
    """The result of a row on numbers that its column allows; None if it is unknown or not finite."""
    words = parse_dtypes(row.dtypes).inputs
    kinds = [float if type(n) is int and float in map(type, numbers) else type(n) for n in numbers]
    if row.name not in _FUNCTIONS or not all(w.allows(WEAK[k]) for w, k in zip(words, kinds, strict=True)):
        return None
    return finite(lambda: _FUNCTIONS[row.name](*(kind(n) for kind, n in zip(kinds, numbers, strict=True))))


def finite(compute: Callable[[], Any]) -> Any:
    """The computed value; None if Python raises an error, or the value is not finite."""
    try:
        found = compute()
        return found if isinstance(found, int | complex) or math.isfinite(found) else None
    except (ArithmeticError, ValueError):
        return None
