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
    """A message (None: the usual one), a help, and its edits. `is_of_all`: the rest of the statement is unreadable."""

    message: str | None
    help: str
    edits: tuple[Edit, ...] = ()
    is_of_all: bool = False


class Here(NamedTuple):
    """The token that does not fit: its kind, and the kinds of the tokens around it in the same item."""

    region: Region
    stuck: int
    states: list[int]
    kind: int
    after: int
    before: int
    earlier: list[int]  # up to three kinds before
    word: str  # the text before it
    found: str

    @property
    def begins(self) -> bool:
        """Whether the token before it begins a statement."""
        return len(self.earlier) < 2 or self.earlier[-2] in (END, OPEN)

    @property
    def kinds(self) -> list[int]:
        """All kinds before it."""
        return self.region.kinds[: self.stuck]

    @property
    def item(self) -> list[int]:
        """The first two kinds of the item."""
        return self.region.kinds[:2]

    @property
    def head(self) -> str:
        """The word before the brackets that end just before it."""
        return _word_before(self, self.stuck - 1)

    @property
    def is_headless(self) -> bool:
        """Whether a function without a body precedes it."""
        return KIND["FN"] in self.kinds and OPEN not in self.kinds and KIND["EXTERN"] not in self.kinds

    def said(self, text: str) -> str:
        """A text with the surrounding tokens in place of its `$` words."""
        words: dict[str, Callable[[], str]] = {
            "word": lambda: self.word, "found": lambda: self.found, "head": lambda: self.head, "names": lambda: _names(self)[0],
            "bound": lambda: self.region.text(_begin(self) + 1), "second": lambda: self.region.text(self.stuck - 2),
        }  # fmt: skip
        for name, word in words.items():
            text = text.replace(f"${name}", word()) if f"${name}" in text else text
        return text


def _nothing(here: Here) -> tuple[Edit, ...]:
    return ()


class Habit(NamedTuple):
    """A habit from other languages: a program with it (a body, if it has no line end), the kinds of the token that does not
    fit and of the one before it ("" for any), a further condition, the message (None: the usual one), the help, and its
    edits."""

    example: str
    token: str
    before: str
    when: Callable[[Here], bool]
    message: str | None
    help: str
    edits: Callable[[Here], tuple[Edit, ...]] = _nothing
    is_of_all: bool = False


def habit(region: Region, stuck: int, states: list[int]) -> Hint | None:
    """The hint for a habit from another language, or None."""
    kind, after = [*region.kinds[stuck : stuck + 2], STOP, STOP][:2]
    earlier = region.kinds[max(0, stuck - 3) : stuck]
    word = region.text(stuck - 1) if stuck else ""
    found = region.text(stuck) if stuck < len(region.kinds) else ""
    here = Here(region, stuck, states, kind, after, earlier[-1] if earlier else END, earlier, word, found)
    row = next((row for row, token, before in _KINDS if _fits(here, token, before) and row.when(here)), None)
    if row is None:
        return None
    message = None if row.message is None else here.said(row.message)
    return Hint(message, here.said(row.help), row.edits(here), row.is_of_all)


def _fits(here: Here, token: frozenset[int], before: frozenset[int]) -> bool:
    return (not token or here.kind in token) and (not before or here.before in before)


def _next(here: Here) -> str:
    return here.region.text(here.stuck + 1) if here.stuck + 1 < len(here.region.kinds) else ""


