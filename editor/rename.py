"""A symbol and a new name to the edits of every file that has it; refused with a reason where another name is in the way.

The edits are made in memory, and the files are read again: each name has to mean what it meant, the core has to be what it was
but for the name, and nothing new may be said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..lang import core
from ..lang.diagnostics import RxError
from ..lang.lexer import KIND, scan
from ..lang.node import Node
from ..lang.source import Source
from .analysis import Analyst, Settings, SliceFacts
from .lookup import Lookup, NameMeaning, TextPlace, placed, text_order


class RenameRefused(Exception):
    """Why something is not renamed."""


def references(analyst: Analyst, files: Iterable[Path], symbol: NameMeaning, settings: Settings) -> list[TextPlace]:
    """Wherever a symbol stands in some files, in their order."""
    found: list[TextPlace] = []
    for path in readable(analyst, files, settings):
        found += text_order(Lookup(analyst.program(path, settings)).references(symbol))
    return found


def readable(analyst: Analyst, files: Iterable[Path], settings: Settings) -> Iterator[Path]:
    """Those of some files that have a text: links may lead nowhere, and what is called like a program may be none."""
    for path in dict.fromkeys(files):
        with suppress(RxError):
            analyst.program(path, settings)
            yield path


def renamed(
    analyst: Analyst, files: Sequence[Path], symbol: NameMeaning, new: str, settings: Settings
) -> list[TextPlace]:
    """The places where the new name has to stand; raises Refused."""
    if symbol.path is None:
        raise RenameRefused(f"`@{symbol.name}` is a primitive of the language")
    name = new.removeprefix("@") if symbol.kind == "function" else new
    _spelled(name)
    if name == symbol.name:
        return []
    if symbol.kind == "function" and "main" in (symbol.name, name):
        raise RenameRefused("`@main` is what a run of a file calls")
    places = references(analyst, files, symbol, settings)
    _tried(analyst, files, places, symbol, name, settings)
    return places


def _spelled(name: str) -> None:
    if name == "_":
        raise RenameRefused("`_` is not a name: it marks a value that nothing uses")
    tokens = scan(Source("", name))
    if tokens.kinds != [KIND["NAME"]] or tokens.problems or tokens.ends != [len(name)]:
        raise RenameRefused(f"`{name}` cannot be a name")


def _tried(
    analyst: Analyst, files: Sequence[Path], places: list[TextPlace], symbol: NameMeaning, name: str, settings: Settings
) -> None:
    trial = Analyst()
    trial.edited = dict(analyst.edited)
    for path in {p.path for p in places}:
        trial.edited[path] = edited(
            analyst.program(path, settings).units[""].text, [p for p in places if p.path == path], name
        )
    for path in readable(analyst, files, settings):
        before, after = analyst.program(path, settings), trial.program(path, settings)
        if not (before.units.keys() and any(p.path in before.paths for p in places)):
            continue
        if len(after.units[""].problems) > len(before.units[""].problems):
            raise RenameRefused(f"`{name}` cannot stand everywhere that `{symbol.name}` does")
        _same(Lookup(before), Lookup(after), symbol, name)
        was, now = analyst.facts(path, settings), trial.facts(path, settings)
        _nothing_new(was, now)
        if not _alike(tuple(_cores(was)), tuple(_cores(now)), _but_for(symbol.name, name)):
            raise RenameRefused(f"then {path.name} would mean something else")


def _same(before: Lookup, after: Lookup, symbol: NameMeaning, name: str) -> None:
    """Names that meant the same still do, and no others."""
    old, new = _meanings(before), _meanings(after)
    if len(old) != len(new):
        raise RenameRefused(f"`{name}` would be read as something else")
    to: dict[object, object] = {}
    back: dict[object, object] = {}
    for (_, was), (at, now) in zip(old, new, strict=True):
        if to.setdefault(was, now) != now or back.setdefault(now, was) != was or (was is None) != (now is None):
            line = after.program.units[""].source.position(at)[0]
            raise RenameRefused(f"`{name}` means something else already: line {line}")


def _meanings(lookup: Lookup) -> list[tuple[int, object]]:
    unit, found = lookup.program.units[""], []
    for occurrence in lookup.occurrences():
        place = placed(unit, occurrence.span)
        if place is not None:
            found.append((place.start, lookup.symbol(occurrence)))
    return sorted(found, key=lambda f: f[0])


def _nothing_new(before: SliceFacts, after: SliceFacts) -> None:
    was = [(d.code, d.severity) for d in before.diagnostics]
    for said in after.diagnostics:
        if (said.code, said.severity) not in was:
            raise RenameRefused(f"then {said.code} would be said of {after.pieces.path.name}: {said.message}")
        was.remove((said.code, said.severity))


def _cores(facts: SliceFacts) -> Iterator[tuple[Node, ...]]:
    """What a file's pieces mean, in their order."""
    verdicts = [facts.verdicts[piece] for piece in facts.pieces.pieces if piece in facts.verdicts]
    for verdict in dict.fromkeys(verdicts):
        there = verdict.checked.before
        main = () if there.main is None else (there.main,)
        yield tuple(n for n in (*there.functions, *there.impls, *there.consts, *main) if verdict.owns(n.span))


# What desugaring puts between a name and what it makes another name with.
_JOINTS = str.maketrans(dict.fromkeys("'.", "_"))
Same = Callable[[str, str], bool]


def _but_for(old: str, new: str) -> Same:
    """Whether two texts of a core are one, or may be because of the name: what a user has spelled as a whole may be."""

    def is_made_of(text: str, name: str) -> bool:
        return f"_{name.translate(_JOINTS)}_" in f"_{text.translate(_JOINTS)}_"

    return lambda a, b: a == b or " " in a or is_made_of(a, old) or is_made_of(b, new)


def _alike(before: object, after: object, same: Same) -> bool:
    """Whether two trees are one but for names: what a type abbreviates binds names where the type is used."""
    if isinstance(before, str) and isinstance(after, str):
        return same(before, after)
    if isinstance(before, core.SizeVar | core.DimOf) and type(before) is not type(after):
        return isinstance(after, core.SizeVar | core.DimOf)  # a size is that of a tensor which nothing hides there
    if isinstance(before, Node) and type(before) is type(after):
        before, after = type(before)._value(before), type(after)._value(after)
    if isinstance(before, tuple) and isinstance(after, tuple):
        one, other = ([x for x in items if not _is_another_name(x, same)] for items in (before, after))
        return len(one) == len(other) and all(_alike(a, b, same) for a, b in zip(one, other, strict=True))
    return before == after


def _is_another_name(part: object, same: Same) -> bool:
    """Whether a value is only called otherwise, by desugaring because something is called like it, or by the two names."""
    if not isinstance(part, core.Let) or not isinstance(part.value, core.Var) or len(part.names) != 1:
        return False
    name, value = part.names[0].rstrip("'"), part.value.name.rstrip("'")
    return same(name, value) or same(value, name)


def edited(text: str, places: Iterable[TextPlace], name: str) -> str:
    for place in sorted(places, reverse=True):
        text = text[: place.start] + name + text[place.end :]
    return text
