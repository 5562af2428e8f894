"""Shapes and parts: what a rule predicts over ints is what the kernel makes, and the kernel is plain NumPy."""

from __future__ import annotations

import inspect
from functools import total_ordering
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal as same
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import GroundCtx, Violation, evaluate
from rxlang.ops.model import WILDCARD, RankUnknown, Segment, TensorInfo
from rxlang.ops.slices import SENTINEL, slice_length
from support import ops

dims = st.lists(st.integers(0, 4), min_size=1, max_size=4)
dtypes = st.sampled_from(["float32", "int8", "int64", "bool", "complex64", "bfloat16"])


def array(shape: Any, dtype: str = "float32", start: int = 1) -> np.ndarray[Any, Any]:
    """Distinct elements, as far as the dtype has them."""
    size = int(np.prod(shape, dtype=np.int64))
    numpy_dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    return (np.arange(start, start + size) % 100).astype(numpy_dtype).reshape(tuple(shape))


def info(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return TensorInfo(value.shape, DTYPES[value.dtype.name])
    if isinstance(value, list) and all(isinstance(v, np.ndarray) for v in value):
        return tuple(info(v) for v in value)
    return value


def data_of(name: str, **values: Any) -> Any:
    """The tracked elements of the (first) result."""
    row = ops.row_of(name)
    return evaluate(row, values).tensors[0].data


def tracked(*elements: int) -> TensorInfo:
    return TensorInfo((len(elements),), DTYPES["int64"], elements)


def scalar(value: int) -> TensorInfo:
    return TensorInfo((), DTYPES["int64"], (value,))


# The table


def test_every_row_of_both_families_has_a_kernel_with_its_parameters_and_a_doc() -> None:
    ours = [*ops.rows_of("shape"), *ops.rows_of("parts")]
    assert len(ours) >= 22
    for row in ours:
        assert list(inspect.signature(kernels.lookup(row.name)).parameters) == [p.name for p in row.params]
        assert len(row.doc) > 30


def test_what_is_called_directly_is_the_kernel() -> None:
    x = array([2, 3, 1], "int8")
    for name in ("permute_dims", "matrix_transpose", "squeeze", "flip", "tril", "triu", "sort"):
        same(getattr(np, kernels.DIRECT[name])(x), ops.call(name, x=x))
    for name in ("concat", "stack"):
        same(getattr(np, kernels.DIRECT[name])([x, x]), ops.call(name, xs=[x, x]))


# Reshape


@given(dims, dtypes, st.data())
def test_reshape_keeps_the_elements_in_order(shape: list[int], dtype: str, data: st.DataObject) -> None:
    x = array(shape, dtype)
    target = tuple(data.draw(st.permutations(shape)))
    same(ops.call("reshape", x=x, shape=target), x.reshape(target))
    same(ops.call("reshape", x=x, shape=(1, x.size)), x.reshape(1, x.size))


@given(dims, st.data())
def test_reshape_solves_its_minus_one_also_beside_zeros(shape: list[int], data: st.DataObject) -> None:
    x = array(shape)
    place = data.draw(st.integers(0, len(shape) - 1))
    target = tuple(WILDCARD if i == place else d for i, d in enumerate(shape))
    same(ops.call("reshape", x=x, shape=target), x)


@given(dims, st.lists(st.integers(0, 6), max_size=3), st.integers(0, 3))
def test_reshape_accepts_what_numpy_accepts_and_more_only_beside_a_zero(
    shape: list[int], others: list[int], place: int
) -> None:
    x = array(shape)
    target = (*others[:place], WILDCARD, *others[place:])
    try:
        expected = x.reshape([-1 if d is WILDCARD else d for d in target]).shape
    except ValueError:
        expected = None
    if expected is not None:
        # NumPy gives 0 where there are no elements; the rule also wants the sizes that do not cancel to divide.
        assert ops.call("reshape", x=x, shape=target).shape == expected
    elif 0 not in others:
        assert ops.refusal("reshape", x=x, shape=target)


def test_reshape_refuses_what_cannot_be() -> None:
    x = array([2, 3, 4])
    assert ops.refusal("reshape", x=x, shape=(5, 5)) == "as many elements in `shape` as `x` has"
    assert "at most one -1" in ops.refusal("reshape", x=x, shape=(WILDCARD, WILDCARD))
    assert "size 0 of `shape` to be at least 0" in ops.refusal("reshape", x=x, shape=(-1, 12))
    assert "size 0 of `shape` to be at least 0" in ops.refusal("reshape", x=x, shape=(-2, 12))
    assert "size 0 of `shape` to be at least 0" in ops.refusal("reshape", x=x, shape=(-1, 24))
    assert "divide evenly" in ops.refusal("reshape", x=x, shape=(WILDCARD, 5))
    assert "at least 1" in ops.refusal("reshape", x=x, shape=(WILDCARD, 0))


def test_reshape_keeps_tracked_elements_between_rank_zero_and_one() -> None:
    assert data_of("reshape", x=scalar(7), shape=(1,)) == (7,)
    assert data_of("reshape", x=tracked(7), shape=()) == (7,)
    assert data_of("reshape", x=tracked(7, 8), shape=(WILDCARD,)) == (7, 8)
    assert data_of("reshape", x=tracked(7, 8), shape=(2, 1)) == (7, 8)


@given(dims, st.data())
def test_flatten_merges_neighbouring_axes(shape: list[int], data: st.DataObject) -> None:
    x = array(shape)
    start = data.draw(st.integers(0, len(shape) - 1))
    end = data.draw(st.integers(start, len(shape) - 1))
    merged = int(np.prod(shape[start : end + 1]))
    expected = x.reshape(*shape[:start], merged, *shape[end + 1 :])
    same(ops.call("flatten", x=x, start=start, end=end), expected)
    same(ops.call("flatten", x=x), x.reshape(x.size))


def test_flatten_makes_a_vector_of_a_scalar_and_wants_its_axes_in_order() -> None:
    same(ops.call("flatten", x=array([])), [1])
    assert "start to come before end" in ops.refusal("flatten", x=array([2, 3]), start=1, end=0)


# Order of axes


@given(dims, dtypes, st.data())
def test_axes_are_permuted_as_numpy_does(shape: list[int], dtype: str, data: st.DataObject) -> None:
    x = array(shape, dtype)
    rank = len(shape)
    axes = data.draw(st.permutations(range(rank)))
    axes = tuple(a - rank if data.draw(st.booleans()) else a for a in axes)
    i, j = (data.draw(st.integers(-rank, rank - 1)) for _ in range(2))
    same(ops.call("permute_dims", x=x, axes=axes), np.transpose(x, axes))
    same(ops.call("permute_dims", x=x), x.T)
    same(ops.call("swapaxes", x=x, axis1=i, axis2=j), np.swapaxes(x, i, j))
    same(ops.call("moveaxis", x=x, source=(i,), destination=(j,)), np.moveaxis(x, i, j))
    same(ops.call("moveaxis", x=x, source=axes, destination=tuple(range(rank))), np.moveaxis(x, axes, range(rank)))
    if rank >= 2:
        same(ops.call("matrix_transpose", x=x), np.matrix_transpose(x))


def test_permutations_name_each_axis_once() -> None:
    x = array([2, 3, 4])
    assert "each of the 3 axes" in ops.refusal("permute_dims", x=x, axes=(0, 1))
    assert "axes to name each axis once, but -3 and 0 are the same axis" in ops.refusal(
        "permute_dims", x=x, axes=(0, 1, -3)
    )
    assert ops.refusal("permute_dims", x=x, axes=(0, 1, 3)) == "axes to be between -3 and 2, but it is 3"
    assert ops.refusal("swapaxes", x=x, axis1=0, axis2=-4) == "axis2 to be between -3 and 2, but it is -4"
    assert "rank 2 or more" in ops.refusal("matrix_transpose", x=array([3]))
    assert "source to name each axis once" in ops.refusal("moveaxis", x=x, source=(0, 0), destination=(0, 1))


# Axes of size 1


@given(dims, st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True), st.booleans())
def test_expand_dims_and_squeeze_undo_each_other(shape: list[int], axes: list[int], negative: bool) -> None:
    x = array(shape)
    rank = len(shape) + len(axes)
    places = tuple(a - rank if negative else a for a in axes if a < rank)
    if len(places) < len(axes):
        return
    wide = ops.call("expand_dims", x=x, axis=places)
    same(wide, np.expand_dims(x, places))
    same(ops.call("squeeze", x=wide, axis=places), x)
    same(ops.call("squeeze", x=x), np.squeeze(x))


