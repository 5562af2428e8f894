"""A model file as a message of the package onnx that may be changed, and the changed file in chunks: the data of large
tensors is copied from file to file and never in memory as a whole."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

from ...lang.onnx_splice import marked, spliced
from ...lang.onnx_weights import Piece
from ...lang.protobuf import Damaged

_CHUNK = 2**20


@contextmanager
def rewriting(path: Path) -> Iterator[tuple[Any, Callable[[], Iterator[bytes]]]]:
    """An onnx.ModelProto with marks in place of the data of large tensors, and a function that returns the chunks of the
    changed file. Raises OSError."""
    from google.protobuf.message import DecodeError  # it comes with onnx
    from onnx import ModelProto

    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        try:
            marks = marked(data)
            proto = ModelProto.FromString(marks.marked)
        except (Damaged, DecodeError):
            raise OSError(errno.EIO, "the model has changed while it was read", str(path)) from None
        yield proto, lambda: _chunks(file, spliced(proto.SerializeToString(), marks))


def _chunks(file: IO[bytes], pieces: list[Piece]) -> Iterator[bytes]:
    for piece in pieces:
        if isinstance(piece, bytes):
            yield piece
            continue
        file.seek(piece.begin)
        for left in range(len(piece), 0, -_CHUNK):
            chunk = file.read(min(_CHUNK, left))
            if not chunk:
                raise OSError(errno.EIO, "the model has changed while it was read", file.name)
            yield chunk
