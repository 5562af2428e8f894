"""Kernels that join arrays, cut them, or move their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .registry import DIRECT, Array, BadValue, clamped, kernel, rows

Ints = tuple[int, ...]
DIRECT["concat"] = "concatenate"
DIRECT.update({name: name for name in ("stack", "flip", "tril", "triu")})


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


@kernel("part")
def part(xs: Sequence[Array], position: int) -> Array:
    return xs[position]


def _running_sums(sizes: Ints) -> list[int]:
    sums: list[int] = []
    for size in sizes:
        sums.append((sums[-1] if sums else 0) + size)
    return sums


@kernel("slice")
def slice_(x: Array, starts: Ints, stops: Ints, axes: Ints | None, steps: Ints | None, forward: bool) -> Array:
    cuts = [slice(None)] * x.ndim
    for n, start in enumerate(starts):
        cuts[n if axes is None else axes[n]] = slice(start, stops[n], 1 if steps is None else steps[n])
    result: Array = x[tuple(cuts)]
    return result


@kernel("pad")
def pad(x: Array, pads: Sequence[tuple[int, int]], mode: str, value: Array | None, axes: Ints | None) -> Array:
    if axes is not None:
        along = {i % x.ndim: pair for i, pair in zip(axes, pads, strict=True)}
        pads = [along.get(i, (0, 0)) for i in range(x.ndim)]
    if mode == "constant":
        return np.pad(x, _pairs(pads), mode="constant", constant_values=x.dtype.type(0) if value is None else value)
    how: Callable[..., Array] = np.pad
    return how(x, _pairs(pads), mode=mode)


@kernel("pad_to_match")
def pad_to_match(x: Array, y: Array) -> Array:
    more = [(0, max(b - a, 0)) for a, b in zip(x.shape, y.shape, strict=True)]
    made: Array = pad(x, more, "constant", None, None)
    return made


def _pairs(pads: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """`pads` as numpy.pad takes them; it refuses the empty list of a scalar."""
    return pads or [(0, 0)]


@kernel("flip")
def flip(x: Array, axis: Ints | None) -> Array:
    # NumPy gives a str for a single string.
    return np.asarray(np.flip(x, axis), x.dtype)


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


rows(
    {
        "concat": lambda xs, axis: np.concatenate(xs, axis),
        "stack": lambda xs, axis: np.stack(xs, axis),
        "roll": lambda x, shift, axis: np.roll(x, shift[0] if len(shift) == 1 else shift, axis),
        "tril": lambda x, k: np.tril(x, clamped(k)),
        "triu": lambda x, k: np.triu(x, clamped(k)),
    }
)
