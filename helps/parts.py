"""The part of a program that an edit can matter to: the functions that are edited, who calls them, and what those call."""

from __future__ import annotations

import re
from bisect import bisect_right

from ..lang import sweet
from ..lang.source import Span
from ..lang.walk import walk
from .tree import Tree

_IMPLEMENTATION = re.compile(r"_impl'*$")
_LETTER = re.compile(r"[^\r\n]")


class Parts:
    def __init__(self, tree: Tree) -> None:
        self._source = tree.source
        self._functions = [i for i in tree.module.items if isinstance(i, sweet.FnDecl)]
        self._starts = [d.span.start for d in self._functions]
        self._blanks = [_LETTER.sub(" ", d.span.text) for d in self._functions]
        items = {i.name.name: i for i in tree.module.items if isinstance(i, sweet.FnDecl | sweet.Impls)}
        self._calls = {name: _called(item) & set(items) for name, item in items.items()}
        self._calls[""] = {n for i in tree.module.items if not _is_function(i) for n in _called(i)} & set(items)
        self._callers: dict[str, set[str]] = {}
        for name, called in self._calls.items():
            for other in called:
                self._callers.setdefault(other, set()).add(name)

    def kept(self, spans: list[Span]) -> set[str]:
        """The functions, by name, that a change at these places can matter to; `` is everything outside of functions."""
        return _closed(_closed({self.at(span) for span in spans}, self._callers), self._calls)

    def blanked(self, text: str, kept: set[str]) -> str:
        """The text with all other functions gone; everything keeps its place."""
        parts, at = [], 0
        for decl, blank in zip(self._functions, self._blanks, strict=True):
            if decl.name.name not in kept:
                parts += [text[at : decl.span.start], blank]
                at = decl.span.end
        return "".join([*parts, text[at:]])

    def holds(self, kept: set[str], span: Span) -> bool:
        """Whether something is said of what is kept; what is outside of functions always is."""
        at = self.at(span) if span.source is self._source else ""
        return not at or at in kept

    def at(self, span: Span) -> str:
        """The function around a place, `` for none."""
        found = bisect_right(self._starts, span.start) - 1
        return self._functions[found].name.name if found >= 0 and span.start <= self._functions[found].span.end else ""


def _is_function(item: sweet.Item) -> bool:
    return isinstance(item, sweet.FnDecl | sweet.Impls)


def _called(item: sweet.Item) -> set[str]:
    """The functions that are named in it; an implementation's name speaks of its function."""
    names = {n.name for n in walk(item) if isinstance(n, sweet.FnName)}
    return names | {_IMPLEMENTATION.sub("", name) for name in names}


def _closed(names: set[str], edges: dict[str, set[str]]) -> set[str]:
    found, todo = set(names), list(names)
    while todo:
        new = edges.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found
