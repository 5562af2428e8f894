"""A symbol and a new name to the edits of every file that has it; refused with a reason where another name is in the way.

The edits are made in memory, and the files are read again: each name has to mean what it meant, and nothing new may be said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..lang.dtypes import CLASSES, DTYPES
from ..lang.lexer import KIND, scan
from ..lang.source import Source
from .analysis import Analyst, Settings
from .lookup import Lookup, Place, Symbol, placed, text_order
from .names import FORMS, SORTS


class Refused(Exception):
    """Why something is not renamed."""


def references(analyst: Analyst, files: Iterable[Path], symbol: Symbol, settings: Settings) -> list[Place]:
    """Wherever a symbol stands in some files, in their order."""
    found: list[Place] = []
    for path in dict.fromkeys(files):
        found += text_order(Lookup(analyst.program(path, settings)).references(symbol))
    return found


def renamed(analyst: Analyst, files: Sequence[Path], symbol: Symbol, new: str, settings: Settings) -> list[Place]:
    """The places where the new name has to stand; raises Refused."""
    if symbol.path is None:
        raise Refused(f"`@{symbol.name}` is a primitive of the language")
    name = new.removeprefix("@") if symbol.kind == "function" else new
    _spelled(name)
    if name == symbol.name:
        return []
    places = references(analyst, files, symbol, settings)
    _tried(analyst, files, places, symbol, name, settings)
    return places


def _spelled(name: str) -> None:
    tokens = scan(Source("", name))
    if tokens.kinds != [KIND["NAME"]] or tokens.problems or tokens.ends != [len(name)]:
        raise Refused(f"`{name}` cannot be a name")
    if name in SORTS or name in DTYPES or name in CLASSES or name in FORMS:
        raise Refused(f"`{name}` means something in the language")


def _tried(
    analyst: Analyst, files: Sequence[Path], places: list[Place], symbol: Symbol, name: str, settings: Settings
) -> None:
    trial = Analyst()
    trial.edited = dict(analyst.edited)
    for path in {p.path for p in places}:
        trial.edited[path] = edited(
            analyst.program(path, settings).units[""].text, [p for p in places if p.path == path], name
        )
    for path in dict.fromkeys(files):
        before, after = analyst.program(path, settings), trial.program(path, settings)
        if not (before.units.keys() and any(p.path in before.paths for p in places)):
            continue
        if len(after.units[""].problems) > len(before.units[""].problems):
            raise Refused(f"`{name}` cannot stand everywhere that `{symbol.name}` does")
        _same(Lookup(before), Lookup(after), symbol, name)
        _nothing_new(analyst, trial, path, settings)


def _same(before: Lookup, after: Lookup, symbol: Symbol, name: str) -> None:
    """Names that meant the same still do, and no others."""
    old, new = _meanings(before), _meanings(after)
    if len(old) != len(new):
        raise Refused(f"`{name}` would be read as something else")
    to: dict[object, object] = {}
    back: dict[object, object] = {}
    for (_, was), (at, now) in zip(old, new, strict=True):
        if to.setdefault(was, now) != now or back.setdefault(now, was) != was or (was is None) != (now is None):
            line = after.program.units[""].source.position(at)[0]
            raise Refused(f"`{name}` means something else already: line {line}")


def _meanings(lookup: Lookup) -> list[tuple[int, object]]:
    unit, found = lookup.program.units[""], []
    for occurrence in lookup.occurrences():
        place = placed(unit, occurrence.span)
        if place is not None:
            found.append((place.start, lookup.symbol(occurrence)))
    return sorted(found, key=lambda f: f[0])


def _nothing_new(before: Analyst, after: Analyst, path: Path, settings: Settings) -> None:
    was = [(d.code, d.severity) for d in before.facts(path, settings).diagnostics]
    for said in after.facts(path, settings).diagnostics:
        if (said.code, said.severity) not in was:
            raise Refused(f"then {said.code} would be said of {path.name}: {said.message}")
        was.remove((said.code, said.severity))


def edited(text: str, places: Iterable[Place], name: str) -> str:
    for place in sorted(places, reverse=True):
        text = text[: place.start] + name + text[place.end :]
    return text
