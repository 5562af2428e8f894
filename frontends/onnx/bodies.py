"""Operators that ONNX itself defines by other operators, as functions of the model's kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import FunctionProto, NodeProto, TensorProto, TypeProto, defs, helper
from onnx.defs import SchemaError

from ...lang.node import replace
from ...lang.onnx_weights import ELEMENTS, Index
from .model import Attribute, Function, Graph, Operation, Tensor, TensorType, ValueType
from .reading import Reader

_NUMBERS = {name: number for number, name in ELEMENTS.items()}


def body(operation: Operation, version: int, types: Sequence[ValueType | None]) -> Function | None:
    """The function that an operator is, for inputs of given types; None where ONNX gives none."""
    try:
        schema = defs.get_schema(operation.op_type, version, operation.domain)
    except SchemaError:
        return None
    made = schema.get_function_with_opset_version(version) if schema.has_function else None
    proto = FunctionProto.FromString(made) if isinstance(made, bytes) else made
    if proto is None and any(isinstance(value, Graph) for value in operation.attributes.values()):
        return None
    if proto is None and schema.has_context_dependent_function:
        node, kinds = _node(operation), [_type(t).SerializeToString() for t in types]
        try:
            made = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), kinds)
        except (RuntimeError, SchemaError):
            return None
        proto = FunctionProto.FromString(made) if made else None
    if proto is None or not proto.node:
        return None
    found = Reader(Path("<ONNX>"), Index({}, frozenset(), b"")).function(proto, "")
    return replace(found, attributes={**found.attributes, **_defaults(schema)})


def _defaults(schema: defs.OpSchema) -> dict[str, Attribute]:
    """What attributes are that a node leaves out."""
    values = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type}
    found = {name: helper.get_attribute_value(value) for name, value in values.items()}
    return {name: v.decode() if isinstance(v, bytes) else v for name, v in found.items()}


def _node(operation: Operation) -> NodeProto:
    attributes = {name: _value(value) for name, value in operation.attributes.items() if not isinstance(value, Graph)}
    return helper.make_node(
        operation.op_type, operation.inputs, operation.outputs, domain=operation.domain, **attributes
    )


def _value(value: Any) -> Any:
    return _tensor(value) if isinstance(value, Tensor) else value


def _tensor(tensor: Tensor) -> TensorProto:
    return helper.make_tensor(tensor.name, _NUMBERS[tensor.dtype], tensor.shape, tensor.values or ())


def _type(kind: ValueType | None) -> TypeProto:
    if not isinstance(kind, TensorType) or kind.dtype is None:
        return TypeProto()
    return helper.make_tensor_type_proto(_NUMBERS[kind.dtype], kind.shape)
