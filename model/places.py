"""All nodes of a model, also in inner graphs and functions, and the known facts about the values that they read."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from ..frontends.onnx.block import constant_of
from ..frontends.onnx.consistency import graphs, read_by
from ..frontends.onnx.edits import Place, around, inside, key_of
from ..frontends.onnx.inference import Inferred
from ..frontends.onnx.model import Graph, Model, Operation, StoredInitializer
from ..frontends.onnx.operators.registry import Untranslatable
from ..lang.node import replace
from ..lang.onnx_weights import open_tensor

Sizes = tuple[int | str, ...]
# Attributes of older operators that became inputs, and the opset of the change.
ATTRIBUTES: dict[str, tuple[int, tuple[str, ...]]] = {
    "Reshape": (5, ("shape",)), "Upsample": (9, ("scales",)), "TopK": (10, ("k",)), "Slice": (10, ("starts", "ends")),
    "Pad": (11, ("pads",)), "Split": (13, ("split",)),
}  # fmt: skip
# Larger constants are not read.
_MOST_BYTES = 2**26
# Operators that keep the elements of a constant, to follow it in a function, where other values are unknown.
_SAME = frozenset({"Identity", "Cast", "Unsqueeze", "Squeeze"})


class ModelSpot(NamedTuple):
    """A node, its place, and its region: the model's graph and those inside (""), or a function."""

    region: str
    place: Place
    operation: Operation

    def __str__(self) -> str:
        return str(self.operation)


