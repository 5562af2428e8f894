"""The voice activity detector against what its own ONNX model says under onnxruntime, from the same weights."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
import rxlang as rx
from support.places import ROOT

VAD = ROOT / "examples" / "vad"
CACHE = ROOT / ".cache" / "vad"
REFERENCE = np.load(VAD / "reference.npy")
CHUNKS = 250

needs_weights = pytest.mark.skipif(
    not (CACHE / "silero_vad_16k_op15.onnx").is_file(), reason="the weights are not there: `make weights` fetches them"
)


def imported(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(VAD))
    for module in ("sound", "listen"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return __import__(name)


@pytest.fixture(scope="module")
def vad() -> rx.Module:
    return rx.load(VAD / "vad.rx", roots=[CACHE])


@pytest.fixture
def sound(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    made: np.ndarray = imported("sound", monkeypatch).bursts(8)
    return made


@needs_weights
def test_every_chunk_agrees_with_onnxruntime(vad: rx.Module, sound: np.ndarray) -> None:
    found = vad.speech(sound[None])
    assert found.shape == (1, CHUNKS)
    assert np.abs(found[0] - REFERENCE[:CHUNKS]).max() < 1e-4
    assert REFERENCE[:CHUNKS].max() > 0.9 and REFERENCE[:CHUNKS].min() < 0.01


@needs_weights
def test_a_batch_is_its_sounds_one_by_one(vad: rx.Module, sound: np.ndarray) -> None:
    two = np.stack([sound[:5000], sound[50_000:55_000]])
    both = vad.speech(two)
    assert both.shape == (2, 10)
    np.testing.assert_allclose(both[1:], vad.speech(two[1:]), atol=1e-5)


@needs_weights
@pytest.mark.parametrize(("length", "chunks"), [(0, 0), (1, 1), (512, 1), (513, 2)])
def test_a_sound_of_any_length_is_heard(vad: rx.Module, length: int, chunks: int) -> None:
    assert vad.speech(np.zeros((1, length), np.float32)).shape == (1, chunks)


@needs_weights
def test_the_state_that_a_host_carries_gives_the_same(vad: rx.Module, sound: np.ndarray) -> None:
    padded, state = np.pad(sound[:2048], (64, 0))[None], (np.zeros((1, 128), np.float32),) * 2
    for i, wanted in enumerate(vad.speech(sound[None, :2048])[0]):
        likely, state = vad.chunk(padded[:, i * 512 : i * 512 + 576], state)
        np.testing.assert_allclose(likely, [wanted], atol=1e-5)


@needs_weights
def test_nothing_is_left_to_check_inside_the_detector(vad: rx.Module) -> None:
    assert vad.speech.residual == ()


def test_the_sound_is_the_same_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = imported("sound", monkeypatch).noise(4)
    np.testing.assert_allclose(noise, [-1.0, -0.701080, 0.508198, -0.938254], atol=1e-5)


def test_speech_is_told_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = imported("listen", monkeypatch).spans
    assert spans(np.array([0.9, 0.1, 0.6, 0.7])) == [(0.0, 0.032), (0.064, 0.128)]
    assert spans(np.array([0.1])) == []
