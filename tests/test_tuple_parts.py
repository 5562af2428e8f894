"""`t[0]` is a part of a tuple, whatever that is a tuple of and wherever it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.desugar.desugar import desugar
from rxlang.lang.core_printer import print_program
from rxlang.lang.files import Files
from rxlang.lang.modules import load_program
from rxlang.lang.source import Source
from rxlang.ops.registry import lookup

TEXT = """type Layer = (Tensor([h, d], float32), Tensor([h], float32))
@two = fn(x : Tensor([n], float32)) : (Size, Tensor([n], float32)) { (x.dim(0), x) }
@f = fn(x : Tensor([n, d], float32), ws : Layer) : Tensor([n, h], float32) {
  let y = @matmul(x, @matrix_transpose(ws[0])) + ws[-1]
  let z = if (n > 3) { y + ws[1] } else { y - ws[1] }
  let ws = (z, ws[1])
  ws[0] * @two(ws[1])[1]
}
@g = fn(x : Tensor([n], float32), p : ((Tensor([n], float32), Tensor([n], float32)), Size)) : Tensor([n], float32)
  where n >= 1 {
  for i in range(p[1]) with (acc : Tensor([n], float32) = x) { acc + p[0][1] }
}
@h = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @topk(x, k=n)[0] + @two(x)[1][0:] }
@sized = fn(x : Tensor([n], float32), p : (Size, Shape)) : Tensor([q, n], float32) where q == max(0, p[0]) {
  @broadcast_to(x, [max(0, p[0]), n])
}
"""


def test_parts_of_parameters_results_and_rebound_names_run_and_are_proved() -> None:
    report = rx.check_source(TEXT)
    assert report.ok and [d.code for d in report.diagnostics] == []
    module = rx.loads(TEXT)
    w, b = np.arange(6, dtype="float32").reshape(3, 2), np.array([1, 2, 3], "float32")
    for n in (2, 5):
        x = np.ones((n, 2), "float32")
        y = x @ w.T + b
        assert np.array_equal(module.f(x, (w, b)), (y + b if n > 3 else y - b) * b)
    assert module.g(b, ((b, b), 2)).tolist() == [3, 6, 9]
    assert module.h(b).tolist() == [4, 4, 4]
    assert module.sized(b, (2, (3,))).shape == (2, 3)


def test_each_use_of_one_name_shares_the_parts(tmp_path: Path) -> None:
    (tmp_path / "p.rx").write_text("@f = fn(p : (Tensor, Tensor)) : Tensor { p[0]; p[1]; p[0] }\n")
    modules, _ = load_program(Source("p.rx", (tmp_path / "p.rx").read_text()), Files(tmp_path))
    assert print_program(desugar(modules, lookup)[0]).count("= p\n") == 1


@pytest.mark.parametrize(
    ("index", "code"), [("p[2]", "E206"), ("p[-3]", "E206"), ("p[0:1]", "E220"), ("p[n]", "E220"), ("p[0, 1]", "E220")]
)
def test_what_no_tuple_has_is_an_error(index: str, code: str) -> None:
    text = f"@f = fn(p : (Tensor([n]), Tensor([n]))) : Tensor {{ {index} }}\n"
    assert [d.code for d in rx.check_source(text).diagnostics if d.severity == "error"] == [code]
