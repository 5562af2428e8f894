"""Dimensions and names: patterns matched, sizes named as the user named them, what two arms of an `if` share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ...lang import core
from ...lang.dtypes import DTYPES, WEAK
from ...ops.model import Segment, TensorInfo
from ..solver.conditions import all_of, eq, ge
from ..solver.sizes import single_var
from ..solver.terms import Size, Term, Var, mod, variables
from .shape_level import Poisoned, ShapeLevel, Truth, _and, differ_in_rank, written_size
from .state import State
from .values import (
    POISON,
    UNDECIDED,
    AnyDType,
    BoolValue,
    DTypeSymbol,
    DTypeValue,
    Entry,
    Env,
    FnValue,
    NumberValue,
    Shape,
    ShapeValue,
    SizeValue,
    TupleValue,
    Value,
    plain,
)


class Namer(Protocol):
    """Who walks: the names that annotations of the current scope have given to sizes so far."""

    state: State
    names: dict[str, Size]
    opaque_names: bool

    def rebind(self, env: Env, name: str, entry: Entry) -> None: ...


def lone_variable(size: Size) -> Var | None:
    return None if isinstance(size, int) else single_var(size)


def of_subject(origin: core.Origin, env: Env, state: State) -> tuple[Size, ...]:
    """The dimensions of the tensor that an annotation speaks of."""
    if origin.declared is None or origin.declared.tensor not in env:
        return ()
    return of_values((env[origin.declared.tensor].value,), state)


def of_values(values: Iterable[Value], state: State) -> tuple[Size, ...]:
    """The dimensions of all tensors among the values."""
    found: list[Size] = []
    for value in values:
        if isinstance(value, TensorInfo):
            found.extend(d for d in state.resolve(value.shape) if not isinstance(d, Segment))
        elif isinstance(value, TupleValue):
            found.extend(of_values(value.items, state))
    return tuple(found)


# Names of dimensions


def name_dimension(walker: Namer, stmt: core.Assert, env: Env) -> None:
    """After an assertion of an annotation: sizes that the annotation names get their names.

    `x : Tensor([n, m * 4])` turns the dimensions of x into `n` and `m * 4`, with n and m sizes of their own.
    """
    origin = stmt.origin
    declared = origin.declared
    entry = env.get(declared.tensor) if declared is not None else None
    if declared is None or declared.annotation is None or entry is None or not isinstance(entry.value, TensorInfo):
        return
    written, dtype = declared.annotation.dims, declared.annotation.dtype
    if dtype is not None and dtype.names:
        _name_dtype(walker.state, entry.value.dtype, dtype.names[0])
    if written is None:
        return
    if origin.what == "rank":
        dims = walker.state.resolve(entry.value.shape)
        bound = _bound_sizes(walker, declared, env, written)
        if plain(dims):
            for size, item in zip(dims, written, strict=False):
                if isinstance(item.size, core.SizeVar) and item.size.name not in bound:
                    _name_size(walker, size, item.size.name)
    elif origin.what == "dim" and origin.axis is not None and -len(written) <= origin.axis < len(written):
        item = written[origin.axis]
        _name_inside(walker, env, declared.tensor, origin.axis, item, _bound_sizes(walker, declared, env, (item,)))


def name_computed(walker: Namer, stmt: core.Assert, env: Env) -> None:
    """After all assertions of a signature: `x : Tensor([n - 5])` asserts nothing of the dimension, and yet it is written so."""
    declared = stmt.origin.declared
    if stmt.origin.what != "rank" or declared is None or declared.annotation is None:
        return
    written, entry = declared.annotation.dims, env.get(declared.tensor)
    if written is None or entry is None or not isinstance(entry.value, TensorInfo):
        return
    for axis, item in enumerate(written):
        if isinstance(item.size, core.SizeOp) and len(walker.state.resolve(entry.value.shape)) == len(written):
            _name_inside(walker, env, declared.tensor, axis, item, _bound_sizes(walker, declared, env, (item,)))


def _name_dtype(state: State, dtype: AnyDType | None, name: str) -> None:
    symbol = state.dtype(dtype) if dtype is not None else None
    if isinstance(symbol, DTypeSymbol) and not symbol.name.isidentifier() and name not in DTYPES:
        symbol.name = name


def _bound_sizes(walker: Namer, declared: core.Declared, env: Env, items: Iterable[core.Written]) -> dict[str, Size]:
    """What the names of some dimensions stand for, where that is known."""
    wanted = {name for item in items for name in item.names}
    sizes = {name: walker.names[name] for name in wanted if name in walker.names}
    for name, expr in declared.bound:
        if name in wanted and isinstance(expr, core.SizeExpr):
            try:
                sizes[name] = ShapeLevel(walker.state, env).size(expr)
            except Poisoned:
                continue
    return sizes


def _name_size(walker: Namer, size: Size, name: str) -> None:
    if name in walker.names:
        return
    size = walker.state.settled(size)
    variable = lone_variable(size)
    if variable is not None and variable in walker.state.anonymous:
        size = new_size(walker, name)
        walker.state.rename(variable, size)
    walker.names[name] = size


def new_size(walker: Namer, name: str) -> Size:
    named = walker.state.size(name)
    variable = single_var(named)
    if walker.opaque_names and variable is not None:
        walker.state.opaque[variable] = None
    return named


def _name_inside(walker: Namer, env: Env, tensor: str, axis: int, item: core.Written, bound: dict[str, Size]) -> None:
    """`[q * 64]`: the dimension is written as `q * 64` from here on, if it is nothing better yet."""
    free = [n for n in item.names if n not in bound]
    entry = env[tensor]
    assert isinstance(entry.value, TensorInfo)
    shape = walker.state.resolve(entry.value.shape)
    size = _at(shape, axis)
    if len(free) != 1 or size is None:
        return
    variable = lone_variable(size)
    anonymous = variable is not None and variable in walker.state.anonymous
    if isinstance(size, int) or not (anonymous or _unsolved(walker, size)):
        return
    if not _can_be_written(walker, size, item, bound, free[0]):
        return
    named = new_size(walker, free[0])
    written = written_size(item.size, {**bound, free[0]: named})
    if written is None:
        return
    walker.names[free[0]] = named
    walker.state.assume(eq(size, written))
    if anonymous:
        walker.state.solve_anonymous(size, written)
    else:
        dims = list(shape)
        dims[axis] = written
        value = TensorInfo(tuple(dims), entry.value.dtype, entry.value.data)
        walker.rebind(env, tensor, Entry(value, entry.span, entry.axes))


def _at(shape: Shape, axis: int) -> Size | None:
    """The size at an axis, counted from the end where that is below 0; None where dimensions of unknown number are between."""
    beside = shape[: axis + 1] if axis >= 0 else shape[axis:]
    if not -len(shape) <= axis < len(shape) or not plain(beside):
        return None
    return beside[-1] if axis >= 0 else beside[0]  # type: ignore[no-any-return]


def _can_be_written(walker: Namer, size: Size, item: core.Written, bound: dict[str, Size], name: str) -> bool:
    """Whether some size of that name makes the expression equal to the dimension, as far as is known now: the checks of
    an inversion come one by one, and only the last of them makes it certain."""
    at = [written_size(item.size, {**bound, name: n}) for n in (0, 1, 2)]
    if any(a is None for a in at):
        return False
    zero, one, two = (a for a in at if a is not None)
    factor, rest = one - zero, size - zero
    if two - one != factor:
        return False
    sure = (ge(factor, 1), ge(rest, 0), eq(mod(rest, factor), 0))
    return all(c is True or (c is not False and walker.state.facts.decide(c).kind == "proved") for c in sure)


def _unsolved(walker: Namer, size: Size) -> bool:
    """Whether a size speaks of something that has no name of the user's."""
    return any(v in walker.state.opaque or not v.name.rstrip("'").isidentifier() for v in variables(size))


