"""Compute the shape of a function's result from the shapes of its arguments, for symbolic sizes and without data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from .. import pipeline
from ..interp.arguments import ArgumentProblem, arrange
from ..interp.shape_error import ShapeError
from ..lang import core
from ..lang.checked import Checked
from ..lang.display import Displayed
from ..lang.styled import Line, said
from ..ops.model import Segment, TensorInfo
from ..simplify.known.state import State
from ..simplify.known.values import SizeValue, TupleValue, Value
from ..simplify.messages.describe import exactness
from ..simplify.on_shapes import ArgumentShape
from ..simplify.solver.conditions import Cond, cond_variables, render_cond, substitute_cond
from ..simplify.solver.terms import of_atom, variables
from .size import Size

Dims = Sequence[int | str | Size]


class Shapes(Displayed, tuple[Any, ...]):
    """A shape, or a tuple of them, with the conditions under which a call gives it."""

    conditions: tuple[str, ...]

    def __new__(cls, shape: tuple[Any, ...], conditions: Iterable[str]) -> Self:
        made = super().__new__(cls, shape)
        made.conditions = tuple(dict.fromkeys(conditions))
        return made

    def _lines(self) -> list[Line]:
        return [line for text in (_text(self), *(f"  if {c}" for c in self.conditions)) for line in said(text)]


class ShapeCases(Displayed, tuple[Shapes, ...]):
    """The possible shapes of a result whose rank depends on sizes: each has the condition of its case as the first of its
    `conditions`."""

    def _lines(self) -> list[Line]:
        return [line for shape in self for line in shape._lines()]


def _text(shape: object) -> str:
    """A shape in Rx's notation, a tuple of shapes in parentheses."""
    if not isinstance(shape, tuple):
        return "?" if shape is None else str(shape)
    several = any(part is None or isinstance(part, tuple) for part in shape)
    texts = ", ".join(map(_text, shape))
    return f"({texts})" if several else f"[{texts}]"


def by_name(function: core.Function, named: Mapping[str, Any], positional: Sequence[Any]) -> dict[str, Any]:
    """Arguments by parameter name; raises TypeError if there are too many, or if one is given twice."""
    given = dict(zip((p.name for p in function.params), positional, strict=False))
    if len(positional) > len(given) or given.keys() & named.keys():
        _arranged(function, named, positional)
    return {**given, **named}


def given_shapes(
    function: core.Function, arguments: Mapping[str, Any], positional: Sequence[Any] = ()
) -> dict[str, Any]:
    """The shapes that a caller gives, by parameter; raises TypeError if they do not match the function's parameters."""
    _arranged(function, arguments, positional)
    named = by_name(function, arguments, positional)
    return {p.name: _given(p, named[p.name]) for p in function.params if p.name in named}


def _arranged(function: core.Function, named: Mapping[str, Any], positional: Sequence[Any]) -> None:
    try:
        arrange(function, positional, named)
    except ArgumentProblem as problem:
        raise TypeError(str(problem)) from None


def shapes_of(checked: Checked, function: core.Function, given: dict[str, Any]) -> Any:
    """The result's shape for given shapes, with its conditions; raises ShapeError if they do not fit."""
    found, conditions = pipeline.call_on_shapes(checked, function.name, given)
    value, state, diagnostics = found
    wrong = [d for d in diagnostics if d.severity == "error"]
    if wrong:
        raise ShapeError(wrong[0])
    shape = _shape_of(value, state)
    if shape is None or (isinstance(shape, tuple) and None in shape):
        return _by_cases(checked, function, given)
    return Shapes(shape, (_condition(c, state) for c in conditions)) if isinstance(shape, tuple) else shape


def _by_cases(checked: Checked, function: core.Function, given: dict[str, Any]) -> Any:
    """The result's shape if sizes decide its rank; None if nothing is known of it."""
    cases, state, asked = pipeline.cases_on_shapes(checked, function.name, given)
    return _told(cases, state, [_condition(c, state) for c in asked])


def _told(cases: Any, state: State, conditions: Sequence[Any]) -> Any:
    """A shape, its cases, or these for each part of a tuple."""
    if isinstance(cases, list):
        return Shapes(tuple(_told(part, state, conditions) for part in cases), conditions)
    shapes = [tuple(_shown(size, state) for size in case.sizes) for case in cases]
    if len(shapes) < 2:
        return Shapes(shapes[0], conditions) if shapes else None
    return ShapeCases(Shapes(s, (_condition(c.when, state), *conditions)) for s, c in zip(shapes, cases, strict=True))


def _given(param: core.Param, value: Any) -> Any:
    if param.sort == core.SIZE:
        return _dim(value)
    if not isinstance(value, Iterable) or isinstance(value, str | Size):
        raise TypeError(f"the shape of {param.name!r} is a tuple of sizes, not {value!r}")
    dims = tuple(_dim(v) for v in value)
    if any(isinstance(d, int) and d < 0 for d in dims):
        raise ValueError(f"the sizes of {param.name!r} are at least 0, and {value!r} has one that is not")
    return ArgumentShape(dims)


def _dim(value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str | Size):
        raise TypeError(f"a size is an int, Rx text or a Size, not {value!r}")
    text = str(Size(value))
    return int(text) if text.lstrip("-").isdigit() else text


def _shape_of(value: Value, state: State) -> Any:
    match value:
        case TensorInfo():
            dims = state.resolve(value.shape)
            return None if any(isinstance(d, Segment) for d in dims) else tuple(_shown(d, state) for d in dims)
        case TupleValue(items=items):
            return tuple(_shape_of(v, state) for v in items)
        case SizeValue(size=size):
            return _shown(size, state)
    return None


def _shown(size: Any, state: State) -> int | Size:
    settled = state.settled(size)
    if isinstance(settled, int):
        return settled
    bound = exactness(settled, state)
    return Size._of(_named(settled, state), bound[0], None if bound[1] is None else Size._of(bound[1]))


def _named(size: Any, state: State) -> Any:
    """Give a size that is known only at run time a unique name."""
    for variable in variables(size):
        if "?" in variable.name:
            word = variable.name.replace("?", "")
            state.rename(variable, state.size(word if word.isidentifier() else "size", variable.nonneg))
    return state.settled(size)


def _condition(cond: Cond, state: State) -> str:
    return render_cond(substitute_cond(cond, {v: _named(of_atom(v), state) for v in cond_variables(cond)}))
