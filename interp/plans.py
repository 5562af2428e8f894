"""The plans of a function, one for each class of shapes, dtypes and sizes on entry; the least recently used are dropped.

A plan is looked up without a lock: threads may share dictionaries and C counters. One lock guards the making, dropping and
reporting of plans.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from threading import RLock

import numpy as np

from ..lang import core
from .engine_types import Compiled, RunValue
from .guards import describe

# The log of changes of shapes.
LOG = logging.getLogger("rxlang")
# The number of plans to keep for a function.
KEPT = 64

# A function that runs a class of calls, and one that returns the planned function for its shapes, if there is one.
Made = tuple[Compiled, Callable[[Sequence[RunValue]], Compiled | None]]
Make = Callable[[Sequence[RunValue], bool], Made | None]


class Plan:
    """A function that runs calls of one shape class, which `parts` describe, one for each argument. Its answers are computed
    at the second call of the class: for shapes that come once they do not pay. `stamp` is its last use, counted in changes of
    shapes."""

    __slots__ = ("_looks", "number", "parts", "run", "stamp", "taken")

    def __init__(self, number: int, parts: tuple[str, ...], made: Made) -> None:
        self.number, self.parts = number, parts
        self.run: Compiled = partial(self._second, *made)
        self.stamp = 0
        self.taken = count()
        self._looks = 0

    def _second(self, first: Compiled, refine: Callable[[Sequence[RunValue]], RunValue], *args: RunValue) -> RunValue:
        """Run the second call of the class."""
        self.run = refine(args) or first
        return self.run(*args)

    def uses(self) -> int:
        """How often the plan was used again; ask under the lock, since reading the counter advances it."""
        self._looks += 1
        return next(self.taken) - self._looks + 1


class PlanCounts(dict[str, int]):
    """Shape classes with how often the plan of each was used again. `made` and `used` include dropped plans."""

    def __init__(self, kept: Mapping[str, int], made: int, used: int) -> None:
        super().__init__(kept)
        self.made, self.used = made, used


class Plans:
    """The plans of one function; `make` returns a function that runs a class of arguments, or None if its entry check refuses
    them (a `decided` call has passed it)."""

    def __init__(self, function: core.Function, make: Make) -> None:
        self.name = function.name
        self.params = tuple(p.name for p in function.params)
        self.table: dict[object, Plan] = {}
        self.last: Plan | None = None
        self._clock = count(1)
        self._make, self._made, self._gone = make, 0, 0
        self._lock = RLock()  # a log handler may ask for the counts

    def find(self, args: Sequence[RunValue], *, decided: bool = False) -> Compiled | None:
        """Return a function that runs a call with converted arguments; None if there is no plan, and the call is made as
        usual."""
        try:
            key = shape_class(args)
        except TypeError:  # a function is among them
            return None
        plan = self.table.get(key)
        if plan is None:
            return self._new(key, args, decided)
        next(plan.taken)
        if plan is not self.last:
            self.changed(plan, "used again")
        return plan.run

    def _new(self, key: object, args: Sequence[RunValue], decided: bool) -> Compiled | None:
        made = self._make(args, decided)
        if made is None:
            return None
        with self._lock:
            plan = self.table.get(key)
            if plan is None:
                self._kept(key, Plan(self._made + 1, tuple(map(_part, self.params, args)), made))
            else:  # another thread was faster
                next(plan.taken)
        return made[0]

    def _kept(self, key: object, plan: Plan) -> None:
        self._made += 1
        if len(self.table) >= KEPT:
            oldest = min(self.table, key=lambda k: self.table[k].stamp)
            self._gone += self.table.pop(oldest).uses()
        self.table[key] = plan
        self.changed(plan, "made")

    def changed(self, plan: Plan, how: str) -> None:
        """Record that the shapes differ from the previous call's: only then the order of use changes."""
        before, self.last = self.last, plan
        plan.stamp = next(self._clock)
        if LOG.isEnabledFor(logging.INFO):
            same = before.parts if before is not None else ()
            told = [part for i, part in enumerate(plan.parts) if part not in same[i : i + 1]]
            LOG.info("@%s: %s: plan %d %s", self.name, ", ".join(told) or "no arguments", plan.number, how)

    def counts(self) -> PlanCounts:
        with self._lock:
            kept = {", ".join(plan.parts): plan.uses() for plan in self.table.values()}
            return PlanCounts(kept, self._made, self._gone + sum(kept.values()))


def _part(param: str, value: RunValue) -> str:
    return f"{param} {':' if isinstance(value, np.ndarray | np.generic) else '='} {_shown(value)}"


def _shown(value: RunValue) -> str:
    """A tensor's type, or any other value itself."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return str(value).lower() if isinstance(value, int | float | np.dtype) else describe(value)


# Shape classes


def shape_class(args: Sequence[RunValue]) -> tuple[object, ...]:
    """Shapes and dtypes of tensors, other values themselves; TypeError for a function."""
    return tuple(part for arg in args for part in _class_of(arg))


def _class_of(value: RunValue) -> tuple[object, ...]:
    if isinstance(value, np.ndarray | np.generic):
        return np.ndarray, value.shape, value.dtype
    if isinstance(value, tuple):
        return tuple, len(value), *shape_class(value)
    if isinstance(value, int | float | np.dtype):
        return type(value), value
    raise TypeError(f"{type(value).__name__} has no shape")


def quick_class(sorts: Sequence[core.Sort]) -> Callable[..., tuple[object, ...]]:
    """The same for unconverted arguments that are tensors, sizes and tuples of them. Anything but plain arrays, ints and
    tuples raises, or is of a class that no plan has."""
    names = [f"a{i}" for i in range(len(sorts))]
    texts = [text for name, sort in zip(names, sorts, strict=True) for text in _texts(name, sort)]
    made: Callable[..., tuple[object, ...]] = eval(
        f"lambda {', '.join(names)}: ({', '.join(texts)}{',' if texts else ''})"
    )
    return made


def _texts(name: str, sort: core.Sort) -> list[str]:
    if isinstance(sort, core.TupleSort):
        inside = [text for i, s in enumerate(sort.items) for text in _texts(f"{name}[{i}]", s)]
        return [f"type({name})", f"len({name})", *inside]
    if sort == core.TENSOR:
        return [f"type({name})", f"{name}.shape", f"{name}.dtype"]
    return [f"type({name})", name]
