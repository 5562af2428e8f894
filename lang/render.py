"""A diagnostic to lines of styled text, without empty or repeated ones: see docs/errors.md.

error[E305]: @matmul needs axis 1 of `x` to equal ...      the headline: who needs what, what is there, the verdict
  --> net.rx:6:3                                           the place to edit
 2 |   x : Tensor([B, 64], float32),                       each source line that matters, once,
   |                  -- 64 comes from here                with labels on its parts
 6 |   @matmul(x, w)                                       the primary one among them,
   |   ^^^^^^^^^^^^^ `x` [ B, 64]                          with the shapes below each other, bad axes marked
   |                      vv  ^^
   |                 `w` [32, 10]
   = note: n = n + 2 has no solution                       the equation with its reason, the smallest example
   = help: transpose `w`: `@matmul(x, @matrix_transpose(w))` (checked)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, product
from typing import NamedTuple

from .cells import ELLIPSIS, cell, columns, ends, is_simple, shown, wrapped
from .diagnostics import Diagnostic
from .source import NOWHERE, Source, Span
from .styled import Line, Piece

WIDTH = 100
_LEAST_ROOM = 36
# A text below its underline moves left by at most this many columns, rather than take a second line.
_MOST_ROOM = 60
# Notes that together are no longer than this share a line.
_SHORT = 88
# The context shown around an underline in a long line, and how much is shown of either end of an underline that is too long.
_CONTEXTS = range(40, 0, -3)
_END = 10


class LineMark(NamedTuple):
    """An underlining in one line of the source, from column `start` (from 0, in code points) to before `end`."""

    line: int
    start: int
    end: int
    primary: bool
    message: str


class Underline(NamedTuple):
    """The same in columns of the terminal."""

    start: int
    end: int
    primary: bool
    message: str


class LinePart(NamedTuple):
    """A part of a source line from code point `first` on; `stops[i]` is the column where code point first + i begins."""

    first: int
    stops: tuple[int, ...]


class Window(NamedTuple):
    """The shown parts of one source line, with an ellipsis between them."""

    text: str
    parts: tuple[LinePart, ...]

    def column(self, at: int) -> int:
        """The column of a code point; an omitted one is at its ellipsis."""
        for part in self.parts:
            if at < part.first + len(part.stops):
                return part.stops[at - part.first] if at >= part.first else max(part.stops[0] - len(ELLIPSIS), 0)
        return self.parts[-1].stops[-1]


def render_text(diagnostic: Diagnostic, width: int = WIDTH, verbose: bool = False) -> str:
    """The diagnostic as plain text, each line ended."""
    lines = render(diagnostic, width, verbose)
    return "".join("".join(piece.text for piece in line).rstrip() + "\n" for line in lines)


def diagnostics_lines(diagnostics: Iterable[Diagnostic]) -> list[Line]:
    """Each as `rx check` prints it, with an empty line between."""
    lines: list[Line] = []
    for diagnostic in diagnostics:
        lines += [(), *render(diagnostic)]
    return lines[1:]


def render(diagnostic: Diagnostic, width: int = WIDTH, verbose: bool = False) -> list[Line]:
    """The styled lines. `verbose` shows the lines of a translated program, instead of the nodes of its model."""
    places = _places(diagnostic)
    margin = _margin(places)
    lines = _headline(diagnostic, width)
    for source, marks in places:
        if source is diagnostic.span.source:
            span = _clamped(diagnostic.span)
            made = source.made.get(span.line)
            written = f" ({made.trace})" if made is not None and made.trace else ""
            lines.append(_place(margin, "-->", source.place(span.start, span.end) + written))
        else:
            lines.append(_place(margin, ":::", source.place(source.line_starts()[marks[0].line - 1] + marks[0].start)))
        lines += _block(source, marks, margin, width, verbose)
    lines += _footer(diagnostic, margin, width)
    return [_coloured(line, diagnostic.severity) for line in lines]


def _coloured(line: Line, severity: str) -> Line:
    """Give primary pieces the colour of the severity."""
    return tuple(Piece(p.text, severity) if p.style == "primary" else p for p in line)


def _headline(diagnostic: Diagnostic, width: int) -> list[Line]:
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    first, *rest = wrapped(diagnostic.message, width - len(head) - 2)
    lines: list[Line] = [(Piece(head, diagnostic.severity), Piece(f": {first}", "title"))]
    return lines + [(Piece(" " * (len(head) + 2) + text, "title"),) for text in rest]


def _place(margin: int, arrow: str, text: str) -> Line:
    return (Piece(f"{' ' * margin}{arrow} ", "gutter"), Piece(shown(text), "place"))


def _footer(diagnostic: Diagnostic, margin: int, width: int) -> list[Line]:
    remarks = [("note", note) for note in _joined(_notes(diagnostic))]
    if diagnostic.help:
        remarks.append(("help", diagnostic.help))
    lines: list[Line] = []
    for kind, text in remarks:
        bullet = f"{' ' * (margin + 1)}= "
        indent = len(bullet) + len(kind) + 2
        first, *rest = wrapped(text, width - indent)
        lines.append((Piece(bullet, "gutter"), Piece(f"{kind}:", "title"), Piece(f" {first}", "plain")))
        lines += [(Piece(" " * indent + more, "plain"),) for more in rest]
    return lines


def _caption(diagnostic: Diagnostic) -> str:
    """The text beside the primary span: the caption, and notes of several lines, which are tables."""
    tables = [note for note in diagnostic.notes if "\n" in note] if diagnostic.span.source.text else []
    return "\n".join(filter(None, (diagnostic.caption, *tables)))


def _joined(notes: list[str]) -> list[str]:
    """Join short notes on one line."""
    joined = "; ".join(notes)
    return [joined] if notes and columns(joined) <= _SHORT else notes


def _notes(diagnostic: Diagnostic) -> list[str]:
    """The notes; labels without a place in the user's text; the witness, unless a text contains it already."""
    notes = [note for note in diagnostic.notes if "\n" not in note or not diagnostic.span.source.text]
    notes += [label.message for label in diagnostic.labels if label.span.source is NOWHERE.source and label.message]
    if diagnostic.witness:
        example = ", ".join(f"{name} = {value}" for name, value in diagnostic.witness.items())
        texts = (diagnostic.message, diagnostic.caption, *notes, *(label.message for label in diagnostic.labels))
        if not any(example in text for text in texts):
            holds = any("holds only for" in note for note in notes)
            notes.append(f"it fails e.g. for {example}" if holds else f"e.g. {example}")
    return notes


