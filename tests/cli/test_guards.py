"""`rx check --guards`: every condition under which a plan, a branch or an implementation is chosen, and the place that asks."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from rxlang.cli.main import invoke
from support.places import ROOT

SCHEMA = json.loads((ROOT / "docs" / "schema" / "check.json").read_text())
PROGRAM = """@small = fn(x : Tensor([n, 2 * m], float32)) : Tensor([n, 2 * m], float32) where n <= 3 || m == 1 { x + 1.0 }
@any = fn(x : Tensor([*s], float32)) : Tensor([*s], float32) { x * 2.0 }
@sized = [@small, @any, @prelude.negative]
@f = fn(x : Tensor([n, k], float32), t : bool, j : Size) : Tensor {
  if (n > j) { @sized(x) } else { if (t) { x } else { x + 1.0 } }
}
@known = fn(x : Tensor([2, 2], float32)) : Tensor { if (x.dim(0) == 2) { @sized(x) } else { x } }
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("p.rx").write_text(PROGRAM)
    return "p.rx"


def guards(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    invoke(["check", *arguments, "--guards", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    chosen: list[dict[str, object]] = found["guards"]
    return chosen


def test_plans_branches_and_implementations_are_told_with_their_conditions(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = guards(capsys, program)
    told = [(g["kind"], g["function"], g["condition"], g["chosen"]) for g in found]
    assert ("plan", "@f", "the same x.shape, x.dtype, t.shape, t.dtype, j", "the plan of @f") in told
    assert ("plan", "@small", "x.dim(1) % 2 == 0", "a plan of @small") in told
    assert ("branch", "@f", "n > j", "the first arm") in told and ("branch", "@f", "t", "the first arm") in told
    members = [(c, chosen) for kind, function, c, chosen in told if kind == "implementation" and function == "@f"]
    assert [chosen for _, chosen in members] == ["@small for @sized", "@any for @sized", "@negative for @sized"]
    assert "(x.dim(0) <= 3 || x.dim(1) / 2 == 1)" in str(members[0][0])
    assert [c for kind, f, c, _ in told if f == "@sized"] == [c for c, _ in members]


def test_each_condition_has_the_place_that_asks(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = PROGRAM.splitlines()
    for guard in guards(capsys, program):
        span = guard["span"]
        assert isinstance(span, dict) and guard["file"] == program
        text = lines[span["line"] - 1][span["column"] - 1 :]
        if guard["kind"] == "branch":
            assert text.startswith(("n > j", "t)"))
        if guard["kind"] == "implementation":
            assert text.startswith("@sized")


def test_what_checking_has_decided_chooses_nothing(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert {g["kind"] for g in guards(capsys, program) if g["function"] == "@known"} == {"plan"}


def test_conditions_from_outside_are_among_them(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = guards(capsys, program, "--given", "@f: k % 8 == 0")
    assert [(g["file"], g["function"]) for g in found if g["condition"] == "x.dim(1) % 8 == 0"] == [("given", "@f")]


def test_zero_and_one_are_sizes_like_any_other(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.rx").write_text(
        "@q = fn(x : Tensor([n, m], float32), y : Tensor([m], float32)) : Tensor([n, m], float32) { x + y }\n"
    )
    conditions = {g["condition"] for g in guards(capsys, "q.rx")}
    assert conditions == {"the same x.shape, x.dtype, y.shape, y.dtype", "x.rank == 2", "x.dtype == float32", "y.rank == 1",
                          "y.dim(0) == x.dim(1)", "y.dtype == float32"}  # fmt: skip


def test_people_get_a_line_for_each(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", program, "--guards"]) == 0
    out = capsys.readouterr().out
    assert (
        "p.rx:5:7: @f: the first arm if n > j\n" in out and "p.rx:5:16: @f: @small for @sized if x.rank == 2 && " in out
    )
    assert invoke(["check", program]) == 0
    assert "the first arm" not in capsys.readouterr().out
    invoke(["check", program, "--format", "json"])
    assert "guards" not in json.loads(capsys.readouterr().out)
