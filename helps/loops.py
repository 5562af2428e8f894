"""Mends of a loop's invariant: a carry that grows says so, by the loop's index or by a name with what is known of it."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..lang.diagnostics import Edit
from ..lang.walk import walk
from .case import Case, Mend, inserted, replaced

_RANK = 4
# What a size is called that changes from turn to turn.
_NAMES = "pqrkmnuvw"
Loop = sweet.For | sweet.While


def mends(case: Case) -> Iterator[Mend]:
    """Where a turn ends with another size than the annotation of its carry keeps."""
    asked = case.subject.declared
    carry = None if asked is None else case.tree.enclosing(asked, sweet.Carry)
    if asked is None or carry is None or carry.type is None or case.subject.what != "dim" or case.callee:
        return
    found = case.tree.of(asked.source).find(asked, sweet.TensorType)
    dims = found.shape if isinstance(found, sweet.TensorType) else None
    loop = _around(case, carry)
    axis = case.subject.at[0][1]
    if (
        not isinstance(dims, sweet.ListExpr)
        or loop is None
        or axis is None
        or not -len(dims.items) <= axis < len(dims.items)
    ):
        return
    item, shown = dims.items[axis], carry.type.span
    if case.subject.grown:
        grown = replaced(item, case.subject.grown)
        yield case.mend(f"`{carry.name.name}` grows in each turn", [grown], _RANK, show=shown)
    yield from _existential(case, loop, carry, item)


def _around(case: Case, carry: sweet.Carry) -> Loop | None:
    found = (case.tree.enclosing(carry.span, sweet.For), case.tree.enclosing(carry.span, sweet.While))
    return next((loop for loop in found if loop is not None and carry in loop.carries), None)


def _existential(case: Case, loop: Loop, carry: sweet.Carry, item: sweet.Expr) -> Iterator[Mend]:
    """The size has a name of its own, which may change, and stays at least (or at most) what it was."""
    taken = {n.name for n in walk(case.tree.module) if isinstance(n, sweet.Ident | sweet.Name)}
    name = next((n for n in _NAMES if n not in taken), None)
    for position, sign in enumerate((">=", "<=") if name is not None else ()):
        condition = f"{name} {sign} {item.span.text}"
        what = f"let the size change from turn to turn: `{name}` for `{item.span.text}`, with `where {condition}`"
        edits = (replaced(item, str(name)), _where(loop, condition))
        yield Mend(what, edits, _RANK + 1 + position, what, True)


def _where(loop: Loop, condition: str) -> Edit:
    """One more condition of the invariant."""
    if loop.where:
        return inserted(loop.span, loop.where[-1].span.end, f", {condition}")
    behind = loop.span.source.text.index(")", loop.carries[-1].span.end) + 1
    return inserted(loop.span, behind, f" where {condition}")