# From spans to marks


def _places(diagnostic: Diagnostic) -> list[tuple[Source, list[LineMark]]]:
    """The marks of each source, the primary one's first; in the order of the text."""
    marks: dict[Source, list[LineMark]] = {}
    marks[diagnostic.span.source] = list(_marks(diagnostic.span, True, _caption(diagnostic)))
    for label in diagnostic.labels:
        if label.span.source is not NOWHERE.source:
            marks.setdefault(label.span.source, []).extend(_marks(label.span, False, label.message))
    return [(source, sorted(set(found))) for source, found in marks.items()]


def _clamped(span: Span) -> Span:
    size = len(span.source.text)
    start = min(max(span.start, 0), size)
    return Span(span.source, start, min(max(span.end, start), size))


def _marks(span: Span, primary: bool, message: str) -> Iterator[LineMark]:
    """One mark, or for a span of several lines one in its first line and one, with the message, in its last."""
    source, start, end = _clamped(span)
    line, column = source.position(start)
    if end > start and source.text[end - 1] == "\n":
        end -= 1
    last, end_column = source.position(end)
    if last == line:
        yield LineMark(line, column - 1, max(end_column - 1, column - 1), primary, message)
        return
    yield LineMark(line, column - 1, _extent(source, line)[1], primary, "")
    begin, length = _extent(source, last)
    indent = _indent(source.text, begin, begin + min(length, end_column - 1))
    yield LineMark(last, indent, end_column - 1, primary, message)


def _extent(source: Source, line: int) -> tuple[int, int]:
    """Where a line begins in the text, and its length without the line end."""
    starts = source.line_starts()
    begin = starts[line - 1]
    end = starts[line] - 1 if line < len(starts) else len(source.text)
    while end > begin and source.text[end - 1] == "\r":
        end -= 1
    return begin, end - begin


def _indent(text: str, begin: int, end: int) -> int:
    part = text[begin:end]
    return len(part) - len(part.lstrip(" \t"))


# The source, line by line


def _margin(places: list[tuple[Source, list[LineMark]]]) -> int:
    """The width of line numbers."""
    return max(2, *(len(str(mark.line)) for _, marks in places for mark in marks))


def _gutter(margin: int, number: int | None = None) -> Line:
    head = f"{'' if number is None else number:>{margin}} |"
    return (Piece(head, "gutter"),)


