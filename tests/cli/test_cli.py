"""The command line: what goes to which stream, exit statuses, what is read, and what is not imported."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rxlang.cli import files, terminal
from rxlang.cli.files import Unusable, replace_file
from rxlang.cli.main import COMMANDS, invoke
from rxlang.lang.cells import columns
from rxlang.lang.checked import Counts
from rxlang.lang.diagnostics import error, warning
from rxlang.lang.files import MAX_TEXT
from rxlang.lang.source import Source, Span
from rxlang.lang.summary import summary
from support.places import ROOT, TESTS

SCHEMAS = ROOT / "docs" / "schema"

FF = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  let y = @reshape(@cast(x, int32), [n, m, 4])
  @reshape(@sum(y, axis=2), [n * m])
}
"""
WRONG = FF + "@main = fn(x : Tensor([8, 15], int8)) : Tensor { @ff(x) }\n"
BROKEN = "@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x + }\n"
HEADS = "@heads = fn(x : Tensor([b, d], float32)) : Tensor { @reshape(x, [b, 8, d // 8]) }\n"

Result = tuple[int, str, str]


@pytest.fixture
def rx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs one command line in an empty folder: status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"ff.rx": FF, "wrong.rx": WRONG, "broken.rx": BROKEN, "heads.rx": HEADS}.items():
        Path(name).write_text(text, encoding="utf-8")

    def run(*arguments: str, stdin: str | bytes = b"") -> Result:
        data = stdin.encode("utf-8") if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        status = invoke(list(arguments))
        return status, *capsys.readouterr()

    return run


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


def diagnostic(severity: str = "error") -> Any:
    make = error if severity == "error" else warning
    return make("E301", "no", Span(Source("f.rx", "x"), 0, 1))


# rx check


def test_a_good_program_gets_one_line_and_status_0(rx: Any) -> None:
    status, out, err = rx("check", "ff.rx")
    assert (status, err) == (0, "")
    assert out.startswith("ff.rx: ok: ")
    assert out.count("\n") == 1


def test_a_refuted_program_has_its_diagnostic_on_standard_error_and_status_1(rx: Any) -> None:
    status, out, err = rx("check", "wrong.rx")
    assert status == 1
    assert err.startswith("error[E301]: ")
    assert "--> wrong.rx:5:" in err
    assert out.startswith("wrong.rx: rejected: ")
    assert out.endswith("1 error\n")


def test_a_syntax_error_is_status_1_and_nothing_was_counted(rx: Any) -> None:
    status, out, err = rx("check", "broken.rx")
    assert (status, out) == (1, "broken.rx: rejected: 1 error\n")
    assert "error[E101]" in err


def test_a_claim_left_for_run_time_is_a_warning_and_an_error_under_strict(rx: Any) -> None:
    status, out, err = rx("check", "heads.rx")
    assert status == 0
    assert err.startswith("warning[W311]")
    assert out.endswith("; 1 warning\n")
    status, out, err = rx("check", "heads.rx", "--strict")
    assert status == 1
    assert err.startswith("error[W311]")
    assert out.endswith("; 1 error\n")


def test_what_works_only_on_empty_tensors_may_be_allowed(rx: Any) -> None:
    text = "@f = fn(x : Tensor([n, 15], int32)) : Tensor { @reshape(x, [n, 4, 4]) }\n"
    assert rx("check", "-", stdin=text)[0] == 1
    assert rx("check", "-", "--allow-empty", stdin=text)[0] == 0


def test_a_dash_reads_standard_input(rx: Any) -> None:
    status, out, err = rx("check", "-", stdin=WRONG)
    assert status == 1
    assert "--> <stdin>:5:" in err
    assert out.startswith("<stdin>: rejected: ")


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"# nothing\n", b"\xef\xbb\xbf" + FF.encode(), FF.replace("\n", "\r\n").encode()]
)
def test_odd_but_good_files_are_fine(rx: Any, data: bytes) -> None:
    assert rx("check", "-", stdin=data)[0] == 0


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"let x = \x00", "let x = 1 \u2212 2\n".encode(), b"\x89PNG\r\n\x1a\n\x00"]
)
def test_bytes_that_are_no_program_are_a_diagnostic(rx: Any, data: bytes) -> None:
    status, _, err = rx("check", "-", stdin=data)
    assert status == 1
    assert err.startswith("error[E1")


