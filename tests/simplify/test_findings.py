"""Findings are chosen among at the end, and worded only then, with what was known at the place where they were found."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang.pipeline import Report, check_text
from rxlang.simplify import explaining
from rxlang.simplify.known.finding import Finding
from rxlang.simplify.messages.preconditions import Precondition

FOLLOWS = """@f = fn(x : Tensor([n, 5], float32), y : Tensor([m, 5], float32), z : Tensor([k, 5], float32)) {
  let a = x + y
  a + z
}
"""


def checked(text: str) -> Report:
    return check_text(text, "t.rx", Path("."))


@pytest.fixture
def worded(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    found: list[Finding] = []
    said = Precondition.said

    def noted(self: Precondition, finding: Finding) -> object:
        found.append(finding)
        return said(self, finding)

    monkeypatch.setattr(Precondition, "said", noted)
    return found


def codes(report: Report) -> list[str]:
    return [d.code for d in report.diagnostics if d.severity != "note"]


def test_a_finding_that_is_not_told_is_never_worded(worded: list[Finding]) -> None:
    report = checked(FOLLOWS)
    assert (codes(report), len(worded)) == (["W311"], 1)
    assert report.checked is not None
    assert [d.code for d in report.checked.silenced] == ["W311"]
    assert len(worded) == 2


def test_what_is_proved_is_never_worded(worded: list[Finding]) -> None:
    report = checked("@f = fn(x : Tensor([n, 5], float32), y : Tensor([5, m], float32)) { @matmul(x, y) }\n")
    assert (codes(report), worded) == ([], [])


@pytest.mark.parametrize(
    "later", ["let z : Tensor([5, 7], float32) = y", "let z = @matmul(y, w)", "assert y.dim(0) == 5"]
)
def test_a_message_says_what_was_known_at_its_place_and_not_what_is_learnt_later(later: str) -> None:
    head = "@f = fn(x : Tensor([2, 5], float32), y : Tensor, w : Tensor([7, 3], float32))"
    text = head + " {{\n  let a = @matmul(x, y)\n{}  a\n}}\n"
    alone, followed = (checked(text.format(more)) for more in ("", f"  {later}\n"))
    assert codes(alone) == ["W311"]
    (said,) = (d for d in alone.diagnostics if d.code.is_unproved)
    again = next(d for d in followed.diagnostics if d.code.is_unproved)
    assert (again.message, again.caption, again.notes) == (said.message, said.caption, said.notes)
    assert [label.message for label in again.labels] == [label.message for label in said.labels]


def test_a_wrong_dtype_is_told_where_it_is_and_not_at_an_unproved_claim_about_sizes_before() -> None:
    """What is made with an unproved claim is given to a call that is wrong for another reason."""
    for call, needs in (
        ("@put(x, m, y * w)", "@put needs `m` to have an integer dtype"),
        ("@where(y * w, x, x)", "@where needs `y * w` to have dtype bool"),
    ):
        report = checked(
            "@f = fn(x : Tensor([n, d], float32), y : Tensor([n, d], float32), w : Tensor([n], float32),\n"
            f"  m : Tensor([n], bool)) : Tensor {{ {call} }}"
        )
        told = {d.severity: d.message for d in report.diagnostics if d.severity != "note"}
        assert told["error"].startswith(needs) and told["warning"].startswith("`*` needs axis 1 of `y`"), told


LIMITED = {
    "t <= 32": ("mask : Tensor([32, 32], bool)", "@where(mask[:t, :t], -1e30, x)"),
    "t <= 8": ("pos : Tensor([8, d], float32)", "x + @matmul(pos[:t], @ones([d, t]))"),
}
BEHIND = (
    ("keep : Tensor([b, t], float32)", "a + keep"),
    ("bias : Tensor([t], float32)", "a + bias"),
    ("bias : Tensor([32], float32)", "a + bias[:t]"),
    ("k : Tensor([t, 5], float32)", "@matmul(a, k)"),
    ("k : Tensor([d, 5], float32)", "@matmul(a, k)"),
    ("r : Tensor([b, t], float32)", "@reshape(a, [b, 4, t * t]) + @sum(r)"),
    ("r : Tensor([b, t], float32)", "@topk(a, 3)"),
    ("r : Tensor([b, d], float32)", "@concat([a, @ones([d, 4, t, t])], axis=1)"),
)


@pytest.mark.parametrize("limit", LIMITED)
@pytest.mark.parametrize("behind", BEHIND, ids=[body for _, body in BEHIND])
def test_an_unproved_claim_behind_a_limit_is_told_where_it_is_one_within_the_limit_too(
    limit: str, behind: tuple[str, str]
) -> None:
    param, first = LIMITED[limit]
    head = f"@f = fn(x : Tensor([b, 4, t, t], float32), {param}, {behind[0]}, y : Tensor([d], float32))"
    body = f"{{\n  let a = {first}\n  {behind[1]}\n}}"
    unproved_claims = [
        [d.span.text for d in checked(f"{head}{where} {body}").diagnostics if d.severity == "warning"]
        for where in ("", f" where {limit}")
    ]
    assert unproved_claims[0] == [first, *unproved_claims[1]]


def test_of_unproved_claims_each_of_which_explains_the_next_one_in_turn_one_is_told() -> None:
    """The padding may be too large for the call; one size of its result is right wherever the call works, the other is not."""
    report = checked(
        "@f = fn(x : Tensor([n, c, h, w], float32), k : Tensor([o, c, s, s], float32)) : Tensor([n, o, h, w], float32)\n"
        "  where s % 2 == 1 {\n  let y = @conv2d(x, k, pads=c // 2)\n  y * 2\n}\n"
    )
    assert report.counts.residual == 3
    assert codes(report) == ["W311"]


def test_looking_for_what_explains_a_long_row_takes_a_few_steps_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    original = explaining.calls_behind

    def counted(*given: object) -> set[object]:
        found = original(*given)  # type: ignore[arg-type]
        seen.append(len(found))
        return found

    monkeypatch.setattr(explaining, "calls_behind", counted)
    for number in (20, 40):
        params = ", ".join(f"y{i} : Tensor([m{i}], float32)" for i in range(number))
        lines = "\n".join(f"  let a{i + 1} = a{i} + y{i}" for i in range(number))
        report = checked(f"@f = fn(a0 : Tensor([n], float32), {params}) {{\n{lines}\n  a{number}\n}}\n")
        assert codes(report) == ["W311"]
        assert 0 < sum(seen) <= 2 * number
        seen.clear()
