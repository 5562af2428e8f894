"""Arms and turns as subgraphs: If for branches that a call decides, Loop for loops and for tail calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from onnx import helper

from ...lang import core
from ...lang.dtypes import DTYPES
from ...lang.source import Span
from .. import partial_sizes
from ..engine_types import EngineSize, NodeAttribute, RunValue
from ..follow import unpack
from ..names import unmangled
from ..steps import RESULT, Bind, Branch, Invoke, LoopStep, Routine, Stack, Step, StepBlock, outputs, total
from .onnx_graph import Graph, elem_type
from .onnx_tracing import ModelTensor, RoutineSlots, Tracing, Untraced, leaves, rebuilt, value_info
from .symbolic import Dim, Truth, compared

# The result of a turn: whether there is another one (None if their number is known), and the values to hand on.
Turn = tuple[bool | Truth | None, list[RunValue]]


def _is_size(value: RunValue) -> bool:
    return isinstance(value, int | Dim) and not isinstance(value, bool)


def is_same(one: RunValue, other: RunValue) -> bool:
    """Whether two values are surely the same."""
    if isinstance(one, ModelTensor) and isinstance(other, ModelTensor):
        return one.value == other.value
    return one is other or (type(one) is type(other) and not isinstance(one, Dim) and one == other)


class LoopValue:
    """One value that turns hand on. `is_fixed`: no turn changes it. `free` are the axes whose sizes turns change."""

    def __init__(self, first: RunValue, *, is_fixed: bool) -> None:
        self.first = first
        self.is_fixed = is_fixed
        self.free: set[int] = set()
        self.name = ""

    def inside(self, tracing: Tracing, stem: str) -> RunValue:
        """The value inside a turn."""
        if self.is_fixed:
            return self.first
        self.name = tracing.graph.names.new(stem)
        return self.known(tracing, self.name)

    def known(self, tracing: Tracing, name: str) -> RunValue:
        """A value of the same kind under a name."""
        if isinstance(self.first, ModelTensor):
            pairs = enumerate(self.first.shape)
            dims = (tracing.dims.atom("dim", name, i, natural=True) if i in self.free else d for i, d in pairs)
            return ModelTensor(tuple(dims), self.first.dtype, None, value=name)
        return tracing.dims.atom("item", name) if _is_size(self.first) else Truth("value", name)

    def widened(self, after: RunValue, place: Span) -> bool:
        """Whether a turn changes something that was taken for unchanged; from then on it is taken for changed."""
        if self.is_fixed:
            self.is_fixed = is_same(self.first, after)
            if not self.is_fixed and not isinstance(after, ModelTensor | int | Dim | Truth):
                raise Untraced("what a turn hands on here is no tensor, no Size and no Bool, and it changes", place)
            return not self.is_fixed
        if not isinstance(self.first, ModelTensor):
            return False
        if len(after.shape) != len(self.first.shape) or after.dtype != self.first.dtype:
            raise Untraced("the rank of what turns hand on changes, and ONNX has one for each value", place)
        more = {i for i, d in enumerate(after.shape) if not is_same(d, self.first.shape[i])} - self.free
        self.free |= more
        return bool(more)

    def loosened(self) -> bool:
        """Whether anything was taken for unchanged; from then on nothing is."""
        before = self.is_fixed, len(self.free)
        if isinstance(self.first, ModelTensor | int | Dim | Truth):
            self.is_fixed = False
            self.free = set(range(len(self.first.shape))) if isinstance(self.first, ModelTensor) else set()
        return before != (self.is_fixed, len(self.free))


class ControlTracing(Tracing):
    """Traces functions with arms and turns that only a call decides."""

    @contextmanager
    def within(self) -> Iterator[Graph]:
        """Write the nodes of this context into a subgraph."""
        oks, self.oks = self.oks, []
        try:
            with self.engine.within(self.graph.inner()) as graph:
                yield graph
        finally:
            self.oks = oks

    def named(self, value: RunValue) -> str:
        """The model's value for a tensor, a Size or a Bool."""
        if isinstance(value, ModelTensor):
            return value.value
        if isinstance(value, bool | Truth):
            return self.graph.truth(value)
        if _is_size(value):
            return self.graph.scalar(value)
        raise Untraced("ONNX has no value for what is no tensor, no Size and no Bool", self.place)

    @property
    def place(self) -> Span:
        assert self.span is not None
        return self.span

    # Arms

    def branch(self, step: Branch, state: RoutineSlots) -> None:
        cond = self.condition(step.cond, state)
        if not isinstance(cond, Truth):
            return self.block(step.then if cond else step.orelse, state)
        slots = outputs(step)

        def arm(block: StepBlock) -> Callable[[], RunValue]:
            def follow() -> RunValue:
                end = self.arm(step, block, state)
                return tuple(end.slots.get(slot) for slot in slots)  # None if nothing reads it

            return follow

        self.span = step.span
        found = self.either(cond, arm(step.then), arm(step.orelse), step.span)
        for slot, value in zip(slots, found, strict=True):
            state.bind(slot, value)
        return None

    def either(
        self, cond: Truth, then: Callable[[], RunValue], orelse: Callable[[], RunValue], place: Span
    ) -> RunValue:
        """Write an If, and return the value of its arms."""
        arms = []
        for follow in (then, orelse):
            with self.within() as graph:
                graph.root.span = place
                value = follow()
                arms.append((graph, value, list(leaves(value)), self.oks))
        (_, shape, ones, _), (_, _, others, _) = arms
        if len(ones) != len(others):
            raise Untraced("the arms of this `if` give tuples of different lengths", place)
        apart = [i for i, pair in enumerate(zip(ones, others, strict=True)) if not is_same(*pair)]
        protos, asks = [], any(oks for *_, oks in arms)
        for (graph, _, parts, oks), label in zip(arms, ("then", "else"), strict=True):
            self.engine.graph, outer = graph, self.engine.graph
            ends = [(graph.ended(self.named(parts[i])), parts[i]) for i in apart]
            ends += [(graph.ended(self._all(oks)), True)] if asks else []
            self.engine.graph = outer
            protos.append(graph.proto(f"{label}_{place.line}", [], [value_info(n, v) for n, v in ends]))
        attributes = {"then_branch": protos[0], "else_branch": protos[1]}
        made = self._control("If", [self.graph.truth(cond)], len(apart) + asks, attributes, place)
        if asks:
            self.oks.append(made[-1])
        found = list(ones)
        for i, name in zip(apart, made, strict=False):
            found[i] = self._joined(ones[i], others[i], name, place)
        return rebuilt(shape, iter(found))

    def _control(
        self, op: str, inputs: Sequence[str], count: int, attributes: Mapping[str, NodeAttribute], place: Span
    ) -> Sequence[str]:
        self.graph.root.span = place
        return self.graph.add(op, inputs, count, attributes) if count else ()

    def _joined(self, one: RunValue, other: RunValue, name: str, place: Span) -> RunValue:
        if not isinstance(one, ModelTensor):
            if isinstance(other, ModelTensor) or _is_size(one) != _is_size(other):
                raise Untraced("the arms of this `if` give values of different kinds", place)
            made = LoopValue(one, is_fixed=False)
            return made.known(self, name)
        if len(one.shape) != len(other.shape) or one.dtype != other.dtype:
            raise Untraced("the arms of this `if` give tensors of different ranks or dtypes", place)
        made = LoopValue(one, is_fixed=False)
        made.free = {i for i, pair in enumerate(zip(one.shape, other.shape, strict=True)) if not is_same(*pair)}
        return made.known(self, name)

    def _all(self, oks: Sequence[str]) -> str:
        return self.graph.joined("And", oks) if oks else self.graph.truth(True)

    # Turns

    def loop(self, step: LoopStep, state: RoutineSlots) -> None:
        first = [state.get(carry) for carry in step.carries]
        turns = _Turns(self, step, RoutineSlots(self, dict(state.slots)))
        goes_on = turns.goes_on(first, 0)
        found, stacks = self._turns(
            first, goes_on, turns.count, turns.turn, step.span, _stems(step.carries), fixed=False
        )
        for carry, value in zip(step.carries, found, strict=True):
            state.bind(carry, value)
        for stacked, (made, many) in zip(step.stacked, stacks, strict=True):
            state.bind(stacked.output, self._as_stack(made, many, stacked.shape, state))

    def stack(self, step: Stack, state: RoutineSlots) -> None:
        state.bind(_pushed(step.output), self.value(core.Var(step.span, step.value), state))
        if step.checked:
            self.leave(step, None)

    def _as_stack(self, value: ModelTensor, name: str, shape: core.ShapeLit, state: RoutineSlots) -> ModelTensor:
        """The stacked values of the turns. ONNX leaves their shape open if no turn ran; it is the declared one then, with 0
        for undeclared sizes."""
        count = self.dims.atom("dim", name, 0, natural=True)
        any_turn = self.dims.of("min", count, 1)
        rest: list[RunValue] = []
        for axis, told in enumerate(shape.dims[1:], 1):
            declared = 0 if isinstance(told, core.Splice) else partial_sizes.shape_level(told, state)
            if not isinstance(declared, int) or declared:
                rest.append(self.dims.of("max", declared, 0))
            else:
                rest.append(any_turn * self.dims.atom("dim", name, axis, natural=True))
        if len(rest) != len(value.shape):
            raise Untraced("the rank of what this loop stacks is known at a call only", self.place)
        made = self.graph.node("Reshape", name, self.graph.sizes((count, *rest)), allowzero=1)
        return ModelTensor((count, *rest), value.dtype, None, value=made)

    def _turns(
        self, first: Sequence[RunValue], goes_on: bool | Truth | None, count: EngineSize, turn: Callable[..., RunValue],
        place: Span, stems: Sequence[str], *, fixed: bool,
    ) -> tuple[list[RunValue], list[tuple[ModelTensor, str]]]:  # fmt: skip
        """Write a Loop, and return the values of its last turn. Values that no turn changes are not handed on: values are
        taken for unchanged at first, and no longer if a turn shows otherwise."""
        parts = list(leaves(tuple(first)))
        carried = [LoopValue(p, is_fixed=fixed or not isinstance(p, ModelTensor)) for p in parts]
        stems = [stem for stem, value in zip(stems, first, strict=True) for _ in leaves(value)]
        while True:
            before = [(kept, len(kept)) for kept in (self.left, self.asked, self.wrong)]
            try:
                found = self._turn(tuple(first), carried, stems, count, turn, place)
            except Untraced:
                loosened = [c.loosened() for c in carried]
                if not any(loosened):
                    raise
            else:
                is_wrong = len(self.wrong) > before[2][1]
                if found is not None and not (is_wrong and sum(c.loosened() for c in carried)):
                    break
            for kept, length in before:
                del kept[length:]
        proto, stacks, asks = found
        lives = [c for c in carried if not c.is_fixed]
        start = "" if goes_on is None else self.graph.truth(goes_on)
        given = ["" if count is None else self.graph.scalar(count), start, *(self.named(c.first) for c in lives)]
        given += [self.graph.truth(True)] if asks else []
        made = list(self._control("Loop", given, len(lives) + asks + len(stacks), {"body": proto}, place))
        if asks:
            self.oks.append(made[len(lives)])
        names = iter(made)
        values = [c.first if c.is_fixed else c.known(self, next(names)) for c in carried]
        return (
            list(rebuilt(tuple(first), iter(values))),
            list(zip(stacks, made[len(lives) + asks :], strict=True)),
        )

    def _turn(
        self, first: RunValue, carried: Sequence[LoopValue], stems: Sequence[str], count: EngineSize,
        turn: Callable[..., RunValue], place: Span,
    ) -> RunValue:  # fmt: skip
        """The graph of a turn, its stacked values, and whether it checks anything; None if a value changes that was taken for
        unchanged."""
        with self.within() as graph:
            graph.root.span = place
            index = graph.names.new("turn")
            inside = [c.inside(self, stem) for c, stem in zip(carried, stems, strict=True)]
            done = self.dims.atom("item", index, natural=True)
            (goes_on, following), stacks = turn(rebuilt(first, iter(inside)), done)
            parts = list(leaves(tuple(following)))
            if len(parts) != len(carried):
                raise Untraced("the number of parts of what turns hand on changes", place)
            widened = [c.widened(part, place) for c, part in zip(carried, parts, strict=True)]
            if any(widened):
                return None
            asks = bool(self.oks)
            going = graph.names.new("goes_on")
            lives = [(c, part) for c, part in zip(carried, parts, strict=True) if not c.is_fixed]
            inputs = [helper.make_tensor_value_info(index, elem_type(DTYPES["int64"]), []),
                      helper.make_tensor_value_info(going, elem_type(DTYPES["bool"]), []),
                      *(value_info(c.name, c.known(self, c.name)) for c, _ in lives)]  # fmt: skip
            ends = [(graph.ended(going if goes_on is None else graph.truth(goes_on)), True)]
            ends += [(graph.ended(self.named(part)), c.known(self, c.name)) for c, part in lives]
            if asks:
                before = graph.names.new("ok")
                inputs.append(value_info(before, True))
                ends.append((graph.ended(self._all([before, *self.oks])), True))
            ends += [(graph.ended(s.value), s) for s in stacks]
            proto = graph.proto(f"turn_{place.line}", inputs, [value_info(n, v) for n, v in ends])
            return proto, stacks, asks

    # Tail calls

    def recursive(self, span: Span, routine: Routine, inner: RoutineSlots) -> RunValue:
        """A function that calls itself in tail position: turns that hand its parameters on, then its final result."""
        if routine.name not in self._ahead(routine.body):
            return super().recursive(span, routine, inner)
        first = [inner.get(p) for p in routine.params]
        base = inner.branched()

        def entered(values: Sequence[RunValue]) -> RoutineSlots:
            state = base.branched()
            unpack(routine.params, tuple(values), state)
            return state

        def turn(values: Sequence[RunValue], _: RunValue) -> tuple[Turn, list[RunValue]]:
            again, *handed = self._last(routine.body, entered(values), routine, list(values))
            return (again, handed), []

        found, _ = self._turns(first, True, None, turn, span, _stems(routine.params), fixed=True)
        return self._last(routine.body, entered(found), routine, None)

    def _ahead(self, block: StepBlock, seen: frozenset[str] = frozenset()) -> frozenset[str]:
        """The functions called in tail position, and those that these call there."""
        _, last = _tail(block)
        if isinstance(last, Branch):
            return self._ahead(last.then, seen) | self._ahead(last.orelse, seen)
        if not isinstance(last, Invoke) or last.callee not in self.routines or last.callee in seen:
            return seen
        return self._ahead(self.routines[last.callee].body, seen | {last.callee})

    def _last(self, block: StepBlock, state: RoutineSlots, routine: Routine, handed: list[RunValue] | None) -> RunValue:
        """With `handed`, for a turn: whether the function is called again in tail position, and with what; `handed` if it is
        not. Without `handed`: the result of the function if it is not called again."""
        if routine.name not in self._ahead(block):
            return self.run(block, state) if handed is None else (False, *handed)
        before, last = _tail(block)
        self.block(before, state)
        if isinstance(last, Invoke):
            return self._called(last, state, routine, handed)
        assert isinstance(last, Branch)
        cond = self.condition(last.cond, state)
        arms = (last.then, last.orelse)
        if not isinstance(cond, Truth):
            return self._last(arms[not cond], state, routine, handed)
        if handed is None:
            ends = [arm for arm in arms if self._ends(arm, routine)]
            if len(ends) == 1:
                return self._last(ends[0], state, routine, None)
        then, orelse = ((lambda arm=arm: self._last(arm, state.branched(), routine, handed)) for arm in arms)
        return self.either(cond, then, orelse, last.span)

    def _called(self, last: Invoke, state: RoutineSlots, routine: Routine, handed: list[RunValue] | None) -> RunValue:
        args = tuple(self.value(v, state) for v in last.inputs)
        called = self.routines[last.callee]
        inner = self.entered(last, called, args)
        if called is routine:
            if handed is None:
                raise Untraced("this function calls itself without end", last.span)
            return (True, *(inner.get(p) for p in routine.params))
        return self._last(called.body, inner, routine, handed)

    def _ends(self, block: StepBlock, routine: Routine) -> bool:
        """Whether a block may give a value without calling the function again."""
        if routine.name not in self._ahead(block):
            return True
        _, last = _tail(block)
        if isinstance(last, Branch):
            return self._ends(last.then, routine) or self._ends(last.orelse, routine)
        assert isinstance(last, Invoke)
        return last.callee != routine.name and self._ends(self.routines[last.callee].body, routine)


