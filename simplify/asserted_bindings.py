"""Marks the bindings in a record of shapes that an unproved assertion of the checked function is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lang import core
from ..lang.checked import Binding, FunctionShapes
from ..lang.node import PROVENANCE, replace
from ..lang.source import Span
from ..lang.walk import walk

Check = core.Assert | core.MatchShape
# Fields without blocks.
_BESIDE = PROVENANCE | {"known"}


def with_asserted(shapes: FunctionShapes, functions: Iterable[core.Function]) -> FunctionShapes:
    """Mark a binding as asserted if an assertion of its annotation is unproved: it may fail when the program runs.
    `functions` are the wrapper and its implementation."""
    owned = tuple(functions)
    stmts = [s for f in owned for block in _blocks(f) for s in _left(block)]
    on_entry = {_tensor(s) for f in owned for s in f.checks if isinstance(s, Check)}
    promised = {_tensor(s) for f in owned for s in f.promises if isinstance(s, Check)}
    bindings = tuple(_marked(b, (b.name, b.span) in stmts) for b in shapes.bindings)
    params = tuple(_marked(p, p.name in on_entry) for p in shapes.params)
    result = shapes.result
    if result is not None:
        parts = [s.names for f in owned for s in f.promises if isinstance(s, core.Let) and s.is_tuple][:1]
        names = parts[0] if parts else ()
        items = tuple(_marked(item, name in promised) for item, name in zip(result.items, names, strict=False))
        whole = replace(result, items=items) if len(items) == len(result.items) else result
        result = _marked(whole, bool(promised))
    return replace(shapes, params=params, bindings=bindings, result=result)


def _marked(binding: Binding, asserted: bool) -> Binding:
    return binding if binding.asserted == asserted else replace(binding, asserted=asserted)


def _blocks(function: core.Function) -> Iterator[tuple[core.Stmt, ...]]:
    for node in walk(function.body, fields=_BESIDE):
        if isinstance(node, core.Block):
            yield node.stmts


def _left(stmts: tuple[core.Stmt, ...]) -> Iterator[tuple[str, Span]]:
    """The bindings of a block with a remaining assertion of their annotation."""
    bound: dict[str, Span] = {}
    for stmt in stmts:
        if isinstance(stmt, core.Let):
            bound |= dict.fromkeys(stmt.names, stmt.span)
        elif isinstance(stmt, Check):
            tensor = _tensor(stmt)
            if tensor is not None and tensor in bound:
                yield tensor, bound[tensor]


def _tensor(stmt: Check) -> str | None:
    """The tensor whose annotation the assertion comes from, if the assertion is not proved."""
    declared = stmt.origin.declared if stmt.status is not core.Status.PROVED else None
    return declared.tensor if declared is not None and declared.annotation is not None else None
