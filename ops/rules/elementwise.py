"""Element by element: arithmetic, comparison, logic, functions and activations, with NumPy's broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang.dtypes import DTYPES, DType
from ...lang.node import Node, replace
from .. import ranges
from ..arranged import spread
from ..axes import Shape, known_shape, larger, smaller
from ..broadcast import broadcast_tensors
from ..model import AnyDType, Ctx, Dim, ElementRange, Elements, Out, Primitive, TensorInfo, Trait
from ..operands import choice
from ..registry import parse_params, primitive, register
from ..requirements import Argument, Other
from ..tracked import Ratio, count_of, each, elements
from ..tracking import (
    Track,
    both,
    certain,
    chosen,
    compared,
    differ,
    divided,
    either,
    exactly,
    floored,
    modulus,
    nearest,
    negated,
    power,
    quotient,
    raised,
    root,
    sign,
    stored,
    times,
    toward_zero,
)

_BROADCAST = "The result has the shape that both operands broadcast to; sizes that are neither equal nor 1 are refused."
_SAME = "The result has the operand's shape."


def mapped(
    ctx: Ctx,
    track: Track | None,
    shape: Shape,
    *operands: TensorInfo,
    dtype: AnyDType | None = None,
    sparse: bool = False,
) -> Elements:
    """The elements of an operation's result on operands that broadcast to a shape, in the dtype of the operands or in
    `dtype`. With `sparse` the operation may determine an element although one operand is unknown."""
    known = [x.data is not None for x in operands]
    if track is None or count_of(shape) is None or not (any if sparse else all)(known):
        return None
    common = _common(*operands)
    columns = [_column(ctx, x, shape, common) for x in operands]
    if None in columns:
        return None
    target = common if dtype is None else dtype
    return each(lambda *values: stored(ctx, track(ctx, *values), target), *filter(None, columns))


def with_ends(
    ctx: Ctx,
    ends: ranges.Ends | None,
    shape: Shape,
    data: Elements,
    *operands: TensorInfo,
    dtype: AnyDType | None = None,
) -> Out:
    """A result computed element by element, with its elements or, if unknown, their ranges."""
    target = _common(*operands) if dtype is None else dtype
    return Out(shape, data, ranges.computed(ctx, ends, shape, target, *operands) if data is None else ())


def _common(*operands: TensorInfo) -> AnyDType | None:
    """The dtype of operands, some of which may be literal numbers."""
    return next((x.dtype for x in operands if x.dtype is not None), None)


def _column(ctx: Ctx, x: TensorInfo, shape: Shape, dtype: AnyDType | None) -> Elements:
    """The elements of an operand broadcast to the result's shape; a literal number takes the dtype."""
    own = known_shape(ctx, x)
    given = elements(x, own)
    if x.dtype is None and given is not None:
        is_float = isinstance(dtype, DType) and dtype.kind == "float"
        given = tuple(None if isinstance(e, Ratio) and not is_float else stored(ctx, e, dtype) for e in given)
    return spread(given, own, shape)


