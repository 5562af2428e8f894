"""Conditions given from outside, `@embed: 1 <= b, b <= 64`: the functions, and the conditions on entry."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from . import codes
from .diagnostics import RxError, error
from .expressions import names_in
from .node import Node, replace
from .source import Source, Span

if TYPE_CHECKING:
    from . import sweet

_PATTERN = re.compile(r"\s*@([^\s:@]+)\s*:")


class Given(Node):
    """Conditions for the functions whose names match a shell pattern: `@*` are all, `@attn.*` those of an import."""

    source: Source
    pattern: str
    conditions: tuple[sweet.Expr, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The conditions in full: `n = 4` is `n == 4`."""
        from .printer import print_expr  # few checks are given any

        return tuple(map(print_expr, self.conditions))

    @property
    def names_many(self) -> bool:
        """Whether the pattern may match several functions; the conditions then apply to those that have their sizes."""
        return any(sign in self.pattern for sign in "*?[")

    def is_for(self, function: str) -> bool:
        return function == self.pattern or fnmatchcase(function, self.pattern)

    def of_sizes(self, names: Collection[str]) -> Given:
        """Drop conditions on sizes that are not among `names`, if the pattern may match several functions."""
        known = tuple(c for c in self.conditions if set(names_in(c.span.text)) <= set(names))
        return replace(self, conditions=known) if self.names_many else self


def read_given(text: str) -> Given:
    """Read given conditions; raises RxError if the text is malformed."""
    from .parser import parse_conditions  # few checks are given any

    source = Source("given", text)
    found = _PATTERN.match(text)
    if found is None:
        whole = Span(source, 0, len(text))
        raise RxError(error(codes.E101, f"`{text}` is not like `@f: n >= 1`", whole))
    return Given(source, found[1], parse_conditions(source, found.end()))
