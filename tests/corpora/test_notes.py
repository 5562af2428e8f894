"""The founding examples as programs: what `rx check` says, the core that they become, and what they print when they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rxlang.cli.main import invoke
from support.places import TESTS

NOTES = TESTS / "notes"
PROGRAMS = sorted(NOTES.glob("*.rx"))


@pytest.fixture
def rx(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command line; its output and exit status as one text."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(NOTES)

    def run(*arguments: str) -> str:
        status = invoke(list(arguments))
        printed = capsys.readouterr()
        return f"$ rx {' '.join(arguments)}\n{printed.err}{printed.out}[exit {status}]\n"

    return run


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_a_note_gives_its_answer(program: Path, rx: Callable[..., str], golden: Callable[[Path, str], None]) -> None:
    golden(program.with_suffix(".out"), "\n".join(rx(c, program.name) for c in ("check", "desugar", "shapes")))


RUNS = {
    "a_ground": (),
    "b_ill_shaped": (),
    "c_symbolic": ("--arg", "a=int8[3,16]:ones"),
    "e_assertion": ("--arg", "a=int8[16,16]:ones"),
    "f_in_scope": ("--call", "@ff", "--arg", "x=int8[2,4]:ones"),
    "g_filter": ("--arg", "x=[[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]:float32"),
    "h_broadcast": ("--arg", "x=float32[2,3]:ones", "--arg", "y=float32[3]:arange"),
    "i_match_shape": ("--arg", "a=int32[6,8]:ones"),
    "simplification": ("--arg", "x=3", "--arg", "y=2"),
    "propagation": (),
    "control_flow": ("--arg", "y=int8[3]:arange"),
    "control_flow_consistent": ("--call", "@f", "--arg", "x=4:int8", "--arg", "y=int8[3]:arange"),
    "dispatch": ("--arg", "x=float32[2,4]:ones"),
    "size_argument": ("--arg", "row=float32[5]:arange"),
    "specialisation": ("--call", "@chosen_at_run_time", "--arg", "x=float32[2,2]:ones"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_note_runs(name: str, rx: Callable[..., str], golden: Callable[[Path, str], None]) -> None:
    golden(NOTES / f"{name}.run", rx("run", f"{name}.rx", *RUNS[name]))
