"""The decoder with grouped queries against the golden values of its NumPy original, with both of its caches."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support.places import ROOT

DECODER = ROOT / "examples" / "decoder"
LAYER = ("n1", "wq", "wk", "wv", "qn", "kn", "wo", "n2", "wg", "wu", "wd")
CACHES = ("k0", "v0", "k1", "v1")


@cache
def golden() -> dict[str, np.ndarray]:
    with np.load(DECODER / "golden.npz") as file:
        return {name: file[name] for name in file.files}


@cache
def decoder() -> rx.Module:
    return rx.load(DECODER / "decoder.rx")


def model() -> tuple[Any, ...]:
    layers = (tuple(golden()[f"w_l{i}.{name}"] for name in LAYER) for i in range(2))
    return golden()["w_embed"], golden()["w_norm"], *layers


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DECODER / "run.py"), "--golden", str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=path.parent)


def empty(places: int) -> dict[str, np.ndarray]:
    return {name: np.zeros((1, 2, places, 16), np.float32) for name in CACHES}


def test_every_step_agrees_with_the_golden_file() -> None:
    done = run(DECODER / "golden.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 8 + 7 + 2
    assert lines[-2].endswith("the same with a fixed cache")
    assert float(lines[-1].split()[2]) < 1e-4


def test_a_wrong_value_in_the_last_cache_ends_with_status_1(tmp_path: Path) -> None:
    wrong = golden()["long_v1"].copy()
    wrong[0, -1, -1, -1] += 0.5
    path = tmp_path / "golden.npz"
    np.savez(path, **{**golden(), "long_v1": wrong})
    done = run(path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("largest difference 0.5 ")


@pytest.mark.parametrize("function", ["step", "step_grow", "generate", "generate_fixed"])
def test_nothing_is_left_to_check_inside_the_decoder(function: str) -> None:
    assert getattr(decoder(), function).residual == ()


@pytest.mark.parametrize("split", [1, 3, 6])
def test_a_prompt_in_two_parts_is_the_prompt_at_once(split: int) -> None:
    ids = golden()["long0_ids"]
    whole, *_ = decoder().step_grow(ids, **empty(0), model=model())
    first, *caches = decoder().step_grow(ids[:, :split], **empty(0), model=model())
    second, *_ = decoder().step_grow(ids[:, split:], *caches, model())
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), whole, rtol=1e-4, atol=1e-5)


def test_no_tokens_leave_the_cache_as_it_is() -> None:
    none = np.zeros((1, 0), np.int64)
    logits, *caches = decoder().step(none, none[0], none[0], **empty(4), model=model())
    assert logits.shape == (1, 0, 256)
    assert all(cache.shape == (1, 2, 4, 16) and not cache.any() for cache in caches)


@pytest.mark.parametrize(("length", "turns"), [(2, 0), (1, 1), (3, 5)])
def test_what_the_loops_write_is_what_a_host_would_write(length: int, turns: int) -> None:
    ids = golden()["long0_ids"][:, :length]
    text, step = ids, ids
    caches = list(empty(0).values())
    for _ in range(turns):
        logits, *caches = decoder().step_grow(step, *caches, model())
        step = np.argmax(logits[:, -1:], axis=-1)
        text = np.concatenate([text, step], axis=1)
    np.testing.assert_array_equal(decoder().generate(ids, turns, model()), text)
    np.testing.assert_array_equal(decoder().generate_fixed(ids, turns, length + turns, model()), text)


def test_a_text_that_does_not_fit_into_the_cache_is_refused_on_entry() -> None:
    with pytest.raises(rx.ShapeError, match=r"@generate_fixed needs `s \+ n <= c` to hold, but s is 7, n is 2, c is 8"):
        decoder().generate_fixed(golden()["long0_ids"], 2, 8, model())


def test_a_position_beyond_the_cache_is_refused() -> None:
    places = np.array([4])
    with pytest.raises(rx.ShapeError):
        decoder().step(np.array([[1]]), places, places, **empty(4), model=model())


def test_heads_that_are_not_shared_evenly_are_refused() -> None:
    norm, wq = model()[2][0], np.zeros((3 * 16, 64), np.float32)
    layer = (norm, wq, *model()[2][2:6], np.zeros((64, 3 * 16), np.float32), *model()[2][7:])
    with pytest.raises(rx.ShapeError, match="h % g == 0"):
        decoder().step_grow(np.array([[1]]), **empty(0), model=(*model()[:2], layer, layer))
