"""NumPy kernels of the shape family; results may be views of their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ops.model import Wildcard
from .registry import DIRECT, BadValue, kernel

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
Target = tuple[int | Wildcard, ...]

DIRECT["permute_dims"] = "transpose"
DIRECT["concat"] = "concatenate"
DIRECT.update({name: name for name in ("matrix_transpose", "squeeze", "stack", "flip", "tril", "triu")})


@kernel("reshape")
def reshape(x: Array, shape: Target) -> Array:
    return np.reshape(x, _solved(np.shape(x), shape))


def _solved(source: Sequence[int], target: Target) -> Ints:
    """The shape with its -1 solved as the rule of @reshape does: equal sizes cancel first, so that a 0 may stand
    beside it.
    """
    if any(isinstance(size, int) and size < 0 for size in target):
        raise BadValue(f"`shape` has a negative size: {list(target)}")
    shape = tuple(size if isinstance(size, int) else -1 for size in target)
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
    count, divisor = _product(left), _product(rest)
    if count % divisor:
        raise BadValue(f"`x` of shape {list(source)} does not divide evenly into {list(shape)}")
    return tuple(count // divisor if size == -1 else size for size in shape)


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


@kernel("flatten")
def flatten(x: Array, start: int, end: int) -> Array:
    shape = np.shape(x)
    if not shape:
        return np.reshape(x, (1,))
    first, last = start % len(shape), end % len(shape)
    return np.reshape(x, (*shape[:first], _product(shape[first : last + 1]), *shape[last + 1 :]))


@kernel("permute_dims")
def permute_dims(x: Array, axes: Ints | None) -> Array:
    return np.transpose(x, axes)


@kernel("matrix_transpose")
def matrix_transpose(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


@kernel("swapaxes")
def swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    return np.swapaxes(x, axis1, axis2)


@kernel("moveaxis")
def moveaxis(x: Array, source: Ints, destination: Ints) -> Array:
    return np.moveaxis(x, source, destination)


@kernel("expand_dims")
def expand_dims(x: Array, axis: Ints) -> Array:
    return np.expand_dims(x, axis)


@kernel("squeeze")
def squeeze(x: Array, axis: Ints | None) -> Array:
    return np.squeeze(x, axis)


@kernel("broadcast_to")
def broadcast_to(x: Array, shape: Ints) -> Array:
    return np.broadcast_to(x, shape)


@kernel("tile")
def tile(x: Array, repeats: Ints) -> Array:
    return np.tile(x, repeats)


@kernel("repeat")
def repeat(x: Array, repeats: int, axis: int | None) -> Array:
    return np.repeat(x, repeats, axis)


@kernel("concat")
def concat(xs: Sequence[Array], axis: int) -> Array:
    return np.concatenate(xs, axis)


@kernel("stack")
def stack(xs: Sequence[Array], axis: int) -> Array:
    return np.stack(xs, axis)


@kernel("unstack")
def unstack(x: Array, axis: int) -> tuple[Array, ...]:
    front = np.moveaxis(x, axis, 0)
    return tuple(front[i, ...] for i in range(len(front)))


@kernel("split")
def split(
    x: Array, sections: int | None, sizes: Ints | None, indices: Ints | None, axis: int, uneven: bool
) -> tuple[Array, ...]:
    size = x.shape[axis]
    if indices is not None:
        cuts: Sequence[int] = indices
    elif sizes is not None:
        cuts = _running_sums(sizes)[:-1]
        if sum(sizes) != size:
            raise BadValue(f"`sizes` add up to {sum(sizes)}, not to the {size} of axis {axis}")
    else:
        count = sections or 1
        if size % count and not uneven:
            raise BadValue(f"axis {axis} has {size} elements, which {count} sections cannot share evenly")
        part = -(-size // count) if uneven else size // count
        cuts = [part * n for n in range(1, count)]
    return tuple(np.split(x, cuts, axis)) if sizes != () else ()


def _running_sums(sizes: Ints) -> list[int]:
    sums: list[int] = []
    for size in sizes:
        sums.append((sums[-1] if sums else 0) + size)
    return sums


@kernel("slice")
def slice_(x: Array, starts: Ints, stops: Ints, axes: Ints | None, steps: Ints | None) -> Array:
    cuts = [slice(None)] * x.ndim
    for n, start in enumerate(starts):
        cuts[n if axes is None else axes[n]] = slice(start, stops[n], 1 if steps is None else steps[n])
    result: Array = x[tuple(cuts)]
    return result


@kernel("pad")
def pad(x: Array, pads: Sequence[tuple[int, int]], mode: str, value: Any) -> Array:
    if mode == "constant":
        return np.pad(x, _pairs(pads), mode="constant", constant_values=x.dtype.type(0) if value is None else value)
    how: Callable[..., Array] = np.pad
    return how(x, _pairs(pads), mode=mode)


def _pairs(pads: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """`pads` as numpy.pad takes them; it refuses an empty list, which is right for a scalar."""
    return pads or [(0, 0)]


@kernel("flip")
def flip(x: Array, axis: Ints | None) -> Array:
    # Of one string NumPy gives a str.
    return np.asarray(np.flip(x, axis), x.dtype)


@kernel("roll")
def roll(x: Array, shift: int, axis: int | None) -> Array:
    return np.roll(x, shift, axis)


@kernel("tril")
def tril(x: Array, k: int) -> Array:
    return np.tril(x, k)


@kernel("triu")
def triu(x: Array, k: int) -> Array:
    return np.triu(x, k)


@kernel("depth_to_space")
def depth_to_space(x: Array, block: int) -> Array:
    n, c, h, w = x.shape
    blocks = x.reshape(n, block, block, c // block**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(n, c // block**2, h * block, w * block)


@kernel("space_to_depth")
def space_to_depth(x: Array, block: int) -> Array:
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // block, block, w // block, block).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * block**2, h // block, w // block)
