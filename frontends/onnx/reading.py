"""Reads a model file as plain data; diagnostics name the mistake in a damaged or contradictory file, and its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from ...lang.onnx_weights import DEPTH, ELEMENTS, WeightIndex, index
from ...lang.protobuf import Damaged
from ...lang.stored import MAX_RANK, BadWeights
from .consistency import check, fail
from .model import (
    Attribute,
    AttributeRef,
    Graph,
    Listed,
    MapType,
    Model,
    ModelFunction,
    ModelValue,
    Operation,
    OptionalType,
    SequenceType,
    StoredInitializer,
    TensorType,
    ValueType,
    named,
)  # fmt: skip

_FRAME = re.compile(r'File "([^"\n]*)", line (\d+)(?:, in (\S+))?')
_SCOPE = re.compile(r"'([^']*)'")
# Above all opset numbers.
_VERSIONS = 2**31
# Types of fields, as protobuf numbers them, and one for a list of messages.
_STRING, _MESSAGE, _MESSAGES = 9, 11, -11


def read_model(path: Path) -> Model:
    """Read a model. Raises RxError."""
    try:
        from onnx import ModelProto  # optional for users who read no model
    except ImportError:
        fail(path, "models are read by the package onnx, which is not installed", "pip install 'rxlang[onnx]'")
    from google.protobuf.message import DecodeError  # it comes with onnx

    try:
        found = index(path)
        proto = ModelProto.FromString(found.skeleton)
        wrong = _no_text(proto)
        if wrong is not None:
            fail(path, f"the file is damaged: {wrong} is no UTF-8 text")
        model = Reader(path, found).model(proto)
    except OSError as problem:
        fail(path, f"the file cannot be read: {problem.strerror or 'it is damaged'}")
    except Damaged as problem:
        fail(path, f"the file is damaged, or no ONNX model: {problem}")
    except DecodeError:
        fail(path, f"the file is damaged, or its graphs are nested more than {DEPTH} deep")
    check(model)
    return model


def _no_text(message: Any) -> str | None:
    """A text field that is no UTF-8 text: the package returns bytes for it."""
    inside, kinds = [message], _KINDS_OF_FIELDS
    while inside:
        for field, value in inside.pop().ListFields():
            kind = kinds[field]
            if kind == _MESSAGES:
                inside += value
            elif kind == _MESSAGE:
                inside.append(value)
            elif kind == _STRING and type(value) is not str:
                wrong = next((t for t in ((value,) if type(value) is bytes else value) if type(t) is bytes), None)
                if wrong is not None:
                    return f"the {field.name} of a {field.containing_type.name}, {wrong[:40]!r},"
    return None


class _KindsOfFields(dict[Any, int]):
    """The kind of a field, by its descriptor, which is slow to ask."""

    def __missing__(self, field: Any) -> int:
        self[field] = kind = _MESSAGES if field.type == _MESSAGE and field.is_repeated else field.type
        return kind


_KINDS_OF_FIELDS = _KindsOfFields()


class Reader:
    """Turns messages of the package onnx into plain data. Keys of tensors are as in lang/onnx_weights.py."""

    def __init__(self, path: Path, located: WeightIndex) -> None:
        self.path, self.index = path, located
        # The number of elements without room in the file that may still be decoded.
        self.room = 2**24

    def fail(self, message: str) -> NoReturn:
        fail(self.path, message)

    def model(self, proto: Any) -> Model:
        if not proto.HasField("graph"):
            self.fail("the file holds no graph: it is no ONNX model")
        graph = self.graph(proto.graph, "", "the model's graph")
        functions = tuple(self.function(f, f"function {n}.") for n, f in enumerate(proto.functions))
        metadata = {entry.key: entry.value for entry in proto.metadata_props}
        opsets = self.opsets(proto.opset_import, "the model")
        return Model(self.path, proto.ir_version, opsets, graph, functions, metadata, proto.producer_name)

    def opsets(self, entries: Iterable[Any], whose: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for entry in entries:
            domain = _domain(entry.domain)
            if abs(entry.version) >= _VERSIONS:
                self.fail(f"{whose} imports opset {entry.version} of the domain {domain or 'ai.onnx'!r}")
            if found.setdefault(domain, entry.version) != entry.version:
                self.fail(
                    f"{whose} imports two opsets of the domain {domain or 'ai.onnx'!r}: {found[domain]} and {entry.version}"
                )
        return found

    def graph(self, proto: Any, way: str, whose: str) -> Graph:
        initializers = [self.tensor(t, way + t.name, f"initializer `{t.name}`") for t in proto.initializer]
        initializers += [self.sparse(t, f"initializer `{t.values.name}`") for t in proto.sparse_initializer]
        return Graph(
            proto.name,
            tuple(self.value(v, f"input `{v.name}` of {whose}") for v in proto.input),
            tuple(self.value(v, f"output `{v.name}` of {whose}") for v in proto.output),
            tuple(initializers),
            self.operations(proto.node, way),
            tuple(self.value(v, f"value `{v.name}`") for v in proto.value_info),
        )

    def function(self, proto: Any, way: str) -> ModelFunction:
        whose = f"function {proto.name}"
        defaults = {a.name: self.attribute(a, way, whose) for a in proto.attribute_proto}
        return ModelFunction(
            _domain(proto.domain), proto.name, proto.overload, tuple(proto.input), tuple(proto.output),
            {**dict.fromkeys(proto.attribute), **defaults}, self.opsets(proto.opset_import, whose),
            self.operations(proto.node, way),
        )  # fmt: skip

    # Nodes

    def operations(self, protos: Iterable[Any], way: str) -> tuple[Operation, ...]:
        return tuple(self.operation(proto, index, f"{way}node {index}.") for index, proto in enumerate(protos))

    def operation(self, proto: Any, index: int, way: str) -> Operation:
        outputs = tuple(proto.output)
        whose = named(index, proto.name, outputs, proto.op_type)
        attributes: dict[str, Attribute] = {}
        for attribute in proto.attribute:
            if attribute.name in attributes:
                self.fail(f"{whose} has the attribute `{attribute.name}` twice")
            attributes[attribute.name] = self.attribute(attribute, way, whose)
        return Operation(
            proto.name, proto.op_type, _domain(proto.domain), tuple(proto.input), outputs, attributes, _trace(proto), index,
            proto.overload,
        )  # fmt: skip

    def attribute(self, proto: Any, way: str, whose: str) -> Attribute:
        kind = _kind(proto)
        if proto.ref_attr_name:
            return AttributeRef(proto.ref_attr_name, kind)
        field = _FIELDS.get(kind)
        if field is None:
            self.fail(f"{whose} has the attribute `{proto.name}` of a kind that ONNX does not have")
        if not kind.endswith("S"):
            if not proto.HasField(field):
                self.fail(f"{whose} has the attribute `{proto.name}` of the kind {kind} without a value")
            return self.single(kind, getattr(proto, field), way + proto.name, f"attribute `{proto.name}` of {whose}")
        if kind in ("INTS", "FLOATS"):  # there may be millions
            return Listed(f"{way}{proto.name}", getattr(proto, field))
        return Listed(f"{way}{proto.name}", (
            self.single(kind[:-1], item, f"{way}{proto.name}.{n}", f"attribute `{proto.name}` of {whose}")
            for n, item in enumerate(getattr(proto, field))
        ))  # fmt: skip

    def single(self, kind: str, value: Any, way: str, whose: str) -> Attribute:
        match kind:
            case "STRING":
                return _text(value)
            case "TENSOR":
                return self.tensor(value, way, whose)
            case "GRAPH":
                return self.graph(value, f"{way}.", f"the graph in the {whose}")
            case "SPARSE_TENSOR":
                return self.sparse(value, whose)
            case "TYPE_PROTO":
                return self.type(value, whose)
        return value

    # Tensors and types

    def tensor(self, proto: Any, key: str, whose: str) -> StoredInitializer:
        from .located import tensor_of  # it loads NumPy and onnx

        return self.tried(whose, lambda: tensor_of(self.path, self.index, key, proto))

    def sparse(self, proto: Any, whose: str) -> StoredInitializer:
        from .located import dense  # it loads them too

        return self.tried(whose, lambda: dense(self.path, proto))

    def tried(self, whose: str, make: Callable[[], StoredInitializer]) -> StoredInitializer:
        try:
            made = make()
        except BadWeights as problem:
            self.fail(f"{whose} {problem}")
        if made.values and (made.place.file != self.path if made.place else made.key is None):
            self.room -= len(made.values)
        if self.room < 0:
            self.fail(f"{whose} is one of too many small tensors whose elements are in no or another file")
        return made

    def value(self, proto: Any, whose: str) -> ModelValue:
        return ModelValue(proto.name, self.type(proto.type, whose) if proto.HasField("type") else None)

    def type(self, proto: Any, whose: str) -> ValueType | None:
        match proto.WhichOneof("value"):
            case "tensor_type":
                return self.tensor_type(proto.tensor_type, whose)
            case "sparse_tensor_type":
                return self.tensor_type(proto.sparse_tensor_type, whose)
            case "sequence_type":
                return SequenceType(self.type(proto.sequence_type.elem_type, whose))
            case "optional_type":
                return OptionalType(self.type(proto.optional_type.elem_type, whose))
            case "map_type":
                key = self.dtype(proto.map_type.key_type, whose)
                return MapType(key or "int64", self.type(proto.map_type.value_type, whose))
        return None

    def tensor_type(self, proto: Any, whose: str) -> TensorType:
        if len(proto.shape.dim) > MAX_RANK:
            self.fail(f"{whose} is declared with rank {len(proto.shape.dim)}; a tensor has at most {MAX_RANK}")
        shape = tuple(self.dim(d, whose) for d in proto.shape.dim) if proto.HasField("shape") else None
        return TensorType(self.dtype(proto.elem_type, whose), shape)

    def dtype(self, number: int, whose: str) -> str | None:
        if number and number not in ELEMENTS:
            self.fail(f"{whose} is declared with elements of type {number}, which Rx does not know")
        return ELEMENTS.get(number)

    def dim(self, proto: Any, whose: str) -> int | str | None:
        """A declared size; exporters write -1, or a name such as `?`, for an unknown one."""
        if not proto.HasField("dim_value"):
            return None if _NO_NAME.fullmatch(proto.dim_param) else proto.dim_param
        if proto.dim_value < -1:
            self.fail(f"{whose} is declared with the size {proto.dim_value}")
        return None if proto.dim_value < 0 else proto.dim_value


# Two sizes with such a name need not be equal.
_NO_NAME = re.compile(r"[?*-]*|-\d+|None")
# The kinds of attributes, by number.
_KINDS = dict(enumerate((
    "UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS",
    "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS",
)))  # fmt: skip
_FIELDS = {
    "FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "SPARSE_TENSOR": "sparse_tensor", "TYPE_PROTO": "tp",
    "FLOATS": "floats", "INTS": "ints", "STRINGS": "strings", "TENSORS": "tensors", "GRAPHS": "graphs",
    "SPARSE_TENSORS": "sparse_tensors", "TYPE_PROTOS": "type_protos",
}  # fmt: skip


def _kind(proto: Any) -> str:
    """An attribute's kind; in the first versions of the format only its value shows it."""
    if proto.type:
        return _KINDS.get(proto.type, "")
    return next((k for k, f in _FIELDS.items() if (getattr(proto, f) if k.endswith("S") else proto.HasField(f))), "")


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def _trace(proto: Any) -> str | None:
    """The source of a node: the innermost frame outside of libraries, else the innermost module that has a name."""
    said = {entry.key: entry.value for entry in proto.metadata_props}
    frames = [f for f in _FRAME.findall(said.get("pkg.torch.onnx.stack_trace", "")) if "site-packages" not in f[0]]
    if frames:
        file, line, function = frames[-1]
        return f"{file}:{line}" + f", in {function}" * bool(function)
    scopes = [scope for scope in _SCOPE.findall(said.get("pkg.torch.onnx.name_scopes", "")) if scope]
    return scopes[-1] if scopes else None
