"""The examples do what they show: each is checked, those that stand alone are run, and the tour ends well."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from support.places import ROOT

EXAMPLES = ROOT / "examples"
CACHE = ROOT / ".cache"
PROGRAMS = sorted(EXAMPLES.rglob("*.rx"))
WRONG = {"ff_wrong.rx": ["E301"], "draft.rx": ["W311", "W311"], "attention_wrong.rx": ["W311"]}
# The examples whose weights are trained, and the file that has them.
TRAINED = {"minilm": "model.safetensors", "vad": "silero_vad_16k_op15.onnx"}


def name(path: Path) -> str:
    return str(path.relative_to(EXAMPLES))


@cache
def checked(path: Path) -> rx.Report:
    folder = path.parent.name
    if folder in TRAINED and not has_weights(folder):
        pytest.skip("the weights are not there: `make weights` fetches them")
    return rx.check_source(path.read_text(encoding="utf-8"), filename=str(path), roots=[CACHE / folder])


def has_weights(example: str) -> bool:
    return (CACHE / example / TRAINED[example]).is_file()


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_the_example_is_accepted_or_rejected_as_it_says(path: Path) -> None:
    assert [d.code for d in checked(path).diagnostics] == WRONG.get(path.name, [])


@pytest.mark.parametrize("path", [p for p in PROGRAMS if p.name not in WRONG], ids=name)
def test_nothing_of_the_example_is_left_to_check_but_on_entry(path: Path) -> None:
    counts = checked(path).counts
    assert (counts.refuted, counts.residual) == (0, 0)
    assert counts.proved > 0


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_the_example_is_in_canonical_layout(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["fmt", "--check", str(path)]) == 0, capsys.readouterr()


def test_the_fast_flatten_adds_up_groups_of_four() -> None:
    x = np.arange(2 * 12, dtype=np.int8).reshape(2, 12)
    y = rx.load(EXAMPLES / "ff.rx").ff(x)
    assert y.dtype == np.int32
    assert y.tolist() == [6, 22, 38, 54, 70, 86]


@pytest.mark.parametrize("rows, columns", [(0, 8), (2, 0), (1, 4)])
def test_the_fast_flatten_takes_small_and_empty_tensors(rows: int, columns: int) -> None:
    y = rx.load(EXAMPLES / "ff.rx").ff(np.ones((rows, columns), np.int8))
    assert y.shape == (rows * columns // 4,)


def test_the_perceptron_computes_exclusive_or() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rxlang", "run", str(EXAMPLES / "mlp.rx")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout[done.stdout.index("y : Tensor([4, 1], float32)") :]
    assert [float(word.strip("[].,")) for word in last.split("=")[1].split()] == [0, 1, 1, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_perceptron_is_numpys(dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, w1, b1, w2, b2 = (rng.standard_normal(s).astype(dtype) for s in [(7, 2), (2, 5), (5,), (5, 3), (3,)])
    y = rx.load(EXAMPLES / "mlp.rx").mlp(x, w1, b1, w2, b2)
    np.testing.assert_allclose(y, np.maximum(x @ w1 + b1, 0) @ w2 + b2, rtol=1e-5)
    assert y.dtype == dtype


def gpt_block(x: np.ndarray, heads: int) -> np.ndarray:
    rng = np.random.default_rng(9)
    d = x.shape[-1]
    shapes = [(d,), (d, 3 * d), (d, d), (d,), (d, 4 * d), (4 * d, d)]
    weights = [rng.standard_normal(s).astype(np.float32) / 3 for s in shapes]
    return np.asarray(rx.load(EXAMPLES / "gpt.rx").block(x, *weights, heads))


@pytest.mark.parametrize("heads", [1, 3, 6])
def test_no_place_of_the_gpt_looks_at_a_later_one(heads: int) -> None:
    x = np.random.default_rng(4).standard_normal((2, 5, 6)).astype(np.float32)
    y = gpt_block(x, heads)
    for length in range(1, 5):
        np.testing.assert_allclose(gpt_block(x[:, :length], heads), y[:, :length], rtol=1e-4, atol=1e-5)
    assert not np.allclose(gpt_block(x[:, ::-1].copy(), heads)[:, ::-1], y, atol=1e-2)


def test_the_gpt_refuses_heads_that_do_not_divide_the_width() -> None:
    with pytest.raises(rx.ShapeError, match="@block needs `d % h == 0` to hold, but d is 6, h is 4"):
        gpt_block(np.zeros((1, 2, 6), np.float32), 4)


def tour(examples: Path) -> list[str]:
    """What the tour says, before the lines that end it."""
    offline = {**os.environ, "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        [sys.executable, str(examples / "tour.py")], capture_output=True, text=True, timeout=300, env=offline
    )
    assert done.returncode == 0, done.stdout
    shown, turn, after = done.stdout.partition("\n# Your turn: the command `rx` is ")
    assert turn and Path(examples.parent, after.split()[0]).exists() and "rx --help\n" in after
    assert done.stdout.count("\n") <= 120 and done.stdout.startswith("\n# Attention")
    return shown.splitlines()


def test_the_tour_ends_with_the_table_of_similarities_and_how_to_call_the_command() -> None:
    if not has_weights("minilm"):
        pytest.skip("the weights are not there: `make weights` fetches them")
    assert tour(EXAMPLES)[-1].endswith("1.000")


def test_the_tour_without_weights_says_last_that_it_left_the_encoder_out(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    assert tour(tmp_path / "examples")[-1].startswith("The sentence encoder was left out")
