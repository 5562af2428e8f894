"""A function of a checked program as an ONNX model: its inputs are called as the parameters, its outputs stand in the order of
the results, and its contract is in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx
from onnx import helper

from ...lang import codes, core
from ...lang.core_printer import print_expr
from ...lang.diagnostics import Diagnostic, RxError, error, warning
from ...lang.dtypes import DTYPES, DType
from ...lang.node import Node
from ...lang.source import Span
from .. import partial_sizes
from ..arguments import asked_on_entry
from ..compile import Code
from ..lower import lower
from ..steps import Bind, Block, Check, Compute, Match, Routine, Step, every
from .onnx_graph import Graph, elem_type
from .onnx_tracing import Scope, Traced, Tracing, Untraced
from .symbolic import Dim

OPSET = 20
# Beside `rx.contract`, which `rx infer` writes of a model's nodes, what the program asks of its arguments.
CONTRACT = "rx.entry_contract"


# The dtypes whose arrays onnxruntime takes and gives as NumPy's.
EXCHANGED = frozenset(
    elem_type(d) for d in DTYPES.values() if d.bits >= 8 and "_" not in d.name and d.name not in ("bfloat16", "string")
    and d.kind != "complex"
)  # fmt: skip


class Exported(Node):
    """A model, and what is told of it: checks that it does not make any more."""

    model: Any
    notes: tuple[Diagnostic, ...]
    # Where in the program the step of each node stands.
    places: Mapping[str, Span]
    # How the results lie in tuples: a number for each output, and what is no tensor of its own is a Size.
    results: Any

    def shaped(self, found: Iterator[Any]) -> Any:
        """A function's result, of its outputs in order."""
        return _shaped(self.results, found)


def missing(routines: Sequence[Routine], engine: Any) -> list[Diagnostic]:
    """All primitives that a program's functions use and an engine lacks, each place."""
    found: list[Diagnostic] = []
    for routine in routines:
        for step in (*every(Block(routine.entry)), *every(routine.body)):
            if isinstance(step, Compute) and not engine.has(step.row.name):
                message = f"the engine {engine.name} has no @{step.row.name}"
                found.append(error(codes.E253, message, step.span))
    return found


def export(
    program: core.Program, function: core.Function, code: Code, *, checks: str = "refuse", opset: int = OPSET
) -> Exported:
    """Raises RxError with all that stands in the way."""
    routines = {r.name: r for r in lower(program).routines}
    if function.name not in routines:
        raise RxError(
            error(codes.E253, f"ONNX has no list of implementations, which @{function.name} is", function.span)
        )
    tracing = Tracing(routines, code.namespace)
    used = [routines[name] for name in _reached(routines, function.name)]
    wrong = missing(used, tracing.engine)
    if wrong:
        raise RxError(*wrong)
    try:
        work = _Export(tracing, routines[function.name], function, opset)
        model = work.model()
    except Untraced as problem:
        raise RxError(error(codes.E253, str(problem), problem.span)) from None
    notes = [_left(step.span, checks) for step in tracing.left]
    if notes and checks != "drop":
        raise RxError(*notes)
    return Exported(model, tuple(notes), tracing.graph.places, work.results)


def _left(span: Span, checks: str) -> Diagnostic:
    if checks == "drop":
        return warning(codes.W314, "the exported model does not make this check", span)
    return error(codes.E253, "this check is left for the run, and a model has no place for it", span)


def _reached(routines: dict[str, Routine], start: str) -> list[str]:
    found, pending = {start: None}, [start]
    while pending:
        for step in every(routines[pending.pop()].body):
            callee = getattr(step, "callee", None)
            if callee in routines and callee not in found:
                found[callee] = None
                pending.append(callee)
    return list(found)


