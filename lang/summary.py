"""The last line of `rx check`, from diagnostics and counts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from .cells import ELLIPSIS, columns, ends, shown
from .checked import Counts
from .diagnostics import Diagnostic

# The greatest width of the line, reached by shortening a long path to its end; and how much of the end always stays.
_WIDTH, _LEAST = 120, 24


def summary(names: Sequence[str], rejected: int, counts: Counts | None, diagnostics: Sequence[Diagnostic]) -> str:
    """`ff.rx: ok: 10 proved, 1 checked at run time, 4 checked on entry; 1 warning`

    `rejected` is the number of rejected files; `counts` is None if no check got as far as counting.
    """
    if rejected and counts is not None and not counts.total:
        counts = None
    verdict = "ok" if not rejected else "rejected" if len(names) == 1 else f"{rejected} rejected"
    assertions = "" if counts is None else f": {_assertions(counts)}"
    severities = [d.severity for d in diagnostics]
    problems = [plural(severities.count(s), s) for s in ("error", "warning") if s in severities]
    chances = sum(d.by_chance and d.severity == "warning" for d in diagnostics)
    if chances and problems:
        said = "nearly certain to be a mistake" if chances == 1 else "nearly certain to be mistakes"
        problems.append(f"{chances} of them {said}" if severities.count("warning") > 1 else said)
    ending = f"{':' if counts is None else ';'} {', '.join(problems)}" if problems else ""
    verdicts = f": {verdict}{assertions}{ending}"
    return f"{_end(names[0], _WIDTH - columns(verdicts)) if len(names) == 1 else plural(len(names), 'file')}{verdicts}"


def _end(name: str, room: int) -> str:
    """The end of a name that is longer than `room` columns."""
    name, kept = shown(name), max(room, _LEAST)
    before = ends(name, 0)
    return name if before[-1] <= kept else ELLIPSIS + name[bisect_left(before, before[-1] - kept + 1) :]


def _assertions(counts: Counts) -> str:
    if not counts.total:
        return "no assertions"
    parts = (
        (counts.proved, "proved"),
        (counts.refuted, "refuted"),
        (counts.residual, "checked at run time"),
        (counts.entry - counts.inner, "checked on entry"),
    )
    return ", ".join(f"{n} {what}" for n, what in parts if n) or "no assertions"


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
