"""From a routine to a pair: a shape program, which computes sizes from sizes, and a data program over memory allocated by
them.

Checking knows each result's shape over its own names. Here the names get slots: the tensor whose shape has a new name
delivers it. The parameters deliver the names of the first stage of the shape program, on entry; a step of the data program
that delivers a name (the data decides it, or a turn of a loop changes it) begins another stage after that step. A size is
computed in the first stage that has its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import assert_never

from ..lang import core
from ..lang.dtypes import DType
from ..lang.node import Node, replace
from ..lang.source import NOWHERE
from ..lang.walk import rewrite, walk
from .allocation import VIEWS
from .core_uses import names_of
from .lower import lower
from .names import mangle
from .reuse import reused
from .steps import (
    RESULT,
    Bind,
    Branch,
    Closure,
    Compute,
    Invoke,
    LoopStep,
    Match,
    ReadSizes,
    Routine,
    Stack,
    Step,
    StepBlock,
    StepCheck,
    StepMemory,
    outputs,
    with_blocks,
)

Delivered = Mapping[str, core.Known]  # facts about slots


class Built(Node):
    """The shape of a value that the data program puts into a slot, before it exists: an unknown size is None, and so is a
    shape of unknown rank."""

    slot: str
    dims: tuple[core.SizeExpr | None, ...] | None
    dtype: core.DTypeExpr | None

    @property
    def is_whole(self) -> bool:
        return self.dims is not None and None not in self.dims and self.dtype is not None


class Stage(Node):
    """A part of a shape program: the tensors whose shapes it takes apart, with their ranks; the slots that it binds, in
    order; and the shapes that it builds. `after` is the step of the data program that delivers its names, None at the start
    of a list of steps; `around` are the enclosing loops and branches, outermost first."""

    matched: tuple[tuple[str, int], ...]
    sizes: tuple[tuple[str, core.SizeExpr | core.DTypeExpr], ...]
    built: tuple[Built, ...]
    after: Step | None
    around: tuple[Step, ...]

    @property
    def is_entry_check(self) -> bool:
        return self.after is None and not self.around


class Pair(Node):
    """A routine as shape program and data program. The data program has the sizes of each stage at its place. `sizes` are all
    that a stage can bind. `results` are the shapes of kernels' results by the identity of the call, `shapes` those of other
    steps' outputs, `turns` those of the carries in a turn. `promises` are checked on its result."""

    stages: tuple[Stage, ...]
    data: Routine
    sizes: Mapping[str, core.SizeExpr | core.DTypeExpr]
    results: Mapping[int, Built]
    shapes: Mapping[str, Built]
    turns: Mapping[str, Built]
    promises: tuple[StepCheck, ...] = ()


def pairs(program: core.Program) -> dict[str, Pair]:
    """The pair of each function that can be called, by its name; a wrapper has its implementation's, behind its own entry
    check. The script is `main`."""
    routines = {r.name: r for r in lower(program).routines}
    impls = {f.name: f.impl or f.name for f in program.functions if f.kind != "private"}
    found: dict[str, Pair] = {}
    for name, routine in routines.items():
        if routine.kind == "script":
            found[name] = pair(routine)
        elif name in impls and routine.kind != "extern":
            found[name] = _behind_entry_check(routine, routines.get(impls[name], routine))
    return found


def _behind_entry_check(wrapper: Routine, inner: Routine) -> Pair:
    if inner is wrapper:
        return pair(wrapper)
    promises = tuple(step for step in wrapper.body.steps if isinstance(step, StepCheck))
    known = next((wrapper.known.get(slot) for step in wrapper.body.steps for slot in outputs(step)), None)
    return replace(pair(replace(inner, name=wrapper.name, entry=wrapper.entry), known), promises=promises)


def pair(routine: Routine, result: core.Known | None = None) -> Pair:
    """Find where each size of a routine is known, and allocate by them; `result` describes its result if nothing else
    does."""
    return _Pairing(routine, result).run()


class _Stage:
    """A stage while it grows: its bindings, of which those in `used` are needed."""

    def __init__(self, after: Step | None, around: tuple[Step, ...]) -> None:
        self.after, self.around = after, around
        self.sizes: dict[str, core.SizeExpr | core.DTypeExpr] = {}
        self.built: list[Built] = []
        self.used: set[str] = set()
        self.ranks: dict[str, int] = {}
        # The slots of computed sizes.
        self.made: dict[core.SizeExpr, str] = {}

    def finished(self) -> Stage:
        sizes = tuple((slot, value) for slot, value in self.sizes.items() if slot in self.used)
        made = Stage(tuple(self.ranks.items()), sizes, tuple(self.built), self.after, self.around)
        read = names_of(*(value for _, value in sizes))
        return made if made.is_entry_check else replace(made, matched=tuple(m for m in made.matched if m[0] in read))


