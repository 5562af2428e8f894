"""Models with many nodes or much data: generated, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
_random = np.random.default_rng(0)


class Net:
    """A graph while it grows."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.held: list[Any] = []

    def constant(self, value: Any) -> str:
        self.held.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.held)}"))
        return f"c{len(self.held) - 1}"

    def weight(self, *shape: int) -> str:
        return self.constant((_random.standard_normal(shape) * 0.1).astype(np.float32))

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        made = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [f"{made}_out"], name=made, **attributes))
        return f"{made}_out"

    def model(self, shape: list[int | str], output: str) -> ModelProto:
        inputs = [helper.make_tensor_value_info("x", FLOAT, shape)]
        outputs = [helper.make_tensor_value_info(output, FLOAT, None)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def chain(count: int) -> ModelProto:
    """Element by element."""
    net, x = Net(), "x"
    number = net.constant(np.float32(1.01))
    while len(net.nodes) < count:
        x = net.add("Tanh", net.add("Add", net.add("Mul", net.add("Relu", x), number), number))
    return net.model(["batch", 16], x)


def mlp(count: int) -> ModelProto:
    net, x = Net(), "x"
    while len(net.nodes) < count:
        x = net.add("Relu", net.add("Add", net.add("MatMul", x, net.weight(32, 32)), net.weight(32)))
    return net.model(["batch", 32], x)


def residual(count: int) -> ModelProto:
    net, x = Net(), "x"
    while len(net.nodes) < count:
        y = net.add("Relu", net.add("Conv", x, net.weight(8, 8, 3, 3), net.weight(8), pads=[1] * 4))
        x = net.add("Relu", net.add("Add", x, y))
    return net.model(["batch", 8, "h", "w"], x)


def transformer(count: int) -> ModelProto:
    """Layers whose shapes are computed in the graph, as exporters write them."""
    net, x, width, heads = Net(), "x", 32, 4

    def dense(x: str, inner: int, outer: int) -> str:
        return net.add("Add", net.add("MatMul", x, net.weight(inner, outer)), net.weight(outer))

    def shape(x: str, *rest: int) -> str:
        whole = net.add("Shape", x)
        sizes = [net.add("Gather", whole, net.constant(np.array(i)), axis=0) for i in (0, 1)]
        rows = [net.add("Unsqueeze", size, net.ints(0)) for size in sizes]
        return net.add("Concat", *rows, net.ints(*rest), axis=0)

    def split(x: str) -> str:
        return net.add("Transpose", net.add("Reshape", x, shape(x, heads, width // heads)), perm=[0, 2, 1, 3])

    def norm(x: str) -> str:
        return net.add("LayerNormalization", x, net.weight(width), net.weight(width), axis=-1)

    while len(net.nodes) < count:
        query, key, value = (split(dense(x, width, width)) for _ in range(3))
        scores = net.add("MatMul", query, net.add("Transpose", key, perm=[0, 1, 3, 2]))
        weights = net.add("Softmax", net.add("Div", scores, net.constant(np.float32(2.8))), axis=-1)
        mixed = net.add("Transpose", net.add("MatMul", weights, value), perm=[0, 2, 1, 3])
        x = norm(net.add("Add", x, dense(net.add("Reshape", mixed, shape(mixed, width)), width, width)))
        inner = dense(x, width, 4 * width)
        x = norm(net.add("Add", x, dense(net.add("Mul", inner, net.add("Sigmoid", inner)), 4 * width, width)))
    return net.model(["batch", "seq", width], x)


LARGE: dict[str, Callable[[int], ModelProto]] = {
    "chain": chain, "mlp": mlp, "residual": residual, "transformer": transformer
}  # fmt: skip


def with_external(folder: Path, bytes_: int) -> Path:
    """A model with so many bytes of weights in a file of holes beside it."""
    net, rows = Net(), bytes_ // (4 * 1024)
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[1024, rows], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    net.held.append(tensor)
    with (folder / "weights.bin").open("wb") as file:
        file.truncate(4 * 1024 * rows)
    path = folder / "large.onnx"
    path.write_bytes(net.model(["batch", 1024], net.add("MatMul", "x", "w")).SerializeToString())
    return path


def saved(folder: Path, name: str, count: int) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(LARGE[name](count), path)
    return path
