"""A model of the user's own in onnxruntime, behind what it asks of its inputs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.engines.runners import runner
from rxlang.lang.diagnostics import RxError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from support import fuzz  # noqa: E402
from support.node_draws import Draw, listed  # noqa: E402
from support.node_sweeps import FAMILIES as SWEPT  # noqa: E402
from support.node_values import FAMILIES as VALUES  # noqa: E402
from support.one_node import OneNode, one_node  # noqa: E402
from support.places import ROOT  # noqa: E402

FAMILIES = (*SWEPT, *VALUES)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Rows of a table with places added, of which there are 16, and a mask over their products."""
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    held = {
        "tokens": random.normal(size=(100, 8)).astype(np.float32),
        "places": random.normal(size=(1, 16, 8)).astype(np.float32),
        "zero": np.array([0], np.int64), "one": np.array([1], np.int64), "two": np.array([2], np.int64),
    }  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["tokens", "ids"], ["e"], name="look_up"),
        helper.make_node("Shape", ["ids"], ["time"], start=1, end=2, name="time_of"),
        helper.make_node("Slice", ["places", "zero", "time", "one"], ["p"], name="cut"),
        helper.make_node("Add", ["e", "p"], ["h"], name="add_places"),
        helper.make_node("Unsqueeze", ["mask", "two"], ["m"], name="column"),
        helper.make_node("Mul", ["h", "m"], ["out"], name="apply_mask"),
    ]
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["b", "t"]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["b", "s"]),
    ]
    outputs = [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["b", None, 8])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, n) for n, v in held.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def given(b: int, t: int, s: int) -> list[Any]:
    return [np.full((b, t), 3, np.int64), np.ones((b, s), np.float32)]


@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_model_runs_itself_and_gives_what_numpy_gives(model: Path, as_bytes: bool) -> None:
    module = rx.onnx.load(model.read_bytes() if as_bytes else model, engine="onnxruntime")
    plain = rx.load(model)
    for sizes in ((2, 5, 5), (1, 1, 1), (0, 3, 3), (2, 0, 0), (2, 7, 1), (2, 5, 5)):
        np.testing.assert_allclose(module.main(*given(*sizes)), plain.main(*given(*sizes)), rtol=1e-6)


