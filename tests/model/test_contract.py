"""The contract of a model: what its inputs must satisfy, where that is demanded, and what onnxruntime says at the edges."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
import rxlang
from support.places import ROOT, TESTS

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from rxlang.cli.main import invoke  # noqa: E402
from rxlang.lang.diagnostics import Diagnostic  # noqa: E402
from rxlang.lang.given import read_given  # noqa: E402
from rxlang.model.block import block  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.model.comparison import compare  # noqa: E402
from rxlang.model.contract import Contract  # noqa: E402
from rxlang.model.contract_file import BadContract, contract_object, contract_text, read_contract  # noqa: E402
from rxlang.simplify.known.outcome import Options  # noqa: E402
from rxlang.simplify.solver.facts import Facts  # noqa: E402
from rxlang.simplify.solver.numbers import holds_at, size_at  # noqa: E402
from support import fuzz  # noqa: E402
from support.in_ci import documented, scripts, steps_of, value  # noqa: E402

TRIES = fuzz.tries("contracts beside runs")
PAGE = "onnx.md"
STACK = "pkg.torch.onnx.stack_trace"
Dims = list[str | int]


def model(
    path: Path, nodes: Sequence[Any], inputs: Mapping[str, Any], outputs: Sequence[str], held: Mapping[str, Any] = {}
) -> Path:
    """A model file; an input is its dimensions, or these with the element type."""
    kinds = {n: v if isinstance(v, tuple) else (v, TensorProto.FLOAT) for n, v in inputs.items()}
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(name, kind, dims) for name, (dims, kind) in kinds.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, str(path))
    return path


def node(kind: str, name: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), output.split(), name=name, **attributes)


def up(path: Path, h: str | int = "h") -> Path:
    """A convolution of stride 2, upsampling by 2, and a concat with the input."""
    concat = node("Concat", "Concat_39", "images u", "out", axis=1)
    frames = (
        'File "/x/site-packages/torch/f.py", line 3, in f\n  f()\nFile "net.py", line 12, in forward\n  torch.cat()'
    )
    concat.metadata_props.append(onnx.StringStringEntryProto(key=STACK, value=frames))
    nodes = [
        node("Conv", "Conv_1", "images w", "c", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("ConvTranspose", "Up_2", "c v", "u", strides=[2, 2]),
        concat,
    ]
    weights = {"w": np.ones((3, 3, 3, 3), np.float32), "v": np.ones((3, 3, 2, 2), np.float32)}
    return model(path, nodes, {"images": ["b", 3, h, 6]}, ["out"], weights)


def reshaped(path: Path, batch: str | int, target: Sequence[int] = (1, 4, 6)) -> Path:
    nodes = [node("Reshape", "Reshape_12", "x s", "y")]
    return model(path, nodes, {"x": [batch, 4, 6]}, ["y"], {"s": np.array(target, np.int64)})


def convolved(path: Path, extent: int = 3) -> Path:
    weights = {"w": np.ones((2, 3, extent), np.float32)}
    return model(path, [node("Conv", "Conv_v", "x w", "y")], {"x": ["b", 3, "t"]}, ["y"], weights)


def pooled(path: Path) -> Path:
    return model(path, [node("MaxPool", "Pool_v", "x", "y", kernel_shape=[5])], {"x": ["b", 3, "t"]}, ["y"])


def multiplied(path: Path) -> Path:
    return model(path, [node("MatMul", "Mul_5", "x y", "z")], {"x": ["b", "n"], "y": ["k", "m"]}, ["z"])


def added(path: Path) -> Path:
    return model(path, [node("Add", "Add_0", "x y", "z")], {"x": ["b", "n"], "y": ["b", "m"]}, ["z"])


def split(path: Path) -> Path:
    nodes = [node("Split", "Split_3", "x", "a c", axis=1, num_outputs=2), node("Concat", "Cat", "a c", "z", axis=0)]
    return model(path, nodes, {"x": ["b", "n"]}, ["z"])


def embedded(path: Path, entries: int = 30) -> Path:
    nodes = [node("Gather", "Embed", "table ids", "e")]
    table = {"table": np.zeros((entries, 2), np.float32)}
    return model(path, nodes, {"ids": (["b", "t"], TensorProto.INT64)}, ["e"], table)


def contract(path: Path, *dynamic: str) -> Contract:
    found = check_model(path, str(path), dynamic=dynamic)
    assert found.contract is not None, [d.message for d in found.report.diagnostics]
    return found.contract


def conditions(found: Contract) -> list[str]:
    return [c.condition for c in found.conditions]


def test_a_stride_and_its_upsampling_demand_an_even_height(tmp_path: Path) -> None:
    found = contract(up(tmp_path / "m.onnx"))
    (clause,) = found.conditions
    assert clause.condition == "h % 2 == 0" and clause.witness == {"b": 1, "h": 1}
    (demand,) = clause.demands
    assert demand.node == "node Concat_39 (Concat)" and demand.trace is not None and "net.py:12" in demand.trace
    assert demand.way[0] == "images" and demand.way[-1] == "Concat_39" and "axis 2 of `images`" in demand.needs
    assert found.declared == ("`images` has rank 4", "axis 1 of `images` is 3", "axis 3 of `images` is 6")
    assert found.outputs[0].shape == ("b", 6, "h", 6)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (convolved, ["t >= 3"]),
        (pooled, ["t >= 5"]),
        (multiplied, ["n == k"]),
        (added, ["n == m || n == 1 || m == 1"]),
        (split, ["n % 2 == 0"]),
    ],
)
def test_conditions_are_those_of_the_operators(tmp_path: Path, make: Any, expected: list[str]) -> None:
    found = contract(make(tmp_path / "m.onnx"))
    assert conditions(found) == expected
    assert all(c.witness and c.demands for c in found.conditions) and found.exact


def test_a_batch_of_one_in_a_target_is_seen_once_the_input_is_free(tmp_path: Path) -> None:
    fixed = reshaped(tmp_path / "m.onnx", 1)
    assert conditions(contract(fixed)) == [] and "axis 0 of `x` is 1" in contract(fixed).declared
    (clause,) = contract(fixed, "x.0=b").conditions
    assert clause.condition == "b == 1" and clause.demands[0].node == "node Reshape_12 (Reshape)"
    assert conditions(contract(fixed, "*.0")) == ["x_0 == 1"]
    assert conditions(contract(reshaped(tmp_path / "n.onnx", 1, (0, 4, 6)), "x.0=b")) == []


def test_ids_are_in_the_range_of_their_table(tmp_path: Path) -> None:
    (found,) = contract(embedded(tmp_path / "m.onnx")).ranges
    assert (found.input, found.least, found.most, found.demand.node) == ("ids", -30, 29, "node Embed (Gather)")


def test_positions_that_count_up_end_with_their_table(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "Shape", "x", "n", start=1, end=2), node("Squeeze", "Last", "n", "t"),
        node("Range", "Range", "zero t one", "r"), node("Gather", "Pos", "table r", "p"), node("Add", "Add", "x p", "y"),
    ]  # fmt: skip
    held = {"zero": np.array(0), "one": np.array(1), "table": np.zeros(16, np.float32)}
    found = contract(model(tmp_path / "m.onnx", nodes, {"x": ["b", "t"]}, ["y"], held))
    assert conditions(found) == ["t <= 16"] and found.conditions[0].demands[0].node == "node Pos (Gather)"


def test_a_size_at_which_it_fails_is_refused_at_the_same_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(up(tmp_path / "m.onnx"))
    assert invoke(["check", path, "--at", "h=33"]) == 1
    said = capsys.readouterr().err
    assert "node Concat_39 (Concat)" in said and "help" not in said
    assert invoke(["check", path, "--at", "images.2=33"]) == 1
    assert invoke(["check", path, "--at", "images.2=40"]) == 0
    assert invoke(["check", path, "--at", "images.1=4"]) == 1
    assert invoke(["check", path, "--at", "images"]) == 2


@pytest.mark.parametrize("make", [up, added, split, reshaped])
def test_a_size_that_is_asked_for_gets_the_answer_of_checking_there(tmp_path: Path, make: Any) -> None:
    path = make(tmp_path / "m.onnx", "b") if make is reshaped else make(tmp_path / "m.onnx")
    names = [i for value in contract(path).inputs for i in value.shape or () if isinstance(i, str)]
    draw, ends = Random(11), set()
    for turn in range(TRIES):
        sizes = {name: turn + 1 if turn < 2 else draw.randint(0, 7) for name in names}
        found = check_model(path, str(path), at=[f"{name}={n}" for name, n in sizes.items()])
        there = ", ".join(f"{name} == {n}" for name, n in sizes.items())
        again = check_model(path, str(path), options=Options(given=(read_given(f"@main: {there}"),))).report
        assert found.at is not None and found.report.ok == (found.at.failure is None) == again.ok, sizes
        assert {name: found.at.sizes[name] for name in names} == sizes
        if found.at.failure is not None:
            (wrong, *_) = [d for d in again.diagnostics if d.severity == "error"]
            assert _node(found.at.failure) == _node(wrong)
        ends.add(again.ok)
    assert ends == {True, False}


def _node(said: Diagnostic) -> str:
    return said.span.source.place(said.span.start).partition(", input")[0]


@pytest.mark.parametrize("text", ["h=x", "h", "height=3", "images.7=3", "images.h=3", "=3", "h=-1", "other.0=3"])
def test_a_size_that_is_none_is_wrong_usage(tmp_path: Path, text: str) -> None:
    assert invoke(["check", str(up(tmp_path / "m.onnx")), "--at", text]) == 2


def test_the_other_sizes_are_as_the_contract_wants_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(multiplied(tmp_path / "m.onnx"))
    assert invoke(["check", path, "--at", "x.1=5"]) == 0
    assert "takes b = 1, n = 5, k = 5, m = 1" in capsys.readouterr().out
    assert invoke(["check", path, "--at", "n=5", "--at", "y.0=4"]) == 1
    assert invoke(["check", path, "--at", "n=5", "--given", "k <= 4"]) == 1
    assert invoke(["check", path, "--at", "n=5", "--given", "m = 3"]) == 0
    assert "takes b = 1, n = 5, k = 5, m = 3" in capsys.readouterr().out


@pytest.mark.parametrize("make", [up, convolved, pooled, multiplied, added, split, reshaped, embedded])
def test_each_witness_fails_with_numbers_and_in_the_kernels(tmp_path: Path, make: Any) -> None:
    path = make(tmp_path / "m.onnx", "b") if make is reshaped else make(tmp_path / "m.onnx")
    found = check_model(path, str(path), run=True).contract
    assert found is not None
    for clause in found.conditions:
        (demand,) = clause.demands
        assert clause.fails is not None and clause.fails.node == demand.node
        assert clause.ran is not None and demand.node in clause.ran
    for one in found.ranges:
        assert one.ran is not None and one.demand.node in one.ran
    assert found.conditions or found.ranges


@pytest.mark.parametrize(
    "asked",
    [
        ["--at", "n=5", "--at", "n=6"],
        ["--at", "x.1=5", "--at", "n=6"],
        ["--at", "n=5", "--given", "n <= 4"],
        ["--at", f"n={2**63}"],
    ],
)
def test_sizes_that_there_are_not_are_no_answer(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node("Concat", "Cat", "x x", "z", axis=1), node("Relu", "R", "y", "w")]
    path = str(model(tmp_path / "m.onnx", nodes, {"x": ["m", "n"], "y": ["k"]}, ["z", "w"]))
    assert invoke(["check", path, *asked]) == 2
    said = capsys.readouterr()
    assert "takes" not in said.out and ("there are no sizes with" in said.err or "at most" in said.err)


def test_a_batch_of_eight_is_refused_by_the_node_that_holds_the_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(reshaped(tmp_path / "m.onnx", 1))
    assert invoke(["check", path, "--dynamic", "x.0=b", "--given", "b == 8"]) == 1
    assert "node Reshape_12 (Reshape)" in capsys.readouterr().err
    assert invoke(["check", path, "--dynamic", "x.0=b", "--given", "1 <= b, b <= 8"]) == 0
    assert "\n  b   1   node Reshape_12" in capsys.readouterr().out
    for asked in ("y.0=b", "x.7=b", "y.*"):
        for more in ([], ["--fix"]):
            assert invoke(["check", path, "--dynamic", asked, *more]) == 2


@pytest.mark.parametrize(("start", "shape", "expected"), [
    ("zero", ["b", "t"], ["t <= 16"]),
    ("two", ["b", "t"], ["t == 2 || t <= 16"]),
    ("past", ["b", "t"], ["t == 0 || past + t <= 16"]),
])  # fmt: skip
def test_positions_that_count_up_from_anywhere_end_with_their_table(
    tmp_path: Path, start: str, shape: Dims, expected: list[str]
) -> None:
    """From `start` on to where it has as many as `x` is long."""
    ends = {"zero": "t", "two": "t", "past": "sum"}[start]
    nodes = [
        node("Shape", "Shape", "x", "n", start=1, end=2), node("Squeeze", "Last", "n", "t"),
        node("Shape", "Cached", "cache", "m"), node("Squeeze", "Behind", "m", "past"), node("Add", "Sum", "past t", "sum"),
        node("Range", "Range", f"{start} {ends} one", "r"), node("Gather", "Pos", "table r", "p"),
    ]  # fmt: skip
    held = {"zero": np.array(0), "two": np.array(2), "one": np.array(1), "table": np.zeros(16, np.float32)}
    found = contract(model(tmp_path / "m.onnx", nodes, {"x": shape, "cache": ["past"]}, ["p"], held))
    (said,) = found.conditions
    for t, past in ((0, 16), (1, 15), (1, 16), (3, 20), (16, 0), (17, 0), (2, 3), (0, 40)):
        holds = holds_at(said.condition, {"b": 1, "t": t, "past": past})
        first = {"zero": 0, "two": 2, "past": past}[start]
        last = past + t if start == "past" else t
        assert holds == (last <= first or last <= 16), (said.condition, t, past)
    assert said.demands[0].node == "node Pos (Gather)" and said.fails is not None


def test_positions_that_are_moved_and_repeated_are_followed(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "Shape", "x", "s"), node("Gather", "Length", "s one", "t"), node("Range", "Range", "zero t one", "r"),
        node("Add", "Moved", "r two", "q"), node("Unsqueeze", "Row", "q axes", "u"), node("Expand", "Rows", "u s", "e"),
        node("Gather", "Pos", "table e", "p"),
    ]  # fmt: skip
    held = {
        "zero": np.array(0), "one": np.array(1), "two": np.array(2), "axes": np.array([0]),
        "table": np.zeros((16, 3), np.float32),
    }  # fmt: skip
    path = model(tmp_path / "m.onnx", nodes, {"x": ["b", "t"]}, ["p"], held)
    (said,) = contract(path).conditions
    assert said.condition in ("t <= 14 || b == 0", "b == 0 || t <= 14")


@pytest.mark.parametrize(("first", "last"), [("zero", "all"), ("rows", "all"), ("all", "zero"), ("zero", "rows")])
@pytest.mark.parametrize("back", [False, True])
def test_a_range_whose_step_is_a_size_demands_that_there_is_one(
    tmp_path: Path, first: str, last: str, back: bool
) -> None:
    """As bags of embeddings begin: where each row of so many ids does."""
    nodes = [
        node("Size", "All", "x", "all"), node("Shape", "Rows", "x", "n", start=0, end=1), node("Squeeze", "R", "n", "rows"),
        node("Shape", "Width", "x", "m", start=1, end=2), node("Squeeze", "Step", "m", "step"),
        node("Mul", "Back", "step sign", "by"), node("Range", "Range", f"{first} {last} by", "y"),
    ]  # fmt: skip
    held = {"zero": np.array(0), "sign": np.array(-1 if back else 1)}
    path = model(tmp_path / "m.onnx", nodes, {"x": ["b", "k"]}, ["y"], held)
    found = contract(path)
    (said,) = found.conditions
    assert said.condition == "k >= 1" and said.demands[0].node == "node Range (Range)"
    assert not found.undecided
    (size,) = found.outputs[0].shape or ()
    for b, k in product(range(4), range(1, 4)):
        ends = {"zero": 0, "all": b * k, "rows": b}
        made = range(ends[first], ends[last], -k if back else k)
        assert size_at(str(size), {"b": b, "k": k}) == len(made), (size, b, k)


def test_indices_that_data_decides_are_listed_and_not_counted(tmp_path: Path) -> None:
    nodes = [node("CumSum", "Count", "x axis", "i"), node("Gather", "Pos", "table i", "p")]
    held = {"axis": np.array(0), "table": np.zeros((16, 3), np.float32)}
    found = contract(model(tmp_path / "m.onnx", nodes, {"x": (["t"], TensorProto.INT64)}, ["p"], held))
    assert found.conditions == found.ranges == ()
    assert [d.node for d in found.undecided] == ["node Pos (Gather)"]


@pytest.mark.parametrize(
    ("bias", "asked"), [(["k"], ["h == k || k == 1"]), (["k", 1], ["n == k || k == 1"]), ([1], [])]
)
def test_a_bias_is_repeated_into_what_is_normalised_and_never_makes_it_larger(
    tmp_path: Path, bias: Dims, asked: list[str]
) -> None:
    normalised = node("LayerNormalization", "Norm", "x s c", "out mean inverse")
    shapes = {"x": ["b", "n", "h"], "s": ["h"], "c": bias}
    assert conditions(contract(model(tmp_path / "m.onnx", [normalised], shapes, ["out", "mean", "inverse"]))) == asked


@pytest.mark.parametrize(
    ("kind", "demanded"),
    [("Add", "@add needs axis"), ("ConstantOfShape", "@zeros needs size 0 of `t` to be at least")],
)
def test_what_other_data_decides_is_said_in_words_where_a_node_checks_several_things(
    tmp_path: Path, kind: str, demanded: str
) -> None:
    """Of two axes that only data knows the first one is told: the checks of the others have no words."""
    shape, tensor = {"x": ["a", "b"]}, {"t": ([2], TensorProto.INT64)}
    last = node("ConstantOfShape", "Zeros", "t", "out")
    if kind == "Add":
        last = node("Add", "Sum", "made y", "out")
        shape = {"x": ["a", "b"], "y": ["c", "d"]}
    nodes = [*([node("Expand", "Wide", "x t", "made")] if kind == "Add" else []), last]
    found = contract(model(tmp_path / "m.onnx", nodes, {**shape, **tensor}, ["out"]))
    assert found.undecided and all(d.needs for d in found.undecided)
    assert any(d.needs.startswith(demanded) for d in found.undecided)


def test_sizes_are_called_as_in_the_program_and_the_models_names_stand_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = {"w": np.ones((2, 3, 3), np.float32)}
    path = model(
        tmp_path / "m.onnx", [node("Conv", "Conv_v", "x w", "y")], {"x": ["batch-size", 3, "y"]}, ["y"], weights
    )
    found = contract(path)
    assert found.inputs[0].shape == ("batch_size", 3, "y") and found.sizes == {"batch_size": "batch-size"}
    assert found.outputs[0].shape == ("batch_size", 2, "y - 2")
    assert invoke(["check", str(path), "--at", "batch-size=3", "--at", "y=2"]) == 1
    assert "batch_size is `batch-size`" in capsys.readouterr().out
    assert compare(found, read_contract(contract_text(found))).relation == "equal"


def test_a_product_is_said_by_its_factors(tmp_path: Path) -> None:
    free = model(
        tmp_path / "m.onnx", [node("Reshape", "R", "x s", "y")], {"x": ["b", "t", 4]}, ["y"],
        {"s": np.array([0, 8, 4], np.int64)},
    )  # fmt: skip
    assert conditions(contract(free)) == ["t == 8 || b == 0"]
    known = check_model(free, str(free), options=Options(given=(read_given("@main: 1 <= b, b <= 8"),))).contract
    assert known is not None and conditions(known) == ["t == 8"]


# Contracts in files


@pytest.mark.parametrize("as_bytes", [False, True])
def test_from_python_the_contract_is_the_same_data(tmp_path: Path, as_bytes: bool) -> None:
    path = reshaped(tmp_path / "m.onnx", 1)
    written = tmp_path / "contract.json"
    assert invoke(["check", str(path), "--dynamic", "x.0=b", "--write-contract", str(written)]) == 0
    found = rxlang.onnx.infer(path.read_bytes() if as_bytes else path, dynamic=["x.0=b"])
    assert found.contract == read_contract(written.read_bytes())
    assert [c.condition for c in found.contract.conditions] == ["b == 1"]
    wrong = model(tmp_path / "w.onnx", [node("MatMul", "M", "x x", "y")], {"x": [2, 3]}, ["y"])
    assert rxlang.onnx.infer(wrong).contract is None


@pytest.mark.parametrize("make", [up, reshaped, added, embedded])
def test_a_written_contract_reads_as_the_same(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "m.onnx"
    found = contract(make(path, "b") if make is reshaped else make(path))
    again = read_contract(contract_text(found))
    assert contract_object(again) == contract_object(found)
    assert compare(found, again).relation == "equal"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "inputs": 3}', "[" * 100_000])
def test_what_is_no_contract_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadContract):
        read_contract(text)
    (tmp_path / "c.json").write_text(text)
    assert invoke(["check", str(up(tmp_path / "m.onnx")), "--expect", str(tmp_path / "c.json")]) == 2


def test_a_model_that_refuses_more_is_narrower_with_a_witness(tmp_path: Path) -> None:
    small, large = contract(convolved(tmp_path / "a.onnx", 3)), contract(convolved(tmp_path / "b.onnx", 5))
    narrower = compare(small, replaced_outputs(large, small))
    assert narrower.relation == "narrower"
    (refused,) = narrower.refused
    assert 3 <= refused.witness["x.2"] < 5
    assert compare(large, replaced_outputs(small, large)).relation == "wider"


def replaced_outputs(one: Contract, other: Contract) -> Contract:
    """One contract with the outputs of another one."""
    outputs = contract_object(other)["outputs"]
    return read_contract(json.dumps({**contract_object(one), "outputs": outputs}))


def test_other_names_for_the_same_sizes_are_no_difference(tmp_path: Path) -> None:
    first, second = contract(up(tmp_path / "a.onnx")), contract(up(tmp_path / "b.onnx", "height"))
    assert compare(first, second).relation == "equal"


def test_a_constant_that_a_node_demands_is_the_one_that_is_declared(tmp_path: Path) -> None:
    free, fixed = contract(reshaped(tmp_path / "a.onnx", "b")), contract(reshaped(tmp_path / "b.onnx", 1))
    assert compare(free, fixed).relation == compare(fixed, free).relation == "equal"


def test_fewer_ids_are_narrower_and_another_input_is_a_difference(tmp_path: Path) -> None:
    many, few = contract(embedded(tmp_path / "a.onnx", 30)), contract(embedded(tmp_path / "b.onnx", 20))
    assert compare(many, few).relation == "narrower" and compare(few, many).relation == "wider"
    assert compare(many, contract(pooled(tmp_path / "c.onnx"))).relation == "different"


def test_what_nobody_can_prove_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = convolved(tmp_path / "m.onnx")
    said = contract_object(contract(path))
    said["conditions"][0]["condition"] = "t ? 3"
    (tmp_path / "c.json").write_text(json.dumps(said))
    assert invoke(["check", str(path), "--expect", str(tmp_path / "c.json")]) == 1
    assert "E251" in capsys.readouterr().err


def test_contracts_are_written_and_expected_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, at = convolved(tmp_path / "a.onnx", 3), convolved(tmp_path / "b.onnx", 5), str(tmp_path / "c.json")
    assert invoke(["check", str(old), "--write-contract", at]) == 0
    assert invoke(["check", str(old), "--expect", at]) == 0
    capsys.readouterr()
    assert invoke(["check", str(new), "--expect", at, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["diagnostics"][0]["code"] == "E250" and found["contracts"]


# An export


def exported(tmp_path: Path) -> Path:
    """PyTorch's export, with free sizes, of a convolution of stride 2, upsampling by 2, and a concat with the input."""
    path = tmp_path / "joined.onnx"
    path.write_bytes((TESTS / "data" / "joined.onnx").read_bytes())
    return path


