"""ONNX's operators that move elements, with sizes and axes as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...lang.dtypes import DTYPES
from ...lang.node import replace
from .. import ranges
from ..axes import Shape, is_plain, known_shape, not_negative, place, product, total
from ..broadcast import broadcast
from ..model import (
    WILDCARD,
    AnyDType,
    Cond,
    Ctx,
    Dim,
    ElementRange,
    Out,
    RankUnknown,
    Segment,
    TensorInfo,
    Trait,
    Truth,
)
from ..operands import ranked
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, Equal, Is, Narrower, Number, Other, SizeEntry
from ..slices import of_model
from ..tracked import Ratio, count_of, elements as tracked_elements
from .create import leads_on, steps_of
from .parts import pad, padded_axes, slice_, split
from .shape import expand_dims, reshape, squeeze

_INT64 = DTYPES["int64"]


def elements(ctx: Ctx, x: TensorInfo) -> tuple[Dim | None, ...]:
    """The elements of an integer tensor in row-major order, None for an unknown one; raises RankUnknown if even their number
    is unknown."""
    found = tracked_elements(x, ctx.dims(x))
    if found is None:
        raise RankUnknown
    return tuple(_size_of(e) for e in found)


def _size_of(element: object) -> Dim | None:
    """An element as a size; a float only if it surely is an integer."""
    if isinstance(element, Ratio):
        return element.num if element.den == 1 and not element.limits else None
    return None if isinstance(element, Truth) else element  # type: ignore[return-value]


def bounds(ctx: Ctx, x: TensorInfo, name: str) -> tuple[Dim, ...]:
    """The same, with new integers of any sign in place of unknown ones."""
    return tuple(ctx.fresh(name, None) if e is None else e for e in elements(ctx, x))


def scalar(ctx: Ctx, name: str, x: TensorInfo, least: int | None = 0) -> Dim:
    """The only number in a tensor; requires it to be at least `least`, if given."""
    one_element(ctx, name, x)
    found = tracked_elements(x, ctx.dims(x))
    size = _size_of(found[0]) if found else None
    if size is None:
        return ctx.fresh(name, least)
    if least is not None and (not isinstance(size, int) or size < least):
        ctx.require(AtLeast(Argument(name, size), least))
    return size


def one_element(ctx: Ctx, name: str, given: TensorInfo | None) -> None:
    """Require a tensor of any rank to have one element."""
    for at, size in enumerate(ctx.dims(given) if given is not None else ()):
        ctx.require(Is(Axis(name, at, size), Number(1)))


def literals(ctx: Ctx, x: TensorInfo) -> tuple[int, ...]:
    """The elements as literal integers, on which the result depends; raises RankUnknown if one is unknown."""
    found = tuple(e for e in elements(ctx, x) if isinstance(e, int))
    if len(found) < len(elements(ctx, x)):
        raise RankUnknown
    return found


@primitive(
    "onnx.reshape", "x: tensor, shape: tensor, allowzero: bool = false, computed: ints = none", "T:any, I:{int64} -> T",
    traits=[Trait.REGROUPS],
)  # fmt: skip
def onnx_reshape(ctx: Ctx, x: TensorInfo, shape: TensorInfo, allowzero: bool, computed: tuple[int, ...] | None) -> Out:
    """The same elements in another shape: a 0 stands for the operand's own size of that axis, unless `allowzero`, and one -1
    for the remaining size.

    Sizes at the axes in `computed` are computed ones: a -1 there is refused, and a 0 unless the operand's own size is 0. If a
    call is left to the run, the checker passes the axes whose sizes it knows as formulas, because the inferred shape rests on
    them. Then the size of any other axis with a formula is unknown, because it may be a 0. ONNX Reshape.
    """
    ranked(ctx, "shape", shape, 1)
    source, given = known_shape(ctx, x), elements(ctx, shape)
    formulas = tuple(i for i, size in enumerate(given) if size is not None and not isinstance(size, int))
    ctx.rest_on("computed", formulas)
    plain = formulas if computed is None else computed
    if not set(plain) <= set(range(len(given))):
        ctx.fail(Other("{0} to be axes of the result, from 0 on", (Argument("computed"),)))
    known = [None if i in formulas and i not in plain else size for i, size in enumerate(given)]
    wanted = [_size(ctx, source, axis, size, allowzero, axis in plain) for axis, size in enumerate(known)]
    if WILDCARD in wanted:
        beside = Other("the sizes beside the -1 in {0} to be at least 1", (Argument("shape"),), blamed=())
        ctx.require(beside, ctx.all_of(*(ctx.le(1, size) for size in wanted if size is not WILDCARD)))
    return reshape(ctx, x, tuple(wanted))  # type: ignore[no-any-return]


def _size(ctx: Ctx, source: Shape, axis: int, size: Dim | None, allowzero: bool, is_computed: bool) -> Any:
    if size is None:
        return ctx.fresh("size")
    if is_computed:
        if not allowzero and is_plain(source):
            _is_meant(ctx, source, axis, size)
        return size
    if isinstance(size, int) and size == -1:
        return WILDCARD
    return _own(ctx, source, axis) if isinstance(size, int) and size == 0 and not allowzero else size


def _is_meant(ctx: Ctx, source: Shape, axis: int, size: Dim) -> None:
    """Require that a computed size is not 0, which would stand for the operand's own size, unless that is 0 too."""
    if axis >= len(source):
        ctx.require(_no_zero(), not_zero(ctx, size))
    else:
        ctx.require(_own_zero(axis), ctx.any_of(not_zero(ctx, size), ctx.eq(source[axis], 0)))


