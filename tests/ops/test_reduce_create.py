"""Reductions and new tensors: what a rule predicts over ints is what the kernel makes, and the kernel is plain NumPy."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rxlang.interp import allocation
from rxlang.interp.dtypes import dtype_of, is_extended, numpy_dtype
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import NeedsData
from rxlang.ops.model import RankUnknown, Segment, TensorInfo
from rxlang.ops.tracked import Ratio
from support import ops

FLOATING, INTEGER, REAL, INEXACT, NUMERIC = ops.FLOATING, ops.INTEGER, ops.REAL, ops.INEXACT, ops.NUMERIC
ROUNDS = 40
FLOAT16, INT64 = DTYPES["float16"], DTYPES["int64"]


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


# name: (NumPy's answer for x, axis and keepdims, the dtypes of x, whether an empty axis is refused)
REDUCTIONS: dict[str, tuple[Any, tuple[str, ...], bool]] = {
    "sum": (np.sum, NUMERIC, False),
    "prod": (np.prod, NUMERIC, False),
    "mean": (np.mean, INEXACT, False),
    "var": (np.var, FLOATING, False),
    "std": (np.std, FLOATING, False),
    "max": (np.max, REAL, True),
    "min": (np.min, REAL, True),
    "all": (np.all, ("bool",), False),
    "any": (np.any, ("bool",), False),
    "logsumexp": (_logsumexp, FLOATING, False),
    "argmax": (np.argmax, REAL, True),
    "argmin": (np.argmin, REAL, True),
}
RUNNING = {"cumulative_max": np.maximum, "cumulative_min": np.minimum, "cumulative_logsumexp": np.logaddexp}
ALONG = {"softmax", "log_softmax", "cumulative_sum", "cumulative_prod", *RUNNING}
NORMS = {"layer_norm", "rms_norm"}
CREATE = {
    "zeros", "ones", "zeros_like", "ones_like", "full", "full_like", "arange", "linspace", "eye", "one_hot", "cast",
    "meshgrid", "shape", "size", "size_to_tensor", "item",
}  # fmt: skip

# What NumPy calls a mean of nothing, and a division by a correction that leaves nothing, warns; the answer is nan.
nothing = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_every_row_is_tested_here_and_has_a_kernel_with_its_parameters_and_a_doc() -> None:
    reducing, creating = ops.rows_of("reduce"), ops.rows_of("create")
    assert {row.name for row in reducing} == {*REDUCTIONS, *ALONG, *NORMS, "sum_to"}
    assert {row.name for row in creating} == CREATE
    for row in (*reducing, *creating):
        into = ["out"] if row.name in allocation.INTO else []
        assert list(inspect.signature(kernels.lookup(row.name)).parameters) == [*(p.name for p in row.params), *into]
        assert len(row.doc) > 30 and row.doc.rstrip().endswith(".")


# Reductions


def draw_axis(random: Any, rank: int, *, one: bool) -> Any:
    """An axis or some axes, counted from either side; None one time in four."""
    if rank == 0 or random.random() < 0.25:
        return None
    count = 1 if one else random.integers(0, rank + 1)
    axes = random.choice(rank, count, replace=False)
    axes = tuple(int(a) - rank if random.random() < 0.5 else int(a) for a in axes)
    return axes[0] if one else axes


@nothing
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_is_numpys_in_the_predicted_shape_and_dtype(name: str) -> None:
    reference, dtypes, choosing = REDUCTIONS[name]
    for seed, dtype in zip(range(ROUNDS), itertools.cycle(dtypes), strict=False):
        random = np.random.default_rng(seed)
        x = ops.draw(random, ops.draw_shape(random), dtype, -3, 4)
        axis = draw_axis(random, x.ndim, one=name.startswith("arg"))
        values = {"x": x, "axis": axis, "keepdims": bool(random.integers(2))}
        reduced = x.shape if axis is None else [x.shape[a] for a in np.atleast_1d(axis).astype(int)]
        if choosing and 0 in reduced:
            assert "to be at least 1" in ops.refusal(name, **values)
        else:
            ops.check(name, reference, **values)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ["int32", "float64", "float16", "uint8", "int8"])
def test_accumulation_is_in_the_dtype_that_is_asked_for(name: str, dtype: str) -> None:
    function = {"sum": np.sum, "prod": np.prod, "cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}[name]
    x = ops.draw(np.random.default_rng(0), (3, 4), "int8", 0, 3)
    made = ops.call(name, x=x, axis=(1,) if name in REDUCTIONS else 1, dtype=DTYPES[dtype])
    np.testing.assert_array_equal(made, function(x.astype(np.int64), axis=1).astype(dtype))


def test_sums_keep_the_dtype_and_wrap_around() -> None:
    x = np.full(100, 100, np.int8)
    made = ops.call("sum", x=x)
    assert made.dtype == np.int8 and made == np.array(10_000).astype(np.int8)
    assert ops.call("cumulative_sum", x=x).dtype == np.int8


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2"])
def test_many_short_floats_are_summed_in_longer_ones(dtype: str) -> None:
    x = np.ones(4096, np.float32).astype(numpy_dtype(DTYPES[dtype]))
    assert ops.call("sum", x=x) == 4096
    assert ops.call("mean", x=x) == 1


@pytest.mark.parametrize("name", ["var", "std"])
@nothing
def test_a_correction_lessens_the_divisor(name: str) -> None:
    function = {"var": np.var, "std": np.std}[name]
    for correction in (0.0, 1.0, 1.5, 5.0):
        x = ops.draw(np.random.default_rng(1), (4, 3), "float64")
        ops.check(
            name,
            lambda x, axis, correction: function(x, axis=axis, ddof=correction),
            x=x,
            axis=(0,),
            correction=correction,
        )


@pytest.mark.parametrize("name", [n for n in REDUCTIONS if not n.startswith("arg")])
def test_an_axis_out_of_range_or_named_twice_is_refused(name: str) -> None:
    x = ops.draw(np.random.default_rng(0), (2, 3, 4), REDUCTIONS[name][1][0])
    assert ops.refusal(name, x=x, axis=(3,)) == "axis to be between -3 and 2, but it is 3"
    assert ops.refusal(name, x=x, axis=(-4,)) == "axis to be between -3 and 2, but it is -4"
    assert "the same axis" in ops.refusal(name, x=x, axis=(-1, 2))


def test_an_empty_axis_is_named() -> None:
    assert ops.refusal("max", x=np.zeros((3, 0)), axis=(1,)) == "axis 1 of `x` to be at least 1"
    assert ops.refusal("argmin", x=np.zeros((0, 3))) == "axis 0 of `x` to be at least 1"


def test_the_limits_of_logsumexp() -> None:
    x = np.array([[-np.inf, -np.inf], [np.inf, 0], [1e5, 1e5]])
    ops.close(ops.call("logsumexp", x=x, axis=(1,)), np.array([-np.inf, np.inf, 1e5 + np.log(2)]))
    assert ops.call("logsumexp", x=np.zeros((0,))) == -np.inf


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("reverse", [False, True])
def test_each_element_of_a_running_reduction_is_that_of_the_ones_up_to_it(name: str, reverse: bool) -> None:
    whole = name.replace("cumulative_", "")
    for seed in range(ROUNDS):
        random = np.random.default_rng(seed)
        x = ops.draw(random, ops.draw_shape(random), "float64", -2, 2)
        for axis in range(-x.ndim, x.ndim):
            result = np.moveaxis(ops.call(name, x=x, axis=axis, reverse=reverse), axis, 0)
            front = np.moveaxis(x, axis, 0)
            assert result.shape == front.shape
            for i, row in enumerate(result):
                ops.close(row, ops.call(whole, x=front[i:] if reverse else front[: i + 1], axis=(0,)))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulation_is_numpys(name: str) -> None:
    function, first = {"cumulative_sum": (np.cumsum, 0), "cumulative_prod": (np.cumprod, 1)}[name]

    def reference(x: Any, axis: Any, include_initial: bool) -> Any:
        made = function(x, axis=axis)
        width = [(int(include_initial) if i == (axis or 0) % made.ndim else 0, 0) for i in range(made.ndim)]
        return np.pad(made, width, constant_values=first)

    for seed, dtype in zip(range(ROUNDS), itertools.cycle(NUMERIC), strict=False):
        random = np.random.default_rng(seed)
        x = ops.draw(random, ops.draw_shape(random), dtype, -2, 2)
        axis = draw_axis(random, x.ndim, one=True)
        if axis is None and x.ndim != 1:
            assert f"the rank of `x` is {x.ndim}" in ops.refusal(name, x=x)
        else:
            ops.check(name, reference, x=x, axis=axis, include_initial=bool(random.integers(2)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", FLOATING)
def test_softmax_is_its_formula(name: str, dtype: str) -> None:
    def reference(x: Any, axis: int = -1) -> Any:
        weights = np.exp(x)
        shares = weights / np.sum(weights, axis=axis, keepdims=True)
        return shares if name == "softmax" else np.log(shares)

    for seed in range(12):
        random = np.random.default_rng(seed)
        x = ops.draw(random, ops.draw_shape(random, least=1), dtype)
        axis = draw_axis(random, x.ndim, one=True)
        ops.check(name, reference, x=x, **({} if axis is None else {"axis": axis}))
    assert ops.refusal(name, x=np.zeros((2, 3)), axis=2) == "axis to be between -2 and 1, but it is 2"
    assert "at least one axis" in ops.refusal(name, x=np.zeros(()))


def test_softmax_does_not_overflow() -> None:
    x = np.array([[1000.0, 1000.0], [-1000.0, 0.0]])
    np.testing.assert_allclose(ops.call("softmax", x=x), [[0.5, 0.5], [0, 1]])
    np.testing.assert_allclose(ops.call("log_softmax", x=x), [[-np.log(2), -np.log(2)], [-1000, 0]])


@nothing
@pytest.mark.parametrize("dtype", FLOATING)
def test_softmax_is_the_same_wherever_its_elements_lie(dtype: str) -> None:
    random, element = np.random.default_rng(0), numpy_dtype(DTYPES[dtype])
    # Halves are rounded at each step: what is 16 below the largest by half a step of 16.
    bound = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 4e-2}.get(dtype, 2e-2)
    for shift in (0, 3, 30, -9, -60, 87, 89, -104, 700, -800, 1e4, -1e4):
        for axis in (-1, 0):
            x = (random.standard_normal((4, 6)) + np.array([[shift], [0], [-shift / 7], [shift / 7]])).astype(element)
            x[1, 2:4] = -np.inf
            x[2, 0] = -1e30 if dtype != "float16" else -6e4
            wide = x.astype(np.float64)
            wide = np.exp(wide - wide.max(axis, keepdims=True))
            made = ops.compute("softmax", x=x, axis=axis).astype(np.float64)
            np.testing.assert_allclose(
                made, wide / wide.sum(axis, keepdims=True), bound, 1e-7 if bound > 1e-3 else 1e-30
            )
    for extreme in (np.inf, np.nan):
        made = ops.compute("softmax", x=np.array([[extreme, 0], [0, 0], [-np.inf, -np.inf]], element))
        assert np.isnan(made[0].astype(np.float64)).any() and np.isnan(made[2].astype(np.float64)).all()
        assert made[1].tolist() == [0.5, 0.5]


@nothing
@pytest.mark.parametrize("dtype", FLOATING)
def test_norms_are_their_formulas(dtype: str) -> None:
    for seed in range(16):
        random = np.random.default_rng(seed)
        x = ops.draw(random, ops.draw_shape(random, least=1), dtype)
        axis = int(random.integers(-x.ndim, x.ndim))
        scale, bias = (ops.draw(random, x.shape[axis:], dtype) for _ in range(2))
        axes = tuple(range(axis % x.ndim, x.ndim))

        def layer_norm(x: Any, scale: Any, bias: Any = 0, *, axes: Any = axes, epsilon: float = 1e-5, **_: Any) -> Any:
            mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
            return (x - mean) / np.sqrt(var + epsilon) * ops.wide(scale) + ops.wide(bias)

        def rms_norm(x: Any, scale: Any, *, axes: Any = axes, epsilon: float = 1e-6, **_: Any) -> Any:
            return x / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon) * ops.wide(scale)

        ops.check("layer_norm", layer_norm, x=x, scale=scale, bias=bias, axis=axis)
        ops.check("layer_norm", layer_norm, x=x, scale=scale, axis=axis, epsilon=0.5)
        ops.check("rms_norm", rms_norm, x=x, scale=scale, axis=axis)
        ops.check("rms_norm", rms_norm, x=x, scale=scale, axis=axis, epsilon=0.5)


def test_the_weights_of_a_norm_have_the_sizes_of_its_axes() -> None:
    x = np.zeros((2, 3, 5))
    assert ops.refusal("layer_norm", x=x, scale=np.zeros(3)) == "axis 0 of `scale` and axis -1 of `x` to be equal"
    assert (
        ops.refusal("rms_norm", x=x, scale=np.zeros((3, 7)), axis=1)
        == "axis 1 of `scale` and axis -1 of `x` to be equal"
    )
    assert "`bias` to have rank 1" in ops.refusal("layer_norm", x=x, scale=np.zeros(5), bias=np.zeros((2, 5)))


# Reductions over sizes that are not known

n, m = ops.symbols("n", "m")
ENVS = ops.grid("n", "m")
dims = st.sampled_from([0, 1, 3, "n", "m"])


def size(text: Any) -> Any:
    return {"n": n, "m": m}.get(text, text)


def tensor(*shape: Any, dtype: str = "float32", data: Any = None) -> TensorInfo:
    return TensorInfo(shape, DTYPES[dtype], data if data is None or isinstance(data, tuple) else (data,))


@given(st.sampled_from([n for n in REDUCTIONS if n[0] != "a"]), st.lists(dims, min_size=1, max_size=3), st.data())
def test_a_reduction_over_symbols_is_one_over_each_value(name: str, shape: Any, data: Any) -> None:
    axis = data.draw(st.none() | st.lists(st.integers(-len(shape), len(shape) - 1), max_size=2).map(tuple))
    x = tensor(*map(size, shape))
    ops.agrees(name, ENVS, x=x, axis=axis, keepdims=data.draw(st.booleans()))


@given(st.lists(dims, min_size=1, max_size=3), st.lists(dims, min_size=1, max_size=2), st.integers(-3, 2))
def test_a_norm_over_symbols_is_one_over_each_value(shape: Any, scale: Any, axis: int) -> None:
    x, weight = tensor(*map(size, shape)), tensor(*map(size, scale))
    ops.agrees("layer_norm", ENVS, x=x, scale=weight, axis=axis)
    ops.agrees("cumulative_sum", ENVS, x=x, axis=axis, include_initial=True)
    ops.agrees("cumulative_sum", ENVS, x=x)


class RankCtx(ops.GridCtx):  # type: ignore[misc]
    """Knows as little of a shape as its segments say."""

    def dims(self, x: TensorInfo) -> tuple[Any, ...]:
        if any(isinstance(d, Segment) for d in x.shape):
            raise RankUnknown
        return x.shape

    def rank(self, x: TensorInfo) -> int:
        return len(self.dims(x))


def shaped(name: str, **values: Any) -> Any:
    row = ops.row_of(name)
    (out,) = ops.outcomes(row, row.rule(RankCtx(ENVS), *(values.get(p.name, p.default) for p in row.params)))
    return out.shape


batch = Segment("batch")


def test_axes_behind_an_unknown_number_of_others_can_be_reduced() -> None:
    x = TensorInfo((batch, n, m), DTYPES["float32"])
    assert shaped("sum", x=x, axis=(-1,)) == (batch, n)
    assert shaped("max", x=x, axis=(-1,), keepdims=True) == (batch, n, 1)
    assert shaped("mean", x=x) == ()
    assert shaped("softmax", x=x) == x.shape
    assert shaped("layer_norm", x=x, scale=tensor(m)) == x.shape
    assert shaped("cast", x=x, dtype=FLOAT16) == x.shape
    assert shaped("one_hot", indices=x, depth=n) == (batch, n, m, n)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("sum", {"axis": (0,)}),
        ("sum", {"axis": (-3,)}),
        ("max", {}),
        ("sum", {"keepdims": True}),
        ("cumulative_sum", {}),
    ],
)
def test_an_axis_that_may_be_any_has_no_known_result(name: str, attributes: dict[str, Any]) -> None:
    with pytest.raises(RankUnknown):
        shaped(name, x=TensorInfo((batch, n, m), DTYPES["float32"]), **attributes)


def test_reductions_of_tracked_elements_are_tracked() -> None:
    x = tensor(3, dtype="int64", data=(n, 2, m))
    for name in ("sum", "prod", "max", "min"):
        (out,) = ops.agrees(name, ENVS, x=x)
        assert out.data is not None
        (out,) = ops.agrees(name, ENVS, x=x, axis=(0,), keepdims=True)
        assert len(out.data) == 1
    (out,) = ops.agrees("prod", ENVS, x=tensor(3, dtype="int8", data=(n, 100, m)))
    assert out.data is None


# New tensors

shapes = st.lists(st.sampled_from(ops.SIZES), max_size=3).map(tuple)
any_dtype = st.sampled_from(["float32", "float16", "bfloat16", "int8", "int4", "int64", "bool", "complex64"])


@given(st.sampled_from(["zeros", "ones"]), shapes, st.none() | any_dtype)
def test_constants_have_the_shape_and_dtype_that_is_asked_for(name: str, shape: Any, dtype: Any) -> None:
    made = ops.call(name, shape=shape, dtype=dtype and DTYPES[dtype])
    assert made.shape == shape and dtype_of(made.dtype).name == (dtype or "float32")
    assert np.all(made == (name == "ones"))
    like = ops.call(f"{name}_like", x=np.zeros(shape, np.int8), dtype=dtype and DTYPES[dtype])
    assert like.shape == shape and dtype_of(like.dtype).name == (dtype or "int8")
    assert np.all(like == (name == "ones"))


@given(shapes, any_dtype, st.none() | any_dtype.filter(lambda d: d != "bool"))
def test_full_is_one_value_throughout(shape: Any, dtype: str, target: Any) -> None:
    value = np.asarray(1).astype(numpy_dtype(DTYPES[dtype]))
    if dtype == "complex64":
        assert "not to be complex, as " in ops.refusal("full", shape=shape, value=value, dtype=FLOAT16)
        target = "complex128"
    made = ops.call("full", shape=shape, value=value, dtype=target and DTYPES[target])
    assert made.shape == shape and dtype_of(made.dtype).name == (target or dtype) and np.all(made == 1)
    like = ops.call("full_like", x=np.zeros(shape, np.float16), value=value, dtype=target and DTYPES[target])
    assert like.shape == shape and dtype_of(like.dtype).name == (target or "float16") and np.all(like == 1)


def test_full_takes_a_number_or_a_scalar() -> None:
    assert ops.call("full", shape=(2,), value=7).tolist() == [7, 7]
    assert ops.call("full", shape=(2,), value=0.5).dtype == np.float64
    assert ops.call("full_like", x=np.zeros(2, np.int8), value=7).dtype == np.int8
    assert ops.refusal("full", shape=(2,), value=np.zeros(1)) == (
        "`value` to be a number or a rank-0 tensor, but its rank is 1"
    )
    assert ops.refusal("zeros", shape=(2, -1)) == "size 1 of `shape` to be at least 0"


@given(
    st.integers(-9, 9), st.none() | st.integers(-9, 9), st.integers(-4, 4), st.sampled_from([None, "int8", "float32"])
)
def test_arange_is_pythons_range(start: int, stop: int | None, step: int, dtype: Any) -> None:
    values = {"start": start, "stop": stop, "step": step, "dtype": dtype and DTYPES[dtype]}
    if step == 0:
        assert ops.refusal("arange", **values) == "`step` not to be 0"
        return
    made = ops.call("arange", **values)
    assert made.tolist() == list(range(0, start, step) if stop is None else range(start, stop, step))
    assert dtype_of(made.dtype).name == (dtype or "int64")


sizes = st.sampled_from([0, 2, 3, 7, "n", "m", "-n", "n - m", "n * 2"])


def integer(text: Any) -> Any:
    return {"-n": -n, "n - m": n - m, "n * 2": n * 2}.get(text, size(text))


@given(sizes, st.none() | sizes, st.sampled_from([1, 2, 3, -1, -2, "n", "n + 1", "-n", "n - m"]))
def test_arange_over_symbols_is_arange_over_each_value(start: Any, stop: Any, step: Any) -> None:
    stride = n + 1 if step == "n + 1" else integer(step)
    ops.agrees("arange", ENVS, start=integer(start), stop=None if stop is None else integer(stop), step=stride)


def test_arange_of_a_size_has_that_size() -> None:
    (out,) = ops.agrees("arange", ENVS, start=n)
    assert out.shape[0] is not n and ops.ground(out.shape, {"n": 3, "m": 0}) == (3,)
    (out,) = ops.agrees("arange", ENVS, start=n, stop=n + 3)
    assert out.data is None


def test_a_short_range_is_tracked() -> None:
    (out,) = ops.agrees("arange", ENVS, start=2, stop=9, step=3)
    assert out.data == (2, 5, 8)
    assert ops.agrees("arange", ENVS, start=257)[0].data is None
    assert ops.agrees("arange", ENVS, start=300, stop=302, dtype=DTYPES["int8"])[0].data is None


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize("dtype", [None, *FLOATING])
def test_linspace_is_numpys(num: int, endpoint: bool, dtype: Any) -> None:
    values = {"start": -1.0, "stop": 2.0, "num": num, "endpoint": endpoint, "dtype": dtype and DTYPES[dtype]}
    made = ops.call("linspace", **values)
    ops.close(made, (-1 + 3 * np.arange(num) / max(num - endpoint, 1)).astype(made.dtype))
    assert ops.refusal("linspace", **{**values, "num": -1}) == "`num` to be at least 0"
    assert (
        ops.refusal("linspace", **{**values, "dtype": INT64})
        == "`dtype` to be a floating or complex dtype, but it is int64"
    )


@given(st.integers(0, 4), st.none() | st.integers(0, 4), st.integers(-3, 3), any_dtype)
def test_eye_has_ones_on_a_diagonal(rows: int, columns: int | None, k: int, dtype: str) -> None:
    made = ops.call("eye", n=rows, m=columns, k=k, dtype=DTYPES[dtype])
    i, j = np.indices(made.shape)
    assert np.array_equal(made.astype(bool), j - i == k)


@given(shapes, st.integers(0, 4), st.sampled_from(["int8", "int64", "uint8", "uint64"]), st.none() | any_dtype)
def test_one_hot_rows_have_a_one_at_the_index(shape: Any, depth: int, dtype: str, target: Any) -> None:
    indices = ops.draw(np.random.default_rng(len(shape) + depth), shape, dtype, -6, 6)
    made = ops.call("one_hot", indices=indices, depth=depth, dtype=target and DTYPES[target])
    assert made.shape == (*shape, depth) and dtype_of(made.dtype).name == (target or "float32")
    for place in np.ndindex(shape):
        index = int(indices[place])
        index += depth if index < 0 else 0
        assert made[place].astype(complex).tolist() == [i == index for i in range(depth)]


def test_one_hot_of_a_size() -> None:
    assert ops.call("one_hot", indices=2, depth=4).tolist() == [0, 0, 1, 0]


# Casts


@pytest.mark.parametrize("source", ops.EVERY)
@pytest.mark.parametrize("target", ops.EVERY)
def test_a_cast_has_the_dtype_and_keeps_the_elements(source: str, target: str) -> None:
    kinds = DTYPES[source].kind, DTYPES[target].kind
    if "string" in kinds and kinds != ("string", "string"):
        return
    for shape in ((), (0,), (2, 3)):
        x = ops.draw(np.random.default_rng(0), shape, source, 0, 4)
        if kinds[0] == "complex" and kinds[1] not in ("complex", "bool"):
            assert "not to be complex, as " in ops.refusal("cast", x=x, dtype=DTYPES[target])
            continue
        made = ops.call("cast", x=x, dtype=DTYPES[target])
        if kinds[1] in ("int", "uint") and kinds[0] == "float":
            assert np.array_equal(made, np.trunc(x.astype(float)).astype(made.dtype))
        elif kinds[0] == kinds[1] or kinds[0] == "bool":
            assert np.array_equal(made.astype(x.dtype), x)


def test_a_cast_tracks_elements_that_fit() -> None:
    x = tensor(2, dtype="int64", data=(n, 100))
    assert ops.agrees("cast", ENVS, x=x, dtype=DTYPES["int8"])[0].data is not None
    assert ops.agrees("cast", ENVS, x=tensor(dtype="int64", data=n * 100), dtype=DTYPES["int8"])[0].data is None
    assert ops.agrees("cast", ENVS, x=tensor(dtype="int64", data=n - 1), dtype=DTYPES["uint8"])[0].data is None
    assert ops.agrees("cast", ENVS, x=x, dtype=FLOAT16)[0].data is not None
    assert ops.agrees("cast", ENVS, x=tensor(dtype="float32", data=Ratio(n)), dtype=DTYPES["int8"])[0].data == (n,)
    assert ops.agrees("cast", ENVS, x=x, dtype=DTYPES["float8_e5m2"])[0].data is None


def test_a_cast_of_what_does_not_fit_does_not_warn() -> None:
    assert ops.call("cast", x=np.array([np.nan, 1e30]), dtype=DTYPES["int32"]).dtype == np.int32
    assert ops.call("cast", x=np.array([300, -1]), dtype=DTYPES["uint8"]).tolist() == [44, 255]
    assert ops.call("cast", x=1e30, dtype=FLOAT16) == np.inf


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_dtype_is_one_of_numpys_and_back(dtype: Any) -> None:
    assert dtype_of(numpy_dtype(dtype)) == dtype
    assert is_extended(dtype) == (numpy_dtype(dtype).isbuiltin == 2)


def test_a_dtype_that_rx_does_not_have_is_said() -> None:
    assert dtype_of(np.dtype("U5")) == DTYPES["string"] and dtype_of(np.dtype(">i4")) == DTYPES["int32"]
    with pytest.raises(LookupError, match="datetime64"):
        dtype_of(np.dtype("datetime64[s]"))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.sampled_from(["xy", "ij"]))
def test_a_grid_of_coordinates_is_numpys(sizes: list[int], indexing: Any) -> None:
    xs = [np.arange(size, dtype=np.float32) for size in sizes]
    made = ops.call("meshgrid", xs=xs, indexing=indexing)
    for ours, theirs in zip(made, np.meshgrid(*xs, indexing=indexing), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_grid_of_no_vectors_is_refused() -> None:
    assert "`xs[1]` to have rank 1" in ops.refusal("meshgrid", xs=[np.zeros(2), np.zeros((2, 3))])
    assert "at least one" in ops.refusal("meshgrid", xs=[])
    assert '"xy" or "ij"' in ops.refusal("meshgrid", xs=[np.zeros(2)], indexing="yx")


# Between sizes and tensors


@given(shapes)
def test_shape_and_size_are_numpys(shape: Any) -> None:
    x = np.zeros(shape, np.float32)
    assert ops.call("shape", x=x).tolist() == list(shape)
    assert ops.call("size", x=x) == x.size


def test_shape_and_size_carry_the_sizes() -> None:
    assert ops.agrees("shape", ENVS, x=tensor(n, 3, m))[0].data == (n, 3, m)
    (out,) = ops.agrees("size", ENVS, x=tensor(n, 3, m))
    assert ops.ground(out.data, {"n": 2, "m": 5}) == (30,)


def test_the_shape_of_a_tensor_of_unknown_rank_has_rank_1() -> None:
    (length,) = shaped("shape", x=TensorInfo((batch,), DTYPES["float32"]))
    assert length.least == 0 and shaped("size", x=TensorInfo((batch,), DTYPES["float32"])) == ()


def test_a_size_becomes_a_tensor_and_is_read_again() -> None:
    t = ops.call("size_to_tensor", n=-7)
    assert t.shape == () and t.dtype == np.int64
    assert ops.call("item", t=t) == -7
    with pytest.raises(OverflowError):
        ops.compute("size_to_tensor", n=2**63)
    assert ops.predict("size_to_tensor", n=2**63).tensors[0].data is None


@pytest.mark.parametrize(("dtype", "least"), [("int64", None), ("int8", None), ("uint8", 0)])
def test_an_unknown_item_is_a_fresh_size_that_may_be_negative(dtype: str, least: Any) -> None:
    rule = ops.row_of("item").rule
    assert rule(RankCtx(ENVS), tensor(dtype=dtype)).least == least
    assert rule(RankCtx(ENVS), tensor(dtype=dtype, data=n)) is n
    with pytest.raises(NeedsData):
        ops.predict("item", data=False, t=np.array(3))
    assert "rank-0" in ops.refusal("item", t=np.array([3]))
