"""Counts, quantiles, differences, running sums, sets, rolls, parts of numbers: NumPy's results on random shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rxlang.interp.kernels.registry import BadValue
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import GroundCtx
from rxlang.ops.model import Out
from support import ops

shapes = st.lists(st.integers(0, 4), min_size=1, max_size=3)
dtypes = st.sampled_from(["float32", "float64", "bfloat16", "int8", "int64", "uint8", "bool"])
numeric = st.sampled_from(["float32", "float64", "int8", "int64", "uint8", "complex64"])
seeds = st.integers(0, 99)
cases = settings(max_examples=50, deadline=None)


def draw(shape: Any, dtype: str, seed: int) -> Any:
    return ops.draw(np.random.default_rng(seed), shape, dtype)


class Decided(GroundCtx):
    """A size that the data decides is the one that it had, within what the rule said of it."""

    def __init__(self, size: int) -> None:
        self.size = size

    def fresh(self, name: str, at_least: Any = 0, at_most: Any = None) -> Any:
        assert at_least <= self.size <= at_most
        return self.size


def decided(name: str, size: int, **values: Any) -> Any:
    """The kernel's results, of the shapes that the rule says where the data decides on `size`."""
    row = ops.row_of(name)
    assert row.rule is not None
    made = ops.compute(name, **values)
    expected = row.rule(Decided(size), *(ops.infos(row, values).get(p.name, p.default) for p in row.params))
    assert [m.shape for m in made] == [tuple(out.shape) if isinstance(out, Out) else tuple(out) for out in expected]
    assert [m.dtype for m in made[1:]] == [np.int64] * (len(made) - 1)
    return made


# Sets


@given(shapes, dtypes, seeds)
@cases
def test_distinct_elements_are_numpys(shape: Any, dtype: str, seed: int) -> None:
    x = draw(shape, dtype, seed)
    wide = ops.wide(x)
    values, first, inverse, counts = np.unique(wide, return_index=True, return_inverse=True, return_counts=True)
    made = decided("unique_all", len(values), x=x)
    for found, expected in zip(made, (values, first, inverse.reshape(x.shape), counts), strict=True):
        np.testing.assert_array_equal(ops.wide(found), expected)
    for name, chosen in (("unique_counts", (0, 3)), ("unique_inverse", (0, 2))):
        for found, i in zip(decided(name, len(values), x=x), chosen, strict=True):
            np.testing.assert_array_equal(found, made[i])
    np.testing.assert_array_equal(ops.compute("unique_values", x=x), made[0])


def test_every_nan_and_every_string_is_an_element_of_its_own_kind() -> None:
    x = np.array([np.nan, 1, np.nan, 1])
    values, first, inverse, counts = decided("unique_all", 3, x=x)
    np.testing.assert_array_equal(values, [1, np.nan, np.nan])
    assert (first.tolist(), counts.tolist()) == ([1, 0, 2], [2, 1, 1])
    np.testing.assert_array_equal(values[inverse], x)
    assert len(ops.compute("unique_values", x=x)) == 3
    text = np.array(["b", "a", "b"], np.dtypes.StringDType())
    assert [v.tolist() for v in decided("unique_all", 2, x=text)] == [["a", "b"], [1, 0], [1, 0, 1], [1, 2]]
    assert ops.call("isin", x=text, values=text[:1]).tolist() == [True, False, True]
    assert ops.call("isin", x=x, values=x).tolist() == [False, True, False, True]


@given(shapes, shapes, dtypes, seeds, st.booleans())
@cases
def test_isin_is_numpys(shape: Any, among: Any, dtype: str, seed: int, invert: bool) -> None:
    x, values = draw(shape, dtype, seed), draw(among, dtype, seed + 1)
    expected = np.isin(ops.wide(x), ops.wide(values), invert=invert)
    np.testing.assert_array_equal(ops.call("isin", x=x, values=values, invert=invert), expected)


# Statistics


@given(shapes, dtypes, seeds, st.booleans())
@cases
def test_count_nonzero_is_numpys(shape: Any, dtype: str, seed: int, keepdims: bool) -> None:
    x = draw(shape, dtype, seed)
    for axis in (None, (), (-1,), tuple(range(len(shape)))):
        made = ops.call("count_nonzero", x=x, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(made, np.sum(ops.wide(x) != 0, axis, keepdims=keepdims))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.lists(st.integers(0, 3), max_size=2), seeds,
       st.sampled_from(["float16", "bfloat16", "float32", "float64"]), st.booleans(),
       st.sampled_from(["linear", "lower", "higher", "nearest", "midpoint"]))  # fmt: skip
