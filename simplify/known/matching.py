"""Patterns over shapes: the equations under which one fits, the values of its names, and the facts after a match."""

from __future__ import annotations

from ...lang import core
from ...ops.model import Segment
from ..solver.conditions import all_of, eq, ge
from ..solver.sizes import single_var
from ..solver.terms import Size
from .shape_level import ShapeLevel, Truth, _and, differ_in_rank
from .values import UNDECIDED, Entry, Shape, ShapeValue, SizeValue, plain


class Found:
    """How a pattern lies over a shape: pairs that must be equal, names with their values, segments with their parts."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Size, Size]] = []
        self.names: dict[str, Size | Shape] = {}
        self.segments: list[tuple[Segment, Shape]] = []


Part = object  # a Size, a Segment, or a _Bind


class _Bind:
    def __init__(self, name: str, splice: bool) -> None:
        self.name, self.splice = name, splice


def match(level: ShapeLevel, stmt: core.MatchShape) -> tuple[Truth, Found]:
    """Return whether the tensor's shape fits the pattern, and the values of the pattern's names."""
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
    """Match a pattern without a name for a stretch of dimensions: front and tail pairwise, the middle must be identical."""
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
    if alone:
        found.segments.append((middle_shape[0], _named(level, middle_shape[0], middle_parts, found)))
    return UNDECIDED


def _named(level: ShapeLevel, segment: Segment, parts: tuple[Part, ...], found: Found) -> Shape:
    """The parts of a segment, with its dimensions for named parts: counted from the front before all stretches, from the end
    after them."""
    stretches = [i for i, p in enumerate(parts) if _open(p)] or [len(parts)]
    named: list[Size | Segment] = []
    for i, part in enumerate(parts):
        if not isinstance(part, _Bind):
            named.append(part)  # type: ignore[arg-type]
            continue
        if stretches[0] < i < stretches[-1]:
            dim = level.state.dimension(part.name)
        else:
            dim = level.state.segment_dim(segment, i if i < stretches[0] else i - len(parts))
        found.names[part.name] = dim
        named.append(dim)
    return tuple(named)


def _around(level: ShapeLevel, parts: list[Part], at: int, shape: Shape, found: Found) -> Truth:
    """Match `[a, *s, b]`: the dimensions before and after the splice pairwise, the rest as the splice."""
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
    """The shape with its one open segment split so that `front` and `tail` plain dimensions stand around the rest; None if
    the two may overlap: `[n, *s]` has no dimension after n if s is empty."""
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
    parts = (*before, level.state.segment(level.state.called(segment.symbol)), *behind)
    found.segments.append((segment, parts))
    return shape[:heads] + parts + shape[heads + 1 :]


def _open(part: object) -> bool:
    return isinstance(part, Segment) or (isinstance(part, _Bind) and part.splice)


def learn_match(level: ShapeLevel, stmt: core.MatchShape, found: Found) -> None:
    """Take a match as facts and bind its names."""
    state = level.state
    for segment, parts in found.segments:
        state.expand(segment, parts)
    for a, b in found.pairs:
        level.equate(a, b, stmt)
    for name in stmt.binds:
        stands_for = found.names[name]
        if isinstance(stands_for, tuple):
            state.name_shape(stands_for, name)
            level.env[name] = Entry(ShapeValue(stands_for), stmt.span)
            continue
        variable = single_var(stands_for)
        if variable is not None and state.may_be_called(variable, name):
            named = state.size(name)
            state.rename(variable, named)
            stands_for = named
        level.env[name] = Entry(SizeValue(stands_for), stmt.span)
