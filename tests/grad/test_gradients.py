"""Gradients: signatures are those of the parameters, proved, and numbers are those of central differences in float64."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.grad import rules, written
from rxlang.grad.flat import Flat, leaves, spelt
from rxlang.lang import core
from rxlang.lang.source import NOWHERE
from rxlang.ops import registry
from rxlang.ops.model import TENSORS
from support.places import ROOT

PAGE = ROOT / "docs" / "gradients.md"

# What stands in `let y = ...` over x : [n, m], w : [m, k], b : [m], p : [n, m] (above 0), ids : [k].
EXPRESSIONS = (
    "x + b", "b - x", "x * b", "x / p", "p ** x", "p ** 1.5", "x ** 2.0", "@maximum(x, b)", "@minimum(x, b)",
    "@where(x > 0.1, x, b)", "-x", "@square(x)", "@exp(x)", "@log(p)", "@sqrt(p)", "@rsqrt(p)", "@reciprocal(p)", "@abs(x)",
    "@sin(x)", "@cos(x)", "@tanh(x)", "@sinh(x)", "@cosh(x)", "@atan(x)", "@erf(x)", "@sigmoid(x)", "@silu(x)", "@relu(x)",
    "@gelu(x)", "@softplus(x)", "@log1p(p)", "@expm1(x)", "@matmul(x, w)", "@linear(x, @matrix_transpose(w))",
    "@sum(x, axis=0)", "@sum(x)", "@mean(x, axis=1)", "@mean(x, axis=-1, keepdims=true)", "@max(x, axis=1)",
    "@min(x, axis=0)", "@var(x, axis=1)", "@logsumexp(x, axis=1)", "@softmax(x, axis=-1)", "@log_softmax(x, axis=0)",
    "@reshape(x, [m, n])", "@flatten(x)", "@permute_dims(x, axes=[1, 0])", "@swapaxes(x, 0, 1)", "@expand_dims(x, axis=1)",
    "@concat([x, p, x], axis=1)", "@stack([x, p], axis=0)", "@broadcast_to(b, [n, m])", "@sum_to(x, [1, m])",
    "@matrix_transpose(x)", "@flip(x, axis=1)", "@log2(p)", "@log10(p)", "@tan(x * 0.2)", "@asin(x * 0.1)", "@acos(x * 0.1)",
    "@leaky_relu(x)", "@positive(x)", "@identity(x)", "@cast(x, float64)", "@squeeze(@expand_dims(x, axis=1), axis=1)",
    "@moveaxis(x, 0, 1)", "@linear(x, @matrix_transpose(w), @sum(w, axis=0))", "@matmul(@stack([x, x * 2.0], axis=0), w)",
    "@matmul(@expand_dims(x, axis=0), @stack([w, w * 3.0], axis=0))", "@take(w, tensor([0, 0], int64), axis=0)",
    "@take(w, tensor([-1, 0, -1], int64), axis=0)", "@take(w, 0, axis=0)", "@embedding(tensor([[0, 0]], int64), w)",
    "@cumulative_prod(x, axis=1)", "@cumulative_prod(x, axis=0, reverse=true, exclusive=true)",
    "@cumulative_prod(@where(x > 0.3, 0.0, x), axis=1)", "@prod(@where(x > 0.3, 0.0, x), axis=1)",
    "@cumulative_max(x, axis=0)", "@cumulative_logsumexp(x, axis=1)", "@cumulative_min(x)",
    "@split(x, sizes=[1, m - 1], axis=1)[0]", "@split(x, sizes=[1, m - 1], axis=1)[1] * 2.0",
    "@unstack(@stack([x, p], axis=0))[1]", "@concat([x, p], axis=0)", "@stack([x, p, x], axis=2)", "@var(x)", "@std(x)",
    "@std(p, axis=0, keepdims=true)", "@clip(x, min=0.1)", "@clip(x, max=@mean(b))", "@sort(x, axis=1)",
    "@sort(x, axis=0, descending=true)", "@topk(x, k=1, axis=1)[0]", "@where(x > 0.0, b, 1.0)",
    '@einsum("ij,jk->ik", [x, w])', '@einsum("ij,ij->", [x, p])', '@einsum("ij,jk", [x, w])',
    '@einsum("...j,jk->...k", [x, w])', '@einsum("ij->j", [x])', '@einsum("ij,j->ji", [x, b])',
    '@einsum("ij,kj->", [x, @matrix_transpose(w)])', '@einsum("ii,ij->j", [@outer(b, b * b), w])',
    '@einsum("...ii", [@stack([@outer(b, b), @outer(b, @sin(b))], axis=0)])',
    '@einsum("iii->i", [@expand_dims(x, axis=2)[:1, :1]])',
    "@layer_norm(x, b, b, epsilon=0.1)",
    "@layer_norm(p, @square(b), epsilon=0.1)", "@rms_norm(x, b, epsilon=0.1)", "@vector_norm(x)", "@vector_norm(x, axis=1)",
    "@vector_norm(x, axis=0, ord=1)", "@vector_norm(p, axis=1, ord=3)", "@vector_norm(x, axis=[0,1], keepdims=true)",
    "@vector_norm(x, axis=1, ord=1e999)", "@matrix_norm(x)", '@matrix_norm(x, ord="inf")', "@mse_loss(x, p)",
    '@mse_loss(x, p, reduction="sum")', '@mse_loss(x, p, reduction="none")', "@l1_loss(x, p)", "@smooth_l1_loss(x, p)",
    '@smooth_l1_loss(x, p, beta=0.5, reduction="sum")', "@huber_loss(x, p, delta=0.7)",
    "@cross_entropy_loss(x, @cast(@sum(p, axis=1) * 0.0, int64))", "@binary_cross_entropy(@sigmoid(x), p * 0.4)",
    "@binary_cross_entropy_with_logits(x, p * 0.4)", "@kl_div(x, p)", '@kl_div(x, p, log_target=true, reduction="batchmean")',
    "@softmax_cross_entropy(x, p, axis=1)", '@softmax_cross_entropy(x, p, axis=0, reduction="none")', "@elu(x)", "@selu(x)",
    "@mish(x)", "@softsign(x)", "@hard_swish(x)", "@hard_sigmoid(x)", "@prelu(x, b)", "@asinh(x)", "@acosh(p + 1.0)",
    "@atanh(x * 0.1)", "@atan2(x, p)", "@logaddexp(x, b)", "@hypot(x, b)", "@copysign(p, x)", "@remainder(x, p)",
    "@fftshift(x)", "@tile(x, [2, 3])", "@tile(x, [2, 1, 3])", "@tile(b, [2, 3])", "@repeat(x, 3, axis=1)",
    "@repeat(x, 3, axis=-2)", "@repeat(x, 2)", "@roll(x, 1, axis=1)", "@roll(x, [1, 2], axis=[0, 1])", "@roll(x, 2)",
    "@flip(x)", "@pad(x, [(1, 2), (0, 3)])", "@pad(x, [(1, 2)], axes=[1], value=1.5)",
    "@pad(x, [(1, 0), (0, 1)], value=@sum(b))", '@pad(x, [(1, 1), (0, 0)], mode="edge")', "@tril(x)", "@triu(x, 1)",
    "@diagonal(x)", "@trace(x)", "@outer(b, b * 2.0)", "@vecdot(x, p)", "@vecdot(x, b)", "@tensordot(x, w, axes=1)",
    "@tensordot(x, p, axes=2)", "@tensordot(x, p, x_axes=[0], y_axes=[0])", "@dense(x, w)", "@dense(x, w, @sum(w, axis=0))",
    "@cosine_similarity(x, p)", "@full([n, 2], @sum(b))", "@full_like(x, @sum(b))", "@filter(x, @sum(x, axis=1) > 0.0)",
    "@pad_to_match(x, @ones([n + 1, m + 2]))", "@truncate(x, @cast(@size_to_tensor(n), float64))", "@diff(x, axis=0)",
    "@frame(x, length=1, step=1)", "@overlap_add(x, step=1)", "@matrix_power(@matmul(@matrix_transpose(x), x), 3)",
    "@attention(x, p, p)", "@attention(x, p, x, causal=true)",
    "@attention(x, p, x, mask=(@matmul(x, @matrix_transpose(p)) > 0.0))",
    "@attention(x, p, x, mask=@matmul(x, @matrix_transpose(p)), scale=0.3)",
    "@segment_sum(x, @cast(@sum(p, axis=1) * 0.0, int64), 2)", "@segment_mean(x, @cast(@sum(p, axis=1) * 0.0, int64), 2)",
    "@broadcast_arrays([x, b])[1]", "@linear(b, @matrix_transpose(w))", "@matmul(x, b)", "@matmul(b, w)",
    "@matmul(@stack([w,w],axis=0), @sum(w,axis=0))", "@matmul(b, @stack([w,w],axis=0))", "x[:, 1:]", "x[::-1]",
    "x[::2, ::-2]", "x[-1]", "x[:, 0]", "@take(x, 0, axis=-1)", "@take(x, tensor([[0,0],[-1,0]], int64), axis=1)",
    "@take(x, tensor([[0,0],[-1,0]], int64), axis=-1)", "@std(x, axis=1)", "@prod(x)", "@prod(x, axis=0)",
    "@prod(x, axis=[0,1])", "@cumulative_sum(x, axis=1)", "@clip(x, -0.5, 0.5)", "@clip(x, b - 1.0, p)",
    '@gelu(x, approximate="tanh")', "@cumulative_sum(x, axis=0, exclusive=true, reverse=true)",
    "@sum(x, axis=1, dtype=float64)",
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


def refuses_nothing_of(f: Any, args: list[Any]) -> bool:
    """Whether there is no value of empty tensors that a gradient could be of."""
    try:
        return not np.isfinite(f(*args))
    except rx.ShapeError:
        return True


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_rule_gives_what_central_differences_give(text: str) -> None:
    module = rx.loads(PROGRAM.format(text))
    assert {c.text for c in module.dloss.residual} <= {c.text for c in module.loss.residual}
    for sizes in ((2, 3, 5), (3, 2, 4), (5, 4, 2), (1, 1, 1), (0, 3, 2)):
        args = arguments(*sizes)
        if 0 in sizes and refuses_nothing_of(module.loss, args):
            continue
        for made, wanted in zip(module.dloss(*args), differences(module.loss, args), strict=True):
            np.testing.assert_allclose(made, wanted, 1e-4, 1e-6)


def test_ranks_are_derived_as_the_numbers_have_them() -> None:
    head = "fn(x : Tensor([n, m], float64), w : Tensor([m, k], float64), b : Tensor([m], float64), p : Tensor([n, m], float64))"
    open_ones = ("@gather_nd(x, @zeros([k, 1], int64))", "@gather_nd(x, @zeros([k, 2], int64))", "@sum_to(b, b.shape)")
    texts = [t for t in (*open_ones, *EXPRESSIONS[::6]) if "\n" not in t]
    module = rx.loads("\n".join(f"@e{i} = {head} {{ {t} }}" for i, t in enumerate(texts)))
    functions = {f.name: f for f in module._checked.program.functions}
    known, args = 0, arguments(3, 3, 4)
    for i, text in enumerate(texts):
        impl = functions[functions[f"e{i}"].impl or f"e{i}"]
        flat = Flat(functions, spelt(*functions.values()))
        flat.ranks = {"x": 2, "w": 2, "b": 1, "p": 2}
        for made in leaves(flat.call(impl, tuple(core.Var(NOWHERE, n) for n in "xwbp"), impl)):
            rank = flat.ranks.get(made.name) if isinstance(made, core.Var) else None
            assert rank in (None, np.ndim(module[f"e{i}"](*args))), text
            known += rank is not None
    assert known > 0.8 * len(texts)


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
        *(
            (f"@f = fn(x : Tensor([n], float32)) : Tensor([], {t}) {{ {b} }}\n@d = {k} @f wrt {w}", "E231", said)
            for t, b, k, w, said in (
                ("int64", "@size(x)", "grad", "x", "the result of @f is int64"),
                ("bool", "@any(x > 0.0)", "vjp", "x", "the result of @f is bool"),
                ("float32", "@sum(x)", "jvp", "x, x", "`x` stands behind `wrt` twice"),
            )
        ),
        *(
            (f"@f = fn(x : Tensor([n], float32)) : {r} {{ {b} }}\n@d = {k} @f wrt x", "E231", "not only of tensors")
            for k in ("vjp", "jvp")
            for r, b in (("(Tensor([n], float32), Size)", "(x, n)"), ("Size", "n"))
        ),
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
            "@f = fn(x : Tensor([1, n, n], float32)) : Tensor([], float32) { @sum(@max_pool1d(x, n)) }\n@d = grad @f wrt x",
            "E232",
            "`@max_pool1d`",
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


def test_what_is_stopped_hands_nothing_back() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64)) : Tensor([], float64) { @sum(@stop_gradient(x) * x) }\n@df = grad @f wrt x"
    )
    x = np.array([1.0, 2.0])
    assert float(module.f(x)) == 5.0
    np.testing.assert_array_equal(module.df(x), x)


def test_a_gradient_is_asked_for_from_python() -> None:
    module = rx.loads(
        "@loss = fn(x : Tensor([n], float64), w : Tensor([n], float64)) : Tensor([], float64) { @sum(x * w) }\n"
        "@square = fn(x : Tensor([n], float64)) : Tensor([n], float64) { x * x }"
    )
    x, w = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    np.testing.assert_array_equal(module.loss.grad("w")(x, w), x)
    value, gx = module.loss.value_and_grad("x")(x, w)
    assert value == 13.0 and (gx == w).all()
    np.testing.assert_array_equal(module.square.vjp("x")(x, w), 2 * x * w)
    np.testing.assert_array_equal(module.loss.grad("w").vjp("x")(x, w, w), w)
    assert module.loss.grad("w") is module.loss.grad("w") and "grad_loss" not in module
    for refused, code in ((lambda: module.loss.grad("z"), "E231"), (lambda: module.square.grad("x"), "E230")):
        with pytest.raises(rx.CheckError) as caught:
            refused()
        assert [d.code for d in caught.value.diagnostics if d.severity == "error"] == [code]


def test_a_type_with_parameters_and_tuples_have_gradients_of_their_form() -> None:
    module = rx.loads(
        "type Layer(i, o) = (Tensor([i, o], float64), Tensor([o], float64))\n"
        "@f = fn(x : Tensor([n, i], float64), l : Layer(i, o)) : Tensor([], float64) {\n"
        "  let (w, b) = l\n  @sum(@tanh(@matmul(x, w) + b))\n}\n@df = grad @f wrt l, x\n"
        "@both = fn(x : Tensor([n], float64)) : (Tensor([n], float64), Tensor([], float64)) { (x * x, @sum(x)) }\n"
        "@dboth = vjp @both wrt x"
    )
    assert module.df.residual == ()
    rng = np.random.default_rng(1)
    x, w, b = rng.normal(size=(3, 2)), rng.normal(size=(2, 4)), rng.normal(size=4)
    (gw, gb), gx = module.df(x, (w, b))
    wanted = differences(lambda x, w, b: module.f(x, (w, b)), [x, w, b])
    for made, want in zip((gx, gw, gb), wanted, strict=True):
        np.testing.assert_allclose(made, want, 1e-4, 1e-6)
    np.testing.assert_allclose(module.dboth(b, (b, np.array(2.0))), 2 * b * b + 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@sum(@abs(@prod(@cast(x, complex128))))", "complex"),
        ("@sum(@split(@outer(x, x), n)[0])", "`@split`"),
        ("@sum(@either(x))", "`@either`"),
        ("@sum(@outside(x))", "`@outside`"),
        ("if (n > 3) { @f(x) } else { @sum(x) }", "`@f`, which calls itself,"),
    ],
)
def test_nothing_without_a_rule_is_taken_for_0(text: str, said: str) -> None:
    program = (
        "@a = fn(x : Tensor([16], float64)) : Tensor([16], float64) { x }\n"
        "@b = fn(x : Tensor([n], float64)) : Tensor([n], float64) { x }\n@either = [@a, @b]\n"
        'extern @outside = fn(x : Tensor([n], float64)) : Tensor([n], float64) = "math:sin"\n'
        f"@f = fn(x : Tensor([n], float64)) : Tensor([], float64) {{ {text} }}\n@df = grad @f wrt x"
    )
    found = [d for d in rx.check_source(program).diagnostics if d.severity == "error"]
    assert (
        [d.code for d in found] == ["E232"] and said in found[0].message and found[0].span.start > program.index("@f =")
    )


def kind(name: str) -> str:
    """How a primitive is differentiated."""
    row = registry.lookup(name)
    assert row is not None
    operands = [p.name for p in row.params if p.kind in TENSORS and rules.takes_floats(row, p.name)]
    ruled = {key.partition(".")[0] for key in (*rules.table()[0], *written.WRITTEN) if "." in key} | {
        n for n, _ in written.LISTS
    }
    made = {key for key in rules.table()[0] if "." not in key} | written.COMPOSED.keys()
    if rules.is_still(name) or not operands:
        return "no gradient"
    found = ["a rule"] * (name in ruled) + ["other primitives"] * (name in made)
    return " or ".join(found) or ("the tuple is taken apart" if name == "part" else "none yet")


def test_the_page_says_of_each_primitive_how_it_is_differentiated() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split("<!-- table -->\n")
    _, after = rest.split("<!-- end of table -->")
    groups: dict[str, list[str]] = {}
    for name in registry.names():
        groups.setdefault(kind(name), []).append(f"`@{name}`")
    rows = [f"| {said} | {len(names)} | {' '.join(names)} |" for said, names in groups.items()]
    table = "\n".join(["| differentiated by | | primitives |", "|---|---|---|", *rows])
    made = f"{before}<!-- table -->\n{table}\n<!-- end of table -->{after}"
    if os.environ.get("RX_ACCEPT"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made


def test_nothing_is_told_of_what_nobody_wrote() -> None:
    text = (
        "@f = fn(x : Tensor([n, d], float32), y : Tensor([m, d], float32), t : Tensor([n], int64)) : Tensor([], float32) {\n"
        "  @sum(x * y) + @cross_entropy_loss(x, t)\n}\n"
    )
    alone = rx.check_source(text).diagnostics
    both = rx.check_source(f"{text}@df = grad @f wrt x, y").diagnostics
    assert [d.code for d in alone] == ["W311"] and [(d.code, d.message) for d in both] == [
        (d.code, d.message) for d in alone
    ]


def test_the_gradient_of_an_encoder_of_12_layers_adds_no_checks() -> None:
    layers = ", ".join(f"l{i} : Layer(h * k, f)" for i in range(12))
    body = "".join(f"  let x = @layer(x, l{i}, h)\n" for i in range(12))
    module = rx.loads(
        "type Layer(d, f) = (Tensor([d, d], float32), Tensor([d, d], float32), Tensor([f, d], float32),\n"
        "  Tensor([d, f], float32), Tensor([d], float32), Tensor([d], float32))\n"
        "@layer = fn(x : Tensor([b, s, h * k], float32), l : Layer(h * k, f), h : Size) : Tensor([b, s, h * k], float32)\n"
        "  where h >= 1, k >= 1 {\n  let (q, o, up, down, s1, s2) = l\n"
        "  let a = @permute_dims(@reshape(@linear(@rms_norm(x, s1), q), [b, s, h, k]), axes=[0, 2, 1, 3])\n"
        "  let w = @softmax(@matmul(a, @matrix_transpose(a)) / 8.0, axis=-1)\n"
        "  let y = @reshape(@permute_dims(@matmul(w, a), axes=[0, 2, 1, 3]), [b, s, h * k])\n"
        "  let x = x + @linear(y, o)\n  x + @linear(@gelu(@linear(@rms_norm(x, s2), up)), down)\n}\n"
        f"@loss = fn(x : Tensor([b, s, h * k], float32), {layers}, h : Size) : Tensor([], float32)\n"
        f"  where h >= 1, k >= 1 {{\n{body}  @mean(x * x)\n}}\n"
        f"@dloss = value_and_grad @loss wrt {', '.join(f'l{i}' for i in range(12))}\n"
    )
    assert module.dloss.residual == ()


def test_gradients_on_pytorch_are_those_on_numpy_and_of_its_own() -> None:
    torch = pytest.importorskip("torch")
    text = (
        "@f = fn(x : Tensor([n, d], float64), w : Tensor([d], float64), b : float64) : Tensor([], float64) {\n"
        "  @mean(@tanh(@matmul(x, w) + b) ** 2.0)\n}\n@df = grad @f wrt w, b"
    )
    rng = np.random.default_rng(2)
    args = [rng.normal(size=s) for s in ((5, 3), (3,), ())]
    here = rx.loads(text).df(*args)
    there = rx.loads(text, engine="torch").df(*map(torch.tensor, args))
    x, w, b = torch.tensor(args[0]), *(torch.tensor(a, requires_grad=True) for a in args[1:])
    torch.mean(torch.tanh(x @ w + b) ** 2).backward()
    for ours, engine, own in zip(here, there, (w.grad, b.grad), strict=True):
        np.testing.assert_allclose(ours, engine)
        np.testing.assert_allclose(ours, own)


def test_lengths_of_small_integers_count_as_others_do() -> None:
    found = []
    for dtype in ("uint8", "int8", "int64"):
        lengths = f"n : Tensor([b], {dtype}), m : Tensor([b], {dtype})"
        loss = f"""@loss = fn(x : Tensor([t, b, c], float64), y : Tensor([b, s], int64), {lengths}) : float64 {{
          @ctc_loss(@log_softmax(x, axis=-1), y, n, m)
        }}
        @d = grad @loss wrt x"""
        x, y = np.linspace(-1, 1, 4 * 3 * 5).reshape(4, 3, 5), np.array([[1, 2], [3, 1], [2, 4]])
        found.append(rx.loads(loss).d(x, y, np.array([4, 4, 3], dtype), np.array([2, 0, 1], dtype)))
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[2])
