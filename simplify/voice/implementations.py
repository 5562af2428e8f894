"""What is said of a list of implementations: that none fits a call, and why not; that one is never chosen."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang import codes
from ...lang.diagnostics import Diagnostic, Label, error, note
from ...lang.source import Span
from ..known.values import Entry
from .describe import type_text
from .verdict import Speaker, distinct

_ALWAYS = ": this always fails"


def none_fits(
    walker: Speaker, name: str, span: Span, entries: Iterable[Entry], reasons: Iterable[tuple[str, Diagnostic | None]]
) -> Diagnostic:
    """One error; of each member a line: below its own annotation where it has one, else on its own."""
    labels: list[Label] = []
    notes: list[str] = []
    for member, said in reasons:
        text = said.message.removesuffix(_ALWAYS) if said is not None else f"@{member} does not take this"
        place = next((label.span for label in said.labels), None) if said is not None else None
        if place is None or any(label.span == place for label in labels) or _is_at(place, span):
            notes.append(text)
        else:
            labels.append(Label(place, text))
    types = ", ".join(type_text(e.value, walker.state) for e in entries)
    return error(
        codes.E316, f"no implementation of @{name} fits this call{_ALWAYS}", span,
        caption=f"called with {types}" if types else "", labels=distinct(span, tuple(labels)), notes=tuple(notes),
        function=walker.function,
    )  # fmt: skip


def _is_at(place: Span, call: Span) -> bool:
    """Whether a place is no more than the call or its arguments: those are shown anyway."""
    return place.source is call.source and call.start <= place.start and place.end <= call.end


def never_chosen(name: str, place: Span, before: str, its_place: Span) -> Diagnostic:
    return note(
        codes.N302, f"@{name} is never chosen: whatever fits it fits @{before} before it", place,
        labels=(Label(its_place, "this one is taken"),),
        help="the most specific one stands first",
    )  # fmt: skip
