"""What a program demands of its inputs: the weakest signature, which can be pasted back and leaves nothing to check."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.lang.checked import Demands


def demands(text: str) -> Demands:
    report = pipeline.check_text(text, "case.rx", Path("."))
    assert report.checked is not None, report.diagnostics
    return report.checked.demands[-1]


CASES = {
    "a dimension without a name is written as a multiple": (
        "@f = fn(x : Tensor([?, ?], int8)) : Tensor {\n"
        "  let y = @reshape(@cast(x, int32), [x.dim(0), x.dim(1) // 4, 4])\n"
        "  @reshape(@sum(y, axis=2), [x.dim(0) * (x.dim(1) // 4)])\n}",
        "@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32)",
    ),
    "equal sizes get one name": (
        "@f = fn(x : Tensor([n, m], float32), y : Tensor([k, p], float32)) : Tensor { @matmul(x, y) }",
        "@f = fn(x : Tensor([n, m], float32), y : Tensor([m, p], float32)) : Tensor([n, p], float32)",
    ),
    "a forced constant": (
        "@f = fn(x : Tensor([n, m], float32), w : Tensor([8, 3], float32)) : Tensor([n, 3], float32) { @matmul(x, w) }",
        "@f = fn(x : Tensor([n, 8], float32), w : Tensor([8, 3], float32)) : Tensor([n, 3], float32)",
    ),
    "a bound": (
        "@f = fn(x : Tensor([n], float32)) : Tensor { let (v, i) = @topk(x, k=5); v }",
        "@f = fn(x : Tensor([n], float32)) : Tensor([5], float32) where n >= 5",
    ),
    "a name that the body uses keeps its meaning": (
        "@f = fn(x : Tensor([n, d], float32)) : Tensor { @reshape(x, [n, 8, d // 8]) }",
        "@f = fn(x : Tensor([n, d], float32)) : Tensor([n, 8, d // 8], float32) where d % 8 == 0",
    ),
    "a dtype's class": (
        "@f = fn(x : Tensor([n], d)) : Tensor([n], d) { x + x }",
        "@f = fn(x : Tensor([n], d)) : Tensor([n], d) where d in numeric",
    ),
    "a choice": (
        "@f = fn(x : Tensor([n], float32), y : Tensor([3], float32)) : Tensor { x + y }",
        "@f = fn(x : Tensor([n], float32), y : Tensor([3], float32)) : Tensor([3], float32) where n == 3 || n == 1",
    ),
    "nothing more than is declared": (
        "@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m * 4], int8) where n >= 1 { x }",
        "@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m * 4], int8) where n >= 1",
    ),
    "a callee's demands": (
        "@g = fn(x : Tensor([a, a * 2], float32)) : Tensor([a], float32) { @sum(x, axis=1) }\n"
        "@f = fn(x : Tensor([n, m], float32)) : Tensor { @g(x) }",
        "@f = fn(x : Tensor([n, n * 2], float32)) : Tensor([n], float32)",
    ),
}


@pytest.mark.parametrize(("text", "wanted"), CASES.values(), ids=CASES)
def test_the_weakest_signature_is_found(text: str, wanted: str) -> None:
    assert str(demands(text)) == wanted


@pytest.mark.parametrize(("text", "wanted"), CASES.values(), ids=CASES)
def test_pasted_back_it_leaves_nothing_to_check(text: str, wanted: str) -> None:
    last = text.rindex("@f = fn(")
    body = text[text.index("{", last) :]
    report = pipeline.check_text(f"{text[:last]}{wanted} {body}", "pasted.rx", Path("."))
    assert report.ok and report.counts.residual == 0, report.diagnostics
