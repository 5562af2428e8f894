"""Abstract values: what the checker knows of tensors, sizes, tuples and functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...lang import core
from ...lang.node import Node
from ...lang.source import Span
from ...ops.model import AnyDType, Primitive, Segment, Symbol, TensorInfo
from ..solver.conditions import Cond
from ..solver.terms import Size


class Undecided(Node):
    """A condition that the solver cannot express (rank or dtype not known yet): neither true nor false."""


UNDECIDED = Undecided()


class SegmentSymbol(Symbol):
    """A stretch of dimensions of unknown length: `*batch`, or the whole shape of a tensor of unknown rank."""

    __slots__ = ()


Shape = tuple[Any, ...]  # Sizes and Segments


class SizeValue(Node):
    size: Size


class ShapeValue(Node):
    dims: Shape


class DTypeValue(Node):
    dtype: AnyDType


class BoolValue(Node):
    cond: Cond | Undecided


class NumberValue(Node):
    """A literal number: a rank-0 tensor that takes the other operand's dtype."""

    value: int | float | bool


class TextValue(Node):
    value: str


class TupleValue(Node):
    items: tuple[Value, ...]


class ListValue(Node):
    items: tuple[Value, ...]


class FnValue(Node):
    """A function as a value: one of the program's (`function`, by its wrapper), a primitive (`name`), or a lambda with its
    environment; `passed_as` is the signature of the parameter that it is passed to."""

    name: str
    function: core.Function | None = None
    closure: core.Lambda | None = None
    env: Any = None
    passed_as: core.Function | None = None


class Poison(Node):
    """The value of an expression with a reported error; consequences are not reported again."""


POISON = Poison()


class UnknownValue(Node):
    """A value of unknown sort or unknown number of parts: the result of a call whose rule gives up, or of an `if` whose arms
    have nothing in common. It is no error: its sort follows from its first use, and the run decides the rest. `dtype` is that
    of its parts if it is a tuple of tensors."""

    dtype: AnyDType | None = None


UNKNOWN = UnknownValue()

Value = (
    TensorInfo | SizeValue | ShapeValue | DTypeValue | BoolValue | NumberValue | TextValue | TupleValue | ListValue
    | FnValue | Poison | UnknownValue
)  # fmt: skip


class Made(Node):
    """The call that made a value: its name and its arguments by parameter. `unproved` is the Finding about it if a
    precondition was not proved. An `if` is one as well, with its arms as entries: `guards` has the conditions of each,
    `depth` the number of arms around it."""

    name: str
    entries: tuple[tuple[str, Entry], ...]
    unproved: object = None
    guards: tuple[tuple[Cond, ...], ...] = ()
    depth: int = 0
    row: Primitive | None = None


class Entry(Node):
    """A name in scope: its value and its origin. `axes` has the place that fixed each dimension, `items` the entries of a
    list or a tuple, `origin` the call that made the value. Entries with the same `number` are the same value (value
    numbering); None says nothing. A loop's stack has the values of a turn as `turns`."""

    value: Value
    span: Span
    axes: tuple[Span | None, ...] = ()
    items: tuple[Entry, ...] = ()
    origin: Made | None = None
    number: int | None = None
    turns: tuple[Entry, ...] = ()

    def place(self, axis: int | None) -> Span:
        if axis is not None and -len(self.axes) <= axis < len(self.axes):
            return self.axes[axis] or self.span
        return self.span


Env = dict[str, Entry]


def leaves(value: Value) -> Iterator[Value]:
    """The leaves of nested tuples; any other value yields itself."""
    if isinstance(value, TupleValue):
        for item in value.items:
            yield from leaves(item)
    else:
        yield value


def tensors_in(*values: Value | None) -> Iterator[TensorInfo]:
    found = (leaf for value in values if value is not None for leaf in leaves(value))
    return (leaf for leaf in found if isinstance(leaf, TensorInfo))


def least_rank(shape: Shape) -> int:
    """The least number of dimensions of a shape, whatever its open stretches are."""
    return sum(not isinstance(part, Segment) for part in shape)


def plain(shape: Shape) -> bool:
    """Whether the shape has no open stretch."""
    return Segment not in map(type, shape)


def is_wrong(value: Value) -> bool:
    """Whether an error about the value was already reported; an unknown value is no error."""
    return isinstance(value, Poison) or (isinstance(value, TupleValue) and any(map(is_wrong, value.items)))
