"""What judges the sizes that a model is said to accept finds what is wrong."""

from __future__ import annotations

import re
from itertools import product
from random import Random
from typing import Any

import pytest
from rxlang.model.accepted import sizes_of
from rxlang.model.block import block
from rxlang.model.contract import Clause, Contract, Typed
from support import fuzz
from support.accepted import faults, of_parts, of_text
from support.all_sizes import holds

NAMES = ("b", "h", "w")


def part(least: int, most: int | None = None, modulus: int = 1, remainder: int = 0) -> dict[str, Any]:
    return {"from": least, "to": most, "modulus": modulus, "remainder": remainder}


def condition(name: str, p: dict[str, Any]) -> str:
    """The sizes of a part, as conditions say them."""
    most = [] if p["to"] is None else [f"{name} <= {p['to']}"]
    return " && ".join([f"{name} >= {p['from']}", *most, f"{name} % {p['modulus']} == {p['remainder']}"])


def words(name: str, p: dict[str, Any]) -> str:
    bounds = f"from {p['from']}" if p["to"] is None else f"from {p['from']} to {p['to']}"
    return f"{name} % {p['modulus']} in {p['remainder']}, {bounds}" if p["modulus"] > 1 else bounds


def contract(accepted: dict[str, Any], conditions: list[str], names: tuple[str, ...] = NAMES) -> dict[str, Any]:
    inputs = [{"name": "x", "dtype": "float32", "rank": len(names), "shape": list(names)}]
    return {"inputs": inputs, "conditions": [{"condition": c} for c in conditions], "accepted": accepted, "given": []}


def drawn(draw: Random) -> dict[str, Any]:
    modulus = draw.choice((1, 1, 2, 8, 32))
    least = draw.choice((0, 1, 7, 40, 1000))
    most = draw.choice((None, least + modulus + draw.randrange(100)))
    return part(least, most, modulus, draw.randrange(modulus))


@pytest.mark.parametrize("seed", range(24))
def test_any_other_set_is_found_where_the_right_one_is_taken(seed: int) -> None:
    draw = Random(seed)
    parts = {name: [drawn(draw) for _ in range(draw.randrange(1, 3))] for name in NAMES}
    said = {n: {"text": " or ".join(words(n, p) for p in ps), "parts": ps} for n, ps in parts.items()}
    conditions = [" || ".join(f"({condition(n, p)})" for p in ps) for n, ps in parts.items()]
    right = contract(said, conditions)
    assert faults(right, points=50, seed=seed) == []
    name, other = draw.choice(NAMES), [drawn(draw)]
    is_other = of_parts(other).difference(of_parts(parts[name])) is not None
    changed = {**said, name: {"text": words(name, other[0]), "parts": other}}
    assert bool(faults({**right, "accepted": changed}, points=50, seed=seed)) == is_other
    assert bool(faults({**right, "accepted": {**said, name: {**said[name], "parts": other}}}, points=50)) == is_other


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("any", [part(0)]),
        ("64", [part(64, 64)]),
        ("192 to 703", [part(192, 703)]),
        ("at least 5", [part(5)]),
        ("multiples of 32, from 64", [part(64, None, 32)]),
        ("multiples of 32, from 64 to 640", [part(64, 640, 32)]),
        ("1, 3, or 5 to 9", [part(1, 1), part(3, 3), part(5, 9)]),
        ("0, or multiples of 32, from 64", [part(0, 0), part(64, None, 32)]),
        ("h % 32 in 0, 29 to 31", [part(0, None, 32, r) for r in (0, 29, 30, 31)]),
        ("h % 32 in 0, 29 to 31, from 64", [part(64, None, 32, r) for r in (0, 29, 30, 31)]),
        ("all but 1", [part(0, 0), part(2)]),
        ("all but 1 and 3 to 5", [part(0, 0), part(2, 2), part(6)]),
    ],
)
def test_words_are_the_set_that_they_say(text: str, parts: list[dict[str, Any]]) -> None:
    assert of_text(text).difference(of_parts(parts)) is None
    assert [n for n in range(700) if of_text(text).has(n) != of_parts(parts).has(n)] == []
    assert of_text(text).difference(of_parts([*parts[1:], part(2000, 2000, 64, 16)])) is not None


def test_words_without_a_form_are_no_set() -> None:
    with pytest.raises(ValueError, match="no form"):
        of_text("a few")


def test_a_size_is_said_or_tied_to_another() -> None:
    free = {"b": {"text": "any", "parts": [part(0)]}}
    assert faults(contract(free, ["h == w"])) == []
    assert faults(contract(free, [])) == [
        "h is tied to no other size, and not said",
        "w is tied to no other size, and not said",
    ]
    assert faults(contract(free, ["h == w", "b == h || b == 1"])) == ["b == h || b == 1 ties a size that is said"]


def test_a_condition_of_two_sizes_may_be_a_set_of_each() -> None:
    said = {n: {"text": "from 1", "parts": [part(1)]} for n in ("h", "w")}
    whole = contract(said, ["(h + 31) // 32 * ((w + 31) // 32) >= 1"], ("h", "w"))
    assert faults(whole) == []
    assert faults({**whole, "conditions": [{"condition": "h * w >= 2"}]}) == [
        "{'h': 1, 'w': 1} does not fit, and is said to: []"
    ]


