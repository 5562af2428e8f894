"""Lists in which generated code counts how often each check was made, and how often it failed."""

from __future__ import annotations

from ..lang import core
from ..ops.ground import Violation
from .steps import Compute, Match, Step, StepCheck
from .trace import Failure

# What stands for a check: the assertion, or the primitive's call that is guarded; of what turns stack nothing does.
Checked = core.Assert | core.MatchShape | core.Call | None


class Tally:
    """The checks of a program's code, and of each the numbers, at the same place in `made` and `failed`."""

    def __init__(self) -> None:
        self.checks: list[Checked] = []
        self.made: list[int] = []
        self.failed: list[int] = []
        self._places: dict[int, int] = {}

    @property
    def total(self) -> int:
        return sum(self.made)

    def place(self, step: Step) -> int:
        """Where the check of a step is counted."""
        check = _checked(step)
        at = self._places.setdefault(id(check), len(self.checks))
        if at == len(self.checks):
            self.checks.append(check)
            self.made.append(0)
            self.failed.append(0)
        return at

    def saw(self, failure: Failure) -> None:
        """A call failed: by one of the checks, or in another way."""
        step = failure.site.step
        if step is not None and (isinstance(step, StepCheck | Match) or isinstance(failure.problem, Violation)):
            self.failed[self.place(step)] += 1


def _checked(step: Step) -> Checked:
    match step:
        case StepCheck(check=check) | Match(check=check):
            return check
        case Compute(call=call):
            return call
    return None
