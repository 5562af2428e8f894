"""The header of one stored array: its shape, its dtype, and where and how its data is kept."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from math import prod

from .dtypes import DType
from .node import Node

MAX_RANK = 64
MAX_BYTES = 2**63 - 1


class Header(Node):
    """A file's description of one array; `stamp` has the sizes and times of the files, if the data is mapped."""

    shape: tuple[int, ...]
    dtype: DType
    stamp: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], {self.dtype})"


class StoredTensor(Header):
    """A header, and the form of the data: bytes per element, none if elements of a few bits are packed, "big" or "little" end
    first, by columns or by rows."""

    width: int = 0
    order: str = "little"
    columns: bool = False

    @property
    def length(self) -> int:
        """The length of the data in bytes."""
        return prod(self.shape) * self.width if self.width else (prod(self.shape) * self.dtype.bits + 7) // 8


class BadWeights(Exception):
    """A weights file that cannot be used; the message completes a sentence."""


def choose(key: str | None, keys: Collection[str]) -> str:
    """The key of a tensor in a file with these keys; raises BadWeights."""
    if key is None and len(keys) == 1:
        return next(iter(keys))
    if key is not None and key in keys:
        return key
    shown = ", ".join(islice(keys, 8)) + (", ..." if len(keys) > 8 else "")
    if key is None:
        raise BadWeights(f"holds {len(keys)} tensors: say which ({shown})")
    raise BadWeights(f"has no tensor {key!r}; it has {shown or 'none'}")
