"""Characters to tokens: words, numbers, strings and signs; comments and unreadable characters are kept apart."""

from __future__ import annotations

import re

from ..grammar.table import LITERALS, PATTERNS, TERMINALS
from . import codes
from .diagnostics import Diagnostic, Edit, error
from .source import Source, Span
from .sweet import Comment

KIND = {name: number for number, name in enumerate(TERMINALS)}
"""The number of each terminal; parse tables and token lists use numbers."""


def kinds(names: str) -> frozenset[int]:
    """The numbers of some terminals, named with spaces between."""
    return frozenset(KIND[name] for name in names.split())


WORDS = {text: KIND[name] for text, name in LITERALS.items() if text.isidentifier()}
SIGNS = {text: KIND[name] for text, name in LITERALS.items() if not text.isidentifier()} | {";": KIND["_END"]}

_ORDER = ("NAME", "SPACE", "FLOAT", "INT", "FN_NAME", "STRING", "COMMENT", "NEWLINE", "COMPARE", "DIVIDE", "SIGN")
_ELSEWHERE = {
    "->": ":",
    "=>": ">=",
    "<>": "!=",
    "===": "==",
    "!==": "!=",
    ":=": "=",
    "+=": "=",
    "-=": "=",
    "*=": "=",
    "/=": "=",
    "|>": "@f(x)",
}
"""Signs of other languages, made of signs that never follow each other here, and their replacements."""

_SCANNER = re.compile(
    "|".join(
        [f"({PATTERNS[name]})" for name in _ORDER[:-3]]
        + ["(" + "|".join(map(re.escape, sorted(_ELSEWHERE, key=len, reverse=True))) + ")"]
        + [f"({PATTERNS[name]})" for name in _ORDER[-3:]]
        + ["(" + "|".join(map(re.escape, SIGNS)) + ")", r"([\s\S])"]
    )
)
_NAME, _SPACE, _FLOAT, _INT, _FN_NAME, _STRING, _COMMENT, _NEWLINE = range(1, 9)
_FOREIGN, _SIGN, _ODD = len(_ORDER) - 2, len(_ORDER) + 2, len(_ORDER) + 3
_KIND_OF_GROUP = [0] + [KIND.get(name, 0) for name in (*_ORDER[:-3], "", *_ORDER[-3:])]
_DOT = KIND["DOT"]
_AT = "a function is called by `@name(...)`; the product of matrices is `@matmul(x, y)`"
_BEFORE_NUMBER = kinds("LPAR LSQB COMMA EQUAL COMPARE SIGN STAR DIVIDE POWER OR AND COLON LBRACE _END BANG")
_AFTER_NUMBER = re.compile(r"[A-Za-z0-9_]+|\.(?![.A-Za-z_])[A-Za-z0-9_]*")
_UNREADABLE = 50
"""How many unreadable pieces of one file are reported."""
_SHORT_LINE = 40  # how much of a line is quoted
_NEAR = 200  # how many tokens back a bracket is looked for
_IN_PLACE = ("+=", "-=", "*=", "/=")
# Signs that mean the same as the foreign sign that they replace.
_SAME = (":", "!=", "==", "=")
_OPERATOR, _BRACKETED = re.compile(r"[-+*/%<>=!&|?]"), re.compile(r"\([^()]*\)|\[[^][]*\]")


class Tokens:
    """The tokens of a file in parallel lists; `first` tells which are the first of their line."""

    __slots__ = ("source", "kinds", "starts", "ends", "first", "comments", "problems")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.kinds: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.first: list[bool] = []
        self.comments: list[Comment] = []
        self.problems: list[Diagnostic] = []

    def report(self, problem: Diagnostic) -> None:
        if len(self.problems) < _UNREADABLE:
            self.problems.append(problem)