def test_several_files_share_one_summary_line(rx: Any) -> None:
    status, out, err = rx("check", "ff.rx", "wrong.rx", "broken.rx", "ff.rx")
    assert status == 1
    assert out.startswith("3 files: 2 rejected: ")
    assert out.endswith("2 errors\n")
    assert err.count("error[") == 2


def test_a_folder_means_the_rx_files_below_it_but_for_hidden_ones(rx: Any) -> None:
    for name in ("lib/deep/a.rx", "lib/b.rx", "lib/notes.txt", "lib/.venv/c.rx", "lib/.#b.rx"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(FF, encoding="utf-8")
    if hasattr(os, "mkfifo"):
        os.mkfifo("lib/waits.rx")
    status, out, _ = rx("check", "lib", "--format", "json")
    assert status == 0
    assert json.loads(out)["files"] == ["lib/b.rx", "lib/deep/a.rx"]


def test_a_folder_of_python_code_says_how_that_is_named(rx: Any) -> None:
    Path("code").mkdir()
    assert rx("check", "code") == (2, "", "rx: no .rx or .onnx file below 'code'\n")
    for name in ("__init__.py", "model.py", "a.py", "b.py", "c.py", "venv/d.py"):
        Path("code", name).parent.mkdir(exist_ok=True)
        Path("code", name).write_text("" if name == "__init__.py" else "import torch\n")
    Path("code/venv/pyvenv.cfg").touch()
    for name in (".a.py", "a.txt", "a.pyc"):  # an editor's copy, a text, and what Python keeps
        Path("code", name).write_text("import torch\n")
    said = "below 'code'; of PyTorch code name a function or class: "
    assert rx("check", "code")[2].endswith(
        f"{said}code/a.py:NAME, code/b.py:NAME, code/c.py:NAME, code/model.py:NAME\n"
    )
    Path("code/e.py").write_text("import torch\n")
    assert rx("check", "code")[2].endswith("code/e.py:NAME (1 more file)\n")


def test_a_folder_that_is_not_there_is_named_where_a_file_is_written(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="there is no folder '.*/no'"):
        replace_file(str(tmp_path / "no" / "contract.json"), b"")


def test_a_mistake_in_an_imported_file_is_said_once(rx: Any) -> None:
    Path("user.rx").write_text('import "broken.rx" as broken\n', encoding="utf-8")
    _, _, err = rx("check", "broken.rx", "user.rx")
    assert err.count("error[E101]") == 1


def test_missing_files_are_one_line_each_and_status_2(rx: Any) -> None:
    assert rx("check", "nope.rx") == (2, "", "rx: cannot read 'nope.rx': No such file or directory\n")
    status, out, err = rx("check", "nope.rx", "neither.rx")
    assert (status, out, err.count("\n")) == (2, "", 2)
    Path("sub").mkdir()
    Path("sub/layers.rx").write_text("let a = 3\n")
    assert "No such file or directory; is 'sub/layers.rx' meant?\n" in rx("check", "sub/layer.rx")[2]


@pytest.mark.parametrize("name", ["a.py", "a.json", "a.txt", "notes", "a.bin"])
@pytest.mark.parametrize("command", ["check", "run", "shapes", "desugar", "fmt"])
def test_what_is_no_program_is_told_once_with_what_is_one(rx: Any, tmp_path: Path, command: str, name: str) -> None:
    texts = {"a.json": b'{"a": [1]}\n' * 9, "a.bin": bytes(range(256)) * 9}
    (tmp_path / name).write_bytes(texts.get(name, b"import os\n\n\nclass A:\n    b = {1: 'c'}\n" * 9))
    status, out, err = rx(command, name)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"rx: '{name}' is no program ({name}:1:") and ".rx" in err and ".onnx" in err
    assert ("PyTorch code a.py:NAME" in err) == (name == "a.py")
    (tmp_path / name).write_text("let a = 3\n")  # however a program is called
    assert rx("check", name)[0] == 0


def test_rx_alone_shows_its_commands(rx: Any) -> None:
    status, out, err = rx()
    assert (status, out) == (2, "") and err == rx("--help")[1]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("chek", "no command is called 'chek': is 'check' meant?"),
        ("frobnicate", "no command is called 'frobnicate'"),
        ("right.rx", "'right.rx' is no command: `rx check right.rx` checks it"),
    ],
)
def test_what_is_no_command_is_told_with_what_may_be_meant(rx: Any, name: str, said: str) -> None:
    Path("right.rx").write_text("let a = 3\n")
    status, out, err = rx(name, "right.rx")
    assert (status, out, err.splitlines()[-1]) == (2, "", f"Error: {said}")


