"""Types of a model that are not tensors, in Rx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .consistency import graphs
from .literals import Unwritten
from .model import MapType, Model, Operation, OptionalType, SequenceType, TensorType, ValueType

HOLDERS = {SequenceType: "Sequence", OptionalType: "Optional"}


def opaque_text(kind: ValueType, name: str) -> str:
    """`Sequence(float32)`; a tensor is only its dtype, since shapes declared inside are ignored. Raises Unwritten where the
    model does not declare the content of `name`."""
    match kind:
        case SequenceType(element=element) | OptionalType(element=element) if element is not None:
            return f"{HOLDERS[type(kind)]}({opaque_text(element, name)})"
        case MapType(key=key, value=value) if value is not None:
            return f"Map({key}, {opaque_text(value, name)})"
        case TensorType(dtype=dtype) if dtype is not None:
            return dtype
    raise Unwritten(f"the model does not say what `{name}` holds")


def param_text(kind: ValueType | None, name: str) -> str:
    """The type of a parameter, `Tensor` for tensors of any shape."""
    return "Tensor" if kind is None or isinstance(kind, TensorType) else opaque_text(kind, name)


# Operators that turn tensors into values that are not tensors.
_MAKE = {"SequenceConstruct", "SequenceEmpty", "SplitToSequence", "SequenceMap", "Optional", "ZipMap"}


def has_tensors_only(model: Model) -> bool:
    """Whether every value of a model is a tensor."""
    given = (v.type for v in model.graph.inputs)
    bodies = (model.graph.operations, *(f.operations for f in model.functions))
    made = (o.op_type for body in bodies for o in _every(body))
    return all(t is None or isinstance(t, TensorType) for t in given) and _MAKE.isdisjoint(made)


def _every(operations: Iterable[Operation]) -> Iterator[Operation]:
    for operation in operations:
        yield operation
        for value in operation.attributes.values():
            for graph in graphs(value):
                yield from _every(graph.operations)