def scan(source: Source) -> Tokens:
    """Read all characters. A `;` is a token of the kind _END; line ends are marks on the token that follows."""
    tokens = Tokens(source)
    kinds, starts, ends, first = tokens.kinds, tokens.starts, tokens.ends, tokens.first
    text = source.text
    match = _SCANNER.match
    at, size, fresh = 0, len(text), True
    while at < size:
        if text[at] == " ":
            at += 1
            continue
        found = match(text, at)
        assert found is not None
        group = found.lastindex
        start, at = at, found.end()
        if group == _SPACE:
            continue
        if group == _NEWLINE:
            fresh = True
            continue
        if group == _NAME:
            kind = WORDS.get(found.group(), _KIND_OF_GROUP[_NAME])
        elif group == _SIGN:
            kind = SIGNS[found.group()]
            if kind == _DOT and text[at : at + 1].isdecimal() and (fresh or kinds[-1:] and kinds[-1] in _BEFORE_NUMBER):
                kind, at = _number_without_zero(tokens, start)
        elif group == _COMMENT:
            tokens.comments.append(Comment(Span(source, start, at), text[start:at].rstrip(), fresh))
            continue
        elif group == _FOREIGN:
            kind = _foreign(tokens, start, at)
        elif group == _ODD:
            kind, at = _odd(tokens, start)
            if kind < 0:
                continue
        else:
            assert group is not None
            kind = _KIND_OF_GROUP[group]
            if group in (_INT, _FLOAT):
                at = _end_of_number(tokens, start, at)
        kinds.append(kind)
        starts.append(start)
        ends.append(at)
        first.append(fresh)
        fresh = False
    return tokens


def _end_of_number(tokens: Tokens, start: int, end: int) -> int:
    """Report letters that stick to a number, and a point without a digit after it; return the end of the number."""
    rest = _AFTER_NUMBER.match(tokens.source.text, end)
    if rest is None:
        return end
    span = Span(tokens.source, start, rest.end())
    if rest.group() == ".":
        _report_number(tokens, "a number needs a digit after its point", span, f"{span.text}0")
    else:
        tokens.report(error(codes.E107, f"`{_short(span.text)}` is not a number", span, help=_number_help(span.text)))
    return rest.end()


def _number_without_zero(tokens: Tokens, start: int) -> tuple[int, int]:
    """Report a number that begins with its point; return its kind and its end."""
    found = _SCANNER.match(tokens.source.text, start + 1)
    end = found.end() if found else start + 1
    span = Span(tokens.source, start, end)
    _report_number(tokens, "a number needs a digit before its point", span, f"0{span.text}")
    return KIND["FLOAT"], end


def _report_number(tokens: Tokens, message: str, span: Span, written: str) -> None:
    help, edits = f"write `{_short(written)}`", (Edit(span, written),)
    tokens.report(error(codes.E107, message, span, help=help, edits=edits, certain=True))


def _number_help(text: str) -> str:
    if text[:2].lower() in ("0x", "0b", "0o"):
        return "numbers are written in decimal"
    if text.endswith("_") or "__" in text:
        return "an underscore goes between two digits"
    return "names begin with a letter; a product is written with `*`"


LOOKALIKES = {"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=", "∧": "&&", "∨": "||"}
LOOKALIKES |= {"¬": "!", "…": "...", "∗": "*", "：": ":", "，": ",", "；": ";", "（": "(", "）": ")", "＝": "="}
_OF_BITS = {"&": "&&", "|": "||", "^": "**", "~": "!"}  # on integers these mean something else
LOOKALIKES |= _OF_BITS
_STRING_RUN = {
    '"': re.compile(r'"[^"\\\n\r]*+(?:\\[^\n\r][^"\\\n\r]*+)*+'),
    "'": re.compile(r"'[^'\\\n\r]*+(?:\\[^\n\r][^'\\\n\r]*+)*+'?"),
    "“": re.compile(r'“[^“”"\n\r]*[”"“]?'),
}
_WORD_RUN = re.compile(r"\w+'*")
# The kinds of words that other letters may continue.
_BEGINNINGS = {KIND["NAME"], KIND["FN_NAME"], *WORDS.values()}
_SAME_RUN = re.compile(r"([\s\S])\1*")


_OPERAND = r"\w+(?:\.\w+(?:\([^()\n]*\))?)*"
_BEFORE_AT = re.compile(rf"(?:^|[^\w.)\]*/%@]) *({_OPERAND}) *$")
_BEHIND_AT = re.compile(rf" *({_OPERAND})(?! *[\w(\[.]| *\*\*)")


