"""Sequences, optional values and maps: ONNX's values that hold tensors, and the operators that fill and read them."""

from __future__ import annotations

from typing import Any

from ...lang.dtypes import DType
from ...lang.node import Node
from ..axes import Shape, place, product, put, total, without
from ..held import HeldElements, common, held, how_many, inside, of_items, out, same, taken
from ..model import AnyDType, Ctx, Out, ResultOpen, TensorInfo
from ..operands import rank_at_least
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, DTypeIn, Equal, OfRank, Other
from ..tracking import decided


@primitive("onnx.sequence", "xs: tensors", "T:any... -> sequence(T)")
def sequence(ctx: Ctx, xs: tuple[TensorInfo, ...]) -> Out:
    """A sequence of tensors of one dtype and of any shapes. ONNX SequenceConstruct."""
    if not xs:
        ctx.fail(Other("at least one tensor in {0}", (Argument("xs"),), blamed=()))
    return out(of_items(map(inside, xs), same(ctx)))


@primitive("onnx.empty", "dtype: dtype", "-> =dtype")
def empty(ctx: Ctx, dtype: AnyDType) -> Out:
    """An empty sequence or optional value of a type: `Sequence(float32)`. ONNX SequenceEmpty and Optional."""
    ctx.require_dtype(DTypeIn(Argument("dtype"), dtype, ("sequence", "optional"), attribute=True))
    return out(HeldElements((), None))


@primitive("onnx.sequence_length", "s: tensor", "S:sequence -> int64")
def sequence_length(ctx: Ctx, s: TensorInfo) -> Out:
    """The number of elements of a sequence. ONNX SequenceLength."""
    return Out((), (_count(ctx, "s", s),))


def _count(ctx: Ctx, param: str, s: TensorInfo) -> Any:
    """The number of values inside."""
    count = how_many(held(s))
    return ctx.held_in(param) if count is None else count


@primitive("onnx.sequence_at", "s: tensor, position: tensor", "S:sequence, I:integer -> element(S)", refuses="s")
def sequence_at(ctx: Ctx, s: TensorInfo, position: TensorInfo) -> Out:
    """The element at a position from -n to n - 1, negative from the end. ONNX SequenceAt."""
    known = held(s)
    at = _position(ctx, _count(ctx, "s", s), position, 0)
    return taken(ctx, s, known.each if at is None or known.items is None else known.items[at])


def _position(ctx: Ctx, count: Any, position: TensorInfo | None, more: int) -> int | None:
    """The position in a sequence of `count` elements, counted from its start, if known; `more` is 1 for a place between
    elements or at the end."""
    n, at = count + more, None if position is None else _element(position)
    if at is None and more == 0:
        _not_empty(ctx, count)
    if position is None:
        at = n - 1
    elif at is None:
        at = ctx.fresh("item", None)
    if type(n) is int and type(at) is int:
        if not -count <= at < n:
            ctx.fail(Other(f"{{0}} to be from {-count} to {n - 1}, and it is {at}", (Argument("position"),)))
        return at if at >= 0 else at + count
    if position is not None:
        asked = Other("{0} to be one of the sequence in {1}", (Argument("position", at), Argument("s")))
        ctx.require(asked, ctx.all_of(ctx.le(-count, at), ctx.lt(at, n)))
    return None


def _not_empty(ctx: Ctx, count: Any) -> None:
    ctx.require(Other("a sequence in {0} that is not empty", (Argument("s"),)), ctx.le(1, count))


def _element(x: TensorInfo) -> Any:
    """The only element of a tensor as a size, if known."""
    found = x.data[0] if x.data is not None and len(x.data) == 1 else None
    return None if isinstance(found, Node) else found


@primitive(
    "onnx.sequence_insert",
    "s: tensor, x: tensor, position: tensor = none",
    "S:sequence, element(S), I:integer -> S",
    refuses="s",
)
def sequence_insert(ctx: Ctx, s: TensorInfo, x: TensorInfo, position: TensorInfo | None) -> Out:
    """A sequence with one more element, before the position, which is from -n to n, or at the end without one. ONNX
    SequenceInsert."""
    known, new = held(s), inside(x)
    each = new if known.items == () else common(known.each, new, same(ctx))
    count, items = _count(ctx, "s", s), known.items
    at = _position(ctx, count, position, 1)
    if items is None:
        return out(HeldElements(None, each, count + 1))
    if at is None:
        return out(HeldElements((each,) * (len(items) + 1), each))
    return out(HeldElements((*items[:at], new, *items[at:]), each))


