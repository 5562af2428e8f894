"""The workflow, the hook and the settings of docs/existing-project.md, in a project as the page describes it."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support.in_ci import documented, scripts, steps_of, value
from support.places import ROOT

PAGE = "existing-project.md"
RIGHT = documented(PAGE, "rx", "@scores")
(WRITE,) = re.findall(r"^\$ (rx check .*--write-contract.*)$", documented(PAGE, "console", "--write"), re.M)
WRITE = WRITE.replace("examples/exported/", "")
WRONG = RIGHT.replace("@matrix_transpose(k)", "k")

pytest.importorskip("onnx")


class Project(NamedTuple):
    folder: Path
    environment: dict[str, str]

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", f"set -e\n{script}"]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The model with its contract, written as the page says, and a program in `shapes/`."""
    made = Project(tmp_path, scripts(tmp_path))
    shutil.copy(ROOT / "examples" / "exported" / "gpt.onnx", tmp_path)
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "scores.rx").write_text(RIGHT)
    assert made.run(WRITE).returncode == 0
    return made


def test_the_workflow_accepts_the_project_and_refuses_what_a_change_breaks(project: Project) -> None:
    install, *steps = steps_of(documented(PAGE, "yaml", "runs-on"))
    assert install == "pip install 'rxlang[onnx]'" and len(steps) == 2
    accepted = project.run("\n".join(steps))
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    (project.folder / "shapes" / "scores.rx").write_text(WRONG)
    refused = project.run("\n".join(steps))
    assert refused.returncode == 1 and "::error file=shapes/scores.rx,line=2," in refused.stdout
    contract = json.loads((project.folder / "gpt.json").read_text())
    (project.folder / "gpt.json").write_text(json.dumps({**contract, "conditions": []}))  # it accepted more
    refused = project.run(steps[0])
    assert refused.returncode == 1 and "::error file=gpt.onnx" in refused.stdout and "E250" in refused.stdout


@pytest.mark.parametrize(
    "settings", [documented(PAGE, "yaml", "repo: local"), (ROOT / ".pre-commit-hooks.yaml").read_text()]
)
def test_the_hook_refuses_a_commit_of_a_wrong_program(project: Project, settings: str) -> None:
    entry, files = value("entry", settings), value("files", settings)
    changed = [str(path.relative_to(project.folder)) for path in project.folder.rglob("*.*")]
    given = sorted(name for name in changed if re.search(files, name))
    assert value("id", settings) == "rx-check" and given == ["gpt.onnx", "shapes/scores.rx"]
    command = shlex.join([*shlex.split(entry), *given])
    if importlib.util.find_spec("pre_commit") is not None and "repo: local" in settings:
        (project.folder / ".pre-commit-config.yaml").write_text(settings)
        command = f"git init -q . && git add . && {shlex.quote(sys.executable)} -m pre_commit run --all-files"
    assert project.run(command).returncode == 0
    (project.folder / "shapes" / "scores.rx").write_text(WRONG.replace("[b, s, d]", "[b, d + 1, d]"))
    refused = project.run(command)
    assert refused.returncode == 1 and "shapes/scores.rx:2" in refused.stdout + refused.stderr


def test_the_settings_of_the_page_leave_the_workflow_as_it_is(project: Project) -> None:
    (project.folder / "pyproject.toml").write_text(documented(PAGE, "toml", "[tool.rx]"))
    (project.folder / "weights").mkdir()
    _, *steps = steps_of(documented(PAGE, "yaml", "runs-on"))
    assert project.run(steps[0]).returncode == 1  # the contract says more than what is given
    assert project.run("\n".join([WRITE, *steps])).returncode == 0
    with (project.folder / "pyproject.toml").open("a") as file:
        file.write("strict = true\n")
    contract, _ = steps
    assert project.run(contract).returncode == 1 and project.run(f"{contract} --no-strict").returncode == 0
