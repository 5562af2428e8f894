"""Writes inferred shapes back into a model file, and keeps everything else in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from filecmp import cmp
from pathlib import Path
from typing import Any

from ...lang.files import put
from ...lang.onnx_weights import ELEMENTS
from .consistency import graphs
from .inference import Inference, Inferred, Policy
from .model import Graph, Model, ModelValue, TensorType
from .rewriting import rewriting

# The key of a model's contract in its metadata.
CONTRACT = "rx.contract"
_NUMBERS = {name: number for number, name in ELEMENTS.items()}


def write_shapes(
    model: Model,
    found: Inference,
    policy: Policy,
    path: Path,
    data: bytes | None = None,
    copy_data: bool = True,
    contract: str | None = None,
) -> None:
    """Write the model, from its file or its bytes, to `path` with the inferred types of its values. Declared sizes stay where
    nothing is known, and under `ignore` all declarations stay. External data in another folder is copied beside it, or
    linked: the package onnx refuses data that has a second hard link, even the model's own. Raises OSError."""
    from onnx import ModelProto  # models are seldom written

    if data is not None:
        proto = ModelProto.FromString(data)
        _change(proto, model, found, policy, contract)
        put(path, proto.SerializeToString())
        return
    with rewriting(model.path) as (proto, chunks):
        _change(proto, model, found, policy, contract)
        for location in sorted(set(_external(proto))):
            _beside(model.path.absolute().parent, path.absolute().parent, location, copy_data)
        put(path, chunks())


def _change(proto: Any, model: Model, found: Inference, policy: Policy, contract: str | None) -> None:
    """Write the shapes and the contract into an onnx.ModelProto."""
    _fill(proto.graph, model.graph, found, policy)
    if policy != "ignore":
        _name_sizes(proto.graph, model.graph, found)
    if contract is not None:
        kept = [p for p in proto.metadata_props if p.key != CONTRACT]
        del proto.metadata_props[:]
        proto.metadata_props.extend(kept)
        proto.metadata_props.add(key=CONTRACT, value=contract)


def _declared(graph: Graph) -> Iterator[ModelValue]:
    """The values with a declared type."""
    yield from (v for v in (*graph.inputs, *graph.values, *graph.outputs) if v.type is not None)


def _fill(proto: Any, graph: Graph, found: Inference, policy: Policy) -> None:
    """Fill in the types in a graph and in its inner graphs."""
    infos: dict[str, list[Any]] = {}
    for info in (*proto.input, *proto.value_info, *proto.output):
        infos.setdefault(info.name, []).append(info)
    declared, inputs = {v.name for v in _declared(graph)}, {v.name for v in graph.inputs}
    for name in _made(graph):
        value = found.values.get(name)
        if value is None or value.dtype is None or policy == "ignore" and name in declared:
            continue
        if name not in infos and value.shape is None:
            continue  # onnx's checker rejects a type without a shape
        for info in infos.get(name) or (proto.value_info.add(name=name),):
            _write(info.type, value, name in inputs)
    for node, operation in zip(proto.node, graph.operations, strict=True):
        for attribute in node.attribute:
            inner = (attribute.g,) if attribute.HasField("g") else attribute.graphs
            for one, other in zip(inner, graphs(operation.attributes[attribute.name]), strict=True):
                _fill(one, other, found, policy)


def _name_sizes(proto: Any, graph: Graph, found: Inference) -> None:
    """Give the sizes of the inputs the names that the shapes use, if they have none or were made symbols."""
    inputs = {v.name: v.type for v in graph.inputs}
    for info in proto.input:
        kind, value = inputs[info.name], found.values.get(info.name)
        if not isinstance(kind, TensorType) or kind.shape is None or value is None:
            continue
        for dim, declared, size in zip(info.type.tensor_type.shape.dim, kind.shape, value.shape or (), strict=False):
            if not isinstance(declared, int) and isinstance(size, str) and dim.dim_param != declared:
                dim.dim_param = size


def _made(graph: Graph) -> Iterator[str]:
    """The values of a graph except its required inputs."""
    yield from (t.name for t in graph.initializers)
    yield from (name for o in graph.operations for name in o.outputs if name)


# The field of a type that holds the type of the content.
_INSIDE = {"Sequence": "sequence_type", "Optional": "optional_type"}


def _write(type_: Any, value: Inferred, is_input: bool = False) -> None:
    """Write the inferred facts about a value into its type, if the kinds agree. A symbol of an optional input stays."""
    holder, _, _ = (value.dtype or "").partition("(")
    wanted = _INSIDE.get(holder, "tensor_type")
    if holder == "Map" or type_.WhichOneof("value") not in (None, wanted):
        return
    if wanted == "tensor_type":
        _write_tensor(type_.tensor_type, value, is_input)
    elif value.element is not None:
        _write(getattr(type_, wanted).elem_type, value.element)


def _write_tensor(kind: Any, value: Inferred, is_input: bool) -> None:
    kind.elem_type = _NUMBERS[value.dtype or "float32"]
    if value.shape is None or is_input and not kind.HasField("shape"):
        return
    has_sizes = kind.HasField("shape") and len(kind.shape.dim) == len(value.shape)
    if not has_sizes:
        kind.ClearField("shape")
        kind.shape.SetInParent()
        for _ in value.shape:
            kind.shape.dim.add()
    for size, dim in zip(value.shape, kind.shape.dim, strict=True):
        if is_input and has_sizes and not dim.HasField("dim_value"):
            continue
        if isinstance(size, int):
            dim.dim_value = size
        elif size != "?":
            dim.dim_param = size


def _external(message: Any) -> Iterator[str]:
    """The files with tensors of a model, by their names in the model."""
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for part in value if field.is_repeated else (value,):
            if part.DESCRIPTOR.name == "TensorProto":
                yield from (e.value for e in part.external_data if e.key == "location")
            else:
                yield from _external(part)


def _beside(source: Path, folder: Path, location: str, copy_data: bool) -> None:
    """Copy or link data to the place where a model in another folder finds it. A file of that name with other data is never
    touched."""
    data, wanted = source / location, folder / location
    if wanted.exists() and (wanted.samefile(data) or cmp(wanted, data, shallow=False)):
        return
    if wanted.is_symlink() or wanted.exists():
        raise FileExistsError(17, "there is another file of the name of the model's data", str(wanted))
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if copy_data:
        shutil.copyfile(data, wanted)
        return
    try:
        os.link(data.resolve(), wanted)
    except OSError:  # another file system
        wanted.symlink_to(data.resolve())
