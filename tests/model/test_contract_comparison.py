"""What a new contract changes: random pairs against trying all small sizes, and what is no matter of sizes."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from rxlang.lang.node import replace
from rxlang.model.comparison import compare
from rxlang.model.contract import Clause, Contract, Demand, IndexRange, Typed
from rxlang.simplify.solver.numbers import holds_at, size_at
from support import fuzz

PAIRS = fuzz.tries("contracts beside each other")
NODE = Demand("node N (Any)", "it so", None, ())
SIZES = range(25)


def clause(text: str) -> Clause:
    return Clause(text, (), (NODE,), None)


def contract(
    shape: tuple[int | str, ...] = ("n", "m"), *conditions: str, out: tuple[int | str, ...] = (1,)
) -> Contract:
    values = (Typed("x", "float32", shape),)
    return Contract(values, {}, tuple(map(clause, conditions)), (), (), (), (Typed("y", "float32", out),))


def drawn(draw: Random) -> Contract:
    names = draw.choice([("n", "m"), ("m", "n"), ("a", "b"), ("n", "n"), (draw.randint(1, 4), "m"), ("n * 2", "m")])
    left, right = (str(n) for n in names)
    left = left.split()[0]
    kinds = [
        f"{left} >= {draw.randint(0, 5)}", f"{right} <= {draw.randint(2, 7)}", f"{right} % {draw.randint(2, 4)} == 0",
        f"{left} == {right}", f"{left} == {right} || {right} == 1", f"{right} == {draw.randint(0, 4)}",
        f"{left} != {draw.randint(0, 3)}", f"({right} + 1) // 2 >= {draw.randint(0, 3)}",
    ]  # fmt: skip
    return contract(names, *draw.sample(kinds, draw.randint(0, 2)))


def accepted(one: Contract) -> set[tuple[int, int]]:
    """The shapes of x, up to 24, that a contract accepts."""
    (value,) = one.inputs
    names = sorted({w for s in value.shape or () for w in str(s).split() if w.isidentifier()})
    found = set()
    for sizes in product(SIZES, repeat=len(names)):
        at = dict(zip(names, sizes, strict=True))
        if all(holds_at(c.condition, at) for c in one.conditions):
            first, second = (size_at(s, at) for s in value.shape or ())
            assert first is not None and second is not None
            found.add((first, second))
    return {shape for shape in found if max(shape) < len(SIZES)}


@pytest.mark.parametrize("seed", range(PAIRS))
def test_a_pair_is_compared_as_its_sizes_are(seed: int) -> None:
    draw = Random(seed)
    old, new = drawn(draw), drawn(draw)
    before, after, found = accepted(old), accepted(new), compare(old, new)
    assert not found.unknown and not found.differences
    assert (found.relation == "narrower") == bool(before - after), (old, new, found)
    if after and not before - after:
        assert found.relation == ("wider" if after - before else "equal")
    for refused in found.refused:
        shape = refused.witness.get("x.0", 1), refused.witness.get("x.1", 1)  # what is not said is any size
        assert max(shape) >= len(SIZES) or shape in before - after
    assert compare(old, old).relation == compare(new, new).relation == "equal"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"inputs": (Typed("x", "float16", ("n", "m")),)}, "dtype"),
        ({"inputs": (Typed("x", "float32", ("n",)),)}, "rank"),
        ({"inputs": (Typed("x", "float32", None),)}, "rank"),
        ({"inputs": (Typed("z", "float32", ("n", "m")),)}, "`z` is new, and required"),
        ({"inputs": ()}, "`x` is gone"),
        ({"outputs": (Typed("y", "float32", (2,)),)}, "axis 0 of output `y` was 1, and is 2"),
        ({"outputs": (Typed("y", "int64", (1,)),)}, "output `y` had the dtype float32, and has int64"),
        ({"outputs": (Typed("y", "float32", (1, 1)),)}, "output `y` had rank 1, and has rank 2"),
        ({"outputs": ()}, "the outputs were y"),
    ],
)
def test_what_is_no_matter_of_sizes_is_a_difference(changed: dict[str, object], says: str) -> None:
    old = contract()
    found = compare(old, replace(old, **changed))
    assert found.relation == "different" and any(says in text for text in found.differences)


@pytest.mark.parametrize(("before", "after", "relation"), [
    (("n", "m * 2"), ("n", "2 * m"), "equal"), (("n + m", "m"), ("m + n", "m"), "equal"), (("n", "m"), ("m", "n"), "different"),
    (("n", "n"), ("n", "m"), "equal"),
])  # fmt: skip
def test_outputs_are_compared_as_expressions(before: tuple[str, ...], after: tuple[str, ...], relation: str) -> None:
    """Under n == m where that is what makes them equal."""
    conditions = ("n == m",) if before == ("n", "n") else ()
    assert (
        compare(contract(("n", "m"), *conditions, out=before), contract(("n", "m"), *conditions, out=after)).relation
        == relation
    )


def test_what_is_given_is_part_of_a_contract() -> None:
    bounded = replace(contract(), given=("n <= 8",))
    assert compare(contract(), contract(("n", "m"), "n <= 100")).relation == "narrower"
    assert compare(contract(), bounded).relation == "narrower"  # the new model may refuse what is not given
    assert compare(bounded, contract()).relation == "wider"
    assert compare(bounded, replace(contract(("a", "b")), given=("8 >= a",))).relation == "equal"
    assert compare(bounded, contract(("n", "m"), "n <= 100")).relation == "wider"


def test_a_witness_has_its_sizes_in_the_order_of_the_inputs() -> None:
    (refused,) = compare(contract(), contract(("n", "m"), "m + n * n <= 4")).refused
    assert list(refused.witness) == ["x.0", "x.1"]


def test_ranges_of_indices_are_compared_too() -> None:
    def holding(least: int | str, most: int | str) -> Contract:
        return replace(contract(), ranges=(IndexRange("x", least, most, NODE),))

    assert compare(holding(-9, 8), holding(-9, 8)).relation == "equal"
    assert compare(holding(-9, 8), holding(-5, 4)).relation == "narrower"
    assert compare(holding(-5, 4), holding(-9, 8)).relation == "wider"
    for range_, beyond in {(-9, 4): 5, (-5, 8): -6, (-5, 4): 5}.items():
        (refused,) = compare(holding(-9, 8), holding(*range_)).refused
        assert refused.witness == {"an element of x": beyond}
    assert compare(holding("-n", "n - 1"), holding("-m", "m - 1")).relation == "narrower"
    assert compare(contract(), holding(-9, 8)).relation == "narrower"
    assert compare(holding(-9, 8), contract()).relation == "wider"
