"""NumPy kernels of boxes and sampling points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.windows import spread
from .elementwise import Array, widened
from .index import checked, positions_of
from .quiet import quiet
from .registry import kernel
from .windows import narrow

Ints = tuple[int, ...]


@kernel("non_max_suppression")
@quiet
def non_max_suppression(
    boxes: Array, scores: Array, iou_threshold: float, max_boxes: int | None, score_threshold: float | None
) -> Array:
    corners, points = widened(boxes), widened(scores)
    order = np.argsort(-points, kind="stable")
    if score_threshold is not None:
        order = order[points[order] > score_threshold]
    most = len(order) if max_boxes is None else max_boxes
    kept: list[int] = []
    while order.size and len(kept) < most:  # each kept box removes others, so in sequence
        best, order = order[0], order[1:]
        kept.append(int(best))
        order = order[~(_overlap(corners[best], corners[order]) > iou_threshold)]
    return np.asarray(kept, np.int64)


def _overlap(box: Any, others: Any) -> Any:
    """The intersection of a box with each of the others, divided by their union."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.multiply.reduce(np.maximum(sides, 0), axis=-1)
    own, areas = (np.multiply.reduce(b[..., 2:] - b[..., :2], axis=-1) for b in (box, others))
    return shared / (own + areas - shared)


@kernel("grid_sample")
@quiet
def grid_sample(x: Array, grid: Array, mode: str, padding: str, align_corners: bool) -> Array:
    image, points = widened(x), widened(grid)
    places = []
    for axis, size in ((1, image.shape[2]), (0, image.shape[3])):
        at = (points[..., axis] + 1) / 2
        at = at * (size - 1) if align_corners else at * size - points.dtype.type(0.5)
        places.append(_inside(at, size, padding, align_corners))
    batch = np.arange(len(image)).reshape(-1, 1, 1)
    nearest = mode == "nearest"
    found = _at(image, batch, *map(np.rint, places)) if nearest else _between(image, batch, *places)
    return narrow(np.moveaxis(found, -1, 1), x.dtype)


def _inside(at: Any, size: int, padding: str, align_corners: bool) -> Any:
    """The place in the image that stands for one beyond it; unchanged for padding with zeros."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span:
            away = np.mod(np.abs(at - low), 2 * span)
            at = np.minimum(away, 2 * span - away) + low
        else:
            at = np.zeros_like(at)
    return np.clip(np.where(np.isnan(at), 0, at), 0, size - 1).astype(at.dtype, copy=False)


def _at(image: Any, batch: Any, rows: Any, columns: Any) -> Any:
    """The elements at whole places, channels last; 0 beyond the image."""
    height, width = image.shape[2:]
    there = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    row, column = (np.where(there, p, 0).astype(np.int64) for p in (rows, columns))
    found = image.transpose(0, 2, 3, 1)[batch, row, column]
    return np.where(there[..., None], found, np.zeros((), image.dtype))


def _between(image: Any, batch: Any, rows: Any, columns: Any) -> Any:
    """The sum of the four elements around each place, each with its weight."""
    top, left = np.floor(rows), np.floor(columns)
    total: Any = 0
    for row, tall in ((top, top + 1 - rows), (top + 1, rows - top)):
        for column, broad in ((left, left + 1 - columns), (left + 1, columns - left)):
            share = np.where(np.isfinite(tall * broad), tall * broad, 0).astype(image.dtype)
            total = total + _at(image, batch, row, column) * share[..., None]
    return total


@kernel("roi_align")
@quiet
def roi_align(
    x: Array,
    boxes: Array,
    batch_indices: Array,
    output_shape: Ints,
    scale: float,
    samples: int,
    mode: str,
    aligned: bool,
) -> Array:
    image, corners = widened(x), widened(boxes) * widened(x).dtype.type(scale)
    chosen = checked(positions_of(batch_indices), "batch_indices", x.shape[0], 0).reshape(-1, 1, 1)
    height, width = spread(output_shape, 2, 1)
    rows = _sample_places(corners[:, 1], corners[:, 3], height, samples, aligned)
    columns = _sample_places(corners[:, 0], corners[:, 2], width, samples, aligned)
    rows, columns = np.broadcast_arrays(rows[:, :, None], columns[:, None, :])
    limits = x.shape[2:]
    beyond = (rows < -1) | (rows > limits[0]) | (columns < -1) | (columns > limits[1])
    rows, columns = (np.clip(p, 0, n - 1) for p, n in zip((rows, columns), limits, strict=True))
    values = np.where(beyond[..., None], 0, _between(image, chosen, rows, columns))
    cells = values.reshape(len(boxes), height, samples, width, samples, x.shape[1])
    reduced = np.maximum.reduce(cells, axis=(2, 4)) if mode == "max" else np.add.reduce(cells, axis=(2, 4)) / samples**2
    return narrow(np.moveaxis(reduced, -1, 1), x.dtype)


def _sample_places(low: Any, high: Any, cells: int, samples: int, aligned: bool) -> Any:
    """[r, cells * samples]: the midpoints of equal parts of each box along an axis."""
    if aligned:
        low, high = low - low.dtype.type(0.5), high - high.dtype.type(0.5)
    span = high - low if aligned else np.maximum(high - low, 1)
    middles = (np.arange(cells * samples) + 0.5) / max(cells * samples, 1)
    return low[:, None] + span[:, None] * middles.astype(low.dtype)
