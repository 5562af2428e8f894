"""A function of a checked program as an ONNX model: its inputs have the names of the parameters, its outputs are in the order
of the results, and its contract is in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import onnx
from onnx import helper

from ...lang import codes, core
from ...lang.diagnostics import Diagnostic, RxError, error, warning
from ...lang.dtypes import DTYPES, DType
from ...lang.entry_contract import KEY, VERSION
from ...lang.files import put
from ...lang.node import Node
from ...lang.source import Span
from .. import partial_sizes
from ..arguments import asked_on_entry
from ..by_shapes import pairs
from ..compile import CompiledCode
from ..engine_types import EngineArray, EngineSize, RunValue
from ..lower import lower
from ..steps import Match, Routine, Step, StepCheck, asks
from .onnx_control import ControlTracing
from .onnx_graph import Graph, elem_type
from .onnx_tracing import ModelTensor, RoutineSlots, Tracing, Untraced, leaves, rebuilt
from .symbolic import Dim, Spelling, Truth, Values
from .table import Refused, each_once

OPSET = 20
# The output that says whether all inner checks hold.
OK = "rx_ok"


# The dtypes whose arrays onnxruntime exchanges as NumPy's.
EXCHANGED = frozenset(
    elem_type(d) for d in DTYPES.values() if d.bits >= 8 and "_" not in d.name and d.name not in ("bfloat16", "string")
    and d.kind != "complex"
)  # fmt: skip


class Exported(Node):
    """A model, and notes about the checks that it does not make."""

    model: onnx.ModelProto
    notes: tuple[Diagnostic, ...]
    # The place in the program of each node's step.
    places: Mapping[str, Span]
    # The tuples of the results, with a function for each output that makes a result of it.
    results: RunValue
    # The conditions on the inputs' sizes, each with its text and its place; `inputs` are their names.
    asked: tuple[tuple[Truth, str, Span], ...]
    inputs: tuple[str, ...]
    dims: RunValue

    def refusal(self, args: Sequence[RunValue]) -> Diagnostic | None:
        """The diagnostic of a condition that the arguments, in the order of the inputs, do not meet; None if they meet
        all."""
        given: dict[tuple[RunValue, ...], int] = {}
        for name, value in zip(self.inputs, args, strict=True):
            shape = getattr(value, "shape", None)
            given |= {("item", name): value} if shape is None else {("dim", name, i): n for i, n in enumerate(shape)}
        values = Values(self.dims, given)
        wrong = next(((text, span) for cond, text, span in self.asked if not values.holds(cond)), None)
        return (
            None if wrong is None else error(codes.R401, f"`{wrong[0]}` does not hold, which is asked here", wrong[1])
        )

    def shaped(self, found: Iterator[EngineArray]) -> RunValue:
        """A function's result, from its outputs in order."""
        return _shaped(self.results, found)


# More bytes of weights than this go into a file of their own: protobuf does not hold 2 GiB.
MOST = 2**30


def is_large(model: onnx.ModelProto) -> bool:
    return sum(len(held.raw_data) for held in model.graph.initializer) > MOST


def write(model: onnx.ModelProto, path: Path) -> None:
    """Write a model into a file, and the weights of a large one into another file next to it. Raises OSError."""
    if not is_large(model):
        put(path, model.SerializeToString(deterministic=True))
        return
    location = f"{path.name}.data"
    onnx.save_model(model, path, save_as_external_data=True, all_tensors_to_one_file=True, location=location)
    onnx.checker.check_model(str(path), full_check=True)


def export(
    program: core.Program,
    function: core.Function,
    code: CompiledCode,
    *,
    checks: str = "refuse",
    opset: int = OPSET,
    guarded: bool = False,
    weights: Mapping[str, EngineArray] | None = None,
) -> Exported:
    """Export a function as a model; with `guarded`, one that onnxruntime runs with empty images too. `weights` are the
    parameters that the model holds itself. Raises RxError with all obstacles."""
    routines = {r.name: r for r in lower(program).routines}
    if function.name not in routines:
        raise RxError(
            error(codes.E253, f"ONNX has no list of implementations, which @{function.name} is", function.span)
        )
    tracing = ControlTracing(routines, code.namespace, told=checks == "output")
    tracing.engine.guarded = guarded
    try:
        work = _Export(tracing, routines[function.name], function, opset, weights or {})
        model = work.model()
    except Refused as problem:
        raise RxError(error(codes.E253, f"ONNX has no {problem}", function.span)) from None
    except Untraced as problem:
        raise RxError(*each_once(tracing.wrong), error(codes.E253, str(problem), problem.span)) from None
    notes = [] if tracing.told else [_left(step.span, checks) for step in tracing.left]
    if notes and checks != "drop":
        raise RxError(*notes)
    spelling = Spelling(tracing.dims, work.name)
    asked = tuple((cond, spelling.truth(cond), span) for cond, span in tracing.asked)
    names = tuple(name for name, _ in work.inputs)
    return Exported(model, tuple(notes), tracing.graph.places, work.results, asked, names, tracing.dims)


