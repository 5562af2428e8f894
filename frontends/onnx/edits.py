"""Changes of a model as data, and their application to a model: as plain data, and as a message of the package onnx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ...lang.node import Node, replace
from .consistency import read_by
from .model import Graph, Model, ModelFunction, Operation, StoredInitializer, TensorType

# The place of a node: its number in the model's graph; in a graph inside a node, that node's place, the attribute's name and
# the number there; in a function the function's key and the number.
Place = int | tuple[Any, ...]
N = TypeVar("N")


class NewNode(Node):
    """A node to insert before the node at the place `before`, by default before all others."""

    op_type: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, int | tuple[int, ...]] = {}
    before: Place = 0


class ModelEdit(Node):
    """New constants of int64 (a number has no axes), new nodes, new values for inputs of nodes, by the node's place and the
    input's number, and attributes of integers, by the node's place and the name, None to remove one. Where two edits define
    the same name, the second one counts."""

    constants: Mapping[str, int | tuple[int, ...]] = {}
    nodes: tuple[NewNode, ...] = ()
    inputs: Mapping[tuple[Place, int], str] = {}
    attributes: Mapping[tuple[Place, str], int | tuple[int, ...] | None] = {}

    def __or__(self, other: ModelEdit) -> ModelEdit:
        nodes = {n.output: n for n in (*self.nodes, *other.nodes)}
        return ModelEdit(
            {**self.constants, **other.constants}, tuple(nodes.values()), {**self.inputs, **other.inputs},
            {**self.attributes, **other.attributes},
        )  # fmt: skip


def inside(prefix: tuple[Any, ...], index: int) -> Place:
    """The place of the node with a number after a prefix, which is empty in the model's graph."""
    return (*prefix, index) if prefix else index


def around(place: Place, name: str) -> tuple[Any, ...]:
    """The prefix of the places in a graph that is an attribute of a node."""
    return (*(place if isinstance(place, tuple) else (place,)), name)


def key_of(function: Any) -> tuple[str, str, str]:
    """The prefix of a function's places; its onnx message may have no overload."""
    return function.domain, function.name, getattr(function, "overload", "")


def all_names(graph: Graph) -> Iterator[str]:
    """The names of values and nodes in a graph and in its inner graphs."""
    yield from (value.name for value in (*graph.inputs, *graph.outputs, *graph.values))
    yield from (tensor.name for tensor in graph.initializers)
    for operation in graph.operations:
        yield from (operation.name, *operation.inputs, *operation.outputs)
        for inner in operation.attributes.values():
            if isinstance(inner, Graph):
                yield from all_names(inner)


def edited(model: Model, edit: ModelEdit) -> Model:
    """The model with the change; the declarations of its own values are dropped."""

    def operations(old: Sequence[Operation], prefix: tuple[Any, ...]) -> tuple[Operation, ...]:
        new = [
            Operation(n.output, n.op_type, "", n.inputs, (n.output,), n.attributes, None, len(old) + at)
            for at, n in enumerate(edit.nodes)
        ]
        changed = [operation(o, inside(prefix, o.index)) for o in old]
        placed = _placed(edit, new, changed, [inside(prefix, o.index) for o in old])
        return tuple(_ordered(placed, lambda o: (read_by(o), o.outputs)))

    def operation(old: Operation, place: Place) -> Operation:
        inputs = tuple(edit.inputs.get((place, at), name) for at, name in enumerate(old.inputs))
        attributes = {name: n for (where, name), n in edit.attributes.items() if where == place}
        graphs = {n: graph(v, around(place, n)) for n, v in old.attributes.items() if isinstance(v, Graph)}
        whole = {**old.attributes, **attributes, **graphs}
        return replace(old, inputs=inputs, attributes={n: v for n, v in whole.items() if v is not None})

    def graph(old: Graph, prefix: tuple[Any, ...]) -> Graph:
        return replace(old, operations=operations(old.operations, prefix), values=())

    def function(old: ModelFunction) -> ModelFunction:
        return replace(old, operations=operations(old.operations, (key_of(old),)))

    made = graph(model.graph, ())
    tensors = (StoredInitializer(n, "int64", _shape(v), None, _listed(v), None) for n, v in edit.constants.items())
    made = replace(made, initializers=(*made.initializers, *tensors))
    return replace(model, graph=made, functions=tuple(map(function, model.functions)))


