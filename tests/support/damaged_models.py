"""Random models that are damaged or contradict themselves: a generator to bytes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

from support.damaged_files import BYTES

_ODD_SIZES = (2**63 - 1, 2**62, -1, -2, -(2**63), 0, 1, 2**32)
_FLOAT = TensorProto.FLOAT


def damaged(random: Random) -> bytes:
    """A model with some of its fields wrong, some of its bytes, or both; some are whole."""
    model = whole(random)
    for _ in range(random.choice([0, 1, 1, 3])):
        random.choice(_CHANGES)(random, model)
    data: bytes = model.SerializeToString()
    for _ in range(random.choice([0, 0, 1, 1, 3])):
        data = random.choice(BYTES)(random, data)
    return data


def whole(random: Random) -> ModelProto:
    """A model with weights in all forms, a graph in a node, and a function."""
    array = np.arange(random.choice([3, 400, 2000]), dtype=np.float32)
    floats = helper.make_tensor("listed", _FLOAT, [4], [1, 2, 3, 4])
    ints = helper.make_tensor("ints", TensorProto.INT64, [3], [1, -1, 2])
    outside = TensorProto(name="outside", data_type=_FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="outside.bin")
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sparse", _FLOAT, [2], [1, 2]),
        helper.make_tensor("", TensorProto.INT64, [2], [0, 5]),
        [2, 3],
    )
    nodes = [
        helper.make_node("Add", ["x", "listed"], ["a"], name="first"),
        helper.make_node("If", ["c"], ["b"], then_branch=branch("a"), else_branch=branch("x"), name="second"),
        helper.make_node("Own", ["b"], ["d"], domain="own", alpha=1.5),
        helper.make_node("Constant", [], ["e"], value=numpy_helper.from_array(array, "value")),
        helper.make_node("Concat", ["d", "e", "raw"], ["y"], axis=0),
    ]
    body = [helper.make_node("Neg", ["i"], ["o"])]
    function = helper.make_function("own", "Own", ["i"], ["o"], body, [helper.make_opsetid("", 18)], ["alpha"])
    inputs = [
        helper.make_tensor_value_info("x", _FLOAT, ["n", 4]),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    outputs = [helper.make_tensor_value_info("y", _FLOAT, ["2*n"])]
    graph = helper.make_graph(
        nodes, "g", inputs, outputs, [numpy_helper.from_array(array, "raw"), floats, ints, outside]
    )
    graph.sparse_initializer.append(sparse)
    graph.value_info.append(helper.make_tensor_value_info("a", _FLOAT, ["n", 4]))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, functions=[function], opset_imports=opsets)


def branch(reads: str) -> GraphProto:
    out = helper.make_tensor_value_info("out", _FLOAT, None)
    return helper.make_graph([helper.make_node("Neg", [reads], ["out"])], "branch", [], [out])


# Changes

Change = Callable[[Random, ModelProto], object]


def _node(random: Random, model: ModelProto) -> NodeProto:
    nodes: list[NodeProto] = [*model.graph.node] or [NodeProto()]
    return random.choice(nodes)


def _tensor(random: Random, model: ModelProto) -> TensorProto:
    tensors: list[TensorProto] = [*model.graph.initializer] or [TensorProto()]
    return random.choice(tensors)


def _size(random: Random, model: ModelProto) -> None:
    tensor = _tensor(random, model)
    tensor.dims[:] = random.choice([[random.choice(_ODD_SIZES)], [2**62, 4], [3] * 100, [0, 2**63 - 1], [-3, -1]])


def _declared(random: Random, model: ModelProto) -> None:
    if model.graph.input and model.graph.input[0].type.tensor_type.shape.dim:
        model.graph.input[0].type.tensor_type.shape.dim[-1].dim_value = random.choice(_ODD_SIZES)


def _type(random: Random, model: ModelProto) -> None:
    _tensor(random, model).data_type = random.choice([0, 99, -1, 8, 22, 16, 27, 2**31 - 1])


def _value_type(random: Random, model: ModelProto) -> None:
    kind: Any = TypeProto()
    for _ in range(random.choice([1, 3, 20])):
        kind = TypeProto(sequence_type=TypeProto.Sequence(elem_type=kind))
    model.graph.output[0].type.CopyFrom(kind)


def _location(random: Random, model: ModelProto) -> None:
    tensor = _tensor(random, model)
    tensor.data_location = TensorProto.EXTERNAL
    key = random.choice(["location", "location", "offset", "length", "other"])
    values = [
        "../outside.bin",
        "/etc/passwd",
        "outside.bin",
        "",
        "-1",
        "9" * 5000,
        str(2**63),
        "0",
        "no.bin",
        "/dev/zero",
        "\ud7ff",
    ]
    tensor.external_data.add(key=key, value=random.choice(values))


def _names(random: Random, model: ModelProto) -> None:
    node, name = _node(random, model), random.choice(["x", "y", "a", "nothing", "", "raw", "d", "out"])
    side = random.choice([node.input, node.output])
    if side:
        side[random.randrange(len(side))] = name


def _order(random: Random, model: ModelProto) -> None:
    nodes = [*model.graph.node]
    random.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _twice(random: Random, model: ModelProto) -> None:
    part = random.choice(
        [model.graph.node, model.graph.initializer, model.graph.input, model.functions, model.graph.output]
    )
    if part:
        part.append(random.choice([*part]))


def _gone(random: Random, model: ModelProto) -> None:
    part = random.choice(
        [model.graph.node, model.graph.initializer, model.graph.input, model.functions, model.opset_import]
    )
    if part:
        del part[random.randrange(len(part))]


def _attribute(random: Random, model: ModelProto) -> None:
    for attribute in _node(random, model).attribute:
        attribute.type = random.choice([*AttributeProto.AttributeType.values()])
        if random.random() < 0.3:
            attribute.ref_attr_name = "alpha"


def _deep(random: Random, model: ModelProto) -> None:
    graph = branch("x")
    for _ in range(random.choice([3, 25, 31])):
        around = branch("x")
        around.node.append(helper.make_node("If", ["c"], ["o"], then_branch=graph))
        graph = around
    model.graph.node.append(helper.make_node("If", ["c"], [f"deep{random.random()}"], then_branch=graph))


def _called(random: Random, model: ModelProto) -> None:
    for function in model.functions:
        function.node.append(helper.make_node(random.choice(["Own", "Other"]), ["i"], ["again"], domain="own"))


def _numbers(random: Random, model: ModelProto) -> None:
    tensor = _tensor(random, model)
    changes: list[Callable[[], object]] = [
        lambda: tensor.float_data.append(1.0),
        lambda: tensor.int64_data.append(7),
        lambda: tensor.int32_data.append(-1),
        lambda: tensor.string_data.append(b"\xff"),
        lambda: tensor.ClearField("float_data"),
        lambda: tensor.ClearField("raw_data"),
        lambda: setattr(tensor, "raw_data", random.randbytes(random.randint(0, 40))),
        lambda: setattr(tensor, "name", ""),
    ]
    random.choice(changes)()


_CHANGES: tuple[Change, ...] = (
    _size, _declared, _type, _value_type, _location, _names, _order, _twice, _gone, _attribute, _deep, _called, _numbers,
)  # fmt: skip


def nested(depth: int) -> bytes:
    """A model with a graph in a node in a graph, `depth` times, which no library has to write."""

    def field(number: int, data: bytes) -> bytes:
        length, written = len(data), bytearray()
        while length > 127:
            written.append(length & 127 | 128)
            length >>= 7
        return bytes([number << 3 | 2, *written, length]) + data

    graph = field(2, b"g")
    for _ in range(depth):
        graph = field(1, field(4, b"If") + field(5, field(1, b"then_branch") + b"\xa0\x01\x05" + field(6, graph)))
    return b"\x08\x08" + field(7, graph)
