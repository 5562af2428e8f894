"""The decisions that the shapes of a call make in a function: its routine is followed once over them.

A place is a step that asks something: a check, the preconditions of a primitive, which implementation a list means, how a
function is entered, a size that is computed. The planned text of a routine takes an answer for each of its places; one that
shapes alone do not give stays a question, which the run answers as ever. So a plan never fails, and holds nothing of the data.
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
# What a place is told: whether it still has to ask, a size, or what to call.
Answer = bool | int | Run | None
# So many walks over routines are remembered.
_REMEMBERED = 1024


class Planned(Node):
    """A routine that has places, in the order in which its planned text takes their answers."""

    routine: Routine
    places: tuple[Step, ...]


Table = Mapping[str, Planned]


def planned(routines: Iterable[Routine], lists: Iterable[str], *, hosted: bool) -> Table:
    """The routines that have something to ask; to compute a size is as cheap as to look it up, and no reason by itself.
    Where calls are `hosted`, those of named functions have plans of their own."""
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
        """Whether there is anything to plan of a function."""
        return name in self.lists or name in self.table

    def entered(self, name: str, args: Sequence[object]) -> Run | None:
        """What runs a function whose entry check lets the arguments in, or the member of a list that does; None where it is to
        be called as ever."""
        given = tuple(map(partial_sizes.info, args))
        return (self.chosen if name in self.lists else self.walk)(name, given, wanted=False)[0]

    def walk(self, name: str, args: tuple[Value, ...], *, wanted: bool) -> tuple[Run, Value]:
        """What runs a function after its entry check, for such arguments, and where it is `wanted` what is known of its
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
        """What stands at a place that has no answer: it is asked."""
        if isinstance(step, Invoke):
            run: Run = self.space[("b_" if step.way == "decided" else "f_") + mangle(step.callee)]
            return run
        return None if isinstance(step, Bind) else True

    def fits(self, name: str, args: Sequence[Value]) -> bool | None:
        """Whether a function's entry check, or a primitive, takes such arguments; None where shapes do not say."""
        routine = self.routines.named.get(name)
        if routine is None:
            return _row_fits(name, args)
        return None if routine.wrapped or routine.kind == "extern" else self.routines.enter(name, args)[1]

    def chosen(self, name: str, args: tuple[Value, ...], *, wanted: bool) -> tuple[Run | None, Value]:
        """The first member of a list that takes such arguments; None where that is not for shapes to say."""
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
    """One routine, followed for the answers of its places."""

    def __init__(self, planner: Planner) -> None:
        super().__init__(planner.routines)
        self.planner = planner
        self.answers: dict[int, Answer] = {}

    def holds(self, step: Step) -> None:
        self.answers[id(step)] = False

    def fails(self, problem: Exception, step: Step, state: KnownSlots) -> None:
        """The run says so itself."""

    def put(self, step: Compute | Invoke | Bind | ReadSizes | Branch, value: Value, state: KnownSlots) -> None:
        if isinstance(step, Bind) and isinstance(value, int):
            self.answers[id(step)] = value
        super().put(step, value, state)

    def value(self, v: core.Value, state: KnownSlots) -> Value:
        """Of a number alone, which takes its dtype where it is used, nothing."""
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
        """What holds in a turn holds in all of them where it does in the last one that is looked at."""
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
