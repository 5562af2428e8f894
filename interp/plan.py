"""The decisions of a function that the shapes of a call make: its routine is followed once over them.

A place is a step that asks something: a check, the preconditions of a primitive, the choice of an implementation in a list,
the entry of a function, a computed size. The planned text of a routine takes an answer for each of its places; a question
that shapes alone do not answer stays open, and the run answers it. So a plan never fails, and contains nothing of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from ..lang import core
from ..lang.node import Node
from ..ops.registry import lookup
from ..sizes.partial import Open
from . import partial_sizes
from .by_shapes import ByShapes, KnownSlots, Routines
from .dispatch import complete
from .engine_types import Compiled, RunValue
from .guards import Violation
from .names import mangle
from .partial_sizes import Value
from .steps import RESULT, Bind, Branch, Compute, Invoke, LoopStep, ReadSizes, Routine, Stack, Step, asks, blocks, every

Run = Compiled
# The answer for a place: whether it still has to ask, a size, or a function to call.
Answer = bool | int | Run | None
# The number of walks over routines to remember.
_REMEMBERED = 1024


class Planned(Node):
    """A routine with places, in the order in which its planned text takes their answers."""

    routine: Routine
    places: tuple[Step, ...]


Table = Mapping[str, Planned]


def planned(routines: Iterable[Routine], lists: Iterable[str], *, hosted: bool) -> Table:
    """The routines that have questions. A size to compute is no reason by itself: to look it up is no cheaper. If calls are
    `hosted`, those of named functions have their own plans."""
    named = {r.name: r for r in routines if r.kind in ("private", "inline")}
    asking = set(lists) if not hosted else set()
    while True:
        found = {n: _places(r, named, asking, hosted=hosted) for n, r in named.items()}
        now = asking | {n for n, places in found.items() if not all(isinstance(s, Bind) for s in places)}
        if now == asking:
            return {n: Planned(named[n], found[n]) for n in named if n in asking}
        asking = now


def _places(routine: Routine, named: Mapping[str, Routine], asking: set[str], *, hosted: bool) -> tuple[Step, ...]:
    return tuple(s for s in every(routine.body) if _is_place(s, named, asking, hosted=hosted))


def _is_place(step: Step, named: Mapping[str, Routine], asking: set[str], *, hosted: bool) -> bool:
    if isinstance(step, Bind):
        return core.sides(step.value) is not None and isinstance(step.output, str) and step.output != RESULT
    if not isinstance(step, Invoke):
        return asks(step) and not isinstance(step, Stack)
    callee = named.get(step.callee)
    if step.way not in ("checked", "decided", "list") or (hosted and (callee is None or callee.kind != "private")):
        return False
    has_entry_check = step.way == "checked" and callee is not None and bool(callee.entry)
    return step.callee in asking or has_entry_check


class Planner:
    """Makes the plans of a compiled program, whose functions are in `space`. `lists` are the choices of each list."""

    def __init__(
        self,
        table: Table,
        routines: Iterable[Routine],
        lists: Mapping[str, tuple[str, ...]],
        space: Mapping[str, RunValue],
    ) -> None:
        self.table, self.lists, self.space = table, lists, space
        places = {id(step) for found in table.values() for step in found.places}
        self.routines = Routines(routines, space, lambda step: id(step) in places)
        self._walks: dict[tuple[str, tuple[Value, ...], bool], tuple[Run, Value]] = {}
        self._open: set[str] = set()

    def asks(self, name: str) -> bool:
        """Whether a function has anything to plan."""
        return name in self.lists or name in self.table

    def entered(self, name: str, args: Sequence[object]) -> Run | None:
        """Return the planned function, or list member, whose entry check accepts the arguments; None to call it as usual."""
        given = tuple(map(partial_sizes.info, args))
        return (self.chosen if name in self.lists else self.walk)(name, given, wanted=False)[0]

    def walk(self, name: str, args: tuple[Value, ...], *, wanted: bool) -> tuple[Run, Value]:
        """Return a function planned for such arguments, without its entry check, and, if `wanted`, the facts about its
        result."""
        key = name, args, wanted
        if key not in self._walks:
            if len(self._walks) >= _REMEMBERED:
                self._walks.clear()
            self._walks[key] = self._walked(name, args, wanted)
        return self._walks[key]

    def _walked(self, name: str, args: tuple[Value, ...], wanted: bool) -> tuple[Run, Value]:
        routine, found = self.routines.named[name], self.table.get(name)
        general = self.space[("f_" if routine.kind == "private" else "b_") + mangle(name)]
        if name in self._open or (found is None and not wanted):
            return general, None
        self._open.add(name)
        walk, (state, _) = _Walk(self), self.routines.enter(name, args, wanted=wanted)
        result = walk.run(routine.body, state)
        self._open.discard(name)
        if found is None:
            return general, result
        plan = tuple(walk.answers.get(id(s), self._question(s)) for s in found.places)
        return partial(self.space["g_" + mangle(name)], plan), result

    def _question(self, step: Step) -> Answer:
        """The answer for an open place: ask at run time."""
        if isinstance(step, Invoke):
            run: Run = self.space[("b_" if step.way == "decided" else "f_") + mangle(step.callee)]
            return run
        return None if isinstance(step, Bind) else True

    def fits(self, name: str, args: Sequence[Value]) -> bool | None:
        """Whether a function's entry check, or a primitive, accepts such arguments; None if shapes do not decide."""
        routine = self.routines.named.get(name)
        if routine is None:
            return _row_fits(name, args)
        return None if routine.wrapped or routine.kind == "extern" else self.routines.enter(name, args)[1]

    def chosen(self, name: str, args: tuple[Value, ...], *, wanted: bool) -> tuple[Run | None, Value]:
        """The first member of a list that accepts such arguments, with its result; None if shapes do not decide."""
        for choice in self.lists[name]:
            fits = self.fits(choice, args)
            if fits is None:
                break
            if fits:
                own = choice in self.routines.named
                row = choice.removeprefix("prelude.")
                return self.walk(choice, args, wanted=wanted) if own else (self.space["p_" + mangle(row)], None)
        return None, None


