"""The places of known elements after a change of a tensor's shape, in row-major order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, product
from typing import Any

from .model import Elements, TensorInfo
from .tracked import count_of, elements

Index = tuple[int, ...]


def indices_of(shape: Sequence[int]) -> Iterator[Index]:
    """The positions of a shape, in row-major order."""
    return iter(()) if 0 in shape else product(*map(range, shape))  # product() first builds all ranges


def moved(
    data: Elements, own: Sequence[Any], shape: Sequence[Any], source: Callable[[Index], Sequence[int]]
) -> Elements:
    """The elements of a tensor of the shape `own` in another arrangement: `source` maps each position of the result to its
    position in `own`."""
    if data is None or count_of(own) != len(data) or count_of(shape) is None:
        return None
    at = flat(own)
    return tuple(data[at(source(index))] for index in indices_of(shape))


def flat(shape: Sequence[int]) -> Callable[[Sequence[int]], int]:
    """A function from a position to its number among the elements."""
    strides = [*accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1)][::-1]
    return lambda index: sum(i * s for i, s in zip(index, strides, strict=False))


def same_elements(data: Elements, shape: Sequence[Any]) -> Elements:
    """The elements of a tensor after a reshape that keeps their order."""
    return data if data is not None and count_of(shape) == len(data) else None


def spread(data: Elements, own: Sequence[Any], shape: Sequence[Any]) -> Elements:
    """The elements of a tensor broadcast to a shape."""
    if data is None or tuple(own) == tuple(shape):
        return data
    behind = len(shape) - len(own)
    if any(d != 1 and d != size for d, size in zip(own, shape[behind:], strict=True)):
        return None
    return moved(data, own, shape, lambda index: [i if d != 1 else 0 for i, d in zip(index[behind:], own, strict=True)])


def joined(parts: Sequence[tuple[TensorInfo, Sequence[Any]]], axis: int, shape: Sequence[Any]) -> Elements:
    """The elements of tensors joined along an axis; None if their other axes differ from those of the shape."""
    given = [elements(x, own) for x, own in parts]
    beside = [(*own[:axis], *own[axis + 1 :]) for _, own in parts]
    if count_of(shape) is None or None in given or any(b != (*shape[:axis], *shape[axis + 1 :]) for b in beside):
        return None
    lists = [(data, flat(own)) for data, (_, own) in zip(given, parts, strict=True) if data is not None]
    begins = [0, *accumulate(own[axis] for _, own in parts)]

    def element(index: Index) -> Any:
        owner = bisect_right(begins, index[axis]) - 1
        data, at = lists[owner]
        return data[at((*index[:axis], index[axis] - begins[owner], *index[axis + 1 :]))]

    return tuple(map(element, indices_of(shape)))


def along(data: Elements, own: Sequence[Any], gone: Sequence[int]) -> list[tuple[Any, ...]] | None:
    """For each position of the remaining axes, the elements along the axes `gone`."""
    if data is None or count_of(own) != len(data):
        return None
    at = flat(own)
    rest = [i for i in range(len(own)) if i not in gone]
    rows = []
    for outer in indices_of([own[i] for i in rest]):
        place = dict(zip(rest, outer, strict=True))
        inner = (dict(zip(gone, index, strict=True)) | place for index in indices_of([own[i] for i in gone]))
        rows.append(tuple(data[at([index[i] for i in range(len(own))])] for index in inner))
    return rows


def laid_along(rows: Sequence[Sequence[Any]] | None, axis: int, shape: Sequence[Any]) -> Elements:
    """The elements of a tensor, given as rows along one axis for each position of the others."""
    if rows is None or count_of(shape) is None:
        return None
    at = flat((*shape[:axis], *shape[axis + 1 :]))
    return tuple(rows[at((*index[:axis], *index[axis + 1 :]))][index[axis]] for index in indices_of(shape))
