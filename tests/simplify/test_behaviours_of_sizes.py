"""Cases that need reasoning about sizes: empty tensors, facts, joins, slices, broadcasting, one answer always."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.lang.checked import Binding
from rxlang.lang.diagnostics import Diagnostic


def check(text: str, **options: bool) -> pipeline.Report:
    return pipeline.check_text(text, "case.rx", Path("."), (), pipeline.Options(**options))


def main(params: str, body: str, result: str = "Tensor", where: str = "") -> str:
    return f"@main = fn({params}) : {result}{where and ' where ' + where} {{\n{body}\n}}\n"


def the_error(text: str) -> Diagnostic:
    found = [d for d in check(text).diagnostics if d.severity == "error"]
    assert len(found) == 1, found
    return found[0]


def binding(report: pipeline.Report, name: str) -> Binding:
    assert report.checked is not None
    shapes = next(f for f in report.checked.shapes if f.name == "@main")
    every = [*shapes.params, *shapes.bindings, *([shapes.result] if shapes.result else [])]
    return next(b for b in every if b.name == name)


def ones(*dims: int) -> Any:
    return np.ones(dims, np.float32)


# R5, R6


def test_r5_what_works_only_on_empty_tensors_is_an_error_that_says_so() -> None:
    text = main("x : Tensor([n, 15], float32)", "@reshape(x, [n, 4, 4])")
    assert the_error(text).code == "E310" and "only on empty tensors" in the_error(text).message
    allowed = check(text, allow_empty=True)
    assert allowed.ok and [d.code for d in allowed.diagnostics if d.severity == "warning"] == ["E310"]
    module = rx.loads(text, allow_empty=True)
    assert module.main(ones(0, 15)).shape == (0, 4, 4)
    with pytest.raises(rx.ShapeError):
        module.main(ones(1, 15))


def test_r5_a_literal_count_that_no_size_divides_is_refuted() -> None:
    assert (
        the_error(main("x : Tensor([8, 15], float32), m : Size", "@reshape(x, [m, 16])", where="m >= 0")).code == "E307"
    )


def test_r6_a_square_plus_one_is_never_the_number() -> None:
    text = main("x : Tensor([2, n], float32), y : Tensor([n * n + 1, 2], float32)", "@matmul(x, y)")
    assert (
        the_error(text.replace("@main = fn(", "@main = fn(n : Size, ", 1).replace("{", "where n >= 0 {", 1)).code
        == "E305"
    )


# R9


def test_r9_an_assertion_is_a_fact_for_what_follows() -> None:
    report = check(
        main(
            "x : Tensor([n], float32), y : Tensor([3], float32)",
            "  assert n == 3\n  assert n > 2\n  let r = x + y\n  r",
        )
    )
    assert report.ok and report.counts.residual == 1
    assert binding(report, "r").shape == (3,)


def test_r9_an_assertion_that_cannot_hold_is_refuted() -> None:
    assert the_error(main("x : Tensor([n], float32)", "  assert n < n\n  x")).code == "E303"


def test_r9_two_assertions_that_contradict_each_other_are_one_error_that_shows_both() -> None:
    found = the_error(main("x : Tensor([n], float32)", "  assert n > 8\n  assert n < 4\n  x"))
    assert found.code == "E312" and "`n > 8`" in found.message and "`n < 4`" in found.message
    assert found.labels[0].span.text == "assert n > 8"


def test_r9_a_contradiction_of_three_assertions_shows_those_three_and_no_others() -> None:
    body = "  assert k <= 9\n  assert n < m\n  assert n >= 1\n  assert m < k\n  assert k < n\n  x"
    found = the_error(main("x : Tensor([n, m, k], float32)", body))
    assert found.code == "E312"
    assert found.message == "`k < n` contradicts `n < m` and `m < k`: no sizes satisfy all three"
    assert [(at.span.text, at.message) for at in found.labels] == [
        ("assert n < m", "this is asserted before"),
        ("assert m < k", "this is asserted before"),
    ]


def test_r9_what_always_fails_shows_the_facts_that_make_it_fail_and_no_others() -> None:
    header = "x : Tensor([n], float32), y : Tensor([m], float32)"
    found = the_error(main(header, "  assert n >= 1\n  assert n == 3\n  assert m == 4\n  assert m <= 9\n  x + y"))
    shown = [at.span.text for at in found.labels if at.message == "this is asserted before"]
    assert found.code == "E306" and shown == ["assert n == 3", "assert m == 4"]
    found = the_error(main(header, "  if (n == 3) { if (m == 4) { x + y } else { x } } else { y }"))
    assert [at.span.text for at in found.labels if at.message == "this is true here"] == ["n == 3", "m == 4"]
    products = "  let z = @matmul(x, x)\n  assert n == 4\n  z"
    found = the_error(main("x : Tensor([n, 3], float32)", products))
    assert [(at.span.text, at.message) for at in found.labels] == [("@matmul(x, x)", "this call has to work too")]
    found = the_error(main(header, "  if (n != 3) { x } else { let z : Tensor([2], float32) = x\n z }"))
    assert [at.span.text for at in found.labels if at.message == "this is false here"] == ["n != 3"]


# R10


def joined(then: str, orelse: str, params: str = "c : bool, x : Tensor([n], float32)") -> pipeline.Report:
    return check(main(params, f"  let r = if (c) {{ {then} }} else {{ {orelse} }}\n  r"))


def test_r10_sizes_that_differ_leave_the_rank_and_the_choice() -> None:
    text = main(
        "c : bool, x : Tensor([3], float32), y : Tensor([6], float32)",
        "  let r = if (c) { x } else { y }\n  assert r.dim(0) == 3 || r.dim(0) == 6\n  assert r.dim(0) % 3 == 0\n  r",
    )
    report = check(text)
    assert report.ok and report.counts.residual == 0
    assert binding(report, "r").shape == ("?",)


def test_r10_what_both_arms_share_stays() -> None:
    report = joined("x", "y", "c : bool, x : Tensor([n, 3], float32), y : Tensor([n, 6], float32)")
    assert binding(report, "r").shape == ("n", "?")


def test_r10_equal_expressions_are_one_size() -> None:
    report = joined("@reshape(x, [n * 4])", "@reshape(x, [2 * n * 2])", "c : bool, x : Tensor([n, 4], float32)")
    assert binding(report, "r").shape == ("n * 4",)


def test_r10_a_condition_holds_inside_its_arm() -> None:
    report = check(
        main(
            "x : Tensor([n], float32), y : Tensor([3], float32)",
            "  let r = if (n == 3) { x + y } else { y }\n  r",
        )
    )
    assert report.ok and report.counts.residual == 0 and binding(report, "r").shape == (3,)


def test_r10_the_joined_size_is_one_of_the_two() -> None:
    report = check(
        main(
            "c : bool, x : Tensor([n], float32)",
            "  let r = if (c) { x } else { @concat([x, x], axis=0) }\n  assert r.dim(0) == n || r.dim(0) == 2 * n\n  r",
        )
    )
    assert report.ok and report.counts.residual == 0


# R15


def test_r15_slices_are_clamped_and_never_negative() -> None:
    report = check(main("x : Tensor([9, 3], float32)", "  let r = x[5:2]\n  r"))
    assert binding(report, "r").shape == (0, 3)
    module = rx.loads(main("x : Tensor([n, 3], float32)", "  let r = x[2:5]\n  r"))
    for n in (0, 1, 2, 3, 4, 5, 9):
        x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
        np.testing.assert_array_equal(module.main(x), x[2:5])
        assert module.main.shapes(x=(n, 3)) == x[2:5].shape


# N1, N4


@pytest.mark.parametrize(
    ("params", "call"),
    [
        ("x : Tensor([n], float32), y : Tensor([m], float32)", "x * y"),
        ("c : Tensor([n], bool), x : Tensor([m], float32), y : Tensor([k], float32)", "@where(c, x, y)"),
        ("x : Tensor([n, 2, 3], float32), y : Tensor([m, 3, 5], float32)", "@matmul(x, y)"),
    ],
)
def test_n1_two_symbols_are_never_taken_for_one(params: str, call: str) -> None:
    report = check(main(params, f"  {call}"))
    assert report.ok and report.counts.residual >= 1
    module = rx.loads(main(params, f"  {call}"))
    shapes = {"x * y": ((2,), (3,)), "@where(c, x, y)": ((2,), (3,), (2,)), "@matmul(x, y)": ((2, 2, 3), (3, 3, 5))}
    args = [np.ones(s, bool if params.startswith("c") and i == 0 else np.float32) for i, s in enumerate(shapes[call])]
    with pytest.raises(rx.ShapeError):
        module.main(*args)


def test_n4_floor_division_rounds_down_and_a_cast_truncates() -> None:
    module = rx.loads(main("x : Tensor([n], int64)", "x // 2", "Tensor([n], int64)"))
    np.testing.assert_array_equal(module.main(np.array([-3, 3, -4])), [-2, 1, -2])
    module = rx.loads(main("x : Tensor([n], float32)", "@cast(x, int64)", "Tensor([n], int64)"))
    np.testing.assert_array_equal(module.main(np.float32([-2.7, 2.7])), [-2, 2])
    floor = main("x : Tensor([n], float32)", "  assert (0 - 3) // 2 == 0 - 2\n  assert (0 - 3) % 2 == 1\n  x")
    assert check(floor).counts.residual == 0


# N10


def test_n10_answers_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    program = main(
        "c : bool, x : Tensor([n, m], float32), y : Tensor([k, p], float32), z : Tensor([q], float32)",
        "  let a = @matmul(x, y)\n  let b = if (c) { a } else { @concat([a, a], axis=0) }\n"
        "  let d = b + z\n  @reshape(d, [n, 4, -1])",
    )
    (tmp_path / "case.rx").write_text(program)
    printed = set()
    for seed in range(2):
        run = subprocess.run(
            [sys.executable, "-m", "rxlang", "check", "case.rx", "--format", "json"],
            cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        printed.add(run.stdout)
    assert len(printed) == 1 and '"version": 1' in printed.pop()


# T19, T20


def test_t19_equality_is_transitive_in_any_order() -> None:
    for first, second in (("a == c", "c == b"), ("c == b", "a == c")):
        params = "a : Size, b : Size, c : Size, x : Tensor([], float32)"
        report = check(main(params, f"  assert {first}\n  assert {second}\n  assert a == b\n  x"))
        assert report.ok and report.counts.residual == 2


def test_t19_two_values_for_one_size_are_an_error() -> None:
    assert the_error(main("a : Size, x : Tensor([], float32)", "  assert a == 3\n  assert a == 4\n  x")).code == "E312"


def test_t19_a_double_is_even_and_checked_before_compute() -> None:
    params = "x : Tensor([a], float32), y : Tensor([b], float32)"
    report = check(main(params, "  assert a == 2 * b\n  assert a % 2 == 0\n  x"))
    assert report.ok and report.counts.residual == 1
    module = rx.loads(main(params, "  assert a == 2 * b\n  x"))
    assert module.main(ones(6), ones(3)).shape == (6,)
    with pytest.raises(rx.ShapeError):
        module.main(ones(6), ones(4))


def test_t20_each_program_keeps_its_own_checks() -> None:
    params = "x : Tensor([n], float32)"
    free = rx.loads(main(params, "  x + x"))
    bound = rx.loads(main(params, '  assert n >= 3, "three at least"\n  x + x'))
    assert free.main(ones(2)).shape == (2,)
    assert bound.main(ones(3)).shape == (3,)
    for _ in range(2):
        with pytest.raises(rx.ShapeError, match="three at least"):
            bound.main(ones(2))


def test_t20_a_shape_expression_without_a_value_is_a_typed_error() -> None:
    text = main("x : Tensor([n], float32), k : Size", "@reshape(x, [n // k, k])")
    with pytest.raises(rx.ShapeError):
        rx.loads(text).main(ones(4), 0)
    assert the_error(main("x : Tensor([n], float32)", "  assert n // 0 == 1\n  x")).severity == "error"
    assert the_error(main("x : Tensor([n], float32)", "  assert x.dim(3) == 1\n  x")).severity == "error"
