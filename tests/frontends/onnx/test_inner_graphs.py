"""Graphs inside a model's graph, and its functions: what is known of their values, and how they are written."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang import onnx as rx_onnx  # noqa: E402
from rxlang.cli.main import invoke  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.simplify.solver.numbers import holds_at  # noqa: E402
from support import fuzz  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node, value = helper.make_node, helper.make_tensor_value_info


def saved(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], functions: Any = (), **constants: Any
) -> Path:
    held = [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, held)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions)), path)
    return path


def arm(name: str, op: str, source: str) -> Any:
    out = f"{name}_out"
    nodes = [node(op, [source], [f"{name}_mid"]), node("Concat", [f"{name}_mid", source], [out], axis=0)]
    return helper.make_graph(nodes, name, [], [value(out, FLOAT, None)])


def written(graph: Any) -> dict[str, list[Any]]:
    """The shapes that a graph, and the graphs in it, say of their values."""
    infos = [*graph.value_info, *graph.output]
    found = {i.name: [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in infos}
    for one in graph.node:
        for attribute in one.attribute:
            found |= written(attribute.g) if attribute.HasField("g") else {}
    return found


def test_values_of_graphs_inside_have_their_shapes_written(tmp_path: Path) -> None:
    body = helper.make_graph(
        [node("Identity", ["go"], ["go2"]), node("Relu", ["acc"], ["acc2"]), node("Add", ["x", "acc2"], ["row"]),
         node("If", ["c"], ["row2"], then_branch=arm("deep", "Neg", "row"), else_branch=arm("deeper", "Abs", "row"))],
        "body",
        [value("turn", INT64, []), value("go", BOOL, []), value("acc", FLOAT, None)],
        [value("go2", BOOL, []), value("acc2", FLOAT, None), value("row2", FLOAT, None)],
    )  # fmt: skip
    nodes = [
        node("If", ["c"], ["y"], then_branch=arm("a", "Relu", "x"), else_branch=arm("b", "Tanh", "x")),
        node("Loop", ["k", "", "x"], ["last", "rows"], body=body),
    ]
    inputs = [value("c", BOOL, []), value("x", FLOAT, ["n", 3]), value("k", INT64, [])]
    path = saved(tmp_path / "m.onnx", nodes, inputs, [value("y", FLOAT, None), value("rows", FLOAT, None)])
    rx_onnx.infer(path).write(tmp_path / "out.onnx")
    model = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(model, full_check=True)
    shapes = written(model.graph)
    for name in ("a_mid", "b_mid", "acc2", "row", "deep_mid", "deeper_mid"):
        assert shapes[name] == ["n", 3]
    for name in ("a_out", "y", "deeper_out", "row2"):
        assert shapes[name] == ["n * 2", 3]


def test_a_size_that_only_a_turn_knows_is_not_written(tmp_path: Path) -> None:
    """What a turn concatenates grows with its number, which has no name outside."""
    body = helper.make_graph(
        [node("Identity", ["go"], ["go2"]), node("Concat", ["acc", "x"], ["acc2"], axis=0)],
        "body",
        [value("turn", INT64, []), value("go", BOOL, []), value("acc", FLOAT, None)],
        [value("go2", BOOL, []), value("acc2", FLOAT, None)],
    )
    nodes = [node("Loop", ["k", "", "x"], ["last"], body=body)]
    inputs = [value("x", FLOAT, ["n", 3]), value("k", INT64, [])]
    path = saved(tmp_path / "m.onnx", nodes, inputs, [value("last", FLOAT, None)])
    found = rx_onnx.infer(path)
    assert found.values["acc2"].shape in (None, ("?", 3))
    found.write(tmp_path / "out.onnx")
    assert written(onnx.load(tmp_path / "out.onnx").graph)["acc2"] in ([], [0, 3])


def test_what_a_body_carries_and_does_not_declare_keeps_its_dtype(tmp_path: Path) -> None:
    """A counter and a sequence of rows, as exporters write them: the body declares neither."""
    untyped = helper.make_empty_tensor_value_info
    body = helper.make_graph(
        [
            node("Gather", ["x", "at"], ["row"]), node("SequenceInsert", ["rows", "row"], ["more"]),
            node("Add", ["at", "one"], ["next"]), node("Less", ["next", "count"], ["go2"]),
        ],
        "body", [untyped(n) for n in ("turn", "go", "at", "rows")], [untyped(n) for n in ("go2", "next", "more")],
    )  # fmt: skip
    nodes = [
        node("Size", ["x"], ["count"]), node("SequenceEmpty", [], ["none"]),
        node("Loop", ["", "true", "zero", "none"], ["last", "all"], body=body),
        node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1),
    ]  # fmt: skip
    held = {"true": np.array(True), "zero": np.array(0), "one": np.array(1)}
    path = saved(tmp_path / "m.onnx", nodes, [value("x", FLOAT, ["n"])], [value("y", FLOAT, None)], **held)
    found = check_model(path, str(path))
    assert found.report.ok and found.contract is not None and not found.contract.undecided
    assert [c.condition for c in found.contract.conditions] == ["n >= 1"]  # there is a turn anyhow
    assert rx_onnx.infer(path).values["all"].dtype == "Sequence(float32)"
    x = np.arange(3, dtype=np.float32)
    assert rxlang.load(path).main(x).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("begins", "goes_on", "told", "turns"),
    [
        ("", "handed on", 5, 5), ("", "made in a turn", 5, 5), ("", "from outside", 5, 5), ("true", "handed on", 5, 5),
        ("true", "cast", 5, 5), ("true", "made in a turn", 5, 5), ("true", "from outside", 5, 5), ("one", "cast", 5, 5),
        ("false", "handed on", "?", 0), ("true", "ended", "?", 1), ("true", "asked", "?", 5),
    ],
)  # fmt: skip
def test_a_loop_whose_condition_is_always_true_has_as_many_turns_as_it_counts(
    tmp_path: Path, begins: str, goes_on: str, told: int | str, turns: int
) -> None:
    condition = {
        "handed on": [node("Identity", ["go"], ["mid"]), node("Identity", ["mid"], ["go2"])],
        "cast": [node("Cast", ["go"], ["mid"], to=BOOL), node("Identity", ["mid"], ["go2"])],
        "made in a turn": [node("Constant", [], ["go2"], value=numpy_helper.from_array(np.array(True)))],
        "from outside": [node("Identity", ["true"], ["go2"])],
        "ended": [node("Identity", ["false"], ["go2"])],
        "asked": [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Cast", ["sum"], ["go2"], to=BOOL)],
    }[goes_on]
    body = helper.make_graph(
        [*condition, node("Identity", ["x"], ["row"])], "body",
        [value("turn", INT64, []), value("go", BOOL, [])], [value("go2", BOOL, []), value("row", FLOAT, None)],
    )  # fmt: skip
    held = {"five": np.array(5), "true": np.array(True), "one": np.array([True]), "false": np.array(False)}
    nodes = [node("Loop", ["five", begins], ["rows"], body=body)]
    path = saved(tmp_path / "m.onnx", nodes, [value("x", FLOAT, ["n"])], [value("rows", FLOAT, None)], **held)
    assert rx_onnx.infer(path).values["rows"].shape == (told, "n")
    x = np.arange(1, 4, dtype=np.float32)
    assert np.array_equal(rxlang.load(path).main(x), np.tile(x, (turns, 1)))


def test_what_two_graphs_call_alike_is_told_of_neither(tmp_path: Path) -> None:
    arms = [arm("same", "Relu", "x"), arm("same", "Neg", "z")]
    nodes = [node("If", ["c"], ["y"], then_branch=arms[0], else_branch=arms[1])]
    inputs = [value("c", BOOL, []), value("x", FLOAT, ["n", 3]), value("z", FLOAT, ["m", 3])]
    path = saved(tmp_path / "m.onnx", nodes, inputs, [value("y", FLOAT, None)])
    assert "same_mid" not in rx_onnx.infer(path).values


def test_sequences_have_the_type_of_their_elements_written(tmp_path: Path) -> None:
    nodes = [node("SequenceConstruct", ["x", "x"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    path = saved(tmp_path / "m.onnx", nodes, [value("x", FLOAT, ["n", 3])], [value("y", FLOAT, None)])
    rx_onnx.infer(path).write(tmp_path / "out.onnx")
    model = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(model, full_check=True)
    [info] = model.graph.value_info
    element = info.type.sequence_type.elem_type.tensor_type
    assert (element.elem_type, [d.dim_param or d.dim_value for d in element.shape.dim]) == (FLOAT, ["n", 3])


# Functions

BODIES = {
    "scaled": (["x", "w"], [node("MatMul", ["x", "w"], ["p"]), node("Relu", ["p"], ["y"])]),
    "maybe": (["x", "b"], [node("Clip", ["x", "b"], ["y"])]),
    "shaped": (["x", "s"], [node("Reshape", ["x", "s"], ["y"])]),
    "outer": (
        ["x", "w"],
        [node("scaled", ["x", "w"], ["a"], domain="own"), node("scaled", ["a", "w"], ["y"], domain="own")],
    ),
    "reshape": (["x"], [node("Neg", ["x"], ["y"])]),
}
FUNCTIONS = [
    helper.make_function(
        "own", name, inputs, ["y"], nodes, [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    )
    for name, (inputs, nodes) in BODIES.items()
]


def own(name: str, inputs: list[str], output: str) -> Any:
    return node(name, inputs, [output], domain="own")


def imported(path: Path, folder: Path) -> tuple[str, Any]:
    assert invoke(["import", str(path), "-o", str(folder)]) == 0
    made = folder / f"{path.stem}.rx"
    return made.read_text(), rxlang.load(made).main


def test_a_function_is_written_once_and_again_where_an_input_is_absent_or_a_constant_is_another(tmp_path: Path) -> None:
    nodes = [
        own("outer", ["x", "w"], "a"), own("scaled", ["a", "v"], "b"), own("maybe", ["b", "low"], "c"),
        own("maybe", ["c", ""], "d"), own("shaped", ["d", "flat"], "e"), own("shaped", ["e", "rows"], "f"),
        own("reshape", ["f"], "y"),
    ]  # fmt: skip
    w, v = (np.random.default_rng(k).standard_normal((3, 3)).astype(np.float32) for k in range(2))
    constants = {"w": w, "v": v, "low": np.float32(0.25), "flat": np.array([-1]), "rows": np.array([-1, 3])}
    path = saved(
        tmp_path / "m.onnx", nodes, [value("x", FLOAT, ["n", 3])], [value("y", FLOAT, None)], FUNCTIONS, **constants
    )
    text, main = imported(path, tmp_path / "out")
    heads = [line for line in text.splitlines() if line.startswith("@")]
    assert sum(head.startswith("@scaled") for head in heads) == 1
    assert sum(head.startswith("@maybe") for head in heads) == sum(head.startswith("@shaped") for head in heads) == 2
    assert not any(head.startswith("@reshape ") for head in heads), "a primitive's name stays the primitive's"
    x = np.random.default_rng(2).standard_normal((5, 3)).astype(np.float32)
    right = rxlang.load(path).main(x)
    assert right.shape == (5, 3) and np.array_equal(main(x), right)


def test_functions_over_sequences_are_functions_too_where_their_types_are_declared(tmp_path: Path) -> None:
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    body = [node("SequenceInsert", ["s", "x"], ["y"])]
    function = helper.make_function("own", "append", ["s", "x"], ["y"], body, [helper.make_opsetid("", 20)])
    nodes = [
        own("append", ["s", "x"], "a"),
        own("append", ["a", "x"], "b"),
        node("ConcatFromSequence", ["b"], ["y"], axis=0),
    ]
    inputs = [helper.make_value_info("s", sequence), value("x", FLOAT, ["n", 3])]
    path = saved(tmp_path / "m.onnx", nodes, inputs, [value("y", FLOAT, None)], [function])
    text, main = imported(path, tmp_path / "out")
    assert "@append = fn(s_2 : Sequence(float32), x_2 : Tensor)" in text
    x = np.ones((2, 3), np.float32)
    assert np.array_equal(main([x * 2], x), np.concatenate([x * 2, x, x]))
    assert np.array_equal(rxlang.load(path).main([x * 2], x), np.concatenate([x * 2, x, x]))


def by_sizes(draw: Random) -> list[Any]:
    """Nodes that make a truth of the sizes of x, and arms that demand something of them."""
    kind, k = draw.choice(["Equal", "Less", "Greater", "LessOrEqual"]), draw.randint(1, 4)
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", f"at{draw.randint(0, 1)}"], ["d"]),
        node(kind, ["d", f"is{k}"], ["p0"]),
        node(*draw.choice([("Not", ["p0"]), ("Identity", ["p0"]), ("And", ["p0", "yes"])]), ["p"]),
    ]

    def graph(name: str) -> Any:
        width = draw.randint(1, 4)
        mid = node("Concat", ["x", f"c{width}"], [f"{name}_out"], axis=0, name=f"{name}_node")
        whole = [mid] if draw.random() < 0.7 else [node("Neg", ["x"], [f"{name}_out"])]
        return helper.make_graph(whole, name, [], [value(f"{name}_out", FLOAT, None)])

    return [*nodes, node("If", ["p"], ["y"], then_branch=graph("a"), else_branch=graph("b"), name="Choice")]


def test_what_sizes_decide_inside_an_arm_is_demanded_where_the_arm_is_taken(tmp_path: Path) -> None:
    for case in fuzz.cases("choices by sizes"):
        with case as seed:
            assert_demanded(by_sizes(Random(seed)), tmp_path / f"{seed}.onnx")


def assert_demanded(nodes: list[Any], path: Path) -> None:
    held = {
        "at0": [0], "at1": [1], "yes": [True], **{f"is{k}": [k] for k in range(1, 5)},
        **{f"c{k}": np.ones((1, k), np.float32) for k in range(1, 5)},
    }  # fmt: skip
    inputs = [value("x", FLOAT, ["n", "m"])]
    saved(path, nodes, inputs, [value("y", FLOAT, None)], **held)
    said = check_model(path, str(path)).contract
    assert said is not None
    module = rxlang.load(path, allow_empty=True)
    for n, m in product(range(6), repeat=2):
        accepted = all(holds_at(c.condition, {"n": n, "m": m}) for c in said.conditions)
        try:
            module.main(np.ones((n, m), np.float32))
        except rxlang.ShapeError:
            assert not accepted or said.undecided, (n, m, said.conditions)
        else:
            assert accepted or not said.exact, (n, m, said.conditions)


def test_a_choice_by_sizes_is_part_of_the_contract(tmp_path: Path) -> None:
    arms = {"then_branch": arm("a", "Relu", "x"), "else_branch": helper.make_graph(
        [node("Concat", ["x", "c"], ["b_out"], axis=0)], "b", [], [value("b_out", FLOAT, None)])}  # fmt: skip
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "at"], ["d"]), node("Equal", ["d", "one"], ["p"])]
    nodes.append(node("If", ["p"], ["y"], **arms))
    inputs, held = [value("x", FLOAT, ["n", "m"])], {"at": [1], "one": [1], "c": np.ones((2, 5), np.float32)}
    path = saved(tmp_path / "m.onnx", nodes, inputs, [value("y", FLOAT, None)], **held)
    said = check_model(path, str(path)).contract
    assert said is not None and said.exact and not said.undecided
    assert [c.condition for c in said.conditions] == ["m == 1 || m == 5"]


@pytest.mark.parametrize("size", [3, 100])
def test_arms_may_call_what_they_hold_alike(tmp_path: Path, size: int) -> None:
    arms = {}
    for at, name in enumerate(("then_branch", "else_branch")):
        held = numpy_helper.from_array(np.full(size, at + 1, np.float32), "w")
        arms[name] = helper.make_graph(
            [node("Add", ["x", "w"], [name])], name, [], [value(name, FLOAT, None)], [held]
        )  # fmt: skip
    nodes = [node("If", ["c"], ["y"], **arms)]
    inputs = [value("x", FLOAT, ["n"]), value("c", BOOL, [])]
    path = saved(tmp_path / "m.onnx", nodes, inputs, [value("y", FLOAT, None)])
    x = np.zeros(size, np.float32)
    assert invoke(["import", str(path), "-o", str(tmp_path / "made")]) == 0
    for module in (rxlang.load(path), rxlang.load(tmp_path / "made" / "m.rx")):
        assert [float(module.main(x, np.array(c))[0]) for c in (True, False)] == [1.0, 2.0]


COMPARED = {  # how a loop goes on: the operator, whether its number stands first, and the numbers that it has
    "Less": (True, lambda first, end: range(first, end)),
    "LessOrEqual": (True, lambda first, end: range(first, end + 1)),
    "Greater": (False, lambda first, end: range(first, end)),
    "GreaterOrEqual": (False, lambda first, end: range(first, end + 1)),
}


def counting(
    path: Path, op: str, first: int, dtype: type, shape: list[int], end: str, count: str, compared: str = "numbers"
) -> Path:
    """The rows of x from the one of a number on that a loop without a trip count counts to the end, one behind the other."""
    is_first = COMPARED[op][0]

    def goes_on(number: str, result: str) -> list[Any]:
        of = f"{number}_of_{compared}"
        pair = [of, f"end_of_{compared}"] if is_first else [f"end_of_{compared}", of]
        casts = {"numbers": node("Identity", [number], [of]), "floats": node("CastLike", [number, "like"], [of])}
        return [casts[compared], node(op, pair, [f"{result}_as"]), node("Cast", [f"{result}_as"], [result], to=BOOL)]

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    body = helper.make_graph(
        [node("CastLike", ["one", "i"], ["step"]), node("Add", ["i", "step"], ["next"]), *goes_on("next", "more"),
         node("Reshape", ["i", "none"], ["at"]), node("Gather", ["x", "at"], ["row"]),
         node("Unsqueeze", ["row", "axes"], ["lifted"]), node("Concat", ["acc", "lifted"], ["acc2"], axis=0)],
        "body",
        [value("turn", INT64, []), value("go", BOOL, []), value("i", kind, shape), value("acc", FLOAT, None)],
        [value("more", BOOL, None), value("next", kind, shape), value("acc2", FLOAT, None), value("row", FLOAT, None)],
    )  # fmt: skip
    sizes = [node("Shape", ["x"], ["rows_of_x"], start=0, end=1), node("Squeeze", ["rows_of_x"], ["size"])]
    source = {"size": "size", "given": "given"}[end]
    nodes = [
        *sizes, node("Cast", [source], ["end_of_numbers"], to=kind), node("CastLike", [source, "like"], ["end_of_floats"]),
        *goes_on("first", "begin"),
        node("Loop", [count, "begin", "first", "empty"], ["last", "rows", "stacked"], body=body),
    ]  # fmt: skip
    held = {
        "first": np.full(shape, first, dtype), "one": np.array(1), "none": np.array([], np.int64), "axes": np.array([0]),
        "empty": np.zeros((0, 3), np.float32), "endless": np.array(2**63 - 1), "like": np.array(0, np.float32),
    }  # fmt: skip
    inputs = [value("x", FLOAT, ["n", 3]), value("given", INT64, [])]
    return saved(
        path,
        nodes,
        inputs,
        [value(n, k, None) for n, k in (("last", kind), ("rows", FLOAT), ("stacked", FLOAT))],
        **held,
    )


@pytest.mark.parametrize("seed", range(fuzz.tries("loops that count")))
def test_a_loop_that_counts_has_as_many_turns_as_there_are_numbers(tmp_path: Path, seed: int) -> None:
    draw = Random(seed)
    op, first, end = draw.choice([*COMPARED]), draw.randrange(3), draw.choice(["size", "given"])
    if "Equal" in op:
        end = "given"  # the last row is one before the number of them
    dtype, shape, count = (
        draw.choice([np.int64, np.int64, np.int32]),
        draw.choice([[], [], [1]]),
        draw.choice(["", "endless"]),
    )
    compared = draw.choice(["numbers", "numbers", "floats"])
    path = counting(tmp_path / "m.onnx", op, first, dtype, shape, end, count, compared)
    found, main = rx_onnx.infer(path), rxlang.load(path, allow_empty=True).main
    rows_of = np.random.default_rng(seed).standard_normal((5, 3)).astype(np.float32)
    for n in range(1, 6):
        x, given = rows_of[:n], draw.randrange(n)
        numbers = [*COMPARED[op][1](first, n if end == "size" else given)]
        last, rows, stacked = main(x, np.array(given))
        assert last.tolist() == np.full(shape, numbers[-1] + 1 if numbers else first).tolist()
        assert rows.tolist() == stacked.tolist() == x[numbers].tolist()
        made = found.values["stacked"].shape
        assert made is not None and (made[0] == "?" or value_of(made[0], n) == len(numbers))
        assert end == "given" or compared == "floats" or made[0] != "?"


def test_a_number_that_gets_an_axis_in_the_first_turn_is_no_scalar(tmp_path: Path) -> None:
    body = helper.make_graph(
        [node("Add", ["i", "one"], ["next"]), node("Less", ["next", "end"], ["more"]), node("Shape", ["i"], ["shape"]),
         node("Concat", ["acc", "shape"], ["acc2"], axis=0)],
        "body", [value("turn", INT64, []), value("go", BOOL, []), value("i", INT64, None), value("acc", INT64, None)],
        [value("more", BOOL, None), value("next", INT64, None), value("acc2", INT64, None)],
    )  # fmt: skip
    nodes = [node("Loop", ["", "", "first", "none"], ["last", "shapes"], body=body)]
    held = {"first": np.array(0), "one": np.array([1]), "none": np.array([], np.int64)}
    results = [value("last", INT64, None), value("shapes", INT64, None)]
    path = saved(tmp_path / "m.onnx", nodes, [value("end", INT64, [])], results, **held)
    for end in range(4):
        last, shapes = rxlang.load(path).main(np.array(end))
        assert last.tolist() == [max(end, 1)] and shapes.tolist() == [1] * (max(end, 1) - 1)


def value_of(size: int | str, n: int) -> int:
    return int(eval(str(size), {"n": n, "max": max, "min": min}))


def test_a_loop_whose_end_moves_or_whose_number_grows_otherwise_counts_nothing(tmp_path: Path) -> None:
    for at, step in enumerate((2, 0, -1)):
        body = helper.make_graph(
            [node("Add", ["i", "step"], ["next"]), node("Less", ["next", "end"], ["more"])],
            "body", [value("turn", INT64, []), value("go", BOOL, []), value("i", INT64, [])],
            [value("more", BOOL, []), value("next", INT64, [])],
        )  # fmt: skip
        nodes = [node("Less", ["first", "end"], ["go1"]), node("Loop", ["most", "go1", "first"], ["y"], body=body)]
        held = {"first": np.array(0), "step": np.array(step), "most": np.array(7)}
        path = saved(tmp_path / f"{at}.onnx", nodes, [value("end", INT64, [])], [value("y", INT64, None)], **held)
        main = rxlang.load(path).main
        for end in range(-1, 20):
            number, turns = 0, 0
            while number < end and turns < 7:
                number, turns = number + step, turns + 1
            assert main(np.array(end)).item() == number


def test_what_a_turn_asks_for_has_a_witness_and_a_way(tmp_path: Path) -> None:
    """A row of y for each of x: the last turn fails where y has fewer."""
    path = tmp_path / "m.onnx"
    text = """<ir_version: 8, opset_import: ["" : 16]> g (float[n, 3] x, float[m, 3] y, float[3] z) => (float[3] out) {
      s = Shape <start: int = 0, end: int = 1> (x)
      n0 = Squeeze (s)
      yes = Constant <value: tensor = bool {1}> ()
      [rows] out = Loop (n0, yes, z) <body: graph = b (int64 i, bool go, float[3] a) => (bool on, float[3] added) {
        on = Identity (go)
        [row] r = Gather <axis: int = 0> (y, i)
        added = Add (a, r)
      }>
    }"""
    onnx.save(onnx.parser.parse_model(text), path)
    contract = check_model(path, str(path)).contract
    assert contract is not None and contract.exact
    (clause,) = contract.conditions
    assert clause.condition == "n <= m" and clause.witness == {"n": 2, "m": 1}
    assert clause.demands[0].way == ("y", "rows", "row")
    assert clause.fails is not None and "axis 0 of `y` (1)" in clause.fails.needs