def test_expand_dims_and_squeeze_refuse_a_bad_axis() -> None:
    x = array([2, 1])
    assert "between -3 and 2" in ops.refusal("expand_dims", x=x, axis=(3,))
    assert "the same axis" in ops.refusal("expand_dims", x=x, axis=(1, -3))
    assert ops.refusal("squeeze", x=x, axis=(0,)) == "axis 0 of `x` to be 1"
    assert "between -2 and 1" in ops.refusal("squeeze", x=x, axis=(2,))
    same(ops.call("expand_dims", x=x, axis=()), x)
    same(ops.call("expand_dims", x=x), x[None])


def test_shape_data_passes_through_new_and_dropped_axes() -> None:
    assert data_of("expand_dims", x=scalar(3), axis=(0,)) == (3,)
    assert data_of("squeeze", x=tracked(3), axis=(0,)) == (3,)
    assert data_of("squeeze", x=tracked(3)) == (3,)
    assert data_of("flatten", x=scalar(3)) == (3,)


# Repetition


@given(dims, dtypes, st.lists(st.integers(0, 3), max_size=2))
def test_broadcast_to_repeats_axes_of_size_one(shape: list[int], dtype: str, lead: list[int]) -> None:
    x = array([1 if i % 2 else d for i, d in enumerate(shape)], dtype)
    target = (*lead, *shape)
    same(ops.call("broadcast_to", x=x, shape=target), np.broadcast_to(x, target))


