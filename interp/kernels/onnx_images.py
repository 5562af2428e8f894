"""Kernels of ONNX's operators over images."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from ...ops.windows import Pairs, spread
from .elementwise import widened
from .index import checked
from .nn import cubic_shares, linear_shares
from .onnx_shape import integers
from .quiet import quiet
from .registry import Array, BadValue, kernel
from .windows import Grid

Ints = tuple[int, ...]
# Along one axis, for each of some elements around a place: its position, whether it is in the image, and its weight.
Taps = list[tuple[Any, Any, Any]]
# A place so far outside the image has no element of it near; infinite places and NaN are moved there.
_BEYOND = 9.0


@kernel("onnx.grid_sample")
@quiet
def grid_sample(x: Array, grid: Array, mode: str, padding: str, align_corners: bool) -> Array:
    image, count = x if mode == "nearest" else _in_parts(x), x.ndim - 2
    places: Any = grid.astype(np.float64 if grid.dtype == np.float64 else np.float32)
    taps = []
    for axis, size in enumerate(x.shape[2:]):
        at = places[..., count - 1 - axis]
        at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        taps.append(_taps(at.astype(places.dtype), size, mode, padding, align_corners))
    return np.asarray(_sampled(image, taps), x.dtype)


def _in_parts(image: Array) -> Array:
    """The image in a dtype for weighted sums."""
    is_whole = image.dtype.kind == "b" or "int" in image.dtype.name
    return image.astype(np.float64) if is_whole else widened(image)


def _taps(at: Any, size: int, mode: str, padding: str, align_corners: bool) -> Taps:
    """The elements around places along one axis. For cubic interpolation each element beyond the image is moved into it,
    otherwise the place."""
    at = np.rint(at) if mode == "nearest" else at
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    if mode == "cubic":
        pass
    elif padding == "border":
        at = np.where((at < low) | (at > high), np.clip(at, 0, max(size - 1, 0)), at)
    elif padding == "reflection":
        at = _reflected(at, low, high)
    at = np.nan_to_num(at, nan=-_BEYOND, posinf=size + _BEYOND, neginf=-_BEYOND)
    first = np.floor(at)
    shares = {"nearest": _one, "linear": linear_shares, "cubic": cubic_shares}[mode](at - first)
    return [(*_inside(first + offset, size, padding, low, high), share) for offset, share in shares]


def _reflected(at: Any, low: float, high: float) -> Any:
    span = high - low
    if span <= 0:
        return np.zeros_like(at)
    away = np.mod(np.abs(at - low), 2 * span)
    return np.where((at < low) | (at > high), np.minimum(away, 2 * span - away) + low, at)


def _inside(place: Any, size: int, padding: str, low: float, high: float) -> tuple[Any, Any]:
    """The element that a whole place stands for, and whether it is in the image (None: always)."""
    if padding == "zeros":
        there = (place >= 0) & (place < size)
        return np.where(there, place, 0).astype(np.int64), there
    if padding == "reflection":
        place = np.trunc(_reflected(place, low, high))
    return np.clip(place, 0, size - 1).astype(np.int64), None


def _one(part: Any) -> list[tuple[int, Any]]:
    return [(0, None)]


def _sampled(image: Any, taps: list[Taps]) -> Any:
    """[n, c, *t]: the sum over all combinations of elements along each axis."""
    shape = taps[0][0][0].shape
    total: Any = np.zeros((*shape, image.shape[1]), image.dtype)
    if not total.size or not image.size:
        return np.moveaxis(total, -1, 1)
    batch = np.arange(len(image)).reshape(-1, *(1,) * (len(shape) - 1))
    last = np.moveaxis(image, 1, -1)
    for each in product(*taps):
        found = last[(batch, *(position for position, _, _ in each))]
        for _, there, share in each:
            if there is not None:
                found = np.where(there[..., None], found, np.zeros((), image.dtype))
            if share is not None:
                found = found * share[..., None].astype(image.dtype)
        total = total + found
    return np.moveaxis(total, -1, 1)


@kernel("onnx.roi_align")
@quiet
def roi_align(
    x: Array,
    boxes: Array,
    batch_indices: Array,
    height: int,
    width: int,
    scale: float,
    samples: int,
    mode: str,
    half_pixel: bool,
) -> Array:
    image, chosen = widened(x), checked(batch_indices, "batch_indices", x.shape[0], 0)
    result = np.zeros((len(boxes), x.shape[1], height, width), image.dtype)
    corners = widened(boxes) * image.dtype.type(scale) - image.dtype.type(0.5 if half_pixel else 0)
    for i, (left, top, right, bottom) in enumerate(corners):
        rows = _points(top, bottom, height, samples, half_pixel, x.shape[2])
        columns = _points(left, right, width, samples, half_pixel, x.shape[3])
        if rows is not None and columns is not None:
            result[i] = _cells(image[chosen[i]], rows, columns, height, width, mode)
    return np.asarray(result, x.dtype)


def _points(low: Any, high: Any, cells: int, samples: int, half_pixel: bool, size: int) -> Any:
    """Two elements beside each point along one axis, and their weights; None if a box has no point."""
    span = high - low if half_pixel else max(high - low, low.dtype.type(1))
    each = samples if samples > 0 else ceil(span / cells)
    if each <= 0 or size == 0:
        return None
    at = low + (np.arange(cells * each, dtype=low.dtype) + low.dtype.type(0.5)) * (span / cells / each)
    there = (at >= -1) & (at <= size)
    at = np.maximum(at, 0)
    first = np.minimum(at.astype(np.int64), size - 1)
    part = np.where(first >= size - 1, 0, at - first).astype(low.dtype)
    return (first, (1 - part) * there), (np.minimum(first + 1, size - 1), part * there)


def _cells(image: Any, rows: Any, columns: Any, height: int, width: int, mode: str) -> Any:
    parts = [image[:, r[:, None], c] * (tall[:, None] * broad) for (r, tall), (c, broad) in product(rows, columns)]
    chosen = np.maximum.reduce(parts) if mode == "max" else np.add.reduce(parts)
    across, along = chosen.shape[1] // height, chosen.shape[2] // width
    cells = chosen.reshape(len(image), height, across, width, along)
    return cells.max(axis=(2, 4)) if mode == "max" else cells.sum(axis=(2, 4)) / (across * along)


@kernel("onnx.max_roi_pool")
def max_roi_pool(x: Array, boxes: Array, height: int, width: int, scale: float) -> Array:
    result = np.zeros((len(boxes), x.shape[1], height, width), x.dtype)
    chosen = checked(boxes[:, 0].astype(np.int64), "boxes", x.shape[0], 0)
    # Round as C does: a half away from zero.
    scaled = boxes[:, 1:].astype(np.float32) * np.float32(scale)
    corners = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int64)
    for i, (left, top, right, bottom) in enumerate(corners.tolist()):
        for row, rows in enumerate(_cuts(top, bottom, height, x.shape[2])):
            for column, columns in enumerate(_cuts(left, right, width, x.shape[3])):
                part = x[chosen[i], :, rows, columns]
                if part.size:
                    result[i, :, row, column] = part.max(axis=(1, 2))
    return result


def _cuts(low: int, high: int, cells: int, size: int) -> Iterator[slice]:
    span = max(high - low + 1, 1)
    for i in range(cells):
        first, last = i * span // cells, -(-(i + 1) * span // cells)
        yield slice(min(max(first + low, 0), size), min(max(last + low, 0), size))


@kernel("onnx.non_max_suppression")
def non_max_suppression(
    boxes: Array,
    scores: Array,
    most: Array | None,
    iou_threshold: Array | None,
    score_threshold: Array | None,
    center: bool,
) -> Array:
    limit = 0 if most is None or not most.size else int(most.ravel()[0])
    overlap = 0.0 if iou_threshold is None or not iou_threshold.size else iou_threshold.ravel()[0]
    least = None if score_threshold is None or not score_threshold.size else score_threshold.ravel()[0]
    found = [
        (batch, kind, box)
        for batch, corners in enumerate(_corners(boxes, center))
        for kind, own in enumerate(scores[batch])
        for box in _kept(corners, own, limit, overlap, least)
    ]
    return np.array(found, np.int64).reshape(-1, 3)


def _corners(boxes: Array, center: bool) -> Array:
    """[..., 2, 2]: the low and the high corner of each box."""
    pairs = boxes.reshape(*boxes.shape[:-1], 2, 2)
    if center:
        middle, half = pairs[..., 0, :], pairs[..., 1, :] / 2
        return np.stack([middle - half, middle + half], -2)
    return np.stack([pairs.min(-2), pairs.max(-2)], -2)


def _kept(corners: Array, scores: Array, limit: int, overlap: Any, least: Any) -> list[int]:
    """The boxes of one class that are kept, the best first."""
    order = np.argsort(-scores, kind="stable")
    if least is not None:
        order = order[scores[order] > least]
    kept: list[int] = []
    while order.size and len(kept) < limit:
        best, order = order[0], order[1:]
        kept.append(int(best))
        order = order[~_overlap(corners[best], corners[order], overlap)]
    return kept


def _overlap(box: Array, others: Array, threshold: Any) -> Array:
    """Whether the intersection of each box with one, divided by their union, exceeds a threshold."""
    sides = np.minimum(box[1], others[:, 1]) - np.maximum(box[0], others[:, 0])
    shared = np.prod(np.maximum(sides, 0), axis=-1)
    own, areas = np.prod(box[1] - box[0]), np.prod(others[:, 1] - others[:, 0], axis=-1)
    union = own + areas - shared
    counts = (sides > 0).all(axis=-1) & (shared > 0) & (own > 0) & (areas > 0) & (union > 0)
    found: Array = counts & (shared / np.where(counts, union, 1) > threshold)
    return found


@kernel("onnx.affine_grid")
def affine_grid(theta: Array, size: Array, align_corners: bool) -> Array:
    sizes = integers(size)[2:]
    axes = [_middles(n, align_corners) for n in reversed(sizes)]
    grid = np.meshgrid(*reversed(axes), indexing="ij")
    points = np.stack([*reversed(grid), np.ones(sizes)], -1).reshape(-1, len(sizes) + 1)
    moved = np.matmul(points, theta.astype(np.float64).swapaxes(1, 2))
    return np.asarray(moved.reshape(len(theta), *sizes, len(sizes)), theta.dtype)


def _middles(size: int, align_corners: bool) -> Array:
    """The places of an axis from -1 to 1, which are those of the first and the last element, or the borders."""
    if align_corners:
        return -1 + np.arange(size) * (2 / max(size - 1, 1))
    return -1 + (np.arange(size) + 0.5) * (2 / max(size, 1))


@kernel("onnx.center_crop_pad")
def center_crop_pad(x: Array, shape: Array, axes: Ints | None) -> Array:
    at = range(x.ndim) if axes is None else [a % x.ndim for a in axes]
    source, target, sizes = [slice(None)] * x.ndim, [slice(None)] * x.ndim, list(x.shape)
    for axis, size in zip(at, integers(shape), strict=True):
        old, sizes[axis] = x.shape[axis], size
        less = min(old, size)
        source[axis] = slice((old - less) // 2, (old - less) // 2 + less)
        target[axis] = slice((size - less) // 2, (size - less) // 2 + less)
    result = np.zeros(sizes, x.dtype)
    result[tuple(target)] = x[tuple(source)]
    return result


@kernel("onnx.max_unpool")
def max_unpool(
    x: Array, indices: Array, output_shape: Array | None, kernel_shape: Ints, strides: Ints | None, pads: Pairs | None
) -> Array:
    count = x.ndim - 2
    parts = zip(
        x.shape[2:], spread(kernel_shape, count, 1), spread(strides, count, 1), spread(pads, count, (0, 0)), strict=True
    )
    made = (*x.shape[:2], *((n - 1) * step + size - low - high for n, size, step, (low, high) in parts))
    flat = np.zeros(prod(made), x.dtype)
    flat[checked(indices.reshape(-1), "indices", flat.size, 0)] = x.reshape(-1)
    image = flat.reshape(made)
    if output_shape is None:
        return image
    wanted = integers(output_shape)
    if any(n < m for n, m in zip(wanted, made, strict=True)):
        raise BadValue(f"output_shape is less than what the windows cover, {list(made)}")
    result = np.zeros(wanted, x.dtype)
    result[tuple(map(slice, made))] = image
    return result


@kernel("onnx.deform_conv")
@quiet
def deform_conv(
    x: Array,
    weight: Array,
    offset: Array,
    bias: Array | None,
    mask: Array | None,
    strides: Ints | None,
    pads: Pairs | None,
    dilations: Ints | None,
    groups: int,
    offset_groups: int,
) -> Array:
    """Multiply the weights with the image at each place that the kernel meets."""
    image, (batch, channels) = widened(x), x.shape[:2]
    outputs, inputs, *sizes = weight.shape
    grid = Grid(x.shape[2:], sizes, strides, pads, "notset", dilations)
    taps, counts = prod(sizes), grid.counts
    moves = widened(offset).reshape(batch * offset_groups, taps, 2, *counts)
    at = [moves[:, :, axis] + _met(grid, axis, sizes) for axis in range(2)]
    rows, columns = (_taps(a, n, "linear", "zeros", True) for a, n in zip(at, x.shape[2:], strict=True))
    source = image.reshape(batch * offset_groups, channels // offset_groups, *x.shape[2:])
    found = np.moveaxis(_sampled(source, [rows, columns]), 1, 2)
    if mask is not None:
        found = found * widened(mask).reshape(batch * offset_groups, taps, 1, *counts).astype(image.dtype)
    met = np.moveaxis(found, 1, 2).reshape(batch, groups, inputs * taps, prod(counts))
    filters = widened(weight).reshape(groups, outputs // groups, inputs * taps)
    result = np.matmul(filters, met).reshape(batch, outputs, *counts)
    if bias is not None:
        result = result + widened(bias).reshape(-1, 1, 1)
    return np.asarray(result, x.dtype)


def _met(grid: Grid, axis: int, sizes: list[int]) -> Any:
    """[taps, *counts]: the position of each place of the kernel along an axis, before it is moved."""
    places = np.arange(sizes[axis]) * grid.dilations[axis]
    starts = np.arange(grid.counts[axis]) * grid.strides[axis] - grid.pads[axis][0]
    shape = [1, 1, 1, 1]
    shape[axis], shape[2 + axis] = sizes[axis], grid.counts[axis]
    spread_out = (places[:, None] + starts).reshape(shape)
    return np.broadcast_to(spread_out, (*sizes, *grid.counts)).reshape(-1, *grid.counts)
