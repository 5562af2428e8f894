"""Convert offsets of a text to lines and columns as an editor counts them, and back; apply changes to a text; convert files
to URIs, and back.

Lines end only with `\\n`, `\\r\\n` or `\\r`. A column counts code units of the agreed encoding.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path, PureWindowsPath
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
ENCODINGS = (UTF32, UTF8, UTF16)
_LINE_END = re.compile(r"\r\n?|\n")
_DRIVE = re.compile(r"/?([A-Za-z]):(?=[/\\]|$)")


class Position(NamedTuple):
    """A line and a column, both counted from 0."""

    line: int
    column: int


class TextLines:
    """A text with its lines; `encoding` is the unit of columns."""

    def __init__(self, text: str, encoding: str = UTF16) -> None:
        self.text, self.encoding = text, encoding
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def position(self, offset: int) -> Position:
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return Position(line, units(self.text[self._starts[line] : offset], self.encoding))

    def offset(self, line: int, column: int) -> int:
        """The offset of a position. A column after the end of a line is its end; a column inside a character is its start."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        return start + _characters(self.text[start : self._end(line)], column, self.encoding)

    def _end(self, line: int) -> int:
        """The end of a line, without its line break."""
        if line + 1 >= len(self._starts):
            return len(self.text)
        end = self._starts[line + 1]
        return end - (2 if self.text[end - 2 : end] == "\r\n" else 1)


def units(text: str, encoding: str) -> int:
    """The number of code units in a text."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(c > "\uffff" for c in text)


def _characters(text: str, column: int, encoding: str) -> int:
    """The number of characters of a line before a column."""
    if encoding == UTF32 or text.isascii():
        return min(max(column, 0), len(text))
    for at, character in enumerate(text):
        column -= units(character, encoding)
        if column < 0:
            return at
    return len(text)


def changed(text: str, start: Position, end: Position, new: str, encoding: str) -> str:
    """A text with a part of it replaced."""
    lines = TextLines(text, encoding)
    first, last = lines.offset(*start), lines.offset(*end)
    return text[: min(first, last)] + new + text[max(first, last) :]


def agreed(offered: list[str] | None) -> str:
    """The first encoding offered by the client that we support; UTF-16, which every client supports, if there is none."""
    return next((e for e in offered or () if e in ENCODINGS), UTF16)


def path_of(uri: str) -> Path | None:
    """The file that a URI names, or None: drive letters become upper case, links are followed as in `Files`."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    drive = _DRIVE.match(path)
    if drive:
        path = f"{drive[1].upper()}:{path[drive.end() :]}"
    elif parts.netloc and parts.netloc != "localhost":
        path = f"//{parts.netloc}{path}"
    return Path(path)


def uri_of(path: Path | PureWindowsPath) -> str:
    """The URI of a file, as VS Code writes it: `file:///c%3A/x.rx` and `file:///C:/x.rx` are the same file."""
    text = path.as_posix()
    drive = _DRIVE.match(text)
    if drive:
        return f"file:///{drive[1].lower()}%3A{quote(text[drive.end() :])}"
    return f"file:{quote(text)}" if text.startswith("//") else f"file://{quote(text)}"
