"""Operators of onnxruntime's domain and of ai.onnx.ml that cannot be composed of Rx's primitives."""

from __future__ import annotations

from ..axes import Shape, axis_of, known_shape, place, product
from ..model import Ctx, TensorInfo
from ..operands import rank_at_least
from ..registry import primitive
from ..requirements import Argument, Equal, Is, Number, Other


@primitive(
    "onnx.matmul_bits",
    "x: tensor, weight: tensor, scales: tensor, zero_points: tensor = none, k: int = 1, n: int = 1, block: int = 32, "
    "bits: int = 4",
    "T:floating, uint8, S:floating, Z:any -> T",
)
def matmul_bits(
    ctx: Ctx, x: TensorInfo, weight: TensorInfo, scales: TensorInfo, zero_points: TensorInfo | None, k: int, n: int,
    block: int, bits: int,
) -> Shape:  # fmt: skip
    """The product with a matrix whose columns are packed integers of few bits, each block of them with a scale. MatMulNBits
    of onnxruntime."""
    if bits not in (2, 4, 8) or block < 1:
        ctx.fail(Other("2, 4 or 8 bits, and blocks of at least 1"))
    dims = known_shape(ctx, x)
    rank_at_least(ctx, "x", dims, 1)
    at = place(ctx, dims, -1)
    ctx.require(Is(axis_of("x", dims, at), Number(k)))
    blocks = -(-k // block)
    for name, given, count in (("weight", weight, n * blocks * -(-block * bits // 8)), ("scales", scales, n * blocks)):
        elements = Argument(name, product(ctx.dims(given)))
        ctx.require(Other(f"{{0}} to have {count} elements", (elements,)), ctx.eq(elements.size, count))
    if zero_points is not None:
        found, packed = product(ctx.dims(zero_points)), n * -(-blocks * bits // 8)
        known = ctx.any_of(ctx.eq(found, packed), ctx.eq(found, n * blocks))
        ctx.require(Other("{0} to have an entry for each block", (Argument("zero_points", found),)), known)
    return (*dims[:-1], n)


@primitive(
    "onnx.label_encoder", "x: tensor, keys: tensor, values: tensor, default: tensor, finds_nan: bool = true",
    "K:any, K, V:any, V -> V",
)  # fmt: skip
def label_encoder(
    ctx: Ctx, x: TensorInfo, keys: TensorInfo, values: TensorInfo, default: TensorInfo, finds_nan: bool
) -> Shape:
    """The value of the key that each element equals, else the default. LabelEncoder of ai.onnx.ml, whose version 2 finds no
    nan."""
    ctx.require(Equal(Argument("keys", product(ctx.dims(keys))), Argument("values", product(ctx.dims(values)))))
    return known_shape(ctx, x)


@primitive("onnx.feature_extractor", "x: tensor, indices: tensor", "T:any, I:integer -> T")
def feature_extractor(ctx: Ctx, x: TensorInfo, indices: TensorInfo) -> Shape:
    """Some entries of the last axis. ArrayFeatureExtractor of ai.onnx.ml."""
    dims, count = ctx.dims(x), product(ctx.dims(indices))
    rank_at_least(ctx, "x", dims, 1)
    return (1, count) if len(dims) == 1 else (*dims[:-1], count)


@primitive(
    "onnx.tensor_scatter",
    "cache: tensor, update: tensor, starts: tensor = none, axis: int = -2, circular: bool = false",
    "T:any, T, int64 -> T",
)
def tensor_scatter(
    ctx: Ctx, cache: TensorInfo, update: TensorInfo, starts: TensorInfo | None, axis: int, circular: bool
) -> Shape:
    """A cache with new entries along an axis, from a given position for each entry of the first axis. ONNX TensorScatter."""
    dims, new = ctx.dims(cache), ctx.dims(update)
    if len(dims) != len(new):
        ctx.fail(Other("{0} and {1} to have one rank", (Argument("cache"), Argument("update"))))
    at = place(ctx, dims, axis)
    for i in range(len(dims)):
        own, other = axis_of("cache", dims, i), axis_of("update", new, i)
        if i == at:
            ctx.require(Other("{0} to be at most {1}", (other, own)), ctx.le(new[i], dims[i]))
        else:
            ctx.require(Equal(own, other))
    if starts is not None:
        ctx.require(Equal(Argument("starts", product(ctx.dims(starts))), axis_of("cache", dims, 0)))
    return dims
