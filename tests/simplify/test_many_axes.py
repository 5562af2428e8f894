"""No array has more than 64 axes: that is said of a type and of what has surely more, and while it runs of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.interp.shape_error import ShapeError

ONES = ", ".join(["1"] * 60)
# What makes more axes of those of `x`, which has any number of them, and which it would have where `x` has 40.
MAKING = {
    "@broadcast_to(x, [*s, *s])": 80,
    f"@reshape(x, [*s, {ONES}])": 100,
    f"@reshape(x, [{ONES}, *s])": 100,
    "@expand_dims(@broadcast_to(x, [1, *s, 1, *s]), axis=0)": 82,
}


def report_of(text: str) -> pipeline.Report:
    return pipeline.check_text(text, "axes.rx", Path("."))


def codes(text: str) -> list[str]:
    return [str(d.code) for d in report_of(text).diagnostics if d.severity == "error"]


@pytest.mark.parametrize("form", ["Tensor([{0}])", "Tensor([{0}, *s], float32)", "(Tensor, Tensor([..., {0}]))"])
@pytest.mark.parametrize(
    "where",
    ["@f = fn(x : {0}) {{ x }}", "type T = {0}\n@f = fn(x : T) {{ x }}", "@f = fn(g : fn(Tensor) : {0}, x) {{ g(x) }}"],
)
@pytest.mark.parametrize(("axes", "found"), [(64, []), (65, ["E216"])])
def test_a_type_of_more_axes_than_an_array_may_have_is_none(form: str, where: str, axes: int, found: list[str]) -> None:
    assert codes(where.format(form.format(", ".join(["2"] * axes))) + "\n") == found


@pytest.mark.parametrize("given", ["Tensor([2], float32)", "Tensor([2, *s], float32)"])
def test_a_stack_of_too_many_axes_is_an_error_where_it_is_made(given: str) -> None:
    maps = "\n".join(f"  let a{i + 1} = @map(fn(r) {{ a{i} }}, a0)" for i in range(70))
    report = report_of(f"@f = fn(a0 : {given}) : Tensor {{\n{maps}\n  a70\n}}\n")
    [wrong] = [d for d in report.diagnostics if d.severity == "error"]
    assert "to have at most 64 axes, but it would have 65: this always fails" in wrong.message
    assert wrong.span.line == 65


@pytest.mark.parametrize("body", MAKING)
def test_what_only_the_run_finds_to_have_too_many_axes_is_said_as_if_it_had_been_asked(body: str) -> None:
    module = rx.loads(f"@f = fn(x : Tensor([*s], float32)) : Tensor {{ {body} }}\n")
    with pytest.raises(ShapeError) as caught:
        module.f(np.ones([1] * 40, np.float32))
    message = caught.value.diagnostic.message
    assert message.endswith(f"needs its result to have at most 64 axes, but it would have {MAKING[body]}")
    assert module.f(np.ones([1] * 2, np.float32)).size == 1


@pytest.mark.parametrize("turns", [0, 2])
def test_a_stack_that_only_the_run_finds_to_have_too_many_axes_is_said(turns: int) -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([*s], float32), k : Size) : Tensor {\n"
        "  for i in range(k) stack (y : Tensor([*s], float32)) { x }\n}\n"
    )
    with pytest.raises(ShapeError) as caught:
        module.f(np.ones([1] * 64, np.float32), turns)
    assert "a tensor has at most 64 axes, and the stack would have 65" in caught.value.diagnostic.message
    assert module.f(np.ones([1] * 63, np.float32), turns).ndim == 64
