"""`[tool.rx]` of the nearest pyproject.toml: the defaults of `rx check`, over which the command line wins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rxlang.cli.main import invoke
from support.places import ROOT

UNPROVED = "@f = fn(x : Tensor([n, m], int8)) : Tensor([n, 4], int8) { x }\n"
EMPTY = "@f = fn(x : Tensor([n, 15], int32)) : Tensor([n, 4, 4], int32) { @reshape(x, [n, 4, 4]) }\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "uncertain.rx").write_text(UNPROVED)
    (tmp_path / "empty.rx").write_text(EMPTY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(f'[project]\nname = "rx"\n\n{text}')


def test_strict_is_set_for_a_project_and_the_command_line_wins(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke(["check", "uncertain.rx"]) == 0
    settings(project, "[tool.rx]\nstrict = true\n")
    assert invoke(["check", "uncertain.rx"]) == 1
    assert invoke(["check", "--no-strict", "uncertain.rx"]) == 0
    monkeypatch.chdir(project / "inner")
    (project / "inner" / "pyproject.toml").write_text('[project]\nname = "inner"\n')  # has no such table
    assert invoke(["check", "../uncertain.rx"]) == 1


def test_empty_tensors_may_be_allowed(project: Path) -> None:
    settings(project, "[tool.rx]\nallow-empty = true\n")
    assert (invoke(["check", "empty.rx"]), invoke(["check", "--no-allow-empty", "empty.rx"])) == (0, 1)


def test_what_is_given_holds_where_it_meets_something(project: Path) -> None:
    settings(project, '[tool.rx]\nstrict = true\ngiven = ["@*: m == 4", "@*: k >= 1"]\n')
    assert invoke(["check", "uncertain.rx"]) == 0
    assert invoke(["check", "uncertain.rx", "--given", "@f: n >= 1"]) == 1  # the command line has its own
    assert invoke(["check", "uncertain.rx", "--given", "@*: k >= 1"]) == 2


def test_what_is_given_of_sizes_that_a_model_has_not_is_passed_over(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnx")
    model = "gpt.onnx"
    (project / model).write_bytes((ROOT / "examples" / "exported" / model).read_bytes())
    assert invoke(["check", model, "--write-contract", "gpt.json"]) == 0
    settings(project, '[tool.rx]\ngiven = ["@*: b >= 1, batch >= 2"]\n')
    capsys.readouterr()
    assert invoke(["check", model]) == 0
    assert capsys.readouterr().out.startswith("gpt.onnx accepts, where batch >= 2\n")
    settings(project, '[tool.rx]\ngiven = ["@*: b >= 1"]\n')
    assert invoke(["check", model, "--expect", "gpt.json"]) == 0  # the model is as it was


def test_a_root_that_is_no_folder_is_told_with_the_file_that_names_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(project, '[tool.rx]\nroots = ["weights"]\n')
    assert invoke(["check", "uncertain.rx"]) == 2
    said = capsys.readouterr().err
    assert "pyproject.toml" in said and "roots names" in said and "not a folder" in said


def test_roots_are_below_the_file_that_names_them(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "lib").mkdir()
    (project / "lib" / "one.rx").write_text("@one = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x }\n")
    (project / "inner" / "uses.rx").write_text('import "../lib/one.rx" as one\n')
    monkeypatch.chdir(project / "inner")
    assert invoke(["check", "uses.rx"]) == 1
    settings(project, '[tool.rx]\nroots = ["lib"]\n')
    assert invoke(["check", "uses.rx"]) == 0


@pytest.mark.parametrize(
    "text, said",
    [
        ("[tool.rx]\nstrickt = true\n", "[tool.rx] has no 'strickt'; it has strict, allow-empty, roots, given"),
        ('[tool.rx]\nstrict = "yes"\n', "strict is true or false"),
        ('[tool.rx]\ngiven = "n >= 1"\n', "given is a list of texts"),
        ("[tool]\nrx = 3\n", "tool.rx is no table"),
        ("[tool.rx\n", "cannot read"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(
    project: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(project, text)
    assert invoke(["check", "uncertain.rx"]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and "pyproject.toml" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(project: Path, shell: str) -> None:
    (project / "pyproject.toml").write_text("[tool.rx\n")  # says nothing here

    def completed(*words: str) -> str:
        asked = {"_RX_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": words[-1]}
        asked |= {} if shell == "fish" else {"COMP_CWORD": str(len(words) - 1)}
        return output(asked)

    def output(asked: dict[str, str]) -> str:
        program = "from rxlang.cli.start import main; import sys; sys.argv = ['rx']; main()"
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, **asked}, cwd=project, capture_output=True, text=True
        )
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout

    assert "check" in completed("rx", "ch") and "--signature" in completed("rx", "check", "--sig")
    assert "_RX_COMPLETE" in output({"_RX_COMPLETE": f"{shell}_source"})
