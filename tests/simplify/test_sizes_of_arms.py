"""A claim that an arm of an `if` on data can never satisfy by a size is that arm's mistake; other unproved claims stay
unproved claims."""

from __future__ import annotations

import pytest
import rxlang as rx

HEAD = "@f = fn(c : Tensor([], bool), x : Tensor([3], float32), y : Tensor([6], float32), z : Tensor([n], float32), n : Size)"
NEVER = [
    ": Tensor([6], float32) { if (c) { x } else { y } }",
    ": Tensor { let a : Tensor([3], float32) = if (c) { x } else { y }\n a }",
    ": Tensor { let a = if (c) { x } else { y }\n a + y }",
    ": Tensor { let a = if (c) { y } else { x }\n @reshape(@exp(a), [2, 3]) }",
    ": Tensor { let a = if (c) { @stack([x, x]) } else { @stack([y, y]) }\n @matmul(a, @ones([3, 2], float32)) }",
    ": Tensor { @g(if (c) { x } else { y }) }\n@g = fn(x : Tensor([3], float32)) : Tensor { x }",
    ": Tensor([6], float32) { if (c) { y } else { if (c) { y } else { x } } }",
]
PERHAPS = [
    ": Tensor([6], float32) { if (c) { y } else { z } }",
    ": Tensor { let a = if (c) { x } else { z }\n a + x }",
    ": Tensor { let a = if (c) { x } else { y }\n a + z }",
    ": Tensor { let a = if (c) { x } else { y }\n let b ! Tensor([6], float32) = a\n b }",
    ": Tensor { let a = if (c) { x } else { y }\n assert a.dim(0) == 6\n a + y }",
]


@pytest.mark.parametrize("body", NEVER)
def test_an_arm_that_fails_by_a_size_is_an_error_of_the_if(body: str) -> None:
    errors = [d for d in rx.check_source(HEAD + body).diagnostics if d.severity == "error"]
    assert [d.code for d in errors] == ["E315"]
    assert "whenever" in errors[0].message and any("this arm gives" in label.message for label in errors[0].labels)


@pytest.mark.parametrize("body", PERHAPS)
def test_what_an_arm_may_satisfy_is_none(body: str) -> None:
    assert rx.check_source(HEAD + body).ok


@pytest.mark.parametrize(
    ("body", "bounds"),
    [
        ("if (c) { x } else { y }", ["6"]),
        ("if (c) { @concat([x, z], axis=0) } else { y }", ["max(n, 3) + 3"]),
        ("if (c) { @filter(z, z > 0.0) } else { if (c) { x } else { z[0:2] } }", ["max(n, 3)"]),
        ("let a = if (c) { @filter(z, z > 0.0) } else { x }\n @concat([a, a], axis=0)", ["max(n, 3) * 2"]),
        ("if (c) { (x, @stack([x, x])) } else { (z, @ones([5, 3], float32)) }", ["max(n, 3)", "5"]),
        ("if (c) { let k = @item(@argmax(z))\n @ones([k + 1], float32) } else { x }", [None]),
    ],
)
def test_a_size_that_differs_is_at_most_the_greater_one(body: str, bounds: list[str | None]) -> None:
    report = rx.check_source(f"{HEAD} where n >= 1 {{ {body} }}")
    assert report.ok and report.checked is not None
    [result] = [f.result for f in report.checked.shapes]
    assert result is not None
    parts = [result] if result.shape is not None else list(result.items)
    found = [b for part in parts for s, b in zip(part.shape or (), part.bounds, strict=True) if s == "?"]
    assert found == bounds


@pytest.mark.parametrize("wrong", ["@unstack(x + z)", "@topk(x + z, 2)", "@g(x, z)"])
@pytest.mark.parametrize("arms", ["{{ (x, y) }} else {{ {} }}", "{{ {} }} else {{ (x, y) }}"])
def test_an_arm_that_fails_beside_one_of_several_values_is_all_that_is_told(wrong: str, arms: str) -> None:
    text = f"{HEAD.replace('z : Tensor([n]', 'z : Tensor([4]')} {{ let (a, b) = if (c) {arms.format(wrong)}\n a }}\n"
    found = rx.check_source(f"{text}@g = fn(x, y) {{ @split(x + y, 2) }}\n").diagnostics
    assert [d.code for d in found if d.severity == "error"] == ["E306"]
