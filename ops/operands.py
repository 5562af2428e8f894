"""Conditions of rules on an operand or attribute that do not concern sizes: a rank, one of some names."""

from __future__ import annotations

from collections.abc import Sequence

from .axes import Shape, axis_of, is_plain, place
from .model import Ctx, Dim, TensorInfo
from .requirements import (
    Argument,
    AtLeast,
    AttributeAtLeast,
    Axis,
    Equal,
    Multiple,
    Number,
    OneOfWords,
    Other,
    RankAtLeast,
    RankIs,
    SizeEntry,
)


def ranked(ctx: Ctx, name: str, x: TensorInfo, rank: int, axes: str = "") -> Shape:
    """The dimensions of an operand, of which there are so many; `axes` says what they mean: "[batch, inputs]"."""
    dims = ctx.dims(x)
    if len(dims) != rank:
        ctx.fail(RankIs(Argument(name), rank, len(dims), axes))
    return dims


def rank_at_least(ctx: Ctx, name: str, shape: Shape, least: int) -> None:
    """A shape, of which parts may be unknown, has so many axes or more."""
    if is_plain(shape) and len(shape) < least:
        ctx.fail(RankAtLeast(Argument(name), least, len(shape)))


def choice(ctx: Ctx, name: str, value: str, choices: Sequence[str]) -> None:
    """An attribute is one of these names."""
    if value not in choices:
        ctx.fail(OneOfWords(name, value, tuple(choices)))


def is_one(size: Dim) -> bool:
    """Whether a size is the number 1."""
    return isinstance(size, int) and size == 1


def attribute_at_least(ctx: Ctx, name: str, least: int, size: Dim, entry: int | None = None) -> None:
    """A size among the attributes, or an entry of several, is at least a number."""
    if not isinstance(size, int):
        ctx.require(AtLeast(Argument(name, size) if entry is None else SizeEntry(name, entry, size), least))
    elif size < least:
        ctx.fail(AttributeAtLeast(name, least, size))


def multiple(ctx: Ctx, left: Axis, of: Dim, said: str, name: str, size: Dim) -> None:
    """A size is a multiple of a number, or of what is `said` of an attribute, `{1}`."""
    if isinstance(of, int):
        ctx.require(Multiple(left, Number(of)))
    else:
        both = (left, Argument(name, size))
        ctx.require(Other(f"{{0}} to be a multiple of {said}", both), ctx.eq(left.size % of, 0))


def layer(ctx: Ctx, source: Shape, weight: Shape, inputs: int, bias: TensorInfo | None) -> Shape:
    """A dense layer whose weight has the inputs on that axis."""
    i, outputs = place(ctx, source, -1), 1 - inputs
    ctx.require(Equal(axis_of("x", source, i), Axis("weight", inputs, weight[inputs])))
    if bias is not None:
        (b,) = ranked(ctx, "bias", bias, 1)
        ctx.require(Equal(Axis("bias", 0, b), Axis("weight", outputs, weight[outputs])))
    return (*source[:-1], weight[outputs])
