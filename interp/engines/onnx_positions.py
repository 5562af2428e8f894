"""Kernels that write nodes of ONNX for elements by position, and for the order of elements."""

from __future__ import annotations

from math import prod

import numpy as np

from ...lang.dtypes import DTYPES
from ..engine_types import Axes, EngineArray as Array, EngineResult, EngineSizes, RunValue
from .onnx_kernels import FAR, KERNELS, Emit, Emitter, kernel, total

# By position


@kernel("embedding")
def embedding(e: Emit, ids: Array, table: Array) -> str:
    """Gather rows; an id below 0 becomes one that is refused."""
    places = e.places(ids)
    if ids.dtype.kind != "uint":
        below = e.node("Less", places, e.graph.constant(np.array(0, np.int64)))
        places = e.node("Where", below, e.graph.scalar(table.shape[0]), places)
    return e.node("Gather", table.value, places, axis=0)  # type: ignore[no-any-return]


@kernel("take_along_axis")
def take_along_axis(e: Emit, x: Array, indices: Array, axis: int) -> str:
    """GatherElements does not broadcast: both operands get the sizes of the result along the other axes."""
    rank = len(x.shape)
    common = [n for i, n in enumerate(e.out.shape) if i != axis % rank]
    parts = []
    for a, name in ((x, x.value), (indices, e.places(indices))):
        wanted = list(common)
        wanted.insert(axis % rank, a.shape[axis])
        parts.append(e.stretched(name, a.shape, wanted))
    return e.node("GatherElements", *parts, axis=axis)  # type: ignore[no-any-return]


@kernel("put")
def put(e: Emit, x: Array, indices: Array, updates: Array, axis: int) -> str:
    """Write ScatterND, which works along the first axis: the axis in question is moved there and back."""
    rank = len(x.shape)
    axis %= rank
    order = [axis, *(i for i in range(rank) if i != axis)]
    back = [order.index(i) for i in range(rank)]
    places = e.node("Unsqueeze", e.places(indices), e.ints([1]))
    parts = [a.value if axis == 0 else e.node("Transpose", a.value, perm=order) for a in (x, updates)]
    made = e.node("ScatterND", parts[0], places, parts[1])
    return made if axis == 0 else e.node("Transpose", made, perm=back)  # type: ignore[no-any-return]


@kernel("nonzero")
def nonzero(e: Emit, x: Array) -> EngineResult:
    found = e.node("NonZero", e.cast(x.value, x.dtype, DTYPES["bool"]))
    rows = (e.node("Slice", found, e.ints([i]), e.ints([i + 1]), e.ints([0])) for i in range(len(e.outs)))
    return tuple(e.node("Squeeze", row, e.ints([0])) for row in rows)


@kernel("flip")
def flip(e: Emit, x: Array, axis: Axes) -> str:
    axes = list(range(len(x.shape))) if axis is None else [int(a) for a in axis]
    if not axes:
        return x.value  # type: ignore[no-any-return]
    first, last, steps = ([n] * len(axes) for n in (-1, -FAR, -1))
    return e.node("Slice", x.value, e.ints(first), e.ints(last), e.ints(axes), e.ints(steps))  # type: ignore[no-any-return]


@kernel("roll")
def roll(e: Emit, x: Array, shift: EngineSizes, axis: Axes) -> str:
    made, dims = x.value, e.graph.dims
    if axis is None:
        made = e.node("Reshape", made, e.ints([-1]))
    sizes = [(0, prod(x.shape))] if axis is None else [(int(a), x.shape[a]) for a in axis]
    for (place, size), far in zip(sizes, shift if len(shift) > 1 else shift * len(sizes), strict=True):
        start = size - dims.of("%", far, dims.of("max", size, 1))
        parts = (e.graph.size(start), e.ints([FAR])), (e.ints([0]), e.graph.size(start))
        made = e.node("Concat", *(e.node("Slice", made, *p, e.ints([place])) for p in parts), axis=place)
    return e.node("Reshape", made, e.graph.sizes(x.shape), allowzero=1) if axis is None else made  # type: ignore[no-any-return]


@kernel("sum_to")
def sum_to(e: Emit, x: Array, shape: EngineSizes) -> str:
    """Write the sum over axes that are chosen when the model runs."""
    leading = len(x.shape) - len(e.out.shape)
    one, have, want = e.ints([1]), e.graph.sizes(x.shape), e.graph.sizes((*(1,) * leading, *e.out.shape))
    gone = e.node("And", e.node("Equal", want, one), e.node("Not", e.node("Equal", have, one)))
    axes = e.node("Compress", e.ints(range(len(x.shape))), gone, axis=0)
    made = total(e, x, x.dtype, axes, keepdims=1, noop_with_empty_axes=1)
    return e.node("Reshape", made, e.graph.sizes(e.out.shape), allowzero=1)  # type: ignore[no-any-return]


def _joined(op: str) -> Emitter:
    """Join updates at places; float16 in float32, as onnxruntime does not join it."""

    def run(e: Emit, x: Array, indices: Array, updates: Array, *rest: RunValue) -> str:
        *axis, how = rest
        dtype = DTYPES["float32"] if x.dtype.name == "float16" and how != "none" else x.dtype
        one, other = (e.cast(v.value, x.dtype, dtype) for v in (x, updates))
        named = {"axis": axis[0]} if axis else {}
        return e.cast(e.node(op, one, e.places(indices), other, reduction=how, **named), dtype, x.dtype)

    return run


KERNELS.update({"scatter_nd": _joined("ScatterND"), "scatter_elements": _joined("ScatterElements")})
