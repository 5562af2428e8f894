"""Fourier transforms of one axis or of several, each with the length that it is cut or filled up to."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, axis_of, is_plain, known_shape, places, put, shape_and_axis
from ..casts import attribute
from ..model import Ctx, Dim, Primitive, RankUnknown, TensorInfo
from ..operands import choice
from ..registry import parse_params, primitive, register
from ..requirements import Argument, AtLeast, Other, Quantity, SizeEntry

# The dtypes that pocketfft computes with.
_ANY = "T:{float32, float64, complex64, complex128}"
_REAL = "T:{float32, float64}"
_NORMS = ("backward", "ortho", "forward")

_LENGTH = (
    "Each transformed axis is cut, or filled up with zeros, to the given length, which is at least 1. `norm` says which "
    'direction is divided by that length: "backward" the inverse, "forward" the transform, "ortho" both, by its root.'
)


def _full(size: Dim) -> Dim:
    return size


def _half(size: Dim) -> Dim:
    """How many numbers determine the transform of `size` real ones: the others are their conjugates."""
    return size // 2 + 1


def _unfolded(size: Dim) -> Dim:
    """The default number of real numbers whose transform is determined by `size` numbers."""
    return size * 2 - 2


def _length(ctx: Ctx, shape: Shape, i: int, asked: Quantity | None, default: Any) -> Dim:
    """The length of a transform along one axis; requires it to be at least 1."""
    if asked is not None:
        ctx.require(AtLeast(asked, 1))
        return asked.size  # type: ignore[no-any-return]
    ctx.require(AtLeast(axis_of("x", shape, i), 1 if default is _full else 2))
    return default(shape[i])  # type: ignore[no-any-return]


def _along_one(name: str, dtypes: str, doc: str, default: Any = _full, after: Any = _full) -> None:
    def rule(ctx: Ctx, x: TensorInfo, n: Dim | None, axis: int, norm: str) -> Shape:
        choice(ctx, "norm", norm, _NORMS)
        shape, i = shape_and_axis(ctx, x, axis)
        asked = None if n is None else Argument("n", n)
        return put(shape, i, after(_length(ctx, shape, i, asked, default)))

    params = parse_params('x: tensor, n: size = none, axis: int = -1, norm: str = "backward"')
    doc = f"{doc}\n\n{_LENGTH} Array API `fft.{name}`."
    register(Primitive(name, params, dtypes, rule, doc, needs={"n": "exact"}))


def _along_several(name: str, dtypes: str, doc: str, default: Any = _full, after: Any = _full) -> None:
    def rule(ctx: Ctx, x: TensorInfo, s: Shape | None, axes: tuple[int, ...] | None, norm: str) -> Shape:
        choice(ctx, "norm", norm, _NORMS)
        shape = known_shape(ctx, x)
        found = _axes(ctx, shape, s, axes)
        for n, i in enumerate(found):
            asked = None if s is None else SizeEntry("s", n, s[n])
            last = n == len(found) - 1
            length = _length(ctx, shape, i, asked, default if last else _full)
            shape = put(shape, i, after(length) if last else length)
        return shape

    params = parse_params('x: tensor, s: sizes = none, axes: ints = none, norm: str = "backward"')
    doc = (
        f"{doc}\n\n`s` has the lengths along `axes`, which are the last ones if they are left out, all of them without `s`. "
        f"{_LENGTH} Array API `fft.{name}`."
    )
    register(Primitive(name, params, dtypes, rule, doc, needs={"s": "exact"}))


def _axes(ctx: Ctx, shape: Shape, s: Shape | None, axes: tuple[int, ...] | None) -> tuple[int, ...]:
    """The places of the transformed axes; requires at least one."""
    if axes is None and s is None and not is_plain(shape):
        raise RankUnknown
    if axes is None:
        count = len(shape) if s is None else len(s)
        axes = tuple(range(-count, 0))
    if s is not None and len(s) != len(axes):
        ctx.fail(Other("as many lengths in `s` as axes in `axes`", but=f"they are {len(s)} and {len(axes)}"))
    if not axes:
        ctx.fail(Other("an axis to transform"))
    return places(ctx, shape, axes, "axes")


_along_one(
    "fft", f"{_ANY} -> complex(T)",
    "The discrete Fourier transform along one axis: element k is the sum of x[j] * exp(-2 pi i j k / n).",
)  # fmt: skip
_along_one("ifft", f"{_ANY} -> complex(T)", "The inverse of `fft` along one axis.")
_along_one(
    "rfft", f"{_REAL} -> complex(T)",
    "The transform of real numbers along one axis, which becomes n // 2 + 1: the other elements are conjugates of these.",
    after=_half,
)  # fmt: skip
_along_one(
    "irfft", f"{_ANY} -> real(T)",
    "The inverse of `rfft` along one axis, which becomes n, 2 * (m - 1) for an axis of size m if n is left out.",
    default=_unfolded,
)  # fmt: skip
_along_one(
    "hfft", f"{_ANY} -> real(T)",
    "The transform along one axis of numbers whose second half, conjugates of the first, is left out; the axis becomes n, "
    "2 * (m - 1) for an axis of size m if n is left out.",
    default=_unfolded,
)  # fmt: skip
_along_one(
    "ihfft", f"{_REAL} -> complex(T)", "The inverse of `hfft` along one axis, which becomes n // 2 + 1.", after=_half
)
_along_several("fftn", f"{_ANY} -> complex(T)", "The discrete Fourier transform along several axes.")
_along_several("ifftn", f"{_ANY} -> complex(T)", "The inverse of `fftn`.")
_along_several(
    "rfftn", f"{_REAL} -> complex(T)",
    "The transform of real numbers along several axes, the last of which becomes n // 2 + 1.", after=_half,
)  # fmt: skip
_along_several(
    "irfftn", f"{_ANY} -> real(T)",
    "The inverse of `rfftn`, whose last axis becomes 2 * (m - 1) for an axis of size m if `s` is left out.",
    default=_unfolded,
)  # fmt: skip


# Frequencies


def _frequencies(name: str, doc: str, after: Any) -> None:
    def rule(ctx: Ctx, n: Dim, d: float, dtype: Any) -> Shape:
        ctx.require(AtLeast(Argument("n", n), 1))
        if d == 0:
            ctx.fail(Other("d, the time between two samples, not to be 0"))
        if dtype is not None:
            attribute(ctx, dtype, "floating")
        return (after(n),)

    params = parse_params("n: size, d: float = 1.0, dtype: dtype = none")
    doc = f"{doc} in cycles per unit of `d`, the time between two samples; float32 if no other floating dtype is given."
    doc = f"{doc}\n\nArray API `fft.{name}`."
    register(Primitive(name, params, "-> float32=dtype", rule, doc, needs={"n": "exact"}))


_frequencies("fftfreq", "The frequencies of the n results of `fft`,", _full)
_frequencies("rfftfreq", "The frequencies of the n // 2 + 1 results of `rfft` of length n,", _half)


@primitive("fftshift", "x: tensor, axes: ints = none", "T:any -> T")
def fftshift(ctx: Ctx, x: TensorInfo, axes: tuple[int, ...] | None) -> Shape:
    """The frequency 0 moved to the middle, place n // 2, of each of `axes`, or of all. Array API `fft.fftshift`."""
    shape = known_shape(ctx, x)
    if axes is not None:
        places(ctx, shape, axes, "axes")
    return shape


@primitive("ifftshift", "x: tensor, axes: ints = none", "T:any -> T")
def ifftshift(ctx: Ctx, x: TensorInfo, axes: tuple[int, ...] | None) -> Shape:
    """The inverse of `fftshift`. Array API `fft.ifftshift`."""
    return fftshift(ctx, x, axes)  # type: ignore[no-any-return]