# match_shape


class Found:
    """How a pattern lies over a shape: pairs that must be equal, names and what they stand for, segments and their parts."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Size, Size]] = []
        self.names: dict[str, Size | Shape] = {}
        self.segments: list[tuple[Segment, Shape]] = []


Part = object  # a Size, a Segment, or a _Bind


class _Bind:
    def __init__(self, name: str, splice: bool) -> None:
        self.name = name
        self.splice = splice


def match(level: ShapeLevel, stmt: core.MatchShape) -> tuple[Truth, Found]:
    """Whether the tensor's shape fits the pattern, and what the pattern's names stand for then."""
    shape = level.state.resolve(level.tensor(stmt.tensor).shape)
    parts = _parts(level, stmt)
    found = Found()
    at = next((i for i, p in enumerate(parts) if isinstance(p, _Bind) and p.splice), None)
    truth = _fixed(level, parts, shape, found) if at is None else _around(level, parts, at, shape, found)
    for name in stmt.binds:
        found.names.setdefault(name, level.state.dimension("?"))
    return _and(truth, all_of(*(eq(a, b) for a, b in found.pairs))), found


def _parts(level: ShapeLevel, stmt: core.MatchShape) -> list[Part]:
    parts: list[Part] = []
    free = set(stmt.binds)
    for item in stmt.dims:
        if isinstance(item, core.Splice):
            if item.name in free:
                parts.append(_Bind(item.name, True))
            else:
                parts.extend(level.shape(core.ShapeVar(item.span, item.name)))
        elif isinstance(item, core.SizeVar) and item.name in free:
            free.discard(item.name)
            parts.append(_Bind(item.name, False))
        else:
            parts.append(level.size(item))
    return parts


def _pair(found: Found, part: Part, dim: Size) -> None:
    if isinstance(part, _Bind):
        found.names[part.name] = dim
    else:
        found.pairs.append((part, dim))  # type: ignore[arg-type]


def _fixed(level: ShapeLevel, parts: list[Part], shape: Shape, found: Found) -> Truth:
    """No name for a stretch of dimensions: front and tail lie over each other, the middle must be the same."""
    front = 0
    while front < min(len(parts), len(shape)) and not _open(parts[front]) and not _open(shape[front]):
        _pair(found, parts[front], shape[front])
        front += 1
    back = 0
    limit = min(len(parts), len(shape)) - front
    while back < limit and not _open(parts[-1 - back]) and not _open(shape[-1 - back]):
        _pair(found, parts[-1 - back], shape[-1 - back])
        back += 1
    middle_parts = tuple(parts[front : len(parts) - back])
    middle_shape = shape[front : len(shape) - back]
    if middle_parts == middle_shape:
        return True
    if plain(middle_parts) and plain(middle_shape) or differ_in_rank(middle_parts, middle_shape):
        return False
    alone = len(middle_shape) == 1 and _open(middle_shape[0]) and middle_shape[0] not in middle_parts
    if alone and not any(isinstance(p, _Bind) for p in middle_parts):
        found.segments.append((middle_shape[0], middle_parts))
    return UNDECIDED


def _around(level: ShapeLevel, parts: list[Part], at: int, shape: Shape, found: Found) -> Truth:
    """`[a, *s, b]`: what lies before and behind the splice, and the splice itself for the rest."""
    front, tail = parts[:at], parts[at + 1 :]
    splice = parts[at]
    assert isinstance(splice, _Bind)
    if plain(shape) and len(shape) < len(front) + len(tail):
        return False
    if any(map(_open, front + tail)):
        found.names[splice.name] = (level.state.segment(splice.name),)
        return UNDECIDED
    truth: Truth = True
    if not plain(shape):
        truth = ge(level.state.rank(shape), len(front) + len(tail))
        wide = _widen(level, shape, len(front), len(tail), found)
        if wide is None:
            found.names[splice.name] = (level.state.segment(splice.name),)
            for axis, part in (*enumerate(front), *enumerate(tail, -len(tail))):
                _pair(found, part, level.dim_around_segments(shape, axis))
            return truth
        shape = wide
    for part, dim in zip(front, shape, strict=False):
        _pair(found, part, dim)
    for part, dim in zip(reversed(tail), reversed(shape), strict=False):
        _pair(found, part, dim)
    found.names[splice.name] = shape[len(front) : len(shape) - len(tail)]
    return truth


def _widen(level: ShapeLevel, shape: Shape, front: int, tail: int, found: Found) -> Shape | None:
    """The shape with its one open segment split so that `front` and `tail` plain dimensions stand around the rest; None
    where they may lie over each other: `[n, *s]` has no dimension behind n where s is empty."""
    heads = next(i for i, d in enumerate(shape) if _open(d))
    tails = next(i for i, d in enumerate(reversed(shape)) if _open(d))
    lacking_front, lacking_tail = max(0, front - heads), max(0, tail - tails)
    if not lacking_front and not lacking_tail:
        return shape
    least = heads + lacking_front + tails + lacking_tail
    if sum(map(_open, shape)) != 1 or (least > front + tail and not level.state.has_rank_of(shape, least)):
        return None
    segment = shape[heads]
    before = tuple(level.state.segment_dim(segment, i) for i in range(lacking_front))
    behind = tuple(level.state.segment_dim(segment, i - lacking_tail) for i in range(lacking_tail))
    parts = (*before, level.state.segment(segment.symbol.name), *behind)
    found.segments.append((segment, parts))
    return shape[:heads] + parts + shape[heads + 1 :]


def _open(part: object) -> bool:
    return isinstance(part, Segment) or (isinstance(part, _Bind) and part.splice)


def learn_match(level: ShapeLevel, stmt: core.MatchShape, found: Found) -> None:
    """Take what a match says as facts, and bind its names."""
    state = level.state
    for segment, parts in found.segments:
        state.expand(segment, parts)
    for a, b in found.pairs:
        level.equate(a, b, stmt)
    for name in stmt.binds:
        stands_for = found.names[name]
        if isinstance(stands_for, tuple):
            for part in stands_for:
                if isinstance(part, Segment) and len(stands_for) == 1:
                    part.symbol.name = name
            level.env[name] = Entry(ShapeValue(stands_for), stmt.span)
            continue
        variable = lone_variable(stands_for)
        if variable is not None and variable in state.anonymous:
            named = state.size(name)
            state.rename(variable, named)
            stands_for = named
        level.env[name] = Entry(SizeValue(stands_for), stmt.span)


# Joins

Cases = list[tuple[Term, Size, Size]]


def join(state: State, a: Value, b: Value, cases: Cases) -> Value:
    """What two values have in common; `cases` gathers what a new size is in either arm."""
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
    return a if a == b else POISON


def _as_tensor(value: Value) -> Value:
    """A literal number that leaves an arm has the dtype that it has alone."""
    if not isinstance(value, NumberValue):
        return value
    data = value.value if isinstance(value.value, int) and not isinstance(value.value, bool) else None
    return TensorInfo((), WEAK[type(value.value)], data)


def _join_tensors(state: State, a: TensorInfo, b: TensorInfo, cases: Cases) -> TensorInfo:
    shape = _join_shapes(state, state.resolve(a.shape), state.resolve(b.shape), cases)
    dtype = None if a.dtype is None and b.dtype is None else _join_dtypes(state, a.dtype, b.dtype)
    return TensorInfo(shape, dtype, a.data if a.data == b.data else None)


def _join_shapes(state: State, a: Shape, b: Shape, cases: Cases) -> Shape:
    if a == b:
        return a
    if plain(a) and plain(b) and len(a) == len(b):
        return tuple(_join_sizes(state, x, y, cases) for x, y in zip(a, b, strict=True))
    return (state.segment("?"),)


def _join_sizes(state: State, a: Size, b: Size, cases: Cases) -> Size:
    a, b = state.settled(a), state.settled(b)
    if a == b or state.facts.decide(eq(a, b)).kind == "proved":
        return a
    both = state.size("?")
    variable = single_var(both)
    assert variable is not None
    state.opaque[variable] = None
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
