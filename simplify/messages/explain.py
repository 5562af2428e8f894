"""The facts about a size or a binding, each with its place."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import core
from ...lang.checked import Explanation, Fact
from ...lang.source import NOWHERE, Span
from ...ops.model import Segment, TensorInfo
from ..known.state import State
from ..known.texts import is_whole, size_text
from ..known.values import Entry, ShapeValue, SizeValue, TupleValue, Value
from ..solver.conditions import cond_variables, eq, render_cond
from ..solver.sizes import single_var
from ..solver.terms import Size, Var, mod, of_atom, variables
from .describe import binding, type_text

# The multiples that are reported.
_FACTORS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)


def explain(function: str, name: str, entry: Entry, state: State) -> Explanation:
    """Return the type or value of a name, then the facts about every axis and every size in it."""
    lines = [*_of_axes(name, entry, state)]
    whole = entry.value.size if isinstance(entry.value, SizeValue) else 0
    if single_var(state.settled(whole)) is None:
        lines.extend(_range(size_text(whole, state), state.settled(whole), state))
    for variable in _sizes(entry.value, state):
        lines.extend(_of_size(variable, state))
    known = {fact.text: fact for fact in lines if is_whole(fact.text)}
    return Explanation(function, name, _headline(entry.value, state), entry.span, tuple(known.values()))


def _headline(value: Value, state: State) -> str:
    if isinstance(value, SizeValue):
        text = size_text(value.size, state)
        return text if is_whole(text) else "a size that the run decides"
    return type_text(value, state)


def _of_axes(name: str, entry: Entry, state: State) -> Iterator[Fact]:
    """The place of each axis's size in the program; for a size that the run decides, all facts about it."""
    described = binding(name, entry.value, entry.span, state)
    if described.shape is None or described.sort != "Tensor":
        return
    assert isinstance(entry.value, TensorInfo)
    for axis, (size, text) in enumerate(zip(state.resolve(entry.value.shape), described.shape, strict=True)):
        place = entry.axes[axis] if axis < len(entry.axes) else None
        cases = _cases(size, state)
        if cases or described.exactness[axis] != "exact":
            bound = described.bounds[axis]
            limit = cases or (f", at most {bound}" if bound is not None else "")
            yield Fact(f"axis {axis} is decided by the run{limit}", place or entry.span)
        elif place is not None:
            yield Fact(f"axis {axis} is {text}", place)


def _cases(size: Size, state: State) -> str:
    """`: n * 2 if n == 4, n if n != 4`"""
    variable = single_var(state.settled(size))
    choices = state.choices.get(variable, ()) if variable is not None else ()
    cases = [f"{size_text(one, state)} if {render_cond(case)}" for case, one in choices]
    text = f": {', '.join(cases)}"
    return text if cases and is_whole(text) else ""


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
        case ShapeValue():
            return [d for d in state.resolve(value.dims) if not isinstance(d, Segment)]
        case TupleValue():
            return [d for item in value.items for d in _dims(item, state)]
    return []


def _of_size(variable: Var, state: State) -> list[Fact]:
    """Range, exactness, factor, and every fact about the size."""
    name = size_text(of_atom(variable), state)
    lines = list(_range(name, of_atom(variable), state))
    if variable in state.opaque:
        bound = state.opaque[variable]
        limit = "" if bound is None else f", at most {size_text(bound, state)}"
        lines.append(Fact(f"{name} is decided by the run{limit}", NOWHERE))
    factor = max(
        (k for k in _FACTORS if state.facts.decide(eq(mod(of_atom(variable), k), 0)).kind == "proved"), default=1
    )
    low, high = state.facts.bounds(of_atom(variable))
    if factor > 1 and (low is None or low != high):
        lines.append(Fact(f"{name} is a multiple of {factor}", NOWHERE))
    for cond, reason in state.facts.conditions():
        place = _place(reason)
        if not isinstance(cond, bool) and place is not NOWHERE and variable in cond_variables(cond):
            lines.append(Fact(render_cond(cond), place))
    return lines


def _range(name: str, size: Size, state: State) -> Iterator[Fact]:
    low, high = state.facts.bounds(size)
    if isinstance(size, int):
        return
    if high is not None and low is not None and (low or low == high):
        yield Fact(f"{name} is {low}" if low == high else f"{name} is between {low} and {high}", NOWHERE)
    elif low:
        yield Fact(f"{name} is at least {low}", NOWHERE)
    elif high is not None:
        yield Fact(f"{name} is at most {high}", NOWHERE)


def _place(reason: object) -> Span:
    """The place where a fact was learnt: an assertion of the program, or a primitive's call."""
    if isinstance(reason, core.Assert | core.MatchShape):
        return reason.origin.span
    span = getattr(reason, "span", NOWHERE)
    return span if isinstance(span, Span) else NOWHERE
