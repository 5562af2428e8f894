"""Questions and programs with the truth beside each, in a folder beside the project: without it, what asks them is skipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
WRONG = CASES / "wrong"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file; the test is skipped where it is not there."""
    found = rows_if_there(name)
    if not found:
        pytest.skip(f"{name} is not beside the project")
    return found


def rows_if_there(name: str) -> list[dict[str, Any]]:
    path = CASES / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
