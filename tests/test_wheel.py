"""What is shipped: the wheel holds the package and nothing else, and `rx` works where only the wheel is installed."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "tests", "examples", "benchmarks")

FF = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  let y = @reshape(@cast(x, int32), [n, m, 4])
  @reshape(@sum(y, axis=2), [n * m])
}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, and beside it the source distribution if `build` is installed, made from a copy of the sources without
    what an earlier build left behind."""
    work = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, work / "source", ignore=LEFT_OUT)
    pip = ["pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w"]
    tool = ["build", "--no-isolation", "--outdir"] if find_spec("build") else pip
    command = [sys.executable, "-m", *tool, str(work / "dist"), str(work / "source")]
    built = subprocess.run(command, capture_output=True, text=True, cwd=work)
    assert built.returncode == 0, built.stdout + built.stderr
    return next((work / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def rx(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `rx` of an environment that holds the wheel; other people's packages come from ours, by a path."""
    home = tmp_path_factory.mktemp("empty")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = ["-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index", "--no-compile"]
    installed = subprocess.run([sys.executable, *pip, str(wheel)], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    site = next(home.glob("lib*/python*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return home / "bin" / "rx"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    quiet = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd, env=quiet)


def test_the_wheel_holds_only_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"rxlang"}
    assert {"rxlang/py.typed", "rxlang/grammar/rx.lark"} <= set(names)
    assert not [n for n in names if n.split("/")[1] in {"tests", "examples", "docs", "benchmarks"}]


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def test_a_package_index_is_told_where_the_project_is(wheel: Path) -> None:
    told = metadata(wheel)
    assert told["Description-Content-Type"] == "text/markdown" and told["License-Expression"] == "Apache-2.0"
    assert told.get_all("Project-URL") == ["Homepage, https://pypi.org/project/rxlang/"]
    assert "Typing :: Typed" in (told.get_all("Classifier") or ())


def test_no_link_of_the_description_needs_the_project_beside_it(wheel: Path) -> None:
    told = metadata(wheel).get_payload(decode=True)
    assert isinstance(told, bytes) and told.startswith(b"# Rx\n") and b"\n## Start here\n" in told
    assert re.findall(rb"\]\((?!https?:|#)", told) == []


def test_links_of_the_description_lead_below_the_source() -> None:
    described = runpy.run_path(str(ROOT / "distribution" / "rx_backend.py"))["described"]
    text = "![A](docs/a.png) [docs](docs/onnx.md#fix), [there](https://x.org/y) and [here](#more)"
    absolute = (
        "![A](https://x/docs/a.png) [docs](https://x/docs/onnx.md#fix), [there](https://x.org/y) and [here](#more)"
    )
    assert described(text, "https://x") == absolute
    assert described(text, None) == "A docs, [there](https://x.org/y) and [here](#more)"


@pytest.mark.skipif(not (find_spec("build") and find_spec("twine")), reason="`build` or `twine` is not installed")
def test_both_distributions_are_built_and_twine_finds_nothing(wheel: Path) -> None:
    made = sorted(wheel.parent.iterdir())
    assert [path.name.partition("-")[2] for path in made] == ["0.1.0-py3-none-any.whl", "0.1.0.tar.gz"]
    twine = [sys.executable, "-m", "twine", "check", "--strict", *map(str, made)]
    checked = subprocess.run(twine, capture_output=True, text=True)
    assert checked.returncode == 0 and checked.stdout.count("PASSED") == 2, checked.stdout + checked.stderr


def statements(body: list[Any]) -> Iterator[ast.stmt]:
    """All statements, but for those that mypy alone reads."""
    for node in body:
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield node
            for name in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from statements(getattr(node, name, []))


def imported_packages(source: bytes) -> set[str]:
    """The top-level names of what a module imports from outside of its own package."""
    nodes = list(statements(ast.parse(source).body))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.split(".")[0] for name in whole | parts}


def test_the_wheel_requires_what_it_imports_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        asked = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra)", archive.read(metadata).decode(), re.MULTILINE)
        modules = [n for n in archive.namelist() if n.endswith(".py") and n != "rxlang/grammar/generate.py"]
        found = set().union(*(imported_packages(archive.read(name)) for name in modules))
    extras = {
        "sympy",
        "torch",
        "onnx",
        "google",
        "pygls",
        "lsprotocol",
        "pytest",
        "pygments",
        "IPython",
        "onnxruntime",
        "array_api_strict",
    }
    others = found - sys.stdlib_module_names - extras - {"rxlang"}
    # the extras say so where they are missing; pytest and Pygments load their own plugins
    assert {name.replace("-solver", "").replace("-", "_") for name in asked} == others


def test_the_installed_package_is_the_wheels(rx: Path, tmp_path: Path) -> None:
    where = run(rx.parent / "python", "-c", "import rxlang; print(rxlang.__file__)", cwd=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(rx.parents[1])


def test_rx_runs_a_program_from_the_wheel(rx: Path, tmp_path: Path) -> None:
    (tmp_path / "ff.rx").write_text(FF, encoding="utf-8")
    done = run(rx, "run", "ff.rx", "--call", "@ff", "--arg", "x=[[1, 2, 3, 4, 5, 6, 7, 8]]:int8", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[10, 26]" in done.stdout.replace("10 26", "10, 26")


def test_python_dash_m_explains_a_diagnostic_from_the_wheel(rx: Path, tmp_path: Path) -> None:
    done = run(rx.parent / "python", "-m", "rxlang", "explain", "E301", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# E301")
