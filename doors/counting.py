"""Doors to doors that count: how often each check is reached, and how often it fails.

A door does not count by itself. Here its code is replaced by one that does, for those that there are and those that are made
later.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..api import check_of
from ..lang import core
from .door import DOORS, Door
from .libraries import PREFIX, SHARED
from .text import Counted


class Row(NamedTuple):
    """A check: where it stands, the function, its text and what it means."""

    place: str
    function: str
    text: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: @{self.function}: `{self.text}`, {self.message}"


class _Of(NamedTuple):
    """The checks of a door, each once, with their counts."""

    checks: dict[object, core.Assert | core.MatchShape]
    reached: list[int]
    failed: list[int]


class Counts:
    """How often the checks of each door were reached and failed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._doors: dict[Door, _Of] = {}
        DOORS.made = self._count
        for door in list(DOORS.all):
            self._count(door)

    def end(self) -> None:
        """The doors are as they were."""
        DOORS.made = lambda _: None
        for door in self._doors:
            door.rewrite(None)

    def _count(self, door: Door) -> None:
        """Replaces the code of a door; one that has another copy now counts on."""
        own = self._doors.setdefault(door, _Of({}, [], []))
        for check in door.every_check():
            if _key(check) not in own.checks:
                own.checks[_key(check)] = check
                own.reached.append(0)
                own.failed.append(0)
        places = {id(c): list(own.checks).index(_key(c)) for c in door.every_check()}
        at = list(self._doors).index(door)
        SHARED[f"{PREFIX}reached_{at}"], SHARED[f"{PREFIX}failed_{at}"] = own.reached, own.failed
        door.rewrite(Counted(at, places))

    def rows(self) -> dict[Row, tuple[int, int]]:
        """Of each check of the functions below the root how often it was reached, and how often it failed."""
        found: dict[Row, tuple[int, int]] = {}
        for door, own in self._doors.items():
            if self._is_ours(door):
                for check, reached, failed in zip(own.checks.values(), own.reached, own.failed, strict=True):
                    row = _row(door, check)
                    before = found.get(row, (0, 0))
                    found[row] = before[0] + reached, before[1] + failed
        return found

    def _is_ours(self, door: Door) -> bool:
        return door.file is None or Path(door.file).resolve().is_relative_to(self.root)


def _key(check: core.Assert | core.MatchShape) -> object:
    """What is the same of a check where other parameters are None."""
    origin = check.origin
    return origin.span.start, origin.span.end, origin.what, origin.axis, type(check)


def _row(door: Door, check: core.Assert | core.MatchShape) -> Row:
    told = check_of(check)
    line = told.span.source.position(told.span.start)[0]
    return Row(f"{told.span.source.name}:{line}", door.name, told.text, told.message)


def lines(counts: dict[Row, tuple[int, int]]) -> Iterator[str]:
    """What tests left: the checks that none reached, and apart from them those that none saw fail."""
    unreached = [row for row in sorted(counts, key=_by_place) if not counts[row][0]]
    unfailed = [row for row in sorted(counts, key=_by_place) if counts[row][0] and not counts[row][1]]
    functions = len({(row.place, row.function) for row in counts})
    told = f"{len(counts)} check{'s' * (len(counts) != 1)} at {functions} door{'s' * (functions != 1)}"
    yield f"{told}: {len(counts) - len(unreached)} reached, {len(counts) - len(unreached) - len(unfailed)} seen to fail"
    for title, rows in (("no test reached:", unreached), ("no test saw fail:", unfailed)):
        if rows:
            yield title
            yield from (f"  {row}" for row in rows)


def _by_place(row: Row) -> tuple[str, int]:
    file, _, line = row.place.rpartition(":")
    return file, int(line)
