"""An applied type is what it abbreviates: in signatures, in `let`s, nested, and of another file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.lang.source import Source
from rxlang.pipeline import check_source

LIB = """const width : Size = 7
type Layer(d, h) = (Tensor([h, d], float32), Tensor([h], float32))
type Block(d, e) = (Layer(d, 2 * d), Layer(2 * d, d), Tensor([width], e))
type Batch(s, e) = Tensor([*s, 3], e)
"""
MAIN = """import "lib.rx" as attn
const width : Size = 5
type Pair(width) = (attn.Layer(width, width + 1), Tensor([width], float32))
@f = fn(x : Tensor([n, d], float32), b : attn.Block(d, float32)) : Tensor([n, d], float32) {
  let h = @matmul(x, @matrix_transpose(b[0][0])) + b[0][1]
  let y : attn.Batch([n], float32) = @ones([n, 3], float32)
  @matmul(h, @matrix_transpose(b[1][0])) + b[1][1]
}
@g = fn(x : attn.Batch([n, m], e), p : Pair(m)) : attn.Batch([n, m], e) where e in floating { x }
@h = fn(x : attn.Batch(s, e)) : attn.Batch(s, e) { x }
"""
WRITTEN_OUT = {
    "attn.Block(d, float32)": "((Tensor([2 * d, d], float32), Tensor([2 * d], float32)), "
    "(Tensor([d, 2 * d], float32), Tensor([d], float32)), Tensor([7], float32))",
    "Pair(m)": "((Tensor([m + 1, m], float32), Tensor([m + 1], float32)), Tensor([m], float32))",
    "attn.Batch([n, m], e)": "Tensor([n, m, 3], e)", "attn.Batch([n], float32)": "Tensor([n, 3], float32)",
    "attn.Batch(s, e)": "Tensor([*s, 3], e)",
}  # fmt: skip


def test_an_applied_type_checks_and_refuses_what_it_abbreviates(tmp_path: Path) -> None:
    (tmp_path / "lib.rx").write_text(LIB)
    plain = MAIN
    for applied, written in WRITTEN_OUT.items():
        plain = plain.replace(applied, written)
    (tmp_path / "applied.rx").write_text(MAIN)
    (tmp_path / "plain.rx").write_text(plain)
    a, b = (check_source(Source(name, (tmp_path / name).read_text()), tmp_path) for name in ("applied.rx", "plain.rx"))
    assert a.ok and a.counts == b.counts
    module = rx.load(tmp_path / "applied.rx")
    block = ((np.ones((4, 2), "f4"), np.ones(4, "f4")), (np.ones((2, 4), "f4"), np.ones(2, "f4")), np.ones(7, "f4"))
    assert module.f(np.ones((3, 2), "f4"), block).tolist() == [[13, 13]] * 3
    with pytest.raises(rx.ShapeError):
        module.f(np.ones((3, 2), "f4"), (*block[:2], np.ones(5, "f4")))


@pytest.mark.parametrize(
    ("type_", "use", "code"),
    [
        ("L(d, h) = Tensor([d, h])", "L(n)", "E108"), ("L(d, h) = Tensor([d, h])", "L", "E108"),
        ("L = Tensor([3])", "L(3)", "E108"), ("L(s) = Tensor(s)", "L(3 + 4)", "E108"),
        ("L(d) = Tensor([d])", "L([n])", "E108"), ("L(d) = Tensor([2 * d])", "L(?)", "E108"),
        ("L(d, e) = Tensor([d])", "L(n, int8)", "E108"), ("L(d) = Tensor([d], d)", "L(n)", "E108"),
        ("L(d) = (L(d), Tensor([d]))", "Tensor", "E217"), ("L(d, d) = Tensor([d])", "L(n, n)", "E203"),
        ("L(d) = Tensor([d])", "L(int8)", "E108"), ("L(s) = Tensor(s)", "L(int8)", "E108"),
        ("L(d) = Tensor([d], d)", "Tensor", "E108"), ("L(d, e) = Tensor([d])", "Tensor", "E108"),
        ("L(d, d) = Tensor([d])", "Tensor", "E203"), ("L(d) = Tensor([d])", "int8(3)", "E108"),
        ("Layer(d) = Tensor([d])", "Layr(n)", "E216"),
    ],
)  # fmt: skip
def test_a_wrong_definition_or_use_is_one_error(type_: str, use: str, code: str) -> None:
    report = rx.check_source(
        f"type {type_}\n@f = fn(x : {use}) : Tensor {{ @g() }}\n@g = fn() : Tensor {{ @ones([2]) }}\n"
    )
    assert [d.code for d in report.diagnostics if d.severity == "error"] == [code]


def test_types_that_double_their_arguments_are_refused_soon() -> None:
    lines = ["type T0(d) = Tensor([d])"] + [f"type T{i}(d) = T{i - 1}(d + d)" for i in range(1, 40)]
    report = rx.check_source("\n".join(lines) + "\n@f = fn(x : T39(n)) : Tensor { x }\n")
    assert "E299" in [d.code for d in report.diagnostics]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("type Layer(d, h) where d % h == 0 = (Tensor([d, h]), Tensor([h]))", "a type has no conditions"),
        ("type Layer(d, h) = (Tensor([d, h]), Tensor([h])) where d % h == 0", "a type has no conditions"),
        ("type Row = Tensor([n], float32) where n >= 1", "a type has no conditions"),
        ("type Layer(d : Size, h) = Tensor([d, h])", "the parameters of a type take no annotations"),
        ("@g = fn(x : Tensor([n]) where n >= 1, y : Tensor([n])) : Tensor { x + y }", "a parameter has no conditions"),
        ("@g = fn(f : fn(Tensor([n]) where n >= 1) : Tensor, y : Tensor([n])) : Tensor { f(y) }", "a parameter has no"),
    ],
)
def test_a_condition_on_a_type_or_a_parameter_is_sent_to_the_signature(wrong: str, says: str) -> None:
    for text in (
        f"{wrong}\n",
        f"@f = fn(x : Tensor) : Tensor {{ x }}\n{wrong}\n",
        f"{wrong}\n@f = fn(x : Tensor) : Tensor {{ x }}\n",
    ):
        [found] = [d for d in rx.check_source(text).diagnostics if d.severity == "error"]
        assert found.code == "E101" and found.message.startswith(says)


def test_a_condition_that_the_functions_state_is_known_of_an_applied_type() -> None:
    text = "type Layer(d, h) = (Tensor([d, h], float32), Tensor([h], float32))\n"
    text += (
        "@f = fn(x : Tensor([n, d], float32), w : Layer(d, h)) : Tensor([n, h // 4, 4], float32) where h % 4 == 0 {\n"
    )
    text += "  @reshape(@matmul(x, w[0]) + w[1], [n, h // 4, 4])\n}\n"
    assert rx.check_source(text).diagnostics == ()
