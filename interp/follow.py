"""Steps followed in order over the values of a domain, without running them: the one place that knows what each form of a
step passes on.

A domain defines the values and the facts at a place: partly known shapes (`by_shapes.py`), the memory of tensors (`memory/`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, Self, TypeVar, assert_never

from ..lang import core
from ..lang.node import replace
from .steps import (
    RESULT,
    Bind,
    Branch,
    Closure,
    Compute,
    Invoke,
    LoopStep,
    Match,
    Operand,
    ReadSizes,
    Stack,
    Step,
    StepBlock,
    StepCheck,
    outputs,
)

V = TypeVar("V")


class State(Protocol[V]):
    """The known facts at a place of a routine."""

    def get(self, slot: str, /) -> V | None: ...

    def bind(self, slot: str, value: V | None, /) -> None: ...

    def branched(self) -> Self:
        """A copy for steps that may not run: their bindings do not come back."""


E = TypeVar("E", bound=State[Any])


class MadeFunction(Generic[E]):
    """A function value that the program makes, with the facts at that place."""

    def __init__(self, closure: Closure, state: E) -> None:
        self.closure, self.state = closure, state


class Follower(ABC, Generic[E, V]):
    """Follows steps from the facts before them (`E`) to their values (`V`); None for an unknown value."""

    def run(self, block: StepBlock, state: E) -> V | None:
        """Follow a function's body and return its result."""
        self.block(block, state)
        found: V | None = state.get(RESULT)
        return found

    def block(self, block: StepBlock, state: E) -> None:
        for step in block.steps:
            self.step(step, state)

    def step(self, step: Step, state: E) -> None:
        match step:
            case Compute():
                self.put(step, self.compute(step, state), state)
            case Invoke():
                self.put(step, self.invoke(step, state), state)
            case Bind(value=value):
                self.put(step, self.value(value, state), state)
            case ReadSizes():
                self.put(step, self.read(step, state), state)
            case Closure():
                self.closure(step, state)
            case StepCheck() | Match():
                self.check(step, state)
            case Branch():
                self.branch(step, state)
            case LoopStep():
                self.loop(step, state)
            case Stack():
                self.stack(step, state)
            case _:
                assert_never(step)

    def put(
        self, step: Compute | Invoke | Bind | ReadSizes | Branch, value: V | tuple[V | None, ...] | None, state: E
    ) -> None:
        """Put a step's result into its slots."""
        unpack(step.output, value, state)

    def closure(self, step: Closure, state: E) -> None:
        state.bind(step.output, MadeFunction(step, state))

    # Calls

    def invoke(self, step: Invoke, state: E) -> V | None:
        args = tuple(self.value(v, state) for v in step.inputs)
        if step.way != "value":
            return self.call(step, args, state)
        function: object = state.get(step.callee)
        if isinstance(function, core.FnRef):
            return self.call(replace(step, callee=function.name, way="checked"), args, state)
        return self.apply(function, args) if isinstance(function, MadeFunction) else self.call(step, args, state)

    def apply(self, function: MadeFunction[E], args: Sequence[V | None]) -> V | None:
        """Follow a call of a function value: its body sees the facts where it was made."""
        inner = function.state.branched()
        unpack(function.closure.params, args, inner)
        return self.run(function.closure.body, inner)

    # Arms

    def branch(self, step: Branch, state: E) -> None:
        taken = self.decided(step.cond, state)
        if taken is not None:
            return self.block(step.then if taken else step.orelse, state)
        ends = [self.arm(step, block, state) for block in (step.then, step.orelse)]
        given = tuple(self.joined([end.get(slot) for end in ends], state) for slot in outputs(step))
        return self.put(step, given[0] if isinstance(step.output, str) and given else given, state)

    def arm(self, step: Branch, block: StepBlock, state: E) -> E:
        """Follow an arm and return the facts at its end."""
        inner = state.branched()
        self.block(block, inner)
        return inner

    def decided(self, cond: core.BoolExpr | Operand, state: E) -> bool | None:
        """Whether the first arm is taken; None if unknown."""
        return None

    # Methods of the domain

    @abstractmethod
    def value(self, v: Operand, state: E) -> V | None: ...

    @abstractmethod
    def compute(self, step: Compute, state: E) -> V | None: ...

    @abstractmethod
    def read(self, step: ReadSizes, state: E) -> V | None: ...

    @abstractmethod
    def call(self, step: Invoke, args: tuple[V | None, ...], state: E) -> V | None:
        """Follow a call of the step's callee; of a function value only if nothing is known of it."""

    @abstractmethod
    def check(self, step: StepCheck | Match, state: E) -> None: ...

    @abstractmethod
    def joined(self, values: Sequence[V | None], state: E) -> V | None:
        """The facts that the values at the ends of the arms share."""

    @abstractmethod
    def loop(self, step: LoopStep, state: E) -> None: ...

    @abstractmethod
    def stack(self, step: Stack, state: E) -> None: ...


def unpack(output: str | tuple[str, ...], value: object, state: State[Any]) -> None:
    """Bind a slot, or the slots that a tuple is unpacked into."""
    if isinstance(output, str):
        return state.bind(output, value)
    parts = value if isinstance(value, tuple) and len(value) == len(output) else (None,) * len(output)
    for slot, part in zip(output, parts, strict=True):
        state.bind(slot, part)
    return None