def _product(source: Source, at: int) -> tuple[str, tuple[Edit, ...]]:
    """The help and edits that turn `x @ w` into a call, if its operands are names or methods of names."""
    begin = source.text.rfind("\n", 0, at) + 1
    left, right = _BEFORE_AT.search(source.text[begin:at]), _BEHIND_AT.match(source.text, at + 1)
    if left is None or right is None:
        return _AT, ()
    written = f"@matmul({left[1]}, {right[1]})"
    return f"write `{written}`", (Edit(Span(source, begin + left.start(1), right.end(1)), written),)


def _odd(tokens: Tokens, start: int) -> tuple[int, int]:
    """Read a character that begins no token; return a kind (-1: none) and where to go on."""
    text = tokens.source.text
    char = text[start]
    if char in _STRING_RUN:
        return KIND["STRING"], _odd_string(tokens, start)
    if char in LOOKALIKES:
        return _lookalike(tokens, start)
    if char == "\ufeff" and start == 0:
        return -1, 1
    if char.isalpha() or char.isdecimal():
        return _odd_word(tokens, start)
    if char == "@":
        said, edits = _product(tokens.source, start)
        _report(
            tokens, start, start + 1, "`@` comes directly before a function's name", said, edits, certain=bool(edits)
        )
        return -1, start + 1
    if char == "\\":
        _report(
            tokens,
            start,
            start + 1,
            "`\\` means nothing here",
            "a line continues after an operator and inside brackets",
        )
        return -1, start + 1
    run = _SAME_RUN.match(text, start)
    end = run.end() if run else start + 1
    if char in "\0\ufffd":
        tokens.report(unreadable(tokens.source, start))
    else:
        help = "write a space" if char.isspace() else None
        edits = (Edit(Span(tokens.source, start, end), " "),) if char.isspace() else ()
        _report(tokens, start, end, f"{_describe(char)} cannot stand in a program", help, edits, certain=True)
    return -1, end


def unreadable(source: Source, at: int) -> Diagnostic:
    """The diagnostic for a NUL, or for the character that replaces invalid bytes."""
    what = "a NUL byte" if source.text[at] == "\0" else "bytes that are not UTF-8 text"
    return error(codes.E102, f"the file contains {what}", Span(source, at, at + 1), help="save the file as UTF-8 text")


def _foreign(tokens: Tokens, start: int, end: int) -> int:
    """Report a sign of another language; return the kind of its replacement."""
    sign = tokens.source.text[start:end]
    meant = _ELSEWHERE[sign]
    help = f"write `{meant}`"
    edits: tuple[Edit, ...] = (Edit(Span(tokens.source, start, end), meant),)
    name = tokens.source.text[tokens.starts[-1] : tokens.ends[-1]] if tokens.kinds[-1:] == [KIND["NAME"]] else ""
    begun = tokens.starts[-1] if name and _begins(tokens) else None
    if sign in _IN_PLACE:
        help, edits = _in_place(tokens, sign, name, begun, end)
    elif sign == "=>" and _is_arrow(tokens):
        help, edits = "a function value is written `fn(x : T) { ... }`", ()
    elif meant == "=" and begun is not None:
        help, edits = f"write `let {name} = ...`", (Edit(Span(tokens.source, begun, end), f"let {name} ="),)
    elif meant not in _SAME:
        edits = ()
    _report(tokens, start, end, f"`{sign}` is not a sign of Rx", help, edits, certain=True)
    return _kind_of(meant)


def _begins(tokens: Tokens) -> bool:
    """Whether the last token begins a statement."""
    return tokens.first[-1] or tokens.kinds[-2:-1] in ([], [KIND["LBRACE"]], [KIND["_END"]])


def _is_arrow(tokens: Tokens) -> bool:
    """Whether the preceding tokens are the parameters of a function: `fn(x) =>`, `@map(x =>`."""
    kinds, depth = tokens.kinds, 0
    for i in range(len(kinds) - 1, max(0, len(kinds) - _NEAR), -1):
        depth += (kinds[i] == KIND["RPAR"]) - (kinds[i] == KIND["LPAR"])
        if depth == 0:
            return kinds[i - 1] == KIND["FN"] or kinds[-3:] == [KIND["FN_NAME"], KIND["LPAR"], KIND["NAME"]]
    return False


