"""`rx check --explain`: what is known of a name, each fact with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rxlang.cli.main import invoke

LIBRARY = """@half = fn(x : Tensor([n, w], float32)) : Tensor([n, w // 2], float32) where w % 2 == 0, n <= 64 {
  let (a, _b) = @split(x, sections=2, axis=1)
  a
}
"""
PROGRAM = """import "lib.rx" as lib
const width : Size = 64
@f = fn(x : Tensor([n, d], float32), y : Tensor(?, float32)) : Tensor where d % 8 == 0, n <= 32 {
  assert n >= 2
  let z ! Tensor([k * 4, d], float32) = y
  let w = @filter(z, @greater(@sum(z, axis=1), 0.0))
  @concat([w, x], axis=0)
}
@g = fn(x : Tensor([n, d], float32), count : Tensor([], int64)) : Tensor where d % 8 == 0 {
  let rows = @item(count)
  assert rows >= 1 && rows <= n
  let top = x[0:rows, :]
  let grown = if (n == 4) {
    let twice = @concat([x, x], axis=0)
    twice
  } else { x }
  let less : Size = d // 4
  @lib.half(x)
}
"""

CASES = {
    "n": [
        "n in @f: n  (f.rx:3:21)",
        "  n is between 2 and 32",
        "  n <= 32  (f.rx:3:89)",
        "  n >= 2  (f.rx:4:10)",
        "n in @lib.half: n  (lib.rx:1:24)",
        "  n is at most 64",
    ],
    "d": ["  d is a multiple of 8", "  d % 8 == 0  (f.rx:3:77)"],
    "z": ["z in @f: Tensor([k * 4, d], float32)", "  axis 0 is k * 4  (f.rx:5:19)", "  axis 1 is d  (f.rx:5:26)"],
    "w": ["w in @f: Tensor([?, d], float32)", "  axis 0 is decided by the run, at most k * 4  (f.rx:6:11)"],
    "rows": ["rows in @g: rows  (f.rx:10:14)", "  rows is at least 1", "  n >= rows  (f.rx:11:10)"],
    "top": ["top in @g: Tensor([rows, d], float32)"],
    "grown": ["  axis 0 is decided by the run: n * 2 if n == 4, n if n != 4  (f.rx:13:15)"],
    "twice": ["twice in @g: Tensor([n * 2, d], float32)  (f.rx:14:17)", "  n is 4", "  n == 4  (f.rx:13:19)"],
    "less": ["less in @g: d // 4  (f.rx:17:21)"],
    "width": ["width in the program: 64  (f.rx:2:1)"],
    "nowhere": ["no function knows a `nowhere`; known are "],
    "widht": ["no function knows a `widht`; is `width` meant?"],
    "half": ["@lib.half is a function: `--signature` tells of it, `--explain` of sizes and bindings"],
}


@pytest.mark.parametrize("name", CASES)
def test_each_fact_is_told_with_its_place(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text(PROGRAM)
    (tmp_path / "lib.rx").write_text(LIBRARY)
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "f.rx", "--explain", name]) == 0
    printed = capsys.readouterr().out
    assert [line for line in CASES[name] if line not in printed] == [], printed
    assert "?item" not in printed and "= ?" not in printed


def test_a_name_that_one_of_many_files_has_is_explained_and_no_more_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text(PROGRAM)
    (tmp_path / "lib.rx").write_text(LIBRARY)
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", ".", "--explain", "width"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["width in the program: 64  (f.rx:2:1)"]


def test_json_is_one_object_whatever_else_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lib.rx").write_text(LIBRARY)
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "lib.rx", "--format", "json", "--signature", "--explain", "w", "--stats"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["files"] == ["lib.rx"]
    assert "@half = fn(" in printed.err and "w in @half" in printed.err


def test_signatures_are_printed_to_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text("@f = fn(x : Tensor([n, m], float32)) : Tensor { @reshape(x, [n, 4, m // 4]) }\n")
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "f.rx", "--signature"]) == 0
    wanted = "@f = fn(x : Tensor([n, m], float32)) : Tensor([n, 4, m // 4], float32) where m % 4 == 0"
    wanted += "  # sufficient: some empty tensors pass without it\n"
    assert wanted in capsys.readouterr().out


def test_names_inside_a_function_value_are_known_and_those_that_nobody_wrote_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text(
        "@f = fn(x : Tensor([n], float32)) : Tensor {\n"
        "  let g = fn(z : Tensor([n], float32)) : Tensor([n], float32) { let w = z + z; w }\n"
        "  let k : Size = @relu(x).dim(0)\n  assert k >= 1\n  g(x)\n}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "f.rx", "--explain", "z"]) == 0
    assert "z in @f: Tensor([n], float32)  (f.rx:2:11)\n  axis 0 is n  (f.rx:2:26)" in capsys.readouterr().out
    assert invoke(["check", "f.rx", "--explain", "out"]) == 0
    assert "no function knows a `out`; known are x, n, g, z, w, k\n" in capsys.readouterr().out
    assert invoke(["shapes", "f.rx"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == [*"xngzwk", "result"]


def test_a_call_of_a_function_value_leaves_the_records_of_its_caller_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text(
        "@f = fn(x : Tensor([n], float32)) : Tensor {\n"
        "  let g = fn(z : Tensor([m], float32)) : Tensor([m], float32) { let w ! Tensor([m], float32) = z; w }\n"
        "  let z = @concat([x, x], axis=0)\n  let w = @concat([x, z], axis=0)\n  let k = g(x)\n  w\n}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert invoke(["shapes", "f.rx"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[6:9] == ["z : Tensor([n * 2], float32)", "w : Tensor([n * 3], float32)", "k : Tensor([n], float32)"]


def test_the_sizes_of_a_tuples_parts_are_known_and_spelled_as_the_program_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text(
        "@f = fn(x : Tensor([*s, i], float32), p : (Tensor([i, o], float32), Tensor([o], float32))) "
        ": Tensor([*s, o], float32) {\n  @matmul(x, p[0]) + p[1]\n}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "f.rx", "--explain", "d"]) == 0
    assert "no function knows a `d`; known are x, p, i, o\n" in capsys.readouterr().out
    assert invoke(["check", "f.rx", "--explain", "o"]) == 0
    assert "o == p[1].dim(0)  (f.rx:1:77)\n" in capsys.readouterr().out
