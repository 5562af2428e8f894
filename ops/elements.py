"""Counts that the elements of a primitive's operands decide."""

from __future__ import annotations

import math
from collections.abc import Sequence


def count(what: str, elements: Sequence[object]) -> int | None:
    """The number of elements that are true, or distinct (every nan is); or the only element, rounded; or the sum of counts,
    None if one is negative."""
    if what == "true":
        return sum(map(bool, elements))
    if what == "rounded":
        [number] = elements
        return rounded(number) if isinstance(number, int | float) else None
    if what == "summed":
        counts = [e for e in elements if isinstance(e, int) and e >= 0]
        return sum(counts) if len(counts) == len(elements) else None
    nans = sum(e != e for e in elements)
    return len({e for e in elements if e == e}) + nans


def rounded(number: float) -> int | None:
    """A number as a count: halves are rounded up, negative numbers become 0. None if it is not finite."""
    if not math.isfinite(number):
        return None
    whole = math.floor(number)
    return max(whole + (number - whole >= 0.5), 0)
