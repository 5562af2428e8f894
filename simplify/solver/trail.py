"""Dictionaries whose changes are recorded on a trail: going back costs as much as the changes since."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, KeysView
from operator import itemgetter
from typing import Any, Generic, Self, TypeVar

from .conditions import Condition, cond_vars
from .terms import Size, Term, Var, term_vars

K = TypeVar("K")
V = TypeVar("V")
_ABSENT: Any = object()


class Trail:
    """The changes in order: the table (or another object with `restore`), the key, and the previous value."""

    __slots__ = ("steps", "time")

    def __init__(self) -> None:
        self.steps: list[tuple[Any, Any, Any]] = []
        # The number of changes of tables that keep their history.
        self.time = 0

    def back(self, mark: int) -> None:
        """Undo every step after the first `mark`."""
        steps = self.steps
        while len(steps) > mark:
            table, key, before = steps.pop()
            table.restore(key, before)


class Table(dict[K, V], Generic[K, V]):
    """A dictionary that records each change. Going back restores its entries, but not their order."""

    __slots__ = ("trail",)

    def __init__(self, trail: Trail) -> None:
        super().__init__()
        self.trail = trail

    def __setitem__(self, key: K, value: V) -> None:
        self.trail.steps.append((self, key, self.get(key, _ABSENT)))
        super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        self.trail.steps.append((self, key, self[key]))
        super().__delitem__(key)

    def restore(self, key: K, before: V) -> None:
        """Undo a change."""
        if before is _ABSENT:
            super().__delitem__(key)
        else:
            super().__setitem__(key, before)

    def begin(self, key: K, value: V) -> None:
        """Set an entry of a new key, which has it from its beginning: going back does not remove it."""
        super().__setitem__(key, value)

    def pop(self, key: K, default: object = None) -> Any:
        """Remove and return the value."""
        if key not in self:
            return default
        value = self[key]
        del self[key]
        return value

    def setdefault(self, key: K, default: Any = None) -> Any:
        """Return the value; if there is none, set the default first."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **named: Any) -> None:
        """Set each entry by itself, so that it is recorded."""
        for key, value in dict(*others, **named).items():
            self[key] = value

    def clear(self) -> None:
        """Remove each entry."""
        for key in tuple(self):
            del self[key]

    def popitem(self) -> tuple[K, V]:
        """Remove and return the newest entry."""
        key = next(reversed(self))
        return key, self.pop(key)

    def __ior__(self, other: object) -> Self:  # type: ignore[override, misc]
        self.update(other)
        return self


class KeptTable(Table[K, V]):
    """A table with its history: the values that each key had, with the times since when."""

    __slots__ = ("history",)

    def __init__(self, trail: Trail) -> None:
        super().__init__(trail)
        self.history: dict[K, list[tuple[int, V]]] = {}

    def _note(self, key: K) -> None:
        self.trail.time += 1
        self.history.setdefault(key, []).append((self.trail.time, self.get(key, _ABSENT)))

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self._note(key)

    def __delitem__(self, key: K) -> None:
        super().__delitem__(key)
        self._note(key)

    def restore(self, key: K, before: V) -> None:
        super().restore(key, before)
        self._note(key)

    def begin(self, key: K, value: V) -> None:
        super().begin(key, value)
        self._note(key)


class Past(dict[K, V]):
    """The contents of a table at some time, for looking up single keys; entries that are set are visible only here."""

    __slots__ = ("table", "time")

    def __init__(self, table: KeptTable[K, V]) -> None:
        self.table, self.time = table, table.trail.time

    def __missing__(self, key: K) -> V:
        history = self.table.history.get(key, [])
        at = bisect_right(history, self.time, key=itemgetter(0))
        if at == 0 or history[at - 1][1] is _ABSENT:
            raise KeyError(key)
        return history[at - 1][1]

    def get(self, key: K, default: Any = None) -> Any:
        """The value at that time, or the default."""
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: Any) -> bool:
        return self.get(key, _ABSENT) is not _ABSENT

    def keys(self) -> Any:
        """The keys, for membership tests."""
        return KeysView(self)

    def __bool__(self) -> bool:
        return bool(self.table.history)

    begin = dict.__setitem__


class Indexed(Table[K, V]):
    """A table with an index of the entries in which a variable occurs, and their order of arrival."""

    __slots__ = ("homes", "since", "vars_in")

    def __init__(self, trail: Trail, vars_in: Callable[[K, V], Iterable[Var]]) -> None:
        super().__init__(trail)
        self.vars_in = vars_in
        self.homes: dict[Var, dict[K, None]] = {}
        self.since: Table[K, int] = Table(trail)

    def _enter(self, key: K) -> None:
        for v in self.vars_in(key, self[key]):
            self.homes.setdefault(v, {})[key] = None

    def _leave(self, key: K) -> None:
        if key in self:
            for v in self.vars_in(key, self[key]):
                del self.homes[v][key]

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self:
            self.since[key] = len(self.trail.steps)
        self._leave(key)
        super().__setitem__(key, value)
        self._enter(key)

    def __delitem__(self, key: K) -> None:
        self._leave(key)
        super().__delitem__(key)

    def restore(self, key: K, before: V) -> None:
        self._leave(key)
        super().restore(key, before)
        if key in self:
            self._enter(key)

    def in_order(self, keys: Iterable[K]) -> dict[K, V]:
        """Some of the entries, the oldest first."""
        return {key: self[key] for key in sorted(keys, key=self.since.__getitem__)}

    def mentioning(self, v: Var) -> dict[K, V]:
        """The entries that contain a variable, the oldest first."""
        return self.in_order(self.homes.get(v, ()))


def solution_vars(v: Var, solution: Size) -> Iterable[Var]:
    """The variables in a solution."""
    return term_vars(solution) if type(solution) is Term else ()


def literal_vars(literal: Condition, mask: int) -> Iterable[Var]:
    """The variables of a literal."""
    return cond_vars(literal)
