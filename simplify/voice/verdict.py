"""What is wrong to a diagnostic: one sentence with its verdict, in which all kinds of checks agree."""

from __future__ import annotations

from ...lang import codes
from ...lang.codes import Code
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, Sentence, error, warning
from ...lang.source import Span
from ..known.finding import Finding
from ..known.outcome import Sufficient


def finish(
    finding: Finding,
    code: Code,
    needs: str,
    found: str = "",
    caption: str = "",
    labels: tuple[Label | None, ...] = (),
    help_: str | None = None,
    remarks: tuple[str, ...] = (),
    witness: dict[str, int] | None = None,
) -> Diagnostic:
    """One sentence with its verdict: always fails, works only on empty tensors, or is checked at run time."""
    outcome, span, remarks, make = finding.outcome, finding.asked.span, tuple(filter(None, remarks)), warning
    sentence = Sentence(needs, found, "this could not be proved and is checked at run time")
    if outcome.status is Status.REFUTED:
        sentence, make = Sentence(needs, found, "" if code.is_whole else "this always fails"), error
    elif outcome.only_empty:
        code, make = codes.E310, error if finding.is_error else warning
        sentence = Sentence(needs, found, "this works only on empty tensors")
        plain = outcome.only and not isinstance(outcome.only, Sufficient)
        if plain and not any("holds only for" in remark for remark in remarks):
            remarks = (f"it holds only for {outcome.only}", *remarks)
    else:
        code, only = codes.W311, outcome.only
        if only is not None:
            sentence = Sentence(needs, found, only=(only,), sufficient=isinstance(only, Sufficient))
    return make(
        code, str(sentence), span, caption=caption, labels=distinct(span, labels), function=finding.function, help=help_,
        witness=witness or outcome.witness, notes=remarks, sentence=sentence,
    )  # fmt: skip


def distinct(span: Span, labels: tuple[Label | None, ...]) -> tuple[Label, ...]:
    """Each place of which there is something to say once, the primary one not again."""
    kept: dict[Span, Label] = {}
    for label in labels:
        if label is not None and label.message and label.span != span and label.span.source.text:
            kept.setdefault(label.span, label)
    return tuple(kept.values())
