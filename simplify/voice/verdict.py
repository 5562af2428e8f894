"""What is wrong to a diagnostic: one sentence with its verdict, in which all kinds of checks agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...lang import codes
from ...lang.codes import Code
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, error, warning
from ...lang.node import replace
from ...lang.source import Span
from ...ops.wording import listed
from ..known.outcome import Options, Outcome
from ..known.state import State


class Speaker(Protocol):
    """Who reports: the walker of a function."""

    state: State
    options: Options
    function: str

    def withdraw(self, said: Diagnostic) -> bool: ...


_ONLY = "this holds only if "
_CHECKED = ", which is checked at run time"


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
    but = f", but {found}" if found else ""
    labels = distinct(span, labels)
    if outcome.status is Status.REFUTED:
        message = f"{needs}{but}" if code.is_whole else f"{needs}{but}: this always fails"
        return error(
            code, message, span, caption=caption, labels=labels, function=walker.function, help=help_,
            witness=outcome.witness, notes=remarks,
        )  # fmt: skip
    if outcome.only_empty:
        message = f"{needs}{but}: this works only on empty tensors"
        make = warning if walker.options.allow_empty else error
        said = any("holds only for" in remark for remark in remarks)
        only = (f"it holds only for {outcome.only}",) if outcome.only and not said else ()
        return make(
            codes.E310, message, span, caption=caption, labels=labels, function=walker.function, help=help_,
            witness=outcome.witness, notes=(*only, *remarks),
        )  # fmt: skip
    if outcome.only is not None:
        message = f"{needs}{but}: {_ONLY}{outcome.only}{_CHECKED}"
    else:
        message = f"{needs}{but}: this could not be proved and is checked at run time"
    return warning(
        codes.W311, message, span, caption=caption, labels=labels, function=walker.function, help=help_,
        witness=outcome.witness, notes=remarks,
    )  # fmt: skip


def with_others(said: Diagnostic, others: Mapping[str, str]) -> Diagnostic:
    """What the same call needs besides, where that is open too, as it is said and as it is written: one place, one
    warning."""
    subject = said.subject
    told = said if subject is None else replace(said, subject=replace(subject, also=tuple(others.values())))
    head, only_if, first = said.message.removesuffix(_CHECKED).rpartition(_ONLY)
    if not only_if:
        return replace(told, notes=(*said.notes, f"it needs {_together(list(others))} too"))
    return replace(told, message=f"{head}{_ONLY}{_together([first, *others])}{_CHECKED}")


def _together(conditions: list[str]) -> str:
    return ", and ".join(conditions) if any(" or " in c for c in conditions) else listed(conditions)


def distinct(span: Span, labels: tuple[Label, ...]) -> tuple[Label, ...]:
    """Each place once, the primary one not again."""
    kept: dict[Span, Label] = {}
    for label in labels:
        if label.span != span and label.span.source.text and label.span not in kept:
            kept[label.span] = label
    return tuple(kept.values())
