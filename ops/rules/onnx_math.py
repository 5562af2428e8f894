"""ONNX's arithmetic operators, where their dtypes or their meaning differ from Rx's own."""

from __future__ import annotations

from typing import Any

from .. import ranges
from ..axes import Shape, indices, known_shape, place, product, shape_and_axis
from ..broadcast import broadcast_tensors
from ..model import Ctx, Out, Primitive, TensorInfo, Truth
from ..registry import parse_params, primitive, register
from ..requirements import Argument, Other
from ..tracked import Ratio, elements
from ..tracking import divided, exactly, modulus, power, root, times, toward_zero
from .elementwise import mapped, with_ends
from .matrices import det as square
from .onnx_shape import not_zero
from .pool import pooled
from .reduce import LARGEST, SMALLEST, Fold, folded, not_empty, reduced
from .shape import broadcast_into


def _quotient(ctx: Ctx, a: Any, b: Any) -> Any:
    """A quotient of elements, rounded toward zero for integers."""
    if a is None or b is None:
        return None
    if isinstance(a, Ratio) or isinstance(b, Ratio):
        return divided(ctx, a, b)
    if isinstance(b, int):
        return None if b == 0 else toward_zero(ctx, Ratio(a if b > 0 else -a, abs(b))).num
    return a // b if ctx.decide(ctx.le(0, a)) is True and ctx.decide(ctx.le(1, b)) is True else None


