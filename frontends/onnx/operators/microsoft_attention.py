"""Attention in onnxruntime's operators: packed or in parts, with masks in several forms, and rotary embeddings."""

from __future__ import annotations

from .microsoft import DOMAIN
from .microsoft_quantised import product
from .registry import Reader, Untranslatable, listed, number, operator


def _seen(node: Reader, q: str, k: str, mask: int, bias: int, past: str | None) -> str:
    """The addend of the scores: large negative numbers at masked places, and a bias."""
    total = f"{k}.dim(-2)" if past is None else f"{k}.dim(-2) + {past}.dim(-2)"
    hidden = number(node.number("mask_filter_value", -10000.0))
    parts = [f"@onnx.mask_bias({node.x(mask)}, {q}, {total}, hidden={hidden})"] if node.has(mask) else []
    parts += [node.x(bias)] if node.has(bias) else []
    return f", mask={' + '.join(parts)}" if parts else ""


def _attended(node: Reader, q: str, k: str, v: str, more: str, past: tuple[str, str] | None) -> tuple[str, int]:
    """The call and the number of its results: attention alone, or attention followed by all keys and values."""
    heads = node.integer("num_heads")
    more += "" if past is None else f", past_key={past[0]}, past_value={past[1]}"
    more += f", q_heads={heads}, kv_heads={heads}"
    more += f", scale={number(node.number('scale', 0.0))}" if node.number("scale", 0.0) else ""
    more += ", causal=true" if node.integer("unidirectional", 0) else ""
    if node.outputs() < 2:
        return f"@onnx.attention({q}, {k}, {v}{more})", 1
    return f"@onnx.attention_parts({q}, {k}, {v}{more})", 4


def _packed(node: Reader, qkv: str, mask: int, bias: int, past: int) -> str:
    """Attention of queries, keys and values that are packed along the last axis; past keys and values are in one tensor as
    well."""
    if node.integer("do_rotary", 0):
        raise Untranslatable("rotates its queries and keys")
    if node.integer("past_present_share_buffer", 0):
        raise Untranslatable("writes into the keys and values of before")
    sizes = node.integers("qkv_hidden_sizes")
    how = f"sizes={listed(sizes)}" if sizes else "3"
    q, k, v = node.parts(f"@split({node.let('qkv', qkv)}, {how}, axis=-1)", 3)
    before = None
    if node.has(past):
        keys, values = node.parts(f"@split({node.x(past)}, 2, axis=0)", 2)
        before = (node.let("keys", f"@squeeze({keys}, axis=0)"), node.let("values", f"@squeeze({values}, axis=0)"))
    text, count = _attended(node, q, k, v, _seen(node, q, k, mask, bias, before and before[0]), before)
    if count == 1:
        return text
    found = node.parts(text, count)
    return f"({found[0]}, @stack([{found[1]}, {found[2]}], axis=0))"


@operator("Attention", 1, DOMAIN)
def attention(node: Reader) -> str:
    bias = f" + {node.x(2)}" if node.has(2) else ""
    return _packed(node, f"@matmul({node.x(0)}, {node.x(1)}){bias}", 3, 5, 4)


@operator("QAttention", 1, DOMAIN)
def quantised_attention(node: Reader) -> str:
    made = product(node.x(0), node.x(1), node.optional(6, "x_zero"), node.optional(7, "y_zero"))
    return _packed(node, f"{made} * ({node.x(3)} * {node.x(4)}) + {node.x(2)}", 5, len(node), 8)


@operator("MultiHeadAttention", 1, DOMAIN)
def multi_head_attention(node: Reader) -> str:
    if node.has(8) or node.has(9):
        raise Untranslatable("shares the keys and values of before")
    q, k, v = _parts(node)
    if node.has(3):
        q, k, v = _biased(node, q, k, v)
    past = (node.x(6), node.x(7)) if node.has(6) else None
    text, count = _attended(node, q, k, v, _seen(node, q, k, 4, 5, past and past[0]), past)
    return text if count == 1 else node.first_of(text, count)


