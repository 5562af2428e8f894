"""Which dtypes an attribute may have, and which numbers can become which."""

from __future__ import annotations

from ..lang.dtypes import DTYPES, int_range
from .model import AnyDType, Ctx
from .requirements import Argument, DTypeIn, NotComplex


def castable(ctx: Ctx, name: str, source: AnyDType | None, target: AnyDType | None) -> None:
    """Require that complex operands are cast to complex numbers, booleans or strings only."""
    keeps = ctx.dtype_in(target, "complex", "boolean", "string")
    asked = NotComplex(Argument(name), source, target, keeps is None)
    if keeps is False:
        ctx.require_dtype(asked)
    elif keeps is None and ctx.dtype_in(source, *asked.classes) is not True:
        ctx.require_either(None, asked)


def computed_in(ctx: Ctx, name: str, source: AnyDType | None, dtype: AnyDType | None) -> None:
    """Require the dtype to compute in, if given, to be numeric and castable from the operand's."""
    if dtype is not None:
        attribute(ctx, dtype, "numeric")
        castable(ctx, name, source, dtype)


def attribute(ctx: Ctx, dtype: AnyDType, *classes: str) -> None:
    """Require a dtype parameter to be in one of the classes."""
    ctx.require_dtype(DTypeIn(Argument("dtype"), dtype, classes, attribute=True))


def beyond(numbers: range, dtype: str) -> str | None:
    """The range that counted numbers must fit and do not: int64, or uint64 for natural ones of that dtype; None if they
    fit."""
    ends = (numbers[0], numbers[-1]) if numbers else ()
    held = DTYPES["uint64" if dtype == "uint64" and min(ends, default=0) >= 0 else "int64"]
    low, high = int_range(held)
    far = next((n for n in ends if not low <= n <= high), None)
    return None if far is None else f"numbers that {held} can hold, not {far}"
