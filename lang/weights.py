"""The place of one array in a weights file: shape, dtype and offset of the data.

Checking and loading both go through `open_array`, so that they see the same array. This module never reads the data.
"""

from __future__ import annotations

import ast
import json
import lzma
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import IO, Any

from .dtypes import DTYPES, DType
from .stored import MAX_BYTES, MAX_RANK, BadWeights, Header, StoredTensor, choose

_MAX_JSON = 64 * 1024 * 1024
# NumPy's limit too: a longer header describes no array of numbers.
_MAX_NPY = 10_000
SUFFIXES = (".npy", ".npz", ".safetensors", ".onnx")
# A bool or a float8 has one byte per element there, as in NumPy and ml_dtypes.
SAFETENSORS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip
# Other dtypes are stored as bytes, with the dtype beside; elements of a few bits are packed.
_BESIDE = set(DTYPES) - set(SAFETENSORS.values()) - {"string"}
_NPY_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_NPY_TYPE = re.compile(r"([<>|=]?)([biufcU])([1-9][0-9]{0,8})", re.ASCII)
_NPY_KEYS = {"descr", "fortran_order", "shape"}

# Exceptions that reading or decompressing a damaged file may raise. Their texts are not shown: some contain addresses.
_BROKEN = (
    EOFError, struct.error, ValueError, KeyError, IndexError, TypeError, NotImplementedError, OverflowError, RuntimeError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip


def read_header(path: Path, key: str | None) -> Header:
    """The header of the array `key` of a file (None for a `.npy` file, which has one array); raises BadWeights."""
    with open_array(path, key, reads=False) as (place, _):
        return Header(place.shape, place.dtype, place.stamp)


@contextmanager
def open_array(path: Path, key: str | None, reads: bool = True) -> Iterator[tuple[StoredTensor, IO[bytes]]]:
    """One array of a file and the stream at the first byte of its data, which may be absent unless `reads`; any failure, here
    or while the data is read, is a BadWeights."""
    try:
        if path.suffix.lower() == ".onnx":
            from .onnx_weights import open_tensor  # few programs read models

            with open_tensor(path, key, reads) as found:
                yield found
            return
        with path.open("rb") as file:
            match path.suffix.lower():
                case ".npy":
                    yield _npy(file, key, path), file
                case ".npz":
                    with zipfile.ZipFile(file) as archive, archive.open(_member(archive, key)) as member:
                        yield _npz(archive, member), member
                case ".safetensors":
                    yield _safetensors(file, key), file
                case _:
                    raise BadWeights(f"is none of {', '.join(SUFFIXES[:-1])} and {SUFFIXES[-1]}")
    except OSError as problem:
        raise BadWeights(f"cannot be read: {problem.strerror or 'it is damaged'}") from None
    except MemoryError:
        raise BadWeights("cannot be read: it needs more memory than there is") from None
    except _BROKEN:
        raise BadWeights("cannot be read: it is damaged") from None


def _bounded(place: StoredTensor, available: int) -> StoredTensor:
    """The place, if the file can hold that many bytes."""
    if len(place.shape) > MAX_RANK or any(n > MAX_BYTES for n in place.shape):
        raise BadWeights("is damaged: it has a shape that no array has")
    if prod(n for n in place.shape if n) * place.width > MAX_BYTES:
        raise BadWeights("is damaged: it has a shape that no array has")
    if place.length > available:
        raise BadWeights(f"is damaged: the data of {Header(place.shape, place.dtype)} is cut off")
    return place


def _shape(described: object, kind: type) -> tuple[int, ...]:
    """A shape from a header: a tuple or a list of natural numbers."""
    if not isinstance(described, kind) or not all(type(n) is int and n >= 0 for n in described):  # type: ignore[attr-defined]
        raise BadWeights("is damaged: its shape is no list of sizes")
    return tuple(described)  # type: ignore[arg-type]


# NumPy files


def _npy(file: IO[bytes], key: str | None, path: Path) -> StoredTensor:
    if key is not None:
        raise BadWeights(f"holds one tensor and no key {key!r}")
    size = path.stat().st_size
    return _bounded(_npy_place(file), size - file.tell())


def _npy_place(file: IO[bytes]) -> StoredTensor:
    magic = file.read(8)
    if magic[:6] != b"\x93NUMPY":
        raise BadWeights("is not a .npy file")
    if magic[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise BadWeights("is a .npy file of a version that does not exist")
    length = struct.unpack("<H", file.read(2))[0] if magic[6] == 1 else struct.unpack("<I", file.read(4))[0]
    if length > _MAX_NPY:
        raise BadWeights("has a header of an impossible size")
    described = _literal(file.read(length), length, "utf-8" if magic[6] == 3 else "latin-1")
    if not isinstance(described, dict) or set(described) != _NPY_KEYS or type(described["fortran_order"]) is not bool:
        raise BadWeights("is damaged: its header cannot be read")
    dtype, width, order = _npy_dtype(described["descr"])
    shape = _shape(described["shape"], tuple)
    return StoredTensor(shape, dtype, width=width, order=order, columns=described["fortran_order"])


def _literal(header: bytes, length: int, encoding: str) -> object:
    """The header as a Python literal. Python 2 wrote sizes as `3L`."""
    if len(header) < length:
        raise BadWeights("is damaged: its header is cut off")
    text = header.decode(encoding)
    try:
        return ast.literal_eval(re.sub(r"\b(\d+)L\b", r"\1", text))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise BadWeights("is damaged: its header cannot be read") from None


def _npy_dtype(text: object) -> tuple[DType, int, str]:
    """The dtype of `<f4`, its bytes and its order. Texts of a fixed length have four bytes for each character."""
    found = _NPY_TYPE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise BadWeights("has elements of a type that Rx does not know")
    order = {"<": "little", ">": "big"}.get(found[1], sys.byteorder)
    if found[2] == "U":
        return DTYPES["string"], int(found[3]) * 4, order
    kind, width = _NPY_KINDS[found[2]], int(found[3])
    name = f"{kind}{width * 8}" if kind != "bool" or width != 1 else "bool"
    if name not in DTYPES:
        raise BadWeights(f"has elements of a type that Rx does not know: {found[0]}")
    return DTYPES[name], width, order


# Archives of NumPy files


def _member(archive: zipfile.ZipFile, key: str | None) -> zipfile.ZipInfo:
    """The archive member with the tensor's name and `.npy`; other members are no tensors."""
    members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
    names = [m.filename.removesuffix(".npy") for m in members]
    name = choose(key, list(dict.fromkeys(names)))
    if names.count(name) > 1:
        raise BadWeights(f"is damaged: it holds more than one tensor {name!r}")
    return members[names.index(name)]


def _npz(archive: zipfile.ZipFile, member: IO[bytes]) -> StoredTensor:
    place = _npy_place(member)
    return _bounded(place, archive.getinfo(member.name).file_size - member.tell())


# Safetensors


def _safetensors(file: IO[bytes], key: str | None) -> StoredTensor:
    """The description of one tensor in a `.safetensors` file; the file is left at the tensor's first byte."""
    found = os.fstat(file.fileno())
    header, places, start = _tensors(_Once(file, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)))
    name = choose(key, places)
    place = _entry(header[name])
    begin, end = places[name]
    if place.length != end - begin:
        raise BadWeights("is damaged: the tensor's place does not fit its shape")
    file.seek(start + begin)
    return _bounded(place, end - begin)


def _json(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise BadWeights("is not a .safetensors file")
    return header


class _Once:
    """A file whose header is read once while the file does not change."""

    __slots__ = ("file", "stamp")

    def __init__(self, file: IO[bytes], stamp: tuple[int, ...]) -> None:
        self.file, self.stamp = file, stamp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once) and self.stamp == other.stamp

    def __hash__(self) -> int:
        return hash(self.stamp)


@lru_cache(maxsize=4)
def _tensors(once: _Once) -> tuple[dict[str, Any], dict[str, tuple[int, int]], int]:
    """A header, the range of each tensor's data, and the offset that ranges count from; read once for all tensors."""
    file = once.file
    size = file.seek(0, 2)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _MAX_JSON):
        raise BadWeights("is not a .safetensors file")
    header, size = _json(file.read(length)), size - 8 - length
    said = header.pop("__metadata__", None)
    places = {name: _offsets(entry) for name, entry in header.items()}
    _without_gaps(places, size)
    return {name: _meant(entry, said, name) for name, entry in header.items()}, places, 8 + length


