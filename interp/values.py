"""A VALUE of the command line as a NumPy array: a literal, a generated tensor, or one from a file."""

from __future__ import annotations

import json
import re
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..lang.dtypes import DTYPES, DType, int_range
from ..lang.weights import SUFFIXES
from .dtypes import numpy_dtype
from .engine_types import RunValue
from .files import ValueProblem, read_array
from .kernels.registry import Array

_GENERATED = re.compile(r"\s*(\w+)\s*\[([^\]]*)\]\s*:\s*(\w+)\s*")
_TYPE = re.compile(r"\s*(\w+)\s*\[[^\]]*\]\s*")
_NAMED = re.compile(r"(.*):\s*(\w*)\s*", re.DOTALL)
_TOKEN = re.compile(
    r"""\s*(?:(?P<punctuation>[\[\],])|(?P<text>"(?:[^"\\]|\\.)*")
         |(?P<word>[+-]?(?:inf|infinity|nan)\b|true\b|false\b)
         |(?P<number>[+-]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?))""",
    re.VERBOSE | re.IGNORECASE,
)


class Literal(NamedTuple):
    """A literal's elements in row-major order, its shape, and the dtype that it names."""

    items: list[RunValue]
    shape: tuple[int, ...]
    dtype: DType | None


def parse_value(text: str, random: np.random.Generator, expected: DType | None = None) -> Array:
    """Parse a VALUE of the command line. A literal that names no dtype takes the expected one if that can hold it."""
    generated = _GENERATED.fullmatch(text)
    if generated is not None and not generated[1].isdigit():
        if generated[1] not in DTYPES:
            raise ValueProblem(f"{generated[1]!r} is not a dtype")
        return generate(generated[1], generated[2], generated[3], random)
    path, _, key = _split_file(text)
    if path is not None:
        return read_array(Path(path), key or None)
    if (type_ := _TYPE.fullmatch(text)) is not None and type_[1] in DTYPES:
        raise ValueProblem(
            f"{_short(text)} says nothing of the elements: write {text.strip()}:random, or zeros, ones, arange"
        )
    return to_array(parse_literal(text), expected)


def _split_file(text: str) -> tuple[str | None, str, str]:
    """Split `x.npz:key` into its path and its key; the path is None if the text names no readable kind of file."""
    lowered = text.lower()
    for suffix in SUFFIXES:
        if lowered.endswith(suffix):
            return text, "", ""
        at = lowered.find(suffix + ":")
        if at >= 0:
            end = at + len(suffix)
            return text[:end], ":", text[end + 1 :]
    return None, "", ""


# Literals


def parse_literal(text: str) -> Literal:
    """Parse `[[1, 2], [3, 4]]:int8`; rows of different lengths are refused."""
    named = _NAMED.fullmatch(text)
    if named is not None and named[2] not in DTYPES:
        raise ValueProblem(f"{named[2]!r} is not a dtype")
    dtype = DTYPES[named[2]] if named is not None else None
    items, shape = _nested(named[1] if named is not None else text)
    return Literal(items, shape, dtype)


def _nested(text: str) -> tuple[list[RunValue], tuple[int, ...]]:
    """Return elements and shape, read from left to right without recursion."""
    reader = _Nested(text)
    for kind, token in _tokens(text):
        if reader.done:
            raise ValueProblem(f"{_short(text)} goes on after its value")
        reader.read(kind, token)
    return reader.found()


class _Nested:
    """The elements in brackets, while they are read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.items: list[RunValue] = []
        # The number of items so far in each open bracket.
        self.counts: list[int] = []
        # The number of items at each depth, once it is known.
        self.sizes: list[int | None] = []
        self.leaf_depth: int | None = None
        self.expects_item, self.done = True, False

    def read(self, kind: str, token: str) -> None:
        """Take the next token."""
        if token == "[" and self.expects_item:
            self._open()
        elif token == "]" and self.counts and (not self.expects_item or self.counts[-1] == 0):
            self._close()
        elif token == "," and self.counts and not self.expects_item:
            self.expects_item = True
        elif kind == "punctuation" or not self.expects_item:
            raise ValueProblem(f"{_short(self.text)} is not a value")
        else:
            self._element(kind, token)

    def _open(self) -> None:
        if self.counts:
            self.counts[-1] += 1
        self.counts.append(0)
        if len(self.counts) > 64:
            raise ValueProblem("a tensor has at most 64 axes")
        if len(self.sizes) < len(self.counts):
            self.sizes.append(None)

    def _close(self) -> None:
        depth, count = len(self.counts) - 1, self.counts.pop()
        if self.sizes[depth] is None:
            self.sizes[depth] = count
        if self.sizes[depth] != count:
            sizes = f"{self.sizes[depth]} and {count}"
            raise ValueProblem(f"{_short(self.text)} has rows of different lengths: {sizes}")
        if count and self.leaf_depth is not None and depth + 1 > self.leaf_depth:
            raise self._mixed()
        self._ended()

    def _element(self, kind: str, token: str) -> None:
        self.items.append(_scalar(kind, token))
        if self.counts:
            self.counts[-1] += 1
        if self.leaf_depth is None:
            self.leaf_depth = len(self.counts)
        if self.leaf_depth != len(self.counts):
            raise self._mixed()
        self._ended()

    def _ended(self) -> None:
        """Take note that an item ended."""
        self.expects_item, self.done = False, not self.counts

    def _mixed(self) -> ValueProblem:
        return ValueProblem(f"{_short(self.text)} mixes numbers and rows")

    def found(self) -> tuple[list[RunValue], tuple[int, ...]]:
        """Return elements and shape, at the end."""
        if not self.done:
            forms = "a number, [[1, 2], [3, 4]]:int8, float32[2, 3]:random or a file"
            raise ValueProblem(f"{_short(self.text)} is not a value: {forms}")
        if self.leaf_depth is not None and len(self.sizes) != self.leaf_depth:
            raise self._mixed()
        return self.items, tuple(s or 0 for s in self.sizes)


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueProblem(f"{_short(text)} is not a value: {_short(text[at:].strip())} cannot be read")
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        at = match.end()
    return found


def _scalar(kind: str, token: str) -> int | float | bool | str:
    if kind == "text":
        try:
            return str(json.loads(token))
        except ValueError:
            raise ValueProblem(f"{token} is not a string") from None
    lowered = token.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if kind == "word" or any(c in lowered for c in ".e"):
        return float(token)
    if len(token) > 4000:
        raise ValueProblem(f"{_short(token)} is too long a number")
    return int(token)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 40 else text[:37] + "...")


def to_array(literal: Literal, expected: DType | None = None) -> Array:
    """The elements in the literal's dtype, else the expected one if it fits, else int64, float64 or bool."""
    dtype = literal.dtype
    if dtype is None and expected is not None and _misfit(literal.items, expected) is None:
        dtype = expected
    if dtype is None:
        dtype = _natural(literal.items)
    problem = _misfit(literal.items, dtype)
    if problem is not None:
        raise ValueProblem(problem)
    return np.array(literal.items, dtype=numpy_dtype(dtype)).reshape(literal.shape)


