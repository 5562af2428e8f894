"""Syntax errors: finds and reports the smallest change that lets parsing go on.

A damaged text goes through these in order: `brackets.py` closes open brackets if brackets do not match; then each token that
does not fit goes through `clauses.py` (a part of a signature in the wrong place), `habits.py` (habits of other languages),
the cheapest change here (with the words of `region.py`), and `unexpected.py`, which says what was expected (with
`choices.py`).

A region is an item that cannot be read, with the lines that follow it up to the next one in column 1. Only stacks of
parser states are kept here, so trying a change is cheap: tokens are inserted, skipped or replaced around the place
where no rule goes on, and the cheapest change after which the next tokens can be read is taken.
"""

from __future__ import annotations

from ..grammar.table import STARTS
from .build import alike
from .clauses import misplaced
from .diagnostics import Diagnostic
from .habits import habit
from .lalr import advance
from .lexer import KIND
from .lines import CLOSER, OPENER
from .region import BRACKETS, CLOSE, END, NAME, OPEN, OTHER_WORDS, STOP, TEXT, Region, TokenChange, function_of, read
from .unexpected import describe

_LOOK = 20
"""How many tokens after a change must be readable for it to count as a good one."""
_STRIDE = 64
_NEAR = 200
_ENOUGH = 4
"""How many must be readable for a change to be made at all."""
_ERRORS = 20
"""How many errors of one region are reported."""
_INSERTED = [kind for kind in TEXT if kind not in BRACKETS and kind != KIND["FLOAT"]]
_COSTS = {KIND["COMMA"]: 1.0, KIND["COLON"]: 1.0, KIND["EQUAL"]: 1.0, END: 2.4, NAME: 1.4, KIND["LET"]: 1.8}
_COSTS |= {KIND["FN"]: 1.5, KIND["COMPARE"]: 1.9, KIND["SIGN"]: 2.0, KIND["STAR"]: 2.0, KIND["DOT"]: 2.2}


def fix(region: Region) -> list[Diagnostic]:
    """Report the errors in a region, and change it until it can be read."""
    function = function_of(region.kinds, region.starts, region.ends, region.source.text)
    problems: list[Diagnostic] = []
    lines: set[int] = set()
    marks = [(0, [STARTS["item"]])]
    for _ in range(_ERRORS):
        stuck = _run(region.kinds, marks)
        if stuck < 0:
            break
        states = _states_at(region.kinds, marks, stuck)
        clause = misplaced(region, stuck)
        hint = None if clause else habit(region, stuck, states)
        change = clause.change if clause else None if hint and hint.is_of_all else _best_change(region, marks, stuck)
        problem = clause.problem(function) if clause else describe(region, stuck, states, hint, change, function)
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


def _run(kinds: list[int], marks: Marks) -> int:
    """Read on from the last mark and leave marks on the way; return where reading gets stuck (-1: nowhere)."""
    first, states = marks[-1][0], list(marks[-1][1])
    for i in range(first, len(kinds)):
        if i - marks[-1][0] >= _STRIDE:
            marks.append((i, list(states)))
        if not read(states, kinds[i]):
            return i
    ended = states == [STARTS["item"]] or advance(states, STOP)
    return -1 if ended else len(kinds)


def _states_at(kinds: list[int], marks: Marks, at: int) -> list[int]:
    first, states = next(mark for mark in reversed(marks) if mark[0] <= at)
    states = list(states)
    for kind in kinds[first:at]:
        read(states, kind)
    return states


def _best_change(region: Region, marks: Marks, stuck: int) -> TokenChange | None:
    """The cheapest change after which reading goes on; None if none helps."""
    best: tuple[int, float, TokenChange] | None = None
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
    """The word before `( ... )` if reading gets stuck after them: it may be a misspelt `if` or `while`."""
    at, depth = stuck - 1, 0
    while at > max(0, stuck - _NEAR):
        depth += (kinds[at] in CLOSER) - (kinds[at] in OPENER)
        if depth == 0:
            return [at - 1] if at < stuck - 3 and kinds[at - 1] == NAME else []
        at -= 1
    return []


def _changes(region: Region, at: int, stuck: int, far: float, kinds_now: list[int]) -> list[TokenChange]:
    """The changes to try at a token: say the same in Rx's words, insert one of some kinds, skip or replace."""
    kinds = region.kinds
    changes = []
    if at < len(kinds) and kinds[at] == NAME and region.text(at) in OTHER_WORDS:
        put = tuple(KIND[name] for name in OTHER_WORDS[region.text(at)][0])
        changes.append(TokenChange(at, 1, put, 0.1))
    changes += [TokenChange(at, 0, (kind,), _COSTS.get(kind, 3.0) + far) for kind in kinds_now]
    if at < len(kinds) and region.text(at) in ("Tensor", "Size", "Shape", "DType", "Bool"):
        changes.append(TokenChange(at, 0, (KIND["COLON"],), 0.9 + far))
    if at == stuck:
        changes += [TokenChange(at, 0, (kind, NAME), 1.5 + _COSTS.get(kind, 3.0)) for kind in kinds_now]
        changes.append(TokenChange(at, 0, (NAME, END), 2.9))
    if at < len(kinds) and kinds[at] not in BRACKETS:
        changes.append(TokenChange(at, 1, (), (2.6 if kinds[at] == END else 1.7) + far))
        changes += [TokenChange(at, 1, (kind,), _replacing(region, at, kind) + far) for kind in kinds_now]
    return changes


def _replacing(region: Region, at: int, kind: int) -> float:
    """The cost of taking a token for another kind: little if their spellings are alike."""
    text = region.text(at)
    if TEXT[kind].isalpha() and alike(text, TEXT[kind]):
        return 0.2
    if region.kinds[at] == KIND["EQUAL"] and kind == KIND["COMPARE"]:
        return 0.5
    return 0.9 + _COSTS.get(kind, 3.0)


def _gain(kinds: list[int], states: list[int], change: TokenChange, stuck: int) -> int:
    """How many tokens after the stuck one, at most _LOOK, can be read after a change whose first token was read."""
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
    return _LOOK if states == [STARTS["item"]] or advance(states, STOP) else at - stuck


def _skip_statement(kinds: list[int], stuck: int) -> TokenChange:
    """Leave out the statement around a token that no change fixes."""
    first, depth = stuck, 0
    while first > 0 and not (depth == 0 and kinds[first - 1] in (END, OPEN)):
        first -= 1
        depth += (kinds[first] in CLOSER) - (kinds[first] in OPENER)
        depth = max(depth, 0)
    last, depth = stuck, 0
    while last < len(kinds) and not (depth == 0 and kinds[last] in (END, CLOSE)):
        depth += (kinds[last] in OPENER) - (kinds[last] in CLOSER)
        last += 1
        depth = max(depth, 0)
    return TokenChange(first, last - first, (NAME,), 0.0)
