"""Gradients: signatures are those of the parameters, proved, and numbers are those of central differences in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rxlang as rx

# What stands in `let y = ...` over x : [n, m], w : [m, k], b : [m], p : [n, m] (above 0), ids : [k].
EXPRESSIONS = (
    "x + b", "b - x", "x * b", "x / p", "p ** x", "p ** 1.5", "x ** 2.0", "@maximum(x, b)", "@minimum(x, b)",
    "@where(x > 0.1, x, b)", "-x", "@square(x)", "@exp(x)", "@log(p)", "@sqrt(p)", "@rsqrt(p)", "@reciprocal(p)", "@abs(x)",
    "@sin(x)", "@cos(x)", "@tanh(x)", "@sinh(x)", "@cosh(x)", "@atan(x)", "@erf(x)", "@sigmoid(x)", "@silu(x)", "@relu(x)",
    "@gelu(x)", "@softplus(x)", "@log1p(p)", "@expm1(x)", "@matmul(x, w)", "@linear(x, @matrix_transpose(w))",
    "@sum(x, axis=0)",
    "@sum(x)", "@mean(x, axis=1)", "@mean(x, axis=-1, keepdims=true)", "@max(x, axis=1)", "@min(x, axis=0)",
    "@var(x, axis=1)", "@logsumexp(x, axis=1)", "@softmax(x, axis=-1)", "@log_softmax(x, axis=0)", "@reshape(x, [m, n])",
    "@flatten(x)", "@permute_dims(x, axes=[1, 0])", "@swapaxes(x, 0, 1)", "@expand_dims(x, axis=1)",
    "@concat([x, p, x], axis=1)",
    "@stack([x, p], axis=0)", "@broadcast_to(b, [n, m])", "@sum_to(x, [1, m])", "@matrix_transpose(x)", "@flip(x, axis=1)",
    "@log2(p)", "@log10(p)", "@tan(x * 0.2)", "@asin(x * 0.1)", "@acos(x * 0.1)", "@leaky_relu(x)", "@positive(x)",
    "@identity(x)", "@cast(x, float64)", "@squeeze(@expand_dims(x, axis=1), axis=1)", "@moveaxis(x, 0, 1)",
    "@linear(x, @matrix_transpose(w), @sum(w, axis=0))", "@matmul(@stack([x, x * 2.0], axis=0), w)",
    "@matmul(@expand_dims(x, axis=0), @stack([w, w * 3.0], axis=0))", 
    "@take(w, tensor([0, 0], int64), axis=0)", "@take(w, tensor([-1, 0, -1], int64), axis=0)", "@take(w, 0, axis=0)",
    "@embedding(tensor([[0, 0]], int64), w)",
)  # fmt: skip
PROGRAM = """
@loss = fn(x : Tensor([n, m], float64), w : Tensor([m, k], float64), b : Tensor([m], float64), p : Tensor([n, m], float64))
  : Tensor([], float64) {{
  let y = {0}
  @sum(@sin(y * 1.3) * y)
}}
@dloss = grad @loss wrt x, w, b, p
"""


def arguments(n: int, m: int, k: int) -> list[Any]:
    rng = np.random.default_rng(n * 100 + m * 10 + k)
    x, w, b = (rng.normal(size=s) for s in ((n, m), (m, k), (m,)))
    return [x, w, b, rng.uniform(0.5, 2.0, (n, m))]


def differences(f: Any, args: list[Any]) -> list[Any]:
    """The central differences of f in each element of each argument."""
    found = []
    for arg in args:
        made = np.zeros_like(arg)
        for at in np.ndindex(arg.shape):
            kept = arg[at]
            arg[at] = kept + 1e-6
            above = float(f(*args))
            arg[at] = kept - 1e-6
            made[at] = (above - float(f(*args))) / 2e-6
            arg[at] = kept
        found.append(made)
    return found


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_rule_gives_what_central_differences_give(text: str) -> None:
    module = rx.loads(PROGRAM.format(text))
    assert not module.dloss.residual or module.loss.residual
    one = "max" in text or "min" in text
    for sizes in ((2, 3, 5), (3, 2, 4), (5, 4, 2), (1, 1, 1), *(() if one else ((0, 3, 2),))):
        args = arguments(*sizes)
        for made, wanted in zip(module.dloss(*args), differences(module.loss, args), strict=True):
            np.testing.assert_allclose(made, wanted, 1e-4, 1e-6)


def test_the_results_print_what_the_parameters_print_and_are_proved() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n, m * 4], float32), b : Tensor([m * 4], float32)) : Tensor([], float32) { @sum(x * b) }\n"
        "@df = grad @f wrt x, b"
    )
    assert module.df.residual == ()
    assert [[str(d) for d in s] for s in module.df.shapes(x=("n", "m * 4"), b=("m * 4",))] == [
        ["n", "m * 4"],
        ["m * 4"],
    ]


def test_an_open_broadcast_is_a_conditional_sum() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([a, d], float64), y : Tensor([b, d], float64)) : Tensor([], float64) where b == a || b == 1 "
        "{ @sum(x + y) }\n@df = grad @f wrt y"
    )
    assert module.df.residual == ()
    for a, b, wanted in ((4, 1, 4.0), (4, 4, 1.0), (1, 1, 1.0), (0, 1, 0.0), (0, 0, 0.0)):
        made = module.df(np.ones((a, 3)), np.ones((b, 3)))
        np.testing.assert_array_equal(made, np.full((b, 3), wanted))


def test_a_gradient_of_a_gradient_has_the_numbers_of_differences() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64)) : Tensor([], float64) { @sum(@exp(x) * x) }\n"
        "@df = grad @f wrt x\n@ddf = vjp @df wrt x"
    )
    x, g = np.linspace(-1, 1, 3), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(module.ddf(x, g), g * np.exp(x) * (x + 2))


def test_a_cotangent_of_another_shape_is_refused() -> None:
    text = "@f = fn(x : Tensor([n, d], float32)) : Tensor([n, d], float32) { x * x }\n@df = vjp @f wrt x\n"
    call = "let x : Tensor([3, 2], float32) = @ones([3, 2], float32)\nlet g = @df(x, @ones([1, 2], float32))"
    with pytest.raises(rx.CheckError):
        rx.loads(text + call)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (
            "@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }\n@d = grad @f wrt x",
            "E230",
            "wants a cotangent",
        ),
        ("@f = fn(x : Tensor([n], int32)) : Tensor([], int32) { @sum(x) }\n@d = grad @f wrt x", "E231", "`x` is int32"),
        (
            "@f = fn(x : Tensor([n], float32), k : Size) : Tensor([], float32) { @sum(x) }\n@d = grad @f wrt k",
            "E231",
            "Size",
        ),
        (
            "@f = fn(x : Tensor([n], float32)) : Tensor([], float32) { @sum(x) }\n@d = grad @f wrt z",
            "E231",
            "no parameter",
        ),
        (
            "@f = fn(x : Tensor([n, n], float32)) : Tensor([], float32) { @det(x) }\n@d = grad @f wrt x",
            "E232",
            "`@det`",
        ),
    ],
)
def test_what_has_no_gradient_is_told_where_it_stands(text: str, code: str, said: str) -> None:
    with pytest.raises(rx.CheckError) as caught:
        rx.loads(text)
    [found] = [d for d in caught.value.diagnostics if d.severity == "error"]
    assert found.code == code and said in found.message


def test_of_a_function_that_cannot_be_read_only_that_is_told() -> None:
    text = "@f = fn(x : Tensor([n], float32)) : Tensor([], float32) { @sum(@nope(x)) }\n@df = grad @f wrt x\n"
    assert [d.code for d in rx.check_source(text).diagnostics if d.severity == "error"] == ["E202"]
