"""What `rx run --stats` says of a model: the time of each operator and node, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("onnx")
from rxlang.cli.main import invoke  # noqa: E402
from support.hostile_models import model, node  # noqa: E402


def saved(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    nodes = (
        node("Relu", "x", "a", name="first"),
        node("Neg", "a", "b", name="second"),
        node("Relu", "b", "y", name="third"),
    )
    path.write_bytes(model(*nodes).SerializeToString())
    return path


def test_the_steps_of_a_run_are_told_by_operator_and_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", str(saved(tmp_path)), "--arg", "x=float32[2,3]:ones", "--stats"]) == 0
    said = capsys.readouterr().out
    operators, nodes = said.partition("operators:")[2].split("nodes:")
    assert "Relu: 2 times" in operators and "Neg: 1 time," in operators
    assert "node second (Neg): 1 time," in nodes


def test_the_same_is_written_as_json(tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    arguments = ["--arg", "x=float32[2,3]:ones", "--stats-json", str(file)]
    assert invoke(["run", str(saved(tmp_path)), *arguments]) == 0
    found = json.loads(file.read_text())
    calls = {row["name"]: row["calls"] for row in found["operators"]}
    assert (calls["Relu"], calls["Neg"]) == (2, 1) and all(row["ms"] >= 0 for row in found["nodes"])
    assert {"node first (Relu)", "node third (Relu)"} <= {row["name"] for row in found["nodes"]}


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--arg", "x=float32[2,3]:ones", "--stats-json", str(tmp_path / "no" / "stats.json")]
    assert invoke(["run", str(saved(tmp_path)), *arguments]) == 2
    assert "cannot write" in capsys.readouterr().err
