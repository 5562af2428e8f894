"""Changes of models that are offered: each makes the model accept what it says, and keeps every result that there was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from rxlang.cli.main import invoke  # noqa: E402
from rxlang.frontends.onnx.edits import edit_proto  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.model.fixes import ModelFix  # noqa: E402
from support import fuzz  # noqa: E402

TRIES = fuzz.tries("fixes of models")
Dims = list[str | int]


def model(path: Path, nodes: Sequence[Any], shape: Dims, held: dict[str, Any], output: str = "y") -> Path:
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))
    return path


def fixes(path: Path, *dynamic: str) -> tuple[ModelFix, ...]:
    return check_model(path, str(path), dynamic=dynamic).fixes


def run(path: Path | Any, x: Any) -> Any:
    return ReferenceEvaluator(path if not isinstance(path, Path) else onnx.load(str(path))).run(None, {"x": x})[0]


def chain(draw: Random, path: Path) -> tuple[Path, set[str]]:
    """Reshapes and operations between them, with a batch of 1 in some targets, and the nodes that have it there."""
    value, nodes, held, frozen = "x", [], {}, set()
    for turn in range(draw.randint(2, 5)):
        rest = draw.choice([[24], [2, 12], [6, 4], [2, 3, 4], [4, 3, 2]])
        how = draw.choice(("frozen", "frozen and open", "copied", "open"))
        target = {
            "frozen": [1, *rest], "frozen and open": [1, *rest[:-1], -1], "copied": [0, *rest], "open": [-1, *rest],
        }[how]  # fmt: skip
        name, made = f"R_{turn}", f"r{turn}"
        zero = int(draw.random() < 0.5 and 0 not in target)
        held[f"s{turn}"] = np.array(target, np.int64)
        nodes.append(helper.make_node("Reshape", [value, f"s{turn}"], [made], name=name, allowzero=zero))
        if how.startswith("frozen"):
            frozen.add(f"node {name} (Reshape)")
        held[f"w{turn}"] = np.random.default_rng(turn).random((rest[-1], rest[-1]), np.float32)  # holds the last axis
        nodes.append(helper.make_node("MatMul", [made, f"w{turn}"], [f"a{turn}"], name=f"A_{turn}"))
        value = f"a{turn}"
    return model(path, nodes, [1, 2, 3, 4], held, value), frozen


@pytest.mark.parametrize("seed", range(TRIES))
def test_a_frozen_batch_is_freed_at_exactly_the_nodes_that_hold_it(tmp_path: Path, seed: int) -> None:
    path, frozen = chain(Random(seed), tmp_path / "m.onnx")
    found = fixes(path, "x.0=b")
    if not frozen:
        assert found == ()
        return
    (fix,) = found
    assert set(fix.nodes) == frozen and fix.gone == ("b == 1",)
    samples = [np.random.rand(1, 2, 3, 4).astype(np.float32) for _ in range(3)]
    before = [run(path, x) for x in samples]
    assert invoke(["check", str(path), "--dynamic", "x.0=b", "--fix"]) == 0
    after = run(path, np.concatenate(samples))
    assert np.allclose(after, np.concatenate(before), atol=1e-6)
    assert np.allclose(run(path, samples[0]), before[0], atol=1e-6)
    again = check_model(path, str(path))
    assert again.contract is not None and again.contract.conditions == () and again.fixes == ()
    assert again.contract.inputs[0].shape == ("b", 2, 3, 4)


def test_a_batch_that_is_multiplied_into_an_axis_is_what_is_left_there(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "s"], ["r"], name="Split"),
        helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1, 3], name="Turned"),
        helper.make_node("Reshape", ["t", "u"], ["y"], name="Joined"),
    ]
    held = {"s": np.array([1, 4, 2, 3]), "u": np.array([2, 4, 3])}
    (fix,) = fixes(model(tmp_path / "m.onnx", nodes, ["b", 8, 3], held))
    assert fix.nodes == ("node Split (Reshape)", "node Joined (Reshape)")
    assert sorted(fix.edit.constants.values()) == [(-1, 4, 3), (0, 4, 2, 3)]


def state(name: str, output: str, **how: Any) -> Any:
    return helper.make_node("GRU", [name, "w", "r", "", "", "h"], [output, ""], name="G", hidden_size=2, **how)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


CLASS = helper.make_node("Constant", [], ["c"], name="C", value=numpy_helper.from_array(ones(1, 1, 3) / 7))
# What holds a batch of 1 in an operand, and the nodes that demand it.
HELD: dict[str, tuple[list[Any], dict[str, Any], set[str]]] = {
    "a token": ([helper.make_node("Concat", ["c", "x"], ["y"], name="J", axis=1)], {"c": ones(1, 1, 3)}, {"J"}),
    "a token behind": (
        [CLASS, helper.make_node("Concat", ["x", "c", "x"], ["y"], name="J", axis=1)], {}, {"J"}),
    "a token made longer": (
        [CLASS, helper.make_node("Expand", ["c", "s"], ["e"], name="E"), helper.make_node("Neg", ["x"], ["n"], name="N"),
         helper.make_node("Concat", ["n", "e"], ["y"], name="J", axis=1)], {"s": np.array([1, 4, 3])}, {"J"}),
    "a state": (
        [helper.make_node("Transpose", ["x"], ["t"], name="T", perm=[1, 0, 2]), state("t", "g"),
         helper.make_node("Transpose", ["g"], ["y"], name="U", perm=[2, 0, 1, 3])],
        {"w": ones(1, 6, 3) / 5, "r": ones(1, 6, 2) / 3, "h": ones(1, 1, 2)}, {"G"}),
    "two, one behind the other": (
        [helper.make_node("Concat", ["x", "c"], ["j"], name="J", axis=1),
         helper.make_node("Concat", ["d", "j"], ["y"], name="K", axis=1)],
        {"c": ones(1, 2, 3), "d": ones(1, 1, 3)}, {"J", "K"}),
    "a token and a target": (
        [helper.make_node("Concat", ["x", "c"], ["j"], name="J", axis=1),
         helper.make_node("Reshape", ["j", "s"], ["y"], name="R")],
        {"c": ones(1, 2, 3), "s": np.array([1, 18])}, {"J", "R"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", HELD)
def test_a_batch_that_an_operand_holds_is_freed_by_repeating_it(kind: str, tmp_path: Path) -> None:
    nodes, held, holders = HELD[kind]
    path = model(tmp_path / "m.onnx", nodes, [1, 4, 3], held)
    samples = [np.random.rand(1, 4, 3).astype(np.float32) for _ in range(3)]
    before = [run(path, x) for x in samples]
    (fix,) = fixes(path, "x.0=b")
    assert {name.split()[1] for name in fix.nodes} == holders and fix.gone == ("b == 1",)
    assert invoke(["check", str(path), "--dynamic", "x.0=b", "--fix"]) == 0
    assert np.allclose(run(path, np.concatenate(samples)), np.concatenate(before), atol=1e-6)
    assert np.allclose(run(path, samples[0]), before[0], atol=1e-6)
    again = check_model(path, str(path))
    assert again.contract is not None and again.contract.conditions == () and again.fixes == ()


@pytest.mark.parametrize(("sizes", "opset"), [(["2*b", 4, 3], 18), (["b", 4, 3], 7)])
def test_an_operand_is_repeated_where_the_model_can_say_so(sizes: Dims, opset: int, tmp_path: Path) -> None:
    """With an opset that has Expand: as often as the size is long, which any value may have."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["r"], name="R"), *HELD["a token"][0]]
    nodes[1].input[1] = "r"
    path = model(
        tmp_path / "m.onnx", nodes, sizes, {"c": ones(1, 1, 3), "s": np.array([-1, 8 if opset == 18 else 4, 3])}
    )
    made = onnx.load(str(path))
    made.opset_import[0].version = opset
    onnx.save(made, str(path))
    assert [fix.text for fix in fixes(path) if "repeat" in fix.text] == (
        ["repeat input 0 of node J (Concat), `c`, b times: then b is free"] if opset == 18 else []
    )


