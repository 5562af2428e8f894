"""Counts that the elements of a primitive's operands decide."""

from __future__ import annotations

import math
from collections.abc import Sequence


def count(what: str, elements: Sequence[object]) -> int | None:
    """How many of some elements are true, or distinct from all others (every nan is); or the one that they are, rounded."""
    if what == "true":
        return sum(map(bool, elements))
    if what == "rounded":
        [number] = elements
        return rounded(number) if isinstance(number, int | float) else None
    nans = sum(e != e for e in elements)
    return len({e for e in elements if e == e}) + nans


def rounded(number: float) -> int | None:
    """A number as a count: a half is rounded up, and nothing is below 0. None where it is not finite."""
    if not math.isfinite(number):
        return None
    whole = math.floor(number)
    return max(whole + (number - whole >= 0.5), 0)
