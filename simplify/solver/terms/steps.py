"""Steps of reasoning, counted, never timed: when an allowance of steps is used up, its work is abandoned.

A budget holds the steps of a whole program, a share those reserved for a function, an allowance those of one question: the
same program takes the same steps on every machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

K = TypeVar("K")
R = TypeVar("R")

_ENDLESS = 1 << 62
_RESERVE = 2  # the reserve for plain questions at the end is the steps divided by this
# The costs, in steps of reasoning, of a call, an axis of it beyond the usual ones, a fact written in the program, an `if`, a
# turn of a loop.
A_CALL, AN_AXIS, A_FACT, AN_IF, A_TURN = 100, 150, 40, 250, 250


class TooLarge(ArithmeticError):
    """A size too large to reason about: with too many parts or too large numbers."""

    def __str__(self) -> str:
        return "the size is too large to be written out"


class OutOfSteps(TooLarge):
    """The allowance is used up."""


class _Here(threading.local):
    """The steps that this thread may still take."""

    left = _ENDLESS
    inside = False
    budget: StepBudget | None = None


_here = _Here()


def charge(steps: int) -> None:
    """Count steps; raise OutOfSteps if none are left."""
    _here.left -= steps
    if _here.left < 0:
        raise OutOfSteps


def again(known: dict[K, tuple[R, int]], key: K, work: Callable[[], R]) -> R:
    """Return the result of some work, which is done once; its steps are counted each time."""
    before, found = _here.left, known.get(key)
    if found is None or found[1] > before:
        result = work()
        found = known[key] = result, before - _here.left
    else:
        _here.left -= found[1]
    return found[0]


def spend(steps: int) -> None:
    """Count steps that were taken elsewhere; the next `charge` raises if none are left."""
    _here.left -= steps


def stride(steps: int) -> None:
    """Count steps of walking; those beyond the program's walking steps are taken from its steps of reasoning."""
    if _here.budget is not None:
        _here.budget.walk(steps)


def spent() -> bool:
    """Whether the program's steps and their reserve are used up: then no work begins that might take some."""
    budget = _here.budget
    return budget is not None and budget.left + budget.reserve <= 0


def over() -> bool:
    """Whether the walking steps are used up as well: the rest of the program is only read, and nothing is decided."""
    budget = _here.budget
    if budget is None or budget.walks > 0 or budget.left + budget.reserve > 0:
        return False
    budget.ended = True
    return True


def left() -> int:
    """The number of steps left."""
    return max(_here.left, 0)


class StepBudget:
    """The steps of a program for reasoning, and those for walking. Steps taken within count here and for the budget around
    it. `ended`: both were found to be used up."""

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
        """The number of available steps, at least `least` as long as there is a reserve."""
        return max(self.left, least) if self.left + self.reserve > 0 else 0

    def take(self, steps: int) -> None:
        """Spend steps."""
        self.left -= steps
        self.spent += steps

    def walk(self, steps: int) -> None:
        """Spend steps of walking, and steps of reasoning when those are used up."""
        free = min(steps, self.walks)
        self.walks -= free
        self.left -= steps - free
        self.walked += steps

    @property
    def gone(self) -> int:
        """The number of steps taken, for reasoning and for excess walking."""
        return self.granted - self.left


class Share(StepBudget):
    """Steps reserved for a part of a program, fewer if the program does not have all of its own; after them it takes from the
    budget around it."""

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
    """A limit of steps for the work within, or the rest of the budget; `least` is granted even if the budget is empty, until
    its reserve is spent as well."""

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
        if not self._inside and budget is not None:  # steps taken elsewhere count for no more than the program has
            budget.take(min(used, max(budget.left, self._granted)))


class Apart:
    """Work within is independent of the allowance around it; it may have a limit of its own."""

    __slots__ = ("_inside", "_left", "most")

    def __init__(self, most: int = _ENDLESS) -> None:
        self.most = most

    def __enter__(self) -> Apart:
        self._inside, self._left = _here.inside, _here.left
        _here.inside, _here.left = False, self.most
        return self

    def __exit__(self, *_: object) -> None:
        _here.inside, _here.left = self._inside, self._left
