"""An unexpected token to its message: what was expected, and a fix."""

from __future__ import annotations

from . import codes
from .build import alike
from .diagnostics import Diagnostic, Edit, error
from .habits import Hint
from .lalr import advance
from .lexer import KIND, kinds
from .lines import GRADIENTS, OPERAND_END, PREFIXES
from .node import replace
from .python_def import as_here
from .region import CLOSE, END, NAME, OPEN, OTHER_WORDS, STOP, TEXT, Region, TokenChange, place
from .source import Span

_STARTERS = kinds("NAME FN_NAME INT FLOAT STRING TRUE FALSE LPAR LSQB IF FOR WHILE FN SIGN BANG")
_TYPE_STARTERS = kinds("NAME LPAR FN")
_GOES_ON = kinds("OR AND COMPARE SIGN STAR DIVIDE POWER IN DOT LPAR LSQB")


def describe(
    region: Region, stuck: int, states: list[int], hint: Hint | None, change: TokenChange | None, function: str | None
) -> Diagnostic:
    """The diagnostic for a token that no rule accepts, from the `hint` about a habit or from the change that would fix it."""
    at = change.at if change and not hint and _is_to_blame(region, change, stuck) else stuck
    at = stuck - 1 if _begins_elsewhere(region, stuck) else at
    accepted = _accepted(states)
    said = _known(region, stuck, at, accepted, hint)
    if said is not None:
        span, message, help, edits, title = said
        return error(codes.E101, message, span, help=help, function=function, edits=edits, certain=True, change=title)
    message, told = _unknown(region, stuck, at, accepted)
    told, made = told or _help(region, change), _edits(region, change)
    return error(codes.E101, message, place(region, at), help=told, function=function, edits=made)


def of_part(region: Region, stuck: int, states: list[int]) -> Diagnostic:
    """The same for a part of a text; the message quotes the text before the place."""
    said = describe(region, stuck, states, None, None, None)
    is_end = stuck == len(region.kinds) and said.span == place(region, stuck)
    before = region.source.text[region.starts[0] : said.span.end if is_end else said.span.start] if region.kinds else ""
    message = said.message.replace("expected a line end", "expected an operator or the end")
    return replace(said, message=f"after `{before.strip()}`: {message}" if before.strip() else message)


_NO_COMPARISON = ("`=` is not a comparison", "write `==`")
_Known = tuple[Span, str, str, tuple[Edit, ...], str]


def _known(region: Region, stuck: int, at: int, accepted: set[int], hint: Hint | None) -> _Known | None:
    """The place, message, help, edits and title for a mistake with a known cause, or None."""
    is_string = accepted == {KIND["STRING"]} and stuck > 0 and region.kinds[stuck - 1] == KIND["EQUAL"]
    if is_string and _in_where(region, stuck):
        span = place(region, stuck - 1)
        return span, *_NO_COMPARISON, (Edit(span, "=="),), ""
    if hint is not None:
        usual = f"expected {_expected(accepted)}, found {_found(region, at)}"
        return place(region, at), hint.message or usual, hint.help, hint.edits, ""
    word = region.text(at) if at < len(region.kinds) else ""
    if word not in OTHER_WORDS or region.kinds[at] != NAME:
        return None
    if word == "def" and (made := as_here(region.source, region.starts[at])) is not None:
        return place(region, at), f"`{word}` is not a word of Rx", f"write `{made[0]} ... }}`", made[1], ""
    edits = _said_here(region, at)
    title = "leave out `return`" if word == "return" and edits else ""
    return place(region, at), f"`{word}` is not a word of Rx", OTHER_WORDS[word][1], edits, title


def _unknown(region: Region, stuck: int, at: int, accepted: set[int]) -> tuple[str, str | None]:
    """The message for an unexpected token, and a help if no change fixes it."""
    kind = region.kinds[at] if at < len(region.kinds) else STOP
    if at < stuck:
        return f"{_found(region, at)} does not belong here", None
    if kind in (KIND["COMPARE"], KIND["IN"]) and KIND["AND"] in accepted:
        return "comparisons do not chain", "join two comparisons with `&&`"
    if kind == KIND["EQUAL"] and KIND["COMPARE"] in accepted and KIND["EQUAL"] not in accepted:
        return _NO_COMPARISON
    return f"expected {_expected(accepted)}, found {_found(region, at)}", None


