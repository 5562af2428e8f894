"""The places of an `.onnx` file's tensor data: in the file itself or in files below its folder.

Large data is not read, and the package onnx is not needed.

A tensor's key is its name if it is an initializer of the model's graph. Otherwise the key is a path: `node 3.value` is the
attribute `value` of the fourth node, `node 3.body.w` the initializer `w` of the graph in it, `function 0.node 1.value` one of
a model-local function. An attribute that lists numbers, in at least SMALL bytes, is a tensor too: `node 3.values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EISDIR
from functools import lru_cache
from io import BytesIO
from math import prod
from mmap import ACCESS_READ, mmap
from os import fstat, stat_result, strerror
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG
from typing import IO

from .dtypes import DTYPES, DType
from .node import Node
from .protobuf import BYTES, FIXED32, VARINT, Bytes, Damaged, fields, signed, varint, written
from .stored import MAX_BYTES, MAX_RANK, BadWeights, Header, StoredTensor, choose

# The names of ONNX's element types, by number.
ELEMENTS = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
    17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2",
}  # fmt: skip

# The fields of each message that hold tensors, or messages that hold tensors.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph"},
    "function": {7: "node"},
}
# The fields of a tensor's data; packed numbers of one kind have the form of raw data.
_FLOATS, _INTS, _STRINGS, _RAW, _DOUBLES = 4, 5, 6, 9, 10
_LISTS = (_FLOATS, _INTS, _STRINGS, 7, _DOUBLES, 11)
_PACKED = {_FLOATS: {1, 14}, _DOUBLES: {11, 15}}
# The field with the elements, by their type; other types use the list of int32.
_FIELDS = {1: _FLOATS, 14: _FLOATS, 8: _STRINGS, 7: 7, 11: _DOUBLES, 15: _DOUBLES, 12: 11, 13: 11}
# Attributes that list numbers: the element type by field, whether one by one or packed. Their data is the whole message,
# under a number that no field has.
_ATTRIBUTE, _LISTED = 0, {7: 1, 8: 7}
# Such numbers one by one, each with the tag of its field.
_RUNS = {
    7 << 3 | FIXED32: re.compile(rb"(?:=....)*+", re.DOTALL),
    8 << 3 | VARINT: re.compile(rb"(?:@[\x80-\xff]{0,9}+[\0-\x7f])*+"),
}
_UPPER = bytes(range(128, 256))
_MAX_TEXTS = 2**24
# A message of fewer bytes than this has no tensor of more than 1,024 elements, of two bits each.
SMALL = 256
# A small weight of the model is still found by its name.
_ENTERED = {("model", 7), ("graph", 5)}
DEPTH = 30


class Located(Node):
    """A tensor of a model: its element type by number, and the ranges of its data in the file by the field that holds them;
    `external` locates data in another file."""

    name: str
    shape: tuple[int, ...]
    type: int
    data: Mapping[int, tuple[tuple[int, int], ...]]
    external: Mapping[str, str] | None

    def raw(self) -> tuple[int, int] | None:
        """The range of bytes that holds its data as it lies in memory, or None."""
        found = [(number, ranges) for number, ranges in self.data.items() if any(b < e for b, e in ranges)]
        if len(found) != 1 or len(found[0][1]) != 1:
            return None
        number, (only,) = found[0]
        return only if number == _RAW or self.type in _PACKED.get(number, ()) else None


class WeightIndex(Node):
    """The tensors of a model by key, the keys that occur twice, and the model's bytes without the tensors' data."""

    tensors: Mapping[str, Located]
    twice: frozenset[str]
    skeleton: bytes


def index(path: Path) -> WeightIndex:
    """The tensors of a file; raises Damaged and OSError. A file that does not change is read once for all its tensors."""
    found = path.stat()
    if S_ISDIR(found.st_mode):
        raise IsADirectoryError(EISDIR, strerror(EISDIR))
    if not S_ISREG(found.st_mode):
        raise Damaged("it is no regular file")
    return _index(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=4)
def _index(path: Path, size: int, time: int) -> WeightIndex:
    if not size:
        raise Damaged("it is empty")
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        walk = WeightWalk(data)
        skeleton = b"".join(piece for piece in walk.message("model", 0, size, "") if isinstance(piece, bytes))
        return WeightIndex(walk.tensors, frozenset(walk.twice), skeleton)


class FileStretch:
    """A range of bytes of a file."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end

    def __len__(self) -> int:
        return self.end - self.begin


Piece = bytes | FileStretch


