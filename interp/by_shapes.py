"""Routines followed over known shapes, dtypes and sizes: the facts about values and checks that shapes alone decide.

Two modules use it: `early_checks.py` asks whether a check surely fails, `plan.py` whether it surely holds. Data is unknown.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count

from ..lang import core
from ..ops.model import TensorInfo
from ..sizes.integers import Undefined
from ..sizes.partial import Open, UnknownSize, all_of, compare
from . import partial_sizes
from .follow import Follower, State, unpack
from .guards import Failed, Violation
from .partial_sizes import Consts, Value
from .steps import (
    RESULT,
    Bind,
    Closure,
    Compute,
    LoopStep,
    Match,
    ReadSizes,
    Routine,
    Stack,
    Step,
    StepBlock,
    StepCheck,
    asks,
    blocks,
    every,
    outputs,
    reads,
)


class KnownSlots:
    """The facts about slots at a place, the program's own tensors included. `certain`: the run surely reaches the place. Only
    the steps in `needed`, by identity, are followed."""

    def __init__(
        self, slots: dict[str, Value], consts: Consts, needed: frozenset[int], *, certain: bool = True
    ) -> None:
        self.slots, self.consts, self.needed, self.certain = slots, consts, needed, certain

    def get(self, slot: str) -> Value:
        return self.slots[slot] if slot in self.slots else self.consts[slot]

    def bind(self, slot: str, value: Value) -> None:
        self.slots[slot] = value

    def copy(self) -> KnownSlots:
        return KnownSlots(dict(self.slots), self.consts, self.needed, certain=self.certain)

    def branched(self) -> KnownSlots:
        return KnownSlots(dict(self.slots), self.consts, self.needed, certain=False)


class Routines:
    """A program's routines, each with the steps that `asks` selects and those that they depend on. `space` has the tensors
    that exist before the run."""

    def __init__(
        self, routines: Iterable[Routine], space: Mapping[str, object], asks: Callable[[Step], bool] | None = None
    ) -> None:
        self.named = {r.name: r for r in routines}
        self.consts = Consts(space)
        self._asks = asks or (lambda step: False)
        self._slices: dict[tuple[str, bool], frozenset[int]] = {}

    def enter(
        self, name: str, args: Sequence[Value], *, certain: bool = True, wanted: bool = True
    ) -> tuple[KnownSlots, bool | None]:
        """Return the facts behind a routine's entry check, and whether it accepts the arguments; None if shapes do not
        decide. If `wanted`, the steps that the result depends on are followed."""
        routine = self.named[name]
        slots = dict(zip(routine.params, args, strict=True))
        known = KnownSlots(slots, self.consts, self._needed(routine, wanted), certain=certain)
        return known, lets_in(routine.entry, known)

    def _needed(self, routine: Routine, wanted: bool) -> frozenset[int]:
        key = routine.name, wanted
        if key not in self._slices:
            found: set[int] = set()
            self._slice(routine.body, {RESULT} if wanted else set(), found)
            self._slices[key] = frozenset(found)
        return self._slices[key]

    def _slice(self, block: StepBlock, slots: set[str], found: set[int]) -> None:
        """Collect the steps that `_asks` selects or that write to `slots`; the slots that they read are added."""
        for step in reversed(block.steps):
            given = (step.output,) if isinstance(step, Stack) else outputs(step)
            if slots.isdisjoint(given) and not any(map(self._asks, every(StepBlock((step,))))):
                continue
            found.add(id(step))
            slots |= {*given, *reads(step)}
            if isinstance(step, Closure):
                self._slice(step.body, slots | {RESULT}, found)
            for inner in reversed(blocks(step)):
                self._slice(inner, slots, found)


class ByShapes(Follower[KnownSlots, Value]):
    """Follows routines over the known facts about their values."""

    def __init__(self, routines: Routines) -> None:
        self.routines = routines

    @abstractmethod
    def holds(self, step: Step) -> None:
        """Take note that a step's condition surely holds."""

    @abstractmethod
    def fails(self, problem: Exception, step: Step, state: KnownSlots) -> None:
        """Take note that a step's condition surely fails."""

    def step(self, step: Step, state: KnownSlots) -> None:
        if id(step) in state.needed:
            super().step(step, state)

    def value(self, v: core.Value, state: KnownSlots) -> Value:
        return partial_sizes.known(v, state)

    def read(self, step: ReadSizes, state: KnownSlots) -> Value:
        given = self.value(step.value, state)
        found: Value = given.sizes if isinstance(given, TensorInfo) else None
        if step.kind == "size":
            return found if isinstance(found, int) else None
        return found if isinstance(found, tuple) else None

    def compute(self, step: Compute, state: KnownSlots) -> Value:
        try:
            args = [partial_sizes.argument(p, v, state) for p, v in zip(step.row.params, step.inputs, strict=True)]
            found, sure = partial_sizes.primitive(step.row, args)
        except (Open, Undefined):
            return None
        except Violation as problem:
            if step.guard:
                self.fails(problem, step, state)
            return None
        if step.guard and sure:
            self.holds(step)
        return found

    def check(self, step: StepCheck | Match, state: KnownSlots) -> None:
        try:
            holds = asked(step, state)
        except Undefined as problem:
            return self.fails(problem, step, state)
        return self.holds(step) if holds else self.fails(Failed(), step, state) if holds is False else None

    # Arms and turns

    def decided(self, cond: core.BoolExpr | core.Value, state: KnownSlots) -> bool | None:
        if isinstance(cond, core.BoolExpr):
            try:
                return partial_sizes.truth(cond, state)
            except Undefined:
                return None
        value = self.value(cond, state)
        data = value.sizes if isinstance(value, TensorInfo) else value
        return bool(data) if isinstance(data, int) else None

    def joined(self, values: Sequence[Value], state: KnownSlots) -> Value:
        one, other = values
        return _common(one, other, [])

    def loop(self, step: LoopStep, state: KnownSlots) -> None:
        """Bind the carries after any number of turns: only values that no turn changes are known."""
        own: list[UnknownSize] = []
        for number in count():
            inner = state.branched()
            inner.bind(step.index, UnknownSize())
            self.turn(step, inner)
            before = [state.get(carry) for carry in step.carries]
            after = [_common(b, inner.get(f), own) for b, f in zip(before, step.following, strict=True)]
            if after == before:
                break
            is_late = number > 2 * len(after)
            unpack(step.carries, None if is_late else tuple(after), state)
        unpack(tuple(s.output for s in step.stacked), None, state)

    def turn(self, step: LoopStep, state: KnownSlots) -> None:
        """Follow one turn, which may be any of them."""
        self.block(step.cond, state)
        self.block(step.body, state)

    def stack(self, step: Stack, state: KnownSlots) -> None:
        state.bind(step.output, state.get(step.value))