def _meant(entry: dict[str, Any], said: object, name: str) -> dict[str, Any]:
    """An entry, with the dtype and the shape that Rx wrote beside it if the format lacks the dtype."""
    beside = said.get(f"rx:{name}") if isinstance(said, dict) else None
    if beside is None:
        return entry
    meant = _json(beside.encode()) if isinstance(beside, str) else {}
    if entry.get("dtype") != "U8" or meant.get("dtype") not in _BESIDE or len(meant) != 2:
        raise BadWeights(f"is damaged: what it says beside its tensor {name!r} cannot be read")
    return {**entry, **meant, "dtype": DTYPES[meant["dtype"]]}


def _once(pairs: list[tuple[str, object]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadWeights("is damaged: a name occurs twice in its header")
    return found


def _offsets(entry: object) -> tuple[int, int]:
    """Where an entry's data begins and ends, counted from the end of the header."""
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int and n >= 0 for n in offsets):
        raise BadWeights("is damaged: the places of its tensors cannot be read")
    return offsets[0], offsets[1]


def _without_gaps(places: dict[str, tuple[int, int]], size: int) -> None:
    """Check that the tensors lie one behind the other, as the format requires, without overlaps, gaps or trailing bytes."""
    at = 0
    for begin, end in sorted(places.values()):
        if begin != at or end < begin:
            raise BadWeights("is damaged: its tensors do not lie one behind the other")
        at = end
    if at != size:
        raise BadWeights("is damaged: its tensors do not fill the file")


def _entry(entry: dict[str, object]) -> StoredTensor:
    shape, dtype = _shape(entry.get("shape"), list), entry.get("dtype")
    if isinstance(dtype, DType):
        return StoredTensor(shape, dtype, width=dtype.bits // 8)
    if not isinstance(dtype, str) or dtype not in SAFETENSORS:
        shown = f": {dtype}" if isinstance(dtype, str) and re.fullmatch(r"\w{1,16}", dtype) else ""
        raise BadWeights(f"has elements of a type that Rx does not know{shown}")
    found = DTYPES[SAFETENSORS[dtype]]
    return StoredTensor(shape, found, width=found.bits // 8)
