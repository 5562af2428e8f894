"""Decompositions, inverses and norms: shapes as predicted, results that satisfy what defines them, in batches and of size 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rxlang.interp.kernels.registry import BadValue
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.dtypes_column import parse_dtypes, part_of
from support import ops

batches = st.lists(st.integers(0, 3), max_size=2)
sizes = st.integers(0, 4)
dtypes = st.sampled_from(["float32", "float64", "complex64", "complex128"])
seeds = st.integers(0, 99)
cases = settings(max_examples=40, deadline=None)


def matrix(shape: Any, dtype: str, seed: int) -> Any:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=tuple(shape))
    return (numbers + 1j * random.normal(size=tuple(shape)) if dtype.startswith("c") else numbers).astype(dtype)


def regular(batch: Any, n: int, dtype: str, seed: int) -> Any:
    """Square matrices that are far from singular."""
    return (matrix((*batch, n, n), dtype, seed) + 4 * np.eye(n)).astype(dtype)


def hermitian(x: Any) -> Any:
    return np.swapaxes(x, -1, -2).conj()


def near(made: Any, expected: Any) -> None:
    single = np.asarray(made).dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(made, expected, *((2e-3, 2e-3) if single else (1e-9, 1e-9)))


@given(batches, sizes, sizes, dtypes, seeds)
@cases
def test_decompositions_multiply_to_their_operand(batch: Any, m: int, n: int, dtype: str, seed: int) -> None:
    x = matrix((*batch, m, n), dtype, seed)
    k = min(m, n)
    for mode, inner in (("reduced", k), ("complete", m)):
        q, r = ops.call("qr", x=x, mode=mode)
        near(q @ r, x)
        near(hermitian(q) @ q, np.broadcast_to(np.eye(inner), (*batch, inner, inner)))
        near(np.tril(r, -1), 0)
    for full in (True, False):
        u, s, vh = ops.call("svd", x=x, full_matrices=full)
        near(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x)
        assert s.dtype == x.real.dtype
    near(ops.call("svdvals", x=x), s)
    near(ops.call("pinv", x=x) @ x @ ops.call("pinv", x=x), ops.call("pinv", x=x))
    np.testing.assert_array_equal(ops.call("matrix_rank", x=x), np.full(batch, k))


@given(batches, sizes, dtypes, seeds)
@cases
def test_eigenvectors_are_stretched_by_their_eigenvalues(batch: Any, n: int, dtype: str, seed: int) -> None:
    x = matrix((*batch, n, n), dtype, seed)
    symmetric = x + hermitian(x)
    values, vectors = ops.call("eigh", x=symmetric)
    near(symmetric @ vectors, vectors * values[..., None, :])
    near(ops.call("eigvalsh", x=symmetric), values)
    values, vectors = ops.call("eig", x=x)
    near(x @ vectors, vectors * values[..., None, :])
    near(np.sum(ops.call("eigvals", x=x), -1), np.trace(x, axis1=-2, axis2=-1))
    assert values.dtype.kind == "c"


@given(batches, sizes, sizes, dtypes, seeds, st.booleans())
@cases
def test_inverses_and_solutions_undo_products(batch: Any, n: int, k: int, dtype: str, seed: int, one: bool) -> None:
    x = regular(batch, n, dtype, seed)
    unit = np.broadcast_to(np.eye(n), x.shape)
    near(x @ ops.call("inv", x=x), unit)
    y = matrix((*batch[1:], n, k), dtype, seed + 1)
    near(x @ ops.call("solve", x=x, y=y), np.broadcast_to(y, (*batch, n, k)))
    y = matrix((n,), dtype, seed + 1)
    near((x @ ops.call("solve", x=x, y=y)[..., None])[..., 0], np.broadcast_to(y, (*batch, n)))
    near(ops.call("matrix_power", x=x, n=3), x @ x @ x)
    near(ops.call("matrix_power", x=x, n=-2) @ x @ x, unit)
    near(ops.call("matrix_power", x=x, n=0), unit)
    positive = (x @ hermitian(x) + np.eye(n)).astype(dtype)
    for upper in (False, True):
        root = ops.call("cholesky", x=positive, upper=upper)
        near(hermitian(root) @ root if upper else root @ hermitian(root), positive)
    sign, log = ops.call("slogdet", x=x)
    near(sign * np.exp(log), ops.call("det", x=x))
    near(ops.call("det", x=x), np.prod(np.linalg.eigvals(x), -1) if n else np.ones(batch))


@given(batches, st.integers(1, 4), st.integers(1, 4), dtypes, seeds, st.booleans())
@cases
def test_norms_are_numpys(batch: Any, m: int, n: int, dtype: str, seed: int, keepdims: bool) -> None:
    x = matrix((*batch, m, n), dtype, seed)
    for ord in ("fro", "nuc", "inf", "-inf", "1", "-1", "2", "-2"):
        how: Any = ord if ord in ("fro", "nuc") else float(ord)
        near(ops.call("matrix_norm", x=x, ord=ord, keepdims=keepdims),
             np.linalg.norm(x, how, (-2, -1), keepdims))  # fmt: skip
    for order in (2.0, 1.0, 3.0, 0.0, np.inf, -np.inf):
        made = ops.call("vector_norm", x=x, axis=(-1,), ord=order, keepdims=keepdims)
        near(made, np.linalg.norm(x, order, -1, keepdims))
    near(ops.call("vector_norm", x=x), np.sqrt(np.sum(np.abs(x) ** 2)))


def test_nothing_has_a_largest_magnitude_and_no_smallest_one() -> None:
    x = np.ones((2, 0))
    assert ops.call("vector_norm", x=x, axis=(1,), ord=np.inf).tolist() == [0, 0]
    assert "at least 1" in ops.refusal("vector_norm", x=x, axis=(1,), ord=-np.inf)
    assert "at least 1" in ops.refusal("vector_norm", x=x, ord=-np.inf, keepdims=True)


def test_what_is_no_matrix_or_not_square_is_refused() -> None:
    x = np.ones((2, 3, 4), np.float32)
    for name in ("det", "slogdet", "inv", "cholesky", "eigh", "eigvalsh", "eig", "eigvals"):
        assert ops.refusal(name, x=x) == "axis 1 of `x` and axis 2 of `x` to be equal"
        assert "rank 2 or more" in ops.refusal(name, x=x[0, 0])
        assert "float64" in ops.refusal(name, x=np.ones((2, 2), np.int64))
    assert ops.refusal("solve", x=x[:, :, :3], y=x[0, :2]) == "axis 1 of `x` and axis 0 of `y` to be equal"
    assert ops.refusal("solve", x=x[:, :, :3], y=x[0, 0]) == "axis 1 of `x` and axis 0 of `y` to be equal"
    assert "axis -3" in ops.refusal("solve", x=x[:, :, :3], y=np.ones((5, 3, 1), np.float32))
    assert "at least 1" in ops.refusal("matrix_norm", x=x[:, :0], ord="2")
    assert "`other`" in ops.refusal("qr", x=x, mode="other") or "other" in ops.refusal("qr", x=x, mode="other")


@pytest.mark.parametrize("name", ["inv", "matrix_power", "solve", "cholesky"])
def test_a_matrix_for_which_there_is_no_result_ends_the_run(name: str) -> None:
    more = {"matrix_power": {"n": -1}, "solve": {"y": np.ones(2)}}.get(name, {})
    with pytest.raises(BadValue, match="`x` holds a matrix"):
        ops.call(name, x=np.zeros((3, 2, 2)), **more)


def test_shapes_of_symbolic_matrices_are_those_of_the_numbers() -> None:
    m, n = ops.symbols("m", "n")
    envs = ops.grid("m", "n", sizes=range(4))
    x = ops.TensorInfo((5, m, n), DTYPES["float32"])
    right = ops.TensorInfo((n, 7), DTYPES["float32"])
    for name in ("qr", "svd", "svdvals", "pinv", "matrix_rank", "det", "slogdet", "inv", "cholesky", "eigh", "eigvals"):
        ops.agrees(name, envs, x=x)
    ops.agrees("svd", envs, x=x, full_matrices=False)
    ops.agrees("qr", envs, x=x, mode="complete")
    ops.agrees("solve", envs, x=x, y=right)
    ops.agrees("matrix_norm", envs, x=x, ord="1")
    ops.agrees("matrix_power", envs, x=x, n=m)


def test_a_result_may_be_the_real_or_the_complex_part_of_its_operands_dtype() -> None:
    real, pair = parse_dtypes("T:inexact -> real(T), complex(T)").results
    assert (real.var, real.part, pair.part) == ("T", "real", "complex")
    assert part_of(real, DTYPES["complex128"]) == DTYPES["float64"]
    assert part_of(real, DTYPES["bfloat16"]) == DTYPES["bfloat16"]
    assert part_of(pair, DTYPES["float32"]) == DTYPES["complex64"]
