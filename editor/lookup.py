"""Find the meaning of the name at a place in a program: its symbol, its definition, and its other occurrences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..lang import sweet
from ..lang.modules import called
from ..lang.source import Span
from ..ops.registry import lookup as primitive
from .analysis import EditedProgram
from .names import Alias, Global, Keyword, Local, Occurrence, occurrences
from .pieces import EditorPiece, Pieces


class NameMeaning(NamedTuple):
    """The meaning of a name: `path` is the file that defines it, None for a primitive; `key` identifies it in the file."""

    path: Path | None
    key: str
    name: str
    kind: str


class TextPlace(NamedTuple):
    """A part of a file's text."""

    path: Path
    start: int
    end: int


class Lookup:
    """The names of a program's files."""

    def __init__(self, program: EditedProgram) -> None:
        self.program = program

    def occurrences(self, alias: str = "") -> Iterator[Occurrence]:
        for _, there in self.by_scope(alias):
            yield from there

    def by_scope(self, alias: str = "") -> Iterator[tuple[tuple[EditorPiece, ...], tuple[Occurrence, ...]]]:
        """The pieces that share a scope, with their names."""
        for pieces in self.program.scopes(alias):
            yield pieces, self._occurrences(pieces, alias)

    def _occurrences(self, pieces: tuple[EditorPiece, ...], alias: str) -> tuple[Occurrence, ...]:
        known = frozenset(self.program.names(alias).keys() | self.program.links[alias].keys())
        return occurrences(pieces, known, self.program.units[alias].consts)

    def at(self, offset: int) -> Occurrence | None:
        """The name at an offset of the program's own file, or the name that ends there."""
        piece, within = self.program.units[""].at(offset)
        pieces = next((p for p in self.program.scopes("") if piece in p), None)
        there = self._occurrences(pieces, "") if pieces is not None else ()
        found = [o for o in there if o.span.source is piece and o.span.start <= within <= o.span.end]
        return max(found, key=lambda o: (within < o.span.end, o.span.start)) if found else None

    def symbol(self, found: Occurrence, alias: str = "") -> NameMeaning | None:
        """The symbol of an occurrence; None if the name is undefined."""
        own = self.program.units[alias]
        match found.meaning:
            case Local(piece=piece, start=start, kind=kind):
                return NameMeaning(own.path, f"{piece.key}:{start}", found.name, kind)
            case Alias(name=name):
                return (
                    NameMeaning(own.path, f"import {name}", name, "import")
                    if name in self.program.links[alias]
                    else None
                )
            case Keyword(function=function, name=name):
                return self._parameter(self._global(f"@{function}", alias), name)
            case Global(name=name):
                return self._global(name, alias)

    def _global(self, name: str, alias: str) -> NameMeaning | None:
        sign, bare = ("@", name[1:]) if name.startswith("@") else ("", name)
        unit, bare = self._home(bare, alias)
        item = next(_items(unit, sign, bare), None) if unit is not None else None
        if item is not None and unit is not None:
            return NameMeaning(unit.path, f"{sign}{bare}", bare, _KINDS[type(item)])
        row = primitive(bare.removeprefix("prelude.")) if sign else None
        return None if row is None else NameMeaning(None, f"@{row.name}", row.name, "primitive")

    def _home(self, name: str, alias: str) -> tuple[Pieces | None, str]:
        """The file that defines a name, and the name in that file."""
        head, _, rest = name.partition(".")
        target = self.program.links[alias].get(head)
        if rest and target is not None and name not in self.program.units[alias].by_name:
            return self.program.units.get(target), rest
        return self.program.units[alias], name

    def _parameter(self, function: NameMeaning | None, name: str) -> NameMeaning | None:
        declared = None if function is None else self.declared(function)
        if function is None or not isinstance(declared, sweet.FnDecl):
            return None
        place = next((p.name.span for p in declared.fn.params if p.name.name == name), None)
        if place is None or not isinstance(place.source, EditorPiece):
            return None
        return NameMeaning(function.path, f"{place.source.key}:{place.start}", name, "parameter")

    def declared(self, symbol: NameMeaning) -> sweet.Item | None:
        """The item that defines a function, a const or a type."""
        unit = self.unit(symbol.path)
        sign, bare = ("@", symbol.key[1:]) if symbol.key.startswith("@") else ("", symbol.key)
        return next(_items(unit, sign, bare), None) if unit is not None else None

    def unit(self, path: Path | None) -> Pieces | None:
        alias = self.program.paths.get(path) if path is not None else None
        return None if alias is None else self.program.units[alias]

    def imported(self, offset: int) -> TextPlace | None:
        """The file named by the import at an offset."""
        piece, within = self.program.units[""].at(offset)
        for item in piece.items:
            if isinstance(item, sweet.Import) and item.path.span.start <= within <= item.path.span.end:
                target = self.program.units.get(self.program.links[""].get(called(item), "?"))
                return None if target is None else TextPlace(target.path, 0, 0)
        return None

    def defined(self, symbol: NameMeaning) -> TextPlace | None:
        """The place of the definition."""
        unit = self.unit(symbol.path)
        if unit is None or symbol.path is None:
            return None
        if symbol.kind == "import":
            target = self.program.links[self.program.paths[unit.path]].get(symbol.name)
            return TextPlace(self.program.units[target].path, 0, 0) if target in self.program.units else None
        alias = self.program.paths[unit.path]
        return next((p for o, p in self._of(symbol, alias) if o.defines), None)

    def references(self, symbol: NameMeaning) -> Iterator[TextPlace]:
        """All places of a symbol in the program's own file."""
        yield from (place for _, place in self._of(symbol, ""))

    def _of(self, symbol: NameMeaning, alias: str) -> Iterator[tuple[Occurrence, TextPlace]]:
        unit = self.program.units[alias]
        for found in self.occurrences(alias):
            if found.name == symbol.name and self.symbol(found, alias) == symbol:
                yield from ((found, place) for place in (placed(unit, found.span),) if place is not None)


_KINDS = {
    **dict.fromkeys((sweet.FnDecl, sweet.Impls, sweet.Gradient), "function"),
    sweet.Const: "const",
    sweet.TypeDecl: "type",
}


def _items(
    unit: Pieces, sign: str, name: str
) -> Iterator[sweet.FnDecl | sweet.Impls | sweet.Gradient | sweet.Const | sweet.TypeDecl]:
    kinds = (sweet.FnDecl, sweet.Impls, sweet.Gradient) if sign else (sweet.Const, sweet.TypeDecl)
    for piece in unit.by_name.get(name, ()):
        for item in piece.items:
            if isinstance(item, kinds) and item.name.name == name:
                yield item


def placed(unit: Pieces, span: Span) -> TextPlace | None:
    found = unit.place(span)
    return None if found is None else TextPlace(unit.path, *found)


def text_order(places: Iterable[TextPlace]) -> list[TextPlace]:
    return sorted(set(places))
