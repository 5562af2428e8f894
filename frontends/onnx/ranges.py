"""A model to the inputs whose elements are indices, and to the indices that count up from 0, each with the table it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...lang.node import Node
from .model import Model, Operation, Tensor, TensorType

Size = int | str
# The operators that take elements from their first input along one axis, and where their indices stand.
_INDEXED = {"Gather": 1, "GatherElements": 1, "ScatterElements": 1, "Scatter": 1}
# What leaves the elements as they are, all of them.
_SAME = frozenset({"Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"})
_BITS = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}


class Range(Node):
    """The elements of `input` are indices into the axis of a table, which has `size` entries."""

    input: str
    operation: Operation
    table: str
    axis: int
    size: Size


def ranges(model: Model, shapes: Mapping[str, tuple[Size, ...]]) -> Iterator[Range]:
    """The inputs that are used as indices, whole and unchanged, by nodes that run whatever is given."""
    graph = model.graph
    constants = {t.name for t in graph.initializers}
    types = {v.name: v.type.dtype for v in graph.inputs if isinstance(v.type, TensorType) and v.name not in constants}
    given = {name: dtype for name, dtype in types.items() if dtype is not None}
    givers = {output: o for o in graph.operations for output in o.outputs if output}
    for used in _used(model, shapes):
        name, narrow = used.input, False
        while name in givers and (givers[name].op_type in _SAME or givers[name].op_type == "Cast"):
            narrow = narrow or givers[name].op_type == "Cast"
            name = givers[name].inputs[0]
        # Where a cast loses bits other elements fit as well: then nothing is demanded of the input itself.
        if name in given and not (narrow and _BITS.get(given[name], 64) > 32):
            yield Range(name, used.operation, used.table, used.axis, used.size)


def counted(model: Model, shapes: Mapping[str, tuple[Size, ...]]) -> Iterator[tuple[Range, Size]]:
    """The tables that are read at 0, 1, 2 and so on, with how many entries are read."""
    givers = {output: o for o in model.graph.operations for output in o.outputs if output}
    constants = _constants(model)
    for used in _used(model, shapes):
        maker = givers.get(used.input)
        while maker is not None and maker.op_type in _SAME:
            maker = givers.get(maker.inputs[0])
        if maker is None or maker.op_type != "Range":
            continue
        start, _, step = (constants.get(name) for name in maker.inputs)
        count = shapes.get(maker.outputs[0], ("?",))[0]
        if start == 0 and step == 1 and count != "?":
            yield used, count


def _used(model: Model, shapes: Mapping[str, tuple[Size, ...]]) -> Iterator[Range]:
    """Each use of a value as indices into an axis of known size."""
    held = {t.name: t.shape for t in model.graph.initializers}
    for operation in model.graph.operations:
        at = _INDEXED.get(operation.op_type) if operation.domain == "" else None
        if at is None or len(operation.inputs) <= at:
            continue
        table, axis = operation.inputs[0], operation.attributes.get("axis", 0)
        shape = held.get(table) or shapes.get(table)
        if shape and -len(shape) <= axis < len(shape) and shape[axis] != "?":
            yield Range(operation.inputs[at], operation, table, axis % len(shape), shape[axis])


def _constants(model: Model) -> dict[str, object]:
    """The constants of one element."""
    tensors = {t.name: t for t in model.graph.initializers}
    for operation in model.graph.operations:
        value = operation.attributes.get("value") if operation.op_type == "Constant" else None
        if isinstance(value, Tensor):
            tensors[operation.outputs[0]] = value
    return {name: t.values[0] for name, t in tensors.items() if t.values is not None and len(t.values) == 1}
