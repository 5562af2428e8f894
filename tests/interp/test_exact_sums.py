"""Float32 sums, means, variances and norms of 10^6 elements are within 1e-5 of float64, whichever axes they go along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import ops

Array = np.ndarray[Any, Any]
Along = tuple[int, ...]
MOST = 1e-5
# A shape of 10^6 elements (of one without a result for each element), the order in which they lie, and the axes.
CASES: list[tuple[tuple[int, ...], str, Along]] = [
    ((1_000_000,), "C", (0,)),
    ((250_000, 4), "C", (0,)),
    ((4, 250_000), "C", (1,)),
    ((250_000, 4), "F", (0,)),
    ((4, 250_000), "F", (1,)),
    ((1_000, 2_003), "C", (0,)),
    ((100, 100, 50, 2), "C", (0, 1, 2)),
    ((100, 5, 2_000), "C", (0, 2)),
    ((2, 3, 170_001), "F", (1, 2)),
    ((2, 500_000, 1), "C", (1, 2)),
]
REDUCTIONS: dict[str, Callable[[Array, Along], Array]] = {
    "sum": lambda x, axis: x.sum(axis),
    "mean": lambda x, axis: x.mean(axis),
    "var": lambda x, axis: x.var(axis),
    "std": lambda x, axis: x.std(axis),
    "logsumexp": lambda x, axis: np.log(np.exp(x).sum(axis)),
    "vector_norm": lambda x, axis: np.sqrt((x * x).sum(axis)),
}


def drawn(shape: tuple[int, ...], order: str = "C") -> Array:
    """Floats around 3: where they are added up one after the other, what is lost grows with their number."""
    x = (np.random.default_rng(0).standard_normal(shape) + 3).astype(np.float32)
    return np.asfortranarray(x) if order == "F" else x


def error(made: Any, exact: Any) -> float:
    assert made.dtype == np.float32
    return float(np.max(np.abs(made.astype(np.float64) - exact) / np.abs(exact)))


@pytest.mark.parametrize(("shape", "order", "axes"), CASES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_near_those_in_float64(name: str, shape: tuple[int, ...], order: str, axes: Along) -> None:
    x = drawn(shape, order)
    assert error(ops.call(name, x=x, axis=axes), REDUCTIONS[name](x.astype(np.float64), axes)) < MOST


@pytest.mark.parametrize("order", [0.5, 1.0, 3.0])
def test_norms_of_other_orders_are_near_those_in_float64(order: float) -> None:
    x = drawn((250_000, 4))
    exact = np.linalg.vector_norm(x.astype(np.float64), axis=0, ord=order)
    assert error(ops.call("vector_norm", x=x, axis=(0,), ord=order), exact) < MOST


@pytest.mark.parametrize("order", ["fro", "1", "-1", "inf", "-inf"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_matrices_are_near_those_in_float64(order: str, keepdims: bool) -> None:
    x = drawn((2, 250_000, 2))
    exact = np.linalg.matrix_norm(
        x.astype(np.float64), ord=order if order == "fro" else float(order), keepdims=keepdims
    )
    made = ops.call("matrix_norm", x=x, ord=order, keepdims=keepdims)
    assert made.shape == exact.shape
    assert error(made, exact) < MOST


@pytest.mark.parametrize(("shape", "axis"), [((250_000, 4), 0), ((4, 250_000), 1), ((2, 20_001, 3), 1)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", ["plain", "include_initial", "exclusive"])
def test_running_sums_are_near_those_in_float64(shape: tuple[int, ...], axis: int, reverse: bool, kind: str) -> None:
    x = drawn(shape)
    options = {} if kind == "plain" else {kind: True}
    made = ops.call("cumulative_sum", x=x, axis=axis, reverse=reverse, **options)
    exact = ops.call("cumulative_sum", x=x.astype(np.float64), axis=axis, reverse=reverse, **options)
    np.testing.assert_allclose(exact, running(x.astype(np.float64), axis, reverse, kind), rtol=1e-9)
    np.testing.assert_allclose(made, exact, rtol=MOST)


def running(x: Array, axis: int, reverse: bool, kind: str) -> Array:
    """The same by NumPy: the running sums, shifted by one where they begin with 0."""
    x = np.flip(x, axis) if reverse else x
    zero = np.zeros_like(x.take([0], axis))
    sums = np.cumsum(x if kind == "plain" else np.concatenate([zero, x], axis), axis)
    sums = np.delete(sums, -1, axis) if kind == "exclusive" else sums
    return np.flip(sums, axis) if reverse else sums


@pytest.mark.parametrize("name", ["segment_sum", "segment_mean"])
def test_sums_of_segments_are_near_those_in_float64(name: str) -> None:
    x, ids = drawn((250_000, 4)), np.arange(250_000) % 3
    parts = [x[ids == i].astype(np.float64) for i in range(3)]
    exact = np.stack([p.sum(0) if name == "segment_sum" else p.mean(0) for p in parts])
    assert error(ops.call(name, x=x, ids=ids, count=3), exact) < MOST


def test_rows_of_a_million_are_normalised_as_in_float64() -> None:
    x, wide = drawn((2, 1_000_000)), drawn((2, 1_000_000)).astype(np.float64)
    made = ops.call("layer_norm", x=x, scale=np.ones(1_000_000, np.float32))
    exact = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(made, exact, rtol=MOST, atol=MOST)


def test_integers_and_few_elements_are_added_up_as_numpy_does_to_the_last_bit() -> None:
    random = np.random.default_rng(1)
    for shape, axis in (((30, 40), (0,)), ((5, 7, 11), (0, 2)), ((2_000, 3), (0,))):
        x = random.standard_normal(shape).astype(np.float32)
        np.testing.assert_array_equal(ops.call("sum", x=x, axis=axis), x.sum(axis))
    x = random.integers(-(2**31), 2**31, (250_000, 3)).astype(np.int32)
    np.testing.assert_array_equal(ops.call("sum", x=x, axis=(0,)), x.sum(0, dtype=np.int32))


def test_nothing_and_infinities_are_added_up_too() -> None:
    assert ops.call("sum", x=np.zeros((0, 5_000), np.float32), axis=(0,)).tolist() == [0.0] * 5_000
    assert ops.call("sum", x=np.zeros((5_000, 0), np.float32), axis=(0,)).shape == (0,)
    x = np.ones((5_000, 2), np.float32)
    x[4_999, 0], x[7, 1] = np.inf, np.nan
    made = ops.call("sum", x=x, axis=(0,))
    assert made[0] == np.inf and np.isnan(made[1])


def test_a_turn_of_k_means_on_many_rows_is_near_that_in_float64() -> None:
    step = """@step = fn(x : Tensor([n, d], T), c : Tensor([k, d], T)) : Tensor([k, d], T) where n >= 1, d >= 1, k >= 1 {
      let mean = @mean(x, axis=0, keepdims=true)
      let z = (x - mean) / (@sqrt(@mean((x - mean) * (x - mean), axis=0, keepdims=true)) + 1e-6)
      let far = @sum(c * c, axis=1) - 2.0 * @matmul(z, @matrix_transpose(c))
      let mine = @cast(@one_hot(@argmin(far, axis=1), k), T)
      @matmul(@matrix_transpose(mine), z) / @expand_dims(@maximum(@sum(mine, axis=0), 1.0), axis=1)
    }""".replace("T)", "float32)")
    x, c = drawn((250_000, 8)), np.random.default_rng(2).standard_normal((5, 8)).astype(np.float32)
    made = rx.loads(step).step(x, c)
    exact = rx.loads(step.replace("float32", "float64")).step(x.astype(np.float64), c.astype(np.float64))
    # A row between two centres may go to another one: of so many, few do.
    np.testing.assert_allclose(made, exact, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_a_broadcast_axis_is_added_up_in_parts_too(name: str) -> None:
    x = np.broadcast_to(np.array([0.1, 2.7, 3.3], np.float32), (300_000, 3))
    exact = getattr(x.astype(np.float64), name)(0)
    np.testing.assert_allclose(ops.call(name, x=x, axis=(0,)), exact, rtol=MOST, atol=1e-6)
