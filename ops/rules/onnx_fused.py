"""Operators of onnxruntime's own domain: attention with caches, masks and explicit positions, packed integers."""

from __future__ import annotations

from ..axes import Shape, axis_of, known_shape, larger, place, product
from ..model import Ctx, Dim, TensorInfo
from ..operands import attribute_at_least, ranked
from ..registry import primitive
from ..requirements import Argument, AtMost, Axis, BroadcastTo, Equal, Is, Number, OfRank, Other


@primitive(
    "onnx.mask_bias", "mask: tensor, q: tensor, total: size, hidden: float = -10000.0", "I:integer, T:floating -> T"
)
def mask_bias(ctx: Ctx, mask: TensorInfo, q: TensorInfo, total: Dim, hidden: float) -> Shape:
    """A bias for scores over `total` keys: `hidden` where the mask is 0, or beyond the number of keys that it gives for each
    batch; a mask of one column hides nothing. The mask_index of onnxruntime's Attention."""
    dims, batch, length = ctx.dims(mask), ctx.dims(q)[0], ctx.dims(q)[-2]
    if not 1 <= len(dims) <= 3:
        ctx.fail(OfRank("{0} to have rank 1 to 3", (Argument("mask"),), f"its rank is {len(dims)}"))
    if len(dims) == 1:
        known = ctx.any_of(ctx.eq(dims[0], batch), ctx.eq(dims[0], 2 * batch), ctx.eq(dims[0], 3 * batch + 2))
        ctx.require(Other("{0} to have an entry for each batch", (Axis("mask", 0, dims[0]),)), known)
        return batch, 1, 1, total
    if len(dims) == 2:
        one_each = ctx.all_of(ctx.eq(dims[0], batch), ctx.eq(dims[1], total))
        for_all = ctx.all_of(ctx.any_of(ctx.eq(dims[0], batch), ctx.eq(dims[0], 1)), ctx.eq(dims[1], 1))
        needs = Other("{0} to be (batch, keys), or to have one column, which hides nothing", (Argument("mask"),))
        ctx.require(needs, ctx.any_of(one_each, for_all))
        return batch, 1, 1, total
    ctx.require(Is(Axis("mask", 0, dims[0]), Number(batch)))
    ctx.require(Is(Axis("mask", 2, dims[-1]), Argument("total", total)))
    ctx.require(Is(Axis("mask", 1, dims[1]), Number(length)))
    return batch, 1, length, total


@primitive("onnx.positions", "start: tensor, x: tensor, heads: bool = false", "I:integer, T:any -> int64")
def positions(ctx: Ctx, start: TensorInfo, x: TensorInfo, heads: bool) -> Shape:
    """The position of each row of x: the given positions, or consecutive ones from the given start. The position_ids of
    onnxruntime's RotaryEmbedding."""
    given, dims = ctx.dims(start), ctx.dims(x)
    wanted = (dims[0], dims[2 if heads else 1])
    if len(given) == 1:
        ctx.require(Is(Axis("start", 0, given[0]), Number(1)))
    else:
        for axis, (size, own) in enumerate(zip(ranked(ctx, "start", start, 2), wanted, strict=True)):
            ctx.require(Is(Axis("start", axis, size), Number(own)))
    return wanted


