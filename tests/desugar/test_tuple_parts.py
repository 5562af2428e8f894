"""`t[0]` is a part of a tuple, whatever that is a tuple of and wherever it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.desugar.desugar import desugar
from rxlang.fixes.edits import applied
from rxlang.lang.core_printer import print_program
from rxlang.lang.files import Files
from rxlang.lang.modules import load_program
from rxlang.lang.source import Source
from rxlang.ops.registry import lookup

TEXT = """type Layer = (Tensor([h, d], float32), Tensor([h], float32))
@two = fn(x : Tensor([n], float32)) : (Size, Tensor([n], float32)) { (x.dim(0), x) }
@f = fn(x : Tensor([n, d], float32), ws : Layer) : Tensor([n, h], float32) {
  let y = @matmul(x, @matrix_transpose(ws[0])) + ws[-1]
  let z = if (n > 3) { y + ws[1] } else { y - ws[1] }
  let ws = (z, ws[1])
  ws[0] * @two(ws[1])[1]
}
@g = fn(x : Tensor([n], float32), p : ((Tensor([n], float32), Tensor([n], float32)), Size)) : Tensor([n], float32)
  where n >= 1 {
  for i in range(p[1]) with (acc : Tensor([n], float32) = x) { acc + p[0][1] }
}
@h = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @topk(x, k=n)[0] + @two(x)[1][0:] }
@sized = fn(x : Tensor([n], float32), p : (Size, Shape)) : Tensor([q, n], float32) where q == max(0, p[0]) {
  @broadcast_to(x, [max(0, p[0]), n])
}
"""


def test_parts_of_parameters_results_and_rebound_names_run_and_are_proved() -> None:
    report = rx.check_source(TEXT)
    assert report.ok and [d.code for d in report.diagnostics] == []
    module = rx.loads(TEXT)
    w, b = np.arange(6, dtype="float32").reshape(3, 2), np.array([1, 2, 3], "float32")
    for n in (2, 5):
        x = np.ones((n, 2), "float32")
        y = x @ w.T + b
        assert np.array_equal(module.f(x, (w, b)), (y + b if n > 3 else y - b) * b)
    assert module.g(b, ((b, b), 2)).tolist() == [3, 6, 9]
    assert module.h(b).tolist() == [4, 4, 4]
    assert module.sized(b, (2, (3,))).shape == (2, 3)


def test_each_use_of_one_name_shares_the_parts(tmp_path: Path) -> None:
    (tmp_path / "p.rx").write_text("@f = fn(p : (Tensor, Tensor)) : Tensor { p[0]; p[1]; p[0] }\n")
    modules, _ = load_program(Source("p.rx", (tmp_path / "p.rx").read_text()), Files(tmp_path))
    assert print_program(desugar(modules, lookup)[0]).count("= p\n") == 1


@pytest.mark.parametrize(
    ("index", "code"), [("p[2]", "E206"), ("p[-3]", "E206"), ("p[0:1]", "E220"), ("p[n]", "E220"), ("p[0, 1]", "E220")]
)
def test_what_no_tuple_has_is_an_error(index: str, code: str) -> None:
    text = f"@f = fn(p : (Tensor([n]), Tensor([n]))) : Tensor {{ {index} }}\n"
    assert [d.code for d in rx.check_source(text).diagnostics if d.severity == "error"] == [code]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("@split(x, 3, axis=1)[0]", "x[:, :2]"), ("@split(x, 3, axis=1)[-1]", "x[:, 4:]"), ("@unstack(x)[1]", "x[1]"),
        ("@unstack(x, axis=1)[-6]", "x[:, 0]"), ("@nonzero(x)[1]", "np.nonzero(x)[1]"),
        ("let t = @split(x, sizes=[1, 5], axis=1); t[1] * t[1]", "x[:, 1:] ** 2"), ("@three(x)[2]", "x[:, 4:]"),
        ("@broadcast_arrays([x, x])[1]", "x"), ("let (a) = @unstack(x)[0]; a", "x[0]"),
        ("let g = @three; g(x)[0]", "x[:, :2]"), ("@split(@unstack(x)[1], 2)[1][1:]", "x[1, 4:]"),
        ("let t = @split(x * 2.0, 3, axis=1); let y = t[0] + 1.0; y * t[0]", "(2 * x[:, :2] + 1) * 2 * x[:, :2]"),
        ("((x, x), (x, x * 2.0))[1][1][0]", "2 * x[0]"), ("(x, (x, (x, (x + 1.0, x))))[1][1][1][-2][:, 1:3]", "x[:, 1:3] + 1"),
        ("@map(fn(r) { (r, (r, r + 1.0)) }, x)[1][1]", "x + 1"),
        ("@map(fn(r) { let (a, b) = @split(r, 2); (b, (a,)) }, x)[1][0]", "x[:, :3]"),
        ("@map(fn(p) { @map(fn(q) { (q, (q, q + 1.0)) }, p)[1] }, @expand_dims(x, axis=0))[1][0]", "x + 1"),
        ("@map(fn(r) { let t = (r, (r + 1.0, r)); t[1] }, x)[0]", "x + 1"), ("@map(fn(r) { r + 1.0 }, x)[1]", "x[1] + 1"),
        ("(if (@all(x > 0.0)) { let t = (x, (x, x)); t[1] } else { let t = (x, (x + 1.0, x)); t[1] })[0]", "x + 1"),
        ("(if (@all(x > 0.0)) { x } else { x + 1.0 })[1]", "x[1] + 1"), ("@map(fn(r) { r + 1.0 }, x)[:, 1]", "x[:, 1] + 1"),
        ("@scan(fn(c, r) { (c, (r, (r, r * 3.0))) }, x[0], x)[1][1][1]", "3 * x"),
        ("(if (@all(x > 0.0)) { (x, (x, x)) } else { (x, (x * 2.0, x)) })[1][0]", "2 * x"),
        ("(for i in range(3) with (a = x, b = (x, x)) { (a, (b[1] + a, a)) })[1][0]", "2 * x"),
        ("let k : Size = (x, (x, ((while (j < 3) with (j : Size = 0) { j + 2 }), x)))[1][1][0]; x[:, :k]", "x[:, :4]"),
        ("for i in range(2) with (y = x) { @concat([@split(y, 2)[1], @split(y, 2)[0]]) }", "x"),
    ],
)  # fmt: skip
def test_a_part_of_what_a_primitive_cuts_up_is_taken_where_it_stands(body: str, part: str) -> None:
    text = "@three = fn(x : Tensor([_n, 6])) { @split(x, 3, axis=1) }\n"
    text += f"@f = fn(x : Tensor([2, 6], float64)) : Tensor {{ {body} }}\n"
    assert [d.message for d in rx.check_source(text).diagnostics] == []
    x = np.arange(12.0).reshape(2, 6)
    assert np.array_equal(rx.loads(text).f(x), eval(part, {"np": np, "x": x}))
    assert np.array_equal(x, np.arange(12.0).reshape(2, 6))


@pytest.mark.parametrize(
    ("body", "has"),
    [("@unstack(x)[2]", "2 parts"), ("@split(x, 3, axis=1)[-4]", "3 parts"), ("@split(x, [6], axis=1)[1]", "1 part")],
)
def test_a_part_that_nothing_gives_is_refuted_with_how_many_there_are(body: str, has: str) -> None:
    body = body.replace("[6]", "sizes=[6]")
    [found] = rx.check_source(f"@f = fn(x : Tensor([2, 6])) : Tensor {{ {body} }}\n").diagnostics
    what = "its argument" if "sizes" in body else f"`{body.rpartition('[')[0]}`"
    position = body[body.rindex("[") + 1 : -1]
    assert found.message == f"`{body}` needs {what} to have a part {position}, but it has {has}: this always fails"


def test_how_many_parts_there_are_may_be_left_to_the_run() -> None:
    module = rx.loads("@f = fn(x : Tensor) : Tensor { @nonzero(x)[1] }\n")
    assert module.f(np.eye(3)).tolist() == [0, 1, 2]
    with pytest.raises(rx.ShapeError, match="to have a part 1, but it has 1 part"):
        module.f(np.ones(3))


@pytest.mark.parametrize(
    ("target", "code", "says"),
    [
        ("(a)", "E206", "`(a)` is `a` alone, and this is a tuple of 2"),
        ("(a, ...)", "E101", "each part of a tuple has a name"),
        ("(a, b, ...)", "E101", "each part of a tuple has a name"), ("(a, *b)", "E101", "each part of a tuple has a name"),
        ("(a, (b, c))", "E101", "a nested tuple needs a name here"), ("a, b", "E101", "in parentheses"),
        ("[a, b]", "E101", "in parentheses"),
    ],
)  # fmt: skip
def test_names_of_a_tuple_that_are_written_as_elsewhere_are_refused_once_and_in_words(
    target: str, code: str, says: str
) -> None:
    for before in ("", "let y = x\n", "let (c, _) = @topk(x, k=1)\n"):
        text = f"@f = fn(x : Tensor([3, 4], float32)) : Tensor {{\n{before}let {target} = @topk(x, k=1)\na\n}}\n"
        [found] = [d for d in rx.check_source(text).diagnostics if d.severity == "error"]
        assert found.code == code and says in found.message


@pytest.mark.parametrize(
    ("target", "value", "fixed"),
    [
        ("(a)", "@nonzero(@sum(x, axis=1))", "(a,)"),
        ("a, b", "@nonzero(x)", "(a, b)"),
        ("[a, b]", "@nonzero(x)", "(a, b)"),
    ],
)
def test_names_of_a_tuple_come_with_the_change_that_fixes_them(target: str, value: str, fixed: str) -> None:
    text = f"@f = fn(x : Tensor([3, 4], float32)) : Tensor {{\n  let {target} = {value}\n  a\n}}\n"
    [found] = rx.check_source(text).diagnostics
    assert (changed := applied(text, found.edits)) == text.replace(target, fixed)
    assert rx.check_source(changed).ok


def test_a_name_in_parentheses_is_a_name_where_it_is_no_tuple() -> None:
    assert rx.check_source("@f = fn(x : Tensor) : Tensor { let (a) = x; a }\n").ok


PAIR = "@pair = fn(r : Tensor([m], float32)) : (float32, Tensor([m], float32)) { (@sum(r), r) }"
GIVES_A_PAIR = ("(@sum(r), r)", "@pair(r)", "let t = @pair(r); t", "if (d > 1) { @pair(r) } else { (@sum(r), r) }")


@pytest.mark.parametrize("body", GIVES_A_PAIR)
def test_what_a_block_gives_has_parts_before_it_has_a_name(body: str) -> None:
    """Of a function over rows, of an arm: the index is of the tuple, as behind a `let`."""
    head = "fn(xs : Tensor([n, d], float32), r : Tensor([d], float32))"
    given = "let t = (r, r)\n let c = r\n"
    for call in (f"@map(fn(r) {{ {body} }}, xs)", f"@map(fn(r : Tensor([k], float32)) {{ {body} }}, xs)"):
        if "d > 1" not in body or "k]" not in call:
            module = rx.loads(f"{PAIR}\n@f = {head} : Tensor([n], float32) {{ {given} {call}[0] }}")
            xs = np.arange(6, dtype=np.float32).reshape(2, 3)
            assert module.f(xs, xs[0]).tolist() == [3, 12]
    arm = f"(if (n > 2) {{ {body} }} else {{ (@sum(r), r + 1.0) }})"
    module = rx.loads(f"{PAIR}\n@f = {head} : Tensor([d], float32) {{ {arm}[-1] }}")
    assert module.f(np.ones((3, 2), "float32"), np.ones(2, "float32")).tolist() == [1, 1]


def test_a_name_inside_of_a_block_is_not_the_tuple_around_it() -> None:
    source = "@f = fn(x : Tensor([2], float32)) : Tensor([], float32) { let t = (x, x)\n @map(fn(t) { t }, x)[0] }"
    assert rx.loads(source).f(np.array([3, 4], "float32")) == 3
