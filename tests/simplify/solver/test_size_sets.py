"""Sets of sizes, and quotients that are equal on them, against trying the sizes one by one."""

from __future__ import annotations

from random import Random

import pytest
from rxlang.simplify.solver.conditions import Cond, all_of, evaluate_cond
from rxlang.simplify.solver.exprs import QuestionScope, read_condition, read_size
from rxlang.simplify.solver.rendering import render
from rxlang.simplify.solver.shortest import member, shortest_on
from rxlang.simplify.solver.size_sets import SizeSet, set_of
from rxlang.simplify.solver.sizes import only_var
from rxlang.simplify.solver.terms import Var, evaluate
from support import fuzz
from support.accepted import of_text

TRIED = (*range(700), *range(4_000, 4_300), 100_003)


def read(*texts: str) -> tuple[list[Cond], Var]:
    scope = QuestionScope()
    return [read_condition(text, scope) for text in texts], only_var(scope.names["n"])


def expression(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.2:
        return random.choice(["n", "n", "n", str(random.randrange(40))])
    one, other = (expression(random, depth - 1) for _ in range(2))
    number = random.choice([2, 3, 4, 5, 8, 16])
    return random.choice([
        f"({one} + {other})", f"({one} - {other})", f"({one}) // {number}", f"({one}) % {number}",
        f"max({one}, {other})", f"min({one}, {other})", f"({one}) * {random.randrange(1, 5)}", f"({one}) * ({other})",
    ])  # fmt: skip


def condition(random: Random) -> str:
    sign = random.choice(["==", "!=", "<=", "<", ">=", ">"])
    return f"{expression(random, 3)} {sign} {expression(random, 2)}"


def conditions(random: Random) -> str:
    found = [condition(random) for _ in range(random.randrange(1, 4))]
    return (
        random.choice([" && ", " || "]).join(found) if len(found) < 3 else f"({found[0]} || {found[1]}) && {found[2]}"
    )


def wrong(found: SizeSet, whole: Cond, name: Var) -> list[int]:
    return [n for n in TRIED if (n in found) != evaluate_cond(whole, {name: n})]


def test_a_set_has_the_sizes_that_satisfy_a_condition() -> None:
    for case in fuzz.cases("sets of sizes"):
        with case as seed:
            conds, name = read(conditions(Random(seed)), "n >= 0")
            found = set_of(conds, name)
            fuzz.count("sets of sizes", "sets" if found is not None else "none")
            if found is not None:
                assert wrong(found, all_of(*conds), name) == []
                told = of_text(found.said("n"))
                assert [n for n in TRIED if told.has(n) != (n in found)] == []
                assert wrong(found, member(name, found), name) == []


def test_a_shorter_size_is_equal_on_the_set() -> None:
    for case in fuzz.cases("sizes on sets"):
        with case as seed:
            random, scope = Random(seed), QuestionScope()
            name = only_var(scope.name("n"))
            size = read_size(f"{expression(random, 3)} - {expression(random, 2)}", scope)
            found = set_of([read_condition(condition(random), scope), read_condition("n >= 0", scope)], name)
            if found is not None:
                short = shortest_on(size, name, found)
                assert all(evaluate(size, {name: n}) == evaluate(short, {name: n}) for n in TRIED if n in found)
                assert short is size or isinstance(short, int) or len(render(short)) < len(render(size))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["(n + 320) // 512 == 1"], "192 to 703"),
        (["(n + 320) // 512 == 1 || (n + 160) // 256 == 1"], "96 to 703"),
        (["n % 32 == 0", "n >= 64"], "multiples of 32, from 64"),
        (["(n + 31) % 32 >= 28", "n >= 5"], "n % 32 in 0, 29 to 31 (from 29)"),
        (["(n + 31) % 32 >= 16 || n <= 32"], "0 to 32; or n % 32 in 0, 17 to 31 (from 49)"),
        (["n != 1"], "all but 1"),
        (["n == 0 || n >= 3"], "all but 1 and 2"),
        (["n % 2 == 0", "n <= 134217728"], "multiples of 2, up to 134217728"),
        (["n % 2 == 0 || n == 1", "n >= 1"], "1; or multiples of 2, from 2"),
        (["n // 4 * (n // 4) == 64"], "32 to 35"),
        (["n == 2 || n == 3 || n >= 9"], "2, 3, or from 9"),
        (["n >= 0"], "any"),
        (["n * n == 2"], "none"),
    ],
)  # fmt: skip
def test_a_set_is_said_as_a_reader_would(texts: list[str], said: str) -> None:
    conds, name = read(*texts, "n >= 0")
    found = set_of(conds, name)
    assert found is not None and found.said("n") == said


def test_a_chain_of_divisions_that_is_compared_has_a_bound_however_long_it_is() -> None:
    size = "n"
    for _ in range(40):
        size = f"(({size}) - 1) // 2"
    conds, name = read(f"{size} >= 3", "n >= 0")
    found = set_of(conds, name)
    assert found is not None and found.said("n") == f"from {4 * 2**40 - 1}"
    conds, name = read(f"{size} <= 2", "n >= 0")
    found = set_of(conds, name)
    assert found is not None and found.said("n") == f"0 to {4 * 2**40 - 2}"


def test_sets_whose_pattern_is_too_long_are_none() -> None:
    conds, name = read("n % 4097 == 5", "n % 4099 == 7")
    assert set_of(conds, name) is None


@pytest.mark.parametrize(
    ("size", "where", "short"),
    [
        ("(n + 1) // 2", "n % 4 == 0", "n // 2"),
        ("max(max(n, 4) - 5, 0)", "n >= 0", "max(n - 5, 0)"),
        ("(n * 2 + max(n, 120) * 159 - 18960) // 160 - max(n, 120) + 119", "n >= 100", "(n + 80) // 160"),
        ("min(n, 64) + n", "n <= 64", "n * 2"),
        ("max(n, 7)", "n == 7", "7"),
        ("(n + max(n - 3, 0) * 2) // 3 + min(3 - n, 0)", "n == 0 || n >= 3", "min(n, 1)"),
    ],
)
def test_a_size_is_as_short_as_its_set_allows(size: str, where: str, short: str) -> None:
    scope = QuestionScope()
    name, term = only_var(scope.name("n")), read_size(size, scope)
    found = set_of([read_condition(where, scope)], name)
    assert found is not None and render(shortest_on(term, name, found)) == short
