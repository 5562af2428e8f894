"""Misplaced clauses of a loop, and a `let` of names without parentheses: the message, and the tokens to move."""

from __future__ import annotations

from typing import NamedTuple

from . import codes
from .diagnostics import Diagnostic, Edit, error
from .lexer import KIND, kinds
from .lines import CLOSER, OPENER, OPERAND_END
from .node import replace
from .region import END, FAR, NAME, OPEN, Region, TokenChange, place
from .source import Span


class WrittenClause(NamedTuple):
    """A misplaced clause of a loop, or the names of a `let`: `change` removes it, `edits` put it where it belongs."""

    change: TokenChange
    span: Span
    message: str
    help: str
    edits: tuple[Edit, ...] = ()

    def problem(self, function: str | None) -> Diagnostic:
        said = error(codes.E101, self.message, self.span, help=self.help, function=function, edits=self.edits)
        return replace(said, certain=True)


_CLAUSES = [KIND[name] for name in ("WITH", "WHERE", "WHILE", "STACK")]
_AS_ONE = {
    "with": "one `with` names them all: `with (a = x, b = y)`",
    "where": "one `where` has them all: `where p, q`",
    "while": "join the conditions with `&&`",
    "stack": "one `stack` names them all: `stack (y : T, z : T)`",
}
_IN_ORDER = "the clauses of a loop come in the order `with`, `where`, `while`, `stack`, then its block"


def misplaced(region: Region, stuck: int) -> WrittenClause | None:
    """The message and fix for a misplaced clause or a malformed `let` at a token, or None."""
    return _clause(region, stuck) or _target(region, stuck)


def _clause(region: Region, stuck: int) -> WrittenClause | None:
    """The message and fix for a clause that comes twice, too late, or after the loop's block, or None."""
    kinds = region.kinds
    if stuck >= len(kinds) or kinds[stuck] not in _CLAUSES:
        return None
    head = _loop_head(kinds, stuck)
    if head is None:
        return None
    word, span = region.text(stuck), place(region, stuck)
    last = _clause_end(kinds, stuck)
    change = TokenChange(stuck, last - stuck, (), 0.0)
    before = [i for i in head if kinds[i] in _CLAUSES]
    if any(kinds[i] == kinds[stuck] for i in before):
        return WrittenClause(change, span, f"`{word}` occurs twice in this loop", _AS_ONE[word])
    if any(kinds[i] == OPEN for i in head):
        return WrittenClause(change, span, f"`{word}` comes after the loop's block", _IN_ORDER)
    rank = _CLAUSES.index(kinds[stuck])
    later = [i for i in before if _CLAUSES.index(kinds[i]) > rank and i != head[-1]]
    if not later:
        return None
    text = region.source.text[region.starts[stuck] : region.ends[last - 1]]
    there = Span(region.source, region.starts[later[-1]], region.starts[later[-1]])
    here = Span(region.source, region.starts[stuck], region.ends[last - 1])
    message = f"`{word}` comes after `{region.text(later[-1])}`"
    return WrittenClause(change, span, message, _IN_ORDER, (Edit(there, f"{text} "), Edit(here, "")))


def _loop_head(kinds: list[int], stuck: int) -> list[int] | None:
    """The clauses and the block from a place back to the `for` or `while` of its loop, nearest first; None if the statement
    has no such loop."""
    found: list[int] = []
    depth = 0
    for at in range(stuck - 1, max(-1, stuck - FAR), -1):
        kind = kinds[at]
        if kind in CLOSER:
            depth += 1
        elif kind in OPENER:
            depth -= 1
            if depth < 0:
                return None
            if depth == 0 and kind == OPEN and not _is_within(kinds, at):
                found.append(at)
        elif depth == 0:
            if kind == END:
                return None
            begins = at == 0 or kinds[at - 1] not in OPERAND_END
            if kind in _CLAUSES or kind == KIND["FOR"]:
                found.append(at)
            if kind == KIND["FOR"] or (kind == KIND["WHILE"] and begins):
                return found
    return None


def _is_within(kinds: list[int], at: int) -> bool:
    """Whether a `{` opens the block of an `if` or a function, or a set, rather than a loop's block."""
    if kinds[at - 1] != KIND["RPAR"]:
        return kinds[at - 1] in (KIND["ELSE"], KIND["IN"])
    depth = 0
    for i in range(at - 1, 0, -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth == 0:
            return kinds[i - 1] in (KIND["IF"], KIND["FN"])
    return False


def _clause_end(kinds: list[int], at: int) -> int:
    """The end of the clause that begins at a token."""
    bracketed = kinds[at] != KIND["WHERE"]
    depth, at = 0, at + 1
    while at < len(kinds):
        ends = kinds[at] == END or kinds[at] in _CLAUSES or kinds[at] in CLOSER
        if depth == 0 and (ends or (kinds[at] == OPEN and not _is_within(kinds, at))):
            return at
        depth += (kinds[at] in OPENER) - (kinds[at] in CLOSER)
        at += 1
        if depth == 0 and bracketed:
            return at
    return at


_REST, _INNER = kinds("_DOTS STAR"), kinds("LPAR LSQB")
_NAMES_OF_TUPLE = "the names of a tuple stand in parentheses"


def _target(region: Region, stuck: int) -> WrittenClause | None:
    """The message and fix for names of a `let` in the style of other languages, or None."""
    kinds = region.kinds
    let = next((i for i in range(stuck - 1, -1, -1) if kinds[i] not in (NAME, KIND["COMMA"], KIND["LPAR"])), -1)
    end = next((i for i in range(stuck, len(kinds)) if kinds[i] in (KIND["EQUAL"], END)), len(kinds))
    if let < 0 or kinds[let] != KIND["LET"] or end == len(kinds) or kinds[end] == END:
        return None
    change, span = TokenChange(let + 1, end - let - 1, (NAME,), 0.0), place(region, stuck)
    first, last = (Span(region.source, region.starts[i], region.ends[i]) for i in (let + 1, end - 1))
    if kinds[stuck] in _REST and stuck > let + 1:
        return WrittenClause(
            change,
            span,
            "each part of a tuple has a name",
            "use `_` for parts that you do not need; `t[0]` is one part",
        )
    if kinds[stuck] in _INNER and kinds[stuck - 1] != KIND["LET"]:
        return WrittenClause(change, span, "a nested tuple needs a name here", "unpack it with the next `let`")
    if kinds[stuck] == KIND["LSQB"] and kinds[end - 1] == KIND["RSQB"]:
        return WrittenClause(change, span, _NAMES_OF_TUPLE, "write `(` and `)`", (Edit(first, "("), Edit(last, ")")))
    if kinds[stuck] == KIND["COMMA"] and set(kinds[let + 1 : end]) == {NAME, KIND["COMMA"]}:
        text = region.source.text[first.start : last.end]
        return WrittenClause(change, span, _NAMES_OF_TUPLE, f"write `({text})`", (Edit(first.to(last), f"({text})"),))
    return None
