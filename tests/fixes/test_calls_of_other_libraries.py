"""Calls as NumPy, PyTorch and JAX write them: what `--fix` makes of one computes what it did there."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.fixes.applied import fixed, fixed_and_left
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import ranked, with_helps
from rxlang.lang.source import Source
from rxlang.ops import elsewhere
from rxlang.ops.registry import lookup
from rxlang.pipeline import check_text
from support import fuzz
from support.places import TESTS

HEAD = "@f = fn(x : Tensor([3, 4], float32), y : Tensor([4, 3], float32)) : Tensor {{ {} }}\n"


def after_fixes(body: str) -> str:
    """The body after `--fix`."""
    return body_of(fixed(Source("a.rx", HEAD.format(body)), TESTS)[0])


def body_of(text: str) -> str:
    return text.partition("{ ")[2].removesuffix(" }\n")


def first_offered(body: str) -> str:
    found = next(ranked(check_text(HEAD.format(body), "a.rx", TESTS), TESTS))
    return body_of(applied(HEAD.format(body), found.fixes[0].edits))


# What is written elsewhere, and what `--fix` makes of it.
FIXED = [
    ("x.view(-1)", "@reshape(x, [-1])"),
    ("x.view(4, 3)", "@reshape(x, [4, 3])"),
    ("x.reshape((4, 3))", "@reshape(x, (4, 3))"),
    ("x.permute(1, 0).reshape(-1).mean()", "@mean(@reshape(@permute_dims(x, [1, 0]), [-1]))"),
    ("x.sum(-1, keepdim=True)", "@sum(x, -1, keepdims=true)"),
    ("x.chunk(2, -1)[0]", "@split(x, 2, axis=-1)[0]"),
    ("x.to(torch.float16)", "@cast(x, float16)"),
    ('x.astype("float16")', "@cast(x, float16)"),
    ("x.relu()", "@relu(x)"),
    ("@max(x, x)", "@maximum(x, x)"),
    ("max(x, x)", "@maximum(x, x)"),
    ("relu(x)", "@relu(x)"),
    ("exp(relu(x))", "@exp(@relu(x))"),
    ("x.mT", "@matrix_transpose(x)"),
    ("F.softmax(x, dim=-1)", "@softmax(x, axis=-1)"),
    ("torch.relu(torch.mm(x, y))", "@relu(@matmul(x, y))"),
    ("F.relu(x, inplace=True)", "@relu(x)"),
    ("@relu(x, inplace=true)", "@relu(x)"),
    ("torch.cat([x, x], dim=0)", "@concat([x, x], axis=0)"),
    ('torch.einsum("nd,dm->nm", x, y)', '@einsum("nd,dm->nm", [x, y])'),
    ("@torch.relu(x)", "@relu(x)"),
    ("@nn.functional.relu(x)", "@relu(x)"),
    ("nn.ReLU()(x)", "@relu(x)"),
    ("@matmul(x, y).relu()", "@relu(@matmul(x, y))"),
    ("x[:, None]", "x[:, None]"),
    ("@zeros(3, 4)", "@zeros([3, 4])"),
    ("@zeros([3, 4], torch.float16)", "@zeros([3, 4], float16)"),
    ("@arange(3, float32)", "@arange(3, dtype=float32)"),
    ("@concat(x, x)", "@concat([x, x])"),
    ("@reshape(x, 4, -1)", "@reshape(x, [4, -1])"),
    ("@exp[x]", "@exp(x)"),
    ("let (v, i) = x.max(1); i", "let (v, i) = (@max(x, 1), @argmax(x, 1)); i"),
    ("let (v, i) = @max(x, axis=1); v", "let (v, i) = (@max(x, axis=1), @argmax(x, axis=1)); v"),
    ("not (x > 0.0)", "!(x > 0.0)"),
    ("return(x * 2.0)", "(x * 2.0)"),
    ("let (a, b) = x.shape; @zeros([a, b])", "match_shape(x, [a, b], [a, b]); @zeros([a, b])"),
    ("let a = x.shape[0]; @zeros([a])", "let a : Size = x.dim(0); @zeros([a])"),
    ("assert x.shape[1] == y.shape[0]; x", "assert x.dim(1) == y.dim(0); x"),
    ("assert x.ndim == 2; x", "assert x.rank == 2; x"),
    ("assert x.dim() == 2; x", "assert x.rank == 2; x"),
    ("assert x.size(0) == 3; x", "assert x.dim(0) == 3; x"),
    ("let h = x.dim(0) + 1; @zeros([h])", "let h : Size = x.dim(0) + 1; @zeros([h])"),
    ("let z : torch.Tensor = x; z", "let z : Tensor = x; z"),
]
# What may mean something else here, with the fix that is offered.
LEFT = [
    ("x.T", "@matrix_transpose(x)"),
    ("x.std(0)", "@std(x, 0)"),
    ("x.max(1)", "@max(x, 1)"),
    ("x.cummax(0)", "@cumulative_max(x, 0)"),
    ("F.hardsigmoid(x)", "@hard_sigmoid(x)"),
    ("x.split(2)[0]", "@split(x, 2)[0]"),
    ("x.transpose(0, 1)", "@swapaxes(x, 0, 1)"),
    ("@max(x, dim=1)[0]", "@max(x, axis=1)"),
    ("x.max(1)[0]", "@max(x, 1)"),
    ("x.max(dim=1)[1]", "@argmax(x, axis=1)"),
    ("nn.Flatten()(x)", "@flatten(x)"),
    ("torch.zeros(3, 4)", "@zeros([3, 4])"),
    ("@dot(x, y)", "@matmul(x, y)"),
    ("@maximum(x)", "@max(x)"),
    ("@where(x, x, 0.0)", "@where(@cast(x, bool), x, 0.0)"),
    ("@take(x, x[0], axis=0)", "@take(x, @cast(x[0], int64), axis=0)"),
]


@pytest.mark.parametrize(("body", "wanted"), FIXED)
def test_a_call_from_elsewhere_is_written_in_the_words_of_rx(body: str, wanted: str) -> None:
    assert after_fixes(body) == wanted
    assert body == wanted or rx.check_source(HEAD.format(wanted)).ok


@pytest.mark.parametrize(("body", "wanted"), LEFT)
def test_what_may_mean_something_else_here_is_offered_and_left(body: str, wanted: str) -> None:
    assert first_offered(body) == wanted
    found = fixed_and_left(Source("a.rx", HEAD.format(body)), TESTS)
    assert found.done == () and found.left[0].reason != "no fix is known"


# NumPy's own calls, those with nothing certain in their results left out.
METHODS = [n for n in dir(np.ndarray) if not n.startswith("_") and (elsewhere.primitives(n) or lookup(n))]
FUNCTIONS = [n for n in dir(np) if callable(getattr(np, n)) and (elsewhere.primitives(n) or lookup(n))]
OF_METHODS = [
    "", "0", "1", "-1", "0, 1", "1, 0", "(0, 1)", "axis=0", "axis=1, keepdims=True", "keepdims=True", "2", "(2, 6)",
    "2, 6", "-1, 2", "(-1,)", "y",
]  # fmt: skip
OF_FUNCTIONS = ["x", "x, 0", "x, 1", "x, y", "[x, x]", "[x, x], 1", "(x, x), axis=1", "x, axis=1", "x, 2", "x, 0, 1"]


def test_a_call_inside_of_a_call_from_elsewhere_is_told_with_it() -> None:
    text = HEAD.format("torch.relu(torch.mm(x, y))")
    (told,) = with_helps(check_text(text, "a.rx", TESTS), TESTS).diagnostics
    assert (told.code, told.help) == ("E215", "write `@relu(@matmul(x, y))` (checked)")


def test_what_is_made_of_numpys_calls_computes_what_numpy_does() -> None:
    random = Random(3)
    x, y = random_tensor(random, 3, 4), random_tensor(random, 4, 3)
    for case in fuzz.cases("calls of NumPy"):
        with case as seed:
            draw = Random(seed)
            call = draw.choice((f"x.{draw.choice(METHODS)}({draw.choice(OF_METHODS)})",
                                f"np.{draw.choice(FUNCTIONS)}({draw.choice(OF_FUNCTIONS)})"))  # fmt: skip
            text = fixed(Source("a.rx", HEAD.format(call)), TESTS)[0]
            wanted = numpys(call, {"np": np, "x": x.copy(), "y": y.copy()})
            if wanted is not None and rx.check_source(text).ok:
                assert same(rx.loads(text).f(x, y), wanted), text


def random_tensor(random: Random, n: int, m: int) -> np.ndarray[Any, Any]:
    return np.array([[random.randrange(-6, 7) / 4 for _ in range(m)] for _ in range(n)], np.float32)


def numpys(call: str, given: dict[str, Any]) -> Any:
    """What NumPy makes of it; None where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(call, given)  # the calls are made above
        except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
            return None


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple | list):
        return len(found) == len(wanted) and all(same(a, b) for a, b in zip(found, wanted, strict=True))
    found, wanted = np.asarray(found), np.asarray(wanted)
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
