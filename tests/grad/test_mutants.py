"""Rules that are slightly wrong, with the right shapes: central differences at pairwise different sizes tell each."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx
from rxlang.grad import rules

from .test_gradients import PROGRAM, arguments, differences

# The row, what is changed in it, and an expression over x [n, m], w [m, k], b [m], p [n, m].
MUTANTS = (
    ("add.y", "g, y.shape", "2.0 * g, y.shape", "x + b"), ("subtract.y", "-g", "g", "x - b"),
    ("multiply.x", "g * y", "g * x", "x * p"), ("divide.y", "-(g", "(g", "x / p"), ("divide.x", "g / y", "g * y", "x / p"),
    ("pow.x", "y - 1.0", "y", "p ** 3.0"), ("pow.y", "@log(", "@exp(0.0 * ", "p ** x"),
    ("maximum.x", "x > y", "x < y", "@maximum(x, b)"),
    ("where.y", "condition, 0.0, g", "condition, g, 0.0", "@where(x > 0.1, x, b)"),
    ("exp.x", "out", "x", "@exp(x)"), ("tanh.x", "1.0 - out", "1.0 + out", "@tanh(x)"), ("cos.x", "-(g", "(g", "@cos(x)"),
    ("sqrt.x", "0.5", "2.0", "@sqrt(p)"), ("log1p.x", "x + 1.0", "x", "@log1p(p)"), ("erf.x", "1.128", "1.0", "@erf(x)"),
    ("sigmoid.x", "(1.0 - out)", "(1.0 - x)", "@sigmoid(x)"), ("relu.x", "> 0.0", "> 0.5", "@relu(x)"),
    ("mean.x", "g' / number", "g'", "@mean(x, axis=1)"),
    ("var.x", "- correction", "- 1.0", "@var(x, axis=1)"), ("logsumexp.x", "x - out'", "out' - x", "@logsumexp(x, axis=0)"),
    ("max.x", "x == out'", "x != out'", "@max(x, axis=1)"), ("softmax.x", "out * (g", "(g", "@softmax(x)"),
    ("log_softmax.x", "@exp(out)", "out", "@log_softmax(x)"),
    ("cumulative_sum.x", "reverse=true", "reverse=false", "@cumulative_sum(x, axis=1)"),
    ("flip.x", "@flip(g<<, axis=axis>>)", "@identity(g)", "@flip(x, axis=1)"), ("tril.x", "@tril", "@triu", "@tril(x)"),
    ("matmul.y", "@matrix_transpose(x), g", "@reshape(x, [x.dim(1), x.dim(0)]), g", "@matmul(x, w)"),
    ("matmul.x", "@matmul(g, @matrix_transpose(y))", "@matmul(g, @reshape(y, [y.dim(1), y.dim(0)]))", "@matmul(x, w)"),
    ("layer_norm.x", "+ epsilon", "+ 2.0 * epsilon", "@layer_norm(x, b, epsilon=0.5)"),
    ("sort.x", "@argsort(x, axis=axis, descending=descending)", "@argsort(g, axis=axis)", "@sort(x, axis=1)"),
    ("scatter_nd.updates", "@gather_nd(g, indices)", "@gather_nd(g, indices) * 0.5",
     '@scatter_nd(x, tensor([[0]], int64), x[0:1], reduction="add")'),
    ("embedding.table", 'reduction="add"', 'reduction="none"', "@embedding(tensor([[0, 0]], int64), w)"),
    ("vector_norm.x", "g' * x", "g' * @abs(x)", "@vector_norm(x, axis=1)"),
    ("pinv.x", "two + three - one", "two - three - one", "@pinv(x)"),
    ("pinv.x", "two + three - one", "three - one", "@pinv(@matrix_transpose(x))"),
    ("qr.x", "@tril(m, -1)", "@tril(m)", "@qr(w)[0]"), ("qr.x", "g1[..., :k]", "g1[..., :k] * 0.5", "@qr(x)[1]"),
    ("svd.x", "+ eye * @expand_dims(g1, axis=-2)", "", "@svd(x, full_matrices=false)[1]"),
    ("svd.x", "gaps + eye", "eye - gaps", "@abs(@svd(w, full_matrices=false)[0])"),
    ("svd.x", "within + beside + ", "within + ", "@abs(@svd(@matrix_transpose(w), full_matrices=false)[0])"),
    ("fft.x", 'norm="forward"', 'norm="ortho"', "@abs(@fft(x))"), ("imag.x", "@complex(@zeros_like(g), g)",
     "@complex(@zeros_like(g), -g)", "@imag(@fft(x))"), ("abs.x", "x * @cast", "@conj(x) * @cast", "@abs(@fft(x) * @fft(p))"),
    ("layer_norm.scale", "g * n", "g * c", "@layer_norm(x, b, epsilon=0.5)"),
    ("rms_norm.x", "h * n", "g * n", "@rms_norm(x, b, epsilon=0.5)"),
    ("huber_loss", "delta * (d", "(d", "@huber_loss(x, p, delta=0.3)"),
)  # fmt: skip


@pytest.mark.parametrize(("row", "old", "new", "text"), MUTANTS, ids=[f"{m[0]}-{i}" for i, m in enumerate(MUTANTS)])
def test_a_rule_that_is_wrong_is_told(row: str, old: str, new: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = rules.table()[0]
    assert any(old in said for _, said in table[row])
    for changed in (False, True):
        if changed:
            monkeypatch.setitem(table, row, [(held, said.replace(old, new)) for held, said in table[row]])
        module = rx.loads(PROGRAM.format(text))
        args = arguments(3, 4, 5)
        found = [
            np.allclose(made, wanted, 1e-4, 1e-6)
            for made, wanted in zip(module.dloss(*args), differences(module.loss, args), strict=True)
        ]
        assert all(found) is not changed