def _shape(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return (len(value),) if isinstance(value, tuple) else ()


def _listed(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


def _placed(edit: ModelEdit, new: Sequence[N], old: Sequence[N], places: Sequence[Place]) -> Iterator[N]:
    """The old nodes, each after the new ones that belong before it."""
    before: dict[Place, list[N]] = {}
    for made, n in zip(new, edit.nodes, strict=True):
        before.setdefault(n.before, []).append(made)
    for one, place in zip(old, places, strict=True):
        yield from before.get(place, ())
        yield one


def _ordered(nodes: Iterable[N], names: Callable[[N], tuple[Iterable[str], Iterable[str]]]) -> list[N]:
    """The same nodes, each after those that make its inputs; `names` returns the names that a node reads and makes."""
    said = [(node, *names(node)) for node in nodes]
    givers = {name: at for at, (_, _, given) in enumerate(said) for name in given if name}
    found: dict[int, N] = {}

    def visit(at: int) -> None:
        if at not in found:
            node, read, _ = said[at]
            for giver in {givers[name] for name in read if name in givers} - found.keys() - {at}:
                visit(giver)
            found[at] = node

    for at in range(len(said)):
        visit(at)
    return list(found.values())


def edit_proto(proto: Any, edit: ModelEdit) -> None:
    """Make the change in an onnx.ModelProto."""
    from onnx import helper  # edits are seldom written

    def change(nodes: Any, prefix: tuple[Any, ...]) -> None:
        old = list(nodes)
        places = [inside(prefix, index) for index in range(len(old))]
        for node, place in zip(old, places, strict=True):
            _change(node, place, edit)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    change(attribute.g.node, around(place, attribute.name))
        made = _ordered(_placed(edit, new, old, places), lambda node: (_read(node), node.output))
        if made != old:
            del nodes[:]
            nodes.extend(made)

    new = [helper.make_node(n.op_type, list(n.inputs), [n.output], name=n.output) for n in edit.nodes]
    for node, n in zip(new, edit.nodes, strict=True):
        node.attribute.extend(helper.make_attribute(name, value) for name, value in n.attributes.items())
    tensors = partial(helper.make_tensor, data_type=7)
    proto.graph.initializer.extend(tensors(n, dims=_shape(v), vals=_listed(v)) for n, v in edit.constants.items())
    change(proto.graph.node, ())
    for function in proto.functions:
        change(function.node, (key_of(function),))


def _change(node: Any, place: Place, edit: ModelEdit) -> None:
    from onnx import helper  # edits are seldom written

    for (where, at), name in edit.inputs.items():
        if where == place:
            node.input[at] = name
    for (where, name), value in edit.attributes.items():
        if where == place:
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, *([] if value is None else [helper.make_attribute(name, value)])])


def _read(node: Any) -> Iterator[str]:
    """The names that a node reads, also in its inner graphs."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _read(inner)
        yield from (value.name for value in attribute.g.output)


def declare_sizes(proto: Any, graph: Graph) -> None:
    """Declare the inputs of an onnx.ModelProto as those of a graph, and drop the sizes of all other values."""
    sizes = {v.name: v.type.shape or () for v in graph.inputs if isinstance(v.type, TensorType)}
    _undeclare(proto.graph)
    for value in proto.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, sizes.get(value.name, ()), strict=False):
            if isinstance(size, str):
                dim.dim_param = size


def _undeclare(graph: Any) -> None:
    """Drop the declared sizes of all results in a graph and its inner graphs."""
    del graph.value_info[:]
    for value in graph.output:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _undeclare(attribute.g)