def _biased(node: Reader, q: str, k: str, v: str) -> tuple[str, str, str]:
    """Each with its part of the bias; keys and values that are split into heads have theirs already."""
    if node.rank(1) == 4:
        return node.let("biased", f"{q} + @slice({node.x(3)}, [0], [{q}.dim(2)])"), k, v
    sizes = listed([f"{x}.dim(2)" for x in (q, k, v)])
    parts = node.parts(f"@split({node.x(3)}, sizes={sizes}, axis=0)", 3)
    first, second, third = (node.let("biased", f"{x} + {b}") for x, b in zip((q, k, v), parts, strict=True))
    return first, second, third


def _parts(node: Reader) -> tuple[str, str, str]:
    """Queries, keys and values; all three, or the last two, may be packed in a tensor of five axes."""
    heads = node.integer("num_heads")
    if node.has(2):
        return node.x(0), node.x(1), node.x(2)
    packed, count = (node.x(1), 2) if node.has(1) else (node.x(0), 3)
    flat = f"@reshape(@squeeze({{}}, axis=3), [{packed}.dim(0), {packed}.dim(1), {heads} * {packed}.dim(4)])"
    found = [node.let("part", flat.format(part)) for part in node.parts(f"@split({packed}, {count}, axis=3)", count)]
    q, k, v = found if count == 3 else (node.x(0), *found)
    return q, k, v


@operator("GroupQueryAttention", 1, DOMAIN)
def group_query_attention(node: Reader) -> str:
    """Attention whose queries, keys and values may be packed along the last axis of one tensor."""
    if any(node.has(at) for at in range(10, 12)):
        raise Untranslatable("has a bias or sinks of its scores")
    if node.integer("smooth_softmax", 0) or node.word("k_quant_type", "NONE") != "NONE":
        raise Untranslatable("has another softmax, or quantised keys")
    heads, kv_heads = node.integer("num_heads"), node.integer("kv_num_heads")
    q, k, v = (node.x(0), node.x(1), node.x(2)) if node.has(2) else _three(node, heads, kv_heads)
    more = "".join(node.optional(at, name) for at, name in ((3, "past_key"), (4, "past_value")))
    if node.integer("do_rotary", 0):
        more += f", cosines={node.x(7)}, sines={node.x(8)}{node.optional(9, 'positions')}"
        more += ", interleaved=true" if node.integer("rotary_interleaved", 0) else ""
    for ours, theirs in (("scale", "scale"), ("softcap", "softcap")):
        more += f", {ours}={number(node.number(theirs, 0.0))}" if node.number(theirs, 0.0) else ""
    window = node.integer("local_window_size", -1)
    more += f", window={window}" if window > 0 else ""
    total = node.elements(6)
    length = f"@item(@reshape({node.x(6)}, []))" if not total else str(total[0])
    text = (
        f"@onnx.group_query_attention({q}, {k}, {v}, {node.x(5)}, {length}{more}, q_heads={heads}, kv_heads={kv_heads})"
    )
    return node.first_of(text, 3)


def _three(node: Reader, heads: int, kv_heads: int) -> tuple[str, str, str]:
    packed = node.x(0)
    size = f"({packed}.dim(2) // {heads + 2 * kv_heads})"
    sizes = [f"{count} * {size}" for count in (heads, kv_heads, kv_heads)]
    q, k, v = node.parts(f"@split({packed}, sizes={listed(sizes)}, axis=-1)", 3)
    return q, k, v


@operator("RotaryEmbedding", 1, DOMAIN)
def rotary_embedding(node: Reader) -> str:
    """Rotary embedding; a single position is that of the first row."""
    x, heads, size = node.x(0), node.integer("num_heads", 0), node.integer("rotary_embedding_dim", 0)
    more = f", positions=@onnx.positions({node.x(1)}, {x}{', heads=true' if node.rank(0) == 4 else ''})"
    more += ", interleaved=true" if node.integer("interleaved", 0) else ""
    more += f", size={size}" if size else ""
    tables = f"{node.x(2)}, {node.x(3)}"
    if heads or node.rank(0) == 4:
        return f"@onnx.rotary_embedding({x}, {tables}{more}{f', heads={heads}' if heads else ''})"
    split = f"@reshape({x}, [{x}.dim(0), {x}.dim(1), -1, 2 * {node.x(2)}.dim(1)])"
    turned = f"@onnx.rotary_embedding(@permute_dims({split}, axes=[0, 2, 1, 3]), {tables}{more})"
    return f"@reshape(@permute_dims({turned}, axes=[0, 2, 1, 3]), [{x}.dim(0), {x}.dim(1), {x}.dim(2)])"
