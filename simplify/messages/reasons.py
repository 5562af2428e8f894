"""The facts of a refutation as labels: assertions, the signature, the conditions of arms."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang import core
from ...lang.diagnostics import Diagnostic, Label
from ...lang.node import replace
from .spoken import CallInfo

# The label of an annotation in a body, by its kind.
_KINDS = {
    "asserting": "this is asserted before",
    "match_shape": "this is asserted before",
    "claim": "this is claimed before",
}
_COUNTS = {2: "both", 3: "all three", 4: "all four"}


def label(reason: object) -> Label | None:
    """The label at a condition that the user wrote, or at a call that has to work."""
    match reason:
        case core.Assert(origin=core.Origin(what="assert")):
            return Label(reason.span, "this is asserted before")
        case core.Assert(origin=core.Origin(what="where")):
            return Label(reason.origin.span, "the signature says this")
    if isinstance(reason, core.Not):
        return Label(reason.span, "this is false here")
    if isinstance(reason, core.Compare | core.Logic | core.BoolVar | core.InClass):
        return Label(reason.span, "this is true here")
    return Label(reason.span, "this call has to work too") if isinstance(reason, CallInfo) else None


def _annotated(reason: object) -> Label | None:
    """The label at an annotation in a body about a dimension; a signature's annotation is shown anyway as the size's
    origin."""
    match reason:
        case core.Assert(origin=core.Origin(what="dim", declared=core.Declared(kind=kind))) if kind in _KINDS:
            return Label(reason.origin.span, _KINDS[kind])
    return None


def labelled(said: Diagnostic, reasons: Iterable[object]) -> Diagnostic:
    """Add a label for each fact that the diagnostic rests on and does not show yet."""
    shown = {said.span, *(at.span for at in said.labels)}
    more = [at for at in (label(r) or _annotated(r) for r in reasons) if at is not None and at.span not in shown]
    return replace(said, labels=(*said.labels, *more)) if more else said


def contradiction(reasons: Iterable[object]) -> str | None:
    """`"`n > 8` and `n < k`: no sizes satisfy all three"`: the facts that an assertion contradicts; None without an assertion
    among them."""
    spoken = [r for r in reasons if label(r) is not None and not isinstance(r, CallInfo)]
    if not any(isinstance(r, core.Assert) and r.origin.what == "assert" for r in spoken):
        return None
    texts = [f"`{_text(r)}`" for r in spoken]
    listed = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
    return f"{listed}: no sizes satisfy {_COUNTS.get(len(texts) + 1, 'them all')}"


def _text(reason: object) -> str:
    if isinstance(reason, core.Assert):
        return reason.origin.text or reason.span.text
    assert isinstance(reason, core.BoolExpr)
    return f"!({reason.span.text})" if isinstance(reason, core.Not) else reason.span.text
