"""Gradients of gradients: in a random direction they are the differences of what the gradients give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import fuzz

from .test_gradients import EXPRESSIONS, arguments, differences
from .test_rules import (
    BEFORE,
    CELLS,
    CONTROL,
    IMAGES as PICTURES,
    INDEXED,
    INTEGERS,
    MATRICES,
    ROWS,
    STEPS,
    WINDOWS,
    given,
)

TWICE = """
@loss = fn(x : Tensor([n, m], float64), w : Tensor([m, k], float64), b : Tensor([m], float64), p : Tensor([n, m], float64))
  : Tensor([], float64) {{
  let y = {0}
  @sum(@sin(y * 1.3) * y)
}}
@d = grad @loss wrt x, w, b, p
@s = fn(x : Tensor([n, m], float64), w : Tensor([m, k], float64), b : Tensor([m], float64), p : Tensor([n, m], float64))
  : Tensor([], float64) {{
  let (a, c, e, f) = @d(x, w, b, p)
  @sum(a * @cos(x)) + @sum(c * @cos(w)) + @sum(e * @cos(b)) + @sum(f * p)
}}
@dd = grad @s wrt x, w, b, p
"""


@pytest.mark.parametrize("text", fuzz.some(EXPRESSIONS[::4], 2))
def test_second_derivatives_are_those_of_central_differences(text: str) -> None:
    module = rx.loads(TWICE.format(text))
    args = arguments(2, 3, 4)
    for made, wanted in zip(module.dd(*args), differences(module.s, args), strict=True):
        np.testing.assert_allclose(made, wanted, 1e-3, 1e-4)


def images(params: str) -> str:
    conditions = [f"{n} >= 3" for n in "hw" if f" {n}" in params] + [f"{n} >= 1" for n in "c" if f" {n}" in params]
    return f"{params.replace('w * 0 + h', 'h')} where {', '.join(conditions)}"


CASES: list[tuple[str, str, dict[str, int]]] = [
    *((p, f"let y = {t}", ROWS[1]) for p, t in INDEXED[::3]),
    *((p, b, ROWS[1]) for p, b in MATRICES[::3] if "svdvals" not in b),
    *((images(p), f"let y = {t}", PICTURES[1]) for p, t in WINDOWS[::5]),
    *((p, b, ROWS[1]) for p, b in CONTROL[::2]),
    *((p, b, STEPS[1]) for p, b in CELLS[1::3]),
    ("x [n, d]", "let z = @rfft(x)\nlet y = @real(z) * @imag(z)", ROWS[1]),
]


@pytest.mark.parametrize(("params", "body", "size"), fuzz.some(CASES, 3))
def test_second_derivatives_along_a_direction(params: str, body: str, size: dict[str, int]) -> None:
    params, _, where = params.partition(" where ")
    shapes = {name: shape for name, _, shape in (p.partition(" ") for p in params.split("; "))}
    kinds = {n: f"Tensor({s}, {'int64' if n in INTEGERS else 'float64'})" if s else "Size" for n, s in shapes.items()}
    wrt = [n for n, s in shapes.items() if s and n not in INTEGERS]
    head = f"fn({', '.join(f'{n} : {k}' for n, k in kinds.items())}) : Tensor([], float64){f' where {where}' if where else ''}"
    parts = [f"d_{n}" for n in wrt]
    lets = f"({', '.join(parts)})" if len(parts) > 1 else parts[0]
    module = rx.loads(
        f"{BEFORE}@loss = {head} {{\n{body}\n@sum(@sin(y * 1.3) * y)\n}}\n@d = grad @loss wrt {', '.join(wrt)}\n"
        f"@s = {head} {{\n  let {lets} = @d({', '.join(shapes)})\n"
        f"  {' + '.join(f'@sum(d_{n} * @cos({n}))' for n in wrt)}\n}}\n@dd = grad @s wrt {', '.join(wrt)}\n"
    )
    args = [given(name, shape, size) for name, shape in shapes.items()]
    places = [list(shapes).index(n) for n in wrt]
    random = np.random.default_rng(0)
    ways = {i: random.normal(size=np.shape(args[i])) for i in places}

    def value(by: float) -> Any:
        return float(module.s(*(a + by * ways[i] if i in ways else a for i, a in enumerate(args))))

    made = module.dd(*args)
    got = sum(float(np.sum(g * ways[i])) for i, g in zip(places, made if len(wrt) > 1 else (made,), strict=True))
    np.testing.assert_allclose(got, (value(1e-5) - value(-1e-5)) / 2e-5, 2e-3, 1e-3)
