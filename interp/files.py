"""One tensor of a weights file as a NumPy array, of the shape and the dtype that its header says; no pickle is ever loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..lang.dtypes import DTYPES
from ..lang.weights import BadWeights, Header, Place, open_array
from .dtypes import dtype_of, numpy_dtype

Array = np.ndarray[Any, Any]


class ValueProblem(Exception):
    """A VALUE that cannot be read; the message is one line for the user."""


def read_array(path: Path, key: str | None) -> Array:
    """One tensor of a `.npy`, `.npz` or `.safetensors` file; raises ValueProblem. The key may be left out where a file has
    just one."""
    try:
        return load_array(path, key)
    except BadWeights as problem:
        raise ValueProblem(f"{path.name} {problem}") from None


def load_array(path: Path, key: str | None, believed: Header | None = None) -> Array:
    """The same; raises BadWeights, also where the array is not the one whose header was believed."""
    with open_array(path, key) as (place, stream):
        if believed is not None and (place.shape, place.dtype) != (believed.shape, believed.dtype):
            was, now = believed, Header(place.shape, place.dtype)
            raise BadWeights(f"has changed since it was checked: it held {was}, and now it holds {now}")
        data = stream.read(place.length)
        if len(data) != place.length:
            raise BadWeights("is damaged: its data is cut off")
        return _decoded(data, place)


def _decoded(data: bytes, place: Place) -> Array:
    dtype = _kept(place)
    # Nothing is read of an array without elements, whatever its other axes are.
    flat = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
    if place.dtype.name == "bool":
        flat = flat != 0
    return checked(flat.reshape(place.shape, order="F" if place.columns else "C"))


def _kept(place: Place) -> np.dtype[Any]:
    """The dtype of the bytes in the file."""
    if place.dtype.kind == "string":
        return np.dtype(f"U{place.width // 4}").newbyteorder(place.order)  # type: ignore[arg-type]
    if place.dtype.name == "bool":
        return np.dtype(np.uint8)
    dtype = numpy_dtype(place.dtype)
    return dtype if place.order == "little" and dtype.isbuiltin == 2 else dtype.newbyteorder(place.order)  # type: ignore[arg-type]


def checked(array: object) -> Array:
    """The array in native byte order and a dtype that Rx has; raises ValueProblem for any other."""
    made = np.asarray(array)
    if not made.dtype.isnative:
        made = made.astype(made.dtype.newbyteorder("="))
    if made.dtype.kind == "U":
        made = made.astype(numpy_dtype(DTYPES["string"]))
    try:
        dtype_of(made.dtype)
    except (LookupError, TypeError, ValueError):
        raise ValueProblem(f"elements of type {made.dtype} are none that Rx has") from None
    return made
