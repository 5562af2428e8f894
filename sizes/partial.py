"""Sizes some of which are unknown, as a domain: the certain facts about an expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ..lang import core
from . import integers
from .evaluate import Domain, Operation
from .operators import Arithmetic, SizeOperator


class Open(Exception):
    """The value is unknown."""


class UnknownSize:
    """A size that only the data decides: equal to itself, and not known to equal any other."""

    def _made(self, *_: object) -> UnknownSize:
        return UnknownSize()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = __neg__ = _made
    __rfloordiv__ = __rmod__ = _made

    def of(self, function: Any, sizes: Sequence[Any]) -> UnknownSize:
        """The result of a function whose arguments include unknown sizes, of which this is the first."""
        return UnknownSize()

    def _asked(self, *_: object) -> NoReturn:
        raise Open

    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __bool__ = _asked

    def __str__(self) -> str:
        return "?"


Sizes = int | UnknownSize


def applied(function: Callable[..., Any], sizes: Sequence[Any]) -> Any:
    """A function of integers, applied to sizes that may be unknown."""
    unknown = next((size for size in sizes if not isinstance(size, int)), None)
    return function(*sizes) if unknown is None else unknown.of(function, sizes)


def are_same(a: Any, b: Any) -> bool:
    """Whether two sizes, which may be unknown, are surely equal."""
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)


def operation(row: SizeOperator, a: Any, b: Any) -> Any:
    """The result of an operator; raises Undefined if it surely has no value."""
    if isinstance(a, int) and isinstance(b, int):
        return integers.operation(row.name, a, b)
    return row.meaning(_PARTIAL, a, b)


def all_of(*conds: bool | None) -> bool | None:
    return False if False in conds else None if None in conds else True


def any_of(*conds: bool | None) -> bool | None:
    return True if True in conds else None if None in conds else False


def compare(op: str, a: Any, b: Any) -> bool | None:
    """A comparison of sizes, shapes, dtypes or truths; None if it is open."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        equal = all_of(len(a) == len(b), *(compare("==", x, y) for x, y in zip(a, b, strict=False)))
        return equal if op == "==" or equal is None else not equal
    if isinstance(a, UnknownSize) or isinstance(b, UnknownSize):
        return (op in ("==", "<=", ">=")) if a is b else None
    return bool(_COMPARISONS[op](a, b))


_COMPARISONS: Mapping[str, Any] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


class PartialArithmetic(Arithmetic):
    def min(self, *sizes: Any) -> Any:
        return applied(min, sizes)

    def max(self, *sizes: Any) -> Any:
        return applied(max, sizes)


class Partial(PartialArithmetic, Domain):
    """Expressions over known values; raises Open if the value is unknown, and Undefined if an operation has no value."""

    def operation(self, row: SizeOperator, e: Operation, left: Any, right: Any) -> Any:
        return operation(row, left, right)

    def dimension(self, e: core.DimOf) -> Any:
        shape = self.shape_of(e.tensor)
        if not -len(shape) <= e.axis < len(shape):
            raise Open
        return shape[e.axis]

    def compare(self, e: core.Compare, left: Any, right: Any) -> bool:
        found = compare(e.op, left, right)
        if found is None:
            raise Open
        return found


_PARTIAL = Partial()
