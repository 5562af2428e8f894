"""From routines to Python source text: one line per step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from ..lang import core
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..ops.model import PrimitiveParam
from . import allocation
from .generated import GeneratedModule, numpy_function
from .guards import make_guard
from .kernels import registry as kernels
from .names import mangle
from .shape_text import ShapeTexts, tuple_text
from .steps import (
    RESULT,
    Around,
    Bind,
    Branch,
    Closure,
    Compute,
    Invoke,
    LoopStep,
    Match,
    Operand,
    Output,
    ReadSizes,
    Stack,
    Stacked,
    Step,
    StepBlock,
    StepCheck,
    StepMemory,
    StepSite,
    inside,
    outputs,
)

# Python takes a hundred levels of indentation, and twenty of loops; deeper code is outlined.
DEEPEST = 40
DEEPEST_LOOPS = 16
_PREFIXES = {"checked": "f_", "decided": "b_", "extern": "x_", "list": "f_"}
_HOSTED = {"checked": "h_", "decided": "i_", "extern": "x_", "list": "h_"}
# A product with at most so many elements is faster to compute than to examine.
_SMALL = 1 << 10
_MINUS_ONE = core.SizeLit(NOWHERE, -1)


class RoutineText(ShapeTexts):
    """Writes one Python function, whose header is written already."""

    def __init__(self, unit: GeneratedModule, function: str, indent: int = 1, places: Sequence[Step] = ()) -> None:
        super().__init__(unit)
        self.function, self.indent = function, indent
        # The local of a plan's answer, for each step that has one.
        self.answers = {id(step): f"p{number}" for number, step in enumerate(places)}
        # The fraction of the list of steps before this one, and the fraction that is this one.
        self.done, self.share = 0.0, 1.0
        self.around: tuple[Around, ...] = ()
        # The slots of kernels' results: none of them is a constant.
        self.made: set[str] = set()

    def write(self, text: str, step: Step | None = None, *, outlined: bool = False) -> None:
        self.unit.write(self.indent, text, self._site(step, outlined) if step is not None else None, self.locals)

    def _site(self, step: Step, outlined: bool = False) -> StepSite:
        owners = self.unit.owners
        within = isinstance(step, Invoke) and owners.get(step.callee) == self.function
        return StepSite(
            self.function,
            step.span,
            step,
            self.done,
            self.share,
            self.around,
            outlined,
            owners.get(self.function),
            within,
        )

    # Steps

    def routine(self, steps: Sequence[Step]) -> None:
        """Write the steps of a routine's body, or of a turn; those that compute something count as work."""
        work = [isinstance(step, Compute | Invoke | Branch | LoopStep) for step in steps]
        whole, before = sum(work) or 1, 0
        for step, works in zip(steps, work, strict=True):
            self.done, self.share = before / whole, works / whole
            self.step(step)
            before += works

    def block(self, block: StepBlock) -> None:
        self._release(block.dead)
        for step in block.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        match step:
            case Compute():
                self._finish(step, self.compute(step))
                if isinstance(step.output, str) and step.row.name in allocation.FRESH:
                    self.made.add(step.output)
            case Invoke():
                given = map(self._listed, step.takes, step.inputs) if step.takes else map(self.operand, step.inputs)
                self._finish(step, f"{self._callee(step)}({', '.join(given)})")
            case Bind(value=value):
                answer, text = self.answers.get(id(step)), self.operand(value)
                self._finish(step, f"{text} if {answer} is None else {answer}" if answer else text)
            case ReadSizes(value=value, kind=kind):
                self._finish(step, f"as_{kind}({self.operand(value)})")
            case StepCheck(cond=cond):
                self._count(step)
                self.write(f"if {self._open(step)}{self.negated(cond)}: raise Failed", step)
                self._release(step.last)
            case Match():
                self._match(step)
            case Branch():
                self._branch(step)
            case Closure():
                self._closure(step)
            case Stack():
                self._stack(step)
            case LoopStep():
                self._loop(step)
            case _:
                assert_never(step)

    def _finish(self, step: Compute | Invoke | Bind | ReadSizes, text: str) -> None:
        """Write the line that puts a text's value into the step's output. A result takes the local of an operand that
        ends."""
        output, last = step.output, list(step.last)
        if output == RESULT:
            self.write(f"return {text}", step)
            return
        if isinstance(output, str) and output not in self.locals:
            ending = [slot for slot in last if slot != output]
            if ending and output:
                self.locals[output] = self.local(ending[0])
                last.remove(ending[0])
        target = self.target(output)
        if target != f"{text} = ":
            self.write(f"{target}{text}{self._released(last)}", step)
        else:  # it is there already
            self._release(last)

    def target(self, output: Output) -> str:
        if isinstance(output, str):
            return f"{self.local(output)} = " if output else ""
        return "".join(f"{self.local(slot)}, " for slot in output).rstrip() + " = "

    def _released(self, slots: Sequence[str]) -> str:
        return f"; del {', '.join(map(self.local, slots))}" if slots else ""

    def _release(self, slots: Sequence[str]) -> None:
        if slots:
            self.write(f"del {', '.join(map(self.local, slots))}")

    def _callee(self, step: Invoke) -> str:
        """The callee's text: a function value, a plan's choice, or the entry of a function."""
        if step.way == "value":
            return self.local(step.callee)
        if id(step) in self.answers:
            return self.answers[id(step)]
        ways = _HOSTED if self.unit.hosts(step.callee) else _PREFIXES
        return ways[step.way] + mangle(step.callee)

    def _count(self, step: Step) -> None:
        if self.unit.tally is not None:
            answer, counting = self.answers.get(id(step)), f"ran[{self.unit.tally.place(step)}] += 1"
            self.write(f"if {answer}: {counting}" if answer else counting)

    def _open(self, step: Step) -> str:
        """The text before a condition that a plan may have decided."""
        return f"{self.answers[id(step)]} and " if id(step) in self.answers else ""

    # Branches

    def _branch(self, step: Branch) -> None:
        for slot in (step.output,) if isinstance(step.output, str) else step.output:
            self.locals.setdefault(slot, slot)
        test = self.boolean(step.cond) if isinstance(step.cond, core.BoolExpr) else self.operand(step.cond)
        self.write(f"if {test}:", step)
        self._arm(step, step.then)
        self.write("else:")
        self._arm(step, step.orelse)

    def _arm(self, step: Branch, block: StepBlock) -> None:
        self.indent += 1
        self._release(step.last)
        if self.indent > DEEPEST:
            self._outlined(step, block, inside(block), step.output)
        else:
            self.block(block)
        if not block.steps:
            self.write("pass")
        self.indent -= 1

    def _outlined(self, step: Step, block: StepBlock, given: Sequence[str], output: Output) -> None:
        """Call a function of its own for code that Python cannot indent any further; it is written later."""
        name = self.unit.outlined_name()
        call = f"{name}({', '.join(map(self.local, given))})"
        self.write(f"return {call}" if output == RESULT else f"{self.target(output)}{call}", step, outlined=True)

        def write() -> None:
            self.unit.write(0, f"def {name}({', '.join(given)}):")
            text = RoutineText(self.unit, self.function)
            text.block(block)
            if output != RESULT:
                text.write(f"return {tuple_text(output) if isinstance(output, tuple) else output or None}")

        self.unit.later.append(write)

    # Loops

    def _loop(self, step: LoopStep) -> None:
        """Write turns; in a function of their own if Python cannot nest them any further."""
        if self.indent > DEEPEST or len(self.around) >= DEEPEST_LOOPS:
            given = [*inside(StepBlock((step,))), *step.carries]
            self._outlined(step, StepBlock((replace(step, last=()),)), list(dict.fromkeys(given)), outputs(step))
        else:
            self._turns(step)
        self._release(step.last)

    def _turns(self, step: LoopStep) -> None:
        buffered = step.range is not None and step.test is None
        for stacked in step.stacked:
            self.write(f"{self.local(stacked.output)} = {None if buffered else '[]'}")
        place, begin = (self.done, self.share), self.around
        self._enter(Around(step, True, *place), begin)
        self.write(f"for {self.local(step.index)} in {self._range(step.range)}:", step)
        self.indent += 1
        self.routine(step.cond.steps)
        if step.test is not None:
            test = step.test
            ends = self.negated(test) if isinstance(test, core.BoolExpr) else f"not {self.operand(test)}"
            self.write(f"if {ends}: break", step)
        self._enter(Around(step, False, *place), begin)
        written = len(self.unit.lines)
        self._release(step.body.dead)
        self.routine(step.body.steps)
        self._carry(step)
        if len(self.unit.lines) == written:
            self.write("pass")
        self.indent -= 1
        (self.done, self.share), self.around = place, begin
        for stacked in step.stacked:
            self._stacked(step, stacked, buffered=buffered)

    def _enter(self, around: Around, outside: tuple[Around, ...]) -> None:
        self.around = (*outside, around)
        self.done, self.share = 0.0, 1.0

    def _range(self, range_: core.Range | None) -> str:
        if range_ is None:
            return "count()"
        start, stop, step = map(self.size, (range_.start, range_.stop, range_.step))
        if step == "1":
            return f"range({stop})" if start == "0" else f"range({start}, {stop})"
        return f"range({start}, {stop}, {step})"

    def _carry(self, step: LoopStep) -> None:
        """Assign the next values to the carries after a turn, all at once."""
        pairs = [(self.local(c), self.local(f)) for c, f in zip(step.carries, step.following, strict=True)]
        moved = [(carry, value) for carry, value in pairs if carry != value]
        left = {self.local(slot) for slot in step.dropped} - {carry for carry, _ in pairs}
        released = f"; del {', '.join(sorted(left))}" if left else ""
        if moved:
            self.write(f"{', '.join(c for c, _ in moved)} = {', '.join(v for _, v in moved)}{released}", step)

    def _stack(self, step: Stack) -> None:
        """Put a turn's value into one buffer, which the first turn makes, or into a list that grows."""
        buffer, value = self.local(step.output), self.local(step.value)
        if step.checked:
            self._count(step)
        if step.total is None:
            if step.checked:
                self.write(f"if {buffer} and {value}.shape != {buffer}[0].shape: raise Failed", step)
            self.write(f"{buffer}.append(owned({value}))", step)
        else:
            self.write(f"if {buffer} is None: {buffer} = buffer_for({self.size(step.total)}, {value})", step)
            if step.checked:
                self.write(f"elif {value}.shape != {buffer}.shape[1:]: raise Failed", step)
            self.write(f"{buffer}[{self.size(step.number)}] = {value}", step)
        self._release(step.last)

    def _stacked(self, step: LoopStep, stacked: Stacked, *, buffered: bool) -> None:
        """Make one tensor of the turns' values; without turns it has the declared shape."""
        buffer, shape = self.local(stacked.output), self.shape(stacked.shape)
        dtype = None if stacked.dtype is None else self.dtype(stacked.dtype)
        if buffered:
            self.write(f"if {buffer} is None: {buffer} = stacked({shape}, {dtype})", step)
        else:
            self.write(f"{buffer} = stacked({shape}, {dtype}, {buffer})", step)

    # Closures

    def _closure(self, step: Closure) -> None:
        """Write a Python function inside this one; the outside slots that it uses are bound when it is made."""
        captured = [f"{slot}={self.local(slot)}" for slot in step.captured]
        params = ", ".join((*step.params, *(["*", *captured] if captured else ())))
        self.write(f"def {self.local(step.output)}({params}):")
        RoutineText(self.unit, self.function, self.indent + 1).routine(step.body.steps)
        self._release(step.last)

    # Patterns

    def _match(self, step: Match) -> None:
        whole = f"{self.local(step.tensor)}_s"
        fits, binds, tests = self.pattern(step, whole)
        self.write(f"{whole} = {self.local(step.tensor)}.shape")
        if step.checked:
            self._count(step)
            self.write(f"if {self._open(step)}not ({fits}): raise Failed", step)
        for slot, text in binds:
            self.write(f"{slot} = {text}")
        if step.checked and tests:
            self.write(f"if {self._open(step)}not ({' and '.join(tests)}): raise Failed", step)
        self._release(step.last)

    # Operands

    def operand(self, v: Operand) -> str:
        match v:
            case core.Var(name=slot):
                return self.local(slot)
            case core.FnRef(name=name):
                return self.unit.function_value(name)
            case core.Number(value=value):
                return self._number(value)
            case core.TupleValue(items=items):
                return tuple_text(map(self.operand, items))
            case core.ListValue(items=items):
                return f"[{', '.join(map(self.operand, items))}]"
            case core.Text(value=text):
                return repr(text)
            case core.TensorLit() | core.Load() | core.Call() | core.If() | core.Loop() | core.Lambda():
                raise TypeError(f"not an operand: {v!r}")
        return self.shape_level(v)

    def _number(self, value: int | float | bool) -> str:
        """A literal that stands alone: int64, float64 or bool."""
        dtype = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
        return self.unit.constant(("number", dtype, repr(value)), lambda: numpy_function(dtype)(value))

    def compute(self, step: Compute) -> str:
        """The call of a primitive's kernel; the check of its preconditions is written before it."""
        row, inputs = step.row, step.inputs
        texts = list(map(self._argument, row.params, inputs))
        if step.guard:
            self._guard(step, texts)
        if self.unit.direct and row.name in kernels.METHODS and texts[0].isidentifier() and "WILDCARD" not in texts[-1]:
            return kernels.METHODS[row.name].format(*texts[:-1], _one_by_one(texts[-1], inputs[-1]))
        return self._kernel_call(step, texts)

    def _guard(self, step: Compute, texts: list[str]) -> None:
        """Write the check of the preconditions, unless a plan has decided it."""
        self._count(step)
        name = step.row.name
        literals = tuple(i for i, v in enumerate(step.inputs) if isinstance(v, core.Number))
        guard = self.unit.constant(("guard", name, literals), lambda: make_guard(name, literals))
        answer = self.answers.get(id(step))
        self.write(f"{f'if {answer}: ' if answer else ''}{guard}({', '.join(texts)})", step)

    def _kernel_call(self, step: Compute, texts: list[str]) -> str:
        """The call itself: with the operand that it may write into, or with memory allocated for it."""
        row, inputs = step.row, step.inputs
        into = step.into if self.unit.reuse else None
        ufunc = kernels.is_ufunc(row.name)
        plain = all(v is None for p, v in zip(row.params, inputs, strict=True) if not p.required)
        plain = plain and (ufunc or into is None) and not self._is_weighed(step)
        kernel = self.unit.kernel(row, plain=plain)
        if kernel.startswith("np_"):
            texts = [t for p, t in zip(row.params, texts, strict=True) if p.required]
            texts += [self.local(into)] if into is not None else []
            if step.memory is not None and step.memory.in_rows and ufunc:
                return f"{kernel}({', '.join(texts)}, out={self._memory(step.memory)})"
            texts += ["order='C'"] if self._is_stack(step) else []
        elif into is not None and (self.unit.out or not ufunc):
            texts.append(f"out={self.local(into)}")
        call = f"{kernel}({', '.join(texts)})"
        return call if step.memory is None else f"placed({self._memory(step.memory)}, {call})"

    def _memory(self, memory: StepMemory) -> str:
        """The text that allocates memory for a result."""
        size = " * ".join(map(self.size, memory.dims))
        shape, dtype = tuple_text(map(self.size, memory.dims)), self.dtype(memory.dtype)
        return f"alloc_tensor(alloc_buffer({size}, {dtype}), {shape}, {dtype})"

    def _is_weighed(self, step: Compute) -> bool:
        """Whether it is a product whose right operand may be a constant, and large enough to choose a method for."""
        right, shape = step.inputs[-1], step.known.shape if step.known is not None else None
        if step.row.name not in kernels.WEIGHED or (isinstance(right, core.Var) and right.name in self.made):
            return False
        sizes = [d.value for d in shape or () if isinstance(d, core.SizeLit)]
        return shape is None or len(sizes) < len(shape) or math.prod(sizes) > _SMALL

    def _is_stack(self, step: Compute) -> bool:
        """Whether NumPy chooses the memory order of a result of several matrices, unless it is told."""
        shape = step.known.shape if step.known is not None else None
        return allocation.FRESH.get(step.row.name) == "matrix" and shape is not None and len(shape) > 2

    def _listed(self, takes: tuple[str | None, PrimitiveParam | None], v: Operand) -> str:
        """One argument of a list of implementations."""
        name, param = takes
        text = self._items(v) if param is None else self._argument(param, v)
        return f"{name}={text}" if name else text

    def _argument(self, param: PrimitiveParam, v: Operand | None) -> str:
        """One argument as the kernel takes it."""
        if v is None:
            return self._literal(param.default)
        is_shape = param.kind in ("ints", "sizes", "shape", "target")
        if isinstance(v, core.Number):
            literal = self._literal(float(v.value) if param.kind == "float" else v.value)
            return f"({literal},)" if is_shape else literal
        if param.kind == "target" and isinstance(v, core.ShapeLit):
            return tuple_text("WILDCARD" if d == _MINUS_ONE else self.dim(d) for d in v.dims)
        if is_shape and isinstance(v, core.SizeExpr):
            return f"({self.size(v)},)"
        if is_shape and isinstance(v, core.ListValue):
            return tuple_text(self._argument(_SIZE, item) for item in v.items)
        if param.kind in ("tensors", "pairs") and isinstance(v, core.ListValue | core.TupleValue):
            return self._items(v)
        return self.operand(v)

    def _items(self, v: Operand) -> str:
        if isinstance(v, core.ListValue | core.TupleValue):
            return tuple_text(map(self._items, v.items))
        return self._literal(v.value) if isinstance(v, core.Number) else self.operand(v)

    def _literal(self, value: object) -> str:
        """A Python scalar: weakly typed by NumPy's rules."""
        if isinstance(value, float) and not math.isfinite(value):
            return self.unit.constant(("float", repr(value)), lambda: value)
        return repr(value)


def _one_by_one(text: str, sizes: Operand | None) -> str:
    """The text of sizes without the parentheses of their tuple, which is faster, if all of them are listed."""
    listed = isinstance(sizes, core.ShapeLit) and sizes.dims and not any(isinstance(d, core.Splice) for d in sizes.dims)
    return text[1:-1] if listed else text


_SIZE = PrimitiveParam("", "size")
