"""Habits from other languages, recognised by the tokens around a syntax error, each with its message."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .diagnostics import Edit
from .dtypes import DTYPES
from .lalr import advance
from .lexer import KIND, kinds
from .lines import CLOSER, OPENER, OPERAND_END
from .region import END, FAR, NAME, OPEN, STOP, Region
from .source import Span


class Hint(NamedTuple):
    """A message (None: the usual one), a help, and what that would change. `is_of_all`: there is nothing to read in the rest of
    the statement."""

    message: str | None
    help: str
    edits: tuple[Edit, ...] = ()
    is_of_all: bool = False


Said = tuple[str | None, str] | Hint | None


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


def habit(region: Region, stuck: int, states: list[int]) -> Hint | None:
    """What to say of what users of other languages write."""
    kind, after = [*region.kinds[stuck : stuck + 2], STOP, STOP][:2]
    earlier = region.kinds[max(0, stuck - 3) : stuck]
    word = region.text(stuck - 1) if stuck else ""
    found = region.text(stuck) if stuck < len(region.kinds) else ""
    here = Here(region, stuck, states, kind, after, earlier[-1] if earlier else END, earlier, word, found)
    said = next((hint for of in _HABITS if (hint := of(here)) is not None), None)
    return said if said is None or isinstance(said, Hint) else Hint(*said)


def _of_conditions(here: Here) -> Said:
    if here.before in (KIND["IF"], KIND["WHILE"]):
        said = f"put the condition of `{here.word}` in parentheses", f"write `{here.word} (...) {{ ... }}`"
        return Hint(*said, _in_parentheses(here))
    if here.before == KIND["RPAR"] and (word := _word_before(here, here.stuck - 1)) in ("if", "while"):
        if here.kind in _INFIX or here.found in _JOINED:
            said = f"put the condition of `{word}` in parentheses", f"write `{word} (...) {{ ... }}`"
            return Hint(*said, _all_in_parentheses(here))
        if here.kind in _BEGINS:
            return None, "put the branches in braces: `if (c) { a } else { b }`"
    if here.before == KIND["IN"] and here.kind in OPENER and _is_class(here):
        return Hint(*_CLASS, _in_braces(here))
    if here.found == "not" and here.kind == NAME and _next(here) == "in":
        return "`not` is not a word of Rx", "write `!(d in integer)`"
    if here.kind == KIND["RPAR"] and _closes_condition(here.region.kinds, here.stuck):
        return "the condition is missing", "the condition comes last: `while (let k : Size = e; k < 3)`"
    if here.kind == KIND["WHERE"]:
        return _where(here.region.kinds, here.stuck)
    if here.kind == KIND["QMARK"] and here.before not in OPERAND_END:
        return (
            None,
            "`?` stands for a size or a dtype without a name: `Tensor([n, ?], ?)`; `Tensor` alone is any tensor",
        )
    if here.kind == KIND["QMARK"] or (here.kind == KIND["IF"] and here.before in OPERAND_END):
        return None, "a choice is written `if (c) { a } else { b }`"
    return None


def _of_loops(here: Here) -> Said:
    kinds = here.region.kinds
    if here.before == KIND["FOR"] and here.kind != NAME:
        return None, "a loop is written `for i in range(n) with (acc = x) { ... }`"
    if here.kind == NAME and here.found in _NAMED and here.before in OPERAND_END:
        return (
            f"put the part after `{here.found}` in parentheses",
            f"write `{here.found} ({_NAMED[here.found]})`",
        )
    if here.kind == KIND["COMMA"] and here.earlier[-2:] == [KIND["FOR"], NAME]:
        return (
            None,
            "`for` iterates over integers: `for i in range(x.dim(0)) ...`, and `x[i]` is a row; `@map(f, x)` calls f with each",
        )
    if here.kind == KIND["RPAR"] and here.before == KIND["LPAR"] and here.earlier[-2] in (KIND["WITH"], KIND["STACK"]):
        return (
            f"this `{here.region.text(here.stuck - 2)}` names nothing",
            "leave it out, or name the values that the loop carries",
        )
    if here.kind == KIND["DOT"] and here.before == KIND["DOT"] and here.earlier[:2] == [KIND["IN"], KIND["INT"]]:
        return None, f"a range is written `range({here.region.text(here.stuck - 2)}, n)`"
    if here.kind == KIND["FOR"] and here.before in OPERAND_END and _in_list(kinds[: here.stuck]):
        return (
            "there are no list comprehensions",
            "most functions take all rows at once; `@map(f, xs)` calls one for each",
        )
    return None


def _of_types(here: Here) -> Said:
    kinds, names_tuple = here.region.kinds, [KIND["LET"], KIND["LPAR"], NAME]
    if here.kind == KIND["COLON"] and here.earlier == names_tuple:
        return "the types of a tuple come after its names", "write `let (a, b) : (T, T) = ...`"
    if here.kind == KIND["COLON"] and here.earlier == [KIND["FN"], KIND["LPAR"], NAME]:
        return "a function type does not name its parameters", "write the types alone: `fn(T) : T`"
    if here.kind == KIND["COLON"] and KIND["WHERE"] in kinds[: here.stuck] and OPEN not in kinds[: here.stuck]:
        return "the result type comes before `where`", "write `fn(x : T) : T where ... { ... }`"
    if here.kind == KIND["COLON"] and kinds[:1] == [KIND["TYPE"]]:
        return "the parameters of a type take no annotations", "write the names alone: `type Layer(d, h) = ...`"
    if here.kind == KIND["LSQB"] and here.before == KIND["COLON"]:
        return None, _TYPE
    if here.kind == KIND["COMMA"] and KIND["FN"] in kinds[: here.stuck] and advance(list(here.states), OPEN):
        return None, "return several results as a tuple: `(Tensor, Tensor)`"
    if here.kind == KIND["LSQB"] and kinds[:1] == [KIND["TYPE"]] and here.before == NAME:
        return "put the parameters of a type in parentheses", f"write `type {here.word}(d) = ...`"
    if here.kind == KIND["LSQB"] and here.before == NAME and (here.word == "Tensor" or here.earlier[-2:-1] == _COLON):
        own = f"a type takes its sizes in parentheses: `{here.word}(n)`"
        return Hint(None, _GENERIC.get(here.word, own if _is_declared(here) else _TYPE), _shape_edits(here))
    if here.kind == OPEN and here.word == "Tensor":
        return None, _TYPE
    if here.kind == KIND["STAR"] and here.before in _OPENS_PARAMETER and _is_in_parameters(kinds, here.stuck):
        return (
            "a function takes a fixed number of arguments",
            "pass several tensors as a tuple: `xs : (Tensor, Tensor)`",
        )
    if here.kind == KIND["COLON"] and _is_bound(here):
        return (
            "the type comes after the name",
            f"write `let {here.region.text(_begin(here) + 1)} : T = ...`",
        )
    if here.kind == KIND["COMPARE"] and here.word == "Tensor":
        return None, _TYPE
    if here.kind in (KIND["LPAR"], NAME) and here.before == NAME and _names_sort(here.word) and _is_parameter(here):
        return None, "a parameter's type comes after its name: `x : Tensor([n, m], float32)`"
    return None


def _of_dimensions(here: Here) -> Said:
    """What stands in `Tensor(...)` or in the list of its dimensions."""
    around = _around(here.region.kinds, here.stuck)
    kinds, texts = [here.region.kinds[i] for i in around], [here.region.text(i - 1) for i in around if i]
    if kinds[:1] == [KIND["LPAR"]] and texts[:1] == ["Tensor"]:
        if here.kind == KIND["_DOTS"]:
            return "a shape is `?`, a name or a list", "write `?` for any shape: `Tensor(?, float32)`"
        return ("the parts of a type have no names", _TYPE) if here.kind == KIND["EQUAL"] else None
    if kinds[:2] != [KIND["LSQB"], KIND["LPAR"]] or texts[1:2] != ["Tensor"]:
        return None
    if here.kind == KIND["POWER"] or here.before == KIND["STAR"]:
        return None, "write `...` for any number of sizes, or `*s` to name them"
    if here.kind == KIND["DOT"] and here.before == KIND["DOT"]:
        return "a size cannot be a range", "name the size and bound it: `n`, with `where 1 <= n, n <= 64`"
    if here.kind in (KIND["COLON"], KIND["QMARK"]):
        return None, "write `?` for any size, or a name to refer to it"
    return None


def _of_declarations(here: Here) -> Said:
    if here.before in (KIND["FN"], KIND["LET"]) and here.kind in (NAME, KIND["FN_NAME"]):
        return None, _FUNCTION
    if here.before == KIND["EQUAL"] and KIND["FN"] in here.region.kinds[: here.stuck] and _is_function(here):
        return "put the body of a function in braces", "write `fn(x : T) : T { ... }`"
    if here.kind == KIND["COLON"] and here.region.kinds[:2] == [KIND["FN_NAME"], KIND["LPAR"]]:
        return None, _FUNCTION
    if here.begins and here.kind == NAME and here.word in ("extern", "prim", "inline", "private"):
        found = here.found
        return f"expected a function's name (`@f`), found `{found}`", f"write `{here.word} @{found} = fn(...)`"
    if here.begins and here.kind == NAME and here.word == "import":
        library = "" if here.after == KIND["DOT"] else "; a tensor function needs no import: `@exp(x)`"
        return f"expected a string, found `{here.found}`", f'import a file by `import "file.rx"`{library}'
    return None


def _of_statements(here: Here) -> Said:
    if here.kind == KIND["EQUAL"] and here.before == NAME and here.begins:
        if here.after == KIND["FN"] and OPEN not in here.region.kinds[: here.stuck]:
            return "a function's name begins with `@`", f"write `@{here.word} = fn(...)`"
        return Hint("a binding begins with `let`", f"write `let {here.word} = ...`", _before(here, "let "))
    if here.kind == KIND["EQUAL"] and here.earlier == [NAME, KIND["DOT"], NAME]:
        said = (
            "`let` takes a plain name",
            f"write `let {here.word} = ...`; pass weights as parameters of the function",
        )
        return Hint(*said, is_of_all=True)
    if here.kind == KIND["COMMA"] and here.before == NAME and here.begins:
        return _tuple(here)
    if here.kind == END and here.earlier[-2:] == [KIND["LET"], NAME]:
        return "a binding needs a value", f"write `let {here.word} = ...`"
    if here.kind == NAME and here.word == "with" and here.begins:
        said = "`with` belongs to a loop", "`for i in range(n) with (acc = x) { ... }`; there are no context managers"
        return Hint(*said, is_of_all=True)
    if here.before == KIND["FN_NAME"] and here.kind in (NAME, KIND["INT"], KIND["FLOAT"], OPEN):
        return None, f"put arguments in parentheses: `{here.word}({here.found if here.kind != OPEN else '...'})`"
    index = _index(here.region.kinds, here.stuck) if here.kind == KIND["EQUAL"] else []
    if index:
        return "tensors are immutable", _CHOSEN if KIND["COMPARE"] in index else _PUT
    if here.kind == KIND["COLON"] and advance(list(here.states), OPEN):
        return Hint(None, _BLOCK, is_of_all=OPEN in here.region.kinds[: here.stuck])
    if here.earlier[-2:] == [*_COLON, NAME] and _is_function(here) and _is_on_new_line(here):
        return "put the body of a function in braces", "write `fn(x : T) { ... }`"
    return None


def _of_texts(here: Here) -> Said:
    string = KIND["STRING"]
    prefix = (here.word if here.kind == string else here.found).lower() in _STRING_PREFIXES
    if prefix and string in (here.kind, here.after) and NAME in (here.before, here.kind):
        return "strings have no prefixes", 'a string is plain text and names an option of a call: `"same"`'
    if here.kind == string and here.word == '""':
        return "a string is on one line, between two double quotes", "a comment begins with `#`"
    if here.kind == KIND["DIVIDE"] and (here.before in (END, OPEN) or here.stuck == 0):
        return None, "a comment begins with `#`"
    return None


_HABITS: tuple[Callable[[Here], Said], ...] = (
    _of_dimensions, _of_conditions, _of_loops, _of_texts, _of_types, _of_declarations, _of_statements,
)  # fmt: skip
_COLON = [KIND["COLON"]]
_BLOCK = "put a block in braces: `{ ... }`"
_CLASS = "put several dtypes in braces", "write `d in {float32, float64}`"
_INFIX = kinds("OR AND COMPARE SIGN STAR DIVIDE POWER")
_JOINED = {"and": "&&", "or": "||"}
_BEGINS = kinds("NAME FN_NAME INT FLOAT LPAR")
_OPENS_PARAMETER = kinds("LPAR COMMA")
_SEVERAL = "pass several tensors as a tuple, `(Tensor, Tensor)`, or as one tensor with another axis"
_ALWAYS = "optional parameters need a literal default, `k : Size = 3`; a tensor is never optional"
_SHOWN = 40
_GENERIC = dict.fromkeys(("List", "list", "Tuple", "tuple", "Sequence", "Iterable"), _SEVERAL)
_GENERIC |= dict.fromkeys(("Optional", "Union"), _ALWAYS)
_STRING_PREFIXES = ("f", "r", "b", "u", "fr", "rf", "br", "rb")
_NAMED = {"with": "acc = x", "stack": "y : Tensor([n], float32)"}
_TYPE = "a type is written `Tensor([n, m], float32)`"
_FUNCTION = "a function is written `@f = fn(x : T) : T { ... }`"
_CHOSEN = "`@where(c, y, x)` gives a tensor with y where c is true: `let x = @where(x < 0.0, 0.0, x)`"
_PUT = "`@update_slice` and `@put` give a tensor with other elements: `let x = @put(...)`"


def _next(here: Here) -> str:
    return here.region.text(here.stuck + 1) if here.stuck + 1 < len(here.region.kinds) else ""


def _begin(here: Here) -> int:
    """The number of the token that the statement at hand begins with."""
    kinds, depth = here.region.kinds, 0
    for i in range(here.stuck - 1, max(-1, here.stuck - FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth < 0 or (depth == 0 and kinds[i] == END):
            return i + 1
    return 0


def _end(here: Here) -> int:
    """The number of the token behind the statement at hand."""
    kinds, depth = here.region.kinds, 0
    for i in range(here.stuck, min(len(kinds), here.stuck + FAR)):
        if depth == 0 and (kinds[i] in CLOSER or kinds[i] == END):
            return i
        depth += (kinds[i] in OPENER) - (kinds[i] in CLOSER)
    return len(kinds)


def _text(here: Here, first: int, last: int) -> Span:
    """The text of some tokens, the last one included."""
    return Span(here.region.source, here.region.starts[first], here.region.ends[last])


def _around_of(here: Here, first: int, last: int, signs: tuple[str, str] = ("(", ")")) -> tuple[Edit, ...]:
    """Signs put before and behind some tokens."""
    start, end = _text(here, first, last).start, _text(here, first, last).end
    source = here.region.source
    return Edit(Span(source, start, start), signs[0]), Edit(Span(source, end, end), signs[1])


def _before(here: Here, text: str) -> tuple[Edit, ...]:
    start = here.region.starts[here.stuck - 1]
    return (Edit(Span(here.region.source, start, start), text),)


def _in_parentheses(here: Here) -> tuple[Edit, ...]:
    """The condition of an `if`, up to its block."""
    last = next((i for i in range(here.stuck, _end(here)) if here.region.kinds[i] == OPEN), here.stuck)
    return _around_of(here, here.stuck, last - 1) if last > here.stuck else ()


def _in_braces(here: Here) -> tuple[Edit, ...]:
    """A list of names in braces rather than other brackets."""
    kinds = here.region.kinds
    last = next((i for i in range(here.stuck + 1, len(kinds)) if kinds[i] not in (NAME, KIND["COMMA"])), here.stuck)
    if last >= len(kinds) or kinds[last] not in CLOSER or last == here.stuck + 1:
        return ()
    return Edit(_text(here, here.stuck, here.stuck), "{"), Edit(_text(here, last, last), "}")


def _is_class(here: Here) -> bool:
    """Whether an `in` asks what a dtype is, and begins no loop."""
    return here.region.kinds[max(0, here.stuck - 3) : here.stuck][:1] != [KIND["FOR"]]


def _tuple(here: Here) -> Said:
    """`a, b = e` and `a, b`: names that are a tuple without its parentheses."""
    kinds, last = here.region.kinds, _end(here)
    equal = next((i for i in range(here.stuck, last) if kinds[i] == KIND["EQUAL"]), last)
    names = set(kinds[here.stuck : equal]) == {NAME, KIND["COMMA"]}
    whole = _text(here, here.stuck - 1, equal - 1).text
    shown = whole if names or equal == last and len(whole) <= _SHOWN and "\n" not in whole else f"{here.word}, b"
    if equal < last:
        edits = _around_of(here, here.stuck - 1, equal - 1, ("let (", ")")) if names else ()
        return Hint(None, f"`let` unpacks a tuple: `let ({shown}) = ...`", edits)
    return Hint(None, f"put a tuple in parentheses: `({shown})`", _around_of(here, here.stuck - 1, last - 1))


def _is_bound(here: Here) -> bool:
    """Whether the statement at hand is a `let`, and its value stands before the place."""
    kinds, begin = here.region.kinds, _begin(here)
    bound = kinds[begin : begin + 3] == [KIND["LET"], NAME, KIND["EQUAL"]]
    return bound and not advance(list(here.states), KIND["RPAR"]) and here.before in OPERAND_END


def _is_function(here: Here) -> bool:
    """Whether the place lies behind the parameters of a function that has no body yet."""
    kinds = here.region.kinds[: here.stuck]
    return KIND["FN"] in kinds and OPEN not in kinds and KIND["EXTERN"] not in kinds


def _is_on_new_line(here: Here) -> bool:
    between = here.region.source.text[here.region.ends[here.stuck - 2] : here.region.starts[here.stuck - 1]]
    return "\n" in between


def _is_declared(here: Here) -> bool:
    """Whether the word before is a type of the program."""
    return any(f"type {here.word}{sign}" in here.region.source.text for sign in " ([=")


def _opened(here: Here, closer: int) -> int:
    """The number of the bracket that a closing one belongs to."""
    kinds, depth = here.region.kinds, 0
    for i in range(closer, max(0, closer - FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth == 0:
            return i
    return 0


def _word_before(here: Here, closer: int) -> str:
    """What stands before the brackets that a closing one ends."""
    opened = _opened(here, closer)
    return here.region.text(opened - 1) if opened else ""


def _all_in_parentheses(here: Here) -> tuple[Edit, ...]:
    """`if (a) and (b) {`, with the words for Rx's signs."""
    first = _opened(here, here.stuck - 1)
    last = next((i for i in range(here.stuck, _end(here)) if here.region.kinds[i] == OPEN), here.stuck)
    words = [i for i in range(first, last) if here.region.text(i) in _JOINED]
    signs = tuple(Edit(_text(here, i, i), _JOINED[here.region.text(i)]) for i in words)
    return (*_around_of(here, first, last - 1), *signs) if last > here.stuck else ()


def _shape_edits(here: Here) -> tuple[Edit, ...]:
    """`Tensor[n, m]` and `float32[n, m]` as they are written here."""
    kinds, start = here.region.kinds, here.stuck
    last = next((i for i in range(start, len(kinds)) if kinds[i] in CLOSER), start)
    inside = here.region.source.text[here.region.starts[start] : here.region.ends[last]]
    if last == start or kinds[last] != KIND["RSQB"] or any(name in inside for name in DTYPES):
        return ()
    written = f"Tensor({inside})" if here.word == "Tensor" else f"Tensor({inside}, {here.word})"
    return (Edit(_text(here, start - 1, last), written),) if here.word == "Tensor" or here.word in DTYPES else ()


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


def _where(kinds: list[int], at: int) -> Said:
    """What to say of a `where` that stands at a type or among parameters."""
    if kinds[0] == KIND["TYPE"]:
        return "a type has no conditions", "put `where` in the signature of each function that takes such a value"
    if _is_in_parameters(kinds, at):
        return (
            "a parameter has no conditions of its own",
            "conditions come after all parameters: `fn(x : T) : T where n >= 1 { ... }`",
        )
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
