"""Routines followed to nodes of ONNX, over sizes that are known when the model runs. Decisions that depend on such a size,
and steps without nodes in ONNX, are reported with their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import assert_never

import numpy as np
from onnx import helper

from ...lang import codes, core
from ...lang.diagnostics import Diagnostic, error
from ...lang.dtypes import DTYPES, DType
from ...lang.source import Span
from ...ops import registry as rows
from ...ops.model import Primitive, TensorInfo
from ...sizes.integers import Undefined
from ...sizes.partial import Open
from .. import partial_sizes
from ..by_shapes import asked, pairs
from ..dtypes import dtype_of
from ..engine_types import EngineArray, EngineSize, RunValue
from ..follow import Follower, MadeFunction
from ..guards import Violation
from ..names import unmangled
from ..steps import (
    Compute,
    Invoke,
    Match,
    ReadSizes,
    Routine,
    Step,
    StepCheck,
    asks,
)
from . import onnx_models, onnx_positions, onnx_windows  # noqa: F401 - they add kernels
from .onnx_graph import Graph, elem_type
from .onnx_kernels import FAR, KERNELS, Emit
from .symbolic import Dim, Dims, SymbolicCtx, Truth, both, compared, negated
from .table import Engine, Refused, Turn


class ModelTensor(TensorInfo[RunValue]):
    """A tensor of the model, with its value's name."""

    value: str = ""


def value_info(name: str, value: RunValue) -> RunValue:
    """The declaration of a value of a subgraph: only sizes that are numbers are declared."""
    dtype, shape = (value.dtype, value.shape) if isinstance(value, ModelTensor) else (_dtype(value), ())
    assert isinstance(dtype, DType)
    return helper.make_tensor_value_info(name, elem_type(dtype), [d if isinstance(d, int) else None for d in shape])


def _dtype(value: RunValue) -> DType:
    return DTYPES["bool" if isinstance(value, bool | Truth) else "int64"]


class Untraced(Exception):
    """A step that cannot be written: why, and where."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


class RoutineSlots:
    """The values in the slots of a routine, and the program's own tensors."""

    def __init__(self, tracing: Tracing, slots: dict[str, RunValue]) -> None:
        self.tracing = tracing
        self.slots = slots

    def get(self, slot: str) -> RunValue:
        return self.slots[slot] if slot in self.slots else self.tracing.const(slot)

    def bind(self, slot: str, value: RunValue) -> None:
        self.slots[slot] = value

    def branched(self) -> RoutineSlots:
        return RoutineSlots(self.tracing, dict(self.slots))