@pytest.mark.parametrize("command", [("infer",), ("import", "-o", "out")])
def test_a_model_that_is_none_is_one_line_and_status_2(rx: Any, command: tuple[str, ...]) -> None:
    Path("right.rx").write_text("let a = 3\n")
    for name, said in (
        ("nope.onnx", "cannot read 'nope.onnx': No such file or directory"),
        (".", "cannot read '.': Is a directory"),
        ("right.rx", "'right.rx' is no ONNX model but a program: `rx shapes` says its shapes"),
    ):
        assert rx(*command, name) == (2, "", f"rx: {said}\n")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("shapes", "--size", "n=3"), "--size goes with --memory"),
        (("desugar", "--inline"), "--inline goes with --simplified"),
        (("desugar", "--dps", "--simplified"), "--dps goes with neither --simplified nor --annotated"),
        (("desugar", "--dps", "--annotated"), "--dps goes with neither --simplified nor --annotated"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(rx: Any, command: tuple[str, ...], said: str) -> None:
    Path("right.rx").write_text("@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x }\n")
    status, out, err = rx(*command, "right.rx")
    assert (status, out, err.splitlines()[-1]) == (2, "", f"Error: {said}")


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_checked(rx: Any) -> None:
    for name in ("lib/wrong.rx", "lib/ff.rx"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(WRONG, encoding="utf-8")
    Path("lib/gone.rx").symlink_to("nowhere.rx")
    Path("lib/latin.rx").write_bytes(b"# gr\xf6sse\n")
    status, out, err = rx("check", "lib")
    assert (status, err.count("error[E301]"), err.count("error[E102]")) == (2, 2, 1)
    assert out.startswith("3 files: 3 rejected: ")
    assert err.endswith("rx: cannot read 'lib/gone.rx': No such file or directory\n")


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_formatted(rx: Any) -> None:
    Path("ugly.rx").write_text("@f=fn(x:Tensor){x}", encoding="utf-8")
    status, out, err = rx("fmt", "nope.rx", "ugly.rx")
    assert (status, out, err) == (2, "ugly.rx: formatted\n", "rx: cannot read 'nope.rx': No such file or directory\n")


def test_a_folder_that_cannot_be_read_is_told(rx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("lib/shut").mkdir(parents=True)
    Path("lib/ff.rx").write_text(FF, encoding="utf-8")
    listed = os.scandir

    def scandir(place: str) -> Any:
        if place.endswith("shut"):
            raise PermissionError(errno.EACCES, "Permission denied", place)
        return listed(place)

    monkeypatch.setattr(os, "scandir", scandir)
    status, out, err = rx("check", "lib")
    assert (status, err) == (2, "rx: cannot read 'lib/shut': Permission denied\n")
    assert out.startswith("lib/ff.rx: ok: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "empty"),
        ("check", "ff.rx", "--root", "nowhere"),
        ("shapes", "nope.rx"),
        ("fmt", "nope.rx"),
        ("desugar", "nope.rx"),
        ("prove", "nope.jsonl"),
        ("prove", "."),
        ("explain", "E999"),
        ("check", "a\0b.rx"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_status_2(rx: Any, arguments: tuple[str, ...]) -> None:
    Path("empty").mkdir()
    status, out, err = rx(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("rx: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("check",), ("check", "--format", "xml", "ff.rx"), ("nonsense",), ("check", "ff.rx", "--nonsense")]
)
def test_wrong_usage_is_status_2(rx: Any, arguments: tuple[str, ...]) -> None:
    status, out, err = rx(*arguments)
    assert (status, out) == (2, "")
    assert "Usage: rx" in err


@pytest.mark.parametrize("program", ["ff.rx", "wrong.rx", "broken.rx", "heads.rx"])
def test_json_goes_to_standard_output_alone_and_fits_the_schema(rx: Any, program: str) -> None:
    status, out, err = rx("check", program, "--format", "json")
    found = json.loads(out)
    jsonschema.validate(found, schema("check"))
    assert err == ""
    assert found["files"] == [program]
    assert status == int(any(d["severity"] == "error" for d in found["diagnostics"]))
    counts = found["assertions"]
    assert counts["total"] == sum(counts[part] for part in ("proved", "refuted", "residual", "entry"))


def test_sarif_goes_to_standard_output_with_the_title_of_the_page(rx: Any) -> None:
    status, out, err = rx("check", "wrong.rx", "--format", "sarif")
    (run,) = json.loads(out)["runs"]
    assert (status, err) == (1, "")
    assert run["results"][0]["ruleId"] == "E301"
    rule = run["tool"]["driver"]["rules"][0]
    assert rule["shortDescription"]["text"] == "an argument that cannot fit its parameter"


def test_github_commands_go_to_standard_output(rx: Any) -> None:
    status, out, err = rx("check", "wrong.rx", "--format", "github")
    assert (status, err) == (1, "")
    assert out.startswith("::error file=wrong.rx,line=5,")


def test_stats_say_who_answered_and_how_long_it_took(rx: Any) -> None:
    status, out, _ = rx("check", "ff.rx", "--stats")
    assert status == 0
    assert "\nsolver: " in out
    assert "\ntime: " in out
    _, out, err = rx("check", "ff.rx", "--stats", "--format", "json")
    assert json.loads(out)["version"] == 1
    assert "solver: " in err


# The summary line


@pytest.mark.parametrize(
    ("names", "rejected", "counts", "severities", "expected"),
    [
        (
            ["ff.rx"], 0, Counts(15, 10, 0, 1, 4), [],
            "ff.rx: ok: 10 proved, 1 checked at run time, 4 checked on entry",
        ),
        (["ff.rx"], 0, Counts(1, 1), ["warning"], "ff.rx: ok: 1 proved; 1 warning"),
        (["ff.rx"], 0, Counts(), [], "ff.rx: ok: no assertions"),
        (["ff.rx"], 1, None, ["error", "error"], "ff.rx: rejected: 2 errors"),
        (
            ["ff.rx"], 1, Counts(3, 1, 2), ["error", "warning", "error"],
            "ff.rx: rejected: 1 proved, 2 refuted; 2 errors, 1 warning",
        ),
        (["a", "b"], 0, Counts(2, 2), [], "2 files: ok: 2 proved"),
        (["a", "b", "c"], 1, Counts(2, 2), ["error"], "3 files: 1 rejected: 2 proved; 1 error"),
    ],
)  # fmt: skip
def test_the_summary_is_one_sentence(
    names: list[str], rejected: int, counts: Counts | None, severities: list[str], expected: str
) -> None:
    assert summary(names, rejected, counts, map(diagnostic, severities)) == expected


@pytest.mark.parametrize("letter", ["m", "ж", "模"])
def test_a_summary_of_a_long_path_shows_its_end_and_is_at_most_120_columns_wide(letter: str) -> None:
    path = f"models/{letter * 70}/of/the/last/run/{letter * 30}.onnx"
    line = summary([path], 0, Counts(120, 100, 0, 10, 10), ())
    name, said = line.split(": ", 1)
    assert said == "ok: 100 proved, 10 checked at run time, 10 checked on entry"
    assert columns(line) <= 120 < columns(line) + columns(letter) + 1
    assert name.startswith("…") and path.endswith(name[1:])


# Colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colour_follows_the_terminal_and_no_color(
    environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert terminal.colourful(Terminal()) is expected
    assert terminal.colourful(io.StringIO()) is False


def test_a_colour_terminal_gets_the_same_text_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    written = {}
    for term in ("xterm", "dumb"):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", term)
        monkeypatch.setattr(sys, "stderr", Terminal())
        terminal.print_diagnostics([diagnostic()])
        written[term] = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[1;31merror[E301]\x1b[0m" in written["xterm"]
    assert "\x1b" not in written["dumb"]
    bare = "".join(part.partition("m")[2] if i else part for i, part in enumerate(written["xterm"].split("\x1b[")))
    assert [line.rstrip() for line in bare.split("\n")] == written["dumb"].split("\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
@pytest.mark.parametrize("words", [
    ("infer", "joined.onnx", "-o"), ("check", "joined.onnx", "--write-contract"),
    ("run", "ff.rx", "--call", "@ff", "--arg", "x=int8[2,4]:random", "--stats-json"),
])  # fmt: skip
def test_a_pipe_is_written_to_and_stays_one(rx: Any, words: tuple[str, ...]) -> None:
    shutil.copy(TESTS / "data" / "joined.onnx", "joined.onnx")
    os.mkfifo("out")
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(Path("out").read_bytes)
        assert rx(*words, "out")[0] == 0
        assert len(read.result()) > 100
    assert Path("out").is_fifo()


def test_a_model_behind_a_link_is_written_where_it_is(rx: Any) -> None:
    shutil.copy(TESTS / "data" / "joined.onnx", "model.onnx")
    Path("model.onnx").chmod(0o600)
    Path("link.onnx").symlink_to("model.onnx")
    before = Path("model.onnx").read_bytes()
    assert rx("infer", "model.onnx", "-o", "link.onnx")[0] == 0
    assert Path("link.onnx").is_symlink() and Path("model.onnx").read_bytes() != before
    assert Path("model.onnx").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["j\udcff.onnx", "a\nb.onnx"])
def test_a_model_that_no_program_can_name_is_not_imported(rx: Any, name: str) -> None:
    shutil.copy(TESTS / "data" / "joined.onnx", os.fsencode(name))
    status, out, err = rx("import", name, "-o", "made")
    assert (status, out) == (2, "") and "give the model another name" in err and not Path("made").exists()


# Being interrupted


def test_ctrl_c_is_quiet_and_status_130(rx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "read_program", interrupted)
    assert rx("check", "ff.rx") == (130, "", "")


def test_ctrl_c_while_the_command_is_loaded_is_quiet_too() -> None:
    program = (
        "import sys\nclass Finder:\n    def find_spec(self, name, *_):\n        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\nfrom rxlang.cli.start import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_nothing_that_takes_long_is_loaded_before_an_interrupt_is_quiet() -> None:
    program = (
        "import sys, __future__; before = set(sys.modules); import rxlang.cli.start\n"
        "print(*sorted(set(sys.modules) - before - {*sys.builtin_module_names}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rxlang", "rxlang.cli", "rxlang.cli.start", "rxlang.cli.status"]


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"id": 1, "goal": "1 == 1"}\n' * 20_000, encoding="utf-8")
    command = [sys.executable, "-m", "rxlang", "prove", str(questions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


# Starting up


def imported(tmp_path: Path, *arguments: str) -> set[str]:
    code = (
        "import sys; from rxlang.cli.main import invoke; invoke(sys.argv[1:]); "
        "print(*sys.modules, sep='\\n', file=sys.__stdout__)"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_checking_a_good_program_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "ff.rx").write_text(FF, encoding="utf-8")
    loaded = imported(tmp_path, "check", "ff.rx")
    assert "rxlang.simplify.propagate" in loaded
    assert loaded.isdisjoint({"numpy", "sympy", "rich", "z3", "dataclasses", "rxlang.lang.render"})


def test_a_diagnostic_off_the_terminal_is_written_without_rich(tmp_path: Path) -> None:
    (tmp_path / "broken.rx").write_text(BROKEN, encoding="utf-8")
    loaded = imported(tmp_path, "check", "broken.rx")
    assert "rxlang.lang.render" in loaded
    assert loaded.isdisjoint({"numpy", "rich", "z3"})


def test_help_lists_every_command_and_imports_none(tmp_path: Path) -> None:
    loaded = imported(tmp_path, "--help")
    assert loaded.isdisjoint({"rxlang.pipeline", "rxlang.cli.check", "lark"})
    assert set(COMMANDS) <= loaded  # the words of the help text stand before the modules


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_help(rx: Any, name: str) -> None:
    status, out, err = rx(name, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"Usage: rx {name} ")


def test_version_is_that_of_the_package(rx: Any) -> None:
    status, out, err = rx("-V")
    assert (status, err) == (0, "")
    assert out.startswith("rx 0.")


# rx shapes, rx prove


def test_shapes_lists_every_binding_with_its_type(rx: Any) -> None:
    status, out, err = rx("shapes", "ff.rx")
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "@ff"
    assert "y : Tensor([n, m, 4], int32)" in lines


def test_shapes_says_what_is_not_exact(rx: Any) -> None:
    text = "@f = fn(x : Tensor([n], int32), mask : Tensor([n], bool)) : Tensor { let y = @filter(x, mask); y }\n"
    _, out, _ = rx("shapes", "-", stdin=text)
    (line,) = (line for line in out.splitlines() if line.split()[0] == "y")
    assert "axis 0 is at most n" in line


@pytest.mark.parametrize("program", ["ff.rx", "heads.rx"])
def test_shapes_as_json_fit_the_schema(rx: Any, program: str) -> None:
    status, out, _ = rx("shapes", program, "--format", "json")
    found = json.loads(out)
    jsonschema.validate(found, schema("shapes"))
    assert status == 0
    assert set(found["functions"]) == {"@" + program.removesuffix(".rx")}


def test_prove_answers_line_by_line_and_goes_on_after_a_bad_one(rx: Any) -> None:
    questions = (
        '{"id": "a1", "assume": ["n >= 1", "n % 4 == 0"], "goal": "(n // 4) * 4 == n", "vars": {"k": "int"}}\n'
        "nonsense\n"
        '{"id": "a2", "goal": "n < 0"}\n'
        '{"id": "a3", "goal": "n == 3"}\n'
    )
    status, out, err = rx("prove", stdin=questions)
    answers = [json.loads(line) for line in out.splitlines()]
    for answer in answers:
        jsonschema.validate(answer, schema("prove-answer"))
    assert (status, err) == (0, "")
    assert [a["id"] for a in answers] == ["a1", None, "a2", "a3"]
    assert [a["result"] for a in answers] == ["valid", "error", "unsat", "neither"]


def test_prove_has_status_0_where_every_line_is_an_error(rx: Any) -> None:
    status, out, err = rx("prove", stdin='nonsense\n{"id": 1}\n')
    assert (status, err) == (0, "")
    assert [json.loads(line)["result"] for line in out.splitlines()] == ["error", "error"]


def test_prove_takes_bytes_that_are_no_text_as_one_bad_line(rx: Any) -> None:
    status, out, _ = rx("prove", stdin=b'\xff\xfe\n{"id": 1, "goal": "1 == 1"}\n')
    assert status == 0
    assert [json.loads(line)["result"] for line in out.splitlines()] == ["error", "valid"]


# rx desugar


@pytest.mark.parametrize("program", ["ff.rx", "heads.rx"])
def test_what_desugar_prints_is_a_program_that_desugars_to_itself(rx: Any, program: str) -> None:
    status, out, err = rx("desugar", program)
    assert (status, err) == (0, "")
    assert out.startswith("inline @")
    assert rx("desugar", "-", stdin=out) == (0, out, "")


def test_simplified_has_the_status_of_every_assertion_left(rx: Any) -> None:
    text = (
        "@f = fn(x : Tensor([n], int32), y : Tensor([m], int32)) : Tensor { let z ! Tensor([n], int32) = y; x + z }\n"
    )
    status, out, _ = rx("desugar", "-", "--simplified", stdin=text)
    asserts = [line for line in out.splitlines() if "assert " in line]
    assert status == 0
    assert asserts
    assert all("  # entry: " in line or "  # residual: " in line for line in asserts)
    assert any("z.dim(0)" in line and "# residual: " in line for line in asserts)


def test_annotated_has_comments_instead_of_assertions(rx: Any) -> None:
    status, out, _ = rx("desugar", "ff.rx", "--annotated")
    assert status == 0
    assert "assert " not in out.replace("is_assertion", "")
    lines = [line.strip() for line in out.splitlines()]
    place = lines.index("let out = @ff_impl(x)")
    assert lines[place + 1 : place + 4] == [
        "# out's shape = [x.dim(0) * (x.dim(1) / 4)]",
        "# out's dtype = int32",
        "# out's is_assertion = true",
    ]
    assert lines[1] == "# x's shape = [x.dim(0), x.dim(1)]"
    assert "# out's is_assertion = false" in rx("desugar", "ff.rx", "--annotated", "--simplified")[1]


def test_desugar_of_one_function_prints_it_with_its_implementation(rx: Any) -> None:
    status, out, _ = rx("desugar", "wrong.rx", "--function", "@ff")
    assert status == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith(("inline", "private"))] == [
        "@ff", "@ff_impl",
    ]  # fmt: skip
    assert rx("desugar", "wrong.rx", "--function", "@gg") == (2, "", "rx: 'wrong.rx' has no function '@gg'\n")


@pytest.mark.parametrize("option", [(), ("--simplified",), ("--annotated",)])
def test_desugar_of_a_broken_file_is_status_1(rx: Any, option: tuple[str, ...]) -> None:
    status, _, err = rx("desugar", "broken.rx", *option)
    assert status == 1
    assert "error[E101]" in err


# rx fmt

SLOPPY = "@f=fn(x:Tensor([n],int32)):Tensor([n],int32){x+x}  # twice\n"


def test_fmt_rewrites_what_is_not_in_canonical_layout_and_then_rests(rx: Any) -> None:
    Path("sloppy.rx").write_text(SLOPPY, encoding="utf-8")
    assert rx("fmt", "sloppy.rx") == (0, "sloppy.rx: formatted\n", "")
    text = Path("sloppy.rx").read_text(encoding="utf-8")
    assert "# twice" in text
    assert text != SLOPPY
    assert rx("fmt", "sloppy.rx") == (0, "", "")
    assert Path("sloppy.rx").read_text(encoding="utf-8") == text


def test_fmt_check_changes_nothing_and_is_status_1(rx: Any) -> None:
    Path("sloppy.rx").write_text(SLOPPY, encoding="utf-8")
    assert rx("fmt", "--check", "sloppy.rx", "ff.rx") == (1, "sloppy.rx: not in canonical layout\n", "")
    assert Path("sloppy.rx").read_text(encoding="utf-8") == SLOPPY
    assert rx("fmt", "--check", "ff.rx") == (0, "", "")


def test_fmt_diff_is_a_patch_that_does_what_fmt_does(rx: Any) -> None:
    Path("sloppy.rx").write_text(SLOPPY, encoding="utf-8")
    status, patch, err = rx("fmt", "--diff", "sloppy.rx", "ff.rx")
    assert (status, err) == (1, "")
    assert Path("sloppy.rx").read_text(encoding="utf-8") == SLOPPY
    added = [line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert patch.splitlines()[:2] == ["--- sloppy.rx", "+++ sloppy.rx (formatted)"]
    rx("fmt", "sloppy.rx")
    assert added == Path("sloppy.rx").read_text(encoding="utf-8").splitlines()
    assert rx("fmt", "--diff", "sloppy.rx") == (0, "", "")


@pytest.mark.parametrize("end", ["", "\n\n", "\r\n"])
def test_fmt_diff_shows_line_ends_and_both_options_go_together(end: str, rx: Any) -> None:
    status, patch, err = rx("fmt", "--diff", "-", stdin="let a = 2" + end)
    assert (status, err) == (1, "")
    assert patch.startswith("--- <stdin>\n+++ <stdin> (formatted)\n@@")
    assert ("\n\\ No newline at end of file\n" in patch) == (not end)
    both = rx("fmt", "--diff", "--check", "-", stdin="let a = 2" + end)
    assert both == (1, patch + "<stdin>: not in canonical layout\n", "")


def test_fmt_of_standard_input_prints_the_program(rx: Any) -> None:
    status, out, err = rx("fmt", "-", stdin=SLOPPY)
    assert (status, err) == (0, "")
    assert rx("fmt", "--check", "-", stdin=out) == (0, "", "")


def test_fmt_leaves_a_broken_file_alone(rx: Any) -> None:
    status, out, err = rx("fmt", "broken.rx")
    assert (status, out) == (1, "")
    assert "error[E101]" in err
    assert Path("broken.rx").read_text(encoding="utf-8") == BROKEN


@pytest.mark.parametrize(
    ("redirected", "status"), [(">&-", 0), ("2>&-", 0), ("<&-", 0), (">&- 2>&- <&-", 0), (">/dev/full", 2)]
)
def test_streams_that_are_closed_or_full_give_no_traceback(tmp_path: Path, redirected: str, status: int) -> None:
    if "full" in redirected and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "ff.rx").write_text(FF)
    command = ["sh", "-c", f'"$0" -m rxlang fmt --check ff.rx {redirected}', sys.executable]
    if status:
        command[2] = command[2].replace("fmt --check ff.rx", "desugar ff.rx")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == status
    assert done.stdout == "" and done.stderr in ("", "rx: the output cannot be written: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no device without an end here")
def test_what_has_no_end_is_not_read_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "/dev/zero"]) == 2
    assert capsys.readouterr().err == f"rx: cannot read '/dev/zero': it has more than {MAX_TEXT} bytes\n"
