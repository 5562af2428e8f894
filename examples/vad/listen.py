"""Where is speech in a minute of sound? Runs vad.rx on it and compares with the package's own ONNX model under onnxruntime.

Where onnxruntime is not installed, it compares with what the model once said of eight seconds of bursts (reference.npy).

The exit status is 1 where they differ by more than 1e-4, and 2 where the weights are not there (`make weights` fetches them).
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import rxlang as rx
from sound import RATE, a_minute, bursts

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache" / "vad"
MODEL = CACHE / "silero_vad_16k_op15.onnx"
BOUND = 1e-4
CHUNK, BEFORE = 512, 64


def likely(sound: np.ndarray) -> np.ndarray:
    """How likely each chunk is speech, by Rx."""
    result: np.ndarray = rx.load(HERE / "vad.rx", roots=[CACHE]).speech(sound[None])
    return result[0]


def difference(sound: np.ndarray, found: np.ndarray) -> tuple[float, str]:
    """The largest difference from the ONNX model, and how that was asked."""
    theirs = by_onnxruntime(sound)
    if theirs is not None:
        return float(np.abs(found - theirs).max()), "under onnxruntime"
    recorded = np.load(HERE / "reference.npy")[:250]
    return float(np.abs(likely(bursts(8)) - recorded).max()), "as recorded (onnxruntime is not installed)"


def by_onnxruntime(sound: np.ndarray) -> np.ndarray | None:
    """The same by the ONNX model, whose state the host carries; None where onnxruntime is not installed."""
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        return None
    session = InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    padded = np.pad(sound, (BEFORE, -len(sound) % CHUNK))[None]
    state, found = np.zeros((2, 1, 128), np.float32), []
    for start in range(0, padded.shape[1] - BEFORE, CHUNK):
        inputs = {"input": padded[:, start : start + BEFORE + CHUNK], "state": state, "sr": np.array(RATE)}
        y, state = session.run(None, inputs)
        found.append(float(y[0, 0]))
    return np.array(found, np.float32)


def spans(found: np.ndarray) -> list[tuple[float, float]]:
    """From which second to which speech is more likely than not."""
    edges = np.flatnonzero(np.diff(np.pad(found > 0.5, 1).astype(int)))
    return [(a * CHUNK / RATE, b * CHUNK / RATE) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def main() -> int:
    if not MODEL.is_file():
        print("The weights are not there; `make weights` fetches them (11 MB, from PyPI).", file=sys.stderr)
        return 2
    what, sound = a_minute()
    begin = perf_counter()
    found = likely(sound)
    print(f"A minute of {what}: {len(found)} chunks, checked and heard in {perf_counter() - begin:.1f} s")
    heard = spans(found)
    shown = ", ".join(f"{a:.1f}-{b:.1f}" for a, b in heard[:6]) + (", ..." if len(heard) > 6 else "")
    print(f"speech in seconds: {shown or 'none'}")
    apart, how = difference(sound, found)
    print(f"largest difference from the ONNX model {how}: {apart:.3g} (bound {BOUND:g})")
    return int(not apart <= BOUND)


if __name__ == "__main__":
    sys.exit(main())
