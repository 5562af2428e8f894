"""ONNX's attention: queries, keys and values with heads as an axis or inside the last one, masks, and kept keys."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, axis_of
from ..model import AnyDType, Ctx, Dim, TensorInfo
from ..operands import ranked
from ..registry import primitive
from ..requirements import Argument, AtMost, Axis, BroadcastTo, Equal, Is, Multiple, Number, OfRank, Other

_PARAMS = (
    "q: tensor, k: tensor, v: tensor, mask: tensor = none, past_key: tensor = none, past_value: tensor = none, "
    "counts: tensor = none, q_heads: int = 0, kv_heads: int = 0, scale: float = none, causal: bool = false, "
    "softcap: float = 0.0, left: int = -1, right: int = -1, mode: int = 0, precision: dtype = none"
)
_OPERANDS = "T:floating, T, V:floating, M:any, T, V, int64"


def _heads(ctx: Ctx, name: str, x: TensorInfo, count: int) -> Shape:
    """`[batch, heads, length, size]` of an operand with four axes, or with three and the heads inside the last one."""
    dims = ctx.dims(x)
    if len(dims) == 4:
        return dims
    if len(dims) != 3 or count < 1:
        ctx.fail(OfRank("{0} to have rank 4, or rank 3 and a number of heads", (Argument(name),)))
    ctx.require(Multiple(axis_of(name, dims, 2), Number(count)))
    return dims[0], count, dims[1], dims[2] // count


def _attended(
    ctx: Ctx, q: TensorInfo, k: TensorInfo, v: TensorInfo, mask: TensorInfo | None, past_key: TensorInfo | None,
    past_value: TensorInfo | None, counts: TensorInfo | None, q_heads: int, kv_heads: int,
) -> list[Shape]:  # fmt: skip
    """The shapes of the result, of all keys, of all values and of the scores."""
    a, b, c = _heads(ctx, "q", q, q_heads), _heads(ctx, "k", k, kv_heads), _heads(ctx, "v", v, kv_heads)
    last, length = len(ctx.dims(k)) - 1, len(ctx.dims(k)) - 2 if len(ctx.dims(k)) == 4 else 1
    for name, other in (("k", b), ("v", c)):
        ctx.require(Equal(Axis("q", 0, a[0]), Axis(name, 0, other[0])))
    ctx.require(Equal(Axis("k", length, b[2]), Axis("v", length, c[2])))
    ctx.require(Equal(Axis("q", last, a[3], "its head's size"), Axis("k", last, b[3], "its head's size")))
    ctx.require(Equal(Axis("k", 1, b[1], "its heads"), Axis("v", 1, c[1], "its heads")))
    _grouped(ctx, a[1], b[1])
    keys, values = _kept(ctx, "past_key", past_key, b), _kept(ctx, "past_value", past_value, c)
    if past_key is not None and past_value is not None:
        ctx.require(Equal(Axis("past_key", 2, ctx.dims(past_key)[2]), Axis("past_value", 2, ctx.dims(past_value)[2])))
    elif past_key is not None or past_value is not None:
        ctx.fail(Other("{0} and {1} together", (Argument("past_key"), Argument("past_value"))))
    scores = (a[0], a[1], a[2], keys[2])
    if mask is not None:
        _masks(ctx, mask, scores)
    if counts is not None:
        (size,) = ranked(ctx, "counts", counts, 1)
        ctx.require(Equal(Axis("counts", 0, size), Axis("q", 0, a[0])))
    is_packed = len(ctx.dims(q)) == 3
    result = (a[0], a[2], a[1] * c[3]) if is_packed else (a[0], a[1], a[2], c[3])
    return [result, keys, values, scores]


def _grouped(ctx: Ctx, queries: Dim, keys: Dim) -> None:
    """Require the heads of queries to be a multiple of the heads of keys."""
    asked = Other("{0} to be a multiple of {1}", (Axis("q", 1, queries, "its heads"), Axis("k", 1, keys, "its heads")))
    if isinstance(keys, int) and keys > 0:
        ctx.require(asked, ctx.eq(queries % keys, 0))
    else:
        ctx.require(asked, ctx.all_of(ctx.le(1, keys), ctx.eq(queries % ctx.max(keys, 1), 0)))


def _kept(ctx: Ctx, name: str, past: TensorInfo | None, new: Shape) -> Shape:
    """The shape of the kept entries followed by the new ones."""
    if past is None:
        return new
    dims = ranked(ctx, name, past, 4)
    for axis in (0, 1, 3):
        ctx.require(Is(Axis(name, axis, dims[axis]), Number(new[axis])))
    return new[0], new[1], dims[2] + new[2], new[3]


def _masks(ctx: Ctx, mask: TensorInfo, scores: Shape) -> None:
    """Require a mask to broadcast to the scores; its last axis may be shorter than the number of keys."""
    dims = ctx.dims(mask)
    if len(dims) > 4 or not dims:
        ctx.fail(OfRank("{0} to have 1 to 4 axes", (Argument("mask"),), f"its rank is {len(dims)}"))
    for axis, size in enumerate(dims):
        own, wanted = Axis("mask", axis, size), Number(scores[axis - len(dims)])
        ctx.require(AtMost(own, wanted) if axis == len(dims) - 1 else BroadcastTo(own, wanted))


@primitive("onnx.attention", _PARAMS, f"{_OPERANDS} -> T")
def attention(ctx: Ctx, *given: Any) -> Shape:
    """Attention. ONNX Attention with its first output."""
    return _attended(ctx, *given[:9])[0]


@primitive("onnx.attention_parts", _PARAMS, f"{_OPERANDS} -> T, T, V, T", results="tuple")
def attention_parts(ctx: Ctx, *given: Any) -> list[Shape]:
    """Attention, with all keys and values, and with the scores. ONNX Attention."""
    return _attended(ctx, *given[:9])


@primitive(
    "onnx.linear_attention",
    "q: tensor, k: tensor, v: tensor, past: tensor = none, decay: tensor = none, beta: tensor = none, q_heads: int = 1, "
    'kv_heads: int = 1, scale: float = none, rule: str = "gated_delta", dtype: dtype = none',
    "T:floating, T, T, S:floating, T, T -> T, S=dtype", results="tuple",
)  # fmt: skip
def linear_attention(
    ctx: Ctx, q: TensorInfo, k: TensorInfo, v: TensorInfo, past: TensorInfo | None, decay: TensorInfo | None,
    beta: TensorInfo | None, q_heads: int, kv_heads: int, scale: float | None, rule: str, dtype: AnyDType | None,
) -> list[Shape]:  # fmt: skip
    """Attention as a recurrence over a state, and the last state. ONNX LinearAttention."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        ranked(ctx, name, x, 3)
    a, b, c = _heads(ctx, "q", q, q_heads), _heads(ctx, "k", k, kv_heads), _heads(ctx, "v", v, kv_heads)
    _grouped(ctx, a[1], b[1])
    ctx.require(Equal(Axis("q", 2, a[3], "its head's size"), Axis("k", 2, b[3], "its head's size")))
    more = [(n, x) for n, x in (("decay", decay), ("beta", beta)) if x is not None]
    for name, dims in (("k", ctx.dims(k)), ("v", ctx.dims(v)), *((n, ranked(ctx, n, x, 3)) for n, x in more)):
        ctx.require(Equal(Axis("q", 0, a[0]), Axis(name, 0, dims[0])))
        ctx.require(Equal(Axis("q", 1, a[2]), Axis(name, 1, dims[1])))
    for name, x in more:
        size, other = ctx.dims(x)[2], kv_heads * b[3] if name == "decay" else 1
        known = ctx.any_of(ctx.eq(size, kv_heads), ctx.eq(size, other))
        ctx.require(Other(f"an entry of {{0}} for each of {kv_heads} heads", (Axis(name, 2, size),)), known)
    state = (a[0], kv_heads, b[3], c[3])
    if past is not None:
        for axis, (size, wanted) in enumerate(zip(ranked(ctx, "past", past, 4), state, strict=True)):
            ctx.require(Is(Axis("past", axis, size), Number(wanted)))
    return [(a[0], a[2], q_heads * c[3]), state]


