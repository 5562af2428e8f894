"""For which sizes alone an open claim holds, as a warning says it: short, exact, and all that one call needs at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.fixes.ranked import with_helps
from rxlang.lang.diagnostics import Diagnostic

HERE = Path(".")


def the_warning(params: str, body: str) -> Diagnostic:
    text = f"@f = fn({params}) : Tensor {{ {body} }}"
    report = with_helps(pipeline.check_text(text, "case.rx", HERE), HERE, (), None)
    found = [d for d in report.diagnostics if d.severity != "note"]
    assert [d.code for d in found] == ["W311"]
    return found[0]


def said(warning: Diagnostic) -> str:
    return warning.message.partition("this holds only if ")[2].removesuffix(", which is checked at run time")


@pytest.mark.parametrize(
    ("params", "body", "only"),
    [
        ("x : Tensor([n, 5], float32), y : Tensor([2 * n, 5], float32)", "x * y", "n = 0 or n = 1"),
        ("x : Tensor([n * n, 5], float32), y : Tensor([n + 6, 5], float32)", "x + y", "n = 1 or n = 3"),
        (
            "x : Tensor([1, 1, h + 4, 9], float32)",
            "@max_pool(@conv(x, @ones([1, 1, 3, 3]), strides=[2, 1]), 3)",
            "h >= 3",
        ),
        ("x : Tensor([6, h], float32)", "@reshape(x, [4, -1])", "h % 2 == 0"),
        ("x : Tensor([h, 3], float32)", "@conv(@expand_dims(x[::2, :], axis=[0, 1]), @ones([1, 1, 3, 3]))", "h >= 5"),
        ("x : Tensor([n, 3], float32), y : Tensor([3, 3], float32)", "x[2:5, :] + y", "n == 3 or n >= 5"),
        ("x : Tensor([n], float32), y : Tensor([m], float32)", "@matmul(x, y)", "n == m"),
        ("x : Tensor([n, 3], float32)", "let a : Tensor([9, 3], float32) = @concat([x[:7], x[:2]]); a", "n >= 7"),
        ("x : Tensor([h], float32)", "assert h % 2 == 0; @reshape(x[0:h // 2], [2, -1])", "h % 4 == 0"),
    ],
)
def test_the_sizes_for_which_a_claim_holds_are_said_shortly(params: str, body: str, only: str) -> None:
    assert said(the_warning(params, body)) == only


def test_what_one_call_needs_besides_is_said_with_it() -> None:
    warning = the_warning(
        "x : Tensor([_n, c, h, w], float32), k : Tensor([_o, d, 3, 3], float32)", "@conv(x, k, strides=[2, 2])"
    )
    assert said(warning) == "c == d, h >= 3 and w >= 3"
    assert warning.help == "`where c == d, h >= 3, w >= 3` on @f makes it hold (checked)"


def test_a_long_number_of_elements_is_told_as_a_product() -> None:
    warning = the_warning("x : Tensor([n, c, h, w], float32)", "@reshape(x[:, 2:, ::3, ::2], [n, 1568])")
    assert "n * 1568 and n * max(c - 2, 0) * ((h + 2) // 3) * ((w + 1) // 2)" in warning.message


@pytest.mark.parametrize(
    ("params", "body", "only"),
    [
        (
            "x : Tensor([b, m + q, d], float32), u : Tensor([h, k, m], float32)",
            "@reshape(x, [b, m + q, h, k])",
            "d == h * k",
        ),
        (
            "x : Tensor([b, h, w], float32), k : Tensor([1, 1, p, p], float32)",
            "@reshape(@conv(@reshape(x, [b, 1, h, w]), k, pads=p // 2), [b, h, w])",
            "p % 2 == 1",
        ),
    ],
)
def test_sizes_that_leave_nothing_where_they_are_0_are_left_out(params: str, body: str, only: str) -> None:
    assert f"this holds if {only}, which is checked" in the_warning(params, body).message


def test_that_a_kernel_is_odd_is_said_once_for_all_axes() -> None:
    warning = the_warning(
        "x : Tensor([n, c, h, w], float32), k : Tensor([c, c, p, p], float32)", "x + @conv(x, k, pads=p // 2)"
    )
    assert warning.help == "`where p % 2 == 1` on @f makes it hold (checked)"
