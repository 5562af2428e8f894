"""What is said of loops holds: random programs against NumPy, and the shapes that turns share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import with_helps
from rxlang.interp.dps import pairs
from rxlang.lang.diagnostics import Diagnostic
from support import fuzz
from support.agreement import Run, Ways, refused, shown
from support.random_shape_loops import Maker

from ..families import test_soundness as soundness

BLOCKS = 10
INPUTS = 8


def said(source: str) -> list[Diagnostic]:
    found = pipeline.check_text(source, "x.rx", Path(".")).diagnostics
    return [d for d in found if d.severity in ("error", "warning")]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_loops_over_sizes_agree_with_numpy(block: int) -> None:
    for case in fuzz.cases("loops over sizes", block, BLOCKS):
        with case as seed:
            examine(Maker(seed))


def examine(maker: Maker) -> None:
    report = soundness.checked_program(maker.source)
    checked = report.checked
    assert checked is not None
    fuzz.count("loops over sizes", "at its budget", bool(checked.questions.get("stopped")))
    errors = [d for d in report.diagnostics if d.severity == "error"]
    assert all(d.code >= "E3" for d in errors)
    if errors:
        oracle = Run(checked.before, guard_all=True)
        for _ in range(INPUTS):
            assert_refuted(maker, errors, oracle)
        return
    ways, pair = Ways(checked), pairs(checked.program)["main"]
    for _ in range(INPUTS):
        args = maker.arguments()
        wanted = ways.agree(args)
        if not refused(wanted):
            soundness.assert_shapes(checked, args, wanted)
            soundness.assert_computed(pair, args, wanted)
            soundness.assert_described(checked, args, wanted)


def assert_refuted(maker: Maker, errors: list[Diagnostic], oracle: Run) -> None:
    """What passes did not run a line of which something always fails."""
    args = maker.arguments()
    if refused(oracle(args)):
        return
    for error in errors:
        of_a_turn = error.message.startswith("after a turn") or "`w`" in error.message
        # It may be told at the head of the loop, in the body, or where the size comes from.
        heads = [label.span for label in error.labels if label.message.startswith("declared as")]
        told = (heads or [error.span])[0] if of_a_turn else error.span
        line = told.line
        line += of_a_turn and maker.lines[line - 1].endswith("{")
        condition = maker.certain.get(line)
        if error.code not in soundness.NOT_ALWAYS and error.span.source.name == "random.rx" and condition:
            assert not eval(condition, {"n": args["n"], "m": args["m"]}), (shown(args), error.message)  # noqa: S307


GROWING = """@f = fn(x : Tensor([s], float64), n : Size{more}) where n >= 0, s >= 1 {{
  let (z, ys) = for i in range({range}) with (acc : Tensor([p], float64) = x) where p >= 1 {cond}
    stack (y : Tensor([m], float64)) {{ (@concat([acc, acc], axis=0), acc) }}
  ys
}}
"""


def test_a_stack_whose_turns_surely_differ_is_an_error_where_two_are_certain() -> None:
    (error,) = said(GROWING.format(more="", range="4", cond=""))
    assert error.code == "E302" and "axis 0 is p in a turn and p * 2 in the next" in error.message


@pytest.mark.parametrize(
    ("range_", "more", "cond"), [("n", "", ""), ("4", ", c : Tensor([], bool)", "while (c)"), ("2 - n", "", "")]
)
def test_a_stack_whose_turns_may_differ_is_an_unproved_claim(range_: str, more: str, cond: str) -> None:
    source = GROWING.format(more=more, range=range_, cond=cond)
    (unproved,) = said(source)
    assert unproved.code == "W311" and "one shape in all turns" in unproved.message
    one = rx.loads(source).f(np.ones(3), 1, *([np.array(False)] if more else []))
    assert one.shape in ((1, 3), (0, 0))


@pytest.mark.parametrize("range_", ["1", "0", "3, 4"])
def test_a_single_turn_shares_its_shape(range_: str) -> None:
    assert not said(GROWING.format(more="", range=range_, cond=""))


@pytest.mark.parametrize("size", ["n // k", "n % k", "max(n // k, 2)", "ceildiv(n, 2 * k)"])
@pytest.mark.parametrize(("where", "residual"), [("k >= 0", 1), ("k >= 1", 0)])
def test_a_size_of_a_stack_has_a_value_without_a_turn_too_or_a_check_stays(
    size: str, where: str, residual: int
) -> None:
    text = (
        f"@f = fn(x : Tensor([n], float32), k : Size) where {where} {{\n"
        f"  for i in range(k) stack (y : Tensor([{size}], float32)) {{ @zeros([{size}], float32) }}\n}}\n"
    )
    assert rx.check_source(text).counts.residual == residual
    module = rx.loads(text)
    assert module.f(np.ones(6, np.float32), 2).shape[0] == 2
    with pytest.raises(rx.ShapeError):
        module.f(np.ones(6, np.float32), 0)


def test_axes_of_a_stack_with_one_size_have_one_behind_the_loop() -> None:
    source = """@f = fn(x : Tensor([s], float64), n : Size) where n >= 0 {
      let ys = for i in range(n) stack (y : Tensor([m, m], float64)) {
        @matmul(@reshape(x, [s, 1]), @reshape(x, [1, s]))
      }
      assert ys.dim(1) == ys.dim(2)
      ys
    }"""
    assert not said(source)
    assert [rx.loads(source).f(np.ones(3), n).shape for n in (0, 2)] == [(0, 0, 0), (2, 3, 3)]


def test_a_shared_size_behind_a_splice_is_known() -> None:
    source = """@f = fn(x : Tensor([*b, s], float64), n : Size) where n >= 1 {
      let ys = for i in range(n) stack (y : Tensor([*b, k], float64)) { @concat([x, x], axis=-1) }
      assert ys.dim(-1) == s * 2
      ys
    }"""
    assert not said(source)


def test_a_condition_over_what_is_wrong_is_no_crash() -> None:
    source = """@f = fn(x : Tensor([s], float64), n : Size) {
      let z = @reshape(x, [s + 1])
      for i in range(n) with (y = x) while (z.dim(0) < i) { y }
    }"""
    assert [d.severity for d in said(source)] == ["error"]


GROWN = """@f = fn(x : Tensor([s, d], float32), n : Size) : {result} where n >= 1 {{
  {head} with (acc : Tensor([s, d], float32) = x) {{ @concat([acc, @ones([{more}], float32)], axis={axis}) }}
}}
"""


@pytest.mark.parametrize(
    ("head", "more", "axis", "wanted"),
    [
        ("for i in range(n)", "1, d", 0, ["Tensor([s + i, d]", "Tensor([s + n, d]"]),
        ("for i in range(n)", "2, d", 0, ["Tensor([s + i * 2, d]", "Tensor([s + n * 2, d]"]),
        ("for i in range(n)", "s, 2", 1, ["Tensor([s, d + i * 2]", "Tensor([s, d + n * 2]"]),
        ("for i in range(1, n)", "2, d", 0, ["Tensor([s + (i - 1) * 2, d]", "Tensor([s + (n - 1) * 2, d]"]),
        ("for i in range(n + 1)", "n, d", 0, ["Tensor([s + i * n, d]", "Tensor([s + (n + 1) * n, d]"]),
        ("while (acc.dim(0) < n)", "2, d", 0, ["Tensor([p, d]", "where p >= s", "Tensor([q, d]"]),
    ],
)
def test_a_carry_that_grows_takes_the_result_with_it(head: str, more: str, axis: int, wanted: list[str]) -> None:
    fixed = first_fix(GROWN.format(result="Tensor([s, d], float32)", head=head, more=more, axis=axis))
    assert all(text in fixed for text in wanted) and not said(fixed)


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (
            "(Tensor([s, d], float32), Tensor([s], float32))",
            ["Tensor([s + i, d]", "Tensor([s + i]", "(Tensor([s + n, d]"],
        ),
        ("(Tensor([s + n, d], float32), Tensor([s + n], float32))", ["Tensor([s + i, d]", "Tensor([s + i]"]),
        ("Tensor", ["Tensor([s + i, d]", "Tensor([s + i]"]),
    ],
)
def test_two_carries_that_grow_together_have_one_fix(result: str, wanted: list[str]) -> None:
    fixed = first_fix(f"""@f = fn(x : Tensor([s, d], float32), w : Tensor([s], float32), n : Size) : {result} where n >= 1 {{
  let (a, b) = for i in range(n) with (a : Tensor([s, d], float32) = x, b : Tensor([s], float32) = w) {{
    let h = @reshape(@matmul(b, a), [1, d])
    (@concat([a, h], axis=0), @concat([b, @ones([1], float32)], axis=0))
  }}
  {"@matmul(b, a)" if result == "Tensor" else "(a, b)"}
}}
""")
    assert all(text in fixed for text in wanted) and not said(fixed)


@pytest.mark.parametrize("more", ["y[0:1]", "y[:2]", "y[n - 1:]"])
def test_what_a_loop_gives_that_keeps_its_annotation_on_empty_tensors_alone_is_not_told_of(more: str) -> None:
    text = (
        "@f = fn(x : Tensor([n], int64), steps : Size) : Tensor([n + steps], int64) {\n"
        f"  for i in range(steps) with (y : Tensor([n], int64) = x) {{ @concat([y, {more}], axis=0) }}\n}}\n"
    )
    assert [(d.code, d.severity) for d in rx.check_source(text).diagnostics if d.severity != "note"] == [
        ("E310", "error")
    ]


def test_a_carry_that_grows_says_so_where_no_result_is_declared() -> None:
    fixed = first_fix(GROWN.format(result="Tensor", head="for i in range(n)", more="1, d", axis=0))
    assert "acc : Tensor([s + i, d]" in fixed and not said(fixed)


def first_fix(source: str) -> str:
    """The program with its first help, and no help empties a tensor."""
    report = with_helps(pipeline.check_text(source, "x.rx", Path(".")), Path("."))
    error = next(d for d in report.diagnostics if d.severity == "error")
    assert all(edit.text.strip() != "0" for help in error.helps for edit in help.edits)
    return applied(source, error.helps[0].edits)


# The first turn and the last


def indexed(seed: int) -> tuple[str, Callable[[int], list[bool]]]:
    """A loop that takes an element in each turn; and of a size n whether each turn's index is in range."""
    draw = Random(seed)
    start, step = draw.choice((0, 0, 1, 2)), draw.choice((1, 1, 2, 3))
    stop = draw.choice(("n", "n + 1", "n - 1", "5", "2 * n"))
    size = draw.choice(("n", "n + 1", "5", "2 * n", "n + 4"))
    index = draw.choice(("i", "i + 1", "i - 1", "2 * i", "n - i", "i - n", "i + 4"))
    text = (
        f"@f = fn(x : Tensor([{size}], float32), y : Tensor([n], float32)) : Tensor([], float32) where n >= 1 {{\n"
        f"  for i in range({start}, {stop}, {step}) with (a = @sum(y)) {{ a + x[{index}] }}\n}}\n"
    )

    def turns(n: int) -> list[bool]:
        whole = eval(size, {"n": n})
        return [-whole <= eval(index, {"n": n, "i": i}) < whole for i in range(start, eval(stop, {"n": n}), step)]

    return text, turns