def not_zero(ctx: Ctx, size: Dim) -> Cond:
    """The condition that a size is not 0: at least 1, if it is never negative."""
    return ctx.le(1, size) if ctx.decide(ctx.le(0, size)) is True else ctx.ne(size, 0)


def _own(ctx: Ctx, source: Shape, axis: int) -> Dim:
    if any(isinstance(d, Segment) for d in source[: axis + 1]):
        raise RankUnknown
    if axis >= len(source):
        ctx.fail(_no_zero())
    own: Dim = source[axis]
    return own


def _own_zero(axis: int) -> Narrower:
    phrase = f"no 0 for axis {axis} in {{0}}, which stands for the size that this axis of {{1}} has, where that is another one"
    return Narrower(phrase, (Argument("shape"), Argument("x")), blamed=())


def _no_zero() -> Other:
    return Other("no 0 in {0} behind the axes of the operand", (Argument("shape"),))


@primitive("onnx.shape", "x: tensor, start: int = 0, end: int = none", "T:any -> int64")
def onnx_shape(ctx: Ctx, x: TensorInfo, start: int, end: int | None) -> Out:
    """The sizes of the axes from `start` to before `end`, both clamped. ONNX Shape."""
    dims = ctx.dims(x)[slice(start, end)]
    return Out((len(dims),), dims)


@primitive("onnx.flatten", "x: tensor, axis: int = 1", "T:any -> T", traits=[Trait.REGROUPS])
def onnx_flatten(ctx: Ctx, x: TensorInfo, axis: int) -> Out:
    """A matrix: the axes before `axis` as one, and the others as one. ONNX Flatten."""
    dims = ctx.dims(x)
    at = axis if axis == len(dims) else place(ctx, dims, axis)
    shape = product(dims[:at]), product(dims[at:])
    return Out(shape, None, ranges.refitted(x, dims, shape))


@primitive("onnx.expand", "x: tensor, shape: tensor", "T:any, I:{int64} -> T")
def onnx_expand(ctx: Ctx, x: TensorInfo, shape: TensorInfo) -> Out:
    """The operand broadcast together with a shape: a 1 there keeps the operand's own size. ONNX Expand."""
    ranked(ctx, "shape", shape, 1)
    wanted = tuple(ctx.fresh("size", None) if e is None else e for e in elements(ctx, shape))
    for axis, size in enumerate(wanted):
        not_negative(ctx, SizeEntry("shape", axis, size))
    own = known_shape(ctx, x)
    made = broadcast(ctx, own, wanted, names=("x", "shape"), entries=(0, len(wanted)))
    return Out(made, None, ranges.spread(x, own, made))


@primitive("onnx.unsqueeze", "x: tensor, axes: tensor", "T:any, I:{int64} -> T", traits=[Trait.REGROUPS])
def onnx_unsqueeze(ctx: Ctx, x: TensorInfo, axes: TensorInfo) -> Out:
    """New axes of size 1 at given places of the result. ONNX Unsqueeze."""
    if not all(isinstance(e, int) for e in elements(ctx, axes)):
        shape = known_shape(ctx, x)
        return Out(tuple(ctx.fresh("size") for _ in (*shape, *elements(ctx, axes))) if is_plain(shape) else _open())
    return expand_dims(ctx, x, literals(ctx, axes))  # type: ignore[no-any-return]


def _open() -> Shape:
    raise RankUnknown


@primitive("onnx.squeeze", "x: tensor, axes: tensor", "T:any, I:{int64} -> T", traits=[Trait.REGROUPS])
def onnx_squeeze(ctx: Ctx, x: TensorInfo, axes: TensorInfo) -> Out:
    """Axes of size 1 removed. ONNX Squeeze."""
    return squeeze(ctx, x, literals(ctx, axes))  # type: ignore[no-any-return]


