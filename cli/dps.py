"""Shape programs and data programs as text, for `rx desugar --dps` and `rx shapes --program`.

Slots have their names in the program. A shape program takes a shape apart with `match_shape_2` and makes one with
`build_shape_2`; a data program allocates results with `alloc_buffer` and `alloc_tensor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from ..interp import dps
from ..interp.allocation import VIEWS
from ..interp.names import unmangled
from ..interp.steps import (
    RESULT,
    Bind,
    Branch,
    Closure,
    Compute,
    Invoke,
    LoopStep,
    Match,
    Output,
    ReadSizes,
    Stack,
    Step,
    StepBlock,
    StepCheck,
    StepMemory,
)
from ..lang import core
from ..lang.core_printer import print_expr
from ..lang.dtypes import DTYPES
from ..lang.formats import Object
from ..lang.node import Node, replace
from ..lang.source import NOWHERE
from ..lang.walk import rewrite
from ..simplify.solver.exprs import ExpressionError, QuestionScope, read_size
from ..simplify.solver.rendering import render

Lines = Iterator[str]


def print_pair(pair: dps.Pair) -> str:
    return f"{print_shape_program(pair)}\n\n{_Data(pair).text()}"


def print_shape_program(pair: dps.Pair) -> str:
    """The shape program: its assertions and shapes on entry, then the stages that the data program starts."""
    shown = _Names(pair)
    head = f"@{pair.data.name}_shape = fn({', '.join(f'{shown.name(p)}{s}' for p, s in _parameters(pair))}) {{"
    stages = [line for stage in pair.stages for line in _stage(pair, stage, shown)]
    return "\n".join((head, *(f"  {line}" for line in stages), "}"))


def stages(pair: dps.Pair) -> list[Object]:
    """The shape program as data: for each stage its start, its bindings and its shapes."""
    shown = _Names(pair)
    found: list[Object] = []
    for stage in pair.stages:
        matched = [{"tensor": shown.name(slot), "sizes": names} for slot, names in shown.matched(stage).items()]
        bound = [{"name": shown.name(slot), "value": shown.value(value)} for slot, value in stage.sizes]
        built = [_built_object(b, shown) for b in stage.built]
        when = None if stage.is_entry_check else _when(stage, shown)
        found.append({"when": when, "match": matched, "sizes": bound, "shapes": built})
    return found


def _built_object(built: dps.Built, shown: _Names) -> Object:
    dims = None if built.dims is None else [None if d is None else shown.size(d) for d in built.dims]
    return {
        "name": None if built.slot == RESULT else shown.name(built.slot),
        "shape": dims,
        "dtype": shown.value(built.dtype) if built.dtype is not None else None,
    }


def _parameters(pair: dps.Pair) -> Iterator[tuple[str, str]]:
    """The slots of parameters that are tensors or sizes."""
    for slot in pair.data.params:
        sort = _sort(pair.data.known.get(slot)).replace("Tensor", "Shape")
        if sort:
            yield slot, sort


def _stage(pair: dps.Pair, stage: dps.Stage, shown: _Names) -> Lines:
    if not stage.is_entry_check:
        yield f"# {_when(stage, shown)}:"
    for slot, names in shown.matched(stage).items():
        yield f"let ({', '.join(names)}) = match_shape_{len(names)}({shown.name(slot)})"
    for step in pair.data.entry if stage.is_entry_check else ():
        if isinstance(step, StepCheck) and _is_of_sizes(step.cond):
            yield f"assert {shown.value(step.cond)}"
    for slot, value in stage.sizes:
        name, text = shown.name(slot), shown.value(value)
        yield from (f"let {name} = {text}",) if name != text else ()
    yield from (_built(built, shown) for built in stage.built)


def _when(stage: dps.Stage, shown: _Names) -> str:
    """The condition under which a stage starts."""
    inside = [f"in each turn of the loop in line {s.span.line}" for s in stage.around if isinstance(s, LoopStep)]
    inside += [f"in an arm of the `if` in line {s.span.line}" for s in stage.around if isinstance(s, Branch)]
    inside += [f"in each call of the function in line {s.span.line}" for s in stage.around if isinstance(s, Closure)]
    if stage.after is not None:
        output = stage.after.output if isinstance(stage.after, Compute | Bind | Invoke | Branch | ReadSizes) else ()
        what = shown.target(output) if output else "the loop"
        inside.append(f"when {what} is there (line {stage.after.span.line})" if output else f"behind {what}")
    return ", ".join(inside)


def _built(built: dps.Built, shown: _Names) -> str:
    what = "out" if built.slot == RESULT else shown.name(built.slot)
    if built.dims is None:
        return f"# {what}: its shape is known when it is there"
    sizes = ", ".join("?" if d is None else shown.size(d) for d in built.dims)
    whole = [d for d in built.dims if d is not None]
    if len(whole) < len(built.dims) or built.dtype is None:
        return f"# {what}: [{sizes}], the rest is known when it is there"
    text = f"build_shape_{len(whole)}({', '.join((what, *map(shown.size, whole)))})"
    return f"{text}  # {shown.value(built.dtype)}, {shown.bytes(whole, built.dtype)} bytes"


def _is_of_sizes(cond: core.BoolExpr) -> bool:
    """Whether a condition is about sizes and more than a rank."""
    match cond:
        case core.Compare(left=left, right=right):
            return (
                isinstance(left, core.SizeExpr)
                and not isinstance(left, core.RankOf)
                and isinstance(right, core.SizeExpr)
            )
        case core.Logic(left=left, right=right):
            return _is_of_sizes(left) and _is_of_sizes(right)
        case core.Not(operand=operand):
            return _is_of_sizes(operand)
        case core.BoolConst() | core.BoolVar() | core.InClass():
            return False
        case _:
            assert_never(cond)


class _Names:
    """The names of slots; matched sizes have the names of their matches."""

    def __init__(self, pair: dps.Pair) -> None:
        self.pair = pair
        self.dims: dict[tuple[str, int], str] = {}
        bound = [slot for stage in pair.stages for slot, value in stage.sizes if isinstance(value, core.SizeVar)]
        sizes = [slot for slot, known in pair.data.known.items() if known.shape is None and known.data is not None]
        self.signed = set(map(self.name, (*bound, *sizes)))

    def name(self, slot: str) -> str:
        if slot.startswith("z_"):
            return unmangled(slot.replace("z_", "v_", 1))
        return f"s{slot[1:]}" if slot.startswith("z") else unmangled(slot.replace("c_", "v_", 1))

    def target(self, output: Output) -> str:
        return self.name(output) if isinstance(output, str) else f"({', '.join(map(self.name, output))})"

    def matched(self, stage: dps.Stage) -> dict[str, list[str]]:
        """The tensors that a stage takes apart, with a name for each axis."""
        own = {value: slot for slot, value in stage.sizes if isinstance(value, core.DimOf)}
        found: dict[str, list[str]] = {}
        for slot, rank in stage.matched:
            axes = [core.DimOf(NOWHERE, slot, axis) for axis in range(rank)]
            found[slot] = [self.name(own[a]) if a in own else f"{self.name(slot)}_{a.axis}" for a in axes]
            self.dims.update({(slot, i - at): n for i, n in enumerate(found[slot]) for at in (0, rank)})
        return found

    def value(self, value: core.Value) -> str:
        if isinstance(value, core.SizeExpr):
            return self.size(value)
        return print_expr(rewrite(value, self._renamed))

    def _renamed(self, node: Node) -> Node:
        if isinstance(node, core.DimOf) and (node.tensor, node.axis) in self.dims:
            return core.SizeVar(node.span, self.dims[node.tensor, node.axis])
        if isinstance(node, core.Variable | core.Splice):
            return replace(node, name=self.name(node.name))
        if isinstance(node, core.RankOf | core.DimOf | core.ShapeOf | core.DTypeOf):
            return replace(node, tensor=self.name(node.tensor))
        return node

    def size(self, size: core.SizeExpr) -> str:
        """A size in the solver's normal form if it uses only names; a name that is not an extent may be negative."""
        text = print_expr(rewrite(size, self._renamed))
        try:
            return render(read_size(text, QuestionScope(frozenset(self.signed))))
        except ExpressionError:
            return text

    def bytes(self, dims: Iterable[core.SizeExpr], dtype: core.DTypeExpr) -> str:
        if isinstance(dtype, core.DTypeLit):
            return self.size(dps.bytes_of(dims, dtype.dtype))
        return f"{self.size(dps.bytes_of(dims, DTYPES['int8']))} * {self.value(dtype)}.itemsize"


