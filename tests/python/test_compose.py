"""Whether one function's result fits into the next is decided once, for all sizes; the row has a signature of its own."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import fuzz
from support.random_signatures import RandomSignature


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


@rx.checked("fn(x : Tensor([n, m * 4], float32), y : Tensor([*b, n], d)) : Tensor([n, m * 2], d) where d in floating")
def halve(x, y):
    return x[:, ::2].astype(y.dtype)


@rx.checked("fn(x : Tensor([n, m * 3], e)) : Tensor([n, m], e)")
def third(x):
    return x[:, ::3]


@rx.checked("fn(x : Tensor([n, m * 2], e)) : (Tensor([m], e), Tensor([n, k], float32))")
def both(x):
    return x[0, ::2], zeros(len(x), 7)


@rx.checked("fn(a : Tensor([q], e), b : Tensor([n, k], float32), s : float32) : Tensor([q, n], e) where k >= 1")
def outer(a, b, s=None):
    return zeros(len(a), len(b))


@rx.checked("fn(x : Tensor([n], e)) : Tensor([n], e)")
def flat(x):
    return x


def test_a_fit_for_all_sizes_leaves_no_check() -> None:
    h = rx.compose(halve, both)
    assert rx.signature(h).residual == ()
    assert [part.shape for part in h(zeros(3, 8), zeros(3))] == [(2,), (3, 7)]


def test_a_fit_for_some_sizes_leaves_the_check_that_decides_it() -> None:
    h = rx.compose(halve, third)
    assert [(c.text, c.message) for c in rx.signature(h).residual] == [("m * 3", "axis 1 of `x`")]
    assert h(zeros(5, 12), zeros(5)).shape == (5, 2)
    with pytest.raises(rx.ShapeError, match="@third needs axis 1 of `x` to be a multiple of 3, but it is 4"):
        h(zeros(5, 8), zeros(5))


def test_what_never_fits_is_an_error_with_both_signatures() -> None:
    with pytest.raises(rx.CheckError) as refused:
        rx.compose(halve, flat)
    said = str(refused.value)
    assert "@flat needs `x` to have rank 1, but it has rank 2: this always fails" in said
    assert "Tensor([n, m * 2], d) where" in said and "@halve gives this" in said and "extern @flat = fn(x" in said


def test_the_derived_signature_asks_for_what_both_ask_for() -> None:
    text = str(rx.signature(rx.compose(halve, third)))
    assert text.startswith("@halve_then_third = fn(x : Tensor([n, m * 12], float32), y : Tensor([*b, n], d))")
    assert ") : Tensor([n, m * 2], d) where d in floating" in text


def test_shapes_of_a_row_are_told_without_data() -> None:
    h = rx.signature(rx.compose(halve, third))
    rows, columns = h.shapes(x=("k", 24), y=(2, "k"))
    assert (str(rows), columns) == ("k", 4)
    with pytest.raises(rx.ShapeError):
        h.shapes(x=("k", 20), y=(2, "k"))


def test_a_tuple_enters_part_by_part() -> None:
    h = rx.compose(halve, both, outer)
    assert h(zeros(3, 20), zeros(3)).shape == (5, 3)
    assert [c.text for c in rx.signature(h).residual] == ["k >= 1"]


@pytest.mark.parametrize("nested", [
    lambda: rx.compose(rx.compose(halve, both), outer), lambda: rx.compose(halve, rx.compose(both, outer)),
])  # fmt: skip
def test_three_in_a_row_are_the_same_however_they_are_nested(nested: Any) -> None:
    h = nested()
    assert str(rx.signature(h)) == str(rx.signature(rx.compose(halve, both, outer)))
    assert h(zeros(3, 8), zeros(3)).shape == (2, 3) and h.__name__ == "halve_then_both_then_outer"


def test_a_function_may_stand_in_a_row_more_than_once() -> None:
    h = rx.compose(halve, third, third)
    assert h(zeros(2, 36), zeros(2)).shape == (2, 2)
    with pytest.raises(rx.ShapeError, match="to be a multiple of 3, but it is 4"):
        h(zeros(2, 24), zeros(2))


def test_an_entry_check_that_is_decided_is_not_asked_again() -> None:
    """The one thing that an entry check asks and shapes do not tell: whether it is asked."""
    entry_check = third.__rx_entry_check__
    decided = rx.compose(both_halves, third)
    reached = [line for own in entry_check._lines(decided=True) for line in own if line.reached is not None]
    every = [line for own in entry_check.lines for line in own if line.reached is not None]
    assert rx.signature(decided).residual == () and len(reached) < len(every)
    assert all(str(line.reached.origin.declared.subject) == "the result of @third" for line in reached)


@rx.checked("fn(x : Tensor([n, m], e)) : Tensor([n, m * 6], e)")
def both_halves(x):
    return np.tile(x, (1, 6))


def test_the_result_of_the_last_is_checked_where_its_entry_check_is_decided() -> None:
    wrong = rx.checked("fn(x : Tensor([n, m], e)) : Tensor([m, n], e)")(lambda x: x)
    with pytest.raises(rx.ShapeError, match="needs axis 0 of its result to be 4"):
        rx.compose(halve, wrong)(zeros(3, 8), zeros(3))


def test_what_is_wrapped_around_a_function_stays_around_it() -> None:
    calls: list[str] = []

    @wraps(third)
    def watched(x):
        calls.append("third")
        return third(x)

    rx.compose(halve, watched)(zeros(2, 12), zeros(2))
    assert calls == ["third"]


def test_what_is_wrapped_around_a_function_gives_what_it_gives() -> None:
    """The signature is that of the function inside: the entry check behind it stays."""

    @wraps(flat)
    def shorter(x):
        return flat(x)[:1]

    @rx.checked("fn(x : Tensor([n], e)) : (Tensor([n], e), Tensor([n], e))")
    def twice(x):
        return x, x

    @wraps(twice)
    def uneven(x):
        return x, x[:1]

    add = rx.checked("fn(x : Tensor([n], e), y : Tensor([n], e)) : Tensor([n], e)")(lambda x, y: x + y)
    assert (rx.compose(flat, twice, add)(zeros(3)).shape, rx.compose(shorter, twice, add)(zeros(3)).shape) == (
        (3,),
        (1,),
    )
    for row in (rx.compose(uneven, add), rx.compose(flat, rx.compose(uneven, add))):
        with pytest.raises(rx.ShapeError, match="needs axis 0 of `y` to be 3"):
            row(zeros(3))


def test_arguments_go_to_the_first_as_they_are_given() -> None:
    h = rx.compose(halve, third)
    assert h(y=zeros(2), x=zeros(2, 12)).shape == (2, 2) and str(inspect.signature(h)) == "(x, y)"
    with pytest.raises(TypeError):
        h(zeros(2, 12))


@rx.checked("fn(x : Tensor([n], float32), mask : Tensor([n, k], bool)) : Tensor([n], float32)")
def optional(x, mask=None):
    return x


def test_a_parameter_that_may_be_none_may_be_none_in_a_row() -> None:
    h = rx.compose(optional, flat)
    assert h(zeros(3)).shape == h(zeros(3), zeros(3, 2, dtype=bool)).shape == (3,)
    assert [str(s) for s in rx.signature(h).shapes(x=("q",))] == ["q"]
    with pytest.raises(rx.ShapeError):
        h(zeros(3), zeros(2, 2, dtype=bool))


@pytest.mark.parametrize(
    ("row", "why"),
    [((halve, halve), "takes 2 arguments, and @halve gives 1"), ((halve, len), "has no signature"),
     ((halve, rx.loads("@f = fn(x : Tensor) : Tensor { x }").f), "f is a program's function"), ((halve,), "two functions"),
     ((rx.checked("fn(x : Tensor)")(lambda x: x), flat), "is not annotated"),
     ((flat, rx.checked("fn(x : Tensor)")(lambda x, more: x)), "needs `x`, `more`"),
     ((flat, rx.checked("fn(x : Tensor)")(lambda flag=1, x=2: x)), "needs `x`")],
)  # fmt: skip
def test_what_is_no_row_is_refused(row: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        rx.compose(*row)


def test_only_what_has_a_signature_has_one() -> None:
    with pytest.raises(TypeError, match="len has no signature"):
        rx.signature(len)
    module = rx.loads("@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x }")
    assert str(rx.signature(module.f).signature) == "@f = fn(x : Tensor([n], int8)) : Tensor([n], int8)"


def test_shapes_of_a_function_are_told_without_data() -> None:
    found = rx.signature(halve).shapes(x=("k", 16), y=("k",))
    assert [str(s) for s in found] == ["k", "8"]
    assert str(rx.signature(optional)).startswith("@optional = fn(x : Tensor([n], float32), mask")
    with pytest.raises(TypeError, match="without 'y'"):
        rx.signature(halve).shapes(x=("k", 16))


def test_a_row_refuses_what_its_functions_refuse_in_turn_and_nothing_else() -> None:
    """The parts, with all their entry checks, are what a row has to be."""
    for case in fuzz.cases("compositions"):
        with case as seed:
            made = RandomSignature(seed)
            if isinstance(made.result, tuple):
                continue
            dims = ", ".join(made.random.choice(("?", f"a{i} * 2", f"a{i}", "a0")) for i in range(made.result.ndim))
            result = [made.result]
            try:
                first = rx.checked(made.text)(_named(made.count, result))
                then = rx.checked(f"fn(t : Tensor([{dims}], ?)) : Tensor([3], ?)")(lambda t: zeros(3))
            except rx.CheckError:
                continue
            try:
                row = rx.compose(first, then)
            except rx.CheckError:
                _never_fits(made, first, then, result)
                continue
            for _ in range(6):
                args = [made.spoiled(p) for p in made.params]
                result[0] = made.spoiled(made.result)
                assert _told(row, args) == _told(_nested(first, then), args), (made.text, dims)


def _never_fits(made: RandomSignature, first: Any, then: Any, result: list[Any]) -> None:
    for _ in range(6):
        args = [made.spoiled(p) for p in made.params]
        result[0] = made.spoiled(made.result)
        assert result[0].size == 0 or _told(_nested(first, then), args), made.text


def _named(count: int, result: list[Any]) -> Any:
    """A function of so many parameters that gives what is in the list."""
    return eval(f"lambda {', '.join(f'x{i}' for i in range(count))}: result[0]", {"result": result})


def _nested(first: Any, then: Any) -> Any:
    return lambda *args: then(first(*args))


def _told(function: Any, args: Any) -> str:
    try:
        function(*args)
    except rx.ShapeError as refused:
        return refused.diagnostic.message
    return ""


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("Tensor([k], float32)", "k <= n"),
        ("Tensor([k], float32)", "n >= 1, k <= n"),
        ("Tensor([n], e)", "e in floating"),
        ("Tensor([n], float32)", "n >= 1, min(n, 3) >= 1"),
        ("Tensor([k], e)", "n >= 1, e in floating, k <= n && n <= 9"),
    ],
)
def test_what_is_said_of_the_result_alone_is_no_demand_of_a_row(result: str, said: str) -> None:
    first = rx.checked(f"fn(x : Tensor([n], float32)) : {result} where {said}")(lambda x: x)
    second = rx.checked("fn(x : Tensor([m], d)) : Tensor([m], d) where d in floating")(lambda x: x)
    row = rx.compose(first, second)
    assert row(np.ones(3, np.float32)).shape == (3,)
    assert ("n >= 1" in str(rx.signature(row))) == ("n >= 1" in said)
    if "n >= 1" in said:
        with pytest.raises(rx.ShapeError):
            row(np.ones(0, np.float32))
