"""Counts, quantiles and differences."""

from __future__ import annotations

from ..axes import Shape, axis_of, known_shape, larger, not_negative, number, put, shape_and_axis
from ..model import Ctx, Dim, RankUnknown, Segment, TensorInfo
from ..operands import choice, ranked
from ..registry import primitive
from ..requirements import Argument, Axis, Equal, OfRank
from .reduce import not_empty, reduced


@primitive("count_nonzero", "x: tensor, axis: ints = none, keepdims: bool = false", "T:any -> int64")
def count_nonzero(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool) -> Shape:
    """The number of elements that are not 0, false or empty over `axis`, one axis or several, all of them if it is left out.

    The result has the other axes; with `keepdims` the reduced ones stay, with size 1. Array API `count_nonzero`.
    """
    return reduced(ctx, x, axis, keepdims)[0]


_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


@primitive(
    "quantile",
    'x: tensor, q: tensor, axis: ints = none, keepdims: bool = false, method: str = "linear"',
    "T:floating, T -> T",
    refuses="q",
)
def quantile(
    ctx: Ctx, x: TensorInfo, q: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool, method: str
) -> Shape:
    """The `q`-quantile of the elements over `axis`, one axis or several, all of them if it is left out: 0.5 gives the median.

    The result has the shape of q, whose elements are from 0 to 1 (checked on the values), and then the other axes of x; with
    `keepdims` the reduced ones stay, with size 1. A reduced axis of size 0 is refused; nan if there is a nan. `method`
    decides between two elements: linear, lower, higher, nearest or midpoint. `numpy.quantile`.
    """
    choice(ctx, "method", method, _METHODS)
    shape, gone = reduced(ctx, x, axis, keepdims)
    not_empty(ctx, x, gone)
    return (*known_shape(ctx, q), *shape)


@primitive("bincount", "x: tensor, length: size", "I:integer -> int64", needs={"length": "exact"}, refuses="x")
def bincount(ctx: Ctx, x: TensorInfo, length: Dim) -> Shape:
    """How often each number from 0 to length - 1 occurs in `x : [n]`: `[length]`.

    Any other element ends the run. JAX's `bincount`.
    """
    ranked(ctx, "x", x, 1)
    not_negative(ctx, Argument("length", length))
    return (length,)


@primitive(
    "diff",
    "x: tensor, axis: int = -1, n: size = 1, prepend: tensor = none, append: tensor = none",
    "T:numeric, T, T -> T",
)
def diff(ctx: Ctx, x: TensorInfo, axis: int, n: Dim, prepend: TensorInfo | None, append: TensorInfo | None) -> Shape:
    """Each element along `axis` minus the one before it, repeated n times: the size becomes max(0, size - n).

    `prepend` and `append` are put before and after x first; their other sizes are those of x. n is not negative. Array API
    `diff`.
    """
    shape, i = shape_and_axis(ctx, x, axis)
    not_negative(ctx, Argument("n", n))
    length = shape[i]
    for name, other in (("prepend", prepend), ("append", append)):
        if other is not None:
            length = length + _joined(ctx, shape, i, name, known_shape(ctx, other))
    return put(shape, i, larger(ctx, length - n, 0))


def _joined(ctx: Ctx, shape: Shape, i: int, name: str, other: Shape) -> Dim:
    """The size along the axis of the operand `name`, which is put beside x; requires its other sizes to be those of x."""
    if [isinstance(d, Segment) for d in shape] != [isinstance(d, Segment) for d in other]:
        if any(isinstance(d, Segment) for d in (*shape, *other)):
            raise RankUnknown
        phrase = f"{{0}} to have rank {len(shape)}, the rank of {{1}}"
        given = (Argument(name), Argument("x"))
        ctx.fail(OfRank(phrase, given, f"it is {len(other)}", ((name, None),), len(shape)))
    for j, (size, own) in enumerate(zip(shape, other, strict=True)):
        if isinstance(size, Segment):
            if size != own:
                raise RankUnknown
        elif j != i:
            ctx.require(Equal(Axis(name, number(other, j), own), axis_of("x", shape, j)))
    return other[i]  # type: ignore[no-any-return]