class _Turns:
    """The turns of a loop; `around` has the facts before the first."""

    def __init__(self, tracing: ControlTracing, step: LoopStep, around: RoutineSlots) -> None:
        self.tracing = tracing
        self.step = step
        self.around = around
        self.count = None if step.range is None else partial_sizes.shape_level(total(step.span, step.range), around)

    def state(self, carries: Sequence[RunValue], done: RunValue) -> RoutineSlots:
        """The facts in a turn, after `done` turns."""
        inner, range_ = self.around.branched(), self.step.range
        if range_ is not None:
            start, each = (partial_sizes.shape_level(s, self.around) for s in (range_.start, range_.step))
            done = start + done * each
        inner.bind(self.step.index, done)
        unpack(self.step.carries, tuple(carries), inner)
        return inner

    def goes_on(self, carries: Sequence[RunValue], done: RunValue) -> bool | Truth | None:
        """The condition before a turn, evaluated only within the range; None if the range alone decides."""
        if self.step.test is None:
            return None
        is_left = True if self.count is None else compared("<", done, self.count)
        if not isinstance(is_left, Truth):
            return self._asked(carries, done) if is_left else False
        asked, span = partial(self._asked, carries, done), self.step.span
        return self.tracing.either(is_left, asked, lambda: False, span)  # type: ignore[no-any-return]

    def _asked(self, carries: Sequence[RunValue], done: RunValue) -> bool | Truth:
        inner = self.state(carries, done)
        self.tracing.block(self.step.cond, inner)
        assert self.step.test is not None
        return self.tracing.condition(self.step.test, inner)

    def turn(self, carries: Sequence[RunValue], done: RunValue) -> tuple[Turn, list[RunValue]]:
        """Follow a turn: its condition and the values to hand on, and the values that it stacks."""
        inner = self.state(carries, done)
        self.tracing.block(self.step.body, inner)
        following = [inner.get(slot) for slot in self.step.following]
        stacks = [inner.get(_pushed(s.output)) for s in self.step.stacked]
        return (self.goes_on(following, done + 1), following), stacks


def _pushed(output: str) -> str:
    """The slot of the value that a turn stacks."""
    return f"pushed {output}"


def _stems(slots: Sequence[str]) -> list[str]:
    return [unmangled(s.removeprefix("v_")) if s.startswith("v_") else "carried" for s in slots]


_NAMED = core.Var | core.SizeVar | core.ShapeVar | core.BoolVar


def _tail(block: StepBlock) -> tuple[StepBlock, Step | None]:
    """Split a block into the steps before its tail call or tail branch, and that step; None if there is none."""
    steps = list(block.steps)
    wanted: RunValue = RESULT
    while steps and isinstance(last := steps[-1], Bind) and last.output == wanted and isinstance(last.value, _NAMED):
        wanted = last.value.name
        steps.pop()
    if steps and isinstance(last := steps[-1], Invoke | Branch) and last.output == wanted:
        if isinstance(last, Branch) and wanted != RESULT:
            return StepBlock(()), None
        return StepBlock(tuple(steps[:-1])), last
    return StepBlock(()), None
