"""A model to what its indices must be: which inputs hold indices, which are worked out of sizes, and which data decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...lang.node import Node
from .inference import Inferred
from .model import Element, Model, Operation, Tensor, TensorType

Size = int | str
Known = Mapping[str, Inferred]
# The operators that take elements from their first input along one axis, and where their indices stand.
_INDEXED = {"Gather": 1, "GatherElements": 1, "ScatterElements": 1, "Scatter": 1}
# Those whose indices are of several axes at once.
_MANY = {"GatherND": 1, "ScatterND": 1}
# What leaves the elements as they are, all of them; what may repeat them, or leave none.
_SAME = frozenset({"Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"})
_REPEATED = frozenset({*_SAME, "Expand", "Tile", "Cast"})
_BITS = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}


class Range(Node):
    """The elements of `input` are indices into the axis of a table, which has `size` entries."""

    input: str
    operation: Operation
    table: str
    axis: int
    size: Size


class Spread(Node):
    """Indices from `first` to `last`, both among them; where one of the sizes `counts` is 0 there are none."""

    range: Range
    first: Size
    last: Size
    counts: tuple[Size, ...]


class Indices:
    """The indices of one graph, by who decides them. `known` is what is known of its values."""

    def __init__(self, model: Model, known: Known) -> None:
        self.graph, self.known = model.graph, known
        self.held = {t.name: t for t in model.graph.initializers}
        inputs = (v for v in model.graph.inputs if v.name not in self.held)
        types = {v.name: v.type.dtype for v in inputs if isinstance(v.type, TensorType)}
        self.given = {name: dtype for name, dtype in types.items() if dtype is not None}
        self.givers = {output: o for o in self.graph.operations for output in o.outputs if output}

    def inputs(self) -> Iterator[Range]:
        """The inputs that are used as indices, whole and unchanged, by nodes that run whatever is given."""
        for used in self._used():
            name = self._given(used.input)
            if name is not None:
                yield Range(name, used.operation, used.table, used.axis, used.size)

    def spread(self) -> Iterator[Spread]:
        """The indices that count up, or that the model holds, where sizes decide whether they fit."""
        for used in self._used():
            found = self._constant(used) or self._counting(used)
            if found is not None:
                yield found

    def undecided(self) -> Iterator[tuple[Operation, str]]:
        """The nodes whose indices only data decides, with what holds these."""
        decided = {id(s.range.operation) for s in self.spread()} | {id(r.operation) for r in self.inputs()}
        for operation in self.graph.operations:
            at = {**_INDEXED, **_MANY}.get(operation.op_type) if operation.domain == "" else None
            name = "" if at is None or len(operation.inputs) <= at else operation.inputs[at]
            if name and id(operation) not in decided and name not in self.held and self._data(name) is None:
                yield operation, name

    def _used(self) -> Iterator[Range]:
        """Each use of a value as indices into an axis of known size."""
        for operation in self.graph.operations:
            at = _INDEXED.get(operation.op_type) if operation.domain == "" else None
            if at is None or len(operation.inputs) <= at:
                continue
            table, axis = operation.inputs[0], operation.attributes.get("axis", 0)
            shape = self.shape(table)
            if shape and -len(shape) <= axis < len(shape) and shape[axis] != "?":
                yield Range(operation.inputs[at], operation, table, axis % len(shape), shape[axis])

    def _given(self, name: str) -> str | None:
        """The input whose elements these are."""
        narrow = False
        while name in self.givers and self.givers[name].op_type in {*_SAME, "Cast"}:
            narrow = narrow or self.givers[name].op_type == "Cast"
            name = self.givers[name].inputs[0]
        # Where a cast loses bits other elements fit as well: then nothing is demanded of the input itself.
        lossy = narrow and _BITS.get(self.given.get(name, ""), 64) > 32
        return name if name in self.given and not lossy else None

    def _constant(self, used: Range) -> Spread | None:
        """More indices than are followed as sizes, where the model holds them."""
        held = self.held.get(used.input)
        shape = self.shape(used.input)
        if held is None or not held.values or shape is None or isinstance(used.size, int):
            return None
        numbers = [e for e in held.values if isinstance(e, int)]
        return Spread(used, min(numbers), max(numbers), ()) if len(numbers) == len(held.values) else None

    def _counting(self, used: Range) -> Spread | None:
        name, offset = used.input, 0
        while name in self.givers:
            maker = self.givers[name]
            if maker.op_type == "Range":
                return self._counted(used, maker, offset)
            moved = 0 if maker.op_type in _REPEATED else self._added(maker)
            if moved is None:
                break
            offset += moved
            name = next(n for n in maker.inputs if self.constant(n) is None or maker.op_type in _REPEATED)
        return None

    def _added(self, operation: Operation) -> int | None:
        """The number that a node adds to all elements of another input."""
        numbers = [self.constant(n) for n in operation.inputs]
        known = [n for n in numbers if n is not None]
        return known[0] if operation.op_type == "Add" and len(known) == 1 and isinstance(known[0], int) else None

    def _counted(self, used: Range, maker: Operation, offset: int) -> Spread | None:
        first, step = self._data(maker.inputs[0]), self.constant(maker.inputs[2])
        (count,) = self.shape(maker.outputs[0]) or ("?",)
        counts = tuple(dict.fromkeys((count, *(self.shape(used.input) or ("?",)))))
        if first is None or not isinstance(step, int) or step < 1 or "?" in counts:
            return None
        last = f"{first[0]} + ({count} - 1) * {step} + {offset}"
        return Spread(
            used, f"{first[0]} + {offset}", last, tuple(c for c in counts if not isinstance(c, int) or c == 0)
        )

    def shape(self, name: str) -> tuple[Size, ...] | None:
        if name in self.held:
            return self.held[name].shape
        return self.known[name].shape if name in self.known else None

    def _data(self, name: str) -> tuple[Size, ...] | None:
        if self._elements(name) is not None:
            return self.integers(name)
        return self.known[name].data if name in self.known else None

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The elements of a constant of integers."""
        found = self._elements(name)
        numbers = () if found is None else tuple(e for e in found if isinstance(e, int))
        return None if found is None or len(numbers) < len(found) else numbers

    def _elements(self, name: str) -> tuple[Element, ...] | None:
        """The elements of a constant, where they are decoded."""
        giver = self.givers.get(name)
        value = giver.attributes.get("value") if giver is not None and giver.op_type == "Constant" else None
        tensor = value if isinstance(value, Tensor) else self.held.get(name)
        return None if tensor is None else tensor.values

    def constant(self, name: str) -> Element | None:
        """The one element of a constant."""
        found = self._elements(name) or self._data(name)
        return found[0] if found is not None and len(found) == 1 and not isinstance(found[0], str) else None
