"""Convolution and pooling: shapes and elements are those of loops that visit every window."""

from __future__ import annotations

import inspect
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from hypothesis import given, strategies as st
from rxlang import pipeline
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import Violation
from rxlang.ops.model import TensorInfo
from support import ops

FLOAT32 = DTYPES["float32"]
seeds = st.integers(0, 2**32 - 1)


def tensor(*shape: Any) -> TensorInfo:
    return TensorInfo(shape, FLOAT32)


@pytest.mark.parametrize("family", ["conv", "pool", "nn", "recurrent", "loss"])
def test_every_row_has_a_kernel_with_its_parameters_and_a_doc(family: str) -> None:
    rows = ops.rows_of(family)
    assert len(rows) >= 6
    for row in rows:
        assert list(inspect.signature(kernels.lookup(row.name)).parameters) == [p.name for p in row.params]
        assert len(row.doc) > 60


# Sizes, as PyTorch's and TensorFlow's documents have them


def naive_pads(size: int, reach: int, stride: int, auto_pad: str, pads: tuple[int, int]) -> tuple[int, int]:
    if not auto_pad.startswith("same"):
        return pads
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return (total // 2, total - total // 2) if auto_pad == "same_upper" else (total - total // 2, total // 2)


def naive_count(size: int, reach: int, stride: int, pads: tuple[int, int], ceil: bool = False) -> int:
    """How many windows there are, by PyTorch's `pooling_output_shape`; less than 1 is refused."""
    low, high = pads
    count = (size + low + high - reach + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + low else count


class Draw:
    """A random configuration of windows over one to three axes."""

    def __init__(self, seed: int, pooled: bool) -> None:
        self.random = random = np.random.default_rng(seed)
        self.count = int(random.integers(1, 4))
        self.ceil = bool(pooled and random.random() < 0.4)
        most = 8 if self.count < 3 else 5
        self.sizes = [int(n) for n in random.integers(0, most, self.count)]
        self.kernel = [int(k) for k in random.integers(1, 4, self.count)]
        self.strides = [int(s) for s in random.integers(1, 4, self.count)]
        self.dilations = [int(d) for d in random.integers(1, 3, self.count)]
        self.auto_pad = str(random.choice(["notset", "notset", "same_upper", "same_lower", "valid"]))
        self.pads = [(0, 0)] * self.count
        if self.auto_pad == "notset":
            highest = [k // 2 if pooled else 2 for k in self.kernel]
            self.pads = [(int(random.integers(0, h + 1)), int(random.integers(0, h + 1))) for h in highest]
        self.reach = [d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        self.laid = [
            naive_pads(n, e, s, self.auto_pad, p)
            for n, e, s, p in zip(self.sizes, self.reach, self.strides, self.pads, strict=True)
        ]
        self.last = bool(random.random() < 0.3)

    def attributes(self) -> dict[str, Any]:
        given: dict[str, Any] = {"strides": tuple(self.strides), "dilations": tuple(self.dilations)}
        given["auto_pad"] = self.auto_pad
        given["layout"] = "channels_last" if self.last else "channels_first"
        if self.auto_pad == "notset":
            given["pads"] = tuple(self.pads)
        return given

    def counts(self, filled: bool) -> list[int] | None:
        """The sizes of the result, or None if the call is refused; an empty axis may stay one."""
        if self.auto_pad.startswith("same"):
            return [-(-n // s) for n, s in zip(self.sizes, self.strides, strict=True)]
        found = []
        for n, reach, stride, pads in zip(self.sizes, self.reach, self.strides, self.laid, strict=True):
            count = naive_count(n, reach, stride, pads, self.ceil)
            if count < 1 and not (n == 0 and count == 0):
                return None
            if filled and n == 0 and count > 0:
                return None
            found.append(count)
        return found

    def windows(self, counts: list[int]) -> Any:
        """Each window's place, and the places in the image of what it meets with those in the kernel."""
        for place in itertools.product(*map(range, counts)):
            met = []
            for tap in itertools.product(*map(range, self.kernel)):
                where = tuple(
                    p * s + t * d - low
                    for p, s, t, d, (low, _) in zip(place, self.strides, tap, self.dilations, self.laid, strict=True)
                )
                if all(0 <= i < n for i, n in zip(where, self.sizes, strict=True)):
                    met.append((where, tap))
            yield place, met

    def out(self, x: Any) -> Any:
        return np.moveaxis(x, 1, -1) if self.last else x


def naive_conv(draw: Draw, x: Any, weight: Any, bias: Any, groups: int, counts: list[int]) -> Any:
    outputs, inputs = weight.shape[:2]
    result = np.zeros((len(x), outputs, *counts))
    for place, met in draw.windows(counts):
        for o in range(outputs):
            first = o // (outputs // groups) * inputs
            total = sum(
                (
                    x[(slice(None), slice(first, first + inputs), *where)] @ weight[(o, slice(None), *tap)]
                    for where, tap in met
                ),
                np.zeros(len(x)),
            )
            result[(slice(None), o, *place)] = total + (0 if bias is None else bias[o])
    return result


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bfloat16"])
@given(seed=seeds)
def test_conv_is_a_loop_over_its_windows(dtype: str, seed: int) -> None:
    draw = Draw(seed, pooled=False)
    random = draw.random
    batch, groups, inputs, per = (int(n) for n in random.integers((0, 1, 0, 0), (3, 3, 3, 3)))
    x = ops.draw(random, (batch, groups * inputs, *draw.sizes), dtype, -3, 3)
    weight = ops.draw(random, (groups * per, inputs, *draw.kernel), dtype, -3, 3)
    bias = ops.draw(random, (groups * per,), dtype, -3, 3) if random.random() < 0.5 else None
    kernel = np.moveaxis(weight, (0, 1), (-1, -2)) if draw.last else weight
    given_bias = {} if bias is None else {"bias": bias}
    name = f"conv{draw.count}d" if random.random() < 0.3 else "conv"
    values = {"x": draw.out(x), "weight": kernel, "groups": groups, **given_bias, **draw.attributes()}
    counts = draw.counts(filled=False)
    if counts is None:
        assert "for a kernel of extent" in ops.refusal(name, **values)
        return
    made = ops.call(name, **values)
    expected = naive_conv(draw, *(ops.wide(v) for v in (x, weight, bias)), groups, counts)
    ops.close(made, draw.out(expected).astype(made.dtype))


@given(seed=seeds)
def test_conv_transpose_is_the_transpose_of_conv(seed: int) -> None:
    draw = Draw(seed, pooled=False)
    counts = draw.counts(filled=False)
    if counts is None or 0 in counts:
        return
    random = draw.random
    batch, groups, inputs, per = (int(n) for n in random.integers((0, 1, 0, 0), (3, 3, 3, 3)))
    weight = ops.draw(random, (groups * per, inputs, *draw.kernel), "float64")
    y = ops.draw(random, (batch, groups * per, *counts), "float64")
    kernel = np.moveaxis(weight, (0, 1), (-1, -2)) if draw.last else weight
    given_shape = {"output_shape": tuple(draw.sizes), "groups": groups}
    made = ops.call("conv_transpose", x=draw.out(y), weight=kernel, **given_shape, **draw.attributes())
    made = np.moveaxis(made, -1, 1) if draw.last else made
    # <conv(x), y> == <x, conv_transpose(y)> for all x.
    expected = np.zeros_like(made)
    for place, met in draw.windows(counts):
        for o in range(groups * per):
            first = o // max(per, 1) * inputs
            for where, tap in met:
                expected[(slice(None), slice(first, first + inputs), *where)] += np.outer(
                    y[(slice(None), o, *place)], weight[(o, slice(None), *tap)]
                )
    np.testing.assert_allclose(made, expected, 1e-11, 1e-11)


@given(seed=seeds)
def test_conv_transpose_without_a_shape_makes_the_least_one_and_output_padding_adds_to_it(seed: int) -> None:
    draw = Draw(seed, pooled=False)
    draw.auto_pad = "notset"
    extra = [int(draw.random.integers(0, max(s, d))) for s, d in zip(draw.strides, draw.dilations, strict=True)]
    x = ops.draw(draw.random, (1, 2, *draw.sizes), "float32")
    weight = ops.draw(draw.random, (2, 3, *draw.kernel), "float32")
    bias = ops.draw(draw.random, (3,), "float32")
    attributes = {"strides": tuple(draw.strides), "dilations": tuple(draw.dilations), "pads": tuple(draw.pads)}
    sizes = [
        (n - 1) * s + reach - low - high + more
        for n, s, reach, (low, high), more in zip(draw.sizes, draw.strides, draw.reach, draw.pads, extra, strict=True)
    ]
    values = {"x": x, "weight": weight, "bias": bias, "output_padding": tuple(extra), **attributes}
    if any(t < 0 or (t == 0) != (n == 0) for n, t in zip(draw.sizes, sizes, strict=True)):
        assert "to be at least" in ops.refusal("conv_transpose", **values)
        return
    made = ops.call("conv_transpose", **values)
    assert made.shape == (1, 3, *sizes)
    if any(t - more < 1 for t, more in zip(sizes, extra, strict=True)):
        return
    least = ops.call("conv_transpose", **{**values, "output_padding": None})
    both = tuple(slice(0, n) for n in least.shape)
    np.testing.assert_array_equal(made[both], least)


def test_conv_transpose_with_same_padding_multiplies_the_size_by_the_stride() -> None:
    for n, k, stride, auto_pad in itertools.product(range(4), (1, 2, 3), (1, 2, 3), ("same_upper", "same_lower")):
        x, weight = np.ones((1, 1, n), np.float32), np.ones((1, 1, k), np.float32)
        made = ops.call("conv_transpose1d", x=x, weight=weight, strides=(stride,), auto_pad=auto_pad)
        assert made.shape == (1, 1, n * stride)
        back = ops.call("conv1d", x=made, weight=weight, strides=(stride,), auto_pad=auto_pad)
        assert back.shape == x.shape


def test_an_output_shape_is_taken_exactly_where_the_convolution_maps_it_back() -> None:
    def zeros(*shape: int) -> Any:
        return np.zeros(shape, np.float32)

    attributes: list[dict[str, Any]] = [{}, {"pads": ((1, 1),)}, {"pads": ((0, 2),)}, {"auto_pad": "same_upper"}]
    taken = 0
    for n, k, stride, size, given_pads in itertools.product(range(4), (1, 3), (1, 2), range(8), attributes):
        values = {"weight": zeros(1, 1, k), "strides": (stride,), **given_pads}
        try:
            back = ops.predict("conv1d", x=zeros(1, 1, size), **values).tensors[0].shape[2]
        except Violation:
            back = None
        if back == n:
            made = ops.call("conv_transpose1d", x=zeros(1, 1, n), output_shape=(size,), **values)
            assert made.shape == (1, 1, size)
            taken += 1
        else:
            what = ops.refusal("conv_transpose1d", x=zeros(1, 1, n), output_shape=(size,), **values)
            assert "a size that the convolution maps to axis 2 of `x`" in what
    assert taken > 50


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int4", "bfloat16"])
@given(seed=seeds)
def test_max_pool_is_a_loop_over_its_windows(dtype: str, seed: int) -> None:
    draw = Draw(seed, pooled=True)
    lead = tuple(int(n) for n in draw.random.integers(0, 3, 2))
    x = ops.draw(draw.random, (*lead, *draw.sizes), dtype, -7, 7)
    counts = draw.counts(filled=True)
    values = {"x": draw.out(x), "kernel_shape": tuple(draw.kernel), "ceil_mode": draw.ceil, **draw.attributes()}
    if counts is None:
        assert "for a kernel of extent" in ops.refusal("max_pool", **values)
        return
    made = ops.call("max_pool", **values)
    expected = np.zeros((*lead, *counts))
    least = -8 if dtype == "int4" else -128 if dtype == "int8" else -np.inf
    for place, met in draw.windows(counts):
        found = [ops.wide(x)[(..., *where)] for where, _ in met]
        expected[(..., *place)] = np.max(found, axis=0) if found else least
    np.testing.assert_array_equal(made.astype(np.float64), draw.out(expected))


@pytest.mark.parametrize("include_pad", [False, True])
@given(seed=seeds)
def test_average_pool_is_a_loop_over_its_windows(include_pad: bool, seed: int) -> None:
    draw = Draw(seed, pooled=True)
    x = ops.draw(draw.random, (2, 1, *draw.sizes), "float64")
    counts = draw.counts(filled=True)
    values = {"x": draw.out(x), "kernel_shape": tuple(draw.kernel), "ceil_mode": draw.ceil, **draw.attributes()}
    if counts is None:
        ops.refusal("average_pool", **values)
        return
    made = ops.call("average_pool", count_include_pad=include_pad, **values)
    expected = np.zeros((2, 1, *counts))
    for place, met in draw.windows(counts):
        total = sum((x[(..., *where)] for where, _ in met), np.zeros((2, 1)))
        taps = 0
        for tap in itertools.product(*map(range, draw.kernel)):
            where = [p * s + t * d for p, s, t, d in zip(place, draw.strides, tap, draw.dilations, strict=True)]
            ends = [low + n + high for (low, high), n in zip(draw.laid, draw.sizes, strict=True)]
            taps += all(i < end for i, end in zip(where, ends, strict=True))
        count = taps if include_pad else len(met)
        expected[(..., *place)] = total / count if count else np.nan
    np.testing.assert_allclose(made, draw.out(expected), 1e-11, 1e-11)


def test_a_window_of_nan_is_nan_and_small_floats_are_averaged_in_float32() -> None:
    x = np.array([[[1, np.nan, 3, 4]]], np.float32)
    np.testing.assert_array_equal(ops.call("max_pool", x=x, kernel_shape=(2,)), [[[np.nan, 4]]])
    half = np.full((1, 1, 4096), 1, np.float16)
    assert ops.call("average_pool", x=half, kernel_shape=(4096,)).item() == 1
    assert ops.call("conv1d", x=half, weight=half).item() == 4096


def test_without_strides_pools_lie_side_by_side_and_one_entry_holds_for_all_axes() -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6)
    made = ops.call("max_pool2d", x=x, kernel_shape=(2,))
    np.testing.assert_array_equal(made, x.reshape(1, 1, 2, 2, 3, 2).max((3, 5)))
    np.testing.assert_array_equal(ops.call("max_pool", x=x, kernel_shape=(2,)), made)
    np.testing.assert_array_equal(ops.call("max_pool2d", x=x[0], kernel_shape=(2,)), made[0])
    wide = ops.call("average_pool2d", x=x, kernel_shape=(2,), strides=(1,), pads=((1, 1),))
    assert wide.shape == (1, 1, 5, 7)


@given(seeds)
def test_adaptive_pools_divide_the_axes_into_parts(seed: int) -> None:
    random = np.random.default_rng(seed)
    h, w, p, q = (int(n) for n in random.integers((1, 1, 0, 0), (7, 7, 5, 5)))
    x = ops.draw(random, (2, 3, h, w), "float64")
    largest, mean = np.zeros((2, 3, p, q)), np.zeros((2, 3, p, q))
    for i, j in itertools.product(range(p), range(q)):
        part = x[:, :, i * h // p : -(-(i + 1) * h // p), j * w // q : -(-(j + 1) * w // q)]
        largest[:, :, i, j], mean[:, :, i, j] = part.max((2, 3)), part.mean((2, 3))
    np.testing.assert_array_equal(ops.call("adaptive_max_pool", x=x, output_shape=(p, q)), largest)
    np.testing.assert_allclose(ops.call("adaptive_average_pool", x=x, output_shape=(p, q)), mean, 1e-12, 1e-12)
    last = {"x": np.moveaxis(x, 1, -1), "output_shape": (p, q), "layout": "channels_last"}
    np.testing.assert_array_equal(ops.call("adaptive_max_pool", **last), np.moveaxis(largest, 1, -1))


def test_global_pools_keep_axes_of_size_1() -> None:
    x = ops.draw(np.random.default_rng(0), (2, 3, 4, 5), "float32")
    np.testing.assert_allclose(ops.call("global_average_pool", x=x), x.mean((2, 3), keepdims=True), 1e-6)
    np.testing.assert_array_equal(ops.call("global_max_pool", x=x), x.max((2, 3), keepdims=True))
    last = np.moveaxis(x, 1, -1)
    assert ops.call("global_max_pool", x=last, layout="channels_last").shape == (2, 1, 1, 3)
    assert np.isnan(ops.call("global_average_pool", x=x[:, :, :0])).all()
    assert ops.refusal("global_max_pool", x=x[:, :, :0]) == "axis 2 of `x` to be at least 1"
    assert ops.refusal("adaptive_max_pool", x=x[:, :, :0], output_shape=(1,)) == "axis 2 of `x` to be at least 1"


@pytest.mark.parametrize(
    ("name", "shapes", "attributes", "what"),
    [
        ("conv2d", [(1, 3, 5, 5), (4, 2, 3, 3)], {}, "axis 1 of `x` (its channels) and axis 1 of `weight` to be equal"),
        ("conv2d", [(1, 3, 5, 5), (4, 2, 3, 3)], {"groups": 2},
         "axis 1 of `x` (its channels) to be 2 (`groups`) times axis 1 of `weight`"),
        ("conv2d", [(1, 4, 5, 5), (3, 2, 3, 3)], {"groups": 2},
         "axis 0 of `weight` (the result's channels) to be a multiple of 2, the groups"),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 3, 3), (3,)], {},
         "axis 0 of `bias` and axis 0 of `weight` (the result's channels) to be equal"),
        ("conv2d", [(3, 5, 5), (4, 3, 3, 3)], {}, "`x` to have rank 4, [batch, channels, height, width], but its rank is 3"),
        ("conv", [(1, 3, 5), (4, 3, 3, 3)], {}, "`x` and `weight` to have one rank, but `x` has rank 3 and `weight` 4"),
        ("conv", [(1, 3), (4, 3)], {}, "`x` to have rank 3 or more, but its rank is 2"),
        ("conv2d", [(1, 3, 2, 5), (4, 3, 3, 3)], {}, "axis 2 of `x` to be at least 3, for a kernel of extent 3"),
        ("conv2d", [(1, 3, 5, 2), (4, 3, 3, 3)], {"dilations": (2,), "pads": ((1, 0),)},
         "axis 3 of `x` to be at least 4, for a kernel of extent 5 with 1 of padding"),
        ("conv2d", [(1, 5, 5, 3), (3, 3, 2, 4)], {"layout": "channels_last"},
         "axis 3 of `x` (its channels) and axis 2 of `weight` to be equal"),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 0, 3)], {}, "axis 2 of `weight` (the kernel's) to be at least 1"),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 3, 3)], {"strides": (0,)}, "strides to be at least 1, but it is 0"),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 3, 3)], {"strides": (1, 1, 1)},
         "an entry in strides for each of the 2 spatial axes, or one for all, but it has 3"),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 3, 3)], {"pads": ((0, -1),)}, "the pad after spatial axis 0 to be at least 0"),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 3, 3)], {"pads": ((1, 1),), "auto_pad": "valid"}, 'no pads where auto_pad is "valid"'),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 3, 3)], {"auto_pad": "SAME"},
         'auto_pad to be "notset", "same_upper", "same_lower" or "valid", but it is "SAME"'),
        ("conv2d", [(1, 3, 5, 5), (4, 3, 3, 3)], {"groups": 0}, "`groups` to be at least 1"),
        ("conv_transpose2d", [(1, 3, 5, 5), (4, 3, 3, 3)], {},
         "axis 1 of `x` (its channels) and axis 0 of `weight` to be equal"),
        ("conv_transpose2d", [(1, 3, 5, 5), (3, 4, 3, 3)], {"groups": 2},
         "axis 1 of `x` (its channels) to be a multiple of 2, the groups"),
        ("conv_transpose2d", [(1, 4, 5, 5), (4, 3, 3, 3), (3,)], {"groups": 2},
         "axis 0 of `bias` and `groups` times axis 1 of `weight` (the result's channels) to be equal"),
        ("conv_transpose2d", [(1, 3, 5, 5), (3, 4, 3, 3)], {"strides": (2,), "output_padding": (2,)},
         "output_padding to be less than the stride or the dilation, 2, but it is 2"),
        ("conv_transpose2d", [(1, 3, 5, 5), (3, 4, 3, 3)], {"strides": (2,), "output_shape": (11, 13)},
         "entry 1 of `output_shape` to be a size that the convolution maps to axis 3 of `x`"),
        ("conv_transpose2d", [(3, 32, 32, 4), (7, 7, 128, 4)],
         {"strides": (2,), "output_shape": (8, 8), "auto_pad": "same_upper", "layout": "channels_last"},
         "entry 0 of `output_shape` to be a size that the convolution maps to axis 1 of `x`"),
        ("conv_transpose2d", [(1, 3, 1, 5), (3, 4, 3, 3)], {"pads": ((2, 2),)}, "axis 2 of `x` to be at least 3"),
        ("max_pool2d", [(1, 2, 3, 28, 28)], {"kernel_shape": (2,)},
         "`x` to have rank 4, or 3 without a batch axis, but its rank is 5"),
        ("max_pool2d", [(20, 28, 28)], {"kernel_shape": (2,), "pads": ((3, 3),)},
         "the pad before spatial axis 0 to be at most 1, half the kernel, but it is 3"),
        ("max_pool2d", [(1, 1, 1, 4)], {"kernel_shape": (2,)}, "axis 2 of `x` to be at least 2, for a kernel of extent 2"),
        ("max_pool", [(1, 1)], {"kernel_shape": (2,)}, "`x` to have rank 3 or more, but its rank is 2"),
        ("average_pool", [(1, 1, 4)], {"kernel_shape": (0,)}, "kernel_shape to be at least 1, but it is 0"),
        ("average_pool2d", [(1, 1, 4, 4)], {"kernel_shape": (2, 2), "layout": "NHWC"},
         'layout to be "channels_first" or "channels_last", but it is "NHWC"'),
    ],
)  # fmt: skip
def test_windows_refuse_what_does_not_fit(name: str, shapes: list[Any], attributes: dict[str, Any], what: str) -> None:
    operands = dict(zip(("x", "weight", "bias"), (np.zeros(s, np.float32) for s in shapes), strict=False))
    assert ops.refusal(name, **operands, **attributes) == what


