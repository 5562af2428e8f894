"""The pages about diagnostics: each wrong program gets its code, each fix is accepted, and no code is without a page.

A page is cli/errors/CODE.md. A remark before a program says what it is: `wrong` gets the code, `right` does not, `run` asks
for the outcome of a run with the words that follow, and a file's name makes it a file that the next ones import.
"""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest
import rxlang as rx
from rxlang.cli.explain import page
from rxlang.cli.main import invoke
from rxlang.lang.codes import CODES
from support.places import ROOT

PAGES = ROOT / "cli" / "errors"
DOCUMENT = ROOT / "docs" / "errors.md"
BLOCK = re.compile(r"^<!-- rx: (?P<says>.*?) -->\n```rx\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# What takes no short program to show; the tests named after them do.
WITHOUT_WRONG_PROGRAM = {
    "E104",
    "E223",
    "E242",
    "E245",
    "E246",
    "E247",
    "E248",
    "E250",
    "E251",
    "E252",
    "E253",
    "E299",
    "E318",
    "N205",
    "N206",
    "N207",
    "N303",
    "N304",
    "R404",
    "R405",
    "W314",
}

PREFACE = """# Diagnostics

Every message of `rx` has a code, and every code a page: `rx explain CODE` shows it, and here they all are. Codes with an E
are errors, found before anything runs: E1 in the text, E2 in names, sorts and files, E3 in sizes and dtypes. With a W the
program is accepted, but something is left for when it runs; with an N there is something to know. Codes with an R are
what can still go wrong when a program runs.

## How to read one

```text
error[E305]: @matmul needs axis 1 of `h` (64) and axis 0 of `w` (32) to be equal: this always fails
  --> net.rx:6:3
 2 |   x : Tensor([B, 64], float32),
   |                  -- 64 comes from here
 3 |   w : Tensor([32, 10], float32),
   |               -- 32 comes from here
 6 |   @matmul(h, w)
   |   ^^^^^^^^^^^^^ `h` [ B, 64]
   |                      vv  ^^
   |                 `w` [32, 10]
   = help: write 64 for the 32 in line 3: `[64, 10]` (checked)
```

Each line has one purpose:

1. The headline: which operation needs which argument and axis to be what, their actual sizes, and the verdict. The operation
   *always fails*, *works only on empty tensors*, or is *checked at run time*, then with the condition under which it holds.
2. The place to edit. It is the operation that does not fit; or, if the best help changes another operation of the function
   and removes the message, that operation: *the mistake is likely here*.
3. The lines of the source that matter, each once. Under `-` stands the reason: where each size was written or which operation
   made it, which annotation asks for it and with which equation, through which calls it came. Under `^` stands the part to
   edit, with the shapes below each other; `^` and `v` point at the axes that do not fit.
4. `note`: the equation that fails with its reason, and the smallest sizes that show it.
5. `help`: a change that Rx tried on the program. It removes the message and adds no other. A warning that the error had
   hidden may appear: then the help says that it remains. A fix keeps the values: it arranges them otherwise (an axis, a
   transpose, `keepdims`, the order of arguments, an offset, a name of the same sort) or declares another size. It cuts nothing
   off, makes no tensor that the program writes itself larger or smaller, and casts no labels. It changes pads or strides only
   if the result is declared with its axes. `rx check --fix` applies the changes that leave no choice, and says for each other
   message why it was left: several fixes are possible, only the author can write a `where`, and so on. It adds no condition,
   changes no signature, removes no operation.

"""


def contents() -> str:
    headings = [f"{code}: {code.heading}" for code in CODES.values()]
    anchors = [re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return "".join(f"- [{h}](#{a})\n" for h, a in zip(headings, anchors, strict=True))


class Program(NamedTuple):
    says: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        return next((word for word in self.says if word.endswith(".rx")), "program.rx")

    @property
    def command(self) -> list[str]:
        if "run" not in self.says:
            return ["check", self.name]
        return ["run", self.name, *self.says[self.says.index("run") + 1 :]]


def programs(code: str) -> list[Program]:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    return [Program(tuple(m["says"].split()), m["text"]) for m in BLOCK.finditer(text)]


def outcome(program: Program, capsys: pytest.CaptureFixture[str]) -> tuple[int, set[str]]:
    """The exit status and the codes that were printed."""
    Path(program.name).write_text(program.text, encoding="utf-8")
    status = invoke(program.command)
    return status, set(re.findall(r"^(?:error|warning|note)\[(\w+)\]", capsys.readouterr().err, re.MULTILINE))


def is_part(program: Program) -> bool:
    return not {"wrong", "right"} & set(program.says)


@pytest.mark.parametrize("code", list(CODES))
def test_the_wrong_program_gets_the_code_and_the_fix_does_not(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for program in programs(code):
        if is_part(program):
            Path(program.name).write_text(program.text, encoding="utf-8")
    for program in programs(code):
        if is_part(program):
            continue
        status, found = outcome(program, capsys)
        if "wrong" in program.says:
            assert code in found, program.text
            assert status == {"E": 1, "R": 3}.get(code[0], 0), program.text
            assert not {other for other in found if other[0] == "E"} - {code}, program.text
        else:
            assert (status, found - {"N201"}) == (0, set()), program.text


@pytest.mark.parametrize("code", list(CODES))
def test_every_page_shows_a_wrong_program(code: str) -> None:
    shown = [word for program in programs(code) for word in program.says]
    assert ("wrong" in shown) != (code in WITHOUT_WRONG_PROGRAM)


@pytest.mark.parametrize("code", list(CODES))
def test_every_program_of_a_page_has_its_remark(code: str) -> None:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert text.count("```rx\n") == len(programs(code))
    assert text.startswith(f"# {code}: ")
    assert max(len(line) for line in text.split("\n")) <= 120


@pytest.mark.parametrize(
    "path", [path for path in sorted(PAGES.glob("*.md")) if ">>>" in path.read_text(encoding="utf-8")]
)
def test_python_sessions_print_what_the_page_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, path.stem, str(path), 0)
    report: list[str] = []
    outcome = doctest.DocTestRunner().run(test, out=report.append)
    assert (outcome.failed, outcome.attempted > 0) == (0, True), "".join(report)


def test_every_code_in_the_sources_has_a_page() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")}
    assert pages == set(CODES)
    rooms = ("lang", "desugar", "simplify", "interp", "frontends", "fixes", "cli", "ops")
    files = [*ROOT.glob("*.py"), *(f for room in rooms for f in (ROOT / room).rglob("*.py") if f.name != "codes.py")]
    assert {f.name for f in files if re.search(r'"[EWNR]\d{3}"', f.read_text(encoding="utf-8"))} == set()


def test_a_page_has_the_title_of_the_table() -> None:
    headings = {code: (PAGES / f"{code}.md").read_text(encoding="utf-8").partition("\n")[0] for code in CODES}
    assert headings == {code: f"# {code}: {code.heading}" for code in CODES.values()}


def test_the_document_is_made_of_the_pages() -> None:
    texts = [(PAGES / f"{code}.md").read_text(encoding="utf-8") for code in CODES]
    document = f"{PREFACE}{contents()}\n" + "\n".join("#" + text for text in texts)
    if os.environ.get("RX_ACCEPT"):
        DOCUMENT.write_text(document, encoding="utf-8")
    assert document == DOCUMENT.read_text(encoding="utf-8"), f"RX_ACCEPT=1 pytest {__file__} writes it anew"


def test_rx_explain_shows_the_page_without_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["explain", "e301"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# E301: ")
    assert "```rx\n" in text
    assert "<!--" not in text
    assert text == page("E301")


def test_rx_explain_without_a_code_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CODES)
    assert "E305  matrices that cannot be multiplied" in lines


@pytest.mark.parametrize("code", ["E999", "nonsense", "../errors", ""])
def test_rx_explain_of_no_code_is_wrong_usage(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["explain", code]) == 2
    assert "there is no diagnostic" in capsys.readouterr().err


@pytest.mark.parametrize("depth", [200, 10_000])
def test_deep_nesting_is_a_diagnostic_and_no_traceback(
    depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"@f = fn(x : Tensor([n], int32)) : Tensor([n], int32) {{ {'(' * depth}x{')' * depth} }}\n"
    status, found = outcome(Program((), text), capsys)
    assert status in (0, 1)
    assert found <= {"E104", "E223"}
    assert depth == 200 or found


def test_an_import_that_is_not_text_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("layers.rx").write_bytes(b"# \xff\xfe\n")
    status, found = outcome(Program((), 'import "layers.rx" as layers\n'), capsys)
    assert (status, found) == (1, {"E242"})


def test_a_python_value_of_the_wrong_kind_is_told_from_a_wrong_shape() -> None:
    module = rx.loads("@first = fn(k : Size, x : Tensor([n], int32)) : Tensor where k <= n { x[0:k] }")
    with pytest.raises(rx.ShapeError) as problem:
        module.first("two", None)
    assert problem.value.diagnostic.code == "R404"


def test_damaged_weights_are_told_from_missing_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.npy").write_bytes(b"no array at all")
    status, found = outcome(Program((), 'const w : Tensor([3], float32) = load("w.npy")\nlet y = w\n'), capsys)
    assert (status, found) == (1, {"E245"})
