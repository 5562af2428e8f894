"""Nodes at the corners of what their operator allows: what they give is what the standard says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")

import rxlang  # noqa: E402

from tests.support.one_node import OneNode, fits, one_node  # noqa: E402

INF, NAN = float("inf"), float("nan")


def f(*values: Any) -> Any:
    return np.array(values, np.float32)


def i(*values: Any, dtype: Any = None) -> Any:
    return np.array(values, dtype or np.int64)


class Corner(NamedTuple):
    """A node, and what it gives."""

    op: str
    inputs: list[Any]
    right: list[Any]
    attributes: dict[str, Any] = {}
    opset: int = 21
    held: tuple[str, ...] = ()


ROWS = f([1, 2, 3, 4])
IMAGE = i([[[[4, 0], [1, 6]]]], dtype=np.int8)[0]
CORNERS = {
    # A zero below 0 stays one, also where what is below 0 turns around.
    "LeakyRelu of -0": Corner("LeakyRelu", [f(-0.0, 0.0, -2.0)], [f(-0.0, 0.0, 2.0)], {"alpha": -1.0}),
    "Elu of -0": Corner("Elu", [f(-0.0, 0.0, -INF)], [f(-0.0, 0.0, 1.0)], {"alpha": -1.0}),
    "Selu, infinite": Corner("Selu", [f(0.0, 1.0, -1.0)], [f(NAN, 2.0, -INF)], {"alpha": INF, "gamma": 2.0}, 6),
    # Integers, where the standard has them.
    "Erf of integers": Corner("Erf", [i(-9, 0, 1, dtype=np.int8)], [i(-1, 0, 0, dtype=np.int8)], {}, 13),
    "PRelu of integers": Corner("PRelu", [i(-2, 3), i(-3)], [i(6, 3)], {}, 16),
    "Gemm of integers": Corner(
        "Gemm", [i([1, 2]), i([3], [4]), i([5])], [i([2 * 11 + 3 * 5])], {"alpha": 2.0, "beta": 3.0}, 13
    ),
    "GridSample of integers": Corner(
        "GridSample", [IMAGE, f([[[-9.0, -9.0], [9.0, 9.0]]])], [i([[[4, 6]]], dtype=np.int8)],
        {"mode": "cubic", "padding_mode": "border"}, 20,
    ),
    "Resize of integers": Corner(
        "Resize", [i([[0, 1]], dtype=np.uint8), None, f(1.0, 1.0, 4.0)], [i([[0, 0, 0, 0, 0, 0, 1, 1]], dtype=np.uint8)],
        {"mode": "linear"}, 13, ("x2",),
    ),
    # ONNX's own test of version 10: an element that is left out is the one before the place.
    "Resize-10": Corner("Resize", [ROWS, f(1.0, 0.6)], [f([1, 3])], {}, 10, ("x1",)),
    "Resize-10, larger": Corner("Resize", [ROWS, f(1.0, 1.75)], [f([1, 1, 2, 2, 3, 3, 4])], {}, 10, ("x1",)),
    "Resize-11 of TensorFlow": Corner(
        "Resize", [ROWS, f(), f(1.0, 0.5)], [f([2, 4])],
        {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}, 11, ("x1", "x2"),
    ),
    "GlobalLpPool, p = 0": Corner("GlobalLpPool", [f([[2.0, 3.0]])[None]], [f([[INF]])[None]], {"p": 0}, 7),
    # Each element of a batch by itself, as before version 9.
    "BatchNormalization-7": Corner(
        "BatchNormalization", [f([[1, 2]], [[5, 8]]), f([1, 3]), f([0, 1]), f([1, 1]), f([4, 1])],
        [f([[0, 4]], [[2, 22]])], {"spatial": 0, "epsilon": 0.0}, 7,
    ),
    "BatchNormalization of two dtypes": Corner(
        "BatchNormalization", [f([3.0]).astype(np.float16), *map(f, (2.0, 1.0, 1.0, 4.0))], [f([3.0]).astype(np.float16)],
        {"epsilon": 0.0}, 15,
    ),
    "Det of float16": Corner("Det", [np.float16([[2, 1], [1, 3]])], [np.array(5, np.float16)], {}, 22),
    "Squeeze of no axes": Corner("Squeeze", [f([1]), i()], [f([1])], {}, 13, ("x1",)),
    "blocks of a row": Corner(
        "DequantizeLinear", [i(1, 2, 3, 4, 5, dtype=np.uint8), f(0.5, 2.0)], [f(0.5, 1, 1.5, 8, 10)],
        {"axis": 0, "block_size": 3}, 21,
    ),
    "blocks of one": Corner(
        "QuantizeLinear", [f(1, 2), f(0.5, 2.0), i(3, 4, dtype=np.uint8)], [i(5, 5, dtype=np.uint8)],
        {"axis": 0, "block_size": 1}, 21,
    ),
    "QuantizeLinear of integers": Corner(
        "QuantizeLinear", [i(7, -9, dtype=np.int32), np.array(2, np.int32), np.array(1, np.int8)],
        [i(5, -3, dtype=np.int8)], {}, 21,
    ),
    "Unique of texts along an axis": Corner(
        "Unique", [np.array([["b", "a"], ["a", "b"], ["b", "a"]], object)],
        [np.array([["a", "b"], ["b", "a"]], object), i(1, 0), i(1, 0, 1), i(1, 2)], {"axis": 0}, 11,
    ),
    # From one end of a dtype to the other is further than the dtype counts.
    "Range over all of int64": Corner(
        "Range", [np.array(v) for v in (-(2**63) + 2, 2**63 - 1, 2**63 - 1)], [i(-(2**63) + 2, 1)], {}, 11,
    ),
    "Range over all of int16": Corner(
        "Range", [np.array(v, np.int16) for v in (2**15 - 1, -(2**15), 2**15 - 1)], [i(dtype=np.int16)], {}, 11,
        ("x0", "x1", "x2"),
    ),
    "Range, the other way": Corner("Range", [np.array(v) for v in (2**62, -(2**63), 3)], [i()], {}, 11),
    "ScatterElements of booleans": Corner(
        "ScatterElements", [np.array([True, False]), i(0, 1), np.array([False, True])], [np.array([True, True])],
        {"reduction": "add"}, 18,
    ),
    "ScatterND of booleans": Corner(
        "ScatterND", [np.array([True, True]), i([0], [1]), np.array([False, True])], [np.array([False, True])],
        {"reduction": "mul"}, 18,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CORNERS)
def test_a_node_at_a_corner_gives_what_the_standard_says(name: str, tmp_path: Path) -> None:
    op, inputs, right, attributes, opset, held = CORNERS[name]
    node = OneNode(
        one_node(op, inputs, len(right), opset, **attributes), [data for data in inputs if data is not None], held
    )
    found = node.run(tmp_path)
    assert fits(node.shapes(tmp_path), right, exactly=False)
    for made, wanted in zip(found, right, strict=True):
        assert made.shape == wanted.shape and (made.dtype == wanted.dtype or wanted.dtype == object)
        assert made.tolist() == wanted.tolist() or np.array_equal(made, wanted, equal_nan=True)
        if made.dtype.kind == "f":
            assert np.array_equal(np.signbit(made), np.signbit(wanted)) or np.isnan(made).any()


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize(("axis", "opset"), [(2, 11), (-3, 11), (2, 13), (-3, 13)])
def test_what_is_along_an_axis_needs_that_axis(op: str, axis: int, opset: int, tmp_path: Path) -> None:
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(rxlang.CheckError, match="axis"):
        OneNode(one_node(op, [x], 1, opset, axis=axis), [x], ()).run(tmp_path)


@pytest.mark.parametrize(
    ("op", "attributes"), [("RoiAlign", {"output_height": -1}), ("MaxRoiPool", {"pooled_shape": [1, -2]})]
)
def test_a_box_is_cut_into_no_fewer_parts_than_none(op: str, attributes: dict[str, Any], tmp_path: Path) -> None:
    boxes = np.zeros((1, 4 if op == "RoiAlign" else 5), np.float32)
    inputs = [np.zeros((1, 1, 3, 3), np.float32), boxes, *([i(0)] if op == "RoiAlign" else [])]
    with pytest.raises(rxlang.CheckError, match="it is at least 0"):
        OneNode(one_node(op, inputs, 1, 16, **attributes), inputs, ()).run(tmp_path)


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_the_first_outputs_of_a_layer_normalization_can_be_had(outputs: int, tmp_path: Path) -> None:
    x, ones = f([1, 3], [5, 9]), f(1, 1)
    found = OneNode(one_node("LayerNormalization", [x, ones], outputs, 17, epsilon=0.0), [x, ones], ()).run(tmp_path)
    right = [f([-1, 1], [-1, 1]), f([2], [7]), f([1], [0.5])]
    assert len(found) == outputs
    assert all(np.array_equal(*pair) for pair in zip(found, right[:outputs], strict=True))
