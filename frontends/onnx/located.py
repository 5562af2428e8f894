"""The elements of a tensor in a model file, if they are few, and its place in the file; reads no large tensor."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

from ...lang.dtypes import DType
from ...lang.onnx_weights import WeightIndex, byte_count, dtype_of, located, place_of
from ...lang.stored import BadWeights
from .model import DECODED, DECODED_OTHERS, Element, Location, StoredInitializer

# The most elements of a sparse tensor with its zeros.
_MAX_DENSE = 2**20
_WHOLE = ("int", "uint", "bool")
_WIDEST = {"int": np.int64, "uint": np.uint64, "float": np.float64, "complex": np.complex128, "bool": np.bool_}


def tensor_of(path: Path, index: WeightIndex, key: str, proto: TensorProto) -> StoredInitializer:
    """A tensor of the model at `path`. Raises BadWeights."""
    if key in index.twice:
        raise BadWeights(f"is not the only tensor that is found by {key!r}")
    known = index.tensors.get(key)
    said = known or located(proto.SerializeToString(), 0, proto.ByteSize())
    dtype, found = dtype_of(said), place_of(path, said)
    # A place in a message that was too small to be indexed is not a place in the file.
    place = Location(*found) if found and (known or said.external is not None) else None
    values, most = None, DECODED if dtype.kind in _WHOLE else DECODED_OTHERS
    if prod(said.shape) <= most or place is None and (known is None or dtype.kind == "string"):
        values = _values(proto, dtype, said.shape, byte_count(said), place)
    return StoredInitializer(proto.name, dtype.name, said.shape, place, values, key if known else None)


def _values(
    proto: TensorProto, dtype: DType, shape: tuple[int, ...], length: int, place: Location | None
) -> tuple[Element, ...]:
    """The elements of a tensor, row by row."""
    if not prod(shape):
        return ()
    if place is not None and (proto.data_location == TensorProto.EXTERNAL or not proto.raw_data):
        proto = TensorProto(dims=proto.dims, data_type=proto.data_type, raw_data=_bytes(place))
    try:
        array: Any = numpy_helper.to_array(_fitting(proto, dtype, length))
    except UnicodeDecodeError:
        raise BadWeights("has an element that is no UTF-8 text") from None
    except ValueError:
        raise BadWeights(f"has data that does not fit its shape {list(shape)}") from None
    flat = array.reshape(-1)
    return tuple(map(str, flat) if dtype.kind == "string" else flat.astype(_WIDEST[dtype.kind]).tolist())


def _fitting(proto: TensorProto, dtype: DType, length: int) -> TensorProto:
    """The same message. Raises BadWeights where it has more or fewer numbers than its shape needs."""
    if proto.HasField("raw_data"):
        return proto
    wanted = prod(proto.dims) * (2 if dtype.kind == "complex" else 1) if dtype.bits not in (2, 4) else length
    there = len(getattr(proto, helper.tensor_dtype_to_field(proto.data_type)))
    if there != wanted:
        raise BadWeights(f"has {there} numbers of data where its shape {list(proto.dims)} asks for {wanted}")
    return proto


def _bytes(place: Location) -> bytes:
    with place.file.open("rb") as file:
        file.seek(place.offset)
        return file.read(place.length)


def dense(path: Path, proto: SparseTensorProto) -> StoredInitializer:
    """A sparse tensor with its zeros. Raises BadWeights."""
    nothing = WeightIndex({}, frozenset(), b"")
    values, indices = (tensor_of(path, nothing, "", part) for part in (proto.values, proto.indices))
    shape = tuple(proto.dims)
    if any(n < 0 for n in shape) or prod(shape) > _MAX_DENSE or values.values is None or indices.values is None:
        raise BadWeights(f"is sparse, of shape {list(shape)}, which is more than can be kept with its zeros")
    flat: list[Element] = ["" if values.dtype == "string" else 0] * prod(shape)
    for value, at in zip(values.values, _positions(indices, shape, len(values.values)), strict=True):
        flat[at] = value
    return StoredInitializer(proto.values.name, values.dtype, shape, None, tuple(flat), None)


def _positions(indices: StoredInitializer, shape: tuple[int, ...], count: int) -> list[int]:
    """The positions of a sparse tensor's elements, row by row, from flat indices or from one for each axis."""
    given = np.array(indices.values, dtype=object)
    if indices.shape == (count,):
        found = list(map(int, given))
    elif indices.shape == (count, len(shape)):
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        rows = given.reshape(count, len(shape)).tolist()
        if any(not 0 <= n < size for row in rows for n, size in zip(row, shape, strict=True)):
            raise BadWeights("is sparse, with an index outside its shape")
        found = [sum(n * step for n, step in zip(row, steps, strict=True)) for row in rows]
    else:
        raise BadWeights(f"is sparse, with indices of shape {list(indices.shape)} for {count} elements")
    if any(not 0 <= at < prod(shape) for at in found):
        raise BadWeights("is sparse, with an index outside its shape")
    return found