def test_an_export_is_told_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(exported(tmp_path).parent)
    assert invoke(["check", "joined.onnx", "--run-witness"]) == 0
    assert invoke(["check", "joined.onnx", "--at", "h=33"]) == 1
    said = capsys.readouterr()
    golden = TESTS / "goldens" / "onnx" / "joined.txt"
    if os.environ.get("RX_ACCEPT"):
        golden.write_text(said.out + said.err)
    assert said.out + said.err == golden.read_text()


@pytest.mark.parametrize("h", [32, 33])
def test_onnxruntime_fails_at_the_node_that_is_named(tmp_path: Path, h: int) -> None:
    runtime = pytest.importorskip("onnxruntime")
    path = exported(tmp_path)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (declared,) = session.get_outputs()
    assert declared.shape == ["b", 6, "h", "w"]
    failure = check_model(path, "joined.onnx", at=[f"h={h}", "w=8", "b=1"]).at.failure  # type: ignore[union-attr]
    feeds = {"images": np.zeros((1, 3, h, 8), np.float32)}
    if h % 2 == 0:
        assert failure is None and session.run(None, feeds)[0].shape == (1, 6, h, 8)
    else:
        assert failure is not None and _node(failure).endswith("node /Concat (Concat)")
        with pytest.raises(Exception, match="Name:'/Concat'"):
            session.run(None, feeds)


