"""Losses: the distance of predictions from their targets, element by element or class by class, reduced to a scalar."""

from __future__ import annotations

from ..axes import Shape, axis_of, is_plain, known_shape, place, shape_and_axis, without
from ..model import Ctx, Primitive, RankUnknown, Segment, TensorInfo, Trait
from ..operands import choice, rank_at_least, ranked
from ..registry import parse_params, primitive, register
from ..requirements import Argument, Axis, Equal, OfRank

LOSS = frozenset((Trait.LOSS,))
REDUCTIONS = ("mean", "sum", "none")

_REDUCED = 'The result is a scalar, the mean or the sum; with `reduction` "none" it has the shape of x.'


def _result(ctx: Ctx, reduction: str, shape: Shape, more: tuple[str, ...] = ()) -> Shape:
    choice(ctx, "reduction", reduction, (*more, *REDUCTIONS))
    return shape if reduction == "none" else ()


def _alike(ctx: Ctx, a: Shape, b: Shape, axes: list[int] | None = None) -> None:
    """Require the axes of x (all, or those at the given places) to have the sizes of the target's axes: nothing is broadcast.
    Unknown parts of the shapes have to be opposite each other."""
    places = list(range(len(a))) if axes is None else axes
    if is_plain(a) and is_plain(b):
        if len(places) != len(b):
            phrase = f"{{1}} to have rank {len(places)}, {'the rank of' if axes is None else 'one less than'} {{0}}"
            given = (Argument("x"), Argument("target"))
            ctx.fail(OfRank(phrase, given, f"its rank is {len(b)}", rank=len(places)))
    elif len(places) != len(b) or not all(_opposite(a[i], b[n]) for n, i in enumerate(places)):
        raise RankUnknown
    for n, i in enumerate(places):
        if not isinstance(a[i], Segment):
            ctx.require(Equal(axis_of("x", a, i), axis_of("target", b, n)))


def _opposite(a: object, b: object) -> bool:
    """Whether both are sizes, or the same unknown part of a shape."""
    if isinstance(a, Segment) and isinstance(b, Segment):
        return a.symbol is b.symbol
    return not isinstance(a, Segment) and not isinstance(b, Segment)


# Element by element


def _elementwise(name: str, formula: str, attributes: str = "", more: tuple[str, ...] = ()) -> None:
    def rule(ctx: Ctx, x: TensorInfo, target: TensorInfo, reduction: str, *_: object) -> Shape:
        shape = known_shape(ctx, x)
        result = _result(ctx, reduction, shape, more)
        _alike(ctx, shape, known_shape(ctx, target))
        return result

    extra = ' "batchmean" is the sum divided by the size of axis 0.' if more else ""
    doc = f"""{formula}

    `x` and `target` have one shape: nothing is broadcast. {_REDUCED}{extra} The mean of no elements is nan. PyTorch's
    `{name}`."""
    params = parse_params(f'x: tensor, target: tensor, reduction: str = "mean"{attributes}')
    register(Primitive(name, params, "T:floating, T -> T", rule, doc, traits=LOSS))


_elementwise("mse_loss", "The squared differences (x - target) ** 2.")
_elementwise("l1_loss", "The absolute differences |x - target|.")
_elementwise(
    "smooth_l1_loss",
    "The squared differences d * d / (2 * beta) where |d| = |x - target| < beta, else |d| - beta / 2.",
    ", beta: float = 1.0",
)
_elementwise(
    "huber_loss",
    "The squared differences d * d / 2 where |d| = |x - target| <= delta, else delta * (|d| - delta / 2).",
    ", delta: float = 1.0",
)
_elementwise(
    "binary_cross_entropy",
    "The cross entropy -(target * log(x) + (1 - target) * log(1 - x)) of probabilities; each logarithm is at least -100.",
)
_elementwise(
    "binary_cross_entropy_with_logits",
    "The cross entropy of the probabilities sigmoid(x), computed from x without overflow.",
)
_elementwise(
    "kl_div",
    "The divergence target * (log(target) - x) from x, which are logarithms of probabilities; 0 where target is 0. With "
    "`log_target` exp(target) * (target - x): then the targets are logarithms, too.",
    ", log_target: bool = false",
    ("batchmean",),
)


# Class by class


