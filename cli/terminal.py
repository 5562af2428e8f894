"""What the commands say: diagnostics on standard error, with colour where the terminal has it, and the summary line."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from ..lang.cells import shown
from ..lang.checked import Counts
from ..lang.diagnostics import Diagnostic


def colourful(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    """Each as text with an empty line after it. What renders them is loaded when there is something to say."""
    if not diagnostics:
        return
    sys.stdout.flush()
    if colourful(sys.stderr):
        from .colour import print_coloured

        print_coloured(diagnostics, _width(sys.stderr))
        return
    from ..lang.render import WIDTH, render_text

    width = _width(sys.stderr) if sys.stderr.isatty() else WIDTH
    sys.stderr.write("".join(render_text(d, width) + "\n" for d in diagnostics))
    sys.stderr.flush()


def _width(stream: TextIO) -> int:
    """A terminal narrower than a hundred columns gets narrower texts, down to sixty."""
    return min(100, max(60, shutil.get_terminal_size().columns))


def summary(names: Sequence[str], rejected: int, counts: Counts | None, diagnostics: Iterable[Diagnostic]) -> str:
    """`ff.rx: ok: 15 assertions: 10 proved, 1 checked at run time, 4 at the door; 1 warning`

    `rejected` is how many of the files were; `counts` is None where nothing came so far as to be counted.
    """
    if rejected and counts is not None and not counts.total:
        counts = None
    subject = shown(names[0]) if len(names) == 1 else plural(len(names), "file")
    verdict = "ok" if not rejected else "rejected" if len(names) == 1 else f"{rejected} rejected"
    assertions = "" if counts is None else f": {_assertions(counts)}"
    severities = [d.severity for d in diagnostics]
    problems = [plural(severities.count(s), s) for s in ("error", "warning") if s in severities]
    ending = f"{':' if counts is None else ';'} {', '.join(problems)}" if problems else ""
    return f"{subject}: {verdict}{assertions}{ending}"


def _assertions(counts: Counts) -> str:
    if not counts.total:
        return "no assertions"
    parts = (
        (counts.proved, "proved"),
        (counts.refuted, "refuted"),
        (counts.residual, "checked at run time"),
        (counts.entry, "at the door"),
    )
    return f"{plural(counts.total, 'assertion')}: " + ", ".join(f"{n} {what}" for n, what in parts if n)


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
