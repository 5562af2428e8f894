"""Kernels of sequences, optional values and maps, which are rank-0 arrays that hold tuples and dicts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...lang.dtypes import holding
from ..dtypes import dtype_of, numpy_dtype
from ..opaque import is_opaque, value_of, wrapped
from .registry import Array, BadValue, kernel, rows


def _holding(holder: str, element: Any) -> np.dtype[Any]:
    return numpy_dtype(holding(holder, dtype_of(element.dtype)))


@kernel("onnx.sequence")
def sequence(xs: tuple[Any, ...]) -> Array:
    first = next((x for x in xs if isinstance(x, np.ndarray)), np.asarray(xs[0]))
    return wrapped(_holding("Sequence", first), tuple(np.asarray(x, first.dtype) for x in xs))


def _place(s: Array, position: Array, more: int = 0) -> int:
    """A position, counted from the start; `more` is 1 if the end is one too."""
    n, at = len(value_of(s)), int(np.asarray(position).reshape(()))
    if not -n <= at < n + more:
        raise BadValue(f"`position` is {at}; the sequence has {n} elements")
    return at + n if at < 0 else at


@kernel("onnx.sequence_insert")
def sequence_insert(s: Array, x: Array, position: Array | None) -> Array:
    items = value_of(s)
    at = len(items) if position is None else _place(s, position, 1)
    return wrapped(s.dtype, (*items[:at], np.asarray(x), *items[at:]))


@kernel("onnx.sequence_erase")
def sequence_erase(s: Array, position: Array | None) -> Array:
    items = value_of(s)
    if not items:
        raise BadValue("the sequence is empty: nothing can be erased")
    at = len(items) - 1 if position is None else _place(s, position)
    return wrapped(s.dtype, (*items[:at], *items[at + 1 :]))


@kernel("onnx.split_to_sequence")
def split_to_sequence(x: Array, split: Array | None, axis: int, keepdims: bool) -> Array:
    size = x.shape[axis]
    parts = np.split(x, list(_ends(split, size)), axis) if size or (split is not None and split.ndim) else []
    if not keepdims and (split is None or (split.ndim == 0 and split == 1)):
        parts = [np.squeeze(part, axis) for part in parts]
    return wrapped(_holding("Sequence", x), tuple(np.ascontiguousarray(part).reshape(part.shape) for part in parts))


def _ends(split: Array | None, size: int) -> Any:
    """The ends of all parts but the last one."""
    if split is None:
        return range(1, size)
    if split.ndim == 0:
        if split < 1:
            raise BadValue(f"`split` is {int(split)}; parts have at least one entry")
        return range(int(split), size, int(split))
    lengths = split.tolist()
    if sum(lengths) != size or any(n < 0 for n in lengths):
        raise BadValue(f"`split` is {lengths}; the axis has {size} entries")
    return np.cumsum(lengths)[:-1]


@kernel("onnx.concat_from_sequence")
def concat_from_sequence(s: Array, axis: int, new_axis: bool) -> Array:
    items = value_of(s)
    if not items:
        raise BadValue("the sequence is empty: nothing can be joined")
    rank = items[0].ndim + new_axis
    if any(item.ndim != items[0].ndim for item in items) or not -rank <= axis < rank:
        raise BadValue(f"the elements have ranks {_listed(i.ndim for i in items)}, and are joined along axis {axis}")
    for a, b in pairwise(items):
        if not _fit(a.shape, b.shape, None if new_axis else axis % rank):
            raise BadValue(
                f"elements of the shapes {list(a.shape)} and {list(b.shape)} cannot be joined along axis {axis}"
            )
    return np.asarray((np.stack if new_axis else np.concatenate)(items, axis))


def _fit(a: tuple[int, ...], b: tuple[int, ...], but: int | None) -> bool:
    return all(x == y or i == but for i, (x, y) in enumerate(zip(a, b, strict=True)))


def _listed(values: Any) -> str:
    return ", ".join(map(str, dict.fromkeys(values)))


def _is_optional(x: Any) -> bool:
    return is_opaque(x) and dtype_of(x.dtype).kind == "optional"


@kernel("onnx.optional_get")
def optional_get(x: Any) -> Any:
    if not _is_optional(x):
        return x
    if not value_of(x):
        raise BadValue("the optional value is not there")
    return value_of(x)[0]


# Maps


@kernel("onnx.zip_map")
def zip_map(x: Array, keys: Array, dtype: np.dtype[Any]) -> Array:
    inner = numpy_dtype(dtype_of(dtype).of[0])
    names = keys.ravel().tolist()
    rows = x.reshape(-1, len(names)) if names else x.reshape(len(x) if x.ndim == 2 else 1, 0)
    maps = (dict(zip(names, map(np.asarray, row), strict=True)) for row in rows)
    return wrapped(dtype, tuple(wrapped(inner, one) for one in maps))


@kernel("onnx.dict_vectorizer")
def dict_vectorizer(x: Array, keys: Array) -> Array:
    values, dtype = value_of(x), numpy_dtype(dtype_of(x.dtype).of[1])
    other = "" if dtype.kind == "T" else 0
    return np.array([[_plain(values.get(key, other)) for key in keys.ravel().tolist()]], dtype)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


@kernel("onnx.cast_map")
def cast_map(x: Array, dtype: np.dtype[Any], length: int | None) -> Array:
    values = value_of(x)
    if length is None:
        return np.array([[_cast(values[key], dtype) for key in sorted(values)]], dtype).reshape(1, len(values))
    row = [_cast(values.get(place, "" if dtype.kind == "T" else 0), dtype) for place in range(length)]
    if any(key < 0 for key in values):
        raise BadValue(f"the map has the key {min(values)}, which is no place")
    return np.array([row], dtype).reshape(1, length)


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A map's value as ai.onnx.ml casts it: a text may spell a number."""
    found = _plain(value)
    if dtype.kind == "T":
        return str(found)
    try:
        return float(found) if dtype.kind == "f" else int(float(found))
    except (ValueError, OverflowError):
        raise BadValue(f"{found!r} in the map is no number") from None


rows(
    {
        "onnx.empty": lambda dtype: wrapped(dtype, ()),
        "onnx.sequence_length": lambda s: np.array(len(value_of(s)), np.int64),
        "onnx.sequence_at": lambda s, position: value_of(s)[_place(s, position)],
        "onnx.optional": lambda x: wrapped(_holding("Optional", np.asarray(x)), (np.asarray(x),)),
        "onnx.optional_has": lambda x: np.array(not _is_optional(x) or bool(value_of(x))),
    }
)
