"""Sizes in Rx syntax."""

from __future__ import annotations

from ..solver.rendering import UNKNOWN
from ..solver.terms import Size, Term, weight
from .state import State

# Longer or heavier texts are not readable.
_LONGEST = 72
_HEAVIEST = 60
# Listed texts of a binding may be longer: programs read them.
LISTED = 600


def size_text(size: Size, state: State, within: frozenset[Size] = frozenset(), longest: int = _LONGEST) -> str:
    """Return a size in Rx syntax; `?` if only the run decides it or it is not readable. `within` are the sizes whose text
    contains it."""
    size = state.settled(size)
    if isinstance(size, int):
        return str(size)
    heaviest = _HEAVIEST * longest // _LONGEST
    text = _as_written(size, state, within) or (state.text(size) if weight(size) <= heaviest else UNKNOWN)
    return text if len(text) <= longest else UNKNOWN


def is_whole(text: str) -> bool:
    """Whether a text is complete: it contains no `?`."""
    return UNKNOWN not in text


def readable(text: str) -> bool:
    """Whether a size's text is complete and short."""
    return is_whole(text) and len(text) <= _LONGEST


def _as_written(size: Term, state: State, within: frozenset[Size]) -> str | None:
    """A minimum or maximum of a shape rule as the rule wrote it; None if facts made one of its parts equal to it."""
    if size not in state.display or size in within:
        return None
    name, parts = state.display[size]
    if sum(weight(p) for p in parts if not isinstance(p, int)) > _HEAVIEST:
        return None
    return f"{name}({', '.join(size_text(p, state, within | {size}) for p in parts)})"
