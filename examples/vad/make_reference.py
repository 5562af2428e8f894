"""Compute reference.npy with onnxruntime and the package's ONNX model: what it says to a minute of bursts.

Run once, in an environment with onnxruntime: `python examples/vad/make_reference.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from listen import by_onnxruntime
from sound import bursts

if __name__ == "__main__":
    found = by_onnxruntime(bursts(60))
    assert found is not None
    np.save(Path(__file__).resolve().parent / "reference.npy", found)
