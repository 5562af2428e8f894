"""Small models of what real ones demand of their inputs, one kind each, as the package onnx writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

Dims = Sequence[str | int]
IMAGES = {"images": ["b", 3, "h", "w"]}


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A node that is called as what it gives."""
    return helper.make_node(kind, inputs.split(), outputs.split(), name=f"{kind}_{outputs.split()[0]}", **attributes)


def made(
    nodes: Sequence[Any], inputs: Mapping[str, Dims], outputs: str, held: Mapping[str, Any] = {}, ints: str = ""
) -> Any:
    """A model; the inputs among `ints` are integers, all others floats."""
    kinds = {name: TensorProto.INT64 if name in ints.split() else TensorProto.FLOAT for name in inputs}
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(name, kinds[name], list(dims)) for name, dims in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs.split()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def floats(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


MADE: dict[str, Callable[[], Any]] = {}


def model(build: Callable[[], Any]) -> Callable[[], Any]:
    MADE[build.__name__] = build
    return build


@model
def strided_and_back() -> Any:
    nodes = [
        node("Conv", "images k", "c", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Resize", "c none scales", "u", mode="nearest"),
        node("Concat", "images u", "out", axis=1),
    ]
    return made(
        nodes, IMAGES, "out", {"k": floats(3, 3, 3, 3), "none": floats(0), "scales": np.array([1, 1, 2, 2], np.float32)}
    )


@model
def transposed_and_back() -> Any:
    nodes = [
        node("Conv", "images k", "c", strides=[3, 2]),
        node("ConvTranspose", "c t", "u", strides=[3, 2]),
        node("Concat", "images u", "out", axis=1),
    ]
    return made(nodes, IMAGES, "out", {"k": floats(4, 3, 3, 2), "t": floats(4, 2, 3, 2)})


@model
def three_steps_down() -> Any:
    nodes = [
        node("Conv", "wave a", "c", strides=[5]),
        node("Relu", "c", "r"),
        node("Conv", "r d", "e", strides=[2], dilations=[2]),
        node("Conv", "e f", "out"),
    ]
    return made(
        nodes, {"wave": ["b", 1, "samples"]}, "out", {"a": floats(2, 1, 8), "d": floats(2, 2, 3), "f": floats(3, 2, 2)}
    )


@model
def same_padding() -> Any:
    nodes = [
        node("Conv", "images k", "c", auto_pad="SAME_UPPER", strides=[2, 3]),
        node("MaxPool", "c", "p", kernel_shape=[2, 2], auto_pad="VALID", strides=[2, 2]),
        node("GlobalAveragePool", "p", "out"),
    ]
    return made(nodes, IMAGES, "out", {"k": floats(4, 3, 3, 3)})


@model
def pools_upwards() -> Any:
    nodes = [
        node("MaxPool", "images", "p", kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1),
        node("AveragePool", "images", "q", kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1),
        node("Add", "p q", "out"),
    ]
    return made(nodes, IMAGES, "out")


@model
def pools_padded() -> Any:
    nodes = [
        node("MaxPool", "images", "p", kernel_shape=[4, 3], strides=[3, 2], pads=[1, 1, 2, 0]),
        node("AveragePool", "images", "q", kernel_shape=[4, 3], strides=[3, 2], pads=[1, 1, 2, 0], count_include_pad=1),
        node("Sub", "p q", "out"),
    ]
    return made(nodes, IMAGES, "out")


@model
def frozen_batch() -> Any:
    nodes = [node("Reshape", "x s", "r"), node("MatMul", "r m", "out")]
    return made(nodes, {"x": ["b", 4, 6]}, "out", {"s": ints(1, 4, 6), "m": floats(6, 5)})


@model
def heads() -> Any:
    nodes = [
        node("Reshape", "x s", "r"),
        node("Transpose", "r", "t", perm=[0, 2, 1, 3]),
        node("Transpose", "r", "k", perm=[0, 2, 3, 1]),
        node("MatMul", "t k", "scores"),
        node("Add", "scores mask", "out"),
    ]
    inputs: dict[str, Dims] = {"x": ["b", "t", 12], "mask": ["mb", 1, "q", "s"]}
    return made(nodes, inputs, "out", {"s": ints(0, 0, 3, 4)})


@model
def grouped_rows() -> Any:
    nodes = [node("Reshape", "x s", "r"), node("ReduceSum", "r a", "out", keepdims=0)]
    return made(nodes, {"x": ["n", "m"]}, "out", {"s": ints(-1, 6), "a": ints(1)})


@model
def flattened_into_gemm() -> Any:
    nodes = [
        node("Conv", "images k", "c", strides=[2, 2]),
        node("Flatten", "c", "f", axis=1),
        node("Gemm", "f m bias", "out", transB=1),
    ]
    return made(nodes, IMAGES, "out", {"k": floats(2, 3, 2, 2), "m": floats(5, 24), "bias": floats(5)})


@model
def pairs_of_channels() -> Any:
    nodes = [node("Split", "x", "a c", axis=1, num_outputs=2), node("Mul", "a c", "out")]
    return made(nodes, {"x": ["b", "n"]}, "out")


@model
def split_as_written() -> Any:
    nodes = [node("Split", "x s", "a c d", axis=1), node("Concat", "a d", "out", axis=1)]
    return made(nodes, {"x": ["b", "n"]}, "out", {"s": ints(3, 5, 2)})


@model
def embeddings() -> Any:
    nodes = [
        node("Gather", "words ids", "e"),
        node("Shape", "ids", "n", start=1, end=2),
        node("Slice", "places zero n zero", "p"),
        node("Add", "e p", "out"),
    ]
    held = {"words": floats(30, 4), "places": floats(16, 4), "zero": ints(0)}
    return made(nodes, {"ids": ["b", "t"]}, "out", held, ints="ids")


@model
def counted_places() -> Any:
    nodes = [
        node("Gather", "words ids", "e"),
        node("Shape", "ids", "n", start=1, end=2),
        node("Squeeze", "n", "count"),
        node("Range", "first count one", "r"),
        node("Gather", "places r", "p"),
        node("Add", "e p", "out"),
    ]
    held = {
        "words": floats(30, 4), "places": floats(16, 4), "first": np.array(0), "one": np.array(1),
    }  # fmt: skip
    return made(nodes, {"ids": ["b", "t"]}, "out", held, ints="ids")


@model
def picked_elements() -> Any:
    nodes = [node("GatherElements", "x ids", "g", axis=1), node("Add", "g bias", "out")]
    return made(nodes, {"x": ["b", 7], "ids": ["b", "k"]}, "out", {"bias": floats(3)}, ints="ids")


@model
def last_one() -> Any:
    nodes = [node("Gather", "x last", "g", axis=1), node("Gather", "x third", "h", axis=1), node("Add", "g h", "out")]
    return made(nodes, {"x": ["b", "t", 5]}, "out", {"last": np.array(-1), "third": np.array(2)})


@model
def neighbours() -> Any:
    nodes = [
        node("Slice", "x one end axis", "late"),
        node("Slice", "x zero before axis", "early"),
        node("Sub", "late early", "d"),
        node("ReduceMean", "d axis", "out", keepdims=0),
    ]
    held = {"one": ints(1), "end": ints(2**63 - 1), "zero": ints(0), "before": ints(-1), "axis": ints(1)}
    return made(nodes, {"x": ["b", "t"]}, "out", held)


@model
def every_other() -> Any:
    nodes = [
        node("Slice", "x zero end axis two", "even"),
        node("Slice", "x one end axis two", "odd"),
        node("Add", "even odd", "out"),
    ]
    held = {"one": ints(1), "end": ints(2**63 - 1), "zero": ints(0), "axis": ints(1), "two": ints(2)}
    return made(nodes, {"x": ["b", "t"]}, "out", held)


@model
def windows() -> Any:
    nodes = [node("Reshape", "images s", "r"), node("Transpose", "r", "out", perm=[0, 1, 3, 5, 2, 4])]
    shape = [
        node("Shape", "images", "bc", start=0, end=2), node("Shape", "images", "hs", start=2, end=3),
        node("Shape", "images", "ws", start=3, end=4), node("Div", "hs four", "hq"), node("Div", "ws five", "wq"),
        node("Concat", "bc hq four wq five", "s", axis=0),
    ]  # fmt: skip
    return made([*shape, *nodes], IMAGES, "out", {"four": ints(4), "five": ints(5)})


@model
def two_branches() -> Any:
    nodes = [
        node("Conv", "images k", "c", strides=[2, 2]),
        node("AveragePool", "images", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Concat", "c p", "out", axis=1),
    ]
    return made(nodes, IMAGES, "out", {"k": floats(4, 3, 3, 3)})


@model
def broadcast_rows() -> Any:
    nodes = [node("Add", "x y", "z"), node("Mul", "z bias", "out")]
    return made(nodes, {"x": ["b", "n"], "y": ["b", "m"]}, "out", {"bias": floats(6)})


@model
def products() -> Any:
    nodes = [node("MatMul", "x y", "p"), node("MatMul", "p m", "out")]
    return made(nodes, {"x": ["b", "n", "k"], "y": ["c", "j", "l"]}, "out", {"m": floats(5, 3)})


@model
def gemm_and_bias() -> Any:
    nodes = [node("Gemm", "x y z", "out", transA=1)]
    return made(nodes, {"x": ["k", "n"], "y": ["j", "m"], "z": ["p", "q"]}, "out")


@model
def repeated() -> Any:
    nodes = [node("Tile", "x r", "t"), node("Expand", "t e", "u"), node("Add", "u y", "out")]
    return made(nodes, {"x": ["b", "n"], "y": ["c", "m"]}, "out", {"r": ints(1, 3), "e": ints(4, 1)})


@model
def resized() -> Any:
    nodes = [node("Resize", "images none none sizes", "r", mode="linear", axes=[2, 3]), node("Add", "r bias", "out")]
    return made(nodes, IMAGES, "out", {"none": floats(0), "sizes": ints(10, 12), "bias": floats(12)})


@model
def depth_to_space() -> Any:
    nodes = [node("DepthToSpace", "x", "d", blocksize=2), node("SpaceToDepth", "d", "out", blocksize=4)]
    return made(nodes, {"x": ["b", "c", "h", "w"]}, "out")


@model
def squeezed() -> Any:
    nodes = [node("Squeeze", "x axes", "s"), node("MatMul", "s m", "out")]
    return made(nodes, {"x": ["b", "one", "n"]}, "out", {"axes": ints(1), "m": floats(5, 2)})


@model
def normalised() -> Any:
    nodes = [
        node("BatchNormalization", "x s o m v", "y"),
        node("InstanceNormalization", "y s o", "z"),
        node("LayerNormalization", "z l", "out", axis=-1),
    ]
    five = {name: abs(floats(5)) for name in "somv"}
    return made(nodes, {"x": ["b", "c", "n"]}, "out", {**five, "l": floats(6)})


@model
def highest() -> Any:
    nodes = [node("TopK", "x k", "values places", axis=1), node("ReduceMax", "values a", "out", keepdims=0)]
    return made(nodes, {"x": ["b", "n"]}, "out", {"k": ints(4), "a": ints(1)})


@model
def padded_to_reflect() -> Any:
    nodes = [node("Pad", "x p", "y", mode="reflect"), node("Conv", "y k", "out")]
    return made(nodes, {"x": ["b", 2, "n"]}, "out", {"p": ints(0, 0, 3, 0, 0, 3), "k": floats(2, 2, 3)})


@model
def recurrent() -> Any:
    held = {"w": floats(1, 16, 3), "r": floats(1, 16, 4)}
    return made([node("LSTM", "x w r", "y h c", hidden_size=4)], {"x": ["t", "b", "n"]}, "y h", held)


@model
def summed_products() -> Any:
    nodes = [node("Einsum", "x y", "out", equation="bij,bkj->bik")]
    return made(nodes, {"x": ["b", "i", "j"], "y": ["c", "k", "l"]}, "out")


@model
def stacked() -> Any:
    nodes = [node("Concat", "x y", "c", axis=0), node("Reshape", "c s", "out", allowzero=0)]
    return made(nodes, {"x": ["a", "n"], "y": ["b", "m"]}, "out", {"s": ints(2, -1, 3)})


@model
def chosen() -> Any:
    nodes = [node("Greater", "x y", "g"), node("Where", "g x z", "out")]
    return made(nodes, {"x": ["b", "n"], "y": ["b", 1], "z": ["n"]}, "out")


@model
def rolled() -> Any:
    nodes = [
        node("Shape", "x", "n", start=1, end=2),
        node("Mod", "two n", "by"),
        node("Slice", "x zero by one", "first"),
        node("Slice", "x by n one", "rest"),
        node("Concat", "rest first", "out", axis=1),
    ]
    return made(nodes, {"x": ["b", "n", 3]}, "out", {"two": ints(2), "zero": ints(0), "one": ints(1)})


@model
def shared_out() -> Any:
    nodes = [
        node("Shape", "x", "n", start=1, end=2),
        node("Shape", "y", "k", start=0, end=1),
        node("Shape", "x", "b", start=0, end=1),
        node("Div", "n k", "each"),
        node("Concat", "b k each", "s", axis=0),
        node("Reshape", "x s", "out"),
    ]
    return made(nodes, {"x": ["b", "n"], "y": ["k"]}, "out")


@model
def merged() -> Any:
    nodes = [
        node("Shape", "x", "first", start=0, end=2),
        node("ReduceProd", "first a", "rows", keepdims=1),
        node("Concat", "rows three", "s", axis=0),
        node("Reshape", "x s", "out"),
    ]
    return made(nodes, {"x": ["b", "n", 3]}, "out", {"a": ints(0), "three": ints(3)})


def body(nodes: Sequence[Any], inputs: str, outputs: str) -> Any:
    """A graph inside a node, which declares nothing of its values but of the turn and of whether there is one."""
    empty = helper.make_empty_tensor_value_info
    turn = [helper.make_tensor_value_info(n, k, []) for n, k in (("i", TensorProto.INT64), ("go", TensorProto.BOOL))]
    given = [*(turn if inputs else ()), *map(empty, inputs.split())]
    return helper.make_graph(nodes, "body", given, [*map(empty, outputs.split())])


@model
def expanded_where() -> Any:
    """A target in which -1 stands for what is there, as exporters write it."""
    nodes = [
        node("Shape", "y", "t", start=1, end=2),
        node("Concat", "minus t", "said", axis=0),
        node("Equal", "said minus", "open"),
        node("Where", "open one said", "s"),
        node("Expand", "x s", "e"),
        node("Add", "e y", "out"),
    ]
    return made(nodes, {"x": ["b", 1], "y": ["c", "t"]}, "out", {"minus": ints(-1), "one": ints(1)})


@model
def squeezed_if_one() -> Any:
    arms = {
        "then_branch": body([node("Squeeze", "x axes", "flat")], "", "flat"),
        "else_branch": body([node("Identity", "x", "same")], "", "same"),
    }
    nodes = [
        node("Shape", "x", "n", start=1, end=2),
        node("Equal", "n axes", "is_one"),
        node("If", "is_one", "y", **arms),
        node("Transpose", "y", "t", perm=[1, 0]),
        node("Add", "t bias", "out"),
    ]
    return made(nodes, {"x": ["b", "n", "k"]}, "out", {"axes": ints(1), "bias": floats(5, 1)})


@model
def cut_or_padded() -> Any:
    """As long as a table is, whatever comes."""
    arms = {
        "then_branch": body([node("Slice", "x zero most one", "cut")], "", "cut"),
        "else_branch": body(
            [node("Sub", "most n", "more"), node("Concat", "none more", "pads", axis=0), node("Pad", "x pads", "long")],
            "", "long",
        ),
    }  # fmt: skip
    nodes = [
        node("Shape", "x", "n", start=1, end=2),
        node("Greater", "n most", "longer"),
        node("If", "longer", "y", **arms),
        node("MatMul", "y m", "out"),
    ]
    held = {"zero": ints(0), "most": ints(8), "one": ints(1), "none": ints(0, 0, 0), "m": floats(8, 3)}
    return made(nodes, {"x": ["b", "n"]}, "out", held)


@model
def bags() -> Any:
    """Where each row of ids begins, counted in steps of a row."""
    nodes = [
        node("Size", "ids", "all"),
        node("Shape", "ids", "k", start=1, end=2),
        node("Squeeze", "k", "step"),
        node("Range", "first all step", "begins"),
        node("Reshape", "ids flat", "row"),
        node("Gather", "row begins", "firsts"),
        node("Gather", "words firsts", "out"),
    ]
    held = {"first": np.array(0), "flat": ints(-1), "words": floats(30, 4)}
    return made(nodes, {"ids": ["b", "k"]}, "out", held, ints="ids")


@model
def one_hot_times() -> Any:
    """An axis that is repeated, as exporters say of keys that heads share."""
    nodes = [
        node("Shape", "y", "n", start=0, end=1),
        node("Concat", "one n", "values", axis=0),
        node("OneHot", "one three values", "hot"),
        node("Reshape", "hot flat", "times"),
        node("Tile", "x times", "t"),
        node("Add", "t bias", "out"),
    ]
    held = {"one": ints(1), "three": np.array(3), "flat": ints(-1), "bias": floats(6, 4)}
    return made(nodes, {"x": ["b", 2, 4], "y": ["n"]}, "out", held)


@model
def summed_in_turns() -> Any:
    """A loop whose body declares neither what it carries nor what it stacks."""
    turn = [
        node("Gather", "x at", "row", axis=1),
        node("Add", "sum row", "more"),
        node("Add", "at one", "next"),
        node("Identity", "go", "on"),
        node("Mul", "more scale", "out_row"),
    ]
    carried = body(turn, "at sum", "on next more out_row")
    nodes = [
        node("Shape", "x", "n", start=1, end=2),
        node("Squeeze", "n", "count"),
        helper.make_node("Loop", ["count", "", "zero", "first"], ["end", "last", "rows"], "Loop_rows", body=carried),
        node("Add", "last tail", "out"),
    ]
    held = {"zero": np.array(0), "one": np.array(1), "scale": floats(5)}
    return made(nodes, {"x": ["b", "n", 5], "first": ["b", 5], "tail": ["d", 5]}, "out end rows", held)


@model
def triangle() -> Any:
    """A causal mask that is made, and added to scores."""
    nodes = [
        node("Shape", "x", "t", start=1, end=2),
        node("Concat", "t t", "s", axis=0),
        node("ConstantOfShape", "s", "full", value=helper.make_tensor("v", TensorProto.FLOAT, [1], [-1e9])),
        node("Trilu", "full k", "mask", upper=1),
        node("Transpose", "x", "xt", perm=[0, 2, 1]),
        node("MatMul", "x xt", "scores"),
        node("Add", "scores mask", "seen"),
        node("Softmax", "seen", "p", axis=-1),
        node("Add", "p bias", "out"),
    ]
    return made(nodes, {"x": ["b", "t", 4]}, "out", {"k": np.array(1), "bias": floats(6)})
