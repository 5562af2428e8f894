"""A program as it runs: lists of steps over slots, which lowering makes of core and from which Python text is written.

A slot holds one value and is bound at one place of a routine (in each arm of a branch that gives it; a loop binds what it
carries again after each turn). Slots are Python identifiers: `v_x` for the name `x`, `t1` for what has none, `c_w` for the
const `w`, which every routine sees. An operand is a value of the core without effects, whose names are slots. Where it may
fail, a step has what its message needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, assert_never

from ..lang import core
from ..lang.node import Node, replace
from ..lang.source import Placed, Span
from ..ops.model import Primitive, PrimitiveParam
from .core_uses import names_of

Operand = core.Value  # without Call, If, Loop and Lambda; Var, SizeVar and the like name slots
# What a step gives: a slot, slots that a tuple is unpacked into, or nothing.
Output = str | tuple[str, ...]
# The slot that is a routine's result: what is put there is returned.
RESULT = "return"
Names = tuple[tuple[str, str], ...]  # Rx names with their slots


class StepBlock(Node):
    """Steps in order. What is in the slots `dead` is of no use from its beginning on."""

    steps: tuple[Step, ...]
    dead: tuple[str, ...] = ()


class StepMemory(Node):
    """Memory for a result that is allocated before it is computed, over slots; `in_rows` tells that it lies row by row."""

    dims: tuple[core.SizeExpr, ...]
    dtype: core.DTypeExpr
    in_rows: bool


class Compute(Placed):
    """`output = kernel(*inputs)`: a call of a primitive, with an operand for each of the row's parameters (None: its
    default). `known` is the result's shape, dtype and data. With `guard` the preconditions are checked first. `call` is
    the call as it is written. `last` are the slots that nothing reads any more. `into` is the dying input whose memory
    takes the result; `place` the memory of its own that it is put into, where a program says so."""

    row: Primitive
    inputs: tuple[Operand | None, ...]
    output: Output
    known: core.Known | None
    guard: bool
    call: core.Call
    last: tuple[str, ...] = ()
    into: str | None = None
    memory: StepMemory | None = None


class Invoke(Placed):
    """A call of a function of the program by its Rx name, or of the function value in a slot. `way` tells which entry is
    taken: `checked`, `decided` (its checks stand before the call), `value`, `extern`, or `list` (of implementations). Of a
    list `takes` has for each argument the name that it is given by, if any, and what primitives take it as. `sure`: it ends
    and cannot fail."""

    callee: str
    way: str
    inputs: tuple[Operand, ...]
    output: Output
    takes: tuple[tuple[str | None, PrimitiveParam | None], ...] = ()
    sure: bool = False
    last: tuple[str, ...] = ()


class Bind(Placed):
    """A size, a shape, a tuple, another name: an operand is evaluated. Unless it is `sure`, it is a tuple that may have another
    number of parts than there are slots."""

    value: Operand
    output: Output
    last: tuple[str, ...] = ()
    known: tuple[core.Known | None, ...] = ()  # of what a loop hands on
    sure: bool = True


class ReadSizes(Placed):
    """A tensor that is given for a size, for sizes (one may stand for all) or for a shape is read."""

    value: Operand
    kind: Literal["size", "sizes", "shape"]
    output: str
    last: tuple[str, ...] = ()


class StepCheck(Placed):
    """An assertion that stays: `cond` is its condition over slots. Of a callee's check that stands before its call, `call` is
    that call and `given` has the callee's parameters with the slots of their arguments. Of a loop's invariant `moment` is when
    it is claimed: `entry`, before the first turn, or `turn`, after each."""

    cond: core.BoolExpr
    check: core.Assert
    names: Names
    call: core.Call | None = None
    given: Names = ()
    moment: str = ""
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
    then: StepBlock
    orelse: StepBlock
    output: Output
    last: tuple[str, ...] = ()


class Closure(Placed):
    """A function value. `captured` are the slots of the routine around it that its body reads."""

    params: tuple[str, ...]
    body: StepBlock
    captured: tuple[str, ...]
    output: str
    last: tuple[str, ...] = ()


class Stack(Placed):
    """What a turn leaves in the slot `value` is put behind what the turns before left, in `output`. `number` is the number of
    turns that are done; `total` that of all, where it is known before the first. With `checked` the shape is compared with that
    of the first turn."""

    name: str
    value: str
    output: str
    number: core.SizeExpr
    total: core.SizeExpr | None
    checked: bool
    last: tuple[str, ...] = ()


class Stacked(Node):
    """The tensor that turns stack in the slot `output`; `shape` and `dtype` are what it has where no turn runs, None if nobody
    knows."""

    output: str
    shape: core.ShapeLit
    dtype: core.DTypeExpr | None


class LoopStep(Placed):
    """Turns of `body`. The slots `carries` hold their first values before the loop; after each turn they take, all at once,
    what the slots `following` hold, and behind the loop what the last turn gave. `index` counts the turns, or goes over
    `range`, and `name` is what the user calls it. `cond` are the steps before each turn, `test` is what decides then.

    `dropped` are the slots of a turn that end with it; see `number` and `total` for the number of turns as data. `known` is
    what checking knows of the index and the carries in a turn."""

    name: str | None
    index: str
    range: core.Range | None
    carries: tuple[str, ...]
    following: tuple[str, ...]
    cond: StepBlock
    test: core.BoolExpr | Operand | None
    body: StepBlock
    stacked: tuple[Stacked, ...]
    dropped: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    known: Mapping[str, core.Known] = {}


Step = Compute | Invoke | Bind | ReadSizes | StepCheck | Match | Branch | Closure | Stack | LoopStep


class Routine(Node):
    """What a function runs, under its Rx name; kind is the function's, or `script`. `entry` are the checks of its parameters,
    with what they bind; `body` puts its value into RESULT. `wrapped` are the parameters that are functions, each with the
    closure that checks what comes from outside at every call. `known` is what checking knows of slots that are bound by other
    steps than a Compute."""

    name: str
    span: Span
    kind: str
    params: tuple[str, ...]
    entry: tuple[Step, ...]
    body: StepBlock
    wrapped: tuple[tuple[str, Closure], ...] = ()
    known: Mapping[str, core.Known] = {}


class Around(Node):
    """A loop around a site, which lies in its body, or in its condition. `done` is how much of the list that the loop stands in
    lies before it, from 0 to 1, `share` how much of it the loop is."""

    loop: LoopStep
    is_condition: bool
    done: float
    share: float


class StepSite(Node):
    """A place of a program that is running: a step and the Rx function it stands in; `around` are the loops of that function
    around it, outermost first. `done` is how much of the innermost list of steps (the function's, or a turn's) lies before it,
    from 0 to 1, `share` how much of it the step is. `step` is None where a function calls its own checks. Where a part of a
    function was `outlined`, the site is that of the part, and what happens in it stands further in. `owner` is the wrapper of
    an implementation; `within` tells that a wrapper calls its own implementation there, which the user did not write."""

    function: str
    span: Span
    step: Step | None
    done: float = 0.0
    share: float = 1.0
    around: tuple[Around, ...] = ()
    outlined: bool = False
    owner: str | None = None
    within: bool = False

    @property
    def shown(self) -> str:
        """The function as the user calls it."""
        return self.owner or self.function


def number(span: Span, index: str, range_: core.Range | None) -> core.SizeExpr:
    """How many turns of a loop are done in the turn of an index."""
    done: core.SizeExpr = core.SizeVar(span, index)
    if range_ is None:
        return done
    if range_.start != core.SizeLit(span, 0):
        done = core.operation(span, "-", done, range_.start)
    return done if range_.step == core.SizeLit(span, 1) else core.operation(span, "//", done, range_.step)


def total(span: Span, range_: core.Range) -> core.SizeExpr:
    """How many turns a loop over a range has, if no condition ends it."""
    length = core.operation(span, "-", range_.stop, range_.start)
    return core.operation(span, "max", core.operation(span, "ceildiv", length, range_.step), core.SizeLit(span, 0))


def outputs(step: Step) -> tuple[str, ...]:
    """The slots that a step binds."""
    match step:
        case Compute(output=output) | Invoke(output=output) | Bind(output=output) | Branch(output=output):
            return output if isinstance(output, tuple) else (output,) if output else ()
        case ReadSizes(output=output) | Closure(output=output):
            return (output,)
        case Match(binds=binds):
            return binds
        case LoopStep(carries=carries, stacked=stacked):
            return (*carries, *(s.output for s in stacked))
        case StepCheck() | Stack():
            return ()
        case _:
            assert_never(step)


def asks(step: Step) -> bool:
    """Whether anything is checked in a step itself."""
    match step:
        case StepCheck():
            return True
        case Match(checked=checked) | Stack(checked=checked):
            return checked
        case Compute(guard=guard):
            return guard
        case Invoke() | Bind() | ReadSizes() | Branch() | Closure() | LoopStep():
            return False
        case _:
            assert_never(step)


def blocks(step: Step) -> tuple[StepBlock, ...]:
    """The lists of steps that a step holds and that run in the routine it stands in, in their order."""
    match step:
        case Branch(then=then, orelse=orelse):
            return then, orelse
        case LoopStep(cond=cond, body=body):
            return cond, body
    return ()


def with_blocks(step: Step, change: Callable[[StepBlock], StepBlock]) -> Step:
    """The step with another list in the place of each that it holds."""
    match step:
        case Branch(then=then, orelse=orelse):
            return replace(step, then=change(then), orelse=change(orelse))
        case LoopStep(cond=cond, body=body):
            return replace(step, cond=change(cond), body=change(body))
    return step


def reads(step: Step) -> set[str]:
    """The slots that a step reads itself, not those that its blocks read."""
    match step:
        case Compute(inputs=inputs, memory=memory):
            return names_of(inputs, memory)
        case Invoke(inputs=inputs):
            return names_of(inputs) | ({step.callee} if step.way == "value" else set())
        case Bind(value=value) | ReadSizes(value=value):
            return names_of(value)
        case StepCheck():
            return names_of(step.cond) | {slot for _, slot in (*step.names, *step.given)}
        case Match():
            return names_of(step.dims) - set(step.binds) | {step.tensor} | {slot for _, slot in step.names}
        case Branch(cond=cond):
            return names_of(cond)
        case Closure(captured=captured):
            return set(captured)
        case Stack(value=value, output=output):
            return names_of(step.number, step.total) | {value, output}
        case LoopStep():
            stacked = ((s.shape, s.dtype) for s in step.stacked)
            return names_of(step.range, step.test, *stacked) | {*step.carries, *step.following}


def every(block: StepBlock) -> Iterator[Step]:
    """All steps of a block and of the blocks in it, in their order."""
    pending = [*reversed(block.steps)]
    while pending:
        step = pending.pop()
        yield step
        for inner in reversed(blocks(step)):
            pending += reversed(inner.steps)


def inside(block: StepBlock) -> list[str]:
    """The slots from outside that a block reads, in order."""
    found: set[str] = set()
    bound: set[str] = set()
    for step in every(block):
        found |= reads(step)
        bound.update(outputs(step))
        if isinstance(step, LoopStep):
            bound.add(step.index)
    return sorted(found - bound)
