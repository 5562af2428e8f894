"""Replace the data of a model's large tensors by marks, and the marks of a changed model by the data: only the part of a
model that changes is in memory, the rest is copied from file to file."""

from __future__ import annotations

import os

from .node import Node
from .onnx_weights import SMALL, FileStretch, Piece, WeightWalk
from .protobuf import BYTES, Bytes, written

_TOKEN, _NUMBER = 16, 8


class Marks(Node):
    """A model's bytes with marks, and the stretch of the file that each mark stands for."""

    marked: bytes
    token: bytes
    places: tuple[tuple[int, int], ...]


def marked(data: Bytes) -> Marks:
    """The model's bytes with marks; raises Damaged."""
    walk = _Marking(data)
    pieces = walk.message("model", 0, len(data), "")
    return Marks(b"".join(p for p in pieces if isinstance(p, bytes)), walk.token, tuple(walk.places))


def spliced(changed: bytes, marks: Marks) -> list[Piece]:
    """The pieces of a changed model with the data in place of the marks."""
    walk = _Splicing(changed, marks)
    pieces = walk.message("model", 0, len(changed), "")
    if walk.count != len(marks.places):
        raise AssertionError("a change of a model lost a mark")
    return pieces


def _field(number: int, value: Piece) -> list[Piece]:
    return [written(number << 3 | BYTES), written(len(value)), value]


class _Marking(WeightWalk):
    def __init__(self, data: Bytes) -> None:
        super().__init__(data)
        # A random token, which no model contains by chance or on purpose.
        self.token = os.urandom(_TOKEN)
        self.places: list[tuple[int, int]] = []

    def large(self, number: int, begin: int, end: int) -> list[Piece]:
        mark = self.token + len(self.places).to_bytes(_NUMBER, "little")
        self.places.append((begin, end))
        return _field(number, mark.ljust(SMALL, b"\0"))


class _Splicing(WeightWalk):
    def __init__(self, data: Bytes, marks: Marks) -> None:
        super().__init__(data)
        self.marks, self.count = marks, 0

    def large(self, number: int, begin: int, end: int) -> list[Piece]:
        value = self.data[begin:end]
        if not value.startswith(self.marks.token):
            return _field(number, value)
        self.count += 1
        at = int.from_bytes(value[_TOKEN : _TOKEN + _NUMBER], "little")
        return _field(number, FileStretch(*self.marks.places[at]))