class WeightWalk:
    """Goes through a model's messages and returns their bytes without the data of large tensors."""

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.tensors: dict[str, Located] = {}
        self.twice: set[str] = set()

    def message(self, kind: str, begin: int, end: int, way: str, depth: int = 0) -> list[Piece]:
        """The pieces of a message that may contain tensors; `way` is the prefix of their keys."""
        if depth > 3 * DEPTH:
            raise Damaged(f"its graphs are nested more than {DEPTH} deep")
        if kind == "attribute":
            self._list(begin, end, way)
        inside, pieces, copied, counts = _INSIDE[kind], [], begin, dict.fromkeys(_INSIDE[kind], 0)
        for number, wire, at, start, stop in fields(self.data, begin, end, _RUNS if kind == "attribute" else {}):
            if number not in inside or wire != BYTES:
                continue
            nth, counts[number] = counts[number], counts[number] + 1
            if stop - start < SMALL and (kind, number) not in _ENTERED:
                continue
            made = self._inner(
                kind, inside[number], (start, stop), self._way(kind, way, (begin, end), number, nth), depth
            )
            if len(made) != 1 or len(made[0]) != stop - start:  # otherwise it is unchanged
                length = written(sum(map(len, made)))
                pieces += [self.data[copied:at], written(number << 3 | BYTES), length, *made]
                copied = stop
        if counts.get(7, 0) > 1 and kind == "model" or kind == "attribute" and max(counts[5], counts[6]) > 1:
            raise Damaged(f"byte {begin} begins {'an' if kind == 'attribute' else 'a'} {kind} that says a thing twice")
        return [*pieces, self.data[copied:end]]

    def _inner(self, outer: str, kind: str, at: tuple[int, int], way: str, depth: int) -> list[Piece]:
        return self._tensor(*at, way, outer == "graph") if kind == "tensor" else self.message(kind, *at, way, depth + 1)

    def _way(self, kind: str, way: str, at: tuple[int, int], number: int, nth: int) -> str:
        match kind, number:
            case "graph" | "function", 1 | 7:
                return f"{way}node {nth}."
            case "model", 25:
                return f"function {nth}."
            case "attribute", 10 | 11:
                return f"{way}{self._text(*at, 1)}.{nth}{'.' * (number == 11)}"
            case "attribute", 5 | 6:
                return f"{way}{self._text(*at, 1)}{'.' * (number == 6)}"
        return way

    def _list(self, begin: int, end: int, way: str) -> None:
        """Enter an attribute that lists numbers."""
        listed = [field for field in fields(self.data, begin, end, _RUNS) if field[0] in _LISTED]
        found = {number for number, *_ in listed}
        if len(found) == 1:
            count = sum(_count(self.data, *field) for field in listed)
            data = {_ATTRIBUTE: ((begin, end),)}
            self.tensors[way + self._text(begin, end, 1)] = Located("", (count,), _LISTED[found.pop()], data, None)

    def _text(self, begin: int, end: int, number: int) -> str:
        """A text in a message; "" if there is none."""
        known = fields(self.data, begin, end, _RUNS)
        found = [self.data[s:e] for n, wire, _, s, e in known if (n, wire) == (number, BYTES)]
        return found[-1].decode("utf-8", "replace") if found else ""

    def _tensor(self, begin: int, end: int, way: str, is_named: bool) -> list[Piece]:
        """Enter a tensor; return its bytes, without its data if that lies in one piece."""
        found = located(self.data, begin, end)
        key = way + found.name if is_named else way
        if key in self.tensors:
            self.twice.add(key)
        self.tensors[key] = found
        raw = found.raw()
        if raw is None or raw[1] - raw[0] < SMALL:
            return [self.data[begin:end]]
        pieces: list[Piece] = []
        for number, _, at, start, stop in fields(self.data, begin, end):
            pieces += self.large(number, start, stop) if (start, stop) == raw else [self.data[at:stop]]
        return pieces

    def large(self, number: int, begin: int, end: int) -> list[Piece]:
        """The pieces that replace the data of a large tensor, the field `number`: none."""
        return []


def located(data: Bytes, begin: int, end: int) -> Located:
    """The tensor that a message describes."""
    name, type_, is_external, dims = "", 0, False, []
    ranges: dict[int, list[tuple[int, int]]] = {}
    external: dict[str, str] = {}
    for number, wire, _, start, stop in fields(data, begin, end):
        if number == 1:
            dims += [signed(n) for n in _numbers(data, start, stop)]
        elif number == 2 and wire == VARINT:
            type_ = varint(data, start, stop)[0]
        elif number == 8 and wire == BYTES:
            name = data[start:stop].decode("utf-8", "replace")
        elif number == 13 and wire == BYTES:
            external |= [_entry(data, start, stop)]
        elif number == 14 and wire == VARINT:
            is_external = varint(data, start, stop)[0] == 1
        elif number == _RAW:
            ranges[number] = [(start, stop)]
        elif number in _LISTS:
            ranges.setdefault(number, []).append((start, stop))
    data_at = {number: tuple(found) for number, found in ranges.items()}
    return Located(name, tuple(dims), type_, data_at, external if is_external else None)


