"""Random numbers: the same from the same key anywhere, others from every other key, and distributed as they say."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from rxlang.interp.kernels import random as kernels
from rxlang.lang.dtypes import DTYPES
from support import ops

KEY = ops.compute("random_key", seed=5)
DRAWS: dict[str, dict[str, Any]] = {
    "random_split": {"num": 3},
    "random_uniform": {"shape": (2, 3)},
    "random_normal": {"shape": (7,)},
    "random_categorical": {"logits": np.zeros((2, 5), np.float32)},
    "random_permutation": {"n": 7},
}

SPLIT = [13887994957967183330, 4877619205364805992]
UNIFORM = ["0x1.19a0740000000p-2", "0x1.1cfd8e0000000p-1", "0x1.2647540000000p-2"]
NORMAL = ["-0x1.320354b221fedp-1", "0x1.23a7f54ca1ca4p-3", "-0x1.1f420677edce0p-1"]
PERMUTATION = [0, 2, 3, 1, 5, 6, 4]
CATEGORICAL = [4, 3, 2, 4]


def test_a_key_gives_the_same_numbers_everywhere() -> None:
    """Literals, so that another machine, or another NumPy, that gives others is noticed."""
    assert KEY.tolist() == [5, 0x9E3779B97F4A7C15]
    assert [int(word) for word in ops.call("random_split", key=KEY)[0]] == SPLIT
    assert [float(x).hex() for x in ops.call("random_uniform", key=KEY, shape=(3,))] == UNIFORM
    normal = ops.call("random_normal", key=KEY, shape=(3,), dtype=DTYPES["float64"])
    assert [float(x).hex() for x in normal] == NORMAL
    assert ops.call("random_permutation", key=KEY, n=7).tolist() == PERMUTATION
    assert ops.call("random_categorical", key=KEY, logits=np.zeros((4, 5), np.float32)).tolist() == CATEGORICAL


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_key_gives_the_same_numbers_and_another_key_others(name: str) -> None:
    first = ops.call(name, key=KEY, **DRAWS[name])
    np.testing.assert_array_equal(ops.call(name, key=KEY.copy(), **DRAWS[name]), first)
    others = [ops.call(name, key=key, **DRAWS[name]) for key in ops.call("random_split", key=KEY, num=5)]
    assert len({made.tobytes() for made in (first, *others)}) >= 5


def test_splitting_a_key_gives_keys_that_are_neither_equal_nor_drawn_as_numbers() -> None:
    keys = ops.call("random_split", key=KEY, num=1000)
    assert len({key.tobytes() for key in keys}) == 1000
    assert not set(keys.reshape(-1).tolist()) & set(kernels._words(KEY, 4000).tolist())
    np.testing.assert_array_equal(ops.call("random_split", key=KEY, num=3), keys[:3])
    assert ops.call("random_split", key=KEY, num=0).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_are_from_0_to_1_without_1_and_have_its_moments(dtype: str) -> None:
    x = ops.call("random_uniform", key=KEY, shape=(200, 100), dtype=DTYPES[dtype]).astype(np.float64)
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.003


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_normal_numbers_have_the_moments_of_their_distribution(dtype: str) -> None:
    x = ops.call("random_normal", key=KEY, shape=(200, 100), dtype=DTYPES[dtype]).astype(np.float64)
    assert np.isfinite(x).all() and abs(x.mean()) < 0.03 and abs(x.std() - 1) < 0.02
    assert abs((x**3).mean()) < 0.06 and abs((x**4).mean() - 3) < 0.2


def test_the_quantile_and_the_logarithm_are_those_of_the_library() -> None:
    p = (np.random.default_rng(0).integers(0, 2**52, 3000) + 0.5) * 2.0**-52
    p = np.concatenate([p, [2.0**-53, 1 - 2.0**-53, 0.5, 0.075, 0.925], 2.0 ** -np.arange(1, 52)])
    normal = statistics.NormalDist()
    np.testing.assert_allclose(kernels._normal_quantile(p), [normal.inv_cdf(float(a)) for a in p], 1e-12, 1e-15)
    np.testing.assert_allclose(kernels._log(p), [math.log(a) for a in p], 1e-14, 1e-16)


def test_a_permutation_has_every_number_once_and_no_place_is_preferred() -> None:
    keys = ops.call("random_split", key=KEY, num=2000)
    drawn = np.array([ops.call("random_permutation", key=key, n=4) for key in keys])
    np.testing.assert_array_equal(np.sort(drawn, 1), np.broadcast_to(np.arange(4), drawn.shape))
    for place in range(4):
        assert np.abs(np.bincount(drawn[:, place], minlength=4) - 500).max() < 100
    assert ops.call("random_permutation", key=KEY, n=0).shape == (0,)


def test_categories_are_drawn_with_the_probabilities_of_softmax() -> None:
    p = np.array([0.1, 0.0, 0.6, 0.3])
    with np.errstate(divide="ignore"):
        logits = np.broadcast_to(np.log(p) + 7, (20_000, 4)).astype(np.float32)
    drawn = ops.call("random_categorical", key=KEY, logits=logits)
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20_000, p, atol=0.015)
    np.testing.assert_array_equal(ops.call("random_categorical", key=KEY, logits=logits[:3].T, axis=0).shape, (3,))


def test_what_is_no_key_is_refused() -> None:
    for name, values in DRAWS.items():
        assert "rank 1" in ops.refusal(name, key=KEY.reshape(1, 2), **values)
        assert ops.refusal(name, key=KEY[:1], **values) == "axis 0 of `key` to be 2"
        assert "uint64" in ops.refusal(name, key=KEY.astype(np.int64), **values)
    assert "at least 0" in ops.refusal("random_uniform", key=KEY, shape=(2, -1))
    assert "at least 0" in ops.refusal("random_split", key=KEY, num=-1)
    assert "at least 1" in ops.refusal("random_categorical", key=KEY, logits=np.zeros((2, 0), np.float32))
    assert "float32" in ops.refusal("random_normal", key=KEY, shape=(2,), dtype=DTYPES["int32"])


def test_shapes_of_symbolic_sizes_are_those_of_the_numbers() -> None:
    m, n = ops.symbols("m", "n")
    envs = ops.grid("m", "n", sizes=range(-1, 4))
    key = ops.TensorInfo((2,), DTYPES["uint64"])
    ops.agrees("random_uniform", envs, key=key, shape=(m, 3, n))
    ops.agrees("random_normal", envs, key=key, shape=(m, 3, n))
    ops.agrees("random_split", envs, key=key, num=n)
    ops.agrees("random_permutation", envs, key=key, n=n)
    positive = ops.grid("m", "n", sizes=range(3))
    ops.agrees("random_categorical", positive, key=key, logits=ops.TensorInfo((m, n), DTYPES["float32"]))
    ops.agrees("random_uniform", positive, key=ops.TensorInfo((n,), DTYPES["uint64"]), shape=(m,))
