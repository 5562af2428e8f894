"""No name and no text from outside moves the cursor, turns the writing round or forges a line, in any output for people."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
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
FIXED = "@f = fn(x : Tensor([n, 4], float32)) : Tensor([n, 5], float32) { x }\n"


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
    ("word", "text"), list(zip(WORDS, [RIGHT, WRONG, FIXED, "let = \n", WRONG, FIXED], strict=True))
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


OF_MODELS = [
    ("check", "m.onnx"), ("check", "m.onnx", "--format", "github"), ("check", "m.onnx", "--format", "sarif"),
    ("check", "m.onnx", "--at", "x.0=3"), ("check", "m.onnx", "--run-witness"),
    ("check", "m.onnx", "--dynamic", "*.0", "--fix"),
    ("check", "m.onnx", "--expect", "other.json"), ("check", "m.onnx", "--signature"), ("infer", "m.onnx"),
    ("infer", "m.onnx", "--policy", "strict"), ("shapes", "m.onnx"), ("import", "m.onnx", "-o", "out"),
    ("run", "m.onnx", "--arg", "v1=float32[1,4]:ones", "--stats"), ("run", "m.onnx"), ("check", "out/m.rx"),
]  # fmt: skip


@pytest.mark.parametrize("is_wrong", [False, True])
@pytest.mark.parametrize("word", [w for w in WORDS if w != "byte"])
def test_the_names_in_a_model_are_shown_escaped(said, word: str, is_wrong: bool) -> None:  # noqa: ANN001
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    odd, float32 = WORDS[word], TensorProto.FLOAT
    info, node = helper.make_tensor_value_info, helper.make_node
    nodes = [
        node("Reshape", [f"1{odd}", f"s{odd}"], [f"r{odd}"], name=f"n{odd}"),
        node("MatMul", [f"r{odd}", f"w{odd}"], [f"y{odd}"], name=f"m{odd}"),
    ]
    weights = {f"s{odd}": np.array([1, -1]), f"w{odd}": np.ones((5 if is_wrong else 4, 3), np.float32)}
    graph = helper.make_graph(
        nodes, odd, [info(f"1{odd}", float32, [f"b{odd}", 4])], [info(f"y{odd}", float32, [f"b{odd}", "?"])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
        value_info=[info(f"r{odd}", float32, [2, f"c{odd}"])],
    )  # fmt: skip
    model = helper.make_model(graph, producer_name=odd, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    model.metadata_props.add(key=odd, value=odd)
    onnx.save(model, "m.onnx")
    other = helper.make_graph(nodes[:1], "g", graph.input, [info(f"r{odd}", float32, None)], graph.initializer)
    onnx.save(helper.make_model(other, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), "other.onnx")
    said("check", "other.onnx", "--write-contract", "other.json")
    for command in OF_MODELS:
        found = said(*command)
        assert found and not hidden(found) and "\nok.rx: ok" not in found, (command, found)
