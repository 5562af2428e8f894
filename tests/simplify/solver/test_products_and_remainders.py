"""Sums that a number divides where it divides a product, beside all remainders of the sizes."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from rxlang.simplify.solver.products import product_modulo
from rxlang.simplify.solver.sizes import only_var
from rxlang.simplify.solver.terms import Size, Term, evaluate, var

b, x, y = (var(name, i) for i, name in enumerate("bxy", 1))


def value(size: Size, point: tuple[int, int, int]) -> int:
    return evaluate(size, dict(zip(map(only_var, (b, x, y)), point, strict=True))) if isinstance(size, Term) else size


def test_a_shared_factor_is_a_factor_of_the_product_and_each_coefficient_counts_by_its_remainder() -> None:
    assert product_modulo(b * x * y * 15 + b * x * 3 + b * y * 3 + b * 7, 16) == [b, x - 3, y - 3]


@pytest.mark.parametrize("shared", [1, b])
@pytest.mark.parametrize("number", [2, 3, 4, 6])
def test_a_number_divides_the_product_for_the_same_sizes_as_the_sum(number: int, shared: Size) -> None:
    points = list(product(range(number), repeat=3))
    for k, i, j, rest in product((0, 1, 2, 4), range(3), range(3), (0, 1, 3)):
        term = shared * (x * y * k + x * i + y * j + rest)
        factors = product_modulo(term, number) if isinstance(term, Term) else []
        for point in points if factors else ():
            divided = prod(value(factor, point) for factor in factors) % number == 0
            assert divided == (value(term, point) % number == 0), (term, factors, point)
