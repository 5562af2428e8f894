"""Resizing as in ONNX: each size is floor(size * scale), or given, or keeps the proportions."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

from ..axes import Shape, larger, places, smaller
from ..model import Ctx, Dim, TensorInfo
from ..operands import choice
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, Other, SizeEntry
from ..scales import nominal
from ..tracked import Ratio, elements as tracked_elements
from ..windows import WINDOWS
from .onnx_shape import elements

MODES = ("nearest", "linear", "cubic")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "outward")
PLACES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)  # fmt: skip
POLICIES = ("stretch", "not_larger", "not_smaller")


@primitive(
    "onnx.resize",
    "x: tensor, roi: tensor = none, scales: tensor = none, sizes: tensor = none, axes: ints = none, "
    'mode: str = "nearest", nearest_mode: str = "round_prefer_floor", places: str = "half_pixel", '
    'policy: str = "stretch", antialias: bool = false, exclude_outside: bool = false, '
    "cubic_coeff_a: float = -0.75, extrapolation_value: float = 0.0",
    "T:any, R:floating, S:{float32}, I:{int64} -> T",
    traits=WINDOWS,
)
def onnx_resize(
    ctx: Ctx,
    x: TensorInfo,
    roi: TensorInfo | None,
    scales: TensorInfo | None,
    sizes: TensorInfo | None,
    axes: tuple[int, ...] | None,
    mode: str,
    nearest_mode: str,
    places_: str,
    policy: str,
    *_: object,
) -> Shape:
    """Axes interpolated to `sizes`, or to floor(size * scale), computed in float32; all axes if `axes` is left out. With
    `policy` "not_larger" or "not_smaller" one scale holds for all of them, the least or the largest that `sizes` imply, and
    each size is rounded, a half up. `nearest_mode` "outward" takes the element before a place on an axis that grows, and the
    one after it on an axis that shrinks. ONNX Resize and Upsample."""
    for name, value, choices in (
        ("mode", mode, MODES),
        ("nearest_mode", nearest_mode, ROUNDINGS),
        ("places", places_, PLACES),
        ("policy", policy, POLICIES),
    ):
        choice(ctx, name, value, choices)
    dims = ctx.dims(x)
    at = tuple(range(len(dims))) if axes is None else places(ctx, dims, axes, "axes")
    if (scales is None) == (sizes is None):
        ctx.fail(Other("either scales or sizes"))
    if scales is not None:
        made = _scaled(ctx, dims, at, scales)
    else:
        assert sizes is not None
        made = _given(ctx, dims, at, sizes, policy)
    result = list(dims)
    for axis, size in zip(at, made, strict=True):
        result[axis] = size
    return tuple(result)


def _one_each(ctx: Ctx, name: str, count: int, axes: int) -> None:
    if count != axes:
        ctx.fail(Other(f"an entry in {{0}} for each of {axes} axes", (Argument(name),), f"it has {count}"))


def _scaled(ctx: Ctx, dims: Shape, at: tuple[int, ...], scales: TensorInfo) -> list[Dim]:
    found = tracked_elements(scales, ctx.dims(scales))
    if found is None:
        return [ctx.fresh("size") for _ in at]
    _one_each(ctx, "scales", len(found), len(at))
    return [_times(ctx, dims[axis], scale) for axis, scale in zip(at, found, strict=True)]


def _times(ctx: Ctx, size: Dim, scale: Any) -> Dim:
    """The size times the scale, truncated, if the scale is known exactly; else a new size."""
    if not isinstance(scale, Ratio) or not scale.is_exact or scale.limits:
        return ctx.fresh("size")
    if not isinstance(scale.num, int) or not isinstance(scale.den, int):
        return size * scale.num // scale.den
    factor, surely = nominal(Fraction(scale.num, scale.den))
    if factor < 0:
        ctx.fail(Other("no negative number in {0}", (Argument("scales"),)))
    if factor == 1:
        return size
    made = size * factor.numerator
    made = made if factor.denominator == 1 else made // factor.denominator
    return made if surely else ctx.fresh("size", larger(ctx, made - 1, 0), made + 1)


def _given(ctx: Ctx, dims: Shape, at: tuple[int, ...], sizes: TensorInfo, policy: str) -> list[Dim]:
    wanted = [ctx.fresh("size") if e is None else e for e in elements(ctx, sizes)]
    _one_each(ctx, "sizes", len(wanted), len(at))
    for i, (axis, size) in enumerate(zip(at, wanted, strict=True)):
        if not isinstance(size, int) or size < 0:
            ctx.require(AtLeast(SizeEntry("sizes", i, size), 0))
        some = ctx.any_of(ctx.le(1, dims[axis]), ctx.eq(size, 0))
        least = some if policy == "stretch" else ctx.le(1, dims[axis])
        ctx.require(AtLeast(Axis("x", axis, dims[axis]), 1, also=(("sizes", None),)), least)
    if policy == "stretch":
        return wanted
    nearer = smaller if policy == "not_larger" else larger
    own = [dims[axis] for axis in at]
    return [_in_proportion(ctx, i, own, wanted, nearer) for i in range(len(own))]


def _in_proportion(ctx: Ctx, i: int, own: list[Dim], wanted: list[Dim], nearer: Any) -> Dim:
    """The size times the least or largest scale of all axes, rounded: the least or largest of the sizes under each scale."""
    made = [wanted[j] if j == i else (2 * wanted[j] * own[i] + own[j]) // (2 * own[j]) for j in range(len(own))]
    return reduce(lambda a, b: nearer(ctx, a, b), made)
