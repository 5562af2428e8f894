"""The header of a weights file: shape and dtype of an array without reading its data, for `.npy`, `.npz` and `.safetensors`."""

from __future__ import annotations

import ast
import json
import struct
import zipfile
from pathlib import Path
from typing import IO

from .dtypes import DTYPES, DType
from .node import Node

_MAX_HEADER = 64 * 1024 * 1024
_SAFETENSORS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64",
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


class BadWeights(Exception):
    """The file is not what its name says; the message completes a sentence."""


def read_header(path: Path, key: str | None) -> Header:
    """The header of the array `key` of a file (None for a `.npy` file, which has one array)."""
    try:
        match path.suffix:
            case ".npy":
                with path.open("rb") as handle:
                    return _npy(handle)
            case ".npz":
                return _npz(path, key)
            case ".safetensors":
                return _safetensors(path, key)
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
        names = [n.removesuffix(".npy") for n in archive.namelist()]
        if key not in names:
            raise BadWeights(_no_key(key, names))
        with archive.open(f"{key}.npy") as handle:
            return _npy(handle)


def _safetensors(path: Path, key: str | None) -> Header:
    with path.open("rb") as handle:
        (length,) = struct.unpack("<Q", handle.read(8))
        if length > _MAX_HEADER:
            raise BadWeights("has a header of an impossible size")
        header = json.loads(handle.read(length))
    names = [n for n in header if n != "__metadata__"]
    if key not in names:
        raise BadWeights(_no_key(key, names))
    found = header[key]
    if found["dtype"] not in _SAFETENSORS:
        raise BadWeights(f"has elements of a type that Rx does not know: {found['dtype']}")
    return Header(tuple(int(n) for n in found["shape"]), DTYPES[_SAFETENSORS[found["dtype"]]])


def _no_key(key: str | None, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:5]) + (", ..." if len(names) > 5 else "")
    return f"has no array {key!r}; it has {shown}" if key else f"has several arrays; name one of {shown}"
