"""What gradients have to do: values for small tensors, as they are told by hand."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.dps import pairs
from rxlang.memory.follow import peak
from support import memory


def test_a_truncated_axis_gets_zeros_behind() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64), k : Size) : Tensor([], float64) where 0 <= k, k <= n {\n"
        "  let y = x[0:k]\n  @sum(y * y)\n}\n@df = grad @f wrt x"
    )
    assert module.df.residual == ()
    np.testing.assert_array_equal(module.df(np.arange(1.0, 6.0), 3), [2, 4, 6, 0, 0])
    data = rx.loads(
        "@f = fn(x : Tensor([n], float64), k : int64) : Tensor([], float64) { @sum(@truncate(x, k) ** 2.0) }\n"
        "@df = grad @f wrt x"
    )
    np.testing.assert_array_equal(data.df(np.arange(1.0, 6.0), np.array(3)), [2, 4, 6, 0, 0])


SCATTER = """
@put = fn(x : Tensor([n, c], float64), at : Tensor([m, 1], int64), up : Tensor([m, 1, w], float64)) : Tensor([n, c], float64)
  where w <= c, n >= 1 {
  @scatter_slices(x, at, up)
}
@dput = vjp @put wrt x, up
@both = fn(x : Tensor([n, c], float64), at : Tensor([m, 1], int64), up : Tensor([m, 1, w], float64),
  g : Tensor([n, c], float64)) : Tensor([], float64) where w <= c, n >= 1 {
  let (gx, gup) = @dput(x, at, up, g)
  @sum(gx * g) + @sum(gup * gup * up)
}
@dboth = grad @both wrt up, g
"""


def test_windows_whose_width_is_a_size_are_checked_once() -> None:
    module = rx.loads(SCATTER)
    assert module.dput.residual == () and module.dboth.residual == ()
    g, at = np.arange(20.0).reshape(4, 5), np.array([[2]])
    for width, wanted in ((2, [10, 11]), (5, [10, 11, 12, 13, 14])):
        gx, gup = module.dput(np.zeros((4, 5)), at, np.zeros((1, 1, width)), g)
        np.testing.assert_array_equal(gup, [[wanted]])
        assert (gx[2, :width] == 0).all() and (np.delete(gx, 2, 0) == np.delete(g, 2, 0)).all()
        gu, gg = module.dboth(np.zeros((4, 5)), at, np.ones((1, 1, width)), g)
        np.testing.assert_array_equal(gu, gup * gup)
        np.testing.assert_array_equal(gg[2, :width], 2 * g[2, :width])
    with pytest.raises(rx.ShapeError, match="w is 6, c is 5"):
        module.dput(np.zeros((4, 5)), at, np.zeros((1, 1, 6)), g)


def test_sizes_of_windows_may_come_from_another_input() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n, c], float64), at : Tensor([m, 2], int64), like : Tensor([m, w], float64))\n"
        "  : Tensor([], float64) where w <= c, n >= 1 { @sum(@gather_slices(x, at, [1, w]) ** 2.0) }\n@df = grad @f wrt x"
    )
    assert module.df.residual == ()
    made = module.df(np.arange(20.0).reshape(4, 5), np.array([[1, 1]]), np.zeros((1, 2)))
    assert made.shape == (4, 5) and made[1, 1:3].tolist() == [12, 14] and made.sum() == 26


def test_a_mask_ties_forward_and_backward() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64), mask : Tensor([n], bool)) : Tensor([], float64) { @sum(@filter(x, mask) ** 2.0) }\n"
        "@df = grad @f wrt x"
    )
    assert module.df.residual == ()
    x = np.arange(1.0, 5.0)
    np.testing.assert_array_equal(module.df(x, np.array([True, False, True, False])), [2, 0, 6, 0])
    np.testing.assert_array_equal(module.df(x, np.zeros(4, bool)), np.zeros(4))


def test_arms_of_other_sizes_are_joined() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64), c : bool) : Tensor([], float64) {\n"
        "  @sum(if (c) { @concat([x, x], axis=0) } else { x * 2.0 })\n}\n@df = grad @f wrt x"
    )
    for c in (True, False):
        np.testing.assert_array_equal(module.df(np.arange(3.0), np.array(c)), [2, 2, 2])


def test_joined_axes_are_cut_apart_and_equal_elements_share() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64), y : Tensor([m], float64), w : Tensor([n + m], float64)) : Tensor([], float64) {\n"
        "  @sum(@concat([x, y], axis=0) * w)\n}\n@df = grad @f wrt x, y\n"
        "@most = fn(x : Tensor([n], float64)) : Tensor([], float64) where n >= 1 { @max(x) }\n@dmost = grad @most wrt x\n"
        "@rows = fn(x : Tensor([n, d], float64), at : Tensor([m], int64)) : Tensor([], float64) {\n"
        "  @sum(@take(x, at, axis=0)) }\n"
        "@drows = grad @rows wrt x"
    )
    gx, gy = module.df(np.zeros(3), np.zeros(2), np.arange(1.0, 6.0))
    assert gx.tolist() == [1, 2, 3] and gy.tolist() == [4, 5]
    np.testing.assert_array_equal(module.dmost(np.array([0.0, 1.0, 1.0])), [0, 0.5, 0.5])
    np.testing.assert_array_equal(module.drows(np.zeros((4, 2)), np.array([0, 2, 2]))[:, 0], [1, 0, 2, 0])


def test_what_the_function_checks_is_checked_before_any_work() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float32), y : Tensor([m], float32)) : Tensor([], float32) { @sum(x * y) }\n@df = grad @f wrt x"
    )
    assert {c.text for c in module.df.residual} == {c.text for c in module.f.residual} != set()
    with pytest.raises(rx.ShapeError, match="to be equal"):
        module.df(np.ones(2, np.float32), np.ones(3, np.float32))


def test_a_size_that_is_bounded_is_the_one_that_there_is() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64)) : Tensor([], float64) where n <= 8 { @sum(x * x, axis=0) }\n@df = grad @f wrt x\n"
        "@g = fn(x : Tensor([n, d], float64), mask : Tensor([n], bool)) : Tensor([d], float64) where n <= 8 {\n"
        "  @sum(@filter(x, mask) ** 2.0, axis=0)\n}\n@dg = vjp @g wrt x"
    )
    assert module.df.residual == () and module.dg.residual == ()
    assert [str(d) for d in module.df.shapes(x=("n",))] == ["n"]
    assert module.df(np.ones(3)).tolist() == [2, 2, 2]
    made = module.dg(np.ones((3, 2)), np.array([True, False, True]), np.array([1.0, 5.0]))
    np.testing.assert_array_equal(made, [[2, 10], [0, 0], [2, 10]])


NEVER = (
    "@sum(for i in range(0) with (c = x) { @sin(c) * x[i] })", "@sum(for i in range(3, 3) with (c = x) { @sin(c) })",
    "@sum(for i in range(e.dim(0)) with (c = x) { @sin(c) * e[i] })", "@sum(@fold(fn(c, r) { c * r }, x, e))",
    "@sum(@scan(fn(c, r) { (c * r, c) }, x, e)[0])",
    "@sum(for i in range(2, 2) with (c : Tensor([m], float64) = x) { @concat([c, x], axis=0) })",
)  # fmt: skip


@pytest.mark.parametrize("text", NEVER)
def test_a_loop_that_never_runs_hands_back_what_it_was_handed(text: str) -> None:
    module = rx.loads(
        f"@f = fn(x : Tensor([n], float64), e : Tensor([0, n], float64)) : Tensor([], float64) {{ {text} }}\n"
        "@df = grad @f wrt x, e"
    )
    gx, ge = module.df(np.arange(3.0), np.zeros((0, 3)))
    assert gx.tolist() == [1, 1, 1] and ge.shape == (0, 3)


ROWS = "@lin = fn(x : Tensor([*s, i], float64), w : Tensor([i, o], float64)) : Tensor([*s, o], float64) { HERE }\n"


@pytest.mark.parametrize("text", ["@matmul(x, w)", "@linear(x, @matrix_transpose(w))", "@dense(x, w)"])
def test_rows_of_any_number_of_axes_leave_no_checks(text: str) -> None:
    module = rx.loads(ROWS.replace("HERE", text) + "@d = vjp @lin wrt x, w")
    assert module.d.residual == ()
    for shape in ((2,), (3, 2), (4, 3, 2), (5, 4, 3, 2), (5, 0, 3, 2), (0,), (3, 0)):
        x, w = np.arange(float(np.prod(shape))).reshape(shape), np.arange(shape[-1] * 7.0).reshape(shape[-1], 7)
        g = np.ones((*shape[:-1], 7))
        gx, gw = module.d(x, w, g)
        np.testing.assert_allclose(gx, g @ w.T)
        np.testing.assert_allclose(gw, x.reshape(-1, shape[-1]).T @ g.reshape(-1, 7) if x.size else np.zeros(w.shape))


def test_no_message_says_a_name_that_nobody_wrote() -> None:
    text = (
        "@f = fn(x : Tensor([n], float64), w : Tensor([n], float64)) : Tensor([], float64) where n >= 1 {\n"
        "  let y = while (c.dim(0) < 9) with (c : Tensor([k], float64) = x) where k >= 1 { @concat([c, @sin(c)], axis=0) }\n"
        "  @sum(y * y) * @sum(w)\n}\n@df = grad @f wrt x, w"
    )
    report = rx.check_source(text)
    assert [d for d in report.diagnostics if d.code == "W311"] and "''" not in str(report)


KEPT = """{0}@attend = fn(q : Tensor([b, t, d], float32), k : Tensor([b, t, d], float32)) : Tensor([b, t, d], float32) {{
  @matmul(@softmax(@matmul(q, @matrix_transpose(k))), k)
}}
@loss = fn(x : Tensor([b, t, d], float32)) : Tensor([], float32) {{
  let y = @attend(x, x)
  let z = @attend(y, x)
  @mean(@square(@attend(z, y)))
}}
@d = grad @loss wrt x
"""


def test_what_is_computed_again_is_not_kept_and_the_memory_is_known() -> None:
    sizes, most = {"b": 4, "t": 200, "d": 16}, []
    for prefix in ("", "checkpoint "):
        module = rx.loads(KEPT.format(prefix))
        told = peak(module._checked.program, pairs(module._checked.program), "d").at(sizes)
        assert told == pytest.approx(memory.peak(module.d, np.ones((4, 200, 16), np.float32)), rel=0.02)
        most.append(told)
    assert most[1] < 0.75 * most[0]


def test_what_only_gives_its_shape_to_a_gradient_is_not_kept() -> None:
    turns = "  let x = @sin(@take(@stack([x, x, x], axis=0), 1, axis=0))\n" * 8
    text = (
        f"@loss = fn(x : Tensor([n], float32)) : Tensor([], float32) {{\n{turns}  @sum(x)\n}}\n@d = grad @loss wrt x\n"
    )
    module = rx.loads(text)
    told = peak(module._checked.program, pairs(module._checked.program), "d").at({"n": 10**4})
    assert told == pytest.approx(memory.peak(module.d, np.ones(10**4, np.float32)), rel=0.03)
    assert told < 4 * 10**4 * 18


def test_a_function_that_is_called_often_has_a_gradient_without_checks() -> None:
    kinds = "x : Tensor([b, d], float32), w : Tensor([d, d], float32), u : Tensor([d], float32)"
    calls = "  let x = @layer(x, w, u)\n" * 130
    text = (
        f"@layer = fn({kinds}) : Tensor([b, d], float32) {{ if (b > d) {{ @matmul(x, w) }} else {{ x * u }} }}\n"
        f"@f = fn({kinds}) : Tensor([], float32) {{\n{calls}  @sum(x)\n}}\n@d = grad @f wrt w, u\n"
    )
    assert rx.loads(text).d.residual == ()
