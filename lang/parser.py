"""Text to sweet tree, with all syntax errors of the file."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from . import codes, sweet
from .build import TreeBuilder
from .diagnostics import Diagnostic, RxError, error, in_order
from .lalr import MAX_DEPTH, Parser, Stuck, TooDeep, too_deep, tree_rules
from .lexer import KIND, scan, unreadable
from .lines import BEGINNINGS, CLOSER, END, OPENER, TokenLines, Unbalanced, find_lines
from .node import replace
from .pause import collector_paused
from .source import Source, Span

MAX_PROBLEMS = 100
"""After this many mistakes the search in a file ends."""

__all__ = ["MAX_DEPTH", "decode", "parse", "parse_conditions", "parse_expr", "parse_type", "unread"]


def decode(data: bytes, name: str) -> tuple[Source, tuple[Diagnostic, ...]]:
    """A file's bytes to its text. A byte order mark is dropped; bytes that are not UTF-8 and NULs are reported once."""
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    source = Source(name, text)
    problems = [unreadable(source, at) for at in (text.find("\0"), _first_invalid(data)) if at >= 0]
    return source, tuple(in_order(problems))


def _first_invalid(data: bytes) -> int:
    """The offset of the first character that replaces invalid bytes, or -1."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return len(data[: problem.start].decode("utf-8").removeprefix("\ufeff"))
    return -1


@lru_cache(maxsize=1)
def parse(source: Source) -> tuple[sweet.Module, tuple[Diagnostic, ...]]:
    """The module (with the items that could be read) and every syntax error. Raises nothing; the last result is kept."""
    return parse_beside(source)


@collector_paused
def parse_beside(source: Source) -> tuple[sweet.Module, tuple[Diagnostic, ...]]:
    """The same for a source that is read in passing, without replacing the kept result."""
    tokens = scan(source)
    problems: list[Diagnostic] = []
    try:
        lines = find_lines(tokens)
    except Unbalanced:
        from . import brackets  # only a file with mistakes pays for it

        fixed, problems = brackets.fix(tokens)
        lines = find_lines(fixed)
    touched = [span.start for problem in problems for span in (problem.span, *(label.span for label in problem.labels))]
    items = [item for item in _read_items(source, lines, problems) if not _holds(item.span, touched)]
    problems = _one_for_each_mistake(source, tokens.problems, problems)
    module = sweet.Module(Span(source, 0, len(source.text)), source, tuple(items), tuple(tokens.comments))
    return module, tuple(in_order(problems))


def unread(data: bytes, name: str) -> Diagnostic | None:
    """The first error that keeps a file from being read as a program, or None."""
    source, problems = decode(data, name)
    return next((d for d in (*problems, *parse(source)[1]) if d.severity == "error"), None)


def _holds(span: Span, offsets: list[int]) -> bool:
    return any(span.start <= offset <= span.end for offset in offsets)


def _read_items(source: Source, lines: TokenLines, problems: list[Diagnostic]) -> list[sweet.Item]:
    """The items that can be read; the errors of the others go to `problems`."""
    builder = TreeBuilder(source)
    parser = Parser(source.text, tree_rules(builder))
    items: list[sweet.Item] = []
    at = 0
    while at < len(lines.items):
        first, last = lines.items[at]
        kinds, starts, ends = lines.kinds[first:last], lines.starts[first:last], lines.ends[first:last]
        following = at + 1
        try:
            if lines.depth > MAX_DEPTH:
                _check_depth(kinds, starts, ends)
            item: sweet.Item = parser.parse(kinds, starts, ends, "item")
            if builder.problems:
                problems += _of_function(item, builder.problems)
                builder.problems.clear()
            else:
                items.append(item)
        except Stuck as stuck:
            following = _region_end(source, lines, following, broken_off=stuck.at == last - first)
            if len(problems) < MAX_PROBLEMS:
                problems += _recover(source, lines, at, following)
        except TooDeep as deep:
            problems.append(too_deep(Span(source, deep.start, deep.end)))
        at = following
    return items


def _of_function(item: sweet.Item, problems: list[Diagnostic]) -> list[Diagnostic]:
    function = f"@{item.name.name}" if isinstance(item, sweet.FnDecl) else None
    return [replace(problem, function=function) for problem in problems]


def _check_depth(kinds: list[int], starts: list[int], ends: list[int]) -> None:
    """Check the depth of an item's brackets, which count even if they leave no node."""
    depth = 0
    for kind, start, end in zip(kinds, starts, ends, strict=True):
        depth += (kind in OPENER) - (kind in CLOSER)
        if depth > MAX_DEPTH:
            raise TooDeep(start, end)