@primitive(
    "onnx.slice",
    "x: tensor, starts: tensor, ends: tensor, axes: tensor = none, steps: tensor = none",
    "T:any, I:{int32, int64}, I, I, I -> T",
)
def onnx_slice(
    ctx: Ctx, x: TensorInfo, starts: TensorInfo, ends: TensorInfo, axes: TensorInfo | None, steps: TensorInfo | None
) -> Out:
    """A part along some axes, with Python's rule for bounds; the least and the greatest int32 count as those of int64. ONNX
    Slice."""
    (count,) = ranked(ctx, "starts", starts, 1)
    for name, given in (("ends", ends), ("axes", axes), ("steps", steps)):
        if given is not None and ranked(ctx, name, given, 1) != (count,):
            ctx.require(Equal(Axis(name, 0, ctx.dims(given)[0]), Axis("starts", 0, count)))
    if tracked_elements(starts, (count,)) is None:
        return _of_some_bounds(ctx, x)
    along = None if axes is None else literals(ctx, axes)
    by = None if steps is None else bounds(ctx, steps, "step")
    first, last = (tuple(map(of_model, bounds(ctx, t, name))) for t, name in ((starts, "start"), (ends, "end")))
    return slice_(ctx, x, first, last, along, by, False)  # type: ignore[no-any-return]


def _of_some_bounds(ctx: Ctx, x: TensorInfo) -> Out:
    """The result for an unknown number of bounds: any axis may be shorter."""
    ctx.leave_open(Other("each of its bounds to be along another axis of {0}", (Argument("x"),)))
    return Out(tuple(ctx.fresh("size", 0, size) for size in ctx.dims(x)))


@primitive(
    "onnx.split", "x: tensor, sizes: tensor, axis: int = 0, count: int = 1", "T:any, I:{int64} -> T...", results="tuple"
)
def onnx_split(ctx: Ctx, x: TensorInfo, sizes: TensorInfo, axis: int, count: int) -> list[Any]:
    """Parts of given sizes along one axis. ONNX Split."""
    ctx.require(Equal(Argument("sizes", ranked(ctx, "sizes", sizes, 1)[0]), Number(count)))
    parts = tuple(ctx.fresh("size") if e is None else e for e in elements(ctx, sizes))
    return split(ctx, x, None, parts, None, axis, False)  # type: ignore[no-any-return]


@primitive(
    "onnx.pad",
    'x: tensor, pads: tensor, value: tensor = none, axes: tensor = none, mode: str = "constant"',
    "T:any, I:{int64}, T, J:{int32, int64} -> T",
)
def onnx_pad(
    ctx: Ctx, x: TensorInfo, pads: TensorInfo, value: TensorInfo | None, axes: TensorInfo | None, mode: str
) -> Shape:
    """Elements added before and after along some axes, or removed if a number is negative: `pads` has all numbers before,
    then all after. ONNX Pad."""
    numbers = bounds(ctx, pads, "pad")
    half, odd = divmod(len(numbers), 2)
    if odd:
        ctx.fail(Other("a pair in {0} for each axis", (Argument("pads"),), f"its length is {len(numbers)}", ()))
    pairs = tuple(zip(numbers[:half], numbers[half:], strict=True))
    along = None if axes is None else literals(ctx, axes)
    shape = ctx.dims(x)
    places = padded_axes(ctx, shape, pairs, along)
    if mode == "constant":
        return _grown(ctx, shape, pairs, places)
    kept = _cropped(ctx, shape, pairs, places)
    added = tuple((_added(low), _added(high)) for low, high in pairs)
    return pad(ctx, replace(x, shape=kept, data=None), added, mode, None, along)  # type: ignore[no-any-return]


def _grown(ctx: Ctx, shape: Shape, pairs: tuple[tuple[Dim, Dim], ...], places: Sequence[int]) -> Shape:
    """The sizes with their pads; a negative pad removes elements, even those that the other pad adds."""
    sizes = list(shape)
    for axis, (low, high) in zip(places, pairs, strict=True):
        sizes[axis] = total((low, shape[axis], high))
        left = Other(f"the pads of axis {axis} to leave 0 elements or more", (), "", (("x", axis), ("pads", None)))
        ctx.require(left, ctx.le(0, sizes[axis]))
    return tuple(sizes)


def _cropped(ctx: Ctx, shape: Shape, pairs: tuple[tuple[Dim, Dim], ...], places: Sequence[int]) -> Shape:
    """The sizes after negative pads, which remove elements; requires that there are enough."""
    left = list(shape)
    for axis, pair in zip(places, pairs, strict=True):
        gone = -sum(min(n, 0) for n in pair if isinstance(n, int))
        if gone:
            ctx.require(AtLeast(Axis("x", axis, shape[axis]), gone))
            left[axis] = shape[axis] - gone
    return tuple(left)


def _added(pad: Dim) -> Dim:
    return max(pad, 0) if isinstance(pad, int) else pad


