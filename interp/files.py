"""One tensor of a weights file as a NumPy array; no pickle is ever loaded."""

from __future__ import annotations

import zlib
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..lang.dtypes import DTYPES
from ..lang.weights import BadWeights, choose, safetensors_entry
from .dtypes import dtype_of, numpy_dtype

Array = np.ndarray[Any, Any]
# What reading a damaged file may raise: NumPy's header reader, zipfile and zlib each have their own.
_DAMAGES = (
    ValueError,
    EOFError,
    KeyError,
    SyntaxError,
    TypeError,
    MemoryError,
    OverflowError,
    RuntimeError,
    TokenError,
    BadZipFile,
    zlib.error,
)


class ValueProblem(Exception):
    """A VALUE that cannot be read; the message is one line for the user."""


def read_array(path: Path, key: str | None) -> Array:
    """One tensor of a `.npy`, `.npz` or `.safetensors` file; raises ValueProblem. The key may be left out where a file has
    just one."""
    try:
        match path.suffix.lower():
            case ".npy" if key is None:
                return checked(_plain(np.load(path, allow_pickle=False), path))
            case ".npy":
                raise ValueProblem(f"{path.name} holds one tensor and no key {key!r}")
            case ".npz":
                return _read_npz(path, key)
            case ".safetensors":
                return _read_safetensors(path, key)
    except BadWeights as problem:
        raise ValueProblem(f"{path.name} {problem}") from None
    except OSError as problem:
        raise ValueProblem(f"{path} cannot be read: {problem.strerror or problem}") from None
    except _DAMAGES as problem:
        reason = str(problem).strip().split("\n")[0]
        raise ValueProblem(f"{path.name} cannot be read: {reason}") from None
    raise ValueProblem(f"{path.name} is no .npy, .npz or .safetensors file")


def _plain(loaded: Any, path: Path) -> Array:
    if not isinstance(loaded, np.ndarray):
        loaded.close()
        raise ValueProblem(f"{path.name} is not a .npy file")
    return loaded


def _read_npz(path: Path, key: str | None) -> Array:
    with path.open("rb") as handle:
        archive = np.load(handle, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueProblem(f"{path.name} is not a .npz file")
        return checked(archive[choose(key, list(archive.files))])


def _read_safetensors(path: Path, key: str | None) -> Array:
    entry = safetensors_entry(path, key)
    dtype = numpy_dtype(entry.dtype)
    length = prod(entry.shape) * dtype.itemsize
    if length != entry.end - entry.begin:
        raise ValueProblem(f"{path.name} is damaged: the tensor's place does not fit its shape")
    with path.open("rb") as handle:
        handle.seek(entry.begin)
        return np.frombuffer(handle.read(length), dtype).reshape(entry.shape)


def checked(array: Any) -> Array:
    """The array in native byte order and a dtype that Rx has; raises ValueProblem for any other."""
    made = np.asarray(array)
    if made.dtype.kind == "U":
        made = made.astype(numpy_dtype(DTYPES["string"]))
    if not made.dtype.isnative:
        made = made.astype(made.dtype.newbyteorder("="))
    try:
        dtype_of(made.dtype)
    except (LookupError, TypeError, ValueError):
        raise ValueProblem(f"elements of type {made.dtype} are none that Rx has") from None
    return made
