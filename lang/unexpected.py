"""A token that does not fit to what is said of it: what was expected, its mend."""

from __future__ import annotations

from . import codes
from .build import alike
from .diagnostics import Diagnostic, Edit, error
from .habits import habit
from .lalr import advance
from .lexer import KIND, kinds
from .lines import OPERAND_END, PREFIXES
from .region import END, NAME, OTHER_WORDS, STOP, TEXT, Change, Region, place
from .source import Span

_STARTERS = kinds("NAME FN_NAME INT FLOAT STRING TRUE FALSE LPAR LSQB IF FOR WHILE FN SIGN BANG")
_TYPE_STARTERS = kinds("NAME LPAR FN")
_GOES_ON = kinds("OR AND COMPARE SIGN STAR DIVIDE POWER IN DOT LPAR LSQB")


def describe(region: Region, stuck: int, states: list[int], change: Change | None, function: str | None) -> Diagnostic:
    """The diagnostic for a place where no rule goes on, and the change that would mend it."""
    hint = habit(region, stuck, states)
    at = change.at if change and not hint and _is_to_blame(region, change, stuck) else stuck
    at = stuck - 1 if _begins_elsewhere(region, stuck) else at
    span = place(region, at)
    word = region.text(at) if at < len(region.kinds) else ""
    found = _found(region, at)
    accepted = _accepted(states)
    kind = region.kinds[at] if at < len(region.kinds) else STOP
    help, edits = _help(region, change), _edits(region, change)
    if (
        accepted == {KIND["STRING"]}
        and stuck > 0
        and region.kinds[stuck - 1] == KIND["EQUAL"]
        and _in_where(region, stuck)
    ):
        span = place(region, stuck - 1)
        message, help, edits = *_NO_COMPARISON, (Edit(span, "=="),)
    elif hint:
        message, help, edits = hint[0] or f"expected {_expected(accepted)}, found {found}", hint[1], ()
    elif word in OTHER_WORDS and kind == NAME:
        message, help = f"`{word}` is not a word of Rx", OTHER_WORDS[word][1]
    elif at < stuck:
        message = f"{found} does not belong here"
    elif kind in (KIND["COMPARE"], KIND["IN"]) and KIND["AND"] in accepted:
        message, help = "comparisons do not chain", "join two comparisons with `&&`"
    elif kind == KIND["EQUAL"] and KIND["COMPARE"] in accepted and KIND["EQUAL"] not in accepted:
        message, help = _NO_COMPARISON
    else:
        message = f"expected {_expected(accepted)}, found {found}"
    return error(codes.E101, message, span, help=help, function=function, edits=edits)


_NO_COMPARISON = ("`=` is not a comparison", "write `==`")


def _in_where(region: Region, stuck: int) -> bool:
    """Whether a `where` comes before: what follows its `=` is read as the Python callable of an `extern`."""
    return KIND["WHERE"] in region.kinds[:stuck] and KIND["EXTERN"] not in region.kinds[:stuck]


def _begins_elsewhere(region: Region, stuck: int) -> bool:
    """Whether the token stands behind a word of another language that begins something: `def @f(...)`, `lambda x`."""
    names = (NAME, KIND["FN_NAME"])
    if not 0 < stuck < len(region.kinds) or region.kinds[stuck - 1] != NAME or region.kinds[stuck] not in names:
        return False
    return region.text(stuck - 1) in OTHER_WORDS and (stuck == 1 or region.kinds[stuck - 2] not in OPERAND_END)


def _is_to_blame(region: Region, change: Change, stuck: int) -> bool:
    """Whether a change before the stuck token names the mistake: a word that is misspelt or too many."""
    if change.at >= stuck or not change.skip:
        return False
    word = region.text(change.at)
    if word in OTHER_WORDS or (change.put and alike(word, TEXT[change.put[0]])):
        return True
    return not change.put and region.kinds[change.at] not in _SEPARATORS


_SEPARATORS = PREFIXES | kinds("EQUAL COMMA COLON _END")


def _found(region: Region, at: int) -> str:
    if at >= len(region.kinds):
        rest = region.source.text[region.ends[-1] :] if region.ends else ""
        return "the end of the line" if rest.strip() else "the end of the file"
    if region.kinds[at] == END:
        return "`;`" if region.text(at) == ";" else "the end of the line"
    text = region.text(at)
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}...`"


def _accepted(states: list[int]) -> set[int]:
    """The kinds of tokens that can follow."""
    candidates = set(TEXT) | {STOP}
    return {kind for kind in candidates if advance(list(states), kind)}


def _expected(accepted: set[int]) -> str:
    """The kinds of tokens that can follow, in words."""
    words: list[str] = []
    rest = set(accepted)
    if KIND["INT"] in rest and KIND["LPAR"] in rest:
        words.append("a statement" if KIND["LET"] in rest else "an expression")
        rest -= _STARTERS | {KIND["LET"], KIND["ASSERT"]} | _ITEM_WORDS
    elif rest == _TYPE_STARTERS or (rest >= _TYPE_STARTERS and KIND["COMMA"] not in rest):
        words.append("a type")
        rest -= _TYPE_STARTERS
    if KIND["DOT"] in rest and rest - _GOES_ON:  # an expression ends here or goes on: how it may go on is not said
        rest -= _GOES_ON
    names = {NAME: "a name", KIND["STRING"]: "a string", KIND["FN_NAME"]: "a function's name (`@f`)"}
    names |= {END: "a line end", STOP: "a line end", KIND["INT"]: "a number", KIND["COMPARE"]: "a comparison"}
    words += sorted({names.get(kind, f"`{TEXT.get(kind, '')}`") for kind in rest}, key=lambda w: (w[0] != "`", w))
    if len(words) > 5 or not words:
        words = ["an operator"] if rest <= _GOES_ON and words else [*words[:4], "something else"]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_ITEM_WORDS = kinds("IMPORT CONST TYPE INLINE PRIVATE EXTERN PRIM")


def _help(region: Region, change: Change | None) -> str | None:
    """The change in words, where it is surely what was meant."""
    if change is None or len(change.put) != 1 or change.put[0] in (NAME, END):
        return None
    text = TEXT[change.put[0]]
    if not change.skip:
        return f"insert `{text}`" if change.put[0] in _SURE else None
    if alike(region.text(change.at), text):
        return f"did you mean `{text}`?"
    return f"write `{text}`" if change.put[0] in _SURE else None


_SURE = kinds("COMMA COLON EQUAL LET FN ELSE IN")


def _edits(region: Region, change: Change | None) -> tuple[Edit, ...]:
    if change is None or not _help(region, change):
        return ()
    if change.skip:
        span = Span(region.source, region.starts[change.at], region.ends[change.at + change.skip - 1])
        return (Edit(span, TEXT[change.put[0]]),)
    if change.at >= len(region.kinds):
        return ()
    where = region.starts[change.at]
    return (Edit(Span(region.source, where, where), TEXT[change.put[0]] + " "),)
