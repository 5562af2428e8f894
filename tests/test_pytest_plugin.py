"""The plugin tells which checks of doors no test reached, and which none saw fail; without its option doors do not count."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.doors.counting import Counts, lines

FILES = {
    "lib.py": """import rxlang as rx

@rx.checked("fn(x : Tensor([n, m * 4], float32), mask : Tensor([n], bool)) : Tensor([n], float32)")
def first(x, mask=None):
    return x[:, 0]

@rx.checked("fn(x : Tensor([n], e)) : Tensor([n], e)")
def never(x):
    return x
""",
    "conftest.py": "import lib\n",
    "test_lib.py": """import lib, numpy as np, pytest, rxlang as rx

def test_it_fits():
    assert lib.first(np.ones((3, 8), np.float32)).shape == (3,)

def test_it_does_not_fit():
    with pytest.raises(rx.ShapeError):
        lib.first(np.ones((3, 9), np.float32))
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *options: str) -> str:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "rxlang.doors.pytest_plugin",
        *options,
    ]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=folder, env=alone, capture_output=True, text=True, timeout=120, check=False
    ).stdout


UNREACHED = """no test reached:
  lib.py:3: @first: `[n]`, rank of `mask`
  lib.py:3: @first: `n`, axis 0 of `mask`
  lib.py:3: @first: `bool`, dtype of `mask`
  lib.py:7: @never: `[n]`, rank of `x`
"""
UNFAILED = """no test saw fail:
  lib.py:3: @first: `[n, m * 4]`, rank of `x`
  lib.py:3: @first: `float32`, dtype of `x`
  lib.py:3: @first: `[n]`, rank of the result of @first
"""


def test_what_was_not_reached_stands_apart_from_what_did_not_fail(folder: Path) -> None:
    said = run(folder, "--rx-checks")
    assert "13 checks at 2 doors: 6 reached, 1 seen to fail" in said and "2 passed" in said
    assert UNREACHED in said and UNFAILED in said
    assert "m * 4`, axis" not in said  # it was seen to fail


@pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_workers_count_together(folder: Path) -> None:
    said = run(folder, "-o", "rx_checks=true", "-p", "xdist", "-n", "1")
    assert "13 checks at 2 doors: 6 reached, 1 seen to fail" in said and UNREACHED in said


def test_nothing_is_told_unless_asked(folder: Path) -> None:
    said = run(folder)
    assert "2 passed" in said and "checks" not in said


def test_doors_count_only_while_they_are_asked_to() -> None:
    def third(x):
        return x[::3]

    door = rx.checked("fn(x : Tensor([n * 3], float32)) : Tensor([n], float32)")(third)
    before, x = door.__code__.co_code, np.ones(6, np.float32)
    counts = Counts(Path(__file__).parent)
    try:
        assert door.__code__.co_code != before
        later = rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")(third)
        row = rx.compose(door, rx.checked("fn(x : Tensor([n], float32))")(third))
        door(x), row(x)
        for wrong in (np.ones(7, np.float32), np.ones(6)):
            with pytest.raises(rx.ShapeError):
                door(wrong)
        with pytest.raises(rx.ShapeError):
            later(x)
        own = {r: c for r, c in counts.rows().items() if r.function == "third" and r.text == "n * 3"}
        assert list(own.values()) == [(4, 1)]
        assert any(failed for r, (_, failed) in counts.rows().items() if "result" in r.message)
        assert next(lines(counts.rows())).startswith(f"{len(counts.rows())} checks at ")
    finally:
        counts.end()
    assert door.__code__.co_code == before
    assert door(x).shape == (2,)
