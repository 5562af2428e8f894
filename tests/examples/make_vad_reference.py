"""Compute examples/vad/reference.npy with onnxruntime and the package's ONNX model: what it says to a minute of bursts.

Run once, in an environment with onnxruntime: `PYTHONPATH=examples/vad python tests/examples/make_vad_reference.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from listen import by_onnxruntime
from sound import bursts

if __name__ == "__main__":
    found = by_onnxruntime(bursts(60))
    assert found is not None
    np.save(Path(__file__).resolve().parents[2] / "examples" / "vad" / "reference.npy", found)