@primitive("onnx.sequence_erase", "s: tensor, position: tensor = none", "S:sequence, I:integer -> S", refuses="s")
def sequence_erase(ctx: Ctx, s: TensorInfo, position: TensorInfo | None) -> Out:
    """A sequence without the element at a position from -n to n - 1, or without the last one if no position is given. ONNX
    SequenceErase."""
    known, count = held(s), _count(ctx, "s", s)
    at = _position(ctx, count, position, 0)
    if known.items is None:
        return out(HeldElements(None, known.each, count - 1))
    if at is None:
        return out(HeldElements((known.each,) * (len(known.items) - 1), known.each))
    return out(of_items((*known.items[:at], *known.items[at + 1 :]), same(ctx)))


@primitive(
    "onnx.split_to_sequence",
    "x: tensor, split: tensor = none, axis: int = 0, keepdims: bool = true",
    "T:any, I:integer -> sequence(T)",
    refuses="x",
)
def split_to_sequence(ctx: Ctx, x: TensorInfo, split: TensorInfo | None, axis: int, keepdims: bool) -> Out:
    """The parts of a tensor along an axis, with the lengths in `split`; a single number is the length of all but the last
    one. Without `split`, or if it is 1, each part has one entry, and without `keepdims` it lacks that axis. ONNX
    SplitToSequence."""
    dims = ctx.dims(x)
    at = place(ctx, dims, axis)
    if split is None:
        return out(_entries(dims[at], put(dims, at, 1) if keepdims else without(dims, at)))
    lengths = ctx.dims(split)
    if len(lengths) > 1:
        ctx.fail(OfRank("{0} to be a number or a row of them", (Argument("split"),), f"its rank is {len(lengths)}"))
    if lengths == ():
        length = _element(split)
        if not keepdims and type(length) is not int:
            return out(HeldElements(None, None))
        if not keepdims and length == 1:
            return out(_entries(dims[at], without(dims, at)))
        return out(_chunks(ctx, dims, at, ctx.fresh("length", None) if length is None else length))
    return out(_parts(ctx, dims, at, split, lengths))


def _entries(count: Any, each: Shape) -> HeldElements:
    return (
        HeldElements((each,) * count, each)
        if isinstance(count, int) and count < 256
        else HeldElements(None, each, count)
    )


