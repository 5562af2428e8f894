"""Fixes of an unreadable text: the parser's change, if more of the text can be read after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..lang.diagnostics import Diagnostic
from ..lang.parser import parse
from ..lang.source import Source
from .case import Fix
from .edits import EditedOffsets, applied

# The number of diagnostics to fix, as each takes one more parse.
MOST = 8


def fixes(diagnostic: Diagnostic, problems: Sequence[Diagnostic]) -> Iterator[Fix]:
    """Yield the change of a diagnostic, if after it only the other `problems` remain and at most one that appears later in
    its line. An uncertain one is a guess."""
    if diagnostic.edits and _is_better(diagnostic, problems):
        what = diagnostic.change or diagnostic.help or ""
        yield Fix(what, diagnostic.edits, 1, diagnostic.edits[0].text, guess=not diagnostic.certain)


def _is_better(diagnostic: Diagnostic, problems: Sequence[Diagnostic]) -> bool:
    source, places = diagnostic.span.source, EditedOffsets(diagnostic.edits)
    _, after = parse(Source(source.name, applied(source.text, diagnostic.edits)))
    had = {places.normal(d.span.start) for d in problems if d is not diagnostic}
    new = {places.before(d.span.start) for d in after} - had
    start = diagnostic.span.start
    lines = {source.position(at)[0] for at in (start, *(e.span.start for e in diagnostic.edits))}
    return len(new) < 2 and all(at > start and source.position(at)[0] in lines for at in new)
