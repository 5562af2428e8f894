"""Calls with known answers: everything proved, a check left for the run, or refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rxlang import pipeline
from support import cases

ROWS = cases.rows_if_there("calls.jsonl")


def tensor(shape: list[Any]) -> str:
    return f"Tensor([{', '.join(str(d) for d in shape)}], float32)"


def program(row: dict[str, Any]) -> str:
    """The callee as a declaration, the caller with its sizes as parameters of at least 0."""
    words = {n for shape in row["args"] for d in shape for n in re.findall(r"[A-Za-z_]\w*", str(d))}
    sizes = sorted(words - {"min", "max", "ceildiv"})
    params = ", ".join(f"p{i} : {tensor(shape)}" for i, shape in enumerate(row["params"]))
    given = [f"{n} : Size" for n in sizes] + [f"a{i} : {tensor(shape)}" for i, shape in enumerate(row["args"])]
    where = " where " + ", ".join(f"{n} >= 0" for n in sizes) if sizes else ""
    asked = f" where {', '.join(row['where'])}" if "where" in row else ""
    call = ", ".join(f"a{i}" for i in range(len(row["args"])))
    return (
        f'extern @callee = fn({params}) : {tensor(row["ret"])}{asked} = "elsewhere:callee"\n'
        f"@main = fn({', '.join(given)}) : Tensor{where} {{\n  @callee({call})\n}}\n"
    )


def answer(text: str) -> str:
    report = pipeline.check_text(text, "call.rx", Path("."))
    assert not any(d.code < "E3" for d in report.diagnostics if d.severity == "error"), report.diagnostics
    if not report.ok:
        return "error"
    return "residual" if report.counts.residual else "ok"


@pytest.mark.skipif(not ROWS, reason="the folder with the cases is not beside the project")
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["id"])
def test_a_call_ends_as_expected(row: dict[str, Any]) -> None:
    assert answer(program(row)) == row["expect"], program(row)


# The callee's parameters and condition, the caller's arguments, and the answer, found by trying all small sizes.
OWN: tuple[tuple[list[list[object]], str, list[list[object]], str], ...] = (
    ([["n * 4"]], "", [["A * 8"]], "ok"),
    ([["n * 4"]], "", [["A * 6"]], "residual"),
    ([["n * 4"]], "", [["A * 4 + 2"]], "error"),
    ([["n * 4"], ["n"]], "", [["A * 8"], ["A * 2"]], "ok"),
    ([["n * 4"], ["n"]], "", [["A * 4"], ["A + 1"]], "error"),
    ([["n + 2"]], "", [["A"]], "residual"),
    ([["n + 2"]], "", [[1]], "error"),
    ([["n // 2"], ["n"]], "", [["A"], ["A * 2 + 1"]], "ok"),
    ([["n // 2"], ["n"]], "", [["A + 1"], ["A * 2 + 1"]], "error"),
    ([["n"], ["n // 3"]], "", [["A * 6 + 5"], ["A * 2 + 1"]], "ok"),
    ([["b", "h * d"], ["h * d"]], "", [["B", "X * Y"], ["Y * X"]], "ok"),
    ([["b", "h * d"], ["h * d"]], "", [["B", 96], [97]], "error"),
    ([["h", "d"], ["h * d"]], "", [["H", "D"], ["H + D"]], "residual"),
    ([["h", "d"], ["h * d"]], "", [["H", 4], ["H * 4 + 1"]], "error"),
    ([["n", "m"], ["n * m"]], "", [["A", "A + 1"], ["A * A + A + 1"]], "error"),
    ([["n", "m"], ["min(n, m)"]], "", [["A", "B"], ["min(B, A)"]], "ok"),
    ([["n", "m"], ["min(n, m)"]], "", [["A", 4], [5]], "error"),
    ([["n", "m"], ["max(n, m)"]], "", [["A", "A * 2"], ["A * 2"]], "ok"),
    ([["n"], ["n * n"]], "", [["A"], [9]], "residual"),
    ([["n"], ["n * n"]], "", [["A"], [2]], "error"),
    ([["n"]], "n % 2 == 0", [["A * A + A"]], "ok"),
    ([["n"]], "n % 2 == 0", [["A * 2 + 1"]], "error"),
    ([["n", "m"]], "n <= m", [["A", "A + B"]], "ok"),
    ([["n", "m"]], "n <= m", [["A + 1", "A"]], "error"),
    ([["n", "m"]], "n != m", [["A", "B"]], "residual"),
    ([["n % 4"], ["n"]], "", [[2], ["A * 4 + 3"]], "error"),
    ([["n"], ["n // 4 * 4"]], "", [["A"], ["B * 4 + 2"]], "error"),
    ([["h"], ["ceildiv(h, 3)"]], "", [["X * 3 + 1"], ["X + 1"]], "ok"),
)


@pytest.mark.parametrize(("params", "where", "args", "expect"), OWN)
def test_arithmetic_in_the_callees_sizes_is_decided(
    params: list[list[object]], where: str, args: list[list[object]], expect: str
) -> None:
    row = {"params": params, "ret": [1], "args": args} | ({"where": [where]} if where else {})
    assert answer(program(row)) == expect, program(row)


def test_what_one_call_asks_of_an_unknown_number_of_tensors_is_known_at_the_next() -> None:
    pair = "@g = fn(t : (Tensor([n, 3], float32), Tensor([n, 3], float32))) : Tensor([n, 3], float32) { t[0] }\n"
    text = pair + "@f = fn(x : Tensor) : Tensor { let t = @unstack(x)\n @g(t) + @g(t) }"
    report = pipeline.check_text(text, "call.rx", Path("."))
    asked = [d.message.split(" to ")[0] for d in report.diagnostics if d.severity == "warning"]
    assert asked == ["@g needs `t[0]`", "@g needs `t[1]`"]
