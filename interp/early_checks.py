"""Checks that shapes alone decide, made on a function's entry: they fail before any work, not after some.

A function is followed over its arguments' shapes, through the steps that its run-time checks depend on, in the order of the
source: through the functions that it calls, the arm that sizes choose, the turns that are certain. Values that the data
decides are unknown, and checks that depend on them are left to the run. Nothing is foreseen after an extern, which runs
before any later failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..lang.dtypes import DType
from ..ops.model import TensorInfo
from ..sizes.integers import Undefined
from ..sizes.partial import Open
from . import partial_sizes
from .by_shapes import ByShapes, KnownSlots, Routines
from .dtypes import numpy_dtype
from .engine_types import Compiled, RunValue
from .guards import Ghost
from .kernels.registry import Array
from .partial_sizes import Value
from .steps import (
    Branch,
    Compute,
    Invoke,
    LoopStep,
    Routine,
    Step,
    StepBlock,
    StepSite,
    asks,
    blocks,
    every,
    reads,
    total,
)
from .trace import Failure, Foreseen, Place, TracedTurn

# Limits: steps, turns and nested calls to follow for one shape class of arguments, and classes to remember.
_STEPS, _TURNS, _DEEP, _CLASSES = 5_000, 200, 60, 1024
# Calls of unknown code, Python's own included.
_UNSEEN = ("extern", "value", "list")


class _Stop(Exception):
    """Nothing is foreseen from here on."""


class EarlyChecks:
    """A program's routines, followed over shapes. `space` has the tensors that exist before the run."""

    def __init__(self, routines: Iterable[Routine], owners: Mapping[str, str], space: Mapping[str, RunValue]) -> None:
        self.routines = Routines(routines, space, self._matters)
        self.owners = owners
        self.checking = self._reaching(asks)
        self.unseen = self._reaching(_is_unseen)
        self._late: dict[str, bool] = {}

    def follow(self, name: str, args: Sequence[RunValue]) -> None:
        """Make the checks of a call that can be made before it; raises Foreseen if one surely fails."""
        if name in self.routines.named and self.is_late(name):
            _Following(self).enter(name, args)

    def foresee(self, name: str, args: Sequence[RunValue]) -> None:
        """Make all checks of a call that its arguments decide, with the values of rank-0 integers; raises Foreseen if one
        surely fails."""
        if name in self.routines.named:
            _Following(self).enter(name, args, seen=_with_scalars)

    def guarded(self, name: str, entry: Callable[..., Compiled]) -> Compiled:
        """Return the function with its early checks in front, made once for each class of shapes."""
        if name not in self.routines.named or not self.is_late(name):
            return entry
        passed: set[object] = set()

        def call(*args: RunValue) -> RunValue:
            key = tuple([_class_of(arg) if type(arg) is np.ndarray else _key(arg) for arg in args])
            if key not in passed:
                _Following(self).enter(name, args)
                if len(passed) >= _CLASSES:
                    passed.clear()
                passed.add(key)
            return entry(*args)

        return call

    def is_late(self, name: str) -> bool:
        """Whether a check of a routine, or of a function that it calls, comes after work."""
        if name not in self._late:
            self._late[name] = False  # for recursive calls
            self._late[name] = self._is_late(self.routines.named[name].body)
        return self._late[name]

    def _is_late(self, block: StepBlock) -> bool:
        works = False
        for step in block.steps:
            if (works or isinstance(step, LoopStep)) and any(map(self._checks, every(StepBlock((step,))))):
                return True
            called = isinstance(step, Invoke) and step.callee in self.routines.named and self.is_late(step.callee)
            if called or any(map(self._is_late, blocks(step))):
                return True
            works = works or isinstance(step, Compute | Invoke | LoopStep | Branch)
        return False

    def _checks(self, step: Step) -> bool:
        """Whether a step, or a function that it calls, checks anything."""
        if not isinstance(step, Invoke):
            return asks(step)
        callee = self.routines.named.get(step.callee)
        is_entry_check = callee is not None and step.way == "checked" and any(map(asks, callee.entry))
        return is_entry_check or step.callee in self.checking

    def _matters(self, step: Step) -> bool:
        """Whether a step checks anything or runs unknown code."""
        return self._checks(step) or _is_unseen(step) or (isinstance(step, Invoke) and step.callee in self.unseen)

    def _reaching(self, has: Callable[[Step], bool]) -> frozenset[str]:
        """The routines with such a step, and those that call one of them."""
        steps = {name: list(every(r.body)) for name, r in self.routines.named.items()}
        calls = {name: {s.callee for s in own if isinstance(s, Invoke)} for name, own in steps.items()}
        found = {name for name, own in steps.items() if any(map(has, own))}
        while more := {name for name, called in calls.items() if name not in found and not called.isdisjoint(found)}:
            found |= more
        return frozenset(found)


def _is_unseen(step: Step) -> bool:
    return isinstance(step, Invoke) and step.way in _UNSEEN


def _class_of(array: Array) -> object:
    """The shape and the dtype's number; for records, which share one number, the dtype itself."""
    dtype = array.dtype
    return array.shape, dtype if dtype.names else dtype.num


def _key(value: RunValue) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.shape, value.dtype
    if isinstance(value, tuple | list):
        return tuple(map(_key, value))
    return value if isinstance(value, int | np.dtype) else type(value)


def _with_scalars(value: RunValue) -> Value:
    is_scalar = isinstance(value, np.ndarray | np.generic) and not value.ndim
    return partial_sizes.constant(value) if is_scalar else partial_sizes.info(value)