# Sizes that are not known


def test_the_ints_of_a_rule_are_those_of_its_symbols() -> None:
    n, k = ops.symbols("n", "k")
    envs = [e for e in ops.grid("n", "k", sizes=range(8)) if e["k"] < 5]
    for attributes in (
        {},
        {"strides": (2,)},
        {"strides": (3,), "pads": ((1, 1),)},
        {"dilations": (2,), "pads": ((1, 2),)},
        {"auto_pad": "same_upper", "strides": (2,)},
        {"strides": (2,), "pads": ((k, k),)},
    ):
        ops.agrees("conv", envs, x=tensor(n, 3, n), weight=tensor(4, 3, 3), **attributes)
        ops.agrees("conv", envs, x=tensor(n, 3, n), weight=tensor(4, 3, k), **attributes)
        ops.agrees("conv", envs, x=tensor(1, n, 9), weight=tensor(k, 2, 3), groups=2, **attributes)
        ops.agrees("conv_transpose", envs, x=tensor(n, 3, n), weight=tensor(3, 4, 3), **attributes)
        ops.agrees("conv_transpose", envs, x=tensor(n, 3, n), weight=tensor(3, 4, k), **attributes)
        ops.agrees("conv_transpose", envs, x=tensor(1, 3, n), weight=tensor(3, 4, 3), output_shape=(k,), **attributes)
    for pads, ceil, stride, dilation in itertools.product(
        ((0, 0), (1, 1), (0, 1), (k, 0)), (False, True), (1, 2, 5), (1, 2)
    ):
        for name in ("max_pool", "average_pool"):
            ops.agrees(
                name, envs, x=tensor(1, 1, n), kernel_shape=(3,), strides=(stride,), dilations=(dilation,), pads=(pads,),
                ceil_mode=ceil,
            )  # fmt: skip
    ops.agrees("adaptive_max_pool", envs, x=tensor(1, 1, n), output_shape=(k,))
    ops.agrees("conv", envs, x=tensor(1, n, 9), weight=tensor(8, 2, 3), groups=k)