@primitive("onnx.div", "x: tensor, y: tensor", "T:numeric, T -> T")
def div(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Out:
    """x / y; quotients of integers are rounded toward zero, and a size that is 0 is refused as y. ONNX Div."""
    shape = broadcast_tensors(ctx, x=x, y=y)
    _not_zero(ctx, y)
    return with_ends(ctx, ranges.quotient, shape, mapped(ctx, _quotient, shape, x, y), x, y)


@primitive("onnx.mod", "x: tensor, y: tensor", "T:real, T -> T")
def mod(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Out:
    """The remainder with the sign of y; for integers a size that is 0 is refused as y. ONNX Mod."""
    shape = broadcast_tensors(ctx, x=x, y=y)
    _not_zero(ctx, y)
    return with_ends(ctx, ranges.remainder, shape, mapped(ctx, exactly(modulus), shape, x, y), x, y)


def _not_zero(ctx: Ctx, y: TensorInfo) -> None:
    """Require the known integers in y not to be 0."""
    known = elements(y, ctx.dims(y)) if y.data is not None else None
    for i, element in enumerate(known or ()):
        if element is not None and not isinstance(element, Ratio | Truth):
            asked = Other(
                f"entry {i} of {{0}} not to be 0" if y.shape else "{0} not to be 0", (Argument("y"),), blamed=()
            )
            ctx.require(asked, not_zero(ctx, element))


@primitive("onnx.fmod", "x: tensor, y: tensor", "T:real, T -> T")
def fmod(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Shape:
    """The remainder with the sign of x. ONNX Mod with fmod."""
    return broadcast_tensors(ctx, x=x, y=y)


def _power(ctx: Ctx, a: Any, b: Any) -> Any:
    """Small powers of integers; for floats only the square and the square root, which the kernel computes as such."""
    if not isinstance(a, Ratio):
        return power(ctx, a, b)
    exponent = (b.num, b.den) if isinstance(b, Ratio) else (b, 1)
    return root(ctx, a) if exponent == (1, 2) else times(ctx, a, a) if exponent == (2, 1) else None


@primitive("onnx.pow", "x: tensor, y: tensor", "T:real, U:real -> T")
def pow_(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Out:
    """x to the power y, in x's dtype. ONNX Pow."""
    shape = broadcast_tensors(ctx, x=x, y=y)
    return Out(shape, mapped(ctx, _power, shape, x, y, dtype=x.dtype))


def _elementwise(name: str, params: str, dtypes: str, doc: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, *_: object) -> Shape:
        return known_shape(ctx, x)

    register(Primitive(f"onnx.{name}", parse_params(f"x: tensor{params}"), dtypes, rule, doc, elementwise=True))


_elementwise("root", "", "T:numeric -> T", "The square root, in the operand's dtype. What ONNX ReduceL2 ends with.")
_elementwise("log", "", "T:numeric -> T", "The logarithm, in the operand's dtype. What ONNX ReduceLogSum ends with.")
_elementwise(
    "celu", ", alpha: float = 1.0", "T:floating -> T", "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). ONNX Celu."
)
_elementwise("shrink", ", bias: float = 0.0, lambd: float = 0.5", "T:numeric -> T",
             "x + bias below -lambd, x - bias above lambd, else 0. ONNX Shrink.")  # fmt: skip
_elementwise("isinf", ", positive: bool = true, negative: bool = true", "T:floating -> bool",
             "Whether x is infinite, of the given signs. ONNX IsInf.")  # fmt: skip
_elementwise("erf", "", "T:numeric -> T", "The error function, in the operand's dtype. ONNX Erf of integers.")


def _along(name: str, axis: int, doc: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, axis: int) -> Shape:
        return shape_and_axis(ctx, x, axis)[0]

    params = parse_params(f"x: tensor, axis: int = {axis}")
    register(Primitive(f"onnx.{name}", params, "T:floating -> T", rule, doc, elementwise=True))


_along("hardmax", -1, "1 at the first largest of an axis, else 0. ONNX Hardmax.")
_along("softmax_from", 1, "softmax over all axes from one on. ONNX Softmax, once.")
_along("log_softmax_from", 1, "log_softmax over all axes from one on. ONNX LogSoftmax, once.")
_along("hardmax_from", 1, "hardmax over all axes from one on. ONNX Hardmax, once.")


@primitive("onnx.det", "x: tensor", "T:floating -> T")
def det(ctx: Ctx, x: TensorInfo) -> Shape:
    """The determinants of square matrices, also of small floats. ONNX Det."""
    found: Shape = square(ctx, x)
    return found


def _reduction(name: str, dtypes: str, doc: str, fold: Fold | None = None) -> None:
    def rule(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool) -> Out:
        shape, gone = reduced(ctx, x, axis, keepdims)
        return Out(shape, folded(ctx, x, fold, None, gone))

    params = parse_params("x: tensor, axis: ints = none, keepdims: bool = false")
    register(Primitive(f"onnx.{name}", params, dtypes, rule, doc))


_reduction("mean", "T:numeric -> T", "The mean in the operand's dtype; 0 of no elements. ONNX ReduceMean.")
_reduction("logsumexp", "T:numeric -> T", "log(sum(exp(x))) in the operand's dtype. ONNX ReduceLogSumExp.")
_reduction(
    "max", "T:ordered -> T", "The largest element; of no elements the least of the dtype. ONNX ReduceMax.", LARGEST
)
_reduction(
    "min", "T:ordered -> T", "The smallest element; of no elements the greatest of the dtype. ONNX ReduceMin.", SMALLEST
)


def _index_of(name: str, doc: str) -> None:
    def rule(ctx: Ctx, x: TensorInfo, axis: int, keepdims: bool, last: bool) -> Out:
        shape, gone = reduced(ctx, x, (axis,), keepdims)
        not_empty(ctx, x, gone)
        own = known_shape(ctx, x)
        return indices(ctx, shape, product(own[i] for i in gone) - 1)

    params = parse_params("x: tensor, axis: int = 0, keepdims: bool = true, last: bool = false")
    register(Primitive(f"onnx.{name}", params, "T:real -> int64", rule, doc))


_index_of("argmax", "The index of the largest element along an axis, the first of several or the `last`. ONNX ArgMax.")
_index_of("argmin", "The index of the smallest element along an axis, the first of several or the `last`. ONNX ArgMin.")


@primitive(
    "onnx.layer_normalization",
    "x: tensor, scale: tensor, bias: tensor = none, axis: int = -1, epsilon: float = 1e-5",
    "T:floating, T, T -> T, float32, float32", results="tuple",
)  # fmt: skip
def layer_normalization(
    ctx: Ctx, x: TensorInfo, scale: TensorInfo, bias: TensorInfo | None, axis: int, epsilon: float
) -> list[Any]:
    """Layer normalisation with the means and the inverse standard deviations. ONNX LayerNormalization."""
    dims = known_shape(ctx, x)
    at = place(ctx, dims, axis)
    broadcast_into(ctx, "scale", known_shape(ctx, scale), "x", dims)
    if bias is not None:
        broadcast_into(ctx, "bias", known_shape(ctx, bias), "x", dims)
    ones = (*dims[:at], *(1 for _ in dims[at:]))
    return [dims, ones, ones]


@primitive(
    "onnx.rms_normalization", "x: tensor, scale: tensor, axis: int = -1, epsilon: float = 1e-5", "T:floating, T -> T",
)  # fmt: skip
def rms_normalization(ctx: Ctx, x: TensorInfo, scale: TensorInfo, axis: int, epsilon: float) -> Shape:
    """Normalisation by the root of the mean of squares, with a scale that is broadcast to x. ONNX RMSNormalization."""
    dims = known_shape(ctx, x)
    place(ctx, dims, axis)
    broadcast_into(ctx, "scale", known_shape(ctx, scale), "x", dims)
    return dims


@primitive(
    "onnx.max_pool_indices",
    'x: tensor, kernel_shape: sizes, strides: sizes = none, pads: pairs = none, auto_pad: str = "notset", '
    "dilations: sizes = none, ceil_mode: bool = false, column_major: bool = false",
    "T:real -> T, int64", results="tuple",
)  # fmt: skip
def max_pool_indices(
    ctx: Ctx, x: TensorInfo, kernel_shape: Shape, strides: Any, pads: Any, auto_pad: str, *rest: Any
) -> list[Any]:
    """The largest elements of windows, and their positions in the flattened operand. ONNX MaxPool with two outputs."""
    dilations, ceil_mode, _ = rest
    found = pooled(
        ctx, x, None, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, "channels_first", any_pads=True
    )
    return [found, found]
