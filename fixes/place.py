"""From a diagnostic with its best fix to the place where it is shown: the operation that its first fix changes."""

from __future__ import annotations

from ..lang import sweet
from ..lang.diagnostics import Diagnostic, Label
from ..lang.node import replace
from ..lang.source import Span
from .case import Fix
from .tree import TextTree

LIKELY = "the mistake is likely here"
_FAILS = "this is where it does not fit"
_OPERATIONS = (sweet.Call, sweet.Index, sweet.TensorType)


def place(diagnostic: Diagnostic, fixes: tuple[Fix, ...], tree: TextTree) -> Span:
    """Return the operation of the same function that the first fix changes, if nothing is wrong after it; else the place of
    the failure."""
    at = diagnostic.span
    if not fixes or diagnostic.severity == "note" or not fixes[0].settles or not _is_of_body(fixes[0]):
        return at
    if _touches(_hull(fixes[0]), at):
        return at
    changed = _operation(fixes[0], tree)
    return at if changed is None or not _are_of_one_body(changed, at, tree) else changed


def told_at(diagnostic: Diagnostic, span: Span) -> Diagnostic:
    """Return the diagnostic at another operation; its caption and tables stay at the place of the failure."""
    if span == diagnostic.span:
        return diagnostic
    tables = [note for note in diagnostic.notes if "\n" in note]
    here = "\n".join(filter(None, (diagnostic.caption, *tables))) or _FAILS
    also = [label.message for label in diagnostic.labels if label.span == span and label.message]
    labels = (Label(diagnostic.span, here), *(label for label in diagnostic.labels if label.span != span))
    notes = tuple(note for note in diagnostic.notes if note not in tables)
    caption = "; ".join([*also, LIKELY])
    return replace(diagnostic, span=span, caption=caption, labels=labels, notes=notes)


def _is_of_body(fix: Fix) -> bool:
    """Whether it changes an operation, and not an annotation."""
    return fix.is_of_operation and not fix.gives_way


def _hull(fix: Fix) -> Span:
    """Return the span from its first edit to its last."""
    spans = [edit.span for edit in fix.edits]
    return Span(spans[0].source, min(s.start for s in spans), max(s.end for s in spans))


def _operation(fix: Fix, tree: TextTree) -> Span | None:
    """Return the innermost operation around all its edits; None if they are in several statements."""
    hull = _hull(fix)
    statement = tree.statement(fix.edits[0].span)
    if any(tree.statement(edit.span) is not statement for edit in fix.edits):
        return None
    around = [node.span for kind in _OPERATIONS if (node := tree.enclosing(hull, kind)) is not None]
    inner = min(around, key=lambda span: span.end - span.start, default=hull)
    beyond = statement is not None and statement.span != inner and statement.span.within(inner)
    return hull if beyond else inner


def _touches(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end


def _are_of_one_body(one: Span, other: Span, tree: TextTree) -> bool:
    found = [tree.enclosing(span, sweet.FnDecl) for span in (one, other)]
    body = found[0].fn.body if found[0] is not None else None
    return found[0] is found[1] and body is not None and one.within(body.span)