@pytest.mark.parametrize("name", ["conv", "conv_transpose", "max_pool", "average_pool"])
def test_strides_dilations_and_kernels_may_be_symbols(name: str) -> None:
    n, k, s = ops.symbols("n", "k", "s")
    envs = [e for e in ops.grid("n", "k", "s", sizes=range(-1, 7)) if e["n"] >= 0 and max(e["k"], e["s"]) < 5]
    pooled = name.endswith("pool")
    operands = {"x": tensor(1, 3, n)} if pooled else {"x": tensor(1, 3, n), "weight": tensor(3, 3, 3)}
    kernel_shapes: list[dict[str, Any]] = [{"kernel_shape": (k,)}, {"kernel_shape": (3,)}] if pooled else [{}]
    attributes: list[dict[str, Any]] = [{"strides": (s,)}, {"dilations": (s,)}, {"strides": (s,), "pads": ((1, s),)}]
    attributes += [{"strides": (s,), "auto_pad": "same_upper"}]
    attributes += [{"ceil_mode": True}] if pooled else []
    attributes += [{"output_padding": (k,), "strides": (s,)}] if name == "conv_transpose" else []
    for kernel, others in itertools.product(kernel_shapes, attributes):
        ops.agrees(name, envs, **operands, **kernel, **others)


