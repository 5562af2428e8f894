"""Rules of a program's own, functions that are computed again, and derivatives along a direction."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx

from .test_gradients import differences

F = "@f = fn(x : Tensor([n, m * 2], float64), w : Tensor([m * 2], float64)) : Tensor([n], float64) { @sum(@sin(x * w), 1) }\n"
RULE = """vjp @f = fn(x : Tensor([a, b], float64), w : Tensor([b], float64), g : Tensor([a], float64))
  : (Tensor([a, b], float64), Tensor([b], float64)) {
  let c = FACTOR @expand_dims(g, axis=1) * @cos(x * w)
  (c * w, @sum(c * x, axis=0))
}
"""
LOSS = """@loss = fn(x : Tensor([n, m * 2], float64), w : Tensor([m * 2], float64)) : Tensor([], float64) {
  @sum(@exp(@f(x, w)))
}
@d = grad @loss wrt x, w
"""


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def given() -> list[np.ndarray]:
    return [rng().normal(size=(3, 4)), rng().normal(size=4)]


def test_a_rule_is_used_in_the_place_of_the_derived_one() -> None:
    right = rx.loads(F + RULE.replace("FACTOR", "") + LOSS)
    doubled = rx.loads(F + RULE.replace("FACTOR", "2.0 *") + LOSS)
    assert right.d.residual == ()
    args = given()
    for made, twice, wanted in zip(right.d(*args), doubled.d(*args), differences(right.loss, args), strict=True):
        np.testing.assert_allclose(made, wanted, 1e-5)
        np.testing.assert_allclose(twice, 2.0 * wanted, 1e-5)
    assert [[str(d) for d in s] for s in right.d.shapes(x=("n", "m * 2"), w=("m * 2",))] == [["n", "m * 2"], ["m * 2"]]


def test_a_gradient_of_a_gradient_goes_through_a_rule() -> None:
    module = rx.loads(F + RULE.replace("FACTOR", "") + LOSS + "@dd = vjp @d wrt w\n@h = hessian_vector @loss wrt w\n")
    x, w = given()
    v = rng().normal(size=4)
    wanted = (module.d(x, w + 1e-6 * v)[1] - module.d(x, w - 1e-6 * v)[1]) / 2e-6
    np.testing.assert_allclose(module.h(x, w, v), wanted, 1e-5)
    np.testing.assert_allclose(module.dd(x, w, (np.zeros_like(x), v)), wanted, 1e-5)


OWN = {
    "a tuple in a tuple": (
        "type L(n) = (Tensor([n], float64), (Tensor([n], float64), Tensor([], float64)))\n"
        "@f = fn(l : L(n), k : Size) : (Tensor([n], float64), (Tensor([], float64), Tensor([n], float64))) {\n"
        "  let (a, more) = l\n  let (b, c) = more\n  (a * b, (@sum(b) * c, a * c))\n}\n"
        "vjp @f = fn(l : L(n), k : Size, g : (Tensor([n], float64), (Tensor([], float64), Tensor([n], float64)))) : L(n) {\n"
        "  let (a, more) = l\n  let (b, c) = more\n  let (u, rest) = g\n  let (v, w) = rest\n"
        "  (u * b + w * c, (u * a + v * c, v * @sum(b) + @sum(w * a)))\n}\n"
        "@loss = fn(x : Tensor([n], float64)) : Tensor([], float64) {\n"
        "  let (p, more) = @f((x * 2.0, (@sin(x), @sum(x))), 3)\n  let (q, r) = more\n"
        "  @sum(p * p) + q * q + @sum(@exp(r))\n}\n"
    ),
    "a primitive": (
        "vjp @pinv = fn(x : Tensor([n, m], float64), g : Tensor([m, n], float64)) : Tensor([n, m], float64) {\n"
        "  let p = @pinv(x)\n  let t = @matrix_transpose(p)\n  let h = @matrix_transpose(g)\n"
        "  let one = @matmul(@matmul(t, g), t)\n"
        "  let two = @matmul(@matmul(h - @matmul(@matmul(x, p), h), p), t)\n"
        "  let three = @matmul(@matmul(t, p), h - @matmul(@matmul(h, p), x))\n  two + three - one\n}\n"
        "@loss = fn(x : Tensor([n], float64)) : Tensor([], float64) {\n"
        "  let a = @stack([x, x * x, @sin(x)], axis=0)\n  @sum(@sin(@pinv(a)))\n}\n"
    ),
    "an arm and a loop": (
        "@f = fn(x : Tensor([n], float64)) : Tensor([n], float64) { @sin(x) }\n"
        "vjp @f = fn(x : Tensor([n], float64), g : Tensor([n], float64)) : Tensor([n], float64) { g * @cos(x) }\n"
        "@loss = fn(x : Tensor([n], float64)) : Tensor([], float64) {\n"
        "  let y = for i in range(3) with (c = x) { if (n > i) { @f(c) * x } else { c } }\n  @sum(y * y)\n}\n"
    ),
    "a function that is computed again": (
        "checkpoint @f = fn(x : Tensor([n], float64), k : Size) : (Tensor([n], float64), Tensor([], float64)) {\n"
        "  let y = for i in range(k) with (c = x) { @tanh(c) * x }\n  (y, @sum(y))\n}\n"
        "@loss = fn(x : Tensor([n], float64)) : Tensor([], float64) {\n"
        "  let (a, b) = @f(x, 2)\n  let (c, _) = if (n > 2) { @f(a, 3) } else { (a * 2.0, b) }\n  @sum(a * c) * b\n}\n"
    ),
    "functions that are called like primitives": (
        "@exp = fn(x : Tensor([n], float64)) : Tensor([n], float64) { x * 3.0 }\n"
        "@multiply = fn(x : Tensor([n], float64), y : Tensor([n], float64)) : Tensor([n], float64) { x - y }\n"
        "@loss = fn(x : Tensor([n], float64)) : Tensor([], float64) {\n"
        "  @sum(@sin(@exp(x)) * @prelude.exp(@multiply(x, x * x))) }\n"
    ),
}


@pytest.mark.parametrize("which", OWN)
def test_gradients_with_rules_are_those_of_central_differences(which: str) -> None:
    module = rx.loads(OWN[which] + "@d = grad @loss wrt x\n@h = hessian_vector @loss wrt x\n")
    assert {c.text for c in module.d.residual} <= {c.text for c in module.loss.residual}
    for n in (2, 3, 5, 1):
        x, v = 1.0 + 0.3 * rng().normal(size=n), rng().normal(size=n)
        np.testing.assert_allclose(module.d(x), differences(module.loss, [x])[0], 1e-4, 1e-6)
        wanted = (module.d(x + 1e-6 * v) - module.d(x - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(module.h(x, v), wanted, 1e-4, 1e-5)


def test_a_direction_goes_forward() -> None:
    text = (
        "@f = fn(x : Tensor([n, m], float64), w : Tensor([m], float64), k : Size)\n"
        " : (Tensor([n], float64), Tensor([m], float64)) {\n  let y = for i in range(k) with (c = x) { @tanh(c * w) + x }\n"
        "  (@logsumexp(y, axis=1), @max(y * y, axis=0))\n}\n"
    )
    module = rx.loads(text + "@j = jvp @f wrt x, w\n@k = jvp @f wrt w\n")
    x, w = rng().normal(size=(3, 2)), rng().normal(size=2)
    vx, vw = rng().normal(size=(3, 2)), rng().normal(size=2)
    made = module.j(x, w, 2, (vx, vw))
    above, below = (module.f(x + s * vx, w + s * vw, 2) for s in (1e-6, -1e-6))
    for got, a, b in zip(made, above, below, strict=True):
        np.testing.assert_allclose(got, (a - b) / 2e-6, 1e-5, 1e-7)
    np.testing.assert_array_equal(module.f.jvp("w")(x, w, 2, vw)[0], module.k(x, w, 2, vw)[0])
    loss = rx.loads("@q = fn(x : Tensor([n], float64)) : Tensor([], float64) { @sum(x * x * x) }")
    np.testing.assert_allclose(loss.q.hessian_vector("x")(w, vw), 6 * w * vw)


REFUSED = (
    ("vjp @f = fn(x : Tensor([n], float64), g : Tensor([n], float64)) : Tensor([n], float64) { g }", "E205"),
    ("vjp @f = fn(x : Tensor([n, m], float64), w : Tensor([m], float64), g : Tensor([m], float64)) "
     ": (Tensor([n, m], float64), Tensor([m], float64)) { (x * g, w * g) }", "W311"),
    ("vjp @f = fn(x : Tensor([n, m], float64), w : Tensor([m], float64), g : Tensor([n], float64)) "
     ": (Tensor([n, m], float64), Tensor([n], float64)) { (x, g) }", "W311"),
    ("vjp @f = fn(x : Tensor([n, m], float64), w : Tensor([m], float64), g : Tensor([n], float64)) "
     ": Tensor([n, m], float64) { x }", "E206"),
    ("vjp @sin = fn(x : Tensor([n], float64), g : Tensor([n], float64)) : Tensor([m], float64) { @zeros([m]) }", "E201"),
    ("vjp @nope = fn(x : Tensor([n], float64), g : Tensor([n], float64)) : Tensor([n], float64) { g }", "E202"),
    ("vjp @sin = fn(y : Tensor([n], float64), g : Tensor([n], float64)) : Tensor([n], float64) { g }", "E205"),
    ("vjp @sin = fn(x : Tensor([n], float64), g : Tensor([n, 2], float64)) : Tensor([n], float64) { x }", "E301"),
    ("vjp @sin = fn(x : Tensor([n], int64), g : Tensor([n], float64)) : Tensor([n], int64) { x }", "E231"),
    ("vjp @sin = fn() : Tensor([n], float64) { 0.0 }", "E205"),
    (RULE.replace("FACTOR", "") + RULE.replace("FACTOR", ""), "E203"),
    ("checkpoint inline @h = fn(x : Tensor) : Tensor { x }", "E214"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_a_rule_that_does_not_fit_is_refused_where_it_stands(text: str, code: str) -> None:
    found = [d for d in rx.check_source(F + text).diagnostics if d.severity != "note"]
    assert code in [d.code for d in found], found
    assert all(d.span.start >= len(F) for d in found)
    assert not any("vjp_" in d.message or "''" in d.message for d in found), found


def test_an_extern_with_a_rule_has_a_gradient() -> None:
    text = (
        'extern @outside = fn(x : Tensor([n], float64)) : Tensor([n], float64) = "numpy:sin"\n'
        "vjp @outside = fn(x : Tensor([n], float64), g : Tensor([n], float64)) : Tensor([n], float64) { g * @cos(x) }\n"
        "@f = fn(x : Tensor([n], float64)) : Tensor([], float64) { @sum(@outside(x) * x) }\n@df = grad @f wrt x\n"
        "@d = vjp @outside wrt x\n"
    )
    module = rx.loads(text, allow_extern=True)
    x = rng().normal(size=3)
    np.testing.assert_allclose(module.df(x), np.cos(x) * x + np.sin(x))
    np.testing.assert_allclose(module.d(x, x), np.cos(x) * x)
