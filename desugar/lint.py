"""Notes on names that an annotation binds and nothing uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label, note
from .errors import IN_BRACKETS, count, nearest
from .scope import ScopeEntry, identifiers
from .symbols import SymbolTable

# More names than these are counted instead of listed.
_LISTED = 12
# With more candidates than these, one is always near, and comparing all pairs is slow.
_MANY = 100


def unused(
    symbols: SymbolTable,
    entries: Iterable[ScopeEntry],
    function: str | None,
    others: Iterable[str] = (),
    existential: Iterable[str] = (),
) -> None:
    """Report names of one annotation or signature that nothing uses. A name that resembles one of the `others` in scope, or
    an `existential` one of the result, gets a note of its own; the rest share one. A name beside a used one is not reported,
    since it documents its axis."""
    entries = [e for e in entries if not e.name.startswith("_") and e.span not in symbols.misspelt]
    others = sorted(others)
    names = {e.name for e in entries}
    useless = {beside for beside in {e.beside for e in entries} if beside <= names}
    free = []
    for entry in entries:
        meant = _meant(entry, others)
        if meant is None:
            free += [entry] if entry.beside in useless and entry.sort != core.SIZE else []  # a size's name documents
        else:
            asked = (
                f"did you mean it where the result has `{meant}`?"
                if meant in existential
                else f"did you mean `{meant}`?"
            )
            _note(symbols, [entry], function, f"{asked} {_FREE[0].upper()}{_FREE[1:]}".format(entry.name))
    if free:
        help = _ALL_FREE if len(free) > 1 else _FREE.format(free[0].name)
        sizes_meant = {core.SHAPE, core.DTYPE} <= {e.sort for e in free}
        _note(symbols, free, function, f"{help}; {IN_BRACKETS}" if sizes_meant else help)


_FREE = "if it is meant to be free, call it `_{}` or write `?`"
_ALL_FREE = "if they are meant to be free, begin their names with `_` or write `?`"


def unused_parameters(symbols: SymbolTable, decl: sweet.FnDecl, function: str) -> None:
    """Report tensor parameters of which a function uses neither the name nor a size that only they have."""
    fn = decl.fn
    if fn.body is None or decl.span.source.made:
        return
    spoken = symbols.spelt(decl)[1].identifiers | identifiers(fn.result, *fn.where)
    names = [identifiers(p.type) for p in fn.params]
    times = Counter(name for of_one in names for name in of_one)
    for param, own in zip(fn.params, names, strict=True):
        read = {param.name.name, *(name for name in own if times[name] == 1)} & spoken or param.name.name in times
        if not read and not param.name.name.startswith("_"):
            said = f"the parameter `{param.name.name}` is never used"
            help = f"if it is meant to be there, call it `_{param.name.name}`"
            symbols.diagnostics.append(note(codes.N201, said, param.name.span, function=f"@{function}", help=help))


def _meant(entry: ScopeEntry, others: list[str]) -> str | None:
    if len(entry.name) == 1 or len(others) > _MANY:
        return None
    return nearest(entry.name, [n for n in others if n != entry.name])


def _note(symbols: SymbolTable, entries: list[ScopeEntry], function: str | None, help: str) -> None:
    first, *more = entries[:_LISTED]
    names = [f"`{e.name}`" for e in entries[:_LISTED]]
    if len(entries) > _LISTED:
        names.append(f"{count(len(entries) - _LISTED, 'other name')}")
    listed = f"{', '.join(names[:-1])} and {names[-1]} are" if more else f"{names[0]} is"
    labels = tuple(Label(e.span, "") for e in more)
    shown = f"@{function}" if function else None
    symbols.diagnostics.append(
        note(codes.N201, f"{listed} bound here and never used", first.span, labels=labels, function=shown, help=help)
    )


def by_line(entries: Iterable[ScopeEntry]) -> list[list[ScopeEntry]]:
    """Return the entries of each line of the source."""
    lines: dict[tuple[object, int], list[ScopeEntry]] = {}
    for entry in entries:
        lines.setdefault((entry.span.source, entry.span.line), []).append(entry)
    return list(lines.values())
