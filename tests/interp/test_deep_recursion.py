"""Recursion goes as deep from Python as from the command, and the function that goes too deep is the one that is named."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke

GO = """@go = fn(x : Tensor([t, n], float32), s : Tensor([n], float32), i : Size) : Tensor([n], float32) where i >= 0, i <= t {
  if (i == t) { s } else { @go(x, s + x[i], i + 1) }
}
@outer = fn(x : Tensor([_t, n], float32)) : Tensor([n], float32) { @go(x, @zeros([n], float32), 0) }
"""
DOWN = "@down = fn(x : Tensor([n], float32), i : Size) : Tensor([n], float32) { if (i == 0) { x } else { @down(x, i - 1) } }\n"
FOREVER = """@even = fn(x : Tensor([n], float32), i : Size) : Tensor([n], float32) { @odd(x, i + 1) }
@odd = fn(x : Tensor([n], float32), i : Size) : Tensor([n], float32) { @even(x, i + 1) }
@outer = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @even(x, 0) }
"""


def test_three_thousand_calls_go_from_python_and_from_the_command(tmp_path: Path, capsys) -> None:  # noqa: ANN001
    limit = sys.getrecursionlimit()
    x = np.ones((3000, 2), np.float32)
    assert rx.loads(GO).outer(x).tolist() == rx.loads(GO).outer(x=x).tolist() == [3000, 3000]
    assert rx.loads(DOWN).down(x[0], 3000).tolist() == [1, 1]
    (tmp_path / "p.rx").write_text(GO)
    assert invoke(["run", str(tmp_path / "p.rx"), "--call", "@outer", "--arg", "x=float32[3000,2]:ones"]) == 0
    assert "3000" in capsys.readouterr().out and sys.getrecursionlimit() == limit


@pytest.mark.parametrize(("text", "named"), [(GO, "@go"), (FOREVER, "@even")])
def test_the_function_that_goes_too_deep_is_named(text: str, named: str) -> None:
    x = np.ones((30_000, 2), np.float32) if named == "@go" else np.ones(2, np.float32)
    with pytest.raises(rx.ShapeError) as failed:
        rx.loads(text).outer(x)
    said = failed.value.diagnostic
    assert said.code == "R402" and said.message == f"{named} calls itself too deeply"
    assert invoke(["explain", "R402"]) == 0
