"""Operators that ONNX defines by other operators, as functions of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import FunctionProto, NodeProto, TensorProto, TypeProto, defs, helper
from onnx.defs import SchemaError

from ...lang.node import replace
from ...lang.onnx_weights import ELEMENTS, WeightIndex
from .model import Graph, ModelFunction, Operation, StoredInitializer, TensorType, ValueType
from .reading import Reader

_NUMBERS = {name: number for number, name in ELEMENTS.items()}


def body(operation: Operation, version: int, types: Sequence[ValueType | None]) -> ModelFunction | None:
    """The function that an operator is, for inputs of given types; None where ONNX gives none."""
    try:
        schema: Any = defs.get_schema(operation.op_type, version, operation.domain)
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
    return _with_defaults(Reader(Path("<ONNX>"), WeightIndex({}, frozenset(), b"")), schema, proto)


def _with_defaults(reader: Reader, schema: Any, proto: FunctionProto) -> ModelFunction:
    """The function, with the values that attributes have in its operator if nobody gives them."""
    found = reader.function(proto, "")
    usual = {
        name: reader.attribute(a.default_value, "", f"operator {schema.name}")
        for name, a in schema.attributes.items()
        if a.default_value.type
    }
    named = {name: usual.get(name) if value is None else value for name, value in found.attributes.items()}
    return replace(found, attributes=named)


def _node(operation: Operation) -> NodeProto:
    attributes = {name: _value(value) for name, value in operation.attributes.items() if not isinstance(value, Graph)}
    return helper.make_node(
        operation.op_type, operation.inputs, operation.outputs, domain=operation.domain, **attributes
    )


def _value(value: Any) -> Any:
    return _tensor(value) if isinstance(value, StoredInitializer) else value


def _tensor(tensor: StoredInitializer) -> TensorProto:
    return helper.make_tensor(tensor.name, _NUMBERS[tensor.dtype], tensor.shape, _elements(tensor))


def _elements(tensor: StoredInitializer) -> Any:
    return tensor.values or ()


def _type(kind: ValueType | None) -> TypeProto:
    if not isinstance(kind, TensorType) or kind.dtype is None:
        return TypeProto()
    return helper.make_tensor_type_proto(_NUMBERS[kind.dtype], kind.shape)