def test_an_index_that_fails_in_the_first_or_the_last_turn_is_refuted_and_no_other() -> None:
    refuted = 0
    for case in fuzz.cases("turns"):
        with case as seed:
            text, turns = indexed(seed)
            found = said(text)
            ran = [turns(n) for n in (*range(1, 9), 40)]
            if any(d.severity == "error" for d in found):
                refuted += 1
                assert not any(fits and all(fits) for fits in ran), text
            elif not any(d.code == "W311" for d in found):
                assert all(map(all, ran)), text
            if all(fits and not (fits[0] and fits[-1]) for fits in ran):
                assert any(d.severity == "error" for d in found), text
    assert refuted > fuzz.tries("turns") / 8


@pytest.mark.parametrize(
    ("loop", "turn"),
    [
        ("for i in range(8) with (a = r) { a + x[i + 1] }", "in the last turn, where i is 7"),
        ("for i in range(n + 1) with (a = r) { a + y[i] }", "in the last turn, where i is n"),
        ("for i in range(1, n) with (a = r) { a + y[i - n - 1 + i] }", ""),
        ("for i in range(2, 6) with (a = r) { a + x[i - 11] }", "in the first turn, where i is 2"),
        ("for j in range(n) with (a = r) { for i in range(9) with (b = a) { b + x[i] } }", "in the last turn, where i is 8"),
        ("for i in range(9) with (a = r) { if (i < k) { a + x[i] } else { a } }", ""),
        ("for i in range(9) with (a = r) while (a[0] > 0.0) { a + x[i] }", ""),
        ("for i in range(k) with (a = r) { a + x[i] }", ""),
    ],
)  # fmt: skip
def test_an_error_of_a_turn_says_which(loop: str, turn: str) -> None:
    types = "x : Tensor([8, d], float32), y : Tensor([n, d], float32), r : Tensor([d], float32), k : Size"
    found = said(f"@f = fn({types}) where k >= 0, d >= 1 {{\n  {loop}\n}}\n")
    errors = [d for d in found if d.severity == "error"]
    assert [turn in d.message for d in errors] == [True] * bool(turn)


