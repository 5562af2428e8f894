"""Ids that a model makes into indices: the contract says of each input what the kernels refuse, one beyond at each end."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.model.contract import Contract  # noqa: E402
from rxlang.simplify.solver.numbers import holds_at  # noqa: E402
from support import fuzz  # noqa: E402

ENTRIES = 7
node, value = helper.make_node, helper.make_tensor_value_info


def steps(draw: Random, name: str) -> list[Any]:
    """Nodes that make indices called `ids` of an input, some of them with others."""
    made: list[Any] = []
    for at in range(draw.randint(0, 4)):
        new = f"{name}_{at}"
        made += draw.choice((
            lambda x, y: [node("Add", [x, "three"], [y])],
            lambda x, y: [node("Add", ["three", x], [y])],
            lambda x, y: [node("Sub", [x, "three"], [y])],
            lambda x, y: [node("Unsqueeze", [x, "first"], [f"{y}u"]), node("Squeeze", [f"{y}u", "first"], [y])],
            lambda x, y: [node("Concat", [x, "held"], [y], axis=0)],
            lambda x, y: [node("Concat", ["held", x], [y], axis=0)],
            lambda x, y: [node("Cast", [x], [f"{y}c"], to=6), node("Cast", [f"{y}c"], [y], to=TensorProto.INT64)],
            lambda x, y: [node("Sub", ["three", x], [y])],
            lambda x, y: [node("Mul", [x, "three"], [y])],
        ))(name if at == 0 else f"{name}_{at - 1}", new)  # fmt: skip
    last = f"{name}_{at}" if made else name
    if draw.random() < 0.4:
        made += [node("Less", [last, "zero"], [f"{name}_l"]), node("Add", [last, "count"], [f"{name}_m"]),
                 node("Where", [f"{name}_l", f"{name}_m", last], [f"{name}_w"])]  # fmt: skip
        last = f"{name}_w"
    return [*made, node("Gather", ["table", last], [f"{name}_y"], axis=0)]


def saved(path: Path, nodes: list[Any], outputs: list[str]) -> Path:
    held = {
        "table": np.arange(ENTRIES, dtype=np.float32), "three": np.array(3), "zero": np.array(0), "first": np.array([0]),
        "held": np.array([3, 4]), "count": np.array(ENTRIES),
    }  # fmt: skip
    kept = [numpy_helper.from_array(v, n) for n, v in held.items()]
    inputs = [value("a", TensorProto.INT64, ["n"]), value("b", TensorProto.INT64, ["m"])]
    results = [value(n, TensorProto.FLOAT, None) for n in outputs]
    graph = helper.make_graph(nodes, "g", inputs, results, kept)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def contract(path: Path) -> Contract:
    found = check_model(path, str(path)).contract
    assert found is not None
    return found


def test_the_ends_of_a_range_are_those_of_the_kernels(tmp_path: Path) -> None:
    for case in fuzz.cases("ranges of ids"):
        with case as seed:
            assert_ends(saved(tmp_path / f"{seed}.onnx", steps(Random(seed), "a"), ["a_y"]))


def assert_ends(path: Path) -> None:
    bare, main = rxlang.load(path, data_checks=False).main, rxlang.load(path).main
    if all(fails(bare, n) for n in range(-40, 40)):  # what is held goes beyond the table
        return
    for one in contract(path).ranges:
        assert isinstance(one.least, int) and isinstance(one.most, int)
        for at, refused in ((one.least - 1, True), (one.least, False), (one.most, False), (one.most + 1, True)):
            assert fails(bare, at) is fails(main, at) is refused, (str(one), at)


def fails(main: Any, element: int) -> bool:
    try:
        main(np.array([element, element]), np.array([0]))
    except rxlang.ShapeError:
        return True
    return False


def test_ids_that_lose_bits_are_those_that_are_left(tmp_path: Path) -> None:
    nodes = [node("Cast", ["a"], ["c"], to=TensorProto.INT32), node("Gather", ["table", "c"], ["y"])]
    path = saved(tmp_path / "m.onnx", nodes, ["y"])
    (one,) = contract(path).ranges
    assert (one.input, one.least, one.most) == ("a", -ENTRIES, ENTRIES - 1) and one.demand.needs.endswith("as int32")
    main = rxlang.load(path).main
    assert main(np.array([2**32 + 1]), np.array([0])).tolist() == [1.0]
    with pytest.raises(rxlang.ShapeError):
        main(np.array([2**32 - ENTRIES - 1]), np.array([0]))


def test_ids_beside_others_are_asked_for_and_the_others_listed(tmp_path: Path) -> None:
    nodes = [
        node("Mul", ["b", "three"], ["d"]), node("Concat", ["a", "d", "held"], ["c"], axis=0),
        node("Gather", ["table", "c"], ["y"]),
    ]  # fmt: skip
    found = contract(saved(tmp_path / "m.onnx", nodes, ["y"]))
    assert [(r.input, r.least, r.most) for r in found.ranges] == [("a", -ENTRIES, ENTRIES - 1)]
    assert [d.node for d in found.undecided] == ["node of y (Gather)"]


def test_the_ids_of_a_fused_embedding_have_its_tables(tmp_path: Path) -> None:
    held = {
        "words": np.zeros((11, 4)), "places": np.zeros((5, 4)), "kinds": np.zeros((2, 4)), "g": np.ones(4), "h": np.zeros(4),
    }  # fmt: skip
    made = node("EmbedLayerNormalization", ["ids", "segments", *held], ["y", "m"], domain="com.microsoft")
    graph = helper.make_graph(
        [made], "g", [value(n, TensorProto.INT32, ["b", "t"]) for n in ("ids", "segments")],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v.astype(np.float32), n) for n, v in held.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    found = contract(tmp_path / "m.onnx")
    assert [(r.input, r.least, r.most) for r in found.ranges] == [("ids", 0, 10), ("segments", 0, 1)]
    assert [r.demand.needs.partition(" into")[0] for r in found.ranges] == [
        "`ids` holds indices", "`segments` holds indices",
    ]  # fmt: skip
    main = rxlang.load(tmp_path / "m.onnx", data_checks=False).main
    assert main(np.array([[10, 0]], np.int32), np.array([[1, 0]], np.int32)).shape == (1, 2, 4)
    for ids, segments in (([[-1, 0]], [[0, 0]]), ([[0, 0]], [[0, -1]]), ([[11, 0]], [[0, 0]])):
        with pytest.raises(rxlang.ShapeError):
            main(np.array(ids, np.int32), np.array(segments, np.int32))


def counting(draw: Random) -> list[Any]:
    """Nodes that take elements at places that count up along two axes, in a table of as many entries as `x` has."""
    made = [
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "at_0"], ["a"]), node("Gather", ["shape", "at_1"], ["c"]),
        node("Shape", ["y"], ["length"]), node("Gather", ["length", "at_0"], ["b"]),
        node("Range", ["zero", "a", "one"], ["up"]), node("Unsqueeze", ["up", "last"], ["rows"]),
        node("Add", ["b", "c"], ["end"]), node("Range", [draw.choice(("zero", "c")), "end", "one"], ["columns"]),
    ]  # fmt: skip
    name = draw.choice(("rows", "columns"))
    for at in range(draw.randint(0, 4)):
        new, other = f"s{at}", draw.choice(("rows", "columns", "b", "c", "one", "two"))
        made += [
            draw.choice((
                node("Add", [name, other], [new]), node("Add", [other, name], [new]),
                node("Mul", [name, draw.choice(("c", "b", "two"))], [new]),
                node("Sub", [name, draw.choice(("b", "one"))], [new]),
                node("Cast", [name], [new], to=TensorProto.INT64), node("Div", [name, "two"], [new]),
                node("Mod", [name, draw.choice(("two", "three"))], [new]), node("Min", [name, "two"], [new]),
                node("Max", [name, "one"], [new]), node("Slice", [name, "last", "row", "last", "last"], [new]),
                node("Concat", [name, name], [new], axis=0), node("Slice", [name, "row", "least", "front", "row"], [new]),
            ))
        ]  # fmt: skip
        name = new
    table = draw.choice(("flat", "y"))
    if draw.random() < 0.3:
        by = draw.choice(("row", "flat_shape"))
        made += [node("Reshape", [name, by], [f"{name}_r"])]
        name = f"{name}_r"
    made += [node("Reshape", ["x", "row"], ["flat"])]
    if draw.random() < 0.7:
        return [*made, node("Gather", [table, name], ["taken"], axis=0)]
    shapes = [node("Mul", ["rows", "columns"], ["all"]), node("Shape", ["all"], ["full"])]
    spread = [node("Expand", [n, "full"], [f"{n}_e"]) for n in ("rows", "columns")]
    deeper = [node("Unsqueeze", [f"{n}_e", "end_axis"], [f"{n}_u"]) for n in ("rows", "columns")]
    return [
        *made, *shapes, *spread, *deeper, node("Concat", ["rows_u", "columns_u"], ["places"], axis=-1),
        node("GatherND", ["x", "places"], ["taken"]),
    ]  # fmt: skip


def test_what_sizes_decide_of_indices_that_count_up_is_a_condition(tmp_path: Path) -> None:
    for case in fuzz.cases("indices that count up"):
        with case as seed:
            assert_counted(Random(seed), tmp_path / f"{seed}.onnx")


def assert_counted(draw: Random, path: Path) -> None:
    numbers = {
        "at_0": np.array(0), "at_1": np.array(1), "zero": np.array(0), "one": np.array(1), "two": np.array(2),
        "last": np.array([1]), "end_axis": np.array([2]), "row": np.array([-1]), "three": np.array(3),
        "least": np.array([-(2**63)]), "front": np.array([0]), "flat_shape": np.array([1, -1]),
    }  # fmt: skip
    kept = [numpy_helper.from_array(v, n) for n, v in numbers.items()]
    inputs = [value("x", TensorProto.FLOAT, ["a", "c"]), value("y", TensorProto.FLOAT, ["b"])]
    graph = helper.make_graph(counting(draw), "g", inputs, [value("taken", TensorProto.FLOAT, None)], kept)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    try:
        found, main = check_model(path, str(path)).contract, rxlang.load(path, allow_empty=True).main
    except rxlang.CheckError as wrong:
        assert "to have rank" in str(wrong) or "axis" in str(wrong), str(wrong)
        fuzz.count("indices that count up", "refused")
        return
    assert found is not None
    fuzz.count("indices that count up", "undecided", bool(found.undecided))
    for _ in range(40):
        sizes = {name: draw.randint(0, 5) for name in "abc"}
        feeds = np.zeros((sizes["a"], sizes["c"]), np.float32), np.zeros(sizes["b"], np.float32)
        accepted = all(holds_at(one.condition, sizes) for one in found.conditions)
        try:
            main(*feeds)
        except rxlang.ShapeError:
            assert not accepted or found.undecided, sizes
        else:
            assert accepted, sizes


def test_ids_into_nothing_are_told_that_there_is_nothing(tmp_path: Path) -> None:
    inputs = [value("table", TensorProto.FLOAT, ["n", 2]), value("ids", TensorProto.INT64, ["k"])]
    graph = helper.make_graph(
        [node("Gather", ["table", "ids"], ["y"])], "g", inputs, [value("y", TensorProto.FLOAT, None)]
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    main = rxlang.load(path, allow_empty=True).main
    assert main(np.zeros((0, 2), np.float32), np.zeros(0, np.int64)).shape == (0, 2)
    with pytest.raises(rxlang.ShapeError) as caught:
        main(np.zeros((0, 2), np.float32), np.zeros(1, np.int64))
    assert caught.value.diagnostic.message.endswith(
        "needs `ids` to have no elements, because axis 0 of `table` has no entries to index, but one is 0"
    )


# What gives indices of an axis of `s : [n, m]`, and the axis.
GIVEN = [
    ([node("TopK", ["s", "one_row"], ["v", "i"], axis=0)], 0),
    ([node("TopK", ["s", "one_row"], ["v", "i"], axis=1, largest=0)], 1),
    ([node("ArgMax", ["s"], ["i"], axis=1)], 1),
    ([node("ArgMin", ["s"], ["i"], axis=0, keepdims=0)], 0),
    ([node("NonZero", ["s"], ["z"]), node("Gather", ["z", "one"], ["i"], axis=0)], 1),
    ([node("NonZero", ["s"], ["z"]), node("Split", ["z"], ["i", "_"], axis=0, num_outputs=2)], 0),
    ([node("NonZero", ["s"], ["z"]), node("Slice", ["z", "one_row", "two_row", "first"], ["i"])], 1),
    ([node("Unique", ["s"], ["u", "f", "i", "h"], axis=1)], 1),
    ([node("ArgMax", ["s"], ["a"], axis=1), node("Cast", ["a"], ["b"], to=6), node("Squeeze", ["b", "last"], ["i"])], 1),
    ([node("ArgMax", ["s"], ["a"], axis=1), node("Div", ["a", "two"], ["i"])], 1),
    ([node("ArgMax", ["s"], ["a"], axis=0), node("Compress", ["a", "mask"], ["i"], axis=0)], 0),
    ([node("ArgMax", ["s"], ["a"], axis=0), node("Expand", ["a", "wide"], ["i"])], 0),
    (
        [
            node("Unsqueeze", ["s", "first"], ["u"]), node("Unsqueeze", ["boxes", "first"], ["b"]),
            node("NonMaxSuppression", ["b", "u", "one_row"], ["k"]), node("Gather", ["k", "two"], ["i"], axis=1),
        ],
        1,
    ),
]  # fmt: skip


@pytest.mark.parametrize("use", ["Gather", "GatherElements", "GatherND", "ScatterND"])
@pytest.mark.parametrize(("made", "axis"), GIVEN, ids=[m[-1].op_type + str(a) for m, a in GIVEN])
def test_what_an_operator_gives_of_an_axis_is_no_matter_of_data(
    made: list[Any], axis: int, use: str, tmp_path: Path
) -> None:
    held = {
        "one": np.array(1), "two": np.array(2), "one_row": np.array([1]), "two_row": np.array([2]), "first": np.array([0]),
        "mask": np.array([True]), "wide": np.array([3, 1]), "all": np.array([-1]), "column": np.array([-1, 1]),
        "last": np.array([1]),
    }  # fmt: skip
    shaped = {"Gather": "all", "GatherElements": "all"}.get(use, "column")
    nodes = [*made, node("Reshape", ["i", shaped], ["r0"]), node("Cast", ["r0"], ["r"], to=TensorProto.INT64)]
    inputs, updates = ["n", "m"], [node("Cast", ["r0"], ["c"], to=1), node("Reshape", ["c", "all"], ["new"])]
    given = ["line", "r", "new"] if use == "ScatterND" else ["line", "r"]
    nodes += [*(updates if use == "ScatterND" else ()), node(use, given, ["y"])]
    graph = helper.make_graph(
        nodes, "g",
        [
            value("s", TensorProto.FLOAT, inputs), value("line", TensorProto.FLOAT, [inputs[axis]]),
            value("boxes", TensorProto.FLOAT, ["m", 4]),
        ],
        [value("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, n) for n, v in held.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    assert [d.needs for d in contract(tmp_path / "m.onnx").undecided if "index" in d.needs] == []
