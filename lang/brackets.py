"""Find brackets without partners and fix the tokens so that the rest can be read.

A file whose brackets do not match is cut into pieces at items that start in column 1. For a piece that is still unbalanced,
each plausible change is tried, and the one that lets the parser read the most is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from ..grammar.table import LITERALS
from . import codes
from .diagnostics import Diagnostic, Edit, Label, error
from .lalr import MAX_DEPTH, too_deep
from .lexer import KIND, Tokens
from .lines import NOT_BEFORE, PARTNER, PREFIXES, TokenLines, Unbalanced, find_lines
from .region import first_trouble, function_of
from .source import Span

_ROUNDS = 8
"""How many brackets of one piece are fixed."""

_PROBLEMS = 100
"""After this many problems, unbalanced pieces are omitted."""

_EFFORT = 200_000
"""How many tokens may be read again to find out which bracket is wrong."""

_FN_NAME, _EQUAL, _NAME, _STRING = KIND["FN_NAME"], KIND["EQUAL"], KIND["NAME"], KIND["STRING"]
_LBRACE, _RBRACE = KIND["LBRACE"], KIND["RBRACE"]
_OPENER_OF = {closer: opener for opener, closer in PARTNER.items()}
_SIGN = {KIND[LITERALS[sign]]: sign for sign in "()[]{}"}


class TextFix(NamedTuple):
    """Insert a bracket before a token (kind > 0), remove the token (kind 0), or replace it by another bracket (`instead`)."""

    at: int
    kind: int
    instead: bool
    subject: int  # the bracket that the message is about


def fix(tokens: Tokens) -> tuple[Tokens, list[Diagnostic]]:
    """Return tokens whose brackets match, and the diagnostics.

    Pieces that cannot be fixed are omitted.
    """
    problems: list[Diagnostic] = []
    result = Tokens(tokens.source)
    for piece in _pieces(tokens):
        if len(problems) < _PROBLEMS:
            problems += _fix_piece(piece)
        elif not _is_balanced(piece):
            continue
        _extend(result, piece, 0, len(piece.kinds))
    return result, problems


def _pieces(tokens: Tokens) -> list[Tokens]:
    """Cut the file before tokens that surely begin an item, and unbalanced pieces before tokens that may begin one."""
    result = []
    for piece in _cut(tokens, [i for i in range(1, len(tokens.kinds)) if _surely_begins(tokens, i)]):
        result += [piece] if _is_balanced(piece) else _cut(piece, _possible_beginnings(piece))
    return result


def _cut(tokens: Tokens, places: list[int]) -> list[Tokens]:
    pieces = []
    for first, last in zip([0, *places], [*places, len(tokens.kinds)], strict=True):
        piece = Tokens(tokens.source)
        _extend(piece, tokens, first, last)
        pieces.append(piece)
    return pieces


def _extend(result: Tokens, tokens: Tokens, first: int, last: int) -> None:
    result.kinds += tokens.kinds[first:last]
    result.starts += tokens.starts[first:last]
    result.ends += tokens.ends[first:last]
    result.first += tokens.first[first:last]


def _in_column_1(tokens: Tokens, i: int) -> bool:
    return tokens.first[i] and (tokens.starts[i] == 0 or tokens.source.text[tokens.starts[i] - 1] in "\r\n\ufeff")


def _surely_begins(tokens: Tokens, i: int) -> bool:
    """Whether a token stands in column 1 and surely begins an item."""
    if not _in_column_1(tokens, i):
        return False
    kind, after = tokens.kinds[i], tokens.kinds[i + 1] if i + 1 < len(tokens.kinds) else 0
    if kind in PREFIXES:
        return after == _FN_NAME or after in PREFIXES
    if kind in (KIND["CONST"], KIND["TYPE"]):
        return after == _NAME
    return (kind == _FN_NAME and after == _EQUAL) or (kind == KIND["IMPORT"] and after == _STRING)


def _is_balanced(tokens: Tokens) -> bool:
    try:
        find_lines(tokens)
    except Unbalanced:
        return False
    return True


def _possible_beginnings(tokens: Tokens) -> list[int]:
    """Tokens in column 1 that may begin an item; inside an open bracket only if the bracket's content is indented."""
    places = []
    open_: list[int] = []
    count = dict.fromkeys(PARTNER, 0)  # open brackets by kind
    for i, kind in enumerate(tokens.kinds):
        if open_ and _in_column_1(tokens, i) and kind not in NOT_BEFORE and _is_indented_behind(tokens, open_[-1], i):
            places.append(i)
            open_, count = [], dict.fromkeys(PARTNER, 0)
        elif not open_ and i and _in_column_1(tokens, i) and kind not in NOT_BEFORE:
            places.append(i)
        if kind in PARTNER:
            open_.append(i)
            count[kind] += 1
        elif kind in _OPENER_OF and count[_OPENER_OF[kind]]:
            closed = 0
            while closed != _OPENER_OF[kind]:
                closed = tokens.kinds[open_.pop()]
                count[closed] -= 1
    return places


