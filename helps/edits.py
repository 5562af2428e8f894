"""Edits of a text: applied, and places of the new text found again in the old one."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang.diagnostics import Edit


def in_text_order(edits: Iterable[Edit]) -> list[Edit]:
    return sorted(edits, key=lambda e: (e.span.start, e.span.end))


def overlap(edits: Iterable[Edit]) -> bool:
    ordered = in_text_order(edits)
    return any(a.span.end > b.span.start or a.span == b.span for a, b in zip(ordered, ordered[1:], strict=False))


def applied(text: str, edits: Iterable[Edit]) -> str:
    parts, at = [], 0
    for edit in in_text_order(edits):
        parts += [text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*parts, text[at:]])


class Places:
    """Offsets of a text before and after edits. What lies inside of an edit is taken to stand at its start."""

    def __init__(self, edits: Iterable[Edit]) -> None:
        self._edits = in_text_order(edits)

    def normal(self, offset: int) -> int:
        """An offset of the old text."""
        for edit in self._edits:
            if edit.span.start <= offset < edit.span.end:
                return edit.span.start
        return offset

    def before(self, offset: int) -> int:
        """An offset of the new text as one of the old text."""
        shift = 0
        for edit in self._edits:
            start = edit.span.start + shift
            if offset < start:
                break
            if offset < start + len(edit.text):
                return edit.span.start
            shift += len(edit.text) - (edit.span.end - edit.span.start)
        return offset - shift