def _chunks(ctx: Ctx, dims: Shape, at: int, length: Any) -> HeldElements:
    """Parts of one length; the last one may be shorter."""
    ctx.require(AtLeast(Argument("split", length), 1))
    size = dims[at]
    if type(size) is not int or type(length) is not int or size > 256 * length:
        each = _with(dims, at, length if ctx.decide(ctx.eq(size % length, 0)) else None)
        return HeldElements(None, each, ctx.ceildiv(size, length))
    lengths = [length] * (size // length) + [size % length] * bool(size % length)
    return of_items((put(dims, at, n) for n in lengths), same(ctx))


def _with(dims: Shape, at: int, size: Any) -> tuple[Any, ...]:
    """The sizes with another one in an axis, None if unknown."""
    return (*dims[:at], size, *dims[at + 1 :])


def _parts(ctx: Ctx, dims: Shape, at: int, split: TensorInfo, lengths: Shape) -> HeldElements:
    """Parts whose lengths are data."""
    sizes = split.sizes
    is_known = isinstance(sizes, tuple)
    ctx.require(
        Other("the lengths in {1} to add up to {0}", (Axis("x", at, dims[at]), Argument("split"))),
        ctx.eq(total(sizes) if is_known else ctx.fresh("total"), dims[at]),
    )
    return (
        of_items((put(dims, at, n) for n in sizes), same(ctx))
        if is_known
        else _entries(lengths[0], _with(dims, at, None))
    )


@primitive(
    "onnx.concat_from_sequence", "s: tensor, axis: int, new_axis: bool = false", "S:sequence -> element(S)", refuses="s"
)
def concat_from_sequence(ctx: Ctx, s: TensorInfo, axis: int, new_axis: bool) -> Out:
    """The elements of a sequence joined along one of their axes, or along a new one. ONNX ConcatFromSequence."""
    known, count = held(s), _count(ctx, "s", s)
    shapes = [i for i in known.items or () if isinstance(i, tuple)]
    _not_empty(ctx, count)
    if known.items is None or len(shapes) < len(known.items):
        shapes = [known.each] if isinstance(known.each, tuple) else []
    if not shapes:
        raise ResultOpen
    if any(len(shape) != len(shapes[0]) for shape in shapes):
        ctx.fail(Other("elements of one rank in {0}", (Argument("s"),)))
    at = place(ctx, (*shapes[0], 1) if new_axis else shapes[0], axis)
    axes = enumerate(zip(*shapes, strict=True))
    agreed = [_agreed(ctx, axis, sizes, count) for axis, sizes in axes if new_axis or axis != at]
    joined = count if new_axis else _joined(known, [shape[at] for shape in shapes], count)
    return taken(ctx, s, (*agreed[:at], joined, *agreed[at:]))


def _joined(known: HeldElements, lengths: list[Any], count: Any) -> Any:
    """The total length of a sequence's elements along an axis; None if unknown."""
    if None in lengths:
        return None
    return total(tuple(lengths)) if known.items is not None and len(lengths) == len(known.items) else lengths[0] * count


def _agreed(ctx: Ctx, axis: int, sizes: tuple[Any, ...], count: Any) -> Any:
    """The common size of all elements in an axis, as far as known; requires it to be common."""
    known = [size for size in sizes if size is not None]
    asked = Other(f"elements of {{0}} that are equally long in axis {axis}", (Argument("s"),))
    for size in known[1:]:
        ctx.require(asked, ctx.eq(known[0], size))
    if len(known) < len(sizes):
        first, other = known[0] if known else ctx.fresh("size"), ctx.fresh("size")
        ctx.require(asked, ctx.any_of(ctx.le(count, 1), ctx.eq(first, other)))
        return first
    return known[0]


@primitive("onnx.optional", "x: tensor", "T -> optional(T)")
def optional(ctx: Ctx, x: TensorInfo) -> Out:
    """An optional that holds a value. ONNX Optional."""
    return out(HeldElements((inside(x),), inside(x)))


@primitive("onnx.optional_has", "x: tensor", "T -> bool")
def optional_has(ctx: Ctx, x: TensorInfo) -> Out:
    """Whether an optional holds a value; true of a value that is not optional. ONNX OptionalHasElement."""
    if not isinstance(x.dtype, DType):
        return Out(())
    count = _count(ctx, "x", x) if x.dtype.kind == "optional" else 1
    return Out((), (decided(ctx, ctx.eq(count, 1), ctx.ne(count, 1)),))


@primitive("onnx.optional_get", "x: tensor", "T -> value(T)", refuses="x")
def optional_get(ctx: Ctx, x: TensorInfo) -> Out:
    """The value that an optional holds, which has to be there; a value that is not optional is returned as it is. ONNX
    OptionalGetElement."""
    if not isinstance(x.dtype, DType):
        raise ResultOpen
    if x.dtype.kind != "optional":
        return Out(x.shape, x.data, x.ranges)
    known = held(x)
    ctx.require(Other("a value in {0}", (Argument("x"),)), ctx.eq(_count(ctx, "x", x), 1))
    return taken(ctx, x, known.items[0] if known.items else known.each)


# Maps


@primitive("onnx.zip_map", "x: tensor, keys: tensor, dtype: dtype", "T:any, K:{int64, string} -> =dtype")
def zip_map(ctx: Ctx, x: TensorInfo, keys: TensorInfo, dtype: AnyDType) -> Out:
    """A map for each row, from the keys to the row's entries: `Sequence(Map(string, float32))`. ZipMap of ai.onnx.ml."""
    dims, names = ctx.dims(x), ctx.dims(keys)
    rank_at_least(ctx, "x", dims, 1)
    if len(dims) > 2:
        ctx.fail(OfRank("{0} to have one axis or two", (Argument("x"),), f"its rank is {len(dims)}"))
    ctx.require(Equal(Argument("keys", product(names)), Axis("x", len(dims) - 1, dims[-1])))
    return out(HeldElements(None, HeldElements(None, ())))


@primitive("onnx.dict_vectorizer", "x: tensor, keys: tensor", "M:map, K:{int64, string} -> element(M)")
def dict_vectorizer(ctx: Ctx, x: TensorInfo, keys: TensorInfo) -> Shape:
    """The values of given keys in a map, 0 or "" for keys that it lacks. DictVectorizer of ai.onnx.ml."""
    return (1, product(ctx.dims(keys)))


@primitive("onnx.cast_map", "x: tensor, dtype: dtype, length: int = none", "M:map -> =dtype", refuses="x")
def cast_map(ctx: Ctx, x: TensorInfo, dtype: AnyDType, length: int | None) -> Shape:
    """A map's values in the order of its keys; with a length, each at the position that its key gives, and 0 elsewhere.
    CastMap of ai.onnx.ml."""
    ctx.require_dtype(DTypeIn(Argument("dtype"), dtype, ("float32", "int64", "string"), attribute=True))
    return (1, ctx.fresh("count") if length is None else length)