def test_what_is_held_by_more_than_a_1_has_no_such_fix(tmp_path: Path) -> None:
    nodes = [helper.make_node("Concat", ["x", "c"], ["y"], name="Joined", axis=1)]
    path = model(tmp_path / "m.onnx", nodes, ["b", 3], {"c": np.eye(2, dtype=np.float32)})
    assert fixes(path) == ()
    before = path.read_bytes()
    assert invoke(["check", str(path), "--fix"]) == 0 and path.read_bytes() == before


def strided(path: Path, stride: int, shape: Dims) -> Path:
    nodes = [
        helper.make_node(
            "Conv", ["x", "w"], ["c"], name="Down", strides=[stride, stride], kernel_shape=[stride, stride]
        ),
        helper.make_node("ConvTranspose", ["c", "v"], ["u"], name="Up", strides=[stride, stride]),
        helper.make_node("Concat", ["x", "u"], ["y"], name="Joined", axis=1),
    ]
    weights = np.ones((2, 2, stride, stride), np.float32)
    return model(path, nodes, shape, {"w": weights, "v": weights})


@pytest.mark.parametrize(("stride", "shape"), [(2, ["b", 2, "h", 6]), (3, ["b", 2, "h", "w"]), (2, [1, 2, "h", "h"])])
def test_padding_to_a_multiple_makes_every_size_fit(
    tmp_path: Path, stride: int, shape: Dims, capsys: pytest.CaptureFixture[str]
) -> None:
    path = strided(tmp_path / "m.onnx", stride, shape)
    (fix,) = fixes(path)
    assert fix.pads and "to a multiple of" in fix.text
    changed = onnx.load(str(path))
    edit_proto(changed, fix.edit)
    for n in range(stride, 4 * stride):
        x = np.random.rand(1, 2, *(6 if d == 6 else n for d in shape[2:])).astype(np.float32)
        whole = np.pad(x, [(0, 0), (0, 0), *((0, -d % stride) for d in x.shape[2:])])
        assert np.allclose(run(changed, x), run(path, whole))
    before = path.read_bytes()
    assert invoke(["check", str(path), "--fix"]) == 0
    assert path.read_bytes() == before and "left: " in capsys.readouterr().out


