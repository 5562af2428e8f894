"""What is said of a list of implementations: that none fits a call, and why not; that one is never chosen."""

from __future__ import annotations

from ...lang import codes
from ...lang.diagnostics import Diagnostic, Label, error, note
from ...lang.source import Span
from ..known.finding import Asked, Finding
from ..known.values import Entry
from .describe import type_text
from .telling import told
from .verdict import distinct


class Chosen(Asked):
    """That a member of a list fits a call; `reasons` has what is wrong with each."""

    span: Span
    name: str
    entries: tuple[Entry, ...]
    reasons: list[tuple[str, Finding | None]]

    def said(self, finding: Finding) -> Diagnostic:
        """One error; of each member a line: below its own annotation where it has one, else on its own."""
        labels: list[Label] = []
        notes: list[str] = []
        for member, reason in self.reasons:
            said = told(reason) if reason is not None else None
            text = f"@{member} does not take this"
            if said is not None:
                text = said.message if said.sentence is None else said.sentence.claim
            place = next((label.span for label in said.labels), None) if said is not None else None
            if place is None or any(label.span == place for label in labels) or place.within(self.span):
                notes.append(text)
            else:
                labels.append(Label(place, text))
        types = ", ".join(type_text(e.value, finding.state) for e in self.entries)
        return error(
            codes.E316, f"no implementation of @{self.name} fits this call: this always fails", self.span,
            caption=f"called with {types}" if types else "", labels=distinct(self.span, tuple(labels)),
            notes=tuple(notes), function=finding.function,
        )  # fmt: skip


def never_chosen(name: str, place: Span, before: str, its_place: Span) -> Diagnostic:
    return note(
        codes.N302, f"@{name} is never chosen: whatever fits it fits @{before} before it", place,
        labels=(Label(its_place, "this one is taken"),),
        help="the most specific one stands first",
    )  # fmt: skip
