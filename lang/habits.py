"""What users of other languages write, told by the tokens around the place where no rule goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .dtypes import DTYPES
from .lalr import advance
from .lexer import KIND
from .lines import CLOSER, OPENER, OPERAND_END
from .region import END, FAR, NAME, OPEN, STOP, Region

Hint = tuple[str | None, str] | None
"""A message (None: the usual one) and a help."""


class Here(NamedTuple):
    """The token that does not fit: its kind, and those of what stands around it in the same item."""

    region: Region
    stuck: int
    states: list[int]
    kind: int
    after: int
    before: int
    earlier: list[int]  # the three kinds before, as far as they are there
    word: str  # what stands before it
    found: str

    @property
    def begins(self) -> bool:
        """Whether the token before it begins a statement."""
        return len(self.earlier) < 2 or self.earlier[-2] in (END, OPEN)


def habit(region: Region, stuck: int, states: list[int]) -> Hint:
    """What to say of what users of other languages write."""
    kind, after = [*region.kinds[stuck : stuck + 2], STOP, STOP][:2]
    earlier = region.kinds[max(0, stuck - 3) : stuck]
    word = region.text(stuck - 1) if stuck else ""
    found = region.text(stuck) if stuck < len(region.kinds) else ""
    here = Here(region, stuck, states, kind, after, earlier[-1] if earlier else END, earlier, word, found)
    return next((hint for of in _HABITS if (hint := of(here)) is not None), None)


def _of_conditions(here: Here) -> Hint:
    if here.before in (KIND["IF"], KIND["WHILE"]):
        return f"the condition of `{here.word}` stands in parentheses", f"write `{here.word} (...) {{ ... }}`"
    if here.kind == KIND["RPAR"] and _closes_condition(here.region.kinds, here.stuck):
        return "the condition is missing", "it stands last: `while (let k : Size = e; k < 3)`"
    if here.kind == KIND["WHERE"]:
        return _where(here.region.kinds, here.stuck)
    if here.kind == KIND["QMARK"] or (here.kind == KIND["IF"] and here.before in OPERAND_END):
        return None, "a choice is written `if (c) { a } else { b }`"
    return None


def _of_loops(here: Here) -> Hint:
    kinds = here.region.kinds
    if here.before == KIND["FOR"] and here.kind != NAME:
        return None, "a loop is written `for i in range(n) with (acc = x) { ... }`"
    if here.kind == NAME and here.found in _NAMED and here.before in OPERAND_END:
        return (
            f"what stands behind `{here.found}` is in parentheses",
            f"write `{here.found} ({_NAMED[here.found]})`",
        )
    if here.kind == KIND["COMMA"] and here.earlier[-2:] == [KIND["FOR"], NAME]:
        return (
            None,
            "a loop counts: `for i in range(x.dim(0)) ...`, and `x[i]` is a row; `@map(f, x)` calls f with each",
        )
    if here.kind == KIND["RPAR"] and here.before == KIND["LPAR"] and here.earlier[-2] in (KIND["WITH"], KIND["STACK"]):
        return (
            f"this `{here.region.text(here.stuck - 2)}` names nothing",
            "leave it out, or name what the loop hands on",
        )
    if here.kind == KIND["DOT"] and here.before == KIND["DOT"] and here.earlier[:2] == [KIND["IN"], KIND["INT"]]:
        return None, f"a range is written `range({here.region.text(here.stuck - 2)}, n)`"
    if here.kind == KIND["FOR"] and here.before in OPERAND_END and _in_list(kinds[: here.stuck]):
        return "a list is not made by a loop", "most functions take all rows at once; `@map(f, xs)` calls one for each"
    return None


def _of_types(here: Here) -> Hint:
    kinds, names_tuple = here.region.kinds, [KIND["LET"], KIND["LPAR"], NAME]
    if here.kind == KIND["COLON"] and here.earlier == names_tuple:
        return "the types of a tuple stand behind its names", "write `let (a, b) : (T, T) = ...`"
    if here.kind == KIND["COLON"] and here.earlier == [KIND["FN"], KIND["LPAR"], NAME]:
        return "a function type does not name its parameters", "write the types alone: `fn(T) : T`"
    if here.kind == KIND["COLON"] and KIND["WHERE"] in kinds[: here.stuck] and OPEN not in kinds[: here.stuck]:
        return "the type of the result stands before `where`", "write `fn(x : T) : T where ... { ... }`"
    if here.kind == KIND["COLON"] and kinds[:1] == [KIND["TYPE"]]:
        return "a type's parameters have no sorts of their own", "write the names alone: `type Layer(d, h) = ...`"
    if here.kind == KIND["LSQB"] and here.before == KIND["COLON"]:
        return None, _TYPE
    if here.kind == KIND["COMMA"] and KIND["FN"] in kinds[: here.stuck] and advance(list(here.states), OPEN):
        return None, "several results are a tuple: `(Tensor, Tensor)`"
    if here.kind == KIND["LSQB"] and here.before == NAME and (here.word == "Tensor" or here.earlier[-2:-1] == _COLON):
        return None, _TYPE
    if here.kind == KIND["COMPARE"] and here.word == "Tensor":
        return None, _TYPE
    if here.kind in (KIND["LPAR"], NAME) and here.before == NAME and _names_sort(here.word) and _is_parameter(here):
        return None, "a parameter's type stands behind its name: `x : Tensor([n, m], float32)`"
    return None


def _of_dimensions(here: Here) -> Hint:
    """What stands in `Tensor(...)` or in the list of its dimensions."""
    around = _around(here.region.kinds, here.stuck)
    kinds, texts = [here.region.kinds[i] for i in around], [here.region.text(i - 1) for i in around if i]
    if kinds[:1] == [KIND["LPAR"]] and texts[:1] == ["Tensor"]:
        if here.kind == KIND["_DOTS"]:
            return "a shape is `?`, a name or a list", "any shape is written `?`: `Tensor(?, float32)`"
        return ("the parts of a type have no names", _TYPE) if here.kind == KIND["EQUAL"] else None
    if kinds[:2] != [KIND["LSQB"], KIND["LPAR"]] or texts[1:2] != ["Tensor"]:
        return None
    if here.kind == KIND["POWER"] or here.before == KIND["STAR"]:
        return None, "any number of sizes is written `...`, or `*s` with a name for them"
    if here.kind == KIND["DOT"] and here.before == KIND["DOT"]:
        return "a size is no range", "name it: `n`, and `where 1 <= n, n <= 64`"
    if here.kind in (KIND["COLON"], KIND["QMARK"]):
        return None, "any size is written `?`, or a name that stands for it"
    return None


def _of_declarations(here: Here) -> Hint:
    if here.before == KIND["FN"] and here.kind == NAME:
        return None, _FUNCTION
    if here.kind == KIND["COLON"] and here.region.kinds[:2] == [KIND["FN_NAME"], KIND["LPAR"]]:
        return None, _FUNCTION
    if here.begins and here.kind == NAME and here.word in ("extern", "prim", "inline", "private"):
        found = here.found
        return f"expected a function's name (`@f`), found `{found}`", f"write `{here.word} @{found} = fn(...)`"
    if here.begins and here.kind == NAME and here.word == "import":
        library = "" if here.after == KIND["DOT"] else "; what computes with tensors needs no import: `@exp(x)`"
        return f"expected a string, found `{here.found}`", f'a file is imported by `import "file.rx"`{library}'
    return None


def _of_statements(here: Here) -> Hint:
    if here.kind == KIND["EQUAL"] and here.before == NAME and here.begins:
        if here.after == KIND["FN"]:
            return "a function's name begins with `@`", f"write `@{here.word} = fn(...)`"
        return "a binding begins with `let`", f"write `let {here.word} = ...`"
    if here.kind == KIND["COMMA"] and here.before == NAME and here.begins:
        return None, f"a tuple is taken apart by `let`: `let ({here.word}, b) = ...`"
    if here.before == KIND["FN_NAME"] and here.kind in (NAME, KIND["INT"], KIND["FLOAT"]):
        return None, f"arguments stand in parentheses: `{here.word}({here.found})`"
    index = _index(here.region.kinds, here.stuck) if here.kind == KIND["EQUAL"] else []
    if index:
        return "the elements of a tensor stay what they are", _CHOSEN if KIND["COMPARE"] in index else _PUT
    if here.kind == KIND["COLON"] and advance(list(here.states), OPEN):
        return None, "a block stands in braces: `{ ... }`"
    return None


def _of_texts(here: Here) -> Hint:
    string = KIND["STRING"]
    prefix = (here.word if here.kind == string else here.found).lower() in _STRING_PREFIXES
    if prefix and string in (here.kind, here.after) and NAME in (here.before, here.kind):
        return "a string has no prefix", 'a string is plain text, an option of a call: `"same"`'
    if here.kind == string and here.word == '""':
        return "a string stands on one line, between two quotes", "a comment begins with `#`"
    if here.kind == KIND["DIVIDE"] and (here.before in (END, OPEN) or here.stuck == 0):
        return None, "a comment begins with `#`"
    return None


_HABITS: tuple[Callable[[Here], Hint], ...] = (
    _of_dimensions, _of_conditions, _of_loops, _of_texts, _of_types, _of_declarations, _of_statements,
)  # fmt: skip
_COLON = [KIND["COLON"]]
_STRING_PREFIXES = ("f", "r", "b", "u", "fr", "rf", "br", "rb")
_NAMED = {"with": "acc = x", "stack": "y : Tensor([n], float32)"}
_TYPE = "a type is written `Tensor([n, m], float32)`"
_FUNCTION = "a function is written `@f = fn(x : T) : T { ... }`"
_CHOSEN = "`@where(c, y, x)` gives a tensor with y where c is true: `let x = @where(x < 0.0, 0.0, x)`"
_PUT = "`@update_slice` and `@put` give a tensor with other elements: `let x = @put(...)`"


def _names_sort(word: str) -> bool:
    return word in ("Tensor", "Size", "Shape", "DType", "Bool") or word in DTYPES


def _is_parameter(here: Here) -> bool:
    """Whether the token before stands where the name of a parameter would."""
    return here.earlier[-2:-1] in ([KIND["LPAR"]], [KIND["COMMA"]]) and _is_in_parameters(here.region.kinds, here.stuck)


def _index(kinds: list[int], at: int) -> list[int]:
    """The tokens of `[...]` before a place, if `x[...]` is all of the statement so far."""
    depth = 0
    for i in range(at - 1, max(0, at - FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth == 0:
            begins = kinds[i] == KIND["LSQB"] and kinds[i - 1] == NAME and (i == 1 or kinds[i - 2] in (END, OPEN))
            return kinds[i:at] if begins else []
    return []


def _around(kinds: list[int], at: int) -> list[int]:
    """The brackets that are open at a place, the innermost first."""
    depth, found = 0, []
    for i in range(at - 1, max(-1, at - FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth < 0:
            found.append(i)
            depth = 0
    return found


def _in_list(before: list[int]) -> bool:
    return before.count(KIND["LSQB"]) > before.count(KIND["RSQB"])


def _where(kinds: list[int], at: int) -> Hint:
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
