"""The outline of a file, its foldable parts, and the tokens whose meaning only the program gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ..lang import sweet
from ..lang.dtypes import DTYPES
from ..lang.lexer import KIND
from ..lang.walk import walk
from .analysis import SliceFacts
from .lookup import Lookup, placed
from .names import SORTS, Local, Meaning, Occurrence
from .pieces import EditorPiece, Pieces

# The protocol's names of semantic tokens, and of their modifiers.
TOKEN_TYPES = ("namespace", "type", "function", "parameter", "variable", "typeParameter")
MODIFIERS = ("declaration", "readonly", "defaultLibrary")
_TYPE_OF = {
    "import": "namespace", "type": "type", "function": "function", "primitive": "function", "parameter": "parameter",
    "value": "variable", "const": "variable", "size": "typeParameter",
}  # fmt: skip
_OPENS = {KIND["LBRACE"]: KIND["RBRACE"], KIND["LPAR"]: KIND["RPAR"], KIND["LSQB"]: KIND["RSQB"]}


class OutlineItem(NamedTuple):
    """An item of the outline: its name, kind and signature, its place, and the place of its name."""

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


def symbols(pieces: Pieces) -> list[OutlineItem]:
    found = []
    for piece in pieces.pieces:
        for item in piece.items:
            for name, kind, detail in _named(item):
                whole, place = placed(pieces, item.span), placed(pieces, name.span)
                if whole is not None and place is not None:
                    sign = "@" * (kind == "function")
                    shown = f"{sign}{name.name}"
                    found.append(OutlineItem(shown, kind, detail, whole.start, whole.end, place.start, place.end))
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
    """The foldable parts: brackets over several lines, comments of several lines, and the imports together."""
    there = list(zip(pieces.pieces, pieces.starts, strict=True))
    brackets = (Fold(at + a, at + b, kind) for piece, at in there for a, b, kind in _of_piece(piece))
    return sorted({*brackets, *_comments(pieces), *_imports(pieces)})


def _of_piece(piece: EditorPiece) -> list[Fold]:
    tokens = piece.tokens
    return piece.kept("folds", None, lambda: list(_brackets(tokens.kinds, tokens.starts, tokens.ends)))


def _brackets(kinds: list[int], starts: list[int], ends: list[int]) -> Iterator[Fold]:
    opened: list[tuple[int, int]] = []
    for kind, start, end in zip(kinds, starts, ends, strict=True):
        if kind in _OPENS:
            opened.append((_OPENS[kind], start))
        elif opened and kind == opened[-1][0]:
            yield Fold(opened.pop()[1], end, "region")


def _comments(pieces: Pieces) -> Iterator[Fold]:
    run: list[tuple[int, int]] = []
    for piece, at in zip(pieces.pieces, pieces.starts, strict=True):
        for comment in piece.tokens.comments:
            start, end = at + comment.span.start, at + comment.span.end
            follows = run and not pieces.text[run[-1][1] : start].strip(" \t\r\n") and comment.own_line
            if not follows:
                yield from _run(run)
                run = []
            run.append((start, end))
    yield from _run(run)


def _run(run: list[tuple[int, int]]) -> Iterator[Fold]:
    if len(run) > 1:
        yield Fold(run[0][0], run[-1][1], "comment")


def _imports(pieces: Pieces) -> Iterator[Fold]:
    places = [pieces.place(i.span) for p in pieces.pieces for i in p.items if isinstance(i, sweet.Import)]
    there = [p for p in places if p is not None]
    if len(there) > 1:
        yield Fold(there[0][0], there[-1][1], "imports")


# Semantic tokens


def tokens(facts: SliceFacts) -> list[Token]:
    """The semantic tokens of a file: its names in order, with their kinds."""
    lookup, found = Lookup(facts.program), list[Token]()
    starts = dict(zip(facts.pieces.pieces, facts.pieces.starts, strict=True))
    for pieces, there in lookup.by_scope():
        abroad = pieces[0].kept("abroad", there, partial(_abroad, there))
        kinds = {o.meaning: s.kind for o in abroad for s in (lookup.symbol(o),) if s is not None}
        made = pieces[0].kept("tokens", (there, kinds), partial(_tokens, pieces, there, kinds))
        found += [Token(starts[piece] + at, *rest) for piece, at, *rest in made if piece in starts]
    return sorted(found)


def _abroad(there: Iterable[Occurrence]) -> list[Occurrence]:
    """One occurrence of each name defined elsewhere: its meaning may change while this text stays the same."""
    return list({o.meaning: o for o in there if not isinstance(o.meaning, Local)}.values())


InPiece = tuple[EditorPiece, int, int, int, int]


def _tokens(
    pieces: tuple[EditorPiece, ...], there: tuple[Occurrence, ...], kinds: Mapping[Meaning, str]
) -> list[InPiece]:
    """The tokens of the pieces that share a scope, each in its piece."""
    found: dict[tuple[EditorPiece, int], InPiece] = {}
    for name in there:
        kind = name.meaning.kind if isinstance(name.meaning, Local) else kinds.get(name.meaning)
        if kind is not None and isinstance(name.span.source, EditorPiece):
            flags = (name.defines, kind in ("const", "primitive"), kind == "primitive")
            made = _token(name.span.source, name.span.start, name.span.end - name.span.start, _TYPE_OF[kind], flags)
            found[made[:2]] = made
    for piece in pieces:
        for at, length in _given(piece):
            found.setdefault((piece, at), _token(piece, at, length, "type", (False, False, True)))
    return list(found.values())


def _token(piece: EditorPiece, at: int, length: int, type_: str, flags: tuple[bool, bool, bool]) -> InPiece:
    return (piece, at, length, TOKEN_TYPES.index(type_), sum(1 << i for i, flag in enumerate(flags) if flag))


def _given(piece: EditorPiece) -> Iterator[tuple[int, int]]:
    """The places of sorts and dtypes."""
    for node in walk(*piece.items):
        if isinstance(node, sweet.NamedType | sweet.Name) and (node.name in DTYPES or node.name in SORTS):
            yield node.span.start, len(node.name)
        elif isinstance(node, sweet.TensorType):
            yield node.span.start, len("Tensor")
