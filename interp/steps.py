"""A program as it runs: lists of steps over slots, which lowering makes of core and from which Python text is written.

A slot holds one value and is bound at one place of a routine (in each arm of a branch that gives it). Slots are Python
identifiers: `v_x` for the name `x`, `t1` for what has none, `c_w` for the const `w`, which every routine sees. An operand is a
value of the core without effects, whose names are slots. Where it may fail, a step has what its message needs.
"""

from __future__ import annotations

from ..lang import core
from ..lang.node import Node
from ..lang.source import Placed, Span
from ..ops.model import Param, Primitive
from .trees import names_of

Operand = core.Value  # without Call, If and Lambda; Var, SizeVar and the like name slots
# What a step gives: a slot, slots that a tuple is unpacked into, or nothing.
Output = str | tuple[str, ...]
# The slot that is a routine's result: what is put there is returned.
RESULT = "return"
Names = tuple[tuple[str, str], ...]  # Rx names with their slots


class Block(Node):
    """Steps in order. What is in the slots `dead` is of no use from its beginning on."""

    steps: tuple[Step, ...]
    dead: tuple[str, ...] = ()


class Compute(Placed):
    """`output = kernel(*inputs)`: a call of a primitive, with an operand for each of the row's parameters (None: its
    default). `known` is the result's shape, dtype and data. With `guard` the preconditions are checked first. `call` is
    the call as it is written. `last` are the slots that nothing reads any more. `into` is the dying input whose memory
    takes the result."""

    row: Primitive
    inputs: tuple[Operand | None, ...]
    output: Output
    known: core.Known | None
    guard: bool
    call: core.Call
    last: tuple[str, ...] = ()
    into: str | None = None


class Invoke(Placed):
    """A call of a function of the program by its Rx name, or of the function value in a slot. `way` tells which entry is
    taken: `checked`, `decided` (its checks stand before the call), `value`, `extern`, or `list` (of implementations). Of a
    list `takes` has for each argument the name that it is given by, if any, and what primitives take it as."""

    callee: str
    way: str
    inputs: tuple[Operand, ...]
    output: Output
    takes: tuple[tuple[str | None, Param | None], ...] = ()
    last: tuple[str, ...] = ()


class Bind(Placed):
    """A size, a shape, a tuple, another name: an operand is evaluated."""

    value: Operand
    output: Output
    last: tuple[str, ...] = ()


class Read(Placed):
    """A tensor that is given for a size, or (with `many`) for sizes, is read."""

    value: Operand
    many: bool
    output: str
    last: tuple[str, ...] = ()


class Check(Placed):
    """An assertion that stays: `cond` is its condition over slots. Of a callee's check that stands before its call, `call` is
    that call and `given` has the callee's parameters with the slots of their arguments."""

    cond: core.BoolExpr
    check: core.Assert
    names: Names
    call: core.Call | None = None
    given: Names = ()
    last: tuple[str, ...] = ()


class Match(Placed):
    """A shape against a pattern over slots, some of which it binds; the pattern is believed where it is not `checked`."""

    tensor: str
    binds: tuple[str, ...]
    dims: tuple[core.SizeExpr | core.Splice, ...]
    check: core.MatchShape
    names: Names
    checked: bool
    last: tuple[str, ...] = ()


class Branch(Placed):
    """Each arm is a list of steps that puts its value into `output`. `cond` is a condition, or the tensor that decides."""

    cond: core.BoolExpr | Operand
    then: Block
    orelse: Block
    output: Output
    last: tuple[str, ...] = ()


class Closure(Placed):
    """A function value. `captured` are the slots of the routine around it that its body reads."""

    params: tuple[str, ...]
    body: Block
    captured: tuple[str, ...]
    output: str
    last: tuple[str, ...] = ()


Step = Compute | Invoke | Bind | Read | Check | Match | Branch | Closure


class Routine(Node):
    """What a function runs, under its Rx name; kind is the function's, or `script`. `entry` are the checks of its parameters,
    with what they bind; `body` puts its value into RESULT. `wrapped` are the parameters that are functions, each with the
    closure that checks what comes from outside at every call."""

    name: str
    span: Span
    kind: str
    params: tuple[str, ...]
    entry: tuple[Step, ...]
    body: Block
    wrapped: tuple[tuple[str, Closure], ...] = ()


class Site(Node):
    """A place of a program that is running: a step and the Rx function it stands in; `done` is how much of that function's list
    of steps lies before it, from 0 to 1. `step` is None where a function calls its own checks. `owner` is the wrapper of an
    implementation; `within` tells that a wrapper calls its own implementation there, which the user did not write."""

    function: str
    span: Span
    step: Step | None
    done: float
    owner: str | None = None
    within: bool = False

    @property
    def shown(self) -> str:
        """The function as the user calls it."""
        return self.owner or self.function


def outputs(step: Step) -> tuple[str, ...]:
    """The slots that a step binds."""
    if isinstance(step, Check):
        return ()
    if isinstance(step, Match):
        return step.binds
    if isinstance(step.output, str):
        return (step.output,) if step.output else ()
    return step.output


def reads(step: Step) -> set[str]:
    """The slots that a step reads itself, not those that its arms read."""
    match step:
        case Compute(inputs=inputs):
            return names_of(inputs)
        case Invoke(inputs=inputs):
            return names_of(inputs) | ({step.callee} if step.way == "value" else set())
        case Bind(value=value) | Read(value=value):
            return names_of(value)
        case Check():
            return names_of(step.cond) | {slot for _, slot in (*step.names, *step.given)}
        case Match():
            return names_of(step.dims) - set(step.binds) | {step.tensor} | {slot for _, slot in step.names}
        case Branch(cond=cond):
            return names_of(cond)
        case Closure(captured=captured):
            return set(captured)


def inside(block: Block) -> list[str]:
    """The slots from outside that a block reads, in order."""
    found: set[str] = set()
    bound: set[str] = set()
    pending = [block]
    while pending:
        for step in pending.pop().steps:
            found |= reads(step)
            bound.update(outputs(step))
            if isinstance(step, Branch):
                pending += (step.then, step.orelse)
    return sorted(found - bound)
