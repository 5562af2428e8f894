"""Syntax errors: finds the smallest change that lets parsing go on, and says what is wrong in the user's words.

A region is an item that cannot be read, with the lines that follow it up to the next one in column 1. Only stacks of
parser states are kept here, so trying a change is cheap: tokens are inserted, skipped or replaced around the place
where no rule goes on, and the cheapest change after which the next tokens can be read is taken.
"""

from __future__ import annotations

from typing import NamedTuple

from ..grammar.table import LITERALS, STARTS
from . import codes
from .build import alike
from .diagnostics import Diagnostic, Edit, error
from .lalr import advance
from .lexer import KIND, kinds
from .lines import CLOSER, OPENER, OPERAND_END, PREFIXES
from .source import Source, Span

_LOOK = 20
"""How many tokens after a change must be readable for it to count as a good one."""

_STRIDE = 64
_NEAR = 200
_FAR = 2_000
_ENOUGH = 4
"""How many must be, for a change to be made at all."""

_ERRORS = 20
"""How many errors of one region are reported."""

_END, _STOP, _NAME = KIND["_END"], 0, KIND["NAME"]
_OPEN, _CLOSE = KIND["LBRACE"], KIND["RBRACE"]
_TEXT = {KIND[name]: text for text, name in LITERALS.items()}
_TEXT |= {KIND["COMPARE"]: "==", KIND["SIGN"]: "+", KIND["DIVIDE"]: "/", KIND["INT"]: "0", KIND["STRING"]: '""'}
_TEXT |= {_END: ";", _NAME: "_", KIND["FN_NAME"]: "@f", KIND["FLOAT"]: "0.0"}
_BRACKETS = kinds("LPAR RPAR LSQB RSQB LBRACE RBRACE")
_STARTERS = kinds("NAME FN_NAME INT FLOAT STRING TRUE FALSE LPAR LSQB IF FOR WHILE FN SIGN BANG")
_TYPE_STARTERS = kinds("NAME LPAR FN")
_GOES_ON = kinds("OR AND COMPARE SIGN STAR DIVIDE POWER IN DOT LPAR LSQB")
_INSERTED = [kind for kind in _TEXT if kind not in _BRACKETS and kind != KIND["FLOAT"]]

_COSTS = {KIND["COMMA"]: 1.0, KIND["COLON"]: 1.0, KIND["EQUAL"]: 1.0, _END: 2.4, _NAME: 1.4, KIND["LET"]: 1.8}
_COSTS |= {KIND["FN"]: 1.5, KIND["COMPARE"]: 1.9, KIND["SIGN"]: 2.0, KIND["STAR"]: 2.0, KIND["DOT"]: 2.2}

_OTHER_WORDS: dict[str, tuple[tuple[str, ...], str]] = {
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
    "lambda": (("FN",), "a function value is written `fn(x : T) : T { ... }`"),
    "mut": ((), "every binding may be bound again by `let`"),
}
"""Words of other languages: what they are here, and what to say."""


class Change(NamedTuple):
    """Replace `skip` tokens from `at` by tokens of the kinds `put`."""

    at: int
    skip: int
    put: tuple[int, ...]
    cost: float


class Region:
    """The tokens of one region, line ends outside brackets included."""

    def __init__(self, source: Source, kinds: list[int], starts: list[int], ends: list[int]) -> None:
        self.source = source
        self.kinds = kinds
        self.starts = starts
        self.ends = ends

    def text(self, i: int) -> str:
        return self.source.text[self.starts[i] : self.ends[i]]

    def apply(self, change: Change) -> None:
        last = change.at + change.skip
        where = self.starts[change.at] if change.at < len(self.starts) else (self.ends[-1] if self.ends else 0)
        self.kinds[change.at : last] = change.put
        self.starts[change.at : last] = [where] * len(change.put)
        self.ends[change.at : last] = [where] * len(change.put)


def read(states: list[int], kind: int) -> bool:
    """Read one token on a stack of states, in place. Outside all brackets a line end ends an item and begins the next."""
    if kind != _END:
        return advance(states, kind)
    before = list(states)
    if advance(states, kind):
        return True
    states[:] = [STARTS["item"]]
    return before == states or advance(before, _STOP)


def first_trouble(kinds: list[int], whole: bool) -> int:
    """The number of the first token of an item that cannot be read, or how many there are.

    Where the item is not known to be whole, its end is not looked at; otherwise the last token is blamed for it.
    """
    states = [STARTS["item"]]
    for i, kind in enumerate(kinds):
        if not advance(states, kind):
            return i
    return len(kinds) if not whole or advance(states, _STOP) else len(kinds) - 1


