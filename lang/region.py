"""The tokens of an item that cannot be read, and one change of them."""

from __future__ import annotations

from typing import NamedTuple

from ..grammar.table import LITERALS, STARTS
from .lalr import advance
from .lexer import KIND, kinds
from .lines import PREFIXES
from .source import Source, Span

END, STOP, NAME = KIND["_END"], 0, KIND["NAME"]
OPEN, CLOSE = KIND["LBRACE"], KIND["RBRACE"]
TEXT = {KIND[name]: text for text, name in LITERALS.items()}
TEXT |= {KIND["COMPARE"]: "==", KIND["SIGN"]: "+", KIND["DIVIDE"]: "/", KIND["INT"]: "0", KIND["STRING"]: '""'}
TEXT |= {END: ";", NAME: "_", KIND["FN_NAME"]: "@f", KIND["FLOAT"]: "0.0"}
# How many tokens back a token may be related to another one.
FAR = 2_000
BRACKETS = kinds("LPAR RPAR LSQB RSQB LBRACE RBRACE")
OTHER_WORDS: dict[str, tuple[tuple[str, ...], str]] = {
    "and": (("AND",), "write `&&`"),
    "or": (("OR",), "write `||`"),
    "not": (("BANG",), "write `!`"),
    "elif": (("ELSE", "IF"), "write `else if`"),
    "return": ((), "the last expression of a block is its result"),
    "def": ((), "a function is written `@f = fn(x : T) : T { ... }`"),
    "func": ((), "a function is written `@f = fn(x : T) : T { ... }`"),
    "function": ((), "a function is written `@f = fn(x : T) : T { ... }`"),
    "var": (("LET",), "write `let`"),
    "val": (("LET",), "write `let`"),
    "is": (("COMPARE",), "write `==`, and `!=` for `is not`"),
    "lambda": (("FN",), "a function value is written `fn(x : T) : T { ... }`"),
    "mut": ((), "`let` may bind any name again"),
    "class": ((), "a file is a list of functions; `type Layer = (T, T)` groups values such as weights"),
    "struct": ((), "`type Layer = (T, T)` groups values"),
    "from": ((), 'import a file by `import "file.rx" as f`, and its functions are `@f.g`'),
    "raise": ((), "`assert c` stops the run where `c` does not hold"),
    "except": ((), "a check that fails ends the run; `if (c) { ... } else { ... }` chooses by sizes"),
    "yield": ((), "`stack (y : T)` collects a value of each turn of a loop"),
    "del": ((), "memory is freed after the last use"),
    "async": ((), "a function is written `@f = fn(x : T) : T { ... }`"),
    "try": ((), "a check that fails ends the run; `if (c) { ... } else { ... }` chooses by sizes"),
}
"""Words of other languages: their replacements here, and the help."""


class TokenChange(NamedTuple):
    """Replace `skip` tokens from `at` by tokens of the kinds `put`."""

    at: int
    skip: int
    put: tuple[int, ...]
    cost: float


class Region:
    """The tokens of one region, line ends outside brackets included; `behind` is the text after it, in a part of a text."""

    def __init__(
        self, source: Source, kinds: list[int], starts: list[int], ends: list[int], behind: str | None = None
    ) -> None:
        self.source, self.kinds, self.starts, self.ends, self.behind = source, kinds, starts, ends, behind

    def text(self, i: int) -> str:
        return self.source.text[self.starts[i] : self.ends[i]]

    def apply(self, change: TokenChange) -> None:
        last = change.at + change.skip
        where = self.starts[change.at] if change.at < len(self.starts) else (self.ends[-1] if self.ends else 0)
        self.kinds[change.at : last] = change.put
        self.starts[change.at : last] = [where] * len(change.put)
        self.ends[change.at : last] = [where] * len(change.put)


def read(states: list[int], kind: int) -> bool:
    """Read one token on a stack of states, in place. Outside all brackets a line end ends an item and begins the next."""
    if kind != END:
        return advance(states, kind)
    before = list(states)
    if advance(states, kind):
        return True
    states[:] = [STARTS["item"]]
    return before == states or advance(before, STOP)


def first_trouble(kinds: list[int], whole: bool) -> int:
    """The number of the first token of an item that cannot be read, or how many there are.

    The end of an item that may be incomplete is not checked; otherwise the last token is blamed for it.
    """
    states = [STARTS["item"]]
    for i, kind in enumerate(kinds):
        if not advance(states, kind):
            return i
    return len(kinds) if not whole or advance(states, STOP) else len(kinds) - 1


def function_of(kinds: list[int], starts: list[int], ends: list[int], text: str) -> str | None:
    """`@f` if the tokens begin with the definition of a function."""
    for i, kind in enumerate(kinds[:4]):
        if kind == KIND["FN_NAME"]:
            return text[starts[i] : ends[i]]
        if kind not in PREFIXES:
            break
    return None


def place(region: Region, at: int) -> Span:
    """The token's place; at a line end the place of the token before it."""
    if at < len(region.kinds) and region.ends[at] > region.starts[at] and region.kinds[at] != END:
        return Span(region.source, region.starts[at], region.ends[at])
    before = min(at, len(region.kinds)) - 1
    while before > 0 and (region.kinds[before] == END or region.starts[before] == region.ends[before]):
        before -= 1
    if before < 0:
        return Span(region.source, 0, 0)
    return Span(region.source, region.starts[before], region.ends[before])