def test_other_attributes_may_be_symbols() -> None:
    n, k = ops.symbols("n", "k")
    envs = [e for e in ops.grid("n", "k", sizes=range(-2, 9)) if e["n"] >= 0]
    ops.agrees("upsample", envs, x=tensor(2, 3, n), scales=(k,))
    ops.agrees("lrn", envs, x=tensor(2, 3, n), size=k)
    ops.agrees("pixel_shuffle", envs, x=tensor(n, 1, 2), factor=k)
    ops.agrees("pixel_unshuffle", envs, x=tensor(3, n, 4), factor=k)
    ops.agrees("depth_to_space", envs, x=tensor(1, n, 1, 2), block=k)
    ops.agrees("space_to_depth", envs, x=tensor(1, 2, n, n), block=k)
    for forward, start, stop in itertools.product((True, False), (0, -2, 5, k), (0, -1, 7, n)):
        ops.agrees("slice", envs, x=tensor(n), starts=(start,), stops=(stop,), steps=(k,), forward=forward)
    for step in (1, -1):
        ops.agrees("slice", [e for e in envs if step * e["k"] > 0], x=tensor(n), starts=(0,), stops=(n,), steps=(k,))


ATTRIBUTES = """
@patch = fn(x : Tensor([n, c, h, w], float32), k : Tensor([d, c, p, p], float32)) : Tensor([n, d, h // p, w // p], float32)
  where p >= 1, h % p == 0, w % p == 0 { @conv2d(x, k, strides=p) }
@hop = fn(x : Tensor([n, t], float32), hop : Size) : Tensor([n, ceildiv(t, hop)], float32) where hop >= 1 { x[:, ::hop] }
@pool = fn(x : Tensor([n, c, h, w], float32), k : Size) : Tensor([n, c, h // k, w // k], float32)
  where k >= 1, h >= k, w >= k { @average_pool2d(x, k) }
@up = fn(x : Tensor([n, c, h, w], float32), s : Size) : Tensor([n, c, h * s, w * s], float32) where s >= 1 {
  @upsample(x, s)
}
@same = fn(x : Tensor([n, c, h, w], float32), k : Tensor([o, c, 3, 3], float32)) : Tensor([n, o, h, w], float32) {
  @conv2d(x, k, pads=1)
}
@parts = fn(x : Tensor([n, d], float32), g : Size) : Tensor([n, d // 2], float32) where g == 2, d % g == 0 {
  let (a, b) = @split(x, g, axis=1)
  a - b
}
@open = fn(x : Tensor([n, t], float32), hop : Size) : Tensor { x[:, 1::hop] }
"""


