"""onnxruntime in a process of its own, which some nodes end, and ONNX's reference: what they say of a model of one node."""

from __future__ import annotations

import os
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

_PATIENCE = 30  # seconds
# How the reference fails.
_REFUSED = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
Results = list[Any]
Feeds = dict[str, Any]


def _serve(here: Connection, there: Connection) -> None:
    """Runs what comes, with the kernels as they are, and sends the results, or nothing where they refuse."""
    here.close()  # who asks may end
    runtime: Any = import_module("onnxruntime")
    with open(os.devnull, "w") as nowhere:  # what ends it says why
        os.dup2(nowhere.fileno(), 2)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    while True:
        try:
            data, feeds = there.recv()
        except EOFError:
            return
        try:
            there.send(_run(runtime, options, onnx.ModelProto.FromString(data), feeds))
        except Exception:  # noqa: BLE001 - onnxruntime's own exceptions have no common class
            there.send(None)


def _run(runtime: Any, options: Any, model: Any, feeds: Feeds) -> Results:
    cast, given, back = _in_float32(model, feeds)
    session = runtime.InferenceSession(cast.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in model.graph.output]
    found = zip(names, session.run(None, given), strict=True)
    return [np.asarray(r).astype(back[n]) if n in back else r for n, r in found]


class Runtime:
    """onnxruntime; a new process where one has ended."""

    def __init__(self) -> None:
        self._here: Connection | None = None
        self._process: Any = None

    def results(self, model: Any, feeds: Feeds) -> Results | None:
        """What the model gives; None where it is refused, or ends the process."""
        if self._here is None:
            self._start()
        assert self._here is not None
        try:
            self._here.send((model.SerializeToString(), feeds))
            if self._here.poll(_PATIENCE):
                return self._here.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            pass
        self.close()
        return None

    def _start(self) -> None:
        context = get_context("fork")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._here, there), daemon=True)
        self._process.start()
        there.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._here = self._process = None


def _is_foreign(dtype: np.dtype[Any]) -> bool:
    """Whether onnxruntime takes no such arrays from Python."""
    return dtype.kind == "V" or dtype.isbuiltin != 1


def _in_float32(model: Any, feeds: Feeds) -> tuple[Any, Feeds, dict[str, np.dtype[Any]]]:
    """A model whose operands and results of ml_dtypes' dtypes are cast; its operands; the dtypes of those results."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph, given, back = made.graph, {}, {}
    before, behind = [], []
    for value in graph.input:
        data = feeds[value.name]
        if data.dtype.kind != "O" and _is_foreign(data.dtype):
            _renamed(graph, value.name, f"{value.name}_in")
            before.append(
                helper.make_node("Cast", [value.name], [f"{value.name}_in"], to=value.type.tensor_type.elem_type)
            )
            value.type.tensor_type.elem_type, data = TensorProto.FLOAT, data.astype(np.float32)
        given[value.name] = data
    for value in onnx.shape_inference.infer_shapes(model).graph.output:
        kind = value.type.tensor_type.elem_type
        dtype = helper.tensor_dtype_to_np_dtype(kind) if kind not in (0, TensorProto.STRING) else np.dtype(object)
        if dtype.kind != "O" and _is_foreign(dtype):
            back[value.name] = dtype
            _renamed(graph, value.name, f"{value.name}_out")
            behind.append(helper.make_node("Cast", [f"{value.name}_out"], [value.name], to=TensorProto.FLOAT))
    nodes = [*before, *graph.node, *behind]
    del graph.node[:]
    graph.node.extend(nodes)
    return made, given, back


def _renamed(graph: Any, old: str, new: str) -> None:
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]


def by_reference(model: Any, feeds: Feeds) -> Results | None:
    """What ONNX's reference gives; None where it fails."""
    try:
        with np.errstate(all="ignore"):
            return list(ReferenceEvaluator(model).run(None, feeds))
    except _REFUSED:
        return None
