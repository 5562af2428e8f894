"""The dtypes of literal numbers as arguments of functions, which follow from the function's entry check."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from . import core
from .dtypes import WEAK, DType, int_range


def asked_dtypes(checks: Iterable[core.Stmt], param: str) -> Iterator[DType | str]:
    """What an entry check asks of the dtype of a parameter, or of a part of one, in order: a dtype, or the name that has the
    same one."""
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
    """The names of the parts of a tuple that an entry check takes apart."""
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
    """Whether literal numbers of one dtype can be elements of another, their range aside."""
    if literal.kind == "bool":
        return dtype.kind == "bool"
    return dtype.kind in (("float", "complex") if literal.kind == "float" else ("int", "uint", "float", "complex"))


def number_fits(number: int | float | bool, dtype: DType) -> bool:
    """Whether a literal number can be an element of this dtype."""
    low, high = (
        int_range(dtype) if dtype.kind in ("int", "uint") else _FLOATS if type(number) is int else (number, number)
    )
    return kind_fits(WEAK[type(number)], dtype) and not (number < low or high < number)  # nan is a number too


# Integers that a float can be made of, be it infinite in a smaller dtype: Python refuses others.
_FLOATS = (-int(sys.float_info.max), int(sys.float_info.max))