@primitive(
    "onnx.causal_conv",
    "x: tensor, weight: tensor, bias: tensor = none, past: tensor = none",
    "T:floating, T, T, T -> T, T", results="tuple",
)  # fmt: skip
def causal_conv(
    ctx: Ctx, x: TensorInfo, weight: TensorInfo, bias: TensorInfo | None, past: TensorInfo | None
) -> list[Shape]:
    """Each channel convolved over its past, and the last elements for the next call. ONNX CausalConvWithState."""
    n, channels, length = ranked(ctx, "x", x, 3)
    outputs, one, size = ranked(ctx, "weight", weight, 3)
    own = Axis("x", 1, channels, "its channels")
    ctx.require(Equal(Axis("weight", 0, outputs), own))
    ctx.require(Is(Axis("weight", 1, one), Number(1)))
    ctx.require(Other("{0} to be at least 1", (Axis("weight", 2, size),)), ctx.le(1, size))
    if bias is not None:
        ctx.require(Equal(Axis("bias", 0, ranked(ctx, "bias", bias, 1)[0]), own))
    if past is not None:
        for axis, (found, wanted) in enumerate(zip(ranked(ctx, "past", past, 3), (n, channels, size - 1), strict=True)):
            ctx.require(Is(Axis("past", axis, found), Number(wanted)))
    return [(n, channels, length), (n, channels, size - 1)]


@primitive(
    "onnx.rotary_embedding",
    "x: tensor, cosines: tensor, sines: tensor, positions: tensor = none, heads: int = 0, size: int = 0, "
    "interleaved: bool = false",
    "T:floating, T, T, int64 -> T",
)
def rotary_embedding(
    ctx: Ctx, x: TensorInfo, cosines: TensorInfo, sines: TensorInfo, positions: TensorInfo | None, heads: int, size: int,
    interleaved: bool,
) -> Shape:  # fmt: skip
    """Pairs of elements of each head rotated by angles of their positions. ONNX RotaryEmbedding."""
    dims = ctx.dims(x)
    n, _, length, whole = _heads(ctx, "x", x, heads)
    turned = size or whole
    if size:
        ctx.require(
            Other(f"a head of {{0}} to have at least {size} elements", (Argument("x", whole),)), ctx.le(size, whole)
        )
    ctx.require(Other("an even number of elements to rotate, of {0}", (Argument("x", turned),)), ctx.eq(turned % 2, 0))
    for name, table in (("cosines", cosines), ("sines", sines)):
        found = ranked(ctx, name, table, 3 if positions is None else 2)
        ctx.require(Is(Axis(name, len(found) - 1, found[-1]), Number(turned // 2)))
        for axis, wanted in enumerate((n, length) if positions is None else ()):
            ctx.require(Is(Axis(name, axis, found[axis]), Number(wanted)))
    if positions is not None:
        ctx.require(Equal(Axis("cosines", 0, ctx.dims(cosines)[0]), Axis("sines", 0, ctx.dims(sines)[0])))
        for axis, (found_, wanted) in enumerate(zip(ranked(ctx, "positions", positions, 2), (n, length), strict=True)):
            ctx.require(BroadcastTo(Axis("positions", axis, found_), Number(wanted)))
    return dims