# In CI


def test_the_workflow_of_the_docs_accepts_a_model_and_refuses_a_narrower_one(tmp_path: Path) -> None:
    steps = steps_of(documented(PAGE, "yaml", "runs-on"))
    assert steps[0] == "pip install 'rxlang[onnx]'" and len(steps) == 3
    environment = scripts(tmp_path)
    script = "\n".join(("set -e", *steps[1:]))
    up(tmp_path / "model.onnx")
    (written,) = re.findall(
        r"^\$ (rx check .*--write-contract [^#\n]*)", documented(PAGE, "console", "--write-contract"), re.M
    )
    assert subprocess.run(shlex.split(written), cwd=tmp_path, env=environment).returncode == 0
    assert subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment).returncode == 0
    up(tmp_path / "model.onnx", h=480)
    refused = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert refused.returncode == 1 and "E250" in refused.stdout


def test_the_hook_of_the_docs_refuses_a_commit_of_a_narrower_model(tmp_path: Path) -> None:
    config = documented(PAGE, "yaml", "repo: local")
    environment = scripts(tmp_path)
    entry, files = value("entry", config), value("files", config)
    assert re.search(files, "model.onnx") and not re.search(files, "other.onnx")
    command = [*shlex.split(entry), "model.onnx"]
    if importlib.util.find_spec("pre_commit") is not None:
        (tmp_path / ".pre-commit-config.yaml").write_text(config)
        command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    up(tmp_path / "model.onnx")
    assert invoke(["check", str(tmp_path / "model.onnx"), "--write-contract", str(tmp_path / "contract.json")]) == 0
    subprocess.run("git init -q . && git add .", shell=True, cwd=tmp_path, check=True)
    assert subprocess.run(command, cwd=tmp_path, env=environment).returncode == 0
    up(tmp_path / "model.onnx", h=8)
    subprocess.run("git add .", shell=True, cwd=tmp_path, check=True)
    refused = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert refused.returncode == 1 and "E250" in refused.stdout + refused.stderr