def _count(data: Bytes, number: int, wire: int, begin: int, start: int, stop: int) -> int:
    """The number of numbers in a field of such a list: of a run, or packed."""
    if wire == FIXED32:
        return (stop - begin) // 5
    if _LISTED[number] == 1:
        return _whole(start, stop) // 4
    ends = len(data[begin if wire == VARINT else start : stop].translate(None, _UPPER))  # each tag is such a byte too
    return ends // 2 if wire == VARINT else ends


def _whole(start: int, stop: int) -> int:
    if (stop - start) % 4:
        raise Damaged(f"a list of numbers is cut off at byte {stop}")
    return stop - start


def _elements(data: Bytes, begin: int, end: int) -> Iterator[bytes]:
    """The elements of an attribute that lists numbers, as they lie in memory."""
    for number, _, _, start, stop in fields(data, begin, end):
        if _LISTED.get(number) == 1:
            yield from (data[at : at + 4] for at in range(start, start + _whole(start, stop), 4))
        elif number in _LISTED:
            yield from (n.to_bytes(8, "little") for n in _numbers(data, start, stop))


def _entry(data: Bytes, begin: int, end: int) -> tuple[str, str]:
    texts = {n: data[s:e].decode("utf-8", "replace") for n, wire, _, s, e in fields(data, begin, end) if wire == BYTES}
    return texts.get(1, ""), texts.get(2, "")


def _numbers(data: Bytes, at: int, end: int) -> Iterator[int]:
    while at < end:
        value, at = varint(data, at, end)
        yield value


# Data


@contextmanager
def open_tensor(path: Path, key: str | None, reads: bool = True) -> Iterator[tuple[StoredTensor, IO[bytes]]]:
    """A tensor of a model and the stream at the first byte of its data; numbers that the file lists one by one are decoded
    only if `reads`. Raises BadWeights and OSError."""
    try:
        known = index(path)
    except Damaged as problem:
        raise BadWeights(f"is damaged, or no ONNX model: {problem}") from None
    name = choose(key, known.tensors)
    if name in known.twice:
        raise BadWeights(f"is damaged: it holds more than one tensor {name!r}")
    try:
        place, file, offset = _opened(path, known.tensors[name], reads)
    except BadWeights as problem:
        raise BadWeights(f"holds a tensor {name!r} that {problem}") from None
    with file:
        file.seek(offset)
        yield place, file