class _Scope:
    """The stages before a place, and the slots of the checker's names that they know."""

    def __init__(self) -> None:
        self.stages: list[_Stage] = []
        self.names: dict[str, str] = {}

    def copy(self) -> _Scope:
        copied = _Scope()
        copied.stages, copied.names = list(self.stages), dict(self.names)
        return copied


class _Pairing:
    def __init__(self, routine: Routine, result: core.Known | None) -> None:
        self.routine, self.result = routine, result
        self.known = dict(routine.known)
        self.rows = reused(routine.body)[1]
        # By list of steps and position, the stage that begins there; by Compute, its memory.
        self.stages: dict[tuple[int, int], _Stage] = {}
        self.memory: dict[int, StepMemory] = {}
        # By slot, the stage that binds it and its number in the scope.
        self.owners: dict[str, tuple[_Stage, int]] = {}
        self.around: tuple[Step, ...] = ()
        self.taken: dict[str, int] = {}
        self.results: dict[int, Built] = {}
        self.shapes: dict[str, Built] = {}
        self.turns: dict[str, Built] = {}

    def run(self) -> Pair:
        self._list(self.routine.body, _Scope(), {p: self.known[p] for p in self.routine.params if p in self.known})
        stages = (s.finished() for s in self.stages.values())
        data = replace(self.routine, body=self._data(self.routine.body))
        sizes = {slot: stage.sizes[slot] for slot, (stage, _) in self.owners.items()}
        told = tuple(s for s in stages if s.is_entry_check or s.sizes or s.built)
        return Pair(told, data, sizes, self.results, self.shapes, self.turns)

    def _data(self, block: StepBlock) -> StepBlock:
        """The steps of the data program: each result in its memory, the sizes of each stage at its place."""
        steps: list[Step] = []
        for number in range(len(block.steps) + 1):
            stage = self.stages.get((id(block), number))
            sizes = stage.finished().sizes if stage is not None else ()
            steps += [Bind(NOWHERE, rewrite(value, _total), slot) for slot, value in sizes]
            steps += map(self._placed, block.steps[number : number + 1])
        return replace(block, steps=tuple(steps))

    def _placed(self, step: Step) -> Step:
        if isinstance(step, Compute):
            return replace(step, memory=self.memory[id(step)]) if id(step) in self.memory else step
        return replace(step, body=self._data(step.body)) if isinstance(step, Closure) else with_blocks(step, self._data)

    # Lists of steps

    def _list(self, block: StepBlock, scope: _Scope, delivered: Delivered) -> None:
        """Walk a list of steps; its first stage begins with the delivered facts."""
        self._begin(scope, (id(block), 0), None, delivered)
        for number, step in enumerate(block.steps, start=1):
            self._step(step, scope)
            if isinstance(step, Compute) and step.known is not None and isinstance(step.output, str):
                self.known.setdefault(step.output, step.known)
            given = {slot: self.known[slot] for slot in outputs(step) if slot in self.known}
            self.shapes.update({slot: self._shape(slot, known, scope) for slot, known in given.items()})
            left = {slot: known for slot, known in given.items() if slot not in step.last}
            self._begin(scope, (id(block), number), step, left)

    def _begin(self, scope: _Scope, place: tuple[int, int], after: Step | None, delivered: Delivered) -> None:
        """Begin the stage of the delivered facts; after a step there is one only if they bind anything new."""
        stage = _Stage(after, self.around)
        scope.stages.append(stage)
        for slot, known in delivered.items():
            self._learn(scope, slot, known)
        if after is None or stage.sizes:
            self.stages[place] = stage
        else:
            scope.stages.pop()

    def _step(self, step: Step, scope: _Scope) -> None:
        match step:
            case Compute():
                self._compute(step, scope)
            case Bind(value=core.TupleValue(items=items), output=output, known=known) if output == RESULT:
                for item, one in zip_longest(items, known):
                    self._build_result(item, one, scope)
            case Bind(value=value, output=output, known=known) if output == RESULT:
                self._build_result(value, next(iter(known), self.result), scope)
            case Invoke(output=output) if output == RESULT:
                self._build_result(None, self.known.get(RESULT, self.result), scope)
            case Branch():
                for block in (step.then, step.orelse):
                    self._inside(step, block, scope.copy(), {})
            case LoopStep():
                self._loop(step, scope)
            case Closure():  # at its calls the names around it mean the same
                self._inside(step, step.body, scope.copy(), {})
            case Bind() | Invoke() | ReadSizes() | StepCheck() | Match() | Stack():
                pass
            case _:
                assert_never(step)

    def _loop(self, step: LoopStep, scope: _Scope) -> None:
        """Walk a loop. In a turn the carries have the facts of `step.known`; after it nothing is known of them by their
        slots."""
        self._forget(step.carries)
        self.known.update(step.known)
        if step.cond.steps:
            self._inside(step, step.cond, scope.copy(), step.known)
        inner = scope.copy()
        self._inside(step, step.body, inner, step.known)
        self.turns.update({slot: self._shape(slot, known, inner) for slot, known in step.known.items()})
        self._forget((*step.carries, *step.known))

    def _forget(self, slots: Iterable[str]) -> None:
        for slot in slots:
            self.known.pop(slot, None)

    def _build_result(self, value: core.Value | None, otherwise: core.Known | None, scope: _Scope) -> None:
        known = self.known.get(value.name, otherwise) if isinstance(value, core.Var) else otherwise
        if known is not None and known.shape is not None:
            self._build(RESULT, known, scope)
        elif isinstance(value, core.Var | None):
            scope.stages[-1].built.append(Built(RESULT, None, None))

    def _inside(self, step: Step, block: StepBlock, scope: _Scope, delivered: Delivered) -> None:
        outside, self.around = self.around, (*self.around, step)
        self._list(block, scope, delivered)
        self.around = outside

    def _compute(self, step: Compute, scope: _Scope) -> None:
        """Allocate memory for a result that owns its memory."""
        if step.known is None or not isinstance(step.output, str) or not step.output:
            return
        own = step.into is None and self.owns(step)
        self.results[id(step.call)] = self._shape(step.output, step.known, scope)
        is_size = step.known.shape is None and step.known.data is not None
        if not is_size and (step.output == RESULT or (own and step.known.shape != ())):
            built = self._build(step.output, step.known, scope)
            dims = tuple(d for d in built.dims or () if d is not None)
            if own and dims and built.is_whole and built.dtype is not None:
                self.memory[id(step)] = StepMemory(dims, built.dtype, step.output in self.rows)

    def owns(self, step: Compute) -> bool:
        """Whether a result surely owns its memory, which may be that of an operand that ends."""
        assert step.known is not None
        operand = self.known.get(step.inputs[0].name) if isinstance(step.inputs[0], core.Var) else None
        known, dtype = step.known.dtype, operand.dtype if operand is not None else None
        match VIEWS.get(step.row.name):
            case None:
                return True
            case "another dtype":
                return isinstance(dtype, core.DTypeLit) and isinstance(known, core.DTypeLit) and dtype != known
            case "bounds":
                return step.inputs[1:] != (None, None)
            case "floats":
                return isinstance(known, core.DTypeLit) and known.dtype.kind == "float"
        return False

    def _build(self, slot: str, known: core.Known, scope: _Scope) -> Built:
        """Add a shape to the first stage of the shape program that knows it."""
        built = self._shape(slot, known, scope, define=True)
        numbers = [self.owners[name][1] for name in names_of(built.dims, built.dtype) if name in self.owners]
        scope.stages[max(numbers, default=0) if built.is_whole else -1].built.append(built)
        self._use(names_of(built.dims, built.dtype))
        return built

    def _shape(self, slot: str, known: core.Known, scope: _Scope, *, define: bool = False) -> Built:
        over = self._dim if define else self._over_slots
        dims = None if known.shape is None else tuple(over(d, scope) for d in known.shape)
        return Built(slot, dims, self._dtype(known.dtype, scope))

    def _use(self, slots: Iterable[str]) -> None:
        for slot in slots:
            stage, _ = self.owners.get(slot, (None, 0))
            if stage is not None and slot not in stage.used:
                stage.used.add(slot)
                self._use(names_of(stage.sizes[slot]))

    # Sizes

    def _learn(self, scope: _Scope, slot: str, known: core.Known) -> None:
        """Bind the names in the facts about a slot that have no slot yet."""
        if known.shape is None and isinstance(known.data, core.SizeExpr):
            self._solve(scope, known.data, core.SizeVar(NOWHERE, slot))
        if known.shape is not None:
            scope.stages[-1].ranks[slot] = len(known.shape)
        for axis, dim in enumerate(known.shape or ()):
            self._solve(scope, dim, core.DimOf(NOWHERE, slot, axis))
        if known.shape is not None and isinstance(known.dtype, core.DTypeVar) and known.dtype.name not in scope.names:
            scope.names[known.dtype.name] = self._define(scope, "dtype", core.DTypeOf(NOWHERE, slot))

    def _solve(self, scope: _Scope, size: core.SizeExpr, value: core.SizeExpr) -> None:
        """Solve `size == value`: the only name without a slot gets one, if the equation determines it."""
        if isinstance(size, core.SizeVar) and size.name not in scope.names:
            scope.names[size.name] = self._define(scope, size.name, value)
        added = core.sides(size, "+")
        for one, other in (added, added[::-1]) if added is not None else ():
            known = self._over_slots(other, scope)
            if known is not None:
                return self._solve(scope, one, core.operation(NOWHERE, "-", value, known))
        match core.sides(size, "*"):
            case left, core.SizeLit(value=factor) as literal if factor > 0:
                self._solve(scope, left, core.operation(NOWHERE, "//", value, literal))
        return None

    def _define(
        self, scope: _Scope, name: str, value: core.SizeExpr | core.DTypeExpr, number: int | None = None
    ) -> str:
        """Bind a new slot in a stage, by default the last one."""
        number = len(scope.stages) - 1 if number is None else number
        slot = self._slot(name)
        scope.stages[number].sizes[slot] = value
        self.owners[slot] = scope.stages[number], number
        return slot

    def _slot(self, name: str) -> str:
        """Return an unused slot."""
        stem = f"z_{mangle(name)}" if name.replace("'", "").isidentifier() else "z"
        count = self.taken[stem] = self.taken.get(stem, 0) + 1
        return f"z{count}" if stem == "z" else stem if count == 1 else f"{stem}_{count}"

    def _dim(self, size: core.SizeExpr, scope: _Scope) -> core.SizeExpr | None:
        """A dimension as a number or a slot, computed in the first stage that can. A quotient may be undefined as long as
        nothing asks for it, so it is computed in the last stage."""
        over = self._over_slots(size, scope)
        if over is None or isinstance(over, core.SizeLit | core.SizeVar):
            return over
        latest = max((self.owners[name][1] for name in names_of(over)), default=0)
        number = len(scope.stages) - 1 if _divides(over) else latest
        made = scope.stages[number].made
        if over not in made:
            made[over] = self._define(scope, "", over, number)
        return core.SizeVar(NOWHERE, made[over])

    def _over_slots(self, size: core.SizeExpr, scope: _Scope) -> core.SizeExpr | None:
        """A size over slots instead of the checker's names; None if one of them has no slot."""
        names = scope.names
        if any(isinstance(n, core.RankOf | core.DimOf) for n in walk(size)) or not names_of(size) <= names.keys():
            return None
        return rewrite(size, lambda n: core.SizeVar(NOWHERE, names[n.name]) if isinstance(n, core.SizeVar) else n)

    def _dtype(self, dtype: core.DTypeExpr, scope: _Scope) -> core.DTypeExpr | None:
        if isinstance(dtype, core.DTypeVar):
            return core.DTypeVar(NOWHERE, scope.names[dtype.name]) if dtype.name in scope.names else None
        return dtype


def bytes_of(dims: Iterable[core.SizeExpr], dtype: DType) -> core.SizeExpr:
    """The number of bytes of a tensor."""
    return core.operation(NOWHERE, "*", *dims, core.SizeLit(NOWHERE, -(-dtype.bits // 8)))


def _total(node: Node) -> Node:
    """Give an undefined quotient some value: the check that asks for it refuses it, at its place and in its words."""
    match core.sides(node, "//"):
        case left, divisor if not isinstance(divisor, core.SizeLit):
            least = core.operation(NOWHERE, "max", divisor, core.SizeLit(NOWHERE, 1))
            return core.operation(NOWHERE, "//", left, least)
    return node


def _divides(size: core.SizeExpr) -> bool:
    """Whether a size may be undefined: it has a divisor that is not a number."""
    quotients = filter(None, (core.sides(node, "//") for node in walk(size)))
    return any(not isinstance(divisor, core.SizeLit) for _, divisor in quotients)
