"""Routines followed to nodes of ONNX, over sizes that are known when the model runs. What would be decided by such a size, and
what ONNX has no way for, is told with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...lang import core
from ...lang.dtypes import DTYPES, DType
from ...lang.source import Span
from ...ops import registry as rows
from ...ops.model import Primitive, TensorInfo
from ...sizes.integers import Undefined
from ...sizes.partial import Open
from .. import partial_sizes
from ..by_shapes import asked
from ..dtypes import dtype_of
from ..follow import Follower, Function
from ..guards import Violation
from ..names import unmangled
from ..steps import (
    Branch,
    Check,
    Compute,
    Invoke,
    Loop,
    Match,
    Read,
    Routine,
    Stack,
    Step,
    asks,
)
from . import onnx_windows  # noqa: F401 - it adds kernels
from .onnx_graph import Graph
from .onnx_kernels import KERNELS, Emit
from .symbolic import Dim, Dims, SymbolicCtx
from .table import Engine, Refused, composition, compositions


class Traced(TensorInfo[Any]):
    """A tensor of the model, with its value's name."""

    value: str = ""


class Untraced(Exception):
    """Why a step cannot be written, and where."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


class Scope:
    """What is in the slots of a routine, and the program's own tensors."""

    def __init__(self, tracing: Tracing, slots: dict[str, Any]) -> None:
        self.tracing = tracing
        self.slots = slots

    def get(self, slot: str) -> Any:
        return self.slots[slot] if slot in self.slots else self.tracing.const(slot)

    def bind(self, slot: str, value: Any) -> None:
        self.slots[slot] = value

    def branched(self) -> Scope:
        return Scope(self.tracing, dict(self.slots))


class OnnxEngine(Engine):
    """The kernels that write one model."""

    name = "onnxruntime"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.own = {name: partial(self._written, _row(name)) for name in KERNELS}

    def array(self, value: Any) -> Traced:
        array = np.asarray(value)
        info = partial_sizes.constant(array)
        return Traced(info.shape, info.dtype, info.data, value=self.graph.root.constant(array))

    def dtype(self, dtype: DType) -> DType:
        return dtype

    def dtype_of(self, x: Any) -> DType:
        if isinstance(x, TensorInfo):
            assert isinstance(x.dtype, DType)
            return x.dtype
        return DTYPES["bool" if isinstance(x, bool) else "int64" if isinstance(x, int) else "float64"]

    def _written(self, row: Primitive, *args: Any) -> Any:
        """A call as nodes; its results have the shapes that the row's rule gives."""
        infos = predicted(row, args)
        outs = infos if isinstance(infos, tuple) else (infos,)
        try:
            made = KERNELS[row.name](Emit(self.graph, outs), *args)
        except NotImplementedError:  # ONNX's own operator does not do this
            if row.name not in compositions():
                raise
            return composition(compositions()[row.name].function, self.ops, *args)
        names = made if isinstance(made, tuple | list) else (made,)
        found = tuple(self.traced(out, name) for out, name in zip(outs, names, strict=True))
        return found if isinstance(infos, tuple) else found[0]

    def traced(self, info: TensorInfo[Any], name: str) -> Traced:
        """A value with what is known of it; a size that the data decides is its own."""
        dims = self.graph.dims
        shape = tuple(
            dims.settled(d) if isinstance(d, int | Dim) else dims.atom("dim", name, axis, natural=True)
            for axis, d in enumerate(info.shape)
        )
        return Traced(shape, info.dtype, info.data, value=name)


def _row(name: str) -> Primitive:
    row = rows.lookup(name)
    assert row is not None
    return row


def predicted(row: Primitive, args: Sequence[Any]) -> Any:
    """What a call gives, over sizes that are known in part."""
    try:
        return partial_sizes.primitive(row, args, SymbolicCtx())[0]
    except Violation as problem:
        raise Refused(f"@{row.name}: {problem}") from None
    except Open:
        raise Refused(f"@{row.name} where the rank of its result is known only at a call") from None


