"""The founding examples as programs: what `rx check` says, the core that they become, and what they print when they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rxlang.cli.main import rx

NOTES = Path(__file__).parent / "notes"
PROGRAMS = sorted(NOTES.glob("*.rx"))


def _run(*args: str) -> str:
    result = CliRunner().invoke(rx, args)
    text = result.stdout + result.stderr
    return f"$ rx {args[0]} {' '.join(Path(a).name for a in args[1:])}\n{text.replace(str(NOTES) + '/', '')}[exit {result.exit_code}]\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_a_note_gives_its_answer(program: Path, golden: Callable[[Path, str], None]) -> None:
    text = _run("check", str(program)) + "\n" + _run("desugar", str(program)) + "\n" + _run("shapes", str(program))
    golden(program.with_suffix(".out"), text)


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
def test_a_note_runs(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(NOTES / f"{name}.run", _run("run", str(NOTES / f"{name}.rx"), *RUNS[name]))
