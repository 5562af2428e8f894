"""Findings of checking, recorded as they come; `explaining.py` chooses among them once, at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..lang.checked import Counts
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.source import Span
from .known.finding import Asked, Finding
from .known.outcome import IN_WORDS, Outcome
from .known.state import State

_COUNTED = {Status.PROVED: "proved", Status.REFUTED: "refuted", Status.RESIDUAL: "residual", Status.ENTRY: "entry"}


class FindingRemark(Asked):
    """A remark that is always reported."""

    remark: Diagnostic

    @property
    def span(self) -> Span:
        return self.remark.span

    def said(self, finding: Finding) -> Diagnostic:
        return self.remark


class Mark(NamedTuple):
    """The counts of a Log at some time."""

    findings: int
    errors: int
    counted: dict[Status, int]
    left: int


class Log:
    """The findings so far, in one Log for a whole program. `certain` leaves out failures in one arm of an inlined body: they
    are mistakes in a program, but no proof that a call fails."""

    def __init__(self, *, certain: bool = False) -> None:
        self.certain = certain
        self._counted = dict.fromkeys(Status, 0)
        self.findings: list[Finding] = []
        self.errors = 0
        # Entry checks of functions that are called from inside the program.
        self.inner = 0
        # The places of unproved claims without a finding, made after very many findings and after the end of the steps.
        self.left: dict[Span, None] = {}

    def remark(self, *said: Diagnostic) -> None:
        """Add notes, and errors about a function as a whole."""
        for one in said:
            status = Status.REFUTED if one.severity == "error" else Status.PROVED
            self.add(Finding(FindingRemark(one), Outcome(status), State()))

    def mark(self) -> Mark:
        """Return a mark to go back to."""
        return Mark(len(self.findings), self.errors, dict(self._counted), len(self.left))

    def reset(self, then: Mark) -> list[Finding]:
        """Go back to a mark; return the findings since."""
        since = self.findings[then.findings :]
        del self.findings[then.findings :]
        self.errors, self._counted = then.errors, dict(then.counted)
        for place in list(self.left)[then.left :]:
            del self.left[place]
        return since

    def again(self, counted: Mark, found: Iterable[Finding]) -> None:
        """Add findings again, with the counts of a mark."""
        self._counted = dict(counted.counted)
        for finding in found:
            self.add(finding)

    def add(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.errors += finding.is_error

    def keep_what_both_have(self, then: int, orelse: int) -> None:
        """Drop the findings of two arms, which begin at two places, unless both arms fail: one alone is no proof that a call
        fails."""
        arms = self.findings[then:orelse], self.findings[orelse:]
        if self.certain and not all(any(f.outcome.status is Status.REFUTED for f in arm) for arm in arms):
            del self.findings[then:]
            self.errors -= sum(f.is_error for arm in arms for f in arm)

    def refute(self, finding: Finding) -> None:
        """Count an open check as refuted."""
        self.errors += finding.is_error
        self.count(Status.RESIDUAL, -1)
        self.count(Status.REFUTED)

    @property
    def is_long(self) -> bool:
        """Whether there are more findings than anybody reads."""
        return len(self.findings) >= IN_WORDS

    @property
    def is_full(self) -> bool:
        """Whether there are so many errors that no more functions are checked."""
        return self.errors >= IN_WORDS

    def count(self, status: Status, number: int = 1) -> None:
        self._counted[status] += number

    @property
    def counts(self) -> Counts:
        numbers = {field: self._counted[status] for status, field in _COUNTED.items()}
        return Counts(sum(numbers.values()), **numbers, inner=self.inner)
