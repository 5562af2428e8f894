"""The canonical layout: what it looks like, that comments stay, and that it settles."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from rxlang.lang import formatter
from rxlang.lang.formatter import WIDTH, format_source
from rxlang.lang.parser import parse
from rxlang.lang.source import Source
from support import fuzz
from support.places import ROOT
from support.sweet_printer import print_module

PROGRAMS = sorted(path for folder in ("examples", "ops", "tests") for path in (ROOT / folder).rglob("*.rx"))


def formatted(text: str) -> str:
    result, problems = format_source(Source("layout.rx", text))
    assert result is not None, problems
    return result


# name, before, after
LAYOUTS = [
    ("an empty file stays empty", "\n\n  \n", ""),
    ("only comments", "\n# a\n\n\n# b", "# a\n\n# b\n"),
    ("spaces around signs", "let x=a+b*-c", "let x = a + b * -c\n"),
    ("no space around a keyword argument", "@f( x , axis = 1 )", "@f(x, axis=1)\n"),
    ("no space in a slice", "x[ a : b , : : 2 ]", "x[a:b, ::2]\n"),
    ("types", "let x:Tensor( [n,m*4],int8 )=y", "let x : Tensor([n, m * 4], int8) = y\n"),
    ("an assertion", "let x!Tensor=y", "let x ! Tensor = y\n"),
    ("semicolons become line ends", "let a = b; let c = d;", "let a = b\nlet c = d\n"),
    ("an `=` in an assert becomes `==`", "assert x.rank = 2", "assert x.rank == 2\n"),
    ("a const's type stands before its value", "const x = 3 : Size", "const x : Size = 3\n"),
    ("needless trailing commas go", "@f(a, [b, c,],)", "@f(a, [b, c])\n"),
    ("the comma of a tuple of one stays", "(a,)", "(a,)\n"),
    ("parentheses and spellings stay", "let x = (a * b) + 1_000", "let x = (a * b) + 1_000\n"),
    ("one empty line at most", "let a = b\n\n\n\nlet c = d", "let a = b\n\nlet c = d\n"),
    (
        "empty lines around functions",
        "let a = b\n@f = fn() { x }\nlet c = d",
        "let a = b\n\n@f = fn() {\n  x\n}\n\nlet c = d\n",
    ),
    (
        "declarations may stand together",
        "prim @f = fn(x : T)\nprim @g = fn(x : T)",
        "prim @f = fn(x : T)\nprim @g = fn(x : T)\n",
    ),
    ("carriage returns and tabs go", "if (c) {\r\n\tlet x = y\r\n\tx\r\n}\r\n", "if (c) {\n  let x = y\n  x\n}\n"),
    ("an `if` of expressions on one line", "if (c) {\n  a\n} else {\n  b\n}", "if (c) { a } else { b }\n"),
    (
        "an `if` with statements is broken",
        "if (c) { let x = a; x } else if (d) { b } else {}",
        "if (c) {\n  let x = a\n  x\n} else if (d) {\n  b\n} else {}\n",
    ),
    ("a set", "assert d in{ float16,float32 }", "assert d in {float16, float32}\n"),
    (
        "a loop",
        "for i in range( n )with( a : T=b )stack( y : T ){ (a,y) }",
        "for i in range(n) with (a : T = b) stack (y : T) {\n  (a, y)\n}\n",
    ),
    ("a leading minus in parentheses", "a; -b", "a\n(-b)\n"),
    ("a leading soft word in parentheses", "a; stack(b)", "a\n(stack(b))\n"),
    (
        "long arguments, one on each line",
        f"let y = @f({'a' * 40}, {'b' * 40}, {'c' * 40})",
        f"let y = @f(\n  {'a' * 40},\n  {'b' * 40},\n  {'c' * 40},\n)\n",
    ),
    (
        "a long sum breaks before its signs",
        f"let y = {'a' * 40} * {'b' * 20} + {'c' * 40} - {'d' * 20}",
        f"let y = {'a' * 40} * {'b' * 20}\n  + {'c' * 40}\n  - {'d' * 20}\n",
    ),
    (
        "many numbers share lines",
        "tensor([" + ", ".join(map(str, range(100, 140))) + "], int8)",
        "tensor(\n  [\n    "
        + ", ".join(map(str, range(100, 119)))
        + ",\n    "
        + ", ".join(map(str, range(119, 138)))
        + ",\n    138, 139,\n  ],\n  int8,\n)\n",
    ),
    (
        "conditions on a line of their own where the head is long",
        f"@f = fn(x : Tensor([{'n' * 60}], d)) : Tensor where d == float32, n >= 1 {{ x }}",
        f"@f = fn(x : Tensor([{'n' * 60}], d)) : Tensor\n  where d == float32, n >= 1 {{\n  x\n}}\n",
    ),
    (
        "long parameters, one on each line",
        f"@f = fn(x : Tensor([{'n' * 40}], d), y : Tensor([{'m' * 40}], d)) : Tensor([k], d) {{ x }}",
        f"@f = fn(\n  x : Tensor([{'n' * 40}], d),\n  y : Tensor([{'m' * 40}], d),\n) : Tensor([k], d) {{\n  x\n}}\n",
    ),
    (
        "a list that is the only argument stays by its brackets",
        f"@concat([{'a' * 50}, {'b' * 50}])",
        f"@concat([\n  {'a' * 50},\n  {'b' * 50},\n])\n",
    ),
    ("comments behind code", "let a = b   #  c\nlet d = e# f", "let a = b  #  c\nlet d = e  # f\n"),
    ("comments above code", "if (c) {\n# a\n\n# b\nx; y\n# end\n}", "if (c) {\n  # a\n\n  # b\n  x\n  y\n  # end\n}\n"),
    (
        "comments of parameters",
        "@f = fn(x : T, # one\n# above\ny : T # two\n) { x }",
        "@f = fn(\n  x : T,  # one\n  # above\n  y : T,  # two\n) {\n  x\n}\n",
    ),
    (
        "comments in a sum",
        "let a = b # one\n + c # two\n # above\n - d # three",
        "let a = b  # one\n  + c  # two\n  # above\n  - d  # three\n",
    ),
    ("a comment where none can stand goes above", "let a = # why\n b", "# why\nlet a = b\n"),
    ("a comment behind an opening brace", "if (c) { # why\nx; y }", "if (c) {  # why\n  x\n  y\n}\n"),
    ("a comment in an empty block", "if (c) {\n# why\n}", "if (c) {\n  # why\n}\n"),
    ("comments at the end", "let a = b\n\n# end\n", "let a = b\n\n# end\n"),
]


@pytest.mark.parametrize(("before", "after"), [case[1:] for case in LAYOUTS], ids=[case[0] for case in LAYOUTS])
def test_there_is_one_layout(before: str, after: str) -> None:
    assert formatted(before) == after


@pytest.mark.parametrize(("before", "after"), [case[1:] for case in LAYOUTS], ids=[case[0] for case in LAYOUTS])
def test_layout_settles_and_keeps_the_meaning(before: str, after: str) -> None:
    assert formatted(after) == after
    assert parse(Source("a.rx", after))[0].items == parse(Source("b.rx", before))[0].items


@pytest.mark.parametrize("path", fuzz.some(PROGRAMS, 3), ids=lambda path: str(path.relative_to(ROOT)))
def test_programs_of_the_project_survive_formatting_and_printing(path: Path) -> None:
    text = path.read_text()
    module, problems = parse(Source(path.name, text))
    if problems:
        pytest.skip("a program with syntax errors, on purpose")
    once = formatted(text)
    again = parse(Source(path.name, once))[0]
    assert again.items == module.items
    assert [comment.text for comment in again.comments] == [comment.text for comment in module.comments]
    assert formatted(once) == once
    assert parse(Source(path.name, print_module(module)))[0].items == module.items
    code = [line.split("  #")[0] for line in once.splitlines() if not line.lstrip().startswith("#")]
    assert all(len(line) <= WIDTH or '"' in line for line in code)


def test_errors_are_returned_and_no_text() -> None:
    text, problems = format_source(Source("bad.rx", "let x = ("))
    assert text is None
    assert [problem.code for problem in problems] == ["E105"]


def test_deep_and_long_programs_are_laid_out() -> None:
    for text in (
        "let x = " + "[" * 150 + "]" * 150,
        "let x = " + "+".join(["a"] * 150),
        "let x = " + "f(" * 60 + ")" * 60,
    ):
        once = formatted(text)
        assert formatted(once) == once
    numbers = "let x = [" + ", ".join(["12345"] * 20_000) + "]"
    assert max(map(len, formatted(numbers).splitlines())) <= WIDTH


ROWS = [
    "let x = tensor([1, 2,\n 3,], int8)",
    "let x = tensor([[1, - 2], [1_000, 2.5e-3],])",
    "let x = tensor([1 , # one\n 2, 3])  # [1, 2]",
    '@f(x, [1, 2], [3], [a, 1, 2], [1, 2, a], y[0, 1], "[1, 2]")',
    'let x : Tensor([2, 3], float32) = @zeros([2, 3])\nassert x.shape == [2, 3], "[4, 5]"',
    "@f = fn(x : Tensor([2, 3])) { @g(x, (1, 2), axes=[1, 2]) }",
]


def numbers(seed: int) -> str:
    """A list of numbers, or of lists of them, of a length that breaks lines here and there."""
    draw = random.Random(seed)
    row = [draw.choice(["", "-"]) + str(10 ** draw.randrange(9)) + draw.choice(["", ".5"]) for _ in range(60)]
    rows = [", ".join(row[: draw.randrange(1, 60)]) for _ in range(draw.randrange(1, 4))]
    return f"let {'x' * draw.randrange(1, 90)} = tensor([{rows[0] if len(rows) == 1 else ', '.join(f'[{r}]' for r in rows)}])"


@pytest.mark.parametrize("text", [*ROWS, *map(numbers, range(40))])
def test_rows_of_numbers_are_laid_out_like_every_other_list(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quickly = formatted(text)
    monkeypatch.setattr(formatter, "folded", lambda text: (text, {}))
    assert quickly == formatted(text)
    monkeypatch.undo()
    assert formatted(quickly) == quickly


def test_a_mistake_behind_a_row_of_numbers_is_shown_where_it_stands() -> None:
    text = "let x = tensor([1, 2, 3, 4]) +\n"
    result, problems = format_source(Source("layout.rx", text))
    assert result is None
    assert problems == parse(Source("layout.rx", text))[1]


def test_a_literal_of_many_numbers_is_laid_out_in_a_moment() -> None:
    text = f"let x = tensor([{', '.join(map(str, range(100_000)))}])\n"
    begun = time.process_time()
    assert formatted(text).count(",") == 100_000
    assert time.process_time() - begun < 3
