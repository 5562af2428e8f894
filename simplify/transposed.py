"""Reshapes used for a transpose: the elements keep their order, but an axis before and after the reshape is another one.

The row-major order of a tensor's elements decides, as far as it is known: a joined axis has known parts, other axes have
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from ..lang import codes
from ..lang.diagnostics import Diagnostic, Label, warning
from ..lang.node import Node, replace
from ..ops.model import Segment, TensorInfo, Trait
from ..ops.requirements import Reordered
from ..ops.spelling import operation
from .known.state import State
from .known.texts import size_text
from .known.values import Entry, ShapeValue, Value
from .messages.describe import shape_text
from .messages.spoken import CallInfo
from .messages.subject import of_call
from .solver.conditions import eq, ge
from .solver.rendering import UNKNOWN
from .solver.terms import Size, Term, Var, common_atoms, of_atom, shrink, var, variables

# The number of calls that are traced back for the order, and the most axes.
_DEPTH, _MOST_AXES = 8, 12
Pieces = list[list[Size]]  # the pieces of each axis, in row-major order


def mixed(state: State, call: CallInfo, result: Value, function: str) -> Iterator[Diagnostic]:
    """Yield a warning if a call takes the elements of one axis for those of another."""
    source, found = next(call.operands())[1], None
    if _is_of_one_value(source):
        return
    with state.facts.trying():
        own, dims = _dims(state, source.value), _dims(state, result)
        if (
            own
            and dims
            and max(len(own), len(dims)) <= _MOST_AXES
            and any(type(d) is Term for d in _differing(own, dims)[0])
        ):
            found = _found(state, [p for axis in _pieces(state, source, _DEPTH) for p in axis], dims)
    if found is not None and UNKNOWN not in (size_text(size, state) for size in found[1]):
        yield _said(state, call, function, result, *found)


def _found(state: State, before: list[Size], dims: list[Size]) -> tuple[_Common, tuple[Size, Size]] | None:
    if not _may_cross(before, dims):
        return None
    state.facts.push()
    for size in (*before, *dims):
        state.facts.assume(ge(size, 1))
    common = _common(state, before, dims)
    crossed = None if common is None else _crossed(state, common)
    if crossed is not None and state.facts.decide(eq(*crossed)).kind == "proved":
        crossed = None
    state.facts.pop()
    return None if common is None or crossed is None else (common, crossed)


def _is_of_one_value(entry: Entry) -> bool:
    """Whether a tensor is made of sizes alone, as by @zeros: another order of its elements changes nothing."""
    made = entry.origin
    return made is not None and made.row is not None and not any(made.row.is_tensor(name) for name, _ in made.entries)


def _dims(state: State, value: Value) -> list[Size] | None:
    """The sizes of a tensor, if none is 0; a stretch of axes counts as one."""
    shape = state.resolve(value.shape) if isinstance(value, TensorInfo) else (0,)
    dims = [var(d.symbol.name, -d.symbol.serial) if isinstance(d, Segment) else state.settled(d) for d in shape]
    return None if 0 in dims else dims


def _may_cross(before: list[Size], dims: list[Size]) -> bool:
    """Whether an axis occurs before and after, outside of the axes that both sides begin and end with."""
    one, other = _differing(before, dims)
    return any(type(d) is Term and d in other for d in one)


def _differing(before: list[Size], dims: list[Size]) -> tuple[list[Size], list[Size]]:
    """The axes without those that both sides begin and end with."""
    one, other = ([d for d in side if d != 1] for side in (before, dims))
    for last in (0, -1):
        while one and other and one[last] == other[last]:
            del one[last], other[last]
    return one, other


# Pieces of axes


def _pieces(state: State, entry: Entry, depth: int) -> Pieces:
    """The pieces of a tensor's axes, from the calls that made it; an axis without known pieces is one."""
    dims, made = _dims(state, entry.value) or [], entry.origin
    whole = [[d] for d in dims]
    if made is None or made.row is None or depth == 0:
        return whole
    operands = [e for name, e in made.entries if made.row.is_tensor(name) and _dims(state, e.value) is not None]
    if operands and Trait.REGROUPS in made.row.traits:
        return _regrouped(_pieces(state, operands[0], depth - 1), dims, _open(made.entries))
    if operands and Trait.MOVES_AXES in made.row.traits and len({*dims}) == len(dims):
        parts = _pieces(state, operands[0], depth - 1)
        return [next((p for p in parts if prod(p) == d), [d]) for d in dims]
    if made.row.elementwise or Trait.BROADCASTS in made.row.traits:
        alike = [_pieces(state, e, depth - 1) for e in operands if _dims(state, e.value) == dims]
        return [max(axis, key=len) for axis in zip(*alike, strict=True)] or whole
    return whole


def _open(entries: Sequence[tuple[str, Entry]]) -> list[bool] | None:
    """For each axis of a target whether its size is left open; None if no target is written."""
    target = dict(entries).get("shape")
    if target is None:
        return None
    sizes = target.value.dims if isinstance(target.value, ShapeValue) else getattr(target.value, "data", None)
    return [type(d) is int and d == -1 for d in sizes or ()]


def _regrouped(before: Pieces, dims: list[Size], is_open: list[bool] | None) -> Pieces:
    """The axes of a regrouped tensor: several pieces that end where an axis ends make up that axis. Elements that go through
    one axis, or through one of two whose size is not written, lose their order."""
    flat = [p for axis in before for p in axis if p != 1]
    ends: dict[Size, int] = {prod(flat[i:]): i for i in range(len(flat) + 1)}
    made, wide = [], sum(d != 1 for d in dims)
    for axis, own in enumerate(dims):
        first, behind = ends.get(prod(dims[axis:])), ends.get(prod(dims[axis + 1 :]))
        parts = [own] if first is None or behind is None else flat[first:behind]
        written = is_open is not None and (len(is_open) != len(dims) or not is_open[axis])
        made.append([own] if len(parts) > 1 and wide <= (1 if written else 2) else parts)
    return made