@cases
def test_quantiles_are_numpys(shape: Any, parts: Any, seed: int, dtype: str, keepdims: bool, method: str) -> None:
    random = np.random.default_rng(seed)
    x = draw(shape, dtype, seed)
    q = np.asarray(random.integers(0, 5, tuple(parts)) / 4).astype(x.dtype)
    how: Any = method
    for axis in (None, (0,), (-1,), tuple(range(len(shape)))):
        made = ops.call("quantile", x=x, q=q, axis=axis, keepdims=keepdims, method=method)
        flat = np.quantile(ops.wide(x), q.reshape(-1).astype(float), axis, method=how, keepdims=keepdims)
        ops.close(made, np.reshape(flat, (*parts, *np.shape(flat)[1:])))


def test_quantile_refuses_empty_axes_and_parts_beyond_the_whole() -> None:
    assert "at least 1" in ops.refusal("quantile", x=np.zeros((2, 0)), q=np.array(0.5), axis=(1,))
    for q in (-0.1, 1.5, np.nan):
        with pytest.raises(BadValue, match="from 0 to 1"):
            ops.call("quantile", x=np.ones(3), q=np.array([0.5, q]))
    assert np.isnan(ops.call("quantile", x=np.array([1, np.nan]), q=np.array(0.5)))


@given(st.integers(0, 9), st.sampled_from(["int8", "uint8", "int64", "uint64", "int4"]), seeds)
@cases
def test_bincount_is_numpys(n: int, dtype: str, seed: int) -> None:
    x = ops.draw(np.random.default_rng(seed), (n,), dtype, 0, 5)
    made = ops.call("bincount", x=x, length=7)
    np.testing.assert_array_equal(made, np.bincount(x.astype(np.int64), minlength=7))


def test_bincount_says_which_number_has_no_place() -> None:
    with pytest.raises(BadValue, match="`x` holds 5, which is not from 0 to 2"):
        ops.call("bincount", x=np.array([1, 5]), length=3)
    with pytest.raises(BadValue, match="`x` holds -1"):
        ops.call("bincount", x=np.array([1, -1]), length=3)
    assert ops.call("bincount", x=np.array([], np.int64), length=0).shape == (0,)
    assert "rank 1" in ops.refusal("bincount", x=np.ones((2, 2), np.int64), length=3)
    assert "at least 0" in ops.refusal("bincount", x=np.array([1]), length=-1)


@given(shapes, numeric, seeds, st.integers(0, 4), st.booleans(), st.booleans())
@cases
def test_differences_are_numpys(shape: Any, dtype: str, seed: int, n: int, before: bool, after: bool) -> None:
    x = draw(shape, dtype, seed)
    for axis in range(-len(shape), len(shape)):
        other = list(shape)
        other[axis] = 2
        given_ = {"prepend": draw(other, dtype, 7)} if before else {}
        given_ |= {"append": draw(other, dtype, 8)} if after else {}
        with np.errstate(all="ignore"):
            # Without a difference to take NumPy forgets what it should put before and after.
            parts = [given_[name] for name in ("prepend", "append") if name in given_]
            joined = np.concatenate([*parts[:before], x, *parts[before:]], axis)
            expected = np.diff(joined, n, axis)
        np.testing.assert_array_equal(ops.call("diff", x=x, axis=axis, n=n, **given_), expected)


def test_diff_over_symbols_is_that_over_numbers_and_refuses_other_shapes() -> None:
    m, n = ops.symbols("m", "n")
    x = ops.TensorInfo((3, m), DTYPES["float32"])
    for more in ({}, {"n": 2}, {"n": n}, {"append": ops.TensorInfo((n, 2), DTYPES["float32"])}, {"n": n - 1}):
        ops.agrees("diff", ops.grid("m", "n"), x=x, **more)
    assert "rank 2" in ops.refusal("diff", x=np.ones((2, 3)), append=np.ones(3))
    assert "`prepend`" in ops.refusal("diff", x=np.ones((2, 3)), prepend=np.ones((3, 1)))


# Running sums and rolls


