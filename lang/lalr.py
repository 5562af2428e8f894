"""The LALR driver: runs the generated table over the tokens of one item and hands each reduction to the builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..grammar.table import ACTIONS, GOTOS, RULES, STARTS
from . import codes
from .diagnostics import Diagnostic, error
from .source import Span

MAX_DEPTH = 200
"""How deep a tree may be: later phases walk trees by recursion."""
_MOST_STATES = 40 * MAX_DEPTH
"""The greatest number of states at once: a tree of MAX_DEPTH levels never has more of them open."""

_SPLICE = 1000
_FLAT = frozenset({"arguments", "parameters", "carries", "types", "where", "ident", "claim", "assertion", "prefix"})
_units: dict[tuple[int, int, int], int] = {}
_rows: list[dict[int, int] | None] = [None] * len(ACTIONS)


class Stuck(Exception):
    """No rule applies: the token's number and the states before it."""

    def __init__(self, at: int, states: list[int]) -> None:
        self.at, self.states = at, states


class TooDeep(Exception):
    """A tree deeper than MAX_DEPTH, with its place."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


def too_deep(span: Span) -> Diagnostic:
    message = f"this is nested more than {MAX_DEPTH} deep"
    return error(codes.E104, message, span, help="give names to its parts with `let`")


def row_of(state: int) -> dict[int, int]:
    """A state's row: maps a terminal to the next state or to the complement of the rule to reduce, and the complement of a
    nonterminal to the next state.

    Rows are made on first use: a short file uses a fifth of them.
    """
    row = _rows[state]
    if row is None:
        action, goto = ACTIONS[state], GOTOS[state]
        row = dict(zip(action[::2], action[1::2], strict=True))
        for nonterminal, target in zip(goto[::2], goto[1::2], strict=True):
            row[~nonterminal] = target
        _rows[state] = row
    return row


Rule = tuple[int, int, Any, Any, int]
"""Nonterminal, length, maker of the value (None: the only child, "": the children as a list), recipe (None: the only child
unchanged), added depth."""


def tree_rules(builder: object) -> list[Rule]:
    """The rules with a builder's methods: `binary_` for the alias `binary`."""
    return [
        (
            origin, length, getattr(builder, name + "_") if name else name,
            None if name and length == 1 and recipe == (0,) else recipe, int(bool(name) and name not in _FLAT),
        )
        for origin, length, name, recipe in RULES
    ]  # fmt: skip


class Parser:
    """Parses items of one source."""

    def __init__(self, text: str, rules: list[Rule]) -> None:
        self.text, self.rules = text, rules

    def parse(
        self,
        kinds: Sequence[int],
        starts: Sequence[int],
        ends: Sequence[int],
        start: str,
        leaves: Sequence[object] | None = None,
    ) -> Any:
        """Parse the tokens as `start` ("item", "expression" or "type") and return the value; raises Stuck and TooDeep. A
        token's value is its text, or its entry in `leaves`. This is one loop without calls per token or reduction, which
        would cost more than the work itself."""
        text, rules, rows, units = self.text, self.rules, _rows, _units
        states = [STARTS[start]]
        values: list[Any] = []
        lefts: list[int] = []
        depths: list[int] = []
        right = 0  # the end of the last token and of the values made of it
        for i, kind in enumerate((*kinds, 0)):
            while True:
                state = states[-1]
                action = (rows[state] or row_of(state)).get(kind)
                if action is None:
                    raise Stuck(i, states)
                if action >= 0:
                    break
                origin, length, method, recipe, deeper = rules[~action]
                if method is None:
                    if length == 1:
                        key = (states[-2], state, kind)
                        states[-1] = units.get(key) or _climb(*key)
                        continue
                    value, depth = values[recipe - length], max(depths[-length:])
                    cut = 1 - length
                    del values[cut:], lefts[cut:], depths[cut:], states[cut:]
                    values[-1], depths[-1] = value, depth
                elif recipe is None:
                    depths[-1] += deeper
                    if depths[-1] > MAX_DEPTH:
                        raise TooDeep(lefts[-1], right)
                    values[-1] = method(lefts[-1], right, values[-1])
                else:
                    children = values[-length:]
                    depth = max(depths[-length:]) + deeper
                    if depth > MAX_DEPTH:
                        raise TooDeep(lefts[-length], right)
                    arguments: list[Any] = []
                    for pick in recipe:
                        if pick >= _SPLICE:
                            if arguments:
                                arguments += children[pick - _SPLICE]
                            else:
                                arguments = children[pick - _SPLICE]
                        else:
                            arguments.append(children[pick] if pick >= 0 else None)
                    if cut := 1 - length:
                        del values[cut:], lefts[cut:], depths[cut:], states[cut:]
                    values[-1] = arguments if method == "" else method(lefts[-1], right, *arguments)
                    depths[-1] = depth
                below = states[-2]
                states[-1] = (rows[below] or row_of(below))[~origin]
            if kind == 0:
                return values[0]
            states.append(action)
            begin, right = starts[i], ends[i]
            if len(states) > _MOST_STATES:
                raise TooDeep(begin, right)
            values.append(text[begin:right] if leaves is None else leaves[i])
            lefts.append(begin)
            depths.append(0)
        raise AssertionError("the end mark was not read")


def _climb(below: int, state: int, kind: int) -> int:
    """The state after all reductions of a single child, from `sum: product` up: an operand takes ten of them."""
    found = state
    while True:
        action = row_of(found).get(kind)
        if action is None or action >= 0:
            break
        origin, length, name, _ = RULES[~action]
        if length > 1 or name is not None:
            break
        found = row_of(below)[~origin]
    _units[below, state, kind] = found
    return found


def advance(states: list[int], kind: int) -> bool:
    """Read one token on a bare stack of states, in place; False (with the stack spoiled) if it cannot follow."""
    rows = _rows
    while True:
        state = states[-1]
        action = (rows[state] or row_of(state)).get(kind)
        if action is None:
            return False
        if action >= 0:
            states.append(action)
            return len(states) <= _MOST_STATES
        origin, length, name, _ = RULES[~action]
        if length == 1 and name is None:
            key = (states[-2], state, kind)
            states[-1] = _units.get(key) or _climb(*key)
            continue
        del states[-length:]
        below = states[-1]
        states.append((rows[below] or row_of(below))[~origin])
