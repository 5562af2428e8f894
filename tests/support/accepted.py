"""Which sizes a model accepts, held against its conditions: `faults` takes one contract of `rx check --format json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import lcm, prod
from random import Random
from typing import Any, NamedTuple

from .all_sizes import Sizes, holds, names_in

NUMBER, DIVISOR = re.compile(r"\d+"), re.compile(r"(?://|%) ([1-9]\d*)")
MOST_REPEATS = 192  # after each number, so many sizes are tried at most


class Numbers(NamedTuple):
    """A set of sizes: between one of `ends` and the next, what is in it repeats after `period`."""

    has: Callable[[int], bool]
    ends: frozenset[int]
    period: int = 1

    def joined(self, other: Numbers, how: Callable[[bool, bool], bool]) -> Numbers:
        period = lcm(self.period, other.period)
        return Numbers(lambda n: how(self.has(n), other.has(n)), self.ends | other.ends, period)

    def difference(self, other: Numbers) -> int | None:
        """The least size that is in one of them alone."""
        both = self.joined(other, bool.__ne__)
        found = (n for end in sorted(both.ends) for n in range(end, end + both.period))
        return next(filter(both.has, found), None)


def between(least: int, most: int | None, modulus: int = 1, remainder: int = 0) -> Numbers:
    def has(n: int) -> bool:
        return n >= least and (most is None or n <= most) and n % modulus == remainder % modulus

    return Numbers(has, frozenset({0, least} if most is None else {0, least, most + 1}), modulus)


ALL, NONE = between(0, None), between(1, 0)


def union(one: Numbers, other: Numbers) -> Numbers:
    return one.joined(other, bool.__or__)


def of_parts(parts: list[dict[str, Any]]) -> Numbers:
    found = NONE
    for p in parts:
        found = union(found, between(p["from"], p["to"], p["modulus"], p["remainder"]))
    return found


def remainders(modulus: str, said: str) -> Numbers:
    among = of_text(said)
    return Numbers(lambda n: among.has(n % int(modulus)), frozenset({0}), int(modulus))


# How sets of sizes are said. The first form that fits the whole text counts; a bound after a comma is of what stands before it.
LIST = r"\d+(?: to \d+)?(?:(?:,| and|, and) \d+(?: to \d+)?)*"
SOME = rf"multiples of \d+|[\w']+ % \d+ (?:in|==|is) {LIST}|all but {LIST}"
FORMS: tuple[tuple[str, Callable[..., Numbers]], ...] = (
    (r"(.+?);(?: or)? (.+)", lambda a, b: union(of_text(a), of_text(b))),
    (r"any", lambda: ALL),
    (r"none", lambda: NONE),
    (r"(\d+)", lambda a: between(int(a), int(a))),
    (r"(?:from )?(\d+) to (\d+)", lambda a, b: between(int(a), int(b))),
    (r"(?:from|at least) (\d+)", lambda a: between(int(a), None)),
    (r"(?:up to|at most) (\d+)", lambda a: between(0, int(a))),
    (r"multiples of (\d+)", lambda a: between(0, None, int(a))),
    (rf"[\w']+ % (\d+) (?:in|==|is) ({LIST})", remainders),
    (rf"all but ({LIST})", lambda a: ALL.joined(of_text(a), bool.__gt__)),
    (rf"({SOME}), ((?:from|up to) \d+|from \d+ to \d+)", lambda a, b: of_text(a).joined(of_text(b), bool.__and__)),
    (rf"({SOME}) \(((?:from|up to) \d+|from \d+ to \d+)\)", lambda a, b: of_text(a).joined(of_text(b), bool.__and__)),
    (r"(.+?),? or (.+)", lambda a, b: union(of_text(a), of_text(b))),
    (r"(.+?)(?:, and | and |, )(.+)", lambda a, b: union(of_text(a), of_text(b))),
)


def of_text(text: str) -> Numbers:
    """The set that words say: `192 to 703`; `multiples of 32, from 64`; `1, 3, or 5 to 9`; `h % 32 in 0, 29 to 31`."""
    for form, make in FORMS:
        found = re.fullmatch(form, text.strip(" ,").removeprefix("or "))
        if found is not None:
            return make(*found.groups())
    raise ValueError(f"no form for {text!r}")


def faults(contract: Mapping[str, Any], most: int = 12, points: int = 2000, seed: int = 0) -> list[str]:
    """Where `accepted` is not what the conditions accept, at sizes of a box; where a text is not its parts; which size is in
    neither, and which is called tied and has no condition with another one."""
    said: Mapping[str, Any] = contract["accepted"]
    sets = {name: of_parts(one["parts"]) for name, one in said.items()}
    conditions = [c["condition"] for c in contract["conditions"]]
    return [
        *_texts(said, sets),
        *_ties(contract, set(sets), conditions),
        *_points(sets, conditions, contract.get("given", ()), Box(sets, conditions, said, most, Random(seed)), points),
    ]


def _texts(said: Mapping[str, Any], sets: Mapping[str, Numbers]) -> Iterator[str]:
    for name, one in said.items():
        differs = of_text(one["text"]).difference(sets[name])
        if differs is not None:
            yield f"{name}: {one['text']!r} is not {one['parts']}: {differs}"


def _ties(contract: Mapping[str, Any], free: set[str], conditions: list[str]) -> Iterator[str]:
    shapes = [str(d) for i in contract["inputs"] for d in i["shape"] or ()]
    tied = {name for text in (*shapes, *conditions) for name in names_in(text)} - free
    for name in sorted(tied):
        if not any({name} < set(names_in(c)) for c in conditions):
            yield f"{name} is tied to no other size, and not said"
    yield from (
        f"{c} ties a size that is said" for c in conditions if set(names_in(c)) & free and set(names_in(c)) & tied
    )


class Box:
    """Sizes to try: the small ones of each name, and those from each number that is said of it on until all repeats."""

    def __init__(
        self, sets: Mapping[str, Numbers], conditions: list[str], said: Mapping[str, Any], most: int, random: Random
    ) -> None:
        self.random = random
        self.tried: dict[str, list[int]] = {}
        for name, numbers in sets.items():
            texts = [said[name]["text"], *(c for c in conditions if name in names_in(c))]
            repeats = lcm(numbers.period, *(int(n) for text in texts for n in DIVISOR.findall(text)))
            ends = {int(n) for text in texts for n in NUMBER.findall(text)} | numbers.ends
            near = (n for end in ends for n in range(max(0, end - 1), end + min(repeats, MOST_REPEATS) + 1))
            self.tried[name] = sorted({*range(most + 1), *near})
        self.good = {name: [n for n in ns if sets[name].has(n)] or ns for name, ns in self.tried.items()}

    def points(self, count: int) -> Iterator[Sizes]:
        """All of them, or each size alone with others that fit, and such as fit in some of their sizes."""
        if prod(map(len, self.tried.values())) <= count:
            yield from (dict(zip(self.tried, ns, strict=True)) for ns in product(*self.tried.values()))
            return
        for name, numbers in self.tried.items():
            yield from ({**self.drawn(self.good), name: n} for n in numbers)
        for _ in range(count):
            yield self.drawn({name: self.random.choice((self.good, self.tried))[name] for name in self.tried})

    def drawn(self, among: Mapping[str, list[int]]) -> Sizes:
        return {name: self.random.choice(numbers) for name, numbers in among.items()}


def _points(
    sets: Mapping[str, Numbers], conditions: list[str], given: list[str], box: Box, count: int
) -> Iterator[str]:
    spoken = [c for c in conditions if set(names_in(c)) <= sets.keys()]
    known = [g for g in given if set(names_in(g)) <= sets.keys()]
    for sizes in box.points(count):
        fits, outside = all(holds(c, sizes) for c in spoken), [n for n in sets if not sets[n].has(sizes[n])]
        if fits == bool(outside) and all(holds(g, sizes) for g in known):
            yield f"{sizes} {'fits' if fits else 'does not fit'}, and is {'not ' if outside else ''}said to: {outside}"
