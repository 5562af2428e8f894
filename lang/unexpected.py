"""A token that does not fit to what is said of it: what was expected, what users of other languages mean by it, its mend."""

from __future__ import annotations

from . import codes
from .build import alike
from .diagnostics import Diagnostic, Edit, error
from .lalr import advance
from .lexer import KIND, kinds
from .lines import CLOSER, OPENER, OPERAND_END, PREFIXES
from .region import END, FAR, NAME, OPEN, OTHER_WORDS, STOP, TEXT, Change, Region, place
from .source import Span

_STARTERS = kinds("NAME FN_NAME INT FLOAT STRING TRUE FALSE LPAR LSQB IF FOR WHILE FN SIGN BANG")
_TYPE_STARTERS = kinds("NAME LPAR FN")
_GOES_ON = kinds("OR AND COMPARE SIGN STAR DIVIDE POWER IN DOT LPAR LSQB")


def describe(region: Region, stuck: int, states: list[int], change: Change | None, function: str | None) -> Diagnostic:
    """The diagnostic for a place where no rule goes on, and the change that would mend it."""
    hint = _habit(region, stuck)
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


_STRING_PREFIXES = ("f", "r", "b", "u", "fr", "rf", "br", "rb")


def _in_list(before: list[int]) -> bool:
    return before.count(KIND["LSQB"]) > before.count(KIND["RSQB"])


_NO_COMPARISON = ("`=` is not a comparison", "write `==`")


def _in_where(region: Region, stuck: int) -> bool:
    """Whether a `where` comes before: what follows its `=` is read as the Python callable of an `extern`."""
    return KIND["WHERE"] in region.kinds[:stuck] and KIND["EXTERN"] not in region.kinds[:stuck]


def _begins_elsewhere(region: Region, stuck: int) -> bool:
    """Whether the token stands behind a word of another language that begins a statement: `def @f(...)`."""
    names = (NAME, KIND["FN_NAME"])
    if not 0 < stuck < len(region.kinds) or region.kinds[stuck - 1] != NAME or region.kinds[stuck] not in names:
        return False
    return region.text(stuck - 1) in OTHER_WORDS and (stuck == 1 or region.kinds[stuck - 2] in (END, OPEN))


def _is_to_blame(region: Region, change: Change, stuck: int) -> bool:
    """Whether a change before the stuck token names the mistake: a word that is misspelt or too many."""
    if change.at >= stuck or not change.skip:
        return False
    word = region.text(change.at)
    if word in OTHER_WORDS or (change.put and alike(word, TEXT[change.put[0]])):
        return True
    return not change.put and region.kinds[change.at] not in _SEPARATORS