@primitive("onnx.range", "start: tensor, limit: tensor, delta: tensor", "T:real, T, T -> T")
def onnx_range(ctx: Ctx, start: TensorInfo, limit: TensorInfo, delta: TensorInfo) -> Out:
    """The numbers start, start + delta, ... before limit. ONNX Range."""
    a, b, step = (_whole(ctx, name, t) for name, t in (("start", start), ("limit", limit), ("delta", delta)))
    if step is not None:
        leads_on(ctx, "delta", step)
    if a is None or b is None or step is None:
        return Out((ctx.fresh("count"),))
    count = steps_of(ctx, a, b, step)
    whole = start.dtype is None or str(start.dtype) in ("int16", "int32", "int64")
    data = tuple(a + i * step for i in range(count)) if whole and isinstance(count, int) and count <= 64 else None
    target = _INT64 if start.dtype is None else start.dtype
    return Out((count,), data, ranges.counting(ctx, a, step, (count,), target) if whole and data is None else ())


def _whole(ctx: Ctx, name: str, x: TensorInfo) -> Dim | None:
    """The integer in a tensor of one element; a float is required to be small enough to be exact."""
    known = tracked_elements(x, ctx.dims(x)) or ()
    found = known[0] if len(known) == 1 else None
    if not isinstance(found, Ratio):
        return _size_of(found)
    if found.den != 1:
        return None
    for size, most in found.limits:
        said = f"{{0}} to be at most {most}: integers above are not exact in its dtype"
        ctx.require(Other(said, (Argument(name),)), ctx.all_of(ctx.le(-most, size), ctx.le(size, most)))
    return found.num


@primitive(
    "onnx.one_hot", "indices: tensor, depth: tensor, values: tensor, axis: int = -1", "I:real, D:real, T:any -> T"
)
def onnx_one_hot(ctx: Ctx, indices: TensorInfo, depth: TensorInfo, values: TensorInfo, axis: int) -> Out:
    """A new axis of `depth` elements: the second of `values` at the index and the first elsewhere. ONNX OneHot."""
    dims = ctx.dims(indices)
    size = scalar(ctx, "depth", depth)
    (count,) = ranked(ctx, "values", values, 1)
    ctx.require(Is(Axis("values", 0, count), Number(2)))
    at = place(ctx, (*dims, 1), axis)
    made = (*dims[:at], size, *dims[at:])
    chosen = tracked_elements(indices, dims)
    if chosen is None or values.data is None or not isinstance(size, int) or not count_of(made):
        return Out(made)
    return Out(made, _ones_among(chosen, size, count_of(dims[at:]) or 1, values.data))


def _ones_among(chosen: Sequence[object], depth: int, inner: int, values: Sequence[object]) -> tuple[object, ...]:
    """The elements of a one-hot tensor, whose new axis stands before `inner` others; None for an unknown index."""
    off, on = values
    rows = [chosen[start : start + inner] for start in range(0, len(chosen), inner)]
    spots = ((i, place) for row in rows for place in range(depth) for i in row)
    return tuple((on if i in (place, place - depth) else off) if isinstance(i, int) else None for i, place in spots)


@primitive("onnx.nonzero", "x: tensor", "T:any -> int64")
def onnx_nonzero(ctx: Ctx, x: TensorInfo) -> Out:
    """The positions of the elements that are not 0, a column each: `[rank, k]`, for a number `[0, k]`. ONNX NonZero."""
    dims = ctx.dims(x)
    places = tuple(ElementRange(0, d - 1, column=(0, i)) for i, d in enumerate(dims))
    return Out((len(dims), ctx.fresh("k", 0, product(dims))), None, places)


@primitive("onnx.compress", "x: tensor, condition: tensor, axis: int = none", "T:any, bool -> T", selects="x")
def onnx_compress(ctx: Ctx, x: TensorInfo, condition: TensorInfo, axis: int | None) -> Shape:
    """The entries of an axis, or of all elements, where the condition is true; the longer of both is cut. ONNX Compress."""
    dims = ctx.dims(x)
    (most,) = ranked(ctx, "condition", condition, 1)
    if axis is None:
        return (ctx.fresh("k", 0, ctx.min(most, product(dims))),)
    at = place(ctx, dims, axis)
    return (*dims[:at], ctx.fresh("k", 0, ctx.min(most, dims[at])), *dims[at + 1 :])


@primitive("onnx.eye_like", "x: tensor, k: int = 0, dtype: dtype = none", "T:any -> T=dtype")
def onnx_eye_like(ctx: Ctx, x: TensorInfo, k: int, dtype: AnyDType | None) -> Shape:
    """A matrix of the operand's shape with 1 on a diagonal. ONNX EyeLike."""
    return ranked(ctx, "x", x, 2)
