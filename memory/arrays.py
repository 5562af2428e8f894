"""Tensors as the memory that they hold: whose it is, how many bytes, and how the axes of a view lie in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..interp.follow import Function
from ..interp.steps import Compute
from ..lang import core
from ..lang.dtypes import DType
from ..lang.node import Node
from ..simplify.solver.terms import Size
from .sizes import Limits, over_turns


class NotKnown(Exception):
    """Why the memory of a call cannot be told."""


class Memory(Node):
    """Memory of its own: the bytes that it takes."""

    number: int
    bytes: Size


class Array(Node):
    """A tensor: its sizes, the bytes of an element, the memory that it holds, and in which order its axes lie there, outermost
    first (None: in none)."""

    dims: tuple[Size, ...] | None
    itemsize: Size
    held: tuple[Memory, ...] = ()
    order: tuple[int, ...] | None = None

    @property
    def count(self) -> Size:
        if self.dims is None:
            raise NotKnown("the rank of a tensor is not known")
        return prod(self.dims, start=1)

    @property
    def bytes(self) -> Size:
        return self.count * self.itemsize

    @property
    def in_rows(self) -> bool:
        return self.dims is not None and self.order == tuple(range(len(self.dims)))


Value = Array | Size | Function[Any] | core.FnRef | tuple[Any, ...] | None  # None: it holds nothing


def width(dtype: DType) -> Size:
    return -(-dtype.bits // 8)


def arrays_of(value: Value) -> list[Array]:
    if isinstance(value, tuple):
        return [a for part in value for a in arrays_of(part)]
    return [value] if isinstance(value, Array) else []


def held_by(value: Value) -> list[Memory]:
    return [memory for array in arrays_of(value) for memory in array.held]


def at_end(value: Value, index: Size, limits: Limits | None) -> Value:
    """What a loop carried, behind it."""
    if isinstance(value, tuple):
        return tuple(at_end(part, index, limits) for part in value)
    if not isinstance(value, Array):
        return value
    held = tuple(Memory(m.number, over_turns(m.bytes, index, limits)) for m in value.held)
    return Array(value.dims, value.itemsize, held, value.order)


def order_of(step: Compute, arrays: Sequence[Array], made: Array) -> tuple[int, ...] | None:
    """How a result of its own lies: by the first operand of its shape, if it is made element by element."""
    alike = [a for a in arrays if a.dims == made.dims]
    return alike[0].order if step.row.elementwise and alike else made.order


def moved(step: Compute, operand: Array, made: Array) -> tuple[int, ...] | None:
    """How a view lies whose axes are those of the operand in another order."""
    rank = len(made.dims or ())
    axes = list(range(rank))
    match step.row.name:
        case "permute_dims":
            given = _literals(step.inputs[1]) if step.inputs[1] is not None else axes[::-1]
            if given is None:
                return None
            axes = [axis % rank for axis in given]
        case "matrix_transpose":
            axes[-2:] = axes[:-3:-1]
        case "swapaxes":
            given = [a for v in step.inputs[1:] for a in _literals(v) or ()]
            one, other = (axis % rank for axis in given)
            axes[one], axes[other] = axes[other], axes[one]
        case "identity" | "positive" | "dropout":
            return operand.order
        case "slice" | "split":
            same = (operand.dims or ())[1:] == (made.dims or ())[1:]
            return operand.order if same else None
        case "expand_dims" | "squeeze":
            return made.order if operand.in_rows else None
        case _:
            return operand.order if operand.dims == made.dims else None
    if operand.order is None:
        return None
    return tuple(axes.index(axis) for axis in operand.order)


def _literals(value: core.Value | None) -> list[int] | None:
    items = (
        value.dims
        if isinstance(value, core.ShapeLit)
        else value.items
        if isinstance(value, core.ListValue)
        else (value,)
    )
    found = [item.value for item in items if isinstance(item, core.SizeLit)]
    return found if len(found) == len(items) else None
