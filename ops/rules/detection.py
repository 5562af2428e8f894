"""Boxes and sampling points: which boxes remain, and the values of an image at points or in boxes."""

from __future__ import annotations

from ..axes import Shape, indices, not_negative, smaller
from ..model import Ctx, Dim, Out, TensorInfo
from ..operands import attribute_at_least, choice, ranked
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, Equal, Is, Number, SizeEntry
from ..windows import per_axis


@primitive(
    "non_max_suppression",
    "boxes: tensor, scores: tensor, iou_threshold: float = 0.5, max_boxes: size = none, score_threshold: float = none",
    "T:floating, T -> int64",
)
def non_max_suppression(
    ctx: Ctx,
    boxes: TensorInfo,
    scores: TensorInfo,
    iou_threshold: float,
    max_boxes: Dim | None,
    score_threshold: float | None,
) -> Out:
    """The positions of the boxes that overlap no better box, the best first: `[n, 4]` and `[n]` give `[k]`, k at most n.

    A box is given by its corners (x1, y1, x2, y2), x1 <= x2 and y1 <= y2. Greedy: the remaining box with the highest score is
    kept (the first of equal ones), and all boxes whose intersection with it is more than `iou_threshold` times their union
    are dropped. At most `max_boxes` are kept, and only boxes with a score above `score_threshold`. torchvision's `nms`.
    """
    n, four = ranked(ctx, "boxes", boxes, 2, "[boxes, 4]")
    (count,) = ranked(ctx, "scores", scores, 1)
    ctx.require(Is(Axis("boxes", 1, four), Number(4)))
    ctx.require(Equal(Axis("boxes", 0, n), Axis("scores", 0, count)))
    if max_boxes is None:
        return indices(ctx, (ctx.fresh("k", 0, n),), n - 1)
    not_negative(ctx, Argument("max_boxes", max_boxes))
    return indices(ctx, (ctx.fresh("k", 0, smaller(ctx, n, max_boxes)),), n - 1)


@primitive(
    "grid_sample",
    'x: tensor, grid: tensor, mode: str = "linear", padding: str = "zeros", align_corners: bool = false',
    "T:floating, T -> T",
    onnx=("GridSample",),
)
def grid_sample(ctx: Ctx, x: TensorInfo, grid: TensorInfo, mode: str, padding: str, align_corners: bool) -> Shape:
    """Images sampled at points: `x : [n, c, h, w]` and `grid : [n, p, q, 2]` give `[n, c, p, q]`.

    A point is (x, y), along w and h: -1 and 1 are the borders of the image, or with `align_corners` the middles of the first
    and the last element. `mode` "linear" interpolates between four elements, "nearest" takes one (of two equally near the
    even one). `padding` says what lies beyond the image: "zeros", the "border", or its "reflection", for which h and w are at
    least 1. PyTorch's `grid_sample`.
    """
    choice(ctx, "mode", mode, ("linear", "nearest"))
    choice(ctx, "padding", padding, ("zeros", "border", "reflection"))
    n, c, h, w = ranked(ctx, "x", x, 4, "[batch, channels, height, width]")
    m, p, q, two = ranked(ctx, "grid", grid, 4, "[batch, height, width, 2]")
    ctx.require(Equal(Axis("x", 0, n), Axis("grid", 0, m)))
    ctx.require(Is(Axis("grid", 3, two), Number(2)))
    for axis, size in ((2, h), (3, w)):
        ctx.require(AtLeast(Axis("x", axis, size), 1))
    return (n, c, p, q)


@primitive(
    "roi_align",
    "x: tensor, boxes: tensor, batch_indices: tensor, output_shape: sizes, scale: float = 1.0, samples: size = 2, "
    'mode: str = "mean", aligned: bool = true',
    "T:floating, T, I:integer -> T",
    onnx=("RoiAlign",),
    needs={"output_shape": "exact"},
    refuses="batch_indices",
)
def roi_align(
    ctx: Ctx,
    x: TensorInfo,
    boxes: TensorInfo,
    batch_indices: TensorInfo,
    output_shape: Shape,
    scale: float,
    samples: Dim,
    mode: str,
    aligned: bool,
) -> Shape:
    """Images sampled in boxes, each cut into cells: `x : [n, c, h, w]` and `boxes : [r, 4]` give `[r, c, *output_shape]`.

    Box i, its corners (x1, y1, x2, y2) times `scale`, lies in image `batch_indices[i]` (`[r]`, checked on the values). A cell
    is the mean, or the largest (`mode` "max"), of samples * samples points in it, each interpolated between four elements;
    points more than one beyond the image are 0. With `aligned` the middle of the first element is at 0.5, else at 0 and boxes
    are at least 1 wide and high. One entry of `output_shape` holds for both axes; samples, h and w are at least 1.
    torchvision's `roi_align`.
    """
    choice(ctx, "mode", mode, ("mean", "max"))
    _, c, h, w = ranked(ctx, "x", x, 4, "[batch, channels, height, width]")
    r, four = ranked(ctx, "boxes", boxes, 2, "[boxes, 4]")
    (count,) = ranked(ctx, "batch_indices", batch_indices, 1)
    ctx.require(Is(Axis("boxes", 1, four), Number(4)))
    ctx.require(Equal(Axis("boxes", 0, r), Axis("batch_indices", 0, count)))
    attribute_at_least(ctx, "samples", 1, samples)
    for axis, size in ((2, h), (3, w)):
        ctx.require(AtLeast(Axis("x", axis, size), 1))
    sizes = per_axis(ctx, "output_shape", output_shape, 2)
    for i, size in enumerate(output_shape):
        not_negative(ctx, SizeEntry("output_shape", i, size))
    return (r, c, *sizes)
