"""The checks that shapes alone decide, made at a program's door: what would fail after work fails before any.

A function is followed over the shapes that it is given, as far as a check that is left for run time depends on them, and in the
order of the source: through the functions that it calls, the arm that sizes choose, the turns that are certain. What the data
decides is unknown, and what depends on that is left to the run. Behind an extern nothing is foreseen: it comes before whatever
may fail behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, assert_never

import numpy as np

from ..lang import core
from ..lang.dtypes import DType
from ..lang.node import replace
from ..ops.model import TensorInfo
from . import partly
from .dtypes import numpy_dtype
from .guards import Failed, Ghost, Undefined, Violation
from .partly import Consts, Open, Unknown
from .steps import (
    RESULT,
    Bind,
    Block,
    Branch,
    Check,
    Closure,
    Compute,
    Invoke,
    Loop,
    Match,
    Read,
    Routine,
    Site,
    Stack,
    Step,
    blocks,
    every,
    outputs,
    reads,
    total,
)
from .trace import Failure, Foreseen, Place, Turn
from .trees import names_of

# Steps, turns and calls in each other that are followed for one shape class of arguments, and classes that are remembered.
_STEPS, _TURNS, _DEEP, _CLASSES = 5_000, 200, 60, 1024

Env = dict[str, Any]


class _Stop(Exception):
    """From here on nothing is foreseen."""


class Ahead:
    """A program's routines, which are followed over shapes. `space` has the tensors that are there before anything runs."""

    def __init__(self, routines: Iterable[Routine], owners: Mapping[str, str], space: Mapping[str, Any]) -> None:
        self.routines = {r.name: r for r in routines}
        self.owners = owners
        self.space = space
        self.checking = self._reaching(_is_check)
        self.unseen = self._reaching(lambda step: isinstance(step, Invoke) and step.way in _UNSEEN)
        self._needed: dict[tuple[int, frozenset[str]], frozenset[int]] = {}
        self._late: dict[str, bool] = {}

    def follow(self, name: str, args: Sequence[Any]) -> None:
        """Make what checks of a call can be made before it; raises Foreseen where one surely fails."""
        if name in self.routines and self.is_late(name):
            _Following(self).enter(self.routines[name], args)

    def guarded(self, name: str, entry: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which makes what checks it can before it begins, once for each class of shapes."""
        if name not in self.routines or not self.is_late(name):
            return entry
        passed: set[Any] = set()

        def call(*args: Any) -> Any:
            key = tuple([(arg.shape, arg.dtype.num) if type(arg) is np.ndarray else _key(arg) for arg in args])
            if key not in passed:
                _Following(self).enter(self.routines[name], args)
                if len(passed) >= _CLASSES:
                    passed.clear()
                passed.add(key)
            return entry(*args)

        return call

    def is_late(self, name: str) -> bool:
        """Whether a check of a routine, or of what it calls, stands behind work."""
        if name not in self._late:
            self._late[name] = False  # for a call of itself
            self._late[name] = self._is_late(self.routines[name].body)
        return self._late[name]

    def _is_late(self, block: Block) -> bool:
        works = False
        for step in block.steps:
            if self._checks(step) and (works or isinstance(step, Loop)):
                return True
            called = isinstance(step, Invoke) and step.callee in self.routines and self.is_late(step.callee)
            if called or any(map(self._is_late, blocks(step))):
                return True
            works = works or isinstance(step, Compute | Invoke | Loop | Branch)
        return False

    def _checks(self, step: Step) -> bool:
        """Whether anything is checked in a step, or in what it calls."""
        match step:
            case Check():
                return True
            case Match(checked=checked) | Stack(checked=checked):
                return checked
            case Compute(guard=guard):
                return guard
            case Branch() | Loop():
                return any(self._checks(s) for block in blocks(step) for s in block.steps)
            case Invoke(callee=callee, way=way):
                entry = self.routines[callee].entry if way == "checked" and callee in self.routines else ()
                return callee in self.checking or any(map(self._checks, entry))
            case Bind() | Read() | Closure():
                return False
            case _:
                assert_never(step)

    def ends(self, step: Step) -> bool:
        """Whether a step, or what it calls, runs code that nobody sees into."""
        if isinstance(step, Invoke):
            return step.way in _UNSEEN or step.callee in self.unseen
        return any(self.ends(s) for block in blocks(step) for s in block.steps)

    def _reaching(self, has: Callable[[Step], bool]) -> frozenset[str]:
        """The routines with such a step, and those that call one of them."""
        steps = {name: list(every(r.body)) for name, r in self.routines.items()}
        calls = {name: {s.callee for s in own if isinstance(s, Invoke)} for name, own in steps.items()}
        found = {name for name, own in steps.items() if any(map(has, own))}
        while more := {name for name, called in calls.items() if name not in found and not called.isdisjoint(found)}:
            found |= more
        return frozenset(found)

    def needed(self, block: Block, wanted: frozenset[str]) -> frozenset[int]:
        """The steps of a block, by identity, that its checks and the slots that are wanted depend on."""
        key = id(block), wanted
        if key not in self._needed:
            found: set[int] = set()
            slots = set(wanted)
            for step in reversed(block.steps):
                given = (step.output,) if isinstance(step, Stack) else outputs(step)
                if not slots.isdisjoint(given) or self._checks(step) or self.ends(step):
                    found.add(id(step))
                    slots |= {slot for inner in every(Block((step,))) for slot in reads(inner)}
            self._needed[key] = frozenset(found)
        return self._needed[key]


# Calls of what may be anything: Python's own code among it.
_UNSEEN = ("extern", "value", "list")


def _is_check(step: Step) -> bool:
    return isinstance(step, Check) or (
        step.guard if isinstance(step, Compute) else isinstance(step, Match | Stack) and step.checked
    )


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.shape, value.dtype
    if isinstance(value, tuple | list):
        return tuple(map(_key, value))
    return value if isinstance(value, int | np.dtype) else type(value)


class _Following:
    """One call from outside, followed over shapes."""

    def __init__(self, ahead: Ahead) -> None:
        self.ahead = ahead
        self.consts = Consts(ahead.space)
        self.steps = _STEPS
        self.places: list[tuple[Routine, Place | None, Mapping[str, Any]]] = []
        self.turns: tuple[Turn, ...] = ()

    def enter(self, routine: Routine, args: Sequence[Any]) -> None:
        """Raises Foreseen where a check surely fails. What the door itself refuses it says itself."""
        env: Env = dict(zip(routine.params, map(partly.info, args), strict=True))
        try:
            try:
                self._believe(routine.entry, env, checked=True)
            except (Failed, Undefined):
                return
            self._routine(routine, env, wanted=False)
        except _Stop:
            return

    # Routines

    def _believe(self, entry: Sequence[Step], env: Env, *, checked: bool) -> None:
        """What a door binds; with `checked` its checks are made."""
        for step in entry:
            if isinstance(step, Match):
                self._match(step, env, checked=checked)
            elif isinstance(step, Bind):
                self._bind(step.output, self._value(step.value, env), env)
            elif isinstance(step, Check) and checked and partly.truth(step.cond, self._all(env)) is False:
                raise Failed

    def _routine(self, routine: Routine, env: Env, *, wanted: bool, certain: bool = True) -> Any:
        self.places.append((routine, None, {p: env.get(p) for p in routine.params}))
        outside, self.turns = self.turns, ()
        if len(self.places) > _DEEP:
            raise _Stop
        self._block(routine.body, env, {RESULT} if wanted else (), certain=certain)
        self.places.pop()
        self.turns = outside
        return env.get(RESULT)

    def _block(self, block: Block, env: Env, wanted: Iterable[str], *, certain: bool) -> None:
        needed = self.ahead.needed(block, frozenset(wanted))
        for step in block.steps:
            if id(step) in needed:
                self.steps -= 1
                if self.steps < 0:
                    raise _Stop
                self._step(step, env, certain)

    def _all(self, env: Env) -> Mapping[str, Any]:
        """What is known, the consts included."""
        self.consts.env = env
        return self.consts

    # Steps

    def _step(self, step: Step, env: Env, certain: bool) -> None:
        match step:
            case Compute():
                self._bind(step.output, self._compute(step, env, certain), env)
            case Invoke():
                self._bind(step.output, self._invoke(step, env, certain), env)
            case Bind(value=value):
                self._bind(step.output, self._value(value, env), env)
            case Read(value=value):
                given = self._value(value, env)
                self._bind(step.output, given.sizes if isinstance(given, TensorInfo) else None, env)
            case Check(cond=cond):
                if certain:
                    self._check(step, cond, env)
            case Match():
                try:
                    self._match(step, env, checked=step.checked and certain)
                except (Failed, Undefined) as problem:
                    if step.checked and certain:
                        self._fail(problem, step, env)
            case Branch():
                self._branch(step, env, certain)
            case Loop():
                self._loop(step, env, certain)
            case Closure():
                env[step.output] = step
            case Stack():
                env[step.output] = env.get(step.value)
            case _:
                assert_never(step)

    def _value(self, v: core.Value, env: Env) -> Any:
        return partly.known(v, self._all(env))

    def _bind(self, output: str | tuple[str, ...], value: Any, env: Env) -> None:
        if isinstance(output, str):
            env[output] = value
            return
        parts = value if isinstance(value, tuple) and len(value) == len(output) else (None,) * len(output)
        env.update(zip(output, parts, strict=True))

    def _compute(self, step: Compute, env: Env, certain: bool) -> Any:
        known = self._all(env)
        try:
            args = [partly.argument(p, v, known) for p, v in zip(step.row.params, step.inputs, strict=True)]
            return partly.primitive(step.row, args)
        except (Open, Undefined):
            return None
        except Violation as problem:
            if step.guard and certain:
                self._fail(problem, step, env)
            return None

    def _check(self, step: Check, cond: core.BoolExpr, env: Env) -> None:
        try:
            if partly.truth(cond, self._all(env)) is False:
                self._fail(Failed(), step, env)
        except Undefined as problem:
            self._fail(problem, step, env)

    def _match(self, step: Match, env: Env, *, checked: bool) -> None:
        """Bind the names of a pattern; raises Failed where the shape surely does not fit."""
        tensor, known = self._all(env).get(step.tensor), self._all(env)
        new = [isinstance(d, core.SizeVar | core.Splice) and d.name in step.binds for d in step.dims]
        whole = [
            known.get(d.name) if isinstance(d, core.Splice) and not n else ()
            for d, n in zip(step.dims, new, strict=True)
        ]
        if not isinstance(tensor, TensorInfo) or None in whole:
            return
        loose = [n and isinstance(d, core.Splice) for d, n in zip(step.dims, new, strict=True)]
        widths = [len(w or ()) if isinstance(d, core.Splice) else 1 for d, w in zip(step.dims, whole, strict=True)]
        left = len(tensor.shape) - sum(widths)
        if left < 0 or (left and True not in loose):
            if checked:
                raise Failed
            return
        ends = list(accumulate(left if is_loose else width for is_loose, width in zip(loose, widths, strict=True)))
        sizes = [tensor.shape[end - (left if o else w) : end] for end, o, w in zip(ends, loose, widths, strict=True)]
        for dim, is_new, found in zip(step.dims, new, sizes, strict=True):
            if is_new and isinstance(dim, core.SizeVar | core.Splice):
                env[dim.name] = found if isinstance(dim, core.Splice) else found[0]
        for dim, is_new, found in zip(step.dims, new, sizes, strict=True):
            if checked and not is_new and self._differs(dim, found, env):
                raise Failed

    def _differs(self, dim: core.SizeExpr | core.Splice, found: tuple[Any, ...], env: Env) -> bool:
        try:
            wanted = partly.shape_level(dim, self._all(env))
        except Open:
            return False
        return partly.compare("==", found, wanted if isinstance(dim, core.Splice) else (wanted,)) is False

    # Calls

    def _invoke(self, step: Invoke, env: Env, certain: bool) -> Any:
        target = self._all(env).get(step.callee) if step.way == "value" else None
        given = tuple(self._value(v, env) for v in step.inputs)
        if isinstance(target, Closure):
            return self._close_over(target, given, env)
        if isinstance(target, core.FnRef) and target.name in self.ahead.routines:
            step = replace(step, callee=target.name, way="checked")
        if step.way in _UNSEEN:
            raise _Stop
        routine = self.ahead.routines[step.callee]
        inner: Env = dict(zip(routine.params, given, strict=True))
        self._at(step)
        try:
            self._believe(routine.entry, inner, checked=step.way == "checked" and certain)
        except (Failed, Undefined):
            raise _Stop from None
        return self._routine(routine, inner, wanted=True, certain=certain)

    def _close_over(self, target: Closure, given: Sequence[Any], env: Env) -> Any:
        if any(map(self.ahead.ends, target.body.steps)):
            raise _Stop
        inner = {**env, **dict(zip(target.params, given, strict=True))}
        self._block(target.body, inner, (RESULT,), certain=False)
        return inner.get(RESULT)

    # Arms and turns

    def _branch(self, step: Branch, env: Env, certain: bool) -> None:
        chosen, given = self._decided(step.cond, env), outputs(step)
        if chosen is not None:
            return self._block(step.then if chosen else step.orelse, env, given, certain=certain)
        if self.ahead.ends(step):
            raise _Stop
        ends = []
        for block in blocks(step):
            inner = dict(env)
            self._block(block, inner, given, certain=False)
            ends.append(inner)
        for slot in given:
            env[slot] = _joined(ends[0].get(slot), ends[1].get(slot))
        return None

    def _decided(self, cond: core.BoolExpr | core.Value, env: Env) -> bool | None:
        if isinstance(cond, core.BoolExpr):
            try:
                return partly.truth(cond, self._all(env))
            except Undefined:
                return None
        value = self._value(cond, env)
        data = value.sizes if isinstance(value, TensorInfo) else value
        return bool(data) if isinstance(data, int) else None

    def _loop(self, step: Loop, env: Env, certain: bool) -> None:
        """Turns that are certain, one by one; behind them, where it is not known how many there are, what all turns keep."""
        start, stride, count = self._range(step, env)
        turn, goes_on = 0, certain and (count is not None or step.range is None)
        while goes_on and turn != count and turn < _TURNS:
            inner = {**env, step.index: start + turn * stride}
            outside, self.turns = self.turns, (*self.turns, Turn(step, turn, count, inner[step.index], False))
            goes_on, count = self._turn(step, inner, turn, count)
            self.turns = outside
            if goes_on:
                env.update(zip(step.carries, map(inner.get, step.following), strict=True))
                env.update((s.output, inner.get(s.output)) for s in step.stacked)
                turn += 1
        if turn != count:
            self._any_turns(step, env)
        for stacked in step.stacked:
            env[stacked.output] = _stacked(env.get(stacked.output), turn) if turn == count and turn else None

    def _turn(self, step: Loop, inner: Env, turn: int, count: int | None) -> tuple[bool, int | None]:
        """Whether there surely is such a turn, and how many there are, if that is known."""
        self._block(step.cond, inner, names_of(step.test), certain=True)
        runs = True if step.test is None else self._decided(step.test, inner)
        if runs:
            self._block(step.body, inner, _given(step), certain=True)
        return bool(runs), count if runs else turn if runs is False else None

    def _range(self, step: Loop, env: Env) -> tuple[int, int, int | None]:
        """Where a range begins, its step, and how many turns there are; None where that is not known."""
        if step.range is None:
            return 0, 1, None
        try:
            sizes = [partly.shape_level(s, self._all(env)) for s in (step.range.start, step.range.step)]
            count = partly.shape_level(total(step.span, step.range), self._all(env))
        except (Open, Undefined):
            return 0, 1, None
        if not all(isinstance(size, int) for size in (*sizes, count)):
            return 0, 1, None
        return sizes[0], sizes[1], count

    def _any_turns(self, step: Loop, env: Env) -> None:
        """What the carries are after any number of turns: what no turn changes, and nothing else."""
        if self.ahead.ends(step):
            raise _Stop
        own: list[Unknown] = []
        for _ in range(2 * len(step.carries) + 1):
            inner = {**env, step.index: Unknown()}
            self._block(step.cond, inner, names_of(step.test), certain=False)
            self._block(step.body, inner, _given(step), certain=False)
            joined = [_joined(env.get(c), inner.get(f), own) for c, f in zip(step.carries, step.following, strict=True)]
            if joined == [env.get(c) for c in step.carries]:
                return
            env.update(zip(step.carries, joined, strict=True))
        env.update(dict.fromkeys(step.carries))

    # Failures

    def _at(self, step: Step) -> None:
        """The step that the innermost routine stands at."""
        routine, _, given = self.places[-1]
        owners = self.ahead.owners
        within = isinstance(step, Invoke) and owners.get(step.callee) == routine.name
        site = Site(routine.name, step.span, step, owner=owners.get(routine.name), within=within)
        self.places[-1] = routine, Place(site, self.turns), given

    def _fail(self, problem: Exception, step: Step, env: Env) -> None:
        self._at(step)
        known = self._all(env)
        values = {slot: _shown(known.get(slot)) for slot in reads(step) if known.get(slot) is not None}
        *callers, place = (place for _, place, _ in self.places if place is not None)
        given = tuple({p: _shown(v) for p, v in args.items() if v is not None} for _, _, args in self.places)
        raise Foreseen(Failure(problem, place, values, tuple(callers), given)) from problem


def _shown(value: Any) -> Any:
    """What is known of a value, as those take it who say what was given."""
    if isinstance(value, TensorInfo):
        assert isinstance(value.dtype, DType)
        dtype, sizes = numpy_dtype(value.dtype), [size for size in value.shape if isinstance(size, int)]
        is_known = len(sizes) == len(value.shape)
        return np.broadcast_to(np.zeros((), dtype), sizes) if is_known else Ghost(value.shape, dtype)
    if isinstance(value, tuple):
        return tuple(map(_shown, value))
    return numpy_dtype(value) if isinstance(value, DType) else value


def _given(step: Loop) -> tuple[str, ...]:
    """What a turn gives."""
    return (*step.following, *(stacked.output for stacked in step.stacked))


def _joined(a: Any, b: Any, own: list[Unknown] | None = None) -> Any:
    """What two values have in common. A size that is in `own` stands for whatever a turn begins with."""
    own = [] if own is None else own
    if isinstance(a, TensorInfo) and isinstance(b, TensorInfo):
        if len(a.shape) != len(b.shape) or a.dtype != b.dtype:
            return None
        return TensorInfo(_joined(a.shape, b.shape, own), a.dtype, a.data if a.data == b.data else None)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_joined(x, y, own) for x, y in zip(a, b, strict=True))
    if isinstance(a, Unknown) and (a is b or a in own):
        return a
    if type(a) is type(b) and a == b:
        return a
    if isinstance(a, int | Unknown) and isinstance(b, int | Unknown) and not isinstance(a, bool):
        own.append(Unknown())
        return own[-1]
    return None


def _stacked(value: Any, count: int) -> Any:
    return TensorInfo((count, *value.shape), value.dtype) if isinstance(value, TensorInfo) else None
