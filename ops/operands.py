"""What rules ask of an operand or an attribute before they look at sizes: a rank, one of some names."""

from __future__ import annotations

from collections.abc import Sequence

from .axes import Shape, is_plain
from .model import Ctx, TensorInfo


def ranked(ctx: Ctx, name: str, x: TensorInfo, rank: int, axes: str = "") -> Shape:
    """The dimensions of an operand, of which there are so many; `axes` says what they mean: "[batch, inputs]"."""
    dims = ctx.dims(x)
    if len(dims) != rank:
        meant = f", {axes}" if axes else ""
        ctx.fail(f"`{name}` to have rank {rank}{meant}, but its rank is {len(dims)}", ((name, None),))
    return dims


def rank_at_least(ctx: Ctx, name: str, shape: Shape, least: int) -> None:
    """A shape, of which parts may be unknown, has so many axes or more."""
    if is_plain(shape) and len(shape) < least:
        found = f"its rank is {len(shape)}" if shape else "it is a scalar"
        ctx.fail(f"`{name}` to have rank {least} or more, but {found}", ((name, None),))


def choice(ctx: Ctx, name: str, value: str, choices: Sequence[str]) -> None:
    """An attribute is one of these names."""
    if value not in choices:
        listed = ", ".join(f'"{c}"' for c in choices[:-1])
        ctx.fail(f'{name} to be {listed} or "{choices[-1]}", but it is "{value}"')
