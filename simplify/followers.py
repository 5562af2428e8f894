"""What was found to what is told: one diagnostic for a mistake, at the operation; what follows from it is silent."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang.diagnostics import Diagnostic, Label, Subject, saying
from ..lang.node import replace
from ..lang.source import Span
from ..ops.requirements import AtLeast, AtMost, AxisInRange, DTypeRequirement, Multiple, OfRank, RankAtLeast, RankIs

# What is asked of sizes that are right otherwise; a doubt about it is no reason to think that anything else is wrong.
_ORDINARY = (Multiple, AtLeast, AtMost, AxisInRange, DTypeRequirement, OfRank, RankAtLeast, RankIs)


def first_told(found: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What is told, and the doubts that follow from it."""
    kept, silent = _once(found)
    kept = _with_roots(kept)
    doubts = {d.subject.span for d in kept if d.subject is not None and _is_of_sizes(d)}
    follows = [d for d in kept if d.code.is_doubt and d.subject is not None and d.subject.after & doubts]
    wrong = [d.subject for d in kept if d.severity == "error" and d.subject is not None and _is_claim(d.subject)]
    # What a call needs is no matter where what it gives is wrong anyway.
    behind = {span for about in wrong for span in about.after}
    following = set(map(id, follows))
    follows += [d for d in kept if d.code.is_doubt and id(d) not in following and _called_in(d, behind)]
    following.update(map(id, follows))
    return [d for d in kept if id(d) not in following], silent + follows


def _once(found: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """A call or an annotation is told of once: an error before a doubt, the first before the others."""
    kept: dict[object, Diagnostic] = {}
    silent = []
    for number, said in enumerate(found):
        site = _site(said) or number
        before = kept.get(site)
        if before is None:
            kept[site] = said
        elif said.severity == "error" and before.severity != "error":
            kept[site] = said
            silent.append(before)
        elif said.code.is_doubt or said.code.only_empty:
            silent.append(said)
        else:
            kept[number] = said
    return list(kept.values()), silent


def _site(said: Diagnostic) -> tuple[str, Span, Span | None] | None:
    """The call with what it calls, or the value with the annotation."""
    about = said.subject
    if about is None or said.severity == "note" or about.what in ("rank", "dtype"):
        return None
    return about.callee, about.span, None if about.callee else about.declared


def _with_roots(found: list[Diagnostic]) -> list[Diagnostic]:
    """An annotation that cannot be right, of a value whose call is in doubt: one of the two fails, and the call is told."""
    for said in [d for d in found if d.severity == "error" and d.subject is not None and _is_claim(d.subject)]:
        own = said.subject
        doubts = [
            d for d in found
            if d.code.is_doubt and d.subject is not None and own is not None and d.subject.callee
            and d.subject.span == own.span and _is_of_sizes(d)
        ]  # fmt: skip
        if doubts and own is not None and own.what == "dim":
            root = rooted(doubts[0], said)
            found = [root if d is doubts[0] else d for d in found if d is not said]
    return found


def _called_in(said: Diagnostic, places: set[Span]) -> bool:
    return said.subject is not None and bool(said.subject.callee) and said.subject.span in places


def _is_claim(about: Subject) -> bool:
    return about.declared is not None and not about.callee


def _is_of_sizes(said: Diagnostic) -> bool:
    """Whether it is about a call two of whose sizes do not fit."""
    about = said.subject
    if about is None or said.severity == "note" or not about.callee:
        return False
    return said.code.phase == "sizes" and not isinstance(about.asked, _ORDINARY)


def rooted(doubt: Diagnostic, said: Diagnostic) -> Diagnostic:
    """The doubt becomes the error, and where the size is used is the reason: one of the two fails."""
    assert doubt.sentence is not None and said.sentence is not None
    sentence = replace(doubt.sentence, verdict=f"with its use below {said.sentence.verdict}", only=())
    label, same = Label(said.span, f"here {said.sentence.claim}"), said.span == doubt.span
    return saying(
        doubt, sentence, code=said.code, severity="error", labels=doubt.labels if same else (label,),
        witness=said.witness,
        notes=(*(n for n in doubt.notes if same and "\n" in n), *(n for n in said.notes if "\n" not in n)),
    )  # fmt: skip
