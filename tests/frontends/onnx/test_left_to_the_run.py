"""What only data decides, and the longest inputs: nothing fails in a run that the contract of a model does not speak of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.model.contract import Contract  # noqa: E402
from rxlang.simplify.solver.numbers import holds_at, size_at  # noqa: E402
from rxlang.simplify.solver.terms.steps import StepBudget  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Shapes = Mapping[str, list[str | int]]


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), output.split(), name=f"{kind}_{output.split()[0]}", **attributes)


def saved(
    path: Path, nodes: list[Any], floats: Shapes, ints: Shapes, held: Mapping[str, Any] = {}, opset: int = 18
) -> Path:
    """A model that gives `y`."""
    inputs = [helper.make_tensor_value_info(n, FLOAT, dims) for n, dims in floats.items()]
    inputs += [helper.make_tensor_value_info(n, INT64, dims) for n, dims in ints.items()]
    tensors = [numpy_helper.from_array(np.asarray(v), n) for n, v in held.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info("y")], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)
    return path


def contract(path: Path) -> Contract:
    found = check_model(path, str(path))
    assert found.contract is not None, [d.message for d in found.report.diagnostics]
    return found.contract


def conditions(found: Contract) -> list[str]:
    return [c.condition for c in found.conditions]


X: Shapes = {"x": ["n", "m"]}
NONE = np.zeros(0, np.float32)
# A node whose data `d` decides whether it runs: what else it is given, and the shape of `d`.
DECIDED: dict[str, tuple[list[Any], Shapes, list[str | int], Mapping[str, Any]]] = {
    "expand": ([node("Expand", "x d", "y")], X, [2], {}),
    "expand by less": (
        [node("Shape", "x", "s"), node("Sub", "s d", "e"), node("Expand", "zero e", "y")], X, [2], {"zero": np.float32(0)},
    ),
    "constant of shape": ([node("ConstantOfShape", "d", "y")], {}, [2], {}),
    "tile": ([node("Tile", "x d", "y")], X, [2], {}),
    "pad": ([node("Pad", "x d", "y", mode="reflect")], X, [4], {}),
    "resize": ([node("Resize", "x none none d", "y", mode="nearest")], X, [2], {"none": NONE}),
    "resize by scales": (
        [node("Cast", "d", "f", to=FLOAT), node("Resize", "x none f", "y", mode="nearest")], X, [2], {"none": NONE},
    ),
    "topk": ([node("TopK", "x d", "y i")], X, [1], {}),
    "split": ([node("Split", "x d", "y z", axis=1)], X, [2], {}),
    "reshape": ([node("Reshape", "x d", "y")], X, [2], {}),
    "unsqueeze": ([node("Unsqueeze", "x d", "y")], X, [1], {}),
    "range": ([node("Squeeze", "d", "s"), node("Range", "zero s s", "y")], {}, [1], {"zero": np.int64(0)}),
    "reduce": ([node("ReduceSum", "x d", "y")], X, [1], {}),
    "window": ([node("HannWindow", "d", "y")], {}, [], {}),
    "crop": ([node("CenterCropPad", "x d", "y")], X, [2], {}),
    "loss": ([node("NegativeLogLikelihoodLoss", "x d", "y")], X, ["n"], {}),
    "regions": (
        [node("RoiAlign", "p r d", "y", output_height=2, output_width=2)], {"p": ["b", 1, 3, 3], "r": ["k", 4]}, ["k"], {},
    ),
    "unpool": ([node("MaxUnpool", "p d", "y", kernel_shape=[2, 2])], {"p": [1, 1, 3, 3]}, [1, 1, 3, 3], {}),
    "gather": ([node("Gather", "x d", "y")], X, ["k"], {}),
    "position": ([node("SplitToSequence", "x", "s"), node("SequenceAt", "s d", "y")], X, [], {}),
    "lengths": ([node("SplitToSequence", "x d", "s"), node("ConcatFromSequence", "s", "y", axis=0)], X, ["k"], {}),
    "reverse": ([node("ReverseSequence", "x d", "y", time_axis=0, batch_axis=1)], X, ["m"], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
def test_what_fails_for_its_data_alone_is_listed(name: str, tmp_path: Path) -> None:
    nodes, floats, shape, held = DECIDED[name]
    path = saved(tmp_path / "m.onnx", nodes, floats, {"d": shape}, held)
    found, main, draw = contract(path), rxlang.load(path, allow_empty=True).main, np.random.default_rng(0)
    failed = 0
    for _ in range(40):
        sizes = {size: int(draw.integers(1, 5)) for size in "nmbk"}
        given = {i.name: made(i.dtype, [size_at(s, sizes) or 0 for s in i.shape or ()], draw) for i in found.inputs}
        if accepted(found, sizes, given):
            failed += not runs(main, given)
    assert not failed or found.undecided


def made(dtype: str | None, shape: list[int], draw: np.random.Generator) -> Any:
    return draw.integers(-2, 5, shape) if dtype == "int64" else draw.standard_normal(shape).astype(np.float32)


def accepted(found: Contract, sizes: Mapping[str, int], given: Mapping[str, Any]) -> bool:
    ends = [(given[r.input], size_at(r.least, sizes), size_at(r.most, sizes)) for r in found.ranges]
    inside = all(((low <= values) & (values <= high)).all() for values, low, high in ends)
    return inside and all(holds_at(text, sizes) for text in conditions(found))


def runs(main: Any, given: Mapping[str, Any]) -> bool:
    try:
        main(*given.values())
    except rxlang.ShapeError:
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "other", "result"),
    [("Concat", "i j", {"axis": 0}), ("Reshape", "i k", {}), ("Concat", "i z", {"axis": 0})],
)
def test_a_check_of_what_was_counted_is_listed_though_it_says_how_much_that_is(
    kind: str, other: str, result: dict[str, Any], tmp_path: Path
) -> None:
    """What is known behind a check rests on it."""
    nodes = [node("NonZero", "x", "i"), node("NonZero", "z", "j"), node(kind, other, "y", **result)]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ["n"]}, {"z": ["p", "q"]}, {"k": np.array([1, 3])})
    found = contract(path)
    assert [d.node for d in found.undecided] == [f"node {kind}_y ({kind})"]
    assert not runs(rxlang.load(path).main, {"x": np.arange(5, dtype=np.float32), "z": np.ones((2, 6), np.int64)})


# Lengths


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("moved", ["", "Cast", "Add"])
def test_lengths_of_sequences_are_from_none_to_all_of_the_input(tmp_path: Path, kind: str, moved: str) -> None:
    hidden, gates = 3, {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    zeros = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    nodes = [node("Add", "d one", "e")] if moved == "Add" else [node("Identity", "d", "e")]
    nodes += [node("Cast", "e", "l", to=TensorProto.INT32), node(kind, "x w r b l", "y", hidden_size=hidden)]
    held = {"w": zeros(1, gates * hidden, 2), "r": zeros(1, gates * hidden, hidden), "b": zeros(1, 2 * gates * hidden)}
    path = saved(tmp_path / "m.onnx", nodes, {"x": ["t", "b", 2]}, {"d": ["b"]}, {**held, "one": np.int64(1)})
    found, less = contract(path), int(moved == "Add")
    (one,) = found.ranges
    assert (one.input, one.demand.node) == ("d", f"node {kind}_y ({kind})") and not found.undecided
    assert [size_at(end, {"t": 5}) for end in (one.least, one.most)] == [-less, 5 - less]
    main = rxlang.load(path).main
    for length in range(-2, 7):
        given = {"x": zeros(4, 2, 2), "d": np.array([1, length])}
        assert runs(main, given) == (-less <= length <= 4 - less)
        if not runs(main, given):
            with pytest.raises(rxlang.ShapeError, match="`d`|lengths"):
                main(*given.values())


def test_lengths_that_the_model_holds_are_a_condition_on_the_input(tmp_path: Path) -> None:
    held = {"w": np.zeros((1, 3, 2), np.float32), "r": np.zeros((1, 3, 3), np.float32)}
    layer = helper.make_node("RNN", ["x", "w", "r", "", "l"], ["y"], hidden_size=3)
    path = saved(tmp_path / "m.onnx", [layer], {"x": ["t", 2, 2]}, {}, {**held, "l": np.array([5, 3], np.int32)})
    assert conditions(contract(path)) == ["t >= 5"]


# The longest input


def relative(path: Path, rows: int) -> Path:
    """Rows of a table from the middle less as many as there are steps to the middle and as many, one for each pair of steps."""
    held = {
        "table": np.zeros((rows, 2), np.float32), "one": np.array([1]), "half": np.array([rows // 2]), "zero": np.array([0]),
        "k": np.array([-1]), "two": np.array([2]),
    }  # fmt: skip
    nodes = [
        node("Shape", "x", "t", start=0, end=1), node("Sub", "half t", "a"), node("Add", "a one", "begin"),
        node("Add", "half t", "end"), node("Slice", "table begin end zero", "near"), node("Transpose", "near", "n"),
        node("MatMul", "x n", "s"), node("Concat", "t t", "tt", axis=0), node("Mul", "two t", "w"),
        node("Sub", "w one", "v"), node("Concat", "t v", "shape", axis=0), node("Reshape", "s shape", "y"),
    ]  # fmt: skip
    return saved(path, nodes, {"x": ["t", 2]}, {}, held)


@pytest.mark.parametrize("rows", [9, 31])
def test_a_table_that_a_computed_part_is_taken_of_bounds_the_input(tmp_path: Path, rows: int) -> None:
    path = relative(tmp_path / "m.onnx", rows)
    found, main = contract(path), rxlang.load(path, allow_empty=True).main
    assert found.conditions
    for t in range(2 * rows):
        passes = all(holds_at(text, {"t": t}) for text in conditions(found))
        assert passes or not runs(main, {"x": np.zeros((t, 2), np.float32)}), t
        assert not passes or found.undecided or runs(main, {"x": np.zeros((t, 2), np.float32)}), t
    assert not all(holds_at(text, {"t": rows}) for text in conditions(found))


def test_the_mean_of_nothing_is_0(tmp_path: Path) -> None:
    """As a bag without an entry has it; the standard leaves it open."""
    nodes = [node("ReduceMean", "x axes", "y", keepdims=0)]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ["n", 3]}, {}, {"axes": np.array([0])})
    assert rxlang.load(path, allow_empty=True).main(np.zeros((0, 3), np.float32)).tolist() == [0, 0, 0]


def skewed(path: Path, rows: int) -> Path:
    """Products with the rows of a table that are n - 1 at most away from its middle, padded by one and read row by row."""
    shape = [
        node("Shape", "x", "b", start=0, end=1), node("Shape", "x", "n", start=1, end=2), node("Sub", "middle n", "m"),
        node("Add", "m one", "first"), node("Add", "middle n", "end"), node("Mul", "n two", "twice"),
        node("Concat", "b twice n", "target", axis=0),
    ]  # fmt: skip
    nodes = [
        node("Slice", "table first end one one", "near"), node("Transpose", "near", "turned", perm=[0, 2, 1]),
        node("MatMul", "x turned", "products"), node("Pad", "products pads", "padded"),
        node("Reshape", "padded target", "y"),
    ]  # fmt: skip
    held = {
        "table": np.zeros((1, rows, 4), np.float32), "middle": np.array([rows // 2]), "one": np.array([1]),
        "two": np.array([2]), "pads": np.array([0, 0, 1, 0, 0, 0]),
    }  # fmt: skip
    return saved(path, [*shape, *nodes], {"x": ["b", "n", 4]}, {}, held)


@pytest.mark.parametrize("rows", [9, 49])
def test_a_check_is_told_beside_another_one_of_its_node_that_is_a_condition(tmp_path: Path, rows: int) -> None:
    path = skewed(tmp_path / "m.onnx", rows)
    found, main = contract(path), rxlang.load(path, allow_empty=True).main
    assert f"n <= {rows // 2 + 1} || b == 0" in conditions(found) and found.undecided == ()
    for n in range(1, rows):
        passes = all(holds_at(text, {"b": 1, "n": n}) for text in conditions(found))
        assert passes == (n <= rows // 2 + 1) == runs(main, {"x": np.zeros((1, n, 4), np.float32)}), n


@pytest.mark.parametrize("inside", ["Loop", "If"])
def test_indices_in_graphs_inside_are_listed_where_data_decides_them(tmp_path: Path, inside: str) -> None:
    value = helper.make_tensor_value_info
    nodes = [
        node("Gather", "x turn", "row"), node("Gather", "ids turn", "one"), node("Gather", "table one", "e"),
        node("Gather", "table two", "f"), node("Add", "e f", "s"),
    ]  # fmt: skip
    if inside == "Loop":
        inputs = [value("turn", INT64, []), value("go", BOOL, [])]
        body = helper.make_graph(
            [*nodes, node("Identity", "go", "on")], "b", inputs, [value("on", BOOL, []), value("s", FLOAT, None)]
        )
        outer = [node("Shape", "x", "n", start=0, end=1), node("Loop", "n yes", "y", body=body)]
    else:
        arm = helper.make_graph(nodes, "b", [], [value("s", FLOAT, None)])
        other = helper.make_graph([node("Identity", "nothing", "z")], "c", [], [value("z", FLOAT, None)])
        outer = [node("Identity", "first", "turn"), node("ReduceMax", "x", "most", keepdims=0)]
        outer += [node("Greater", "most half", "c"), node("If", "c", "y", then_branch=arm, else_branch=other)]
    held = {
        "table": np.zeros((5, 4), np.float32), "yes": np.array(True), "two": np.array(2), "first": np.array(0),
        "half": np.float32(0.5), "nothing": np.zeros(4, np.float32),
    }  # fmt: skip
    path = saved(tmp_path / "m.onnx", outer, {"x": ["n", 3]}, {"ids": ["n"]}, held)
    listed = [d.node for d in contract(path).undecided if "to be an index" in d.needs]
    assert listed == ["node Gather_e (Gather)"]


def test_lengths_are_looked_for_with_so_many_steps_and_no_more(tmp_path: Path) -> None:
    """A row of squares: each number that is tried makes sizes which no int64 holds, and questions about them."""
    nodes = [
        made
        for i in range(8)
        for made in (
            node("Shape", f"v{i}", f"s{i}"), node("Mul", f"s{i} s{i}", f"t{i}"),
            node("ConstantOfShape", f"t{i}", f"v{i + 1}"),
        )
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["a", "b"])],
        [helper.make_tensor_value_info("v8", TensorProto.FLOAT, None)],
    )  # fmt: skip
    path = tmp_path / "squares.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    with StepBudget(10**9) as budget:
        found = contract(path)
    assert found.undecided and budget.spent < 200_000, budget.spent
