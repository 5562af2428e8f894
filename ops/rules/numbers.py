"""Parts of numbers, element by element: of complex ones, of floating ones."""

from __future__ import annotations

from ..axes import Shape, known_shape
from ..broadcast import broadcast_tensors
from ..model import Ctx, Out, TensorInfo, Trait
from ..registry import primitive


@primitive("real", "x: tensor", "T:numeric -> real(T)")
def real(ctx: Ctx, x: TensorInfo) -> Shape:
    """The real part; that of a real number is the number. Array API `real`."""
    return known_shape(ctx, x)


@primitive("imag", "x: tensor", "T:numeric -> real(T)")
def imag(ctx: Ctx, x: TensorInfo) -> Shape:
    """The imaginary part; that of a real number is 0. Array API `imag`."""
    return known_shape(ctx, x)


@primitive("complex", "x: tensor, y: tensor", "T:{float32, float64}, T -> complex(T)", traits=[Trait.BROADCASTS])
def complex_(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Shape:
    """x + i y, the number with the real part x and the imaginary part y, which are broadcast. PyTorch's `complex`."""
    return broadcast_tensors(ctx, x=x, y=y)


@primitive("conj", "x: tensor", "T:numeric -> T", elementwise=True)
def conj(ctx: Ctx, x: TensorInfo) -> Shape:
    """The number with the imaginary part negated; a real one stays the same. Array API `conj`."""
    return known_shape(ctx, x)


@primitive("positive", "x: tensor", "T:numeric -> T", elementwise=True)
def positive(ctx: Ctx, x: TensorInfo) -> Out:
    """+x, which is x. Array API `positive`."""
    return Out(known_shape(ctx, x), x.data)


@primitive("signbit", "x: tensor", "T:{float16, bfloat16, float32, float64} -> bool")
def signbit(ctx: Ctx, x: TensorInfo) -> Shape:
    """Whether the sign is minus, as it is for -0. Array API `signbit`."""
    return known_shape(ctx, x)


@primitive(
    "nextafter", "x: tensor, y: tensor", "T:{float16, bfloat16, float32, float64}, T -> T", traits=[Trait.BROADCASTS]
)
def nextafter(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Shape:
    """The next number of the dtype after x towards y; both are broadcast. Array API `nextafter`."""
    return broadcast_tensors(ctx, x=x, y=y)
