"""Every kernel beside what a peer or NumPy computes; of signals, boxes, sequences, segments and quantisation also the sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.interp.kernels.registry import BadValue
from rxlang.lang.dtypes import DTYPES
from rxlang.ops import registry
from rxlang.ops.model import TensorInfo
from support import ops
from support.places import TESTS

with np.load(TESTS / "data" / "library.npz") as _file:
    GOLDENS = {name: _file[name] for name in _file.files}
CASES = json.loads(str(GOLDENS["cases"]))
NAMES = sorted({name for name, *_ in CASES})


def tensor(*shape: Any, dtype: str = "float32") -> TensorInfo:
    return TensorInfo(shape, DTYPES[dtype])


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


# Rows whose results the data decides: their rule cannot say them of tensors alone.
BY_DATA = {
    "non_max_suppression",
    "filter",
    "nonzero",
    "unique_values",
    "unique_inverse",
    "unique_counts",
    "isin",
    "bincount",
}


def stored(part: list[Any]) -> Any:
    """A tensor, or a list of them."""
    if not part or isinstance(part[0], list):
        return [stored(item) for item in part]
    dtype, shape, start = part
    return GOLDENS[dtype][start : start + prod(shape)].reshape(shape)


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_what_its_peer_gives(name: str) -> None:
    for other, tensors, attributes, results in CASES:
        if other == name:
            compute = ops.compute if name in BY_DATA else ops.call
            given = {n: stored(part) for n, part in tensors.items()} | {n: tuples(v) for n, v in attributes.items()}
            made = compute(name, **given)
            for result, wanted in zip(made if isinstance(made, tuple) else (made,), stored(results), strict=True):
                assert result.shape == wanted.shape
                np.testing.assert_allclose(result, wanted, 2e-5, 2e-5, err_msg=str(attributes))


KEY, SQUARE = np.array([5, 0x9E3779B97F4A7C15], np.uint64), np.array([[3, 1, 0], [1, 2, 1], [2, 0, 5]], np.float64)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def words(count: int, stream: int = 0) -> Any:
    return np.random.Philox(key=KEY, counter=np.array([0, 0, stream, 0], np.uint64)).random_raw(count)


def middles(count: int) -> list[float]:
    """Uniform numbers between 0 and 1, neither of them included."""
    return [((word >> 12) + 0.5) / 2**52 for word in words(count).tolist()]


def same(made: Any) -> Any:
    return made


# What NumPy or the standard library says of the rows that no peer has: tensors and attributes, what it says, and what of the
# results has to equal that.
DEFINED: dict[str, tuple[dict[str, Any], Any, Callable[..., Any]]] = {
    "arange": ({"start": 2, "stop": 11, "step": 3}, [2, 5, 8], same),
    "cast": ({"x": X, "dtype": DTYPES["int32"]}, X.astype(np.int32), same),
    "eye": ({"n": 3, "m": 4, "k": 1}, np.eye(3, 4, 1), same),
    "full": ({"shape": (2, 3), "value": 7.0}, np.full((2, 3), 7.0), same),
    "full_like": ({"x": X, "value": 7.0}, np.full((2, 3), 7.0), same),
    "zeros": ({"shape": (2, 3)}, np.zeros((2, 3)), same),
    "zeros_like": ({"x": X}, np.zeros((2, 3)), same),
    "ones": ({"shape": (2, 3)}, np.ones((2, 3)), same),
    "ones_like": ({"x": X}, np.ones((2, 3)), same),
    "linspace": ({"start": 1.0, "stop": 3.0, "num": 5}, np.linspace(1, 3, 5), same),
    "pad_to_match": ({"x": X, "y": np.zeros((5, 1))}, np.pad(X, ((0, 3), (0, 0))), same),
    "part": ({"xs": (X, X[0]), "position": -1}, X[0], same),
    "shape": ({"x": X}, [2, 3], same),
    "size": ({"x": X}, 6, same),
    "size_to_tensor": ({"n": 7}, 7, same),
    "item": ({"t": np.array(7)}, 7, same),
    "identity": ({"x": X}, X, same),
    "stop_gradient": ({"x": X}, X, same),
    "matrix_transpose": ({"x": X}, X.T, same),
    "outer": ({"x": X[0], "y": X[1]}, np.outer(X[0], X[1]), same),
    "sum_to": ({"x": X, "shape": (1, 3)}, X.sum(0, keepdims=True), same),
    "truncate": ({"x": X, "size": np.array(1.6), "axis": 1}, X[:, :2], same),
    "update_slice": ({"x": X, "update": X[:1, :2] + 9, "starts": (1, 1)}, [[0, 1, 2], [3, 9, 10]], same),
    "repeat_each": ({"x": X, "counts": np.array([2, 0, 1], np.int8), "axis": 1}, np.repeat(X, (2, 0, 1), 1), same),
    "overlap_add": ({"x": X, "step": 2}, [0, 1, 5, 4, 5], same),
    "unique_all": ({"x": np.array([3, 1, 3])}, [1, 3, 1, 0, 1, 0, 1, 1, 2], np.concatenate),
    "qr": ({"x": SQUARE}, SQUARE, lambda made: made[0] @ made[1]),
    "svd": ({"x": SQUARE}, SQUARE, lambda made: made[0] * made[1] @ made[2]),
    "eigh": ({"x": SQUARE + SQUARE.T}, SQUARE + SQUARE.T, lambda made: made[1] * made[0] @ made[1].T),
    "eig": ({"x": SQUARE}, SQUARE, lambda made: (made[1] * made[0] @ np.linalg.inv(made[1])).real),
    "eigvals": ({"x": SQUARE}, np.sort(np.roots(np.poly(SQUARE))), np.sort),
    "random_key": ({"seed": 5}, KEY, same),
    "random_split": ({"key": KEY, "num": 3}, words(6, 1).reshape(3, 2), same),
    "random_uniform": ({"key": KEY, "shape": (4,)}, [(w >> 40) / 2**24 for w in words(4).tolist()], same),
    "random_normal": ({"key": KEY, "shape": (4,)}, [*map(NormalDist().inv_cdf, middles(4))], same),
    "random_permutation": ({"key": KEY, "n": 5}, np.argsort(words(5)), same),
    "random_categorical": (
        {"key": KEY, "logits": X}, np.argmax(X - np.log(-np.log(middles(6))).reshape(2, 3), 1), same,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINED)
def test_a_kernel_without_a_peer_gives_what_numpy_says(name: str) -> None:
    given, wanted, part = DEFINED[name]
    made = part(ops.compute(name, **given))
    assert np.shape(made) == np.shape(wanted)
    np.testing.assert_allclose(made, wanted, 2e-6, 2e-6)


def test_every_row_is_compared_with_a_peer_or_with_numpy() -> None:
    assert {*NAMES, *DEFINED} == set(registry.names())
    assert DEFINED.keys().isdisjoint(NAMES)


def test_frames_added_up_are_the_signal_times_the_windows_that_meet_it() -> None:
    random = np.random.default_rng(0)
    for length, step in ((5, 2), (4, 4), (3, 1), (2, 5)):
        x = random.integers(-5, 5, (2, 17)).astype(np.float32)
        frames = ops.call("frame", x=x, length=length, step=step)
        counts = ops.call("overlap_add", x=np.ones_like(frames), step=step)
        np.testing.assert_array_equal(ops.call("overlap_add", x=frames, step=step), x[:, : counts.shape[1]] * counts)


@pytest.mark.parametrize("name", ["frame", "overlap_add", "stft", "istft"])
def test_sizes_of_frames_are_those_of_their_symbols(name: str) -> None:
    n, k, s = ops.symbols("n", "k", "s")
    envs = [e for e in ops.grid("n", "k", "s", sizes=range(-1, 6)) if e["n"] >= 0]
    match name:
        case "frame":
            ops.agrees(name, envs, x=tensor(2, n), length=k, step=s)
        case "overlap_add":
            ops.agrees(name, [e for e in envs if e["k"] >= 0], x=tensor(n, k), step=s)
        case "stft":
            for center in (True, False):
                ops.agrees(name, envs, x=tensor(2, n), length=k, step=s, center=center)
        case _:
            for center in (True, False):
                spectra = tensor(n, n, dtype="complex64")
                ops.agrees(name, envs, x=spectra, length=k, step=s, center=center)


def test_sizes_of_patches_are_those_of_their_symbols() -> None:
    n, k, s = ops.symbols("n", "k", "s")
    envs = [e for e in ops.grid("n", "k", "s", sizes=range(-1, 7)) if e["n"] >= 0]
    ops.agrees("unfold", envs, x=tensor(2, n, n), kernel_shape=(k,), strides=(s,))
    ops.agrees("unfold", envs, x=tensor(2, 3, n, 4), kernel_shape=(2, k), dilations=(s,), pads=((1, s),))
    ops.agrees("fold", envs, x=tensor(2, n, 3), output_shape=(k,), kernel_shape=(2,), strides=(s,))
    ops.agrees("fold", envs, x=tensor(2, 6, n), output_shape=(5,), kernel_shape=(k,), strides=(s,))


def test_sizes_of_the_rest_are_those_of_their_symbols() -> None:
    n, k, s = ops.symbols("n", "k", "s")
    envs = ops.grid("n", "k", "s", sizes=range(5))
    ops.agrees("grid_sample", envs, x=tensor(n, 2, k, 3), grid=tensor(s, k, n, 2))
    rois = {"boxes": tensor(s, 4), "batch_indices": tensor(k, dtype="int64")}
    ops.agrees("roi_align", envs, x=tensor(1, n, 2, 2), **rois, output_shape=(n, k), samples=s)
    ops.agrees("reverse_sequence", envs, x=tensor(n, k, 2), lengths=tensor(s, dtype="int64"))
    ops.agrees("rotary_embedding", envs, x=tensor(n, 2, k), cos=tensor(n, 1, s), sin=tensor(n, 1, s))
    ops.agrees("rotary_embedding", envs, x=tensor(n, 4, 8), cos=tensor(k, 2), sin=tensor(s, 2))
    keys = {"k": tensor(2, k, 3, s), "v": tensor(2, k, 3, n)}
    ops.agrees("grouped_query_attention", envs, q=tensor(2, n, 5, 3), **keys, past=s)
    mask = tensor(n, 1, k, s)
    ops.agrees(
        "grouped_query_attention", envs, q=tensor(2, 4, 3, 3), k=tensor(2, 2, 3, 3), v=tensor(2, 2, 3, 1), mask=mask
    )
    lengths = {"input_lengths": tensor(n, dtype="int64"), "target_lengths": tensor(k, dtype="int64")}
    ops.agrees("ctc_loss", envs, x=tensor(3, n, s), target=tensor(k, 2, dtype="int64"), **lengths, blank=1)
    ids = tensor(k, dtype="int64")
    ops.agrees("segment_sum", ops.grid("n", "k", "s", sizes=range(-1, 4))[16:], x=tensor(n, 2), ids=ids, count=s)
    wide = ops.grid("n", "k", "s", sizes=range(-1, 4))[16:]
    ops.agrees("repeat_each", wide, x=tensor(2, n), counts=ids, axis=1, total=s)
    starts = tensor(n, 2, dtype="int64")
    ops.agrees("gather_slices", envs, x=tensor(n, 3, k), starts=starts, sizes=(s, 2, k), collapse=(0,))
    ops.agrees("scatter_slices", envs, x=tensor(n, 3, k), starts=starts, updates=tensor(k, s, 2), collapse=(0,))
    ops.agrees("quantize", envs, x=tensor(n, k), scale=tensor(s), zero_point=tensor(k, dtype="int8"))
    ops.agrees("dequantize", envs, x=tensor(n, k, dtype="int8"), scale=tensor(s), axis=0)


def test_blocks_take_their_sizes_from_another_input_and_too_large_ones_are_refused_before() -> None:
    text = """
    @rows = fn(x : Tensor([4, 5], float32), at : Tensor([1, 1], int64), updates : Tensor([1, w], float32))
      : Tensor([1, w], float32) where w <= 5 {
      @gather_slices(x, at, [1, updates.dim(1)], collapse=[0])
    }
    @put = fn(x : Tensor([4, 5], float32), at : Tensor([1, 1], int64), updates : Tensor([1, w], float32))
      : Tensor([4, 5], float32) where w <= 5 {
      @scatter_slices(x, at, updates, collapse=[0])
    }
    """
    report = pipeline.check_text(text, "t.rx", Path("."))
    assert [d.message for d in report.diagnostics] == []
    module = rx.loads(text)
    x, at = np.arange(20, dtype=np.float32).reshape(4, 5), np.array([[2]])
    assert module.rows(x, at, np.zeros((1, 2), np.float32)).tolist() == [[10, 11]]
    assert module.rows(x, at, np.zeros((1, 5), np.float32)).tolist() == [[10, 11, 12, 13, 14]]
    assert module.put(x, at, np.zeros((1, 2), np.float32))[2].tolist() == [0, 0, 12, 13, 14]
    with pytest.raises(rx.ShapeError, match="w <= 5"):
        module.rows(x, at, np.zeros((1, 6), np.float32))


def test_entries_are_repeated_as_often_as_each_of_them_says() -> None:
    x, times = np.arange(12).reshape(2, 3, 2), np.array([2, 0, 1], np.int8)
    made = ops.call("repeat_each", x=x, counts=times, axis=-2, total=3)
    np.testing.assert_array_equal(made, np.repeat(x, times, axis=-2))
    text = """
    @rows = fn(x : Tensor([b, d], float32), lengths : Tensor([b], int64), total : Size)
      : (Tensor([total, d], float32), Tensor([k, d + 1], float32)) where total >= 0, k >= 0 {
      let at = @repeat_each(@arange(b), lengths)
      let rows = @repeat_each(x, lengths)
      let marked = @concat([rows, @cast(@expand_dims(at, axis=1), float32)], axis=1)
      (@repeat_each(x, lengths, total=total), marked)
    }
    @three = fn(x : Tensor([2, d], float32)) : Tensor([3, d], float32) { @repeat_each(x, tensor([2, 1])) }
    """
    report = pipeline.check_text(text, "t.rx", Path("."))
    assert [d.message for d in report.diagnostics] == []
    module = rx.loads(text)
    assert module.rows.residual == module.three.residual == ()
    rows, marked = module.rows(np.ones((2, 1), np.float32), np.array([1, 2]), 3)
    assert rows.shape == (3, 1) and marked[:, 1].tolist() == [0, 1, 1]
    with pytest.raises(rx.ShapeError, match="the sum of `counts` is 3, but `total` is 4"):
        module.rows(np.ones((2, 1), np.float32), np.array([1, 2]), 4)


def test_elements_that_do_not_fit_are_named() -> None:
    with pytest.raises(BadValue, match="`counts` holds -1"):
        ops.compute("repeat_each", x=np.ones(2), counts=np.array([3, -1]), axis=0)
    x, ids = np.zeros((3, 2), np.float32), np.array([0, 5, 1])
    with pytest.raises(BadValue, match="`ids` holds 5, but there are 3 segments"):
        ops.compute("segment_sum", x=x, ids=ids, count=3)
    with pytest.raises(BadValue, match="`starts` holds 2, but axis 0 of `x` has size 3 for blocks of 2"):
        ops.compute("gather_slices", x=x, starts=np.array([[2]]), sizes=(2, 1))
    with pytest.raises(BadValue, match="`lengths` holds 4, which is not from 0 to 3"):
        ops.compute("reverse_sequence", x=x, lengths=np.array([1, 4]), time_axis=0, batch_axis=1)


def test_at_most_so_many_boxes_stay_and_only_good_ones() -> None:
    boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 2.1], [5, 5, 6, 6], [8, 8, 9, 9]], np.float32)
    scores = np.array([0.5, 0.9, 0.7, 0.1], np.float32)

    def kept(**attributes: Any) -> list[int]:
        found: list[int] = ops.compute("non_max_suppression", boxes=boxes, scores=scores, **attributes).tolist()
        return found

    assert kept() == [1, 2, 3]
    assert kept(max_boxes=2) == [1, 2]
    assert kept(max_boxes=0) == []
    assert kept(score_threshold=0.3) == [1, 2]
    assert kept(iou_threshold=1.0) == [1, 2, 0, 3]


def test_a_position_counts_what_stands_in_the_cache_before_it() -> None:
    random = np.random.default_rng(0)
    k, v = (random.standard_normal((2, 3, 7, 4)).astype(np.float32) for _ in range(2))
    q = random.standard_normal((2, 6, 7, 4)).astype(np.float32)
    whole = ops.call("grouped_query_attention", q=q, k=k, v=v, causal=True)
    step = ops.call("grouped_query_attention", q=q[:, :, 5:], k=k, v=v, causal=True, past=5)
    np.testing.assert_allclose(step, whole[:, :, 5:], 1e-5, 1e-6)


def test_programs_derive_the_sizes_of_signals() -> None:
    text = """
    @round = fn(x : Tensor([b, t], float32), w : Tensor([n], float32), hop : Size) : Tensor([b, t // hop * hop], float32)
      where n >= 1, hop >= 1, n % 2 == 0, n // 2 < t {
      @istft(@stft(x, n, hop, w), n, hop, w)
    }
    @patches = fn(x : Tensor([b, c, h, w], float32), p : Size) : Tensor([b, c * (p * p), h // p * (w // p)], float32)
      where p >= 1, h >= p, w >= p {
      @unfold(x, p, strides=p)
    }
    @detect = fn(boxes : Tensor([n, 4], float32), scores : Tensor([n], float32)) : Tensor([k, 4], float32) where k <= n {
      @take(boxes, @non_max_suppression(boxes, scores), axis=0)
    }
    """
    report = pipeline.check_text(text, "t.rx", Path("."))
    assert [d.message for d in report.diagnostics if d.severity == "error"] == []
    module = rx.loads(text)
    x = np.random.default_rng(0).standard_normal((2, 23)).astype(np.float32)
    window = np.hanning(9)[:8].astype(np.float32) + np.float32(0.1)
    np.testing.assert_allclose(module.round(x, window, 3), x[:, :21], 1e-4, 1e-5)
    assert module.patches(np.zeros((1, 2, 5, 6), np.float32), 2).shape == (1, 8, 6)
    assert module.detect(np.tile(np.float32([0, 0, 1, 1]), (3, 1)), np.ones(3, np.float32)).shape == (1, 4)


@pytest.mark.parametrize(
    ("call", "given"),
    [("@repeat(x, n)", 2**61 + 1), ("@repeat(x, n, axis=0)", 2**62), ("@repeat_each(x, k)", [2**62] * 4 + [3] * 4),
     ("@repeat_each(x, k)", [2**62, 2**62, 0, 0, 0, 0, 0, 1])],
)  # fmt: skip
def test_more_entries_than_int64_counts_are_no_memory_to_write_behind(call: str, given: int | list[int]) -> None:
    text = f"@f = fn(x : Tensor([8], int8), n : Size, k : Tensor([8], int64)) where n >= 0 {{ {call} }}"
    many, counts = (given, np.zeros(8, np.int64)) if isinstance(given, int) else (0, np.array(given))
    with pytest.raises(rx.ShapeError, match="needs more memory than there is"):
        rx.loads(text).f(np.ones(8, np.int8), many, counts)


def test_a_sum_that_int64_does_not_hold_is_told_as_it_is() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], int8), k : Tensor([n], uint64)) { @repeat_each(x, k, total=4) }")
    with pytest.raises(rx.ShapeError, match=f"the sum of `counts` is {2**64}, but `total` is 4"):
        module.f(np.ones(3, np.int8), np.array([2**63 - 1, 2**63 - 1, 2], np.uint64))
