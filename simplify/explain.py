"""What is known of a size or a binding, each fact with the place that it comes from."""

from __future__ import annotations

from ..lang import core
from ..lang.checked import Explanation, Fact
from ..lang.source import NOWHERE, Span
from ..ops.model import Segment, TensorInfo
from .conditions import cond_variables, eq, render_cond
from .describe import binding, size_text, type_text
from .sizes import as_term
from .state import State
from .terms import Size, Var, mod, variables
from .values import Entry, SizeValue, TupleValue, Value

# The multiples that are worth telling.
_FACTORS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)


def explain(function: str, name: str, entry: Entry, state: State) -> Explanation:
    """The type or value of a name, then what is known of every size in it."""
    described = binding(name, entry.value, entry.span, state)
    lines: list[Fact] = []
    for axis, place in enumerate(entry.axes):
        if place is not None and described.shape is not None and axis < len(described.shape):
            lines.append(Fact(f"axis {axis} is {_shown(described.shape[axis], described.bounds[axis])}", place))
    for variable in _sizes(entry.value, state):
        lines.extend(_of_size(variable, state))
    known = {fact.text: fact for fact in lines}
    return Explanation(function, name, _headline(entry.value, state), entry.span, tuple(known.values()))


def _headline(value: Value, state: State) -> str:
    if isinstance(value, SizeValue):
        return size_text(value.size, state)
    return type_text(value, state)


def _shown(size: int | str, bound: str | None) -> str:
    return f"at most {bound}" if bound is not None else "decided by the run" if size == "?" else str(size)


def _sizes(value: Value, state: State) -> tuple[Var, ...]:
    found: list[Var] = []
    for size in _dims(value, state):
        found.extend(v for v in variables(size) if v not in found)
    return tuple(found)


def _dims(value: Value, state: State) -> list[Size]:
    match value:
        case SizeValue():
            return [state.settled(value.size)]
        case TensorInfo():
            return [d for d in state.resolve(value.shape) if not isinstance(d, Segment)]
        case TupleValue():
            return [d for item in value.items for d in _dims(item, state)]
    return []


def _of_size(variable: Var, state: State) -> list[Fact]:
    """Range, remainder, exactness, and every fact that speaks of the size."""
    lines = []
    name = size_text(as_term(variable), state)
    name = "its size" if name.startswith("?") else name
    low, high = state.facts.bounds(as_term(variable))
    if low is not None and high is not None:
        lines.append(Fact(f"{name} is {low}" if low == high else f"{name} is between {low} and {high}", NOWHERE))
    elif low:
        lines.append(Fact(f"{name} is at least {low}", NOWHERE))
    elif high is not None:
        lines.append(Fact(f"{name} is at most {high}", NOWHERE))
    if variable in state.opaque:
        bound = state.opaque[variable]
        limit = "" if bound is None else f", at most {size_text(bound, state)}"
        lines.append(Fact(f"{name} is decided by the run{limit}", NOWHERE))
    factor = max(
        (k for k in _FACTORS if state.facts.decide(eq(mod(as_term(variable), k), 0)).kind == "proved"), default=1
    )
    if factor > 1 and low != high:
        lines.append(Fact(f"{name} is a multiple of {factor}", NOWHERE))
    for cond, reason in state.facts.conditions():
        place = _place(reason)
        if not isinstance(cond, bool) and place is not NOWHERE and variable in cond_variables(cond):
            lines.append(Fact(render_cond(cond), place))
    return lines


def _place(reason: object) -> Span:
    """Where a fact was learnt: an assertion of the program, or a primitive's call."""
    if isinstance(reason, core.Assert | core.MatchShape):
        return reason.origin.span
    span = getattr(reason, "span", NOWHERE)
    return span if isinstance(span, Span) else NOWHERE