def _block(source: Source, marks: list[LineMark], margin: int, width: int, verbose: bool) -> Iterator[Line]:
    if not source.text:
        return
    in_words = bool(source.made) and not verbose
    of_nodes = [mark for mark in marks if in_words and mark.line in source.made]
    marks = [mark for mark in marks if mark not in of_nodes]
    room = width - margin - 3
    continued = _continued(marks)
    for number, group in groupby(marks, key=lambda mark: mark.line):
        for window, underlines in _windows(source, number, list(group), room, width):
            yield (*_gutter(margin, None if in_words else number), Piece(f" {window.text}", "source"))
            for row in _underlining(underlines, room):
                yield (*_gutter(margin), Piece(" ", "plain"), *row)
        if number in continued:
            yield (Piece("." * max(margin + 1, 3), "gutter"),)
    for mark in sorted(of_nodes, key=lambda mark: mark.primary):
        text = mark.message if mark.primary else f"{source.made[mark.line].what}: {mark.message}"
        for line in wrapped(text, room) if mark.message else ():
            yield (*_gutter(margin), Piece(f" {line}", "primary" if mark.primary else "label"))


def _continued(marks: list[LineMark]) -> set[int]:
    """The lines after which a span goes on without being shown."""
    lines = sorted({mark.line for mark in marks})
    return {a for a, b in zip(lines, lines[1:], strict=False) if b > a + 1 and _goes_on(marks, a, b)}


def _goes_on(marks: list[LineMark], line: int, following: int) -> bool:
    """Whether a mark without a message in one line has its other half in the next shown line."""
    kinds = {mark.primary for mark in marks if mark.line == line and not mark.message}
    return any(mark.line == following and mark.primary in kinds for mark in marks)


