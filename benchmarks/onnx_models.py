"""ONNX operators and the sentence encoder of examples/minilm/ as ONNX models, and who runs them: onnxruntime on one thread,
and onnx's reference implementation.

`pip install -e '.[benchmarks]'` brings both; each is imported where it is asked, and without
them `missing()` says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rxlang.interp.files import read_array

MINILM = Path(__file__).resolve().parents[1] / "examples" / "minilm" / "minilm.rx"
WEIGHTS = Path(__file__).resolve().parents[1] / ".cache" / "minilm"
LAYERS, HEADS, WIDTH = 6, 12, 384
OPSET = 22
FLOAT, INT64 = 1, 7  # what ONNX calls those dtypes
Arrays = Mapping[str, Any]
Run = Callable[[Arrays], Sequence[Any]]


def missing() -> str:
    """What has to be installed first."""
    gone = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    return f"{' and '.join(gone)}: pip install -e '.[benchmarks]'" if gone else ""


def one_thread() -> None:
    """Start again with one thread for every library, if that has not been said: they read it when they are loaded."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    if any(os.environ.get(name) != "1" for name in names):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **dict.fromkeys(names, "1")})


def onnxruntime(model: Any) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def reference(model: Any) -> Run:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)
    return lambda feeds: evaluator.run(None, feeds)


def operator(op: str, feeds: Arrays, constants: Arrays, results: Sequence[int] = (FLOAT,), **attributes: Any) -> Any:
    """A model of one operator: its inputs in order, first those that are fed, then those that are part of the model; one that
    is None is left out. `results` are ONNX's numbers for the dtypes of what it gives."""
    graph = Graph()
    graph.constants.update({name: value for name, value in constants.items() if value is not None})
    outputs = {f"out{i}": dtype for i, dtype in enumerate(results)}
    names = [name if value is not None else "" for name, value in {**feeds, **constants}.items()]
    graph.add(op, names, list(outputs), **attributes)
    return graph.model(feeds, outputs)


class Graph:
    """An ONNX graph while it grows: its nodes and what is part of it."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, op: str, inputs: Sequence[str], outputs: Sequence[str] | None = None, **attributes: Any) -> str:
        from onnx import helper

        made = list(outputs or [f"t{len(self.nodes)}"])
        self.nodes.append(helper.make_node(op, list(inputs), made, **attributes))
        return made[0]

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def model(self, inputs: Arrays, outputs: Mapping[str, int], open_axes: bool = False) -> Any:
        from onnx import helper, numpy_helper

        def shape(name: str, value: Any) -> list[Any]:
            return [f"{name}{i}" for i in range(value.ndim)] if open_axes else list(value.shape)

        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape(name, value))
            for name, value in inputs.items()
        ]
        made = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
        kept = [numpy_helper.from_array(np.asarray(v, order="C"), name) for name, v in self.constants.items()]
        graph = helper.make_graph(self.nodes, "graph", infos, made, kept)
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=10)


def products(batch: int, length: int) -> Callable[[], None]:
    """The products of the encoder alone, as NumPy computes them of weights that lie as it likes them best."""
    rows, hidden, narrow = batch * length, 4 * WIDTH, WIDTH // HEADS
    random = np.random.default_rng(0)

    def floats(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    x, inner, square = floats(rows, WIDTH), floats(rows, hidden), floats(LAYERS, 4, WIDTH, WIDTH)
    up, down = floats(LAYERS, WIDTH, hidden), floats(LAYERS, hidden, WIDTH)
    heads, weights = floats(batch, HEADS, length, narrow), floats(batch, HEADS, length, length)

    def run() -> None:
        for i in range(LAYERS):
            for weight in square[i]:
                np.matmul(x, weight)
            np.matmul(heads, heads.swapaxes(-1, -2))
            np.matmul(weights, heads)
            np.matmul(x, up[i])
            np.matmul(inner, down[i])

    return run


def minilm() -> Any:
    """The sentence encoder as a framework exports it: weights as the right operands of products, batch and length open."""
    graph = _MiniLm()
    ids, mask = np.zeros((1, 1), np.int64), np.zeros((1, 1), bool)
    return graph.whole().model({"ids": ids, "mask": mask}, {"embedding": FLOAT}, open_axes=True)


class _MiniLm(Graph):
    def weight(self, name: str, transposed: bool = False) -> str:
        value = read_array(WEIGHTS / "model.safetensors", name)
        return self.constant(value.T if transposed else value)

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def dense(self, x: str, name: str) -> str:
        product = self.add("MatMul", [x, self.weight(f"{name}.weight", transposed=True)])
        return self.add("Add", [product, self.weight(f"{name}.bias")])

    def norm(self, x: str, name: str) -> str:
        parts = [x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.add("LayerNormalization", parts, axis=-1, epsilon=1e-12)

    def heads(self, x: str) -> str:
        split = self.add("Reshape", [x, self.ints(0, 0, HEADS, WIDTH // HEADS)])
        return self.add("Transpose", [split], perm=[0, 2, 1, 3])

    def attention(self, x: str, seen: str, name: str) -> str:
        query, key, value = (self.heads(self.dense(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
        scores = self.add("MatMul", [query, self.add("Transpose", [key], perm=[0, 1, 3, 2])])
        scaled = self.add("Div", [scores, self.constant(np.float32(np.sqrt(WIDTH // HEADS)))])
        least = self.constant(np.float32(-1e30))
        weights = self.add("Softmax", [self.add("Where", [seen, scaled, least])], axis=-1)
        joined = self.add("Transpose", [self.add("MatMul", [weights, value])], perm=[0, 2, 1, 3])
        return self.dense(self.add("Reshape", [joined, self.ints(0, 0, WIDTH)]), f"{name}.output.dense")

    def layer(self, x: str, seen: str, name: str) -> str:
        attended = self.attention(x, seen, f"{name}.attention")
        x = self.norm(self.add("Add", [x, attended]), f"{name}.attention.output.LayerNorm")
        inner = self.add("Gelu", [self.dense(x, f"{name}.intermediate.dense")])
        return self.norm(self.add("Add", [x, self.dense(inner, f"{name}.output.dense")]), f"{name}.output.LayerNorm")

    def embedded(self) -> str:
        tables = {part: self.weight(f"embeddings.{part}_embeddings.weight") for part in ("word", "position")}
        kind = read_array(WEIGHTS / "model.safetensors", "embeddings.token_type_embeddings.weight")[0]
        length = self.add("Shape", ["ids"], start=1, end=2)
        places = self.add("Slice", [tables["position"], self.ints(0), length, self.ints(0)])
        words = self.add("Add", [self.add("Gather", [tables["word"], "ids"]), places])
        return self.norm(self.add("Add", [words, self.constant(kind)]), "embeddings.LayerNorm")

    def whole(self) -> _MiniLm:
        x = self.embedded()
        seen = self.add("Unsqueeze", ["mask", self.ints(1, 2)])
        for i in range(LAYERS):
            x = self.layer(x, seen, f"encoder.layer.{i}")
        kept = self.add("Cast", ["mask"], to=FLOAT)
        total = self.add("ReduceSum", [self.add("Mul", [x, self.add("Unsqueeze", [kept, self.ints(2)])]), self.ints(1)])
        count = self.add("ReduceSum", [kept, self.ints(1)], keepdims=1)
        mean = self.add("Div", [self.add("Squeeze", [total, self.ints(1)]), count])
        self.add("LpNormalization", [mean], ["embedding"], axis=1)
        return self
