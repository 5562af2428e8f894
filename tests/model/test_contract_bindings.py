"""What the contract of a model accepts runs in onnxruntime, and what it refuses fails there, but for the rows of the table."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support import fuzz
from support.places import ROOT

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

sys.path.insert(0, str(ROOT / "benchmarks"))
BENCHMARK: Any = importlib.import_module("onnx_contracts")
MADE: dict[str, Any] = importlib.import_module("made_models").MADE
COUNT, NODES = fuzz.tries("contracts of bindings"), fuzz.tries("contracts of nodes")
SAMPLE = sorted(MADE)[:: max(1, 120 // COUNT)]


@pytest.mark.parametrize("name", SAMPLE)
def test_a_contract_is_what_onnxruntime_accepts(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.onnx"
    onnx.save(MADE[name](), path)
    score = BENCHMARK.measured(path, max(4, COUNT // 10), seed=COUNT)
    assert score.wrong == []
    assert score.ended["agreed"] > 0 and {"edge", "uniform"} <= set(score.tried)


def test_a_contract_of_a_node_is_what_onnxruntime_accepts(tmp_path: Path) -> None:
    paths = sorted(BENCHMARK.nodes("", tmp_path))
    for number, path in enumerate(Random(NODES).sample(paths, min(NODES, len(paths)))):
        assert BENCHMARK.measured(path, 4, seed=number).wrong == [], path.stem


def test_a_condition_too_much_or_too_little_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(MADE["frozen_batch"](), path)
    whole = BENCHMARK.Subject

    class Changed(whole):  # type: ignore[misc]
        change: Any

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.conditions = self.change(self.conditions)

    monkeypatch.setattr(BENCHMARK, "Subject", Changed)
    for change in (lambda conditions: [], lambda conditions: [*conditions, "b >= 2"], lambda conditions: ["b <= 1"]):
        Changed.change = staticmethod(change)
        assert BENCHMARK.measured(path, 8, seed=0).wrong


def test_every_row_of_the_benchmark_is_a_row_of_the_table() -> None:
    table = (ROOT / "docs" / "onnx-operators.md").read_text().partition("## Differences from onnxruntime")[2]
    told = {name for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for name in row.strip().split(", ")}
    assert {name for row in BENCHMARK.ROWS for name in row.operators} <= told