def _habit(region: Region, stuck: int) -> tuple[str | None, str] | None:
    """A message (None: the usual one) and a help for what users of other languages write."""
    kinds = [*region.kinds[max(0, stuck - 3) : stuck + 2], STOP, STOP]
    here = stuck - max(0, stuck - 3)
    kind, after = kinds[here], kinds[here + 1]
    before = kinds[here - 1] if here else END
    word = region.text(stuck - 1) if stuck else ""
    found = region.text(stuck) if stuck < len(region.kinds) else ""
    begins = here < 2 or kinds[here - 2] in (END, OPEN)
    if before in (KIND["IF"], KIND["WHILE"]):
        return f"the condition of `{word}` stands in parentheses", f"write `{word} (...) {{ ... }}`"
    if before == KIND["FOR"] and kind != NAME:
        return None, "a loop is written `for i in range(n) with (acc = x) { ... }`"
    if kind == NAME and found in ("with", "stack") and before in OPERAND_END:
        return f"what stands behind `{found}` is in parentheses", f"write `{found} ({_NAMED[found]})`"
    if kind == KIND["RPAR"] and before == KIND["LPAR"] and kinds[here - 2] in (KIND["WITH"], KIND["STACK"]):
        return f"this `{region.text(stuck - 2)}` names nothing", "leave it out, or name what the loop hands on"
    if kind == KIND["DOT"] and before == KIND["DOT"] and kinds[here - 3 : here - 1] == [KIND["IN"], KIND["INT"]]:
        return None, f"a range is written `range({region.text(stuck - 2)}, n)`"
    if kind == KIND["RPAR"] and _closes_condition(region.kinds, stuck):
        return "the condition is missing", "it stands last: `while (let k : Size = e; k < 3)`"
    if kind == KIND["STRING"] and before == NAME and word.lower() in _STRING_PREFIXES:
        return "a string has no prefix", 'a string is plain text, an option of a call: `"same"`'
    if kind == KIND["FOR"] and before in OPERAND_END and _in_list(region.kinds[:stuck]):
        return "a list is not made by a loop", "most functions take all rows at once; `@map(f, xs)` calls one for each"
    if before == KIND["FN"] and kind == NAME:
        return None, _FUNCTION
    if kind == KIND["COLON"] and kinds[here - 3 : here] == [KIND["LET"], KIND["LPAR"], NAME] and here == 3:
        return "the types of a tuple stand behind its names", "write `let (a, b) : (T, T) = ...`"
    if kind == KIND["COLON"] and kinds[here - 3 : here] == [KIND["FN"], KIND["LPAR"], NAME] and here == 3:
        return "a function type does not name its parameters", "write the types alone: `fn(T) : T`"
    if kind == KIND["COLON"] and region.kinds[:2] == [KIND["FN_NAME"], KIND["LPAR"]]:
        return None, _FUNCTION
    if kind == KIND["EQUAL"] and before == NAME and begins:
        if after == KIND["FN"]:
            return "a function's name begins with `@`", f"write `@{word} = fn(...)`"
        return "a binding begins with `let`", f"write `let {word} = ...`"
    if kind == KIND["COLON"] and KIND["WHERE"] in region.kinds[:stuck] and OPEN not in region.kinds[:stuck]:
        return "the type of the result stands before `where`", "write `fn(x : T) : T where ... { ... }`"
    if kind == KIND["WHERE"]:
        return _condition(region.kinds, stuck)
    if kind == KIND["COLON"] and region.kinds[:1] == [KIND["TYPE"]]:
        return "a type's parameters have no sorts of their own", "write the names alone: `type Layer(d, h) = ...`"
    if kind == KIND["LSQB"] and word == "Tensor":
        return None, "a type is written `Tensor([n, m], float32)`"
    if begins and kind == NAME and word in ("extern", "prim", "inline", "private"):
        return f"expected a function's name (`@f`), found `{found}`", f"write `{word} @{found} = fn(...)`"
    if begins and kind == NAME and word == "import":
        return f"expected a string, found `{found}`", 'a file is imported by `import "file.rx"`'
    if kind == KIND["QMARK"]:
        return None, "a choice is written `if (c) { a } else { b }`"
    if kind == KIND["DIVIDE"] and (before in (END, OPEN) or stuck == 0):
        return None, "a comment begins with `#`"
    return None


def _condition(kinds: list[int], at: int) -> tuple[str, str] | None:
    """What to say of a `where` that stands at a type or among parameters."""
    if kinds[0] == KIND["TYPE"]:
        return "a type has no conditions", "`where` stands in the signature of each function that takes such a value"
    if _is_in_parameters(kinds, at):
        return "a parameter has no conditions of its own", "they stand behind all: `fn(x : T) : T where n >= 1 { ... }`"
    return None


def _is_in_parameters(kinds: list[int], at: int) -> bool:
    """Whether a place lies in the parentheses behind `fn`."""
    depth = 0
    for i in range(at - 1, max(0, at - FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth < 0:
            return kinds[i - 1] == KIND["FN"]
    return False


def _closes_condition(kinds: list[int], at: int) -> bool:
    """Whether a parenthesis closes one that a loop's condition stands in."""
    depth = 0
    for i in range(at - 1, max(0, at - FAR), -1):
        if kinds[i] in OPENER and depth == 0:
            return kinds[i - 1] == KIND["WHILE"]
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
    return False


_NAMED = {"with": "acc = x", "stack": "y : Tensor([n], float32)"}
_FUNCTION = "a function is written `@f = fn(x : T) : T { ... }`"
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
