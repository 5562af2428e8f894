"""What a message says is in the user's words: no mark that stands for something inside of the checker shows in it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from rxlang.lang.diagnostics import Diagnostic
from rxlang.pipeline import check_text
from support import fuzz
from support.mistakes import OPERATORS, mutated
from support.places import TESTS

PROGRAMS = [p for p in sorted(TESTS.rglob("*.rx")) if p.stat().st_size < 2_500]
MUTANTS = fuzz.tries("marks")
EACH = 1 if fuzz.FULL else 4
# A type and a shape have `?` where a size or a dtype is not known, as their annotations have.
IN_RX = re.compile(r"Tensor\((?:\[[^\]]*\]|[^,()]*)(?:, [^()]*)?\)|\[[^\]]*\]|did you mean.*\?|write `\?`")
MARKS = re.compile(r"\?|_impl\b|prelude\.|\b_rest\b|::|\bout'|<[\w.]+ object")


def marks(diagnostic: Diagnostic, text: str) -> list[str]:
    """The marks in what a diagnostic says, other than in what the user wrote."""
    said = [diagnostic.message, diagnostic.help or "", *(label.message for label in diagnostic.labels)]
    found = []
    for sentence in said:
        quoted = re.sub(r"`([^`]*)`", lambda m: "" if m[1] in text else m[0], sentence)
        found += [sentence for m in MARKS.finditer(IN_RX.sub("", quoted)) if m[0] == "?" or m[0] not in text]
    return found


def shown(text: str, base: Path) -> list[str]:
    return [sentence for d in check_text(text, "a.rx", base).diagnostics for sentence in marks(d, text)]


@pytest.mark.parametrize("path", PROGRAMS[::EACH], ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_no_message_about_a_golden_program_shows_a_mark(path: Path) -> None:
    assert shown(path.read_text(encoding="utf-8", errors="replace"), path.parent) == []


def test_no_message_about_a_random_mistake_shows_a_mark() -> None:
    chance = random.Random(7)
    for _ in range(MUTANTS):
        path = chance.choice(PROGRAMS)
        made = mutated(path.read_text(encoding="utf-8"), chance.choice(tuple(OPERATORS)), chance.randrange(10**6))
        assert made is None or shown(made.text, path.parent) == [], made.text


@pytest.mark.parametrize(
    ("params", "body"),
    [
        ("x : Tensor([3]), y : Tensor([3])", "@k(y.dtype, x)"), ("x : Tensor, y : Tensor", "@k(y.dtype, @g(x))"),
        ("x : Tensor([3]), y : Tensor([3])", "{ let z : Tensor([3], int8) = x\n @k(y.dtype, z) }"),
        ("x : Tensor([3]), y : Tensor", "@cast(@k(x.dtype, y), y.dtype)"),
        ("x : Tensor([?, 3], ?), y : Tensor(?, int8)", "@k(int8, x[0]) + y"),
        ("x : Tensor([..., 3]), y : Tensor", "{ let z : Tensor([2, ..., 4]) = x\n z }"),
        ("x : Tensor([n]), y : Tensor([n, n])", "{ for i in range(3) with (a = x) { @k(y.dtype, a) } }"),
    ],
)  # fmt: skip
def test_an_unknown_dtype_or_shape_is_said_in_words(params: str, body: str) -> None:
    body = body.strip("{} ") if body.startswith("{ let") else body
    text = "@g = fn(x : Tensor([n], d)) : Tensor([n], d) { x }\n"
    text += "@k = fn(d : DType, x : Tensor([n], d)) : Tensor([n], d) { x }\n"
    text += f"@f = fn({params}) : Tensor {{ {body} }}\n"
    found = check_text(text, "a.rx", TESTS).diagnostics
    assert [d.code for d in found if d.severity != "note"] and shown(text, TESTS) == []
