"""What gradients have to do: values for small tensors, as they are told by hand."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx


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
