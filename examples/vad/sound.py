"""A minute of sound, 16,000 numbers a second: speech between pauses where espeak-ng is installed, else bursts of noise and of a
humming voice."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import wave
from pathlib import Path

import numpy as np

RATE = 16_000
SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "A loop carries the state of the detector from chunk to chunk.",
    "What is proved never fails, and what is refuted never holds.",
)


def noise(count: int) -> np.ndarray:
    """Numbers between -1 and 1, the same on every machine: the bits of the index, mixed."""
    bits = np.arange(count, dtype=np.uint64) * np.uint64(6364136223846793005)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(factor)
    return ((bits >> np.uint64(40)).astype(np.float32) / 2**23 - 1).astype(np.float32)


def hum(seconds: int) -> np.ndarray:
    """A voice that hums an a, four times a second: the overtones of a wavering 120 Hz, loud near three formants."""
    times = np.arange(seconds * RATE) / RATE
    pitch = 120 + 20 * np.sin(5 * np.pi * times)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    formants = ((700, 150), (1200, 200), (2600, 300))
    voice = sum(
        (0.02 + sum(np.exp(-(((k * pitch - middle) / width) ** 2)) for middle, width in formants)) * np.sin(k * phase)
        for k in range(1, 30)
    )
    return (0.1 * voice * np.maximum(np.sin(8 * np.pi * times), 0)).astype(np.float32)


def bursts(seconds: int) -> np.ndarray:
    """In each four seconds one of noise and one of humming, each behind a second of near silence."""
    second = np.arange(seconds * RATE) // RATE % 4
    quiet = noise(len(second)) * np.where(second == 1, np.float32(0.5), np.float32(0.001))
    return quiet + hum(seconds) * (second == 3)


def spoken(sentence: str) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spoken.wav"
        subprocess.run(["espeak-ng", "-w", str(path), sentence], check=True, capture_output=True)
        with wave.open(str(path)) as file:
            rate, data = file.getframerate(), file.readframes(file.getnframes())
    samples = np.frombuffer(data, "<i2").astype(np.float32) / 2**15
    return np.interp(np.arange(0, len(samples), rate / RATE), np.arange(len(samples)), samples).astype(np.float32)


def a_minute() -> tuple[str, np.ndarray]:
    """What it is, and the sound."""
    if shutil.which("espeak-ng") is None:
        return "bursts of noise and humming (espeak-ng is not installed)", bursts(60)
    pause = np.zeros(2 * RATE, np.float32)
    parts = [part for sentence in SENTENCES for part in (pause, spoken(sentence))]
    whole = np.concatenate(parts * 10)[: 60 * RATE]
    return "speech of espeak-ng between pauses of two seconds", np.pad(whole, (0, 60 * RATE - len(whole)))