class _Data:
    """Prints a data program."""

    def __init__(self, pair: dps.Pair) -> None:
        self.pair = pair
        self.shown = _Names(pair)
        self.sizes = {slot for stage in pair.stages for slot, _ in stage.sizes}
        # For each slot, the slot whose memory it uses; for each memory, the slots that use it.
        self.memories: dict[str, str] = {}
        self.holders: dict[str, set[str]] = {}

    def text(self) -> str:
        data = self.pair.data
        params = [f"{self.shown.name(p)}{_sort(data.known.get(p))}" for p in data.params]
        promises = (f"assert {self.shown.value(check.cond)}" for check in self.pair.promises)
        body = [f"  {line}" for line in (*self.lines(data.body), *promises)]
        return "\n".join((f"@{data.name}_data = fn({', '.join(params)}) {{", *body, "}"))

    def lines(self, block: StepBlock) -> Lines:
        for step in block.steps:
            if not isinstance(step, Bind) or step.output not in self.sizes:  # the others are in the shape program
                yield from self.step(step)
                yield from self.freed(step)

    def freed(self, step: Step) -> Lines:
        """Free the memory that no slot uses any more."""
        output = getattr(step, "output", None)
        for slot in step.last if output != RESULT else ():
            memory = self.memories.get(slot, "")
            holders = self.holders.get(memory, set())
            holders.discard(slot)
            if memory and not holders:
                yield f"free({self.shown.name(memory)})"

    def step(self, step: Step) -> Lines:
        shown = self.shown
        match step:
            case Compute():
                yield from self.compute(step)
            case Invoke(callee=callee, inputs=inputs, output=output):
                name = shown.name(callee) if step.way == "value" else f"@{callee}"
                yield self.bound(output, f"{name}({', '.join(map(shown.value, inputs))})")
            case Bind(value=value, output=output):
                yield self.bound(output, shown.value(value))
            case ReadSizes(value=value, output=output):
                yield self.bound(output, f"@item({shown.value(value)})")
            case StepCheck(cond=cond):
                yield f"assert {shown.value(cond)}"
            case Match(tensor=tensor, binds=binds, dims=dims):
                parts = (shown.value(d) if not isinstance(d, core.Splice) else f"*{shown.name(d.name)}" for d in dims)
                yield f"match_shape({shown.name(tensor)}, [{', '.join(map(shown.name, binds))}], [{', '.join(parts)}])"
            case Branch(cond=cond, then=then, orelse=orelse):
                yield from self.nested(f"if ({shown.value(cond)}) {{", then, "} else {")
                yield from self.nested("", orelse, "}")
            case Closure(params=params, body=body, output=output):
                head = f"fn({', '.join(map(shown.name, params))}) {{"
                yield from self.nested(f"let {shown.name(output)} = {head}", body, "}")
            case Stack(value=value, output=output, number=number):
                yield f"{shown.name(output)}[{shown.value(number)}] = {shown.name(value)}"
            case LoopStep():
                yield from self.loop(step)
            case _:
                assert_never(step)

    def bound(self, output: Output, text: str) -> str:
        if output == RESULT or not output:
            return text
        return f"let {self.shown.target(output)} = {text}"

    def nested(self, head: str, block: StepBlock, end: str) -> Lines:
        yield from (head,) if head else ()
        yield from (f"  {line}" for line in self.lines(block))
        yield end

    def loop(self, step: LoopStep) -> Lines:
        shown, range_ = self.shown, step.range
        carries = ", ".join(
            f"{shown.name(c)} -> {shown.name(f)}" for c, f in zip(step.carries, step.following, strict=True)
        )
        limits = () if range_ is None else map(shown.value, (range_.start, range_.stop, range_.step))
        turns = "while" if range_ is None else f"for {shown.name(step.index)} in range({', '.join(limits)})"
        ends = () if step.test is None else (f"break unless {shown.value(step.test)}",)
        yield f"{turns} with ({carries}) {{"
        yield from (f"  {line}" for line in (*self.lines(step.cond), *ends, *self.lines(step.body)))
        yield "}"

    def compute(self, step: Compute) -> Lines:
        """The call of a kernel: into new memory, into an operand's memory, or as a view of an operand."""
        given = zip(step.row.params, step.inputs, strict=True)
        words = [
            shown if p.required else f"{p.name}={shown}"
            for p, v in given
            if v is not None
            for shown in (self.shown.value(v),)
        ]
        name = "out" if step.output == RESULT else self.shown.target(step.output)
        if step.memory is not None:
            yield f"let {name} = {self.memory(step.memory)}"
            yield f"@{step.row.name}({', '.join((*words, f'out={name}'))})"
        else:
            words += [f"out={self.shown.name(step.into)}"] if step.into is not None else []
            note = "  # a view" if VIEWS.get(step.row.name) == "always" else ""
            yield f"let {name} = @{step.row.name}({', '.join(words)}){note}"
        if isinstance(step.output, str):
            held = step.into or next(
                (v.name for v in step.inputs if isinstance(v, core.Var) and step.memory is None), step.output
            )
            memory = self.memories[step.output] = self.memories.get(held, held if step.memory is not None else "")
            self.holders.setdefault(memory, set()).add(step.output)
        if step.output == RESULT:
            yield name

    def memory(self, memory: StepMemory) -> str:
        dims = ", ".join(map(self.shown.size, memory.dims))
        dtype = self.shown.value(memory.dtype)
        return f"alloc_tensor(alloc_buffer({self.shown.bytes(memory.dims, memory.dtype)}), [{dims}], {dtype})"


def _sort(known: core.Known | None) -> str:
    if known is None:
        return ""
    return " : Size" if known.shape is None and known.data is not None else " : Tensor"
