"""The documents are true: their programs are checked, their commands are run and print what the document says.

A ```rx block is a program that `rx check` has to accept. An HTML comment before it says more:

    <!-- rx: ff.rx -->              later commands of the document find it under this name
    <!-- rx: wrong.rx rejected -->  it has to be rejected
    <!-- rx: fragment -->           part of a program: not checked

A ```console block holds commands after `$ ` (rx, python, cat), run in a folder of the document's own, each with what it
prints, errors included, with `examples/` beside it; a line `...` stands for any number of lines.
RX_ACCEPT=1 puts the real output into the document.
A ```python block is run, those of a document one after the other in one namespace, when its programs are there; with `>>>`
it is a session, and its output is compared. One of a name, like `<!-- rx: models.py -->`, is a file that commands find and
is not run otherwise. Other blocks are for reading.
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rxlang.cli.main import invoke
from rxlang.ops.registry import lookup, names as primitives
from support.listings import agrees, lines_of
from support.places import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
RUN = [d for d in DOCUMENTS if d.name != "errors.md"]  # test_diagnostics.py runs its pages
FENCE = re.compile(
    r"(?:^<!-- rx: (?P<says>[^>]*?) -->\n+)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMANDS = {"python": [sys.executable], "cat": ["cat"]}
HAS_TORCH = find_spec("torch") is not None
PLAIN = {"NO_COLOR": "1", "COLUMNS": "100"}


class Block(NamedTuple):
    kind: str
    text: str
    says: tuple[str, ...]
    line: int
    start: int


def blocks(text: str) -> list[Block]:
    return [
        Block(
            m["kind"],
            m["text"],
            tuple((m["says"] or "").split()),
            text.count("\n", 0, m.start("kind")) + 1,
            m.start("text"),
        )
        for m in FENCE.finditer(text)
    ]


class Done(NamedTuple):
    returncode: int
    stdout: str


def run(program: str, arguments: list[str], folder: Path) -> Done:
    """What a command prints, errors included; rx runs in this process."""
    if program == "rx":
        return run_rx(arguments, folder)
    done = subprocess.run(
        [*COMMANDS[program], *arguments], cwd=folder, env={**os.environ, **PLAIN}, text=True, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return Done(done.returncode, done.stdout)


def run_rx(arguments: list[str], folder: Path) -> Done:
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        for name, value in PLAIN.items():
            patch.setenv(name, value)
        return Done(invoke(arguments), said.getvalue())


def check_program(block: Block, folder: Path) -> None:
    if "fragment" in block.says:
        return
    name = next((word for word in block.says if word.endswith(".rx")), f"line{block.line}.rx")
    (folder / name).write_text(block.text, encoding="utf-8")
    done = run_rx(["check", name], folder)
    assert done.returncode == int("rejected" in block.says), f"line {block.line}:\n{done.stdout}"


def session(block: Block, folder: Path) -> str:
    """The block as it is when its commands are run: what is printed as expected stays as the document has it."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    return parts[0] + "".join(f"$ {answered(part, folder)}" for part in parts[1:])


def answered(part: str, folder: Path) -> str:
    command, _, expected = part.partition("\n")
    program, *arguments = shlex.split(command, comments=True)
    if not HAS_TORCH and any(".py:" in word for word in arguments):
        return part  # tried where PyTorch is: `make test-torch`
    printed = run(program, arguments, folder).stdout
    return part if agrees(printed, expected) else "\n".join([command, *lines_of(printed)]) + "\n"


def check_python(document: Path, folder: Path) -> None:
    """Run the document's Python, in a process of its own: what it registers and changes stays there."""
    lines = [
        f"import sys; sys.path[:0] = {[str(ROOT / 'tests'), str(Path(__file__).parent)]!r}",
        f"import pathlib, test_pages; sys.exit(test_pages.run_python(pathlib.Path({str(document)!r})) > 0)",
    ]
    done = run("python", ["-c", "\n".join(lines)], folder)
    assert done.returncode == 0, done.stdout


def run_python(document: Path) -> int:
    """How many examples of the document failed; each is printed. A block that is no session raises."""
    names: dict[str, Any] = {"__name__": "document"}
    failed = 0
    for block in blocks(document.read_text(encoding="utf-8")):
        if block.kind != "python" or block.says or (not HAS_TORCH and "import torch" in block.text):
            continue
        if ">>>" not in block.text:
            exec(compile(block.text, f"{document.name}, line {block.line}", "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block.text, names, document.name, str(document), block.line)
        failed += doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False).failed
        names.update(test.globs)
    return failed


@pytest.mark.parametrize("document", RUN, ids=lambda d: str(d.relative_to(ROOT)))
def test_what_the_document_shows_is_so(document: Path, tmp_path: Path) -> None:
    text = document.read_text(encoding="utf-8")
    if any(".onnx" in block.text for block in blocks(text) if block.kind in ("console", "python")):
        pytest.importorskip("onnx")
    if document.name == "engines.md":
        pytest.importorskip("onnxruntime")
    if document.name == "python-models.md":
        pytest.importorskip("torch")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shown, done = "", 0
    for block in blocks(text):
        if block.kind == "rx":
            check_program(block, tmp_path)
        elif block.kind == "python" and block.says:
            (tmp_path / block.says[0]).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            shown += text[done : block.start] + session(block, tmp_path)
            done = block.start + len(block.text)
    shown += text[done:]
    if "```python" in text:
        check_python(document, tmp_path)
    if os.environ.get("RX_ACCEPT"):
        document.write_text(shown, encoding="utf-8")
        text = shown
    assert text.count("\n```") % 2 == 0
    assert text == shown, f"{document.name} differs; RX_ACCEPT=1 make test accepts it:\n{difference(text, shown)}"


def difference(text: str, shown: str) -> str:
    return "".join(difflib.unified_diff(text.splitlines(True), shown.splitlines(True), "document", "now"))


def test_an_entry_of_the_changelog_is_short_or_has_a_program() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\*\*|#+ )", text)
    assert len(entries) > 60 and text.count("\n### ") > 5
    assert [entry for entry in entries if len(entry.strip().splitlines()) > 12 and "```" not in entry] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize(
    "printed, expected, same",
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\nb\nc\nd\n", "a\n...\nd\n", True),
        ("a\nd\n", "a\n...\nd\n", True),
        ("a\nb\n", "...\nb\n", True),
        ("a\n", "a\n...\n", True),
        ("a\nb\n", "...\nc\n", False),
        ("a  \n", "a\n", True),
    ],
)
def test_three_dots_stand_for_any_lines_and_nothing_else_does(printed: str, expected: str, same: bool) -> None:
    assert agrees(printed, expected) is same


def test_the_table_of_needs_is_what_the_rows_of_the_primitives_say() -> None:
    text = (ROOT / "simplify" / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `@(\w+)` \| `(\w+)` \| (\w+) \|$", text, re.MULTILINE)
    rows = [(name, *need) for name in primitives() for need in needs_of(name)]
    assert sorted(told) == sorted(rows)


def needs_of(name: str) -> list[tuple[str, str]]:
    row = lookup(name)
    assert row is not None
    return sorted(row.needs.items())
