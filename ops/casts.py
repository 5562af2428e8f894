"""Which dtypes an attribute may have, and which numbers can become which."""

from __future__ import annotations

from ..lang.dtypes import DType
from .dtypes_column import Word
from .model import AnyDType, Ctx

_NOT_COMPLEX = ("real", "boolean", "string")


def castable(ctx: Ctx, name: str, source: AnyDType, target: AnyDType) -> None:
    """Complex numbers, those of an operand, become complex ones, booleans or strings only."""
    at = ((name, None), ("dtype", None))
    keeps = ctx.dtype_in(target, "complex", "boolean", "string")
    if keeps is False:
        other = str(target) if isinstance(target, DType) else "the dtype that is asked for"
        ctx.require_dtype(source, _NOT_COMPLEX, f"`{name}` not to be complex, as {other} is not", at)
    elif keeps is None and ctx.dtype_in(source, *_NOT_COMPLEX) is not True:
        ctx.require_either(None, f"`{name}` not to be complex where the dtype that is asked for is not", at)


def computed_in(ctx: Ctx, name: str, source: AnyDType, dtype: AnyDType | None) -> None:
    """The dtype to compute in, where one is given: a number's, to which the operand can be cast."""
    if dtype is not None:
        attribute(ctx, dtype, "numeric")
        castable(ctx, name, source, dtype)


def attribute(ctx: Ctx, dtype: AnyDType, *classes: str) -> None:
    """A dtype parameter is in one of the classes."""
    found = f", but it is {dtype}" if isinstance(dtype, DType) else ""
    what = f"`dtype` to be {Word(classes=classes).wanted}{found}"
    ctx.require_dtype(dtype, classes, what, (("dtype", None),))
