"""Terms of the solver as a domain of sizes."""

from __future__ import annotations

from collections.abc import Mapping

from ...lang import core
from ...sizes.evaluate import Domain, Name, Operation, evaluate
from ...sizes.operators import SizeOperator
from .terms import Size, smax, smin


class Terms(Domain):
    """Expressions over terms. A quotient by 0 is 0 here; other code checks the divisors."""

    def min(self, *sizes: Size) -> Size:
        return smin(*sizes)

    def max(self, *sizes: Size) -> Size:
        return smax(*sizes)

    def operation(self, row: SizeOperator, e: Operation, left: Size, right: Size) -> Size:
        return applied(row, left, right)


def applied(row: SizeOperator, a: Size, b: Size) -> Size:
    """Return an operator's result for two terms."""
    found: Size = 0 if row.divides and isinstance(b, int) and b == 0 else row.meaning(_TERMS, a, b)
    return found


_TERMS = Terms()


class _OverNames(Terms):
    def __init__(self, names: Mapping[str, Size]) -> None:
        self.names = names

    def named(self, e: Name) -> Size:
        return self.names[e.name]

    def shape_of(self, tensor: str) -> Size:
        raise LookupError(tensor)

    def operation(self, row: SizeOperator, e: Operation, left: Size, right: Size) -> Size:
        if row.divides and isinstance(right, int) and right == 0:
            raise LookupError("a divisor is 0")
        return super().operation(row, e, left, right)


def written_size(size: core.SizeExpr | None, names: Mapping[str, Size]) -> Size | None:
    """An annotation's dimension with its names replaced; None if one is missing or it is no size."""
    if size is None:
        return None
    try:
        found: Size = evaluate(size, _OverNames(names))
        return found
    except LookupError:
        return None