def _by_class(
    ctx: Ctx, x: TensorInfo, target: TensorInfo, weight: TensorInfo | None, reduction: str, axis: int
) -> Shape:
    """The result's shape; requires targets of the shape of x without the class axis, and one weight for each class."""
    a, b = known_shape(ctx, x), known_shape(ctx, target)
    rank_at_least(ctx, "x", a, 2)
    i = place(ctx, a, axis)
    result = _result(ctx, reduction, b)
    _alike(ctx, a, b, [p for p in range(len(a)) if p != i])
    if weight is not None:
        _class_weights(ctx, a, i, weight)
    return result


def _class_weights(ctx: Ctx, a: Shape, i: int, weight: TensorInfo) -> None:
    (w,) = ranked(ctx, "weight", weight, 1)
    ctx.require(Equal(Axis("weight", 0, w), axis_of("x", a, i, "the classes")))


_CLASSES = (
    'x: tensor, target: tensor, weight: tensor = none, reduction: str = "mean", axis: int = 1, ignore_index: int = none'
)


@primitive(
    "nll_loss",
    _CLASSES,
    "T:floating, I:integer, T -> T",
    onnx=("NegativeLogLikelihoodLoss",),
    traits=LOSS,
    refuses="target",
)
def nll_loss(
    ctx: Ctx,
    x: TensorInfo,
    target: TensorInfo,
    weight: TensorInfo | None,
    reduction: str,
    axis: int,
    ignore_index: int | None,
) -> Shape:
    """-x at the class that `target` names, times the class's weight: `x : [n, c, *d]` are logarithms of probabilities,
    `target : [n, *d]` integers from 0 to c - 1 (checked on the values), `weight : [c]`.

    The rank of x is at least 2; `axis` is the axis of its classes. The result is a scalar: the sum, or the mean, which is the
    sum divided by the sum of the weights that were used; with `reduction` "none" it has the shape of `target`. Targets equal
    to `ignore_index` are not counted. ONNX NegativeLogLikelihoodLoss, PyTorch's `nll_loss`.
    """
    return _by_class(ctx, x, target, weight, reduction, axis)


@primitive(
    "cross_entropy_loss", f"{_CLASSES}, label_smoothing: float = 0.0", "T:floating, I:integer, T -> T",
    onnx=("SoftmaxCrossEntropyLoss",), traits=LOSS, refuses="target",
)  # fmt: skip
def cross_entropy_loss(
    ctx: Ctx,
    x: TensorInfo,
    target: TensorInfo,
    weight: TensorInfo | None,
    reduction: str,
    axis: int,
    ignore_index: int | None,
    label_smoothing: float,
) -> Shape:
    """`nll_loss` of the logarithm of softmax(x) along `axis`: `x : [n, c, *d]` are logits, `target : [n, *d]` integers from 0
    to c - 1 (checked on the values), `weight : [c]`.

    The rank of x is at least 2; `axis` is the axis of its classes (-1 for TensorFlow's
    `sparse_softmax_cross_entropy_with_logits`). The result is a scalar: the sum, or the mean, which is the sum divided by the
    sum of the weights that were used; with `reduction` "none" it has the shape of `target`. Targets equal to `ignore_index`
    are not counted. `label_smoothing` is the share of all classes in each target. ONNX SoftmaxCrossEntropyLoss, PyTorch's
    `cross_entropy`.
    """
    return _by_class(ctx, x, target, weight, reduction, axis)


@primitive(
    "softmax_cross_entropy",
    'x: tensor, target: tensor, axis: int = -1, reduction: str = "mean"',
    "T:floating, T -> T",
    traits=LOSS,
)
def softmax_cross_entropy(ctx: Ctx, x: TensorInfo, target: TensorInfo, axis: int, reduction: str) -> Shape:
    """-sum(target * log(softmax(x))) along `axis`: targets are probabilities, one-hot for instance, of the shape of x.

    Nothing is broadcast. The result is a scalar, the mean or the sum; with `reduction` "none" it has the other axes of x.
    TensorFlow's `softmax_cross_entropy_with_logits`, PyTorch's `cross_entropy` with probabilities.
    """
    shape, i = shape_and_axis(ctx, x, axis)
    result = _result(ctx, reduction, without(shape, i))
    _alike(ctx, shape, known_shape(ctx, target))
    return result
