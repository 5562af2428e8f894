"""Conditions on the indices of a model: inputs that hold indices, indices that sizes decide, and those that data decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...lang.node import Node, replace
from ...lang.onnx_weights import ELEMENTS
from .consistency import graphs
from .inference import Inferred
from .model import Element, Graph, Model, Operation, StoredInitializer, TensorType
from .operators.roles import roles

Size = int | str
Known = Mapping[str, Inferred]
_BITS = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}


class TableIndices(Node):
    """The elements of `input` become indices into the axis of a table, which has `size` entries. They are from `least` to
    `most`, each a multiple of the size plus an offset, as integers of the dtype `cast` if it has fewer bits than they have.
    With `is_length` they are lengths along that axis instead."""

    input: str
    operation: Operation
    table: str
    axis: int
    size: Size
    least: tuple[int, int] = (-1, 0)
    most: tuple[int, int] = (1, -1)
    cast: str | None = None
    is_length: bool = False

    @property
    def is_as_given(self) -> bool:
        """Whether the elements are used unchanged."""
        ends = (((0, 0), (1, 0)),) if self.is_length else (((-1, 0), (1, -1)), ((0, 0), (1, -1)))
        return (self.least, self.most) in ends

    def moved(self, source: str, by: int) -> TableIndices:
        """The same for the value that becomes these elements when a number is added."""
        (a, low), (b, high) = self.least, self.most
        return replace(self, input=source, least=(a, low - by), most=(b, high - by))


class Spread(Node):
    """Indices from `first` to `last`, both included."""

    range: TableIndices
    first: int
    last: int


class Indices:
    """The indices of one graph, by what decides them. `known` are the inferred facts about its values."""

    def __init__(self, model: Model, known: Known) -> None:
        self.graph, self.known = model.graph, known
        self.held = {t.name: t for t in model.graph.initializers}
        inputs = (v for v in model.graph.inputs if v.name not in self.held)
        types = {v.name: v.type.dtype for v in inputs if isinstance(v.type, TensorType)}
        self.given = {name: dtype for name, dtype in types.items() if dtype is not None}
        self.givers = {output: o for o in self.graph.operations for output in o.outputs if output}

    def inputs(self) -> Iterator[TableIndices]:
        """The inputs whose elements are all used as indices, by nodes that always run."""
        done = set()
        for used in self._used():
            for found in self._ends(used):
                key = found and (found.input, found.size, found.least, found.most, found.cast)
                if found is not None and key not in done:
                    done.add(key)
                    yield found

    def spread(self) -> Iterator[Spread]:
        """The indices that the model holds and whose bounds depend on sizes."""
        for used in self._used():
            found = self._constant(used)
            if found is not None:
                yield found

    def undecided(self) -> Iterator[tuple[Operation, str, str]]:
        """The nodes that take only some elements of an input, as only data decides: each with the input, and the condition on
        its elements."""
        decided = {(id(s.range.operation), s.range.input) for s in self.spread()}
        decided |= {(id(u.operation), u.input) for u in self._used() if None not in self._ends(u) or self._is_held(u)}
        held = self.held.keys() | {name for graph in _inside(self.graph) for name in _constants(graph)}
        for graph in (self.graph, *_inside(self.graph)):
            for operation in graph.operations:
                for at, what in self._asked(operation):
                    names = [name for name, _ in self._columns(operation, operation.inputs[at])]
                    if not all((id(operation), n) in decided or n in held or self._data(n) is not None for n in names):
                        yield operation, operation.inputs[at], what

    def _asked(self, operation: Operation) -> Iterator[tuple[int, str]]:
        """The inputs of a node whose elements it may refuse, each with the condition on them."""
        yield from ((at, "be an index") for at, _ in self._places(operation))
        yield from ((at, "be a length within the axis") for at, _ in self._lengths(operation))
        is_open = any("?" in (self.shape(name) or "?") for name in operation.outputs)
        asked = roles(operation).get("refuses", roles(operation).get("shaped", ()) if is_open else ())
        yield from ((int(at), "fit") for (at,) in asked if _has(operation, int(at)))

    def _places(self, operation: Operation) -> Iterator[tuple[int, int]]:
        """The inputs of a node that are indices, each with its table."""
        own = roles(operation)
        for at, _, table in own.get("index", own.get("indices", ())):
            if _has(operation, int(at)):
                yield int(at), int(table)

    def _used(self) -> Iterator[TableIndices]:
        """Each use of a value as indices into an axis of known size."""
        for operation in self.graph.operations:
            for at, of in self._places(operation):
                table = operation.inputs[of]
                shape = self.shape(table)
                for name, axis in self._columns(operation, operation.inputs[at]):
                    if shape and axis is not None and -len(shape) <= axis < len(shape) and shape[axis] != "?":
                        used = TableIndices(name, operation, table, axis % len(shape), shape[axis])
                        yield replace(used, least=(0, 0)) if "forward" in roles(operation) else used
            for at, axis in self._lengths(operation):
                shape = self.shape(operation.inputs[0])
                if shape and -len(shape) <= axis < len(shape) and shape[axis] != "?":
                    used = TableIndices(
                        operation.inputs[at], operation, operation.inputs[0], axis % len(shape), shape[axis]
                    )
                    yield replace(used, least=(0, 0), most=(1, 0), is_length=True)

    def _lengths(self, operation: Operation) -> Iterator[tuple[int, int]]:
        """The inputs of a node that hold lengths, each with the axis that they measure."""
        for at, _, attribute in roles(operation).get("length", ()):
            if _has(operation, int(at)):
                yield int(at), operation.attributes.get(attribute, 0)

    def _columns(self, operation: Operation, indices: str) -> list[tuple[str, int | None]]:
        """The values whose elements are indices, each with its axis of the table, None where that is unknown."""
        if "indices" not in roles(operation):
            return [(indices, operation.attributes.get("axis", 0))]
        start: int = operation.attributes.get("batch_dims", 0)
        shape = self.shape(indices) or ("?",)
        maker = self.givers.get(indices)
        if maker is not None and _joins(maker, len(shape)) and shape[-1] == len(maker.inputs):
            return [(name, start + at) for at, name in enumerate(maker.inputs)]
        return [(indices, start if shape[-1] == 1 else None)]

    def _ends(self, used: TableIndices) -> list[TableIndices | None]:
        """The conditions on all inputs whose elements become indices; None for elements from elsewhere."""
        if used.input in self.given:
            return [self._of_input(used)]
        maker = self.givers.get(used.input)
        before = [] if maker is None else list(self._before(used, maker))
        if not before:
            return [] if self.integers(used.input) is not None else [None]
        return [end for one in before for end in self._ends(one)]

    def _before(self, used: TableIndices, maker: Operation) -> Iterator[TableIndices]:
        """The conditions on a node's operands, if all their elements are used in its result."""
        gives = roles(maker)
        if "same" in gives:
            yield used.moved(maker.inputs[0], 0)
        elif "cast" in gives:
            kinds = [d for d in (used.cast, ELEMENTS.get(maker.attributes["to"], "?")) if d is not None]
            yield replace(used, input=maker.inputs[0], cast=min(kinds, key=lambda d: _BITS.get(d, 0)))
        elif "joined" in gives:
            yield from (used.moved(name, 0) for name in maker.inputs)
        elif "chosen" in gives:
            yield from self._from_the_end(used, maker)
        elif "plus" in gives or "minus" in gives:
            source, other = maker.inputs
            if "plus" in gives and self.constant(source) is not None:
                source, other = other, source
            number = self.constant(other)
            if isinstance(number, int):
                yield used.moved(source, number if "plus" in gives else -number)

    def _from_the_end(self, used: TableIndices, maker: Operation) -> Iterator[TableIndices]:
        """Negative indices that get the size of the table added: Where(x < 0, x + size, x)."""
        cond, moved, source = maker.inputs
        less, added = self.givers.get(cond), self.givers.get(moved)
        if less is None or added is None or used.is_length or not used.is_as_given:
            return
        zero = "less" in roles(less) and less.inputs[0] == source and self.constant(less.inputs[1]) == 0
        size = [self._one(n) for n in added.inputs if n != source] if source in added.inputs else []
        if zero and "plus" in roles(added) and size == [used.size]:
            yield replace(used, input=source, least=(-2, 0))

    def _one(self, name: str) -> Size | None:
        """The only element of a value, if it is a size."""
        found = self._data(name)
        return found[0] if found is not None and len(found) == 1 else None

    def _of_input(self, used: TableIndices) -> TableIndices | None:
        """The condition on an input of integers; a cast to no fewer bits changes no element."""
        bits = _BITS.get(self.given[used.input])
        if used.cast is None:
            return used if bits is not None else None
        if bits is None or used.cast not in _BITS or used.cast.startswith("u"):
            return None
        return used if _BITS[used.cast] < bits else replace(used, cast=None)

    def _constant(self, used: TableIndices) -> Spread | None:
        """The indices of a constant with more elements than are tracked as sizes."""
        held = self.held.get(used.input)
        shape = self.shape(used.input)
        if held is None or not held.values or shape is None or isinstance(used.size, int):
            return None
        numbers = [e for e in held.values if isinstance(e, int)]
        return Spread(used, min(numbers), max(numbers)) if len(numbers) == len(held.values) else None

    def _is_held(self, used: TableIndices) -> bool:
        """Whether the indices are some of those that the model holds, all of which are in the table."""
        name = used.input
        while name in self.givers and not {"same", "some"}.isdisjoint(roles(self.givers[name])):
            name = self.givers[name].inputs[0]
        numbers = self.integers(name)
        if not numbers or not isinstance(used.size, int) or used.is_length:
            return False
        return used.least[0] * used.size <= min(numbers) and max(numbers) < used.size

    def shape(self, name: str) -> tuple[Size, ...] | None:
        if name in self.held:
            return self.held[name].shape
        return self.known[name].shape if name in self.known else None

    def _data(self, name: str) -> tuple[Size, ...] | None:
        if self._elements(name) is not None:
            return self.integers(name)
        return self.known[name].data if name in self.known else None

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The elements of a constant, if all are integers."""
        found = self._elements(name)
        numbers = () if found is None else tuple(e for e in found if isinstance(e, int))
        return None if found is None or len(numbers) < len(found) else numbers

    def _elements(self, name: str) -> tuple[Element, ...] | None:
        """The elements of a constant, if they are decoded."""
        giver = self.givers.get(name)
        value = giver.attributes.get("value") if giver is not None and "constant" in roles(giver) else None
        tensor = value if isinstance(value, StoredInitializer) else self.held.get(name)
        return None if tensor is None else tensor.values

    def constant(self, name: str) -> Element | None:
        """The only element of a constant."""
        found = self._elements(name) or self._data(name)
        return found[0] if found is not None and len(found) == 1 and not isinstance(found[0], str) else None


def _joins(operation: Operation, rank: int) -> bool:
    """Whether a node joins values of a rank along their last axis."""
    return "joined" in roles(operation) and operation.attributes["axis"] in (-1, rank - 1)


def _has(operation: Operation, at: int) -> bool:
    """Whether an input is given."""
    return at < len(operation.inputs) and bool(operation.inputs[at])


def _inside(graph: Graph) -> Iterator[Graph]:
    """The graphs in the nodes of a graph, recursively."""
    for operation in graph.operations:
        for value in operation.attributes.values():
            for inner in graphs(value):
                yield inner
                yield from _inside(inner)


def _constants(graph: Graph) -> Iterator[str]:
    yield from (t.name for t in graph.initializers)
    yield from (o for made in graph.operations if "constant" in roles(made) for o in made.outputs)
