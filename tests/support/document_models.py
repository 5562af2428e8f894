"""The models that the documents speak of, as files in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Values = Mapping[str, tuple[int, Sequence[int | str]]]


def put_models(folder: Path) -> None:
    """`model.onnx`, an export whose batch is baked in; `unet.onnx` halves and doubles; `words.onnx` has a table of words."""
    import onnx
    from onnx import TensorProto

    float32, int64 = TensorProto.FLOAT, TensorProto.INT64
    made = {
        "model": _model(
            [("Reshape_12", "Reshape", "images target", "y", {})],
            {"images": (float32, [1, 24])},
            {"y": (float32, [1, 4, 6])},
            {"target": np.array([1, 4, 6])},
        ),
        "unet": _model(
            [
                ("MaxPool_4", "MaxPool", "images", "d", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
                ("Resize_31", "Resize", "d  scales", "u", {}),
                ("Concat_39", "Concat", "images u", "y", {"axis": 1}),
            ],
            {"images": (float32, ["b", 3, "h", 6])},
            {"y": (float32, ["b", 6, "h", 6])},
            {"scales": np.array([1, 1, 2, 2], np.float32)},
        ),
        "words": _model(
            [("Gather_0", "Gather", "table ids", "e", {}), ("MatMul_1", "MatMul", "e w", "logits", {})],
            {"ids": (int64, [1, "seq"])},
            {"logits": (float32, [1, "seq", 97])},
            {"table": np.ones((97, 8), np.float32), "w": np.ones((8, 97), np.float32)},
        ),
    }
    for name, model in made.items():
        onnx.save(model, folder / f"{name}.onnx")


def _model(
    nodes: Sequence[tuple[str, str, str, str, Mapping[str, Any]]],
    inputs: Values,
    outputs: Values,
    data: Mapping[str, Any],
) -> Any:
    from onnx import helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node(op, given.split(" "), [out], name=name, **how) for name, op, given, out, how in nodes],
        "graph",
        [helper.make_tensor_value_info(name, *value) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, *value) for name, value in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in data.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
