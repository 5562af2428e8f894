"""Models of one node: made, inferred with a symbol for each size, run, and compared with somebody else's results."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import rxlang
from onnx import helper, numpy_helper
from rxlang import pipeline

_FUNCTIONS = {
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
    "broadcast": lambda *sizes: next((size for size in sizes if size != 1), 1),
}


class OneNode:
    """A model whose inputs have a symbol for each size; those of `constants` are in the model."""

    def __init__(self, model: Any, inputs: Sequence[Any], constants: Collection[str]) -> None:
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.sizes: dict[str, int] = {}
        self.given: list[Any] = []
        graph, kept = self.model.graph, []
        for value, data in zip(list(graph.input), inputs, strict=True):
            if value.name in constants:
                graph.initializer.append(numpy_helper.from_array(np.asarray(data), value.name))
                continue
            dims = value.type.tensor_type.shape.dim
            del dims[:]
            for axis, size in enumerate(np.shape(data)):
                dims.add().dim_param = f"{value.name}_{axis}"
                self.sizes[f"{value.name}_{axis}"] = size
            kept.append(onnx.ValueInfoProto.FromString(value.SerializeToString()))
            self.given.append(data)
        del graph.input[:], graph.value_info[:]
        graph.input.extend(kept)
        for value in graph.output:
            value.type.tensor_type.ClearField("shape")

    def write(self, folder: Path) -> Path:
        path = folder / "model.onnx"
        path.write_bytes(self.model.SerializeToString())
        return path

    def run(self, folder: Path) -> tuple[Any, ...]:
        found = rxlang.load(self.write(folder), allow_empty=True).main(*self.given)
        return found if isinstance(found, tuple) else (found,)

    def shapes(self, folder: Path) -> list[list[int | None] | None]:
        """The inferred shapes of the outputs, with the sizes of the inputs put in; None of what is not known."""
        path = self.write(folder)
        report = pipeline.check_bytes(b"", str(path), folder)
        assert report.checked is not None and report.ok, [d.message for d in report.diagnostics]
        result: Any = next(f for f in report.checked.shapes if f.name == "@main").result
        items = result.items if len(self.model.graph.output) > 1 else (result,)
        return [None if item.shape is None else [self.size(s) for s in item.shape] for item in items]

    def size(self, said: Any) -> int | None:
        if isinstance(said, int):
            return said
        try:
            return int(eval(said, {"__builtins__": {}}, {**_FUNCTIONS, **self.sizes}))
        except (NameError, SyntaxError):
            return None


def one_node(
    op: str,
    inputs: Sequence[Any],
    outputs: int = 1,
    opset: int = 21,
    domain: str = "",
    version: int = 1,
    **attributes: Any,
) -> Any:
    """The model of a node, with the shapes that its inputs have; None for one that is absent."""
    names = ["" if data is None else f"x{at}" for at, data in enumerate(inputs)]
    made = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, names, made, domain=domain, **attributes)
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)
        for name, data in zip(names, inputs, strict=True)
        if name
    ]
    graph = helper.make_graph([node], "one", values, [helper.make_empty_tensor_value_info(name) for name in made])
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, version)] * (domain != "")
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def by_onnxruntime(model: Any, inputs: Sequence[Any]) -> list[Any]:
    """What onnxruntime's kernels give, without its own fusions; raises what it raises where it refuses."""
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, {f"x{at}": data for at, data in enumerate(inputs) if data is not None}))


class Compared:
    """A node that both run: its results and its shapes for all sizes are onnxruntime's."""

    def __init__(
        self, folder: Path, op: str, inputs: Sequence[Any], constants: Collection[str] = (), **how: Any
    ) -> None:
        model = one_node(op, inputs, **how)
        self.right = [np.asarray(right) for right in by_onnxruntime(model, inputs)]
        self.node = OneNode(model, [data for data in inputs if data is not None], constants)
        self.found = self.node.run(folder)
        self.shapes = self.node.shapes(folder)

    def check(self, near: float = 1e-4, step: float = 1e-5, *, exactly: bool = True) -> None:
        assert fits(self.shapes, self.right, exactly=exactly), (self.shapes, [right.shape for right in self.right])
        for found, right in zip(self.found, self.right, strict=True):
            assert (found.shape, found.dtype) == (right.shape, right.dtype)
            np.testing.assert_allclose(found.astype(np.float64), right.astype(np.float64), near, step)


def agree(found: Any, right: Any, rtol: float = 1e-3, atol: float = 1e-5) -> bool:
    """Whether a result is what it ought to be, dtype and shape included."""
    found, right = np.asarray(found), np.asarray(right)
    if found.shape != right.shape or found.dtype != right.dtype:
        return False
    if right.dtype.kind in "OUST":
        return bool(np.all(found == right))
    return bool(np.allclose(found.astype(np.float64), right.astype(np.float64), rtol, atol, equal_nan=True))


def fits(shapes: Sequence[list[int | None] | None], results: Sequence[Any], *, exactly: bool) -> bool:
    """Whether inferred shapes are those of the results, as far as they are known, or all of them."""
    for shape, right in zip(shapes, results, strict=True):
        if shape is None or len(shape) != np.ndim(right):
            return shape is None and not exactly
        for size, actual in zip(shape, np.shape(right), strict=True):
            if size != actual and (size is not None or exactly):
                return False
    return True


def finite(values: Sequence[Any]) -> bool:
    return all(math.isfinite(float(np.sum(np.abs(v), dtype=np.float64))) for v in values)
