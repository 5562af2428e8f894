"""What a model demands where it takes something out of a sequence: how many values there are is known of sizes."""

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
from rxlang.model.check import check_model  # noqa: E402
from rxlang.model.contract import Contract  # noqa: E402
from rxlang.simplify.solver.numbers import holds_at, size_at  # noqa: E402
from support import fuzz  # noqa: E402

RUNS = fuzz.tries("contracts of sequences")
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info


class Built:
    """A model over `x : [n, m]` whose values are made one after the other: sequences of rows of rank 2, or of rank 1."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.held: dict[str, Any] = {}
        self.rank = 2
        self.sizes = [self.node("Shape", "x", start=axis, end=axis + 1) for axis in (0, 1)]
        self.true = self.number(True)

    def number(self, number: Any) -> str:
        name = f"k{len(self.held)}"
        self.held[name] = np.asarray(number, np.bool_ if number is True else np.int64)
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}_{name}", **attributes))
        return name

    def row(self) -> str:
        return self.node("ReduceSum", "x", self.number([0]), keepdims=self.rank - 1)

    def size(self, axis: int) -> str:
        return self.node("Squeeze", self.sizes[axis])

    def turns(self, s: str, count: str, *kinds: str) -> str:
        """A loop of so many turns that puts rows in, or takes them out."""
        row, carried = self.row(), f"in{len(self.nodes)}"
        nodes, at = [helper.make_node("Identity", [f"{carried}c"], [f"{carried}d"])], carried
        for step, kind in enumerate(kinds):
            inputs = [at, row] if kind == "SequenceInsert" else [at]
            nodes.append(helper.make_node(kind, inputs, [f"{carried}_{step}"]))
            at = f"{carried}_{step}"
        sequence = lambda name: helper.make_tensor_sequence_value_info(name, FLOAT, None)  # noqa: E731
        begin = [value(f"{carried}i", INT64, []), value(f"{carried}c", BOOL, []), sequence(carried)]
        body = helper.make_graph(nodes, "body", begin, [value(f"{carried}d", BOOL, []), sequence(at)])
        return self.node("Loop", count, self.true, s, body=body)

    def either(self, axis: int, least: int, a: str, b: str) -> str:
        """One sequence where an axis is shorter than a number, else the other one."""
        arms = []
        for s in (a, b):
            name = f"arm{len(self.nodes)}{s}"
            out = helper.make_tensor_sequence_value_info(name, FLOAT, None)
            arms.append(helper.make_graph([helper.make_node("Identity", [s], [name])], name, [], [out]))
        short = self.node("Less", self.size(axis), self.number(least))
        return self.node("If", short, then_branch=arms[0], else_branch=arms[1])

    def saved(self, path: Path, result: str) -> Path:
        held = [numpy_helper.from_array(v, n) for n, v in self.held.items()]
        outs = [helper.make_empty_tensor_value_info(result)]
        graph = helper.make_graph(self.nodes, "g", [value("x", FLOAT, ["n", "m"])], outs, held)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return path


def drawn(r: Random) -> tuple[Built, str]:
    """A random model, with what it gives: rows joined, or one that is taken out."""
    built = Built()
    built.rank = r.choice([1, 2])
    sequences = [split(built, r)]
    for _ in range(r.randint(1, 4)):
        sequences.append(stepped(built, r, r.choice(sequences), sequences))
    last = sequences[-1]
    if r.random() < 0.4:
        return built, built.node("SequenceAt", last, built.number(r.choice([-3, -1, 0, 2])))
    return built, built.node("ConcatFromSequence", last, axis=0, new_axis=r.choice([0, 1]))


def split(built: Built, r: Random) -> str:
    if r.random() < 0.2:
        return built.node("SequenceConstruct", *(built.row() for _ in range(r.randint(1, 3))))
    if built.rank == 2:
        k = r.choice([[], [built.number(1)], [built.number(2)]])
        return built.node("SplitToSequence", "x", *k, axis=r.choice([0, 0, 1]))
    k = r.choice([[], [built.number(1)]])
    return built.node("SplitToSequence", "x", *k, axis=0, keepdims=0)


def stepped(built: Built, r: Random, s: str, others: list[str]) -> str:
    kind = r.choice(["insert", "insert at", "erase", "erase at", "loop", "loop of none", "if"])
    at = built.number(r.choice([-2, 0, 1, 3]))
    count = r.choice([built.size(0), built.size(1), built.number(2)])
    match kind:
        case "insert" | "insert at":
            return built.node("SequenceInsert", s, built.row(), *([at] if kind == "insert at" else []))
        case "erase" | "erase at":
            return built.node("SequenceErase", s, *([at] if kind == "erase at" else []))
        case "if":
            return built.either(r.choice([0, 1]), r.choice([1, 3]), s, r.choice(others))
    steps = r.choice([["Insert"], ["Insert", "Insert"], ["Erase"], ["Insert", "Erase"]])
    first = s if kind == "loop" else built.node("SequenceEmpty")
    return built.turns(first, count, *(f"Sequence{step}" for step in steps))


def contract(path: Path) -> Contract | None:
    found = check_model(path, str(path))
    assert found.report.ok or all(d.sentence is not None for d in found.report.diagnostics if d.severity == "error")
    return found.contract


@pytest.mark.parametrize("number", range(RUNS))
def test_what_a_sequence_has_to_hold_is_demanded_of_sizes(number: int, tmp_path: Path) -> None:
    """What is refused fails, what is accepted runs and has the shape that was told, unless a check is left to the run."""
    built, result = drawn(Random(number))
    path = built.saved(tmp_path / "m.onnx", result)
    found, main = contract(path), None
    if found is not None:
        main = rxlang.load(path, allow_empty=True).main
    for n, m in product(range(5), range(4)):
        sizes = {"n": n, "m": m}
        passes = found is not None and all(holds_at(c.condition, sizes) for c in found.conditions)
        shape = None if main is None else ran(main, n, m)
        assert passes or shape is None, (path, sizes)
        if passes and found is not None and not found.undecided:
            assert shape is not None, (path, sizes)
            told = [None if size == "?" else size_at(size, sizes) for size in found.outputs[0].shape or ()]
            assert all(a in (None, b) for a, b in zip(told, shape, strict=True)), (path, sizes, told, shape)


def ran(main: Any, n: int, m: int) -> tuple[int, ...] | None:
    try:
        return tuple(main(np.ones((n, m), np.float32)).shape)
    except rxlang.ShapeError:
        return None


def one(path: Path, kind: str, *inputs: str, **attributes: Any) -> Contract:
    """The contract of a model that splits x into its rows and does one thing with them."""
    built = Built()
    rows = built.node("SplitToSequence", "x", axis=0)
    given = [built.number(int(i)) if i.lstrip("-").isdecimal() else rows for i in inputs]
    found = contract(built.saved(path, built.node(kind, *given, **attributes)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "inputs", "expected"),
    [
        ("ConcatFromSequence", ("s",), "n >= 1"), ("SequenceAt", ("s", "2"), "n >= 3"),
        ("SequenceAt", ("s", "-2"), "n >= 2"), ("SequenceAt", ("s", "0"), "n >= 1"),
    ],
)  # fmt: skip
def test_a_position_in_a_sequence_is_a_condition_with_its_node_and_a_witness(
    tmp_path: Path, kind: str, inputs: tuple[str, ...], expected: str
) -> None:
    found = one(tmp_path / "m.onnx", kind, *inputs, **({"axis": 0} if kind[0] == "C" else {}))
    (clause,) = found.conditions
    assert clause.condition == expected and clause.witness is not None and not found.undecided
    assert clause.demands[0].node.endswith(f"({kind})") and "sequence in" in clause.demands[0].needs


def test_what_a_loop_takes_by_its_turn_is_demanded_of_its_last_turn(tmp_path: Path) -> None:
    built = Built()
    rows, count = built.node("SplitToSequence", "x", axis=0), built.size(1)
    nodes = [helper.make_node("SequenceAt", [rows, "i"], ["r"]), helper.make_node("Identity", ["c"], ["d"])]
    body = helper.make_graph(
        nodes, "body", [value("i", INT64, []), value("c", BOOL, [])], [value("d", BOOL, []), value("r", FLOAT, None)]
    )
    found = contract(built.saved(tmp_path / "m.onnx", built.node("Loop", count, built.true, body=body)))
    assert found is not None and not found.undecided
    assert all(
        (n >= m) == all(holds_at(c.condition, {"n": n, "m": m}) for c in found.conditions)
        for n, m in product(range(4), range(4))
    )


def test_the_number_one_is_a_split_that_leaves_the_axis_out(tmp_path: Path) -> None:
    """As PyTorch writes `unbind`."""
    built = Built()
    rows = built.node("SplitToSequence", "x", built.number(1), axis=0, keepdims=0)
    path = built.saved(tmp_path / "m.onnx", built.node("SequenceAt", rows, built.number(1)))
    found = contract(path)
    assert found is not None and found.outputs[0].shape == ("m",)
    assert ran(rxlang.load(path).main, 3, 2) == (2,)


def test_an_optional_value_that_was_asked_for_needs_no_check(tmp_path: Path) -> None:
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, ["n"]))
    there = helper.make_graph(
        [helper.make_node("OptionalGetElement", ["o"], ["a"])], "a", [], [value("a", FLOAT, None)]
    )
    none = helper.make_graph([helper.make_node("Identity", ["x"], ["b"])], "b", [], [value("b", FLOAT, None)])
    nodes = [helper.make_node("OptionalHasElement", ["o"], ["has"])]
    nodes.append(helper.make_node("If", ["has"], ["y"], then_branch=there, else_branch=none))
    nodes.append(helper.make_node("OptionalGetElement", ["o"], ["z"], name="Get"))
    inputs = [helper.make_value_info("o", kind), value("x", FLOAT, ["k"])]
    for outs, left in (("y", 0), ("yz", 1)):
        results = [value(name, FLOAT, None) for name in outs]
        graph = helper.make_graph(nodes[: 1 + len(outs)], "g", inputs, results)
        path = tmp_path / f"{outs}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        found = contract(path)
        assert found is not None and not found.conditions
        assert len(found.undecided) == left and all("OptionalGetElement" in d.node for d in found.undecided)
