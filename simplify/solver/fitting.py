"""From a condition on sizes to sizes that satisfy it: those of a model's export, the nearest ones, and a short
description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import isqrt

from ...lang.expressions import names_in
from .exprs import ExpressionError, QuestionScope, read_condition
from .numbers import alternatives, divided, fixed, holds_at, product
from .size_sets import SizeSet, set_of
from .sizes import only_var
from .terms import TooLarge

# The most numbers that are tried, and the most ways to form a product.
_MOST, _MOST_WAYS = 2048, 2
_FEW = 64


def exported_at(
    text: str, order: Sequence[str], hints: Mapping[str, int], lists: Sequence[Sequence[int]]
) -> Iterator[dict[str, int]]:
    """Yield sizes that a condition fixes, the likeliest first; for a product, the `hints` and the lists of numbers in a model
    decide. `order` is the order of the sizes, and of the hints."""
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
    """Ways for sizes to have a product, first those with sizes near each other."""
    first, *rest = names
    divisors = (
        {d for n in range(1, isqrt(number) + 1) if number % n == 0 for d in (n, number // n)} if rest else {number}
    )
    near = number ** (1 / len(names))
    for one in sorted(divisors, key=lambda d: abs(d - near)):
        yield from ({first: one, **more} for more in _ways(rest, number // one)) if rest else ({first: one},)


def _together(hints: Mapping[str, int], number: int) -> Iterator[tuple[str, int]]:
    """The first hints that divide the number together."""
    whole = 1
    for name, n in hints.items():
        whole *= n
        if number % whole:
            return
        yield name, n


def _liked(way: Mapping[str, int], hints: Mapping[str, int], lists: Sequence[Sequence[int]]) -> int:
    """The score of sizes: hinted numbers at their place, all of them consecutive in a list, or some of them in one."""
    held = {n for one in lists for n in one if n > 1}
    wanted = [n for n in way.values() if n > 1]
    in_order = any(wanted == [n for n in one if n in wanted][: len(wanted)] for one in lists)
    in_place = sum(hints.get(name) == n for name, n in way.items())
    return 3 * in_place + 2 * in_order + len(held.intersection(wanted)) - 2 * (len(wanted) < len(way))


def _others(text: str) -> Iterator[dict[str, int]]:
    """The largest of a few numbers, if 0 and 1 are not among them."""
    found = one_set(text)
    if found is not None and found[1].last is not None and found[1].parts[0].first > 1:
        members = list(islice(found[1].members(), _FEW + 1))
        yield from ({found[0]: members[-1]},) if len(members) <= _FEW else ()


def one_set(text: str) -> tuple[str, SizeSet] | None:
    """The only size of a condition, and the set of its satisfying values."""
    scope = QuestionScope()
    try:
        cond = read_condition(text, scope)
    except (ExpressionError, TooLarge):
        return None
    if len(scope.names) != 1 or scope.partial is not None:
        return None
    ((name, term),) = scope.names.items()
    found = set_of([cond], only_var(term))
    return None if found is None else (name, found)


def at_most(text: str) -> tuple[str, int] | None:
    """The only size of a condition and its upper limit, if all values up to there satisfy it and none beyond."""
    found = one_set(text)
    parts = () if found is None else found[1].parts
    if found is None or len(parts) != 1 or parts[0].first > 1 or parts[0].modulus > 1 or not parts[0].last:
        return None
    return found[0], parts[0].last


def padded_to(text: str) -> tuple[str, int] | None:
    """The size and the number if a condition accepts every multiple of the number."""
    found = one_set(text)
    pattern = found[1].parts[0] if found is not None and len(found[1].parts) == 1 else None
    if (
        found is None
        or pattern is None
        or pattern.last is not None
        or pattern.modulus == 1
        or 0 not in pattern.remainders
    ):
        return None
    return (found[0], pattern.modulus) if pattern.first <= pattern.modulus else None


def in_plain_words(text: str) -> str | None:
    """The values that a condition on one size accepts, unless the condition is plain itself: `h % 32 in 0, 17 to 31`."""
    found = None if is_plain(text) or divided(text) else one_set(text)
    return None if found is None else found[1].said(found[0])


def one_set_in_words(text: str) -> str | None:
    """The values with the size's name: `sequence: 192 to 703`."""
    said, names = in_plain_words(text), names_in(text)
    return None if said is None else said if names[0] in said else f"{names[0]}: {said}"


def nearest(texts: Sequence[str], sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The nearest sizes below and above that satisfy the conditions, if one of the sizes changes: `h = 32`, `h = 49`."""
    found = []
    for name in dict.fromkeys(names_in(*texts)):
        size = sizes.get(name, 0)
        for steps in (range(size - 1, max(size - _MOST, 0), -1), range(size + 1, size + _MOST)):
            fits = (n for n in steps if all(holds_at(text, {**sizes, name: n}) for text in texts))
            found += [f"{name} = {n}" for n in [next(fits, None)] if n is not None]
    return tuple(found)


def is_plain(text: str) -> bool:
    """Whether a condition only compares sizes and numbers, so that its satisfying sizes are obvious."""
    return not any(sign in text for sign in "%*/+-(")
