"""What a primitive gives as an index is known to be one: it needs no check where it fits, and has one where it may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang
from rxlang import pipeline

DRAW = "@random_categorical(@random_key(0), v)"
# An index, and the least table that it is certain to be in, all over `v : [n]` that is not empty.
INDICES = [
    ("@argmax(v)", "n"),
    ("@argmin(v, axis=0)", "n"),
    ("@argmax(v, axis=0, keepdims=true)", "n"),
    ("@argmax(@reshape(v, [1, n]))", "n"),
    ("@searchsorted(v, @mean(v))", "n + 1"),
    (DRAW, "n"),
    ("@argmax(v) + 2", "n + 2"),
    ("@argmax(@concat([v, v]))", "2 * n"),
]


def open_checks(table: str, index: str) -> list[str]:
    text = f"@f = fn(v : Tensor([n], float64), t : Tensor([{table}], int64)) where n >= 1 {{ let i = {index}; t[i] }}\n"
    report = pipeline.check_text(text, "index.rx", Path("."))
    assert not [d.message for d in report.diagnostics if d.severity == "error"]
    return [d.code for d in report.diagnostics if d.severity == "warning"]


@pytest.mark.parametrize(("index", "table"), INDICES)
def test_an_index_into_a_table_that_is_long_enough_is_not_checked(index: str, table: str) -> None:
    assert open_checks(table, index) == []
    assert open_checks(f"{table} + 3", index) == []


@pytest.mark.parametrize(("index", "table"), INDICES)
def test_an_index_into_a_table_that_may_be_too_short_is_checked(index: str, table: str) -> None:
    assert open_checks("k", index) == ["W311"]
    if table != "n":
        assert open_checks("n", index) == ["W311"]


def test_the_place_of_the_largest_is_a_size_within_its_axis() -> None:
    text = """@f = fn(m : Tensor([n, d], float64), i : Size) : Tensor([d], float64) where d >= 1, i >= 0, i < n {
  let p : Size = @item(@argmax(m[i:, 0], axis=0)) + i
  m[p]
}
@g = fn(v : Tensor([n], float64)) : Tensor([1], float64) where n >= 1 {
  let (_, i) = @topk(v, 1)
  v[i]
}
"""
    report = pipeline.check_text(text, "place.rx", Path("."))
    assert [d.code for d in report.diagnostics if d.severity != "note"] == []


def test_an_index_out_of_range_still_ends_the_run(tmp_path: Path) -> None:
    file = tmp_path / "late.rx"
    file.write_text(
        "@f = fn(v : Tensor([n], float64), t : Tensor([k], int64)) where n >= 1 { t[@argmax(v)] }\n", encoding="utf-8"
    )
    module = rxlang.load(file)
    v, t = np.array([1.0, 3.0, 2.0]), np.array([5, 7])
    assert int(module.f(v, t)) == 7
    with pytest.raises(rxlang.ShapeError, match="for the index 2"):
        module.f(v[[0, 2, 1]], t)


def test_an_index_of_one_arm_or_of_the_first_turn_is_not_taken_for_the_others(tmp_path: Path) -> None:
    file = tmp_path / "joined.rx"
    file.write_text(
        """@arm = fn(t : Tensor([n], float64), c : bool) where n >= 1 {
  let i = if (c) { @argmax(t) } else { @argmax(@concat([t, t + 1.0])) }
  t[i]
}
@turn = fn(t : Tensor([n], float64), steps : Size) where n >= 1, steps >= 0 {
  let i = for k in range(steps) with (i : Tensor([], int64) = @argmax(t)) { @argmax(@concat([t, t + 1.0])) }
  t[i]
}
""",
        encoding="utf-8",
    )
    module, t = rxlang.load(file), np.array([1.0, 5.0, 2.0])
    assert float(module.arm(t, np.bool_(True))) == float(module.turn(t, 0)) == 5
    with pytest.raises(rxlang.ShapeError, match="holds 4|index 4"):
        module.arm(t, np.bool_(False))
    with pytest.raises(rxlang.ShapeError, match="holds 4|index 4"):
        module.turn(t, 1)