@pytest.mark.parametrize("flag", [0, 1])
def test_a_zero_that_is_read_otherwise_is_offered_where_it_makes_the_model_accept_more(
    tmp_path: Path, flag: int
) -> None:
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"], name="R", allowzero=flag)]
    path = model(tmp_path / "m.onnx", nodes, ["b", 4, 6], {"s": np.array([0, 24])})
    if not flag:
        assert fixes(path) == ()
        return
    (fix,) = fixes(path)
    assert fix.edit.attributes == {(0, "allowzero"): 0} and fix.nodes == ("node R (Reshape)",)
    assert invoke(["check", str(path), "--fix"]) == 0
    assert run(path, np.zeros((3, 4, 6), np.float32)).shape == (3, 24) and fixes(path) == ()


def test_sizes_are_freed_one_after_another_in_a_model_that_was_fixed_before(tmp_path: Path) -> None:
    """The second fix makes names of its own for what the first one made."""
    nodes = [
        helper.make_node("Reshape", ["x", "s"], ["r"], name="split"),
        helper.make_node("Relu", ["r"], ["a"], name="act"),
        helper.make_node("Reshape", ["a", "t"], ["y"], name="join"),
    ]
    path = model(tmp_path / "m.onnx", nodes, [1, 8, 6], {"s": [1, 8, 2, 3], "t": [1, 8, 6]})
    before = onnx.load(str(path))
    for dynamic, given in (("x.0=b", ()), ("x.1=t", ("--given", "b >= 1"))):
        assert invoke(["check", str(path), "--dynamic", dynamic, *given, "--fix"]) == 0
        names = [i.name for i in onnx.load(str(path)).graph.initializer]
        assert len(set(names)) == len(names)
    x = np.random.default_rng(0).random((1, 8, 6), np.float32)
    assert np.array_equal(run(before, x), run(path, x))
    assert run(path, np.ones((5, 7, 6), np.float32)).shape == (5, 7, 6)


def added(path: Path, held: Any, shape: Dims) -> Path:
    return model(path, [helper.make_node("Add", ["x", "c"], ["y"], name="Added")], shape, {"c": held})


def test_a_table_is_left_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = added(tmp_path / "m.onnx", np.random.rand(16, 4).astype(np.float32), ["b", "t", 4])
    before = path.read_bytes()
    assert invoke(["check", str(path), "--fix"]) == 0 and path.read_bytes() == before
    said = "`c` at node Added (Add) is a table with 16 entries along axis 0, and has no others"
    printed = " ".join(capsys.readouterr().out.split())
    assert f"left: t == 1 || t == 16: {said}" in printed and f"no fix for t == 1 || t == 16: {said}" in printed


def test_a_model_with_nothing_to_fix_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = added(tmp_path / "m.onnx", ones(1, 4), ["b", "t", 4])
    assert invoke(["check", str(path), "--fix"]) == 0
    assert "m.onnx: nothing to fix: no size is held" in capsys.readouterr().out


