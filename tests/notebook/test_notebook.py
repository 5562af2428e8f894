"""Programs in cells of a notebook: what a cell makes, what is said of it, and what values look like there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.lang import codes
from rxlang.lang.diagnostics import RxError, error
from rxlang.lang.source import Source, Span
from support.places import ROOT

FF = "@ff = fn(x : Tensor([n, m * 4], int32)) : Tensor([n], int32) {\n  @sum(x, axis=1)\n}\n"
WRONG = "@f = fn(x : Tensor([n, 3], float32)) {\n  @matmul(x, @zeros([5, 7], float32))\n}\n"
OPEN = "@f = fn(x : Tensor([n, k], float32)) : Tensor([k, n], float32) {\n  x\n}\n"
HOSTILE = (
    '@f = fn(x : Tensor([n], float32)) { # </pre><script>alert("1")</script>&amp;\u202e\n  y </pre><img src=x>\n}\n'
)


class Page(HTMLParser):
    """The tags and the visible text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags[-1][0] != "style":
            self.text += data


def plain(value: Any) -> str:
    return value._repr_mimebundle_()["text/plain"]


def raised(text: str, **arguments: Any) -> Exception:
    """What loading a program, or calling its @f, raises."""
    with pytest.raises((rx.CheckError, rx.ShapeError)) as caught:
        module = rx.loads(text)
        module.f(**arguments)
    return caught.value


def values() -> dict[str, Any]:
    module = rx.loads(FF)
    span = Span(Source("<b>", "</pre><script>"), 0, 6)
    return {
        "module": module,
        "function": module.ff,
        "open function": rx.loads(OPEN).f,
        "report": rx.check_source(WRONG),
        "report of nothing": rx.check_source(""),
        "hostile report": rx.check_source(HOSTILE, "<script>"),
        "diagnostic": rx.check_source(WRONG).diagnostics[0],
        "CheckError": raised(WRONG),
        "hostile CheckError": raised(HOSTILE),
        "ShapeError": raised(OPEN, x=np.zeros((2, 3), np.float32)),
        "RxError": RxError(error(codes.E101, "<script>alert(1)</script>", span)),
        "size": rx.Size("n * 4 // 3"),
        "shapes": module.ff.shapes(x=("k", 16)),
    }


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    return values()


