"""Sequences: their order and positions, attention with shared heads, and losses against labels."""

from __future__ import annotations

from ..axes import Shape, axis_of, place
from ..model import Ctx, Dim, TensorInfo
from ..operands import choice, rank_at_least, ranked
from ..registry import primitive
from ..requirements import Argument, AtLeast, Axis, BroadcastTo, Equal, OfRank, Other
from .linalg import vecdot
from .loss import REDUCTIONS


@primitive(
    "reverse_sequence",
    "x: tensor, lengths: tensor, time_axis: int = 0, batch_axis: int = 1",
    "T:any, I:integer -> T",
    onnx=("ReverseSequence",),
    refuses="lengths",
)
def reverse_sequence(ctx: Ctx, x: TensorInfo, lengths: TensorInfo, time_axis: int, batch_axis: int) -> Shape:
    """The first `lengths[i]` entries along `time_axis` in reverse order, for each entry i of `batch_axis`; the others stay.

    `lengths` is `[b]`, the size of the batch axis; each is from 0 to the size of the time axis, checked on the values. The
    two axes are different. ONNX ReverseSequence, TensorFlow's `reverse_sequence`.
    """
    shape = ctx.dims(x)
    t, b = place(ctx, shape, time_axis, "time_axis"), place(ctx, shape, batch_axis, "batch_axis")
    if t == b:
        ctx.fail(Other("time_axis and batch_axis to be different"))
    (count,) = ranked(ctx, "lengths", lengths, 1)
    ctx.require(Equal(Axis("lengths", 0, count), Axis("x", b, shape[b])))
    return shape


@primitive(
    "rotary_embedding",
    "x: tensor, cos: tensor, sin: tensor, interleaved: bool = false",
    "T:floating, T, T -> T",
    onnx=("RotaryEmbedding",),
)
def rotary_embedding(ctx: Ctx, x: TensorInfo, cos: TensorInfo, sin: TensorInfo, interleaved: bool) -> Shape:
    """Pairs of elements turned by angles: (a, b) becomes (a * cos - b * sin, b * cos + a * sin) (Su et al. 2021).

    `x : [*s, l, d]`; `cos` and `sin` have one shape `[..., l, r]`, which is broadcast to `[*s, l, r]`. The first 2 * r
    elements are turned, 2 * r <= d, the others stay. a is among the first r of them and b among the next r; with
    `interleaved` they are neighbours. ONNX RotaryEmbedding.
    """
    a, c, s = ctx.dims(x), ctx.dims(cos), ctx.dims(sin)
    rank_at_least(ctx, "x", a, 1)
    rank_at_least(ctx, "cos", c, 1)
    if len(c) > len(a):
        given = (Argument("cos"),)
        ctx.fail(OfRank(f"{{0}} to have rank {len(a)} or less", given, f"its rank is {len(c)}"))
    ranked(ctx, "sin", sin, len(c))
    for i, (one, other) in enumerate(zip(c, s, strict=True)):
        ctx.require(Equal(Axis("cos", i, one), Axis("sin", i, other)))
    for back in range(2, len(c) + 1):
        i, j = len(c) - back, len(a) - back
        ctx.require(BroadcastTo(Axis("cos", i, c[i]), Axis("x", j, a[j]), "{0} to be 1, or {1}"))
    enough = Other("{0} to be at least twice {1}", (axis_of("x", a, len(a) - 1), axis_of("cos", c, len(c) - 1)))
    ctx.require(enough, ctx.le(c[-1] * 2, a[-1]))
    return a


