"""Syntax errors: each is found, said once, in the user's words, at its place."""

from __future__ import annotations

import random
import re

import pytest
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.formatter import format_source
from rxlang.lang.lexer import scan
from rxlang.lang.parser import decode, parse
from rxlang.lang.source import Source
from support import fuzz

PROGRAM = """\
# a program with most forms
import "attention.rx" as attn

const width : Size = 64
const w : Tensor([width, width], float32) = load("weights.safetensors", "w")

@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  let y = @cast(x, int32)
  let z = @reshape(y, [n, m, 4])
  @reshape(@sum(z, axis=2), [n * m])
}

@matmul_f32 = fn(x : Tensor([m, k], d), y : Tensor([k, n], d)) : Tensor([m, n], d)
  where d == float32, k >= 1 {
  @matmul(x, y)
}

extern @denoise = fn(x : Tensor([b, t], float32)) : Tensor([b, t], float32) = "audio.filters:denoise"

@main = fn(a : Tensor([k, 16], int8)) : Tensor where k >= 1 {
  let b : Tensor([k * 4], int32) = @ff(a)
  let c ! Tensor([q * 64], int32) = b
  assert c.dim(0) % 64 == 0, "whole blocks"
  match_shape(c, [r], [r * 2])
  let (v, i) = @topk(c, k=1, axis=0)
  if (c.rank == 1) { v } else { c }
}

type Layer = (Tensor([n, n], float32), Tensor([n], float32))

@loop = fn(x : Tensor([n, m], d), k : Size) : Tensor([m], d) where d in {float16, float32} {
  let total = for i in range(n) with (acc : Tensor([m], d) = @zeros([m], d)) {
    let row = x[i, :]
    acc + row * 2.5
  }
  let twice = while (k > 0) with (a = total) {
    a * 2
  }
  if (k == 1 && n > 2 || m < 3) {
    total
  } else if (k == 2) {
    twice
  } else {
    let f = fn(y : Tensor([m], d)) : Tensor { y + 1 }
    f(total)
  }
}

@any = [@loop, @ff]
"""


def problems_of(text: str) -> tuple[Diagnostic, ...]:
    return parse(Source("bad.rx", text))[1]


def lines_of(problem: Diagnostic) -> set[int]:
    places = [problem.span, *(label.span for label in problem.labels)]
    return {place.line for place in places}


def seeded_errors(count: int, seed: int) -> list[tuple[int, str]]:
    """Programs with one wrong token (missing, twice, another, one too many, misspelt), and the line that it is on."""
    source = Source("good.rx", PROGRAM)
    tokens = scan(source)
    words = sorted({PROGRAM[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)})
    rng = random.Random(seed)
    found: list[tuple[int, str]] = []
    while len(found) < count:
        i = rng.randrange(len(tokens.kinds))
        start, end = tokens.starts[i], tokens.ends[i]
        word, other = PROGRAM[start:end], rng.choice(words)
        changed = rng.choice(["", f"{word} {word}", other, f"{other} {word}", swapped(word, rng)])
        text = PROGRAM[:start] + changed + PROGRAM[end:]
        if changed != word and problems_of(text):
            found.append((source.position(start)[0], text))
    return found


def swapped(word: str, rng: random.Random) -> str:
    if not word.isalpha() or len(word) < 3:
        return word
    i = rng.randrange(len(word) - 1)
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


@pytest.mark.parametrize("seed", [1, 2])
def test_single_wrong_token_is_found_at_its_place_and_said_once(seed: int) -> None:
    missed, repeated = [], []
    for line, text in seeded_errors(180, seed):
        problems = problems_of(text)
        if not any({line - 1, line, line + 1} & lines_of(problem) for problem in problems):
            missed.append((line, problems))
        if len(problems) > 1:
            repeated.append((line, problems))
    assert len(missed) <= 4, missed
    assert len(repeated) <= 2, repeated


def test_wrong_tokens_in_several_functions_are_all_found() -> None:
    """Every function of a file has its own mistake; each is found and none is added."""
    good = [part for part in re.split(r"(?<=\n\n)", PROGRAM) if part.startswith("@") and "{" in part]
    edits = [("let y =", "let y"), ("d == float32,", "d = float32,"), ("@ff(a)", "@ff(a"), ("range(n)", "range n)")]
    wrong = [part.replace(*edit, 1) for part, edit in zip(good, edits, strict=True)]
    assert all(a != b for a, b in zip(good, wrong, strict=True))
    problems = problems_of("".join(wrong))
    assert [problem.function for problem in problems] == ["@ff", "@matmul_f32", "@main", "@loop"]


def test_items_without_mistakes_are_kept() -> None:
    module, problems = parse(
        Source("mixed.rx", "const a = 1\n@f = fn() { let x }\nconst b = 2\nlet y = (\nconst c = 3\n")
    )
    assert len(problems) == 2
    assert len(module.items) == 3


