"""A queue of items that wait for names: it returns the first one whose names are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class Worklist(Generic[T]):
    """Items in order. `is_ready` is asked when an item is added, and when one of its names changes."""

    def __init__(self, is_ready: Callable[[T], bool]) -> None:
        self._is_ready = is_ready
        self._waiting: dict[int, T] = {}
        self._by_name: defaultdict[str, list[int]] = defaultdict(list)
        self._ready: list[int] = []
        self._count = 0

    def put(self, item: T, names: Iterable[str]) -> None:
        """Add an item that waits for names."""
        place = self._count
        self._count += 1
        self._waiting[place] = item
        for name in names:
            self._by_name[name].append(place)
        self._ask(place)

    def wake(self, names: Iterable[str]) -> None:
        """Ask the items again that wait for some names."""
        for name in names:
            for place in self._by_name.get(name, ()):
                self._ask(place)

    def take(self) -> T | None:
        """Return the first item that is ready; None if there is none."""
        while self._ready:
            item = self._waiting.pop(heappop(self._ready), None)
            if item is not None:
                return item
        return None

    @property
    def left(self) -> list[T]:
        """The items that were not taken."""
        return list(self._waiting.values())

    def _ask(self, place: int) -> None:
        item = self._waiting.get(place)
        if item is not None and self._is_ready(item):
            heappush(self._ready, place)