@given(shapes, numeric, seeds, st.booleans(), st.sampled_from(["", "exclusive", "include_initial"]))
@cases
def test_running_sums_begin_where_they_are_told_to(shape: Any, dtype: str, seed: int, reverse: bool, how: str) -> None:
    x = ops.draw(np.random.default_rng(seed), shape, dtype, -2, 2)
    for name, function, first in (("cumulative_sum", np.cumsum, 0), ("cumulative_prod", np.cumprod, 1)):
        for axis in range(-len(shape), len(shape)):
            front = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
            if how:
                front = np.concatenate([np.full((1, *front.shape[1:]), first, x.dtype), front])
            expected = function(front, axis=0, dtype=x.dtype)[: len(front) - (how == "exclusive")]
            expected = np.moveaxis(expected[:: -1 if reverse else 1], 0, axis)
            options = {how: True} if how else {}
            ops.close(ops.call(name, x=x, axis=axis, reverse=reverse, **options), expected)
    assert "one of" in ops.refusal("cumulative_sum", x=x, axis=0, exclusive=True, include_initial=True)


@given(shapes, seeds, st.lists(st.integers(-5, 5), min_size=1, max_size=3))
@cases
def test_roll_along_several_axes_is_numpys(shape: Any, seed: int, shift: Any) -> None:
    x = draw(shape, "int64", seed)
    axes = tuple(range(len(shape)))[: len(shift)]
    np.testing.assert_array_equal(ops.call("roll", x=x, shift=tuple(shift[:1])), np.roll(x, shift[0]))
    np.testing.assert_array_equal(ops.call("roll", x=x, shift=tuple(shift[:1]), axis=axes), np.roll(x, shift[0], axes))
    shifts = tuple(shift[: len(axes)])
    np.testing.assert_array_equal(ops.call("roll", x=x, shift=shifts, axis=axes), np.roll(x, shifts, axes))


def test_roll_refuses_a_number_of_shifts_that_does_not_fit() -> None:
    x = np.ones((2, 3))
    assert "a shift for each of the 2 axes" in ops.refusal("roll", x=x, shift=(1, 2, 3), axis=(0, 1))
    assert "one shift" in ops.refusal("roll", x=x, shift=(1, 2))


def test_the_shifts_of_an_axis_that_is_named_twice_are_added() -> None:
    x = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(ops.call("roll", x=x, shift=(1, 3), axis=(1, -1)), np.roll(x, (1, 3), (1, -1)))
    np.testing.assert_array_equal(ops.call("roll", x=x, shift=(1,), axis=(1, 1)), np.roll(x, 1, (1, 1)))


@given(seeds)
@cases
def test_broadcast_arrays_are_numpys(seed: int) -> None:
    random = np.random.default_rng(seed)
    xs = [ops.draw(random, shape, "float32") for shape in ops.draw_broadcastable(random, 3)]
    for found, expected in zip(ops.call("broadcast_arrays", xs=xs), np.broadcast_arrays(*xs), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "at least one" in ops.refusal("broadcast_arrays", xs=[])


# Parts of numbers


@given(shapes, st.sampled_from(["float32", "complex64", "complex128", "int8", "bfloat16"]), seeds)
@cases
def test_parts_of_complex_numbers_are_numpys(shape: Any, dtype: str, seed: int) -> None:
    x = draw(shape, dtype, seed)
    for name, function in (("real", np.real), ("imag", np.imag), ("conj", np.conj), ("abs", np.abs)):
        ops.close(ops.call(name, x=x), np.asarray(function(ops.wide(x))).astype(ops.compute(name, x=x).dtype))
    ops.close(ops.call("positive", x=x), x)
    if dtype.startswith("c"):
        made = ops.call("complex", x=ops.call("real", x=x), y=ops.call("imag", x=x))
        np.testing.assert_array_equal(made, x)


@given(shapes, st.sampled_from(["float16", "bfloat16", "float32", "float64"]), seeds)
@cases
def test_signs_and_neighbours_of_floats_are_numpys(shape: Any, dtype: str, seed: int) -> None:
    x = -draw(shape, dtype, seed)
    np.testing.assert_array_equal(ops.call("signbit", x=x), np.signbit(x))
    made = ops.call("nextafter", x=x, y=np.full((1,), 100, x.dtype))
    assert (made > x).all()
    np.testing.assert_array_equal(ops.call("nextafter", x=made, y=np.full((1,), -100, x.dtype)), x)
