"""A change of a model as data, to the changed model, as plain data and as a message of the package onnx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...lang.node import Node, replace
from .model import Graph, Model, Operation, Tensor, TensorType


class NewNode(Node):
    """A node that comes `before` another one, of that number; before all others without."""

    op_type: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, int] = {}
    before: int = 0


class Edit(Node):
    """New constants of int64, new nodes, inputs of nodes that become another value, by the node's number and theirs, and
    attributes of integers, by the node's number and their name."""

    constants: Mapping[str, tuple[int, ...]] = {}
    nodes: tuple[NewNode, ...] = ()
    inputs: Mapping[tuple[int, int], str] = {}
    attributes: Mapping[tuple[int, str], int] = {}

    def __or__(self, other: Edit) -> Edit:
        return Edit(
            {**self.constants, **other.constants}, (*self.nodes, *other.nodes), {**self.inputs, **other.inputs},
            {**self.attributes, **other.attributes},
        )  # fmt: skip


def all_names(graph: Graph) -> Iterator[str]:
    """What values and nodes are called in a graph and in those inside of it."""
    yield from (value.name for value in (*graph.inputs, *graph.outputs, *graph.values))
    yield from (tensor.name for tensor in graph.initializers)
    for operation in graph.operations:
        yield from (operation.name, *operation.inputs, *operation.outputs)
        for inner in operation.attributes.values():
            if isinstance(inner, Graph):
                yield from all_names(inner)


def edited(model: Model, edit: Edit) -> Model:
    """The model with the change."""
    graph, count = model.graph, len(model.graph.operations)
    tensors = (Tensor(name, "int64", (len(v),), None, v, None) for name, v in edit.constants.items())
    new = [
        Operation(n.output, n.op_type, "", n.inputs, (n.output,), n.attributes, None, count + at)
        for at, n in enumerate(edit.nodes)
    ]
    old = [_edited(o, edit) for o in graph.operations]
    operations = _placed(edit, new, old, [o.index for o in old])
    changed = replace(graph, initializers=(*graph.initializers, *tensors), operations=tuple(operations), values=())
    return replace(model, graph=changed)


def _placed(edit: Edit, new: list[Any], old: list[Any], numbers: Sequence[int]) -> Iterator[Any]:
    """The old nodes, each behind the new ones that come before it."""
    for one, number in zip(old, numbers, strict=True):
        first = number == min(numbers)
        yield from (
            made for made, n in zip(new, edit.nodes, strict=True) if n.before == number or first and not n.before
        )
        yield one


def _edited(operation: Operation, edit: Edit) -> Operation:
    inputs = tuple(edit.inputs.get((operation.index, at), name) for at, name in enumerate(operation.inputs))
    attributes = {name: n for (index, name), n in edit.attributes.items() if index == operation.index}
    return replace(operation, inputs=inputs, attributes={**operation.attributes, **attributes})


def edit_proto(proto: Any, edit: Edit) -> None:
    """Makes the change in an onnx.ModelProto."""
    from onnx import helper  # few edits are written

    graph, old = proto.graph, list(proto.graph.node)
    for (index, at), name in edit.inputs.items():
        old[index].input[at] = name
    for (index, name), number in edit.attributes.items():
        kept = [a for a in old[index].attribute if a.name != name]
        del old[index].attribute[:]
        old[index].attribute.extend([*kept, helper.make_attribute(name, number)])
    new = [helper.make_node(n.op_type, list(n.inputs), [n.output], name=n.output) for n in edit.nodes]
    for made, node in zip(new, edit.nodes, strict=True):
        made.attribute.extend(helper.make_attribute(name, number) for name, number in node.attributes.items())
    graph.initializer.extend(helper.make_tensor(name, 7, [len(v)], v) for name, v in edit.constants.items())
    del graph.node[:]
    graph.node.extend(_placed(edit, new, old, range(len(old))))


def declare_sizes(proto: Any, graph: Graph) -> None:
    """Declares the inputs of an onnx.ModelProto as those of a graph, and no sizes of any other value."""
    sizes = {v.name: v.type.shape or () for v in graph.inputs if isinstance(v.type, TensorType)}
    del proto.graph.value_info[:]
    for value in proto.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, sizes.get(value.name, ()), strict=False):
            if isinstance(size, str):
                dim.dim_param = size
    for value in proto.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