def test_a_program_with_attributes_that_are_sizes_runs(tmp_path: Path) -> None:
    report = pipeline.check_text(ATTRIBUTES, "nn.rx", tmp_path)
    assert [d.code for d in report.diagnostics if d.severity != "note"] == ["W311"]  # open
    module = rx.loads(ATTRIBUTES)
    x = np.arange(2 * 3 * 6 * 4, dtype=np.float32).reshape(2, 3, 6, 4)
    rows = x[0, 0]
    means = x.reshape(2, 3, 3, 2, 2, 2).mean((3, 5))
    ones = np.ones((5, 3, 3, 3), np.float32)
    np.testing.assert_allclose(module.patch(x, ones[..., :2, :2])[:, 0], means.sum(1) * 4)
    np.testing.assert_allclose(module.pool(x, 2), means)
    np.testing.assert_allclose(module.up(x, 2), x.repeat(2, 2).repeat(2, 3))
    np.testing.assert_allclose(module.same(x, ones)[0, 0, 1, 1], x[0, :, :3, :3].sum())
    np.testing.assert_allclose(module.hop(rows, 3), rows[:, ::3])
    np.testing.assert_allclose(module.parts(rows, 2), rows[:, :2] - rows[:, 2:])
    np.testing.assert_allclose(module.open(rows, 2), rows[:, 1::2])
    with pytest.raises(rx.ShapeError, match="at least 1"):
        module.open(rows, 0)
    with pytest.raises(rx.ShapeError, match="hop >= 1"):
        module.hop(rows, -1)
    for wrong, parts in (
        (rows, 4),
        (rows[:, :3], 2),
    ):  # so `where` says how many parts there are, and that they are equal
        with pytest.raises(rx.ShapeError, match="d % g == 0|g == 2"):
            module.parts(wrong, parts)


