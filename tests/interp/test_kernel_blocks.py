"""Kernels that take a block at a time give what they give of a whole; constants are laid out once."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.kernels import constants, conv, elementwise, linalg
from rxlang.interp.kernels.registry import lookup
from rxlang.interp.kernels.windows import Grid
from support import fuzz, ops

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


def test_a_filter_for_each_channel_gives_the_same_by_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """By windows, with the channels side by side, or over runs of some channels."""
    for case in fuzz.cases("channels by themselves"):
        with case as seed:
            random = np.random.default_rng(seed)
            spatial, channels, batch = (int(random.integers(1, high)) for high in (4, 8, 4))
            within = ((5, 8), (1, 4), (0, 3), (1, 3), (1, 3) if seed % 2 else (1, 2))
            sizes, kernel, pads, dilations, strides = (tuple(random.integers(*w, spatial).tolist()) for w in within)
            grid = Grid(sizes, kernel, strides, tuple((n, n) for n in pads), "notset", dilations)
            dtype = (np.float32, np.float64, np.int32, np.complex64)[seed % 4]
            image = np.moveaxis(random.integers(-9, 9, (batch, *sizes, channels)).astype(dtype), -1, 1)
            image = image if seed % 3 else image.copy()
            filters = random.integers(-9, 9, (channels, 1, *kernel)).astype(dtype)
            wanted = conv._by_blocks(image, filters, grid, channels)
            monkeypatch.setattr(conv, "_RUNS", int(random.integers(1, 4000)))
            for way in (conv._channels_inside, *([conv._by_channel] if set(strides) == {1} else [])):
                made = way(image, filters, grid)
                assert made.dtype == dtype
                np.testing.assert_array_equal(made, wanted, f"{way.__name__} of {seed}")


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


# Products with a constant that lies the other way round than the product wants it, over x [n, 6] and w [10, 6].
TURNED = {
    "linear": "@linear(x, w)",
    "transposed": "@matmul(x, @matrix_transpose(w))",
    "permuted": "@matmul(x, @permute_dims(w, [1, 0]))",
    "a constant of its own": "@matmul(x, turned)",
    "a part": "@matmul(x, @matrix_transpose(w[0:5, :]))",
    "handed on": "@product(x, (w, 1))",
    "a literal": "@matmul(x, @matrix_transpose(l))",
    "in a loop": "for i in range(2) with (y : Tensor([n, 10], float32) = @zeros([n, 10], float32)) "
    "{ y + @matmul(x, @matrix_transpose(w)) }",
    "stacked": "@reshape(@matmul(@reshape(x, [n, 1, 6]), @matrix_transpose(w)), [n, 10])",
    "einsum": '@einsum("bi,oi->bo", [x, w])',
    "tensordot": "@tensordot(x, w, x_axes=[1], y_axes=[1])",
}


def turned(tmp_path: Path, text: str, weight: Any) -> Any:
    np.save(tmp_path / "w.npy", weight)
    return rx.loads(
        f"""const w : Tensor([10, 6], float32) = load("w.npy")
const l : Tensor([10, 6], float32) = tensor({weight.tolist()}, float32)
const turned = @matrix_transpose(w)
@product = fn(x : Tensor([*s, i], float32), layer : (Tensor([o, i], float32), Size)) : Tensor([*s, o], float32) {{
  let (weight, _) = layer
  @matmul(x, @matrix_transpose(weight))
}}
@f = fn(x : Tensor([n, 6], float32)) : Tensor([n, m], float32) {{ {text} }}""",
        roots=[tmp_path],
    )


@pytest.mark.parametrize("text", TURNED.values(), ids=TURNED)
def test_a_constant_that_a_product_uses_transposed_is_laid_out_once(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    by_rows = linalg._by_rows
    monkeypatch.setattr(linalg, "_by_rows", lambda y: made.append(by_rows(y)) or made[-1])
    random = np.random.default_rng(0)
    weight = random.integers(-3, 4, (10, 6)).astype(np.float32)
    gc.collect()
    before = len(constants._CONSTANTS)
    module = turned(tmp_path, text, weight)
    xs = [random.integers(-3, 4, (n, 6)).astype(np.float32) for n in (70, 0, 1, 2, 30, 90)]
    wanted = [x @ weight.T * (2 if "for" in text else 1) for x in xs]
    with ThreadPoolExecutor(8) as threads:
        first = list(threads.map(module.f, [xs[0]] * 8))
    for x, result, right in zip(xs, [first[-1], *map(module.f, xs[1:])], wanted, strict=True):
        np.testing.assert_array_equal(result, right[:, : result.shape[1]], err_msg=f"{len(x)} rows")
    assert len(made) == 1 and made[0].nbytes <= weight.nbytes
    del module, first, result
    gc.collect()
    assert len(constants._CONSTANTS) == before


def test_the_filters_of_a_convolution_with_channels_last_are_laid_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    filters = conv._filters
    monkeypatch.setattr(conv, "_filters", lambda *given: made.append(filters(*given)) or made[-1])
    random = np.random.default_rng(0)
    np.save(tmp_path / "w.npy", random.standard_normal((3, 2, 5, 7)).astype(np.float32))
    module = rx.loads(
        """const w : Tensor([3, 2, 5, 7], float32) = load("w.npy")
        @f = fn(x : Tensor([n, h, l, 5], float32)) where h >= 3, l >= 2 { @conv(x, w, layout="channels_last") }
        @g = fn(x : Tensor([n, h, l, 5], float32), v : Tensor([3, 2, 5, 7], float32)) where h >= 3, l >= 2 {
          @conv(x, v, layout="channels_last")
        }""",
        roots=[tmp_path],
    )
    for _ in range(3):
        x = random.standard_normal((2, 4, 6, 5)).astype(np.float32)
        np.testing.assert_array_equal(module.f(x), module.g(x, np.load(tmp_path / "w.npy")))
    assert len(made) == 1 + 3, "once for the constant, and at each call for an argument"


def test_no_more_is_kept_of_a_constant_than_it_takes() -> None:
    array = np.ones((20, 3))
    constants.declare(array)
    made = constants._CONSTANTS[id(array)][1]
    for n in (*range(21), *range(21)):
        part = array[:n].T
        assert constants.once(linalg._by_rows, part).shape == part.shape
        assert constants.once(lambda x: x[:1], part).base is array, "a view is not kept"
        assert sum(kept.nbytes for kept in made.values()) <= array.nbytes


def test_products_by_pieces_are_the_whole_ones() -> None:
    random = np.random.default_rng(0)
    for n in range(80):
        count, inner, columns = random.integers(0, [60, 40 if n % 4 else 4000, 700], 3)
        x, y = (
            random.integers(-3, 4, s).astype(random.choice([np.float32, np.float64, np.int32]))
            for s in ((count, inner), (inner, columns))
        )
        y = [y, np.asfortranarray(y), np.repeat(y, 2, 1)[:, ::2]][n % 3].astype(x.dtype, order="K")
        made = linalg.product(x, y)
        assert made.dtype == x.dtype and made.strides == np.empty_like(x @ y, order="C").strides
        np.testing.assert_array_equal(made, np.einsum("ij,jk->ik", x, y))


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
