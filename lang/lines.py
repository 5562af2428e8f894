"""Tokens to statements: which line ends count, which soft words are keywords, and where items end.

A line end counts only where the innermost open bracket is none or a block's `{`; not after an infix operator or one of
`,` `=` `:` `.` `!` `{`; nor before an infix operator or one of `,` `=` `:` `.` `{` `}` `)` `]`, `where`, `with`, `stack`,
`else`, `as`, nor before `while` between a `for` and its block's `{`.
"""

from __future__ import annotations

from .lexer import KIND, Tokens, kinds

_INFIX = kinds("OR AND COMPARE SIGN STAR DIVIDE POWER IN")
_NOT_AFTER = _INFIX | kinds("COMMA EQUAL COLON DOT BANG LBRACE _END") | {-1}
NOT_BEFORE = _INFIX | kinds("COMMA EQUAL COLON DOT LBRACE RBRACE RPAR RSQB WHERE WITH STACK ELSE AS WRT")
OPERAND_END = kinds("NAME FN_NAME INT FLOAT STRING TRUE FALSE QMARK _DOTS RPAR RSQB RBRACE")
PREFIXES = kinds("INLINE PRIVATE EXTERN PRIM VJP CHECKPOINT")
BEGINNINGS = PREFIXES | kinds("LET ASSERT CONST TYPE IMPORT FN_NAME")
GRADIENTS = kinds("GRAD VALUE_AND_GRAD VJP JVP HESSIAN_VECTOR")
_SOFT = PREFIXES | GRADIENTS | kinds("IMPORT CONST TYPE AS WITH STACK WHERE IN WRT")
_BRACKETS = kinds("LPAR LSQB LBRACE RPAR RSQB RBRACE")
PARTNER = {KIND["LPAR"]: KIND["RPAR"], KIND["LSQB"]: KIND["RSQB"], KIND["LBRACE"]: KIND["RBRACE"]}
OPENER, CLOSER = frozenset(PARTNER), frozenset(PARTNER.values())
_HEADS = kinds("FOR WHILE IF ELSE FN")
_SPECIAL = _SOFT | _BRACKETS | _HEADS | kinds("_END EQUAL ASSERT")

_NAME, _FN_NAME, _STRING = KIND["NAME"], KIND["FN_NAME"], KIND["STRING"]
END, _EQUAL, _ASSERT, _COMPARE = KIND["_END"], KIND["EQUAL"], KIND["ASSERT"], KIND["COMPARE"]
_LBRACE, _RBRACE, _LPAR, _WHERE, _IN = KIND["LBRACE"], KIND["RBRACE"], KIND["LPAR"], KIND["WHERE"], KIND["IN"]
_FOR, _WHILE, _IF, _ELSE = KIND["FOR"], KIND["WHILE"], KIND["IF"], KIND["ELSE"]
_COLON, _IMPORT, _AS, _WITH, _STACK = KIND["COLON"], KIND["IMPORT"], KIND["AS"], KIND["WITH"], KIND["STACK"]
_WRT = KIND["WRT"]


class Unbalanced(Exception):
    """A bracket without its partner: a closing one's token number, or -1 if the file ends with one open.

    `lines` is the text read before it, with the last item unfinished.
    """

    def __init__(self, at: int, lines: TokenLines) -> None:
        self.at, self.lines = at, lines


class TokenLines:
    """Tokens with their _END marks, in parallel lists, and the ranges of the items among them."""

    __slots__ = ("kinds", "starts", "ends", "items", "depth")

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.items: list[tuple[int, int]] = []
        self.depth = 0


