"""What an equation of products of quotients says of each size, beside all small sizes."""

from itertools import product

import pytest
from rxlang.simplify.solver.conditions import AllOf, all_of, cond_vars, eq, evaluate_cond, ge
from rxlang.simplify.solver.facts import Facts
from rxlang.simplify.solver.shorter import shorter
from rxlang.simplify.solver.sizes import only_var
from rxlang.simplify.solver.terms import var

h, w, b = (var(name, i) for i, name in enumerate("hwb", 1))
BOX = tuple(product(range(26), repeat=2))


@pytest.mark.parametrize("window", [1, 2, 3, 4])
@pytest.mark.parametrize("times", [2, 3, 4])
@pytest.mark.parametrize("batch", [1, b])
def test_windows_partition_where_each_side_is_made_up_of_them(window, times, batch):
    coarse, fine = (batch * (h // k) * (w // k) for k in (window, window * times))
    cond, given = eq(coarse, fine * times**2), all_of(ge(h, window), ge(w, window))
    facts = Facts()
    facts.assume(given)
    found = shorter(facts, cond)
    assert isinstance(found, AllOf) and all(len(cond_vars(part)) == 1 for part in found.parts), found
    for x, y in BOX:
        point = {only_var(h): x, only_var(w): y, only_var(b): 1}
        if evaluate_cond(given, point):
            assert evaluate_cond(found, point) == evaluate_cond(cond, point), (found, x, y)


@pytest.mark.parametrize(("k", "j", "c"), list(product((1, 2, 3), (2, 4, 6), (1, 2, 4, 9))))
def test_what_is_said_of_other_products_holds_for_the_same_sizes(k, j, c):
    cond = eq(h // k * (w // j), h // j * (w // k) * c)
    for given in (True, all_of(ge(h, k), ge(w, j)), all_of(ge(h, j), ge(w, k))):
        facts = Facts()
        facts.assume(given)
        found = shorter(facts, cond, ())
        for x, y in BOX:
            point = {only_var(h): x, only_var(w): y}
            if evaluate_cond(given, point):
                assert evaluate_cond(found, point) == evaluate_cond(cond, point), (found, x, y)
