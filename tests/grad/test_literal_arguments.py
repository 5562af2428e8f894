"""Literal numbers as arguments of functions whose gradient is asked for: they have the dtype that they have in a call."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx
from numpy.testing import assert_array_equal

X = np.arange(3, dtype=np.float32)
# The functions, the loss, and what its gradient is for X.
LOSSES = (
    ("@f = fn(a : float32, y) { a * y }", "@f(3, x)", X * 0 + 3),
    ("@f = fn(a : Tensor([], d), y : Tensor([n], d)) where d in numeric { a * y }", "@f(3, x)", X * 0 + 3),
    ("@f = fn(p : (Tensor([n], d), (Tensor([], d), int8))) where d in numeric { p[0] * p[1][0] }", "@f((x, (2, 3)))",
     X * 0 + 2),
    ("@f = fn(c : Tensor([], d), p : (Tensor([n], d), int8)) where d in numeric { p[0] * c }", "@f(2, (x, 3))", X * 0 + 2),
    ("@f = fn(y : Tensor([n], float32), c : float32 = 2) { y * c * y }", "@f(x)", X * 4),
    ("@f = fn(c, y) { y * 2.5 }", "@f(2, x)", X * 0 + 2.5),
    ("", "(fn(a : float32, y) { a * y })(3, x)", X * 0 + 3),
    ("", "@map(fn(a : float32) { a * 3 }, x)", X * 0 + 3),
    ("@k = fn(f : fn(float32, Tensor([n], float32)) : Tensor([n], float32), x : Tensor([n], float32)) { f(3, x) }\n"
     "@f = fn(a, y) { a * y }", "@k(@f, x)", X * 0 + 3),
)  # fmt: skip


@pytest.mark.parametrize(("functions", "value", "wanted"), LOSSES)
def test_a_number_has_the_dtype_that_is_asked_for(functions: str, value: str, wanted: np.ndarray) -> None:
    body = f"@sum({value})"
    if value.startswith("("):
        function, _, rest = value[1:].partition("})")
        body = f"let f = {function}}}\n  @sum(f{rest})"
    loss = f"@loss = fn(x : Tensor([n], float32)) : float32 {{\n  {body}\n}}\n@d = grad @loss wrt x\n"
    module = rx.loads(f"{functions}\n{loss}")
    assert_array_equal(module.d(X), wanted)
    assert module.d.residual == ()