@primitive(
    "grouped_query_attention",
    "q: tensor, k: tensor, v: tensor, mask: tensor = none, causal: bool = false, past: size = 0, scale: float = none",
    "T:floating, T, T, M:{bool, float16, bfloat16, float32, float64} -> T",
)
def grouped_query_attention(
    ctx: Ctx,
    q: TensorInfo,
    k: TensorInfo,
    v: TensorInfo,
    mask: TensorInfo | None,
    causal: bool,
    past: Dim,
    scale: float | None,
) -> Shape:
    """Attention in which heads share keys and values: `q : [*s, h, l, d]`, `k : [*s, g, m, d]` and `v : [*s, g, m, e]` give
    `[*s, h, l, e]`.

    softmax(q @ k^T * scale + mask) @ v, where the heads i * (h // g) to (i + 1) * (h // g) - 1 of q use head i of k and v: h
    is a multiple of g, which is at least 1 (1 is multi-query attention). `scale` is 1 / sqrt(d) if it is left out. `mask` is
    broadcast to `[*s, h, l, m]`: true where a position counts, or floats to add. With `causal` position i attends to the
    first past + i + 1 positions; `past` is the number of positions in a cache before q. Where no position counts the result
    is 0. PyTorch's `scaled_dot_product_attention` with `enable_gqa`.
    """
    shapes = {name: ctx.dims(x) for name, x in (("q", q), ("k", k), ("v", v))}
    for name, shape in shapes.items():
        rank_at_least(ctx, name, shape, 3)
    a, b, c = shapes.values()
    for name in ("k", "v"):
        if len(shapes[name]) != len(a):
            given = (Argument("q"), Argument(name))
            ctx.fail(OfRank("{0} and {1} to have one rank", given, f"they have {len(a)} and {len(shapes[name])}"))
    rank = len(a)
    pairs = [("q", "k", i) for i in (*range(rank - 3), rank - 1)] + [("k", "v", i) for i in range(rank - 1)]
    for first, second, i in pairs:
        ctx.require(Equal(Axis(first, i, shapes[first][i]), Axis(second, i, shapes[second][i])))
    groups = Axis("k", rank - 3, b[rank - 3], "its heads")
    ctx.require(AtLeast(groups, 1))
    heads = Axis("q", rank - 3, a[rank - 3], "its heads")
    divides = Other("{0} to be a multiple of {1}", (heads, groups))
    ctx.require(divides, ctx.eq(heads.size % groups.size, 0))
    ctx.require(AtLeast(Argument("past", past), 0))
    if mask is not None:
        _masked(ctx, ctx.dims(mask), (*a[:-1], b[-2]))
    return (*a[:-1], c[-1])


def _masked(ctx: Ctx, given: Shape, scores: Shape) -> None:
    """Require the mask to broadcast to the scores without enlarging them."""
    if len(given) > len(scores):
        phrase = f"{{0}} to have rank {len(scores)} or less"
        ctx.fail(OfRank(phrase, (Argument("mask"),), f"its rank is {len(given)}"))
    for back in range(1, len(given) + 1):
        other = Axis("k", len(scores) - 2, scores[-1]) if back == 1 else Axis("q", len(scores) - back, scores[-back])
        ctx.require(BroadcastTo(Axis("mask", len(given) - back, given[-back]), other, "{0} to be 1, or {1}"))


@primitive("cosine_similarity", "x: tensor, y: tensor, axis: int = -1, epsilon: float = 1e-8", "T:floating, T -> T")
def cosine_similarity(ctx: Ctx, x: TensorInfo, y: TensorInfo, axis: int, epsilon: float) -> Shape:
    """The cosine of the angle between vectors along one axis, sum(x * y) / (|x| * |y|), where each length is at least
    `epsilon`.

    The sizes of that axis are equal, the other axes are broadcast. PyTorch's `cosine_similarity`.
    """
    result: Shape = vecdot(ctx, x, y, axis)
    return result


@primitive(
    "ctc_loss",
    "x: tensor, target: tensor, input_lengths: tensor, target_lengths: tensor, blank: int = 0, "
    'reduction: str = "mean", zero_infinity: bool = false',
    "T:floating, I:integer, J:integer, K:integer -> T",
    refuses="target",
)
def ctc_loss(
    ctx: Ctx,
    x: TensorInfo,
    target: TensorInfo,
    input_lengths: TensorInfo,
    target_lengths: TensorInfo,
    blank: int,
    reduction: str,
    zero_infinity: bool,
) -> Shape:
    """-log of the probability that frames spell a text, over all ways to lay it out with blanks between (Graves et al. 2006).

    `x : [t, b, c]` are logarithms of probabilities, `target : [b, s]` classes from 0 to c - 1, `input_lengths` and
    `target_lengths` `[b]` the numbers of frames and classes that count, up to t and s; all are checked on the values. The
    loss is inf if no way fits, or 0 with `zero_infinity`. `reduction` "mean" divides each loss by its target's length (at
    least 1) and takes the mean; "none" gives `[b]`. c is at least 1 and `blank` one of its classes. PyTorch's `ctc_loss`.
    """
    choice(ctx, "reduction", reduction, REDUCTIONS)
    _, b, c = ranked(ctx, "x", x, 3, "[time, batch, classes]")
    rows, _ = ranked(ctx, "target", target, 2, "[batch, length]")
    ctx.require(Equal(Axis("x", 1, b), Axis("target", 0, rows)))
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        (count,) = ranked(ctx, name, lengths, 1)
        ctx.require(Equal(Axis("x", 1, b), Axis(name, 0, count)))
    if blank < 0:
        ctx.fail(Other("blank to be a class", but=f"it is {blank}"))
    ctx.require(AtLeast(Axis("x", 2, c, "the classes"), blank + 1))
    return (b,) if reduction == "none" else ()
