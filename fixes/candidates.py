"""From a case to every fix that may work, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from ..lang import sweet
from ..lang.node import replace
from ..lang.source import Span
from ..ops.requirements import Reordered
from .case import Fix, FixCase
from .edits import overlap
from .evidence import tried_first
from .families import literals
from .kept import keeps_values
from .tree import TextTree

Family = Callable[[FixCase], Iterator[Fix]]
# The modules of `families/` in the order in which they are asked, and the cases that each takes beside mistakes: reshapes
# that reorder elements, notes, cases of a function.
_ROWS = {
    "names": "", "extrema": "", "foreign": "", "sorts": "", "loops": "", "siblings": "", "operands": "note", "attributes": "",
    "shifts": "", "literals": "", "reshapes": "reordered", "layouts": "", "windows": "", "claims": "", "missing": "",
    "typos": "", "conditions": "case",
}  # fmt: skip
_FAMILIES: list[tuple[Family, str]] = [
    (import_module(f".families.{name}", __package__).fixes, of) for name, of in _ROWS.items()
]


def _families(case: FixCase) -> list[Family]:
    """Return the families to ask about a case."""
    note = "note" if case.diagnostic.severity == "note" else "case" if case.subject.of_case else ""
    asked = "reordered" if isinstance(case.asked, Reordered) else note
    return [fixes for fixes, of in _FAMILIES if asked in ("", of)]


def candidates(case: FixCase) -> list[Fix]:
    """Return every fix that may work, each change once, the likeliest first."""
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
    ordered = tried_first(found.values())
    return [_with_line_ends(m) for m in ordered] if "\r\n" in case.tree.source.text else ordered


def _empties(case: FixCase, fix: Fix) -> bool:
    """Whether a fix writes 0 for a size in a shape, unless that is wanted: most checks hold for empty tensors."""
    if case.subject.wanted == (0,):
        return False
    return any(e.text.strip() == "0" and _in_shape(case.tree, e.span) for e in fix.edits)


def _in_shape(tree: TextTree, span: Span) -> bool:
    number = tree.enclosing(span, sweet.IntLit)
    around = None if number is None else tree.enclosing(span, sweet.ListExpr)
    call = None if around is None else tree.enclosing(span, sweet.Call)
    return call is not None and any(tree.arguments(call).get(name) is around for name in literals.SHAPES)


def _with_line_ends(fix: Fix) -> Fix:
    """Return the fix with the line ends of a Windows file."""
    edits = tuple(replace(e, text=e.text.replace("\r\n", "\n").replace("\n", "\r\n")) for e in fix.edits)
    return replace(fix, edits=edits)
