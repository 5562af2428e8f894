"""What checking found, to what is told: findings are recorded as they come, and chosen among once, at the end."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang.checked import Counts
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic, Label, saying, together
from ..lang.node import replace
from ..lang.source import Span
from .followers import first_told, rooted
from .known.outcome import Finding, Sufficient

_COUNTED = {Status.PROVED: "proved", Status.REFUTED: "refuted", Status.RESIDUAL: "residual", Status.ENTRY: "entry"}


class Log:
    """What checking has found so far; one for a whole program. `certain` leaves out what fails in an arm of an inlined body:
    that is a mistake in a program, but no reason why one call cannot succeed."""

    def __init__(self, *, certain: bool = False) -> None:
        self.certain = certain
        self.counts = Counts()
        self.findings: list[Finding] = []
        # Annotations that always fail.
        self.broken: list[Span] = []

    def record(self, said: Diagnostic) -> None:
        self.findings.append(Finding(said))

    def count(self, status: Status, number: int = 1) -> None:
        field = _COUNTED[status]
        total, before = self.counts.total + number, getattr(self.counts, field) + number
        self.counts = replace(self.counts, total=total, **{field: before})

    def errors(self) -> Iterator[Diagnostic]:
        return (f.said for f in self.findings if f.said.severity == "error")


def choose(log: Log) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """What is told, and the doubts that are silent because some call fails at that very place. A failure inside an inlined body
    is told at the call, once, unless the body itself is wrong."""
    own, inlined = [f for f in log.findings if f.site is None], [f for f in log.findings if f.site is not None]
    told, follow = first_told(_standing(own, log.broken))
    wrong = {(d.code, d.span) for d in told if d.severity == "error"}
    places = {f.said.span for f in inlined}
    silent = [d for d in told if d.code.is_doubt and d.span in places]
    calls: dict[Span, Diagnostic] = {}
    for f in inlined:
        if f.site is not None and (f.said.code, f.said.span) not in wrong:
            calls.setdefault(f.site, _at_call(f.said, f.site))
    return (*(d for d in told if d not in silent), *calls.values()), (*silent, *follow)


def _at_call(said: Diagnostic, site: Span) -> Diagnostic:
    label = Label(said.span, said.caption or "it fails here")
    return replace(said, span=site, caption="in this call", labels=(label, *said.labels))


def _standing(findings: list[Finding], broken: list[Span]) -> list[Diagnostic]:
    """What nothing else outweighs. An error about a size that a call made with a doubt of its own belongs to that call."""
    made: list[Diagnostic] = []
    free: set[int] = set(map(id, findings))
    roots: set[int] = set()
    for finding in (f for f in findings if f.said.severity == "error"):
        above = {d.span for d in made}
        root = next((r for r in finding.roots if id(r) in free - roots and r.said.span not in above), None)
        roots.add(id(root))
        made.append(finding.said if root is None else rooted(with_others(root), finding.said))
    doubts = [with_others(f) for f in findings if f.said.severity != "error" and id(f) not in roots]
    found = [*made, *doubts]
    there: dict[Span, list[tuple[int, Diagnostic]]] = {}
    for number, error in enumerate(made):
        there.setdefault(error.span, []).append((number, error))
    vague = {_annotated(d) for d in doubts if d.subject is not None and d.subject.what == "rank" and d.code.is_doubt}
    return [
        d for i, d in enumerate(found)
        if not any(_outweighs(e, d, later=n > i) for n, e in there.get(d.span, ()) if e is not d)
        and not (d.code.only_empty and any(d.span.within(span) for span in broken))
        and not (_is_part(d) and _annotated(d) in vague)
    ]  # fmt: skip


def _outweighs(one: Diagnostic, other: Diagnostic, *, later: bool) -> bool:
    """What could not be proved of a call, or fails on some tensors only, does not matter where the call is an error."""
    doubtful = other.code.is_doubt or (other.code.only_empty and (later or not one.code.only_empty))
    return doubtful and one.span == other.span and not (_of_its_value(one) and other.code.is_doubt)


def _of_its_value(said: Diagnostic) -> bool:
    """Whether it is about a size that an annotation asks of a call's value, where the call's own doubt may be the reason."""
    about = said.subject
    return about is not None and about.declared is not None and not about.callee and about.what == "dim"


def _annotated(said: Diagnostic) -> tuple[Span | None, Span | None]:
    """The annotation that a diagnostic is about, and what it annotates."""
    about = said.subject
    return (None, None) if about is None else (about.declared, about.span)


def _is_part(said: Diagnostic) -> bool:
    """Whether it is a doubt about a part of an annotation: where the rank is not known either, that doubt names the whole
    shape."""
    about = said.subject
    return about is not None and said.code.is_doubt and about.declared is not None and about.what in ("dim", "shape")


def with_others(finding: Finding) -> Diagnostic:
    """A doubt with what else the same call needs that is open too: one place, one warning."""
    said, sentence, others = finding.said, finding.said.sentence, finding.others
    if not others or not said.code.is_doubt or sentence is None:
        return said
    subject = said.subject if said.subject is None else replace(said.subject, also=tuple(others.values()))
    if sentence.only:
        sufficient = sentence.sufficient or any(isinstance(text, Sufficient) for text in others)
        sentence = replace(sentence, only=(*sentence.only, *others), sufficient=sufficient)
        return saying(said, sentence, subject=subject)
    return replace(said, subject=subject, notes=(*said.notes, f"it needs {together(list(others))} too"))
