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