def shapes_of(text: str) -> tuple[list[list[Any]], list[str], int]:
    """The shapes of `@f`'s results, the errors, and how many claims stay."""
    report = pipeline.check_text(text, "nn.rx", Path("."))
    assert report.checked is not None
    result = next(s.result for s in report.checked.shapes if s.name == "@f")
    wrong = [d.message for d in report.diagnostics if d.severity == "error"]
    left = sum(d.code == "W311" for d in report.diagnostics)
    return [list(r.shape or ["?"]) for r in (result.items or [result])], wrong, left


def test_sizes_of_symbols_are_short() -> None:
    text = """
    @f = fn(x : Tensor([b, 8, h, w], float32), k : Tensor([4, 8, 3, 3], float32)) where h >= 9 && w >= 9 {
      let same = @conv2d(x, k, auto_pad="same_upper", strides=2)
      let padded = @conv2d(x, k, pads=[(1, 1)], strides=2)
      let kept = @conv2d(x, k, pads=[(1, 1)])
      let valid = @conv2d(x, k)
      let pool = @max_pool2d(x, 2)
      let rounded = @max_pool2d(x, 3, strides=2, pads=[(1, 1)], ceil_mode=true)
      let up = @conv_transpose2d(@max_pool2d(x, 2), k[0:4].permute_dims([1, 0, 2, 3]), strides=2, pads=[(1, 1)],
        output_padding=1)
      (same, padded, kept, valid, pool, rounded, up)
    }
    """
    text = text.replace("k[0:4].permute_dims([1, 0, 2, 3])", "@permute_dims(k, [1, 0, 2, 3])")
    found, wrong, left = shapes_of(text)
    assert not wrong
    assert left == 0
    assert [shape[2] for shape in found] == [
        "(h + 1) // 2", "(h + 1) // 2", "h", "h - 2", "h // 2", "h // 2 + 1", "h // 2 * 2",
    ]  # fmt: skip


