"""What is said of a size that only the run decides: its bound where that is known, and whose name a wish is written in."""

from __future__ import annotations

import re

import pytest
import rxlang as rx

HEAD = "@f = fn(x : Tensor([{n}], float32), b : Tensor([{n}], bool)) : Tensor {{ let y = @filter(x, b)\n"


def said(body: str, n: str = "5") -> list[rx.Diagnostic]:
    found = rx.check_source(HEAD.format(n=n) + body + " }").diagnostics
    return [d for d in found if d.severity in ("error", "warning")]


@pytest.mark.parametrize(
    ("body", "code", "part"),
    [
        ("@reshape(y, [6])", "E307", "but they are 6 and at most 5: this always fails"),
        ("@reshape(@stack([y, y]), [3, 5])", "E307", "but they are 15 and at most 10: this always fails"),
        ("let (v, i) = @topk(y, k=6)\nv", "E304", "`k` (6) to be at most axis 0 of `y` (at most 5): this always fails"),
        ("let z : Tensor([7]) = y\nz", "E302", "axis 0 of `z` to be 7, but it is at most 5: this always fails"),
        ("@broadcast_to(y, [7])", "W311", "axis 0 of `y` (at most 5) to be 1 or equal to axis 0 of `[7]` (7)"),
    ],
)
def test_a_bound_is_said_where_it_is_known(body: str, code: str, part: str) -> None:
    (found,) = said(body)
    assert found.code == code and part in found.message
    words = [found.message, *(label.message for label in found.labels), *found.notes]
    assert not [w for w in words if "?" in re.sub(r"`[^`]*`|Tensor\\(.*\\)", "", w)], words


def test_a_symbolic_bound_is_said_and_nothing_else_is_made_of_it() -> None:
    (found,) = said("@reshape(y, [n + 1])", "n")
    assert "but they are n + 1 and at most n: this always fails" in found.message
    assert [label.message for label in found.labels] == ["a size of at most n comes from here"]


SAME = """@g = fn(x : Tensor([{0}, d]), y : Tensor([{0}, d])) : Tensor {{ x }}
@f = fn(x : Tensor([1, d]), y : Tensor([n, d])) : Tensor where n == 5 {{ @g(x, y) }}
"""


@pytest.mark.parametrize(
    ("name", "words"), [("n", "to be 1 (@g's `n`), but it is n"), ("m", "to be 1 (`m`), but it is n")]
)
def test_of_two_names_that_are_the_same_it_is_said_whose_each_is(name: str, words: str) -> None:
    (found,) = [d for d in rx.check_source(SAME.format(name)).diagnostics if d.severity == "error"]
    assert words in found.message


def test_squeeze_without_an_axis_asks_nothing() -> None:
    for shape in ("[n]", "[n, 1]", "[*s, n]", "?"):
        report = rx.check_source(f"@f = fn(x : Tensor({shape}, float32)) : Tensor {{ @squeeze(x) }}")
        assert report.ok and not [d for d in report.diagnostics if d.severity == "warning"], shape
        assert report.counts.residual == 0


@pytest.mark.parametrize(("size", "given", "words"), [
    ("n * -2 + 10", 14, "at most 10, but it is 14"), ("10 - n * 2", 14, "at most 10, but it is 14"),
    ("2 * (5 - n)", 12, "at most 10, but it is 12"), ("2 * (5 + n)", 8, "at least 10, but it is 8"),
    ("3 * (n + 2) + 1", 4, "at least 7, but it is 4"), ("n * 4 + 3", 2, "3 more than a multiple of 4, but it is 2"),
])  # fmt: skip
def test_a_dimension_that_no_size_gives_is_told_its_bound(size: str, given: int, words: str) -> None:
    source = f"""@f = fn(x : Tensor([{size}], float32)) : Tensor([n], float32) {{ @zeros([n], float32) }}
@main = fn() : Tensor {{ @f(@zeros([{given}], float32)) }}"""
    [found] = [d for d in rx.check_source(source).diagnostics if d.severity == "error"]
    assert found.message == f"@f needs axis 0 of `x` to be {words}: this always fails"
