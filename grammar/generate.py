"""Convert rx.lark to table.py: the LALR table as plain data, so that the parser needs no parser generator at run time.

Run `python -m rxlang.grammar.generate` after a change of rx.lark; a test compares table.py with `build()`.

The table is plain tuples: Python loads them from the compiled module in one go, about fifty times faster than lark can
build them and ten times faster than importing lark's own stand-alone module, which brings its classes along.
States, symbols and rules are numbered in an order that depends on the grammar alone, not on the hash seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lark import Lark
from lark.lexer import Lexer, PatternStr
from lark.parsers.lalr_analysis import Shift

HERE = Path(__file__).parent
STARTS = ("item", "expression", "type")
SPLICE = 1000
"""Added to a child's number in a recipe: that child is a list whose members become children."""

_TYPES = {
    "TERMINALS": "tuple[str, ...]",
    "LITERALS": "dict[str, str]",
    "PATTERNS": "dict[str, str]",
    "NONTERMINALS": "tuple[str, ...]",
    "RULES": "tuple[tuple[int, int, str | None, Any], ...]",
    "STARTS": "dict[str, int]",
    "ACTIONS": "tuple[tuple[int, ...], ...]",
    "GOTOS": "tuple[tuple[int, ...], ...]",
}


class _NoLexer(Lexer):
    """A stub: the project reads characters itself (lang/lexer.py)."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object) -> Any:
        raise NotImplementedError


def read_grammar() -> Any:
    """The grammar as lark understands it; raises lark.GrammarError on a conflict."""
    text = (HERE / "rx.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=_NoLexer, start=list(STARTS), strict=True, maybe_placeholders=True)


def build() -> str:
    """The text of table.py."""
    grammar = read_grammar()
    table = grammar.parser.parser._parse_table
    terminals, literals, patterns = _words(grammar)
    order = _number_states(table)
    rules = sorted({a[1] for row in table.states.values() for a in row.values() if a[0] is not Shift}, key=_rule_key)
    nonterminals = sorted({str(rule.origin.name) for rule in rules})
    terminal_number = {name: i for i, name in enumerate(terminals)}
    nonterminal_number = {name: i for i, name in enumerate(nonterminals)}
    rule_number = {rule: i for i, rule in enumerate(rules)}
    actions, gotos = [], []
    for state in order:
        row = sorted(table.states[state].items())
        action: list[int] = []
        goto: list[int] = []
        for symbol, (kind, target) in row:
            if symbol in nonterminal_number:
                goto += [nonterminal_number[symbol], order[target]]
            else:
                action += [terminal_number[symbol], order[target] if kind is Shift else ~rule_number[target]]
        actions.append(tuple(action))
        gotos.append(tuple(goto))
    for start in STARTS:
        actions[order[table.end_states[start]]] = (terminal_number["$END"], len(order))
    return _render(
        TERMINALS=terminals,
        LITERALS=literals,
        PATTERNS=patterns,
        NONTERMINALS=tuple(nonterminals),
        RULES=tuple(_rule_row(rule, nonterminal_number) for rule in rules),
        STARTS={start: order[table.start_states[start]] for start in STARTS},
        ACTIONS=tuple(actions),
        GOTOS=tuple(gotos),
    )


def _words(grammar: Any) -> tuple[tuple[str, ...], dict[str, str], dict[str, str]]:
    """The names of the terminals, the fixed texts (keywords and signs), and the regular expressions."""
    literals = {t.pattern.value: t.name for t in grammar.terminals if isinstance(t.pattern, PatternStr)}
    patterns = {t.name: t.pattern.value for t in grammar.terminals if not isinstance(t.pattern, PatternStr)}
    names = {t.name for t in grammar.terminals} | {"$END", "_END"}
    longest_first = dict(sorted(literals.items(), key=lambda pair: (-len(pair[0]), pair[0])))
    return (
        tuple(sorted(str(n) for n in names - set(grammar.ignore_tokens))),
        longest_first,
        dict(sorted(patterns.items())),
    )


def _number_states(table: Any) -> dict[Any, int]:
    """The states, numbered in the order in which a walk from the start states meets them."""
    order: dict[Any, int] = {}
    waiting = [table.start_states[start] for start in STARTS]
    while waiting:
        state = waiting.pop(0)
        if state in order:
            continue
        order[state] = len(order)
        row = sorted(table.states[state].items())
        waiting += [target for _, (kind, target) in row if kind is Shift]
    return order


def _rule_key(rule: Any) -> tuple[Any, ...]:
    return rule.origin.name, rule.order, [s.name for s in rule.expansion], rule.alias or ""


def _rule_row(rule: Any, numbers: dict[str, int]) -> tuple[int, int, str | None, Any]:
    """A rule as nonterminal, length, method of the builder, and recipe.

    No method and a number: the value is that child's. An empty method: the children as a list. Otherwise the recipe
    names the children that the method gets: a number, -1 for None, SPLICE + number for each member of a list.
    """
    recipe = _recipe(rule)
    origin, length = numbers[rule.origin.name], len(rule.expansion)
    if rule.origin.name.startswith("_"):
        return origin, length, "", recipe
    if rule.options.expand1 and not rule.alias and len(recipe) == 1 and 0 <= recipe[0] < SPLICE:
        return origin, length, None, recipe[0]
    return origin, length, str(rule.alias or rule.origin.name), recipe


def _recipe(rule: Any) -> tuple[int, ...]:
    marks = "".join(str(int(b)) for b in rule.options.empty_indices or [False] * len(rule.expansion))
    placeholders = [len(ones) for ones in marks.split("0")]
    recipe: list[int] = []
    for i, symbol in enumerate(rule.expansion):
        recipe += [-1] * placeholders[i]
        if symbol.is_term and symbol.filter_out:
            continue
        recipe.append(i + SPLICE if symbol.name.startswith("_") and not symbol.is_term else i)
    return tuple(recipe + [-1] * placeholders[-1])


def _render(**tables: object) -> str:
    lines = ['"""Generated from rx.lark by generate.py; do not edit."""', "", "from typing import Any", ""]
    for name, value in tables.items():
        lines.append(f"{name}: {_TYPES[name]} = {_show(value)}")
    return "\n".join(lines) + "\n"


def _show(value: object) -> str:
    if isinstance(value, dict):
        return "{\n" + "".join(f"    {k!r}: {v!r},\n" for k, v in value.items()) + "}"
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "(\n" + "".join(f"    {row!r},\n" for row in value) + ")"
    return repr(value)


if __name__ == "__main__":
    (HERE / "table.py").write_text(build(), encoding="utf-8")
