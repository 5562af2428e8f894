"""What was found to what is told: one finding for a mistake, at the operation; what follows from it is silent."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang.source import Span
from ..ops.requirements import AtLeast, AtMost, AxisInRange, DTypeRequirement, Multiple, OfRank, RankAtLeast, RankIs
from .known.finding import Finding

# What is asked of sizes that are right otherwise; a doubt about it is no reason to think that anything else is wrong.
_ORDINARY = (Multiple, AtLeast, AtMost, AxisInRange, DTypeRequirement, OfRank, RankAtLeast, RankIs)


def first_told(found: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """What is told, and the doubts that follow from it."""
    kept, silent = _once(found)
    kept = _with_roots(kept)
    doubts = {f.about.place for f in kept if f.about is not None and _is_of_sizes(f)}
    follows = [f for f in kept if f.is_doubt and f.about is not None and f.about.after & doubts]
    # What a call needs is no matter where what it gives is wrong anyway.
    behind = {span for f in kept if f.is_error and f.about is not None and f.about.is_claim for span in f.about.after}
    follows += [
        f for f in kept if f.is_doubt and f not in follows and _is_call(f) and f.about and f.about.place in behind
    ]
    return [f for f in kept if f not in follows], silent + follows


def _once(found: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """A call or an annotation is told of once: an error before a doubt, the first before the others."""
    kept: dict[object, Finding] = {}
    silent = []
    for finding in found:
        site = _site(finding) or finding
        before = kept.get(site)
        if before is None:
            kept[site] = finding
        elif finding.is_error and not before.is_error:
            kept[site] = finding
            silent.append(before)
        elif finding.is_doubt or finding.only_empty:
            silent.append(finding)
        else:
            kept[finding] = finding
    return list(kept.values()), silent


def _site(finding: Finding) -> tuple[str, Span, Span | None] | None:
    """The call with what it calls, or the value with the annotation."""
    about = finding.about
    if about is None or about.what in ("rank", "dtype"):
        return None
    return about.callee, about.place, None if about.callee else about.declared


def _with_roots(found: list[Finding]) -> list[Finding]:
    """An annotation that cannot be right, of a value whose call is in doubt: one of the two fails, and the call is told."""
    gone: list[Finding] = []
    for finding in found:
        own = finding.about
        if finding.is_error and own is not None and own.is_claim and own.what == "dim":
            doubts = (f for f in found if f.is_doubt and f.about and f.about.place == own.place and _is_of_sizes(f))
            doubt = next(doubts, None)
            if doubt is not None:
                doubt.use = finding
                gone.append(finding)
    return [f for f in found if f not in gone]


def _is_call(finding: Finding) -> bool:
    return finding.about is not None and bool(finding.about.callee)


def _is_of_sizes(finding: Finding) -> bool:
    """Whether it is about a call two of whose sizes do not fit."""
    return _is_call(finding) and finding.about is not None and not isinstance(finding.about.asked, _ORDINARY)
