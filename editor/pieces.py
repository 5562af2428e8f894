"""Cut a file's text into pieces: each top-level item becomes a source of its own, which is parsed once as long as its text
stays the same.

A piece begins in column 1 with a word that begins an item. Places in it are relative to its start, so that results stay valid
when it moves. `Pieces` maps them back to the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ..desugar.symbols import bound, named
from ..lang import sweet
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import DTYPES
from ..lang.lexer import Tokens, scan
from ..lang.parser import parse
from ..lang.source import Source, Span

R = TypeVar("R")
_BEGINS = re.compile(
    r"^(?:(?:inline|private|extern|prim)[ \t]+[a-z @]|@[\w.']+[ \t]*=(?!=)"
    r"|(?:const|type|let)[ \t]+[\w(]|import[ \t]*\"|assert\b)",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W\d][\w']*(?:\.[^\W\d][\w']*)*")
_DEFINED = re.compile(r"^(?:\w+[ \t]+)*?(?:@|const[ \t]+|type[ \t]+)([^\W\d][\w.']*)", re.MULTILINE)
# Strings and comments are matched first, so that brackets in them do not count.
_TOKEN = re.compile(r"#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|([(\[{])|([)\]}])")
_STATEMENTS = (sweet.Let, sweet.Assert, sweet.ExprStmt)


class EditorPiece(Source):
    """The text of one or a few items. `path` is the file, `key` the name of the piece there."""

    __slots__ = ("path", "key", "__dict__", "__weakref__")

    def __init__(self, path: Path, key: str, text: str) -> None:
        super().__init__(f"{path}#{key}", text)  # diagnostics are identified by the names of their sources
        self.path, self.key = path, key
        self._kept: dict[str, tuple[object, Any]] = {}

    def kept(self, what: str, key: object, make: Callable[[], R]) -> R:
        """A result computed from the piece by others, kept until the key changes."""
        known = self._kept.get(what)
        if known is None or known[0] is not key and known[0] != key:
            self._kept[what] = known = (key, make())
        found: R = known[1]
        return found

    @cached_property
    def read(self) -> tuple[sweet.Module, tuple[Diagnostic, ...]]:
        return parse.__wrapped__(self)  # bypasses the parser's cache of one text, which is another file's

    @cached_property
    def tokens(self) -> Tokens:
        return scan(self)

    @property
    def items(self) -> tuple[sweet.Item, ...]:
        return self.read[0].items

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        return self.read[1]

    @cached_property
    def seen(self) -> EditorPiece:
        """The piece as others see it: if a function's body cannot be parsed, the function with its signature alone."""
        end = _body(self.text) if self.problems and _DEFINED.match(self.text) else None
        if end is None:
            return self
        stub = EditorPiece(self.path, self.key, f"{self.text[:end]}{{}}\n")
        return stub if not stub.problems and stub.is_opaque else self

    @cached_property
    def words(self) -> frozenset[str]:
        """All names that the piece may refer to, possibly with some more."""
        return _words(self.text)

    @cached_property
    def words_of_head(self) -> frozenset[str]:
        return _words(self.head) if self.is_opaque else self.words

    @cached_property
    def defined(self) -> frozenset[str]:
        """The functions, consts and types that other pieces may use."""
        if self.problems:
            return frozenset(_DEFINED.findall(self.text))
        named = sweet.FnDecl | sweet.Impls | sweet.Const | sweet.TypeDecl | sweet.Gradient
        return frozenset(i.name.name for i in self.items if isinstance(i, named))

    @cached_property
    def named(self) -> tuple[set[str], set[str]]:
        """The names that the text seems to define, and the names defined by the part that could be parsed."""
        return named(self.text), bound(self.seen.items)

    @cached_property
    def is_list(self) -> bool:
        """Whether it lists implementations; their entry assertions matter to callers of any of them."""
        return any(isinstance(item, sweet.Impls) for item in self.items)

    @cached_property
    def is_gradient(self) -> bool:
        """Whether it depends on the bodies of functions: the function that it differentiates, and all functions called from
        there."""
        return any(
            isinstance(i, sweet.Gradient) or (isinstance(i, sweet.FnDecl) and "vjp" in i.prefixes) for i in self.items
        )

    @cached_property
    def is_script(self) -> bool:
        """Whether it has statements that are run with the file."""
        return any(isinstance(item, _STATEMENTS) for item in self.items) or self.text.startswith(("let", "assert"))

    @cached_property
    def head(self) -> str:
        """The part visible to users of the piece: for a single function with an annotated result, everything but its body."""
        function = self.items[0] if len(self.items) == 1 and not self.problems else None
        if not isinstance(function, sweet.FnDecl) or function.prefixes or function.fn.result is None:
            return self.text
        result, body = function.fn.result, function.fn.body
        return self.text if body is None or _says_nothing(result) else self.text[: body.span.start]

    @property
    def is_opaque(self) -> bool:
        """Whether users see less than its whole text."""
        return len(self.head) < len(self.text)

    @cached_property
    def balance(self) -> tuple[int, int]:
        """The number of closing brackets without an opening one in the piece, and the number of brackets left open."""
        before = depth = 0
        for found in _TOKEN.finditer(self.text):
            if found[1]:
                depth += 1
            elif found[2]:
                depth, before = max(depth - 1, 0), before + (depth == 0)
        return before, depth


def _body(text: str) -> int | None:
    """The start of the first block of a text."""
    depth = 0
    for found in _TOKEN.finditer(text):
        if found[1] == "{" and not depth:
            return found.start()
        depth += bool(found[1]) - bool(found[2])
    return None


