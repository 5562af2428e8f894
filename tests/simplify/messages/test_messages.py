"""What errors say: the user's names, both shapes, the equation with its reason, where a size comes from, whose fault it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.render import render_text
from rxlang.simplify.messages.aligned import TensorRow, aligned
from support import nested_sizes


def said(text: str, *codes: str) -> list[Diagnostic]:
    """The diagnostics of a program, or those with the given codes."""
    report = pipeline.check_text(text, "case.rx", Path("."))
    return [d for d in report.diagnostics if (d.code in codes if codes else d.code != "N201")]


def only(text: str) -> Diagnostic:
    found = said(text)
    assert len(found) == 1, found
    return found[0]


def places(d: Diagnostic) -> list[tuple[str, str]]:
    """The text at each secondary place, with what is said of it."""
    return [(label.span.text, label.message) for label in d.labels]


# Names


def test_operands_have_the_names_that_stand_in_the_call() -> None:
    d = only("@f = fn(a : Tensor([2, 3], float32), b : Tensor([4, 5], float32)) { @matmul(a, b) }")
    assert d.message == "@matmul needs axis 1 of `a` (3) and axis 0 of `b` (4) to be equal: this always fails"


def test_an_operator_is_named_as_it_is_written() -> None:
    d = only("@f = fn(a : Tensor([2, 3], float32), b : Tensor([4], float32)) { @relu(a) - b }")
    assert d.message.startswith(
        "`-` needs axis 1 of `@relu(a)` (3) and axis 0 of `b` (4) to be equal, or one of them 1"
    )


def test_an_argument_without_a_name_is_told_as_it_is_written() -> None:
    d = only("@f = fn(a : Tensor([2, 3], float32), b : Tensor([4, 5], float32)) { @matmul(a, @relu(b)) }")
    assert "axis 0 of `@relu(b)` (4)" in d.message
    d = only("@f = fn(a : Tensor([2, 3], float32)) { @reshape(@relu(@relu(@relu(a))), [7]) }")
    assert "as `@relu(...)` has, but they are 7 and 6" in d.message
    two = "@matmul(@relu(@relu(@relu(a))), @relu(@relu(@relu(b))))"
    d = only(f"@f = fn(a : Tensor([2, 3], float32), b : Tensor([4, 5], float32)) {{ {two} }}")
    assert "axis 0 of its second argument" in d.message


def test_all_that_is_wrong_with_a_call_is_told() -> None:
    found = said("@f = fn(x : Tensor([n, m], float32)) { @matmul(x, foo=3, bar=4) }")
    assert [d.message.partition(";")[0] for d in found] == [
        "@matmul has no parameter `foo`",
        "@matmul has no parameter `bar`",
    ]
    text = "@f = fn(x : Tensor([n, m], float32)) { x }\n@g = fn(x : Tensor([n, m], float32)) { @f(y=x, z=x) }"
    assert len(said(text)) == 2
    text = (
        "@f = fn(x : Tensor([n, d], float32)) : Tensor([n + n, d], float32) { let y = @cat([x, x], dim=0)\n y[n + n] }"
    )
    assert [d.code for d in said(text)] == ["E202", "E304"]


def test_an_unproved_claim_that_is_nearly_certain_to_be_a_mistake_leads() -> None:
    body = "let z = @reshape(x, [-1, 2])\n x / s"
    text = f"@f = fn(x : Tensor([b, d], float32), s : Tensor([b], float32)) {{ {body} }}"
    report = pipeline.check_text(text, "f.rx", Path())
    assert [d.by_chance for d in report.diagnostics if d.severity == "warning"].index(True) > 0
    assert "`/` needs" in str(report).splitlines()[0]
    assert "1 of them nearly certain to be a mistake" in report.summary


def test_parts_of_a_list_have_their_own_names_and_places() -> None:
    d = only("@f = fn(a : Tensor([n, 3], float32), b : Tensor([n, 4], float32)) { @concat([a, b], axis=0) }")
    assert "axis 1 of `a` (3) and `b` (4) to be equal" in d.message
    assert places(d) == [("3", "3 comes from here"), ("4", "4 comes from here")]


# Where a size comes from


@pytest.mark.parametrize(
    "made", ["@relu(x)", "x * 2", "@swapaxes(x, 0, 1)", "@matmul(y, x)", "@linear(@ones([7, 5]), x)", "@g(x)"]
)
def test_a_size_is_followed_back_to_where_it_was_written(made: str) -> None:
    head = "@g = fn(x : Tensor([n, m], float32)) : Tensor([m, n], float32) { @swapaxes(x, 0, 1) }\n"
    sizes = {"@matmul(y, x)": "5, 6", "@linear(@ones([7, 5]), x)": "6, 5"}.get(made, "6, 6")
    params = f"x : Tensor([{sizes}], float32), y : Tensor([7, 5], float32)"
    d = only(f"{head}@f = fn({params}) {{\n  let h = {made}\n  h + @ones([11])\n}}")
    assert ("6", "6 comes from here") in places(d)
    assert ("11", "11 comes from here") in places(d)


def test_a_new_size_comes_from_the_operation_that_made_it() -> None:
    d = only("@f = fn(x : Tensor([6], float32)) {\n  let h = @concat([x, x])\n  let k = @relu(h)\n  k + @ones([11])\n}")
    assert ("@concat([x, x])", "12 comes from here") in places(d)


# Shapes and equations


def test_shapes_stand_below_each_other_with_the_bad_axis_marked() -> None:
    d = only("@f = fn(a : Tensor([B, 64], float32), bias : Tensor([32], float32)) { a + bias }")
    assert d.notes == ("`a`    [B, 64]\n`bias`    [32]\n           ^^",)


def test_axes_in_different_columns_are_marked_one_by_one() -> None:
    rows = (TensorRow("a", ("B", "64"), (1,)), TensorRow("bc", ("32", "n + 1"), (0,)))
    assert aligned(rows, from_the_end=True) == "a  [ B,    64]\n    vv     ^^\nbc [32, n + 1]"


def test_axes_that_only_partly_stand_in_different_columns_have_their_own_marks() -> None:
    rows = (TensorRow("a", ("2", "3"), (0, 1)), TensorRow("b", ("4", "5"), (1,)))
    assert aligned(rows, from_the_end=True) == "a [2, 3]\n   ^  ^\nb [4, 5]\n      ^"


@pytest.mark.parametrize(
    ("body", "equation"),
    [
        ("@matmul(@ones([2, n]), @ones([n * n + 1, 2]))", "n = n * n + 1 has no solution"),
        (
            "@matmul(@ones([2, n * 4]), @ones([m * 6 + 3, 2]))",
            "n * 4 = m * 6 + 3 has no integer solution (mod 2 they are 0 and 1)",
        ),
        ("@reshape(@ones([8, 15]), [n, 16])", "n * 16 = 120 has no integer solution (120 mod 16 = 8)"),
        ("@reshape(@ones([n, m, 15]), [n, m, 4, 4])", "n * m * 16 = n * m * 15 holds only for n * m = 0"),
        ("@matmul(@ones([2, n]), @ones([n + 2, 2]))", "n = n + 2 has no solution (they differ by 2)"),
    ],
)
def test_an_equation_that_fails_is_written_out_with_its_reason(body: str, equation: str) -> None:
    head = "@f = fn(n : Size, m : Size) where n >= 0, m >= 0"
    assert equation in only(f"{head} {{\n  {body}\n}}").notes


def test_a_multiple_that_a_symbolic_size_never_is_has_its_remainder() -> None:
    text = (
        "@g = fn(x : Tensor([m * 4], int8)) : Tensor([m * 4], int8) { x }\n"
        "@f = fn(x : Tensor([k * 8 + 2], int8)) { @g(x) }\n"
    )
    assert "m * 4 = k * 8 + 2 has no integer solution (k * 8 + 2 mod 4 = 2)" in [m for _, m in places(only(text))]


@pytest.mark.parametrize(
    ("pattern", "size", "needs", "equation"),
    [
        (
            "8 * k + 3",
            "n * 4",
            "3 more than a multiple of 8",
            "8 * k + 3 = n * 4 has no integer solution",
        ),
        (
            "8 * k + 3",
            "20",
            "3 more than a multiple of 8",
            "8 * k + 3 = 20 has no integer solution (20 mod 8 = 4, not 3)",
        ),
        ("8 * k + 16", "20", "a multiple of 8", "8 * k + 16 = 20 has no integer solution (20 mod 8 = 4)"),
        ("10 - 2 * k", "7", "a multiple of 2", "10 - 2 * k = 7 has no integer solution (7 mod 2 = 1)"),
        ("10 - 2 * k", "14", "at most 10", "10 - 2 * k is wanted here"),
        ("(2 * k + 1) * 3", "6", "fit", "(2 * k + 1) * 3 is wanted here"),
    ],
)
def test_what_is_added_to_a_multiple_is_part_of_what_is_needed(
    pattern: str, size: str, needs: str, equation: str
) -> None:
    text = (
        f"@g = fn(x : Tensor([{pattern}], int8)) : Tensor([{pattern}], int8) {{ x }}\n"
        f"@f = fn(x : Tensor([{size}], int8)) {{ @g(x) }}\n"
    )
    (d,) = said(text, "E301")
    assert f" {needs}" in d.message and d.message.endswith("this always fails")
    assert any(message.startswith(equation) for _, message in places(d)), places(d)


def test_a_symbolic_refutation_has_a_witness() -> None:
    d = only("@f = fn(a : Tensor([2, n], float32), b : Tensor([n + 1, 2], float32)) { @matmul(a, b) }")
    assert d.witness == {"n": 1}


# One mistake, one diagnostic


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("@f = fn(x : Tensor([n], float32)) { let n = @relu(x); @relu(n) }", "E204", "n"),
        ("@f = fn(x : Tensor([_n], float32)) { @relu(x, x, 3) }", "E205", "x, 3"),
        ("type A = (B, Tensor)\ntype B = (A, Tensor)\n@f = fn(a : A, b : B) { a }", "E217", "A"),
    ],
)
def test_what_follows_from_a_mistake_in_names_is_not_told(text: str, code: str, place: str) -> None:
    d = only(text)
    assert (d.code, d.span.text) == (code, place)


def test_an_annotation_that_does_not_fit_is_reported_once() -> None:
    d = only(
        "@f = fn(x : Tensor([64, 32, 3], float32)) {\n  match_shape(x, [_n], [_n, 1, 2, 4])\n  @reshape(x, [7])\n}"
    )
    assert "to have rank 4, but it has rank 3" in d.message
    only("@f = fn(x : Tensor([64, 32, 3], float32)) {\n  let y ! Tensor([1, 2, 4], int8) = x\n  y\n}")


def test_an_error_takes_back_what_was_unproved_about_the_same_call() -> None:
    assert only("@f = fn(x : Tensor([8, 15], float32), m : Size) { @reshape(x, [m, 16]) }").code == "E307"


@pytest.mark.parametrize(
    "body",
    ["match_shape(x, [], [n * 2, m + 1])", "let z : Tensor([n * 2, m + 1], float32) = x", "let z = @g(y)"],
)
def test_what_always_fails_outweighs_what_works_on_empty_tensors(body: str) -> None:
    g = "@g = fn(x : Tensor([n, n * 2, n * 3], float32)) : Tensor([n], float32) { @ones([n]) }\n"
    d = only(f"{g}@f = fn(x : Tensor([n, m], float32), y : Tensor([n, n, 7], float32)) {{\n  {body}\n  0\n}}")
    assert d.message.endswith("this always fails")


def test_the_call_that_made_a_size_is_blamed_where_it_cannot_be_used() -> None:
    text = (
        "@f = fn(x : Tensor([B, 4, 4], float32), t : Tensor([B, 10], float32), w : Tensor([9, 10], float32)) {\n"
        "  let flat = @reshape(x, [-1, 9])\n  let h = @relu(@matmul(flat, w))\n  h * t\n}"
    )
    d = only(text)
    assert (d.code, d.span.text) == ("E310", "@reshape(x, [-1, 9])")
    assert [place for place, _ in places(d)] == ["h * t"]


# Arms of an `if` with different ranks

JOIN = """@f = fn(x : Tensor([n, m], float32), c : Tensor([], bool), k : Size) {
  let w = if (%s) { x } else { @ones([3]) }
  %s
}"""


@pytest.mark.parametrize("use", ["@linear(x, w)", "@g(w)"])
@pytest.mark.parametrize("condition", ["c", "k == 2"])
def test_an_arm_with_which_the_program_always_fails_is_told_at_the_if(use: str, condition: str) -> None:
    text = "@g = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) { x }\n" + JOIN % (condition, use)
    d = only(text)
    assert d.code == "E315" and d.message.endswith("whenever that arm is taken")
    assert d.span.text.startswith("if (") and "rank" in d.message and "1 from one arm" in d.message
    assert {place for place, _ in places(d)} == {"@ones([3])", use}


def test_an_arm_that_does_not_fit_the_others_of_a_list_is_told_at_the_if() -> None:
    d = only(JOIN % ("c", "@concat([x, w])"))
    assert (d.code, {place for place, _ in places(d)}) == ("E315", {"@ones([3])", "@concat([x, w])"})


@pytest.mark.parametrize(
    ("condition", "use"),
    [
        ("c", "@reshape(w, [-1])"),
        ("c", "if (c) { @linear(x, w) } else { x }"),
        ("k == 2", "assert k == 2\n  @linear(x, w)"),
        ("c", "let y ! Tensor([_, _], float32) = w\n  y"),
        ("c", "let v = if (c) { w } else { x }\n  @linear(x, v)"),
        ("c", "@sum(w, axis=0)"),
    ],
)
def test_where_arms_and_uses_may_go_together_nothing_is_refused(condition: str, use: str) -> None:
    assert not [d for d in said(JOIN % (condition, use)) if d.severity == "error"]


# Lint


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("p - y", ["N202"]),
        ("y - p", ["N202"]),
        ("@equal(p, y)", ["N202"]),
        ("p - @expand_dims(y, 0)", []),
        ("@squeeze(p, axis=1) - y", []),
        ("p - @ones([b, 1])", []),
        ("y - 1", []),
        ("@argmax(p, axis=1)", ["N203"]),
        ("@softmax(p)", ["N203"]),
        ("@mean(p, axis=-1)", ["N203"]),
        ("@mean(p, axis=0)", []),
        ("@mean(p)", []),
        ("@max(p, axis=[0, 1])", []),
    ],
)
def test_what_works_but_is_rarely_meant_gets_a_note(body: str, codes: list[str]) -> None:
    text = f"@f = fn(p : Tensor([b, 1], float32), y : Tensor([b], float32)) where b >= 1 {{\n  {body}\n}}"
    assert [d.code for d in said(text)] == codes


def test_a_table_of_all_pairs_of_different_things_is_no_slip() -> None:
    assert said("@f = fn(p : Tensor([n, 1], float32), y : Tensor([1, m], float32)) { p - y }") == []
    assert [d.code for d in said("@f = fn(p : Tensor([n, 1], float32), y : Tensor([1, n], float32)) { p - y }")] == [
        "N202"
    ]


@pytest.mark.parametrize(
    "body",
    [
        "let p = @expand_dims(x, axis=1)\n  let q = @expand_dims(x, axis=0)\n  p - q",
        "let i = @reshape(x, [n, 1])\n  let j = @reshape(x, [1, n])\n  i >= j",
        "let p = @expand_dims(x, axis=1)\n  let t = @matrix_transpose(@relu(p))\n  p * t",
        "let p = @expand_dims(x, axis=1)\n  p - y",
    ],
)
def test_a_table_of_all_pairs_whose_axes_were_made_before_is_no_slip(body: str) -> None:
    text = f"@f = fn(x : Tensor([n], float32), y : Tensor([m], float32)) where n >= 1, m >= 1 {{\n  {body}\n}}"
    assert said(text) == []


def test_a_column_that_meets_a_row_is_a_slip_although_it_was_made_a_column() -> None:
    text = (
        "@f = fn(x : Tensor([n], float32), y : Tensor([n], float32)) {\n  let p = @expand_dims(x, axis=1)\n  p - y\n}"
    )
    assert [d.code for d in said(text)] == ["N202"]


def test_the_elements_beside_an_open_size_are_told_with_their_remainder() -> None:
    d = only("@f = fn(x : Tensor([1000, 7], float32)) { @reshape(x, [-1, 60, 7]) }")
    assert d.caption == "`x` is Tensor([1000, 7], float32)" and d.notes == ("7000 mod 420 = 280",)


def test_ranks_are_compared_before_an_axis_is_looked_for() -> None:
    text = "@f = fn(x : Tensor([b, 4], float32), i : Tensor([b], int64)) { @take_along_axis(x, i, axis=1) }"
    assert only(text).message.startswith("@take_along_axis needs `i` to have rank 2, the rank of `x`, but it is 1")


# Calls within calls


def test_the_chain_of_calls_that_leads_to_an_error_is_shown() -> None:
    text = (
        "@norm = fn(x : Tensor([b, t, d], float32)) : Tensor([b, t, d], float32) { @relu(x) }\n"
        "@inner = fn(x : Tensor(?, float32)) { @norm(@relu(x)) }\n"
        "@block = fn(x : Tensor(?, float32)) { @inner(x) }\n"
        "@main = fn(x : Tensor([B, 64], float32)) { @block(x) }\n"
    )
    d = only(text)
    assert d.span.text == "@block(x)"
    assert [place for place, _ in places(d)] == ["@norm(@relu(x))", "[b, t, d]", "@inner(x)"]


def test_a_size_that_a_function_was_given_comes_from_the_call() -> None:
    text = (
        "@layer = fn(x : Tensor([n, d], float32), units : Size) : Tensor([n, units], float32) where units >= 0 {\n"
        "  @linear(x, @zeros([units, d]))\n}\n"
        "@main = fn(x : Tensor([10, 3], float32), t : Tensor([10, 4], float32)) {\n"
        "  let p = @layer(x, 10)\n  @mse_loss(p, t)\n}\n"
    )
    assert {place for place, said in places(only(text)) if said == "10 comes from here"} <= {"@layer(x, 10)", "10"}


def test_what_match_shape_asks_for_stands_below_what_there_is() -> None:
    d = only(
        "@f = fn(x : Tensor([1, 3, 28, 28], float32)) {\n  let c : Size = 3\n  match_shape(x, [], [1, 28, 28, c])\n  x\n}"
    )
    assert d.message.startswith("match_shape needs axis 1 of `x` to be 28, but it is 3")
    assert [line.strip() for line in d.notes[0].split("\n")] == [
        "`x`      [1,  3, 28, 28]",
        "declared [1, 28, 28,  c]",
        "^      ^^",
    ]
    assert ("3", "3 comes from here") in places(d)


# What newcomers write


@pytest.mark.parametrize(
    ("text", "code", "message", "help_"),
    [
        ("@f = fn(x : Tensor([n, d])) : Tensor where n = d { x }", "E101", "`=` is not a comparison", "write `==`"),
        ('@f = fn(x : Tensor([3], "float32")) { x }', "E108", "a dtype is", "write `float32`"),
        ("@f = fn(x : Tensor([3], torch.float32)) { x }", "E108", "a dtype is", "write `float32`"),
        ("@f = fn(x : Tensor([3])) { x.reshape([3, 1]) }", "E215", "there is no `.reshape`", "write `@reshape(x, ...)`"),
        ("@f = fn(x : Tensor([3])) : Tensor { assert x.size == 3; x }", "E215", "no `.size`", "the number of elements"),
        ("@f = fn(x : Tensor([3])) : Tensor { assert 1 == x.ndim; x }", "E215", "no `.ndim`", "write `x.rank`"),
        ("@f = fn(x : Tensor([3])) { @reshape(x, [x.numel()]) }", "E215", "no `.numel`", "the number of elements"),
        ("@f = fn(x : Tensor([3, 2])) { x.T }", "E215", "there is no `.T`", "write `@matrix_transpose(x)`"),
        ("@f = fn(x : Tensor([3, 2])) { @sum(x, keepdims=True) }", "E201", "called `True`", "did you mean `true`?"),
        ("@f = fn(x : Tensor([3])) { @concat(x, x) }", "E206", "`xs` is a list", "write `@concat([x, x])`"),
        ("const w : Tensor([2], int64) = [1, 2]", "E207", "`[1, 2]` is a Shape", "`tensor([1, 2])` is a tensor"),
        ("@f = fn(x : Tensor([2.0])) { x }", "E206", "`2.0` is a number", "a Size is an integer: `2`"),
        ("@f = fn(x : Tensor([3])) { let k : Size = x.shape; x }", "E206", "is a Shape", "`x.dim(0)` is its first dimension"),
        ("@f = fn(g : fn(x : Tensor) : Tensor) { g(g) }", "E101", "a function type does not", "write the types alone"),
        ("@f = fn(x : Tensor) { let (a : Tensor, b : Tensor) = x; a }", "E101", "the types of a tuple", "write `let (a, b)"),
        ("@f = fn(x : Tensor([1, 1, 4, 4], float32)) { @max_pool2d(x, kernel=2) }", "E205", "no parameter", "did you mean `k"),
        ("@f = fn(x : Tensor([3, 2])) { x @ x }", "E102", "`@` comes directly", "write `@matmul(x, x)`"),
    ],
)  # fmt: skip
def test_habits_of_other_languages_are_answered_in_this_one(text: str, code: str, message: str, help_: str) -> None:
    d = only(text)
    assert d.code == code
    assert message in d.message
    assert d.help is not None and d.help.startswith(help_)


def test_a_string_without_an_end_is_not_looked_for_as_a_file() -> None:
    assert only('import "layers.rx as layers\n').code == "E103"


def test_sizes_that_nothing_uses_document_and_other_names_share_a_note() -> None:
    assert not said("@f = fn(x : Tensor([a, b, c], float32)) : Tensor { @sum(x) }", "N201")
    (d,) = said("@f = fn(x : (Tensor(a, float32), Tensor(b), Tensor(c))) : Tensor { @sum(x[0]) }", "N201")
    assert d.message == "`a`, `b` and `c` are bound here and never used"
    assert [place for place, _ in places(d)] == ["b", "c"]


def test_names_of_a_type_that_is_referred_to_need_no_use() -> None:
    text = "type Layer = (Tensor([i, o], float32), Tensor([o], float32))\n"
    assert not said(text + "@f = fn(p : Layer) : Tensor { let (w, _) = p; @relu(w) }", "N201")
    assert not said(text + "@f = fn(p : (Tensor, Tensor)) : Tensor { let q : Layer = p; let (w, _) = q; w }", "N201")


def test_a_parameter_that_gives_a_size_is_used() -> None:
    text = "@f = fn(x : Tensor([n], float32), like : Tensor([RANGE], float32)) : Tensor([k], float32) {{ {} }}"
    assert not said(text.replace("RANGE", "k").format("@broadcast_to(@sum(x), [k])"), "N201")
    (d,) = said(text.replace("RANGE", "n").replace("[k]", "[n]").format("x"), "N201")
    assert d.message == "the parameter `like` is never used"


def test_a_name_that_says_that_nothing_uses_it_or_that_is_misspelt_has_no_such_note() -> None:
    text = "@f = fn(x : Tensor({})) : Tensor {{ @cast(@sum(x), float32) }}"
    assert not said(text.format("_s, _t"), "N201")
    assert not said(text.format("[3], flaot32"), "N201") and said(text.format("[3], flaot32"), "E225")


def test_many_names_that_nothing_uses_are_counted() -> None:
    types = ", ".join(f"Tensor(a{i}a, float32)" for i in range(2000))
    (d,) = said(f"@f = fn(x : ({types})) : Tensor {{ @relu(x[0]) }}", "N201")
    assert d.message.endswith("`a10a`, `a11a` and 1988 other names are bound here and never used")
    assert len(render_text(d).splitlines()) < 10
    types = ", ".join(f"Tensor({name}, float32)" for name in "abcdefghijkl")
    (d,) = said(f"@f = fn(x : ({types})) : Tensor {{ @relu(x[0]) }}", "N201")
    assert d.message.endswith("`j`, `k` and `l` are bound here and never used")


def test_a_slip_of_the_pen_has_a_note_of_its_own() -> None:
    found = said(
        "@f = fn(x : Tensor([batch, m], float32), y : Tensor([bacth, m], float32)) : Tensor { @sum(x) + @sum(y) }",
        "N201",
    )
    assert sorted(d.message for d in found) == [
        "`bacth` is bound here and never used",
        "`batch` is bound here and never used",
    ]
    assert any("did you mean `batch`?" in (d.help or "") for d in found)


def test_a_name_that_may_be_meant_by_one_of_the_result_is_told_so() -> None:
    (d,) = said("@f = fn(x : Tensor([batch, m], float32)) : Tensor([bacth, m], float32) { @relu(x) }", "N201")
    free = "If it is meant to be free, call it `_batch` or write `?`"
    assert d.help == f"did you mean it where the result has `bacth`? {free}"


def test_a_size_that_only_the_result_has_is_not_taken_for_another() -> None:
    d = only("@f = fn(x : Tensor([n], float32)) : Tensor([k], float32) { @reshape(@filter(x, x > 0.5), [k]) }")
    assert (d.code, d.help) == (
        "E201", "only the result has `k`, so the body chooses it and names it: `let y : Tensor([k]) = ...`",
    )  # fmt: skip
    d = only("@f = fn(x : Tensor([n], float32)) : Tensor(s, float32) { @zeros(s) }")
    assert d.help == "only the result has `s`, so the body chooses it and names it: `let y : Tensor(s) = ...`"


def test_a_single_letter_is_not_taken_for_another() -> None:
    assert only("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { y }").help is None
    assert only("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { X }").help == "did you mean `x`?"


def test_a_size_that_a_difference_binds_has_its_name() -> None:
    text = "@f = fn(x : Tensor([n - 5], float32)) : Tensor([n], float32) where n >= 8 { @reshape(x, [n, 2]) }"
    (d,) = said(text, "E307")
    assert d.message.startswith("@reshape needs as many elements in `[n, 2]` as `x` has, but they are n * 2 and n - 5")
    assert "x.dim(0)" not in render_text(d)


LAMBDA = """
@main = fn(x : Tensor([p, q], float32)) : Tensor {
  let rows = fn(a : Tensor([m], float32)) : Tensor([m, 2], float32) where m >= 2 { @stack([a, a], axis=0) }
  rows(@sum(x, axis=0))
}
"""


def test_a_function_value_is_called_as_it_is_named() -> None:
    result, condition = said(LAMBDA)
    assert condition.message.startswith("`rows` needs `m >= 2` to hold: this holds only if q >= 2")
    assert ("m >= 2", "`rows` asks for this") in places(condition)
    assert result.message.startswith("the function value needs axis 0 of its result to be m, but it is 2")


def test_an_item_of_a_result_is_named_as_that() -> None:
    d = only("@f = fn(x : Tensor([n], float32)) : (Tensor([n]), Tensor([n, 2])) { (x, @stack([x, x], axis=0)) }")
    assert d.message.startswith("@f needs axis 0 of item 1 of its result to be n, but it is 2")
    d = only("@f = fn(x : Tensor([n])) : (Tensor([n]), Tensor([n], int8)) { (x, x) }")
    assert d.message.startswith("@f needs item 1 of its result to have dtype int8, but its dtype is not known")


# Unproved claims


def test_where_a_rank_is_not_known_one_warning_names_the_whole_shape() -> None:
    d = only("@f = fn(x : Tensor(?, float32), k : Size) : Tensor([k, 2, 3], float32) { @relu(x) }")
    assert (d.code, d.message.partition(":")[0]) == (
        "W311", "@f needs its result to have a shape like [k, 2, 3], but its rank is not known",
    )  # fmt: skip


def test_the_tensor_whose_rank_is_not_known_is_named() -> None:
    d = only("@f = fn(a : Tensor(?, float32), w : Tensor([3, 4], float32)) { @matmul(a, w) }")
    assert "but the rank of `a` is not known" in d.message


def test_an_open_rank_is_told_once_with_the_place_that_left_it_open() -> None:
    d = only("@f = fn(a : Tensor(?, float32), w : Tensor([3, 3], float32)) { @matmul(@matmul(@relu(a), w), w) }")
    assert [(label.span.text, label.message) for label in d.labels] == [
        ("a : Tensor(?, float32)", "its rank is left open here"),
    ]


def test_where_one_rank_becomes_known_the_place_of_another_is_told() -> None:
    found = said(
        'extern @g = fn(x : Tensor(_s, float32), y : Tensor(_t, float32)) : Tensor(?, float32) = "a:b"\n'
        "@f = fn(x : Tensor(_s, float32), y : Tensor(_t, float32)) : Tensor {\n"
        "  let b = @g(x, y)\n  let p = @matrix_transpose(@exp(b))\n  let z : Tensor([n], float32) = x\n"
        "  @matrix_transpose(@tanh(b))\n}",
        "W311",
    )
    assert [[text for text, message in places(d) if "left open" in message] for d in found] == [
        ["x : Tensor(_s, float32)"], ["y : Tensor(_t, float32)"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "@f = fn(x : Tensor([b, t, h], float32), y : Tensor([b, h], float32)) : Tensor([b, t], float32) {\n"
        "  @sum(x * y, axis=2)\n}",
        "@f = fn(x : Tensor([n], float32), k : Size) : Tensor([n // k, k], float32) where k >= 1 {\n"
        "  @reshape(x, [-1, k])\n}",
        "@f = fn(x : Tensor(?, float32), w : Tensor([5, 3], float32)) : Tensor([2, 5], float32) { @linear(x, w) }",
    ],
)
def test_a_claim_that_holds_where_the_call_before_is_right_is_not_told_again(text: str) -> None:
    d = only(text)
    assert d.code == "W311"
    assert "result" not in d.message


@pytest.mark.parametrize(("other", "told"), [("[b, h]", "`*` needs axis 1"), ("[b, t, h]", "its result to be n")])
def test_a_claim_about_what_a_call_unproved_gives_is_told_once_the_call_is_right(other: str, told: str) -> None:
    (d,) = said(
        f"@f = fn(x : Tensor([b, t, h], float32), y : Tensor({other}, float32), n : Size) : Tensor([b, n], float32) {{\n"
        "  @sum(x * y, axis=2)\n}",
        "W311",
    )
    assert told in d.message


@pytest.mark.parametrize(
    "body",
    [
        "@f = fn(t : Tensor(?, float32)) : Tensor { @full([2], t) }",
        "@f = fn(x : Tensor([2], float32), t : Tensor(?, float32)) : Tensor { @full_like(x, t) }",
        "@f = fn(q : Tensor([t, d], float32), m : Tensor([..., t, t], bool)) : Tensor { @attention(q, q, q, mask=m) }",
    ],
)
def test_a_rank_that_has_to_be_small_and_is_not_known_is_an_unproved_claim(body: str) -> None:
    d = next(d for d in said(body) if "rank" in d.message)
    assert d.code == "W311"


def test_how_many_results_there_are_stands_in_the_program() -> None:
    d = only(
        "@f = fn(x : Tensor([n, 3], float32)) : Tensor { let (a, b) = @unstack(x, axis=0); @concat([a, b], axis=0) }"
    )
    assert (d.code, d.message) == (
        "E220", "@unstack needs the size of axis 0 of `x` (n) to be a number: so many results it has",
    )  # fmt: skip


def test_a_size_of_any_sign_that_must_not_be_negative_is_said_to() -> None:
    d = only("@f = fn(x : Tensor([n], float32), k : Size) : Tensor([k], float32) where k <= n { x[:k] }")
    assert "this holds only if k >= 0" in d.message


def test_a_ring_of_types_shows_where_it_closes() -> None:
    d = only("type A = B\ntype B = A\n@f = fn(x : A) : A { x }")
    assert (d.span.text, [(label.span.start, label.message) for label in d.labels]) == (
        "A", [(20, "it stands here again")],
    )  # fmt: skip


def test_arms_with_different_ranks_are_both_shown() -> None:
    d = only(
        "@f = fn(x : Tensor([2, 3], float32), c : Tensor([], bool)) {\n"
        "  let y = if (c) { x } else { @sum(x, axis=0) }\n  @concat([@relu(y), x], axis=0)\n}"
    )
    assert d.labels[0].message == "the arms of this `if` give Tensor([2, 3], float32) and Tensor([3], float32)"


def test_a_size_that_two_arms_make_differently_is_one_or_the_other() -> None:
    d = only(
        "@f = fn(x : Tensor([2, 3], float32), w : Tensor([3, 5], float32), c : Tensor([], bool)) {\n"
        "  let y = if (c) { x } else { @concat([x, x], axis=1) }\n  @matmul(y, w)\n}"
    )
    assert "axis 1 of `y` (3 or 6) and axis 0 of `w` (3) to be equal" in d.message
    assert "3 or 6 comes from here" in [label.message for label in d.labels]


@pytest.mark.parametrize("names", ["(a, b, c)", "(a, b, c, d)"])
@pytest.mark.parametrize("made", ["@split(x, sections=2, axis=1)", "@nonzero(x)", "@topk(x, k=2, axis=1)"])
def test_more_names_than_values_is_an_error(names: str, made: str) -> None:
    d = only(f"@f = fn(x : Tensor([n, 4], float32)) : Tensor {{ let {names} = {made}; a }}")
    assert (d.code, d.severity) == ("E206", "error")
    assert d.message == f"this is a tuple of 2; here are {names.count(',') + 1} names"


# Sizes


def test_a_size_stands_behind_its_name() -> None:
    head = "@f = fn(x : Tensor([b, 1, 9, 9], float32), w : Tensor([8, 3, 3, 3], float32))"
    assert "axis 1 of `x` (1 channel) and axis 1 of `w` (3) to be equal" in only(f"{head} {{ @conv2d(x, w) }}").message
    d = only("@f = fn(x : Tensor([n, 3], float32)) { @topk(x, k=5, axis=1) }")
    assert "`k` (5) to be at most axis 1 of `x` (3)" in d.message


def test_the_smallest_example_says_what_the_sizes_come_to() -> None:
    d = only("@f = fn(x : Tensor([n, 15], float32)) { @reshape(x, [n, 4, 4]) }")
    assert "with n = 1 they are 16 and 15" in d.notes
    d = only("@f = fn(x : Tensor([n, m], float32), y : Tensor([m, n], float32)) { x + y }")
    assert not any(note.startswith("with") for note in d.notes)


def test_a_truth_value_is_1_or_0_in_an_example() -> None:
    arms = "if (c) { @reshape(x, [3]) } else { @reshape(x, [4]) }"
    found = said(f"@f = fn(x : Tensor([n], float32), c : Bool) {{ {arms} }}")
    assert [d.witness for d in found] == [{"n": 1, "c": 1}, {"n": 1, "c": 0}]


def test_a_size_that_a_reshape_asks_for_comes_from_its_target() -> None:
    text = (
        "@f = fn(x : Tensor([b, 784], float32), w : Tensor([8, 3, 3, 3], float32)) {\n"
        "  let image = @relu(@reshape(x, [b, 1, 28, 28]))\n  @conv2d(image, w)\n}"
    )
    assert ("1", "1 comes from here") in places(only(text))


def test_a_function_without_a_name_is_called_as_in_the_call() -> None:
    d = only("@f = fn(x : Tensor) { let g = fn(y : Tensor([3], int8)) : Tensor { y }; g(@zeros([4], dtype=int8)) }")
    assert d.message.startswith("`g` needs axis 0 of `y` to be 3")


def test_an_index_is_called_what_it_is() -> None:
    assert only("@f = fn(x : Tensor([3], int8)) { x[5] }").message.startswith(
        "`x[5]` needs axis 0 of `x` to be at least 6"
    )
    assert (
        "`x[0, 1]` needs `x` to have an axis 1, but its rank is 1"
        in only("@f = fn(x : Tensor([3], int8)) { x[0, 1] }").message
    )


@pytest.mark.parametrize(
    ("where", "said_"),
    [
        ("where n > 3, n < 2", "`n > 3` and `n < 2` exclude each other"),
        ("where n % 2 == 1, n >= 0, n == 4", "`n % 2 == 1` and `n == 4` exclude each other"),
        ("where n != n", "`n != n` never holds"),
    ],
)
def test_a_signature_that_nobody_can_satisfy_names_the_conditions_that_exclude_each_other(
    where: str, said_: str
) -> None:
    d = only(f"@f = fn(x : Tensor([n], float32), y : Tensor([n * 2, 5], float32)) : Tensor {where} {{ x }}")
    assert d.message == f"no sizes satisfy the signature of @f: {said_}"
    assert all(f"`{text}`" in said_ for text in (d.span.text, *(place for place, _ in places(d))))


def test_a_dimension_that_no_tensor_has_is_named_with_its_axis() -> None:
    d = only("@f = fn(x : Tensor([-1, 6], float32)) : Tensor { x }")
    assert (d.span.text, d.message.partition(": ")[2]) == ("-1", "`-1` as axis 0 of `x` never holds")


@pytest.mark.parametrize(
    ("sizes", "call", "code", "needs"),
    [
        ("Tensor([3, 2], int64)", "@reshape(x, s)", "E314", "the sizes in `s` to be a tensor of rank 1, but its rank is 2"),
        ("Tensor([2, 3], int64)", "@tile(x, s)", "E314", "the sizes in `s` to be a tensor of rank 1 or 0, but its rank is 2"),
        ("Tensor([], int64)", "@broadcast_to(x, s)", "E314", "the sizes in `s` to be a tensor of rank 1, but its rank is 0"),
        ("Tensor([2], int64)", "@tril(x, s)", "E314", "the size in `s` to be a tensor of rank 0, but its rank is 1"),
        ("Tensor([3], float32)", "@zeros(s, int8)", "E313", "`s` to have an integer dtype, but it has float32"),
        ("Tensor([], bool)", "@repeat(x, s, axis=0)", "E313", "`s` to have an integer dtype, but it has bool"),
        ("Tensor([], float32)", "@arange(0, s, 1)", "E313", "`s` to have an integer dtype, but it has float32"),
        ("Tensor(?, float32)", "@slice(x, s, [2])", "E313", "`s` to have an integer dtype, but it has float32"),
        ("Tensor([2], d)", "@broadcast_to(x, s)", "W311", "`s` to have an integer dtype"),
        ("Tensor(?, int64)", "@reshape(x, s)", "W311", "to know how many sizes `s` has"),
        ("Tensor(?, int64)", "@tril(x, s)", "W311", "`s` to be one size"),
    ],
)  # fmt: skip
def test_a_tensor_given_for_sizes_has_integers_in_a_row_or_one(sizes: str, call: str, code: str, needs: str) -> None:
    d = next(d for d in said(f"@f = fn(x : Tensor([n, n], float32), s : {sizes}) : Tensor {{ {call} }}", code))
    assert d.message.partition(" needs ")[2].rpartition(": ")[0] == needs


def test_an_assertion_says_where_its_sizes_come_from_and_why_they_differ() -> None:
    d = only(
        "@f = fn(x : Tensor([b, 3], float32)) : Tensor {\n"
        "  let y = @concat([x, x], axis=0)\n  assert y.dim(0) == 2 * b + 1\n  y\n}"
    )
    assert places(d) == [("@concat([x, x], axis=0)", "b * 2 comes from here")]
    assert d.notes == ("b * 2 = b * 2 + 1 has no solution (they differ by 1)",)


def test_an_assertion_on_the_size_of_an_axis_says_that_size() -> None:
    d = only("@f = fn(x : Tensor([n, 6], float32)) : Tensor { assert x.dim(1) == 7; x }")
    assert d.message == "the assertion needs `x.dim(1) == 7`, but x.dim(1) is 6: this always fails"


def test_a_dimension_that_is_more_than_arithmetic_is_told_as_it_is_declared() -> None:
    d = only("@f = fn(x : Tensor([n], float32)) : Tensor([n * max(n, 1)]) { x }")
    assert d.message.startswith(
        "@f needs axis 0 of its result to be n * max(n - 1, 0) + n (`n * max(n, 1)`), but it is n"
    )


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("let a ! Tensor([8 * k]) = x", "this is asserted before"),
        ("let a : Tensor([8 * k]) = x", "this is claimed before"),
    ],
)
def test_an_annotation_that_another_one_contradicts_is_shown(first: str, told: str) -> None:
    d, *_ = said(f"@f = fn(x : Tensor([n])) : Tensor {{\n  {first}\n  let b ! Tensor([8 * j + 3]) = x\n  b\n}}", "E303")
    assert ("8 * k", told) in places(d)


@pytest.mark.parametrize(
    ("shape", "call", "note", "place"),
    [
        ("7, 5", "@split(x, sections=2, axis=0)", "7 mod 2 = 1", ("7", "7 comes from here")),
        ("2 * n + 1", "@split(x, sections=2)", "(n * 2 + 1) mod 2 = 1", ("2 * n + 1", "n * 2 + 1 comes from here")),
        ("4 * n + 2", "@split(x, sections=8)", "(n * 4 + 2) mod 4 = 2", ("4 * n + 2", "n * 4 + 2 comes from here")),
        ("b, 6, 5, 5", "@depth_to_space(x, 4)", "6 mod 16 = 6", ("6", "6 comes from here")),
        ("7, 5", "@reshape(x, [-1, 4])", "35 mod 4 = 3", ("x : Tensor([7, 5])", "this has 35 elements")),
        ("n, 7", "@reshape(x, [-1, n, 4])", "7 mod 4 = 3", ("n", "n comes from here")),
    ],
)
def test_a_size_that_does_not_divide_is_told_with_its_remainder(
    shape: str, call: str, note: str, place: tuple[str, str]
) -> None:
    d, *_ = said(f"@f = fn(x : Tensor([{shape}])) {{ {call} }}", "E304", "E307")
    assert (d.notes, places(d)) == ((note,), [place])


@pytest.mark.parametrize(
    ("body", "help_"),
    [
        ("assert n == hidde", None),
        ("let y = hidde", "did you mean `hidden`?"),
        ("let y = x + batc", None),
        ("assert n == batc", "did you mean `batch`?"),
        ("assert x.shape == batc", None),
        ("let y = @reshape(x, [*batc])", None),
        ("let y : Tensor = @zeros(hidde)", None),
    ],
)
def test_only_a_name_that_could_stand_there_is_offered(body: str, help_: str | None) -> None:
    d = only(f"@f = fn(hidden : Tensor([n, batch]), x : Tensor([n, batch])) : Tensor {{ {body}; x }}")
    assert (d.code, d.help) == ("E201", help_)


def test_two_open_sizes_of_a_reshape_are_not_listed() -> None:
    d = only("@f = fn(x : Tensor([n, 6])) { @reshape(x, [-1, -1]) }")
    assert d.message == "@reshape needs at most one -1 in `[-1, -1]`: this always fails"
    assert [place for place, _ in places(d)] == ["-1", "-1"]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("@f = fn(x : Tensor([*s, n, *t])) : Tensor { x }", "E209", ("*s", "the length of this one is unknown too")),
        ("let a = tensor([[1, 2], [3]])", "E211", ("[1, 2]", "this has 2")),
        ("let a = tensor([[1], 2])", "E211", ("[1]", "this is a list")),
        ("let a = tensor([1, [2]])", "E211", ("1", "this is a number")),
        ("@f = fn(x : Tensor([n])) { if (n > 3) { x } else { (x, x) } }", "E219", ("{ x }", "this arm gives a tensor")),
    ],
)  # fmt: skip
def test_what_something_does_not_fit_to_is_shown(text: str, code: str, place: tuple[str, str]) -> None:
    d = only(text)
    assert (d.code, places(d)) == (code, [place])


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("@matmul(p[0], q[0])", ("`p[0]`", "`q[0]`")),
        ("@matmul(p[-2], q[1][1])", ("`p[-2]`", "`q[1][1]`")),
        ("@concat([q[1][0], p[1]], axis=0)", ("`q[1][0]`", "`p[1]`")),
        ("let t = (p[1], @relu(p[0])); @matmul(t[1], t[0])", ("`t[1]`", "`t[0]`")),
        ("let (a, b) = p; @matmul(a, b)", ("`a`", "`b`")),
    ],
)
def test_a_part_of_a_tuple_is_called_as_it_is_written(body: str, names: tuple[str, str]) -> None:
    pair = "(Tensor([2, 3], float32), Tensor([5, 7], float32))"
    program = f"@f = fn(p : {pair}, q : (Tensor([11, 13], float32), {pair})) : Tensor {{ {body} }}"
    wrong = [d for d in said(program) if d.severity == "error"]
    assert len(wrong) == 1 and all(name in wrong[0].message for name in names), wrong


def test_a_call_that_is_the_root_of_one_error_has_no_error_of_its_own() -> None:
    """It is unproved, and wrong on all but empty tensors: both a root and an error."""
    report = pipeline.check_text(nested_sizes.program(167), "nested.rx", Path("."))
    wrong = [(d.code, d.span.start) for d in report.diagnostics if d.severity == "error"]
    assert len(wrong) == len(set(wrong)) == 6
