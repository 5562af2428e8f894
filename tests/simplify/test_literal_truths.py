"""Literal truths decide an `if` before the run, and a `let` of a size has the fix that names its sort."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.fixes.applied import fixed
from rxlang.lang.source import Source

RANKS = "@ranks = fn(x : Tensor([_n], float32), c : Tensor([], bool)) : Tensor { if (c) { x } else { @f2(x) } }\n"
RANKS += "@f2 = fn(x : Tensor([n], float32)) : Tensor([1, n], float32) { @expand_dims(x, axis=0) }\n"


@pytest.mark.parametrize("truth", ["false", "tensor(false)", "3 > 4", "3.0 > 4.0", "!true", "1 == 2 && true", "no"])
@pytest.mark.parametrize("body", ["if (TRUTH) { x } else { @f2(x) }", "@ranks(x, TRUTH)"])
def test_a_literal_truth_takes_one_arm(truth: str, body: str) -> None:
    made = body.replace("TRUTH", truth)
    text = f"{RANKS}@f = fn(x : Tensor([n], float32)) : Tensor([1, n], float32) {{\n  let no = false\n  {made}\n}}\n"
    report = rx.check_source(text)
    assert report.ok and [d.code for d in report.diagnostics if d.severity == "warning"] == []


def test_a_let_of_a_size_or_a_shape_is_fixed_by_its_sort() -> None:
    text = "@f = fn(x : Tensor([n, 4], float32)) : Tensor {\n  let k = n // 4\n  let s = [k, 4]\n  @ones(s)\n}\n"
    after, done = fixed(Source("p.rx", text), Path())
    assert after == text.replace("let k =", "let k : Size =").replace("let s =", "let s : Shape =")
    assert [d.text for d in done] == ["`let k : Size = n // 4` names it", "`let s : Shape = [k, 4]` names it"]


def test_a_size_that_is_used_as_a_tensor_is_not_fixed_by_its_sort() -> None:
    text = "@f = fn(x : Tensor([n], int64)) : Tensor([n], int64) {\n  let k = n // 4\n  x * k\n}\n"
    assert ": Size" not in fixed(Source("p.rx", text), Path())[0]


def test_a_comparison_of_a_named_number_is_a_tensor_where_one_is_wanted() -> None:
    text = "@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) {\n  let k = 3\n  @where(k > 2, x * k, x)\n}\n"
    assert rx.loads(text).f(np.array([1, 2], "int8")).tolist() == [3, 6]


@pytest.mark.parametrize(
    "body",
    [
        "if (0.0) { x } else { x }",
        "let c = 2.5\n if (c) { x } else { x }",
        "for i in range(3) with (a = x) while (0.5) { a }",
        "while (1.5) with (a = x) { a }",
    ],
)
def test_a_float_decides_nothing(body: str) -> None:
    report = pipeline.check_text(f"@f = fn(x : Tensor([n], float32)) {{ {body} }}\n", "p.rx", Path("."))
    assert [d.code for d in report.diagnostics if d.severity == "error"] == ["E304"]
