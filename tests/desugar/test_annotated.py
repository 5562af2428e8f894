"""The concise form of a core program says the same assertions as the core itself, with the same status, and no other names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.cli.desugar import listing
from support import fuzz, random_programs as programs
from support.places import ROOT, TESTS

FILES = sorted((TESTS / "goldens" / "desugar").glob("*.rx"))
EXAMPLES = sorted((ROOT / "examples").glob("*.rx"))

_STATEMENT = re.compile(r"\s*(assert .*?|match_shape\(.*?\))(?:  # (\w+)[: ].*)?")
_CHECKS = re.compile(r"\s*# \S+'s checks = (.*)")
_ITEM = re.compile(r"(.+?)(?: \((entry|residual|refuted|proved)\))?(?:; |$)")
_FACT = re.compile(r"\s*# (\S+)'s (shape|dtype|is_assertion|checks) = (.*)")
_BINDS = re.compile(r"\blet \(?([\w', ]+?)\)?(?: : \w+)? = |match_shape\([\w']+, \[([\w', ]*)\]|([\w']+) : ")
# What is no name of a value: a function, a field, a dtype.
_NAME = re.compile(r"(?<![.\w'])[^\W\d]\w*'*(?!\()")
_DTYPES = re.compile(r"u?int\d+|b?float\d+|bool|complex\d+|string|float8\w+|floating|integer|numeric|real|in")


def assertions(text: str) -> Iterator[tuple[str, str | None]]:
    """Each assertion that a listing has, in a statement or in a comment, and its status."""
    for line in text.splitlines():
        statement, checks = _STATEMENT.fullmatch(line), _CHECKS.fullmatch(line)
        if statement:
            yield statement[1].removeprefix("assert "), statement[2]
        elif checks:
            yield from ((item[1], item[2]) for item in _ITEM.finditer(checks[1]))


def functions(text: str) -> Iterator[str]:
    yield from text.split("\n\n")


def unbound(function: str) -> set[str]:
    """Names in the comments of a function that it does not bind."""
    bound = {n.strip() for groups in _BINDS.findall(function) for g in groups for n in g.split(",")}
    said = [m[3] for line in function.splitlines() if (m := _FACT.fullmatch(line)) and m[2] in ("shape", "dtype")]
    return {n for text in said for n in _NAME.findall(text) if n not in bound and not _DTYPES.fullmatch(n)}


def compare(text: str, base: Path = TESTS) -> str:
    """The concise form after simplification, once both forms are found to agree, before it and after."""
    checked = pipeline.check_bytes(text.encode(), "f.rx", base, ()).checked
    concise = ""
    for program in (checked.before, checked.program) if checked is not None else ():
        concise = listing(program, checked)
        assert Counter(assertions(listing(program))) == Counter(assertions(concise)), text
        assert not [f for f in functions(concise) if unbound(f)], text
        assert "?" not in "".join(m[3] for line in concise.splitlines() if (m := _FACT.fullmatch(line))), text
    return concise


@pytest.mark.parametrize("path", [*FILES, *EXAMPLES], ids=lambda path: path.stem)
def test_the_concise_form_and_the_core_say_the_same_assertions(path: Path) -> None:
    assert compare(path.read_text(), path.parent)


def test_the_concise_form_and_the_core_say_the_same_assertions_of_random_programs() -> None:
    for case in fuzz.cases("concise forms"):
        with case as seed:
            assert compare(programs.Maker(seed).source)


CONCISE = """@f = fn(x : Tensor([n, m * 4], d), y : Tensor([*s, n], d)) : Tensor([n, m]) where m <= 7, d in numeric {
  let z ! Tensor([5, m * 4], d) = x + x
  assert m >= 2
  let w : Tensor([5, k], d) = z
  @reshape(@sum(@reshape(w, [5, m, 4]), axis=2), [n, m])
}
"""


def test_an_assertion_of_a_binding_is_said_with_it_and_others_stay() -> None:
    lines = [line.strip() for line in compare(CONCISE).splitlines()]
    assert lines[1:5] == [
        "# x's shape = [x.dim(0), x.dim(1)]",
        "# x's dtype = x.dtype",
        "# x's is_assertion = true",
        "# x's checks = x.rank == 2 (entry); x.dim(1) % 4 == 0 (entry)",
    ]
    place = lines.index("let z = @add(x, x)")
    assert lines[place + 1 : place + 5] == [
        "# z's shape = [5, m * 4]",
        "# z's dtype = d",
        "# z's is_assertion = true",
        "# z's checks = z.dim(0) == 5 (residual)",
    ]
    assert "# w's is_assertion = false" in lines
    assert "assert m >= 2  # residual: checked at run time" in lines
    assert any(line.startswith("match_shape(y, [s], [*s, y.dim(-1)])") for line in lines)