class OnnxEngine(Engine):
    """The kernels that write one model. With `guarded` those of images first check whether there are any elements."""

    name = "onnxruntime"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.guarded = False
        self.own = {name: partial(self._written, _row(name)) for name in KERNELS} | {"item": self.item}

    def array(self, value: RunValue, stem: str = "c") -> ModelTensor:
        array = np.asarray(value)
        info, dtype = partial_sizes.constant(array), dtype_of(array.dtype)
        if dtype.kind in ("string", "complex"):
            raise Refused(f"tensors of {dtype}")
        return ModelTensor(info.shape, info.dtype, info.data, value=self.graph.root.constant(array, stem))

    def item(self, t: ModelTensor) -> RunValue:
        """The value of an integer tensor of rank 0, as a size."""
        if t.data is not None and isinstance(t.data[0], int | Dim):
            return t.data[0]
        assert isinstance(t.dtype, DType)
        name = t.value if t.dtype.name == "int64" else self.graph.node("Cast", t.value, to=7)
        return self.graph.dims.atom("item", name)

    def dtype(self, dtype: DType) -> DType:
        return dtype

    def dtype_of(self, x: RunValue) -> DType:
        if isinstance(x, TensorInfo):
            assert isinstance(x.dtype, DType)
            return x.dtype
        return DTYPES["bool" if isinstance(x, bool) else "int64" if isinstance(x, int) else "float64"]

    def _written(self, row: Primitive, *args: RunValue) -> RunValue:
        """Write a call as nodes; its results have the shapes of the row's rule."""
        try:
            infos = predicted(row, args)
        except Refused:
            if row.name not in ("max", "min"):
                raise
            infos = predicted(_row("sum"), (*args, None))  # compositions take the greatest of nothing
        outs = infos if isinstance(infos, tuple) else (infos,)
        made = KERNELS[row.name](Emit(self.graph, outs, self, guarded=self.guarded), *args)
        names = made if isinstance(made, tuple | list) else (made,)
        found = tuple(self.traced(out, name) for out, name in zip(outs, names, strict=True))
        return found if isinstance(infos, tuple) else found[0]

    @property
    def sizes(self) -> SymbolicCtx:
        return SymbolicCtx()

    @contextmanager
    def within(self, graph: Graph) -> Iterator[Graph]:
        """Write the nodes of this context into a graph."""
        outer, self.graph = self.graph, graph
        try:
            yield graph
        finally:
            self.graph = outer

    def scan(
        self, turn: Turn, firsts: Sequence[EngineArray], rows: Sequence[EngineArray], reverse: bool
    ) -> tuple[Sequence[RunValue], RunValue]:
        """Write a Loop over the first axis of rows, in order or backwards."""
        outer, count, ops = self.graph, rows[0].shape[0], self.ops
        with self.within(outer.inner()) as graph:
            index, going = graph.names.new("turn"), graph.names.new("goes_on")
            states = [ModelTensor(s.shape, s.dtype, None, value=graph.names.new("state")) for s in firsts]
            place: RunValue = ModelTensor((), DTYPES["int64"], None, value=index)
            place = ops.subtract(ops.size_to_tensor(count - 1), place) if reverse else place
            made = turn(states, [ops.take(x, place, 0) for x in rows])
            ends = [(graph.ended(going), True), *((graph.ended(m.value), s) for m, s in zip(made, states, strict=True))]
            ends.append((graph.ended(made[0].value), states[0]))
            inputs = [value_info(index, 0), value_info(going, True), *(value_info(s.value, s) for s in states)]
            body = graph.proto(index, inputs, [value_info(n, v) for n, v in ends])
        given = (outer.scalar(count), outer.truth(True), *(s.value for s in firsts))
        *lasts, stacked = outer.add("Loop", given, len(firsts) + 1, {"body": body})
        shape = (count, *firsts[0].shape)
        stacked = outer.node("Reshape", stacked, outer.sizes(shape), allowzero=1)
        if reverse:
            stacked = outer.node("Slice", stacked, *(outer.ints([n]) for n in (-1, -FAR, 0, -1)))
        known = [ModelTensor(s.shape, s.dtype, None, value=n) for s, n in zip(firsts, lasts, strict=True)]
        return known, ModelTensor(shape, firsts[0].dtype, None, value=stacked)

    def traced(self, info: TensorInfo[EngineSize], name: str) -> ModelTensor:
        """A value with its type; a size that the data decides is an atom of its own."""
        dims = self.graph.dims
        shape = tuple(
            dims.settled(d) if isinstance(d, int | Dim) else dims.atom("dim", name, axis, natural=True)
            for axis, d in enumerate(info.shape)
        )
        return ModelTensor(shape, info.dtype, info.data, value=name)


def _row(name: str) -> Primitive:
    row = rows.lookup(name)
    assert row is not None
    return row


def predicted(row: Primitive, args: Sequence[RunValue]) -> RunValue:
    """The result of a call, over partly known sizes; raises Refused."""
    try:
        return partial_sizes.primitive(row, args, SymbolicCtx())[0]
    except Violation as problem:
        raise Refused(f"call where {problem}") from None
    except Open:
        raise Refused(f"@{row.name} where the rank of its result is known only at a call") from None


