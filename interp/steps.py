"""A program as it runs: lists of steps over slots, which lowering makes of core and from which Python text is written.

A slot holds one value and is bound at one place of a routine (in each arm of a branch that gives it; a loop binds its carries
again after each turn). Slots are Python identifiers: `v_x` for the name `x`, `t1` for an unnamed value, `c_w` for the const
`w`, which every routine sees. An operand is a value of the core without effects, whose names are slots. A step that may fail
has the data of its message.
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
# The output of a step: a slot, slots that a tuple is unpacked into, or nothing.
Output = str | tuple[str, ...]
# The slot of a routine's result, which is returned.
RESULT = "return"
Names = tuple[tuple[str, str], ...]  # Rx names with their slots


class StepBlock(Node):
    """Steps in order. Nothing reads the slots `dead` from its beginning on."""

    steps: tuple[Step, ...]
    dead: tuple[str, ...] = ()


class StepMemory(Node):
    """Memory for a result that is allocated before it is computed, over slots; `in_rows`: it is row-major."""

    dims: tuple[core.SizeExpr, ...]
    dtype: core.DTypeExpr
    in_rows: bool


class Compute(Placed):
    """`output = kernel(*inputs)`: a call of a primitive, with an operand for each of the row's parameters (None: its
    default). `known` is the result's shape, dtype and data. With `guard` the preconditions are checked first. `call` is the
    call as written. `last` are the slots that nothing reads any more. `into` is the dying input whose memory takes the
    result; `memory` is the allocated memory for it, if the program allocates."""

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
    taken: `checked`, `decided` (its checks stand before the call), `value`, `extern`, or `list` (of implementations). For a
    list `takes` has each argument's name, if it is given by one, and the primitives' parameter for it. `sure`: it ends and
    cannot fail."""

    callee: str
    way: str
    inputs: tuple[Operand, ...]
    output: Output
    takes: tuple[tuple[str | None, PrimitiveParam | None], ...] = ()
    sure: bool = False
    last: tuple[str, ...] = ()


class Bind(Placed):
    """The value of an operand: a size, a shape, a tuple, another name. Unless it is `sure`, it is a tuple that may have
    another number of parts than there are slots."""

    value: Operand
    output: Output
    last: tuple[str, ...] = ()
    known: tuple[core.Known | None, ...] = ()  # of a loop's results
    sure: bool = True


class ReadSizes(Placed):
    """Reads a tensor that is given for a size, for sizes (one may stand for all) or for a shape."""

    value: Operand
    kind: Literal["size", "sizes", "shape"]
    output: str
    last: tuple[str, ...] = ()


class StepCheck(Placed):
    """An assertion that remains: `cond` is its condition over slots. For a callee's check before its call, `call` is that
    call and `given` has the callee's parameters with the slots of their arguments. For a loop's invariant `moment` is when it
    is claimed: `entry`, before the first turn, or `turn`, after each."""

    cond: core.BoolExpr
    check: core.Assert
    names: Names
    call: core.Call | None = None
    given: Names = ()
    moment: str = ""
    last: tuple[str, ...] = ()


class Match(Placed):
    """Matches a shape with a pattern over slots, some of which it binds; unless `checked`, the pattern is taken to fit."""

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
    """A function value. `captured` are the slots of the enclosing routine that its body reads."""

    params: tuple[str, ...]
    body: StepBlock
    captured: tuple[str, ...]
    output: str
    last: tuple[str, ...] = ()


class Stack(Placed):
    """Appends the value of a turn, in the slot `value`, to those of the turns before, in `output`. `number` is the number of
    finished turns; `total` that of all, if it is known before the first. With `checked` the shape is compared with that of
    the first turn."""

    name: str
    value: str
    output: str
    number: core.SizeExpr
    total: core.SizeExpr | None
    checked: bool
    last: tuple[str, ...] = ()


class Stacked(Node):
    """The tensor that turns stack in the slot `output`; `shape` and `dtype` are its type if no turn runs, None if unknown."""

    output: str
    shape: core.ShapeLit
    dtype: core.DTypeExpr | None


class LoopStep(Placed):
    """Turns of `body`. The slots `carries` hold their first values before the loop; after each turn they take, all at once,
    the values of the slots `following`, and keep the last ones after the loop. `index` counts the turns, or goes over
    `range`, and `name` is the user's name for it. `cond` are the steps before each turn, `test` decides then.

    `dropped` are the slots of a turn that end with it; see `number` and `total` for the number of turns as data. `known` has
    the facts of checking about the index and the carries in a turn.
    """

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
    """The steps of a function, under its Rx name; kind is the function's, or `script`. `entry` are the checks of its
    parameters, with their bindings; `body` puts its value into RESULT. `wrapped` are the parameters that are functions, each
    with the closure that checks the caller's function at every call. `known` has the facts of checking about slots that other
    steps than a Compute bind."""

    name: str
    span: Span
    kind: str
    params: tuple[str, ...]
    entry: tuple[Step, ...]
    body: StepBlock
    wrapped: tuple[tuple[str, Closure], ...] = ()
    known: Mapping[str, core.Known] = {}


class Around(Node):
    """A loop around a site, which lies in its body, or in its condition. `done` is the fraction of the enclosing list of
    steps that lies before the loop, from 0 to 1, `share` the fraction that is the loop."""

    loop: LoopStep
    is_condition: bool
    done: float
    share: float


class StepSite(Node):
    """A place of a running program: a step and its Rx function; `around` are the loops of that function around it, outermost
    first. `done` is the fraction of the innermost list of steps (the function's, or a turn's) that lies before it, from 0 to
    1, `share` the fraction that is the step. `step` is None if a function calls its own checks. If a part of a function was
    `outlined`, the site is that of the part, and the sites in it come further in. `owner` is the wrapper of an
    implementation; `within`: a wrapper calls its own implementation here, which the user did not write."""

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
    """The number of finished turns of a loop, by its index."""
    done: core.SizeExpr = core.SizeVar(span, index)
    if range_ is None:
        return done
    if range_.start != core.SizeLit(span, 0):
        done = core.operation(span, "-", done, range_.start)
    return done if range_.step == core.SizeLit(span, 1) else core.operation(span, "//", done, range_.step)


def total(span: Span, range_: core.Range) -> core.SizeExpr:
    """The number of turns of a loop over a range, if no condition ends it."""
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
    """Whether a step itself checks anything."""
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
    """The lists of steps in a step that run in its routine, in order."""
    match step:
        case Branch(then=then, orelse=orelse):
            return then, orelse
        case LoopStep(cond=cond, body=body):
            return cond, body
    return ()


def with_blocks(step: Step, change: Callable[[StepBlock], StepBlock]) -> Step:
    """Return the step with each of its lists changed."""
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
    """All steps of a block and of the blocks in it, in order."""
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
