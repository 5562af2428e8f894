"""A program to the same program with the unambiguous helps applied, one after the other, as long as there are any."""

from __future__ import annotations

from pathlib import Path

from ..lang.node import Node
from ..lang.source import Source
from ..pipeline import check_source
from ..simplify.known.outcome import Options
from .edits import applied
from .offer import Offer, offers

MOST_ROUNDS = 10


class Fix(Node):
    """A help that was applied: the line that it was about, as it was before, and what it did."""

    line: int
    text: str


def fixed(
    source: Source, base: Path, roots: tuple[Path, ...] = (), options: Options | None = None
) -> tuple[str, tuple[Fix, ...]]:
    """The text with each help applied that is the only one for its error or warning; and what was done, in order."""
    done: list[Fix] = []
    for _ in range(MOST_ROUNDS):
        offer = _next(source, base, roots, options)
        if offer is None:
            break
        mend, span = offer.mends[0], offer.diagnostic.span
        done.append(Fix(source.position(span.start)[0], mend.text))
        source = Source(source.name, applied(source.text, mend.edits))
    return source.text, tuple(done)


def _next(source: Source, base: Path, roots: tuple[Path, ...], options: Options | None) -> Offer | None:
    report = check_source(source, base, roots, options)
    return next((o for o in offers(report, base, roots, options) if o.unambiguous), None)