# A wrong program, the code, what the message and the help say.
SAID = [
    ("let x = 3 +", "E101", "expected an expression, found the end of the file", None),
    ("let x = 3 +\nlet y = 4", "E101", "expected an expression, found `let`", None),
    ("let x 3", "E101", "expected `!`, `:` or `=`, found `3`", "insert `=`"),
    ("lett x = 3", "E101", "`lett` does not belong here", "did you mean `let`?"),
    ("let x = @f(a b)", "E101", "expected `)`, `,` or `=`, found `b`", "insert `,`"),
    ("let x = [n m]", "E101", "expected `,` or `]`, found `m`", "insert `,`"),
    ("@f = fn(x Tensor) { x }", "E101", "expected `)`, `,`, `:` or `=`, found `Tensor`", "insert `:`"),
    ("@f = fn(x : ) { x }", "E101", "expected a type, found `)`", None),
    ("assert a < b < c", "E101", "comparisons do not chain", "join two comparisons with `&&`"),
    ("if (a = b) { c }", "E101", "`=` is not a comparison", "write `==`"),
    ("let x = a and b", "E101", "`and` is not a word of Rx", "write `&&`"),
    ("let x = not a", "E101", "`not` is not a word of Rx", "write `!`"),
    ("@f = fn() { return x }", "E101", "`return` is not a word of Rx", "the last expression of a block is its result"),
    ("@f = fn() { if (a) { b } elif (c) { d } else { e } }", "E101", "`elif` is not a word of Rx", "write `else if`"),
    (
        "def @f(x : Tensor([n], float32), w : Pair(n)) : Tensor([n], float32) where n >= 1 {\n  let y = x\n  y + x\n}",
        "E101",
        "`def` is not a word of Rx",
        "a function is written `@f = fn(x : T) : T { ... }`",
    ),
    (
        "@f = fn(x : T, k : Size) where k >= 1 : T { x }",
        "E101",
        "the result type comes before `where`",
        "write `fn(x : T) : T where ... { ... }`",
    ),
    (
        "inline @f = fn(x : T)\n  where n >= 1, n < m : (T, T) {\n  (x, x)\n}",
        "E101",
        "the result type comes before `where`",
        "write `fn(x : T) : T where ... { ... }`",
    ),
    ("var x = 3", "E101", "`var` is not a word of Rx", "write `let`"),
    ("let if = 3", "E101", "expected `(` or a name, found `if`", None),
    ("if y { x }", "E101", "put the condition of `if` in parentheses", "write `if (...) { ... }`"),
    (
        "for (i in n) { x }",
        "E101",
        "expected a name, found `(`",
        "a loop is written `for i in range(n) with (acc = x) { ... }`",
    ),
    ("x = 3", "E101", "a binding begins with `let`", "write `let x = ...`"),
    ("f = fn(x : T) { x }", "E101", "a function's name begins with `@`", "write `@f = fn(...)`"),
    ("@f = @g", "E101", "expected a gradient (`grad`), `[` or `fn`, found `@g`", None),
    ("let a : Tensor[n] = b", "E101", "expected `=`, found `[`", "a type is written `Tensor([n, m], float32)`"),
    ("import a.rx", "E101", "expected a string, found `a`", 'import a file by `import "file.rx"`'),
    ("// c", "E101", "expected a statement, found `//`", "a comment begins with `#`"),
    ("let x = (a + b", "E105", "this `(` is not closed", None),
    ("let x = a + b)", "E105", "this `)` has no `(`", "remove it"),
    ("let x = [a, b)", "E105", "expected `]`, found `)`", "write `]`"),
    ("let x = @f([a, b)", "E105", "expected `]`, found `)`", "write `]` before it"),
    ("let x = @f(a, @g(b]\nx", "E105", "expected `)`, found `]`", "write `)`"),
    ("@f = fn(x : T) : T\n  let y = x\n  y\n}", "E105", "`{` is missing behind this", None),
    ("@f = fn(x : T) : T {\n  x\n\n@g = fn(x : T) : T { x }", "E105", "this `{` is not closed", None),
    ('let x = "abc', "E103", "this string has no end on its line", 'end it with `"`'),
    ('let x = @einsum("i->i, [x])', "E103", "this string has no end on its line", 'end it with `"`'),
    ("let x = (a + 'abc'", "E105", "this `(` is not closed", None),
    ("let x = 'abc'", "E103", "put strings in double quotes", 'write `"..."`'),
    ("let λ = 3", "E102", "`λ` is not a name", "names are made of the letters a to z, digits and `_`"),
    ("let größe = 3", "E102", "`größe` is not a name", "names are made of the letters a to z, digits and `_`"),
    ("let x = @größe(3)", "E102", "`@größe` is not a name", "names are made of the letters a to z, digits and `_`"),
    ("let inöd = 3", "E102", "`inöd` is not a name", "names are made of the letters a to z, digits and `_`"),
    ("let x = a & b", "E102", "`&` is not a sign of Rx", "write `&&`"),
    ("let x = a ≤ b", "E102", "`≤` is not a sign of Rx", "write `<=`"),
    ("let x =\u00a03", "E102", "a no-break space cannot stand in a program", "write a space"),
    ("let x = $3", "E102", "`$` cannot stand in a program", None),
    ("@f = fn(x : T) -> T { x }", "E102", "`->` is not a sign of Rx", "write `:`"),
    ("x += 1", "E102", "`+=` is not a sign of Rx", "bind the name again: `let x = x + 1`"),
    ("let x = 2n", "E107", "`2n` is not a number", "names begin with a letter; a product is written with `*`"),
    ("let x = 0x1F", "E107", "`0x1F` is not a number", "numbers are written in decimal"),
    ("let x = 1.", "E107", "a number needs a digit after its point", "write `1.0`"),
    ("let x = .5", "E107", "a number needs a digit before its point", "write `0.5`"),
    ("let x : Tensor(n + 1, d) = y", "E108", "a shape is `?`, a name or a list", "write `Tensor([n, m], float32)`"),
    ("let x : Tensor(b, n, d) = y", "E108", "`Tensor` takes a shape and a dtype", "write `Tensor([b, n, d], float32)`"),
    ("let x : Tensor(n, 3) = y", "E108", "a dtype is `?` or a name", "write `Tensor([n, 3], float32)`"),
    ("let x : Tensor([n], 3) = y", "E108", "a dtype is `?` or a name", "write `Tensor([n, m], float32)`"),
    ("@f(a=1, b)", "E109", "an argument without a name comes after one with a name", None),
    ('let x = "\\q"', "E110", "`\\q` is not an escape", "a backslash in a string is written `\\\\`"),
]


