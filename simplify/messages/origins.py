"""The origin of a size: back through the calls that passed it on, to the code that wrote or computed it."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import combinations
from math import prod
from typing import Any

from ...lang.source import Span
from ...ops.model import Primitive, TensorInfo, Trait
from ..known.finding import Finding
from ..known.state import State
from ..known.values import Entry, Made, ShapeValue, SizeValue, plain

# An operand of a call: its parameter, and its sizes.
Operand = tuple[str, Entry, tuple[Any, ...]]
# Parameters whose entries are sizes of the result.
_TARGETS = frozenset(("shape", "sizes", "output_shape"))
# Traits of primitives that change which axis has a size.
_MOVING = frozenset((Trait.MOVES_AXES, Trait.RESHAPES))
# Traits of primitives that lay axes end to end.
_LAID_OUT = frozenset((Trait.REGROUPS, Trait.RESHAPES))
_NO_SIZES = frozenset(("axis", "axis1", "axis2", "axes", "start", "end", "sections"))


class SizeOrigin:
    """A place and, if a call made the size there, that call."""

    __slots__ = ("joined", "made", "span")

    def __init__(self, span: Span, made: Made | None, joined: Entry | None = None) -> None:
        self.span, self.made = span, made
        # The value, if it comes from an `if`.
        self.joined = joined


def place_of(state: State, entry: Entry, axis: int) -> SizeOrigin:
    """Return the place where an axis's size was written, or the call that made it."""
    while True:
        if -len(entry.axes) <= axis < len(entry.axes) and entry.axes[axis] is not None:
            return SizeOrigin(entry.axes[axis], None)  # type: ignore[arg-type]
        if entry.origin is None:
            return SizeOrigin(entry.span, None)
        before = _before(state, entry, axis)
        if before is None:
            return SizeOrigin(entry.span, entry.origin, entry if entry.origin.guards else None)
        entry, axis = before


def as_product(state: State, place: SizeOrigin, size: str) -> str:
    """`512 * 56 * 56 = 25088`, if the call there lays axes end to end."""
    made = place.made
    if made is None or made.row is None or made.row.traits.isdisjoint(_LAID_OUT) or not size.isdecimal():
        return size
    for _, _, dims in _operands(state, made):
        for first, last in combinations(range(len(dims) + 1), 2):
            part = [d for d in dims[first:last] if d != 1]
            if len(part) > 1 and all(isinstance(d, int) for d in part) and prod(part) == int(size):
                return f"{' * '.join(map(str, part))} = {size}"
    return size


def roots(state: State, sizes: Iterable[tuple[Entry | None, int | None]]) -> tuple[Finding, ...]:
    """The unproved findings about the calls that made these sizes."""
    made = [place_of(state, entry, axis).made for entry, axis in sizes if entry is not None and axis is not None]
    return tuple(m.unproved for m in made if m is not None and isinstance(m.unproved, Finding))


def made_at(state: State, entry: Entry, axis: int, asked: Container[object]) -> Entry:
    """Return the value whose call is to blame for the size of an axis: the call that moved it, if another axis should have
    it, else the call that made it."""
    shape = _dims(state, entry)
    size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    while entry.origin is not None and entry.origin.row is not None:
        before = _before(state, entry, axis)
        if before is None or before[0].origin is None or not isinstance(before[0].value, TensorInfo):
            break
        if size in asked and not entry.origin.row.traits.isdisjoint(_MOVING):
            break
        entry, axis = before
    return entry


def rank_of(state: State, entry: Entry) -> Entry:
    """Return the tensor that a tensor of unknown rank has its rank from: a parameter, an `if`, or the result of a call. Each
    path is walked once: results are stored for all tensors on it."""
    way = []
    while (made := entry.origin) is not None:
        known = state.lasting.ranks_from.get(id(entry))
        if known is not None and is_open(state, known[1]):
            entry = known[1]
            break
        operands = [item for _, operand in made.entries for item in operand.items or (operand,)]
        open_ = next((operand for operand in operands if is_open(state, operand)), None)
        if open_ is None or made.guards:
            break
        way.append(entry)
        entry = open_
    for passed in way:
        state.lasting.ranks_from[id(passed)] = passed, entry
    return entry


def is_open(state: State, entry: Entry) -> bool:
    """Whether it is a tensor of unknown rank."""
    return isinstance(entry.value, TensorInfo) and not plain(state.spread(entry.value.shape))


