"""Which path the code takes where only data decides."""

from __future__ import annotations

from types import FrameType

from . import places
from .places import PythonPlace

# So often data decides the same way in a loop that something else ends.
_MOST_TURNS = 100


class Decided:
    """The ways of one run; at the places `otherwise` it takes the other one."""

    def __init__(self, otherwise: frozenset[str]) -> None:
        self.otherwise = otherwise
        self.last: dict[str, tuple[FrameType | None, int]] = {}  # of each place: which call asked there, and how often

    def way(self, usual: bool, place: PythonPlace, frame: FrameType | None) -> bool:
        """The usual answer or the other one; the opposite where it is asked again by a loop that has to end."""
        before, count = self.last.get(place.key, (None, 0))
        count = count if before is frame else 0
        self.last[place.key] = frame, count + 1
        is_opposite = count >= (1 if places.is_in_while(place.file, place.line) else _MOST_TURNS)
        return usual is (is_opposite is (place.key in self.otherwise))
