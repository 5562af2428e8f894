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
    """What is told in any case."""

    remark: Diagnostic

    @property
    def span(self) -> Span:
        return self.remark.span

    def said(self, finding: Finding) -> Diagnostic:
        return self.remark


class Mark(NamedTuple):
    """How much a Log had at some time."""

    findings: int
    errors: int
    counted: dict[Status, int]
    left: int


class Log:
    """What checking has found so far; one for a whole program. `certain` leaves out what fails in one arm of an inlined body:
    that is a mistake in a program, but no reason why one call cannot succeed."""

    def __init__(self, *, certain: bool = False) -> None:
        self.certain = certain
        self._counted = dict.fromkeys(Status, 0)
        self.findings: list[Finding] = []
        self.errors = 0
        # Checks on entry that nobody meets from outside.
        self.inner = 0
        # The places of unproved claims of which nothing else is kept, behind very many and the end of the steps.
        self.left: dict[Span, None] = {}

    def remark(self, *said: Diagnostic) -> None:
        """Notes, and what is wrong with a function as a whole."""
        for one in said:
            status = Status.REFUTED if one.severity == "error" else Status.PROVED
            self.add(Finding(FindingRemark(one), Outcome(status), State()))

    def mark(self) -> Mark:
        """How much was found so far, to go back to."""
        return Mark(len(self.findings), self.errors, dict(self._counted), len(self.left))

    def reset(self, then: Mark) -> list[Finding]:
        """Goes back to what was found by then; gives what was found since."""
        since = self.findings[then.findings :]
        del self.findings[then.findings :]
        self.errors, self._counted = then.errors, dict(then.counted)
        for place in list(self.left)[then.left :]:
            del self.left[place]
        return since

    def again(self, counted: Mark, found: Iterable[Finding]) -> None:
        """Takes up findings, counted as they were once."""
        self._counted = dict(counted.counted)
        for finding in found:
            self.add(finding)

    def add(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.errors += finding.is_error

    def keep_what_both_have(self, then: int, orelse: int) -> None:
        """Of two arms, whose findings begin at two places, what fails in one alone is no reason why a call fails."""
        arms = self.findings[then:orelse], self.findings[orelse:]
        if self.certain and not all(any(f.outcome.status is Status.REFUTED for f in arm) for arm in arms):
            del self.findings[then:]
            self.errors -= sum(f.is_error for arm in arms for f in arm)

    def refute(self, finding: Finding) -> None:
        """What was open fails after all."""
        self.errors += finding.is_error
        self.count(Status.RESIDUAL, -1)
        self.count(Status.REFUTED)

    @property
    def is_long(self) -> bool:
        """Whether so much was found that nobody reads all of it."""
        return len(self.findings) >= IN_WORDS

    @property
    def is_full(self) -> bool:
        """Whether so much is wrong that no more functions are looked at."""
        return self.errors >= IN_WORDS

    def count(self, status: Status, number: int = 1) -> None:
        self._counted[status] += number

    @property
    def counts(self) -> Counts:
        numbers = {field: self._counted[status] for status, field in _COUNTED.items()}
        return Counts(sum(numbers.values()), **numbers, inner=self.inner)
