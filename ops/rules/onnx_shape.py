"""ONNX's operators that move elements, where they mean something else than ours: sizes and axes come as tensors."""

from __future__ import annotations

from ..axes import Shape, known_shape
from ..model import WILDCARD, Ctx, Dim, Out, RankUnknown, Segment, TensorInfo
from ..registry import primitive
from ..requirements import Axis, Other
from .shape import reshape


def integers(ctx: Ctx, x: TensorInfo) -> tuple[Dim | None, ...]:
    """The elements of a rank-1 tensor of integers, as far as they are known; raises RankUnknown where not even their number
    is."""
    (size,) = ctx.dims(x)
    if isinstance(x.data, tuple):
        return x.data
    if not isinstance(size, int):
        raise RankUnknown
    return (None,) * size


@primitive("onnx.reshape", "x: tensor, shape: tensor, allowzero: bool = false", "T:any, I:{int64} -> T")
def onnx_reshape(ctx: Ctx, x: TensorInfo, shape: TensorInfo, allowzero: bool) -> Out:
    """The same elements in another shape, where a 0 is the operand's own size of that axis, unless `allowzero`, and one -1 is
    what is left. ONNX Reshape."""
    source = known_shape(ctx, x)
    wanted = [_size(ctx, source, axis, size, allowzero) for axis, size in enumerate(integers(ctx, shape))]
    return reshape(ctx, x, tuple(wanted))


def _size(ctx: Ctx, source: Shape, axis: int, size: Dim | None, allowzero: bool) -> object:
    if size is None:
        return ctx.fresh("size")
    if isinstance(size, int):
        if size == -1:
            return WILDCARD
        if size == 0 and not allowzero:
            return _own(ctx, source, axis)
    return size


def _own(ctx: Ctx, source: Shape, axis: int) -> Dim:
    if any(isinstance(d, Segment) for d in source[: axis + 1]):
        raise RankUnknown
    if axis >= len(source):
        ctx.fail(Other("no 0 in {0} behind the axes of the operand", ()))
    return source[axis]