def mend(region: Region) -> list[Diagnostic]:
    """Report what cannot be read in a region, and change it until it can."""
    function = function_of(region.kinds, region.starts, region.ends, region.source.text)
    problems: list[Diagnostic] = []
    lines: set[int] = set()
    marks = [(0, [STARTS["item"]])]
    for _ in range(_ERRORS):
        stuck = _run(region.kinds, marks)
        if stuck < 0:
            break
        states = _states_at(region.kinds, marks, stuck)
        clause = _clause(region, stuck) or _target(region, stuck)
        change = clause.change if clause else _best_change(region, marks, stuck)
        problem = clause.problem(function) if clause else _describe(region, stuck, states, change, function)
        line = region.source.position(problem.span.start)[0]
        if line not in lines:
            problems.append(problem)
        lines |= {line, region.source.position(region.starts[min(stuck, len(region.starts) - 1)])[0]}
        if change is None:
            change = _skip_statement(region.kinds, stuck)
        region.apply(change)
        while marks[-1][0] > change.at:
            marks.pop()
    return problems


Marks = list[tuple[int, list[int]]]
"""Places where reading can begin again: a token's number and the states before it."""


def function_of(kinds: list[int], starts: list[int], ends: list[int], text: str) -> str | None:
    """`@f` where the tokens begin with the definition of a function."""
    for i, kind in enumerate(kinds[:4]):
        if kind == KIND["FN_NAME"]:
            return text[starts[i] : ends[i]]
        if kind not in PREFIXES:
            break
    return None


def _run(kinds: list[int], marks: Marks) -> int:
    """Read on from the last mark to where it gets stuck (-1: nowhere); leave marks on the way."""
    first, states = marks[-1][0], list(marks[-1][1])
    for i in range(first, len(kinds)):
        if i - marks[-1][0] >= _STRIDE:
            marks.append((i, list(states)))
        if not read(states, kinds[i]):
            return i
    ended = states == [STARTS["item"]] or advance(states, _STOP)
    return -1 if ended else len(kinds)


def _states_at(kinds: list[int], marks: Marks, at: int) -> list[int]:
    first, states = next(mark for mark in reversed(marks) if mark[0] <= at)
    states = list(states)
    for kind in kinds[first:at]:
        read(states, kind)
    return states


def _best_change(region: Region, marks: Marks, stuck: int) -> Change | None:
    """The cheapest change after which reading goes on; None if none helps."""
    best: tuple[int, float, Change] | None = None
    places = [(at, 1.1 * (stuck - at)) for at in range(stuck, max(0, stuck - 3) - 1, -1)]
    places += [(at, 0.4) for at in _before_parentheses(region.kinds, stuck)]
    for at, far in places:
        states = _states_at(region.kinds, marks, at)
        behind = {kind: states_then for kind in _INSERTED if read(states_then := list(states), kind)}
        for change in _changes(region, at, stuck, far, list(behind)):
            if change.put and change.put[0] not in behind:
                continue
            gain = _gain(region.kinds, behind[change.put[0]] if change.put else states, change, stuck)
            if best is None or (-gain, change.cost) < best[:2]:
                best = (-gain, change.cost, change)
    return best[2] if best and -best[0] >= min(_ENOUGH, len(region.kinds) - stuck) else None


def _before_parentheses(kinds: list[int], stuck: int) -> list[int]:
    """The word before `( ... )` where reading gets stuck behind them: it may be a misspelt `if` or `while`."""
    at, depth = stuck - 1, 0
    while at > max(0, stuck - _NEAR):
        depth += (kinds[at] in CLOSER) - (kinds[at] in OPENER)
        if depth == 0:
            return [at - 1] if at < stuck - 3 and kinds[at - 1] == _NAME else []
        at -= 1
    return []


