"""Calls with known answers: everything proved, a check left for the run, or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rxlang import pipeline

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases" / "calls.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text().splitlines()] if CASES.exists() else []


def tensor(shape: list[Any]) -> str:
    return f"Tensor([{', '.join(str(d) for d in shape)}], float32)"


def program(row: dict[str, Any]) -> str:
    """The callee as a declaration, the caller with its sizes as parameters of at least 0."""
    sizes = sorted({n for shape in row["args"] for d in shape for n in re.findall(r"[A-Za-z_]\w*", str(d))})
    params = ", ".join(f"p{i} : {tensor(shape)}" for i, shape in enumerate(row["params"]))
    given = [f"{n} : Size" for n in sizes] + [f"a{i} : {tensor(shape)}" for i, shape in enumerate(row["args"])]
    where = " where " + ", ".join(f"{n} >= 0" for n in sizes) if sizes else ""
    call = ", ".join(f"a{i}" for i in range(len(row["args"])))
    return (
        f'extern @callee = fn({params}) : {tensor(row["ret"])} = "elsewhere:callee"\n'
        f"@main = fn({', '.join(given)}) : Tensor{where} {{\n  @callee({call})\n}}\n"
    )


def answer(text: str) -> str:
    report = pipeline.check_text(text, "call.rx", Path("."))
    assert not any(d.code < "E3" for d in report.diagnostics if d.severity == "error"), report.diagnostics
    if not report.ok:
        return "error"
    return "residual" if report.counts.residual else "ok"


@pytest.mark.skipif(not ROWS, reason="the folder with the cases is not beside the project")
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["id"])
def test_a_call_ends_as_expected(row: dict[str, Any]) -> None:
    assert answer(program(row)) == row["expect"], program(row)
