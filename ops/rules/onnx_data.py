"""ONNX's operators whose results depend on the data or on chance: distinct elements, counts of sequences, random numbers."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, known_shape, not_negative, place, product, put
from ..casts import attribute
from ..model import AnyDType, Ctx, Dim, ElementRange, Out, TensorInfo
from ..operands import choice, ranked
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, OfRank, SizeEntry

_FLOATS = ("float16", "bfloat16", "float32", "float64")


@primitive(
    "onnx.unique",
    "x: tensor, axis: int = none, sorted: bool = true",
    "T:any -> T, int64, int64, int64",
    results="tuple",
)
def unique(ctx: Ctx, x: TensorInfo, axis: int | None, sorted_: bool) -> list[Any]:
    """The distinct elements, or the distinct parts along an axis; where each occurs first, the index of each element among
    them, and how often each occurs. In the order of first occurrence unless `sorted`. ONNX Unique."""
    dims = ctx.dims(x)
    if axis is None:
        count = product(dims)
        k: Dim = ctx.fresh("k", 0, count)
        return [(k,), *_places(count, k), (k,)]
    at = place(ctx, dims, axis)
    k = ctx.fresh("k", 0, dims[at])
    return [put(dims, at, k), *_places(dims[at], k), (k,)]


def _places(count: Dim, k: Dim) -> tuple[Out, Out]:
    """The first position of each of k distinct parts, and for each part the number of the distinct one that it equals."""
    return Out((k,), None, (ElementRange(0, count - 1),)), Out((count,), None, (ElementRange(0, k - 1),))


@primitive(
    "onnx.tf_idf",
    "x: tensor, pool: tensor, starts: ints, columns: ints, weights: tensor = none, "
    'shortest: int = 1, longest: int = 1, skips: int = 0, mode: str = "TF"',
    "T:{int32, int64, string}, P:{int64, string}, float32 -> float32",
)
def tf_idf(
    ctx: Ctx, x: TensorInfo, pool: TensorInfo, starts: tuple[int, ...], columns: tuple[int, ...], *rest: Any
) -> Shape:
    """How often the sequences of `pool` occur in each row, with up to `skips` elements between two of one sequence. ONNX
    TfIdfVectorizer."""
    choice(ctx, "mode", rest[-1], ("TF", "IDF", "TFIDF"))
    dims = ctx.dims(x)
    if len(dims) not in (1, 2):
        ctx.fail(OfRank("{0} to have one axis or two", (Argument("x"),), f"its rank is {len(dims)}"))
    return (*dims[:-1], max(columns, default=-1) + 1)


@primitive(
    "onnx.bernoulli", "x: tensor, dtype: dtype = none, seed: float = none", "T:floating -> T=dtype", elementwise=True
)
def bernoulli(ctx: Ctx, x: TensorInfo, dtype: AnyDType | None, seed: float | None) -> Shape:
    """1 with the probability that each element gives, else 0. ONNX Bernoulli."""
    return known_shape(ctx, x)


_DRAWN = 'how: str = "normal", a: float = 0.0, b: float = 1.0, dtype: dtype = none, seed: float = none'


@primitive("onnx.random_like", f"x: tensor, {_DRAWN}", "T:any -> T=dtype")
def random_like(ctx: Ctx, x: TensorInfo, how: str, a: float, b: float, *rest: Any) -> Shape:
    """Random numbers, "normal" with the mean a and the deviation b, or "uniform" from a to before b. ONNX RandomNormalLike
    and RandomUniformLike."""
    choice(ctx, "how", how, ("normal", "uniform"))
    return known_shape(ctx, x)


@primitive("onnx.random", f"shape: shape, {_DRAWN}", "-> float32=dtype")
def random(ctx: Ctx, shape: Shape, how: str, a: float, b: float, dtype: AnyDType | None, seed: float | None) -> Shape:
    """The same random numbers in a given shape. ONNX RandomNormal and RandomUniform."""
    choice(ctx, "how", how, ("normal", "uniform"))
    if dtype is not None:
        attribute(ctx, dtype, *_FLOATS)
    for axis, size in enumerate(shape):
        not_negative(ctx, SizeEntry("shape", axis, size, "size"))
    return shape


@primitive(
    "onnx.multinomial", "x: tensor, samples: int = 1, dtype: dtype = none, seed: float = none",
    "T:floating -> int32=dtype",
)  # fmt: skip
def multinomial(ctx: Ctx, x: TensorInfo, samples: int, dtype: AnyDType | None, seed: float | None) -> Shape:
    """Indices drawn by the logarithms of their probabilities, `samples` from each row. ONNX Multinomial."""
    batch, classes = ranked(ctx, "x", x, 2, "[batch, classes]")
    ctx.require(AtLeast(Axis("x", 1, classes), 1))
    return (batch, samples)