def test_broadcast_to_refuses_another_size_and_a_lower_rank() -> None:
    assert ops.refusal("broadcast_to", x=array([2, 3]), shape=(3, 3)) == (
        "axis 0 of `x` to be 1 or equal to axis 0 of `shape`"
    )
    assert "rank 2 or more" in ops.refusal("broadcast_to", x=array([2, 3]), shape=(3,))
    assert "at least 0" in ops.refusal("broadcast_to", x=array([1]), shape=(-1,))
    assert data_of("broadcast_to", x=scalar(4), shape=(3,)) == (4, 4, 4)


@given(dims, dtypes, st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_tile_and_repeat_multiply_sizes(shape: list[int], dtype: str, repeats: list[int], data: st.DataObject) -> None:
    x = array(shape, dtype)
    same(ops.call("tile", x=x, repeats=tuple(repeats)), np.tile(x, repeats))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    same(ops.call("repeat", x=x, repeats=repeats[0], axis=axis), np.repeat(x, repeats[0], axis))
    same(ops.call("repeat", x=x, repeats=repeats[0]), np.repeat(x, repeats[0]))


def test_tile_and_repeat_refuse_negative_counts() -> None:
    assert "entry 0 of `repeats` to be at least 0" in ops.refusal("tile", x=array([2]), repeats=(-1,))
    assert "`repeats` to be at least 0" in ops.refusal("repeat", x=array([2]), repeats=-1)
    assert data_of("tile", x=tracked(1, 2), repeats=(2,)) == (1, 2, 1, 2)


# Joining and splitting


@given(dims, dtypes, st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_concat_adds_one_axis_and_split_cuts_it_again(
    shape: list[int], dtype: str, sizes: list[int], data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    place = axis % len(shape)
    parts = [array([*shape[:place], n, *shape[place + 1 :]], dtype, i) for i, n in enumerate(sizes)]
    joined = ops.call("concat", xs=parts, axis=axis)
    same(joined, np.concatenate(parts, axis))
    for part, original in zip(ops.call("split", x=joined, sizes=tuple(sizes), axis=axis), parts, strict=True):
        same(part, original)


@given(dims, dtypes, st.integers(1, 3), st.data())
def test_stack_makes_an_axis_and_unstack_takes_it_away(
    shape: list[int], dtype: str, count: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    parts = [array(shape, dtype, i) for i in range(count)]
    stacked = ops.call("stack", xs=parts, axis=axis)
    same(stacked, np.stack(parts, axis))
    for part, original in zip(ops.call("unstack", x=stacked, axis=axis), parts, strict=True):
        same(part, original)


def test_joining_refuses_other_ranks_sizes_and_nothing_at_all() -> None:
    a, b = array([2, 3]), array([2, 4])
    assert ops.refusal("concat", xs=[a, a, b], axis=0) == "axis 1 of `xs[0]` and `xs[2]` to be equal"
    assert "`xs[0]` has rank 2 and `xs[1]` has rank 1" in ops.refusal("concat", xs=[a, array([3])], axis=0)
    with pytest.raises(Violation, match="at least one tensor"):
        ops.opened("concat", ())
    assert "the rank is 0" in ops.refusal("concat", xs=[array([])])
    assert ops.refusal("concat", xs=[a], axis=2) == "axis to be between -2 and 1, but it is 2"
    assert ops.refusal("stack", xs=[a, b]) == "axis 1 of `xs[0]` and `xs[1]` to be equal"
    assert ops.refusal("concat", xs=[a, array([2, 3], "int8")]) == "its operands to have one dtype"


def test_shape_data_is_joined_and_cut() -> None:
    assert data_of("concat", xs=(tracked(2, 3), tracked(), tracked(5))) == (2, 3, 5)
    assert data_of("stack", xs=(scalar(2), scalar(3))) == (2, 3)
    assert data_of("split", x=tracked(2, 3, 5), sizes=(2, 1)) == (2, 3)
    assert data_of("unstack", x=tracked(2, 3)) == (2,)


def test_split_into_equal_parts_needs_a_multiple_unless_uneven_is_allowed() -> None:
    x = array([2, 10, 4])
    assert [p.shape for p in ops.call("split", x=x, sections=2, axis=1)] == [(2, 5, 4)] * 2
    assert ops.refusal("split", x=x, sections=3, axis=1) == "axis 1 of `x` to be a multiple of 3"
    parts = ops.call("split", x=x, sections=3, axis=1, uneven=True)
    assert [p.shape[1] for p in parts] == [4, 4, 2]
    same(np.concatenate(parts, 1), x)
    assert "large enough for 4 parts" in ops.refusal("split", x=array([5]), sections=4, uneven=True)
    assert ops.refusal("split", x=x, sizes=(3, 3), axis=1) == "the sum of `sizes` to be axis 1 of `x`"
    assert "one of sections, sizes and indices" in ops.refusal("split", x=x, sections=2, sizes=(2,), axis=1)
    assert "at least 1" in ops.refusal("split", x=x, sections=0, axis=1)


@given(st.integers(0, 6), st.lists(st.integers(-7, 7), max_size=3))
def test_split_at_indices_is_numpys(n: int, indices: list[int]) -> None:
    x = array([n, 2])
    parts = ops.call("split", x=x, indices=tuple(indices))
    for part, expected in zip(parts, np.split(x, indices), strict=True):
        same(part, expected)


# Slices


@given(
    st.integers(0, 7),
    st.integers(-9, 9) | st.sampled_from([SENTINEL, -SENTINEL - 1, 10**9, -(10**9), 2**31 - 1]),
    st.integers(-9, 9) | st.sampled_from([SENTINEL, -SENTINEL - 1, 10**9, -(10**9), 2**31 - 1]),
    st.sampled_from([1, 2, 3, -1, -2, -3, 100, -100]),
)
def test_slice_is_pythons_for_every_bound_and_step(n: int, start: int, stop: int, step: int) -> None:
    x = array([2, n])
    expected = x[:, start:stop:step]
    same(ops.call("slice", x=x, starts=(start,), stops=(stop,), axes=(1,), steps=(step,)), expected)


class BlindCtx(GroundCtx):
    """Knows what every size is but decides nothing, so that the general formulas are used."""

    def decide(self, cond: bool) -> bool:
        return None  # type: ignore[return-value]


@given(st.integers(0, 7), st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, 2, 3, -1, -2, -3]))
def test_slice_formulas_hold_where_nothing_is_decided(n: int, start: int, stop: int, step: int) -> None:
    expected = len(range(n)[start:stop:step])
    assert slice_length(BlindCtx(), Opaque(n), Opaque(start), Opaque(stop), step) == expected
    assert slice_length(BlindCtx(), Opaque(n), start, stop, step) == expected
    assert slice_length(GroundCtx(), n, start, stop, step) == expected


@total_ordering
class Opaque:
    """A size that is no literal, with the operators of one; equal to its value."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __add__(self, other: Any) -> Opaque:
        return Opaque(self.value + int(other))

    def __sub__(self, other: Any) -> Opaque:
        return Opaque(self.value - int(other))

    def __rsub__(self, other: Any) -> Opaque:
        return Opaque(int(other) - self.value)

    def __mul__(self, other: Any) -> Opaque:
        return Opaque(self.value * int(other))

    def __neg__(self) -> Opaque:
        return Opaque(-self.value)

    def __floordiv__(self, other: Any) -> Opaque:
        return Opaque(self.value // int(other))

    def __int__(self) -> int:
        return self.value

    def __lt__(self, other: Any) -> bool:
        return self.value < int(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque | int) and self.value == int(other)

    __radd__ = __add__
    __rmul__ = __mul__


def test_slices_of_several_axes_default_to_the_first_ones() -> None:
    x = array([3, 4, 5])
    same(ops.call("slice", x=x, starts=(1, 0), stops=(3, -1)), x[1:3, 0:-1])
    same(ops.call("slice", x=x, starts=(-1,), stops=(-(2**63),), axes=(-1,), steps=(-1,)), x[..., ::-1])
    same(ops.call("slice", x=x, starts=(), stops=()), x)


def test_slices_refuse_a_step_of_zero_and_lists_of_unequal_length() -> None:
    x = array([3, 4])
    assert "steps that are not 0" in ops.refusal("slice", x=x, starts=(0,), stops=(1,), steps=(0,))
    assert "as many entries" in ops.refusal("slice", x=x, starts=(0, 0), stops=(1,))
    assert "the same axis" in ops.refusal("slice", x=x, starts=(0, 0), stops=(1, 1), axes=(0, -2))
    assert "between -2 and 1" in ops.refusal("slice", x=x, starts=(0, 0, 0), stops=(1, 1, 1))


def test_shape_data_is_sliced() -> None:
    x = tracked(2, 3, 5, 7)
    assert data_of("slice", x=x, starts=(1,), stops=(SENTINEL,)) == (3, 5, 7)
    assert data_of("slice", x=x, starts=(-2,), stops=(10**9,)) == (5, 7)
    assert data_of("slice", x=x, starts=(SENTINEL,), stops=(-SENTINEL - 1,), steps=(-1,)) == (7, 5, 3, 2)
    assert data_of("flip", x=x) == (7, 5, 3, 2)


# Borders, order and triangles


@given(dims, dtypes, st.data())
def test_pad_grows_each_axis_on_both_sides(shape: list[int], dtype: str, data: st.DataObject) -> None:
    x = array(shape, dtype)
    pads = tuple((data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))) for _ in shape)
    value = x.dtype.type(1)
    same(ops.call("pad", x=x, pads=pads), np.pad(x, pads))
    same(ops.call("pad", x=x, pads=pads, value=np.asarray(value)), np.pad(x, pads, constant_values=value))


@given(dims, st.sampled_from(["edge", "reflect", "wrap"]), st.data())
def test_pads_from_the_tensor_itself_need_room(shape: list[int], mode: str, data: st.DataObject) -> None:
    x = array(shape)
    pads = tuple((data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))) for _ in shape)
    room = [max(p) == 0 or (max(p) < d if mode == "reflect" else d > 0) for d, p in zip(shape, pads, strict=True)]
    if all(room):
        same(ops.call("pad", x=x, pads=pads, mode=mode), np.pad(x, pads, mode=mode))  # type: ignore[call-overload]
    else:
        assert "the pads of axis" in ops.refusal("pad", x=x, pads=pads, mode=mode)


def test_pad_refuses_negative_pads_missing_pairs_and_unknown_modes() -> None:
    x = array([2, 3])
    assert ops.refusal("pad", x=x, pads=((0, 0), (0, -1))) == "the pad after axis 1 to be at least 0"
    assert "each of the 2 axes" in ops.refusal("pad", x=x, pads=((0, 0),))
    assert "mode to be" in ops.refusal("pad", x=x, pads=((0, 0), (0, 0)), mode="mirror")
    assert "a scalar" in ops.refusal("pad", x=x, pads=((0, 0), (0, 0)), value=array([1]))


@given(dims, dtypes, st.integers(-5, 5), st.data())
def test_order_and_triangles_keep_the_shape(shape: list[int], dtype: str, k: int, data: st.DataObject) -> None:
    x = array(shape, dtype)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    same(ops.call("flip", x=x, axis=(axis,)), np.flip(x, axis))
    same(ops.call("flip", x=x), np.flip(x))
    same(ops.call("roll", x=x, shift=(k,), axis=(axis,)), np.roll(x, k, axis))
    same(ops.call("roll", x=x, shift=(k,)), np.roll(x, k))
    if len(shape) >= 2:
        same(ops.call("tril", x=x, k=k), np.tril(x, k))
        same(ops.call("triu", x=x, k=k), np.triu(x, k))
    else:
        assert "rank 2 or more" in ops.refusal("triu", x=x)


@given(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_depth_and_space_undo_each_other(n: int, c: int, h: int, w: int, block: int) -> None:
    x = array([n, c, h * block, w * block])
    deep = ops.call("space_to_depth", x=x, block=block)
    same(ops.call("depth_to_space", x=deep, block=block), x)


def test_depth_to_space_places_channels_row_by_row() -> None:
    x = array([1, 4, 1, 1], start=0)
    same(ops.call("depth_to_space", x=x, block=2), [[[[0, 1], [2, 3]]]])
    assert "multiple of 4" in ops.refusal("depth_to_space", x=array([1, 3, 1, 1]), block=2)
    assert "axis 3 of `x` to be a multiple of 2" in ops.refusal("space_to_depth", x=array([1, 1, 2, 3]), block=2)


# Shapes with unknown parts


BATCH, OTHER = Segment("batch"), Segment("other")


def tensor(*shape: Any) -> TensorInfo:
    return TensorInfo(shape, DTYPES["float32"])


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("matrix_transpose", (tensor(BATCH, 2, 3),), (BATCH, 3, 2)),
        ("swapaxes", (tensor(BATCH, 2, 3), -1, -2), (BATCH, 3, 2)),
        ("swapaxes", (tensor(2, 3, BATCH), 0, 1), (3, 2, BATCH)),
        ("expand_dims", (tensor(BATCH, 2), (-1,)), (BATCH, 2, 1)),
        ("expand_dims", (tensor(BATCH, 2), (-2,)), (BATCH, 1, 2)),
        ("expand_dims", (tensor(BATCH, 2), (0,)), (1, BATCH, 2)),
        ("squeeze", (tensor(BATCH, 1, 2), (-2,)), (BATCH, 2)),
        ("concat", ((tensor(BATCH, 2, 3), tensor(BATCH, 5, 3)), -2), (BATCH, 7, 3)),
        ("stack", ((tensor(BATCH, 2), tensor(BATCH, 2)), -1), (BATCH, 2, 2)),
        ("slice", (tensor(BATCH, 7), (1,), (5,), (-1,)), (BATCH, 4)),
        ("reshape", (tensor(BATCH, 6), (BATCH, 2, 3)), (BATCH, 2, 3)),
        ("reshape", (tensor(BATCH, 6), (BATCH, WILDCARD, 3)), (BATCH, 2, 3)),
        ("flatten", (tensor(BATCH, 2, 3), -2, -1), (BATCH, 6)),
        ("flatten", (tensor(BATCH, 2),), (154,)),
        ("broadcast_to", (tensor(BATCH, 1, 3), (BATCH, 2, 3)), (BATCH, 2, 3)),
        ("tril", (tensor(BATCH, 2, 3),), (BATCH, 2, 3)),
        ("flip", (tensor(BATCH, 2), (-1,)), (BATCH, 2)),
        ("roll", (tensor(BATCH, 2), (1,), (-1,)), (BATCH, 2)),
        ("repeat", (tensor(BATCH, 2), 3, -1), (BATCH, 6)),
    ],
)
def test_leading_unknown_axes_pass_through(name: str, args: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert ops.opened(name, *args) == expected


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("swapaxes", (tensor(BATCH, 2, 3), 0, 1)),
        ("matrix_transpose", (tensor(BATCH, 3),)),
        ("permute_dims", (tensor(BATCH, 3),)),
        ("concat", ((tensor(BATCH, 2), tensor(OTHER, 2)), -1)),
        ("concat", ((tensor(BATCH, 2), tensor(2, 2)), -1)),
        ("expand_dims", (tensor(BATCH, 2), (1,))),
        ("squeeze", (tensor(BATCH, 1),)),
        ("broadcast_to", (tensor(BATCH, 1), (OTHER, 2))),
        ("pad", (tensor(BATCH, 1), ((0, 0),))),
        ("tril", (tensor(BATCH, 1),)),
    ],
)
def test_what_depends_on_the_unknown_rank_says_so(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(RankUnknown):
        ops.opened(name, *args)


@pytest.mark.parametrize(
    ("whole", "part", "summed"),
    [
        ((2, 3), (2, 3), ()), ((2, 3), (3,), (0,)), ((2, 3), (), (0, 1)), ((2, 3), (2, 1), (1,)), ((5, 2, 3), (2, 1), (0, 2)),
        ((0, 3), (1, 3), (0,)), ((0, 3), (0, 3), ()), ((1, 3), (1, 3), ()), ((0, 2, 3), (2, 3), (0,)),
    ],
)  # fmt: skip
def test_sum_to_adds_what_broadcast_to_repeats(
    whole: tuple[int, ...], part: tuple[int, ...], summed: tuple[int, ...]
) -> None:
    x = array(whole)
    made = ops.compute("sum_to", x=x, shape=part)
    same(made, x.sum(summed).reshape(part))
    assert ops.compute("broadcast_to", x=made, shape=whole).shape == whole