def test_results_at_sizes_that_were_accepted_by_accident_are_said_to_be_others(tmp_path: Path) -> None:
    path = added(tmp_path / "m.onnx", np.arange(16, dtype=np.int64), ["b", "t"])
    made = onnx.load(str(path))
    made.graph.node.insert(0, helper.make_node("Cast", ["c"], ["f"], name="F", to=TensorProto.FLOAT))
    made.graph.node[1].input[1] = "f"
    onnx.save(made, str(path))
    (fix,) = fixes(path)
    counted = "count `c`, input 0 of node F (Cast), up to t: then t is free"
    assert fix.text == f"{counted}; at t = 1, accepted before too, it gives other results"
    assert invoke(["check", str(path), "--fix"]) == 0
    x = np.random.rand(2, 5).astype(np.float32)
    assert np.allclose(run(path, x), x + np.arange(5))


def test_a_product_is_freed_as_it_was_split(tmp_path: Path) -> None:
    """The number of the first axis stands where the operand has it, so that the other one is what is left."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"], name="R")]
    path = model(tmp_path / "m.onnx", nodes, ["tgt", "bsz", 512], {"s": np.array([18, 36, 128])})
    assert invoke(["check", str(path), "--fix"]) == 0
    found = check_model(path, "m.onnx").contract
    assert found is not None and found.outputs[0].shape == ("tgt", "bsz * 4", 128) and found.conditions == ()


def test_conditions_on_remainders_are_said_in_plain_words_with_the_nearest_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pools = [
        helper.make_node("MaxPool", [a], [b], name=b, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
        for a, b in (("x", "p"), ("p", "q"), ("q", "r"))
    ]
    nodes = [*pools, helper.make_node("Resize", ["r", "", "s"], ["u"], name="U"),
             helper.make_node("Concat", ["q", "u"], ["y"], name="J", axis=1)]  # fmt: skip
    path = model(tmp_path / "m.onnx", nodes, [1, 2, "h", 8], {"s": np.array([1, 1, 2, 2], np.float32)})
    assert invoke(["check", str(path), "--at", "h=9"]) == 1
    printed = capsys.readouterr()
    assert "h % 8 in 0, 5 to 7" in printed.out
    assert "axis 2 to a multiple of 8" in printed.out and "nearest that fit: h = 8, h = 13" in printed.err


def test_all_nodes_of_a_changed_model_stand_behind_what_they_read(tmp_path: Path) -> None:
    """The positions are taken before the image is cut into patches, of which there are as many."""
    nodes = [
        helper.make_node("Slice", ["p", "z", "e", "a"], ["q"], name="Taken"),
        helper.make_node("Conv", ["x", "w"], ["c"], name="Cut", strides=[4]),
        helper.make_node("Add", ["c", "q"], ["y"], name="Added"),
    ]
    table = np.random.rand(3, 40).astype(np.float32)
    held = {"p": table, "z": np.array([0]), "e": np.array([6]), "a": np.array([1]), "w": ones(3, 2, 4)}
    path = model(tmp_path / "m.onnx", nodes, ["b", 2, "t"], held)
    before = onnx.load(str(path))
    assert invoke(["check", str(path), "--fix"]) == 0
    x = np.random.rand(2, 2, 24).astype(np.float32)
    assert np.allclose(run(before, x), run(path, x))
    assert run(path, np.random.rand(2, 2, 40).astype(np.float32)).shape == (2, 3, 10)


@pytest.mark.parametrize("kind", ["counts down", "is summed over"])
def test_what_has_no_more_lines_is_not_repeated(kind: str, tmp_path: Path) -> None:
    """Indices that count down would go on below 0; a sum over more equal rows is another sum."""
    if kind == "counts down":
        nodes = [helper.make_node("Gather", ["p", "i"], ["q"]), helper.make_node("Add", ["x", "q"], ["y"])]
        held = {"i": np.array([5, 4, 3, 2, 1, 0]), "p": np.ones((64, 8), np.float32)}
        shape: Dims = ["b", "t", 8]
    else:
        nodes, held, shape = [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": ones(5, 3)}, ["b", "t"]
    path = model(tmp_path / "m.onnx", nodes, shape, held)
    assert [m for m in fixes(path) if "repeat" in m.text or "count" in m.text] == []
