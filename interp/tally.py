"""Lists in which generated code counts how often each check was made, and how often it failed."""

from __future__ import annotations

from ..lang import core
from ..ops.ground import Violation
from .steps import Compute, Match, Step, StepCheck
from .trace import Failure

# The node of a check: the assertion, or the guarded call of a primitive; None for stacked values.
Checked = core.Assert | core.MatchShape | core.Call | None


class Tally:
    """The checks of a program's code, with their counts at the same place in `made` and `failed`."""

    def __init__(self) -> None:
        self.checks: list[Checked] = []
        self.made: list[int] = []
        self.failed: list[int] = []
        self._places: dict[int, int] = {}

    @property
    def total(self) -> int:
        return sum(self.made)

    def place(self, step: Step) -> int:
        """The index of a step's check in the counts."""
        check = _checked(step)
        at = self._places.setdefault(id(check), len(self.checks))
        if at == len(self.checks):
            self.checks.append(check)
            self.made.append(0)
            self.failed.append(0)
        return at

    def saw(self, failure: Failure) -> None:
        """Count a failed check, if a call failed by one."""
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