def _words(text: str) -> frozenset[str]:
    """The names in a text, with the prefixes of qualified names (`attn` of `attn.block`) and the wrappers of implementations
    (`f` of `f_impl`)."""
    found = set(_WORD.findall(text))
    found |= {word.rstrip("'").removesuffix("_impl") for word in found if "_impl" in word}
    for word in [w for w in found if "." in w]:
        parts = word.split(".")
        found.update(".".join(parts[:n]) for n in range(1, len(parts)))
    return frozenset(found)


def _says_nothing(type_: sweet.Type) -> bool:
    """Whether a result's type may give no facts; then users of the function need its body."""
    match type_:
        case sweet.TensorType():
            return isinstance(type_.shape, sweet.Unknown | None) and isinstance(type_.dtype, sweet.Unknown | None)
        case sweet.TupleType():
            return all(map(_says_nothing, type_.items))
        case sweet.NamedType():
            return type_.name not in DTYPES
        case sweet.FnType():
            return True


class Pieces:
    """A file's text and its pieces, in order, with the offset of each."""

    def __init__(self, path: Path, text: str, pieces: tuple[EditorPiece, ...]) -> None:
        self.path = path
        self.source = Source(str(path), text)
        self.pieces = pieces
        self.starts: list[int] = []
        at = 0
        for piece in pieces:
            self.starts.append(at)
            at += len(piece.text)
        self._start_of = {p.key: at for p, at in zip(pieces, self.starts, strict=True)}

    @property
    def text(self) -> str:
        return self.source.text

    @cached_property
    def module(self) -> sweet.Module:
        """The whole file as one tree; its items are in the sources of the pieces."""
        items = tuple(item for piece in self.pieces for item in piece.seen.items)
        comments = tuple(c for piece in self.pieces for c in piece.read[0].comments)
        return sweet.Module(Span(self.source, 0, len(self.text)), self.source, items, comments)

    @cached_property
    def problems(self) -> tuple[Diagnostic, ...]:
        return tuple(problem for piece in self.pieces for problem in piece.problems)

    @cached_property
    def lost(self) -> frozenset[str]:
        """The names defined in text that cannot be parsed; no diagnostics are reported about them."""
        both = [piece.named for piece in self.pieces] if self.problems else []
        return frozenset(set[str]().union(*(a for a, _ in both)) - set[str]().union(*(b for _, b in both)))

    @cached_property
    def consts(self) -> frozenset[str]:
        """The names of consts: in an annotation, a size with such a name is the const."""
        return frozenset(i.name.name for p in self.pieces for i in p.seen.items if isinstance(i, sweet.Const))

    @cached_property
    def by_name(self) -> Mapping[str, tuple[EditorPiece, ...]]:
        """The pieces that define a name, and the lists of implementations that contain it, since these decide its demands."""
        found: dict[str, tuple[EditorPiece, ...]] = {}
        for piece in self.pieces:
            listed = (c.name for i in piece.items if isinstance(i, sweet.Impls) for c in i.choices)
            for name in (*piece.seen.defined, *listed):
                found[name] = (*found.get(name, ()), piece.seen)
        return found

    def at(self, offset: int) -> tuple[EditorPiece, int]:
        """The piece at an offset of the file, and the offset in it."""
        number = max(bisect_right(self.starts, offset) - 1, 0)
        return self.pieces[number], offset - self.starts[number]

    def place(self, span: Span) -> tuple[int, int] | None:
        """The current place in the file of a span in one of its pieces; None for a span elsewhere."""
        if isinstance(span.source, EditorPiece):
            start = self._start_of.get(span.source.key)
            return None if start is None else (start + span.start, min(start + span.end, len(self.text)))
        return (span.start, span.end) if span.source is self.source else None


# Known pieces by file, key and text.
Known = MutableMapping[tuple[Path, str, str], EditorPiece]


def split(path: Path, text: str, known: Known | None = None) -> Pieces:
    """The pieces of a text; known pieces, of this text or an earlier one, are reused."""
    known = {} if known is None else known
    count: dict[str, int] = {}
    pieces = []
    for part in _closed(path, list(_parts(text))):
        name = _called(part)
        count[name] = count.get(name, 0) + 1
        key = f"{name}#{count[name]}"
        pieces.append(known.get((path, key, part)) or known.setdefault((path, key, part), EditorPiece(path, key, part)))
    return Pieces(path, text, tuple(pieces))


def _parts(text: str) -> Iterator[str]:
    starts = [0, *(found.start() for found in _BEGINS.finditer(text) if found.start())]
    yield from (text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True))


def _called(text: str) -> str:
    """The name of a piece: that of the first item defined in it."""
    found = _DEFINED.match(text)
    return found[1] if found else text.split(None, 1)[0][:6] if text.strip() else ""


def _closed(path: Path, parts: Iterable[str]) -> list[str]:
    """The parts, joined where a bracket opened in one is closed in a later one."""
    found = list(parts)
    balances = [EditorPiece(path, "", part).balance if _may_be_open(part) else (0, 0) for part in found]
    at = len(found) - 1
    while at > 0:
        missing, at = balances[at][0], at - 1
        if missing:
            first = next((i for i in range(at, -1, -1) if balances[i][1]), None)
            if first is not None:
                joined = "".join(found[first : at + 2])
                found[first : at + 2], balances[first : at + 2] = [joined], [EditorPiece(path, "", joined).balance]
                at = first
    return found


def _may_be_open(part: str) -> bool:
    return any(part.count(a) != part.count(b) for a, b in ("()", "[]", "{}"))
