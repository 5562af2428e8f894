"""Primitives of linear algebra: products that contract axes, and diagonals."""

from __future__ import annotations

from typing import Any

from ...lang import codes
from ...lang.node import replace
from ..axes import Shape, axis_of, is_plain, known_shape, larger, place, places, put, same, smaller, without
from ..broadcast import broadcast
from ..einsum import Equation, parse_equation
from ..model import Ctx, Dim, RankUnknown, Segment, TensorInfo
from ..operands import layer, rank_at_least, ranked
from ..registry import primitive
from ..requirements import Argument, Axis, Equal, Is, Number, OfRank, Other


@primitive(
    "matmul",
    "x: tensor, y: tensor",
    "T:numeric, T -> T",
    onnx=("MatMul",),
    mismatch=codes.E305,
    made_of=((-1, "y", -1), (-2, "x", -2)),
    summed=(("x", -1), ("y", -2)),
)
def matmul(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Shape:
    """The matrix product: `[*s, m, k]` and `[*s, k, n]` give `[*s, m, n]`.

    Axis -1 of `x` equals axis -2 of `y`. Leading axes are broadcast. A rank-1 `x` is a row `[1, k]`, a rank-1 `y` a
    column `[k, 1]`, and that axis is dropped again; scalars are refused. Array API `matmul`, ONNX MatMul.
    """
    a, b = _operand(ctx, x, "x"), _operand(ctx, y, "y")
    if len(b) == 1 and not isinstance(b[0], Segment):
        _contract(ctx, a, b, -1)
        return a[:-1]
    if len(b) == 2 and not isinstance(b[0], Segment):
        _contract(ctx, a, b, -2)
        return (*a[:-1], b[-1])
    rows, columns = place(ctx, b, -2), place(ctx, b, -1)
    _contract(ctx, a, b, -2)
    if len(a) == 1:
        return (*b[:rows], b[columns])
    m = a[place(ctx, a, -2)]
    return (*broadcast(ctx, a[:-2], b[:-2], last=-3), m, b[columns])


def _operand(ctx: Ctx, x: TensorInfo, name: str) -> Shape:
    shape = known_shape(ctx, x)
    rank_at_least(ctx, name, shape, 1)
    return shape


def _contract(ctx: Ctx, a: Shape, b: Shape, axis: int) -> None:
    i, j = place(ctx, a, -1), place(ctx, b, axis)
    ctx.require(Equal(axis_of("x", a, i), axis_of("y", b, j)))


@primitive(
    "linear",
    "x: tensor, weight: tensor, bias: tensor = none",
    "T:numeric, T, T -> T",
    mismatch=codes.E305,
    made_of=((-1, "weight", 0),),
    summed=(("x", -1), ("weight", -1)),
)
def linear(ctx: Ctx, x: TensorInfo, weight: TensorInfo, bias: TensorInfo | None) -> Shape:
    """A dense layer: `x` times the transpose of `weight`, plus `bias`. `[*s, i]` and `[o, i]` give `[*s, o]`; `bias`
    is `[o]`.

    PyTorch's `linear`; ONNX Gemm with transB = 1.
    """
    source = _operand(ctx, x, "x")
    return layer(ctx, source, ranked(ctx, "weight", weight, 2, "[outputs, inputs]"), 1, bias)


@primitive("einsum", "equation: str, xs: tensors", "T:numeric... -> T", onnx=("Einsum",))
def einsum(ctx: Ctx, equation: str, xs: tuple[TensorInfo, ...]) -> Shape:
    """Products of labelled axes, summed over the labels that the result does not have: `einsum("bqhd,bkhd->bhqk", [q,
    k])`.

    Axes with one label have equal sizes (a size 1 is not stretched). A label twice in one term is a diagonal. `...`
    stands for further axes, which are broadcast and stand in the result. Without `->` the result has `...` first, then
    the labels that occur once, in alphabetical order. NumPy's `einsum`, ONNX Einsum.
    """
    eq = _parsed(ctx, equation, len(xs))
    sizes: dict[str, Axis] = {}
    spread: dict[str, Shape] = {}
    for n, (x, term) in enumerate(zip(xs, eq.terms, strict=True)):
        shape = known_shape(ctx, x)
        head, rest, tail = _match_term(ctx, shape, term, n)
        labelled = [*zip(term.head, range(head), strict=True)]
        labelled += zip(term.tail, range(len(shape) - tail, len(shape)), strict=True)
        for label, i in labelled:
            sizes[label] = _label(ctx, sizes.get(label), label, axis_of(f"xs[{n}]", shape, i))
        if term.ellipsis:
            spread[f"xs[{n}]"] = rest
    tails = {len(term.tail) for term in eq.terms if term.ellipsis}
    # If the terms end differently, an axis of "..." has no common number; None makes the message say "an axis".
    last: Any = -1 - tails.pop() if len(tails) == 1 else None
    shared = broadcast(ctx, *spread.values(), names=tuple(spread), last=last)
    if shared and not eq.result.ellipsis:
        ctx.fail(Other('"..." in the result of the equation, because it stands for axes of the operands'))
    named = {label: axis.size for label, axis in sizes.items()}
    return (*(named[c] for c in eq.result.head), *shared, *(named[c] for c in eq.result.tail))


def _parsed(ctx: Ctx, equation: str, count: int) -> Equation:
    parsed = parse_equation(equation)
    if isinstance(parsed, Other):
        ctx.fail(parsed)
    if len(parsed.terms) != count:
        phrase, but = "as many terms in the equation as tensors in {0}", f"they are {len(parsed.terms)} and {count}"
        ctx.fail(Other(phrase, (Argument("xs"),), but, ()))
    return parsed


def _match_term(ctx: Ctx, shape: Shape, term: Any, n: int) -> tuple[int, Shape, int]:
    """The number of axes before the ellipsis, the axes of the ellipsis, and the number of axes after it."""
    head, tail = len(term.head), len(term.tail)
    if any(isinstance(d, Segment) for d in (*shape[:head], *shape[len(shape) - tail :])):
        raise RankUnknown
    if not term.ellipsis and any(isinstance(d, Segment) for d in shape):
        raise RankUnknown
    least = head + tail
    if len(shape) < least or (len(shape) > least and not term.ellipsis):
        if any(isinstance(d, Segment) for d in shape):
            raise RankUnknown
        wanted = f"{least} or more" if term.ellipsis else f"{least}"
        phrase = f"{{0}} to have rank {wanted} (`{term}`)"
        ctx.fail(OfRank(phrase, (Argument(f"xs[{n}]"),), f"its rank is {len(shape)}", rank=least))
    return head, shape[head : len(shape) - tail], tail


def _label(ctx: Ctx, before: Axis | None, label: str, axis: Axis) -> Axis:
    """The size of a label, and the axis where it was first seen."""
    return axis if before is None else replace(before, size=same(ctx, before, axis, label))


@primitive(
    "tensordot",
    "x: tensor, y: tensor, axes: int = 2, x_axes: ints = none, y_axes: ints = none",
    "T:numeric, T -> T",
)
def tensordot(
    ctx: Ctx,
    x: TensorInfo,
    y: TensorInfo,
    axes: int,
    x_axes: tuple[int, ...] | None,
    y_axes: tuple[int, ...] | None,
) -> Shape:
    """Products summed over pairs of axes: the last `axes` of `x` with the first of `y`, or `x_axes` with `y_axes`.

    Paired sizes are equal; the result has the other axes of `x`, then those of `y`. Array API `tensordot`, whose
    `axes` is here either a number or the two lists.
    """
    a, b = known_shape(ctx, x), known_shape(ctx, y)
    left, right = _pairs(ctx, a, b, axes, x_axes, y_axes)
    for i, j in zip(left, right, strict=True):
        ctx.require(Equal(axis_of("x", a, i), axis_of("y", b, j)))
    kept = tuple(d for i, d in enumerate(a) if i not in left)
    return kept + tuple(d for j, d in enumerate(b) if j not in right)


def _pairs(
    ctx: Ctx, a: Shape, b: Shape, axes: int, x_axes: tuple[int, ...] | None, y_axes: tuple[int, ...] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if (x_axes is None) != (y_axes is None):
        ctx.fail(Other("both of x_axes and y_axes, or neither"))
    if x_axes is not None and y_axes is not None:
        if len(x_axes) != len(y_axes):
            but = f"they have {len(y_axes)} and {len(x_axes)}"
            ctx.fail(Other("as many axes in y_axes as in x_axes", but=but))
        return places(ctx, a, x_axes, "x_axes"), places(ctx, b, y_axes, "y_axes")
    most = min(len(a), len(b))
    if axes >= 0 and not is_plain((*a, *b)):
        return places(ctx, a, tuple(range(-axes, 0)), "axes"), places(ctx, b, tuple(range(axes)), "axes")
    if not 0 <= axes <= most:
        ctx.fail(OfRank(f"axes to be between 0 and {most}, the smaller of the two ranks", but=f"it is {axes}"))
    return tuple(range(len(a) - axes, len(a))), tuple(range(axes))


@primitive("vecdot", "x: tensor, y: tensor, axis: int = -1", "T:numeric, T -> T", summed=(("x", -1), ("y", -1)))
def vecdot(ctx: Ctx, x: TensorInfo, y: TensorInfo, axis: int) -> Shape:
    """The dot products along one axis, whose sizes are equal; the other axes are broadcast. Complex `x` is conjugated.

    Array API `vecdot`.
    """
    a, b = _operand(ctx, x, "x"), _operand(ctx, y, "y")
    i, j = place(ctx, a, axis), place(ctx, b, axis)
    ctx.require(Equal(axis_of("x", a, i), axis_of("y", b, j)))
    last = -2 if axis == -1 else -1
    return broadcast(ctx, without(a, i), without(b, j), last=last)


@primitive("cross", "x: tensor, y: tensor, axis: int = -1", "T:numeric, T -> T")
def cross(ctx: Ctx, x: TensorInfo, y: TensorInfo, axis: int) -> Shape:
    """The vector products along an axis of size 3; the other axes are broadcast. Array API `cross`."""
    a, b = _operand(ctx, x, "x"), _operand(ctx, y, "y")
    i, j = place(ctx, a, axis), place(ctx, b, axis)
    for name, shape, at in (("x", a, i), ("y", b, j)):
        ctx.require(Is(axis_of(name, shape, at), Number(3)))
    if axis >= 0 and len(a) != len(b):
        given = (Argument("x"), Argument("y"))
        ctx.fail(OfRank("a negative axis where {0} and {1} have different ranks", given, blamed=()))
    return broadcast(ctx, put(a, i, 3), put(b, j, 3))


# Diagonals


@primitive("diagonal", "x: tensor, offset: size = 0", "T:any -> T", selects="x")
def diagonal(ctx: Ctx, x: TensorInfo, offset: Dim) -> Shape:
    """A diagonal of the last two axes, as the last axis: `[*s, m, n]` gives `[*s, k]`.

    k is max(0, min(m + min(offset, 0), n - max(offset, 0))). Array API `linalg.diagonal`.
    """
    shape, rows, columns = _matrix(ctx, x)
    below = 0 - smaller(ctx, offset, 0)
    length = smaller(ctx, shape[rows] - below, shape[columns] - larger(ctx, offset, 0))
    return (*shape[:rows], larger(ctx, length, 0))


@primitive("trace", "x: tensor, offset: size = 0", "T:numeric -> T")
def trace(ctx: Ctx, x: TensorInfo, offset: Dim) -> Shape:
    """The sums of a diagonal of the last two axes: `[*s, m, n]` gives `[*s]`, with the operand's dtype.

    Array API `linalg.trace`.
    """
    shape, rows, _ = _matrix(ctx, x)
    return shape[:rows]


def _matrix(ctx: Ctx, x: TensorInfo) -> tuple[Shape, int, int]:
    shape = known_shape(ctx, x)
    rank_at_least(ctx, "x", shape, 2)
    return shape, place(ctx, shape, -2), place(ctx, shape, -1)