def _windows(
    source: Source, line: int, marks: list[LineMark], room: int, width: int
) -> Iterator[tuple[Window, list[Underline]]]:
    """The line once if it has no more than `width` columns; else once for each bunch of marks that fit into the room."""
    begin, length = _extent(source, line)
    whole = source.text[begin : begin + length] if length <= width else None
    if whole is not None and columns(whole) <= width:
        window = _parts(whole, [(0, length)])
        yield window, [_underline(mark, window) for mark in marks]
        return
    bunches = _bunches(marks, room * 2 // 3)
    elided = _elided(source.text, begin, length, marks, room) if len(bunches) > 1 else None
    if elided is not None:
        yield elided, [_underline(mark, elided) for mark in marks]
        return
    for bunch in bunches:
        window = _window(source.text, begin, length, bunch, room)
        yield window, [_underline(mark, window) for mark in bunch]


def _bunches(marks: list[LineMark], reach: int) -> list[list[LineMark]]:
    bunches: list[list[LineMark]] = []
    for mark in marks:
        if bunches and mark.end - bunches[-1][0].start <= reach:
            bunches[-1].append(mark)
        else:
            bunches.append([mark])
    return bunches


def _elided(text: str, begin: int, length: int, marks: list[LineMark], room: int) -> Window | None:
    """The underlined parts of a long line, whole if possible, with as much context as there is room for; None if there is too
    little room."""
    line, wholes = text[begin : begin + length], [(mark.start, mark.end) for mark in marks]
    for shown_of_each, context in product((sorted(wholes), sorted(_ends(marks))), _CONTEXTS):
        spans: list[tuple[int, int]] = []
        for start, end in shown_of_each:
            start, end = _at_words(line, start, end, max(start - context, 0), min(end + context, length))
            if spans and start <= spans[-1][1] + len(ELLIPSIS):
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        if sum(end - start for start, end in spans) <= room:
            window = _parts(line, spans)
            if columns(window.text) <= room:
                return window
    return None


def _at_words(line: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """A part of a line around `start` to `end`, shrunk where it would begin or end within a word."""
    while 0 < first < start and _is_of_word(line[first - 1]) and _is_of_word(line[first]):
        first += 1
    while end < last < len(line) and _is_of_word(line[last - 1]) and _is_of_word(line[last]):
        last -= 1
    return first, last


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _ends(marks: list[LineMark]) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each mark, which must be visible."""
    for mark in marks:
        yield mark.start, min(mark.end, mark.start + _END)
        yield max(mark.end - _END, mark.start), mark.end


def _window(text: str, begin: int, length: int, bunch: list[LineMark], room: int) -> Window:
    """The part of a line around a column that fits; only the visible part is examined, so that a line of 5 MB is cheap."""
    left, focus = room - 2, bunch[0].start
    first = last = min(focus, length)
    first, left = _leftwards(text, begin, first, left, room // 4)
    ahead = min(length - last, room - last + first, left)
    if ahead > 0 and is_simple(text[begin + last : begin + last + ahead]):
        last, left = last + ahead, left - ahead
    while last < length and last - first < room and cell(text[begin + last])[1] <= left:
        left -= cell(text[begin + last])[1]
        last += 1
    if last == length:
        first, left = _leftwards(text, begin, first, left, left)
    line, seen = text[begin : begin + length], max(mark.end for mark in bunch)
    return _parts(line, [_at_words(line, focus, min(seen, last), first, last)])


def _leftwards(text: str, begin: int, first: int, left: int, reach: int) -> tuple[int, int]:
    """Widen a window to the left by at most `reach` columns."""
    floor, steps = max(0, first - reach), max(min(first, reach, left), 0)
    if is_simple(text[begin + first - steps : begin + first]):
        first, left, reach = first - steps, left - steps, reach - steps
    while first > floor and cell(text[begin + first - 1])[1] <= min(left, reach):
        used = cell(text[begin + first - 1])[1]
        first, left, reach = first - 1, left - used, reach - used
    return first, left


def _parts(line: str, spans: list[tuple[int, int]]) -> Window:
    """The given parts of a line, with an ellipsis for each gap."""
    shown_text, parts = "", []
    for first, last in spans:
        shown_text += ELLIPSIS if first else ""
        part = line[first:last]
        parts.append(LinePart(first, ends(part, columns(shown_text))))
        shown_text += shown(part)
    return Window(shown_text + (ELLIPSIS if spans[-1][1] < len(line) else ""), tuple(parts))


def _underline(mark: LineMark, window: Window) -> Underline:
    start = window.column(mark.start)
    return Underline(start, max(window.column(mark.end), start + 1), mark.primary, mark.message)


# Underlinings and their messages


def _underlining(underlines: list[Underline], room: int) -> Iterator[Line]:
    inline = _inline(underlines, room)
    hanging = sorted((u for u in underlines if u.message and u is not inline), key=lambda u: (-u.start, not u.primary))
    carets = _carets(underlines)
    if inline:
        at = len(carets) + 1
        first, *rest = wrapped(inline.message, room - at)
        yield _row([*carets, *_text(" " + first, inline)])
        yield from _hung(rest, at, inline, hanging)
    else:
        yield _row(carets)
    if any(_is_apart(u, room) for u in hanging):
        yield _row(_connectors(hanging))
    for i, underline in enumerate(hanging):
        at = _fitting(underline, room)
        yield from _hung(wrapped(underline.message, room - at), at, underline, hanging[i + 1 :])


def _is_apart(underline: Underline, room: int) -> bool:
    """Whether a message cannot begin below its underline."""
    return _fitting(underline, room) < underline.start


def _inline(underlines: list[Underline], room: int) -> Underline | None:
    """The underline whose message stands to the right of it: nothing else ends further right, and the text has room."""
    end = max(u.end for u in underlines)
    ending = [u for u in underlines if u.end == end and u.message]
    if not ending:
        return None
    last = max(ending, key=lambda u: (u.start, u.primary))
    needed, left = _breadth(last.message), room - end - 1
    if needed <= left:
        return last
    below = "\n" in last.message or needed <= room - last.start
    return last if left >= _LEAST_ROOM and not below else None


def _breadth(message: str) -> int:
    return max((columns(line) for line in message.split("\n")), default=0)


def _carets(underlines: list[Underline]) -> list[Piece]:
    """All underlines in one row, the shorter over the longer."""
    row = [Piece(" ", "plain")] * max(u.end for u in underlines)
    for u in sorted(underlines, key=lambda u: (u.start - u.end, u.primary)):
        row[u.start : u.end] = [Piece("^", "primary") if u.primary else Piece("-", "secondary")] * (u.end - u.start)
    return row


def _connectors(underlines: Iterable[Underline], before: int | None = None) -> list[Piece]:
    row: list[Piece] = []
    for u in sorted(underlines, key=lambda u: u.start):
        if len(row) <= u.start and (before is None or u.start < before):
            row += [Piece(" ", "plain")] * (u.start - len(row))
            row.append(Piece("|", "primary" if u.primary else "secondary"))
    return row


def _hung(texts: list[str], at: int, underline: Underline, waiting: list[Underline]) -> Iterator[Line]:
    """Lines of a message from column `at` on, with a bar for each message still to come."""
    for text in texts:
        row = _connectors(waiting, at)
        yield _row([*row, Piece(" " * (at - len(row)), "plain"), *_text(text, underline)])


def _fitting(underline: Underline, room: int) -> int:
    """The column of a message below its underline, further left if it would not fit."""
    needed = _breadth(underline.message)
    return max(0, min(underline.start, room - min(needed, room if "\n" in underline.message else _MOST_ROOM)))


def _text(text: str, underline: Underline) -> list[Piece]:
    return [Piece(text, "primary" if underline.primary else "label")]


def _row(pieces: list[Piece]) -> Line:
    """Merge neighbours of one style."""
    return tuple(
        Piece("".join(p.text for p in group), style) for style, group in groupby(pieces, key=lambda p: p.style)
    )