def _in_where(region: Region, stuck: int) -> bool:
    """Whether a `where` comes before: the text after its `=` is read as the Python callable of an `extern`."""
    return KIND["WHERE"] in region.kinds[:stuck] and KIND["EXTERN"] not in region.kinds[:stuck]


def _said_here(region: Region, at: int) -> tuple[Edit, ...]:
    """Edits that put a word of another language in Rx's words; a `return` at the end of a function is removed."""
    put, after = OTHER_WORDS[region.text(at)][0], region.text(at + 1) if at + 1 < len(region.kinds) else ""
    if put == ("COMPARE",) and after == "not":
        return (Edit(place(region, at).to(place(region, at + 1)), "!="),)
    if put and KIND[put[0]] not in _STARTERS:
        return (Edit(place(region, at), " ".join(TEXT[KIND[name]] for name in put)),)
    if put == ("BANG",) and after != "in":
        behind = region.starts[at + 1] if at + 1 < len(region.starts) else region.ends[at]
        return (Edit(Span(region.source, region.starts[at], behind), "!"),)
    return _without(region, at) if region.text(at) == "return" else ()


def _without(region: Region, at: int) -> tuple[Edit, ...]:
    """Edits that remove the `return` of a function's last line; everywhere else it ends the function early."""
    depth, kinds = 0, region.kinds[at:]
    last = next((i for i, kind in enumerate(kinds) if kind in (END, CLOSE)), len(kinds))
    for kind in region.kinds[:at]:
        depth += (kind == OPEN) - (kind == CLOSE)
    if depth != 1 or set(kinds[last : last + 2]) - {END, CLOSE} or CLOSE not in kinds[last : last + 2]:
        return ()
    return (Edit(Span(region.source, region.starts[at], region.starts[at + 1]), ""),) if last > 1 else ()


def _begins_elsewhere(region: Region, stuck: int) -> bool:
    """Whether the token follows a word of another language that begins something: `def @f(...)`, `lambda x`."""
    names = (NAME, KIND["FN_NAME"])
    if not 0 < stuck < len(region.kinds) or region.kinds[stuck - 1] != NAME:
        return False
    word = region.text(stuck - 1)
    follows = region.kinds[stuck] in names or (region.kinds[stuck] == KIND["COLON"] and word in _BEFORE_COLON)
    return follows and word in OTHER_WORDS and (stuck == 1 or region.kinds[stuck - 2] not in OPERAND_END)


_BEFORE_COLON = ("lambda", "try", "except")


def _is_to_blame(region: Region, change: TokenChange, stuck: int) -> bool:
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
        if region.behind is not None:
            return region.behind
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
    if rest >= GRADIENTS:
        words.append("a gradient (`grad`)")
        rest -= GRADIENTS
    if KIND["DOT"] in rest and rest - _GOES_ON:  # an expression ends here or goes on: the ways to go on are not listed
        rest -= _GOES_ON
    names = {NAME: "a name", KIND["STRING"]: "a string", KIND["FN_NAME"]: "a function's name (`@f`)"}
    names |= {END: "a line end", STOP: "a line end", KIND["INT"]: "a number", KIND["COMPARE"]: "a comparison"}
    words += sorted({names.get(kind, f"`{TEXT.get(kind, '')}`") for kind in rest}, key=lambda w: (w[0] != "`", w))
    if len(words) > 5 or not words:
        words = ["an operator"] if rest <= _GOES_ON and words else [*words[:4], "something else"]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_ITEM_WORDS = PREFIXES | kinds("IMPORT CONST TYPE")


def _help(region: Region, change: TokenChange | None) -> str | None:
    """The change in words, if it is surely what was meant."""
    if change is None or len(change.put) != 1 or change.put[0] in (NAME, END):
        return None
    text = TEXT[change.put[0]]
    if not change.skip:
        return f"insert `{text}`" if change.put[0] in _SURE else None
    if alike(region.text(change.at), text):
        return f"did you mean `{text}`?"
    return f"write `{text}`" if change.put[0] in _SURE else None


_SURE = kinds("COMMA COLON EQUAL LET FN ELSE IN")


def _edits(region: Region, change: TokenChange | None) -> tuple[Edit, ...]:
    if change is None or not _help(region, change):
        return ()
    if change.skip:
        span = Span(region.source, region.starts[change.at], region.ends[change.at + change.skip - 1])
        return (Edit(span, TEXT[change.put[0]]),)
    if change.at >= len(region.kinds):
        return ()
    where = region.starts[change.at]
    return (Edit(Span(region.source, where, where), TEXT[change.put[0]] + " "),)
