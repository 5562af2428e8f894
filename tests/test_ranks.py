"""Functions for tensors of any rank: nothing is left to a run, and the result has the shape that its type says."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.dtypes import numpy_dtype
from rxlang.lang.dtypes import DTYPES

# What s and u are, and the sizes of the other names.
STRETCHES = ((), (2,), (3, 0), (2, 1, 4))
SIZES = {"m": 3, "n": 4, "k": 2, "d": 5}
# The types of x, y and z (float32 where no dtype is said), that of the result, and the body.
PROGRAMS = {
    "matmul": ("*s m k; *s k n", "*s m n", "@matmul(x, y)"),
    "matmul by one matrix": ("*s m k; k n", "*s m n", "@matmul(x, y)"),
    "a layer": ("*s k; k n; n", "*s n", "@linear(x, @matrix_transpose(y), z)"),
    "attention": (
        "*s m d; *s n d; *s n k",
        "*s m k",
        "@matmul(@softmax(@matmul(x, @matrix_transpose(y)), axis=-1), z)",
    ),
    "einsum": ("*s m k; *s k n", "*s m n", '@einsum("...ij,...jk->...ik", [x, y])'),
    "concat behind": ("*s m; *s n", "*s m+n", "@concat([x, y], axis=-1)"),
    "concat in front": ("m *s; n *s", "m+n *s", "@concat([x, y], axis=0)"),
    "stack": ("*s; *s", "2 *s", "@stack([x, y], axis=0)"),
    "halves turned": ("*s n", "*s n", "@concat([-x[..., n // 2:], x[..., :n // 2]], axis=-1)"),
    "split": ("*s 2*m", "*s m", "{ let (a, b) = @split(x, sections=2, axis=-1)\n  a * b }"),
    "pad": ("*s m", "*s m+3", "@pad(x, [(1, 2)], axes=[-1])"),
    "pad in front": ("m *s", "m+3 *s", "@pad(x, [(1, 2)], axes=[0])"),
    "pad two axes": ("*s m n", "*s m+2 n+1", "@pad(x, [(1, 0), (1, 1)], axes=[-1, -2])"),
    "take": ("m *s; *u int64", "*u *s", "@take(x, y, axis=0)"),
    "take behind": ("*s m; *u int64", "*s *u", "@take(x, y, axis=-1)"),
    "take along": ("*s m; *s k int64", "*s k", "@take_along_axis(x, y, axis=-1)"),
    "outer": ("*s; *u", "*s *u", "@tensordot(x, y, axes=0)"),
    "tensordot": ("*s k; k *u", "*s *u", "@tensordot(x, y, axes=1)"),
    "two stretches": ("*s; *u; *s *u", "*s *u", "z + z"),
    "two stretches and a name": ("*s; *u; *s m *u n", "*s m *u n", "-z"),
    "mean": ("*s m n", "*s n", "@mean(x, axis=-2)"),
    "argmax": ("*s m", "*s int64", "@argmax(x, axis=-1)"),
    "normalise": ("*s m; m", "*s m", "@rms_norm(x, y)"),
    "rows": ("*s m", "? m", "@reshape(x, [-1, m])"),
    "solve": ("*s n n; *s n k", "*s n k", "@solve(x + 5.0 * @eye(n, dtype=float32), y)"),
    "fourier": ("*s n", "*s n//2+1 complex64", "@rfft(x)"),
    "one hot": ("*s int64", "*s m", "{ let m : Size = 3\n  @one_hot(x, m, float32) }"),
    "repeat": ("*s m", "*s 2*m", "@repeat(x, 2, axis=-1)"),
    "where": ("*s; *s bool", "*s", "@where(y, x, 0.0)"),
}


def listed(text: str) -> tuple[list[str], str]:
    """The dimensions of a type, and its dtype."""
    words = text.split()
    dtype = words.pop() if words and words[-1] in DTYPES else "float32"
    return words, dtype


def program(name: str) -> str:
    inputs, result, body = PROGRAMS[name]
    types = [
        f"{param} : Tensor([{', '.join(dims)}], {dtype})"
        for param, (dims, dtype) in zip("xyz", map(listed, inputs.split(";")), strict=False)
    ]
    dims, dtype = listed(result)
    if name == "one hot":
        dims = [d.replace("m", "3") for d in dims]
    sizes = [n for n in "mnkd" if re.search(rf"(?<![*\w]){n}\b", inputs)]
    where = f" where {', '.join(f'{n} >= 1' for n in sizes)}" if sizes else ""
    body = body if body.startswith("{") else f"{{ {body} }}"
    return f"@f = fn({', '.join(types)}) : Tensor([{', '.join(dims)}], {dtype}){where} {body}\n"


def extent(dims: list[str], s: tuple[int, ...], u: tuple[int, ...]) -> tuple[int, ...]:
    parts = ({"*s": s, "*u": u}.get(d) for d in dims)
    return tuple(
        itertools.chain.from_iterable((eval(d, SIZES),) if p is None else p for d, p in zip(dims, parts, strict=True))
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left_to_a_run_and_the_result_is_what_its_type_says(name: str) -> None:
    module = rx.loads(program(name))
    assert module.f.residual == (), program(name)
    inputs, result, _ = PROGRAMS[name]
    random = np.random.default_rng(0)
    for s, u in itertools.product(STRETCHES, STRETCHES if "*u" in inputs else ((),)):
        args = [
            random.integers(0, 2, extent(dims, s, u)).astype(numpy_dtype(DTYPES[dtype]))
            for dims, dtype in map(listed, inputs.split(";"))
        ]
        dims, dtype = listed(result)
        found = module.f(*args)
        if "?" in dims:
            dims = [str(found.shape[0]) if d == "?" else d for d in dims]
        assert found.shape == extent(dims, s, u) and found.dtype == numpy_dtype(DTYPES[dtype])
