"""One tensor of a weights file as a NumPy array, with the shape and the dtype of its header; pickles are never loaded."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from ..lang.dtypes import DTYPES, DType
from ..lang.stored import BadWeights, Header, StoredTensor
from ..lang.weights import open_array
from .dtypes import dtype_of, numpy_dtype
from .engine_types import NumpyDType
from .kernels.registry import Array

# Smaller data is read: a map takes a page, and their number is limited.
_MAPPED = 2**16


class ValueProblem(Exception):
    """A VALUE that cannot be read; the message is one line for the user."""


def read_array(path: Path, key: str | None) -> Array:
    """Read one tensor of a weights file; raises ValueProblem. The key is optional if a file has just one."""
    try:
        return load_array(path, key)
    except BadWeights as problem:
        raise ValueProblem(f"{path.name} {problem}") from None


def load_array(path: Path, key: str | None, believed: Header | None = None) -> Array:
    """Like `read_array`; raises BadWeights, also for an array with another header than `believed`."""
    with open_array(path, key) as (place, stream):
        _unchanged(believed, Header(place.shape, place.dtype, place.stamp))
        flat = _elements(place, stream)
        if place.dtype.name == "bool":
            flat = flat != 0
        elif not place.width:
            flat = _unpacked(flat, place.dtype)[: prod(place.shape)]
        return checked(flat.reshape(place.shape, order="F" if place.columns else "C"))


def _unchanged(was: Header | None, now: Header) -> None:
    """Raise BadWeights if the array is not the one that was checked."""
    if was is not None and (was.shape, was.dtype) != (now.shape, now.dtype):
        raise BadWeights(f"has changed since it was checked: it held {was}, and now it holds {now}")
    if was is not None and was.stamp != now.stamp:
        raise BadWeights("has changed since it was checked, or the file that its data is in has")


def _elements(place: StoredTensor, stream: IO[bytes]) -> Array:
    """The elements in the file, as a flat array. Large, aligned data is mapped if the file allows it: products copy
    misaligned operands."""
    dtype = _kept(place)
    if place.stamp and place.length >= _MAPPED and stream.seekable() and stream.tell() % max(dtype.alignment, 1) == 0:
        return np.memmap(stream, dtype, "r", stream.tell(), (place.length // dtype.itemsize,))
    data = stream.read(place.length)
    if len(data) != place.length:
        raise BadWeights("is damaged: its data is cut off")
    # An array without elements is not read, whatever its other axes are.
    return np.frombuffer(data, dtype) if data else np.empty(0, dtype)


def _unpacked(packed: Array, dtype: DType) -> Array:
    """Unpack elements of a few bits from bytes that hold several, lowest bits first."""
    shifts = np.arange(0, 8, dtype.bits, dtype=np.uint8)
    # The sign is the highest bit of an element.
    high = (packed.reshape(-1, 1) >> shifts << (8 - dtype.bits)).reshape(-1)
    if dtype.kind == "int":
        return (high.view(np.int8) >> (8 - dtype.bits)).astype(numpy_dtype(dtype))
    low = high >> (8 - dtype.bits)
    return low.astype(numpy_dtype(dtype)) if dtype.kind == "uint" else low.view(numpy_dtype(dtype))


def _kept(place: StoredTensor) -> NumpyDType:
    """The dtype of the bytes in the file."""
    if place.dtype.kind == "string":
        return np.dtype(f"U{place.width // 4}").newbyteorder(place.order)  # type: ignore[arg-type]
    if place.dtype.name == "bool" or not place.width:
        return np.dtype(np.uint8)
    dtype = numpy_dtype(place.dtype)
    return dtype if place.order == "little" and dtype.isbuiltin == 2 else dtype.newbyteorder(place.order)  # type: ignore[arg-type]


def checked(array: object) -> Array:
    """Return the array in native byte order and a dtype that Rx has; raises ValueProblem for any other."""
    made = np.asarray(array)
    if not made.dtype.isnative:
        made = made.astype(made.dtype.newbyteorder("="))
    is_text = made.dtype.kind == "O" and all(isinstance(e, str) for e in made.flat)
    if made.dtype.kind == "U" or is_text:
        made = made.astype(numpy_dtype(DTYPES["string"]))
    try:
        dtype_of(made.dtype)
    except (LookupError, TypeError, ValueError):
        raise ValueProblem(f"elements of type {made.dtype} are none that Rx has") from None
    return made