def _is_indented_behind(tokens: Tokens, opener: int, limit: int) -> bool:
    """Whether the first line after an opening bracket is indented, or there is none before the limit."""
    first = next((i for i in range(opener + 1, limit) if tokens.first[i]), None)
    return first is None or not _in_column_1(tokens, first)


def _fix_piece(piece: Tokens) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for _ in range(_ROUNDS):
        try:
            find_lines(piece)
        except Unbalanced as trouble:
            deep = _too_deep(piece)
            if deep:
                _clear(piece)
                return [deep]
            best = _best(piece, trouble)
            problems.append(_describe(piece, best))
            _apply(piece, best)
        else:
            return problems
    _clear(piece)
    return problems


def _clear(piece: Tokens) -> None:
    for items in (piece.kinds, piece.starts, piece.ends, piece.first):
        items.clear()


def _too_deep(piece: Tokens) -> Diagnostic | None:
    depth = 0
    for i, kind in enumerate(piece.kinds):
        depth += (kind in PARTNER) - (kind in _OPENER_OF)
        if depth > MAX_DEPTH:
            return too_deep(Span(piece.source, piece.starts[i], piece.ends[i]))
    return None


def _best(piece: Tokens, trouble: Unbalanced) -> TextFix:
    """The candidate that lets the parser read the most; the first of equals."""
    candidates = list(dict.fromkeys(_candidates(piece, trouble)))
    return max(candidates[: max(3, _EFFORT // len(piece.kinds))], key=lambda fix: _reach(piece, fix))


def _candidates(piece: Tokens, trouble: Unbalanced) -> list[TextFix]:
    """The candidate fixes, the likeliest first."""
    open_ = _open_before(piece, trouble.at)
    stuck = _stuck(piece, trouble.lines)
    return _unclosed(piece, open_, stuck) if trouble.at < 0 else _unopened(piece, trouble.at, open_, stuck)


def _unclosed(piece: Tokens, open_: list[int], stuck: int | None) -> list[TextFix]:
    """Candidates for a bracket that is open at the end."""
    result = []
    odd = _odd_opener(piece)
    for opener in dict.fromkeys([open_[-1] if odd is None else odd, open_[-1], open_[0]]):
        closer = PARTNER[piece.kinds[opener]]
        if stuck is not None and stuck > opener:
            result.append(TextFix(stuck, closer, False, opener))
            result += [TextFix(stuck, closer, True, opener)] if stuck < len(piece.kinds) else []
        places = (_dedent(piece, opener), _line_end(piece, opener), len(piece.kinds))
        result += [TextFix(place, closer, False, opener) for place in places]
    result += [TextFix(o, 0, False, o) for o in reversed(open_[-3:])]
    result += [TextFix(o, PARTNER[piece.kinds[o]], True, o) for o in reversed(open_[-3:])]
    if stuck is not None and stuck < len(piece.kinds) and piece.kinds[stuck] in PARTNER:
        result.append(TextFix(stuck, 0, False, stuck))
    return result


def _unopened(piece: Tokens, at: int, open_: list[int], stuck: int | None) -> list[TextFix]:
    """Candidates for a bracket at `at` that closes another one than the innermost open one."""
    closer = piece.kinds[at]
    opener_kind = _OPENER_OF[closer]
    result = []
    if stuck is not None:
        result += [TextFix(stuck, opener_kind, instead, at) for instead in (False, True)]
    if open_ and any(piece.kinds[o] == opener_kind for o in open_):
        result += _with_inner_closed(piece, at, open_[-1], stuck)
    elif open_:
        result += [
            TextFix(at, PARTNER[piece.kinds[open_[-1]]], True, at),
            TextFix(open_[-1] + 1, opener_kind, False, at),
        ]
    if open_:
        inner = open_[-1]
        result += [TextFix(inner, PARTNER[piece.kinds[inner]], True, inner), TextFix(inner, 0, False, inner)]
    if closer == _RBRACE or not _ends_line(piece, at):
        result.append(TextFix(at, opener_kind, True, at))
    if closer == _RBRACE:
        head = _head_end(piece)
        if head is not None:
            result += [TextFix(head, _LBRACE, False, at), TextFix(head - 1, _LBRACE, True, at)]
        early = _odd_closer(piece, at)
        if early is not None:
            result.append(TextFix(early, 0, False, early))
    return [*result, TextFix(at, 0, False, at)]


def _with_inner_closed(piece: Tokens, at: int, inner: int, stuck: int | None) -> list[TextFix]:
    """Candidates that close the innermost bracket before an outer one is closed at `at`."""
    missing = PARTNER[piece.kinds[inner]]
    result = (
        [TextFix(stuck, missing, instead, inner) for instead in (False, True)]
        if stuck is not None and stuck > inner
        else []
    )
    result.append(TextFix(at, missing, True, at))
    places = (at, _line_end(piece, inner), _dedent(piece, inner))
    return result + [TextFix(place, missing, False, inner) for place in places]


def _ends_line(piece: Tokens, at: int) -> bool:
    """Whether a token is the last of its line."""
    return at + 1 == len(piece.kinds) or piece.first[at + 1]


def _open_before(piece: Tokens, at: int) -> list[int]:
    """The brackets that are open before a token (-1: at the end), innermost last."""
    open_: list[int] = []
    for i, kind in enumerate(piece.kinds):
        if i == at:
            break
        if kind in PARTNER:
            open_.append(i)
        elif kind in _OPENER_OF:
            open_.pop()
    return open_


def _stuck(piece: Tokens, lines: TokenLines) -> int | None:
    """The first token that the parser rejects before the unbalanced bracket, or None."""
    for n, (first, last) in enumerate(lines.items):
        at = first_trouble(lines.kinds[first:last], whole=n + 1 < len(lines.items))
        if at < last - first:
            return _token_at(piece, lines.starts[first + at])
    return None


def _token_at(piece: Tokens, offset: int) -> int:
    return bisect_left(piece.starts, offset)


def _reach(piece: Tokens, fix: TextFix) -> tuple[bool, int]:
    """Whether all brackets match after a change, and how many tokens of the piece can then be read."""
    trial = Tokens(piece.source)
    _extend(trial, piece, 0, len(piece.kinds))
    _apply(trial, fix)
    balanced = True
    limit = len(trial.kinds) + 1
    try:
        lines = find_lines(trial)
    except Unbalanced as trouble:
        balanced = False
        lines = trouble.lines
        limit = trouble.at if trouble.at >= 0 else len(trial.kinds)
    stuck = _stuck(trial, lines)
    shift = 0 if fix.instead else 1 if fix.kind else -1
    return balanced, (limit if stuck is None else min(stuck, limit)) - shift


def _apply(piece: Tokens, fix: TextFix) -> None:
    at = fix.at
    if fix.instead:
        piece.kinds[at] = fix.kind
    elif not fix.kind:
        if at + 1 < len(piece.kinds):
            piece.first[at + 1] = piece.first[at + 1] or piece.first[at]
        for items in (piece.kinds, piece.starts, piece.ends, piece.first):
            del items[at]
    else:
        where = piece.ends[at - 1] if at else 0
        piece.kinds.insert(at, fix.kind)
        piece.starts.insert(at, where)
        piece.ends.insert(at, where)
        piece.first.insert(at, False)


def _indent(piece: Tokens, i: int) -> int:
    """The column (from 0) where a token's line begins; a continuation line has the column of the line that it continues."""
    while i > 0 and not (piece.first[i] and (piece.kinds[i] == _RBRACE or piece.kinds[i] not in NOT_BEFORE)):
        i -= 1
    text = piece.source.text
    start = piece.starts[i]
    return start - max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) - 1


def _dedent(piece: Tokens, opener: int) -> int:
    """The first token after an opening bracket whose line is indented no deeper than the bracket's line."""
    limit = _indent(piece, opener)
    behind = range(opener + 1, len(piece.kinds))
    return next((i for i in behind if piece.first[i] and _indent(piece, i) <= limit), len(piece.kinds))


def _line_end(piece: Tokens, opener: int) -> int:
    """The first token on a later line."""
    return next((i for i in range(opener + 1, len(piece.kinds)) if piece.first[i]), len(piece.kinds))


def _odd_opener(piece: Tokens) -> int | None:
    """The innermost `{` that is not closed, or that a `}` closes whose line is indented less."""
    open_: list[int] = []
    for i, kind in enumerate(piece.kinds):
        if kind in PARTNER:
            open_.append(i)
        elif kind in _OPENER_OF and open_:
            opener = open_.pop()
            if kind == _RBRACE and piece.first[i] and _indent(piece, i) < _indent(piece, opener):
                return opener
    return open_[-1] if open_ else None


def _odd_closer(piece: Tokens, limit: int) -> int | None:
    """A `}` on a line that is indented deeper than the line of its `{`."""
    open_: list[int] = []
    for i, kind in enumerate(piece.kinds[:limit]):
        if kind in PARTNER:
            open_.append(i)
        elif kind in _OPENER_OF and open_:
            opener = open_.pop()
            if kind == _RBRACE and _indent(piece, i) > _indent(piece, opener):
                return i
    return None


def _head_end(piece: Tokens) -> int | None:
    """Where the `{` of a function is missing: after a head, at the first line that is indented."""
    if not any(_surely_begins(piece, i) and piece.kinds[i] not in (KIND["CONST"], KIND["TYPE"]) for i in range(1)):
        return None
    open_ = 0
    for i, kind in enumerate(piece.kinds):
        if kind == _LBRACE and piece.kinds[i - 1] != KIND["IN"]:
            return None
        if i and open_ == 0 and piece.first[i] and kind not in NOT_BEFORE:
            return i
        open_ += (kind in PARTNER) - (kind in _OPENER_OF)
    return None


def _describe(piece: Tokens, fix: TextFix) -> Diagnostic:
    subject = piece.kinds[fix.subject]
    span = Span(piece.source, piece.starts[fix.subject], piece.ends[fix.subject])
    function = function_of(piece.kinds, piece.starts, piece.ends, piece.source.text)
    sign = _SIGN[subject]
    missing = _SIGN[PARTNER[subject] if subject in PARTNER else _OPENER_OF[subject]]
    message = f"this `{sign}` is not closed" if subject in PARTNER else f"this `{sign}` has no `{missing}`"
    labels: tuple[Label, ...]
    if fix.instead and fix.at != fix.subject:
        place = _place(piece, fix.at + 1)
        labels = (Label(span, message),)
        message = f"expected `{_SIGN[fix.kind]}`, found `{place.text}`"
        return error(codes.E105, message, place, labels=labels, function=function)
    if fix.instead:
        labels = ()
        if fix.kind in _OPENER_OF and subject in _OPENER_OF:
            message = f"expected `{_SIGN[fix.kind]}`, found `{sign}`"
            labels = _opened(piece, fix.at)
        return error(codes.E105, message, span, help=f"write `{_SIGN[fix.kind]}`", labels=labels, function=function)
    if not fix.kind:
        return error(codes.E105, message, span, help="remove it", function=function)
    place = _place(piece, fix.at)
    edits = (Edit(Span(piece.source, place.end, place.end), _SIGN[fix.kind]),)
    if subject in PARTNER and _meets_closer(piece, fix):
        labels = (Label(span, message),)
        place = _place(piece, fix.at + 1)
        message, help = f"expected `{missing}`, found `{place.text}`", f"write `{missing}` before it"
        return error(codes.E105, message, place, labels=labels, function=function, help=help, edits=edits)
    if subject in PARTNER:
        labels = (Label(place, f"`{_SIGN[fix.kind]}` is missing behind this"),)
        return error(codes.E105, message, span, labels=labels, function=function, edits=edits)
    labels = (Label(span, message),)
    message = f"`{_SIGN[fix.kind]}` is missing behind this"
    return error(codes.E105, message, place, labels=labels, function=function, edits=edits)


def _opened(piece: Tokens, at: int) -> tuple[Label, ...]:
    """A label at the bracket that has to be closed first."""
    opener = _open_before(piece, at)[-1]
    place = Span(piece.source, piece.starts[opener], piece.ends[opener])
    return (Label(place, f"this `{place.text}` is not closed"),)


def _meets_closer(piece: Tokens, fix: TextFix) -> bool:
    """Whether the missing bracket belongs before a closing bracket on the same line."""
    at = fix.at
    return at < len(piece.kinds) and piece.kinds[at] in _OPENER_OF and not piece.first[at]


def _place(piece: Tokens, at: int) -> Span:
    """The token before a place."""
    if at == 0:
        return Span(piece.source, piece.starts[0], piece.starts[0])
    return Span(piece.source, piece.starts[at - 1], piece.ends[at - 1])