def _left(span: Span, checks: str) -> Diagnostic:
    if checks == "drop":
        return warning(codes.W314, "the exported model does not make this check", span)
    return error(codes.E253, "this check is left for the run, and a model has no place for it", span)


class _Export:
    """One function on its way to a model."""

    def __init__(
        self,
        tracing: Tracing,
        routine: Routine,
        function: core.Function,
        opset: int,
        weights: Mapping[str, EngineArray],
    ) -> None:
        self.tracing = tracing
        self.graph: Graph = tracing.graph
        self.routine = routine
        self.function = function
        self.opset = opset
        self.weights = weights
        self.inputs: list[tuple[str, ModelTensor | None]] = []
        self.results: RunValue = None
        # The program's names of sizes that are one atom.
        self.spoken: dict[int, str] = {}

    def model(self) -> RunValue:
        state = self._entered()
        result = self.tracing.followed(self.function.span, self.routine, state)
        if self.tracing.wrong:
            raise RxError(*each_once(self.tracing.wrong))
        self.results = _layout(result)
        outputs = [self._output(f"result_{i}", part) for i, part in enumerate(leaves(result))]
        if self.tracing.told:
            outputs.append(self._output(OK, Truth("and", True, *(Truth("value", ok) for ok in self.tracing.oks))))
        inputs = [self._info(name, traced) for name, traced in self.inputs]
        graph = self.graph.proto(self.function.name, inputs, outputs)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="rx", ir_version=10)
        helper.set_model_props(model, {KEY: json.dumps(self.contract(), indent=1, ensure_ascii=False)})
        if not is_large(model):
            self._check(model)
        return model

    def _check(self, model: onnx.ModelProto) -> None:
        """Run ONNX's own check; a refusal is reported at the place of the node that it names."""
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as problem:
            text = str(problem)
            place = next((p for n, p in self.graph.places.items() if n in text), self.function.span)
            raise Untraced(f"ONNX does not take this: {text.strip().splitlines()[0]}", place) from None

    # Inputs

    def _entered(self) -> RoutineSlots:
        """The facts after the entry, among them those that its checks state about sizes."""
        names = [p.name for p in self.function.params]
        self.graph.names.taken.update(dict.fromkeys([*names, OK], 1))
        params = zip(self.routine.params, self.function.params, strict=True)
        state = RoutineSlots(self.tracing, {slot: self._param(p) for slot, p in params})
        self.tracing.inputs = {("item" if traced is None else "dim", name) for name, traced in self.inputs}
        for step in self.routine.entry:
            self._learn(step, state)
        for slot, value in state.slots.items():
            state.slots[slot] = rebuilt(value, map(self._settled, leaves(value)))
        for step in filter(asks, self.routine.entry):
            self.tracing.step(step, state)
        return state

    def _param(self, param: core.Param) -> RunValue:
        if param.name in self.weights:
            return self.tracing.engine.array(self.weights[param.name], param.name)
        declared = self.function.declaration
        said = next((p.annotation for p in (declared.params if declared else ()) if p.name == param.name), None)
        return self._input(param, param.sort, param.name, param.name, said)

    def _input(self, param: core.Param, sort: core.Sort, name: str, spoken: str, said: RunValue) -> RunValue:
        """An input, or one for each part of a tuple; `spoken` is its name in the entry check."""
        entry_check, place = asked_on_entry(self.function), core.param_span(self.function, param.name)
        if isinstance(sort, core.TupleSort):
            items = said.items if said is not None and len(said.items) == len(sort.items) else [None] * len(sort.items)
            parts = enumerate(zip(sort.items, items, strict=True))
            return tuple(self._input(param, s, f"{name}_{i}", entry_check.part(spoken, i), a) for i, (s, a) in parts)
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
        for dim, own in zip(dims, (said.dims if said is not None else None) or (), strict=False):
            if isinstance(own.size, core.SizeVar):
                number = self.graph.dims.single(dim)
                assert number is not None
                self.spoken[number] = own.size.name
        traced = ModelTensor(dims, dtype, None, value=name)
        self.inputs.append((name, traced))
        return traced

    def _learn(self, step: Step, state: RoutineSlots) -> None:
        """Learn from a step of the entry: a size that is equal to another is replaced by it."""
        if isinstance(step, StepCheck):
            cond = step.cond
            if isinstance(cond, core.Compare) and cond.op == "==" and _are_sizes(cond.left, cond.right):
                self._learn_equal(*(partial_sizes.shape_level(s, state) for s in (cond.left, cond.right)))
        elif isinstance(step, Match):
            for dim, found in pairs(step, state) or ():
                wanted = partial_sizes.shape_level(dim, state)
                for one, other in zip(found, wanted if isinstance(dim, core.Splice) else (wanted,), strict=False):
                    self._learn_equal(one, other)
        else:
            self.tracing.step(step, state)

    def _learn_equal(self, left: RunValue, right: RunValue) -> None:
        dims = self.graph.dims
        one, other = dims.settled(left), dims.settled(right)
        if not dims.learn(one, other):
            dims.learn(other, one)

    def _settled(self, value: RunValue) -> RunValue:
        dims = self.graph.dims
        if isinstance(value, ModelTensor):
            return ModelTensor(tuple(map(dims.settled, value.shape)), value.dtype, value.data, value=value.value)
        return dims.settled(value)

    # Declarations of values

    def name(self, number: int) -> str | None:
        """The name of a size that is one atom of the inputs."""
        atom = self.graph.dims.atoms[number]
        if atom.op not in ("dim", "item") or (atom.op, atom.args[0]) not in self.tracing.inputs:
            return None
        own = atom.args[0] if atom.op == "item" else "_".join(map(str, atom.args))
        spoken = self.spoken.get(number, own) if atom.op == "dim" else own
        return own if any(spoken == name for name, _ in self.inputs) else spoken

    def _spelled(self, dim: EngineSize) -> RunValue:
        """A size as the model declares it: a number, a name, or None."""
        if (own := self._computed(dim)) is not None:
            return self.name(own)
        dim = self.graph.dims.settled(dim)
        if not isinstance(dim, Dim):
            return int(dim)
        number = self.graph.dims.single(dim)
        return self.name(number) if number is not None else None

    def _computed(self, dim: EngineSize) -> int | None:
        """The number of an input's size that has to equal an expression of others: it has a name, and a condition."""
        dims = self.graph.dims
        number = dims.single(dim)
        value = None if number is None else dims.known.get(number)
        is_made = isinstance(value, Dim) and dims.single(dims.settled(value)) is None
        return number if is_made and isinstance(dims.settled(value), Dim) else None

    def _equal(self, spelling: Spelling) -> Iterator[str]:
        """The conditions on such sizes."""
        shapes = (traced.shape for _, traced in self.inputs if traced is not None)
        for number in (self._computed(dim) for shape in shapes for dim in shape):
            if number is not None:
                yield f"{self.name(number)} == {spelling.size(self.graph.dims.known[number])}"

    def _info(self, name: str, traced: ModelTensor | None) -> RunValue:
        if traced is None:
            return helper.make_tensor_value_info(name, elem_type(DTYPES["int64"]), [])
        assert isinstance(traced.dtype, DType)
        return helper.make_tensor_value_info(name, elem_type(traced.dtype), list(map(self._spelled, traced.shape)))

    def _output(self, name: str, value: RunValue) -> RunValue:
        if isinstance(value, bool | Truth):
            value = ModelTensor((), DTYPES["bool"], None, value=self.graph.truth(value))
        if isinstance(value, int | Dim):
            value = ModelTensor((), DTYPES["int64"], None, value=self.graph.scalar(value))
        if not isinstance(value, ModelTensor):
            raise Untraced("ONNX has outputs only for tensors", self.function.span)
        name = name if name == OK else self.graph.names.new(name)
        self.graph.nodes.append(helper.make_node("Identity", [value.value], [name], name=name))
        return self._info(name, ModelTensor(value.shape, value.dtype, None, value=name))

    def contract(self) -> RunValue:
        """The contract of the model: the program's signature, and the requirements on its inputs beyond their ranks, dtypes
        and sizes with the same names."""
        inputs = [{"name": n, "dtype": "int64" if t is None else str(t.dtype),
                   "shape": [] if t is None else list(map(self._spelled, t.shape))} for n, t in self.inputs]  # fmt: skip
        spelling = Spelling(self.graph.dims, self.name)
        return {
            "version": VERSION,
            "function": self.function.name,
            "signature": self.function.signature,
            "inputs": inputs,
            "sizes": [name for name, traced in self.inputs if traced is None],
            "conditions": [
                *dict.fromkeys((*self._equal(spelling), *spelling.asked([cond for cond, _ in self.tracing.asked])))
            ],
        }


def _are_sizes(*sides: object) -> bool:
    return all(isinstance(side, core.SizeExpr) for side in sides)


def _layout(value: RunValue) -> RunValue:
    """The tuples of a result, with a function for each output that makes a result of it."""
    if isinstance(value, tuple):
        return tuple(map(_layout, value))
    return _kept if isinstance(value, ModelTensor) else bool if isinstance(value, bool | Truth) else int


def _kept(array: EngineArray) -> RunValue:
    return array


def _shaped(layout: RunValue, found: Iterator[EngineArray]) -> RunValue:
    return tuple(_shaped(part, found) for part in layout) if isinstance(layout, tuple) else layout(next(found))


def _rank(function: core.Function, name: str) -> int | None:
    """The rank that the entry check asks of a tensor, if it is a number."""
    for stmt in function.checks:
        match stmt:
            case core.Assert(cond=core.Compare(op="==", left=core.RankOf(tensor=t), right=core.SizeLit(value=rank))):
                if t == name:
                    return rank
    return None


__all__ = ["OK", "Exported", "export", "write"]
