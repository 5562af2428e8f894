"""Whether a fix keeps the values that a program computes with: it may arrange them differently, but must not make others.

Arrangements are: axes that are moved, added or dropped, `keepdims`, the order of arguments, an offset of an index or slice, a
name of the same sort, the size that an annotation declares. Other values, so no fix, are: a tensor that the program makes
itself in another size, values that are cut off, labels of another kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..lang import sweet
from ..lang.diagnostics import Edit, RxError
from ..lang.parser import parse_expr
from ..lang.source import Span
from ..lang.walk import walk
from ..ops.registry import lookup
from .tree import TextTree, callee


def keeps_values(tree: TextTree, edits: Sequence[Edit]) -> bool:
    """Whether all tensors that a program makes itself stay the same after some edits."""
    return not any(_changes_a_number(e) and _remakes(tree, e.span) for e in edits)


def _changes_a_number(edit: Edit) -> bool:
    numbers = _numbers(edit.span.text)
    return bool(numbers) and numbers != _numbers(edit.text)


def _numbers(text: str) -> list[int]:
    """Return the numbers of an expression; none for other parts of a program."""
    try:
        return [n.value for n in walk(parse_expr(text)) if isinstance(n, sweet.IntLit)]
    except RxError:
        return []


def _remakes(tree: TextTree, number: Span) -> bool:
    """Whether a tensor is made of the number at a place: `@zeros([1, 23])`, or of a name that is bound to it."""
    let = tree.enclosing(number, sweet.Let)
    if let is None or let.value.span != number:
        return _is_made(tree, number)
    named = {name.name for name in let.names}
    return any(_is_made(tree, n.span) for n in walk(tree.module) if isinstance(n, sweet.Name) and n.name in named)


def _is_made(tree: TextTree, place: Span) -> bool:
    """Whether it is an argument of a call that makes a tensor from sizes alone."""
    calls = (call for call in tree.around(place, sweet.Call) if place.start >= call.callee.span.end)
    rows = filter(None, (lookup(callee(call)) for call in calls))
    return any(
        row.params[0].kind in ("shape", "size", "float") or row.params[0].name == "key" for row in rows if row.params
    )
