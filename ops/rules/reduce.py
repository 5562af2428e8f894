"""Along axes: sums and other reductions, cumulative sums, softmax, and normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from ...lang.node import Node
from ..arranged import along, laid_along
from ..axes import (
    Shape,
    axis_of,
    indices,
    is_plain,
    known_shape,
    not_negative,
    place,
    places,
    product,
    put,
    shape_and_axis,
)
from ..casts import computed_in
from ..model import AnyDType, Ctx, Elements, Out, Primitive, RankUnknown, Segment, TensorInfo
from ..registry import parse_params, primitive, register
from ..requirements import Argument, AtLeast, Axis, Equal, OfRank, Other
from ..tracking import Track, both, cast_element, divided, either, exactly, multiplied, stored, summed
from .shape import broadcast_into

# The greatest number of leading elements, unless all are sizes, whose cumulative results are tracked.
_FEW = 32
# The reduction of some elements to one, in a dtype.
Fold = Callable[[Ctx, Sequence[Any], AnyDType | None], Any]

_AXES = (
    "`axis` is one axis or several, all of them if it is left out; axes out of range or named twice are refused. The "
    "result has the other axes; with `keepdims` the reduced ones stay, with size 1."
)


def reduced(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool) -> tuple[Shape, tuple[int, ...]]:
    """The shape after a reduction, and the places of the reduced axes in the shape of x."""
    shape = known_shape(ctx, x)
    if axis is not None:
        gone = places(ctx, shape, axis)
    elif is_plain(shape) or not keepdims:
        gone = tuple(range(len(shape)))
    else:
        raise RankUnknown
    if keepdims:
        return tuple(1 if i in gone else d for i, d in enumerate(shape)), gone
    return tuple(d for i, d in enumerate(shape) if i not in gone), gone


def not_empty(ctx: Ctx, x: TensorInfo, gone: tuple[int, ...]) -> None:
    """Require each reduced axis to have an element to choose from."""
    shape = known_shape(ctx, x)
    if not is_plain(shape[i] for i in gone):
        raise RankUnknown
    for i in gone:
        ctx.require(AtLeast(axis_of("x", shape, i), 1))


def folded(ctx: Ctx, x: TensorInfo, fold: Fold | None, dtype: AnyDType | None, gone: tuple[int, ...]) -> Elements:
    """The known elements of the result of reducing some axes."""
    rows = along(x.data, known_shape(ctx, x), gone) if fold is not None else None
    if rows is None or fold is None:
        return None
    target = x.dtype if dtype is None else dtype
    return tuple(stored(ctx, fold(ctx, [cast_element(ctx, e, target) for e in row], target), target) for row in rows)


def _accumulating(name: str, dtypes: str, onnx: tuple[str, ...], fold: Fold | None, doc: str) -> None:
    """Register a reduction that allows empty axes, with a dtype to compute in."""

    def rule(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool, dtype: AnyDType | None) -> Out:
        computed_in(ctx, "x", x.dtype, dtype)
        shape, gone = reduced(ctx, x, axis, keepdims)
        return Out(shape, folded(ctx, x, fold, dtype, gone))

    params = parse_params("x: tensor, axis: ints = none, keepdims: bool = false, dtype: dtype = none")
    register(Primitive(name, params, dtypes, rule, f"{doc}\n\n{_AXES}", onnx=onnx, single=""))


def _choosing(name: str, onnx: tuple[str, ...], fold: Fold, doc: str) -> None:
    """Register a reduction that returns one of the elements, so that there has to be one."""

    def rule(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool) -> Out:
        shape, gone = reduced(ctx, x, axis, keepdims)
        not_empty(ctx, x, gone)
        return Out(shape, folded(ctx, x, fold, None, gone))

    params = parse_params("x: tensor, axis: ints = none, keepdims: bool = false")
    doc = f"{doc} A reduced axis of size 0 is refused.\n\n{_AXES}"
    register(Primitive(name, params, "T:real -> T", rule, doc, onnx=onnx, single="", selects="x"))


def _plain(
    name: str, dtypes: str, onnx: tuple[str, ...], doc: str, attributes: str = "", fold: Fold | None = None
) -> None:
    """Register a reduction for any shape."""

    def rule(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool, *_: object) -> Out:
        shape, gone = reduced(ctx, x, axis, keepdims)
        return Out(shape, folded(ctx, x, fold, None, gone))

    params = parse_params(f"x: tensor, axis: ints = none, keepdims: bool = false, {attributes}")
    register(Primitive(name, params, dtypes, rule, f"{doc}\n\n{_AXES}", onnx=onnx, single=""))


def _extreme(track: Track) -> Fold:
    return lambda ctx, row, dtype: exactly(track)(ctx, *row) if row else None


LARGEST, SMALLEST = _extreme(lambda ctx, *nums: ctx.max(*nums)), _extreme(lambda ctx, *nums: ctx.min(*nums))


def _mean(ctx: Ctx, row: Sequence[Any], dtype: AnyDType | None) -> Any:
    whole = stored(ctx, summed(ctx, row, dtype), dtype)
    return divided(ctx, whole, stored(ctx, len(row), dtype))


def _all(ctx: Ctx, row: Sequence[Any], dtype: AnyDType | None) -> Any:
    return reduce(partial(both, ctx), row, 1)


def _any(ctx: Ctx, row: Sequence[Any], dtype: AnyDType | None) -> Any:
    return reduce(partial(either, ctx), row, 0)


_accumulating(
    "sum", "T:numeric -> T=dtype", ("ReduceSum",), summed,
    "The sum, in the operand's dtype (integers wrap around) or in `dtype`; 0 of no elements. Floats of less than 32 bits "
    "are summed in float32.",
)  # fmt: skip
_accumulating(
    "prod", "T:numeric -> T=dtype", ("ReduceProd",), multiplied,
    "The product, in the operand's dtype (integers wrap around) or in `dtype`; 1 of no elements.",
)  # fmt: skip
_choosing("max", ("ReduceMax",), LARGEST, "The largest element; nan if there is a nan.")
_choosing("min", ("ReduceMin",), SMALLEST, "The smallest element; nan if there is a nan.")
_plain(
    "mean",
    "T:inexact -> T",
    ("ReduceMean",),
    "The mean; nan of no elements. Integers are refused: cast first.",
    fold=_mean,
)
_plain(
    "var", "T:floating -> T", (),
    "The variance: the sum of squared differences from the mean, divided by the number of elements less `correction` "
    "(1 for a sample). Where that number is not positive the division is by 0, as in NumPy.",
    "correction: float = 0.0",
)  # fmt: skip
_plain("std", "T:floating -> T", (), "The standard deviation, the square root of `var`.", "correction: float = 0.0")
_plain("all", "bool -> bool", (), "Whether every element is true; true of no elements.", fold=_all)
_plain("any", "bool -> bool", (), "Whether some element is true; false of no elements.", fold=_any)
_plain(
    "logsumexp", "T:floating -> T", ("ReduceLogSumExp",),
    "log(sum(exp(x))), without overflow; -inf of no elements.",
)  # fmt: skip


def _index_of(name: str, onnx: str, which: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, axis: int | None, keepdims: bool) -> Out:
        shape, gone = reduced(ctx, x, None if axis is None else (axis,), keepdims)
        not_empty(ctx, x, gone)
        own = known_shape(ctx, x)
        return indices(ctx, shape, product(own[i] for i in gone) - 1)

    doc = f"""The index of the {which} element along `axis`, the first one of several; of the flattened tensor if `axis`
    is left out. A nan counts as {which}. An axis of size 0 is refused, and one out of range.

    The result is int64, from 0 to n - 1 for n elements to choose from, and has the other axes; with `keepdims` the reduced ones
    stay, with size 1."""
    params = parse_params("x: tensor, axis: int = none, keepdims: bool = false")
    register(Primitive(name, params, "T:real -> int64", rule, doc, onnx=(onnx,), single="only zeros"))


_index_of("argmax", "ArgMax", "largest")
_index_of("argmin", "ArgMin", "smallest")


def _cumulative(name: str, onnx: tuple[str, ...], what: str, first: int, fold: Fold) -> None:
    def rule(
        ctx: Ctx,
        x: TensorInfo,
        axis: int | None,
        dtype: AnyDType | None,
        include_initial: bool,
        exclusive: bool,
        reverse: bool,
    ) -> Out:
        computed_in(ctx, "x", x.dtype, dtype)
        if include_initial and exclusive:
            ctx.fail(Other("one of include_initial and exclusive"))
        shape = known_shape(ctx, x)
        if axis is None and ctx.rank(x) != 1:
            phrase = f"an axis where the rank is not 1, and the rank of {{0}} is {ctx.rank(x)}"
            ctx.fail(OfRank(phrase, (Argument("x"),)))
        i = place(ctx, shape, 0 if axis is None else axis)
        longer = put(shape, i, shape[i] + 1) if include_initial else shape
        target = x.dtype if dtype is None else dtype
        rows = along(x.data, shape, (i,))
        begun = include_initial or exclusive
        made = None if rows is None else [_partial(ctx, row, target, begun, exclusive, reverse) for row in rows]
        return Out(longer, laid_along(made, i, longer))

    def _partial(
        ctx: Ctx, row: Sequence[Any], dtype: AnyDType | None, begun: bool, exclusive: bool, reverse: bool
    ) -> list[Any]:
        row = [cast_element(ctx, e, dtype) for e in row][:: -1 if reverse else 1]
        ends = slice(0 if begun else 1, len(row) + (0 if exclusive else 1))
        found = [stored(ctx, part, dtype) for part in _parts(ctx, row, dtype)[ends]]
        return found[::-1] if reverse else found

    def _parts(ctx: Ctx, row: Sequence[Any], dtype: AnyDType | None) -> list[Any]:
        """The cumulative results, from no element on: stepwise for sizes, otherwise only for the first few."""
        found = [fold(ctx, [], dtype)]
        are_sizes = not any(e is None or isinstance(e, Node) for e in row)
        for i, element in enumerate(row):
            before = [found[-1]] if are_sizes else row[:i]
            found.append(fold(ctx, [*before, element], dtype) if are_sizes or i < _FEW else None)
        return found

    doc = f"""The {what} of the elements up to each one along `axis`, in the operand's dtype or in `dtype`.

    The shape is that of x; only where its rank is 1 may `axis` be left out. `include_initial` puts a {first} in front,
    so that the axis is longer by 1; `exclusive` leaves out the element itself, so that the first is {first}; `reverse` begins
    at the end. An axis out of range is refused."""
    params = parse_params(
        "x: tensor, axis: int = none, dtype: dtype = none, include_initial: bool = false, exclusive: bool = false, "
        "reverse: bool = false"
    )
    register(Primitive(name, params, "T:numeric -> T=dtype", rule, doc, onnx=onnx))


def _running(name: str, what: str, dtypes: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, axis: int, reverse: bool) -> Shape:
        return shape_and_axis(ctx, x, axis)[0]

    doc = f"""The {what} of the elements up to each one along `axis`; the shape of x.

    `reverse` begins at the end. An axis out of range is refused."""
    params = parse_params("x: tensor, axis: int = -1, reverse: bool = false")
    register(Primitive(name, params, dtypes, rule, doc, elementwise=True))


_running("cumulative_max", "largest", "T:real -> T")
_running("cumulative_min", "smallest", "T:real -> T")
_running("cumulative_logsumexp", "log(sum(exp(x))), without overflow,", "T:floating -> T")
_cumulative("cumulative_sum", ("CumSum",), "sum", 0, summed)
_cumulative("cumulative_prod", (), "product", 1, multiplied)


@primitive(
    "softmax", "x: tensor, axis: int = -1", "T:floating -> T", elementwise=True, onnx=("Softmax",), single="only ones"
)
def softmax(ctx: Ctx, x: TensorInfo, axis: int) -> Shape:
    """exp(x) / sum(exp(x)) along `axis`, without overflow; the shape of x. An axis out of range is refused."""
    return shape_and_axis(ctx, x, axis)[0]


@primitive(
    "log_softmax",
    "x: tensor, axis: int = -1",
    "T:floating -> T",
    elementwise=True,
    onnx=("LogSoftmax",),
    single="only zeros",
)
def log_softmax(ctx: Ctx, x: TensorInfo, axis: int) -> Shape:
    """x - log(sum(exp(x))) along `axis`, without overflow; the shape of x. An axis out of range is refused."""
    return softmax(ctx, x, axis)  # type: ignore[no-any-return]


def _normalized(ctx: Ctx, x: TensorInfo, axis: int, **weights: TensorInfo | None) -> Shape:
    """The shape of x; requires each weight to have the sizes of x from `axis` on."""
    shape, i = shape_and_axis(ctx, x, axis)
    wanted = shape[i:]
    if not is_plain(wanted):
        raise RankUnknown
    for name, weight in weights.items():
        if weight is not None:
            _same_tail(ctx, wanted, name, ctx.dims(weight))
    return shape


def _same_tail(ctx: Ctx, wanted: Shape, name: str, given: Shape) -> None:
    if len(given) != len(wanted):
        axes = "axis -1" if len(wanted) == 1 else f"axes -{len(wanted)} to -1"
        phrase = f"{{0}} to have rank {len(wanted)}, for {axes} of {{1}}"
        given_rank = f"its rank is {len(given)}"
        ctx.fail(OfRank(phrase, (Argument(name), Argument("x")), given_rank, (), len(wanted)))
    for back in range(len(wanted), 0, -1):
        own = Axis(name, len(given) - back, given[-back])
        ctx.require(Equal(own, Axis("x", -back, wanted[-back])))


@primitive(
    "layer_norm", "x: tensor, scale: tensor, bias: tensor = none, axis: int = -1, epsilon: float = 1e-5",
    "T:floating, T, T -> T", elementwise=True, onnx=("LayerNormalization",),
)  # fmt: skip
def layer_norm(ctx: Ctx, x: TensorInfo, scale: TensorInfo, bias: TensorInfo | None, axis: int, epsilon: float) -> Shape:
    """(x - mean) / sqrt(var + epsilon) * scale + bias: mean and variance are over the axes from `axis` to the last one.

    `scale` and `bias` have exactly the sizes of those axes; the result has the shape of x (Ba, Kiros, Hinton 2016;
    ONNX LayerNormalization).
    """
    return _normalized(ctx, x, axis, scale=scale, bias=bias)


@primitive(
    "rms_norm", "x: tensor, scale: tensor, axis: int = -1, epsilon: float = 1e-6",
    "T:floating, T -> T", elementwise=True, onnx=("RMSNormalization",),
)  # fmt: skip
def rms_norm(ctx: Ctx, x: TensorInfo, scale: TensorInfo, axis: int, epsilon: float) -> Shape:
    """x / sqrt(mean(x * x) + epsilon) * scale, with the mean over the axes from `axis` to the last one.

    `scale` has exactly the sizes of those axes; the result has the shape of x (Zhang and Sennrich 2019; ONNX
    RMSNormalization).
    """
    return _normalized(ctx, x, axis, scale=scale)


@primitive("sum_to", "x: tensor, shape: shape", "T:numeric -> T", needs={"shape": "exact"})
def sum_to(ctx: Ctx, x: TensorInfo, shape: Shape) -> Out:
    """`x` summed over the axes along which a tensor of `shape` would be repeated to have the shape of `x`: the transpose of
    `broadcast_to`.

    Axes are aligned from the last; each size in `shape` is 1 or that of `x`, and `x` may have more leading axes, which are
    summed away. Equal shapes give `x` itself. The sum over an axis of size 0 is 0. PyTorch's `sum_to_size`.
    """
    source = known_shape(ctx, x)
    for j, d in enumerate(shape):
        if not isinstance(d, Segment):
            not_negative(ctx, Axis("shape", j, d))
    broadcast_into(ctx, "shape", shape, "x", source)
    return Out(shape)
