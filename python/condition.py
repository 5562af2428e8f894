"""Conditions on sizes for Python users: the result of comparing two sizes, and whether it always holds."""

from __future__ import annotations

from collections.abc import Iterable

from ..simplify.solver.conditions import Cond, ge
from ..simplify.solver.facts import Facts
from ..simplify.solver.terms import Size, TooLarge


class Condition:
    """A condition on sizes: the result of `Size("n") < 3` and `Size("n").equals(3)`. `str` is Rx syntax. Its names are
    sizes of at least 0.

    `bool` raises TypeError if the condition holds for some sizes only, or if Rx cannot tell; `proved()` always has an
    answer.
    """

    __slots__ = ("_cond", "_divisors", "_text")

    def __init__(self, text: str, cond: Cond, divisors: Iterable[Size]) -> None:
        self._text, self._cond = text, cond
        self._divisors = tuple(divisors)

    def proved(self) -> bool:
        """Whether it holds for all sizes."""
        return self._answer() == "proved"

    def _answer(self) -> str:
        """`proved`, `refuted`, `open` or `unknown`; `open` if something may divide by 0."""
        facts = Facts()
        try:
            if any(facts.decide(ge(divisor, 1)).kind != "proved" for divisor in self._divisors):
                return "open"
            return facts.decide(self._cond).kind
        except TooLarge:
            return "unknown"

    def __bool__(self) -> bool:
        answer = self._answer()
        if answer not in ("proved", "refuted"):
            raise TypeError(f"`{self}` depends on sizes that are not known: ask for .proved()")
        return answer == "proved"

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<condition {self._text}>"
