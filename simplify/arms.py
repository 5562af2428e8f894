"""Values that come from the arms of an `if` with different ranks: what one of the arms alone cannot satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, Label, Sentence, saying
from ..lang.node import replace
from ..ops.model import TensorInfo
from .known.state import State
from .known.values import Entry, plain
from .solver.conditions import Cond
from .voice.describe import type_text

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


def rank_of(state: State, entry: Entry) -> int | None:
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else None
    return len(shape) if shape is not None and plain(shape) else None


def in_one_arm(said: Diagnostic, entry: Entry, arm: Entry, found: str) -> Diagnostic:
    """What fails with one of the arms belongs to the `if`: a call inside that arm would be an error as well."""
    assert said.sentence is not None
    labels = [Label(arm.span, f"this arm gives {found}"), Label(said.span, "this needs another one")]
    claim = f"{said.sentence.claim} from one arm of this `if`"
    return saying(
        said, Sentence(claim, verdict="this fails whenever that arm is taken"), code=codes.E315, severity="error", caption="",
        span=entry.span, labels=tuple(label for label in labels if label.span != entry.span), witness=None, notes=(),
    )  # fmt: skip


def with_the_wrong_rank(
    state: State, path: Path, said: Diagnostic, stmt: core.Assert | core.MatchShape, entry: Entry | None
) -> Diagnostic:
    """A rank that is asked for and that one arm has not: whenever that arm is taken the call fails."""
    if not said.code.is_doubt or entry is None or not isinstance(stmt, core.Assert) or not stmt.origin.claim:
        return said
    match stmt.cond:
        case core.Compare(op="==", left=core.RankOf(), right=core.SizeLit(value=wanted)):
            pass
        case _:
            return said
    for arm in arms(state, path, entry):
        rank = rank_of(state, arm)
        if rank is not None and rank != wanted:
            assert said.sentence is not None
            found = replace(said.sentence, found=f"it has rank {rank}")
            return in_one_arm(replace(said, sentence=found), entry, arm, type_text(arm.value, state))
    return said
