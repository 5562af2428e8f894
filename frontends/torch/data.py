"""The path that the code takes where only data decides."""

from __future__ import annotations

from types import FrameType

from . import places
from .places import PythonPlace

# The most equal answers in a loop that something else ends.
_MOST_TURNS = 100


class Decided:
    """The answers of data in one run; at the places `otherwise` it gives the other one."""

    def __init__(self, otherwise: frozenset[str]) -> None:
        self.otherwise = otherwise
        self.last: dict[str, tuple[FrameType | None, int]] = {}  # by place: the frame that asked there, and how often

    def way(self, usual: bool, place: PythonPlace, frame: FrameType | None) -> bool:
        """The usual answer or the other one; the opposite if a loop that must end asks again."""
        before, count = self.last.get(place.key, (None, 0))
        count = count if before is frame else 0
        self.last[place.key] = frame, count + 1
        is_opposite = count >= (1 if places.is_in_while(place.file, place.line) else _MOST_TURNS)
        return usual is (is_opposite is (place.key in self.otherwise))