def _region_end(source: Source, lines: TokenLines, item: int, broken_off: bool) -> int:
    """The first item from `item` on that starts in column 1; after an item that breaks off, `item` itself must also start
    with a word that begins items."""
    if broken_off and item < len(lines.items) and lines.kinds[lines.items[item][0]] not in BEGINNINGS:
        item += 1
    while item < len(lines.items):
        start = lines.starts[lines.items[item][0]]
        if start == 0 or source.text[start - 1] in "\r\n\ufeff":
            break
        item += 1
    return item


def _recover(source: Source, lines: TokenLines, item: int, region_end: int) -> list[Diagnostic]:
    from .recovery import fix  # only a file with mistakes pays for it
    from .region import Region

    kinds: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    for first, last in lines.items[item:region_end]:
        if kinds:
            kinds.append(END)
            starts.append(ends[-1])
            ends.append(ends[-1])
        kinds += lines.kinds[first:last]
        starts += lines.starts[first:last]
        ends += lines.ends[first:last]
    return fix(Region(source, kinds, starts, ends))


def _one_for_each_mistake(source: Source, lexical: list[Diagnostic], others: list[Diagnostic]) -> list[Diagnostic]:
    """Drop consequences of mistakes that are reported already: on each line the first kind of error counts. An unreadable
    sign causes no errors before it; a string without an end hides the brackets in it."""
    first: dict[int, int] = {}
    endless = {source.position(p.span.start)[0] for p in lexical if source.text[p.span.start] == '"'}
    others = [p for p in others if source.position(p.span.start)[0] not in endless]
    for problem in others if lexical else ():
        line = source.position(problem.span.start)[0]
        first[line] = min(problem.span.start, first.get(line, problem.span.start))
    result = [p for p in lexical if p.span.start <= first.get(source.position(p.span.start)[0], p.span.start)]
    lines = {source.position(problem.span.start)[0] for problem in result}
    for problem in sorted(others, key=lambda problem: not problem.code.of_brackets):
        line = source.position(problem.span.start)[0]
        if line not in lines:
            result.append(problem)
        if problem.code.of_brackets:
            lines |= {line, *(source.position(label.span.start)[0] for label in problem.labels)}
    return result[:MAX_PROBLEMS]


def parse_expr(text: str) -> sweet.Expr:
    """One expression; raises RxError."""
    [result] = _parse_parts(Source("<text>", text), "expression")
    made: sweet.Expr = result
    return made


def parse_type(text: str) -> sweet.Type:
    """One type; raises RxError."""
    [result] = _parse_parts(Source("<text>", text), "type")
    made: sweet.Type = result
    return made


def parse_conditions(source: Source, begin: int) -> tuple[sweet.Expr, ...]:
    """Conditions with commas between them, from an offset on; `=` means `==` as in an `assert`. Raises RxError."""
    return tuple(_parse_parts(source, "expression", begin, several=True))


def _parse_parts(source: Source, start: str, begin: int = 0, *, several: bool = False) -> list[Any]:
    tokens = scan(Source(source.name, " " * begin + source.text[begin:]))
    builder = TreeBuilder(source)
    whole = Span(source, begin, len(source.text))
    values = []
    problems = list(tokens.problems)
    try:
        lines = find_lines(tokens)
        parts = _conditions(lines) if several else [slice(None)]
        for part in parts:
            kinds, starts, ends = lines.kinds[part], lines.starts[part], lines.ends[part]
            values.append(Parser(source.text, tree_rules(builder)).parse(kinds, starts, ends, start))
    except Unbalanced:
        from . import brackets  # as for a file

        problems += brackets.fix(tokens)[1] or [error(codes.E105, "the brackets do not match", whole)]
    except Stuck as stuck:
        from .region import Region  # as for a file
        from .unexpected import of_part

        end = "`,`" if part.stop is not None and part.stop < len(lines.kinds) else "the end"
        problems.append(of_part(Region(source, kinds, starts, ends, end), stuck.at, stuck.states))
    except TooDeep as deep:
        problems.append(too_deep(Span(source, deep.start, deep.end)))
    problems += builder.problems
    if problems:
        raise RxError(*in_order(problems))
    return values


def _conditions(lines: TokenLines) -> list[slice]:
    """The conditions between the commas outside all brackets; a `=` in them is read as `==`."""
    depth, first = 0, 0
    found = []
    for i, kind in enumerate(lines.kinds):
        depth += (kind in OPENER) - (kind in CLOSER)
        if depth == 0 and kind == KIND["EQUAL"]:
            lines.kinds[i] = KIND["COMPARE"]
        elif depth == 0 and kind == KIND["COMMA"]:
            found.append(slice(first, i))
            first = i + 1
    return [*found, slice(first, len(lines.kinds))]
