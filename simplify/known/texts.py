"""Sizes in Rx syntax."""

from __future__ import annotations

from ..solver.rendering import UNKNOWN
from ..solver.terms import Size, Term, weight
from .state import State

# What is longer than this, or made of more parts, is not for reading.
_LONGEST = 72
_HEAVIEST = 60
# What is listed of a binding may be longer: programs read it.
LISTED = 600


def size_text(size: Size, state: State, within: frozenset[Size] = frozenset(), longest: int = _LONGEST) -> str:
    """A size in Rx syntax; `?` for one that only the run decides, or that nobody could read. It stands in the text of those
    that it is `within`."""
    size = state.settled(size)
    if isinstance(size, int):
        return str(size)
    heaviest = _HEAVIEST * longest // _LONGEST
    text = _as_written(size, state, within) or (state.text(size) if weight(size) <= heaviest else UNKNOWN)
    return text if len(text) <= longest else UNKNOWN


def is_whole(text: str) -> bool:
    """Whether a text says all of what it is about: nothing in it is `?`."""
    return UNKNOWN not in text


def readable(text: str) -> bool:
    """Whether a size's text says all of it, in a few words."""
    return is_whole(text) and len(text) <= _LONGEST


def _as_written(size: Term, state: State, within: frozenset[Size]) -> str | None:
    """A minimum or maximum of a shape rule as the rule wrote it; not where facts have made one of its parts equal to it."""
    if size not in state.display or size in within:
        return None
    name, parts = state.display[size]
    if sum(weight(p) for p in parts if not isinstance(p, int)) > _HEAVIEST:
        return None
    return f"{name}({', '.join(size_text(p, state, within | {size}) for p in parts)})"
