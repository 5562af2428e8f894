"""The invariant of a loop: the conditions of its carries' annotations, before and after each turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from ..lang import codes, core
from ..lang.node import Node, replace
from ..lang.source import Span
from ..lang.walk import rewrite
from . import naming
from .binding import Bound
from .errors import fail


def invariants(stmt: core.Stmt, bound: list[Bound]) -> Iterator[core.Invariant]:
    """Yield a statement of solved annotations as conditions on the carries."""
    if isinstance(stmt, core.Assert):
        yield core.Invariant(stmt.span, _over_carries(stmt.cond, bound, stmt.span), stmt.origin)
        return
    if not isinstance(stmt, core.MatchShape):
        _unsupported(stmt.span)
    span, tensor = stmt.span, stmt.tensor
    splices = [d for d in stmt.dims if isinstance(d, core.Splice)]
    new = [d for d in splices if d.name in stmt.binds]
    if new and len(splices) > 1:
        _unsupported(span)
    least = len(stmt.dims) - len(splices)
    if least:
        ranks = core.Compare(span, ">=", core.RankOf(span, tensor), core.SizeLit(span, least))
        yield core.Invariant(span, ranks, replace(stmt.origin, what="rank"))
    if not new:
        whole = core.Compare(span, "==", core.ShapeOf(span, tensor), core.ShapeLit(span, stmt.dims))
        yield core.Invariant(span, _over_carries(whole, bound, span), stmt.origin)


def _over_carries(cond: core.BoolExpr, bound: list[Bound], span: Span) -> core.BoolExpr:
    """Return a condition with the names that a match binds replaced by their values in terms of the carry."""
    exprs = {b.name: b.expr for b in bound if b.match is not None}

    def change(node: Node) -> Node:
        if isinstance(node, core.SizeVar) and node.name in exprs:
            found = exprs[node.name]
            return node if isinstance(found, core.SizeVar) else found
        return node

    made = rewrite(cond, change)
    if any(n in exprs for n in naming.speaks_of(made)):
        _unsupported(span)
    return made


def _unsupported(span: Span) -> NoReturn:
    fail(
        codes.E299, "this type is not supported for a carried value yet", span,
        help="bind `*s` before the loop, as `match_shape(x, [s], [*s])` does; a carry without annotation keeps its shape",
    )  # fmt: skip
