"""ONNX's operators over images: sampling, boxes, deformed convolution, cutting and unpooling."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, places, product, smaller
from ..model import Ctx, Dim, ElementRange, Out, TensorInfo
from ..operands import attribute_at_least, choice, rank_at_least, ranked
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, Equal, Is, Multiple, Number, OfRank, Other, SizeEntry, Times
from ..windows import WINDOWS, Pairs, Windows, count_windows, extent, spatial_pads, spatial_sizes, transposed_size
from .onnx_shape import elements, scalar


@primitive(
    "onnx.grid_sample",
    'x: tensor, grid: tensor, mode: str = "linear", padding: str = "zeros", align_corners: bool = false',
    "T:any, G:floating -> T",
)
def grid_sample(ctx: Ctx, x: TensorInfo, grid: TensorInfo, mode: str, padding: str, align_corners: bool) -> Shape:
    """Images sampled at points: `x : [n, c, *s]` and `grid : [n, *t, rank of s]` give `[n, c, *t]`. ONNX GridSample."""
    choice(ctx, "mode", mode, ("linear", "nearest", "cubic"))
    choice(ctx, "padding", padding, ("zeros", "border", "reflection"))
    a, g = ctx.dims(x), ctx.dims(grid)
    rank_at_least(ctx, "x", a, 3)
    if len(a) != len(g):
        ctx.fail(OfRank("{0} and {1} to have one rank", (Argument("x"), Argument("grid"))))
    ctx.require(Equal(Axis("x", 0, a[0]), Axis("grid", 0, g[0])))
    ctx.require(Is(Axis("grid", len(g) - 1, g[-1]), Number(len(a) - 2)))
    for axis, size in enumerate(a[2:], 2):
        ctx.require(AtLeast(Axis("x", axis, size), 1))
    for axis in range(2, len(a)):
        if padding != "zeros":
            ctx.require(AtLeast(Axis("x", axis, a[axis]), 1))
    return (a[0], a[1], *g[1:-1])


def _boxes(ctx: Ctx, x: TensorInfo, boxes: TensorInfo, count: int) -> tuple[Dim, Dim]:
    """The channels, and the number of boxes of `count` numbers each."""
    _, c, _, _ = ranked(ctx, "x", x, 4, "[batch, channels, height, width]")
    r, numbers = ranked(ctx, "boxes", boxes, 2, f"[boxes, {count}]")
    ctx.require(Is(Axis("boxes", 1, numbers), Number(count)))
    return c, r


@primitive(
    "onnx.roi_align",
    "x: tensor, boxes: tensor, batch_indices: tensor, height: int = 1, width: int = 1, scale: float = 1.0, "
    'samples: int = 0, mode: str = "avg", half_pixel: bool = true',
    "T:floating, T, I:{int64} -> T",
)
def roi_align(
    ctx: Ctx, x: TensorInfo, boxes: TensorInfo, batch_indices: TensorInfo, height: int, width: int, *rest: Any
) -> Shape:
    """Images sampled in boxes, each cut into cells of `samples` points along both axes, or as many as a cell has elements;
    `mode` "max" takes the largest weighted element. ONNX RoiAlign."""
    choice(ctx, "mode", rest[2], ("avg", "max"))
    c, r = _boxes(ctx, x, boxes, 4)
    (count,) = ranked(ctx, "batch_indices", batch_indices, 1)
    ctx.require(Equal(Axis("boxes", 0, r), Axis("batch_indices", 0, count)))
    return (r, c, height, width)


@primitive(
    "onnx.max_roi_pool", "x: tensor, boxes: tensor, height: int, width: int, scale: float = 1.0", "T:floating, T -> T"
)
def max_roi_pool(ctx: Ctx, x: TensorInfo, boxes: TensorInfo, height: int, width: int, scale: float) -> Shape:
    """The largest elements in the cells of boxes, each `(image, x1, y1, x2, y2)`. ONNX MaxRoiPool."""
    c, r = _boxes(ctx, x, boxes, 5)
    return (r, c, height, width)


@primitive(
    "onnx.non_max_suppression",
    "boxes: tensor, scores: tensor, most: tensor = none, iou_threshold: tensor = none, score_threshold: tensor = none, "
    "center: bool = false",
    "T:floating, T, I:{int64}, T, T -> int64",
)
def non_max_suppression(ctx: Ctx, boxes: TensorInfo, scores: TensorInfo, most: TensorInfo | None, *rest: object) -> Out:
    """The boxes that overlap no better box, as `(batch, class, box)`: `[k, 3]`. ONNX NonMaxSuppression."""
    batch, count, four = ranked(ctx, "boxes", boxes, 3, "[batch, boxes, 4]")
    other, classes, per_class = ranked(ctx, "scores", scores, 3, "[batch, classes, boxes]")
    ctx.require(Equal(Axis("boxes", 0, batch), Axis("scores", 0, other)))
    ctx.require(Equal(Axis("boxes", 1, count), Axis("scores", 2, per_class)))
    ctx.require(Is(Axis("boxes", 2, four), Number(4)))
    if most is None:
        return Out((0, 3))
    limit = scalar(ctx, "most", most, None)
    if isinstance(limit, int) and limit <= 0:
        return Out((0, 3))
    each = count if limit is None or ctx.decide(ctx.le(0, limit)) is not True else smaller(ctx, count, limit)
    places = tuple(ElementRange(0, size - 1, column=(1, i)) for i, size in enumerate((batch, classes, count)))
    return Out((ctx.fresh("k", 0, product((batch, classes, each))), 3), None, places)


@primitive("onnx.affine_grid", "theta: tensor, size: tensor, align_corners: bool = false", "T:floating, I:{int64} -> T")
def affine_grid(ctx: Ctx, theta: TensorInfo, size: TensorInfo, align_corners: bool) -> Shape:
    """The points of an image of shape `size` after affine maps, `[n, *s, rank of s]`. ONNX AffineGrid."""
    n, rows, columns = ranked(ctx, "theta", theta, 3, "[batch, axes, axes + 1]")
    sizes = _asked(ctx, "size", size)
    if len(sizes) not in (4, 5):
        ctx.fail(Other("4 or 5 sizes in {0}", (Argument("size"),), f"it has {len(sizes)}"))
    count = len(sizes) - 2
    ctx.require(Is(Axis("theta", 1, rows), Number(count)))
    ctx.require(Is(Axis("theta", 2, columns), Number(count + 1)))
    batch, _, *spatial = sizes
    ctx.require(Equal(Axis("theta", 0, n), SizeEntry("size", 0, batch)))
    return (n, *spatial, count)


def _asked(ctx: Ctx, name: str, sizes: TensorInfo) -> tuple[Any, ...]:
    """The sizes in a tensor of rank 1; requires that none is negative."""
    ranked(ctx, name, sizes, 1)
    found = tuple(ctx.fresh("size") if e is None else e for e in elements(ctx, sizes))
    for i, size in enumerate(found):
        if not isinstance(size, int) or size < 0:
            ctx.require(AtLeast(SizeEntry(name, i, size), 0))
    return found


@primitive("onnx.center_crop_pad", "x: tensor, shape: tensor, axes: ints = none", "T:any, I:{int32, int64} -> T")
def center_crop_pad(ctx: Ctx, x: TensorInfo, shape: TensorInfo, axes: tuple[int, ...] | None) -> Shape:
    """The middle of axes that are longer than `shape`, and zeros around those that are shorter. ONNX CenterCropPad."""
    dims = list(ctx.dims(x))
    at = tuple(range(len(dims))) if axes is None else places(ctx, tuple(dims), axes, "axes")
    wanted = _asked(ctx, "shape", shape)
    if len(wanted) != len(at):
        each = f"an entry in {{0}} for each of {len(at)} axes"
        ctx.fail(Other(each, (Argument("shape"),), f"it has {len(wanted)}"))
    for axis, size in zip(at, wanted, strict=True):
        dims[axis] = size
    return tuple(dims)


@primitive(
    "onnx.max_unpool",
    "x: tensor, indices: tensor, output_shape: tensor = none, kernel_shape: sizes, strides: sizes = none, "
    "pads: pairs = none",
    "T:real, I:{int64}, J:{int64} -> T",
    traits=WINDOWS,
)
def max_unpool(
    ctx: Ctx,
    x: TensorInfo,
    indices: TensorInfo,
    output_shape: TensorInfo | None,
    kernel_shape: Shape,
    strides: Shape | None,
    pads: Pairs | None,
) -> Shape:
    """Elements put where pooling took them from, zeros elsewhere. ONNX MaxUnpool."""
    a = ctx.dims(x)
    rank_at_least(ctx, "x", a, 3)
    _same_shape(ctx, x, indices)
    if output_shape is not None:
        sizes = _asked(ctx, "output_shape", output_shape)
        if len(sizes) != len(a):
            ctx.fail(Other(f"{len(a)} sizes in {{0}}", (Argument("output_shape"),), f"it has {len(sizes)}"))
        for at in (0, 1):
            ctx.require(Equal(Axis("x", at, a[at]), SizeEntry("output_shape", at, sizes[at])))
        return sizes
    count = len(a) - 2
    kernel = spatial_sizes(ctx, "kernel_shape", kernel_shape, count)
    steps = spatial_sizes(ctx, "strides", strides, count)
    padding = spatial_pads(ctx, pads, "notset", count)
    windows = [Windows(k, s, *p) for k, s, p in zip(kernel, steps, padding, strict=True)]
    return (*a[:2], *(transposed_size(ctx, a[i + 2], w, 0, i + 2) for i, w in enumerate(windows)))


def _same_shape(ctx: Ctx, x: TensorInfo, indices: TensorInfo) -> None:
    """Require both to have one shape."""
    a, b = ctx.dims(x), ctx.dims(indices)
    if len(a) != len(b):
        ctx.fail(OfRank("{0} and {1} to have one rank", (Argument("x"), Argument("indices"))))
    for axis, (left, right) in enumerate(zip(a, b, strict=True)):
        ctx.require(Equal(Axis("x", axis, left), Axis("indices", axis, right)))


@primitive(
    "onnx.deform_conv",
    "x: tensor, weight: tensor, offset: tensor, bias: tensor = none, mask: tensor = none, strides: sizes = none, "
    "pads: pairs = none, dilations: sizes = none, groups: int = 1, offset_groups: int = 1",
    "T:floating, T, T, T, T -> T",
    traits=WINDOWS,
)
def deform_conv(
    ctx: Ctx,
    x: TensorInfo,
    weight: TensorInfo,
    offset: TensorInfo,
    bias: TensorInfo | None,
    mask: TensorInfo | None,
    strides: Shape | None,
    pads: Pairs | None,
    dilations: Shape | None,
    groups: int,
    offset_groups: int,
) -> Shape:
    """Convolution whose kernel reads the image at positions moved by `offset`, each weighted by `mask`. ONNX DeformConv, over
    two spatial axes."""
    for name, value in (("groups", groups), ("offset_groups", offset_groups)):
        attribute_at_least(ctx, name, 1, value)
    a = ranked(ctx, "x", x, 4, "[batch, channels, height, width]")
    w = ranked(ctx, "weight", weight, 4)
    own = Axis("x", 1, a[1], "its channels")
    ctx.require(Is(own, Times(Number(groups, "groups"), Axis("weight", 1, w[1]))))
    for axis, count in ((Axis("weight", 0, w[0]), groups), (own, offset_groups)):
        if count != 1:
            ctx.require(Multiple(axis, Number(count), "the groups"))
    if bias is not None:
        ctx.require(Equal(Axis("bias", 0, ranked(ctx, "bias", bias, 1)[0]), Axis("weight", 0, w[0])))
    steps, gaps = spatial_sizes(ctx, "strides", strides, 2), spatial_sizes(ctx, "dilations", dilations, 2)
    padding = spatial_pads(ctx, pads, "notset", 2)
    sizes = tuple(
        count_windows(ctx, a[i + 2], Windows(extent(w[i + 2], gaps[i]), steps[i], *padding[i]), i + 2, (("x", i + 2),))
        for i in range(2)
    )
    taps = offset_groups * w[2] * w[3]
    for name, operand, channels in (("offset", offset, 2 * taps), ("mask", mask, taps)):
        if operand is not None:
            _beside(ctx, name, operand, (a[0], channels, *sizes))
    return (a[0], w[0], *sizes)


def _beside(ctx: Ctx, name: str, operand: TensorInfo, wanted: Shape) -> None:
    """Require an operand to have an entry for each place of the kernel and of the result."""
    dims = ranked(ctx, name, operand, 4)
    for axis, size in enumerate(wanted):
        ctx.require(Other("{0} to fit the result", (Axis(name, axis, dims[axis]),)), ctx.eq(dims[axis], size))