# Common parts


class _Common(Node):
    """The common parts of a source and a target, in the source's order, each with its piece (`homes`); for each place in the
    target its part (`order`) and its axis (`axes`)."""

    parts: tuple[Size, ...]
    homes: tuple[int, ...]
    order: tuple[int, ...]
    axes: tuple[int, ...]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The places in source and target of the parts that are whole on both sides and have a name."""
        for i, part in enumerate(self.parts):
            j = self.order.index(i)
            if type(part) is Term and self.homes.count(self.homes[i]) == self.axes.count(self.axes[j]) == 1:
                yield i, j


def _common(state: State, before: list[Size], dims: list[Size]) -> _Common | None:
    """Return the common parts; None if they cannot be told. The parts of a product without an order are ordered as on the
    other side."""
    source, target = _split(before, dims), _split(dims, before)
    _fit(state, source, target)
    _fit(state, target, source)
    places: list[int] = []
    for _, size in target:
        places += [i for i, (_, own) in enumerate(source) if own == size and i not in places][:1]
    if not len(places) == len(source) == len(target):
        return None
    axis = {i: target[j][0] for j, i in enumerate(places)}
    parts = sorted(range(len(source)), key=lambda i: (source[i][0], axis[i]))
    order = sorted(range(len(parts)), key=lambda i: (axis[parts[i]], i))
    sizes, homes = tuple(source[i][1] for i in parts), tuple(source[i][0] for i in parts)
    return _Common(sizes, homes, tuple(order), tuple(axis[parts[i]] for i in order))


def _split(sizes: list[Size], others: list[Size]) -> list[tuple[int, Size]]:
    """The factors of sizes, each with its place; a size that the other side has as well is one factor."""
    return [(i, f) for i, s in enumerate(sizes) if s != 1 for f in ([s] if s in others else _factors(s))]


def _factors(size: Size) -> list[Size]:
    common = () if isinstance(size, int) else common_atoms(size.mons)
    rest = shrink(size, 1, common) if common else size
    return [*map(of_atom, common), *([rest] if rest != 1 else [])]


def _fit(state: State, parts: list[tuple[int, Size]], others: list[tuple[int, Size]]) -> None:
    """Split a part that the other side has as several: 512 into 8 and 64, and d into h and k if that is known."""
    left, alone = [size for _, size in others], []
    for part in parts:
        if part[1] in left:
            left.remove(part[1])
        else:
            alone.append(part)
    for part in alone:
        runs = (left[i:j] for i in range(len(left)) for j in range(i + 2, len(left) + 1))
        run = next((r for r in runs if state.facts.decide(eq(prod(r), part[1])).kind == "proved"), [])
        for size in run:
            left.remove(size)
        at = parts.index(part)
        parts[at : at + 1] = [(part[0], size) for size in run] or [part]


def _crossed(state: State, common: _Common) -> tuple[Size, Size] | None:
    """Return an axis that is whole on both sides and has other sizes after it, and a size that it has passed. Related sizes
    do not count: t and t + 1, or t and t + m, change places in shifts of relative positions."""
    for i, j in common:
        part, behind = (
            common.parts[i],
            (prod(common.parts[i + 1 :]), prod(common.parts[k] for k in common.order[j + 1 :])),
        )
        past = (common.parts[k] for place, k in enumerate(common.order) if (k < i) != (place < j))
        other = next((size for size in past if not _are_kin({*variables(size)}, {*variables(part)})), None)
        if other is not None and behind[0] != behind[1] and _may_differ(state, *behind, common):
            return part, other
    return None


def _are_kin(one: set[Var], other: set[Var]) -> bool:
    return one == other or bool(one and other) and (one <= other or other <= one)


def _may_differ(state: State, one: Size, other: Size, common: _Common) -> bool:
    """Whether two products differ for some sizes, none of them 0 or 1."""
    state.facts.push()
    for size in common.parts:
        state.facts.assume(ge(size, 2))
    kind = state.facts.judge(eq(one, other)).kind
    state.facts.pop()
    return kind in ("open", "refuted")


# The message


def _said(
    state: State, call: CallInfo, function: str, result: Value, common: _Common, names: tuple[Size, Size]
) -> Diagnostic:
    source = next(call.operands())[1]
    own, dims = (_dims(state, value) or [] for value in (source.value, result))
    before, behind = (
        shape_text(value.shape, state) for value in (source.value, result) if isinstance(value, TensorInfo)
    )
    one, other = (f"`{size_text(s, state)}`" if type(s) is Term else f"the axis of {s}" for s in names)
    axes = {i: axis for i, axis in zip(common.order, common.axes, strict=True) if common.axes.count(axis) == 1}
    split = tuple(axes.get(i, size_text(size, state)) for i, size in enumerate(common.parts))
    joins = [common.parts[i] for i in common.order] != dims
    asked = Reordered(split if list(common.parts) != own else None, common.order, joins)
    steps = [f"reshape to {shape_text(common.parts, state)}"] * (asked.split is not None)
    steps += [f"transpose by {list(common.order)}", *([f"reshape to {behind}"] if joins else [])]
    said = warning(
        codes.W313,
        f"{operation(call)} from {before} to {behind} moves no axis: it mixes the elements of {one} with those of {other}",
        call.span, labels=(Label(source.span, f"this is {before}"),), function=function, help=", then ".join(steps),
        notes=("if this is intended, make it explicit: reshape to [-1] first",),
    )  # fmt: skip
    return replace(said, subject=replace(of_call(state, call.span, call.name, call.entries), asked=asked))