class Tracing(Follower[RoutineSlots, RunValue]):
    """Follows one function of a program to nodes. `space` has the tensors that exist before the run. `left` are the checks
    that only a call can decide; if they are `told`, `oks` has their results in the current graph. `asked` are the checks of
    the inputs' sizes alone that every call makes; `wrong` are the reports of steps without nodes in ONNX. `inputs` are the
    inputs that are tensors (`dim`) and Sizes (`item`)."""

    def __init__(self, routines: Mapping[str, Routine], space: Mapping[str, RunValue], *, told: bool = False) -> None:
        self.routines = routines
        self.space = space
        self.told = told
        self.dims = Dims()
        self.engine = OnnxEngine(Graph(self.dims))
        self.left: list[Step] = []
        self.asked: list[tuple[Truth, Span]] = []
        self.wrong: list[Diagnostic] = []
        self.oks: list[str] = []
        self.inputs: set[tuple[str, str]] = set()
        self._consts: dict[str, RunValue] = {}
        self._calls: list[str] = []
        self.span: Span | None = None

    @property
    def graph(self) -> Graph:
        """The current graph."""
        return self.engine.graph

    def const(self, slot: str) -> RunValue:
        if slot not in self._consts:
            self._consts[slot] = self._constant(self.space[slot], unmangled(slot.removeprefix("c_")))
        return self._consts[slot]

    def _constant(self, value: RunValue, stem: str) -> RunValue:
        if isinstance(value, np.ndarray | np.generic):
            return self.engine.array(value, stem)
        if isinstance(value, np.dtype):
            return dtype_of(value)
        return tuple(self._constant(v, stem) for v in value) if isinstance(value, tuple | list) else value

    # Steps

    def step(self, step: Step, state: RoutineSlots) -> None:
        root = self.graph.root
        self.span = root.span = step.span
        output = getattr(step, "output", "")
        if isinstance(output, str) and output.startswith(("v_", "c_")):
            root.stem = unmangled(output.removeprefix("c_"))
        try:
            super().step(step, state)
        except Refused as problem:
            raise Untraced(f"ONNX has no {problem}", step.span) from None
        except Open:
            raise Untraced("this depends on sizes in a way that ONNX has no nodes for", step.span) from None

    def value(self, v: RunValue, state: RoutineSlots) -> RunValue:
        if isinstance(v, core.Number):
            return self.engine.array(np.array(v.value, "bool" if isinstance(v.value, bool) else None))
        if isinstance(v, core.TupleValue | core.ListValue):
            return tuple(self.value(item, state) for item in v.items)
        if isinstance(v, core.BoolExpr):
            return self.condition(v, state)
        found = partial_sizes.operand(v, state)
        if found is None and not isinstance(v, core.Var | core.FnRef):
            raise Open
        return found

    def compute(self, step: Compute, state: RoutineSlots) -> RunValue:
        args = [partial_sizes.argument(p, v, state) for p, v in zip(step.row.params, step.inputs, strict=True)]
        if any(isinstance(a, Truth) for a in args):
            raise Untraced(f"ONNX has no Bool that a call decides, for @{step.row.name}", step.span)
        args = _alike(step.row, args)
        if step.guard:
            self._guarded(step, args)
        return self._refined(self._computed(step, args), step, state)

    def _computed(self, step: Compute, args: Sequence[RunValue]) -> RunValue:
        """The result of a step; if ONNX has no nodes for it, that is recorded, and the result is the predicted one."""
        name, why = step.row.name, ""
        if self.engine.has(name):
            try:
                return self.engine.kernel(name)(*args)
            except Refused as problem:
                why = f" for this call: it takes no {problem}"
        self.wrong.append(error(codes.E253, f"the engine onnxruntime has no @{name}{why}", step.span))
        infos = predicted(step.row, args)
        found = tuple(self.engine.traced(out, "") for out in (infos if isinstance(infos, tuple) else (infos,)))
        return found if isinstance(infos, tuple) else found[0]

    def _refined(self, made: RunValue, step: Compute, state: RoutineSlots) -> RunValue:
        """A result with the sizes that checking found to be numbers."""
        if step.known is None or step.known.shape is None or not isinstance(made, ModelTensor):
            return made
        if len(step.known.shape) != len(made.shape):
            return made
        pairs = zip(step.known.shape, made.shape, strict=True)
        shape = tuple(k.value if isinstance(k, core.SizeLit) else own for k, own in pairs)
        return ModelTensor(shape, made.dtype, made.data, value=made.value)

    def _guarded(self, step: Compute, args: Sequence[RunValue]) -> None:
        ctx = SymbolicCtx()
        try:
            _, sure = partial_sizes.primitive(step.row, args, ctx)
        except Open:
            return self.leave(step, None)
        except Violation:
            return self.leave(step, False)
        return self.leave(step, both("and", *ctx.asked) if sure else None)

    def read(self, step: ReadSizes, state: RoutineSlots) -> RunValue:
        given = self.value(step.value, state)
        if isinstance(given, tuple | int | Dim):
            return given if step.kind == "size" or isinstance(given, tuple) else (given,)
        if step.kind == "size" or not given.shape:
            size = self.engine.item(given)
            return size if step.kind == "size" else (size,)
        if given.data is None or None in given.data:
            raise Untraced("ONNX has no shape that is the data of a tensor", step.span)
        return tuple(given.data)

    # Calls

    def call(self, step: Invoke, args: tuple[RunValue, ...], state: RoutineSlots) -> RunValue:
        if step.way in ("extern", "value", "list") or step.callee not in self.routines:
            what = "Python code" if step.way == "extern" else f"@{step.callee}, which is chosen when it runs"
            raise Untraced(f"ONNX cannot call {what}", step.span)
        if step.callee in self._calls:
            raise Untraced(f"ONNX has no call of itself but in last place, and @{step.callee} makes one", step.span)
        routine = self.routines[step.callee]
        return self.followed(step.span, routine, self.entered(step, routine, args))

    def followed(self, span: Span, routine: Routine, inner: RoutineSlots) -> RunValue:
        """Follow a function that is called at a place, and return its result."""
        depth = len(self._calls)
        self._calls.append(routine.name)
        try:
            return self.recursive(span, routine, inner)
        finally:
            del self._calls[depth:]

    def entered(self, step: Invoke, routine: Routine, args: Sequence[RunValue]) -> RoutineSlots:
        """The facts after the entry of a function that is called."""
        inner = RoutineSlots(self, dict(zip(routine.params, args, strict=True)))
        for entry in routine.entry:
            if step.way == "checked" or not isinstance(entry, StepCheck):
                self.step(entry, inner)
        return inner

    def recursive(self, span: Span, routine: Routine, inner: RoutineSlots) -> RunValue:
        """Follow a function, which may call itself, and return its result."""
        return self.run(routine.body, inner)

    # Checks

    def check(self, step: StepCheck | Match, state: RoutineSlots) -> None:
        try:
            holds = self._asked(step, state)
        except Undefined:
            holds = False
        if asks(step):
            self.leave(step, holds)

    def _asked(self, step: StepCheck | Match, state: RoutineSlots) -> bool | Truth | None:
        if isinstance(step, StepCheck):
            return self.condition(step.cond, state)
        if asked(step, state) is False:
            return False
        found = pairs(step, state)
        return None if found is None else both("and", *(self._is(dim, own, state) for dim, own in found))

    def _is(
        self, dim: core.SizeExpr | core.Splice, found: tuple[EngineSize, ...], state: RoutineSlots
    ) -> bool | Truth | None:
        wanted = partial_sizes.shape_level(dim, state)
        return compared("==", found, wanted if isinstance(dim, core.Splice) else (wanted,))

    def leave(self, step: Step, holds: bool | Truth | None) -> None:
        """Record a check for the run of the model, unless it holds: of the inputs, before it, or inside, if it is told."""
        is_whole = self.graph is self.graph.root
        if holds is True:
            return
        if holds is False and is_whole:
            raise Untraced("this check fails for every call", step.span)
        if is_whole and isinstance(holds, Truth) and self._of_inputs(holds):
            self.asked.append((holds, step.span))
            return
        if all(step is not other for other in self.left):
            self.left.append(step)
        if self.told and holds is None:
            raise Untraced("no output of a model can tell of this check, which is left for the run", step.span)
        if self.told and holds is not None:
            self.oks.append(self.graph.truth(holds))

    def _of_inputs(self, value: RunValue) -> bool:
        """Whether a condition or a size depends on the inputs' sizes alone."""
        if isinstance(value, Truth):
            return value.op != "value" and all(map(self._of_inputs, value.args))
        return self.dims.leaves(value) <= self.inputs

    # Conditions

    def condition(self, e: core.BoolExpr | core.Value, state: RoutineSlots) -> bool | Truth:
        """A condition, or the tensor that decides."""
        if not isinstance(e, core.BoolExpr):
            return self._decides(self.value(e, state))
        found = self._condition(e, state)
        if found is None:
            raise Open
        return found

    def _condition(self, e: core.BoolExpr, state: RoutineSlots) -> bool | Truth | None:
        match e:
            case core.Compare(op=op, left=left, right=right):
                sides = [partial_sizes.shape_level(s, state) for s in (left, right)]
                asked = (compared("<=", 1, d) for d in self.dims.divisors(sides))
                return both("and", *asked, compared(op, *sides))
            case core.Not(operand=operand):
                return negated(self._condition(operand, state))
            case core.Logic(op=op, left=left, right=right):
                decisive, first = op == "||", self._condition(left, state)
                if first is decisive:
                    return first
                return both("or" if decisive else "and", first, self._condition(right, state))
            case core.BoolVar(name=name):
                found: bool | Truth | None = partial_sizes.looked_up(state, name)
                return found
            case core.InClass() | core.BoolConst():
                return partial_sizes.truth(e, state)
            case _:
                assert_never(e)

    def _decides(self, value: RunValue) -> bool | Truth:
        if not isinstance(value, ModelTensor):
            return bool(value) if isinstance(value, int) else Truth("not", Truth("==", value, 0))
        if value.data is not None and isinstance(value.data[0], int):
            return bool(value.data[0])
        assert isinstance(value.dtype, DType)
        is_bool = value.dtype.kind == "bool"
        return Truth("value", value.value if is_bool else self.graph.node("Cast", value.value, to=9))

    def joined(self, values: Sequence[RunValue], state: RoutineSlots) -> RunValue:
        raise Open


def leaves(value: RunValue) -> Iterator[RunValue]:
    """The parts of a value that are no tuples."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def rebuilt(value: RunValue, parts: Iterator[RunValue]) -> RunValue:
    """A value with other parts."""
    return tuple(rebuilt(v, parts) for v in value) if isinstance(value, tuple) else next(parts)


def _alike(row: Primitive, args: list[RunValue]) -> list[RunValue]:
    """Arguments with literal integers as floats if there are literal floats among them."""
    literals = [a for p, a in zip(row.params, args, strict=True) if p.kind == "tensor"]
    if not any(type(a) is float for a in literals):
        return args
    pairs_ = zip(row.params, args, strict=True)
    return [float(a) if p.kind == "tensor" and type(a) is int else a for p, a in pairs_]


__all__ = ["MadeFunction", "RoutineSlots", "ModelTensor", "Tracing", "Untraced", "leaves", "rebuilt", "value_info"]