# In the model


def test_a_model_keeps_its_contract_and_is_checked_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = convolved(tmp_path / "m.onnx", 3)
    assert invoke(["infer", str(path), "--write"]) == 0
    assert invoke(["check", str(path)]) == 0
    kept = onnx.load(str(path)).metadata_props[0]
    other = onnx.load(str(convolved(tmp_path / "n.onnx", 5)))
    other.metadata_props.append(kept)
    onnx.save(other, str(tmp_path / "n.onnx"))
    capsys.readouterr()
    assert invoke(["check", str(tmp_path / "n.onnx")]) == 1
    assert "E250" in capsys.readouterr().err


# On entry to a run


def test_a_run_is_refused_before_any_work_with_the_same_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = up(tmp_path / "m.onnx")
    assert invoke(["run", str(path), "--arg", "images=float32[1,3,33,6]:ones"]) == 3
    said = capsys.readouterr().err
    assert "W311" not in said and "axis 2 of `images` (33)" in said and "node Concat_39 (Concat)" in said
    assert "help" not in said
    assert invoke(["run", str(path), "--arg", "images=float32[1,3,34,6]:ones"]) == 0


@pytest.mark.parametrize(("t", "broken"), [(5, ["b * t % 2 == 0"]), (8, [])])
def test_what_fails_far_from_the_inputs_is_said_of_their_axes(
    tmp_path: Path, t: int, broken: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["turned", "target"], ["y"], name="Reshape_3"),
    ]
    path = model(tmp_path / "m.onnx", nodes, {"x": ["b", "t", 4]}, ["y"], {"target": np.array([8, -1])})
    assert invoke(["run", str(path), "--arg", f"x=float32[3,{t},4]:ones"]) == (3 if broken else 0)
    said = capsys.readouterr().err
    assert broken == re.findall(r"the inputs must satisfy (.+?), but", said)
    if broken:
        assert "t is 5 (axis 1 of `x`)" in " ".join(said.split())
        with pytest.raises(rxlang.ShapeError, match=r"axis 1 of `x`"):
            rxlang.load(path).main(np.ones((3, t, 4), np.float32))


