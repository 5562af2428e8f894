"""Twelve mistakes, one for each family of checks: what checking says, and what a run says where no size is known before.

Both are goldens. A message names the operation and the operands, shows the shapes, says where the sizes come from and why they
do not fit, and offers a fix; whether the fix is right is tried here: with it the program is accepted, or runs.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.cli.main import invoke
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import with_helps
from support.places import TESTS

GOLDENS = TESTS / "goldens"
CHECKED, RUN = GOLDENS / "messages", GOLDENS / "messages_run"
NAMES = [path.stem for path in sorted(CHECKED.glob("*.rx"))]
# Unproved claims: an image may be as wide as there are channels, and one step may be left of three.
ON_SOME = {"broadcast", "slice"}
LONGEST = 14


def arguments(path: Path) -> list[str]:
    """What stands behind `# rx:` in the first line of a program: how it is to be run."""
    return shlex.split(path.read_text(encoding="utf-8").split("\n")[0].removeprefix("# rx:"))


def first_message(text: str) -> str:
    """What a run says of the failure, without the warnings of checking."""
    return text[text.index("error[") :]


def compare(path: Path, text: str) -> None:
    if os.environ.get("RX_ACCEPT"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"RX_ACCEPT=1 pytest {__file__} accepts it"
    assert max(map(len, text.split("\n"))) <= 100
    assert text.strip("\n").count("\n") < LONGEST


# Where nothing fits but a part of the data, only the author can say what is meant.
ONLY_WORDS = {"claim"}
FIXED = [name for name in NAMES if name not in ONLY_WORDS]


def test_there_are_twelve_of_both() -> None:
    assert len(NAMES) == 12
    assert [path.stem for path in sorted(RUN.glob("*.rx"))] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_checking_says(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(CHECKED)
    status = invoke(["check", f"{name}.rx"])
    text = capsys.readouterr().err
    compare(CHECKED / f"{name}.out", text[min(text.find(word) for word in ("error[", "warning[") if word in text) :])
    assert status == (name not in ON_SOME)
    said = " ".join(text.split())
    assert "this always fails" in said or "only on empty" in said or "only if" in said
    assert ("(checked)" in said) == (name not in ONLY_WORDS)


@pytest.mark.parametrize("name", FIXED)
def test_the_program_is_accepted_with_the_fix_that_is_offered(name: str) -> None:
    text = (CHECKED / f"{name}.rx").read_text(encoding="utf-8")
    report = with_helps(pipeline.check_text(text, f"{name}.rx", CHECKED), CHECKED)
    (wrong,) = [d for d in report.diagnostics if d.severity != "note"]
    after = pipeline.check_text(applied(text, wrong.edits), f"{name}.rx", CHECKED)
    assert wrong.edits and [d for d in after.diagnostics if d.severity != "note"] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_a_run_says(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(RUN)
    status = invoke(["run", f"{name}.rx", *arguments(RUN / f"{name}.rx")])
    text = first_message(capsys.readouterr().err)
    compare(RUN / f"{name}.out", text)
    assert status == 3
    assert text.startswith("error[R401]") and ("comes from here" in text or " is Tensor(" in text)
    assert ("(checked)" in text) == (name not in ONLY_WORDS)


@pytest.mark.parametrize("name", FIXED)
def test_a_run_goes_on_with_the_fix_that_it_offers(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An argument that is to be another one is passed as it is said; what is to be changed in the program is changed."""
    program, said = (RUN / f"{name}.rx").read_text(encoding="utf-8"), (RUN / f"{name}.out").read_text(encoding="utf-8")
    args = arguments(RUN / f"{name}.rx")
    passed = re.search(r"help: pass `(\w+)` as Tensor\(\[(.*)\], (\w+)\) \(checked\)", said)
    if passed is not None:
        start = f"{passed[1]}="
        args = [f"{start}{passed[3]}[{passed[2]}]:ones" if arg.startswith(start) else arg for arg in args]
    else:
        shown = re.search(r"help: [^`]*(?:`(\w+)`[^`]*)?: `([^`]+)`", said)
        assert shown is not None
        program = _changed(program, shown[2])
    path = tmp_path / f"{name}.rx"
    path.write_text(program, encoding="utf-8")
    assert invoke(["run", str(path), *args]) == 0, capsys.readouterr().err


