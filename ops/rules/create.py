"""New tensors, tensors like others, other dtypes, and conversions between sizes and tensors."""

from __future__ import annotations

from typing import Any

from ...lang.dtypes import DTYPES, DType
from ...lang.node import Node
from .. import ranges
from ..arranged import indices_of
from ..axes import Shape, known_shape, not_negative, product
from ..casts import attribute, beyond, castable
from ..model import TRACKED, AnyDType, Ctx, Dim, Out, Primitive, RankUnknown, Segment, TensorInfo, Trait
from ..operands import choice, ranked
from ..registry import parse_params, primitive, register
from ..requirements import Argument, NotZero, OfRank, Other, SizeEntry
from ..tracked import count_of, each, integers
from ..tracking import cast_element, stored

_INT64 = DTYPES["int64"]


def _sizes(ctx: Ctx, shape: Shape, name: str = "shape") -> Shape:
    """The shape; requires that no size is negative."""
    for axis, size in enumerate(shape):
        if not isinstance(size, int | Segment) or (isinstance(size, int) and size < 0):
            not_negative(ctx, SizeEntry(name, axis, size, "size"))
    return shape


def _size(ctx: Ctx, size: Dim, name: str) -> Dim:
    not_negative(ctx, Argument(name, size))
    return size


def _repeated(ctx: Ctx, shape: Shape, value: Any, dtype: AnyDType | None) -> Out:
    """A tensor with one value throughout."""
    count, value = count_of(shape), cast_element(ctx, value, dtype)
    if count is not None:
        return Out(shape, (value,) * count)
    is_size = value is not None and not isinstance(value, Node)
    return Out(shape, None, ranges.counting(ctx, value, 0, shape, dtype) if is_size else ())


def _constant(name: str, value: int) -> None:
    def filled(ctx: Ctx, shape: Shape, dtype: AnyDType | None) -> Out:
        return _repeated(ctx, _sizes(ctx, shape), value, DTYPES["float32"] if dtype is None else dtype)

    def like(ctx: Ctx, x: TensorInfo, dtype: AnyDType | None) -> Out:
        return _repeated(ctx, known_shape(ctx, x), value, x.dtype if dtype is None else dtype)

    doc = f"A tensor of the given shape in which every element is {value}, float32 if no dtype is given."
    params = parse_params("shape: shape, dtype: dtype = none")
    register(Primitive(name, params, "-> float32=dtype", filled, doc, needs={"shape": "exact"}))
    doc = f"A tensor of the shape and dtype of x (or another dtype) in which every element is {value}."
    params = parse_params("x: tensor, dtype: dtype = none")
    register(Primitive(f"{name}_like", params, "T:any -> T=dtype", like, doc, elementwise=True))


_constant("zeros", 0)
_constant("ones", 1)


@primitive(
    "full", "shape: shape, value: tensor, dtype: dtype = none", "T:any -> T=dtype",
    onnx=("ConstantOfShape",), needs={"shape": "exact"}, traits=[Trait.SPELT],
)  # fmt: skip
def full(ctx: Ctx, shape: Shape, value: TensorInfo, dtype: AnyDType | None) -> Out:
    """A tensor of the given shape in which every element is `value`, a number or a rank-0 tensor; of the dtype of `value` if
    no other is given."""
    _scalar(ctx, value, "value")
    if dtype is not None:
        castable(ctx, "value", value.dtype, dtype)
    return _repeated(ctx, _sizes(ctx, shape), _only(value), value.dtype if dtype is None else dtype)


@primitive(
    "full_like", "x: tensor, value: tensor, dtype: dtype = none", "T:any, U:any -> T=dtype", traits=[Trait.SPELT]
)
def full_like(ctx: Ctx, x: TensorInfo, value: TensorInfo, dtype: AnyDType | None) -> Out:
    """A tensor of the shape and dtype of x (or another dtype) in which every element is `value`, a number or a rank-0
    tensor, cast to that dtype."""
    _scalar(ctx, value, "value")
    shape, target = known_shape(ctx, x), x.dtype if dtype is None else dtype
    castable(ctx, "value", value.dtype, target)
    return _repeated(ctx, shape, _only(value), target)


def _only(x: TensorInfo) -> Any:
    """The element of a tensor of one element, if known."""
    return x.data[0] if x.data is not None and len(x.data) == 1 else None


def _scalar(ctx: Ctx, x: TensorInfo, name: str) -> None:
    given, phrase = (Argument(name),), "{0} to be a number or a rank-0 tensor"
    try:
        rank = ctx.rank(x)
    except RankUnknown:
        ctx.leave_open(OfRank(phrase, given, "its rank is not known"))
        return
    if rank != 0:
        ctx.fail(OfRank(phrase, given, f"its rank is {rank}"))


