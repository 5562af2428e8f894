"""Values that come from the arms of an `if` with different ranks: what one of the arms alone cannot satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import core
from ..ops.model import TensorInfo
from .known.state import State
from .known.values import Entry, plain
from .solver.conditions import Cond

JOIN = "if"


Path = tuple[Cond | None, ...]


def arms(state: State, path: Path, entry: Entry, under: tuple[Cond, ...] = ()) -> Iterator[Entry]:
    """The arms that a value may come from, if it comes from an `if`; `path` are the arms around its use. Inside an arm of
    another `if` nothing is said, nor of what an earlier `if` made: the two may go together."""
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
) -> tuple[Entry, Entry] | None:
    """A value of which a rank is asked, and the arm that has another one: whenever that is taken the call fails."""
    match stmt:
        case core.Assert(cond=core.Compare(op="==", left=core.RankOf(), right=core.SizeLit(value=wanted))) if entry:
            for arm in arms(state, path, entry):
                shape = state.resolve(arm.value.shape) if isinstance(arm.value, TensorInfo) else None
                if shape is not None and plain(shape) and len(shape) != wanted:
                    return entry, arm
    return None
