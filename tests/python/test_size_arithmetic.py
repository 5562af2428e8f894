"""Sizes in host code: arithmetic that makes sizes, comparisons that make conditions."""

from __future__ import annotations

import operator
import random
from itertools import product

import pytest
import rxlang as rx

n, m = rx.Size("n"), rx.Size("m")
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def at(size: rx.Size | int, **names: int) -> int:
    return rx.Size(size).at(**names)


def test_arithmetic_has_the_values_of_python_on_either_side() -> None:
    choose = random.Random(0)
    for _ in range(200):
        op = choose.choice([*ARITHMETIC])
        a, b = choose.choice([n, m, n + 2, 3 * m - n, 7]), choose.choice([n + 1, 5, m + 2, 3])
        if isinstance(a, int) and isinstance(b, int):
            continue
        made = ARITHMETIC[op](a, b)
        for point in ({"n": 0, "m": 0}, {"n": 2, "m": 7}, {"n": 5, "m": 1}):
            assert made.at(**point) == ARITHMETIC[op](at(a, **point), at(b, **point))


def test_powers_minima_and_maxima() -> None:
    assert n**3 == n * n * n and n**0 == 1 and str((n + 1) ** 2) == str(rx.Size("n * n + 2 * n + 1"))
    assert str(rx.min(n, 8)) == "min(n, 8)" and rx.min(n) == n and rx.min(2, 3) == 2
    assert rx.max(n - 8, 0).at(n=3) == 0 and rx.max(n, m, 4).at(n=5, m=7) == 7
    assert -n + n == 0
    with pytest.raises(ArithmeticError, match="too large"):
        (n + m) ** 64
    for exponent in (-1, 65, 0.5, n, True):
        with pytest.raises((TypeError, ValueError)):
            n**exponent
    for made in (rx.min, rx.max):
        with pytest.raises(TypeError):
            made()


@pytest.mark.parametrize("other", [1.5, "n", None, True, [1]])
@pytest.mark.parametrize("operation", [*ARITHMETIC.values(), *COMPARISONS.values(), rx.min, rx.Size.equals])
def test_what_is_no_size_is_refused(operation: object, other: object) -> None:
    with pytest.raises(TypeError):
        operation(n, other)  # type: ignore[operator]


def test_conditions_are_proved_where_they_hold_for_all_sizes() -> None:
    assert (n >= 0).proved() and (n + 1 > n).proved() and (rx.min(n, m) <= m).proved() and (n % 4 < 4).proved()
    assert ((n + m) ** 2).equals(n**2 + 2 * n * m + m**2).proved() and operator.le(3, n + 3).proved()
    assert (n // 2 * 2).equals(n - n % 2).proved()
    assert not (n > 0).proved() and not (n < m).proved() and not n.equals(m).proved()


def test_a_condition_is_true_or_false_only_where_it_is_decided() -> None:
    assert bool(n >= 0) is True and bool(n < 0) is False and bool((n + 1).equals(n)) is False
    for undecided in (n > 0, n < m, n.equals(m), operator.le(3, n), n.equals(3)):
        with pytest.raises(TypeError, match="proved"):
            bool(undecided)
        assert not undecided.proved()
    with pytest.raises(TypeError):
        max([n, m])


def test_what_may_divide_by_zero_proves_nothing() -> None:
    for condition in ((n // m) >= 0, (n // m).equals(n // m), (n // m) < 0):
        assert not condition.proved()
        with pytest.raises(TypeError):
            bool(condition)
    assert ((n // (m + 1)) >= 0).proved()


def test_equality_and_hash_stay_those_of_the_normal_form() -> None:
    assert n * 4 == rx.Size("2 * n * 2") and hash(n * 4) == hash(rx.Size("4 * n")) and {n * 2: 1}[n + n] == 1
    assert (n == m) is False and (n != m) is True and (n == 3) is False
    assert rx.Size(3) == 3 and bool(rx.Size(3) < 4)


def test_conditions_print_in_rx_syntax() -> None:
    assert (
        str(n + 1 <= 2 * m) == "n + 1 <= m * 2" and str(operator.lt(3, n)) == "n > 3" and str(n.equals(m)) == "n == m"
    )


def test_random_conditions_are_proved_only_where_every_small_size_satisfies_them() -> None:
    choose = random.Random(1)
    atoms = [n, m, n + m, 2 * n, n // 2, n % 3, rx.min(n, m), rx.max(n, 2), n * m, rx.Size(1)]
    proved = 0
    for _ in range(150):
        op, a, b = choose.choice([*COMPARISONS]), choose.choice(atoms), choose.choice(atoms) + choose.randint(-1, 2)
        values = [COMPARISONS[op](a.at(n=x, m=y), b.at(n=x, m=y)) for x, y in product(range(7), repeat=2)]
        condition = COMPARISONS[op](a, b)
        if condition.proved():
            proved += 1
            assert all(values), condition
        else:
            try:
                assert not bool(condition) and not any(values), condition
            except TypeError:
                continue
    assert proved > 10


def test_results_of_shapes_take_part() -> None:
    module = rx.loads("@f = fn(x : Tensor([n, m], float32)) : Tensor([n * m], float32) { @reshape(x, [n * m]) }")
    [size] = module.f.shapes(x=(n, 4))
    assert (size >= n).proved() and size == 4 * n and (size // 4).equals(n).proved()
