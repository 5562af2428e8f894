"""Which dtypes an attribute may have, and which numbers can become which."""

from __future__ import annotations

from .dtypes_column import Word
from .model import AnyDType, Ctx

_NOT_COMPLEX = ("real", "boolean", "string")


def castable(ctx: Ctx, source: AnyDType, target: AnyDType) -> None:
    """Complex numbers become complex ones, booleans or strings only."""
    fits = (ctx.dtype_in(source, *_NOT_COMPLEX), ctx.dtype_in(target, "complex", "boolean", "string"))
    known = True if True in fits else None if None in fits else False
    wanted = f"a complex dtype for complex numbers, but it is {target}"
    ctx.require_dtype(known, wanted, (("dtype", None),))


def computed_in(ctx: Ctx, source: AnyDType, dtype: AnyDType | None) -> None:
    """The dtype to compute in, where one is given: a number's, to which the operand can be cast."""
    if dtype is not None:
        attribute(ctx, dtype, "numeric")
        castable(ctx, source, dtype)


def attribute(ctx: Ctx, dtype: AnyDType, *classes: str) -> None:
    """A dtype parameter is in one of the classes."""
    wanted = f"{Word(classes=classes).wanted}, but it is {dtype}"
    ctx.require_dtype(ctx.dtype_in(dtype, *classes), wanted, (("dtype", None),))