def _in_place(tokens: Tokens, sign: str, name: str, begun: int | None, end: int) -> tuple[str, tuple[Edit, ...]]:
    """The help for `x += y`, and the edit to a `let` that binds the name again."""
    if tokens.kinds[-1:] == [KIND["RSQB"]]:
        return "`@put` and `@update_slice` give a tensor with other elements: `let x = @put(x, i, y)`", ()
    rest, name = _rest(tokens.source.text, end), name if begun is not None else "x"
    operand = f"({rest})" if _OPERATOR.search(_BRACKETED.sub("", rest)) else rest or "..."
    bound = f"let {name} = {name} {sign[0]} {operand}"
    if begun is None or operand.endswith("..."):
        return f"bind the name again: `{bound}`", ()
    at = tokens.source.text.index(rest, end) + len(rest)
    return f"bind the name again: `{bound}`", (Edit(Span(tokens.source, begun, at), bound),)


def _rest(text: str, at: int) -> str:
    """The rest of a statement on its line; `...` if it is long or goes on in the next one."""
    depth, begin = 0, at
    while at < len(text) and text[at] not in "\r\n;#" and at - begin <= _SHORT_LINE:
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0:
            return text[begin:at].strip()
        at += 1
    return text[begin:at].strip() if depth == 0 and at - begin <= _SHORT_LINE else "..."


def _kind_of(sign: str) -> int:
    found = _SCANNER.match(sign)
    group = found.lastindex if found else None
    return SIGNS[sign] if group == _SIGN else _KIND_OF_GROUP[group or 0]


def _lookalike(tokens: Tokens, start: int) -> tuple[int, int]:
    char = tokens.source.text[start]
    meant = LOOKALIKES[char]
    edit = Edit(Span(tokens.source, start, start + 1), meant)
    said = f"{_describe(char)} is not a sign of Rx"
    _report(tokens, start, start + 1, said, f"write `{meant}`", (edit,), certain=char not in _OF_BITS)
    return _kind_of(meant), start + 1


def _odd_word(tokens: Tokens, start: int) -> tuple[int, int]:
    """Report a word with other letters; if its beginning was read as a word, that token becomes the whole word."""
    run = _WORD_RUN.match(tokens.source.text, start)
    end = run.end() if run else start + 1
    begun = tokens.ends[-1:] == [start] and tokens.kinds[-1] in _BEGINNINGS
    if begun:
        start, tokens.ends[-1] = tokens.starts[-1], end
        tokens.kinds[-1] = KIND["FN_NAME"] if tokens.kinds[-1] == KIND["FN_NAME"] else KIND["NAME"]
    word = _short(tokens.source.text[start:end])
    _report(tokens, start, end, f"`{word}` is not a name", "names are made of the letters a to z, digits and `_`")
    return -1 if begun else KIND["NAME"], end


def _odd_string(tokens: Tokens, start: int) -> int:
    """Report a string without its end, or in other quotes; return where it ends."""
    text = tokens.source.text
    run = _STRING_RUN[text[start]].match(text, start)
    end = run.end() if run else start + 1
    if text[start] == '"' or end == start + 1 or text[end - 1] not in "'”\"“":
        span = Span(tokens.source, start, start + 1)
        tokens.report(error(codes.E103, "this string has no end on its line", span, help='end it with `"`'))
        return end
    span = Span(tokens.source, start, end)
    edit = Edit(span, f'"{span.text[1:-1]}"')
    edits = (edit,) if '"' not in span.text else ()
    tokens.report(
        error(codes.E103, "put strings in double quotes", span, help='write `"..."`', edits=edits, certain=True)
    )
    return end


def _report(
    tokens: Tokens,
    start: int,
    end: int,
    message: str,
    help: str | None,
    edits: tuple[Edit, ...] = (),
    *,
    certain: bool = False,
) -> None:
    place = Span(tokens.source, start, end)
    tokens.report(error(codes.E102, message, place, help=help, edits=edits, certain=certain))


def _describe(char: str) -> str:
    if char.isprintable() and not char.isspace():
        return f"`{char}`"
    return "a no-break space" if char == "\u00a0" else f"the character U+{ord(char):04X}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
