"""A model file as plain data: graphs, operations, tensors and types, without objects of the package onnx."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...lang.node import Node
from ...lang.onnx_weights import SMALL

# Decoded elements of a tensor.
Element = int | float | complex | bool | str
# The most elements that are always decoded: integers, which may become shapes, and others.
DECODED, DECODED_OTHERS = 1024, 64


class TensorType(Node):
    """A tensor's dtype, by Rx's name, and its declared sizes; None for what is not declared."""

    dtype: str | None
    shape: tuple[int | str | None, ...] | None


class SequenceType(Node):
    element: ValueType | None


class OptionalType(Node):
    element: ValueType | None


class MapType(Node):
    key: str
    value: ValueType | None


ValueType = TensorType | SequenceType | OptionalType | MapType


class ModelValue(Node):
    """A named value and its declared type."""

    name: str
    type: ValueType | None


class Location(Node):
    """The place of a tensor's elements, row by row in little-endian order, those of less than a byte packed."""

    file: Path
    offset: int
    length: int


class StoredInitializer(Node):
    """A tensor with its data: `values` are its elements row by row, if they are few, if they are texts, or if it has neither
    a `place` in the file nor a key. `load("model.onnx", key)` finds it by its `key`; without one it has values."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    place: Location | None
    values: tuple[Element, ...] | None
    key: str | None


class Listed(tuple[Any, ...]):
    """The values of an attribute that is a list; long lists of numbers are loaded by their `key`, as tensors are."""

    key: str

    def __new__(cls, key: str, values: Iterable[Any]) -> Listed:
        made = super().__new__(cls, values)
        made.key = key
        return made

    @property
    def held(self) -> str | None:
        """The key of a list of numbers that is long enough to have one."""
        return self.key if len(self) >= SMALL else None


class AttributeRef(Node):
    """A reference in a function's body to the function's own attribute, of ONNX's kind (`INTS`)."""

    name: str
    kind: str


# int, float, str, bytes, Tensor, Graph, a ValueType, AttributeRef, or a tuple of one of these.
Attribute = Any


class Operation(Node):
    """A node: the `index`-th of its graph. An absent input or output is "". `trace` is its place in the source, as far as the
    exporter recorded it."""

    name: str
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    trace: str | None
    index: int
    overload: str = ""

    def __str__(self) -> str:
        """The name in diagnostics."""
        return named(self.index, self.name, self.outputs, self.op_type)


def named(index: int, name: str, outputs: tuple[str, ...], op_type: str) -> str:
    """A node's name and type, else its output, else its number: `node Concat_39 (Concat)`."""
    known = name or next((f"of {output}" for output in outputs if output), f"number {index}")
    return f"node {known} ({op_type})"


class Graph(Node):
    name: str
    inputs: tuple[ModelValue, ...]
    outputs: tuple[ModelValue, ...]
    initializers: tuple[StoredInitializer, ...]
    operations: tuple[Operation, ...]
    values: tuple[ModelValue, ...]


class ModelFunction(Node):
    """A model-local function; `attributes` have their defaults, or None."""

    domain: str
    name: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    opsets: Mapping[str, int]
    operations: tuple[Operation, ...]


class Model(Node):
    """A whole file; ONNX's own domain is ""."""

    path: Path
    ir_version: int
    opsets: Mapping[str, int]
    graph: Graph
    functions: tuple[ModelFunction, ...]
    metadata: Mapping[str, str]
    producer: str
