"""`--hint`: a fast path for some sizes that decides nothing."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from rxlang.cli.main import invoke

PROGRAM = """const w = @ones([1], float32)
@small = fn(x : Tensor([n], float32)) : Tensor([n], float32) where n <= 3 { x + w }
@large = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x * 2.0 }
@sized = [@small, @large]
@inner = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x + 10.0 }
@f = fn(x : Tensor([n], float32), k : Size) : Tensor {
  assert n % 4 == 0, "fours"
  let y = @sized(x)
  let z = @inner(@concat([y, @sized(x[0:2])]))
  if (n > 100) { @reshape(z, [2, -1]) } else { z }
}
@half = fn(x : Tensor([n], float32)) : Tensor { if (n <= 1) { x } else { @half_of(x) } }
@half_of = fn(x : Tensor([n], float32)) : Tensor([m], float32) where n >= 2 { @sized(x[0:n // 2]) }
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.rx").write_text(PROGRAM)


def run(capsys: Captured, n: int, *hints: str, call: str = "f") -> tuple[int, str, str]:
    size = ["--arg", "k=3"] if call == "f" else []
    options = [text for hint in hints for text in ("--hint", hint)]
    status = invoke(["run", "p.rx", "--call", call, "--arg", f"x=float32[{n}]:arange", *size, *options, "--out", "out"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("n", [0, 4, 7, 128])
def test_a_hint_changes_no_result_and_no_message(capsys: Captured, n: int) -> None:
    plain = run(capsys, n)
    for hint in ("@f: n = 128", "@*: n >= 1", "@sm*: n == 4", "@f: k = 3, n < 9"):
        assert run(capsys, n, hint) == plain


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("call", ["sized", "small", "half"])
def test_the_member_that_runs_is_the_one_that_would_run_without(capsys: Captured, n: int, call: str) -> None:
    plain = run(capsys, n, call=call)
    for hint in ("@large: n = 2", "@small: n = 1", "@*: n == 5"):
        assert run(capsys, n, hint, call=call) == plain


def executed(capsys: Captured, n: int, *hints: str) -> int:
    options = [text for hint in hints for text in ("--hint", hint)]
    assert (
        invoke(["run", "p.rx", "--call", "f", "--arg", f"x=float32[{n}]:ones", "--arg", "k=1", "--stats", *options])
        == 0
    )
    found = re.search(r"(\d+) executed", capsys.readouterr().out)
    assert found is not None
    return int(found[1])


def test_what_a_hint_proves_is_not_asked_where_it_holds(capsys: Captured) -> None:
    assert executed(capsys, 8, "@f: n = 8", "@f: n = 16") < executed(capsys, 8)
    assert executed(capsys, 8, "@f: n = 16") >= executed(capsys, 8)


def test_a_hint_that_the_program_refuses_is_no_fast_path(capsys: Captured) -> None:
    plain = run(capsys, 7)
    assert plain[0] == 3 and run(capsys, 7, "@f: n = 7") == plain == run(capsys, 7, "@f: n < 0")


@pytest.mark.parametrize("hint", ["@other: n = 1", "@f: zz = 1", "f: n = 1", "@f: n =", "@*: zz = 1", ""])
def test_a_hint_for_no_function_is_wrong_usage(capsys: Captured, hint: str) -> None:
    status, _, err = run(capsys, 8, hint)
    assert status == 2 and "--hint" in err


def test_results_are_written_alike(capsys: Captured) -> None:
    run(capsys, 128, "@f: n = 128")
    fast = np.load("out/result.npy")
    run(capsys, 128)
    np.testing.assert_array_equal(fast, np.load("out/result.npy"))