@pytest.mark.parametrize(
    ("loop", "fixed"),
    [
        ("for i in range(n + 1) with (a = r) { a + y[i] }", "for i in range(n) with (a = r) { a + y[i] }"),
        ("for i in range(n) with (a = r) { a + y[i + 1] }", "for i in range(n) with (a = r) { a + y[i] }"),
        ("for i in range(9) with (a = r) { a + x[i] }", "for i in range(8) with (a = r) { a + x[i] }"),
    ],
)
def test_a_range_that_goes_one_too_far_has_its_fix(loop: str, fixed: str) -> None:
    types = "x : Tensor([8, d], float32), y : Tensor([n, d], float32), r : Tensor([d], float32)"
    assert fixed in first_fix(f"@f = fn({types}) {{\n  {loop}\n}}\n")


def test_a_carry_that_would_have_less_than_nothing_is_told_of() -> None:
    text = "@f = fn(x : Tensor([4, 4], float32)) : Tensor {\n"
    turns = "for i in range(3) with (c : Tensor([1 - i, 4], float32) = x[0:1]) { c[1:] }"
    assert [d.code for d in said(text + f"  {turns}\n}}\n")] == ["W311"]
    behind = f"  let c = {turns}\n  c[1:]\n}}\n"
    assert [d.code for d in said(text + behind)] == ["W311"]


def test_behind_a_loop_whose_condition_has_a_size_of_a_claim_that_fails_nothing_is_known() -> None:
    text = """@f = fn(x : Tensor([3, n], float32)) : Tensor {
  let y : Tensor([4, q * 2], float32) = x
  let (j, z) = while (i < q) with (i : Size = 0, c = x) { (i + 1, c + c) }
  let k = for i in range(n) with (c = x) while (i < q) { c + c }
  z + k
}
"""
    assert [d.code for d in said(text)] == ["E302"]


def test_a_condition_unproved_before_the_first_turn_is_known_behind_the_loop() -> None:
    turns = "for i in range(t) with (s : Tensor([n], float32) = x) { s + y }"
    params = "x : Tensor([m], float32), y : Tensor([n], float32), t : Size"
    found = said(f"@f = fn({params}) {{\n  let s = {turns}\n  s + x + y\n}}\n")
    assert [(d.code, len(d.labels)) for d in found] == [("W311", 1)]
    assert "before the first turn" in found[0].message and found[0].labels[0].message == "m comes from here"
    found = said(f"@f = fn({params.replace('([m], float32)', '')}) {{\n  let s = {turns}\n  x + y\n}}\n")
    assert len(found) == 2 and all("before the first turn" in d.message for d in found)
