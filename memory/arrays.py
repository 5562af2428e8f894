"""Tensors as the memory that they hold: its owner, its bytes, and the layout of a view's axes in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..interp.allocation import VIEWS
from ..interp.follow import MadeFunction
from ..interp.names import unmangled
from ..interp.steps import Compute
from ..lang import core
from ..lang.dtypes import DTYPES, DType
from ..lang.node import Node
from ..ops.ground import evaluate
from ..ops.model import TensorInfo, Trait
from ..simplify.solver.terms import Size
from .sizes import Limits, over_turns


class NotKnown(Exception):
    """The memory of a call cannot be told; the message says why."""


class Memory(Node):
    """A block of memory: its number and its bytes."""

    number: int
    bytes: Size


class Array(Node):
    """A tensor: its sizes, the bytes of an element, the memory that it holds, and the order of its axes there, outermost
    first (None if the axes are in no order)."""

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


class Missing:
    """An unknown value: reading an attribute of it raises NotKnown."""

    def __init__(self, slot: str) -> None:
        self._slot = slot

    def __getattr__(self, name: str) -> Any:
        raise NotKnown(f"the shape of `{unmangled(self._slot)}` is not known")


Value = Array | Size | MadeFunction[Any] | core.FnRef | tuple[Any, ...] | None  # None: the value holds no memory


def width(dtype: DType) -> Size:
    return -(-dtype.bits // 8)


def arrays_of(value: Value) -> list[Array]:
    if isinstance(value, tuple):
        return [a for part in value for a in arrays_of(part)]
    return [value] if isinstance(value, Array) else []


def held_by(value: Value) -> list[Memory]:
    return [memory for array in arrays_of(value) for memory in array.held]


def at_end(value: Value, index: Size, limits: Limits | None) -> Value:
    """The value of a loop's carry after the loop."""
    if isinstance(value, tuple):
        return tuple(at_end(part, index, limits) for part in value)
    if not isinstance(value, Array):
        return value
    held = tuple(Memory(m.number, over_turns(m.bytes, index, limits)) for m in value.held)
    return Array(value.dims, value.itemsize, held, value.order)


def order_of(step: Compute, arrays: Sequence[Array], made: Array) -> tuple[int, ...] | None:
    """The axis order of a result with its own memory: an elementwise result takes that of the first operand of its shape."""
    alike = [a for a in arrays if a.dims == made.dims]
    return alike[0].order if step.row.elementwise and alike else made.order


def moved(step: Compute, operand: Array, made: Array) -> tuple[int, ...] | None:
    """The axis order of a view of an operand, whose axes may be permuted, fewer, more or shorter; None if it has none."""
    traits = step.row.traits
    if Trait.MOVES_AXES in traits:
        if operand.order is None or made.dims is None:
            return None
        axes = _permutation(step, len(made.dims))
        return None if axes is None else tuple(axes.index(axis) for axis in operand.order)
    if Trait.UNIT_AXES in traits:
        return made.order if operand.in_rows else None
    if Trait.CUTS in traits:
        return operand.order if _is_run(step, operand, made) else None
    keeps = step.row.elementwise or Trait.RESHAPES in traits and operand.dims == made.dims
    return operand.order if keeps or VIEWS[step.row.name] != "always" else None


def _permutation(step: Compute, rank: int) -> tuple[int, ...] | None:
    """Return the operand's axis for each axis of the result: apply the row's rule to sizes that are all different."""
    sizes, dtype = tuple(range(2, rank + 2)), DTYPES["float32"]
    operand, *attributes = step.row.params
    read: dict[str, Any] = {operand.name: TensorInfo(sizes, dtype)}
    for param, value in zip(attributes, step.inputs[1:], strict=True):
        if value is not None:
            literals = _literals(value)
            if literals is None:
                return None
            read[param.name] = literals if param.kind == "ints" else literals[0]
    return tuple(map(sizes.index, evaluate(step.row, read).tensors[0].shape))


def _is_run(step: Compute, operand: Array, made: Array) -> bool:
    """Whether a cut-out part is contiguous: only the outermost axis is shorter, and the slice has no steps."""
    if operand.order is None or operand.dims is None or made.dims is None or _has_steps(step):
        return False
    pairs = enumerate(zip(operand.dims, made.dims, strict=True))
    return all(before == after for axis, (before, after) in pairs if axis != operand.order[0])


def _has_steps(step: Compute) -> bool:
    return any(p.name == "steps" and v is not None for p, v in zip(step.row.params, step.inputs, strict=True))


def _literals(value: core.Value) -> tuple[int, ...] | None:
    items = (
        value.dims
        if isinstance(value, core.ShapeLit)
        else value.items
        if isinstance(value, core.ListValue)
        else (value,)
    )
    found = tuple(item.value for item in items if isinstance(item, core.SizeLit))
    return found if len(found) == len(items) else None