# Checks


def lets_in(entry: Iterable[Step], state: KnownSlots) -> bool | None:
    """Whether a routine's entry checks all hold; the bindings of these steps go into the state."""
    found = [_is_kept(step, state) for step in entry]
    return False if False in found else None if None in found else True


def _is_kept(step: Step, state: KnownSlots) -> bool | None:
    if isinstance(step, StepCheck | Match):
        try:
            holds = asked(step, state)
            return holds if asks(step) else True
        except Undefined:
            return False
    unpack(outputs(step), None, state)
    if isinstance(step, Bind):
        unpack(step.output, partial_sizes.known(step.value, state), state)
    return True


def asked(step: StepCheck | Match, state: State[Value]) -> bool | None:
    """Whether a condition holds, or a shape matches a pattern, whose names are bound; raises Undefined."""
    return partial_sizes.truth(step.cond, state) if isinstance(step, StepCheck) else _fits(step, state)


def _fits(step: Match, state: State[Value]) -> bool | None:
    try:
        asked = pairs(step, state)
    except Open:
        return None
    return asked is not None and all_of(*(_is(dim, found, state) for dim, found in asked))


def pairs(step: Match, state: State[Value]) -> list[tuple[core.SizeExpr | core.Splice, tuple[Value, ...]]] | None:
    """The parts of a pattern that are compared, each with the sizes found there; None if the rank differs. Binds the
    pattern's other names in the state. Raises Open."""
    shape = partial_sizes.dims(partial_sizes.tensor(state, step.tensor))
    widths = [_width(d, step, state) for d in step.dims]
    left = len(shape) - sum(width or 0 for width in widths)
    if left < 0 or (left and None not in widths):
        return None
    asked: list[tuple[core.SizeExpr | core.Splice, tuple[Value, ...]]] = []
    for dim, width in zip(step.dims, widths, strict=True):
        found, shape = shape[: left if width is None else width], shape[left if width is None else width :]
        if isinstance(dim, core.SizeVar | core.Splice) and dim.name in step.binds:
            state.bind(dim.name, found if isinstance(dim, core.Splice) else found[0])
        else:
            asked.append((dim, found))
    return asked


def _width(dim: core.SizeExpr | core.Splice, step: Match, state: State[Value]) -> int | None:
    """The number of dimensions that a part of a pattern takes; None for all that are left. Raises Open."""
    if not isinstance(dim, core.Splice):
        return 1
    known = None if dim.name in step.binds else partial_sizes.shape_level(dim, state)
    return len(known) if isinstance(known, tuple) else None


def _is(dim: core.SizeExpr | core.Splice, found: tuple[Value, ...], state: State[Value]) -> bool | None:
    try:
        wanted = partial_sizes.shape_level(dim, state)
    except Open:
        return None
    return compare("==", found, wanted if isinstance(dim, core.Splice) else (wanted,))


def _common(a: Value, b: Value, own: list[UnknownSize]) -> Value:
    """The facts that two values share. A size in `own` stands for any value at the start of a turn."""
    if isinstance(a, TensorInfo) and isinstance(b, TensorInfo):
        if len(a.shape) != len(b.shape) or a.dtype != b.dtype:
            return None
        shape = tuple(_common(x, y, own) for x, y in zip(partial_sizes.dims(a), partial_sizes.dims(b), strict=True))
        return TensorInfo(shape, a.dtype, a.data if a.data == b.data else None)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_common(x, y, own) for x, y in zip(a, b, strict=True))
    if isinstance(a, UnknownSize) and (a is b or a in own) or type(a) is type(b) and a == b:
        return a
    if isinstance(a, int | UnknownSize) and isinstance(b, int | UnknownSize) and not isinstance(a, bool):
        own.append(UnknownSize())
        return own[-1]
    return None
