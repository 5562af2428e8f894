"""The kernel of ONNX's Resize: one axis after the other, each element a weighted sum of those around its place."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...ops.scales import nominal
from .onnx_shape import integers
from .quiet import quiet
from .registry import Array, BadValue, kernel


class _Along(NamedTuple):
    """One axis: its size before and after, its scale, and the part of it that is used."""

    axis: int
    old: int
    new: int
    scale: float
    start: float
    end: float


@kernel("onnx.resize")
@quiet
def resize(
    x: Array,
    roi: Array | None,
    scales: Array | None,
    sizes: Array | None,
    axes: tuple[int, ...] | None,
    mode: str,
    nearest_mode: str,
    places: str,
    policy: str,
    antialias: bool,
    exclude_outside: bool,
    cubic_coeff_a: float,
    extrapolation_value: float,
) -> Array:
    at = tuple(range(x.ndim)) if axes is None else tuple(a % x.ndim for a in axes)
    result = x
    for along in _axes(x, roi if places == "tf_crop_and_resize" else None, scales, sizes, at, policy):
        if along.old == along.new and along.scale == 1 and (along.start, along.end) == (0, 1):
            continue
        if not along.new:
            result = np.take(result, np.empty(0, np.int64), along.axis)
            continue
        where = _places(along, places, np.float32 if mode == "nearest" else np.float64)
        if mode == "nearest":
            rounding = ("ceil" if along.scale < 1 else "floor") if nearest_mode == "outward" else nearest_mode
            result = np.take(result, np.clip(_nearest(where, rounding), 0, along.old - 1), along.axis)
        else:
            shares = _shares(where, along.scale if antialias else 1.0, mode, antialias, cubic_coeff_a)
            result = _interpolated(result, along, where, shares, exclude_outside)
        if places == "tf_crop_and_resize":
            beyond = ((where < 0) | (where > along.old - 1)).reshape(-1, *(1,) * (x.ndim - 1 - along.axis))
            result = np.where(beyond, np.asarray(extrapolation_value).astype(result.dtype), result)
    return _stored(result, x.dtype, np.rint if antialias else _whole)


def _axes(
    x: Array, roi: Array | None, scales: Array | None, sizes: Array | None, at: tuple[int, ...], policy: str
) -> list[_Along]:
    old = [x.shape[a] for a in at]
    if scales is not None:
        exact = [Fraction(float(s)) for s in scales.ravel()]
        if any(s < 0 for s in exact):
            raise BadValue("a scale is negative")
        new, factors = [_cut_off(n, s) for n, s in zip(old, exact, strict=True)], [float(s) for s in exact]
    else:
        assert sizes is not None
        new, factors = _wanted(old, integers(sizes), policy)
    bounds = [0.0] * len(at) + [1.0] * len(at) if roi is None or not roi.size else list(map(float, roi.ravel()))
    ends = bounds[len(at) :]
    return [_Along(*row) for row in zip(at, old, new, factors, bounds[: len(at)], ends, strict=True)]


def _cut_off(size: int, scale: Fraction) -> int:
    """size * scale as a product of float32, within the bounds of the shape rule."""
    factor, surely = nominal(scale)
    made = size * factor // 1
    return made if surely else min(max(int(np.float32(size) * np.float32(float(scale))), made - 1, 0), made + 1)


def _wanted(old: list[int], sizes: tuple[int, ...], policy: str) -> tuple[list[int], list[float]]:
    each = [Fraction(s, n) if n else Fraction(1) for s, n in zip(sizes, old, strict=True)]
    if policy == "stretch":
        return list(sizes), list(map(float, each))
    scale = min(each) if policy == "not_larger" else max(each)
    return [int(n * scale + Fraction(1, 2)) for n in old], [float(scale)] * len(old)


def _places(along: _Along, places: str, dtype: type[np.floating[Any]]) -> Array:
    """The places of the result's elements among the old ones. The nearest one is decided in float32, the dtype of scales: 3.5
    / 0.7 is 5 there."""
    _, old, new, exact, start, end = along
    at: Array = np.arange(new, dtype=dtype)
    length, scale = exact * old, np.asarray(exact, dtype)
    if places == "align_corners":
        return np.zeros(new) if length == 1 else at * (old - 1) / (length - 1)
    if places == "asymmetric":
        return at / scale
    if places == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if places == "tf_crop_and_resize":
        if new == 1:
            return np.full(1, (start + end) * (old - 1) / 2)
        return start * (old - 1) + at * (end - start) * (old - 1) / (new - 1)
    if places == "pytorch_half_pixel" and new == 1:
        return np.zeros(1)
    shift = old / 2 * (1 - new / length) if places == "half_pixel_symmetric" else 0.0
    return shift + (at + 0.5) / scale - 0.5


def _nearest(where: Array, rounding: str) -> Array:
    rounded: dict[str, Callable[[], Array]] = {
        "round_prefer_floor": lambda: np.ceil(where - 0.5),
        "round_prefer_ceil": lambda: np.floor(where + 0.5),
        "floor": lambda: np.floor(where),
        "ceil": lambda: np.ceil(where),
    }
    return rounded[rounding]().astype(np.int64)


def _shares(where: Array, scale: float, mode: str, antialias: bool, a: float) -> Array:
    """[places, n]: the weights of the n elements around each place. A place on an element counts as right of it."""
    part = where - np.floor(where)
    part = np.where(part == 0, 1.0, part)[:, None]
    scale = min(scale, 1.0)
    reach = 1 if mode == "linear" else 2
    first = int(np.floor(-reach / scale)) + 1
    last = (1 - first) if mode == "linear" else (1 - first)
    distance = np.abs((np.arange(first, last + 1) - part) * scale)
    found = np.clip(1 - distance, 0, 1) if mode == "linear" else _cubic(distance, a)
    return found / found.sum(axis=1, keepdims=True) if antialias else found


def _cubic(d: Array, a: float) -> Array:
    """Keys' kernel."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _interpolated(x: Array, along: _Along, where: Array, shares: Array, exclude_outside: bool) -> Array:
    count = shares.shape[1]
    # The n nearest elements; of two windows that are as near, the left one.
    first = np.ceil(where - count / 2).astype(np.int64)
    around = first[:, None] + np.arange(count)
    if exclude_outside:
        shares = np.where((around < 0) | (around >= along.old), 0.0, shares)
        total = shares.sum(axis=1, keepdims=True)
        shares = shares / np.where(total == 0, 1.0, total)
    inside = np.clip(around, 0, along.old - 1)
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)
    result = np.zeros((*x.shape[: along.axis], along.new, *x.shape[along.axis + 1 :]), wide.dtype)
    for i in range(count):
        weight = shares[:, i].reshape(-1, *(1,) * (x.ndim - 1 - along.axis))
        result += np.take(wide, inside[:, i], along.axis) * weight
    return result


def _whole(x: Array) -> Array:
    """Truncate toward 0, after rounding numbers that are whole but for the last bits."""
    return np.trunc(np.round(x, 6))


def _stored(x: Array, dtype: np.dtype[Any], whole: Callable[[Array], Array]) -> Array:
    """The result in the operand's dtype; for integers it is first rounded by `whole`, and clipped."""
    if x.dtype == dtype or dtype.kind not in "iu":
        return x.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    return np.clip(whole(x), limits.min, limits.max).astype(dtype)