def _changes(region: Region, at: int, stuck: int, far: float, kinds_now: list[int]) -> list[Change]:
    """What may be tried at a token: say the same in Rx's words, insert one of some kinds, skip or replace."""
    kinds = region.kinds
    changes = []
    if at < len(kinds) and kinds[at] == _NAME and region.text(at) in _OTHER_WORDS:
        put = tuple(KIND[name] for name in _OTHER_WORDS[region.text(at)][0])
        changes.append(Change(at, 1, put, 0.1))
    changes += [Change(at, 0, (kind,), _COSTS.get(kind, 3.0) + far) for kind in kinds_now]
    if at < len(kinds) and region.text(at) in ("Tensor", "Size", "Shape", "DType", "Bool"):
        changes.append(Change(at, 0, (KIND["COLON"],), 0.9 + far))
    if at == stuck:
        changes += [Change(at, 0, (kind, _NAME), 1.5 + _COSTS.get(kind, 3.0)) for kind in kinds_now]
        changes.append(Change(at, 0, (_NAME, _END), 2.9))
    if at < len(kinds) and kinds[at] not in _BRACKETS:
        changes.append(Change(at, 1, (), (2.6 if kinds[at] == _END else 1.7) + far))
        changes += [Change(at, 1, (kind,), _replacing(region, at, kind) + far) for kind in kinds_now]
    return changes


def _replacing(region: Region, at: int, kind: int) -> float:
    """The cost of taking a token for another kind: little if they are spelled alike."""
    text = region.text(at)
    if _TEXT[kind].isalpha() and alike(text, _TEXT[kind]):
        return 0.2
    if region.kinds[at] == KIND["EQUAL"] and kind == KIND["COMPARE"]:
        return 0.5
    return 0.9 + _COSTS.get(kind, 3.0)


def _gain(kinds: list[int], states: list[int], change: Change, stuck: int) -> int:
    """How many tokens behind the stuck one can be read after a change whose first token was read, at most _LOOK."""
    states = list(states)
    for kind in change.put[1:]:
        if not read(states, kind):
            return -_LOOK
    at = change.at + change.skip
    while at < len(kinds) and at - stuck < _LOOK:
        if not read(states, kinds[at]):
            return at - stuck
        at += 1
    if at < len(kinds):
        return _LOOK
    return _LOOK if states == [STARTS["item"]] or advance(states, _STOP) else at - stuck


def _skip_statement(kinds: list[int], stuck: int) -> Change:
    """Leave out the statement around a token that nothing mends."""
    first, depth = stuck, 0
    while first > 0 and not (depth == 0 and kinds[first - 1] in (_END, _OPEN)):
        first -= 1
        depth += (kinds[first] in CLOSER) - (kinds[first] in OPENER)
        depth = max(depth, 0)
    last, depth = stuck, 0
    while last < len(kinds) and not (depth == 0 and kinds[last] in (_END, _CLOSE)):
        depth += (kinds[last] in OPENER) - (kinds[last] in CLOSER)
        last += 1
        depth = max(depth, 0)
    return Change(first, last - first, (_NAME,), 0.0)


class Clause(NamedTuple):
    """A clause of a loop where it cannot stand, or the names of a `let`: the change leaves it out, `edits` put it where it
    belongs."""

    change: Change
    span: Span
    message: str
    help: str
    edits: tuple[Edit, ...] = ()

    def problem(self, function: str | None) -> Diagnostic:
        return error(codes.E101, self.message, self.span, help=self.help, function=function, edits=self.edits)


_CLAUSES = [KIND[name] for name in ("WITH", "WHERE", "WHILE", "STACK")]
_AS_ONE = {
    "with": "one `with` names them all: `with (a = x, b = y)`",
    "where": "one `where` has them all: `where p, q`",
    "while": "join the conditions with `&&`",
    "stack": "one `stack` names them all: `stack (y : T, z : T)`",
}
_IN_ORDER = "the clauses of a loop come in the order `with`, `where`, `while`, `stack`, then its block"


def _clause(region: Region, stuck: int) -> Clause | None:
    """What to say of a clause that comes twice, too late, or behind the loop's block."""
    kinds = region.kinds
    if stuck >= len(kinds) or kinds[stuck] not in _CLAUSES:
        return None
    head = _loop_head(kinds, stuck)
    if head is None:
        return None
    word, span = region.text(stuck), _place(region, stuck)
    last = _clause_end(kinds, stuck)
    change = Change(stuck, last - stuck, (), 0.0)
    before = [i for i in head if kinds[i] in _CLAUSES]
    if any(kinds[i] == kinds[stuck] for i in before):
        return Clause(change, span, f"`{word}` stands twice in this loop", _AS_ONE[word])
    if any(kinds[i] == _OPEN for i in head):
        return Clause(change, span, f"`{word}` stands behind the loop's block", _IN_ORDER)
    rank = _CLAUSES.index(kinds[stuck])
    later = [i for i in before if _CLAUSES.index(kinds[i]) > rank and i != head[-1]]
    if not later:
        return None
    text = region.source.text[region.starts[stuck] : region.ends[last - 1]]
    there = Span(region.source, region.starts[later[-1]], region.starts[later[-1]])
    here = Span(region.source, region.starts[stuck], region.ends[last - 1])
    message = f"`{word}` stands behind `{region.text(later[-1])}`"
    return Clause(change, span, message, _IN_ORDER, (Edit(there, f"{text} "), Edit(here, "")))


