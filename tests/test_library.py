"""Signals, boxes, sequences, segments and quantisation: what peers compute, and the same sizes for symbols as for integers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.interp.kernels.registry import BadValue
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.model import TensorInfo
from support import ops

GOLDENS = np.load(Path(__file__).parent / "data" / "library.npz")
CASES = json.loads(str(GOLDENS["cases"]))
NAMES = sorted({name for name, _ in CASES})


def tensor(*shape: Any, dtype: str = "float32") -> TensorInfo:
    return TensorInfo(shape, DTYPES[dtype])


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_what_its_peer_gives(name: str) -> None:
    for key, (other, attributes) in enumerate(CASES):
        if other == name:
            start = f"{key}."
            tensors = {n.removeprefix(start): GOLDENS[n] for n in GOLDENS.files if n.startswith(start)}
            compute = ops.compute if name == "non_max_suppression" else ops.call  # the data decides how many boxes stay
            made = compute(name, **tensors, **{n: tuples(v) for n, v in attributes.items()})
            wanted = GOLDENS[f"{key}="]
            assert made.shape == wanted.shape
            np.testing.assert_allclose(made, wanted, 2e-5, 2e-5, err_msg=str(attributes))


def test_most_of_the_library_has_goldens() -> None:
    families = ("signal", "quantised", "detection", "sequences", "segments")
    rows = {row.name for family in families for row in ops.rows_of(family)}
    assert rows - set(NAMES) == {"overlap_add"}


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


def test_elements_that_do_not_fit_are_named() -> None:
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
