"""Steps of reasoning, counted, never timed: where an allowance of them is used up, what was being worked out is given up.

A budget holds the steps of a whole program, a share those that a function has for itself, an allowance those of one question:
the same program takes the same ones everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

K = TypeVar("K")
R = TypeVar("R")

_ENDLESS = 1 << 62
_RESERVE = 2  # what there is for plain questions behind the end: such a part of what there was
# What takes as long as so many steps of reasoning: a call, an axis of it beyond the usual ones, a fact that is written in the
# program, an `if`, a turn of a loop.
A_CALL, AN_AXIS, A_FACT, AN_IF, A_TURN = 100, 150, 40, 250, 250


class TooLarge(ArithmeticError):
    """A size that nobody can reason about: of too many parts, or of too large numbers."""

    def __str__(self) -> str:
        return "the size is too large to be written out"


class OutOfSteps(TooLarge):
    """The allowance is used up."""


class _Here(threading.local):
    """What this thread may still take."""

    left = _ENDLESS
    inside = False
    budget: StepBudget | None = None


_here = _Here()


def charge(steps: int) -> None:
    """Counts steps; raises OutOfSteps where there are none left."""
    _here.left -= steps
    if _here.left < 0:
        raise OutOfSteps


def again(known: dict[K, tuple[R, int]], key: K, work: Callable[[], R]) -> R:
    """What some work gives, which is done once; the steps that it takes are counted each time."""
    before, found = _here.left, known.get(key)
    if found is None or found[1] > before:
        result = work()
        found = known[key] = result, before - _here.left
    else:
        _here.left -= found[1]
    return found[0]


def spend(steps: int) -> None:
    """Counts steps that were taken elsewhere; whoever goes on is told."""
    _here.left -= steps


def stride(steps: int) -> None:
    """Counts steps that were no reasoning, but as long: those that a program may not walk are taken from its others."""
    if _here.budget is not None:
        _here.budget.walk(steps)


def spent() -> bool:
    """Whether the program has no steps any more, not even for what is plain: then nothing is begun that might take some."""
    budget = _here.budget
    return budget is not None and budget.left + budget.reserve <= 0


def over() -> bool:
    """Whether it may not even walk any more: what is left of it is read, and nothing is decided."""
    budget = _here.budget
    if budget is None or budget.walks > 0 or budget.left + budget.reserve > 0:
        return False
    budget.ended = True
    return True


def left() -> int:
    """How many steps there are left."""
    return max(_here.left, 0)


class StepBudget:
    """The steps of a program, and those that it may walk beside them: what is taken within counts, and within the budget around
    it as well. `ended`: somebody found none of either left."""

    __slots__ = ("_around", "ended", "granted", "left", "reserve", "spent", "steps", "walked", "walks")

    def __init__(self, steps: int, walks: int = _ENDLESS) -> None:
        self.steps = self.granted = self.left = steps
        self.walks = walks
        self.spent = self.walked = 0
        self.ended = False
        self.reserve = steps // _RESERVE
        self._around: StepBudget | None = None

    def __enter__(self) -> StepBudget:
        self._around = _here.budget
        if self._around is not None:
            self.granted = self.left = min(self.left, max(self._around.left, 0))
            self.walks = min(self.walks, self._around.walks)
            self.reserve = min(self.reserve, max(self._around.left + self._around.reserve, 0))
        _here.budget = self
        return self

    def __exit__(self, *_: object) -> None:
        _here.budget = self._around
        if self._around is not None:
            self._around.take(self.spent)
            self._around.walk(self.walked)
            self._around.ended |= self.ended

    def room(self, least: int) -> int:
        """How many steps there are, at least `least` as long as there is a reserve."""
        return max(self.left, least) if self.left + self.reserve > 0 else 0

    def take(self, steps: int) -> None:
        """Spends steps."""
        self.left -= steps
        self.spent += steps

    def walk(self, steps: int) -> None:
        """Spends steps of those that may be walked, and of the others where there are no more of these."""
        free = min(steps, self.walks)
        self.walks -= free
        self.left -= steps - free
        self.walked += steps

    @property
    def gone(self) -> int:
        """How many steps are gone, for reasoning and for what was walked beyond measure."""
        return self.granted - self.left


class Share(StepBudget):
    """Steps that a part of a program has for itself, fewer where the program does not have all of its own; behind them it takes
    from the budget around."""

    __slots__ = ("own",)

    def __init__(self, own: int) -> None:
        super().__init__(own)
        self.own = own

    def __enter__(self) -> Share:
        around = self._around = _here.budget
        if around is not None:
            self.own = self.own * around.granted // max(around.steps, 1)
            self.granted = self.left = self.own + max(around.left, 0)
            self.reserve = self.own // _RESERVE
            self.walks = around.walks
        _here.budget = self
        return self

    def __exit__(self, *_: object) -> None:
        _here.budget = self._around
        if self._around is not None:
            self._around.left -= max(self.gone - self.own, 0)
            self._around.spent += self.spent
            self._around.walks = self.walks
            self._around.walked += self.walked
            self._around.ended |= self.ended


class Allowance:
    """So many steps for what is done within, or what the budget has left; `least` there are even if it is empty, until its
    reserve is spent as well."""

    __slots__ = ("_granted", "_inside", "_left", "least", "most")

    def __init__(self, most: int, least: int = 0) -> None:
        self.most, self.least = most, least

    def __enter__(self) -> Allowance:
        budget = _here.budget
        room = self.most if budget is None else min(self.most, budget.room(self.least))
        self._inside, self._left = _here.inside, _here.left
        _here.left = self._granted = min(room, _here.left)
        _here.inside = True
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        used = self._granted - _here.left
        _here.inside, _here.left = self._inside, self._left - used
        budget = _here.budget
        if not self._inside and budget is not None:  # what was taken elsewhere counts for no more than the program has
            budget.take(min(used, max(budget.left, self._granted)))


class Apart:
    """What is done within has nothing to do with the allowance around it; it may have an end of its own."""

    __slots__ = ("_inside", "_left", "most")

    def __init__(self, most: int = _ENDLESS) -> None:
        self.most = most

    def __enter__(self) -> Apart:
        self._inside, self._left = _here.inside, _here.left
        _here.inside, _here.left = False, self.most
        return self

    def __exit__(self, *_: object) -> None:
        _here.inside, _here.left = self._inside, self._left