VGG = """
@f = fn(x : Tensor([b, 3, h, w], float32), k : Tensor([64, 3, 3, 3], float32), l : Tensor([64, 64, 3, 3], float32),
    head : Tensor([64, 10], float32)) : Tensor([b, 10], float32) where h % 32 == 0 && w % 32 == 0 {
  let a = @max_pool2d(@relu(@conv2d(x, k, pads=[(1, 1)])), 2)
  let c = @max_pool2d(@relu(@conv2d(a, l, pads=[(1, 1)])), 2)
  let d = @max_pool2d(@relu(@conv2d(c, l, pads=[(1, 1)])), 2)
  let e = @max_pool2d(@relu(@conv2d(d, l, pads=[(1, 1)])), 2)
  let g : Tensor([b, 64, h // 32, w // 32], float32) = @max_pool2d(@relu(@conv2d(e, l, pads=[(1, 1)])), 2)
  @dense(@flatten(@global_average_pool(g), 1), head)
}
"""
UNET = """
@f = fn(x : Tensor([b, 8, h, w], float32), k : Tensor([8, 8, 3, 3], float32), up : Tensor([8, 8, 2, 2], float32),
    join : Tensor([8, 16, 3, 3], float32)) : Tensor([b, 8, h, w], float32) where h % 4 == 0 && w % 4 == 0 {
  let a = @conv2d(x, k, auto_pad="same_upper")
  let c = @conv2d(@max_pool2d(a, 2), k, pads=[(1, 1)])
  let d = @conv2d(@average_pool2d(c, 2), k, pads=[(1, 1)])
  let e = @conv2d(@concat([@conv_transpose2d(d, up, strides=2), c], axis=1), join, pads=[(1, 1)])
  @conv2d(@concat([@upsample(e, 2), a], axis=1), join, auto_pad="same_lower")
}
"""


