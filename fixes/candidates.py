"""A case to every fix that may work, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..lang import sweet
from ..lang.node import replace
from ..lang.source import Span
from ..ops.requirements import Reordered
from .case import Fix, FixCase
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
    sorts,
    typos,
    windows,
)
from .kept import keeps_values
from .tree import TextTree

FAMILIES: tuple[Callable[[FixCase], Iterator[Fix]], ...] = (
    names.fixes, extrema.fixes, foreign.fixes, sorts.fixes, loops.fixes, siblings.fixes, operands.fixes, attributes.fixes,
    shifts.fixes, literals.fixes, reshapes.fixes, layouts.fixes, windows.fixes, claims.fixes, missing.fixes, typos.fixes,
    conditions.fixes,
)  # fmt: skip
_BEFORE_CONDITIONS = 24


def _families(case: FixCase) -> tuple[Callable[[FixCase], Iterator[Fix]], ...]:
    """The families that are asked of a case."""
    if isinstance(case.asked, Reordered):
        return (reshapes.reordered,)
    if case.diagnostic.severity == "note":
        return (operands.fixes,)
    return (conditions.fixes,) if case.subject.of_case else FAMILIES


def candidates(case: FixCase) -> list[Fix]:
    """Every fix that may work, each change once, the likeliest first."""
    found: dict[tuple[object, ...], Fix] = {}
    for family in _families(case):
        for fix in family(case):
            key = tuple((e.span.start, e.span.end, e.text) for e in fix.edits)
            changes = any(e.text != e.span.text for e in fix.edits)
            if changes and not overlap(fix.edits) and key not in found and not _empties(case, fix):
                if case.diagnostic.code.phase == "names" or keeps_values(case.tree, fix.edits):
                    found[key] = fix
                elif fix.legal is not None:
                    found[key] = replace(fix, in_words=True, guess=True)
    unsure = [m.in_words or m.kind == "typo" and m.rank >= conditions.FAR_FETCHED for m in found.values()]
    ordered = [
        m for _, m in sorted(zip(unsure, found.values(), strict=True), key=lambda f: (f[0], len(f[1].edits), f[1].rank))
    ]
    bounds = [m for m in ordered if m.kind == "bound"]
    said = [m for m in ordered if m.kind in ("dimension", "names", "assert")]
    other = [m for m in ordered if m.is_of_operation]
    ordered = [*bounds, *other[:_BEFORE_CONDITIONS], *said, *other[_BEFORE_CONDITIONS:]]
    return [_with_line_ends(m) for m in ordered] if "\r\n" in case.tree.source.text else ordered


def _empties(case: FixCase, fix: Fix) -> bool:
    """Whether it writes 0 for a size that is written in a shape, where not just that is asked for: of empty tensors most
    things are right."""
    if case.subject.wanted == (0,):
        return False
    return any(e.text.strip() == "0" and _in_shape(case.tree, e.span) for e in fix.edits)


def _in_shape(tree: TextTree, span: Span) -> bool:
    number = tree.enclosing(span, sweet.IntLit)
    around = None if number is None else tree.enclosing(span, sweet.ListExpr)
    call = None if around is None else tree.enclosing(span, sweet.Call)
    return call is not None and any(tree.arguments(call).get(name) is around for name in literals.SHAPES)


def _with_line_ends(fix: Fix) -> Fix:
    """The line ends of a file from Windows."""
    edits = tuple(replace(e, text=e.text.replace("\r\n", "\n").replace("\n", "\r\n")) for e in fix.edits)
    return replace(fix, edits=edits)