def find_lines(tokens: Tokens) -> TokenLines:
    """Insert the line ends that count; raises Unbalanced."""
    lines = TokenLines()
    kinds, starts, ends = lines.kinds, lines.starts, lines.ends
    raw, first = tokens.kinds, tokens.first
    closers: list[int] = []  # the closer of each open bracket, innermost last; 0 for a block
    asserting = [False]
    heads = [0]  # for each bracket and the file: how many blocks' `{` come before the header of a `for` ends
    counts = True  # is the innermost bracket none or a block's?
    before = -1
    item = 0
    for i, kind in enumerate(raw):
        if kind in _SOFT:
            kind = _soften(tokens, i, before)
        if (
            first[i]
            and counts
            and before not in _NOT_AFTER
            and kind not in NOT_BEFORE
            and not (kind == _WHILE and heads[-1])
        ):
            item = _end_statement(lines, ends[-1], not closers, item)
            asserting[-1], heads[-1] = False, 0
            before = END
        if kind in _SPECIAL:
            if kind == END:
                if before in (_LBRACE, END, -1) and counts:
                    continue
                if not closers:
                    item = _end_statement(lines, tokens.starts[i], True, item)
                    asserting[-1], heads[-1] = False, 0
                    before = END
                    continue
                asserting[-1], heads[-1] = False, 0
            elif kind == _EQUAL:
                if asserting[-1]:
                    kind = _COMPARE
            elif kind == _ASSERT:
                asserting[-1] = True
            elif kind in _HEADS:
                heads[-1] += _blocks_to_come(kind, heads[-1], before, raw[i + 1] if i + 1 < len(raw) else 0)
            elif kind in PARTNER:
                counts = kind == _LBRACE and before != _IN
                if counts and heads[-1]:
                    heads[-1] -= 1
                heads.append(0)
                closers.append(PARTNER[kind] if not counts else 0)
                asserting.append(False)
                lines.depth = max(lines.depth, len(closers))
            elif kind in _BRACKETS:
                if not closers or kind != (closers[-1] or _RBRACE):
                    lines.items.append((item, len(kinds)))
                    raise Unbalanced(i, lines)
                if before == END and counts:
                    kinds.pop(), starts.pop(), ends.pop()
                closers.pop()
                asserting.pop()
                heads.pop()
                counts = not closers or closers[-1] == 0
        kinds.append(kind)
        starts.append(tokens.starts[i])
        ends.append(tokens.ends[i])
        before = kind
    if closers:
        lines.items.append((item, len(kinds)))
        raise Unbalanced(-1, lines)
    if len(kinds) > item:
        lines.items.append((item, len(kinds)))
    return lines


def _blocks_to_come(kind: int, heads: int, before: int, after: int) -> int:
    """How many blocks a word announces. Those of an expression in the header of a `for` come before that of the `for`; a
    `while` after an operand is the clause of a `for`."""
    if kind == _FOR:
        return 1
    if not heads or (kind == _WHILE and before in OPERAND_END) or (kind == _ELSE and after == _IF):
        return 0
    return 1


def _end_statement(lines: TokenLines, at: int, outside: bool, item: int) -> int:
    """Mark the end of a statement, which ends an item outside all brackets; return the first token of the next item."""
    if outside:
        if len(lines.kinds) > item:
            lines.items.append((item, len(lines.kinds)))
        return len(lines.kinds)
    lines.kinds.append(END)
    lines.starts.append(at)
    lines.ends.append(at)
    return item


def _soften(tokens: Tokens, i: int, before: int) -> int:
    """The kind of a soft word: the keyword where a keyword must stand, else a name."""
    raw, first = tokens.kinds, tokens.first
    kind = raw[i]
    after = raw[i + 1] if i + 1 < len(raw) else 0
    if kind in (_WITH, _STACK):
        return kind if before in OPERAND_END and after == _LPAR else _NAME
    if kind in (_IN, _WHERE):
        return kind if before in OPERAND_END else _NAME
    if kind in GRADIENTS and before == _EQUAL:
        return kind if after == _FN_NAME else _NAME
    if kind == _WRT:
        return kind if before == _FN_NAME else _NAME
    if kind == _AS:
        return kind if before == _STRING else _NAME
    begins = before in (-1, END, _LBRACE) or (first[i] and before in OPERAND_END) or before in PREFIXES
    if not begins or not after or first[i + 1]:
        return _NAME
    if kind in PREFIXES:
        return kind if after == _FN_NAME or after in PREFIXES else _NAME
    if kind == _IMPORT:
        return kind if after == _STRING else _NAME
    if after in _SOFT:
        named = raw[i + 2] if i + 2 < len(raw) else 0
        return kind if named in (_EQUAL, _COLON) else _NAME
    return kind if after == _NAME else _NAME
