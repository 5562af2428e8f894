"""A program whose weights are not there yet: its annotations are believed, and what is unknown stays apart."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from rxlang.pipeline import Report, check_text
from support.places import ROOT


def check(text: str) -> Report:
    return check_text(text, "a.rx", Path("."))


def codes(report: Report) -> list[str]:
    return [d.code for d in report.diagnostics]


def test_a_tuple_of_absent_weights_is_what_its_annotation_says() -> None:
    report = check("""type Pair = (Tensor([4], float32), Tensor([4, 2], float32))
const w : Pair = (load("none.npz", "a"), load("none.npz", "b"))
@takes = fn(x : Tensor([n, m], int64), pair : Pair) : Tensor([n, m], int64) { x }
@gives = fn(ids : Tensor([b, t], int64)) : Tensor([b, t], int64) { @takes(ids, w) }
""")
    assert codes(report) == ["W312", "N201"]
    assert report.counts.residual == report.counts.refuted == 0


def test_a_tuple_inside_a_tuple_is_believed_too() -> None:
    report = check("""const w : ((Tensor([4], float32), Tensor([4], float32)), Tensor([2], int8)) = (
  (load("none.npz", "a"), load("none.npz", "b")),
  load("none.npz", "c"),
)
@sum4 = fn(x : Tensor([n, 4], float32)) : Tensor([n, 4], float32) {
  let (pair, _c) = w
  let (a, b) = pair
  x + a + b
}
""")
    assert codes(report) == ["W312"]


@pytest.mark.parametrize("of", ["a", "b"])
def test_a_wrong_use_of_absent_weights_is_still_an_error(of: str) -> None:
    report = check(f"""const w : (Tensor([4], float32), Tensor([5], float32)) = (load("none.npz", "a"), load("none.npz", "b"))
@f = fn(x : Tensor([3], float32)) : Tensor([3], float32) {{
  let (a, b) = w
  x + {of}
}}
""")
    assert codes(report) == ["W312", "E306"]


def test_sizes_of_two_absent_weights_are_not_taken_for_one_another_nor_for_a_parameters() -> None:
    report = check("""const v : Tensor([_n], float32) = load("none.npz", "v")
const w : Tensor([_n], float32) = load("none.npz", "w")
const pair : (Tensor([_n], float32), Tensor) = (load("none.npz", "a"), load("none.npz", "b"))
@one = fn() : Tensor { @matmul(v, w) }
@two = fn(x : Tensor([n], float32)) : Tensor { @matmul(x, w) }
@three = fn(x : Tensor([n], float32)) : Tensor {
  let (a, b) = pair
  @matmul(x, a)
}
""")
    assert codes(report).count("W311") == 3
    assert report.counts.residual >= 3


def test_a_file_that_is_absent_is_told_once() -> None:
    model = ROOT / "examples" / "minilm" / "minilm.rx"
    report = check_text(model.read_text(encoding="utf-8"), model.name, model.parent)
    assert codes(report) == ["W312"]
    assert report.counts.residual == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_in_the_place_of_weights_is_called_one(linked: bool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "w.npy").symlink_to(tmp_path / "pipe.npy") if linked else os.rename(
        tmp_path / "pipe.npy", tmp_path / "w.npy"
    )
    report = check_text('const w : Tensor([3], float32) = load("w.npy")\n', "a.rx", tmp_path)
    assert [d.message for d in report.diagnostics] == ['"w.npy" is a pipe, which cannot be read twice']
    assert codes(report) == ["E242"] and not report.ok


def test_a_folder_in_the_place_of_weights_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "w.npy").mkdir()
    assert codes(check_text('const w : Tensor([3], float32) = load("w.npy")\n', "a.rx", tmp_path)) == ["W312"]