KINDS = list(values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_html_of_known_tags_that_reads_as_its_plain_text(kind: str, shown: dict[str, Any]) -> None:
    page, said = Page(shown[kind]._repr_html_()), plain(shown[kind])
    assert {tag for tag, _ in page.tags} <= {"div", "style", "pre", "span"}
    assert {name for _, attributes in page.tags for name in attributes} <= {"class"}
    assert [line.rstrip() for line in page.text.split("\n")] == said.split("\n")
    assert said and "\u202e" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_the_styles_are_inside_and_have_a_dark_mode_and_every_class_is_one_of_theirs(
    kind: str, shown: dict[str, Any]
) -> None:
    html = shown[kind]._repr_html_()
    style = html.split("<style>")[1].split("</style>")[0]
    classes = {attributes["class"] for tag, attributes in Page(html).tags if tag == "span"}
    assert all(f".{name}{{" in style or f".{name}," in style for name in classes)
    assert "url(" not in style and "@import" not in style
    used, colours = (
        set(re.findall(r"var\((--[\w-]+)\)", style)),
        re.findall(r"([^{}]*)\{((?:--[\w-]+:#\w{6};?)+)\}", style),
    )
    assert all(set(re.findall(r"--[\w-]+", said)) == used for _, said in colours)
    light, by_system, chosen_light, chosen_dark = (said for _, said in colours)
    assert light == chosen_light != chosen_dark == by_system
    wheres = [where for where, _ in colours]
    assert "prefers-color-scheme:dark" in style.split(by_system)[0] and wheres[:2] == [".rxlang", ".rxlang"]
    assert "[data-jp-theme-light=true]" in wheres[2] and "[data-jp-theme-light=false]" in wheres[3]


def test_the_plain_text_of_a_report_and_an_error_is_what_rx_check_prints(shown: dict[str, Any]) -> None:
    for kind in ("report", "hostile report", "CheckError", "ShapeError"):
        assert plain(shown[kind]) == str(shown[kind])


def test_shapes_show_the_conditions_under_which_they_hold() -> None:
    module = rx.loads("@f = fn(x : Tensor([n, 2], float32)) where n >= 3 { (x, @reshape(x, [n * 2])) }")
    first, *conditions = plain(module.f.shapes(x=("k", 2))).split("\n")
    assert first == "([k, 2], [k * 2])"
    assert any(line.startswith("  if ") and "k" in line for line in conditions)


def test_a_module_of_many_functions_shows_some_and_how_many_more() -> None:
    text = "".join(f"@f{i} = fn(x : Tensor([n], float32)) {{ x }}\n" for i in range(53))
    page = Page(rx.loads(text)._repr_html_())
    assert page.text.count("@f") == 50 and page.text.endswith("and 3 functions more")


# Magics


class Shell:
    """A shell of IPython with what it showed."""

    def __init__(self) -> None:
        from IPython.core.displaypub import CapturingDisplayPublisher
        from IPython.core.interactiveshell import InteractiveShell

        self.shell = InteractiveShell()
        self.names = self.shell.user_ns
        self.shell.display_pub = CapturingDisplayPublisher()
        self.run("%load_ext rxlang")

    def run(self, text: str) -> str:
        """What a cell shows, as plain text; what it prints behind it."""
        self.shell.display_pub.outputs.clear()
        with redirect_stdout(StringIO()) as printed, redirect_stderr(printed):
            self.result = self.shell.run_cell(text)
        shown = [output["data"] for output in self.shell.display_pub.outputs]
        self.html = [data["text/html"] for data in shown]
        return "\n".join([*(data["text/plain"] for data in shown), printed.getvalue()])


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    pytest.importorskip("IPython", reason="the magics need IPython")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    made = Shell()
    yield made
    made.shell.history_manager.end_session()


def test_a_cell_is_a_program_whose_functions_are_those_of_its_module(shell: Shell) -> None:
    said = shell.run(f"%%rx net\n{FF}")
    assert "<net>: ok: " in said and "`net` is the module of:\n@ff = fn(" in said and "rxlang" in shell.html[0]
    shell.run("import numpy as np\nanswer = net.ff(np.ones((2, 8), np.int32))")
    assert shell.names["answer"].tolist() == [8, 8]


def test_a_cell_without_a_name_says_which_one_it_takes(shell: Shell) -> None:
    assert "`program` is the module of:" in shell.run(f"%%rx\n{FF}")
    assert isinstance(shell.names["program"], type(rx.loads(FF)))


@pytest.mark.parametrize(
    "text", [WRONG, HOSTILE, "@f = fn(", "", "\x00\u202e", 'const w = @load("none.npy") : Tensor([2], int8)\n']
)
def test_no_program_raises_in_a_cell_and_an_empty_one_neither(shell: Shell, text: str) -> None:
    said = shell.run(f"%%rx net --strict\n{text}\n")
    assert shell.result.success and "Traceback" not in said and "<net>: " in said
    assert ("net" in shell.names) == ("is the module of" in said)


def test_a_rejected_program_takes_the_module_of_the_cell_before_away(shell: Shell) -> None:
    shell.run(f"%%rx net\n{FF}")
    said = shell.run(f"%%rx net\n{WRONG}")
    assert "error[E" in said and "`net` is no module" in said and "net" not in shell.names


def test_a_rejected_program_leaves_what_no_cell_made(shell: Shell) -> None:
    shell.run("net = 5")
    shell.run(f"%%rx net\n{WRONG}")
    assert shell.names["net"] == 5


def test_strict_and_given_are_those_of_rx_check(shell: Shell) -> None:
    claim = "@f = fn(x : Tensor([n, k], float32)) : Tensor([k, n], float32) { x }\n"
    assert "warning[" in shell.run(f"%%rx net\n{claim}") and "net" in shell.names
    assert "error[" in shell.run(f"%%rx net --strict\n{claim}") and "net" not in shell.names
    assert "warning" not in shell.run(f'%%rx net --given "@f: n == k"\n{claim}') and "net" in shell.names


def test_imports_are_read_below_the_folder_and_the_roots(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "lib.rx").write_text(FF, encoding="utf-8")
    using = "@g = fn(x : Tensor([n, 8], int32)) { @lib.ff(x) }\n"
    assert "is the module of" in shell.run(f'%%rx a\nimport "more/lib.rx" as lib\n{using}')
    assert "is no module" in shell.run(f'%%rx b\nimport "lib.rx" as lib\n{using}')
    assert "is the module of" in shell.run(f'%%rx b --root more\nimport "lib.rx" as lib\n{using}')


@pytest.mark.parametrize(
    "line",
    [
        "%%rx 1x",
        "%%rx class",
        "%%rx a b",
        "%%rx --no-such",
        "%%rx 'open",
        "%%rx --root no/such/folder",
        '%%rx --given "n"',
        '%%rx --given "@g: n == 1"',
    ],
)
def test_a_line_that_cannot_be_meant_is_told_in_a_line_without_traceback(shell: Shell, line: str) -> None:
    said = shell.run(f"{line}\n{FF}")
    assert "UsageError" in said and "Traceback" not in said and "program" not in shell.names


@pytest.mark.parametrize("name", ["ff", "@ff", "net.ff", "net", "", "f"])
def test_shapes_are_the_listing_of_rx_shapes(shell: Shell, name: str) -> None:
    shell.run(f"%%rx net\n{FF}")
    shell.run("f = net.ff")
    said = shell.run(f"%rx shapes {name}")
    assert (
        said.startswith("@ff\n")
        and "x      : Tensor([n, m * 4], int32)" in said
        and "result : Tensor([n], int32)" in said
    )


def test_shapes_are_told_of_what_was_loaded_and_of_a_rejected_program(shell: Shell) -> None:
    shell.names["other"] = rx.loads(FF)
    assert shell.run("%rx shapes other.ff").startswith("@ff\n")
    shell.run(f"%%rx net\n{WRONG}")
    assert shell.run("%rx shapes f").startswith("@f\n")


@pytest.mark.parametrize(
    "line", ["%rx", "%rx shapes nothing", "%rx shapes net.g", "%rx check other", "%rx shapes ff ff", "%rx paint"]
)
def test_a_question_without_an_answer_says_what_there_is(shell: Shell, line: str) -> None:
    shell.run(f"%%rx net\n{FF}")
    said = shell.run(line)
    assert "UsageError" in said and "Traceback" not in said


def test_before_any_cell_a_question_says_so(shell: Shell) -> None:
    for line in ("%rx shapes", "%rx shapes f", "%rx check"):
        assert "no cell with %%rx was run" in shell.run(line)


def test_check_says_once_more_what_was_said(shell: Shell) -> None:
    first = shell.run(f"%%rx net\n{WRONG}")
    again = shell.run("%rx check net").strip()
    assert again and first.startswith(again) and shell.run("%rx check").strip() == again


def test_ipython_shows_values_by_their_own_text_and_html(shell: Shell) -> None:
    shell.names.update(values())
    for name in KINDS:
        found, _ = shell.shell.display_formatter.format(shell.names[name])
        assert found == {"text/plain": plain(shell.names[name]), "text/html": shell.names[name]._repr_html_()}


def test_what_only_checks_or_loads_imports_no_ipython() -> None:
    code = f"import sys, rxlang; rxlang.loads({FF!r})._repr_html_(); print('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


# The notebook of the documentation


def test_the_notebook_of_the_documentation_runs_from_top_to_bottom(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="running a notebook needs nbclient")
    pytest.importorskip("ipykernel", reason="running a notebook needs ipykernel")
    nbformat = pytest.importorskip("nbformat", reason="running a notebook needs nbformat")
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    kept = [outputs_of(cell) for cell in notebook.cells]
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert [outputs_of(cell) for cell in notebook.cells] == kept


def outputs_of(cell: Any) -> list[str]:
    """What a cell shows, as plain text."""
    outputs = cell.get("outputs", [])
    return [o["text"] if o["output_type"] == "stream" else o.get("data", {}).get("text/plain", "") for o in outputs]
