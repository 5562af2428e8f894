"""Where z3 cannot be used, or NumPy is missing, everything else works, and what is left open is said once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rxlang.cli.main import invoke
from rxlang.lang import codes
from rxlang.pipeline import Report, check_text
from rxlang.simplify.solver import search, smt
from rxlang.simplify.solver.prove import prove_line
from support import cases, fuzz
from support.places import ROOT

PROGRAMS = [path for room in ("examples", "benchmarks", "tests") for path in sorted((ROOT / room).rglob("*.rx"))]
# So many programs, or questions, may get another answer: of 263 programs 0 do, of 1,169 questions 3.
MOST_THAT_DIFFER = 3
# Sizes of which one condition is decided by z3 alone, and one by nobody.
FOR_Z3 = """@f = fn(x : Tensor([a, b, c], float32), y : Tensor([d], float32)) : Tensor([d], float32)
  where a * b * c == d * d, a * c >= d, b >= 7 {
  assert a * b * b * c >= d * a
  assert (a * b) // c * (d * c) >= a
  y
}
"""


def without_z3(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(sys.modules, "z3", None)
    patch.delitem(sys.modules, smt.__name__)
    search.no_z3.cache_clear()


def with_a_broken_z3(patch: pytest.MonkeyPatch, package: Path, why: str) -> None:
    (package / "z3").mkdir()
    (package / "z3" / "__init__.py").write_text(f"from . import z3types\n{why}\n")
    (package / "z3" / "z3types.py").write_text("class Z3Exception(Exception):\n    pass\n")
    for name in [name for name in sys.modules if name == "z3" or name.startswith("z3.")]:
        patch.delitem(sys.modules, name)
    patch.delitem(sys.modules, smt.__name__)
    patch.syspath_prepend(package)
    search.no_z3.cache_clear()


def without_threads(patch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    patch.setattr(threading.Thread, "start", start)
    search.no_z3.cache_clear()


@pytest.fixture(params=[without_z3, without_threads])
def z3_is_absent(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        request.param(patch)
        assert search.no_z3()
        yield
    search.no_z3.cache_clear()


def check(text: str, path: Path | None = None) -> Report:
    return check_text(text, path.name if path else "p.rx", path.parent if path else Path.cwd())


def outcome(report: Report) -> object:
    """What is said of a program, but for the note that z3 is absent."""
    said = [(d.code, d.severity, d.span.start, d.message) for d in report.diagnostics if d.code != codes.N303]
    return said, report.counts


def test_programs_are_checked_alike_but_for_what_only_z3_decides() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in fuzz.some(PROGRAMS, 4)}
    usual = {path: outcome(check(text, path)) for path, text in texts.items()}
    with pytest.MonkeyPatch.context() as patch:
        without_z3(patch)
        reports = {path: check(text, path) for path, text in texts.items()}
    search.no_z3.cache_clear()
    differ = [path for path, report in reports.items() if outcome(report) != usual[path]]
    assert [path for path in differ if not any(d.code == codes.N303 for d in reports[path].diagnostics)] == []
    assert (len(differ) <= MOST_THAT_DIFFER, len(PROGRAMS) > 200) == (True, True), differ


def test_proof_questions_have_the_same_answers_or_none() -> None:
    rows = [json.dumps(row) for name in ("prove.jsonl", "prove_hard.jsonl") for row in cases.rows(name)]
    usual = [prove_line(row)["result"] for row in rows]
    with pytest.MonkeyPatch.context() as patch:
        without_z3(patch)
        answers = [prove_line(row) for row in rows]
    search.no_z3.cache_clear()
    differ = [(a, u) for a, u in zip(answers, usual, strict=True) if a["result"] != u]
    assert len(rows) > 1_000
    assert all(a["result"] == "unknown" and "z3 cannot be imported" in a["message"] for a, _ in differ)
    assert len(differ) <= MOST_THAT_DIFFER


@pytest.mark.usefixtures("z3_is_absent")
def test_what_only_z3_decides_is_left_to_the_run_and_said_once() -> None:
    report = check(FOR_Z3 + FOR_Z3.replace("@f", "@g"))
    assert report.ok
    assert report.counts.residual == 4
    [said] = [d for d in report.diagnostics if d.code == codes.N303]
    assert said.severity == "note"
    assert "2 questions stay open that only z3 would decide" in said.message


@pytest.mark.parametrize("why", ["raise z3types.Z3Exception('libz3.so not found')", "len.no_such_symbol"])
def test_a_library_of_z3_that_cannot_be_loaded_is_as_none(why: str, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        with_a_broken_z3(patch, tmp_path, why)
        report = check(FOR_Z3)
        assert "z3 cannot be imported: " in search.no_z3()
    search.no_z3.cache_clear()
    assert [d.code for d in report.diagnostics if d.severity == "note" and d.code != codes.N201] == [codes.N303]


def test_nothing_is_said_of_z3_where_it_can_be_used() -> None:
    assert not any(d.code == codes.N303 for d in check(FOR_Z3).diagnostics)


def test_the_time_of_a_thread_is_that_of_the_process_where_there_is_no_clock_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def clock(thread: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(time, "pthread_getcpuclockid", clock)
    before = check(FOR_Z3)
    monkeypatch.delattr(time, "pthread_getcpuclockid")
    assert outcome(check(FOR_Z3)) == outcome(before)


def test_a_run_without_threads_has_no_progress_bar_and_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from rxlang.cli.progress import watched

    without_threads(monkeypatch)
    assert watched(lambda: 7) == 7
    search.no_z3.cache_clear()


# Without NumPy

BLOCKED = """
import sys
for name in ("numpy", "ml_dtypes"):
    sys.modules[name] = None
from rxlang.cli.main import main
main()
"""
GPT = str(ROOT / "examples" / "gpt.rx")


def without_numpy(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCKED, *command], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "command",
    [("check", "--signature"), ("shapes",), ("shapes", "--program"), ("shapes", "--memory"), ("desugar", "--dps")],
    ids=" ".join,
)
def test_what_only_checks_needs_no_numpy(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    done = without_numpy(*command, GPT)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert invoke([*command, GPT]) == 0
    assert done.stdout == capsys.readouterr().out


def test_a_run_without_numpy_says_what_it_needs() -> None:
    done = without_numpy("run", GPT)
    assert done.returncode == 2
    assert done.stderr == "rx: this needs NumPy, which is not installed: pip install numpy\n"
