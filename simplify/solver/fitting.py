"""A condition on sizes to those that satisfy it: those that a model was exported with, the nearest ones, and in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from math import isqrt

from ...lang.expressions import names_in
from .numbers import accepted, alternatives, divided, fixed, holds_at, product
from .prove import prove

# So many numbers are looked at, and so many ways to be a product.
_MOST, _MOST_WAYS = 2048, 2
_FEW = 64
# A remainder is by at most so much.
_LONGEST = 512


def exported_at(
    text: str, order: Sequence[str], hints: Mapping[str, int], lists: Sequence[Sequence[int]]
) -> Iterator[dict[str, int]]:
    """Sizes that a condition makes numbers, the likeliest first: of a product those that are hinted at, and of which lists of
    numbers that a model holds speak. The sizes stand in an `order`, and so do the hints."""
    parts = alternatives(text)
    found = sorted(((n, name) for part in parts for name, n in [fixed(part) or ("", 0)] if n > 0), reverse=True)
    yield from ({name: n} for n, name in found)
    for part in parts:
        names, number = product(part) or ((), 0)
        own = sorted(names, key=[*order, *names].index)
        ways = list(islice(_ways(own, number), _MOST)) if number > 0 else []
        right = dict(_together(hints, number))
        yield from sorted(ways, key=lambda way: _liked(way, right, lists), reverse=True)[:_MOST_WAYS]
    if not found:
        yield from _others(text)


def _ways(names: Sequence[str], number: int) -> Iterator[dict[str, int]]:
    """Ways for sizes to have a product, first those in which they are near to each other."""
    first, *rest = names
    divisors = (
        {d for n in range(1, isqrt(number) + 1) if number % n == 0 for d in (n, number // n)} if rest else {number}
    )
    near = number ** (1 / len(names))
    for one in sorted(divisors, key=lambda d: abs(d - near)):
        yield from ({first: one, **more} for more in _ways(rest, number // one)) if rest else ({first: one},)


def _together(hints: Mapping[str, int], number: int) -> Iterator[tuple[str, int]]:
    """The first hints that can be so all at once."""
    whole = 1
    for name, n in hints.items():
        whole *= n
        if number % whole:
            return
        yield name, n


def _liked(way: Mapping[str, int], hints: Mapping[str, int], lists: Sequence[Sequence[int]]) -> int:
    """How much speaks for sizes: numbers that stand where they do, all of them in a list one after another, or some of them."""
    held = {n for one in lists for n in one if n > 1}
    wanted = [n for n in way.values() if n > 1]
    in_order = any(wanted == [n for n in one if n in wanted][: len(wanted)] for one in lists)
    in_place = sum(hints.get(name) == n for name, n in way.items())
    return 3 * in_place + 2 * in_order + len(held.intersection(wanted)) - 2 * (len(wanted) < len(way))


def _others(text: str) -> Iterator[dict[str, int]]:
    """The largest of a few numbers, among which the smallest are not."""
    found = accepted(text, range(1, _MOST))
    if found is not None and 0 < len(found[1]) <= _FEW and found[1][0] > 1:
        yield {found[0]: found[1][-1]}


def at_most(text: str) -> tuple[str, int] | None:
    """The only size of a condition, and the number up to which it is satisfied and beyond which it is not."""
    found = accepted(text, range(1, _MOST))
    if found is None or not 0 < len(found[1]) < _MOST - 1 or found[1][-1] != len(found[1]):
        return None
    return found[0], len(found[1])


def remainders(text: str) -> tuple[str, int, tuple[int, ...]] | None:
    """The one size of a condition, a number, and which remainders by it are accepted; None where those do not decide."""
    found = accepted(text, range(2 * _LONGEST)) if "%" in text or "//" in text else None
    if found is None or not found[1] or len(found[1]) == 2 * _LONGEST:
        return None
    taken = set(found[1])
    for n in range(2, _LONGEST + 1):
        if all((at in taken) == (at + n in taken) for at in range(2 * _LONGEST - n)):
            rest = tuple(sorted(at for at in taken if at < n))
            return (found[0], n, rest) if _is_same(text, _of_remainders(found[0], n, rest, " || ")) else None
    return None


def padded_to(text: str) -> tuple[str, int] | None:
    """The size of which a condition accepts every multiple of a number, and the number."""
    found = None if divided(text) else remainders(text)
    return divided(text) or (found[:2] if found is not None and 0 in found[2] else None)


def in_plain_words(text: str) -> str | None:
    """A condition on a remainder that is written otherwise: `h % 32 == 0 or h % 32 >= 17`."""
    found = None if divided(text) else remainders(text)
    said = None if found is None else _of_remainders(*found, " or ")
    return None if said == text else said


def _is_same(one: str, other: str) -> bool:
    return all(prove([a], b)["result"] == "valid" for a, b in ((one, other), (other, one)))


def _of_remainders(name: str, number: int, rest: tuple[int, ...], word: str) -> str:
    runs: list[list[int]] = [[rest[0], rest[0]]] if rest else []
    for one, other in pairwise(rest):
        if other == one + 1:
            runs[-1][1] = other
        else:
            runs.append([other, other])
    left = f"{name} % {number}"
    parts = [_run(left, first, last, number) for first, last in runs]
    return word.join(parts)


def _run(left: str, first: int, last: int, number: int) -> str:
    if first == last:
        return f"{left} == {first}"
    if last == number - 1:
        return f"{left} >= {first}"
    return f"{left} <= {last}" if first == 0 else f"{first} <= {left} && {left} <= {last}"


def nearest(texts: Sequence[str], sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The nearest sizes below and above that satisfy conditions, where one of them is another: `h = 32`, `h = 49`."""
    found = []
    for name in dict.fromkeys(names_in(*texts)):
        size = sizes.get(name, 0)
        for steps in (range(size - 1, max(size - _MOST, 0), -1), range(size + 1, size + _MOST)):
            fits = (n for n in steps if all(holds_at(text, {**sizes, name: n}) for text in texts))
            found += [f"{name} = {n}" for n in [next(fits, None)] if n is not None]
    return tuple(found)


def is_plain(text: str) -> bool:
    """Whether a condition compares sizes and numbers and no more, so that it is plain which sizes satisfy it."""
    return not any(sign in text for sign in "%*/+-(")
