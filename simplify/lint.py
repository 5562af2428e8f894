"""Notes on code that works but is often a mistake: operands that both grow in a broadcast, reductions of one element."""

from __future__ import annotations

from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, Label, note
from ..lang.node import replace
from ..ops.model import Primitive, TensorInfo, Trait
from ..ops.registry import lookup
from ..ops.requirements import Axis, Broadcast
from ..ops.spelling import argument, operation
from .known.state import State
from .known.values import Entry, Shape, SizeValue, Value, plain
from .messages.describe import shape_text
from .messages.origins import place_of
from .messages.spoken import CallInfo
from .messages.subject import of_call

# The number of elementwise calls that are traced back.
_DEPTH = 6


def notes(state: State, call: CallInfo, row: Primitive, result: Value, function: str) -> list[Diagnostic]:
    """Return notes on an accepted call of a primitive."""
    found = None
    if Trait.BROADCASTS in row.traits and len(call.entries) == 2 and not row.dtypes.startswith("bool"):
        found = _grown(state, call, result, function)
    elif row.single is not None:
        found = _single(state, call, row, function)
    return [found] if found is not None else []


def _shape(state: State, value: Value) -> Shape | None:
    shape = state.resolve(value.shape) if isinstance(value, TensorInfo) else None
    return shape if shape is not None and plain(shape) else None


def _grown(state: State, call: CallInfo, result: Value, function: str) -> Diagnostic | None:
    """Note that `[b, 1] - [b]` is `[b, b]`: rarely meant, because each element of one meets each of the other."""
    (left, first), (right, second) = call.entries
    x, y, both = (_shape(state, v) for v in (first.value, second.value, result))
    if x is None or y is None or both is None or any(_is_deliberate(value) for _, value in call.written):
        return None
    one, other = _stretched(x, y), _stretched(y, x)
    if not one or not other:
        return None
    alike = bool({x[-i] for i in other} & {y[-i] for i in one})
    if len(x) == len(y) and not alike:
        return None
    if (len(x) == len(y) or not alike) and (_was_spread(state, first) or _was_spread(state, second)):
        return None
    a, b = (argument(call, param) for param, _ in call.entries)
    message = (
        f"{operation(call)} repeats both {a}, which is {shape_text(x, state)}, and {b}, which is {shape_text(y, state)}: "
        f"the result is {shape_text(both, state)}"
    )
    labels = [Label(e.span, f"this is {shape_text(s, state)}") for e, s in ((first, x), (second, y))]
    notes = ("if this is intended, make it explicit with @expand_dims",)
    said = note(codes.N202, message, call.span, labels=tuple(labels), function=function, notes=notes)
    asked = Broadcast(Axis(left, -other[0]), Axis(right, -one[0]))
    return replace(said, subject=of_call(state, call.span, call.name, call.entries, asked))


def _was_spread(state: State, entry: Entry, depth: int = _DEPTH) -> bool:
    """Whether an explicit call gave a tensor its axes, or it is elementwise from one with such axes."""
    if entry.origin is None or depth == 0:
        return False
    shape = _shape(state, entry.value)
    row = entry.origin.row
    return (
        row is not None
        and not row.traits.isdisjoint((Trait.RESHAPES, Trait.MOVES_AXES))
        or any(
            _was_spread(state, before, depth - 1)
            for _, before in entry.origin.entries
            if shape is not None and _shape(state, before.value) == shape
        )
    )


def _is_deliberate(expr: core.Value) -> bool:
    row = lookup(expr.callee.name) if isinstance(expr, core.Call) and isinstance(expr.callee, core.FnRef) else None
    return row is not None and Trait.RESHAPES in row.traits


def _stretched(x: Shape, y: Shape) -> list[int]:
    """The axes, counted from the last one (1), along which x is repeated to fit y."""
    return [i for i in range(1, len(y) + 1) if y[-i] != 1 and (i > len(x) or x[-i] == 1)]


def _single(state: State, call: CallInfo, row: Primitive, function: str) -> Diagnostic | None:
    """Note a reduction along one axis that is known to have one element."""
    entries = dict(call.entries)
    shape = _shape(state, entries["x"].value)
    axis = _axis(entries.get("axis"), next(p.default for p in row.params if p.name == "axis"))
    if shape is None or axis is None or not -len(shape) <= axis < len(shape) or shape[axis] != 1:
        return None
    axis %= len(shape)
    message = f"axis {axis} of {argument(call, 'x')}, which is {shape_text(shape, state)}, has one element: "
    message += f"@{call.name} along it {f'gives {row.single}' if row.single else 'combines nothing'}"
    label = Label(place_of(state, entries["x"], axis).span, "1 comes from here")
    return note(codes.N203, message, call.span, labels=(label,), function=function)


def _axis(entry: Entry | None, default: int | None) -> int | None:
    if entry is None:
        return default
    return entry.value.size if isinstance(entry.value, SizeValue) and isinstance(entry.value.size, int) else None
