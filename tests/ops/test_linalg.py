"""The linear algebra family: what a rule predicts over ints is what the kernel makes, and the kernel is plain NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal as same
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.einsum import parse_equation
from rxlang.ops.ground import Violation
from rxlang.ops.model import RankUnknown, Segment, TensorInfo
from rxlang.ops.requirements import places
from support import ops

size = st.integers(0, 4)
dtypes = st.sampled_from(["float32", "float64", "int8", "int64", "complex64"])


def array(shape: Any, dtype: str = "float64", seed: int = 0) -> np.ndarray[Any, Any]:
    """Small whole numbers, so that sums are exact in every dtype."""
    numpy_dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    return np.random.default_rng(seed).integers(-2, 3, tuple(shape)).astype(numpy_dtype)


def info(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return TensorInfo(value.shape, DTYPES[value.dtype.name])
    if isinstance(value, list):
        return tuple(info(v) for v in value)
    return value


def refused(name: str, **values: Any) -> tuple[str, Any]:
    with pytest.raises(Violation) as caught:
        ops.predict(name, **values)
    return str(caught.value), places(caught.value.asked)


def test_every_row_of_the_family_has_a_kernel_with_its_parameters_and_a_doc() -> None:
    ours = ops.rows_of("linalg")
    assert len(ours) >= 8
    for row in ours:
        assert list(inspect.signature(kernels.lookup(row.name)).parameters) == [p.name for p in row.params]
        assert len(row.doc) > 30


# Products


@given(st.lists(size, max_size=2), st.lists(st.booleans(), min_size=4, max_size=4), size, size, size, dtypes)
def test_matmul_is_numpys(batch: list[int], ones: list[bool], m: int, k: int, n: int, dtype: str) -> None:
    x_batch = [1 if one else d for d, one in zip(batch, ones, strict=False)]
    y_batch = [1 if one else d for d, one in zip(batch, ones[2:], strict=False)][len(batch) // 2 :]
    x, y = array([*x_batch, m, k], dtype), array([*y_batch, k, n], dtype, 1)
    same(ops.call("matmul", x=x, y=y), x @ y)
    row, column = array([k], dtype, 2), array([k], dtype, 3)
    same(ops.call("matmul", x=x, y=column), x @ column)
    same(ops.call("matmul", x=row, y=y), row @ y)
    same(ops.call("matmul", x=row, y=column), row @ column)


def test_matmul_blames_the_contracted_axes_and_refuses_scalars() -> None:
    a = array([2, 3])
    assert refused("matmul", x=a, y=array([4, 5])) == (
        "axis 1 of `x` and axis 0 of `y` to be equal",
        (("x", 1), ("y", 0)),
    )
    assert refused("matmul", x=a, y=array([4]))[0] == "axis 1 of `x` and axis 0 of `y` to be equal"
    assert "`y` to have rank 1 or more" in refused("matmul", x=a, y=array([]))[0]
    what, at = refused("matmul", x=array([2, 4, 3]), y=array([5, 3, 4]))
    assert "axis -3" in what
    assert at == (("x", -3), ("y", -3))


@pytest.mark.parametrize("name", ["matmul", "vecdot", "tensordot"])
def test_products_of_small_floats_keep_their_dtype(name: str) -> None:
    x = array([3, 3], "bfloat16")
    values = {"axes": 1} if name == "tensordot" else {}
    assert ops.call(name, x=x, y=x, **values).dtype == x.dtype


@given(st.lists(size, max_size=3), size, size, st.booleans(), dtypes)
def test_linear_is_a_product_with_the_transpose(batch: list[int], i: int, o: int, biased: bool, dtype: str) -> None:
    x, weight = array([*batch, i], dtype), array([o, i], dtype, 1)
    bias = array([o], dtype, 2) if biased else None
    expected = x @ weight.T + (bias if bias is not None else np.zeros(o, x.dtype))
    same(ops.call("linear", x=x, weight=weight, **({"bias": bias} if biased else {})), expected)


def test_linear_blames_weight_and_bias() -> None:
    x, weight = array([2, 3]), array([5, 3])
    assert refused("linear", x=array([2, 4]), weight=weight)[0] == "axis 1 of `x` and axis 1 of `weight` to be equal"
    assert refused("linear", x=x, weight=weight, bias=array([3]))[1] == (("bias", 0), ("weight", 0))
    assert "`weight` to have rank 2" in refused("linear", x=x, weight=array([3]))[0]
    assert "`bias` to have rank 1" in refused("linear", x=x, weight=weight, bias=array([]))[0]


@given(st.lists(size, min_size=2, max_size=3), st.lists(size, max_size=1), st.integers(0, 2), dtypes)
def test_tensordot_contracts_pairs_of_axes(left: list[int], right: list[int], axes: int, dtype: str) -> None:
    x, y = array(left, dtype), array([*left[len(left) - axes :], *right], dtype, 1)
    same(ops.call("tensordot", x=x, y=y, axes=axes), np.tensordot(x, y, axes))
    lists = tuple(range(-axes, 0)), tuple(range(axes))
    same(ops.call("tensordot", x=x, y=y, x_axes=lists[0], y_axes=lists[1]), np.tensordot(x, y, axes))


def test_tensordot_refuses_bad_axes() -> None:
    x, y = array([2, 3]), array([4, 2])
    assert refused("tensordot", x=x, y=y, axes=1)[0] == "axis 1 of `x` and axis 0 of `y` to be equal"
    assert "between 0 and 2" in refused("tensordot", x=x, y=y, axes=3)[0]
    assert "both of x_axes and y_axes" in refused("tensordot", x=x, y=y, x_axes=(0,))[0]
    assert "as many axes" in refused("tensordot", x=x, y=y, x_axes=(0,), y_axes=(1, 0))[0]
    same(ops.call("tensordot", x=x, y=y, x_axes=(0,), y_axes=(1,)), np.tensordot(x, y, ([0], [1])))


@given(st.lists(size, max_size=2), size, dtypes)
def test_vecdot_and_outer_are_numpys(batch: list[int], n: int, dtype: str) -> None:
    x, y = array([*batch, n], dtype), array([n], dtype, 1)
    same(ops.call("vecdot", x=x, y=y), np.vecdot(x, y))
    z = array([*batch, n], dtype, 2)
    same(ops.call("vecdot", x=x, y=z, axis=0), np.vecdot(x, z, axis=0))
    same(ops.call("outer", x=y, y=array([3], dtype)), np.outer(y, array([3], dtype)))


@given(st.lists(size, max_size=2), dtypes)
@settings(max_examples=30, deadline=None)
def test_cross_is_numpys(batch: list[int], dtype: str) -> None:
    x, y = array([*batch, 3], dtype), array([3], dtype, 1)
    same(ops.call("cross", x=x, y=y), np.cross(x, y))
    x = array([3, *batch], dtype)
    same(ops.call("cross", x=x, y=x[::-1].copy(), axis=0), np.cross(x, x[::-1], axis=0))


def test_vector_products_refuse_what_does_not_fit() -> None:
    assert refused("vecdot", x=array([2, 3]), y=array([2]))[0] == "axis 1 of `x` and axis 0 of `y` to be equal"
    assert refused("cross", x=array([2]), y=array([3]))[0] == "axis 0 of `x` to be 3"
    assert "rank 1" in refused("outer", x=array([2, 2]), y=array([3]))[0]


@given(st.lists(size, max_size=2), size, size, st.integers(-5, 5), dtypes)
def test_diagonal_and_trace_are_numpys(batch: list[int], m: int, n: int, offset: int, dtype: str) -> None:
    x = array([*batch, m, n], dtype)
    same(ops.call("diagonal", x=x, offset=offset), np.diagonal(x, offset, -2, -1))
    same(ops.call("trace", x=x, offset=offset), np.trace(x, offset, -2, -1, dtype=x.dtype))
    assert "rank 2 or more" in refused("trace", x=array([3]))[0]


# Einsum

EQUATIONS = [
    "ij,jk->ik", "ij,kj", "bij,bjk->bik", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "ij->ji", "ij->", "ii", "ii->i", "iij->ij",
    "i,i->", "i,j->ij", "i,i->i", "ij,ij->ij", "ijk,jil->kl", "ab,cd->abcd", "ijj,jk->ik", "...ij,...jk->...ik", "...ij,jk",
    "i...->...", "...i,...i->...", "...ij,...j->...i", "a...b,b->...a", "ij,jk,kl->il", "...i,i,...i->...", "ij,k->j",
    "->", ",->", "i,->i", "ba", "b a , a c -> b c",
]  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
@given(sizes=st.lists(size, min_size=26, max_size=26), dots=st.lists(size, max_size=2), seed=st.integers(0, 9),
       dtype=dtypes)  # fmt: skip
@settings(max_examples=12, deadline=None)
def test_einsum_is_numpys(equation: str, sizes: list[int], dots: list[int], seed: int, dtype: str) -> None:
    random = np.random.default_rng(seed)
    xs = []
    for n, term in enumerate(equation.replace(" ", "").split("->")[0].split(",")):
        spread = [int(random.choice([1, d])) for d in dots][int(random.integers(0, len(dots) + 1)) :]
        head, has_dots, tail = term.partition("...")
        shape = [sizes[ord(c) - 97] for c in head] + (spread if has_dots else []) + [sizes[ord(c) - 97] for c in tail]
        xs.append(array(shape, dtype, n))
    same(ops.call("einsum", equation=equation, xs=xs), np.einsum(equation, *xs))


def test_einsum_of_small_floats_keeps_their_dtype() -> None:
    x = array([2, 3], "bfloat16")
    same(ops.call("einsum", equation="ij,kj->ik", xs=[x, x]), x @ x.T)
    same(ops.call("einsum", equation="ij->j", xs=[x]), x.astype(np.float32).sum(0))


@pytest.mark.parametrize(
    ("equation", "shapes", "part"),
    [
        ("ij,jk->ik", [[2, 3], [4, 5]], "axis 1 of `xs[0]` and axis 0 of `xs[1]`, both `j`, to be equal"),
        ("ii->i", [[2, 3]], "axis 0 of `xs[0]` and axis 1 of `xs[0]`, both `i`, to be equal"),
        ("ij,jk->ik", [[2, 3]], "as many terms in the equation as tensors in `xs`, but they are 2 and 1"),
        ("ij->i", [[2, 3, 4]], "`xs[0]` to have rank 2 (`ij`), but its rank is 3"),
        ("...ij->i", [[2]], "`xs[0]` to have rank 2 or more (`...ij`), but its rank is 1"),
        ("ij->ii", [[2, 3]], "`i` stands there twice"),
        ("ij->k", [[2, 3]], "`k` is in none"),
        ("i.j->i", [[2, 3]], "letters, commas"),
        ("ij->i->j", [[2, 3]], "letters, commas"),
        ("i->...i", [[2]], '"..." in a term of the equation'),
        ("...i->i", [[2, 3]], '"..." in the result of the equation'),
        ("...i,...i->...i", [[2, 3], [4, 3]], "axis -2 of `xs[0]` and axis -2 of `xs[1]` to be equal"),
        ("...ij,...j->...i", [[2, 4, 3], [5, 3]], "an axis of `xs[0]` and an axis of `xs[1]` to be equal"),
    ],
)
def test_an_equation_that_does_not_fit_is_refused_with_the_reason(
    equation: str, shapes: list[list[int]], part: str
) -> None:
    assert part in refused("einsum", equation=equation, xs=[array(s) for s in shapes])[0]


def test_an_equation_without_a_result_has_its_single_labels_in_order() -> None:
    implied = parse_equation("...jk,ik")
    assert not isinstance(implied, str)
    assert str(implied.result) == "...ij"


def test_einsum_of_two_operands_is_one_matrix_product(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k = (array([4, 6, 3, 5], "float32", seed) for seed in (0, 1))
    wanted = np.einsum("bqhd,bkhd->bhqk", q, k)
    monkeypatch.delattr(np, "einsum")
    np.testing.assert_allclose(kernels.lookup("einsum")("bqhd,bkhd->bhqk", [q, k]), wanted, rtol=1e-5)


# Shapes with unknown parts


BATCH = Segment("batch")


def tensor(*shape: Any) -> TensorInfo:
    return TensorInfo(shape, DTYPES["float32"])


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("matmul", (tensor(BATCH, 2, 3), tensor(BATCH, 3, 5)), (BATCH, 2, 5)),
        ("matmul", (tensor(BATCH, 2, 3), tensor(3, 5)), (BATCH, 2, 5)),
        ("matmul", (tensor(BATCH, 3), tensor(3, 5)), (BATCH, 5)),
        ("matmul", (tensor(BATCH, 3), tensor(3)), (BATCH,)),
        ("matmul", (tensor(3), tensor(BATCH, 3, 5)), (BATCH, 5)),
        ("linear", (tensor(BATCH, 3), tensor(5, 3)), (BATCH, 5)),
        ("einsum", ("...ij,...jk->...ik", (tensor(BATCH, 2, 3), tensor(BATCH, 3, 5))), (BATCH, 2, 5)),
        ("einsum", ("...i,oi->...o", (tensor(BATCH, 3), tensor(5, 3))), (BATCH, 5)),
        ("vecdot", (tensor(BATCH, 3), tensor(BATCH, 3)), (BATCH,)),
        ("diagonal", (tensor(BATCH, 3, 4),), (BATCH, 3)),
        ("trace", (tensor(BATCH, 3, 4),), (BATCH,)),
    ],
)
def test_leading_unknown_axes_pass_through(name: str, args: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert ops.opened(name, *args) == expected


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("matmul", (tensor(BATCH, 2, 3), tensor(7, 3, 5))),
        ("matmul", (tensor(BATCH, 3), tensor(7, 3, 5))),
        ("matmul", (tensor(2, 3), tensor(BATCH, 3))),
        ("matmul", (tensor(BATCH), tensor(2, 3))),
        ("einsum", ("ij->i", (tensor(BATCH, 2),))),
        ("tensordot", (tensor(BATCH, 2), tensor(2))),
    ],
)
def test_what_depends_on_the_unknown_rank_says_so(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(RankUnknown):
        ops.opened(name, *args)
