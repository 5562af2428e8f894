"""Fourier transforms: shapes as predicted for any length, and NumPy's numbers in the operand's precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import Violation
from support import ops

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
REAL = ("rfft", "ihfft", "rfftn")
shapes = st.lists(st.integers(0, 4), min_size=1, max_size=3)
norms = st.sampled_from(["backward", "ortho", "forward"])
cases = settings(max_examples=40, deadline=None)


def array(shape: Any, name: str, double: bool, seed: int) -> Any:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=tuple(shape)) + (0 if name in REAL else 1j * random.normal(size=tuple(shape)))
    return numbers.astype(({"f": "f8", "c": "c16"} if double else {"f": "f4", "c": "c8"})[numbers.dtype.kind])


def agrees_with_numpy(name: str, wanted: Any, **values: Any) -> None:
    """The same numbers, or a refusal where NumPy has no result. Of nothing NumPy's inverses give what was in memory: 0 is
    meant."""
    try:
        expected = np.where(values["x"].size, wanted(), 0)
    except ValueError:
        with pytest.raises(Violation):
            ops.predict(name, **values)
        return
    ops.close(ops.call(name, **values), expected)


@pytest.mark.parametrize("name", ONE)
@given(shape=shapes, n=st.none() | st.integers(1, 6), norm=norms, double=st.booleans(), seed=st.integers(0, 9))
@cases
def test_a_transform_along_one_axis_is_numpys(
    name: str, shape: Any, n: Any, norm: str, double: bool, seed: int
) -> None:
    x = array(shape, name, double, seed)
    for axis in range(-len(shape), len(shape)):
        agrees_with_numpy(name, lambda a=axis: getattr(np.fft, name)(x, n, a, norm), x=x, n=n, axis=axis, norm=norm)


@pytest.mark.parametrize("name", SEVERAL)
@given(shape=shapes, lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3), norm=norms, seed=st.integers(0, 9),
       known=st.booleans())  # fmt: skip
@cases
def test_a_transform_along_several_axes_is_numpys(
    name: str, shape: Any, lengths: Any, norm: str, seed: int, known: bool
) -> None:
    x = array(shape, name, seed % 2 == 0, seed)
    axes = tuple(np.random.default_rng(seed).permutation(len(shape))[: len(lengths)].tolist())
    s = tuple(lengths[: len(axes)]) if known else None
    agrees_with_numpy(name, lambda: getattr(np.fft, name)(x, s, axes, norm), x=x, s=s, axes=axes, norm=norm)
    agrees_with_numpy(name, lambda: getattr(np.fft, name)(x, None, None, norm), x=x, norm=norm)
    last = None if s is None else range(-len(s), 0)
    agrees_with_numpy(name, lambda: getattr(np.fft, name)(x, s, last, norm), x=x, s=s, norm=norm)


def test_the_shape_of_a_transform_is_exact_over_symbols() -> None:
    m, n = ops.symbols("m", "n")
    envs = ops.grid("m", "n")
    x, z = ops.TensorInfo((3, m), DTYPES["float32"]), ops.TensorInfo((m, n), DTYPES["complex64"])
    for name in ONE:
        ops.agrees(name, envs, x=x if name in REAL else z)
        ops.agrees(name, envs, x=x, n=n + 1)
        ops.agrees(name, envs, x=x, n=n)
    for name in SEVERAL:
        ops.agrees(name, envs, x=x if name in REAL else z)
        ops.agrees(name, envs, x=x, s=(n, m + 1), axes=(1, 0))
    for name in ("fftfreq", "rfftfreq"):
        ops.agrees(name, envs, n=n)


def test_a_transform_of_a_lengthless_axis_is_refused() -> None:
    x = np.zeros((2, 0), np.float32)
    assert ops.refusal("fft", x=x) == "axis 1 of `x` to be at least 1"
    assert ops.refusal("fft", x=x, n=0) == "`n` to be at least 1"
    assert ops.refusal("irfft", x=x[:, :1].astype(np.complex64)) == "axis 1 of `x` to be at least 2"
    assert "at least 1" in ops.refusal("fftn", x=x)
    assert "as many lengths" in ops.refusal("fftn", x=x, s=(2,), axes=(0, 1))
    assert "an axis to transform" in ops.refusal("rfftn", x=np.float32(1) + x[0, :0].sum(), axes=())
    assert "once" in ops.refusal("ifftn", x=x, axes=(0, -2))
    assert "float32" in ops.refusal("rfft", x=np.ones(3, np.complex64))
    assert "float32" in ops.refusal("fft", x=np.ones(3, np.int64))
    assert "backward" in ops.refusal("fft", x=np.ones(3), norm="none")
    assert "not to be 0" in ops.refusal("fftfreq", n=3, d=0.0)


@given(st.integers(1, 9), st.sampled_from([1.0, 0.5, -3.0]), st.sampled_from(["float32", "float64", "float16"]))
@cases
def test_frequencies_are_numpys(n: int, d: float, dtype: str) -> None:
    for name in ("fftfreq", "rfftfreq"):
        expected = getattr(np.fft, name)(n, d)
        ops.close(ops.call(name, n=n, d=d, dtype=DTYPES[dtype]), expected.astype(dtype))
        assert ops.call(name, n=n, d=d).dtype == np.float32


@given(shapes)
@cases
def test_shifts_move_the_frequency_0_to_the_middle_and_back(shape: Any) -> None:
    x = ops.draw(np.random.default_rng(0), shape, "int64")
    for axes in (None, (0,), tuple(range(len(shape)))):
        made = ops.call("fftshift", x=x, axes=axes)
        np.testing.assert_array_equal(made, np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(ops.call("ifftshift", x=made, axes=axes), x)
