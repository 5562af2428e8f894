"""The programs of the documents and of the pages of errors, as they are and while they are edited: an editor says of them
what a check says."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from rxlang.editor.analysis import Analyst
from rxlang.lang.source import Source
from rxlang.pipeline import check_source
from support import fuzz
from support.places import ROOT

ERRORS = sorted(ROOT.glob("cli/errors/*.md"))
PAGES = [*ERRORS, *sorted(page for page in ROOT.glob("docs/*.md") if page.name != "errors.md")]
TEXTS = [
    (page.name, text) for page in PAGES for text in re.findall(r"^```rx\n(.*?)^```$", page.read_text(), re.M | re.S)
]
TOKEN = re.compile(r"\w+|\s+|.", re.S)
TYPED = ("n", "m", "x", "@relu", "2", "d", "float32", "int8", ", ", "\n", "# c\n", "let q = 3\n", " ", "@f_impl")


def both(analyst: Analyst, path: Path, text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What an editor and a check say of a text, but for notes."""
    analyst.edit(path, text)
    told = analyst.facts(path).diagnostics, check_source(Source(str(path), text), path.parent).diagnostics
    edited, checked = (sorted((d.code, d.message) for d in found if d.is_wrong) for found in told)
    return edited, checked


@pytest.mark.parametrize("page", ERRORS, ids=lambda p: p.stem)
def test_an_editor_says_what_a_check_says_of_a_page_s_programs(tmp_path: Path, page: Path) -> None:
    for name, text in TEXTS:
        if name == page.name:
            edited, checked = both(Analyst(), tmp_path / "x.rx", text)
            assert edited == checked, text


def test_an_editor_says_what_a_check_says_while_a_program_is_edited(tmp_path: Path) -> None:
    for case in fuzz.cases("edited texts"):
        with case as seed:
            chance, analyst = random.Random(seed), Analyst()
            text = "\n".join(chance.choice(TEXTS)[1] for _ in range(chance.randrange(1, 4)))
            for _ in range(6):
                edited, checked = both(analyst, tmp_path / "x.rx", text)
                # what else is told of a file that cannot be read depends on where it is taken apart
                assert edited == checked or any(code.startswith("E1") for code, _ in checked), text
                text = typed(text, chance)


def typed(text: str, chance: random.Random) -> str:
    """A few tokens fewer, more or others."""
    tokens = TOKEN.findall(text) or [" "]
    at = chance.randrange(len(tokens))
    match chance.randrange(4):
        case 0:
            del tokens[at : at + chance.randrange(1, 4)]
        case 1:
            tokens[at:at] = tokens[at : at + chance.randrange(1, 4)]
        case 2:
            tokens[at] = chance.choice(tokens)
        case _:
            tokens[at : at + chance.randrange(2)] = [chance.choice(TYPED)]
    return "".join(tokens)
