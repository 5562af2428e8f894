"""What the shapes of a call decide of a function: its routine is walked once over them, for each place what is known there.

A place is a step that asks something: a check, the preconditions of a primitive, which implementation a list means, how a
function is entered, a size that is computed. The planned text of a routine takes an answer for each of its places; one that
shapes alone do not give stays a question, which the run answers as ever. So a plan never fails, and holds nothing of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, assert_never

from ..lang import core
from ..lang.node import Node
from ..ops.model import TensorInfo
from ..ops.registry import lookup
from . import partly
from .dispatch import complete
from .guards import Undefined, Violation
from .names import mangle
from .partly import Consts, Open
from .steps import (
    RESULT,
    Bind,
    Branch,
    Check,
    Closure,
    Compute,
    Invoke,
    Loop,
    Match,
    Output,
    Read,
    Routine,
    Stack,
    Step,
    blocks,
    every,
    outputs,
    reads,
)
from .trees import names_of

Env = dict[str, Any]
# What evaluating something may end in where it is not known, or has no value.
_OPEN = (Open, Undefined, Violation, LookupError)
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
    return tuple(s for s in _in_order(routine.body.steps) if _is_place(s, named, asking, hosted=hosted))


def _in_order(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for block in blocks(step):
            yield from _in_order(block.steps)


def _is_place(step: Step, named: Mapping[str, Routine], asking: set[str], *, hosted: bool) -> bool:
    match step:
        case Check():
            return True
        case Match(checked=checked):
            return checked
        case Compute(guard=guard):
            return guard
        case Bind(value=core.SizeOp(), output=str(output)):
            return output != RESULT
        case Invoke(callee=callee, way="checked" | "decided" | "list" as way):
            if hosted and (callee not in named or named[callee].kind != "private"):
                return False
            has_door = way == "checked" and callee in named and bool(named[callee].entry)
            return callee in asking or has_door
        case Bind() | Invoke() | Read() | Branch() | Closure() | Stack() | Loop():
            return False
        case _:
            assert_never(step)


class Planner:
    """Makes the plans of a compiled program, whose functions are in `space`. `lists` are the choices of each list."""

    def __init__(
        self, table: Table, routines: Iterable[Routine], lists: Mapping[str, tuple[str, ...]], space: Mapping[str, Any]
    ) -> None:
        self.table = table
        self.routines = {r.name: r for r in routines}
        self.lists = lists
        self.space = space
        self._consts = Consts(space)
        self._walks: dict[Any, tuple[Callable[..., Any], Any]] = {}
        self._wanted: dict[tuple[str, bool], set[int]] = {}
        self._open: set[str] = set()

    def asks(self, name: str) -> bool:
        """Whether there is anything to plan of a function."""
        return name in self.lists or name in self.table

    def entered(self, name: str, args: Sequence[object]) -> Callable[..., Any] | None:
        """What runs a function whose door lets the arguments in, or the member of a list that does; None where it is to be
        called as ever."""
        given = tuple(map(partly.info, args))
        return self._chosen(name, given, False)[0] if name in self.lists else self._walk(name, given, False)[0]

    # Routines

    def _walk(self, name: str, args: tuple[Any, ...], with_result: bool) -> tuple[Callable[..., Any], Any]:
        """What runs a function after its door, for such arguments, and what is known of its result."""
        key = name, args, with_result
        if key not in self._walks:
            if len(self._walks) >= _REMEMBERED:
                self._walks.clear()
            self._walks[key] = self._walked(name, args, with_result)
        return self._walks[key]

    def _walked(self, name: str, args: tuple[Any, ...], with_result: bool) -> tuple[Callable[..., Any], Any]:
        routine, found = self.routines[name], self.table.get(name)
        general = self.space[("f_" if routine.kind == "private" else "b_") + mangle(name)]
        if name in self._open or (found is None and not with_result):
            return general, None
        self._open.add(name)
        env = dict(zip(routine.params, args, strict=True))
        self._steps(routine.entry, env, {}, None)
        answers: dict[int, Any] = {}
        self._steps(routine.body.steps, env, answers, self._slice(routine, with_result))
        self._open.discard(name)
        run = general
        if found is not None:
            plan = tuple(answers.get(id(s), self._question(s)) for s in found.places)
            run = partial(self.space["g_" + mangle(name)], plan)
        return run, env.get(RESULT)

    def _question(self, step: Step) -> Any:
        """What stands at a place that has no answer: it is asked."""
        if isinstance(step, Invoke):
            return self.space[("b_" if step.way == "decided" else "f_") + mangle(step.callee)]
        return None if isinstance(step, Bind) else True

    def _all(self, env: Env) -> Mapping[str, Any]:
        """What is known, the consts included."""
        self._consts.env = env
        return self._consts

    def _holds(self, cond: core.BoolExpr, env: Env) -> bool | None:
        """Whether a condition holds; None where that is not known, or it has no value."""
        try:
            return partly.truth(cond, self._all(env))
        except Undefined:
            return None

    def _fits(self, name: str, args: Sequence[Any]) -> bool | None:
        """Whether the door lets such arguments in; None where shapes do not say."""
        routine = self.routines[name]
        if routine.wrapped or routine.kind == "extern":
            return None
        answers: dict[int, Any] = {}
        env = dict(zip(routine.params, args, strict=True))
        for step in routine.entry:
            self._steps((step,), env, answers, None)
            if isinstance(step, Check) and id(step) not in answers:
                return False if self._holds(step.cond, env) is False else None
            if isinstance(step, Match) and step.checked and id(step) not in answers:
                return None
        return True

    def _slice(self, routine: Routine, with_result: bool) -> set[int]:
        """The steps whose values a place depends on, or the result."""
        key = routine.name, with_result
        if key not in self._wanted:
            found = self.table.get(routine.name)
            places = {id(s) for s in found.places} if found is not None else set()
            needed = {RESULT} if with_result else set()
            wanted: set[int] = set()
            for step in reversed(list(_in_order(routine.body.steps))):
                inside = any(id(s) in wanted for b in blocks(step) for s in every(b))
                if id(step) in places or inside or not needed.isdisjoint(outputs(step)):
                    wanted.add(id(step))
                    needed |= names_of(step.cond) if isinstance(step, Check) else reads(step)
            self._wanted[key] = wanted
        return self._wanted[key]

    # Steps

    def _steps(self, steps: Iterable[Step], env: Env, answers: dict[int, Any], wanted: set[int] | None) -> None:
        for step in steps:
            if wanted is None or id(step) in wanted:
                try:
                    self._step(step, env, answers, wanted)
                except _OPEN:
                    continue  # what it binds is not known

    def _step(self, step: Step, env: Env, answers: dict[int, Any], wanted: set[int] | None) -> None:
        match step:
            case Check(cond=cond):
                if self._holds(cond, env):
                    answers[id(step)] = False
            case Match():
                self._match(step, env)
                answers[id(step)] = False
            case Compute():
                self._compute(step, env, answers)
            case Invoke():
                self._invoke(step, env, answers)
            case Bind(value=value, output=output):
                made = self._known(value, env)
                if isinstance(made, int):
                    answers[id(step)] = made
                _put(output, made, env)
            case Read(value=value, kind=kind, output=output):
                given = self._known(value, env)
                data = given.sizes if isinstance(given, TensorInfo) else None
                env[output] = data if isinstance(data, int if kind == "size" else tuple) else None
            case Branch():
                self._branch(step, env, answers, wanted)
            case Loop():
                for slot in (*outputs(step), step.index):
                    env.pop(slot, None)
                for block in blocks(step):
                    self._steps(block.steps, env, answers, wanted)
                for slot in (*outputs(step), step.index):
                    env.pop(slot, None)

    def _compute(self, step: Compute, env: Env, answers: dict[int, Any]) -> None:
        args = [partly.argument(p, v, self._all(env)) for p, v in zip(step.row.params, step.inputs, strict=True)]
        if step.guard and partly.surely(step.row, args):
            answers[id(step)] = False
        _put(step.output, partly.primitive(step.row, args), env)

    def _known(self, v: core.Value, env: Env) -> Any:
        """What is known of an operand; of a number alone, which takes its dtype where it is used, nothing."""
        if isinstance(v, core.TupleValue | core.ListValue):
            return tuple(self._known(item, env) for item in v.items)
        return None if isinstance(v, core.Number) else partly.known(v, self._all(env))

    def _invoke(self, step: Invoke, env: Env, answers: dict[int, Any]) -> None:
        if step.way in ("value", "extern"):
            return
        args = tuple(self._known(v, env) for v in step.inputs)
        if step.way == "list":
            plain = not any(name for name, _ in step.takes) and not any(isinstance(v, core.Number) for v in step.inputs)
            run, result = self._chosen(step.callee, args, True) if plain else (None, None)
        elif step.callee not in self.routines or (step.way == "checked" and not self._fits(step.callee, args)):
            return
        else:
            run, result = self._walk(step.callee, args, True)
        if run is not None:
            answers[id(step)] = run
        _put(step.output, result, env)

    def _chosen(self, name: str, args: tuple[Any, ...], with_result: bool) -> tuple[Callable[..., Any] | None, Any]:
        """The first member of a list whose door lets such arguments in; None where that is not for shapes to say."""
        for choice in self.lists[name]:
            own = choice in self.routines
            fits = self._fits(choice, args) if own else _row_fits(choice, args)
            if fits:
                row = choice.removeprefix("prelude.")
                return self._walk(choice, args, with_result) if own else (self.space["p_" + mangle(row)], None)
            if fits is None:
                break
        return None, None

    def _branch(self, step: Branch, env: Env, answers: dict[int, Any], wanted: set[int] | None) -> None:
        cond = self._holds(step.cond, env) if isinstance(step.cond, core.BoolExpr) else None
        arms = [arm for arm, taken in ((step.then, True), (step.orelse, False)) if cond is None or cond == taken]
        results = []
        for arm in arms:
            self._steps(arm.steps, env, answers, wanted)
            results.append({slot: env.pop(slot, None) for slot in outputs(step)})
        for slot in outputs(step):
            first, *others = (found[slot] for found in results)
            env[slot] = first if all(other == first for other in others) else None

    def _match(self, step: Match, env: Env) -> None:
        """Bind what a pattern binds; raises Open where it does not fit, or that is not known."""
        tensor = partly.looked_up(self._all(env), step.tensor)
        left, dims = list(tensor.shape), list(step.dims)
        loose = next((i for i, d in enumerate(dims) if isinstance(d, core.Splice) and d.name in step.binds), len(dims))
        self._take(step, dims[:loose], left, env)
        behind: list[Any] = []
        for d in reversed(dims[loose + 1 :]):
            width = len(partly.shape_level(d, self._all(env))) if isinstance(d, core.Splice) else 1
            behind[:0] = left[len(left) - width :]
            del left[max(len(left) - width, 0) :]
        self._take(step, dims[loose + 1 :], behind, env)
        if loose < len(dims):
            splice = dims[loose]
            assert isinstance(splice, core.Splice)
            env[splice.name] = tuple(left)
        elif left:
            raise Open

    def _take(self, step: Match, dims: Sequence[core.SizeExpr | core.Splice], sizes: list[Any], env: Env) -> None:
        """Match dimensions with sizes, from the left, which are taken away."""
        for d in dims:
            if isinstance(d, core.SizeVar) and d.name in step.binds:
                env[d.name], wanted = (sizes or (None,))[0], None
            else:
                wanted = partly.shape_level(d, self._all(env))
            width = len(wanted) if isinstance(d, core.Splice) and wanted is not None else 1
            found = tuple(sizes[:width])
            if len(found) != width or (
                wanted is not None and found != (wanted if isinstance(d, core.Splice) else (wanted,))
            ):
                raise Open
            del sizes[:width]


def _put(output: Output, value: Any, env: Env) -> None:
    if isinstance(output, str):
        env[output] = value
    else:
        parts = value if isinstance(value, tuple) and len(value) == len(output) else (None,) * len(output)
        env.update(zip(output, parts, strict=True))


def _row_fits(name: str, args: Sequence[Any]) -> bool | None:
    """Whether a primitive takes such arguments; None where shapes do not say."""
    row = lookup(name.removeprefix("prelude."))
    if row is None or None in args:
        return None
    try:
        whole = complete(row, args, {})
        partly.primitive(row, whole)
    except (Violation, TypeError):
        return False
    except Open:
        return None
    return partly.surely(row, whole) or None


__all__ = ["Planned", "Planner", "planned"]