def _opened(path: Path, tensor: Located, reads: bool) -> tuple[StoredTensor, IO[bytes], int]:
    dtype, found = dtype_of(tensor), place_of(path, tensor)
    if found is None:
        width, data = _listed(path, tensor, dtype, reads)
        return StoredTensor(tensor.shape, dtype, width=width), BytesIO(data), 0
    file = found[0].open("rb")
    stamp = (*_stamp(path.stat()), *_stamp(fstat(file.fileno())))
    return StoredTensor(tensor.shape, dtype, stamp, width=dtype.bits // 8), file, found[1]


def _stamp(found: stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def _listed(path: Path, tensor: Located, dtype: DType, reads: bool) -> tuple[int, bytes]:
    """The number of bytes per element of a tensor, and the bytes of all, if the file lists elements one by one; integers are
    only counted unless `reads`."""
    field, width = _FIELDS.get(tensor.type, _INTS), dtype.bits // 8
    ranges = tensor.data.get(field, ())
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        if _ATTRIBUTE in tensor.data:
            return width, b"".join(_elements(data, *tensor.data[_ATTRIBUTE][0])) if reads else b""
        if field == _STRINGS:
            return _texts([data[begin:end] for begin, end in ranges], prod(tensor.shape))
        if field in _PACKED:
            listed = b"".join(data[begin:end] for begin, end in ranges)
            length = len(listed)
        else:
            size = width or 1
            length = size * sum(len(data[begin:end].translate(None, _UPPER)) for begin, end in ranges)
            numbers = (n & (256**size - 1) for begin, end in ranges for n in _numbers(data, begin, end))
            listed = b"".join(n.to_bytes(size, "little") for n in numbers) if reads else b""
    if length != byte_count(tensor):
        raise BadWeights(f"has more or less data than {Header(tensor.shape, dtype)} asks for")
    return width, listed


def _texts(given: list[bytes], count: int) -> tuple[int, bytes]:
    """Texts as NumPy stores them: of one length, filled up with zeros."""
    if len(given) != count:
        raise BadWeights(f"has {len(given)} texts where its shape asks for {count}")
    try:
        texts = [text.decode("utf-8") for text in given]
    except UnicodeDecodeError:
        raise BadWeights("has an element that is no UTF-8 text") from None
    widest = max(map(len, texts), default=1) or 1
    if widest * count > _MAX_TEXTS or any(text.endswith("\0") for text in texts):
        raise BadWeights("has texts that end with a zero, or one that is too long beside that many others")
    return 4 * widest, b"".join(text.ljust(widest, "\0").encode("utf-32-le") for text in texts)


def dtype_of(tensor: Located) -> DType:
    """The dtype of a tensor's elements; raises BadWeights."""
    if tensor.type not in ELEMENTS:
        raise BadWeights(
            f"has elements of type {tensor.type}, which Rx does not know" if tensor.type else "has no type of elements"
        )
    return DTYPES[ELEMENTS[tensor.type]]


def place_of(path: Path, tensor: Located) -> tuple[Path, int, int] | None:
    """The file, the offset and the length of a tensor's bytes as they lie in memory, checked against its shape and the file;
    None if the file has them in another form. Raises BadWeights."""
    length = byte_count(tensor)
    if dtype_of(tensor).kind == "string":
        if tensor.external is not None:
            raise BadWeights("has texts in a file of their own, which ONNX does not know")
        return None
    if tensor.external is not None:
        return _external(path, tensor.external, length)
    _check_form(tensor)
    raw = tensor.raw()
    if raw is None:
        return None
    if raw[1] - raw[0] != length:
        raise BadWeights(
            f"has {raw[1] - raw[0]} bytes of data for {length} of {Header(tensor.shape, dtype_of(tensor))}"
        )
    return path, raw[0], length


def _check_form(tensor: Located) -> None:
    """Raise BadWeights if a tensor's data is in other fields than its type requires."""
    forms = {number for number, ranges in tensor.data.items() if any(begin < end for begin, end in ranges)}
    if forms and not prod(tensor.shape):
        raise BadWeights(f"has data, but no elements in its shape {list(tensor.shape)}")
    if len(forms) > 1:
        raise BadWeights("has its data in two forms")
    if forms - {_FIELDS.get(tensor.type, _INTS), _RAW, _ATTRIBUTE}:
        raise BadWeights("has its data in a form that is not for its type")


def byte_count(tensor: Located) -> int:
    """How many bytes a tensor's shape asks for; raises BadWeights if no tensor can have the shape."""
    if any(n < 0 for n in tensor.shape):
        raise BadWeights(f"has a negative size in its shape {list(tensor.shape)}")
    length = (prod(tensor.shape) * dtype_of(tensor).bits + 7) // 8
    largest = prod(n for n in tensor.shape if n) * max(1, dtype_of(tensor).bits // 8)
    if len(tensor.shape) > MAX_RANK or largest > MAX_BYTES:
        raise BadWeights(f"has a shape that no tensor has: {list(tensor.shape)}"[:200])
    return length


def _external(path: Path, said: Mapping[str, str], length: int) -> tuple[Path, int, int]:
    file = _below(path, said.get("location", ""))
    offset, size = _number(said, "offset"), _number(said, "length")
    if size is not None and size != length:
        raise BadWeights(f"has {size} bytes of data in {file.name} where its shape asks for {length}")
    there = file.stat().st_size
    if (offset or 0) + length > there:
        raise BadWeights(f"ends at byte {(offset or 0) + length} of {file.name}, which has {there}")
    return file, offset or 0, length


def _number(said: Mapping[str, str], key: str) -> int | None:
    text = said.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise BadWeights(f"has external data of {key} {text[:40]!r}, which is no number of bytes")
    return int(text)


def _below(path: Path, location: str) -> Path:
    """The file of external data, beside a model or in a folder below: a plain name whose last part may be a link."""
    shown = repr(location[:200])
    parts = PurePosixPath(location).parts
    if not parts or "\0" in location or "\\" in location or ".." in parts or PurePosixPath(location).is_absolute():
        raise BadWeights(f"has external data in {shown}, which names no file below the model's folder")
    folder = path.parent.resolve()
    file = folder / location
    if not file.parent.resolve().is_relative_to(folder):
        raise BadWeights(f"has external data in {shown}, which leads out of the model's folder")
    try:
        mode = file.stat().st_mode
    except OSError:
        raise BadWeights(f"has external data in {shown}, which is not there") from None
    if not S_ISREG(mode):
        raise BadWeights(f"has external data in {shown}, which is no regular file")
    return file
