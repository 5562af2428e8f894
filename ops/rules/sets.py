"""Distinct elements, and membership in a set of values."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, known_shape, product
from ..model import Ctx, Dim, ElementRange, Out, TensorInfo
from ..registry import primitive


def _distinct(ctx: Ctx, x: TensorInfo) -> tuple[Shape, Dim]:
    """The shape of x, and the number of distinct elements, which the data decides."""
    shape = ctx.dims(x)
    return shape, ctx.fresh("k", 0, product(shape))


@primitive("unique_all", "x: tensor", "T:ordered -> T, int64, int64, int64", results="tuple", counts=("distinct", "x"))
def unique_all(ctx: Ctx, x: TensorInfo) -> list[Any]:
    """The distinct elements in ascending order, the first row-major index of each, for each element of x its position among
    them, and how often each occurs: `[k]`, `[k]`, the shape of x, `[k]`.

    The data decides k, at most the number of elements. Every nan is distinct from the others. Array API `unique_all`.
    """
    shape, k = _distinct(ctx, x)
    return [
        (k,),
        Out((k,), None, (ElementRange(0, product(shape) - 1),)),
        Out(shape, None, (ElementRange(0, k - 1),)),
        (k,),
    ]


@primitive("unique_counts", "x: tensor", "T:ordered -> T, int64", results="tuple", counts=("distinct", "x"))
def unique_counts(ctx: Ctx, x: TensorInfo) -> list[Shape]:
    """The distinct elements in ascending order, and how often each occurs: `[k]` twice.

    The data decides k, at most the number of elements. Array API `unique_counts`.
    """
    _, k = _distinct(ctx, x)
    return [(k,), (k,)]


@primitive("unique_inverse", "x: tensor", "T:ordered -> T, int64", results="tuple", counts=("distinct", "x"))
def unique_inverse(ctx: Ctx, x: TensorInfo) -> list[Any]:
    """The distinct elements in ascending order, `[k]`, and for each element of x its position among them, in the shape of x.

    The data decides k, at most the number of elements. Array API `unique_inverse`.
    """
    shape, k = _distinct(ctx, x)
    return [(k,), Out(shape, None, (ElementRange(0, k - 1),))]


@primitive("isin", "x: tensor, values: tensor, invert: bool = false", "T:ordered, T -> bool")
def isin(ctx: Ctx, x: TensorInfo, values: TensorInfo, invert: bool) -> Shape:
    """Whether each element of x is among the values, of any shape, or with `invert` whether it is not; the shape of x.

    nan equals nothing. Array API `isin`.
    """
    return known_shape(ctx, x)
