"""Literal numbers as arguments: they take the dtype that is asked for, else their own, which has to hold them."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx
from numpy.testing import assert_array_equal

BIG = 10**30
X = np.arange(3, dtype=np.float32)
# What `@main` gives for X, be it a number of its own or one inside a tuple, given to a function or to a function value.
GIVEN = {
    "let f = fn(a : Tensor([], float32), y) { a * y }\n  f(3, x)": X * 3,
    "let f = fn(a, y) where a.dtype == y.dtype { a * y }\n  f(3, x)": X * 3,
    "let f = @multiply\n  f(x, 3)": X * 3,
    "@applied(fn(a, y) { a * y }, x)": X * 3,
    "@scaled((x, 3))": X * 3,
    "@scaled_by((x, (3, 4)))": X * 3,
    f"let f = @full\n  @full([3], {BIG}, float32)": np.full(3, BIG, np.float32),
    f"x + {BIG}": X + np.float32(BIG),
    f"x * @cast({BIG}, float32)": X * np.float32(BIG),
}
FUNCTIONS = """@applied = fn(f : fn(float32, Tensor([n], float32)) : Tensor([n], float32), x : Tensor([n], float32)) { f(3, x) }
@scaled = fn(p : (Tensor([n], float32), float32)) { p[0] * p[1] }
@scaled_by = fn(p : (Tensor([n], d), (Tensor([], d), int8))) where d in numeric { p[0] * p[1][0] }
@same = fn(x : Tensor) { x }
@pass = fn(f : fn(Tensor) : Tensor) { f(%d) }
"""
# No dtype holds these numbers, or not the one that is asked for.
REFUSED = (
    "@flatten(%d)", "@permute_dims(%d, ())", "@where(x > 1.0, %d, 2)", "@maximum(%d, 2)", "%d + 1", "@abs(%d)",
    "@full([2], %d)", "@same(%d)", "let f = fn(y : Tensor) { y }\n  f(%d)", "let f = fn(y) { y }\n  f(%d)", "@flatten(-%d)",
)  # fmt: skip


def text(body: str, functions: str = "") -> str:
    return f"{functions}@main = fn(x : Tensor([n], float32)) {{\n  {body}\n}}\n"


@pytest.mark.parametrize("body", GIVEN)
def test_a_number_takes_the_dtype_that_is_asked_for(body: str) -> None:
    found = rx.loads(text(body, FUNCTIONS.replace("f(%d)", "f(1)"))).main(X)
    assert found.dtype == np.float32
    assert_array_equal(found, GIVEN[body])


@pytest.mark.parametrize("body", REFUSED)
@pytest.mark.parametrize("number", [2**63 + 1, BIG])
def test_a_number_that_no_dtype_holds_is_refused(body: str, number: int) -> None:
    found = rx.check_source(text(body % number, FUNCTIONS.replace("f(%d)", "f(1)")))
    assert [str(d.code) for d in found.diagnostics if d.severity == "error"] in (["E211"], ["E313"])


def test_a_number_for_a_function_that_is_given_is_refused() -> None:
    found = rx.check_source(FUNCTIONS % BIG)
    assert [d.message for d in found.diagnostics if d.severity == "error"] == ["this number does not fit int64"]


def test_a_part_of_a_tuple_is_refused_as_the_number_is() -> None:
    [found] = [d for d in rx.check_source(text("@scaled_by((x, (3, 300)))", FUNCTIONS.replace("f(%d)", "f(1)"))).diagnostics
               if d.severity == "error"]  # fmt: skip
    assert found.message == "@scaled_by needs `p[1][1]` to have dtype int8, but it has int64: this always fails"


def test_a_call_of_a_function_that_the_run_chooses_is_no_silent_one() -> None:
    source = text("let f = if (n > 2) { @add } else { @matmul }\n  f(x, x)")
    [found] = rx.check_source(source).diagnostics
    assert str(found.code) == "W311" and found.message.startswith(
        "`f` needs arguments that fit whichever function it is"
    )
    assert_array_equal(rx.loads(source).main(X), X + X)
    source = text("let f = if (n > 5) { @add } else { @matmul }\n  f(x, @ones([n + 1], float32))")
    with pytest.raises(rx.ShapeError, match=r"the function that is called here needs axis 0 of `x` and axis 0 of `y`"):
        rx.loads(source).main(X)


def test_a_member_of_a_list_takes_numbers_in_tuples() -> None:
    module = rx.loads(
        "@two = fn(x : Tensor([2], float32), p : (float32, int64)) { x * p[0] }\n"
        "@any = fn(x : Tensor([n], float32), p : (float32, int64)) { x + p[0] }\n"
        "@f = [@two, @any]\n@main = fn(x : Tensor([n], float32)) { @f(x, (3, 4)) }"
    )
    assert_array_equal(module.main(X), X + 3)
    assert_array_equal(module.main(X[:2]), X[:2] * 3)


def test_a_number_in_a_tuple_has_the_dtype_of_the_part_beside_it() -> None:
    module = rx.loads(
        "@two = fn(p : (Tensor([2], d), Tensor([], d))) { p[0] * p[1] }\n"
        "@any = fn(p : (Tensor([n], d), Tensor([], d))) { p[0] + p[1] }\n"
        "@f = [@two, @any]\n@main = fn(x : Tensor([n], float32)) { @f((x, 2.5)) }"
    )
    assert_array_equal(module.main(X), X + np.float32(2.5))
    assert_array_equal(module.main(X[:2]), X[:2] * np.float32(2.5))
