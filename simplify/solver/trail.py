"""Dictionaries whose changes are noted on a trail: going back costs as much as what was done since."""

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
    """What was done, in order: the table (or what else can `restore`), the key, and the value that was there before."""

    __slots__ = ("steps", "time")

    def __init__(self) -> None:
        self.steps: list[tuple[Any, Any, Any]] = []
        # How many changes there were of what is kept.
        self.time = 0

    def back(self, mark: int) -> None:
        """Undoes everything since there were `mark` steps."""
        steps = self.steps
        while len(steps) > mark:
            table, key, before = steps.pop()
            table.restore(key, before)


class Table(dict[K, V], Generic[K, V]):
    """A dictionary that notes each change. After going back its entries are as before, but for their order."""

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
        """Takes a change back."""
        if before is _ABSENT:
            super().__delitem__(key)
        else:
            super().__setitem__(key, before)

    def begin(self, key: K, value: V) -> None:
        """An entry of something that is new, and has it from its beginning: going back does not take that away."""
        super().__setitem__(key, value)

    def pop(self, key: K, default: object = None) -> Any:
        """The value, taken out."""
        if key not in self:
            return default
        value = self[key]
        del self[key]
        return value

    def setdefault(self, key: K, default: Any = None) -> Any:
        """The value that is there, or the default put there."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **named: Any) -> None:
        """Each entry by itself, so that it is noted."""
        for key, value in dict(*others, **named).items():
            self[key] = value

    def clear(self) -> None:
        """Each entry taken out."""
        for key in tuple(self):
            del self[key]

    def popitem(self) -> tuple[K, V]:
        """The newest entry, taken out."""
        key = next(reversed(self))
        return key, self.pop(key)

    def __ior__(self, other: object) -> Self:  # type: ignore[override, misc]
        self.update(other)
        return self


class KeptTable(Table[K, V]):
    """A table of which it stays known what was in it at any time: of each key what it had, and from when on."""

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
    """What a table had in it at some time, for looking up single keys; what is put in is seen here alone."""

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
        """The value that was there."""
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: Any) -> bool:
        return self.get(key, _ABSENT) is not _ABSENT

    def keys(self) -> Any:
        """The keys, to look whether one of some is among them."""
        return KeysView(self)

    def __bool__(self) -> bool:
        return bool(self.table.history)

    begin = dict.__setitem__


class Indexed(Table[K, V]):
    """A table that knows in which of its entries a variable occurs, and in which order they came."""

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
        """The entries that speak of a variable."""
        return self.in_order(self.homes.get(v, ()))


def solution_vars(v: Var, solution: Size) -> Iterable[Var]:
    """The variables as which one is written."""
    return term_vars(solution) if type(solution) is Term else ()


def literal_vars(literal: Condition, mask: int) -> Iterable[Var]:
    """The variables of a condition that is kept."""
    return cond_vars(literal)