class _Following(ByShapes):
    """One call from outside, followed over shapes until a check surely fails."""

    def __init__(self, ahead: EarlyChecks) -> None:
        super().__init__(ahead.routines)
        self.owners, self.steps = ahead.owners, _STEPS
        self.places: list[tuple[Routine, Place | None, Mapping[str, Value]]] = []
        self.turns: tuple[TracedTurn, ...] = ()

    def enter(
        self, name: str, args: Sequence[RunValue], seen: Callable[[RunValue], Value] = partial_sizes.info
    ) -> None:
        """Follow a call; raises Foreseen if a check surely fails. The entry check reports its own failures."""
        state, fits = self.routines.enter(name, tuple(map(seen, args)), wanted=False)
        try:
            if fits is not False:
                self._routine(name, state)
        except _Stop:
            return

    def _routine(self, name: str, state: KnownSlots) -> Value:
        routine = self.routines.named[name]
        self.places.append((routine, None, {p: state.get(p) for p in routine.params}))
        outside, self.turns = self.turns, ()
        if len(self.places) > _DEEP:
            raise _Stop
        result = self.run(routine.body, state)
        self.places.pop()
        self.turns = outside
        return result

    def step(self, step: Step, state: KnownSlots) -> None:
        self.steps -= id(step) in state.needed
        if self.steps < 0:
            raise _Stop
        super().step(step, state)

    def call(self, step: Invoke, args: tuple[Value, ...], state: KnownSlots) -> Value:
        if step.way in _UNSEEN or step.callee not in self.routines.named:
            raise _Stop
        self._at(step)
        inner, fits = self.routines.enter(step.callee, args, certain=state.certain)
        if fits is False and step.way == "checked" and state.certain:
            raise _Stop
        return self._routine(step.callee, inner)

    # Turns

    def loop(self, step: LoopStep, state: KnownSlots) -> None:
        """Follow the certain turns one by one; after them, if their number is unknown, keep the facts that all turns
        share."""
        start, stride, count = self._range(step, state)
        turn, goes_on = 0, state.certain and (count is not None or step.range is None)
        while goes_on and turn != count and turn < _TURNS:
            inner = state.copy()
            inner.bind(step.index, start + turn * stride)
            outside, self.turns = self.turns, (*self.turns, TracedTurn(step, turn, count, start + turn * stride, False))
            goes_on, count = self._turn(step, inner, turn, count)
            self.turns = outside
            if goes_on:
                given = {c: inner.get(f) for c, f in zip(step.carries, step.following, strict=True)}
                state.slots.update(given | {s.output: inner.get(s.output) for s in step.stacked})
                turn += 1
        if turn != count:
            return super().loop(step, state)
        for stacked in step.stacked:
            state.bind(stacked.output, _stacked(state.get(stacked.output), turn) if turn else None)
        return None

    def _turn(self, step: LoopStep, state: KnownSlots, turn: int, count: int | None) -> tuple[bool, int | None]:
        """Whether this turn surely runs, and the number of turns, if known."""
        self.block(step.cond, state)
        runs = True if step.test is None else self.decided(step.test, state)
        if runs:
            self.block(step.body, state)
        return bool(runs), count if runs else turn if runs is False else None

    def _range(self, step: LoopStep, state: KnownSlots) -> tuple[int, int, int | None]:
        """The start of a range, its step, and its number of turns; None if unknown."""
        if step.range is None:
            return 0, 1, None
        sizes = [step.range.start, step.range.step, total(step.span, step.range)]
        try:
            start, stride, count = (partial_sizes.shape_level(size, state) for size in sizes)
        except (Open, Undefined):
            return 0, 1, None
        is_known = isinstance(start, int) and isinstance(stride, int) and isinstance(count, int)
        return (start, stride, count) if is_known else (0, 1, None)

    # Failures

    def holds(self, step: Step) -> None:
        """Ignore checks that surely hold."""

    def fails(self, problem: Exception, step: Step, state: KnownSlots) -> None:
        if not state.certain or not asks(step):
            return
        self._at(step)
        known = {slot: state.get(slot) for slot in reads(step)}
        values = {slot: _shown(value) for slot, value in known.items() if value is not None}
        *callers, place = (place for _, place, _ in self.places if place is not None)
        given = tuple({p: _shown(v) for p, v in args.items() if v is not None} for _, _, args in self.places)
        raise Foreseen(Failure(problem, place, values, tuple(callers), given)) from problem

    def _at(self, step: Step) -> None:
        """Record the step at which the innermost routine stands."""
        routine, _, given = self.places[-1]
        within = isinstance(step, Invoke) and self.owners.get(step.callee) == routine.name
        site = StepSite(routine.name, step.span, step, owner=self.owners.get(routine.name), within=within)
        self.places[-1] = routine, Place(site, self.turns), given


def _shown(value: Value) -> RunValue:
    """A known value in the form that failure messages take."""
    if isinstance(value, TensorInfo):
        assert isinstance(value.dtype, DType)
        dtype, sizes = numpy_dtype(value.dtype), [size for size in value.shape if isinstance(size, int)]
        is_known = len(sizes) == len(value.shape)
        return np.broadcast_to(np.zeros((), dtype), sizes) if is_known else Ghost(value.shape, dtype)
    if isinstance(value, tuple):
        return tuple(map(_shown, value))
    return numpy_dtype(value) if isinstance(value, DType) else value


def _stacked(value: Value, count: int) -> Value:
    return TensorInfo((count, *value.shape), value.dtype) if isinstance(value, TensorInfo) else None
