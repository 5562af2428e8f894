"""Open checks to conditions on sizes, and those to what each assignment of small sizes says."""

from __future__ import annotations

import random
from itertools import product
from math import prod

from rxlang.simplify.contract import _each_without_factors
from rxlang.simplify.known.state import State
from rxlang.simplify.solver.conditions import Cond, any_of, cond_variables, eq, evaluate_cond, ge, le, ne, render_cond
from rxlang.simplify.solver.exprs import QuestionScope, read_condition
from rxlang.simplify.solver.sizes import only_var
from rxlang.simplify.solver.terms import Size, Var, floordiv, mod, smax, smin
from rxlang.simplify.weakest import Inputs, OpenCheck, weakest
from support import fuzz

_DIVISORS = ((1, 2), (1, 3), (2, 2), (1, 4), (2, 1))


class Draw:
    """Random sizes and conditions over a few names, equations of products with a common factor among them."""

    def __init__(self, seed: int) -> None:
        self.state, self.random = State(), random.Random(f"weakest {seed}")
        self.names = [self.state.size(name) for name in "nmkh"[: self.random.randint(1, 4)]]

    def size(self, depth: int) -> Size:
        pick = self.random.choice
        if depth == 0:
            return pick([*self.names, *self.names, 0, 1, 2, 3, 4])
        a, b = self.size(depth - 1), self.size(self.random.randint(0, depth - 1))
        by, extreme = pick((2, 3, 4)), pick((smax, smin))
        return pick([a + b, a + b, a - b, a * b, a * b, floordiv(a, by), mod(a, by), extreme(a, b)])

    def quotients(self) -> Cond:
        """Windows in patches: products of quotients that are the same only where each is."""
        picked = [(self.random.choice(self.names), *self.random.choice(_DIVISORS)) for _ in range(2)]
        coarse = prod(floordiv(name, by) for name, by, _ in picked)
        return eq(coarse, prod(floordiv(name, by * more) * more for name, by, more in picked))

    def cond(self) -> Cond:
        if self.random.random() < 0.15:
            return self.quotients()
        pick, (a, b) = self.random.choice, (self.size(self.random.randint(0, 2)) for _ in range(2))
        if self.random.random() < 0.4:
            factor = pick([pick(self.names), pick(self.names) + pick(self.names)])
            return eq(a * factor, b * factor)
        return pick([eq, eq, ge, le, ne])(a, b)

    def check(self) -> Cond:
        return any_of(*(self.cond() for _ in range(self.random.choice((1, 1, 1, 2)))))


def test_conditions_are_sufficient_and_where_they_say_so_necessary() -> None:
    for case in fuzz.cases("weakest conditions"):
        with case as seed:
            draw = Draw(seed)
            conds = [c for c in (draw.check() for _ in range(draw.random.randint(1, 3))) if not isinstance(c, bool)]
            variables = [only_var(name) for name in draw.names]
            share = draw.random.choice((0, 0, 0.5, 1))
            least = ge(draw.random.choice(draw.names), draw.random.randint(0, 2))
            _compare(conds, () if isinstance(least, bool) else (least,), variables,
                     [v for v in variables if draw.random.random() < share])  # fmt: skip


def test_products_of_quotients_are_said_of_each_and_nothing_is_said_twice() -> None:
    state = State()
    h, w = state.size("h"), state.size("w")
    sizes = [only_var(h), only_var(w)]

    def said(cond: Cond, *entry_check: Cond) -> list[str]:
        assert not isinstance(cond, bool)
        found = weakest(state, Inputs(set(sizes), (), entry_check), [OpenCheck(cond, ())], _each_without_factors)
        return [render_cond(c) for c in found.conds]

    windows = eq(floordiv(h, 14) * floordiv(w, 14), floordiv(h, 56) * floordiv(w, 56) * 16)
    assert said(windows, ge(h, 14), ge(w, 14)) == ["h % 56 <= 13", "w % 56 <= 13"]
    assert said(windows)[0].startswith("h // 14 * (w // 14) == ")  # below 14 there are no windows of any w
    assert said(eq(mod(h * w, 3), 0)) == ["h * w % 3 == 0"]


def _compare(conds: list[Cond], entry_check: tuple[Cond, ...], variables: list[Var], empties: list[Var]) -> None:
    inputs = Inputs(set(variables), empties, entry_check)
    found = weakest(State(), inputs, [OpenCheck(cond, ()) for cond in conds], _each_without_factors)
    for sizes in product(range(6), repeat=len(variables)):
        point = dict(zip(variables, sizes, strict=True))
        if not all(evaluate_cond(c, point) for c in entry_check):
            continue
        asked, said = (all(evaluate_cond(c, point) for c in some) for some in (conds, found.conds))
        told = [render_cond(c) for c in (*conds, *found.conds)]
        assert asked or not said or not found.complete, (told, sizes)
        assert said or not asked or not found.necessary, (told, sizes)


def test_what_only_holds_together_is_said_of_each_size() -> None:
    """Windows of 4 of an image, counted by a division: the batch that comes out is the batch."""
    state = State()
    b, h, w = (state.size(name) for name in "bhw")
    windows = floordiv(h, 4) * floordiv(w, 4)
    asked = [
        ge(floordiv(h * w, 16), 1), eq(b * h * w, b * windows * 16), ge(floordiv(b * windows, floordiv(h * w, 16)), 1),
    ]  # fmt: skip
    inputs = Inputs({only_var(size) for size in (b, h, w)}, (), ())
    found = weakest(state, inputs, [OpenCheck(cond, ()) for cond in asked], _each_without_factors)
    assert {render_cond(c) for c in found.conds} == {"h % 4 == 0", "w % 4 == 0", "b >= 1", "h >= 1", "w >= 1"}
    assert found.complete and found.necessary


def test_remainders_are_read_without_what_does_not_matter() -> None:
    state = State()
    b, n = state.size("b"), state.size("n")
    told = {
        eq(mod(b * n * 3, 4), 0): "b * n % 4 == 0", eq(mod(b * n * 2, 5), 0): "b * n % 5 == 0",
        eq(mod(n + 3, 4), 3): "n % 4 == 0", eq(mod(n + 1, 4), 3): "n % 4 == 2", eq(mod(n * 2, 3), 1): "n % 3 == 2",
        eq(mod(n * 2 + 1, 6), 3): "n % 3 == 1",
    }  # fmt: skip
    assert [render_cond(c) for c in told] == list(told.values())
    for cond in told:
        read = read_condition(render_cond(cond), QuestionScope())
        for x, y in product(range(13), repeat=2):
            values = {"b": x, "n": y}
            assert evaluate_cond(cond, {v: values[v.name] for v in cond_variables(cond)}) == evaluate_cond(
                read, {v: values[v.name] for v in cond_variables(read)}
            )
