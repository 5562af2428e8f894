"""A file to its outline, to the parts that can be folded, and to the tokens whose meaning only a program knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..lang import sweet
from ..lang.dtypes import DTYPES
from ..lang.lexer import KIND, scan
from ..lang.source import Source, Span
from ..lang.walk import walk
from .analysis import Facts
from .lookup import Lookup, placed
from .names import SORTS
from .pieces import Pieces

# What semantic tokens are called in the protocol, and what they may be beside.
TOKEN_TYPES = ("namespace", "type", "function", "parameter", "variable", "typeParameter")
MODIFIERS = ("declaration", "readonly", "defaultLibrary")
_TYPE_OF = {
    "import": "namespace", "type": "type", "function": "function", "primitive": "function", "parameter": "parameter",
    "value": "variable", "const": "variable", "size": "typeParameter",
}  # fmt: skip
_OPENS = {KIND["LBRACE"]: KIND["RBRACE"], KIND["LPAR"]: KIND["RPAR"], KIND["LSQB"]: KIND["RSQB"]}


class Symbol(NamedTuple):
    """An item of the outline: what it is called, its kind, its signature, where it stands, and where its name does."""

    name: str
    kind: str
    detail: str
    start: int
    end: int
    name_start: int
    name_end: int


class Token(NamedTuple):
    start: int
    length: int
    type: int
    modifiers: int


class Fold(NamedTuple):
    start: int
    end: int
    kind: str


def symbols(pieces: Pieces) -> list[Symbol]:
    found = []
    for piece in pieces.pieces:
        for item in piece.items:
            for name, kind, detail in _named(item):
                whole, place = placed(pieces, item.span), placed(pieces, name.span)
                if whole is not None and place is not None:
                    sign = "@" * (kind == "function")
                    shown = f"{sign}{name.name}"
                    found.append(Symbol(shown, kind, detail, whole.start, whole.end, place.start, place.end))
    return found


def _named(item: sweet.Item) -> Iterator[tuple[sweet.Ident, str, str]]:
    match item:
        case sweet.FnDecl():
            end = item.fn.body.span.start if item.fn.body is not None else item.fn.span.end
            yield item.name, "function", " ".join(item.span.source.text[item.fn.span.start : end].split())
        case sweet.Impls():
            yield item.name, "function", ", ".join(f"@{c.name}" for c in item.choices)
        case sweet.Const():
            yield item.name, "const", item.type.span.text if item.type is not None else ""
        case sweet.TypeDecl():
            yield item.name, "type", " ".join(item.type.span.text.split())
        case sweet.Import(alias=alias) if alias is not None:
            yield alias, "import", item.path.value
        case sweet.Let():
            yield from ((name, "value", item.type.span.text if item.type is not None else "") for name in item.names)


# Folding


def folds(pieces: Pieces) -> list[Fold]:
    """Brackets over several lines, comments of several lines, and the imports together."""
    tokens = scan(Source("", pieces.text))
    return sorted({*_brackets(tokens.kinds, tokens.starts, tokens.ends), *_comments(pieces), *_imports(pieces)})


def _brackets(kinds: list[int], starts: list[int], ends: list[int]) -> Iterator[Fold]:
    opened: list[tuple[int, int]] = []
    for kind, start, end in zip(kinds, starts, ends, strict=True):
        if kind in _OPENS:
            opened.append((_OPENS[kind], start))
        elif opened and kind == opened[-1][0]:
            yield Fold(opened.pop()[1], end, "region")


def _comments(pieces: Pieces) -> Iterator[Fold]:
    run: list[Span] = []
    for comment in scan(Source("", pieces.text)).comments:
        follows = run and not pieces.text[run[-1].end : comment.span.start].strip(" \t\r\n") and comment.own_line
        if not follows:
            yield from _run(run)
            run = []
        run.append(comment.span)
    yield from _run(run)


def _run(run: list[Span]) -> Iterator[Fold]:
    if len(run) > 1:
        yield Fold(run[0].start, run[-1].end, "comment")


def _imports(pieces: Pieces) -> Iterator[Fold]:
    places = [pieces.place(i.span) for p in pieces.pieces for i in p.items if isinstance(i, sweet.Import)]
    there = [p for p in places if p is not None]
    if len(there) > 1:
        yield Fold(there[0][0], there[-1][1], "imports")


# Semantic tokens


def tokens(facts: Facts) -> list[Token]:
    """The names of a file, in order, and what they mean."""
    lookup, found = Lookup(facts.program), dict[int, Token]()
    for occurrence in lookup.occurrences():
        symbol = lookup.symbol(occurrence)
        place = facts.pieces.place(occurrence.span)
        if symbol is not None and place is not None:
            flags = (occurrence.defines, symbol.kind in ("const", "primitive"), symbol.kind == "primitive")
            found[place[0]] = _token(place, _TYPE_OF[symbol.kind], flags)
    for place in _given(facts.pieces):
        found.setdefault(place[0], _token(place, "type", (False, False, True)))
    return sorted(found.values())


def _token(place: tuple[int, int], type_: str, flags: tuple[bool, bool, bool]) -> Token:
    modifiers = sum(1 << i for i, flag in enumerate(flags) if flag)
    return Token(place[0], place[1] - place[0], TOKEN_TYPES.index(type_), modifiers)


def _given(pieces: Pieces) -> Iterator[tuple[int, int]]:
    """Sorts and dtypes."""
    for piece in pieces.pieces:
        for node in walk(*piece.items):
            if isinstance(node, sweet.NamedType | sweet.Name) and (node.name in DTYPES or node.name in SORTS):
                place = pieces.place(node.span)
                if place is not None:
                    yield place[0], place[0] + len(node.name)
            elif isinstance(node, sweet.TensorType):
                place = pieces.place(node.span)
                if place is not None:
                    yield place[0], place[0] + len("Tensor")