def _begin(here: Here) -> int:
    """The number of the first token of the current statement."""
    kinds, depth = here.region.kinds, 0
    for i in range(here.stuck - 1, max(-1, here.stuck - FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth < 0 or (depth == 0 and kinds[i] == END):
            return i + 1
    return 0


def _end(here: Here) -> int:
    """The number of the token after the current statement."""
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
    """Edits that put signs around some tokens."""
    start, end = _text(here, first, last).start, _text(here, first, last).end
    source = here.region.source
    return Edit(Span(source, start, start), signs[0]), Edit(Span(source, end, end), signs[1])


def _before(here: Here, text: str) -> tuple[Edit, ...]:
    start = here.region.starts[here.stuck - 1]
    return (Edit(Span(here.region.source, start, start), text),)


def _in_parentheses(here: Here) -> tuple[Edit, ...]:
    """Edits that put the condition of an `if`, up to its block, in parentheses."""
    last = next((i for i in range(here.stuck, _end(here)) if here.region.kinds[i] == OPEN), here.stuck)
    return _around_of(here, here.stuck, last - 1) if last > here.stuck else ()


def _in_braces(here: Here) -> tuple[Edit, ...]:
    """Edits that put a list of names in braces instead of other brackets."""
    kinds = here.region.kinds
    last = next((i for i in range(here.stuck + 1, len(kinds)) if kinds[i] not in (NAME, KIND["COMMA"])), here.stuck)
    if last >= len(kinds) or kinds[last] not in CLOSER or last == here.stuck + 1:
        return ()
    return Edit(_text(here, here.stuck, here.stuck), "{"), Edit(_text(here, last, last), "}")


def _is_bound_together(here: Here) -> bool:
    """Whether a `=` follows the names of a tuple without parentheses."""
    return KIND["EQUAL"] in here.region.kinds[here.stuck : _end(here)]


def _names(here: Here) -> tuple[str, int, bool]:
    """`a, b` of `a, b = e` or of `a, b`, its last token, and whether it consists of names alone."""
    kinds, last = here.region.kinds, _end(here)
    equal = next((i for i in range(here.stuck, last) if kinds[i] == KIND["EQUAL"]), last)
    names = set(kinds[here.stuck : equal]) == {NAME, KIND["COMMA"]}
    whole = _text(here, here.stuck - 1, equal - 1).text
    is_short = names or equal == last and len(whole) <= _SHOWN and "\n" not in whole
    return whole if is_short else f"{here.word}, b", equal - 1, names


def _tuple_edits(here: Here) -> tuple[Edit, ...]:
    _, last, names = _names(here)
    if _is_bound_together(here):
        return _around_of(here, here.stuck - 1, last, ("let (", ")")) if names else ()
    return _around_of(here, here.stuck - 1, last)


def _is_bound(here: Here) -> bool:
    """Whether the current statement is a `let` whose value stands before the place."""
    kinds, begin = here.region.kinds, _begin(here)
    bound = kinds[begin : begin + 3] == [KIND["LET"], NAME, KIND["EQUAL"]]
    return bound and not advance(list(here.states), KIND["RPAR"]) and here.before in OPERAND_END


def _is_on_new_line(here: Here) -> bool:
    between = here.region.source.text[here.region.ends[here.stuck - 2] : here.region.starts[here.stuck - 1]]
    return "\n" in between


def _has_prefix(here: Here) -> bool:
    """Whether a string follows letters like `f`."""
    string = KIND["STRING"]
    prefix = (here.word if here.kind == string else here.found).lower() in _STRING_PREFIXES
    return prefix and string in (here.kind, here.after) and NAME in (here.before, here.kind)


def _is_after_colon(here: Here) -> bool:
    return here.word == "Tensor" or here.earlier[-2:-1] == [KIND["COLON"]]


def _is_of_type(here: Here) -> bool:
    """Whether the place lies in `Tensor(...)`."""
    around = _around(here.region.kinds, here.stuck)
    return [here.region.kinds[i] for i in around[:1]] == _kinds("LPAR") and _is_of_tensor(here, around[0])


def _is_of_dimensions(here: Here) -> bool:
    """Whether the place lies in the list of dimensions of `Tensor([...])`."""
    around = _around(here.region.kinds, here.stuck)[:2]
    return [here.region.kinds[i] for i in around] == _kinds("LSQB LPAR") and _is_of_tensor(here, around[1])


def _is_of_tensor(here: Here, bracket: int) -> bool:
    return bracket > 0 and here.region.text(bracket - 1) == "Tensor"


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
    """The word before the brackets that a closing one ends."""
    opened = _opened(here, closer)
    return here.region.text(opened - 1) if opened else ""


def _all_in_parentheses(here: Here) -> tuple[Edit, ...]:
    """Edits that turn `if (a) and (b) {` into a condition in parentheses, with Rx's signs for the words."""
    first = _opened(here, here.stuck - 1)
    last = next((i for i in range(here.stuck, _end(here)) if here.region.kinds[i] == OPEN), here.stuck)
    words = [i for i in range(first, last) if here.region.text(i) in _JOINED]
    signs = tuple(Edit(_text(here, i, i), _JOINED[here.region.text(i)]) for i in words)
    return (*_around_of(here, first, last - 1), *signs) if last > here.stuck else ()


def _shape_edits(here: Here) -> tuple[Edit, ...]:
    """Edits that turn `Tensor[n, m]` and `float32[n, m]` into types of Rx."""
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
    """Whether the token before stands at the place of a parameter's name."""
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


def _is_in_parameters(kinds: list[int], at: int) -> bool:
    """Whether a place lies in the parentheses behind `fn`."""
    depth = 0
    for i in range(at - 1, max(0, at - FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth < 0:
            return kinds[i - 1] == KIND["FN"]
    return False


def _closes_condition(kinds: list[int], at: int) -> bool:
    """Whether a parenthesis closes the one around a loop's condition."""
    depth = 0
    for i in range(at - 1, max(0, at - FAR), -1):
        if kinds[i] in OPENER and depth == 0:
            return kinds[i - 1] == KIND["WHILE"]
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
    return False


def _always(here: Here) -> bool:
    return True


def _kinds(names: str) -> list[int]:
    return [KIND[name] for name in names.split()]


_INFIX = kinds("OR AND COMPARE SIGN STAR DIVIDE POWER")
_JOINED = {"and": "&&", "or": "||"}
_SHOWN = 40
_STRING_PREFIXES = ("f", "r", "b", "u", "fr", "rf", "br", "rb")
_TYPE = "a type is written `Tensor([n, m], float32)`"
_FUNCTION = "a function is written `@f = fn(x : T) : T { ... }`"
_BLOCK = "put a block in braces: `{ ... }`"
_BODY = "put the body of a function in braces"
_CONDITION = "put the condition of `$word` in parentheses"
_NO_BODY = "@f = fn(x : Tensor) : Tensor = x * 2.0\n"
_LIST = ("List", "list", "Tuple", "tuple", "Sequence", "Iterable")
# In this order; the first match is reported.
HABITS = (
    # In `Tensor(...)` or in the list of its dimensions
    Habit("@f = fn(x : Tensor(..., int8)) : Tensor { x }\n", "_DOTS", "", _is_of_type,
          "a shape is `?`, a name or a list", "write `?` for any shape: `Tensor(?, float32)`"),
    Habit("@f = fn(x : Tensor(shape=[n], dtype=int8)) : Tensor { x }\n", "EQUAL", "", _is_of_type,
          "the parts of a type have no names", _TYPE),
    Habit("@f = fn(x : Tensor([**s], int8)) : Tensor([*s], int8) { x }\n", "POWER", "", _is_of_dimensions,
          None, "write `...` for any number of sizes, or `*s` to name them"),
    Habit("@f = fn(x : Tensor([*, d], int8)) : Tensor([*, d], int8) { x }\n", "", "STAR", _is_of_dimensions,
          None, "write `...` for any number of sizes, or `*s` to name them"),
    Habit("@f = fn(x : Tensor([1..8], int8)) : Tensor { x }\n", "DOT", "DOT", _is_of_dimensions,
          "a size cannot be a range", "name the size and bound it: `n`, with `where 1 <= n, n <= 64`"),
    Habit("@f = fn(x : Tensor([:, d], int8)) : Tensor([d], int8) { x[0] }\n", "COLON QMARK", "", _is_of_dimensions,
          None, "write `?` for any size, or a name to refer to it"),
    # Conditions
    Habit("if n > 3 { x } else { x }", "", "IF WHILE", _always,
          _CONDITION, "write `$word (...) { ... }`", _in_parentheses),
    Habit("if (n > 3) and (d > 3) { x } else { x }", "", "RPAR",
          lambda h: (h.kind in _INFIX or h.found in _JOINED) and h.head in ("if", "while"),
          _CONDITION.replace("word", "head"), "write `$head (...) { ... }`", _all_in_parentheses),
    Habit("if (n > 3) x else x", "NAME FN_NAME INT FLOAT LPAR", "RPAR", lambda h: h.head in ("if", "while"),
          None, "put the branches in braces: `if (c) { a } else { b }`"),
    Habit("@f = fn(x : Tensor([n], d)) : Tensor where d in [int8, int16] { x }\n", "LPAR LSQB LBRACE", "IN",
          lambda h: h.earlier[:1] != [KIND["FOR"]],
          "put several dtypes in braces", "write `d in {float32, float64}`", _in_braces),
    Habit("@f = fn(x : Tensor([n], d)) : Tensor where d not in integer { x }\n", "NAME", "",
          lambda h: h.found == "not" and _next(h) == "in",
          "`not` is not a word of Rx", "write `!(d in integer)`"),
    Habit("while (let k : Size = n) { x }", "RPAR", "", lambda h: _closes_condition(h.region.kinds, h.stuck),
          "the condition is missing", "the condition comes last: `while (let k : Size = e; k < 3)`"),
    Habit("type L(d) = Tensor([d], int8) where d > 1\n", "WHERE", "", lambda h: h.item[:1] == _kinds("TYPE"),
          "a type has no conditions", "put `where` in the signature of each function that takes such a value"),
    Habit("@f = fn(x : Tensor([n], int8) where n > 1) : Tensor { x }\n", "WHERE", "",
          lambda h: _is_in_parameters(h.region.kinds, h.stuck),
          "a parameter has no conditions of its own",
          "conditions come after all parameters: `fn(x : T) : T where n >= 1 { ... }`"),
    Habit("@f = fn(x : ?) : Tensor { x }\n", "QMARK", "", lambda h: h.before not in OPERAND_END,
          None, "`?` stands for a size or a dtype without a name: `Tensor([n, ?], ?)`; `Tensor` alone is any tensor"),
    Habit("x if n > 3 else w", "QMARK IF", "", lambda h: h.before in OPERAND_END,
          None, "a choice is written `if (c) { a } else { b }`"),
    # Loops
    Habit("for (i in range(3)) { x }", "", "FOR", lambda h: h.kind != NAME,
          None, "a loop is written `for i in range(n) with (acc = x) { ... }`"),
    Habit("for i in range(3) with a = x { a }", "NAME", "", lambda h: h.found == "with" and h.before in OPERAND_END,
          "put the part after `with` in parentheses", "write `with (acc = x)`"),
    Habit("for i in range(3) stack y : Tensor { x }", "NAME", "", lambda h: h.found == "stack" and h.before in OPERAND_END,
          "put the part after `stack` in parentheses", "write `stack (y : Tensor([n], float32))`"),
    Habit("for i, r in enumerate(x) with (a = x) { a }", "COMMA", "", lambda h: h.earlier[-2:] == _kinds("FOR NAME"),
          None,
          "`for` iterates over integers: `for i in range(x.dim(0)) ...`, and `x[i]` is a row; `@map(f, x)` calls f with each"),
    Habit("for i in range(3) with () { x }", "RPAR", "LPAR", lambda h: h.earlier[-2:-1] in (_kinds("WITH"), _kinds("STACK")),
          "this `$second` names nothing", "leave it out, or name the values that the loop carries"),
    Habit("for i in 0..3 { x }", "DOT", "DOT", lambda h: h.earlier[:2] == _kinds("IN INT"),
          None, "a range is written `range($second, n)`"),
    Habit("@stack([x[i] for i in range(3)])", "FOR", "", lambda h: h.before in OPERAND_END and _in_list(h.kinds),
          "there are no list comprehensions", "most functions take all rows at once; `@map(f, xs)` calls one for each"),
    # Strings and comments
    Habit('assert n > 0, f"n is {n}"; x', "", "", _has_prefix,
          "strings have no prefixes", 'a string is plain text and names an option of a call: `"same"`'),
    Habit('"""Doubles."""\n  x', "STRING", "", lambda h: h.word == '""',
          "a string is on one line, between two double quotes", "a comment begins with `#`"),
    Habit("// doubles\n  x", "DIVIDE", "", lambda h: h.before in (END, OPEN) or h.stuck == 0,
          None, "a comment begins with `#`"),
    # Types
    Habit("let (a : Tensor, b : Tensor) = x; a", "COLON", "", lambda h: h.earlier == _kinds("LET LPAR NAME"),
          "the types of a tuple come after its names", "write `let (a, b) : (T, T) = ...`"),
    Habit("@f = fn(g : fn(x : Tensor) : Tensor) { g(g) }\n", "COLON", "", lambda h: h.earlier == _kinds("FN LPAR NAME"),
          "a function type does not name its parameters", "write the types alone: `fn(T) : T`"),
    Habit("@f = fn(x : Tensor([n], int8)) where n > 1 : Tensor { x }\n", "COLON", "",
          lambda h: KIND["WHERE"] in h.kinds and OPEN not in h.kinds,
          "the result type comes before `where`", "write `fn(x : T) : T where ... { ... }`"),
    Habit("type L(d : Size) = Tensor([d], int8)\n", "COLON", "", lambda h: h.item[:1] == _kinds("TYPE"),
          "the parameters of a type take no annotations", "write the names alone: `type Layer(d, h) = ...`"),
    Habit("let z : [n, d] = x; z", "LSQB", "COLON", _always, None, _TYPE),
    Habit("@f = fn(x : Tensor([n], int8)) : Tensor, Tensor { (x, x) }\n", "COMMA", "",
          lambda h: KIND["FN"] in h.kinds and advance(list(h.states), OPEN),
          None, "return several results as a tuple: `(Tensor, Tensor)`"),
    Habit("type L[d] = Tensor([d], int8)\n", "LSQB", "NAME", lambda h: h.item[:1] == _kinds("TYPE"),
          "put the parameters of a type in parentheses", "write `type $word(d) = ...`"),
    Habit("@f = fn(xs : List[Tensor]) : Tensor { xs[0] }\n", "LSQB", "NAME", lambda h: h.word in _LIST and _is_after_colon(h),
          None, "pass several tensors as a tuple, `(Tensor, Tensor)`, or as one tensor with another axis"),
    Habit("@f = fn(x : Tensor, m : Optional[Tensor]) : Tensor { x }\n", "LSQB", "NAME",
          lambda h: h.word in ("Optional", "Union") and _is_after_colon(h),
          None, "optional parameters need a literal default, `k : Size = 3`; a tensor is never optional"),
    Habit("type L(d) = Tensor([d], int8)\n@f = fn(x : L[3]) : Tensor { x }\n", "LSQB", "NAME",
          lambda h: _is_after_colon(h) and _is_declared(h),
          None, "a type takes its sizes in parentheses: `$word(n)`", _shape_edits),
    Habit("let y : float32[n] = x; y", "LSQB", "NAME", lambda h: h.word == "Tensor" or _is_after_colon(h),
          None, _TYPE, _shape_edits),
    Habit("@f = fn(x : Tensor{[n], int8}) : Tensor { x }\n", "LBRACE COMPARE", "", lambda h: h.word == "Tensor", None, _TYPE),
    Habit("@f = fn(*xs) : Tensor { xs[0] }\n", "STAR", "LPAR COMMA", lambda h: _is_in_parameters(h.region.kinds, h.stuck),
          "a function takes a fixed number of arguments", "pass several tensors as a tuple: `xs : (Tensor, Tensor)`"),
    Habit("let z = x : Tensor; z", "COLON", "", _is_bound,
          "the type comes after the name", "write `let $bound : T = ...`"),
    Habit("@f = fn(float32 x) : Tensor { x }\n", "LPAR NAME", "NAME", lambda h: _names_sort(h.word) and _is_parameter(h),
          None, "a parameter's type comes after its name: `x : Tensor([n, m], float32)`"),
    # Declarations
    Habit("fn @f(x : Tensor) : Tensor { x }\n", "NAME FN_NAME", "FN LET", _always, None, _FUNCTION),
    Habit(_NO_BODY, "", "EQUAL", lambda h: h.is_headless, _BODY, "write `fn(x : T) : T { ... }`"),
    Habit("@f(x : Tensor) : Tensor { x }\n", "COLON", "", lambda h: h.item == _kinds("FN_NAME LPAR"), None, _FUNCTION),
    Habit("extern f = fn(x : Tensor) : Tensor\n", "NAME", "",
          lambda h: h.begins and h.word in ("extern", "prim", "inline", "private"),
          "expected a function's name (`@f`), found `$found`", "write `$word @$found = fn(...)`"),
    Habit("import torch.nn\n", "NAME", "", lambda h: h.begins and h.word == "import" and h.after == KIND["DOT"],
          "expected a string, found `$found`", 'import a file by `import "file.rx"`'),
    Habit("import numpy as np\n", "NAME", "", lambda h: h.begins and h.word == "import",
          "expected a string, found `$found`",
          'import a file by `import "file.rx"`; a tensor function needs no import: `@exp(x)`'),
    # Statements
    Habit("f = fn(x : Tensor) : Tensor { x }\n", "EQUAL", "NAME",
          lambda h: h.begins and h.after == KIND["FN"] and OPEN not in h.kinds,
          "a function's name begins with `@`", "write `@$word = fn(...)`"),
    Habit("y = x\n  y", "EQUAL", "NAME", lambda h: h.begins,
          "a binding begins with `let`", "write `let $word = ...`", lambda h: _before(h, "let ")),
    Habit("self.w = x; x", "EQUAL", "", lambda h: h.earlier == _kinds("NAME DOT NAME"),
          "`let` takes a plain name", "write `let $word = ...`; pass weights as parameters of the function", is_of_all=True),
    Habit("b, t = @split(x, 2); x", "COMMA", "NAME", lambda h: h.begins and _is_bound_together(h),
          None, "`let` unpacks a tuple: `let ($names) = ...`", _tuple_edits),
    Habit("x, @exp(x)", "COMMA", "NAME", lambda h: h.begins,
          None, "put a tuple in parentheses: `($names)`", _tuple_edits),
    Habit("let z; x", "_END", "", lambda h: h.earlier[-2:] == _kinds("LET NAME"),
          "a binding needs a value", "write `let $word = ...`"),
    Habit("with torch.no_grad():\n    x", "NAME", "", lambda h: h.begins and h.word == "with",
          "`with` belongs to a loop", "`for i in range(n) with (acc = x) { ... }`; there are no context managers",
          is_of_all=True),
    Habit("@exp{x}", "LBRACE", "FN_NAME", _always, None, "put arguments in parentheses: `$word(...)`"),
    Habit("@exp x", "NAME INT FLOAT", "FN_NAME", _always, None, "put arguments in parentheses: `$word($found)`"),
    Habit("x[x < 0.0] = 0.0; x", "EQUAL", "", lambda h: KIND["COMPARE"] in _index(h.region.kinds, h.stuck),
          "tensors are immutable",
          "`@where(c, y, x)` gives a tensor with y where c is true: `let x = @where(x < 0.0, 0.0, x)`"),
    Habit("x[0] = 1.0; x", "EQUAL", "", lambda h: bool(_index(h.region.kinds, h.stuck)),
          "tensors are immutable", "`@update_slice` and `@put` give a tensor with other elements: `let x = @put(...)`"),
    Habit("if (n > 3):\n    x\n  else:\n    w", "COLON", "", lambda h: OPEN in h.kinds and advance(list(h.states), OPEN),
          None, _BLOCK, is_of_all=True),
    Habit("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32):\n  x\n", "COLON", "",
          lambda h: advance(list(h.states), OPEN), None, _BLOCK),
    Habit("@f = fn(x : Tensor):\n  x * 2.0\n", "", "NAME",
          lambda h: h.earlier[-2:] == _kinds("COLON NAME") and h.is_headless and _is_on_new_line(h),
          _BODY, "write `fn(x : T) { ... }`"),
)  # fmt: skip
_KINDS = tuple((row, kinds(row.token), kinds(row.before)) for row in HABITS)
