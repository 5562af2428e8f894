"""The index family: what a rule predicts over ints is what the kernel makes, and the kernel is plain NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal as same
from rxlang.interp.kernels import registry as kernels
from rxlang.interp.kernels.registry import BadValue
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import GroundCtx, NeedsData, Violation, evaluate
from rxlang.ops.model import Segment, TensorInfo
from support import ops

dims = st.lists(st.integers(0, 4), min_size=1, max_size=3)
dtypes = st.sampled_from(["float32", "int8", "int64", "bool", "complex64", "bfloat16"])
ordered = st.sampled_from(["float32", "int8", "int64", "bool", "bfloat16"])
index_dtypes = st.sampled_from(["int64", "int32", "uint8", "uint64", "int8"])
seeds = st.integers(0, 99)


def array(shape: Any, dtype: str = "float32", seed: int = 0, low: int = -3, high: int = 4) -> np.ndarray[Any, Any]:
    numpy_dtype = getattr(ml_dtypes, dtype) if dtype in ("bfloat16", "int4") else np.dtype(dtype)
    return np.random.default_rng(seed).integers(low, high, tuple(shape)).astype(numpy_dtype)


def info(value: Any) -> Any:
    return TensorInfo(value.shape, DTYPES[value.dtype.name]) if isinstance(value, np.ndarray) else value


class SampleCtx(GroundCtx):
    """Gives a fresh size the value that the data had, and remembers what the rule said of it."""

    def __init__(self, value: int) -> None:
        self.value = value

    def fresh(self, name: str, at_least: Any = 0, at_most: Any = None) -> Any:
        assert at_least <= self.value
        assert at_most is None or self.value <= at_most
        return self.value


def shapes(name: str, decided: int, **values: Any) -> Any:
    """What the rule says where the data decides that a size is `decided`."""
    row = ops.row_of(name)
    return row.rule(SampleCtx(decided), *(info(values.get(p.name, p.default)) for p in row.params))


def test_every_row_of_the_family_has_a_kernel_with_its_parameters_and_a_doc() -> None:
    ours = ops.rows_of("index")
    assert len(ours) >= 14
    for row in ours:
        assert list(inspect.signature(kernels.lookup(row.name)).parameters) == [p.name for p in row.params]
        assert len(row.doc) > 30


# By position


@given(dims, dtypes, st.lists(st.integers(0, 3), max_size=2), index_dtypes, seeds, st.data())
def test_take_replaces_an_axis_by_the_shape_of_the_indices(
    shape: list[int], dtype: str, chosen: list[int], index_dtype: str, seed: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = shape[axis]
    if n == 0:
        chosen = [0]
    low = 0 if index_dtype.startswith("u") else -n
    indices = array(chosen, index_dtype, seed, low, max(n, low + 1))
    x = array(shape, dtype, seed)
    same(ops.call("take", x=x, indices=indices, axis=axis), np.take(x, indices.astype(np.int64), axis))
    if n:
        same(ops.call("take", x=x, indices=n - 1, axis=axis), np.take(x, n - 1, axis))
        same(ops.call("take", x=x, indices=-n, axis=axis), np.take(x, 0, axis))


def test_take_refuses_positions_out_of_range() -> None:
    x = array([3, 5])
    assert ops.refusal("take", x=x, indices=5, axis=1) == "axis 1 of `x` to be at least 6, for the index 5"
    assert ops.refusal("take", x=x, indices=-4, axis=0) == "axis 0 of `x` to be at least 4, for the index -4"
    assert "may be left out for rank 1" in ops.refusal("take", x=x, indices=np.array([0]))
    for indices, bad in ((np.array([0, 7]), 7), (np.array([[-6]]), -6), (np.array([2**64 - 1], np.uint64), 2**63 - 1)):
        with pytest.raises(BadValue, match=f"`indices` holds {bad}, but axis 1 of `x` has size 5"):
            ops.compute("take", x=x, indices=indices, axis=1)
    same(ops.compute("take", x=x, indices=array([2], "int4", low=1, high=2), axis=1), x[:, [1, 1]])


def test_take_of_tracked_elements_gives_tracked_elements() -> None:
    row = ops.row_of("take")
    shape = TensorInfo((3,), DTYPES["int64"], (2, 3, 5))
    positions = TensorInfo((2,), DTYPES["int64"], (0, -1))
    assert evaluate(row, {"x": shape, "indices": -1}).tensors[0].data == (5,)
    assert evaluate(row, {"x": shape, "indices": positions}).tensors[0].data == (2, 5)
    with pytest.raises(Violation):
        evaluate(row, {"x": shape, "indices": TensorInfo((1,), DTYPES["int64"], (3,))})


@given(dims, dtypes, index_dtypes, seeds, st.data())
def test_take_along_axis_is_numpys(
    shape: list[int], dtype: str, index_dtype: str, seed: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = shape[axis]
    low = 0 if index_dtype.startswith("u") else -n
    count = data.draw(st.integers(0, 3)) if n else 0
    x_shape, i_shape = list(shape), list(shape)
    i_shape[axis] = count
    for other in range(len(shape)):
        if other != axis % len(shape) and data.draw(st.booleans()):
            (x_shape if data.draw(st.booleans()) else i_shape)[other] = 1
    x, indices = array(x_shape, dtype, seed), array(i_shape, index_dtype, seed, low, max(n, low + 1))
    full = np.broadcast_to(x, [n if i == axis % len(shape) else d for i, d in enumerate(shape)])
    wide = np.broadcast_to(indices, [count if i == axis % len(shape) else d for i, d in enumerate(shape)])
    expected = np.take_along_axis(full, wide.astype(np.int64), axis)
    made = ops.call("take_along_axis", x=x, indices=indices, axis=axis)
    same(np.broadcast_to(made, expected.shape), expected)


@given(dims, seeds, st.data())
def test_gather_elements_reads_where_scatter_elements_writes(shape: list[int], seed: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    chosen = [data.draw(st.integers(0, n)) for n in shape]
    if shape[axis] == 0:
        chosen[axis] = 0
    x, indices = array(shape, seed=seed), array(chosen, "int64", seed, 0, max(shape[axis], 1))
    made = ops.call("gather_elements", x=x, indices=indices, axis=axis)
    for place in np.ndindex(*chosen):
        source = list(place)
        source[axis] = indices[place]
        assert made[place] == x[tuple(source)]


def test_gather_elements_broadcasts_nothing() -> None:
    x = array([2, 3])
    assert "axis 1 of `indices` to be at most axis 1 of `x`" in ops.refusal(
        "gather_elements", x=x, indices=np.ones((5, 4), int)
    )
    assert "`indices` to have rank 2" in ops.refusal("gather_elements", x=x, indices=np.array([0]))
    with pytest.raises(BadValue, match="`indices` holds 2, but axis 0 of `x` has size 2"):
        ops.compute("gather_elements", x=x, indices=np.full((1, 1), 2))


def test_take_along_axis_refuses_ranks_and_positions() -> None:
    x = array([3, 5])
    assert "`indices` to have rank 2" in ops.refusal("take_along_axis", x=x, indices=np.array([0]), axis=0)
    assert "`x`" in ops.refusal("take_along_axis", x=x, indices=np.zeros((2, 1), np.int64))
    with pytest.raises(BadValue, match="`indices` holds 5, but axis 1 of `x` has size 5"):
        ops.compute("take_along_axis", x=x, indices=np.full((3, 1), 5))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.lists(st.integers(0, 3), max_size=2), seeds, st.data())
def test_gather_nd_and_scatter_nd_read_and_write_the_same_parts(
    shape: list[int], places: list[int], seed: int, data: st.DataObject
) -> None:
    depth = data.draw(st.integers(1, len(shape)))
    x = array(shape, "int64", seed)
    indices = np.stack([array(places, "int64", seed + i, -d, d) for i, d in enumerate(shape[:depth])], -1)
    picked = ops.call("gather_nd", x=x, indices=indices)
    same(picked, x[tuple(indices[..., i] for i in range(depth))])
    same(ops.call("scatter_nd", x=x, indices=indices, updates=picked), x)
    zeroed = ops.call("scatter_nd", x=x, indices=indices, updates=np.zeros_like(picked))
    assert not ops.compute("gather_nd", x=zeroed, indices=indices).any()
    added = ops.call("scatter_nd", x=np.zeros_like(x), indices=indices, updates=np.ones_like(picked), reduction="add")
    assert added.sum() == picked.size


def test_gather_nd_pairs_its_batch_axes() -> None:
    x = array([2, 3, 4], "int64")
    indices = np.array([[[1], [2]], [[0], [-1]]])
    expected = np.stack([x[b][indices[b, :, 0]] for b in range(2)])
    same(ops.call("gather_nd", x=x, indices=indices, batch_dims=1), expected)


def test_parts_by_position_are_refused_where_they_do_not_fit() -> None:
    x = array([3, 4])
    assert "positions of 1 to 2 axes" in ops.refusal("gather_nd", x=x, indices=np.zeros((2, 3), np.int64))
    assert "axis 0 of `x` and axis 0 of `indices`" in ops.refusal(
        "gather_nd", x=x, indices=np.zeros((2, 1), np.int64), batch_dims=1
    )
    assert "axis 1 of `updates` and axis 1 of `x`" in ops.refusal(
        "scatter_nd", x=x, indices=np.zeros((2, 1), np.int64), updates=array([2, 5])
    )
    assert 'reduction to be "none", "add"' in ops.refusal(
        "scatter_nd", x=x, indices=np.zeros((2, 1), np.int64), updates=array([2, 4]), reduction="sub"
    )
    with pytest.raises(BadValue, match="`indices` holds 3, but axis 0 of `x` has size 3"):
        ops.compute("gather_nd", x=x, indices=np.array([[3, 0]]))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), seeds, st.data())
def test_scatter_elements_writes_what_take_along_axis_reads(shape: list[int], seed: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    part = [data.draw(st.integers(0, d)) for d in shape]
    x, indices = array(shape, "int64", seed), array(part, "int64", seed, -shape[axis], shape[axis])
    updates = array(part, "int64", seed + 1)
    made = ops.call("scatter_elements", x=x, indices=indices, updates=updates, axis=axis)
    expected = x.copy()
    for at in np.ndindex(*part):
        to = list(at)
        to[axis] = indices[at]
        expected[tuple(to)] = updates[at]
    same(made, expected)
    most = ops.call("scatter_elements", x=x, indices=indices, updates=updates, axis=axis, reduction="max")
    assert (most >= x).all()


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.lists(st.integers(0, 3), max_size=3), seeds, st.data())
def test_put_writes_what_take_reads(shape: list[int], order: list[int], seed: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    positions = np.unique(np.array([i % shape[axis] for i in order], np.int64))
    x = array(shape, "float32", seed)
    updates = np.take(array(shape, "float32", seed + 1), positions, axis)
    made = ops.call("put", x=x, indices=positions, updates=updates, axis=axis)
    same(np.take(made, positions, axis), updates)
    rest = np.setdiff1d(np.arange(shape[axis]), positions)
    same(np.take(made, rest, axis), np.take(x, rest, axis))


def test_put_leaves_its_operand_alone_and_refuses_what_does_not_fit() -> None:
    x = array([3, 4])
    before = x.copy()
    ops.compute("put", x=x, indices=np.array([1]), updates=np.zeros((1, 4), np.float32))
    same(x, before)
    assert "axis 0 of `updates` and axis 0 of `indices`" in ops.refusal(
        "put", x=x, indices=np.array([1]), updates=array([2, 4])
    )
    assert "axis 1 of `updates` and axis 1 of `x`" in ops.refusal(
        "put", x=x, indices=np.array([1]), updates=array([1, 5])
    )
    with pytest.raises(BadValue, match="`indices` holds 3"):
        ops.compute("put", x=x, indices=np.array([3]), updates=np.zeros((1, 4), np.float32))


@given(dims, dtypes, seeds, st.data())
def test_update_slice_replaces_a_block(shape: list[int], dtype: str, seed: int, data: st.DataObject) -> None:
    block = [data.draw(st.integers(0, d)) for d in shape]
    starts = tuple(data.draw(st.integers(0, d - b)) for d, b in zip(shape, block, strict=True))
    x, update = array(shape, dtype, seed), array(block, dtype, seed + 1)
    before, expected = x.copy(), x.copy()
    expected[tuple(slice(a, a + n) for a, n in zip(starts, block, strict=True))] = update
    same(ops.call("update_slice", x=x, update=update, starts=starts), expected)
    same(x, before)


def test_update_slice_refuses_a_block_that_does_not_lie_inside() -> None:
    x = array([4, 5])
    assert "entry 0 of `starts` plus axis 0 of `update`" in ops.refusal(
        "update_slice", x=x, update=array([2, 2]), starts=(3, 0)
    )
    assert "entry 1 of `starts` to be at least 0" in ops.refusal(
        "update_slice", x=x, update=array([2, 2]), starts=(0, -1)
    )
    assert "a start for each" in ops.refusal("update_slice", x=x, update=array([2, 2]), starts=(0,))


@given(st.lists(st.integers(0, 3), max_size=3), st.integers(1, 4), st.integers(0, 3), index_dtypes, seeds)
def test_embedding_is_a_row_for_each_id(ids: list[int], v: int, d: int, dtype: str, seed: int) -> None:
    table, chosen = array([v, d], "float32", seed), array(ids, dtype, seed, 0, v)
    same(ops.call("embedding", ids=chosen, table=table), table[chosen.astype(np.int64)])


@pytest.mark.parametrize("bad", [3, -1])
def test_embedding_refuses_ids_that_have_no_row(bad: int) -> None:
    with pytest.raises(BadValue, match=f"`ids` holds {bad}, but `table` has the rows 0 to 2"):
        ops.compute("embedding", ids=np.array([0, bad]), table=array([3, 2]))
    assert "`table` to have rank 2" in ops.refusal("embedding", ids=np.array([0]), table=array([3]))
    assert "`ids` to have an integer dtype" in ops.refusal("embedding", ids=array([2]), table=array([3, 2]))


# By value


@given(dims, dtypes, seeds)
def test_filter_keeps_the_rows_whose_mask_is_true(shape: list[int], dtype: str, seed: int) -> None:
    x, mask = array(shape, dtype, seed), array(shape[:1], "bool", seed, 0, 2)
    made = ops.compute("filter", x=x, mask=mask)
    same(made, x[mask])
    assert shapes("filter", int(mask.sum()), x=x, mask=mask) == made.shape
    row = ops.row_of("filter")
    with pytest.raises(NeedsData):
        evaluate(row, {"x": info(x), "mask": info(mask)})


def test_filter_wants_a_mask_as_long_as_the_axis() -> None:
    assert ops.refusal("filter", x=array([3, 2]), mask=array([2], "bool")) == (
        "axis 0 of `x` and axis 0 of `mask` to be equal"
    )
    assert "`mask` to have rank 1" in ops.refusal("filter", x=array([3, 2]), mask=array([3, 2], "bool"))
    assert "dtype bool" in ops.refusal("filter", x=array([3]), mask=array([3]))


@given(dims, dtypes, seeds)
def test_nonzero_and_unique_values_have_sizes_that_the_data_decides(shape: list[int], dtype: str, seed: int) -> None:
    x = array(shape, dtype, seed)
    made = ops.compute("nonzero", x=x)
    for ours, expected in zip(made, np.nonzero(x), strict=True):
        same(ours, expected)
        assert ours.dtype == np.int64
    found = shapes("nonzero", int(np.count_nonzero(x)), x=x)
    assert [f.shape for f in found] == [m.shape for m in made]
    values = ops.compute("unique_values", x=x)
    same(values, np.unique(x))
    assert values.dtype == x.dtype
    assert shapes("unique_values", len(values), x=x) == values.shape


@given(st.integers(0, 4), st.lists(st.integers(0, 3), max_size=2), st.sampled_from(["left", "right"]), seeds)
def test_searchsorted_is_numpys(n: int, shape: list[int], side: Any, seed: int) -> None:
    x, values = np.sort(array([n], "int64", seed)), array(shape, "int64", seed + 1)
    same(ops.call("searchsorted", x=x, values=values, side=side), np.searchsorted(x, values, side))
    assert "side to be" in ops.refusal("searchsorted", x=x, values=values, side="middle")


# By order


@given(dims, ordered, st.booleans(), seeds, st.data())
def test_sort_argsort_and_topk_agree(
    shape: list[int], dtype: str, descending: bool, seed: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = array(shape, dtype, seed)
    in_order = ops.call("sort", x=x, axis=axis, descending=descending)
    same(in_order, np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis))
    positions = ops.call("argsort", x=x, axis=axis, descending=descending)
    same(np.take_along_axis(x, positions, axis), in_order)
    k = data.draw(st.integers(0, shape[axis]))
    values, first = ops.call("topk", x=x, k=k, axis=axis, largest=descending)
    same(values, np.take(in_order, np.arange(k), axis))
    same(first, np.take(positions, np.arange(k), axis))


def test_equal_elements_keep_their_order_both_ways() -> None:
    x = np.array([2, 1, 2, 1])
    same(ops.compute("argsort", x=x), [1, 3, 0, 2])
    same(ops.compute("argsort", x=x, descending=True), [0, 2, 1, 3])
    same(ops.compute("topk", x=x, k=3)[1], [0, 2, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int64", "bool"])
def test_topk_is_the_beginning_of_all_in_order(dtype: str) -> None:
    kind = np.dtype(dtype).kind
    odd = [np.nan, np.inf, -np.inf, -0.0] if kind == "f" else [0, 1] if kind == "b" else np.iinfo(dtype)
    odd = [odd.min, odd.max] if isinstance(odd, np.iinfo) else odd
    for seed in range(200):
        random = np.random.default_rng(seed)
        x = random.integers(0, 3, random.integers(0, 6, random.integers(1, 4))).astype(dtype)
        places = random.random(x.shape) < random.choice([0, 0.1, 0.8])
        x[places] = random.choice(np.array(odd, dtype), places.sum())
        axis, largest = int(random.integers(-x.ndim, x.ndim)), bool(seed % 2)
        k = int(random.integers(0, x.shape[axis] + 1))
        first = np.take(ops.compute("argsort", x=x, axis=axis, descending=largest), np.arange(k), axis)
        values, positions = ops.call("topk", x=x, k=k, axis=axis, largest=largest)
        np.testing.assert_array_equal(positions, first)
        np.testing.assert_array_equal(values, np.take_along_axis(x, first, axis))


def test_topk_wants_as_many_elements_as_it_takes() -> None:
    assert ops.refusal("topk", x=array([3]), k=4) == "`k` to be at most axis 0 of `x`"
    assert ops.refusal("topk", x=array([3]), k=-1) == "`k` to be at least 0"
    assert "between -1 and 0" in ops.refusal("sort", x=array([3]), axis=1)
    assert "`x` to have an ordered dtype" in ops.refusal("sort", x=array([3], "complex64"))


@pytest.mark.parametrize(
    ("size", "length"),
    [(2.7, 3), (2.5, 3), (2.4, 2), (np.float32(2.5), 3), (3, 3), (-5, 0), (100, 5), (2**62, 5), (0, 0), (-0.2, 0)],
)
def test_truncate_rounds_and_clamps_its_size(size: Any, length: int) -> None:
    x = array([5, 2])
    scalar = np.asarray(size)
    made = ops.compute("truncate", x=x, size=scalar)
    same(made, x[:length])
    assert shapes("truncate", length, x=x, size=scalar) == made.shape
    same(ops.compute("truncate", x=x.T, size=scalar, axis=-1), x.T[:, :length])


def test_truncate_refuses_what_is_no_finite_scalar() -> None:
    x = array([5])
    for bad in (np.nan, np.inf):
        with pytest.raises(BadValue, match="which is no finite number"):
            ops.compute("truncate", x=x, size=np.asarray(bad))
    assert "`size` to be a scalar" in ops.refusal("truncate", x=x, size=np.array([1, 2]))
    assert "float32 or float64 or int64" in ops.refusal("truncate", x=x, size=np.asarray(True))


# Shapes with unknown parts


BATCH = Segment("batch")


def tensor(*shape: Any) -> TensorInfo:
    return TensorInfo(shape, DTYPES["float32"])


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("take", (tensor(BATCH, 7), tensor(2, 3), -1), (BATCH, 2, 3)),
        ("take", (tensor(BATCH, 7, 5), 3, -2), (BATCH, 5)),
        ("take", (tensor(7, 5), tensor(BATCH), 0), (BATCH, 5)),
        ("embedding", (tensor(BATCH), tensor(7, 5)), (BATCH, 5)),
        ("sort", (tensor(BATCH, 7),), (BATCH, 7)),
        ("filter", (tensor(3, BATCH), tensor(3)), (77, BATCH)),
        ("take_along_axis", (tensor(BATCH, 7), tensor(BATCH, 3), -1), (BATCH, 3)),
        ("put", (tensor(BATCH, 7), tensor(3), tensor(BATCH, 3), -1), (BATCH, 7)),
    ],
)
def test_leading_unknown_axes_pass_through(name: str, args: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert ops.opened(name, *args) == expected
