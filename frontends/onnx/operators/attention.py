"""Variants of attention, rotary embeddings, and causal convolutions."""

from __future__ import annotations

from ..model import Graph, TensorType
from .registry import Reader, Untranslatable, number, operator


def _heads(node: Reader) -> str:
    """The numbers of heads, if they are given."""
    names = (("q_heads", "q_num_heads"), ("kv_heads", "kv_num_heads"))
    return "".join(f", {ours}={node.integer(theirs)}" for ours, theirs in names if node.integer(theirs, 0))


def _scale(node: Reader) -> str:
    return f", scale={number(node.number('scale', 0.0))}" if node.attribute("scale") is not None else ""


_OPTIONAL = ("mask", "past_key", "past_value", "counts")


@operator("Attention", 23)
def attention(node: Reader) -> str:
    if node.number("scale", 0.0) < 0:
        raise Untranslatable(f"its attribute `scale` is {node.number('scale', 0.0)}; its root is taken")
    operands = ", ".join(node.x(at) for at in range(3))
    more = "".join(node.optional(at, name) for at, name in enumerate(_OPTIONAL, 3)) + _heads(node) + _scale(node)
    more += ", causal=true" if node.integer("is_causal", 0) else ""
    cap = node.number("softcap", 0.0)
    more += f", softcap={number(cap)}" if cap else ""
    for ours, theirs in (("left", "left_window_size"), ("right", "right_window_size")):
        more += f", {ours}={node.integer(theirs, -1)}" if node.integer(theirs, -1) >= 0 else ""
    precision = node.dtype("softmax_precision") if node.integer("softmax_precision", 0) else None
    more += f", precision={precision}" if precision else ""
    if node.outputs() < 2:
        return f"@onnx.attention({operands}{more})"
    mode = node.integer("qk_matmul_output_mode", 0)
    more += f", mode={mode}" if mode else ""
    return node.first_of(f"@onnx.attention_parts({operands}{more})", 4)


@operator("LinearAttention", 27)
def linear_attention(node: Reader) -> str:
    operands = ", ".join(node.x(at) for at in range(3))
    more = "".join(node.optional(at, name) for at, name in enumerate(("past", "decay", "beta"), 3))
    more += _heads(node) + (_scale(node) if node.number("scale", 0.0) else "")
    more += f', rule="{node.word("update_rule", "gated_delta")}"'
    more += "" if node.has(3) else f", dtype={node.x(0)}.dtype"
    return node.first_of(f"@onnx.linear_attention({operands}{more})", 2)


@operator("CausalConvWithState", 27)
def causal_conv(node: Reader) -> str:
    operands = f"{node.x(0)}, {node.x(1)}{node.optional(2, 'bias')}{node.optional(3, 'past')}"
    made, state = node.scope.parts("part", f"@onnx.causal_conv({operands})", 2)
    if node.word("activation", "none") in ("silu", "swish"):
        made = f"@silu({made})"
    return f"({made}, {state})" if node.outputs() > 1 else made


@operator("RotaryEmbedding", 23)
def rotary_embedding(node: Reader) -> str:
    operands = ", ".join(node.x(at) for at in range(3))
    more = node.optional(3, "positions")
    for ours, theirs in (("heads", "num_heads"), ("size", "rotary_embedding_dim")):
        more += f", {ours}={node.integer(theirs)}" if node.integer(theirs, 0) else ""
    more += ", interleaved=true" if node.integer("interleaved", 0) else ""
    return f"@onnx.rotary_embedding({operands}{more})"


@operator("FlexAttention", 1, "ai.onnx.preview")
def flex_attention(node: Reader) -> str:
    """Attention with graphs that may change the scores and shares, computed in a dtype of at least 32 bits."""
    q, k, v = (node.x(at) for at in range(3))
    keys, values = (node.let("heads", f"@repeat({x}, {q}.dim(1) // {k}.dim(1), axis=1)") for x in (k, v))
    factor = number(node.number("scale", 0.0)) if node.attribute("scale") is not None else None
    if factor is None:
        factor = node.let("scale", f"@cast(1.0 / @sqrt(@size_to_tensor({q}.dim(3), dtype=float64)), {q}.dtype)")
    scores = node.let("scores", f"@cast(@matmul({q}, @matrix_transpose({keys})) * {factor}, {_computed(node)})")
    scores = _changed(node, "score_mod", scores)
    shares = _changed(node, "prob_mod", node.let("shares", f"@softmax({scores}, axis=-1)"))
    return f"@matmul(@cast({shares}, {q}.dtype), {values})"


def _computed(node: Reader) -> str:
    """The dtype of scores."""
    given = node.dtype("softmax_precision") if node.integer("softmax_precision", 0) else None
    kind = node.scope.type(node.operation.inputs[0])
    if given is None and (not isinstance(kind, TensorType) or kind.dtype is None):
        raise Untranslatable("does not give the dtype of its scores")
    return given or ("float64" if isinstance(kind, TensorType) and kind.dtype == "float64" else "float32")


def _changed(node: Reader, name: str, x: str) -> str:
    graph = node.attribute(name)
    return node.scope.inline(graph, [x])[0] if isinstance(graph, Graph) else x