class ModelNodes:
    """The nodes of a model; `values` are the inferred facts about the values of its graphs."""

    def __init__(self, model: Model, values: Mapping[str, Inferred]) -> None:
        self.model, self.values = model, values
        self.held: dict[tuple[str, str], StoredInitializer] = {}
        # Inputs that stand for attributes, with the attribute's name.
        self.attributes: dict[str, str] = {}
        self.spots = [*self._graph(model.graph, "", ())]
        for function in model.functions:
            self.spots += self._nodes(function.operations, f"{key_of(function)}", (key_of(function),))
        self.makers = {(s.region, name): s for s in self.spots for name in s.operation.outputs if name}

    def _graph(self, graph: Graph, region: str, prefix: tuple[Any, ...]) -> Iterator[ModelSpot]:
        self.held |= {(region, t.name): t for t in graph.initializers}
        yield from self._nodes(graph.operations, region, prefix)

    def _nodes(self, operations: tuple[Operation, ...], region: str, prefix: tuple[Any, ...]) -> Iterator[ModelSpot]:
        for operation in operations:
            place = inside(prefix, operation.index)
            spot = ModelSpot(region, place, self._with_attributes(region, place, operation))
            yield spot
            if operation.op_type == "Constant" and not operation.domain and operation.outputs:
                self._hold(region, operation)
            for name, value in operation.attributes.items():
                for graph in graphs(value):
                    yield from self._graph(graph, region, around(spot.place, name))

    def _with_attributes(self, region: str, place: Place, operation: Operation) -> Operation:
        """An operation of an older version, with its attributes as the inputs that they became."""
        _, names = ATTRIBUTES.get(operation.op_type, (0, ())) if not operation.domain else (0, ())
        found = {n: v for n in names if len(operation.inputs) == 1 and (v := operation.attributes.get(n)) is not None}
        for name, value in found.items():
            listed = value if isinstance(value, tuple) else (value,)
            made = f"\0{name} of {place}"
            self.attributes[made] = name
            self.held[region, made] = StoredInitializer(made, "int64", (len(listed),), None, listed, None)
        added = (f"\0{name} of {place}" for name in found)
        return replace(operation, inputs=(*operation.inputs, *added)) if found else operation

    def _hold(self, region: str, operation: Operation) -> None:
        try:
            self.held[region, operation.outputs[0]] = constant_of(operation)
        except Untranslatable:  # a constant without a value has no elements
            return

    @cached_property
    def named(self) -> dict[str, list[ModelSpot]]:
        """Nodes by their names in messages."""
        found: dict[str, list[ModelSpot]] = {}
        for spot in self.spots:
            found.setdefault(str(spot), []).append(spot)
        return found

    def shape(self, spot: ModelSpot, name: str) -> Sizes | None:
        """The sizes of a value that a node reads or gives."""
        tensor, value = self.held.get((spot.region, name)), None if spot.region else self.values.get(name)
        return tensor.shape if tensor is not None else None if value is None else value.shape

    def dtype(self, spot: ModelSpot, name: str) -> str | None:
        tensor, value = self.held.get((spot.region, name)), None if spot.region else self.values.get(name)
        return tensor.dtype if tensor is not None else None if value is None else value.dtype

    def data(self, spot: ModelSpot, name: str) -> Sizes | None:
        """The elements of a value that a node reads, if all are sizes."""
        tensor, maker = self.held.get((spot.region, name)), self.makers.get((spot.region, name))
        if tensor is None and maker is not None and spot.region and maker.operation.op_type in _SAME:
            return self.data(maker, maker.operation.inputs[0])
        if tensor is None:
            return None if spot.region or name not in self.values else self.values[name].data
        whole = [int(v) for v in tensor.values or () if isinstance(v, int | float) and v == int(v)]
        return tuple(whole) if tensor.values is not None and len(whole) == len(tensor.values) else None

    def before(self, spot: ModelSpot) -> Iterator[ModelSpot]:
        """The nodes that make a node's inputs."""
        for name in dict.fromkeys(read_by(spot.operation)):
            if (spot.region, name) in self.makers:
                yield self.makers[spot.region, name]

    def called(self, spot: ModelSpot) -> list[ModelSpot]:
        """The nodes of the function that a node calls."""
        kind = (spot.operation.domain, spot.operation.op_type, spot.operation.overload)
        return [s for s in self.spots if s.region == f"{kind}"] if spot.operation.domain else []

    def leads_to(self, first: ModelSpot, last: ModelSpot) -> bool:
        """Whether the result of one node reaches another one, or itself."""
        waiting, seen = [last], {last.place}
        while waiting:
            spot = waiting.pop()
            if spot.place == first.place:
                return True
            more = [s for s in self.before(spot) if s.place not in seen]
            seen |= {s.place for s in more}
            waiting += more
        return False

    def step(self, tensor: StoredInitializer, axis: int) -> int | None:
        """The step from each line of a constant along an axis to the next, 0 if all are equal; None if it is no whole number,
        or not the same everywhere."""
        lines = _lines(self._elements(tensor), tensor.shape, axis)
        if any(line != lines[0] for line in lines[1:]):
            if tensor.dtype not in ("int64", "int32"):
                return None
            steps = {b - a for one, other in pairwise(lines) for a, b in zip(one, other, strict=True)}
            return steps.pop() if len(steps) == 1 else None
        return 0 if lines else None

    def _elements(self, tensor: StoredInitializer) -> Any:
        """The elements row by row, or the bytes of each, for comparison; empty if there are too many."""
        if tensor.values is not None:
            return tensor.values
        if tensor.key is None or not prod(tensor.shape):
            return ()
        with open_tensor(self.model.path, tensor.key) as (place, stream):
            if place.length > _MOST_BYTES or place.length % prod(tensor.shape):
                return ()
            data, width = stream.read(place.length), place.length // prod(tensor.shape)
        if tensor.dtype in ("int64", "int32"):
            return array("q" if tensor.dtype == "int64" else "i", data)
        return [data[at : at + width] for at in range(0, len(data), width)]


def _lines(flat: Any, shape: tuple[int, ...], axis: int) -> list[Any]:
    """The elements of each line along an axis."""
    inner, count = prod(shape[axis + 1 :]), shape[axis]
    whole = range(prod(shape[:axis])) if len(flat) else ()
    return [
        [e for o in whole for e in flat[(o * count + n) * inner : (o * count + n + 1) * inner]] for n in range(count)
    ]
