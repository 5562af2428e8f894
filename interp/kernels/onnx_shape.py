"""Kernels of ONNX's operators that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import kernel

Array = np.ndarray[Any, Any]


@kernel("onnx.reshape")
def reshape(x: Array, shape: Array, allowzero: bool) -> Array:
    wanted = [x.shape[axis] if size == 0 and not allowzero else int(size) for axis, size in enumerate(shape)]
    return np.reshape(x, wanted)
