"""NumPy kernels of the shape family; results may be views of their operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...ops.model import Wildcard
from .registry import DIRECT, Array, BadValue, kernel, rows

Ints = tuple[int, ...]
Target = tuple[int | Wildcard, ...]
_INTS = {int}
# A count that no memory holds, far enough below the limit of int64 for a comparison in float64.
_FAR_TOO_MANY = 2**62
DIRECT["permute_dims"] = "transpose"
DIRECT.update({name: name for name in ("matrix_transpose", "squeeze")})


@kernel("reshape")
def reshape(x: Array, shape: Target) -> Array:
    return np.reshape(x, _solved(np.shape(x), shape))


def _solved(source: Sequence[int], target: Target) -> Ints:
    """The shape with its -1 solved by the rule of @reshape: equal sizes cancel first, so that a 0 may stand beside it."""
    if set(map(type, target)) <= _INTS and min(target, default=0) >= 0:  # type: ignore[type-var, operator]
        return target  # type: ignore[return-value]
    if any(isinstance(size, int) and size < 0 for size in target):
        raise BadValue(f"`shape` has a negative size: {list(target)}")
    shape = tuple(-1 if isinstance(size, Wildcard) else size for size in target)
    if -1 not in shape or 0 not in shape:
        return shape
    left = list(source)
    for size in shape:
        if size == 0 and 0 in left:
            left.remove(0)
        elif size == 0:
            raise BadValue("`shape` has a 0 beside its -1, which leaves the -1 open")
    rest = [size for size in shape if size > 0]
    for size in tuple(rest):
        if size in left:
            left.remove(size)
            rest.remove(size)
    count, divisor = prod(left), prod(rest)
    if count % divisor:
        raise BadValue(f"`x` of shape {list(source)} does not divide evenly into {list(shape)}")
    return tuple(count // divisor if size == -1 else size for size in shape)


@kernel("flatten")
def flatten(x: Array, start: int, end: int) -> Array:
    shape = np.shape(x)
    if not shape:
        return np.reshape(x, (1,))
    first, last = start % len(shape), end % len(shape)
    return np.reshape(x, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@kernel("expand_dims")
def expand_dims(x: Array, axis: Ints) -> Array:
    return np.expand_dims(x, axis)


@kernel("squeeze")
def squeeze(x: Array, axis: Ints | None) -> Array:
    return np.squeeze(x, axis)


def repeated(x: Array, times: int | Array, axis: int) -> Array:
    """Repeat the entries of an axis, each or all of them. Raises MemoryError if int64 does not hold their number, as NumPy
    would write beyond its memory."""
    many = total(times) if isinstance(times, np.ndarray) else x.shape[axis] * int(times)
    if many >= _FAR_TOO_MANY:
        shape = (*x.shape[:axis], many, *x.shape[axis:][1:])
        raise MemoryError(f"Unable to allocate an array with shape {shape}")
    return np.repeat(x, times, axis)


def total(counts: Array) -> int:
    """The sum of int64 counts, which may exceed int64."""
    is_held = counts.sum(dtype=np.float64) < _FAR_TOO_MANY
    return int(counts.sum()) if is_held else sum(counts.tolist())


rows(
    {
        "permute_dims": lambda x, axes: np.transpose(x, axes),
        "matrix_transpose": lambda x: np.swapaxes(x, -1, -2),
        "swapaxes": lambda x, axis1, axis2: np.swapaxes(x, axis1, axis2),
        "moveaxis": lambda x, source, destination: np.moveaxis(x, source, destination),
        "broadcast_to": lambda x, shape: np.broadcast_to(x, shape),
        "broadcast_arrays": lambda xs: tuple(np.broadcast_arrays(*xs)),
        "tile": lambda x, repeats: np.tile(x, repeats),
        "repeat": lambda x, repeats, axis: (
            repeated(x.ravel(), repeats, 0) if axis is None else repeated(x, repeats, axis)
        ),
    }
)
