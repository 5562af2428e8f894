"""Sizes outside of programs: a variable is identified by its name alone."""

from __future__ import annotations

from . import terms
from .terms import Term

HIGHEST_POWER = 64


def variable(name: str) -> Term:
    """The variable of a name; its serial is the name's bytes read as a number, so no table is kept."""
    return terms.var(name, int.from_bytes(name.encode(), "big"))


def power(term: terms.Size, exponent: int) -> terms.Size:
    result: terms.Size = 1
    for _ in range(exponent):
        result = result * term
    return result