def test_inputs_are_given_by_the_names_that_the_model_has_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And by those that the program has, where the model has no other input of that name."""
    info, float32 = helper.make_tensor_value_info, TensorProto.FLOAT
    inputs = [info("input.1", float32, ["n", 2]), info("input_1", float32, ["n", 3]), info("let", float32, [])]
    node = helper.make_node("Concat", ["input.1", "input_1"], ["y"], axis=1)
    graph = helper.make_graph([node], "g", inputs, [info("y", float32, None)])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    first, second = "float32[1,2]:zeros", "float32[1,3]:ones"
    for names in (("input.1", "input_1", "let"), ("input.1", "input_1_2", "let_2")):
        given = [f"{name}={value}" for name, value in zip(names, (first, second, "1.0:float32"), strict=True)]
        assert invoke(["run", str(path), *(word for text in given for word in ("--arg", text))]) == 0
        assert "[[0., 0., 1., 1., 1.]]" in capsys.readouterr().out
    assert invoke(["run", str(path), "--arg", f"input_1={first}"]) == 2


@pytest.mark.parametrize(("element", "status"), [(-31, 3), (-30, 0), (0, 0), (29, 0), (30, 3)])
def test_ids_beyond_their_table_are_refused_on_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], element: int, status: int
) -> None:
    path, ids = embedded(tmp_path / "m.onnx"), f"ids=[[1, {element}]]:int64"
    assert invoke(["run", str(path), "--arg", ids]) == status
    assert ("`ids`" in capsys.readouterr().err) == bool(status)
    assert invoke(["run", str(path), "--no-data-checks", "--arg", ids]) == status
    assert "needs every element" not in capsys.readouterr().err


@pytest.mark.parametrize("element", [-31, -30, 29, 30])
def test_from_python_ids_beyond_their_table_are_refused_too(tmp_path: Path, element: int) -> None:
    path, ids = embedded(tmp_path / "m.onnx"), np.array([[1, element]])
    checked, trusting = rxlang.load(path), rxlang.load(path, data_checks=False)
    if -30 <= element < 30:
        assert checked.main(ids).shape == checked.main(ids=ids).shape == (1, 2, 2)
        return
    for call in (lambda: checked.main(ids), lambda: checked.main(ids=ids)):
        with pytest.raises(rxlang.ShapeError, match="needs every element of `ids` to be from -30 to 29"):
            call()
    with pytest.raises(rxlang.ShapeError) as late:
        trusting.main(ids)
    assert "needs every element" not in str(late.value)


def test_ids_into_an_input_are_held_to_the_size_that_it_comes_with(tmp_path: Path) -> None:
    kinds = {"x": ["n", 2], "ids": (["t"], TensorProto.INT64)}
    path = model(tmp_path / "m.onnx", [node("Gather", "Pick", "x ids", "y")], kinds, ["y"])
    main = rxlang.load(path).main
    assert main(np.zeros((3, 2), np.float32), np.array([2, -3])).shape == (2, 2)
    for rows, last in ((3, 3), (2, 2), (0, 0)):
        with pytest.raises(rxlang.ShapeError, match="node Pick"):
            main(np.zeros((rows, 2), np.float32), np.array([0, last]))
    assert main(np.zeros((0, 2), np.float32), np.zeros(0, np.int64)).shape == (0, 2)


@pytest.mark.parametrize("data", ["embedded", "beside"])
def test_a_model_that_is_a_link_into_a_cache_is_read_where_the_link_is(tmp_path: Path, data: str) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    made = onnx.load(str(embedded(tmp_path / "m.onnx")))
    if data == "beside":
        onnx.save(made, tmp_path / "blobs" / "0a", save_as_external_data=True, location="m.data", size_threshold=0)
        (tmp_path / "blobs" / "m.data").rename(tmp_path / "blobs" / "0b")
        (tmp_path / "snapshot" / "m.data").symlink_to("../blobs/0b")
    else:
        onnx.save(made, tmp_path / "blobs" / "0a")
    path = tmp_path / "snapshot" / "m.onnx"
    path.symlink_to("../blobs/0a")
    assert invoke(["check", str(path)]) == 0
    assert rxlang.load(path).main(np.array([[1, 2]])).shape == (1, 2, 2)
    assert invoke(["run", str(path), "--arg", "ids=[[1, 2]]:int64"]) == 0


def test_the_object_of_a_contract_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "docs" / "schema" / "contract.json").read_text())
    for make in (up, added, embedded):
        jsonschema.validate(contract_object(contract(make(tmp_path / "m.onnx"))), schema)


@pytest.mark.parametrize("batch", [2, 5, 7])
def test_the_size_that_fails_comes_from_the_input_whatever_else_is_as_large(
    batch: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        node("Conv", "Conv", "x w", "c"), node("Shape", "Shape", "c", "n", start=0, end=1),
        node("Concat", "Target", "n rest", "target", axis=0), node("Reshape", "Flat", "c target", "f"),
        node("Concat", "Join", "f token", "y", axis=1),
    ]  # fmt: skip
    held = {
        "w": np.zeros((5, 3, 1, 1), np.float32), "rest": np.array([5, -1]), "token": np.zeros((1, 5, 6), np.float32),
    }  # fmt: skip
    path = model(tmp_path / "m.onnx", nodes, {"x": ["b", 3, 2, 3]}, ["y"], held)
    assert invoke(["check", str(path), "--at", f"b={batch}"]) == 1
    lines = capsys.readouterr().err.splitlines()
    at = next(n for n, line in enumerate(lines) if f"{batch} comes from here" in line)
    assert "@main = fn(x" in lines[at - 1]


def test_a_condition_on_a_rank_has_no_example_in_sizes(tmp_path: Path) -> None:
    conv = node("Conv", "c", "x w", "y", kernel_shape=[1, 1])
    given = contract(model(tmp_path / "given.onnx", [conv], {"x": ["b", 3, "h", 8], "w": None}, ["y"]))
    (clause,) = (c for c in given.conditions if c.condition == "w.rank == 4")
    assert clause.witness is None and clause.fails is None
    unheard = [node("Unheard", "u", "x", "w"), conv]  # the rank of what a node makes is left to the run
    made = contract(model(tmp_path / "made.onnx", unheard, {"x": ["b", 3, "h", 8]}, ["y"]))
    assert conditions(made) == [] and "node c (Conv)" in [d.node for d in made.undecided]


def test_a_condition_has_a_witness_where_no_steps_are_left_to_find_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Facts, "witness", lambda *_: None)
    for path in (up(tmp_path / "up.onnx"), reshaped(tmp_path / "reshaped.onnx", "b")):
        for clause in contract(path).conditions:
            assert clause.witness is not None and clause.fails is not None


def test_a_condition_whose_witness_nothing_refuses_is_called_sufficient(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = reshaped(tmp_path / "reshaped.onnx", "b")
    assert contract(path).exact
    monkeypatch.setattr("rxlang.model.contract.failure_at", lambda *_: None)
    found = contract(path)
    assert [c.witness for c in found.conditions] == [None] and not found.exact
    assert "sufficient, not necessary" in "\n".join(block("m.onnx", found))


def test_a_product_of_sizes_of_which_one_is_never_0_demands_that_the_other_is_not(tmp_path: Path) -> None:
    size = [
        step
        for axis, name in ((2, "h"), (3, "w"))
        for step in (
            node("Shape", f"S{name}", "images", name, start=axis, end=axis + 1),
            node("Sub", f"L{name}", f"{name} one", f"{name}1"),
            node("Div", f"D{name}", f"{name}1 four", f"{name}2"),
            node("Add", f"A{name}", f"{name}2 one", f"{name}3"),
        )
    ]
    nodes = [
        *size, node("Conv", "Conv_1", "images k", "c", strides=[4, 4], pads=[1, 1, 1, 1]),
        node("Mul", "Count", "h3 w3", "n"), node("Shape", "Batch", "images", "b", start=0, end=1),
        node("Concat", "Target", "b two n", "s", axis=0), node("Reshape", "Flat", "c s", "y", allowzero=1),
    ]  # fmt: skip
    held = {"k": np.zeros((2, 3, 3, 3), np.float32), "one": np.array([1]), "two": np.array([2]), "four": np.array([4])}
    found = contract(model(tmp_path / "m.onnx", nodes, {"images": ["batch", 3, "h", "w"]}, ["y"], held))
    (clause,) = found.conditions
    assert clause.condition == "h >= 1 && w >= 1 || batch == 0" and found.undecided == () and found.exact
    assert clause.witness is not None and clause.witness["batch"] == 1 and 0 in clause.witness.values()


def test_a_rank_that_only_the_run_knows_is_no_condition_on_the_inputs(tmp_path: Path) -> None:
    target = {"kept": np.array([0, 0, -1])}
    arms = {
        f"{name}_branch": helper.make_graph(
            [node(op, op, "x", f"{name}_r")], name, [], [helper.make_empty_tensor_value_info(f"{name}_r")]
        )
        for name, op in (("then", "Identity"), ("else", "Flatten"))
    }
    unknown = [
        node("Cast", "Cast_0", "p", "q", to=TensorProto.BOOL), node("If", "If_0", "q", "r", **arms),
        node("Reshape", "Reshape_1", "r kept", "y"),
    ]  # fmt: skip
    inner = contract(model(tmp_path / "inner.onnx", unknown, {"x": ["b", "c", "t"], "p": []}, ["y"], target))
    assert conditions(inner) == [] and inner.undecided == ()  # either arm has two axes at least
    assert [c.shape for c in inner.outputs[0].cases] == [("b", "c", "t"), ("b", "c * t", 1)]
    given = contract(model(tmp_path / "given.onnx", unknown[2:], {"r": None}, ["y"], target))
    assert "r.rank >= 2" in conditions(given)


@pytest.mark.parametrize(("sizes", "exact"), [(["n"], True), (["n", "m"], False)])
def test_a_computed_0_that_would_be_another_size_is_refused_and_the_contract_is_only_sufficient(
    sizes: list[str], exact: bool, tmp_path: Path
) -> None:
    """`[b, t, 5]` for x of no elements: ONNX reads a 0 for t as the size of that axis, which is not what is told of y."""
    nodes = [
        node("Shape", "Shape_0", "z", "s"), node("Concat", "Target", "s five", "t", axis=0),
        node("Reshape", "Reshape_0", "x t", "y"),
    ]  # fmt: skip
    inputs = {"x": sizes, "z": ["b", "t"]}
    found = contract(model(tmp_path / "m.onnx", nodes, inputs, ["y"], {"five": np.array([5])}))
    assert found.exact == exact
    session = ReferenceEvaluator(str(tmp_path / "m.onnx"))
    for tried in product(range(3), repeat=len(sizes) + 2):
        at = dict(zip([*sizes, "b", "t"], tried, strict=True))
        given = {"x": np.ones([at[n] for n in sizes], np.float32), "z": np.ones((at["b"], at["t"]), np.float32)}
        accepted = all(holds_at(c.condition, at) for c in found.conditions)
        try:
            session.run(None, given)
        except (ValueError, IndexError):  # whatever NumPy says
            assert not accepted, at
        else:
            assert accepted or not exact, at
