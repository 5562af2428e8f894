"""A case to every mend that may work, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..lang import sweet
from ..lang.node import replace
from ..lang.source import Span
from ..ops.requirements import Reordered
from .case import Case, Mend
from .edits import overlap
from .families import (
    attributes,
    claims,
    conditions,
    extrema,
    foreign,
    layouts,
    literals,
    loops,
    missing,
    names,
    operands,
    reshapes,
    shifts,
    siblings,
    slips,
    sorts,
    windows,
)
from .kept import keeps_values
from .tree import Tree

FAMILIES: tuple[Callable[[Case], Iterator[Mend]], ...] = (
    names.mends, extrema.mends, foreign.mends, sorts.mends, loops.mends, siblings.mends, operands.mends, attributes.mends,
    shifts.mends, literals.mends, reshapes.mends, layouts.mends, windows.mends, claims.mends, missing.mends, slips.mends,
    conditions.mends,
)  # fmt: skip
_BEFORE_CONDITIONS = 24


def _families(case: Case) -> tuple[Callable[[Case], Iterator[Mend]], ...]:
    """The families that are asked of a case."""
    if isinstance(case.asked, Reordered):
        return (reshapes.reordered,)
    if case.diagnostic.severity == "note":
        return (operands.mends,)
    return (conditions.mends,) if case.subject.of_case else FAMILIES


def candidates(case: Case) -> list[Mend]:
    """Every mend that may work, each change once, the likeliest first."""
    found: dict[tuple[object, ...], Mend] = {}
    for family in _families(case):
        for mend in family(case):
            key = tuple((e.span.start, e.span.end, e.text) for e in mend.edits)
            changes = any(e.text != e.span.text for e in mend.edits)
            if changes and not overlap(mend.edits) and key not in found and not _empties(case, mend):
                if case.diagnostic.code.phase == "names" or keeps_values(case.tree, mend.edits):
                    found[key] = mend
                elif mend.legal is not None:
                    found[key] = replace(mend, in_words=True, guess=True)
    unsure = [m.in_words or m.kind == "slip" and m.rank >= conditions.FAR_FETCHED for m in found.values()]
    ordered = [
        m for _, m in sorted(zip(unsure, found.values(), strict=True), key=lambda f: (f[0], len(f[1].edits), f[1].rank))
    ]
    bounds = [m for m in ordered if m.kind == "bound"]
    said = [m for m in ordered if m.kind in ("dimension", "names", "assert")]
    other = [m for m in ordered if m.is_of_operation]
    ordered = [*bounds, *other[:_BEFORE_CONDITIONS], *said, *other[_BEFORE_CONDITIONS:]]
    return [_with_line_ends(m) for m in ordered] if "\r\n" in case.tree.source.text else ordered


def _empties(case: Case, mend: Mend) -> bool:
    """Whether it writes 0 for a size that is written in a shape, where not just that is asked for: of empty tensors most
    things are right."""
    if case.subject.wanted == (0,):
        return False
    return any(e.text.strip() == "0" and _in_shape(case.tree, e.span) for e in mend.edits)


def _in_shape(tree: Tree, span: Span) -> bool:
    number = tree.enclosing(span, sweet.IntLit)
    around = None if number is None else tree.enclosing(span, sweet.ListExpr)
    call = None if around is None else tree.enclosing(span, sweet.Call)
    return call is not None and any(tree.arguments(call).get(name) is around for name in literals.SHAPES)


def _with_line_ends(mend: Mend) -> Mend:
    """The line ends of a file from Windows."""
    edits = tuple(replace(e, text=e.text.replace("\r\n", "\n").replace("\n", "\r\n")) for e in mend.edits)
    return replace(mend, edits=edits)
