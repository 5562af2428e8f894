"""The gated feed-forward block against the golden values of its NumPy original."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from support.places import ROOT

FFN = ROOT / "examples" / "ffn"


def run(golden: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FFN / "run.py"), "--golden", str(golden)],
        capture_output=True,
        text=True,
        cwd=golden.parent,
    )


def spoiled(tmp_path: Path, **changes: np.ndarray) -> Path:
    """The golden file with some arrays replaced."""
    with np.load(FFN / "golden.npz") as golden:
        arrays = {name: golden[name] for name in golden.files}
    path = tmp_path / "golden.npz"
    np.savez(path, **{**arrays, **changes})
    return path


def test_every_step_agrees_with_the_golden_file() -> None:
    done = run(FFN / "golden.npz")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == [f"step {k}" for k in range(6)]
    assert float(lines[-1].split()[2]) < 1e-4


def test_a_wrong_value_in_the_last_step_is_told_and_ends_with_status_1(tmp_path: Path) -> None:
    with np.load(FFN / "golden.npz") as golden:
        wrong = golden["y5"].copy()
    wrong[0, -1, -1] += 0.5
    done = run(spoiled(tmp_path, y5=wrong))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("largest difference 0.5 ")


def test_a_value_that_is_not_a_number_does_not_pass(tmp_path: Path) -> None:
    with np.load(FFN / "golden.npz") as golden:
        wrong = np.full_like(golden["y0"], np.nan)
    assert run(spoiled(tmp_path, y0=wrong)).returncode == 1


@pytest.mark.parametrize("length", [1, 2, 32])
def test_every_declared_length_runs(length: int) -> None:
    with np.load(FFN / "golden.npz") as golden:
        weights = {name[2:]: golden[name] for name in golden.files if name.startswith("w_")}
    x = np.ones((1, length, 64), np.float32)
    assert rx.load(FFN / "ffn.rx").ffn(x, **weights).shape == (1, length, 64)


@pytest.mark.parametrize("shape", [(1, 0, 64), (1, 33, 64), (2, 4, 64), (1, 4, 63), (4, 64)])
def test_what_the_signature_excludes_is_refused(shape: tuple[int, ...]) -> None:
    with np.load(FFN / "golden.npz") as golden:
        weights = {name[2:]: golden[name] for name in golden.files if name.startswith("w_")}
    with pytest.raises(rx.ShapeError):
        rx.load(FFN / "ffn.rx").ffn(np.ones(shape, np.float32), **weights)


def test_nothing_is_left_to_check_inside_the_block() -> None:
    assert rx.load(FFN / "ffn.rx").ffn.residual == ()
