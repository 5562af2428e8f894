"""The dtypes of literal numbers as arguments of functions, according to the function's entry check."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from . import core
from .dtypes import WEAK, DType, int_range


def asked_dtypes(checks: Iterable[core.Stmt], param: str) -> Iterator[DType | str]:
    """The dtypes that an entry check asks of a parameter, or of a part of one, in order: dtypes, or names with the same
    dtype."""
    for stmt in checks:
        match stmt:
            case core.Assert(
                cond=core.Compare(op="==", left=core.DTypeOf(tensor=name), right=core.DTypeLit(dtype=asked))
            ):
                if name == param:
                    yield asked
            case core.Assert(cond=core.Compare(op="==", left=core.DTypeOf(tensor=a), right=core.DTypeOf(tensor=b))):
                if param in (a, b):
                    yield b if a == param else a


def part_names(checks: Iterable[core.Stmt], param: str) -> tuple[str, ...]:
    """The names that an entry check gives to the parts of a tuple."""
    for stmt in checks:
        if (
            isinstance(stmt, core.Let)
            and stmt.is_tuple
            and isinstance(stmt.value, core.Var)
            and stmt.value.name == param
        ):
            return stmt.names
    return ()


def kind_fits(literal: DType, dtype: DType) -> bool:
    """Whether literal numbers of one dtype can be elements of another, apart from their range."""
    if literal.kind == "bool":
        return dtype.kind == "bool"
    return dtype.kind in (("float", "complex") if literal.kind == "float" else ("int", "uint", "float", "complex"))


def number_fits(number: int | float | bool, dtype: DType) -> bool:
    """Whether a literal number can be an element of this dtype."""
    low, high = (
        int_range(dtype) if dtype.kind in ("int", "uint") else _FLOATS if type(number) is int else (number, number)
    )
    return kind_fits(WEAK[type(number)], dtype) and not (number < low or high < number)  # nan is a number too


# The integers that Python converts to a float, even if it is infinite in a smaller dtype.
_FLOATS = (-int(sys.float_info.max), int(sys.float_info.max))
