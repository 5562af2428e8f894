"""The header of a weights file: shape and dtype of an array without reading its data, for `.npy`, `.npz` and `.safetensors`."""

from __future__ import annotations

import ast
import json
import struct
import zipfile
from collections.abc import Collection
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

from .dtypes import DTYPES, DType
from .node import Node

_MAX_HEADER = 64 * 1024 * 1024
# A bool or a float8 has one byte per element there, as NumPy and ml_dtypes have it.
_SAFETENSORS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip
_NPY_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}

# What reading a damaged file may raise.
_BROKEN = (
    OSError, EOFError, struct.error, ValueError, KeyError, TypeError, SyntaxError, NotImplementedError, zipfile.BadZipFile,
)  # fmt: skip


class Header(Node):
    """What a file says of one array."""

    shape: tuple[int, ...]
    dtype: DType


class Place(Header):
    """And where in the file its data is: offsets of the first byte and of the one behind the last."""

    begin: int
    end: int


class BadWeights(Exception):
    """The file is not what its name says; the message completes a sentence."""


def read_header(path: Path, key: str | None) -> Header:
    """The header of the array `key` of a file (None for a `.npy` file, which has one array)."""
    try:
        match path.suffix.lower():
            case ".npy":
                with path.open("rb") as handle:
                    return _npy(handle)
            case ".npz":
                return _npz(path, key)
            case ".safetensors":
                return safetensors_entry(path, key)
    except _BROKEN as problem:
        raise BadWeights(f"cannot be read: {problem}") from None
    raise BadWeights("is none of .npy, .npz and .safetensors")


def _npy(handle: IO[bytes]) -> Header:
    magic = handle.read(8)
    if magic[:6] != b"\x93NUMPY":
        raise BadWeights("is not a .npy file")
    length = struct.unpack("<H", handle.read(2))[0] if magic[6] == 1 else struct.unpack("<I", handle.read(4))[0]
    if length > _MAX_HEADER:
        raise BadWeights("has a header of an impossible size")
    described = ast.literal_eval(handle.read(length).decode("latin-1"))
    return Header(tuple(int(n) for n in described["shape"]), _npy_dtype(described["descr"]))


def _npy_dtype(text: object) -> DType:
    if isinstance(text, str) and len(text) >= 3:
        kind = _NPY_KINDS.get(text[1])
        name = "bool" if kind == "bool" else f"{kind}{int(text[2:]) * 8}"
        if kind and name in DTYPES:
            return DTYPES[name]
    raise BadWeights(f"has elements of a type that Rx does not know: {text!r}")


def _npz(path: Path, key: str | None) -> Header:
    with zipfile.ZipFile(path) as archive:
        name = choose(key, [n.removesuffix(".npy") for n in archive.namelist()])
        with archive.open(f"{name}.npy") as handle:
            return _npy(handle)


def safetensors_entry(path: Path, key: str | None) -> Place:
    """What a `.safetensors` file says of one tensor, its place in the file included; raises BadWeights."""
    state = path.stat()
    header, length, size = _safetensors(path, state.st_size, state.st_mtime_ns)
    entry = header[choose(key, header)]
    if entry["dtype"] not in _SAFETENSORS:
        raise BadWeights(f"has elements of a type that Rx does not know: {entry['dtype']}")
    shape = tuple(int(n) for n in entry["shape"])
    begin, end = (8 + length + int(n) for n in entry["data_offsets"])
    if min((*shape, begin - 8 - length), default=0) < 0 or not begin <= end <= size:
        raise BadWeights("is damaged: the tensor's place does not fit its shape")
    return Place(shape, DTYPES[_SAFETENSORS[entry["dtype"]]], begin, end)


@lru_cache(maxsize=4)
def _safetensors(path: Path, size: int, changed: int) -> tuple[dict[str, Any], int, int]:
    """What a file says of all its tensors, how long that is, and the length of the file: read once for all of them."""
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        if size < 8 or length > min(size - 8, _MAX_HEADER):
            raise BadWeights("is not a .safetensors file")
        return _json(handle.read(length)), length, size


def _json(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise BadWeights("is not a .safetensors file")
    header.pop("__metadata__", None)
    return header


def choose(key: str | None, keys: Collection[str]) -> str:
    """The key of a tensor in a file that has these; raises BadWeights."""
    if key is None and len(keys) == 1:
        return next(iter(keys))
    if key is not None and key in keys:
        return key
    shown = ", ".join(islice(keys, 8)) + (", ..." if len(keys) > 8 else "")
    if key is None:
        raise BadWeights(f"holds {len(keys)} tensors: say which ({shown})")
    raise BadWeights(f"has no tensor {key!r}; it has {shown}")
