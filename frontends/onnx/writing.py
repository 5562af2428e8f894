"""Inferred shapes back into a model file, which keeps all else that it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...lang.onnx_weights import ELEMENTS
from .inference import Inference, Inferred, Policy
from .model import Model

# Where a model keeps its contract, among its metadata.
CONTRACT = "rx.contract"
_NUMBERS = {name: number for number, name in ELEMENTS.items()}


def write_shapes(model: Model, found: Inference, policy: Policy, path: Path, contract: str | None = None) -> None:
    """Write the model to `path` with what is inferred of each value; a declared size stays where nothing is known, and under
    `ignore` everywhere."""
    import onnx

    proto = onnx.load(str(model.path), load_external_data=False)
    graph = proto.graph
    inputs = {v.name for v in graph.input}
    declared = {v.name: v for v in (*graph.output, *graph.value_info)}
    for name, value in found.values.items():
        if name in inputs or value.dtype is None:
            continue
        if name not in declared:
            declared[name] = graph.value_info.add(name=name)
        elif policy == "ignore" and declared[name].type.WhichOneof("value"):
            continue
        _write(declared[name], value)
    if contract is not None:
        kept = [p for p in proto.metadata_props if p.key != CONTRACT]
        del proto.metadata_props[:]
        proto.metadata_props.extend([*kept, onnx.StringStringEntryProto(key=CONTRACT, value=contract)])
    onnx.save(proto, str(path))


def _write(info: Any, value: Inferred) -> None:
    kind = info.type.tensor_type
    before = [(d.dim_value, d.dim_param) for d in kind.shape.dim] if kind.HasField("shape") else None
    kind.elem_type = _NUMBERS[value.dtype or "float32"]
    if value.shape is None:
        return
    kind.ClearField("shape")
    kind.shape.SetInParent()
    for axis, size in enumerate(value.shape):
        dim = kind.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        elif size != "?":
            dim.dim_param = size
        elif before is not None and len(before) == len(value.shape) and before[axis][1]:
            dim.dim_param = before[axis][1]
