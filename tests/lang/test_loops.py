"""Headers of loops: where a line may end, how they are laid out, and what is said of clauses in the wrong place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from pathlib import Path

import pytest
from rxlang.lang import sweet
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.formatter import format_source
from rxlang.lang.parser import parse
from rxlang.lang.source import Source
from support.places import TESTS
from support.sweet_printer import print_module

GOLDENS = TESTS / "goldens" / "loops"
CLAUSES = {
    "with": "with (a : Tensor([n], float32) = x, k : Size = 0)",
    "where": "where n >= 1, k in {int8, int16}, if (k > 2) { k > 3 } else { k > 4 }",
    "while": "while (let t : Size = @item(y); t < k && n > 3)",
    "stack": "stack (z : Tensor([n, d], float32), q : int8)",
}
HEADS = {"for": "for i in range(0, n, 2)", "while": "while (let m : Size = 3; m < k)"}


def chosen(head: str) -> list[tuple[str, ...]]:
    """Every choice of the clauses that a loop may have, in their order."""
    names = [c for c in CLAUSES if head == "for" or c != "while"]
    return [choice for count in range(len(names) + 1) for choice in combinations(names, count)]


ALL = [(head, choice) for head in HEADS for choice in chosen(head)]
IDS = ["-".join((head, *choice)) for head, choice in ALL]


def written(head: str, clauses: tuple[str, ...], between: str, block: str = "{ (a, k) }") -> str:
    return between.join([HEADS[head], *(CLAUSES[c] for c in clauses), block])


def read(text: str) -> tuple[sweet.Module, tuple[Diagnostic, ...]]:
    return parse(Source("loop.rx", text))


def fine(text: str) -> tuple[sweet.Item, ...]:
    module, problems = read(text)
    assert not problems, problems
    return module.items


@pytest.mark.parametrize(("head", "clauses"), ALL, ids=IDS)
def test_a_line_may_end_before_each_clause_and_the_block(head: str, clauses: tuple[str, ...]) -> None:
    [loop] = fine(written(head, clauses, " "))
    assert isinstance(loop, sweet.ExprStmt)
    assert isinstance(loop.value, sweet.For | sweet.While)
    found = loop.value
    assert bool(found.carries) == ("with" in clauses)
    assert bool(found.where) == ("where" in clauses)
    assert bool(found.stack) == ("stack" in clauses)
    assert isinstance(found, sweet.While) or bool(found.cond) == ("while" in clauses)
    for between in ("\n", "\n  ", "\n\n# why\n"):
        assert fine(written(head, clauses, between)) == (loop,)


@pytest.mark.parametrize(("head", "clauses"), ALL, ids=IDS)
def test_the_line_end_behind_a_loop_counts(head: str, clauses: tuple[str, ...]) -> None:
    loop = written(head, clauses, "\n")
    alone = fine(loop)
    other = written("while", (), " ")
    assert fine(f"{loop}\n{other}") == (*alone, *fine(other))
    inside = fine(f"@f = fn() {{ let y = {loop}\n{other}\n{loop} }}")[0]
    assert isinstance(inside, sweet.FnDecl)
    assert inside.fn.body is not None
    assert len(inside.fn.body.stmts) == 2


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("let a = f\nwhile (c) with (k = x) { k }", "let a = f; while (c) with (k = x) { k }"),
        ("if (c) { x } else { y }\nwhile (c) { k }", "if (c) { x } else { y }; while (c) { k }"),
        ("for i in if (c) { a } else { b }\nwhile (c) { k }", "for i in if (c) { a } else { b } while (c) { k }"),
        ("for i in n\nwhile (c) { if (d) { x }\nwhile (e) { y } }", "for i in n while (c) { if (d) { x }; while (e) { y } }"),
        ("for i in fn() { x }\nwhile (c) { k }", "for i in fn() { x } while (c) { k }"),
        ("for i in for j in n { x }\nwhile (c) { k }", "for i in for j in n { x } while (c) { k }"),
        ("for i in while (b) { x }\nwhile (c) { k }", "for i in while (b) { x } while (c) { k }"),
        ("let for_ = x\nwhile (c) { k }", "let for_ = x; while (c) { k }"),
        ("f(for i in n { x })\nwhile (c) { k }", "f(for i in n { x }); while (c) { k }"),
        ("let g : fn(T) : T = h\nwhile (c) { k }", "let g : fn(T) : T = h; while (c) { k }"),
    ],
)  # fmt: skip
def test_a_while_goes_on_with_a_for_only_before_the_block_of_that(text: str, meaning: str) -> None:
    assert fine(text) == fine(meaning)


def test_layouts_of_all_headers(golden: Callable[[Path, str], None]) -> None:
    shown = []
    for head, clauses in ALL:
        text = written(head, clauses, " ")
        short = text.replace(CLAUSES["where"], "where n >= 1").replace(CLAUSES["with"], "with (k : Size = 0)")
        shown += [formatted(f"let y = {t}") for t in (text, short)]
    golden(GOLDENS / "layouts.txt", "\n".join(shown))


def formatted(text: str) -> str:
    result, problems = format_source(Source("loop.rx", text))
    assert result is not None, problems
    return result


@pytest.mark.parametrize(("head", "clauses"), ALL, ids=IDS)
@pytest.mark.parametrize("between", [" ", "\n", "  # a\n  # b\n"])
def test_layout_settles_keeps_the_meaning_and_the_comments(head: str, clauses: tuple[str, ...], between: str) -> None:
    text = written(head, clauses, between)
    once = formatted(text)
    assert formatted(once) == once
    assert fine(once) == fine(text)
    assert once.count("# a") == text.count("# a")
    assert once.count("# b") == text.count("# b")
    assert max(map(len, once.splitlines())) <= 100
    module, _ = read(text)
    assert fine(print_module(module)) == module.items


# Clauses in the wrong place

MIXED = [
    (head, order)
    for head, choice in ALL
    for order in permutations(choice)
    if len(choice) in (2, 3) and list(order) != list(choice)
]


@pytest.mark.parametrize(("head", "order"), MIXED, ids=["-".join((h, *o)) for h, o in MIXED])
def test_clauses_in_the_wrong_order_are_said_to_be_and_put_right(head: str, order: tuple[str, ...]) -> None:
    text = f"@f = fn(x : Tensor) {{\n  {written(head, order, ' ')}\n}}\n"
    tried = 0
    while problems := read(text)[1]:
        assert [p.code for p in problems] == ["E101"] * len(problems)
        first = problems[0]
        assert " comes after `" in first.message
        assert "in the order `with`, `where`, `while`, `stack`" in (first.help or "")
        text, tried = applied(text, first), tried + 1
        assert tried < 4
    right = f"@f = fn(x : Tensor) {{\n  {written(head, tuple(sorted(order, key=list(CLAUSES).index)), ' ')}\n}}\n"
    assert fine(text) == fine(right)


def applied(text: str, problem: Diagnostic) -> str:
    assert problem.edits
    for edit in sorted(problem.edits, key=lambda e: -e.span.start):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("twice", CLAUSES)
@pytest.mark.parametrize("between", [" ", "  # why\n"])
def test_a_clause_that_stands_twice_is_one_mistake(head: str, twice: str, between: str) -> None:
    if head == twice:  # its own condition is the first; a line end before the second ends the statement
        between = " "
    at = list(CLAUSES).index(twice)
    before = [c for c in ("with", "where") if list(CLAUSES).index(c) < at]
    clauses = (*before, twice, *([] if head == twice else [twice]))
    _, problems = read(f"let a = {written(head, clauses, between)}\nlet b = c c\n")
    assert [p.code for p in problems] == ["E101", "E101"]
    assert problems[0].message == f"`{twice}` occurs twice in this loop"
    assert problems[0].span.text == twice
    assert problems[0].help


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("for i in range(3) { x } with (a = x)", "`with` comes after the loop's block", "then its block"),
        ("while (c) { for i in n { x } stack (y : T) }", "`stack` comes after the loop's block", "then its block"),
        ("for i in range(3) with a = x { a }", "put the part after `with` in parentheses", "write `with (acc = x)`"),
        ("for i in range(3) stack y : T { a }", "put the part after `stack` in parentheses", "write `stack (y : "),
        ("for i in range(3) with () { a }", "this `with` names nothing", "leave it out"),
        ("while (let k : Size = 3) with (a = x) { a }", "the condition is missing", "the condition comes last"),
        ("for i in 0..3 with (a = x) { a }", "expected a name, found `.`", "a range is written `range(0, n)`"),
        ("for i in range(3) with (a = x) while a { a }", "put the condition of `while` in parentheses", "write `while"),
    ],
)  # fmt: skip
def test_a_header_that_is_wrong_is_said_to_be(text: str, message: str, help: str) -> None:
    _, problems = read(f"@f = fn(x : Tensor) {{\n  {text}\n}}\n")
    assert [p.code for p in problems] == ["E101"]
    assert message in problems[0].message
    assert help in (problems[0].help or "")
