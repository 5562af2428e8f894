"""Random numbers from keys: a key is a tensor, and one key always gives the same numbers."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, axis_of, indices, known_shape, not_negative, place, without
from ..casts import attribute
from ..model import Ctx, Dim, ElementRange, Out, Segment, TensorInfo
from ..operands import ranked
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, Is, Number, SizeEntry

_KEY = "K:{uint64}"
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _key(ctx: Ctx, key: TensorInfo) -> None:
    (words,) = ranked(ctx, "key", key, 1)
    ctx.require(Is(Axis("key", 0, words), Number(2)))


def _drawn(ctx: Ctx, key: TensorInfo, shape: Shape, dtype: Any) -> Shape:
    _key(ctx, key)
    if dtype is not None:
        attribute(ctx, dtype, *_FLOATS)
    for axis, size in enumerate(shape):
        if not isinstance(size, Segment):
            not_negative(ctx, SizeEntry("shape", axis, size, "size"))
    return shape


@primitive("random_key", "seed: size", "-> uint64")
def random_key(ctx: Ctx, seed: Dim) -> Shape:
    """The key `[2]` of a seed, uint64, for the other random functions: equal keys give equal numbers, on every machine.

    Use a key only once; `random_split` makes more keys from it.
    """
    return (2,)


@primitive("random_split", "key: tensor, num: size = 2", f"{_KEY} -> uint64", needs={"num": "exact"})
def random_split(ctx: Ctx, key: TensorInfo, num: Dim) -> Shape:
    """`num` keys, `[num, 2]`, whose numbers are independent of each other and of those of `key`."""
    _key(ctx, key)
    not_negative(ctx, Argument("num", num))
    return (num, 2)


@primitive(
    "random_uniform",
    "key: tensor, shape: shape, dtype: dtype = none",
    f"{_KEY} -> float32=dtype",
    needs={"shape": "exact"},
)
def random_uniform(ctx: Ctx, key: TensorInfo, shape: Shape, dtype: Any) -> Shape:
    """Uniformly distributed numbers from [0, 1); float32, or float16, bfloat16 or float64 if that is given."""
    return _drawn(ctx, key, shape, dtype)


@primitive(
    "random_normal",
    "key: tensor, shape: shape, dtype: dtype = none",
    f"{_KEY} -> float32=dtype",
    needs={"shape": "exact"},
)
def random_normal(ctx: Ctx, key: TensorInfo, shape: Shape, dtype: Any) -> Shape:
    """Normally distributed numbers with mean 0 and variance 1; float32, or float16, bfloat16 or float64 if that is given."""
    return _drawn(ctx, key, shape, dtype)


@primitive("random_categorical", "key: tensor, logits: tensor, axis: int = -1", f"{_KEY}, T:floating -> int64")
def random_categorical(ctx: Ctx, key: TensorInfo, logits: TensorInfo, axis: int) -> Out:
    """For each position of the other axes an index along `axis`: i with the probability softmax(logits)[i]. `[*s, n]` gives
    `[*s]`.

    The axis is not empty; the results are from 0 to n - 1.
    """
    _key(ctx, key)
    shape = known_shape(ctx, logits)
    i = place(ctx, shape, axis)
    ctx.require(AtLeast(axis_of("logits", shape, i), 1))
    return indices(ctx, without(shape, i), shape[i] - 1)


@primitive("random_permutation", "key: tensor, n: size", f"{_KEY} -> int64", needs={"n": "exact"})
def random_permutation(ctx: Ctx, key: TensorInfo, n: Dim) -> Out:
    """The numbers from 0 to n - 1 in a random order, `[n]`; all orders are equally likely."""
    _key(ctx, key)
    not_negative(ctx, Argument("n", n))
    return Out((n,), None, (ElementRange(0, n - 1, True, True),))
