"""Documents and their layout: text with places where a line may end, fitted into a width.

A group is written on one line if it fits, else its line ends are taken; groups inside it decide for themselves. This is
Wadler's algebra ("A prettier printer") with comments at line ends added.
"""

from __future__ import annotations

from .node import Node


class Line(Node):
    """A line end, replaced by `flat` if its group fits on one line."""

    flat: str


class Hard(Node):
    """A line end that is always taken. `blank` puts an empty line before the next one."""

    blank: bool = False


class Trailing(Node):
    """A comment: written at the end of its line, with a line end after it."""

    text: str


class IfBroken(Node):
    """Text that is written only if its group does not fit on one line."""

    text: str


class Concat(Node):
    parts: tuple[Doc, ...]
    forced: bool


class Group(Node):
    """Written on one line if it fits. A `stiff` group is not broken just to keep the text before it on its line."""

    body: Doc
    forced: bool
    stiff: bool = False


class Fill(Node):
    """Parts with line ends between them; only the necessary line ends are taken."""

    parts: tuple[Doc, ...]
    forced: bool
    start: int = 0


class WordRow(Node):
    """Words with commas between them, as many on each line as fit; `size` is its length on one line. If it is broken, a comma
    follows the last word too."""

    words: tuple[str, ...]
    size: int


class Nest(Node):
    """Indents the lines after each line end in `body` by two more columns."""

    body: Doc
    forced: bool


Doc = str | Line | Hard | Trailing | IfBroken | Concat | Group | Fill | WordRow | Nest

LINE = Line(" ")
SOFT = Line("")
HARD = Hard()


def forced(doc: Doc) -> bool:
    """Whether a document cannot be written on one line."""
    if isinstance(doc, Concat | Group | Fill | Nest):
        return doc.forced
    return isinstance(doc, Hard | Trailing)


def concat(*parts: Doc) -> Doc:
    return Concat(parts, any(map(forced, parts)))


def group(*parts: Doc, stiff: bool = False) -> Doc:
    body = concat(*parts)
    return Group(body, forced(body), stiff)


def nest(*parts: Doc) -> Doc:
    body = concat(*parts)
    return Nest(body, forced(body))


def fill(parts: list[Doc]) -> Doc:
    return Fill(tuple(parts), any(map(forced, parts)))


def render(doc: Doc, width: int) -> str:
    """The text of a document."""
    out: list[str] = []
    column = 0
    trailing: list[str] = []
    stack: list[tuple[int, bool, Doc]] = [(0, False, doc)]
    while stack:
        indent, flat, part = stack.pop()
        if isinstance(part, str):
            out.append(part)
            column += len(part)
        elif isinstance(part, Concat):
            stack += [(indent, flat, inner) for inner in reversed(part.parts)]
        elif isinstance(part, Nest):
            stack.append((indent + 2, flat, part.body))
        elif isinstance(part, Group):
            fits = flat or (not part.forced and _fits(width - column, part.body, stack))
            stack.append((indent, fits, part.body))
        elif isinstance(part, Fill):
            stack += _fill_step(indent, flat, part, width - column)
        elif isinstance(part, WordRow):
            column = _write_row(out, part, flat, column, indent, width)
        elif isinstance(part, Trailing):
            trailing.append(part.text)
        elif isinstance(part, IfBroken):
            if not flat:
                out.append(part.text)
                column += len(part.text)
        elif isinstance(part, Line) and flat:
            out.append(part.flat)
            column += len(part.flat)
        else:
            if trailing:
                out.append("  " + " ".join(trailing))
                trailing.clear()
            blank = isinstance(part, Hard) and part.blank
            out.append("\n\n" if blank else "\n")
            out.append(" " * indent)
            column = indent
    if trailing:
        out.append("  " + " ".join(trailing))
    return "\n".join(line.rstrip() for line in "".join(out).split("\n"))


def _write_row(out: list[str], row: WordRow, flat: bool, column: int, indent: int, width: int) -> int:
    """Write a row of words; return the column after it."""
    if flat:
        out.append(", ".join(row.words))
        return column + row.size
    ends = [len(word) + 1 for word in row.words]
    ends[-1] -= 1
    line_end = ",\n" + " " * indent
    for i, word in enumerate(row.words):
        if i and column + 1 + ends[i] > width:
            out.append(line_end)
            column = indent
        elif i:
            out.append(", ")
            column += 1
        out.append(word)
        column += ends[i]
    out.append(",")
    return column + 1


def _fill_step(indent: int, flat: bool, part: Fill, room: int) -> list[tuple[int, bool, Doc]]:
    """The first part of a fill and the remaining fill, for the stack."""
    at = part.start
    if len(part.parts) - at < 3:
        return [(indent, flat, inner) for inner in reversed(part.parts[at:])]
    first, line, second = part.parts[at : at + 3]
    both_fit = _fits(room, concat(first, line, second), [])
    rest = Fill(part.parts, part.forced, at + 2)
    return [(indent, flat, rest), (indent, flat or both_fit, line), (indent, flat, first)]


def _fits(room: int, doc: Doc, rest: list[tuple[int, bool, Doc]]) -> bool:
    """Whether a document fits flat, with the text after it up to the next place where a line may end."""
    stack: list[tuple[bool, Doc]] = [(True, doc)]
    behind = len(rest)
    while room >= 0:
        if not stack:
            if not behind:
                return True
            behind -= 1
            _, flat, part = rest[behind]
            stack.append((flat, part))
            continue
        flat, part = stack.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, Concat):
            stack += [(flat, inner) for inner in reversed(part.parts)]
        elif isinstance(part, Fill):
            stack += [(flat, inner) for inner in reversed(part.parts[part.start : part.start + 2 * room + 2])]
        elif isinstance(part, WordRow):
            room -= part.size
        elif isinstance(part, Nest):
            stack.append((flat, part.body))
        elif isinstance(part, Group):
            stack.append((flat or (part.stiff and not part.forced), part.body))
        elif isinstance(part, Line) and flat:
            room -= len(part.flat)
        elif isinstance(part, Line | Hard):
            return True
        elif isinstance(part, IfBroken) and not flat:
            room -= len(part.text)
    return False