@primitive(
    "onnx.group_query_attention",
    "q: tensor, k: tensor, v: tensor, lengths: tensor, total: size, past_key: tensor = none, past_value: tensor = none, "
    "cosines: tensor = none, sines: tensor = none, positions: tensor = none, interleaved: bool = false, scale: float = none, "
    "softcap: float = 0.0, window: int = -1, q_heads: int = 1, kv_heads: int = 1",
    "T:floating, T, T, I:integer, T, T, T, T, int64 -> T, T, T", results="tuple", needs={"total": "exact"},
)  # fmt: skip
def group_query_attention(
    ctx: Ctx, q: TensorInfo, k: TensorInfo, v: TensorInfo, lengths: TensorInfo, total: Dim, past_key: TensorInfo | None,
    past_value: TensorInfo | None, cosines: TensorInfo | None, sines: TensorInfo | None, positions: TensorInfo | None,
    interleaved: bool, scale: float | None, softcap: float, window: int, q_heads: int, kv_heads: int,
) -> list[Shape]:  # fmt: skip
    """Attention over the keys of each batch so far, `lengths` + 1 of them and at most `total`; and all keys and values.
    GroupQueryAttention of onnxruntime."""
    for name, count in (("q_heads", q_heads), ("kv_heads", kv_heads)):
        attribute_at_least(ctx, name, 1, count)
    a, b, c = (ranked(ctx, name, x, 3) for name, x in (("q", q), ("k", k), ("v", v)))
    size = b[2] // kv_heads
    ctx.require(Other(f"{{0}} to be a multiple of {kv_heads}", (Axis("k", 2, b[2]),)), ctx.eq(b[2] % kv_heads, 0))
    ctx.require(Is(Axis("q", 2, a[2]), Number(q_heads * size)))
    for axis in range(3):
        ctx.require(Equal(Axis("v", axis, c[axis]), Axis("k", axis, b[axis])))
    for axis in range(2):
        ctx.require(Equal(Axis("k", axis, b[axis]), Axis("q", axis, a[axis])))
    ctx.require(Equal(Argument("lengths", product(ctx.dims(lengths))), Axis("q", 0, a[0])))
    ctx.require(AtMost(Axis("q", 1, a[1]), Argument("total", total)))
    kept = total
    for name, past in (("past_key", past_key), ("past_value", past_value)):
        if past is not None:
            before = ranked(ctx, name, past, 4)
            for axis, wanted in ((0, a[0]), (1, kv_heads), (3, size)):
                ctx.require(Is(Axis(name, axis, before[axis]), Number(wanted)))
            kept = larger(ctx, total, before[2])
    if past_key is not None and past_value is not None:
        left, right = Axis("past_key", 2, ctx.dims(past_key)[2]), Axis("past_value", 2, ctx.dims(past_value)[2])
        ctx.require(Equal(left, right))
    for name, table in (("cosines", cosines), ("sines", sines)):
        if table is not None:
            width = ranked(ctx, name, table, 2)[1]
            ctx.require(AtMost(Axis(name, 1, width), Number(size // 2)))
    if positions is not None:
        for axis, found in enumerate(ranked(ctx, "positions", positions, 2)):
            ctx.require(BroadcastTo(Axis("positions", axis, found), Number(a[axis])))
    return [a, (a[0], kv_heads, kept, size), (a[0], kv_heads, kept, size)]


@primitive("onnx.unpack_bits", "x: tensor, bits: int = 4", "uint8 -> uint8")
def unpack_bits(ctx: Ctx, x: TensorInfo, bits: int) -> Shape:
    """The integers of few bits that each byte along the last axis holds, the low bits first."""
    if bits not in (1, 2, 4, 8):
        ctx.fail(Other("1, 2, 4 or 8 bits", but=f"bits is {bits}"))
    shape = known_shape(ctx, x)
    at = place(ctx, shape, -1)
    return (*shape[:at], shape[at] * (8 // bits))


@primitive(
    "onnx.matmul_bnb4",
    "x: tensor, weight: tensor, scales: tensor, k: int = 1, n: int = 1, block: int = 64, normal: bool = false",
    "T:floating, uint8, S:floating -> T",
)
def matmul_bnb4(
    ctx: Ctx, x: TensorInfo, weight: TensorInfo, scales: TensorInfo, k: int, n: int, block: int, normal: bool
) -> Shape:
    """The product with a matrix of four-bit numbers, floats or indices of normally distributed values, with a scale for each
    block. MatMulBnb4 of onnxruntime."""
    attribute_at_least(ctx, "block", 1, block)
    shape = known_shape(ctx, x)
    at = place(ctx, shape, -1)
    ctx.require(Is(axis_of("x", shape, at), Number(k)))
    for name, given, count in (("weight", weight, -(-n * k // 2)), ("scales", scales, -(-n * k // block))):
        found = Argument(name, product(ctx.dims(given)))
        ctx.require(Other(f"{{0}} to have {count} elements", (found,)), ctx.eq(found.size, count))
    return (*shape[:-1], n)
