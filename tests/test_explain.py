"""`rx check --explain`: what is known of a name, each fact with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang.cli.main import invoke

PROGRAM = """@f = fn(x : Tensor([n, d], float32), y : Tensor(?, float32)) : Tensor where d % 8 == 0, n <= 32 {
  assert n >= 2
  let z ! Tensor([k * 4, d], float32) = y
  let w = @filter(z, @greater(@sum(z, axis=1), 0.0))
  @concat([w, x], axis=0)
}
"""

CASES = {
    "n": ["n in @f: n  (f.rx:1:21)", "n is between 2 and 32", "n <= 32  (f.rx:1:89)", "n >= 2  (f.rx:2:10)"],
    "d": ["d is a multiple of 8", "d % 8 == 0  (f.rx:1:77)"],
    "z": ["z in @f: Tensor([k * 4, d], float32)", "axis 0 is k * 4  (f.rx:3:19)", "axis 1 is d  (f.rx:3:26)"],
    "w": ["w in @f: Tensor([?, d], float32)", "its size is decided by the run, at most k * 4"],
    "nowhere": ["no function knows a `nowhere`"],
}


@pytest.mark.parametrize("name", CASES)
def test_each_fact_is_told_with_its_place(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "f.rx", "--explain", name]) == 0
    printed = capsys.readouterr().out
    assert [line for line in CASES[name] if line not in printed] == []


def test_signatures_are_printed_to_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.rx").write_text("@f = fn(x : Tensor([n, m], float32)) : Tensor { @reshape(x, [n, 4, m // 4]) }\n")
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "f.rx", "--signature"]) == 0
    wanted = "@f = fn(x : Tensor([n, m], float32)) : Tensor([n, 4, m // 4], float32) where m % 4 == 0\n"
    assert wanted in capsys.readouterr().out