class Tracing(Follower[Scope, Any]):
    """One function of a program to nodes. `space` has the tensors that are there before anything runs. `left` are the checks
    that only a call can decide."""

    def __init__(self, routines: Mapping[str, Routine], space: Mapping[str, Any]) -> None:
        self.routines = routines
        self.space = space
        self.dims = Dims()
        self.graph = Graph(self.dims)
        self.engine = OnnxEngine(self.graph)
        self.left: list[Step] = []
        self._consts: dict[str, Any] = {}
        self._calls: list[str] = []
        self.span: Span | None = None

    def const(self, slot: str) -> Any:
        if slot not in self._consts:
            value = self.space[slot]
            self._consts[slot] = (
                self.engine.array(value) if isinstance(value, np.ndarray | np.generic) else _constant(value)
            )
        return self._consts[slot]

    # Steps

    def step(self, step: Step, state: Scope) -> None:
        self.span = step.span
        self.graph.span = step.span
        output = getattr(step, "output", "")
        if isinstance(output, str) and output.startswith(("v_", "c_")):
            self.graph.stem = unmangled(output.removeprefix("c_"))
        try:
            super().step(step, state)
        except Refused as problem:
            raise Untraced(f"ONNX has no {problem}", step.span) from None
        except NotImplementedError:
            name = step.row.name if isinstance(step, Compute) else ""
            raise Untraced(f"the engine onnxruntime has no @{name} with these arguments", step.span) from None
        except Open:
            raise Untraced("this depends on sizes in a way that ONNX has no nodes for", step.span) from None

    def value(self, v: Any, state: Scope) -> Any:
        if isinstance(v, core.Number):
            return self.engine.array(np.array(v.value, "bool" if isinstance(v.value, bool) else None))
        if isinstance(v, core.TupleValue | core.ListValue):
            return tuple(self.value(item, state) for item in v.items)
        found = partial_sizes.operand(v, state)
        if found is None and not isinstance(v, core.Var | core.FnRef):
            raise Open
        return found

    def compute(self, step: Compute, state: Scope) -> Any:
        args = [partial_sizes.argument(p, v, state) for p, v in zip(step.row.params, step.inputs, strict=True)]
        if step.guard:
            self._guarded(step, args)
        if not self.engine.has(step.row.name):
            raise Untraced(f"the engine onnxruntime has no @{step.row.name}", step.span)
        if step.row.results == "size":
            return self._item(args[0])
        return self._refined(self.engine.kernel(step.row.name)(*args), step, state)

    def _refined(self, made: Any, step: Compute, state: Scope) -> Any:
        """A result with the sizes that checking knows to be numbers."""
        if step.known is None or step.known.shape is None or not isinstance(made, Traced):
            return made
        if len(step.known.shape) != len(made.shape):
            return made
        pairs = zip(step.known.shape, made.shape, strict=True)
        shape = tuple(k.value if isinstance(k, core.SizeLit) else own for k, own in pairs)
        return Traced(shape, made.dtype, made.data, value=made.value)

    def _guarded(self, step: Compute, args: Sequence[Any]) -> None:
        try:
            _, sure = partial_sizes.primitive(step.row, args, SymbolicCtx())
        except (Open, Violation):
            sure = False
        if not sure:
            self.left.append(step)

    def _item(self, t: Any) -> Any:
        if t.data is not None and isinstance(t.data[0], int | Dim):
            return t.data[0]
        name = t.value if t.dtype.name == "int64" else self.graph.node("Cast", t.value, to=7)
        return self.dims.atom("item", name)

    def read(self, step: Read, state: Scope) -> Any:
        given = self.value(step.value, state)
        if isinstance(given, tuple | int | Dim):
            return given if step.kind == "size" or isinstance(given, tuple) else (given,)
        if step.kind == "size" or not given.shape:
            size = self._item(given)
            return size if step.kind == "size" else (size,)
        if given.data is None or None in given.data:
            raise Untraced("ONNX has no shape that is the data of a tensor", step.span)
        return tuple(given.data)

    # Calls

    def call(self, step: Invoke, args: tuple[Any, ...], state: Scope) -> Any:
        if step.way in ("extern", "value", "list") or step.callee not in self.routines:
            what = "Python code" if step.way == "extern" else f"@{step.callee}, which is chosen when it runs"
            raise Untraced(f"ONNX cannot call {what}", step.span)
        if step.callee in self._calls:
            raise Untraced(f"ONNX has no call of itself, which @{step.callee} makes", step.span)
        routine = self.routines[step.callee]
        self._calls.append(step.callee)
        inner = Scope(self, dict(zip(routine.params, args, strict=True)))
        for entry in routine.entry:
            if step.way == "checked" or not isinstance(entry, Check):
                self.step(entry, inner)
        result = self.run(routine.body, inner)
        self._calls.pop()
        return result

    # Checks

    def check(self, step: Check | Match, state: Scope) -> None:
        try:
            holds = asked(step, state)
        except Undefined:
            holds = False
        if holds is False:
            raise Untraced("this check fails for every call", step.span)
        if holds is None and asks(step):
            self.left.append(step)

    # Arms and turns

    def branch(self, step: Branch, state: Scope) -> None:
        taken = self._taken(step, state)
        return self.block(step.then if taken else step.orelse, state)

    def _taken(self, step: Branch, state: Scope) -> bool:
        if isinstance(step.cond, core.BoolExpr):
            found = partial_sizes.truth(step.cond, state)
            if found is None:
                raise Untraced("this `if` is decided by sizes that are known at a call only", step.span)
            return found
        raise Untraced("this `if` is decided by the data, which the exporter does not write yet", step.span)

    def loop(self, step: Loop, state: Scope) -> None:
        raise Untraced("the exporter does not write this loop yet", step.span)

    def stack(self, step: Stack, state: Scope) -> None:
        raise Untraced("the exporter does not write this loop yet", step.span)

    def joined(self, values: Sequence[Any], state: Scope) -> Any:
        raise Open


def _constant(value: Any) -> Any:
    if isinstance(value, np.dtype):
        return dtype_of(value)
    return tuple(map(_constant, value)) if isinstance(value, tuple | list) else value


__all__ = ["Function", "Scope", "Traced", "Tracing", "Untraced"]
