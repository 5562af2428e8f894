"""Edits of a text: applied, two steps merged into one, and places of the new text found in the old one."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang.diagnostics import Edit
from ..lang.source import Span


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


class EditedOffsets:
    """Offsets of a text before and after edits. Offsets inside an edit count as its start."""

    def __init__(self, edits: Iterable[Edit]) -> None:
        self._edits = in_text_order(edits)

    def normal(self, offset: int) -> int:
        """Return an offset of the old text, or the start of the edit around it."""
        for edit in self._edits:
            if edit.span.start <= offset < edit.span.end:
                return edit.span.start
        return offset

    def before(self, offset: int) -> int:
        """Return an offset of the new text as one of the old text."""
        shift = 0
        for edit in self._edits:
            start = edit.span.start + shift
            if offset < start:
                break
            if offset < start + len(edit.text):
                return edit.span.start
            shift += len(edit.text) - (edit.span.end - edit.span.start)
        return offset - shift

    def regions(self) -> list[tuple[int, int, Edit]]:
        """Return the edits with the start and end of each in the new text."""
        found, shift = [], 0
        for edit in self._edits:
            start = edit.span.start + shift
            found.append((start, start + len(edit.text), edit))
            shift += len(edit.text) - (edit.span.end - edit.span.start)
        return found


def followed(first: Iterable[Edit], second: Iterable[Edit]) -> tuple[Edit, ...]:
    """Merge two steps into one: `second` edits the text after `first`."""
    first, second = list(first), in_text_order(second)
    places, kept = EditedOffsets(first), {id(e): e for e in first}
    inner: dict[int, list[Edit]] = {}
    result: list[Edit] = []
    for edit in second:
        start, end = edit.span.start, edit.span.end
        touched = [
            (s, e, old) for s, e, old in places.regions() if s < end and start < e or start == end and s < start < e
        ]
        if len(touched) == 1 and touched[0][0] <= start and end <= touched[0][1]:
            s, _, old = touched[0]
            inner.setdefault(id(old), []).append(Edit(Span(edit.span.source, start - s, end - s), edit.text))
            continue
        for _, _, old in touched:
            kept.pop(id(old), None)
        source = first[0].span.source if first else edit.span.source
        result.append(Edit(Span(source, places.before(start), places.before(end)), edit.text))
    for key, old in kept.items():
        result.append(Edit(old.span, applied(old.text, inner[key])) if key in inner else old)
    return tuple(in_text_order(result))