class _Export:
    """One function on its way to a model."""

    def __init__(self, tracing: Tracing, routine: Routine, function: core.Function, opset: int) -> None:
        self.tracing = tracing
        self.graph: Graph = tracing.graph
        self.routine = routine
        self.function = function
        self.opset = opset
        self.inputs: list[tuple[str, Traced | None]] = []
        self.names: dict[int, str] = {}
        self.results: Any = None

    def model(self) -> Any:
        state = self._entered()
        result = self.tracing.run(self.routine.body, state)
        self.results = _layout(result)
        outputs = [self._output(i, part) for i, part in enumerate(_parts(result))]
        inputs = [self._info(name, traced) for name, traced in self.inputs]
        graph = self.graph.proto(self.function.name, inputs, outputs)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="rx", ir_version=10)
        helper.set_model_props(model, {CONTRACT: json.dumps(self.contract(), indent=1, ensure_ascii=False)})
        onnx.checker.check_model(model, full_check=True)
        return model

    # Inputs

    def _entered(self) -> Scope:
        """The state behind the entry check: what it asks of sizes is known from there on."""
        names = [p.name for p in self.function.params]
        self.graph.names.taken.update(dict.fromkeys(names, 1))
        params = zip(self.routine.params, self.function.params, strict=True)
        state = Scope(self.tracing, {slot: self._param(p) for slot, p in params})
        for step in self.routine.entry:
            self._learn(step, state)
        for _, traced in self.inputs:
            if traced is not None:
                self._name_dims(traced)
        self._settle(state)
        return state

    def _param(self, param: core.Param) -> Any:
        return self._input(param, param.sort, param.name, param.name)

    def _input(self, param: core.Param, sort: core.Sort, name: str, spoken: str) -> Any:
        """An input, or one for each part of a tuple; `spoken` is what the entry check calls it."""
        entry_check, place = asked_on_entry(self.function), core.param_span(self.function, param.name)
        if isinstance(sort, core.TupleSort):
            parts = enumerate(sort.items)
            return tuple(self._input(param, s, f"{name}_{i}", entry_check.part(spoken, i)) for i, s in parts)
        if name != param.name:
            name = self.graph.names.new(name)
        if sort == core.SIZE:
            self.inputs.append((name, None))
            return self.graph.dims.atom("item", name)
        if sort != core.TENSOR:
            raise Untraced(f"ONNX has no input for `{param.name}`, which is no tensor and no Size", place)
        rank, dtype = _rank(self.function, spoken), entry_check.dtypes.get(spoken)
        if rank is None or dtype is None:
            what = "rank" if rank is None else "dtype"
            raise Untraced(f"the {what} of `{name}` is known at a call only, and ONNX has one for each input", place)
        dims = tuple(self.graph.dims.atom("dim", name, i, natural=True) for i in range(rank))
        traced = Traced(dims, dtype, None, value=name)
        self.inputs.append((name, traced))
        return traced

    def _learn(self, step: Step, state: Scope) -> None:
        """What a step of the entry asks holds: a size that is equal to another is written as that."""
        if isinstance(step, Check):
            self._learn_equal(step.cond, state)
        elif isinstance(step, Match):
            self.tracing.check(step, state)
            self.tracing.left.clear()
        else:
            self.tracing.step(step, state)
        if isinstance(step, Bind) and isinstance(step.output, str):
            size = state.get(step.output)
            number = self.graph.dims.single(size)
            if number is not None:
                self.names.setdefault(number, step.output.removeprefix("v_"))

    def _learn_equal(self, cond: object, state: Scope) -> None:
        if not isinstance(cond, core.Compare) or cond.op != "==":
            return
        if isinstance(cond.left, core.SizeExpr) and isinstance(cond.right, core.SizeExpr):
            dims = self.graph.dims
            one, other = (dims.settled(partial_sizes.shape_level(s, state)) for s in (cond.left, cond.right))
            if not dims.learn(one, other):
                dims.learn(other, one)

    def _settle(self, state: Scope) -> None:
        for slot, value in state.slots.items():
            state.slots[slot] = self._settled(value)

    def _settled(self, value: Any) -> Any:
        dims = self.graph.dims
        if isinstance(value, Traced):
            return Traced(tuple(map(dims.settled, value.shape)), value.dtype, value.data, value=value.value)
        return tuple(map(self._settled, value)) if isinstance(value, tuple) else dims.settled(value)

    # What is written of values

    def _name_dims(self, traced: Traced) -> None:
        for i, dim in enumerate(traced.shape):
            number = self.graph.dims.single(dim)
            if number is not None:
                self.names.setdefault(number, f"{traced.value}_{i}")

    def _spelled(self, dim: Any) -> Any:
        """A size as the model declares it: a number, a name, or nothing."""
        dim = self.graph.dims.settled(dim)
        if not isinstance(dim, Dim):
            return int(dim)
        number = self.graph.dims.single(dim)
        return self.names.get(number) if number is not None else None

    def _info(self, name: str, traced: Traced | None) -> Any:
        if traced is None:
            return helper.make_tensor_value_info(name, elem_type(DTYPES["int64"]), [])
        assert isinstance(traced.dtype, DType)
        return helper.make_tensor_value_info(name, elem_type(traced.dtype), list(map(self._spelled, traced.shape)))

    def _output(self, index: int, value: Any) -> Any:
        if isinstance(value, int | Dim):
            value = Traced((), DTYPES["int64"], None, value=self.graph.scalar(value))
        if not isinstance(value, Traced):
            raise Untraced("ONNX has outputs only for tensors", self.function.span)
        name = self.graph.names.new(f"result_{index}")
        self.graph.nodes.append(helper.make_node("Identity", [value.value], [name], name=name))
        return self._info(name, Traced(value.shape, value.dtype, None, value=name))

    def contract(self) -> Any:
        """What the model takes: the signature as the program has it, and what it asks of its inputs."""
        conditions = [print_expr(c.cond) for c in self.function.checks if isinstance(c, core.Assert)]
        inputs = [{"name": n, "dtype": "int64" if t is None else str(t.dtype),
                   "shape": [] if t is None else list(map(self._spelled, t.shape))} for n, t in self.inputs]  # fmt: skip
        return {
            "version": 1,
            "function": self.function.name,
            "signature": self.function.signature,
            "inputs": inputs,
            "conditions": conditions,
        }


def _layout(value: Any) -> Any:
    return tuple(map(_layout, value)) if isinstance(value, tuple) else isinstance(value, Traced)


def _shaped(layout: Any, found: Iterator[Any]) -> Any:
    if isinstance(layout, tuple):
        return tuple(_shaped(part, found) for part in layout)
    return next(found) if layout else int(next(found))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from _parts(part)
    else:
        yield value


def _rank(function: core.Function, name: str) -> int | None:
    """The rank that the entry check asks of a tensor, where it is a number."""
    for stmt in function.checks:
        match stmt:
            case core.Assert(cond=core.Compare(op="==", left=core.RankOf(tensor=t), right=core.SizeLit(value=rank))):
                if t == name:
                    return rank
    return None


__all__ = ["CONTRACT", "Exported", "export", "missing"]
