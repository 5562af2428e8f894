"""Literal numbers as arguments of functions: which dtype they take, told by what the function's door asks."""

from __future__ import annotations

from collections.abc import Iterator

from . import core
from .dtypes import DType, int_range


def asked_dtypes(function: core.Function, param: str) -> Iterator[DType | str]:
    """What a function's door asks of the dtype of a parameter, in order: a dtype, or the parameter that has the same one."""
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


def number_fits(number: int | float | bool, dtype: DType) -> bool:
    """Whether a literal number can be an element of this dtype."""
    if isinstance(number, bool):
        return dtype.kind == "bool"
    if isinstance(number, int):
        low, high = int_range(dtype) if dtype.kind in ("int", "uint") else (number, number)
        return dtype.kind in ("int", "uint", "float", "complex") and low <= number <= high
    return dtype.kind in ("float", "complex")