def _loop_head(kinds: list[int], stuck: int) -> list[int] | None:
    """The clauses and the block from a place back to the `for` or `while` of its loop, nearest first; None if there is none
    in the same statement."""
    found: list[int] = []
    depth = 0
    for at in range(stuck - 1, max(-1, stuck - _FAR), -1):
        kind = kinds[at]
        if kind in CLOSER:
            depth += 1
        elif kind in OPENER:
            depth -= 1
            if depth < 0:
                return None
            if depth == 0 and kind == _OPEN and not _is_within(kinds, at):
                found.append(at)
        elif depth == 0:
            if kind == _END:
                return None
            begins = at == 0 or kinds[at - 1] not in OPERAND_END
            if kind in _CLAUSES or kind == KIND["FOR"]:
                found.append(at)
            if kind == KIND["FOR"] or (kind == KIND["WHILE"] and begins):
                return found
    return None


def _is_within(kinds: list[int], at: int) -> bool:
    """Whether a `{` opens no block of a loop: that of an `if` or a function, or a set."""
    if kinds[at - 1] != KIND["RPAR"]:
        return kinds[at - 1] in (KIND["ELSE"], KIND["IN"])
    depth = 0
    for i in range(at - 1, 0, -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth == 0:
            return kinds[i - 1] in (KIND["IF"], KIND["FN"])
    return False


def _clause_end(kinds: list[int], at: int) -> int:
    """Where a clause ends that begins at a token."""
    bracketed = kinds[at] != KIND["WHERE"]
    depth, at = 0, at + 1
    while at < len(kinds):
        ends = kinds[at] == _END or kinds[at] in _CLAUSES or kinds[at] in CLOSER
        if depth == 0 and (ends or (kinds[at] == _OPEN and not _is_within(kinds, at))):
            return at
        depth += (kinds[at] in OPENER) - (kinds[at] in CLOSER)
        at += 1
        if depth == 0 and bracketed:
            return at
    return at


_REST, _INNER = kinds("_DOTS STAR"), kinds("LPAR LSQB")
_NAMES_OF_TUPLE = "the names of a tuple stand in parentheses"


def _target(region: Region, stuck: int) -> Clause | None:
    """What to say of the names of a `let` that are written as other languages write them."""
    kinds = region.kinds
    let = next((i for i in range(stuck - 1, -1, -1) if kinds[i] not in (_NAME, KIND["COMMA"], KIND["LPAR"])), -1)
    end = next((i for i in range(stuck, len(kinds)) if kinds[i] in (KIND["EQUAL"], _END)), len(kinds))
    if let < 0 or kinds[let] != KIND["LET"] or end == len(kinds) or kinds[end] == _END:
        return None
    change, span = Change(let + 1, end - let - 1, (_NAME,), 0.0), _place(region, stuck)
    first, last = (Span(region.source, region.starts[i], region.ends[i]) for i in (let + 1, end - 1))
    if kinds[stuck] in _REST and stuck > let + 1:
        return Clause(
            change, span, "each part of a tuple has a name", "`_` is for parts that nobody wants, `t[0]` is one part"
        )
    if kinds[stuck] in _INNER and kinds[stuck - 1] != KIND["LET"]:
        return Clause(change, span, "a tuple in a tuple has a name here", "the next `let` takes that apart")
    if kinds[stuck] == KIND["LSQB"] and kinds[end - 1] == KIND["RSQB"]:
        return Clause(change, span, _NAMES_OF_TUPLE, "write `(` and `)`", (Edit(first, "("), Edit(last, ")")))
    if kinds[stuck] == KIND["COMMA"] and set(kinds[let + 1 : end]) == {_NAME, KIND["COMMA"]}:
        text = region.source.text[first.start : last.end]
        return Clause(change, span, _NAMES_OF_TUPLE, f"write `({text})`", (Edit(first.to(last), f"({text})"),))
    return None


def _describe(region: Region, stuck: int, states: list[int], change: Change | None, function: str | None) -> Diagnostic:
    """The diagnostic for a place where no rule goes on, and the change that would mend it."""
    hint = _habit(region, stuck)
    at = change.at if change and not hint and _is_to_blame(region, change, stuck) else stuck
    at = stuck - 1 if _begins_elsewhere(region, stuck) else at
    span = _place(region, at)
    word = region.text(at) if at < len(region.kinds) else ""
    found = _found(region, at)
    accepted = _accepted(states)
    kind = region.kinds[at] if at < len(region.kinds) else _STOP
    help, edits = _help(region, change), _edits(region, change)
    if (
        accepted == {KIND["STRING"]}
        and stuck > 0
        and region.kinds[stuck - 1] == KIND["EQUAL"]
        and _in_where(region, stuck)
    ):
        span = _place(region, stuck - 1)
        message, help, edits = *_NO_COMPARISON, (Edit(span, "=="),)
    elif hint:
        message, help, edits = hint[0] or f"expected {_expected(accepted)}, found {found}", hint[1], ()
    elif word in _OTHER_WORDS and kind == _NAME:
        message, help = f"`{word}` is not a word of Rx", _OTHER_WORDS[word][1]
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
    """Whether the token stands behind a word of another language that begins a statement: `def @f(...)`."""
    names = (_NAME, KIND["FN_NAME"])
    if not 0 < stuck < len(region.kinds) or region.kinds[stuck - 1] != _NAME or region.kinds[stuck] not in names:
        return False
    return region.text(stuck - 1) in _OTHER_WORDS and (stuck == 1 or region.kinds[stuck - 2] in (_END, _OPEN))


def _is_to_blame(region: Region, change: Change, stuck: int) -> bool:
    """Whether a change before the stuck token names the mistake: a word that is misspelt or too many."""
    if change.at >= stuck or not change.skip:
        return False
    word = region.text(change.at)
    if word in _OTHER_WORDS or (change.put and alike(word, _TEXT[change.put[0]])):
        return True
    return not change.put and region.kinds[change.at] not in _SEPARATORS


def _habit(region: Region, stuck: int) -> tuple[str | None, str] | None:
    """A message (None: the usual one) and a help for what users of other languages write."""
    kinds = [*region.kinds[max(0, stuck - 3) : stuck + 2], _STOP, _STOP]
    here = stuck - max(0, stuck - 3)
    kind, after = kinds[here], kinds[here + 1]
    before = kinds[here - 1] if here else _END
    word = region.text(stuck - 1) if stuck else ""
    found = region.text(stuck) if stuck < len(region.kinds) else ""
    begins = here < 2 or kinds[here - 2] in (_END, _OPEN)
    if before in (KIND["IF"], KIND["WHILE"]):
        return f"the condition of `{word}` stands in parentheses", f"write `{word} (...) {{ ... }}`"
    if before == KIND["FOR"] and kind != _NAME:
        return None, "a loop is written `for i in range(n) with (acc = x) { ... }`"
    if kind == _NAME and found in ("with", "stack") and before in OPERAND_END:
        return f"what stands behind `{found}` is in parentheses", f"write `{found} ({_NAMED[found]})`"
    if kind == KIND["RPAR"] and before == KIND["LPAR"] and kinds[here - 2] in (KIND["WITH"], KIND["STACK"]):
        return f"this `{region.text(stuck - 2)}` names nothing", "leave it out, or name what the loop hands on"
    if kind == KIND["DOT"] and before == KIND["DOT"] and kinds[here - 3 : here - 1] == [KIND["IN"], KIND["INT"]]:
        return None, f"a range is written `range({region.text(stuck - 2)}, n)`"
    if kind == KIND["RPAR"] and _closes_condition(region.kinds, stuck):
        return "the condition is missing", "it stands last: `while (let k : Size = e; k < 3)`"
    if before == KIND["FN"] and kind == _NAME:
        return None, _FUNCTION
    if kind == KIND["COLON"] and kinds[here - 3 : here] == [KIND["LET"], KIND["LPAR"], _NAME] and here == 3:
        return "the types of a tuple stand behind its names", "write `let (a, b) : (T, T) = ...`"
    if kind == KIND["COLON"] and kinds[here - 3 : here] == [KIND["FN"], KIND["LPAR"], _NAME] and here == 3:
        return "a function type does not name its parameters", "write the types alone: `fn(T) : T`"
    if kind == KIND["COLON"] and region.kinds[:2] == [KIND["FN_NAME"], KIND["LPAR"]]:
        return None, _FUNCTION
    if kind == KIND["EQUAL"] and before == _NAME and begins:
        if after == KIND["FN"]:
            return "a function's name begins with `@`", f"write `@{word} = fn(...)`"
        return "a binding begins with `let`", f"write `let {word} = ...`"
    if kind == KIND["WHERE"]:
        return _condition(region.kinds, stuck)
    if kind == KIND["COLON"] and region.kinds[:1] == [KIND["TYPE"]]:
        return "a type's parameters have no sorts of their own", "write the names alone: `type Layer(d, h) = ...`"
    if kind == KIND["LSQB"] and word == "Tensor":
        return None, "a type is written `Tensor([n, m], float32)`"
    if begins and kind == _NAME and word in ("extern", "prim", "inline", "private"):
        return f"expected a function's name (`@f`), found `{found}`", f"write `{word} @{found} = fn(...)`"
    if begins and kind == _NAME and word == "import":
        return f"expected a string, found `{found}`", 'a file is imported by `import "file.rx"`'
    if kind == KIND["QMARK"]:
        return None, "a choice is written `if (c) { a } else { b }`"
    if kind == KIND["DIVIDE"] and (before in (_END, _OPEN) or stuck == 0):
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
    for i in range(at - 1, max(0, at - _FAR), -1):
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
        if depth < 0:
            return kinds[i - 1] == KIND["FN"]
    return False


def _closes_condition(kinds: list[int], at: int) -> bool:
    """Whether a parenthesis closes one that a loop's condition stands in."""
    depth = 0
    for i in range(at - 1, max(0, at - _FAR), -1):
        if kinds[i] in OPENER and depth == 0:
            return kinds[i - 1] == KIND["WHILE"]
        depth += (kinds[i] in CLOSER) - (kinds[i] in OPENER)
    return False


_NAMED = {"with": "acc = x", "stack": "y : Tensor([n], float32)"}
_FUNCTION = "a function is written `@f = fn(x : T) : T { ... }`"
_SEPARATORS = PREFIXES | kinds("EQUAL COMMA COLON _END")


def _place(region: Region, at: int) -> Span:
    """The token's place; at a line end the place of the token before it."""
    if at < len(region.kinds) and region.ends[at] > region.starts[at] and region.kinds[at] != _END:
        return Span(region.source, region.starts[at], region.ends[at])
    before = min(at, len(region.kinds)) - 1
    while before > 0 and (region.kinds[before] == _END or region.starts[before] == region.ends[before]):
        before -= 1
    if before < 0:
        return Span(region.source, 0, 0)
    return Span(region.source, region.starts[before], region.ends[before])


def _found(region: Region, at: int) -> str:
    if at >= len(region.kinds):
        rest = region.source.text[region.ends[-1] :] if region.ends else ""
        return "the end of the line" if rest.strip() else "the end of the file"
    if region.kinds[at] == _END:
        return "`;`" if region.text(at) == ";" else "the end of the line"
    text = region.text(at)
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}...`"


def _accepted(states: list[int]) -> set[int]:
    """The kinds of tokens that can follow."""
    candidates = set(_TEXT) | {_STOP}
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
    names = {_NAME: "a name", KIND["STRING"]: "a string", KIND["FN_NAME"]: "a function's name (`@f`)"}
    names |= {_END: "a line end", _STOP: "a line end", KIND["INT"]: "a number", KIND["COMPARE"]: "a comparison"}
    words += sorted({names.get(kind, f"`{_TEXT.get(kind, '')}`") for kind in rest}, key=lambda w: (w[0] != "`", w))
    if len(words) > 5 or not words:
        words = ["an operator"] if rest <= _GOES_ON and words else [*words[:4], "something else"]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_ITEM_WORDS = kinds("IMPORT CONST TYPE INLINE PRIVATE EXTERN PRIM")


def _help(region: Region, change: Change | None) -> str | None:
    """The change in words, where it is surely what was meant."""
    if change is None or len(change.put) != 1 or change.put[0] in (_NAME, _END):
        return None
    text = _TEXT[change.put[0]]
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
        return (Edit(span, _TEXT[change.put[0]]),)
    if change.at >= len(region.kinds):
        return ()
    where = region.starts[change.at]
    return (Edit(Span(region.source, where, where), _TEXT[change.put[0]] + " "),)
