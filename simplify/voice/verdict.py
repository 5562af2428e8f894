"""What is wrong to a diagnostic: one sentence with its verdict, in which all kinds of checks agree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ...lang import codes
from ...lang.codes import Code
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, Sentence, error, warning
from ...lang.source import Span
from ..known.outcome import Options, Outcome, Sufficient
from ..known.state import State
from ..solver.conditions import Cond
from ..solver.terms import Size


class Speaker(Protocol):
    """Who reports: the walker of a function."""

    state: State
    options: Options
    function: str

    def smallest(self, sizes: Iterable[Size], given: tuple[Cond, ...]) -> dict[str, int] | None: ...


def finish(
    walker: Speaker,
    outcome: Outcome,
    code: Code,
    needs: str,
    found: str,
    span: Span,
    caption: str = "",
    labels: tuple[Label, ...] = (),
    help_: str | None = None,
    remarks: tuple[str, ...] = (),
) -> Diagnostic:
    """One sentence with its verdict: always fails, works only on empty tensors, or is checked at run time."""
    labels, witness = distinct(span, labels), outcome.witness
    sentence, make = Sentence(needs, found, "this could not be proved and is checked at run time"), warning
    if outcome.status is Status.REFUTED:
        sentence, make = Sentence(needs, found, "" if code.is_whole else "this always fails"), error
    elif outcome.only_empty:
        code, make = codes.E310, warning if walker.options.allow_empty else error
        sentence = Sentence(needs, found, "this works only on empty tensors")
        if (
            outcome.only
            and not isinstance(outcome.only, Sufficient)
            and not any("holds only for" in remark for remark in remarks)
        ):
            remarks = (f"it holds only for {outcome.only}", *remarks)
    else:
        code, only = codes.W311, outcome.only
        sentence = (
            sentence if only is None else Sentence(needs, found, only=(only,), sufficient=isinstance(only, Sufficient))
        )
    return make(
        code, str(sentence), span, caption=caption, labels=labels, function=walker.function, help=help_, witness=witness,
        notes=remarks, sentence=sentence,
    )  # fmt: skip


def distinct(span: Span, labels: tuple[Label, ...]) -> tuple[Label, ...]:
    """Each place once, the primary one not again."""
    kept: dict[Span, Label] = {}
    for label in labels:
        if label.span != span and label.span.source.text and label.span not in kept:
            kept[label.span] = label
    return tuple(kept.values())