class _Walk(ByShapes):
    """A walk over one routine for the answers of its places."""

    def __init__(self, planner: Planner) -> None:
        super().__init__(planner.routines)
        self.planner = planner
        self.answers: dict[int, Answer] = {}

    def holds(self, step: Step) -> None:
        self.answers[id(step)] = False

    def fails(self, problem: Exception, step: Step, state: KnownSlots) -> None:
        """Leave the failure to the run."""

    def put(self, step: Compute | Invoke | Bind | ReadSizes | Branch, value: Value, state: KnownSlots) -> None:
        if isinstance(step, Bind) and isinstance(value, int):
            self.answers[id(step)] = value
        super().put(step, value, state)

    def value(self, v: core.Value, state: KnownSlots) -> Value:
        """The facts about a value; None for a bare number, which takes its dtype where it is used."""
        return None if isinstance(v, core.Number) else super().value(v, state)

    def call(self, step: Invoke, args: tuple[Value, ...], state: KnownSlots) -> Value:
        run, result = self._called(step, args)
        if run is not None:
            self.answers[id(step)] = run
        return result

    def _called(self, step: Invoke, args: tuple[Value, ...]) -> tuple[Run | None, Value]:
        planner, callee = self.planner, step.callee
        if step.way == "list":
            plain = not any(name for name, _ in step.takes) and not any(isinstance(v, core.Number) for v in step.inputs)
            return planner.chosen(callee, args, wanted=True) if plain else (None, None)
        is_own = step.way in ("checked", "decided") and callee in self.routines.named
        if not is_own or (step.way == "checked" and not planner.fits(callee, args)):
            return None, None
        return planner.walk(callee, args, wanted=True)

    def turn(self, step: LoopStep, state: KnownSlots) -> None:
        """Follow a turn with new answers: those of the last turn followed hold in all turns."""
        for inner in (s for block in blocks(step) for s in every(block)):
            self.answers.pop(id(inner), None)
        super().turn(step, state)


def _row_fits(name: str, args: Sequence[Value]) -> bool | None:
    row = lookup(name.removeprefix("prelude."))
    if row is None or None in args:
        return None
    try:
        _, sure = partial_sizes.primitive(row, complete(row, args, {}))
    except (Violation, TypeError):
        return False
    except Open:
        return None
    return sure or None


__all__ = ["Planned", "Planner", "planned"]
