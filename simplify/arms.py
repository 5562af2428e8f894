"""The arms of an `if` that a value comes from, and the arm with which a check always fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lang import core
from ..ops.model import TensorInfo
from .known.state import State
from .known.values import Entry, plain
from .messages.origins import place_of
from .solver.conditions import Cond, eq

JOIN = "if"


Path = tuple[Cond | None, ...]
Arm = tuple[Entry, Entry]  # a value from an `if`, and the value of one of its arms


def arms(state: State, path: Path, entry: Entry, under: tuple[Cond, ...] = ()) -> Iterator[Entry]:
    """Yield the arms that may have made a value, if it comes from an `if`; `path` are the arms around its use. Nothing is
    yielded inside an arm of another `if`, nor for the value of an earlier `if`: the two choices may be linked."""
    origin = entry.origin
    if origin is None or origin.name != JOIN or len(path) > origin.depth:
        return
    for (_, arm), own in zip(origin.entries, origin.guards, strict=True):
        guard = (*under, *own)
        inner = arm.origin
        if not _may_be_taken(state, guard):
            continue
        if inner is None or inner.name != JOIN:
            yield arm
        elif inner.depth > origin.depth:
            yield from arms(state, path, arm, guard)


def _may_be_taken(state: State, guard: tuple[Cond, ...]) -> bool:
    if not guard:
        return True
    state.facts.push()
    for cond in guard:
        state.facts.assume(cond)
    taken = state.facts.possible(True)
    state.facts.pop()
    return taken


def with_the_wrong_rank(
    state: State, path: Path, stmt: core.Assert | core.MatchShape, entry: Entry | None
) -> Arm | None:
    """Return a value whose rank is checked, and an arm of another rank: whenever that arm is taken, the call fails."""
    match stmt:
        case core.Assert(cond=core.Compare(op="==", left=core.RankOf(), right=core.SizeLit(value=wanted))) if entry:
            for arm in arms(state, path, entry):
                shape = state.resolve(arm.value.shape) if isinstance(arm.value, TensorInfo) else None
                if shape is not None and plain(shape) and len(shape) != wanted:
                    return entry, arm
    return None


def is_of_data(joined: Entry | None) -> bool:
    """Whether a value comes from an `if` whose arm no sizes decide."""
    return (
        joined is not None
        and joined.origin is not None
        and bool(joined.origin.guards)
        and not any(joined.origin.guards)
    )


def with_the_wrong_size(
    state: State, path: Path, cond: Cond, given: Iterable[tuple[Entry | None, int | None]]
) -> Arm | None:
    """Return, from the values and axes of a condition, one that comes from an `if` on data, and the arm whose sizes always
    fail it."""
    for entry, axis in given:
        joined = None if entry is None or axis is None else place_of(state, entry, axis).joined
        if joined is None or not is_of_data(joined):
            continue
        for arm in arms(state, path, joined):
            if _fails_in(state, cond, joined, arm):
                return joined, arm
    return None


def _fails_in(state: State, cond: Cond, joined: Entry, arm: Entry) -> bool:
    if not isinstance(joined.value, TensorInfo) or not isinstance(arm.value, TensorInfo):
        return False
    shapes = state.resolve(joined.value.shape), state.resolve(arm.value.shape)
    if not all(map(plain, shapes)) or len(shapes[0]) != len(shapes[1]):
        return False
    state.push()
    for both, own in zip(*shapes, strict=True):
        state.assume(eq(both, own))
    fails = state.facts.possible(True) and state.facts.decide(cond).kind == "refuted"
    state.pop()
    return fails
