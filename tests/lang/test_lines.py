"""Which line ends count: a table of programs, each with the statements that it means, written with `;` or on one line."""

from __future__ import annotations

import pytest
from rxlang.lang.parser import parse
from rxlang.lang.source import Source


def items_of(text: str) -> tuple[object, ...]:
    module, problems = parse(Source("lines.rx", text))
    assert not problems, [problem.message for problem in problems]
    return module.items


# name, program, the same with every statement on one line
MEANS = [
    ("a line end ends a statement", "let a = 1\nlet b = 2", "let a = 1; let b = 2"),
    ("not inside parentheses", "let a = @f(\n  1,\n  2\n)", "let a = @f(1, 2)"),
    ("not inside square brackets", "let a = [1\n, 2\n]", "let a = [1, 2]"),
    ("in a block", "if (c) {\n  @f(x)\n  y\n}", "if (c) { @f(x); y }"),
    ("in a block inside parentheses", "@f(fn(x) {\n  @g(x)\n  x\n}, y)", "@f(fn(x) { @g(x); x }, y)"),
    ("not inside brackets inside a block", "if (c) {\n  @g(x,\n  y)\n}", "if (c) { @g(x, y) }"),
    ("not in the braces of a set", "assert d in {\n  float16,\n  float32\n}", "assert d in {float16, float32}"),
    ("not after an infix operator", "let a = b +\n  c", "let a = b + c"),
    ("not after a logical operator", "assert a == b &&\n  c == d", "assert a == b && c == d"),
    ("not after `in`", "assert d in\n  floating", "assert d in floating"),
    ("not after a comma", 'assert a == b,\n  "message"', 'assert a == b, "message"'),
    ("not after `=`", "let a =\n  b", "let a = b"),
    ("not after `:`", "let a :\n  Tensor = b", "let a : Tensor = b"),
    ("not after a point", "let a = x.\n  rank", "let a = x.rank"),
    ("not after `!`", "let a !\n  Tensor = b", "let a ! Tensor = b"),
    ("not after `{`", "if (c) {\n\n  x }", "if (c) { x }"),
    ("not before an infix operator", "let a = b\n  + c\n  * d", "let a = b + c * d"),
    ("a leading minus is infix", "let a = b\n- c", "let a = b - c"),
    ("a leading minus in parentheses is prefix", "a\n(-c)", "a; (-c)"),
    ("a leading `!` is prefix", "a\n!c", "a; !c"),
    ("not before a comparison", "assert a\n  == b", "assert a == b"),
    ("not before `!=`", "assert a\n  != b", "assert a != b"),
    ("not before a comma", 'assert a == b\n  , "message"', 'assert a == b, "message"'),
    ("not before `=`", "let a\n  = b", "let a = b"),
    ("not before `:`", "let a\n  : Tensor = b", "let a : Tensor = b"),
    ("not before a point", "let a = x\n  .dim(0)", "let a = x.dim(0)"),
    ("not before `{`", "if (c)\n{ x }\nelse\n{ y }", "if (c) { x } else { y }"),
    ("not before `}`", "if (c) { x\n}", "if (c) { x }"),
    ("not before `)`", "let a = (b\n)", "let a = (b)"),
    ("not before `where`", "@f = fn(x : T) : T\n  where d == e {\n  x\n}", "@f = fn(x : T) : T where d == e { x }"),
    ("not before `with`", "for i in n\n  with (a = b) { a }", "for i in n with (a = b) { a }"),
    ("not before `stack`", "for i in n\n  stack (y : T) { y }", "for i in n stack (y : T) { y }"),
    ("not before `while` in the header of a `for`", "for i in n\n  while (c)\n{ a }", "for i in n while (c) { a }"),
    ("before `while` behind the block", "for i in n { a }\nwhile (c) { b }", "for i in n { a }; while (c) { b }"),
    ("not before the `where` of it", "while (c) with (a = b)\n  where d { a }", "while (c) with (a = b) where d { a }"),
    ("not before `else`", "if (c) { x }\nelse { y }", "if (c) { x } else { y }"),
    ("not before `as`", 'import "a.rx"\n  as b', 'import "a.rx" as b'),
    ("not before `in`", "assert d\n  in floating", "assert d in floating"),
    ("a parenthesis at the start begins a statement", "let a = b\n(c, d)", "let a = b; (c, d)"),
    ("a square bracket at the start begins a statement", "let a = b\n[c, d]", "let a = b; [c, d]"),
    ("empty statements mean nothing", ";;\nlet a = b;\n;\n\nlet c = d;;", "let a = b; let c = d"),
    ("empty statements in a block", "if (c) {; x;; y;}", "if (c) { x; y }"),
    ("a comment does not hide a line end", "let a = b # c\nlet c = d", "let a = b; let c = d"),
    ("a comment in between does not make one", "let a = b\n# why\n  + c", "let a = b + c"),
    ("carriage returns", "let a = b\r\nlet c = d\rlet e = f", "let a = b; let c = d; let e = f"),
    ("a form feed is a space", "let a = b\n\f\tlet c = d", "let a = b; let c = d"),
    ("a word is a keyword only where it can be", "let a = stack\nlet b = type\nc", "let a = stack; let b = type; c"),
]


@pytest.mark.parametrize(("text", "meaning"), [case[1:] for case in MEANS], ids=[case[0] for case in MEANS])
def test_line_end_rule(text: str, meaning: str) -> None:
    assert items_of(text) == items_of(meaning)


# Each line end here counts, so that what stands before it is not complete.
COUNTS = [
    ("after `where`", "@f = fn(x : T) : T where\n  a == b { x }"),
    ("after `else`", "if (c) { x } else\nif (d) { y }"),
    ("after `let`", "let\na = b"),
    ("after `assert`", "assert\na"),
    ("between a name and its arguments", "@f = @g\n(x)"),
    ("a `;` inside parentheses", "let a = (b;\nc)"),
    ("a `;` after an operator", "let a = b +; c"),
]


@pytest.mark.parametrize("text", [case[1] for case in COUNTS], ids=[case[0] for case in COUNTS])
def test_line_end_counts(text: str) -> None:
    module, problems = parse(Source("lines.rx", text))
    assert [problem.code for problem in problems] == ["E101"]
