"""What is wrong to a diagnostic: one sentence with its verdict, in which all kinds of checks agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, error, warning
from ...lang.node import replace
from ...lang.source import Span
from ...ops.wording import listed
from ..known.outcome import Options, Outcome, Sufficient
from ..known.state import State
from ..solver.conditions import Cond
from ..solver.terms import Size


class Speaker(Protocol):
    """Who reports: the walker of a function."""

    state: State
    options: Options
    function: str

    def withdraw(self, said: Diagnostic) -> bool: ...

    def smallest(self, sizes: Iterable[Size], given: tuple[Cond, ...]) -> dict[str, int] | None: ...


_ONLY = "this holds only if "
_IF = "this holds if "
_CHECKED = ", which is checked at run time"


def finish(
    walker: Speaker,
    outcome: Outcome,
    code: str,
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
        message = f"{needs}{but}" if code == "E220" else f"{needs}{but}: this always fails"
        return error(
            code, message, span, caption=caption, labels=labels, function=walker.function, help=help_,
            witness=outcome.witness, notes=remarks,
        )  # fmt: skip
    if outcome.only_empty:
        message = f"{needs}{but}: this works only on empty tensors"
        make = warning if walker.options.allow_empty else error
        said = any("holds only for" in remark for remark in remarks)
        only = (
            (f"it holds only for {outcome.only}",)
            if outcome.only and not said and not isinstance(outcome.only, Sufficient)
            else ()
        )
        return make(
            "E310", message, span, caption=caption, labels=labels, function=walker.function, help=help_,
            witness=outcome.witness, notes=(*only, *remarks),
        )  # fmt: skip
    if outcome.only is not None:
        only_if = _IF if isinstance(outcome.only, Sufficient) else _ONLY
        message = f"{needs}{but}: {only_if}{outcome.only}{_CHECKED}"
    else:
        message = f"{needs}{but}: this could not be proved and is checked at run time"
    return warning(
        "W311", message, span, caption=caption, labels=labels, function=walker.function, help=help_,
        witness=outcome.witness, notes=remarks,
    )  # fmt: skip


def with_others(said: Diagnostic, others: Mapping[str, str]) -> Diagnostic:
    """What the same call needs besides, where that is open too, as it is said and as it is written: one place, one
    warning."""
    subject = said.subject
    told = said if subject is None else replace(said, subject=replace(subject, also=tuple(others.values())))
    plain = said.message.removesuffix(_CHECKED)
    only_if = next((text for text in (_ONLY, _IF) if text in plain), None)
    if only_if is None:
        return replace(told, notes=(*said.notes, f"it needs {_together(list(others))} too"))
    head, _, first = plain.rpartition(only_if)
    whole = _IF if any(isinstance(text, Sufficient) for text in others) else only_if
    return replace(told, message=f"{head}{whole}{_together([first, *others])}{_CHECKED}")


def _together(conditions: list[str]) -> str:
    return ", and ".join(conditions) if any(" or " in c for c in conditions) else listed(conditions)


def distinct(span: Span, labels: tuple[Label, ...]) -> tuple[Label, ...]:
    """Each place once, the primary one not again."""
    kept: dict[Span, Label] = {}
    for label in labels:
        if label.span != span and label.span.source.text and label.span not in kept:
            kept[label.span] = label
    return tuple(kept.values())