def _binary(name: str, track: Track | None, dtype: AnyDType | None = None, sparse: bool = False) -> Callable[..., Out]:
    def rule(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Out:
        shape = broadcast_tensors(ctx, x=x, y=y)
        data = mapped(ctx, track, shape, x, y, dtype=dtype, sparse=sparse)
        return with_ends(ctx, _ENDS.get(name), shape, data, x, y, dtype=dtype)

    return rule


def _unary(track: Track | None, dtype: AnyDType | None = None, ends: ranges.Ends | None = None) -> Callable[..., Out]:
    def rule(ctx: Ctx, x: TensorInfo, *_: object) -> Out:
        shape = known_shape(ctx, x)
        return with_ends(ctx, ends, shape, mapped(ctx, track, shape, x, dtype=dtype), x, dtype=dtype)

    return rule


def _where(ctx: Ctx, x: Any, y: Any, condition: Any) -> Any:
    return chosen(ctx, condition, x, y)


def _always(truth: int) -> Track:
    return lambda ctx, a: None if certain(ctx, a) is None else truth


_EQUAL = compared(lambda ctx, a, b: ctx.eq(a, b), lambda ctx, a, b: ctx.ne(a, b))
_LESS = compared(lambda ctx, a, b: ctx.lt(a, b), lambda ctx, a, b: ctx.le(b, a))
_AT_MOST = compared(lambda ctx, a, b: ctx.le(a, b), lambda ctx, a, b: ctx.lt(b, a))
_OTHER: Track = lambda ctx, a, b: negated(ctx, _EQUAL(ctx, a, b))  # noqa: E731
_ABSOLUTE = exactly(lambda ctx, a: ctx.max(a, -a))
# The ranges of results.
_ENDS: dict[str, ranges.Ends] = {
    "add": ranges.added, "subtract": ranges.subtracted, "multiply": ranges.multiplied,
    "floor_divide": ranges.floor_divided, "remainder": ranges.remainder,
    "negative": ranges.turned, "maximum": ranges.maximum, "minimum": ranges.minimum,
    "less": ranges.less, "greater": lambda ctx, shape, a, b: ranges.less(ctx, shape, b, a),
    "less_equal": lambda ctx, shape, a, b: ranges.negated(ranges.less(ctx, shape, b, a)),
    "greater_equal": lambda ctx, shape, a, b: ranges.negated(ranges.less(ctx, shape, a, b)),
}  # fmt: skip


_BINARY: tuple[tuple[str, str, tuple[str, ...], Track | None, str], ...] = (
    ("add", "T:numeric, T -> T", ("Add",), exactly(lambda ctx, a, b: a + b),
     "x + y. Integers wrap around, as in NumPy."),
    ("subtract", "T:numeric, T -> T", ("Sub",), exactly(lambda ctx, a, b: a - b, keeps=False),
     "x - y. Integers wrap around, as in NumPy."),
    ("multiply", "T:numeric, T -> T", ("Mul",), times,
     "x * y. Integers wrap around, as in NumPy."),
    ("divide", "T:inexact, T -> T", ("Div",), divided,
     "x / y. Integer operands are refused: use `//`, or cast first. Division by 0 gives inf or nan."),
    ("floor_divide", "T:real, T -> T", (), exactly(quotient, whole=True),
     "The greatest integer that is not above x / y, as Python's `//`. Integers divided by 0 give 0, as in NumPy."),
    ("remainder", "T:real, T -> T", ("Mod",), exactly(modulus),
     "x - y * floor(x / y): the sign is that of y, as with Python's `%`. Integers modulo 0 give 0, as in NumPy."),
    ("maximum", "T:real, T -> T", ("Max",), exactly(larger),
     "The larger of both; nan if one is nan."),
    ("minimum", "T:real, T -> T", ("Min",), exactly(smaller),
     "The smaller of both; nan if one is nan."),
    ("atan2", "T:floating, T -> T", (), None, "The angle of the point (y, x), from -pi to pi: the first operand is y."),
    ("logaddexp", "T:floating, T -> T", (), None, "log(exp(x) + exp(y)), without overflow."),
    ("hypot", "T:floating, T -> T", (), None, "sqrt(x * x + y * y), without overflow on the way."),
    ("copysign", "T:floating, T -> T", (), None, "The magnitude of x with the sign of y."),
    ("equal", "T:any, T -> bool", ("Equal",), _EQUAL,
     "x == y. nan equals nothing."),
    ("not_equal", "T:any, T -> bool", (), _OTHER,
     "x != y. nan differs from everything."),
    ("less", "T:ordered, T -> bool", ("Less",), _LESS,
     "x < y."),
    ("less_equal", "T:ordered, T -> bool", ("LessOrEqual",), _AT_MOST,
     "x <= y."),
    ("greater", "T:ordered, T -> bool", ("Greater",), lambda ctx, a, b: _LESS(ctx, b, a),
     "x > y."),
    ("greater_equal", "T:ordered, T -> bool", ("GreaterOrEqual",), lambda ctx, a, b: _AT_MOST(ctx, b, a),
     "x >= y."),
    ("logical_and", "bool, bool -> bool", ("And",), both, "Whether both are true."),
    ("logical_or", "bool, bool -> bool", ("Or",), either, "Whether at least one is true."),
    ("logical_xor", "bool, bool -> bool", ("Xor",), differ, "Whether exactly one is true."),
    ("bitwise_and", "T:{boolean, integer}, T -> T", ("BitwiseAnd",), None, "The bits that are set in both."),
    ("bitwise_or", "T:{boolean, integer}, T -> T", ("BitwiseOr",), None, "The bits that are set in at least one."),
    ("bitwise_xor", "T:{boolean, integer}, T -> T", ("BitwiseXor",), None, "The bits that are set in exactly one."),
    ("bitwise_left_shift", "T:integer, T -> T", (), None,
     "x * 2 ** y: bits beyond the width are lost, so for y >= the width the result is 0."),
    ("bitwise_right_shift", "T:integer, T -> T", (), None, "floor(x / 2 ** y): the sign of x is kept."),
)  # fmt: skip


_UNARY: tuple[tuple[str, str, tuple[str, ...], Track | None, str], ...] = (
    ("negative", "T:numeric -> T", ("Neg",), exactly(lambda ctx, a: -a, keeps=False),
     "-x. Unsigned integers wrap around, as in NumPy."),
    ("abs", "T:numeric -> real(T)", ("Abs",), _ABSOLUTE, "The magnitude of x, which is real."),
    ("sign", "T:numeric -> T", ("Sign",), exactly(sign, whole=True, keeps=False),
     "-1, 0 or 1; nan stays nan; of a complex number x / |x|."),
    ("square", "T:numeric -> T", (), lambda ctx, a: times(ctx, a, a), "x * x."),
    ("sqrt", "T:inexact -> T", ("Sqrt",), root, "The square root; nan of a negative number."),
    ("rsqrt", "T:inexact -> T", (), None, "1 / sqrt(x)."),
    ("reciprocal", "T:inexact -> T", ("Reciprocal",), lambda ctx, a: divided(ctx, Ratio(1, natural=True), a),
     "1 / x; inf of 0."),
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
    ("ceil", "T:real -> T", ("Ceil",), raised, "The least integer not below x, in x's dtype."),
    ("floor", "T:real -> T", ("Floor",), floored, "The greatest integer not above x, in x's dtype."),
    ("round", "T:numeric -> T", ("Round",), nearest, "The nearest integer, of two the even one."),
    ("trunc", "T:real -> T", (), toward_zero, "The nearest integer toward 0, in x's dtype."),
    ("logical_not", "bool -> bool", ("Not",), negated, "Whether x is false."),
    ("bitwise_invert", "T:{boolean, integer} -> T", ("BitwiseNot",), None, "Every bit of x inverted; `not` of a bool."),
    ("isnan", "T:numeric -> bool", ("IsNaN",), _always(0), "Whether x is not a number."),
    ("isinf", "T:numeric -> bool", ("IsInf",), _always(0), "Whether x is infinite, of either sign."),
    ("isfinite", "T:numeric -> bool", (), _always(1), "Whether x is neither infinite nor nan."),
    ("erf", "T:floating -> T", ("Erf",), None,
     "The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x. The absolute error is below 1e-6 "
     "in float32 and below 1e-14 in float64."),
    ("sigmoid", "T:floating -> T", ("Sigmoid",), None, "1 / (1 + exp(-x)), without overflow."),
    ("relu", "T:real -> T", ("Relu",), exactly(lambda ctx, a: ctx.max(a, 0)), "max(x, 0)."),
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
    _target = DTYPES["bool"] if _dtypes.endswith("bool") else None
    _rule = _binary(_name, _track, _target, sparse=_dtypes.startswith("bool"))
    _row = Primitive(_name, parse_params("x: tensor, y: tensor"), _dtypes, _rule, _doc, onnx=_onnx)
    register(replace(_row, traits=frozenset((Trait.BROADCASTS,))))


def _itself(ctx: Ctx, x: TensorInfo) -> Out:
    return Out(known_shape(ctx, x), x.data, x.ranges)


register(
    Primitive(
        "identity", parse_params("x: tensor"), "T:any -> T", _itself, f"x itself.\n\n{_SAME}",
        elementwise=True, onnx=("Identity",), selects="x",
    )
)  # fmt: skip

register(
    Primitive(
        "stop_gradient", parse_params("x: tensor"), "T:any -> T", _itself,
        "x itself, which a gradient takes for a constant. JAX's `stop_gradient`, PyTorch's `detach`.\n\n" + _SAME,
        elementwise=True, selects="x",
    )
)  # fmt: skip

for _name, _dtypes, _onnx, _track, _doc in _UNARY:
    _doc = f"{_doc}\n\n{_SAME}"
    _rule = _unary(_track, DTYPES["bool"] if _dtypes.endswith("bool") else None, _ENDS.get(_name))
    register(Primitive(_name, parse_params("x: tensor"), _dtypes, _rule, _doc, elementwise=True, onnx=_onnx))


@primitive("pow", "x: tensor, y: tensor", "T:numeric, T -> T", onnx=("Pow",), traits=[Trait.BROADCASTS], refuses="y")
def pow_(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Out:
    """x to the power y. A small literal y is computed by multiplications.

    The result has the shape that both operands broadcast to. Integers wrap around, and their powers are not negative: a
    negative literal is refused, a negative element ends the run.
    """
    shape = broadcast_tensors(ctx, x=x, y=y)
    if isinstance(x.dtype, DType) and x.dtype.kind in ("int", "uint") and y.data is not None:
        for exponent in y.data:
            if exponent is None or isinstance(exponent, Node):
                continue
            asked = Other("{0} not to be negative, as an exponent of integers", (Argument("y"),))
            ctx.require(asked, ctx.le(0, exponent))
    return Out(shape, mapped(ctx, power, shape, x, y))


@primitive(
    "where",
    "condition: tensor, x: tensor, y: tensor",
    "bool, T:any, T -> T",
    onnx=("Where",),
    traits=[Trait.BROADCASTS],
)
def where(ctx: Ctx, condition: TensorInfo, x: TensorInfo, y: TensorInfo) -> Out:
    """The elements of `x` where `condition` is true, else those of `y`.

    The result has the shape that all three broadcast to.
    """
    shape = broadcast_tensors(ctx, condition=condition, x=x, y=y)
    is_weak = x.dtype is None and y.dtype is None
    data = None if is_weak else mapped(ctx, _where, shape, x, y, condition, sparse=True)
    return Out(shape, data, ranges.chosen(ctx, shape, _common(x, y), condition, x, y) if data is None else ())


@primitive("clip", "x: tensor, min: tensor = none, max: tensor = none", "T:real, T, T -> T", onnx=("Clip",))
def clip(ctx: Ctx, x: TensorInfo, min: TensorInfo | None, max: TensorInfo | None) -> Out:
    """The elements of x moved into [min, max]: min(max(x, min), max), so `max` where the bounds cross. nan stays nan.

    The result has the shape that all of them broadcast to. A bound may be left out.
    """
    bounds = {name: bound for name, bound in (("min", min), ("max", max)) if bound is not None}

    def track(ctx: Ctx, value: Dim, *limits: Dim) -> Dim:
        for name, limit in zip(bounds, limits, strict=True):
            value = (larger if name == "min" else smaller)(ctx, value, limit)
        return value

    shape = broadcast_tensors(ctx, x=x, **bounds)
    data = mapped(ctx, exactly(track), shape, x, *bounds.values())

    def ends(ctx: Ctx, shape: Shape, r: ElementRange, *limits: ElementRange) -> ElementRange:
        for name, limit in zip(bounds, limits, strict=True):
            r = (ranges.maximum if name == "min" else ranges.minimum)(ctx, shape, r, limit)
        return r

    return with_ends(ctx, ends, shape, data, x, *bounds.values())


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
