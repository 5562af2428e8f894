"""Text to sweet tree, with all syntax errors of the file."""

from __future__ import annotations

import gc
from typing import Any

from . import sweet
from .build import TreeBuilder
from .diagnostics import Diagnostic, RxError, error, in_order
from .lalr import MAX_DEPTH, Parser, Stuck, TooDeep
from .lexer import scan, unreadable
from .lines import Lines, Unbalanced, find_lines
from .source import Source, Span

__all__ = ["MAX_DEPTH", "decode", "parse", "parse_expr", "parse_type"]


def decode(data: bytes, name: str) -> tuple[Source, tuple[Diagnostic, ...]]:
    """A file's bytes to its text. A byte order mark is dropped; bytes that are not UTF-8 and NULs are reported once."""
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    source = Source(name, text)
    problems = [unreadable(source, at) for at in (text.find("\0"), _first_invalid(data, text)) if at >= 0]
    return source, tuple(in_order(problems))


def _first_invalid(data: bytes, text: str) -> int:
    """The offset of the first character that takes the place of invalid bytes, or -1."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return len(data[: problem.start].decode("utf-8").removeprefix("\ufeff"))
    return -1


def parse(source: Source) -> tuple[sweet.Module, tuple[Diagnostic, ...]]:
    """The module (with the items that could be read) and every syntax error. Raises nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _parse(source)
    finally:
        if collecting:
            gc.enable()


def _parse(source: Source) -> tuple[sweet.Module, tuple[Diagnostic, ...]]:
    tokens = scan(source)
    builder = TreeBuilder(source)
    parser = Parser(source.text, builder)
    items: list[sweet.Item] = []
    problems = list(tokens.problems)
    try:
        lines = find_lines(tokens)
    except Unbalanced:
        problems.append(error("E105", "a bracket is open", Span(source, 0, 0)))
        lines = Lines()
    for first, last in lines.items:
        try:
            item = parser.parse(lines.kinds[first:last], lines.starts[first:last], lines.ends[first:last], "item")
        except Stuck as stuck:
            at = min(first + stuck.at, last - 1)
            problems.append(error("E101", "unexpected", Span(source, lines.starts[at], lines.ends[at])))
        except TooDeep as deep:
            problems.append(too_deep(source, deep))
        else:
            items.append(item)
    problems += builder.problems
    module = sweet.Module(Span(source, 0, len(source.text)), source, tuple(items), tuple(tokens.comments))
    return module, tuple(in_order(problems))


def too_deep(source: Source, deep: TooDeep) -> Diagnostic:
    return error(
        "E104",
        f"this is nested more than {MAX_DEPTH} deep",
        Span(source, deep.start, deep.end),
        help="give names to its parts with `let`",
    )


def parse_expr(text: str) -> sweet.Expr:
    """One expression; raises RxError."""
    result: sweet.Expr = _parse_part(text, "expression")
    return result


def parse_type(text: str) -> sweet.Type:
    """One type; raises RxError."""
    result: sweet.Type = _parse_part(text, "type")
    return result


def _parse_part(text: str, start: str) -> Any:
    source = Source("<text>", text)
    tokens = scan(source)
    builder = TreeBuilder(source)
    whole = Span(source, 0, len(text))
    value = None
    problems = list(tokens.problems)
    try:
        lines = find_lines(tokens)
        value = Parser(text, builder).parse(lines.kinds, lines.starts, lines.ends, start)
    except Unbalanced:
        problems.append(error("E105", "the brackets do not match", whole))
    except Stuck as stuck:
        at = stuck.at
        span = Span(source, lines.starts[at], lines.ends[at]) if at < len(lines.kinds) else whole
        problems.append(error("E101", f"`{text}` cannot be read as {start}", span))
    except TooDeep as deep:
        problems.append(too_deep(source, deep))
    problems += builder.problems
    if problems:
        raise RxError(*in_order(problems))
    return value
