"""The common facts of two arms of an `if`."""

from __future__ import annotations

from ...lang.dtypes import WEAK
from ...lang.node import replace
from ...ops.held import HeldElements, common, how_many
from ...ops.model import AnyDType, Elements, Segment, TensorInfo
from ...ops.tracked import kept, of_literal
from ..solver.conditions import eq
from ..solver.sizes import only_var
from ..solver.terms import Size, Term
from .state import State
from .values import (
    POISON,
    UNDECIDED,
    UNKNOWN,
    BoolValue,
    DTypeValue,
    FnValue,
    NumberValue,
    Poison,
    Shape,
    ShapeValue,
    SizeValue,
    TupleValue,
    Value,
    plain,
)

Cases = list[tuple[Term, Size, Size]]


def join(state: State, a: Value, b: Value, cases: Cases) -> Value:
    """Return the common part of two values; `cases` collects, for each new size, its value in either arm."""
    a, b = _as_tensor(a), _as_tensor(b)
    match a, b:
        case TensorInfo(), TensorInfo():
            return _join_tensors(state, a, b, cases)
        case SizeValue(x), SizeValue(y):
            return SizeValue(_join_sizes(state, x, y, cases))
        case TupleValue(xs), TupleValue(ys) if len(xs) == len(ys):
            return TupleValue(tuple(join(state, x, y, cases) for x, y in zip(xs, ys, strict=True)))
        case ShapeValue(x), ShapeValue(y):
            return ShapeValue(_join_shapes(state, x, y, cases))
        case DTypeValue(x), DTypeValue(y):
            return DTypeValue(_join_dtypes(state, x, y))
        case BoolValue(), BoolValue():
            return a if a == b else BoolValue(UNDECIDED)
        case FnValue(), FnValue() if a.name == b.name and a.function is b.function and a.closure is b.closure:
            return a
    if a == b:
        return a
    return POISON if isinstance(a, Poison) or isinstance(b, Poison) else UNKNOWN


def _as_tensor(value: Value) -> Value:
    """Give a literal number that leaves an arm its default dtype."""
    if not isinstance(value, NumberValue):
        return value
    dtype = WEAK[type(value.value)]
    return TensorInfo((), dtype, of_literal((value.value,), dtype))


def _join_tensors(state: State, a: TensorInfo, b: TensorInfo, cases: Cases) -> TensorInfo:
    shape = _join_shapes(state, state.resolve(a.shape), state.resolve(b.shape), cases)
    dtype = None if a.dtype is None and b.dtype is None else _join_dtypes(state, a.dtype, b.dtype)
    data = _join_elements(state, a.data, b.data, cases)
    return TensorInfo(shape, dtype, data, a.ranges if a.ranges == b.ranges else ())


def _join_elements(state: State, a: Elements, b: Elements, cases: Cases) -> Elements:
    if a is None or b is None or len(a) != len(b):
        return None
    return kept(tuple(_join_element(state, x, y, cases) for x, y in zip(a, b, strict=True)))


def _join_element(state: State, a: object, b: object, cases: Cases) -> object:
    if not isinstance(a, HeldElements) or not isinstance(b, HeldElements):
        return a if a == b else None
    both = common(a, b, lambda x, y: bool(state.settled(x) == state.settled(y)))
    if not isinstance(both, HeldElements) or how_many(both) is not None or None in (how_many(a), how_many(b)):
        return both
    return replace(both, count=_join_sizes(state, how_many(a), how_many(b), cases))


def _join_shapes(state: State, a: Shape, b: Shape, cases: Cases) -> Shape:
    if a == b:
        return a
    if len(a) != len(b) or any(x != y for x, y in zip(a, b, strict=True) if not plain((x, y))):
        return (state.segment("?"),)
    return tuple(x if isinstance(x, Segment) else _join_sizes(state, x, y, cases) for x, y in zip(a, b, strict=True))


def _join_sizes(state: State, a: Size, b: Size, cases: Cases) -> Size:
    a, b = state.settled(a), state.settled(b)
    if a == b or state.facts.decide(eq(a, b)).kind == "proved":
        return a
    both = state.size("?")
    state.opaque.begin(only_var(both), None)
    cases.append((both, a, b))
    return both


def _join_dtypes(state: State, a: AnyDType | None, b: AnyDType | None) -> AnyDType:
    if a is None or b is None:
        return state.dtype_symbol("?")
    if state.same_dtype(a, b):
        return state.dtype(a)
    symbol = state.dtype_symbol("?")
    state.restrict(symbol, state.allowed(a) | state.allowed(b))
    return symbol