WRONG: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "a table that ends": (given(2, 17, 17), ("must satisfy t <= 16", "axis 1 of `ids`", "node add_places (Add)")),
    "sizes that differ": (given(2, 5, 4), ("axis 1 of `ids`", "axis 1 of `mask`", "node apply_mask (Mul)")),
    "a batch of its own": ([given(2, 5, 5)[0], given(3, 5, 5)[1]], ("axis 0 of `mask`",)),
    "a rank": ([given(2, 5, 5)[0][0], given(2, 5, 5)[1]], ("`ids` to have rank 2",)),
    "a dtype": ([given(2, 5, 5)[0], np.ones((2, 5))], ("`mask` to have dtype float32",)),
    "an index": ([given(2, 5, 5)[0] + 97, given(2, 5, 5)[1]], ("every element of `ids`", "look_up (Gather)")),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_refused_before_onnxruntime_with_input_and_reason(
    model: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = rx.onnx.load(model, engine="onnxruntime")
    args, told = WRONG[case]
    module.main(*given(2, 5, 5))
    monkeypatch.setattr(module._runner, "run", lambda *_: pytest.fail("it came to the engine"))
    for _ in range(2):
        with pytest.raises(rx.ShapeError) as caught:
            module.main(*args)
        said = " ".join(str(caught.value).split())
        assert all(part in said for part in told), said


def test_a_contract_with_sizes_is_asked_before_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "@f = fn(x : Tensor([n, d], float32), k : Size) where k >= 1, d % k == 0 { @reshape(x, [n, k, d / k]) }"
    rx.loads(text).f.export(tmp_path / "f.onnx")
    module = rx.onnx.load(tmp_path / "f.onnx", engine="onnxruntime")
    x = np.ones((2, 6), np.float32)
    assert module.main(x, np.array(3)).shape == (2, 3, 2)
    for k in (4, 0, -1):
        with pytest.raises(rx.ShapeError, match="does not hold"):
            module.main(x, np.array(k))
    assert module.main(x, np.array(2)).shape == (2, 2, 3)
    monkeypatch.setattr(module._runner, "admit", lambda *_: pytest.fail("what it let in is known"))
    assert [module.main(x, np.array(k)).shape[1] for k in (3, 2)] == [3, 2]


def test_a_node_that_was_imported_gives_on_onnxruntime_what_it_gives_over_numpy_or_is_refused(tmp_path: Path) -> None:
    tried = 0
    for case in fuzz.cases("swept operators, onnxruntime"):
        with case as seed:
            node = FAMILIES[seed % len(FAMILIES)](Draw(seed))
            how = {"outputs": node.outputs, "opset": node.opset, "domain": node.domain, "version": node.version}
            made = one_node(node.op, node.inputs, **how, **node.attributes)
            one = OneNode(made, list(dict(listed(node.inputs)).values()), node.constants)
            try:
                plain = rx.load(one.write(tmp_path), allow_empty=True)
                there = runner("onnxruntime", plain._machine)
                assert there is not None
                there.prepare(["main"])
            except RxError:
                continue
            call = partial(there.call, plain.main._core, one.given)
            wanted = [outcome(lambda: plain.main(*one.given)), outcome(call)]  # noqa: B023
            assert len(wanted[0]) == len(wanted[1]) and all(map(same, *wanted)), (node, wanted)
            tried += 1
    assert tried > 10


def outcome(call: Callable[[], Any]) -> list[Any]:
    """What a model gives; nothing where it refuses."""
    try:
        with np.errstate(all="ignore"):
            found = call()
    except rx.ShapeError:
        return []
    return list(found) if isinstance(found, tuple) else [found]


def same(made: Any, wanted: Any) -> bool:
    near = (
        {2: (2e-2, 2e-2), 1: (0.3, 0.1)}.get(made.dtype.itemsize, (2e-3, 1e-4))
        if "float" in made.dtype.name
        else (0, 0)
    )
    is_like = (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    with np.errstate(all="ignore"):
        return is_like and np.allclose(made.astype(np.float64), wanted.astype(np.float64), *near, equal_nan=True)


def test_the_command_line_runs_the_model_itself(model: Path) -> None:
    run = [sys.executable, "-m", "rxlang", "run", str(model), "--engine", "onnxruntime"]
    right = subprocess.run(
        [*run, "--arg", "ids=int64[2,5]:zeros", "--arg", "mask=float32[2,5]:ones"], capture_output=True, text=True
    )
    assert right.returncode == 0 and "Tensor([2, 5, 8], float32)" in right.stdout, right.stderr
    wrong = subprocess.run(
        [*run, "--arg", "ids=int64[2,5]:zeros", "--arg", "mask=float32[2,4]:ones"], capture_output=True, text=True
    )
    assert wrong.returncode == 3 and "axis 1 of `mask`" in wrong.stderr and "onnxruntime" not in wrong.stderr


def test_a_model_that_was_imported_is_exported_again_with_its_contract_and_its_numbers(tmp_path: Path) -> None:
    path = ROOT / "examples" / "exported" / "gpt.onnx"
    module = rx.load(path)
    module.main.export(tmp_path / "again.onnx", checks="drop")
    again = rx.load(tmp_path / "again.onnx", engine="onnxruntime")
    for batch, time in ((2, 5), (1, 1), (0, 3), (3, 0), (1, 64)):
        ids = np.arange(batch * time).reshape(batch, time) % 31
        np.testing.assert_allclose(again.main(ids), module.main(ids), rtol=1e-4, atol=1e-5)
    with pytest.raises(rx.ShapeError, match="ids"):
        again.main(np.zeros((1, 65), np.int64))
