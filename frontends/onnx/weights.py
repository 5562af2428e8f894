"""Writes a model's tensors to a `.safetensors` file, streamed: each under its key in the model, without texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ...lang.onnx_weights import ELEMENTS, index, open_tensor
from ...lang.stored import BadWeights, StoredTensor
from ...lang.weights import SAFETENSORS
from .consistency import fail
from .model import Model

_NAMES = {dtype: name for name, dtype in SAFETENSORS.items()}
_CHUNK = 2**20


def write_weights(model: Model, folder: Path) -> Path:
    """Write the weights to `MODEL.safetensors` in the folder, and return its path. Raises RxError, and OSError where it
    cannot be written."""
    written = folder / f"{model.path.stem}.safetensors"
    try:
        places = _places(model.path)
        with written.open("wb") as file:
            header = json.dumps(_header(places)).encode()
            # The data begins at a multiple of 8, as NumPy needs it.
            header += b" " * (-len(header) % 8)
            file.write(len(header).to_bytes(8, "little") + header)
            for key, place in places.items():
                _copy(model.path, key, place, file)
    except BadWeights as problem:
        fail(model.path, f"the file {problem}")
    return written


def _places(path: Path) -> dict[str, StoredTensor]:
    """Each tensor that is no text, those of wide elements first, so that NumPy can map each at its place."""
    tensors = index(path).tensors
    found = {key: _place(path, key) for key, tensor in tensors.items() if ELEMENTS.get(tensor.type) != "string"}
    return dict(sorted(found.items(), key=lambda item: -(item[1].width & -item[1].width)))


def _place(path: Path, key: str) -> StoredTensor:
    with open_tensor(path, key) as (place, _):
        return place


def _header(places: dict[str, StoredTensor]) -> dict[str, Any]:
    """The header with the place of each tensor. A dtype that the format does not have is stored as bytes, and named in the
    metadata."""
    said = {f"rx:{key}": json.dumps(entry) for key, entry in _unnamed(places)}
    header: dict[str, Any] = {"__metadata__": said} if said else {}
    at = 0
    for key, place in places.items():
        name = _NAMES.get(place.dtype.name)
        shape = list(place.shape) if name else [place.length]
        header[key] = {"dtype": name or "U8", "shape": shape, "data_offsets": [at, at + place.length]}
        at += place.length
    return header


def _unnamed(places: dict[str, StoredTensor]) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, place in places.items():
        if place.dtype.name not in _NAMES:
            yield key, {"dtype": place.dtype.name, "shape": list(place.shape)}


def _copy(path: Path, key: str, believed: StoredTensor, file: IO[bytes]) -> None:
    begin = file.tell()
    with open_tensor(path, key) as (place, stream):
        for _ in range(0, place.length, _CHUNK):
            file.write(stream.read(min(_CHUNK, begin + place.length - file.tell())))
    if place != believed or file.tell() != begin + place.length:
        raise BadWeights("has changed while it was read")
