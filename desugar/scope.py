"""Names in scope: the sort of each, and the core expression that it stands for."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import core, sweet
from ..lang.node import replace
from ..lang.source import Span
from ..lang.walk import walk

SHAPE_SORTS = (core.SIZE, core.SHAPE, core.DTYPE, core.BOOL)
# A tuple whose length only its primitive knows (`@split`).
SOME_TUPLE = core.TupleSort((core.BaseSort("?"),))


class ScopeEntry:
    """A name in scope. `sort` None marks a name whose definition was wrong: its uses are not reported.

    `expr` is its value: a variable, or the expression that binds it (`n` of a signature is `x.dim(0)` in the wrapper). `kind`
    is param, size (bound by an annotation), let, const. `nonneg` tells a size that is never below 0. `literal` is a const's
    literal value, or the number that a `let` binds; `number` one that has no dtype of its own. `parts` are the names of a
    tuple's parts, with the block that has them. `beside` are the names of the annotation that binds it.
    """

    __slots__ = ("name", "sort", "expr", "span", "kind", "nonneg", "used", "literal", "number", "parts", "beside")

    def __init__(
        self,
        name: str,
        sort: core.Sort | None,
        expr: core.Value | None,
        span: Span,
        kind: str,
        nonneg: bool = False,
        literal: sweet.Expr | None = None,
        number: sweet.Expr | None = None,
    ) -> None:
        self.name, self.sort, self.expr, self.span = name, sort, expr, span
        self.kind, self.nonneg = kind, nonneg
        self.used = False
        self.literal, self.number = literal, number
        self.parts: tuple[Scope, tuple[core.Value, ...]] | None = None
        self.beside: frozenset[str] = frozenset()

    def at(self, span: Span) -> core.Value:
        """Return its expression, for a use at this place."""
        assert self.expr is not None
        self.used = True
        return replace(self.expr, span=span)

    @property
    def is_shape_level(self) -> bool:
        return self.sort in SHAPE_SORTS


class Scope:
    """The names of one block, inside those of the enclosing blocks."""

    __slots__ = ("entries", "outer")

    def __init__(self, outer: Scope | None = None) -> None:
        self.entries: dict[str, ScopeEntry] = {}
        self.outer = outer

    def find(self, name: str) -> ScopeEntry | None:
        scope: Scope | None = self
        while scope is not None:
            entry = scope.entries.get(name)
            if entry is not None:
                return entry
            scope = scope.outer
        return None

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def bind(self, entry: ScopeEntry) -> None:
        self.entries[entry.name] = entry

    def names(self) -> Iterator[str]:
        scope: Scope | None = self
        while scope is not None:
            yield from scope.entries
            scope = scope.outer


def identifiers(*roots: object) -> set[str]:
    """Return every name in some sweet trees."""
    return {node.name for node in walk(*roots) if isinstance(node, sweet.Name | sweet.Ident | sweet.NamedType)}
