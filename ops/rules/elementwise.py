"""Element by element: arithmetic, comparison, logic, functions and activations, with NumPy's broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang.dtypes import DType
from ...lang.node import replace
from ..axes import known_shape
from ..broadcast import broadcast_tensors
from ..model import Ctx, Dim, Out, Primitive, TensorInfo, Trait
from ..operands import choice
from ..registry import parse_params, primitive, register
from ..requirements import Argument, Other

# What an operation does to one element that is tracked (a size in a tensor): None where that is no size.
Track = Callable[..., Dim | None]

_BROADCAST = "The result has the shape that both operands broadcast to; sizes that are neither equal nor 1 are refused."
_SAME = "The result has the operand's shape."


def tracked(ctx: Ctx, track: Track | None, *operands: TensorInfo) -> Any:
    """The elements of the result where those of all operands are known and each fits the dtype, else None.

    Rank-0 operands go with every element of a rank-1 one, and so does a rank-1 one of length 1.
    """
    if track is None or any(x.data is None or not _integral(x) for x in operands):
        return None
    rows = [x.data for x in operands if isinstance(x.data, tuple)]
    if not rows:
        return _element(ctx, track, operands, [x.data for x in operands])
    length = next((len(row) for row in rows if len(row) != 1), 1)
    columns = [_stretch(x.data, length) for x in operands]
    if any(len(column) != length for column in columns):
        return None
    values = [_element(ctx, track, operands, elements) for elements in zip(*columns, strict=True)]
    return None if any(v is None for v in values) else tuple(values)


def _stretch(data: object, length: int) -> tuple[Any, ...]:
    if not isinstance(data, tuple):
        return (data,) * length
    return data * length if len(data) == 1 else data


def _element(ctx: Ctx, track: Track, operands: tuple[TensorInfo, ...], elements: Any) -> Dim | None:
    value = track(ctx, *elements)
    return value if value is not None and all(ctx.fits(value, x.dtype) for x in operands) else None


def _integral(x: TensorInfo) -> bool:
    return not isinstance(x.dtype, DType) or x.dtype.kind in ("int", "uint")


def _binary(track: Track | None) -> Callable[..., Out]:
    def rule(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Out:
        return Out(broadcast_tensors(ctx, x=x, y=y), tracked(ctx, track, x, y))

    return rule


def _unary(track: Track | None) -> Callable[..., Out]:
    def rule(ctx: Ctx, x: TensorInfo, *_: object) -> Out:
        return Out(known_shape(ctx, x), tracked(ctx, track, x))

    return rule


def _quotient(ctx: Ctx, a: Dim, b: Dim) -> Dim | None:
    return a // b if _divides(ctx, a, b) else None


def _modulus(ctx: Ctx, a: Dim, b: Dim) -> Dim | None:
    return a % b if _divides(ctx, a, b) else None


def _divides(ctx: Ctx, a: Dim, b: Dim) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return b != 0
    return ctx.decide(ctx.le(1, b)) is True


def _power(ctx: Ctx, a: Dim, b: Dim) -> Dim | None:
    """Small literal powers only: the others are no polynomials."""
    if not isinstance(b, int) or not 0 <= b <= 8:
        return None
    result: Dim = 1
    for _ in range(b):
        result = result * a
    return result


def _decided(compare: Callable[[Ctx, Dim, Dim], object]) -> Track:
    """A comparison of tracked elements: 1 or 0 where that follows from what is known of them."""

    def track(ctx: Ctx, a: Dim, b: Dim) -> Dim | None:
        known = ctx.decide(compare(ctx, a, b))
        return None if known is None else int(known)

    return track


_BINARY: tuple[tuple[str, str, tuple[str, ...], Track | None, str], ...] = (
    ("add", "T:numeric, T -> T", ("Add",), lambda ctx, a, b: a + b, "x + y. Integers wrap around, as in NumPy."),
    ("subtract", "T:numeric, T -> T", ("Sub",), lambda ctx, a, b: a - b, "x - y. Integers wrap around, as in NumPy."),
    ("multiply", "T:numeric, T -> T", ("Mul",), lambda ctx, a, b: a * b, "x * y. Integers wrap around, as in NumPy."),
    ("divide", "T:inexact, T -> T", ("Div",), None,
     "x / y. Integer operands are refused: use `//`, or cast first. Division by 0 gives inf or nan."),
    ("floor_divide", "T:real, T -> T", (), _quotient,
     "The greatest integer that is not above x / y, as Python's `//`. Integers divided by 0 give 0, as in NumPy."),
    ("remainder", "T:real, T -> T", ("Mod",), _modulus,
     "x - y * floor(x / y): the sign is that of y, as with Python's `%`. Integers modulo 0 give 0, as in NumPy."),
    ("maximum", "T:real, T -> T", ("Max",), lambda ctx, a, b: ctx.max(a, b), "The larger of both; nan if one is nan."),
    ("minimum", "T:real, T -> T", ("Min",), lambda ctx, a, b: ctx.min(a, b), "The smaller of both; nan if one is nan."),
    ("atan2", "T:floating, T -> T", (), None, "The angle of the point (y, x), from -pi to pi: the first operand is y."),
    ("logaddexp", "T:floating, T -> T", (), None, "log(exp(x) + exp(y)), without overflow."),
    ("hypot", "T:floating, T -> T", (), None, "sqrt(x * x + y * y), without overflow on the way."),
    ("copysign", "T:floating, T -> T", (), None, "The magnitude of x with the sign of y."),
    ("equal", "T:any, T -> bool", ("Equal",), _decided(lambda ctx, a, b: ctx.eq(a, b)),
     "x == y. nan equals nothing."),
    ("not_equal", "T:any, T -> bool", (), _decided(lambda ctx, a, b: ctx.ne(a, b)),
     "x != y. nan differs from everything."),
    ("less", "T:ordered, T -> bool", ("Less",), _decided(lambda ctx, a, b: ctx.lt(a, b)),
     "x < y."),
    ("less_equal", "T:ordered, T -> bool", ("LessOrEqual",), _decided(lambda ctx, a, b: ctx.le(a, b)),
     "x <= y."),
    ("greater", "T:ordered, T -> bool", ("Greater",), _decided(lambda ctx, a, b: ctx.lt(b, a)),
     "x > y."),
    ("greater_equal", "T:ordered, T -> bool", ("GreaterOrEqual",), _decided(lambda ctx, a, b: ctx.le(b, a)),
     "x >= y."),
    ("logical_and", "bool, bool -> bool", ("And",), None, "Whether both are true."),
    ("logical_or", "bool, bool -> bool", ("Or",), None, "Whether at least one is true."),
    ("logical_xor", "bool, bool -> bool", ("Xor",), None, "Whether exactly one is true."),
    ("bitwise_and", "T:{boolean, integer}, T -> T", ("BitwiseAnd",), None, "The bits that both have."),
    ("bitwise_or", "T:{boolean, integer}, T -> T", ("BitwiseOr",), None, "The bits that at least one has."),
    ("bitwise_xor", "T:{boolean, integer}, T -> T", ("BitwiseXor",), None, "The bits that exactly one has."),
    ("bitwise_left_shift", "T:integer, T -> T", (), None,
     "The bits of x moved y places up; bits that leave are lost, and so are all of them for y >= the width."),
    ("bitwise_right_shift", "T:integer, T -> T", (), None, "floor(x / 2 ** y): the sign of x is kept."),
)  # fmt: skip


_UNARY: tuple[tuple[str, str, tuple[str, ...], Track | None, str], ...] = (
    ("negative", "T:numeric -> T", ("Neg",), lambda ctx, a: -a, "-x. Unsigned integers wrap around, as in NumPy."),
    ("abs", "T:numeric -> real(T)", ("Abs",), lambda ctx, a: ctx.max(a, -a), "The magnitude of x, which is real."),
    ("sign", "T:numeric -> T", ("Sign",), None, "-1, 0 or 1; nan stays nan; of a complex number x / |x|."),
    ("square", "T:numeric -> T", (), lambda ctx, a: a * a, "x * x."),
    ("sqrt", "T:inexact -> T", ("Sqrt",), None, "The square root; nan of a negative number."),
    ("rsqrt", "T:inexact -> T", (), None, "1 / sqrt(x)."),
    ("reciprocal", "T:inexact -> T", ("Reciprocal",), None, "1 / x; inf of 0."),
    ("exp", "T:inexact -> T", ("Exp",), None, "e ** x."),
    ("expm1", "T:inexact -> T", (), None, "e ** x - 1, precise near 0."),
    ("log", "T:inexact -> T", ("Log",), None, "The natural logarithm; -inf of 0, nan of a negative number."),
    ("log1p", "T:inexact -> T", (), None, "log(1 + x), precise near 0."),
    ("log2", "T:inexact -> T", (), None, "The logarithm to base 2."),
    ("log10", "T:inexact -> T", (), None, "The logarithm to base 10."),
    ("sin", "T:inexact -> T", ("Sin",), None, "The sine of an angle in radians."),
    ("cos", "T:inexact -> T", ("Cos",), None, "The cosine of an angle in radians."),
    ("tan", "T:inexact -> T", ("Tan",), None, "The tangent of an angle in radians."),
    ("asin", "T:inexact -> T", ("Asin",), None, "The angle whose sine is x; nan outside of [-1, 1]."),
    ("acos", "T:inexact -> T", ("Acos",), None, "The angle whose cosine is x; nan outside of [-1, 1]."),
    ("atan", "T:inexact -> T", ("Atan",), None, "The angle whose tangent is x."),
    ("sinh", "T:inexact -> T", ("Sinh",), None, "The hyperbolic sine."),
    ("cosh", "T:inexact -> T", ("Cosh",), None, "The hyperbolic cosine."),
    ("tanh", "T:inexact -> T", ("Tanh",), None, "The hyperbolic tangent."),
    ("asinh", "T:inexact -> T", ("Asinh",), None, "The number whose hyperbolic sine is x."),
    ("acosh", "T:inexact -> T", ("Acosh",), None, "The number whose hyperbolic cosine is x; nan below 1."),
    ("atanh", "T:inexact -> T", ("Atanh",), None, "The number whose hyperbolic tangent is x; nan beyond [-1, 1]."),
    ("ceil", "T:real -> T", ("Ceil",), lambda ctx, a: a, "The least integer not below x, in x's dtype."),
    ("floor", "T:real -> T", ("Floor",), lambda ctx, a: a, "The greatest integer not above x, in x's dtype."),
    ("round", "T:numeric -> T", ("Round",), lambda ctx, a: a, "The nearest integer, of two the even one."),
    ("trunc", "T:real -> T", (), lambda ctx, a: a, "The nearest integer toward 0, in x's dtype."),
    ("identity", "T:any -> T", ("Identity",), lambda ctx, a: a, "x itself."),
    ("logical_not", "bool -> bool", ("Not",), None, "Whether x is false."),
    ("bitwise_invert", "T:{boolean, integer} -> T", ("BitwiseNot",), None, "Every bit of x turned; `not` of a bool."),
    ("isnan", "T:numeric -> bool", ("IsNaN",), None, "Whether x is not a number."),
    ("isinf", "T:numeric -> bool", ("IsInf",), None, "Whether x is infinite, of either sign."),
    ("isfinite", "T:numeric -> bool", (), None, "Whether x is neither infinite nor nan."),
    ("erf", "T:floating -> T", ("Erf",), None,
     "The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x. The absolute error is below 1e-6 "
     "in float32 and below 1e-14 in float64."),
    ("sigmoid", "T:floating -> T", ("Sigmoid",), None, "1 / (1 + exp(-x)), without overflow."),
    ("relu", "T:real -> T", ("Relu",), lambda ctx, a: ctx.max(a, 0), "max(x, 0)."),
    ("silu", "T:floating -> T", (), None, "x * sigmoid(x); also called swish (Elfwing et al. 2017)."),
    ("selu", "T:floating -> T", ("Selu",), None,
     "1.0507 * x where it is positive, else 1.0507 * 1.6733 * (exp(x) - 1) (Klambauer et al. 2017)."),
    ("mish", "T:floating -> T", ("Mish",), None, "x * tanh(softplus(x)) (Misra 2019)."),
    ("softsign", "T:floating -> T", ("Softsign",), None, "x / (1 + |x|)."),
    ("hard_swish", "T:floating -> T", ("HardSwish",), None, "x * max(0, min(1, x / 6 + 0.5)) (ONNX HardSwish)."),
    ("softplus", "T:floating -> T", ("Softplus",), None, "log(1 + exp(x)), without overflow."),
)  # fmt: skip


for _name, _dtypes, _onnx, _track, _doc in _BINARY:
    _doc = f"{_doc}\n\n{_BROADCAST}"
    _row = Primitive(_name, parse_params("x: tensor, y: tensor"), _dtypes, _binary(_track), _doc, onnx=_onnx)
    register(replace(_row, traits=frozenset((Trait.BROADCASTS,))))

for _name, _dtypes, _onnx, _track, _doc in _UNARY:
    _doc = f"{_doc}\n\n{_SAME}"
    register(Primitive(_name, parse_params("x: tensor"), _dtypes, _unary(_track), _doc, elementwise=True, onnx=_onnx))


@primitive("pow", "x: tensor, y: tensor", "T:numeric, T -> T", onnx=("Pow",), traits=[Trait.BROADCASTS])
def pow_(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Out:
    """x to the power y. A small literal y is computed by multiplications.

    The result has the shape that both operands broadcast to. Integers wrap around, and their powers are not negative: a
    negative literal is refused, a negative element ends the run.
    """
    shape = broadcast_tensors(ctx, x=x, y=y)
    if isinstance(x.dtype, DType) and x.dtype.kind in ("int", "uint") and y.data is not None:
        exponents = y.data if isinstance(y.data, tuple) else (y.data,)
        for exponent in exponents:
            asked = Other("the exponent {0} of integers not to be negative", (Argument("y"),))
            ctx.require(asked, ctx.le(0, exponent))
    return Out(shape, tracked(ctx, _power, x, y))


@primitive(
    "where",
    "condition: tensor, x: tensor, y: tensor",
    "bool, T:any, T -> T",
    onnx=("Where",),
    traits=[Trait.BROADCASTS],
)
def where(ctx: Ctx, condition: TensorInfo, x: TensorInfo, y: TensorInfo) -> tuple[Any, ...]:
    """The elements of `x` where `condition` is true, else those of `y`.

    The result has the shape that all three broadcast to.
    """
    return broadcast_tensors(ctx, condition=condition, x=x, y=y)


@primitive("clip", "x: tensor, min: tensor = none, max: tensor = none", "T:real, T, T -> T", onnx=("Clip",))
def clip(ctx: Ctx, x: TensorInfo, min: TensorInfo | None, max: TensorInfo | None) -> Out:
    """The elements of x moved into [min, max]: min(max(x, min), max), so `max` where the bounds cross. nan stays nan.

    The result has the shape that all of them broadcast to. A bound that is left out does not bind.
    """
    bounds = {name: bound for name, bound in (("min", min), ("max", max)) if bound is not None}

    def track(ctx: Ctx, value: Dim, *limits: Dim) -> Dim:
        for name, limit in zip(bounds, limits, strict=True):
            value = ctx.max(value, limit) if name == "min" else ctx.min(value, limit)
        return value

    return Out(broadcast_tensors(ctx, x=x, **bounds), tracked(ctx, track, x, *bounds.values()))


def _activation(name: str, attributes: str, onnx: tuple[str, ...], doc: str) -> None:
    params = parse_params(f"x: tensor, {attributes}")
    doc = f"{doc}\n\n{_SAME}"
    register(Primitive(name, params, "T:floating -> T", _unary(None), doc, elementwise=True, onnx=onnx))


_activation("leaky_relu", "alpha: float = 0.01", ("LeakyRelu",), "x where it is positive, else alpha * x.")
_activation(
    "elu", "alpha: float = 1.0", ("Elu",), "x where it is positive, else alpha * (exp(x) - 1) (Clevert et al. 2015)."
)
_activation(
    "hard_sigmoid", "alpha: float = 0.2, beta: float = 0.5", ("HardSigmoid",),
    "max(0, min(1, alpha * x + beta)) (ONNX HardSigmoid).",
)  # fmt: skip


@primitive("gelu", 'x: tensor, approximate: str = "none"', "T:floating -> T", elementwise=True, onnx=("Gelu",))
def gelu(ctx: Ctx, x: TensorInfo, approximate: str) -> tuple[Any, ...]:
    """x * P(X <= x) for a standard normal X: x / 2 * (1 + erf(x / sqrt(2))) (Hendrycks and Gimpel 2016).

    `approximate="tanh"` is x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))). The result has the shape
    of x.
    """
    choice(ctx, "approximate", approximate, ("none", "tanh"))
    return known_shape(ctx, x)
