"""A carry that changes in each turn, and what has to be written for it: the change is offered, and tried."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import ranked
from rxlang.pipeline import check_text

HEAD = "@f = fn(x : Tensor([n, d], float32), k : Size) : Tensor {\n"
GROWING = (
    ("range(k)", "x", "@concat([acc, x])", "Tensor([n + i * n, d], float32)", lambda x, k: np.tile(x, (k + 1, 1))),
    ("range(1, k)", "x", "@pad(acc, [(0, 0), (1, 1)])", "Tensor([n, d + (i - 1) * 2], float32)",
     lambda x, k: np.pad(x, [(0, 0), (max(k - 1, 0),) * 2])),
    ("range(k)", "@zeros([0, d], float32)", "@concat([acc, x])", "Tensor([i * n, d], float32)",
     lambda x, k: np.tile(x, (k, 1))),
    ("range(0, k, 2)", "@sum(x, axis=0)", "@pad(acc, [(0, 3)])", "Tensor([d + i // 2 * 3], float32)",
     lambda x, k: np.pad(x.sum(0), (0, 3 * -(-k // 2)))),
    ("range(k)", "x", "@concat([@concat([acc, x]), x])", "Tensor([n + i * (n * 2), d], float32)",
     lambda x, k: np.tile(x, (2 * k + 1, 1))),
    ("range(k)", "x", "@concat([acc, x[0:1]])", "Tensor([n + i * min(n, 1), d], float32)",
     lambda x, k: np.concatenate([x, *[x[:1]] * k])),
)  # fmt: skip
CHANGING = (
    ("for i in range(k)", "@concat([acc, acc])", "p >= n"), ("while (acc.dim(0) < k)", "@concat([acc, acc])", "p >= n"),
    ("for i in range(k)", "acc[1:]", "p <= n"),
)  # fmt: skip


def fixed(text: str) -> tuple[str, str]:
    """What the first fix says of the first error, and the text with it."""
    found = next(o for o in ranked(check_text(text, "a.rx", Path()), Path()) if o.diagnostic.severity == "error")
    return found.fixes[0].text, applied(text, found.fixes[0].edits)


@pytest.mark.parametrize(("turns", "first", "turn", "type_", "plain"), GROWING)
def test_a_carry_without_annotation_that_grows_gets_one_with_its_size_per_turn(
    turns: str, first: str, turn: str, type_: str, plain: object
) -> None:
    loop = f"for i in {turns} with (acc = {first}) {{ {turn} }}"
    says, text = fixed(f"{HEAD}  let b = {loop}\n  b\n}}\n")
    assert says == f"`acc` grows in each turn: annotate it `acc : {type_}`"
    module, x = rx.loads(text), np.arange(6, dtype=np.float32).reshape(2, 3)
    for k in (1, 2, 5):
        assert np.array_equal(module.f(x, k), plain(x, k))  # type: ignore[operator]


@pytest.mark.parametrize(("loop", "turn", "condition"), CHANGING)
def test_a_carry_without_annotation_that_changes_otherwise_gets_a_name_for_its_size(
    loop: str, turn: str, condition: str
) -> None:
    says, text = fixed(f"{HEAD}  assert n >= 1\n  {loop} with (acc = x) {{ {turn} }}\n}}\n")
    assert says.startswith("let the size change from turn to turn: `acc : Tensor([p, d], float32)`")
    assert f"where {condition}" in says and rx.check_source(text).ok


def test_a_splice_of_two_carries_is_bound_before_the_loop_or_left_out() -> None:
    text = "@f = fn(x : Tensor, y : Tensor) : Tensor {{ {}\n  let (c, _) = for i in range(3) with ({}) {{ (a + a, b + b) }}"
    text += "\n  c }}\n"
    carries = "a : Tensor([*s, 4], float32) = x, b : Tensor([*s], float32) = y"
    [found] = [d for d in rx.check_source(text.format("", carries)).diagnostics if d.severity == "error"]
    assert found.code == "E299" and "match_shape(x, [s], [*s])" in (found.help or "")
    for before, now in (("match_shape(y, [s], [*s])", carries), ("", "a = x, b = y")):
        assert not [d for d in rx.check_source(text.format(before, now)).diagnostics if d.severity == "error"]
