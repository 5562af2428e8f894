"""The dtypes of literal numbers as arguments of functions, which follow from the function's entry check."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from . import core
from .dtypes import WEAK, DType, int_range


def asked_dtypes(function: core.Function, param: str) -> Iterator[DType | str]:
    """What a function's entry check asks of the dtype of a parameter, in order: a dtype, or the parameter that has the same
    one."""
    for stmt in function.checks:
        match stmt:
            case core.Assert(
                cond=core.Compare(op="==", left=core.DTypeOf(tensor=name), right=core.DTypeLit(dtype=asked))
            ):
                if name == param:
                    yield asked
            case core.Assert(cond=core.Compare(op="==", left=core.DTypeOf(tensor=a), right=core.DTypeOf(tensor=b))):
                if param in (a, b):
                    yield b if a == param else a


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