@primitive(
    "arange", "start: size, stop: size = none, step: size = 1, dtype: dtype = none", "-> int64=dtype",
    onnx=("Range",), needs={"start": "exact", "stop": "exact", "step": "exact"},
)  # fmt: skip
def arange(ctx: Ctx, start: Dim, stop: Dim | None, step: Dim, dtype: AnyDType | None) -> Out:
    """The numbers start, start + step, ... that come before `stop`, as int64 or in `dtype`; `arange(n)` counts from 0.

    The size is max(0, ceildiv(stop - start, step)), for a negative step max(0, ceildiv(start - stop, -step)). A step of
    0 is refused, and so are numbers beyond int64, in uint64 those beyond that.
    """
    first, last = (0, start) if stop is None else (start, stop)
    leads_on(ctx, "step", step)
    if type(first) is type(last) is type(step) is int and (far := beyond(range(first, last, step), str(dtype))):
        try:  # a value that no element can hold is an unproved claim, and refused at run time
            ctx.leave_open(Other(far))
        except RankUnknown:
            ctx.fail(Other(far))
    length = steps_of(ctx, first, last, step)
    target = _INT64 if dtype is None else dtype
    data = _progression(ctx, first, step, length, target)
    if data is not None:
        return Out((length,), data)
    return Out((length,), None, ranges.counting(ctx, first, step, (length,), target, refused=target == _INT64))


def leads_on(ctx: Ctx, name: str, step: Dim) -> None:
    """Require a step not to be 0."""
    if isinstance(step, int) and step == 0:
        ctx.fail(NotZero(Argument(name, step)))
    ctx.require(NotZero(Argument(name, step)))


def steps_of(ctx: Ctx, first: Dim, last: Dim, step: Dim) -> Dim:
    """The number of values first, first + step, ... before the last, for a step that is not 0."""
    if ctx.decide(ctx.lt(0, step)) is True:
        distance, stride = last - first, step
    elif ctx.decide(ctx.lt(step, 0)) is True:
        distance, stride = first - last, -step
    else:
        return ctx.fresh("count", 0, ctx.max(last - first, first - last))
    length = distance if isinstance(stride, int) and stride == 1 else ctx.ceildiv(distance, stride)
    return length if ctx.decide(ctx.le(0, length)) is True else ctx.max(0, length)


def _progression(ctx: Ctx, first: Dim, step: Dim, length: Dim, dtype: AnyDType | None) -> Any:
    if not isinstance(length, int) or length > TRACKED:
        return None
    return tuple(stored(ctx, first + i * step, dtype) for i in range(length))


@primitive(
    "linspace", "start: float, stop: float, num: size, endpoint: bool = true, dtype: dtype = none", "-> float32=dtype",
    needs={"num": "exact"},
)  # fmt: skip
def linspace(ctx: Ctx, start: float, stop: float, num: Dim, endpoint: bool, dtype: AnyDType | None) -> Shape:
    """`num` numbers at equal distances from `start` to `stop`, without the last one if `endpoint` is false; float32 if
    no other floating dtype is given."""
    if dtype is not None:
        attribute(ctx, dtype, "floating", "complex")
    return (_size(ctx, num, "num"),)


@primitive(
    "eye", "n: size, m: size = none, k: int = 0, dtype: dtype = none", "-> float32=dtype",
    onnx=("EyeLike",), needs={"n": "exact", "m": "exact"},
)  # fmt: skip
def eye(ctx: Ctx, n: Dim, m: Dim | None, k: int, dtype: AnyDType | None) -> Out:
    """An [n, m] matrix (m is n if it is left out) with 1 on diagonal `k` (above the main one if positive), else 0."""
    rows = _size(ctx, n, "n")
    shape: Shape = (rows, rows if m is None else _size(ctx, m, "m"))
    if count_of(shape) is None:
        return Out(shape)
    target = DTYPES["float32"] if dtype is None else dtype
    return Out(shape, tuple(stored(ctx, int(j - i == k), target) for i, j in indices_of(shape)))


