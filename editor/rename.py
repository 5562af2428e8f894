"""The edits that rename a symbol in all files; refused with a reason if another name conflicts.

The edits are tried in memory and the files are read again: each name must keep its meaning, the core must be the same except
for the name, and there must be no new diagnostics.
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
    """Raised if something cannot be renamed; the message says why."""


def references(analyst: Analyst, files: Iterable[Path], symbol: NameMeaning, settings: Settings) -> list[TextPlace]:
    """All places of a symbol in some files, in their order."""
    found: list[TextPlace] = []
    for path in readable(analyst, files, settings):
        found += text_order(Lookup(analyst.program(path, settings)).references(symbol))
    return found


def readable(analyst: Analyst, files: Iterable[Path], settings: Settings) -> Iterator[Path]:
    """The files that can be read: links may be broken, and a file named like a program may not be one."""
    for path in dict.fromkeys(files):
        with suppress(RxError):
            analyst.program(path, settings)
            yield path


def renamed(
    analyst: Analyst, files: Sequence[Path], symbol: NameMeaning, new: str, settings: Settings
) -> list[TextPlace]:
    """The places to rename; raises RenameRefused."""
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
        if not any(p.path in before.paths for p in places):
            continue
        if len(after.units[""].problems) > len(before.units[""].problems):
            raise RenameRefused(f"`{name}` cannot stand everywhere that `{symbol.name}` does")
        _same(Lookup(before), Lookup(after), symbol, name)
        was, now = analyst.facts(path, settings), trial.facts(path, settings)
        _nothing_new(was, now)
        if not _alike(tuple(_cores(was)), tuple(_cores(now)), _but_for(symbol.name, name)):
            raise RenameRefused(f"then {path.name} would mean something else")


def _same(before: Lookup, after: Lookup, symbol: NameMeaning, name: str) -> None:
    """Raise RenameRefused unless names have equal meanings after the edit exactly if they had before."""
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
    """The core trees of a file's pieces, in order."""
    verdicts = [facts.verdicts[piece] for piece in facts.pieces.pieces if piece in facts.verdicts]
    for verdict in dict.fromkeys(verdicts):
        there = verdict.checked.before
        main = () if there.main is None else (there.main,)
        yield tuple(n for n in (*there.functions, *there.impls, *there.consts, *main) if verdict.owns(n.span))


# The characters that desugaring puts between parts of a made name.
_JOINTS = str.maketrans(dict.fromkeys("'.", "_"))
Same = Callable[[str, str], bool]


def _but_for(old: str, new: str) -> Same:
    """A test whether two texts in a core are equal, or may differ because of the rename; text quoted from the source may
    differ."""

    def is_made_of(text: str, name: str) -> bool:
        return f"_{name.translate(_JOINTS)}_" in f"_{text.translate(_JOINTS)}_"

    return lambda a, b: a == b or " " in a or is_made_of(a, old) or is_made_of(b, new)


def _alike(before: object, after: object, same: Same) -> bool:
    """Whether two trees are equal except for names; a type abbreviation binds names where it is used."""
    if isinstance(before, str) and isinstance(after, str):
        return same(before, after)
    if isinstance(before, core.SizeVar | core.DimOf) and type(before) is not type(after):
        return isinstance(after, core.SizeVar | core.DimOf)  # a dimension of a tensor, unless a name hides the tensor
    if isinstance(before, Node) and type(before) is type(after):
        before, after = type(before)._value(before), type(after)._value(after)
    if isinstance(before, tuple) and isinstance(after, tuple):
        one, other = ([x for x in items if not _is_another_name(x, same)] for items in (before, after))
        return len(one) == len(other) and all(_alike(a, b, same) for a, b in zip(one, other, strict=True))
    return before == after


def _is_another_name(part: object, same: Same) -> bool:
    """Whether a binding only gives another name to a value, which desugaring does when a name is taken, or because of the
    rename."""
    if not isinstance(part, core.Let) or not isinstance(part.value, core.Var) or len(part.names) != 1:
        return False
    name, value = part.names[0].rstrip("'"), part.value.name.rstrip("'")
    return same(name, value) or same(value, name)


def edited(text: str, places: Iterable[TextPlace], name: str) -> str:
    for place in sorted(places, reverse=True):
        text = text[: place.start] + name + text[place.end :]
    return text
