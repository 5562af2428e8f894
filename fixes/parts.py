"""The part of a program that an edit can affect: the edited functions, their callers, and the functions that those call."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Set

from ..lang import sweet
from ..lang.diagnostics import Edit
from ..lang.source import Span
from ..lang.walk import walk
from .tree import TextTree

_IMPLEMENTATION = re.compile(r"_impl'*$")
_CALL = re.compile(r"@([A-Za-z_]\w*'*)")
_LETTER = re.compile(r"[^\r\n]")


class ParsedParts:
    """`opaque` are the functions whose callers know only their signatures."""

    def __init__(self, tree: TextTree, opaque: Set[str]) -> None:
        self._source, self._opaque = tree.source, opaque
        self._functions = [i for i in tree.module.items if isinstance(i, sweet.FnDecl)]
        self._starts = [d.span.start for d in self._functions]
        self._blanks = [_LETTER.sub(" ", d.span.text) for d in self._functions]
        self._letters = {d.name.name: _written(d.span.text) for d in self._functions}
        self.letters = _written(tree.source.text)
        items = {i.name.name: i for i in tree.module.items if isinstance(i, sweet.FnDecl | sweet.Impls)}
        self._calls = {name: _called(item) & set(items) for name, item in items.items()}
        self._calls[""] = {n for i in tree.module.items if not _is_function(i) for n in _called(i)} & set(items)
        self._callers: dict[str, set[str]] = {}
        for name, called in self._calls.items():
            for other in called:
                self._callers.setdefault(other, set()).add(name)
        self._outside = self.letters - sum(self._letters.values())

    def concerned(self, about: Span, edits: Iterable[Span]) -> frozenset[str]:
        """Return the functions, by name, that edits for a diagnostic at a place can affect; `` is everything outside of
        functions."""
        seen = {self.at(span) for span in edits if not self._is_inside(span)}

        def callers(name: str) -> Collection[str]:
            return () if name in self._opaque and name not in seen else self._callers.get(name, ())

        return frozenset(_closed({self.at(about), *map(self.at, edits)}, callers))

    def _is_inside(self, span: Span) -> bool:
        """Whether it lies in a body that no caller reads."""
        decl = self._around(span)
        body = None if decl is None or decl.name.name not in self._opaque else decl.fn.body
        return body is not None and span.within(body.span)

    def kept(self, concerned: Set[str], edits: Iterable[Edit] = ()) -> set[str]:
        """Return these functions, their callees, and the callees in the new texts."""
        called = {name for edit in edits for name in _CALL.findall(edit.text)} & set(self._calls)
        return _closed(concerned | called, lambda name: self._calls.get(name, ()))

    def letters_of(self, functions: Set[str]) -> int:
        """Count the letters of some functions and of everything outside of functions."""
        return self._outside + sum(self._letters.get(name, 0) for name in functions)

    def blanked(self, text: str, kept: set[str]) -> str:
        """Return the text with all other functions blanked, so that all places stay the same."""
        parts, at = [], 0
        for decl, blank in zip(self._functions, self._blanks, strict=True):
            if decl.name.name not in kept:
                parts += [text[at : decl.span.start], blank]
                at = decl.span.end
        return "".join([*parts, text[at:]])

    def at(self, span: Span) -> str:
        """Return the function around a place, `` for none."""
        decl = self._around(span)
        return "" if decl is None else decl.name.name

    def _around(self, span: Span) -> sweet.FnDecl | None:
        found = bisect_right(self._starts, span.start) - 1
        return self._functions[found] if found >= 0 and span.start <= self._functions[found].span.end else None


def _written(text: str) -> int:
    return len(text) - text.count(" ")


def _is_function(item: sweet.Item) -> bool:
    return isinstance(item, sweet.FnDecl | sweet.Impls)


def _called(item: sweet.Item) -> set[str]:
    """Return the functions named in it; an implementation's name counts as its function."""
    names = {n.name for n in walk(item) if isinstance(n, sweet.FnName)}
    return names | {_IMPLEMENTATION.sub("", name) for name in names}


def _closed(names: Set[str], beside: Callable[[str], Collection[str]]) -> set[str]:
    found, todo = set(names), list(names)
    while todo:
        new = set(beside(todo.pop())) - found
        found |= new
        todo += new
    return found
