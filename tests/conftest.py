"""Goldens: a test compares a text with a file beside the tests; RX_ACCEPT=1 writes the file instead."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def golden() -> Callable[[Path, str], None]:
    """Compare a text with a golden file; a difference is shown with the command that accepts it."""

    def compare(path: Path, text: str) -> None:
        if os.environ.get("RX_ACCEPT"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        wanted = path.read_text() if path.exists() else ""
        diff = "".join(difflib.unified_diff(wanted.splitlines(True), text.splitlines(True), "golden", "now"))
        assert text == wanted, f"{path.name} differs; RX_ACCEPT=1 make test accepts it:\n{diff}"

    return compare