def _changed(program: str, shown: str) -> str:
    """The program with the expression that stands where the fixed one belongs: the one that has the most in common."""
    lines = program.split("\n")
    callee = re.match(r"@?\w+", shown)
    assert callee is not None
    at = [i for i, line in enumerate(lines) if not line.startswith(("#", "@")) and _same_head(line, shown)]
    assert len(at) == 1, at
    head = "  let " + lines[at[0]].split("let ")[1].split(" = ")[0] + " = " if "let " in lines[at[0]] else "  "
    lines[at[0]] = head + shown
    return "\n".join(lines)


def _same_head(line: str, shown: str) -> bool:
    expression = line.split(" = ")[-1].strip()
    return expression[:8] == shown[:8]


# Fixes that say what was meant, in other programs than those above


@pytest.mark.parametrize(
    ("params", "result", "body", "wanted"),
    [
        (
            "x : Tensor([n, 60], float32)",
            "Tensor([n, 8, ?], float32)",
            "@reshape(x, [n, 8, 60 // 8])",
            "for the 8 are 6 and 10",
        ),
        (
            "q : Tensor([n, 6, 5], float32), k : Tensor([n, 2, 5], float32)",
            "Tensor([n, 6], float32)",
            '@einsum("nhd,nhd->nh", [q, k])',
            "repeat `k` 3 times along axis 1: `@repeat(k, 3, axis=1)`",
        ),
        (
            "x : Tensor([b, t, e], float32), w : Tensor([1, 3 * h, e], float32), r : Tensor([1, 3 * h, h], float32)",
            "Tensor([b, h], float32)",
            "let (_ys, last) = @gru(x, w, r)\n  last",
            'add `layout="batch_first"` to @gru and drop axis 1: `@squeeze(last, axis=1)`',
        ),
        (
            "x : Tensor([n, t], float32), y : Tensor([n, t], float32)",
            "Tensor([n, t - 2], float32) where t >= 4",
            "let a = @relu(x[:, 2:])\n  let b = y[:, :-3]\n  @tanh(a * b)",
            "write 2 for the 3 in line 3: `y[:, :-2]`",
        ),
        (
            "x : Tensor([t, d], float32), table : Tensor([t + 2, d], float32)",
            "Tensor([t, d], float32)",
            "table + x",
            "write t for the t + 2 in line 1: `[t, d]`",
        ),
    ],
)
def test_a_fix_says_what_was_meant(params: str, result: str, body: str, wanted: str) -> None:
    text = f"@f = fn({params}) : {result} {{\n  {body}\n}}\n"
    report = with_helps(pipeline.check_text(text, "case.rx", CHECKED), CHECKED)
    (wrong,) = [d for d in report.diagnostics if d.severity != "note"]
    assert wrong.help is not None and wanted in wrong.help
    after = pipeline.check_text(applied(text, wrong.edits), "case.rx", CHECKED)
    assert [d for d in after.diagnostics if d.severity != "note"] == []


def test_sums_over_axes_of_different_sizes_are_not_repeated() -> None:
    text = '@f = fn(q : Tensor([n, 6], float32), k : Tensor([n, 2], float32)) { @einsum("nd,nd->n", [q, k]) }\n'
    (wrong,) = with_helps(pipeline.check_text(text, "case.rx", CHECKED), CHECKED).diagnostics
    assert not any("repeat" in help_.text for help_ in wrong.helps)


def test_an_argument_that_is_too_long_is_not_cut() -> None:
    text = (
        "@f = fn(y : Tensor([m], int8), x : Tensor([n], int8)) : Tensor where n <= 7 { @concat([x, y]) }\n"
        "@g = fn(x : Tensor([9], int8)) : Tensor { @f(x, x) }\n"
    )
    (wrong,) = [
        d for d in with_helps(pipeline.check_text(text, "case.rx", CHECKED), CHECKED).diagnostics if d.code == "E309"
    ]
    assert not any("@slice" in help_.text for help_ in wrong.helps)