@pytest.mark.parametrize(("text", "code", "message", "help"), SAID, ids=[case[0][:40] for case in SAID])
def test_what_is_wrong_has_its_code_its_sentence_and_its_help(
    text: str, code: str, message: str, help: str | None
) -> None:
    (problem,) = problems_of(text)
    assert (problem.code, problem.message, problem.help) == (code, message, help)


def inline_pairs(text: str) -> list[tuple[int, int]]:
    """Brackets that are closed on their own lines, with the brackets that close them."""
    open_: list[int] = []
    pairs = []
    for token in re.finditer(r'"[^"\n]*"|#.*|[][(){}]', text):
        if token[0] in ("(", "[", "{"):
            open_.append(token.start())
        elif token[0] in (")", "]", "}"):
            opener = open_.pop()
            if "\n" not in text[opener : token.start()]:
                pairs.append((opener, token.start()))
    return pairs


def test_a_bracket_of_another_kind_is_told_where_it_closes_with_the_one_that_is_open() -> None:
    pairs = inline_pairs(PROGRAM)
    assert len(pairs) > 60
    for opener, closer in pairs:
        for other in set(")]}") - {PROGRAM[closer]}:
            text = PROGRAM[:closer] + other + PROGRAM[closer + 1 :]
            (problem,) = problems_of(text)
            shown = text[opener : closer + 1]
            assert problem.message == f"expected `{PROGRAM[closer]}`, found `{other}`", shown
            assert (problem.span.start, [label.span.start for label in problem.labels]) == (closer, [opener]), shown


def test_no_message_names_a_rule_of_the_grammar() -> None:
    for _, text in seeded_errors(100, 7):
        for problem in problems_of(text):
            assert not re.search(r"[A-Z]{4,}|__|_END|\$END", problem.message.split("found")[0]), problem.message


def test_edit_fixes_the_program() -> None:
    for text in (
        "let x 3",
        "let y = @f(a b)",
        "let x = [n m]",
        "lett x = 3",
        "@f = fn(x Tensor) { x }",
        "let x = (a + b",
    ):
        (problem,) = problems_of(text)
        (edit,) = problem.edits
        fixed = text[: edit.span.start] + edit.text + text[edit.span.end :]
        assert not problems_of(fixed), fixed


def mutated(text: str, rng: random.Random) -> bytes:
    """A program with some bytes or tokens changed."""
    data = bytearray(text.encode())
    if rng.random() < 0.5:
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = bytes(rng.randrange(256) for _ in range(rng.randrange(3)))
        return bytes(data)
    tokens = scan(Source("good.rx", text))
    words = [text[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)]
    known = list(words)
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(words) + 1)
        words[at : at + rng.randrange(4)] = rng.choices(known, k=rng.randrange(4))
    return "".join(word + rng.choice([" ", " ", " ", "\n"]) for word in words).encode()


def test_mutated_programs_give_diagnostics_and_never_a_traceback() -> None:
    parts = re.split(r"(?<=\n\n)", PROGRAM)
    for case in fuzz.cases("mutated texts"):
        with case as seed:
            rng = random.Random(seed)
            data = mutated("".join(rng.sample(parts, rng.randrange(1, 5))), rng)
            source, unreadable = decode(data, "mutated.rx")
            module, problems = parse(source)
            assert len(problems) <= 200
            for problem in problems:
                assert 0 <= problem.span.start <= problem.span.end <= len(source.text)
                assert problem.code.startswith("E1")
                for edit in problem.edits:
                    assert 0 <= edit.span.start <= edit.span.end <= len(source.text)
            text, _ = format_source(source)
            assert (text is None) == bool(problems)
            if text is not None:
                assert parse(Source("formatted.rx", text))[0].items == module.items
