"""What Python's own tools show of Rx: print, help and inspect."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path

import pytest
import rxlang as rx
from rxlang.cli.main import invoke


def test_a_report_is_printed_as_rx_check_prints_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for number, body in enumerate(("x", "@matrix_transpose(x)", "@reshape(x, [n, 5])", "y", "@reshape(x, [n")):
        file = tmp_path / f"p{number}.rx"
        file.write_text(f"@f = fn(x : Tensor([n, m], int8)) : Tensor([m, n], int8) {{ {body} }}\n")
        invoke(["check", str(file)])
        said = capsys.readouterr()
        assert str(rx.check_source(file.read_text(), str(file))) + "\n" == said.err + said.out


def test_a_function_has_a_signature_of_python_s() -> None:
    text = "@f = fn(x : Tensor([n], int8), lambda : Size = 2, y' : float32 = 1.5) : Tensor([n], int8) { x }\n@g = fn() { 1 }"
    module = rx.loads(text)
    assert str(inspect.signature(module.f)) == (
        "(x: 'Tensor([n], int8)', lambda_: 'Size' = 2, y_: 'float32' = 1.5) -> 'Tensor([n], int8)'"
    )
    assert str(inspect.signature(module.g)) == "()" and module.f.signature in pydoc.plain(pydoc.render_doc(module.f))


def test_help_of_a_module_has_its_functions_by_the_names_that_they_are_called_by(tmp_path: Path) -> None:
    (tmp_path / "lib.rx").write_text("@g = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x }\n")
    file = tmp_path / "f.rx"
    file.write_text(
        'import "lib.rx" as lib\n@f = fn(x : Tensor([k], int8), m : Size = 3) { @lib.g(x) }\n@h = fn() { 1 }\n@i = [@f]\n'
        "private @p = fn(x : Tensor) { x }\nlet y = 3\n"
    )
    shown = pydoc.plain(pydoc.render_doc(rx.load(str(file))))
    heads = [line.strip() for line in shown.splitlines() if line.startswith("    @") or "main()" in line]
    assert heads == [
        "@lib.g = fn(x : Tensor([n], int8)) : Tensor([n], int8)",
        "@f = fn(x : Tensor([k], int8), m : Size = 3)",
        "@h = fn()",
        "@i = fn(x : Tensor([k], int8), m : Size = 3)",
        "main() runs the script, and gives what it prints by name",
    ]
    assert "module.ff(x)" in shown and "__init__" not in shown
    assert "@h" not in pydoc.plain(pydoc.render_doc(rx.loads("let a = 3")))


def test_what_is_no_program_is_told_once_with_what_is_one(tmp_path: Path) -> None:
    for name in ("a.py", "a.json", "notes"):
        (tmp_path / name).write_text("import os\n\n\nclass A:\n    b = {1: 'c'}\n" * 9)
        with pytest.raises(rx.CheckError) as refused:
            rx.load(tmp_path / name)
        [said] = refused.value.diagnostics
        assert said.help == "programs are called .rx, ONNX models .onnx"
    (tmp_path / "notes").write_text("@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x }\n")
    assert rx.load(tmp_path / "notes").f.residual == ()
    for name in ("gone.rx", "gone.onnx", "gone.py"):
        with pytest.raises(FileNotFoundError):
            rx.load(tmp_path / name)


def test_the_version_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["--version"]) == 0
    assert capsys.readouterr().out == f"rx {rx.__version__}\n"
