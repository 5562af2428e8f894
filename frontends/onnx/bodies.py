"""Operators that ONNX defines by other operators, as functions of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnx import FunctionProto, defs
from onnx.defs import SchemaError

from ...lang.node import replace
from ...lang.onnx_weights import WeightIndex
from .model import ModelFunction, Operation
from .reading import Reader


def body(operation: Operation, version: int) -> ModelFunction | None:
    """The function that defines an operator for all inputs; None where ONNX gives none."""
    try:
        schema: Any = defs.get_schema(operation.op_type, version, operation.domain)
    except SchemaError:
        return None
    made = schema.get_function_with_opset_version(version) if schema.has_function else None
    proto = FunctionProto.FromString(made) if isinstance(made, bytes) else made
    if proto is None or not proto.node:
        return None
    return _with_defaults(Reader(Path("<ONNX>"), WeightIndex({}, frozenset(), b"")), schema, proto)


def _with_defaults(reader: Reader, schema: Any, proto: FunctionProto) -> ModelFunction:
    """The function, with the operator's defaults for its attributes."""
    found = reader.function(proto, "")
    usual = {
        name: reader.attribute(a.default_value, "", f"operator {schema.name}")
        for name, a in schema.attributes.items()
        if a.default_value.type
    }
    named = {name: usual.get(name) if value is None else value for name, value in found.attributes.items()}
    return replace(found, attributes=named)