def _dims(state: State, entry: Entry) -> tuple[Any, ...] | None:
    value = entry.value
    if isinstance(value, SizeValue):
        return (state.settled(value.size),)
    if not isinstance(value, TensorInfo | ShapeValue):
        return None
    shape = state.resolve(value.shape if isinstance(value, TensorInfo) else value.dims)
    return shape if plain(shape) else None


def _before(state: State, entry: Entry, axis: int) -> tuple[Entry, int] | None:
    """The operand and the axis from which the size was taken over."""
    assert entry.origin is not None
    shape = _dims(state, entry)
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    operands, row = _operands(state, entry.origin), entry.origin.row
    told = None if row is None else _told_by_row(row, operands, shape, axis)
    if told is not None:
        return told
    if row is not None and Trait.WINDOWS in row.traits:
        return _through_windows(operands, shape[axis], axis, len(shape))
    return _of_the_same_size(entry.origin, operands, shape, axis)


def _told_by_row(
    row: Primitive, operands: list[Operand], shape: tuple[Any, ...], axis: int
) -> tuple[Entry, int] | None:
    """The operand and axis that the primitive's row names, or the target shape."""
    for result_axis, param, operand_axis in row.made_of:
        if len(shape) >= -result_axis and result_axis % len(shape) == axis:
            for name, operand, dims in operands:
                if name == param and len(dims) >= 2:
                    return operand, operand_axis
    if any(p.kind in ("shape", "target") for p in row.params):
        for name, operand, dims in operands:
            if name in _TARGETS and len(dims) == len(shape) and dims[axis] == shape[axis]:
                return operand, axis
    return None


def _of_the_same_size(
    made: Made, operands: list[Operand], shape: tuple[Any, ...], axis: int
) -> tuple[Entry, int] | None:
    """The operand axis of the same size that is most likely the same axis."""
    traits = made.row.traits if made.row is not None else frozenset()
    size = shape[axis]
    same = [(o, len(dims), i) for _, o, dims in operands for i, d in enumerate(dims) if d == size]
    if len(same) > 1 and Trait.MOVES_AXES not in traits:
        dims_of = {id(o): dims for _, o, dims in operands}
        same = [c for c in same if not _lies_elsewhere(dims_of[id(c[0])], c[2], shape, axis)]
    if same and isinstance(size, int) and (size == 1 or not _is_certain(made, same)):
        aligned = not traits.isdisjoint((Trait.BROADCASTS, Trait.JOINS)) or len(operands) == 1
        same = [c for c in same if aligned and len(shape) - axis == c[1] - c[2]]
    if not same:
        return None
    # Prefer the same place, counted from the end, then from the front; a size that is no number is the same anywhere.
    best = min(same, key=lambda c: (len(shape) - axis != c[1] - c[2], axis != c[2]))
    return best[0], best[2]


def _lies_elsewhere(dims: tuple[Any, ...], at: int, shape: tuple[Any, ...], axis: int) -> bool:
    """Whether an axis is surely a different one among as many elements in the same order: the axes before it differ in their
    product."""
    numbers = all(isinstance(d, int) for d in (*dims, *shape))
    return numbers and prod(dims) == prod(shape) and prod(dims[:at]) != prod(shape[:axis])


def _through_windows(operands: list[Operand], size: object, axis: int, rank: int) -> tuple[Entry, int] | None:
    """For convolution and pooling: an axis that keeps its size, or the channels of the weight."""
    for name, operand, dims in operands:
        if name == "x" and len(dims) == rank and dims[axis] == size:
            return operand, axis
        if name == "weight" and axis in (1, rank - 1):
            same = [i for i in (0, 1, len(dims) - 2, len(dims) - 1) if 0 <= i < len(dims) and dims[i] == size]
            if same:
                return operand, same[0]
    return None


def _is_certain(made: Made, same: list[tuple[Entry, int, int]]) -> bool:
    """Whether a number occurs once among the operands' sizes, or in one operand only."""
    return len(same) == 1 or (
        len({id(operand) for operand, _, _ in same}) == 1 and not (made.row is not None and made.row.made_of)
    )


def _operands(state: State, made: Made) -> list[Operand]:
    found = []
    for name, entry in made.entries:
        if (isinstance(entry.value, ShapeValue) and name not in _TARGETS) or name in _NO_SIZES:
            continue
        for part in entry.items or (entry,):
            dims = _dims(state, part)
            if dims is not None:
                found.append((name, part, dims))
    return found
