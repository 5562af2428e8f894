"""An ONNX graph while it grows: nodes without duplicates, constants, and sizes as values of one element."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ...lang.dtypes import DType
from ...lang.source import Span
from ..dtypes import numpy_dtype
from ..engine_types import EngineArray, EngineSize, NodeAttribute, RunValue
from .symbolic import Dim, Dims, Truth
from .table import Refused

_TYPES = {
    "bool": TensorProto.BOOL, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "string": TensorProto.STRING, "int8": TensorProto.INT8,
    "int16": TensorProto.INT16, "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
}  # fmt: skip
_OPERATIONS = {"//": "Div", "min": "Min", "max": "Max"}
_TRUTHS = {"==": "Equal", "<": "Less", "<=": "LessOrEqual", "and": "And", "or": "Or", "not": "Not"}


def elem_type(dtype: DType) -> int:
    """ONNX's number for a dtype."""
    if dtype.name not in _TYPES:
        raise Refused(f"tensors of {dtype}")
    return _TYPES[dtype.name]


class ValueNames:
    """Unique names of a model's values."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def new(self, stem: str) -> str:
        count = self.taken.get(stem)
        self.taken[stem] = (count or 0) + 1
        return self.new(f"{stem}_{count}") if count else stem


class Graph:
    """One graph of a model: the outermost, or a subgraph, which sees the values of the graphs around it."""

    def __init__(self, dims: Dims, outer: Graph | None = None) -> None:
        self.dims = dims
        self.outer = outer
        self.root: Graph = outer.root if outer is not None else self
        self.names: ValueNames = outer.names if outer is not None else ValueNames()
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self.stem = "value"
        self.span: Span | None = None
        # The place in the program of each node's step.
        self.places: dict[str, Span] = {}
        self._made: dict[Hashable, tuple[str, ...]] = {}

    def _found(self, key: Hashable) -> tuple[str, ...] | None:
        graph: Graph | None = self
        while graph is not None:
            if key in graph._made:
                return graph._made[key]
            graph = graph.outer
        return None

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: NodeAttribute) -> RunValue:
        """The output of a node, or its outputs; an equal node is reused."""
        given = {name: value for name, value in attributes.items() if value is not None}
        key = (op, inputs, outputs, tuple(sorted((n, _frozen(v)) for n, v in given.items())))
        found = self._found(key)
        if found is None:
            found = self.add(op, inputs, outputs, given)
            self._made[key] = found
        return found[0] if outputs == 1 else found

    def add(
        self, op: str, inputs: Sequence[str], outputs: int, attributes: Mapping[str, NodeAttribute]
    ) -> tuple[str, ...]:
        """Add a node, even if there is an equal one."""
        made = tuple(self.root.names.new(self.root.stem) for _ in range(outputs))
        span = self.root.span
        name = self.root.names.new(op if span is None else f"line{span.line}/{op}")
        if span is not None:
            self.root.places[name] = span
        self.nodes.append(helper.make_node(op, list(inputs), list(made), name=name, **attributes))
        return made

    # Constants

    def constant(self, value: EngineArray, stem: str = "c") -> str:
        """A constant array of the model; an equal one is reused."""
        array = np.asarray(value)
        key = ("constant", array.dtype.name, array.shape, array.tobytes())
        found = self.root._found(key)
        if found is None:
            name = self.root.names.new(stem)
            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            self.root.initializers[name] = tensor
            found = self.root._made[key] = (name,)
        return found[0]

    def ints(self, values: Sequence[int]) -> str:
        return self.constant(np.array(values, np.int64).reshape(-1), "sizes")

    # Sizes

    def size(self, size: EngineSize) -> str:
        """A size as a row of one int64."""
        size = self.dims.settled(size)
        if not isinstance(size, Dim):
            return self.ints([int(size)])
        total: str | None = None
        for mono, count in sorted(size.terms, key=lambda t: t[1] < 0):
            factors = [self._atom(number) for number in mono]
            factors += [self.ints([abs(count)])] if abs(count) != 1 or not factors else []
            part = factors[0]
            for factor in factors[1:]:
                part = self._named("Mul", part, factor)
            if total is None:
                total = part if count > 0 else self._named("Neg", part)
            else:
                total = self._named("Add" if count > 0 else "Sub", total, part)
        assert total is not None
        return total

    def _named(self, op: str, *inputs: str, **attributes: NodeAttribute) -> str:
        before, self.root.stem = self.root.stem, "size"
        made: str = self.node(op, *inputs, **attributes)
        self.root.stem = before
        return made

    def _atom(self, number: int) -> str:
        atom = self.dims.atoms[number]
        if atom.op == "dim":
            tensor, axis = atom.args
            return self._named("Shape", tensor, start=axis, end=axis + 1)
        if atom.op == "item":
            return self._named("Reshape", atom.args[0], self.ints([1]))
        a, b = map(self.size, atom.args)
        if atom.op in ("//", "%") and isinstance(self.dims.settled(atom.args[1]), Dim):
            b = self._named(
                "Max", b, self.ints([1])
            )  # an arm that is not taken may divide by 0, which ends the process
        if atom.op == "broadcast":
            return self._named("Where", self._named("Equal", a, self.ints([1])), b, a)
        if atom.op == "%":
            return self._named("Mod", a, b)
        if atom.op == "//" and not self._is_natural(atom.args[0]):
            rest = self._named("Mod", a, b)  # which has the sign of the divisor, and that is positive
            return self._named("Div", self._named("Sub", a, rest), b)
        return self._named(_OPERATIONS[atom.op], a, b)

    def _is_natural(self, size: EngineSize) -> bool:
        return size.is_natural if isinstance(size, Dim) else size >= 0

    def sizes(self, sizes: Sequence[EngineSize]) -> str:
        """Sizes as one row; adjacent numbers are one constant."""
        settled = [self.dims.settled(s) for s in sizes]
        if not any(isinstance(s, Dim) for s in settled):
            return self.ints([int(s) for s in settled])
        parts: list[str] = []
        run: list[int] = []
        for size in [*settled, None]:
            if isinstance(size, int):
                run.append(size)
                continue
            parts += [self.ints(run)] if run else []
            run = []
            parts += [self.size(size)] if size is not None else []
        return parts[0] if len(parts) == 1 else self._named("Concat", *parts, axis=0)

    def scalar(self, size: EngineSize) -> str:
        """A size as a scalar."""
        size = self.dims.settled(size)
        if not isinstance(size, Dim):
            return self.constant(np.array(int(size), np.int64), "size")
        number = self.dims.single(size)
        if number is not None and self.dims.atoms[number].op == "item":
            return str(self.dims.atoms[number].args[0])
        return self._named("Squeeze", self.size(size), self.ints([0]))

    # Conditions

    def truth(self, cond: bool | Truth) -> str:
        """A condition as a scalar."""
        if not isinstance(cond, Truth):
            return self.constant(np.array(cond), "truth")
        if cond.op == "value":
            return str(cond.args[0])
        inner = map(self.truth if cond.op in ("and", "or", "not") else self.scalar, cond.args)
        return self.joined(_TRUTHS[cond.op], list(inner))

    def joined(self, op: str, names: Sequence[str]) -> str:
        """Join values by `And` or `Or`, one after the other; any other operator is one node."""
        if op not in ("And", "Or"):
            return self._named(op, *names)
        made = names[0]
        for name in names[1:]:
            made = self._named(op, made, name)
        return made

    # Subgraphs

    def inner(self) -> Graph:
        return Graph(self.dims, self)

    def ended(self, name: str) -> str:
        """Make a value an output of this graph: the graph has to compute it itself, for one output alone."""
        return self.add("Identity", (name,), 1, {})[0]

    def proto(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> onnx.GraphProto:
        """The graph, without the nodes that no output needs."""
        needed, nodes = {o.name for o in outputs}, []
        for node in reversed(self.nodes):
            if not needed.isdisjoint(node.output):
                nodes.append(node)
                needed |= _read(node)
        held = [t for n, t in self.initializers.items() if n in needed]
        return helper.make_graph(nodes[::-1], name, list(inputs), list(outputs), held)


def _read(node: onnx.NodeProto) -> set[str]:
    """The values that a node and its subgraphs read."""
    inner = (n for a in node.attribute if a.HasField("g") for n in a.g.node)
    return {
        *node.input,
        *(name for n in inner for name in _read(n)),
        *(o.name for a in node.attribute for o in a.g.output),
    }


def _frozen(value: EngineArray) -> RunValue:
    return tuple(value) if isinstance(value, list | tuple) else value


def literal(value: bool | int | float, dtype: DType) -> RunValue:
    return np.array(value).astype(numpy_dtype(dtype))
