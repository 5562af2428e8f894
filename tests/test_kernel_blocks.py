"""Kernels that take a block at a time give what they give of a whole; constants are laid out once."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.kernels import constants, conv, elementwise
from rxlang.interp.kernels.registry import lookup
from support import ops

ROWS = {
    "gelu": {}, "silu": {}, "sigmoid": {}, "erf": {}, "elu": {}, "softmax": {"axis": -1}, "log_softmax": {"axis": -1},
    "layer_norm": {"scale": 7, "bias": 7}, "rms_norm": {"scale": 7},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_blocks_of_rows_give_what_all_rows_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    for dtype in (np.float16, np.float32, np.float64):
        x = random.standard_normal((5, 3, 7)).astype(dtype)
        given = {k: random.standard_normal(v).astype(dtype) if k != "axis" else v for k, v in ROWS[name].items()}
        whole = ops.compute(name, x=x, **given)
        monkeypatch.setattr(elementwise, "_BLOCK", 16)
        np.testing.assert_allclose(ops.compute(name, x=x, **given), whole, 1e-3 if dtype == np.float16 else 1e-6, 1e-7)
        turned = np.asfortranarray(x)
        np.testing.assert_allclose(
            ops.compute(name, x=turned, **given), whole, 2e-3 if dtype == np.float16 else 1e-5, 1e-6
        )
        monkeypatch.undo()


def test_a_kernel_that_writes_into_its_operand_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "_BLOCK", 16)
    x = np.random.default_rng(0).standard_normal((9, 7)).astype(np.float32)
    for name, rest in (("gelu", ("none",)), ("softmax", (-1,)), ("layer_norm", (x[0].copy(), x[1].copy(), -1, 1e-5))):
        wanted, operand = lookup(name)(x.copy(), *rest), x.copy()
        made = lookup(name)(operand, *rest, out=operand)
        assert made is operand or made.base is operand
        np.testing.assert_array_equal(made, wanted)


def test_where_writes_into_either_operand_and_never_into_its_condition() -> None:
    mask, x, y = np.array([True, False, True]), np.array([1, 2, 3]), np.array([4, 5, 6])
    for into in (x.copy(), y.copy()):
        first, second = (into, y) if into[0] == 1 else (x, into)
        assert lookup("where")(mask, first, second, out=into).tolist() == [1, 5, 3]
    assert lookup("where")(mask, ~mask, mask, out=mask).tolist() == [False, False, False]


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_a_convolution_by_blocks_is_the_whole_one(groups: int, spatial: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(groups)
    for batch, side, size, stride in ((3, 7, 3, 2), (2, 5, 2, 1), (5, 4, 1, 1), (1, 6, 1, 2)):
        x = random.standard_normal((batch, 6, *[side] * spatial))
        given = {
            "weight": random.standard_normal((6, 6 // groups, *[size] * spatial)),
            "bias": random.standard_normal(6),
        }
        attributes: dict[str, Any] = {"strides": (stride,) * spatial, "pads": ((1, 2),) * spatial, "groups": groups}
        whole = ops.call("conv", x=x, **given, **attributes)
        for columns, least in ((1, 1), (64, 3), (300, 40)):
            monkeypatch.setattr(conv, "_COLUMNS", columns)
            monkeypatch.setattr(conv, "_LEAST", least)
            np.testing.assert_allclose(ops.call("conv", x=x, **given, **attributes), whole, 1e-10, 1e-12)
            monkeypatch.undo()


def test_a_weight_that_is_loaded_is_laid_out_once_and_an_argument_is_not(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    np.save(tmp_path / "w.npy", weight)
    module = rx.loads(
        """const w : Tensor([5, 3], float32) = load("w.npy")
        @f = fn(x : Tensor([n, 3], float32)) : Tensor([n, 5], float32) { @linear(x, w) }
        @g = fn(x : Tensor([n, 3], float32), v : Tensor([5, 3], float32)) : Tensor([n, 5], float32) { @linear(x, v) }
        """,
        roots=[tmp_path],
    )
    for rows in (0, 1, 2, 70):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        np.testing.assert_allclose(module.f(x), x @ weight.T, 1e-5, 1e-6)
        np.testing.assert_allclose(module.g(x, weight), x @ weight.T, 1e-5, 1e-6)
        weight += 1  # an argument may change from call to call
        np.testing.assert_allclose(module.g(x, weight), x @ weight.T, 1e-5, 1e-6)
        weight -= 1
    assert not constants.is_constant(weight)


def test_what_is_made_of_a_constant_goes_with_it() -> None:
    calls = []

    def make(x: Any) -> Any:
        calls.append(x.shape)
        return x.T.copy()

    array = np.ones((2, 3))
    constants.declare((array,))
    assert constants.once(make, array) is constants.once(make, array)
    assert calls == [(2, 3)]
    key = id(array)
    del array
    gc.collect()
    assert key not in constants._CONSTANTS
