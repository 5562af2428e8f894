"""What editors colour programs by says what the language's own tables say."""

from __future__ import annotations

import json
import os
import re

import pytest
from rxlang.editor import highlighting, words
from rxlang.grammar.table import LITERALS
from rxlang.lang.lexer import scan
from rxlang.lang.parser import parse
from rxlang.lang.source import Source
from support.places import ROOT


@pytest.mark.parametrize("name", sorted(highlighting.files()))
def test_files_for_editors_are_what_the_tables_make(name: str) -> None:
    if os.environ.get("RX_ACCEPT"):
        highlighting.write()
    assert (ROOT / name).read_text(encoding="utf-8") == highlighting.files()[name], "RX_ACCEPT=1 writes it"


def test_every_keyword_of_the_grammar_is_coloured() -> None:
    grammar = json.dumps(highlighting.textmate())
    for word in filter(str.isalpha, LITERALS):
        assert re.search(rf"[|:(]{word}[|)]", grammar), word
        assert f" {word}" in highlighting.vim() and f'"{word}"' in highlighting.emacs()


def test_patterns_are_read_by_everybody() -> None:
    for rule in highlighting.textmate()["patterns"]:
        re.compile(rule["match"])
        assert "*+" not in rule["match"], "possessive quantifiers mean something else elsewhere"


def test_the_extension_names_files_that_are_there() -> None:
    package = json.loads((ROOT / "editors/vscode/package.json").read_text())
    folder, contributes = ROOT / "editors/vscode", package["contributes"]
    named = [*contributes["grammars"], *contributes["snippets"]]
    assert all(
        (folder / path).is_file()
        for path in [contributes["languages"][0]["configuration"], *(n["path"] for n in named)]
    )
    restricted = set(package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"])
    assert restricted <= contributes["configuration"]["properties"].keys()
    json.loads((folder / "language-configuration.json").read_text())


def test_what_a_snippet_writes_can_be_read() -> None:
    for name, snippet in highlighting.snippets().items():
        text = re.sub(r"\$\{\d:([^}]*)\}", r"\1", "\n".join(snippet["body"]))
        text = re.sub(r"\$\d", "x", text)
        assert parse(Source("", text + "\n"))[1] == (), (name, text)


def test_the_lexer_of_pygments_is_found_and_reads_every_program() -> None:
    lexers = pytest.importorskip("pygments.lexers", reason="needs Pygments")
    token = pytest.importorskip("pygments.token")
    lexer = lexers.get_lexer_by_name("rx")
    assert type(lexer).__name__ == "RxLexer"
    for path in sorted(ROOT.glob("examples/**/*.rx")):
        text = path.read_text(encoding="utf-8")
        found = list(lexer.get_tokens_unprocessed(text))
        assert "".join(part for _, _, part in found) == text
        assert not [part for _, kind, part in found if kind is token.Error]
        starts = {start for start, kind, _ in found if kind is not token.Whitespace}
        assert set(scan(Source("", text)).starts) <= starts, "tokens begin where the language's do"


def test_words_come_from_the_registries() -> None:
    assert "matmul" in words.primitives() and "float32" in words.DTYPE_NAMES and "let" in words.KEYWORDS
