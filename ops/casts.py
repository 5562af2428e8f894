"""Which dtypes an attribute may have, and which numbers can become which."""

from __future__ import annotations

from ..lang.dtypes import DTYPES, int_range
from .model import AnyDType, Ctx
from .requirements import Argument, DTypeIn, NotComplex


def castable(ctx: Ctx, name: str, source: AnyDType | None, target: AnyDType | None) -> None:
    """Complex numbers, those of an operand, become complex ones, booleans or strings only."""
    keeps = ctx.dtype_in(target, "complex", "boolean", "string")
    asked = NotComplex(Argument(name), source, target, keeps is None)
    if keeps is False:
        ctx.require_dtype(asked)
    elif keeps is None and ctx.dtype_in(source, *asked.classes) is not True:
        ctx.require_either(None, asked)


def computed_in(ctx: Ctx, name: str, source: AnyDType | None, dtype: AnyDType | None) -> None:
    """The dtype to compute in, where one is given: a number's, to which the operand can be cast."""
    if dtype is not None:
        attribute(ctx, dtype, "numeric")
        castable(ctx, name, source, dtype)


def attribute(ctx: Ctx, dtype: AnyDType, *classes: str) -> None:
    """A dtype parameter is in one of the classes."""
    ctx.require_dtype(DTypeIn(Argument("dtype"), dtype, classes, attribute=True))


def beyond(numbers: range, dtype: str) -> str | None:
    """What is needed of counted numbers that are wanted in a dtype, where int64 does not hold them all; of natural ones in
    uint64, where that does not."""
    ends = (numbers[0], numbers[-1]) if numbers else ()
    held = DTYPES["uint64" if dtype == "uint64" and min(ends, default=0) >= 0 else "int64"]
    low, high = int_range(held)
    far = next((n for n in ends if not low <= n <= high), None)
    return None if far is None else f"numbers that {held} can hold, not {far}"
