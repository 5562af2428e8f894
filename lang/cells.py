"""Text as a terminal shows it: control characters escaped, widths counted in columns, long texts wrapped."""

from __future__ import annotations

import unicodedata
from itertools import accumulate

TAB = "    "
ELLIPSIS = "…"
LONGEST_MESSAGE = 2000

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_COMBINING = frozenset({"Mn", "Me"})


def cell(char: str) -> tuple[str, int]:
    """How a code point is shown, and how many columns it takes."""
    if " " <= char <= "~":
        return char, 1
    if char == "\t":
        return TAB, len(TAB)
    category = unicodedata.category(char)
    if category in _HIDDEN:
        escaped = _escape(char)
        return escaped, len(escaped)
    if category in _COMBINING:
        return char, 0
    return char, 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_simple(text: str) -> bool:
    """Whether each of its characters is shown as it is, in one column."""
    return text.isascii() and text.isprintable()


def shown(text: str) -> str:
    """The text on one line, with characters escaped that could move the cursor or reverse the writing direction."""
    return text if is_simple(text) else "".join(cell(c)[0] for c in text)


def columns(text: str) -> int:
    return len(text) if is_simple(text) else sum(cell(c)[1] for c in text)


def ends(text: str, begin: int) -> tuple[int, ...]:
    """The column before each character and after the last one, starting at column `begin`."""
    if is_simple(text):
        return tuple(range(begin, begin + len(text) + 1))
    return tuple(accumulate((cell(c)[1] for c in text), initial=begin))


def wrapped(text: str, room: int) -> list[str]:
    """The text in lines of at most `room` columns; its own line ends stay, and so do the blanks of a line that fits."""
    if len(text) > LONGEST_MESSAGE:
        text = text[:LONGEST_MESSAGE] + ELLIPSIS
    return [line for paragraph in text.split("\n") for line in _folded(shown(paragraph.rstrip()), max(room, 10))]


def _folded(paragraph: str, room: int) -> list[str]:
    if columns(paragraph) <= room:
        return [paragraph]
    lines = [""]
    for word in _words(paragraph):
        for part in [word] if columns(word) <= room else _parts(word, room):
            joined = f"{lines[-1]} {part}" if lines[-1] else part
            if columns(joined) <= room:
                lines[-1] = joined
            else:
                lines.append(part)
    return [line for line in lines if line]


_OPERATORS = frozenset(("+", "*", "//", "%", "==", "!=", "<=", ">=", "="))


def _words(paragraph: str) -> list[str]:
    """Split at blanks, but keep backquoted text, bracketed text and formulas whole: a line ends before `Tensor([n, m], int8)`
    or `n * 4` rather than inside it."""
    words: list[str] = []
    for word in _bracketed(paragraph):
        if words and (word in _OPERATORS or words[-1].rpartition(" ")[2] in _OPERATORS):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def _bracketed(paragraph: str) -> list[str]:
    words = [""]
    depth, quoted = 0, False
    for char in paragraph:
        if char == " " and depth == 0 and not quoted:
            words.append("")
            continue
        quoted ^= char == "`"
        depth = max(0, depth + (char in "([{") - (char in ")]}"))
        words[-1] += char
    return words


def _parts(word: str, room: int) -> list[str]:
    """Divide a word that is longer than a line: inside its brackets, or anywhere if those parts are still too long."""
    parts = []
    for part in word.split(" "):
        while columns(part) > room:
            end = next(i for i in range(len(part) + 1) if columns(part[: i + 1]) > room)
            parts.append(part[:end])
            part = part[end:]
        parts.append(part)
    return parts
