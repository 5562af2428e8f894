"""A model that is changed and written keeps the data of its tensors, bit for bit, and has little of it in memory."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from rxlang.cli.main import invoke

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.frontends.onnx.rewriting import rewriting  # noqa: E402
from rxlang.lang.onnx_weights import SMALL  # noqa: E402
from support import fuzz  # noqa: E402

# Around what is small, and a large one.
BYTES = (0, 4, 128, SMALL - 4, SMALL, SMALL + 4, 2 * SMALL, 4096)


def tensor(draw: Random, name: str) -> Any:
    """A tensor of random bits, in one of the forms that its elements may have."""
    bits = draw.randbytes(draw.choice(BYTES))
    made = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[len(bits) // 4])
    if draw.random() < 0.3:
        made.float_data.extend(np.frombuffer(bits, np.float32))
    elif draw.random() < 0.2:
        made.data_type = TensorProto.INT32
        made.int32_data.extend(np.frombuffer(bits, np.int32).tolist())
    else:
        made.raw_data = bits
    return made


def drawn(draw: Random) -> Any:
    """A model with tensors among its initializers, its nodes, the graphs of these and a function."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])

    def constant(name: str) -> Any:
        return helper.make_node("Constant", [], [name], value=tensor(draw, ""))

    arms = [
        helper.make_graph(
            [constant(f"c{a}")], a, [], [helper.make_empty_tensor_value_info(f"c{a}")], [tensor(draw, f"i{a}")]
        )
        for a in "ab"
    ]
    nodes = [constant("k"), helper.make_node("If", ["p"], ["y"], then_branch=arms[0], else_branch=arms[1])]
    nodes += [helper.make_node("Custom", ["x"], ["z"], domain="own", ts=[tensor(draw, "") for _ in range(3)])]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", [], ["o"], [constant("o")], opsets)
    held = [tensor(draw, f"w{n}") for n in range(draw.randint(0, 4))]
    outputs = [helper.make_empty_tensor_value_info(name) for name in "kyz"]
    inputs = [value, helper.make_tensor_value_info("p", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)


def test_what_is_written_is_the_model_but_for_what_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for case in fuzz.cases("models rewritten"):
        with case as seed:
            made = drawn(Random(seed))
            path.write_bytes(made.SerializeToString())
            with rewriting(path) as (proto, chunks):
                proto.producer_name = made.producer_name = "somebody else " * 30
                proto.graph.node.add(op_type="Relu", input=["x"], output=["r"])
                made.graph.node.add(op_type="Relu", input=["x"], output=["r"])
                written = b"".join(chunks())
            assert written == made.SerializeToString()


def test_of_large_weights_nothing_is_in_memory(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(2**18, dtype=np.float32).reshape(1, -1), "w")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])], "g", [value("x", TensorProto.FLOAT, ["n", 2**18])],
        [value("y", TensorProto.FLOAT, None)], [weight],
    )  # fmt: skip
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    with rewriting(path) as (proto, chunks):
        assert proto.ByteSize() < 2000 and max(map(len, chunks())) <= 2**20
    assert invoke(["infer", str(path), "--write"]) == 0
    assert onnx.load(path).graph.initializer[0] == weight and onnx.load(path).metadata_props[0].key == "rx.contract"
