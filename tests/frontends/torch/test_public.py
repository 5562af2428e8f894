"""Models after public reports: what is said of each against what torch does at every point of a box."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from support.places import ROOT
from support.torch_cases import checked, holds, needs_torch

CASES = ROOT.parent / "shared" / "cases" / "python" / "public"
ROWS = [json.loads(row) for row in (CASES / "cases.jsonl").read_text().splitlines()] if CASES.exists() else []
needs_cases = pytest.mark.skipif(not ROWS, reason="the cases are not here")
WANTED = {"always": {"error"}, "some": {"error", "warning"}, "silent": {"error", "warning", "note"}}


def _found(row: dict[str, Any], version: str) -> Any:
    return checked(CASES, f"{row['file']}:{row[version]}", *(f"{k}={v}" for k, v in row["args"].items()))


def _points(row: dict[str, Any]) -> list[dict[str, int]]:
    return [dict(zip(row["box"], sizes, strict=True)) for sizes in product(*row["box"].values())]


@needs_torch
@needs_cases
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_right_version_has_its_contract_and_no_error(row: dict[str, Any]) -> None:
    found = _found(row, "good")
    assert [str(d) for d in found.report.diagnostics if d.severity == "error"] == []
    for point in _points(row):
        assert holds(found, point) == eval(row["good_contract"]["holds"], {}, dict(point)), point


@needs_torch
@needs_cases
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_fault_is_said_at_its_line(row: dict[str, Any]) -> None:
    found, good = _found(row, "bad"), _found(row, "good")
    told = [d for d in found.report.diagnostics if d.severity in WANTED[row["kind"]]]
    shared = {d.message for d in good.report.diagnostics}
    at = {d.span.line for d in told if d.message not in shared}
    if row["kind"] == "some" and found.contract is not None:
        refusing = [c for c in found.contract.conditions if any(not holds(found, p) for p in _points(row))]
        at |= {int(demand.node.rpartition(":")[2]) for clause in refusing for demand in clause.demands}
    assert at & set(row["accept"]), [str(d) for d in found.report.diagnostics]
    if found.contract is not None:
        for point in _points(row):
            assert holds(found, point) == eval(row["bad_contract"]["holds"], {}, dict(point)), point