@primitive(
    "one_hot", "indices: index, depth: size, dtype: dtype = none", "I:integer -> float32=dtype",
    onnx=("OneHot",), needs={"depth": "exact"},
)  # fmt: skip
def one_hot(ctx: Ctx, indices: TensorInfo | Dim, depth: Dim, dtype: AnyDType | None) -> Out:
    """For each index a row of `depth` elements, 1 at the index and 0 elsewhere: `[*s]` gives `[*s, depth]`, float32 if
    no dtype is given.

    A negative index counts from the end; one outside of [-depth, depth) gives a row of zeros (ONNX OneHot).
    """
    size: Any = _size(ctx, depth, "depth")
    shape = (*known_shape(ctx, indices), size) if isinstance(indices, TensorInfo) else (size,)
    places = integers(indices.data) if isinstance(indices, TensorInfo) else integers((indices,))
    if places is None or count_of(shape) is None:
        return Out(shape)
    target = DTYPES["float32"] if dtype is None else dtype
    hot = (i in (place, place + size) for place in places for i in range(size))
    return Out(shape, tuple(stored(ctx, int(h), target) for h in hot))


@primitive("meshgrid", 'xs: tensors, indexing: str = "xy"', "any... -> ...", results="tuple")
def meshgrid(ctx: Ctx, xs: tuple[TensorInfo, ...], indexing: str) -> list[Out]:
    """The coordinates of a grid: for each of the tensors, `[m]`, `[n]`, ..., one of the shape `[n, m, ...]`, or `[m, n, ...]`
    with `indexing` "ij", whose elements change along its own axis only.

    At least one tensor, all of rank 1, each of its own dtype. Array API `meshgrid`.
    """
    choice(ctx, "indexing", indexing, ("xy", "ij"))
    if not xs:
        ctx.fail(Other("at least one tensor in {0}", (Argument("xs"),), blamed=()))
    sizes = [ranked(ctx, f"xs[{n}]", x, 1)[0] for n, x in enumerate(xs)]
    at = [*range(len(xs))]
    if indexing == "xy":
        sizes[:2], at[:2] = sizes[1::-1], at[1::-1]
    return [Out(tuple(sizes), None, ranges.laid(x, i, len(xs)), x.dtype) for x, i in zip(xs, at, strict=True)]


@primitive("cast", "x: tensor, dtype: dtype", "T:any -> =dtype", elementwise=True, onnx=("Cast",), traits=[Trait.SPELT])
def cast(ctx: Ctx, x: TensorInfo, dtype: AnyDType | None) -> Out:
    """The elements of x in another dtype: a float becomes an integer by dropping the fraction, an integer that does not
    fit wraps around, and every number but 0 is true. Complex numbers become complex ones, booleans or strings only. A string
    becomes the number that it spells; one that spells none ends the run.

    The result has the operand's shape.
    """
    castable(ctx, "x", x.dtype, dtype)
    shape = known_shape(ctx, x)
    data = None if x.data is None else each(lambda e: cast_element(ctx, e, dtype), x.data)
    return Out(shape, data, ranges.cast(ctx, x, dtype) if data is None else ())


# Between sizes and tensors


@primitive("shape", "x: tensor", "T:any -> int64", onnx=("Shape",))
def shape_(ctx: Ctx, x: TensorInfo) -> Out:
    """The sizes of x as a rank-1 int64 tensor."""
    try:
        dims = ctx.dims(x)
    except RankUnknown:
        return Out((ctx.fresh("rank"),))
    return Out((len(dims),), dims)


@primitive("size", "x: tensor", "T:any -> int64", onnx=("Size",))
def size_(ctx: Ctx, x: TensorInfo) -> Out:
    """The number of elements of x, the product of its sizes, as a rank-0 int64 tensor."""
    try:
        return Out((), (stored(ctx, product(ctx.dims(x)), _INT64),))
    except RankUnknown:
        return Out(())


@primitive("size_to_tensor", "n: size, dtype: dtype = none", "-> int64=dtype", refuses="n")
def size_to_tensor(ctx: Ctx, n: Dim, dtype: AnyDType | None) -> Out:
    """A size as a rank-0 tensor, int64 if no other dtype of numbers is given; an integer that does not fit wraps around."""
    if dtype is not None:
        attribute(ctx, dtype, "integer", "floating", "complex")
    return Out((), (stored(ctx, n, _INT64 if dtype is None else dtype),))


@primitive("item", "t: tensor", "T:integer ->", results="size")
def item(ctx: Ctx, t: TensorInfo) -> Dim:
    """The element of a rank-0 integer tensor as a size, which may be negative: a runtime scalar, one fixed value
    wherever it occurs."""
    _scalar(ctx, t, "t")
    if t.sizes is not None:
        known: Dim = t.sizes
        return known
    unsigned = isinstance(t.dtype, DType) and t.dtype.kind == "uint"
    return ctx.fresh("item", at_least=0 if unsigned else None)