def test_nothing_is_asked_of_sizes_that_are_not_given() -> None:
    said = {"h": {"text": "4 to 9", "parts": [part(4, 9)]}}
    whole = contract(said, ["h >= 4"], ("h",))
    assert faults(whole) != []
    assert faults({**whole, "given": ["h <= 9"]}) == []


@pytest.mark.parametrize("text", [
    "h // 4 * (w // 4) == 64", "h * w == 36", "h <= 8 || w <= 8", "(h + w) % 2 == 0", "h == w", "h + w <= 700",
    "h * w <= 90000", "h % 4 == 0 || w % 4 == 0", "(h == 3 && w == 3) || (h == 300 && w == 500)",
])  # fmt: skip
def test_sizes_that_depend_on_each_other_have_no_sets_of_their_own(text: str) -> None:
    clause = Clause(text, NAMES[1:], (), None)
    found = sizes_of(Contract((Typed("x", "float32", NAMES),), {}, (clause,), (), (), (), ()))
    assert [one.name for one in found.single] == ["b"] and [tied.names for tied in found.tied] == [NAMES[1:]]


@pytest.mark.parametrize(("text", "said"), [
    ("((w + 3) // 8 * ((h + 15) // 48) * 8 - w + 4) // 8 == 0 && w >= 5", ["33 to 80", "from 5"]),
    ("(h + 31) // 32 * ((w + 31) // 32) >= 1", ["from 1", "from 1"]),
    ("h % 4 == 0 && w <= 9 && h + w >= 0", ["multiples of 4", "0 to 9"]),
])  # fmt: skip
def test_sizes_that_only_look_tied_have_sets(text: str, said: list[str]) -> None:
    clause = Clause(text, NAMES[1:], (), None)
    found = sizes_of(Contract((Typed("x", "float32", NAMES),), {}, (clause,), (), (), (), ()))
    assert [one.text for one in found.single] == ["any", *said]


def expression(random: Random, names: tuple[str, ...], depth: int) -> str:
    if depth == 0 or random.random() < 0.25:
        return random.choice([*names, str(random.randrange(1, 20))])
    one, other = (expression(random, names, depth - 1) for _ in range(2))
    number = random.choice([2, 3, 4, 8, 16])
    return random.choice([
        f"({one} + {other})", f"({one} - {other})", f"(({one}) // {number})", f"(({one}) % {number})",
        f"max({one}, {other})", f"min({one}, {other})", f"({one} * {other})",
    ])  # fmt: skip


def drawn_condition(random: Random, names: tuple[str, ...]) -> str:
    sign = random.choice(["==", "<=", ">=", "!=", "<"])
    more = [f"{random.choice(names)} == 0"] * (random.random() < 0.3)
    more += [f"{expression(random, names, 1)} >= {expression(random, names, 1)}"] * (random.random() < 0.3)
    return " || ".join([f"{expression(random, names, 2)} {sign} {expression(random, names, 2)}", *more])


def test_sets_are_what_all_conditions_accept_together_and_a_block_is_printed() -> None:
    for case in fuzz.cases("sizes of contracts"):
        with case as seed:
            random = Random(seed)
            names = random.choice([("h",), ("h", "w"), ("h", "w"), NAMES])
            texts = [drawn_condition(random, names) for _ in range(random.randrange(1, 4))]
            clauses = tuple(Clause(text, names, (), None) for text in texts)
            told = Contract((Typed("x", "float32", NAMES),), {}, clauses, (), (), (), ())
            found = sizes_of(told)
            assert block("m.onnx", told)
            sets = {one.name: one.sizes for one in found.single}
            tied = {name for one in found.tied for name in one.names}
            for _ in range(1_500):
                sizes = {name: random.choice([random.randrange(12), random.randrange(90)]) for name in NAMES}
                if all(sizes[name] for name in found.empty):
                    accepted = all(holds(text, sizes) for text in texts)
                    inside = all(sizes[name] in numbers for name, numbers in sets.items())
                    assert inside or not accepted, (texts, sizes)
                    own = all(sizes[one.name] in one.sizes for one in found.own)
                    assert accepted or not (inside and own) or not tied.isdisjoint(names), (texts, sizes)
                    together = own and all(of_tied(one.text, sizes) for one in found.tied)
                    assert accepted == (inside and together) or not all(sizes.values()), (texts, sizes)


def of_tied(text: str, sizes: dict[str, int]) -> bool:
    """Whether sizes are as a line of several sizes says."""
    return text != "none" and holds(re.sub(r"(?<![<>!])=", "==", text).replace(", or ", " or "), sizes)


@pytest.mark.parametrize("texts", [
    ("h == w", "h // 2 == w // 2 && h % 2 == w % 2"), ("h + w <= 700", "h + w <= 699 || h + w == 700"),
    ("h <= w && w <= h", "h == w"), ("h == w && h >= 4", "w == h && w <= 9"),
])  # fmt: skip
def test_conditions_that_say_the_same_do_not_make_each_other_go(texts: tuple[str, ...]) -> None:
    clauses = tuple(Clause(text, NAMES[1:], (), None) for text in texts)
    found = sizes_of(Contract((Typed("x", "float32", NAMES),), {}, clauses, (), (), (), ()))
    for h, w in product(range(12), range(12)):
        sizes = {"h": h, "w": w}
        own = all(sizes[one.name] in one.sizes for one in found.own)
        said = own and all(of_tied(one.text, sizes) for one in found.tied)
        assert said == all(holds(text, sizes) for text in texts)
