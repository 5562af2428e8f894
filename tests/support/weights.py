"""A program with literal consts to the same with those tensors in files of three kinds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

_CONST = re.compile(r"^(const \w+ : .* = )tensor\((\[.*\]), float32\)$", re.MULTILINE)


def in_files(text: str, seed: int, folder: Path) -> str:
    """Its consts of float32 are loaded."""
    made = iter(range(seed, seed + 100))
    return _CONST.sub(
        lambda m: f"{m[1]}load({in_a_file(np.array(json.loads(m[2]), np.float32), next(made), folder)})", text
    )


def in_a_file(array: np.ndarray[Any, Any], seed: int, folder: Path) -> str:
    """What loads a tensor from a file of one of three kinds."""
    match ("npy", "npz", "safetensors")[seed % 3]:
        case "npy":
            np.save(folder / f"w{seed}.npy", array)
            return f'"w{seed}.npy"'
        case "npz":
            np.savez(folder / f"w{seed}.npz", w=array)
            return f'"w{seed}.npz", "w"'
    header = {"w": {"dtype": "F32", "shape": array.shape, "data_offsets": [0, array.nbytes]}}
    named = json.dumps(header).encode()
    (folder / f"w{seed}.safetensors").write_bytes(len(named).to_bytes(8, "little") + named + array.tobytes())
    return f'"w{seed}.safetensors", "w"'