def _natural(items: list[object]) -> DType:
    kinds = {type(i) for i in items}
    if str in kinds:
        return DTYPES["string"]
    if kinds == {bool}:
        return DTYPES["bool"]
    return DTYPES["float64" if float in kinds or not kinds else "int64"]


def _misfit(items: list[RunValue], dtype: DType) -> str | None:
    """The reason why the elements cannot be of a dtype, or None: the wrong kind, or out of its range."""
    for item in items:
        if isinstance(item, str) != (dtype.kind == "string"):
            return f"{item!r} is no element of a {dtype} tensor"
        if isinstance(item, bool) != (dtype.kind == "bool"):
            return f"{str(item).lower()} is no element of a {dtype} tensor"
        if dtype.kind in ("int", "uint"):
            least, greatest = int_range(dtype)
            if isinstance(item, float):
                return f"{item} is no element of a {dtype} tensor"
            if not least <= item <= greatest:
                return f"{_short(str(item))[1:-1]} is out of the range of {dtype}, {least} to {greatest}"
        if dtype.kind in ("float", "complex") and type(item) is int and not _is_finite(item, dtype):
            return f"{_short(str(item))[1:-1]} is out of the range of {dtype}"
    return None


def _is_finite(item: int, dtype: DType) -> bool:
    try:
        value = float(item)
    except OverflowError:
        return False
    with np.errstate(all="ignore"):
        return dtype.bits < 16 or bool(np.isfinite(np.asarray(value).astype(numpy_dtype(dtype)).astype(np.complex128)))


# Generated tensors


def generate(dtype_name: str, sizes: str, how: str, random: np.random.Generator) -> Array:
    """Make `float32[2,3]:random`: standard normal floats, integers from 0 to 9, coin flips for bool."""
    dtype = DTYPES[dtype_name]
    shape = _parse_sizes(sizes)
    target = numpy_dtype(dtype)
    try:
        match how:
            case "zeros":
                return np.zeros(shape, target)
            case "ones":
                return np.ones(shape, target)
            case "arange":
                return np.arange(prod(shape)).reshape(shape).astype(target)
            case "random":
                return _random(dtype, shape, random)
    except (MemoryError, ValueError, TypeError) as problem:
        raise ValueProblem(f"{dtype_name}[{sizes}]:{how} cannot be made: {problem}") from None
    raise ValueProblem(f"{how!r} is none of random, zeros, ones, arange")


def _parse_sizes(text: str) -> tuple[int, ...]:
    if not text.strip():
        return ()
    parts = [p.strip() for p in text.split(",")]
    if any(not p.isascii() or not p.isdigit() or len(p) > 18 for p in parts):
        raise ValueProblem(f"[{text}] is not a shape: sizes are whole numbers")
    return tuple(int(p) for p in parts)


def _random(dtype: DType, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    match dtype.kind:
        case "bool":
            return random.integers(0, 2, shape).astype(np.bool_)
        case "int" | "uint":
            return random.integers(0, min(10, int_range(dtype)[1] + 1), shape).astype(numpy_dtype(dtype))
        case "complex":
            made = random.standard_normal(shape) + 1j * random.standard_normal(shape)
            return np.asarray(made).astype(numpy_dtype(dtype))
        case "string":
            raise ValueProblem("there are no random strings")
    native = np.float32 if dtype.name == "float32" else np.float64
    return np.asarray(random.standard_normal(shape, dtype=native)).astype(numpy_dtype(dtype))
