"""Which statements name the sizes that a body uses, and in which order."""

from __future__ import annotations

from collections import Counter

from ..lang import core
from ..lang.node import replace
from ..lang.walk import walk
from .binding import Bound
from .code import FunctionCode
from .scope import Scope, ScopeEntry


def is_destructuring(stmt: core.Stmt) -> bool:
    return isinstance(stmt, core.Let) and stmt.is_tuple and isinstance(stmt.value, core.Var)


def destructurings(candidates: list[core.Stmt], stmts: list[core.Stmt]) -> list[core.Stmt]:
    """Return the `let (x_0, x_1) = x` whose parts some statements use."""
    kept: list[core.Stmt] = []
    spoken = _tensors(stmts)
    for stmt in reversed(candidates):
        assert isinstance(stmt, core.Let)
        if spoken & set(stmt.names):
            kept.insert(0, stmt)
            assert isinstance(stmt.value, core.Var)
            spoken.add(stmt.value.name)
    return kept


def entries(code: FunctionCode, bound: list[Bound]) -> dict[str, ScopeEntry]:
    """Bind the names of annotations for a body, each as a variable, in a scope inside the current one."""
    made: dict[str, ScopeEntry] = {}
    code.scope = Scope(code.scope)
    for found in bound:
        here = core.variable(found.span, found.name, found.sort)
        made[found.name] = entry = ScopeEntry(found.spelling, found.sort, here, found.span, "size", found.nonneg)
        code.scope.bind(entry)
    return made


def lets(bound: list[Bound], used: set[str], there: list[core.Stmt] | None = None) -> list[core.Stmt]:
    """Return `let m : Size = x.dim(1) / 4` for the names that are used, in the order of their binding; names of splices are
    bound by their match_shape. If earlier statements `there` bind some of them, no match_shape is repeated."""
    needed = _needed(bound, used)
    waiting: list[core.Stmt] = []
    if there is None:
        waiting.extend(narrowed(m, needed) for m in _matches(bound, needed))
    have = named_in(waiting if there is None else there)
    for found in bound:
        if found.name in needed and found.name not in have:
            waiting.append(core.Let(found.span, (found.name,), False, found.sort, found.expr))
    return by_need(waiting)


def _matches(bound: list[Bound], needed: set[str]) -> list[core.MatchShape]:
    """Return the match_shapes that alone can bind a needed name: a splice, or a size between two splices."""
    found: list[core.MatchShape] = []
    for b in bound:
        only_there = b.match is not None and (b.sort == core.SHAPE or only_matched(b))
        if only_there and b.match is not None and b.name in needed and b.match not in found:
            found.append(b.match)
    return found


def _needed(bound: list[Bound], used: set[str]) -> set[str]:
    """Return the used names and those in their definitions."""
    needed = set(used)
    while True:
        more = {n for b in bound if b.name in needed for n in speaks_of(b.expr)}
        more |= {n for m in _matches(bound, needed) for n in speaks_of(narrowed(m, needed)) if n not in m.binds}
        if more <= needed:
            return needed
        needed |= more


def of_stacks(bound: list[Bound], *made: object) -> set[str]:
    """Return the names of shapes if a loop stacks a value without an annotated type: that type may need them."""
    told = any(isinstance(n, core.Stacked) and n.dtype is None for n in walk(made))
    return {b.name for b in bound if b.sort == core.SHAPE} if told else set()


def _tensors(stmts: list[core.Stmt]) -> set[str]:
    asked = core.RankOf | core.DimOf | core.ShapeOf | core.DTypeOf | core.MatchShape
    return {node.tensor for node in walk(tuple(stmts)) if isinstance(node, asked)}


def only_matched(found: Bound) -> bool:
    """Whether it is a size between two splices, which no literal axis reaches."""
    return isinstance(found.expr, core.SizeVar) and found.expr.name == found.name


def narrowed(stmt: core.MatchShape, needed: set[str]) -> core.MatchShape:
    """Return a match_shape that binds only the needed names; the other dimensions match anything."""
    after = next((i for i, d in enumerate(stmt.dims) if isinstance(d, core.Splice) and d.name in stmt.binds), None)
    dims: list[core.SizeExpr | core.Splice] = []
    binds = list(stmt.binds)
    for i, dim in enumerate(stmt.dims):
        drop = isinstance(dim, core.SizeVar) and dim.name in stmt.binds and dim.name not in needed
        splices = [j for j, d in enumerate(stmt.dims) if isinstance(d, core.Splice)]
        if drop and after is not None and (i < splices[0] or i > splices[-1]):
            assert isinstance(dim, core.SizeVar)
            binds.remove(dim.name)
            axis = i if i < splices[0] else i - len(stmt.dims)
            dims.append(core.DimOf(dim.span, stmt.tensor, axis))
        else:
            dims.append(dim)
    origin = replace(stmt.origin, claim=False)  # the wrapper has asserted it
    return replace(stmt, binds=tuple(binds), dims=tuple(dims), origin=origin)


def speaks_of(node: object) -> set[str]:
    """Return the shape-level names in a core tree."""
    return {n.name for n in walk(node) if isinstance(n, core.SizeVar | core.ShapeVar | core.Splice)}


def by_need(stmts: list[core.Stmt]) -> list[core.Stmt]:
    """Return the statements in their order, each after those that bind its names."""
    waiting, ordered = [(stmt, speaks_of(stmt), named_in([stmt])) for stmt in stmts], []
    missing = Counter(name for _, _, names in waiting for name in names)
    while waiting:
        ready = (at for at, (_, spoken, own) in enumerate(waiting) if all(missing[n] <= (n in own) for n in spoken))
        stmt, _, names = waiting.pop(next(ready, 0))
        missing.subtract(names)
        ordered.append(stmt)
    return ordered


def named_in(stmts: list[core.Stmt]) -> set[str]:
    """Return the names that some statements bind."""
    names: set[str] = set()
    for stmt in stmts:
        if isinstance(stmt, core.Let):
            names |= set(stmt.names)
        elif isinstance(stmt, core.MatchShape):
            names |= set(stmt.binds)
    return names