@pytest.mark.parametrize("text", [VGG, UNET], ids=["vgg", "unet"])
def test_a_network_with_symbolic_height_and_width_is_proved(text: str) -> None:
    report = pipeline.check_text(text, "nn.rx", Path("."))
    assert [d.message for d in report.diagnostics] == []
    assert report.checked is not None
    assert report.checked.counts.residual == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("@conv1d(x, w, dilations=step)", "axis 2 of `x` to be at least the extent of the kernel, but it is t"),
        ("@conv1d(x, w)", "axis 2 of `x` to be at least the extent of the kernel, but they are t and k"),
        ("@conv1d(x, w, pads=step)", "the extent of the kernel to be at most axis 2 of `x` (t) plus its padding"),
        ("@max_pool1d(x, step)", "axis 2 of `x` to be at least the extent of the kernel, but it is t"),
    ],
)
def test_a_kernel_is_not_told_for_its_extent_where_it_is_dilated_or_padded(call: str, said: str) -> None:
    parameters = "x : Tensor([b, c, t], float32), w : Tensor([c, c, k], float32), step : Size"
    report = rx.check_source(f"@f = fn({parameters}) : Tensor where step >= 2, k >= 2, t >= 1 {{ {call} }}")
    assert [said in d.message for d in report.diagnostics if d.code == "W311"] == [True]
