"""Requirements of rules on an operand or attribute that do not concern sizes: a rank, one of some names."""

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
    """The dimensions of an operand of the required rank; `axes` names its axes: "[batch, inputs]"."""
    dims = ctx.dims(x)
    if len(dims) != rank:
        ctx.fail(RankIs(Argument(name), rank, len(dims), axes))
    return dims


def rank_at_least(ctx: Ctx, name: str, shape: Shape, least: int) -> None:
    """Require a shape, which may have unknown parts, to have at least so many axes."""
    if is_plain(shape) and len(shape) < least:
        ctx.fail(RankAtLeast(Argument(name), least, len(shape)))


def choice(ctx: Ctx, name: str, value: str, choices: Sequence[str]) -> None:
    """Require an attribute to be one of these names."""
    if value not in choices:
        ctx.fail(OneOfWords(name, value, tuple(choices)))


def is_one(size: Dim) -> bool:
    """Whether a size is the number 1."""
    return isinstance(size, int) and size == 1


def attribute_at_least(ctx: Ctx, name: str, least: int, size: Dim, entry: int | None = None) -> None:
    """Require an attribute's size, or an entry of several, to be at least a number."""
    if not isinstance(size, int):
        ctx.require(AtLeast(Argument(name, size) if entry is None else SizeEntry(name, entry, size), least))
    elif size < least:
        ctx.fail(AttributeAtLeast(name, least, size))


def multiple(ctx: Ctx, left: Axis, of: Dim, said: str, name: str, size: Dim) -> None:
    """Require a size to be a multiple of a number, or of an attribute in the words `said`, with `{1}` for it."""
    if isinstance(of, int):
        ctx.require(Multiple(left, Number(of)))
    else:
        both = (left, Argument(name, size))
        ctx.require(Other(f"{{0}} to be a multiple of {said}", both), ctx.eq(left.size % of, 0))


def layer(ctx: Ctx, source: Shape, weight: Shape, inputs: int, bias: TensorInfo | None) -> Shape:
    """The shape after a dense layer; requires the sizes of axis `inputs` of its weight and of its bias to fit."""
    i, outputs = place(ctx, source, -1), 1 - inputs
    ctx.require(Equal(axis_of("x", source, i), Axis("weight", inputs, weight[inputs])))
    if bias is not None:
        (b,) = ranked(ctx, "bias", bias, 1)
        ctx.require(Equal(Axis("bias", 0, b), Axis("weight", outputs, weight[outputs])))
    return (*source[:-1], weight[outputs])
