"""The changes that fix a file's diagnostics, each checked before it is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..fixes.applied import fixed_and_left, why_left
from ..fixes.ranked import ranked, shortest
from ..lang.formatter import format_source
from ..lang.source import Source
from ..pipeline import check_source
from ..simplify.known.outcome import Options
from .analysis import Analyst, EditedTexts, Settings


class TextChange(NamedTuple):
    """The replacement of a part of a file's text."""

    start: int
    end: int
    text: str


class Action(NamedTuple):
    """A fix for the diagnostic with this code at this place; `preferred` if it leaves the author no choice."""

    title: str
    code: str
    start: int
    end: int
    changes: tuple[TextChange, ...]
    preferred: bool


def actions(
    analyst: Analyst, path: Path, settings: Settings, stopped: Callable[[], bool] | None = None
) -> tuple[Action, ...]:
    """All fixes of a file. Raises GivenUp when `stopped` returns true."""
    source, files = _source(analyst, path, settings)
    options = Options(strict=settings.strict, stopped=stopped)
    report = check_source(source, files, (), options)
    found: list[Action] = []
    for ranking in ranked(report, files, (), options):
        said, leaves_no_choice = ranking.diagnostic, not why_left(ranking, source)
        for i, fix in enumerate(ranking.fixes):
            changes = tuple(TextChange(e.span.start, e.span.end, e.text) for e in fix.edits)
            preferred = leaves_no_choice and i == 0
            found.append(Action(shortest(fix), said.code, said.span.start, said.span.end, changes, preferred))
    return tuple(found)


def fix_all(
    analyst: Analyst, path: Path, settings: Settings, stopped: Callable[[], bool] | None = None
) -> tuple[TextChange, ...]:
    """The changes of `rx check --fix`, as one change of the text; empty if there are none."""
    source, files = _source(analyst, path, settings)
    found = fixed_and_left(source, files, (), Options(strict=settings.strict, stopped=stopped))
    return _whole(source.text, found.text)


def formatted(name: str, text: str) -> tuple[TextChange, ...]:
    """The change to the canonical layout; empty if the text has it already or cannot be read."""
    laid_out, problems = format_source(Source(name, text))
    return () if laid_out is None or problems else _whole(text, laid_out)


def _source(analyst: Analyst, path: Path, settings: Settings) -> tuple[Source, EditedTexts]:
    files = EditedTexts(path.parent, settings.roots, analyst)
    text = analyst.edited[path] if path in analyst.edited else files.read_text(path.name)[1]
    return Source(str(path), text), files


def _whole(before: str, after: str) -> tuple[TextChange, ...]:
    """The change of the lines that differ; equal lines at the start and the end are kept."""
    if before == after:
        return ()
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = min(len(old), len(new)) - first
    last = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    start = sum(map(len, old[:first]))
    kept = sum(map(len, old[len(old) - last :]))
    return (TextChange(start, len(before) - kept, "".join(new[first : len(new) - last])),)
