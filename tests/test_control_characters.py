"""No name and no text from outside moves the cursor, turns the writing round or forges a line, in any output for people."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from rxlang.cli.main import invoke

WORDS = {
    "title": "a\x1b]0;t\x07b",
    "line": "a\nok.rx: ok",
    "return": "a\rb",
    "turned": "a\u202eb",
    "c1": "a\x9b31mb",
    "byte": "a\udc80b",
}
RIGHT = "let a = @ones([2, 3])\n"
WRONG = "let  a = @ones([2, 3]) + @ones([5])\n"
MENDED = "@f = fn(x : Tensor([n, 4], float32)) : Tensor([n, 5], float32) { x }\n"


def hidden(text: str) -> list[str]:
    """The characters that a terminal does not simply show; a line end is one that we wrote."""
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # noqa: ANN201
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        invoke(list(arguments))
        return "".join(capsys.readouterr())

    return run


COMMANDS = [
    ("check", "{}"), ("check", "--format", "github", "{}"), ("check", "--format", "sarif", "{}"),
    ("check", "--format", "json", "{}"),
    ("check", "--fix", "{}"), ("check", "--explain", "a", "{}"), ("check", "--explain", "n", "{}"),
    ("check", "--signature", "{}"),
    ("check", "--stats", "{}"), ("fmt", "--check", "{}"), ("fmt", "{}"), ("run", "{}"), ("run", "--call", "@none", "{}"),
    ("run", "{}", "--arg", "x=1"), ("desugar", "{}"), ("desugar", "--function", "@none", "{}"), ("shapes", "{}"),
    ("prove", "{}"),
    ("check", "{}.none"), ("fmt", "{}.none"), ("run", "{}.none"), ("prove", "{}.none"), ("check", "--root", "{}", "{}"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "text"), list(zip(WORDS, [RIGHT, WRONG, MENDED, "let = \n", WRONG, MENDED], strict=True))
)
def test_the_name_of_a_file_is_shown_escaped(said, word: str, text: str) -> None:  # noqa: ANN001
    name = f"{WORDS[word]}.rx"
    for command in COMMANDS:
        Path(name).write_text(text)
        found = said(*(part.format(name) for part in command))
        assert not hidden(found), (command, found)
        assert "\nok.rx: ok" not in found and not found.startswith("ok.rx: ok"), (command, found)


@pytest.mark.parametrize("word", WORDS)
def test_what_stands_on_the_command_line_is_shown_escaped(said, word: str) -> None:  # noqa: ANN001
    Path("p.rx").write_text("@f = fn(x : Tensor) : Tensor { x }\n")
    odd = WORDS[word]
    for command in (
        ("check", "--explain", odd, "p.rx"), ("explain", odd), (odd,), (f"--{odd}",), ("check", f"--{odd}", "p.rx"),
        ("check", "--format", odd, "p.rx"), ("run", "p.rx", "--call", f"@{odd}"), ("run", "p.rx", "--call", "@f", "--arg", odd),
        ("run", "p.rx", "--call", "@f", "--arg", f"{odd}=1"), ("run", "p.rx", "--call", "@f", "--arg", f"x={odd}"),
        ("run", "p.rx", "--call", "@f", "--arg", f"x={odd}.npy"), ("run", "p.rx", "--call", "@f", "--arg", "x=1", "--out",
         f"p.rx/{odd}"),
        ("fmt", "p.rx", odd), ("run", "p.rx", odd), ("run", "p.rx", "--seed", odd),
    ):  # fmt: skip
        found = said(*command)
        assert not hidden(found) and "\nok.rx: ok" not in found, (command, found)


@pytest.mark.parametrize("word", [w for w in WORDS if w != "byte"])
def test_texts_among_the_data_are_shown_escaped(said, word: str) -> None:  # noqa: ANN001
    Path("p.rx").write_text("@f = fn(x : Tensor) : Tensor { x }\n@g = fn(x : Tensor([2], string)) : Tensor { x }\n")
    for value in (json.dumps(WORDS[word]), f"[{json.dumps(WORDS[word])}]", f'["", {json.dumps(WORDS[word])}]'):
        for callee in ("@f", "@g"):
            assert not hidden(said("run", "p.rx", "--call", callee, "--arg", f"x={value}"))


@pytest.mark.parametrize("word", [w for w in WORDS if w != "byte"])
def test_the_keys_of_a_weights_file_are_shown_escaped(said, word: str) -> None:  # noqa: ANN001
    header = json.dumps({WORDS[word]: {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
    Path("w.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0")
    Path("p.rx").write_text('const w = load("w.safetensors", "v")\nlet a = w\n')
    for command in (("check", "p.rx"), ("check", "--format", "github", "p.rx"), ("run", "p.rx")):
        found = said(*command)
        assert "has no tensor" in found and not hidden(found) and "\nok.rx: ok" not in found, found
    assert not hidden(said("run", "p.rx", "--arg", "x=w.safetensors:v"))
