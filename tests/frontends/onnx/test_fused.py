"""Operators of onnxruntime's own domain: values and shapes for all sizes are those of its CPU kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
np = pytest.importorskip("numpy")

from tests.support.one_node import Compared  # noqa: E402


def f(*shape: int) -> Any:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(np.float32)


def ints(most: int, *shape: int) -> Any:
    return np.random.default_rng(most + sum(shape)).integers(0, most, shape).astype(np.int32)


def u8(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(0, 256, shape).astype(np.uint8)


def scale(value: float = 0.05) -> Any:
    return np.asarray(value, np.float32)


def zero(value: int = 128) -> Any:
    return np.asarray(value, np.uint8)


def numbers(*shape: int) -> list[Any]:
    return [u8(*shape), scale(), zero(120)]


def i32(*values: int) -> Any:
    return np.array(values, np.int32)


def one(value: int) -> Any:
    return np.asarray(value, np.int32)


RESULT = [scale(0.07), zero()]


def gates(directions: int, *more: Any, each: bool = False) -> list[Any]:
    """Weights and scales of an LSTM of 5 inputs and 3 states; `each` column has its own, and a zero point. The weights are so
    small that no pair of products leaves 16 bits, where some processors stop."""
    shape = (directions, 12) if each else (directions,)
    scales = [np.full(shape, 0.004, np.float32), (np.zeros if each else np.ones)(shape, np.int8)]
    weights = [(u8(directions, n, 12) // 8).astype(np.int8) for n in (5, 3)]
    return [f(4, 2, 5), *weights, f(directions, 24), *more, *scales, *scales]


STATES = [f(1, 2, 3), f(1, 2, 3)]
QKV = [f(2, 3, 8), f(8, 24), f(24)]
HEADS = {"num_heads": 2}
ROWS = np.tile(np.arange(3), (2, 1))


def grouped(length: int, past: int | None, last: list[int], total: int, size: int = 8, **how: Any) -> Any:
    before = [None, None] if past is None else [f(2, 2, past, size), f(2, 2, past, size)]
    tables = [f(16, size // 2), f(16, size // 2)] if "do_rotary" in how else []
    inputs = [f(2, length, 4 * size), f(2, length, 2 * size), f(2, length, 2 * size), *before, i32(*last), one(total)]
    return "GroupQueryAttention", inputs + tables, {"num_heads": 4, "kv_num_heads": 2, "outputs": 3, **how}


# An operator, its operands, its attributes; what the model holds itself is in "constants".
ATTENTION: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "all": ("Attention", QKV, HEADS),
    "causal": ("Attention", QKV, {**HEADS, "unidirectional": 1, "scale": 0.3}),
    "masked keys": ("Attention", [*QKV, ints(2, 2, 3)], HEADS),
    "one column": ("Attention", [*QKV, np.zeros((2, 1), np.int32)], HEADS),
    "one entry": ("Attention", [*QKV, np.zeros((1, 1), np.int32)], HEADS),
    "ends": ("Attention", [*QKV, i32(2, 3)], HEADS),
    "ends and begins": ("Attention", [*QKV, i32(2, 3, 0, 1)], HEADS),
    "masked pairs": ("Attention", [*QKV, ints(2, 2, 3, 3)], HEADS),
    "past": ("Attention", [*QKV, ints(2, 2, 8), f(2, 2, 2, 5, 4)], {**HEADS, "outputs": 2}),
    "past causal": ("Attention", [*QKV, None, f(2, 2, 2, 5, 4)], {**HEADS, "unidirectional": 1, "outputs": 2}),
    "present": ("Attention", QKV, {**HEADS, "outputs": 2}),
    "bias": ("Attention", [*QKV, None, None, f(2, 2, 3, 3)], HEADS),
    "sizes": ("Attention", [f(2, 3, 8), f(8, 20), f(20)], {**HEADS, "qkv_hidden_sizes": [8, 8, 4]}),
    "parts": ("MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 4)], HEADS),
    "parts, bias": ("MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), f(24)], HEADS),
    "parts, mask": ("MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), None, ints(2, 2, 5)], HEADS),
    "parts, past": ("MultiHeadAttention", [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, None, None, f(2, 2, 5, 4), f(2, 2, 5, 4)],
                    {**HEADS, "outputs": 3}),
    "heads": ("MultiHeadAttention", [f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4), f(24)], HEADS),
    "grouped": grouped(3, None, [2, 2], 3),
    "grouped, empty past": grouped(3, 0, [2, 2], 3),
    "grouped, next": grouped(1, 5, [5, 5], 6),
    "grouped, of two lengths": grouped(1, 5, [5, 3], 6),
    "grouped, in a buffer": grouped(1, 9, [5, 5], 6),
    "grouped, window": grouped(6, None, [5, 5], 6, local_window_size=2),
    "grouped, softcap": grouped(3, None, [2, 2], 3, softcap=2.0, scale=0.5),
    "grouped, rotated": grouped(1, 5, [5, 3], 6, 16, do_rotary=1, rotary_interleaved=1),
    "rotated": ("RotaryEmbedding", [f(2, 3, 16), ROWS, f(9, 4), f(9, 4)], {}),
    "rotated from": ("RotaryEmbedding", [f(2, 3, 16), np.array([2]), f(9, 4), f(9, 4)], {}),
    "rotated heads": ("RotaryEmbedding", [f(2, 2, 3, 8), ROWS, f(9, 4), f(9, 4)], {"interleaved": 1}),
    "rotated in part": ("RotaryEmbedding", [f(2, 3, 16), ROWS, f(9, 2), f(9, 2)], {**HEADS, "rotary_embedding_dim": 4}),
}  # fmt: skip
OTHERS: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "words": ("EmbedLayerNormalization",
              [ints(7, 2, 3), ints(2, 2, 3), f(7, 8), f(5, 8), f(2, 8), f(8), f(8), ints(2, 2, 3)], {"outputs": 3}),
    "words alone": ("EmbedLayerNormalization", [ints(7, 2, 3), None, f(7, 8), f(5, 8), None, f(8), f(8)], {"outputs": 2}),
    "small": ("SkipLayerNormalization", [f(2, 3, 8) / 1e4, f(2, 3, 8) / 1e4, f(8), f(8)], {}),
    "small, simplified": ("SkipSimplifiedLayerNormalization", [f(2, 3, 8) / 1e4, f(2, 3, 8) / 1e4, f(8)], {}),
    "activated": ("FusedConv", [f(2, 3, 5, 7), f(2, 3, 3, 3), f(2), f(2, 2, 3, 5)],
                  {"activation": "LeakyRelu", "activation_params": [0.2]}),
    **{f"{name} of a product": ("FusedGemm", [f(3, 4), f(5, 4), f(5)],
                               {"transB": 1, "activation": name, "activation_alpha": 0.3, "activation_beta": 0.2})
       for name in ("Relu", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Softsign")},
    "steps of one": ("Range", [one(2), one(5)], {"constants": ("x0", "x1")}),
    "batches moved": ("FusedMatMul", [f(4, 2, 3), f(2, 4, 5)], {"transBatchA": 1, "transA": 1}),
    "inverse": ("Inverse", [f(2, 3, 3)], {}),
    "apart": ("CDist", [f(3, 4), f(5, 4)], {"metric": "euclidean"}),
    "new axis": ("ExpandDims", [f(2, 3), one(1)], {"constants": ("x1",)}),
    "triangle": ("Trilu", [f(2, 3, 5)], {}),
    "range": ("Range", [one(1), one(9), one(3)], {"constants": ("x0", "x1", "x2")}),
    "padded": ("Pad", [f(2, 3), np.array([1, 0, 2, 1])], {"constants": ("x1",)}),
    "largest, channels last": ("NhwcMaxPool", [u8(2, 5, 7, 3)], {"kernel_shape": [2, 2], "strides": [2, 1]}),
    "pads as data": ("ConvTransposeWithDynamicPads", [f(1, 2, 3, 3), f(2, 3, 2, 2), np.array([1, 0, 0, 1]), f(3)],
                     {"constants": ("x2",)}),
    "four bits": ("MatMulBnb4", [f(2, 16), u8(48), abs(f(6))], {"K": 16, "N": 6, "block_size": 16, "quant_type": 1}),
    "small floats": ("MatMulBnb4", [f(2, 16), u8(48), abs(f(6))], {"K": 16, "N": 6, "block_size": 16, "quant_type": 0}),
    "blocks": ("GatherBlockQuantized", [u8(7, 16), ints(7, 2, 3), f(7, 2), u8(7, 1)],
               {"block_size": 16, "quantize_axis": 1, "bits": 4}),
    "bytes": ("GatherBlockQuantized", [u8(7, 32), ints(7, 3), f(7, 2)], {"block_size": 16, "quantize_axis": 1, "bits": 8}),
}  # fmt: skip
LSTM = ("x1", "x2", "x8", "x9", "x10", "x11")
QUANTISED: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "where": ("QLinearWhere", [ints(2, 2, 5) > 0, *numbers(2, 5), *numbers(2, 5), *RESULT], {}),
    "mean pool": ("QLinearAveragePool", [*numbers(2, 3, 5, 7), *RESULT], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "mean pool, last": ("QLinearAveragePool", [*numbers(2, 5, 7, 3), *RESULT],
                        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "channels_last": 1}),
    "mean of all, last": ("QLinearGlobalAveragePool", [*numbers(2, 5, 7, 3), *RESULT], {"channels_last": 1}),
    "product": ("QGemm", [*numbers(2, 5), *numbers(5, 3), ints(50, 3), *RESULT], {}),
    "product, a number": ("QGemm", [*numbers(5, 2), *numbers(3, 5)], {"transA": 1, "transB": 1, "alpha": 0.5}),
    "attention": ("QAttention", [u8(2, 3, 8), (u8(8, 24) // 8).astype(np.int8), f(24), scale(0.01), scale(0.01),
                                 ints(2, 2, 3), zero(), np.asarray(0, np.int8)], HEADS),
    "states": ("DynamicQuantizeLSTM", gates(1, None, *STATES, None), {"hidden_size": 3, "outputs": 3, "constants": LSTM}),
    "states both ways": ("DynamicQuantizeLSTM", gates(2, None, None, None, None, each=True),
                         {"hidden_size": 3, "direction": "bidirectional", "constants": LSTM}),
    "states of some": ("DynamicQuantizeLSTM", gates(1, i32(4, 2), *STATES, f(1, 9)),
                       {"hidden_size": 3, "direction": "reverse", "outputs": 2, "constants": LSTM}),
    "numbers": ("DequantizeLinear", numbers(2, 3), {}),
    "bytes": ("QuantizeLinear", [f(2, 3), scale(), zero()], {}),
    "words": ("QEmbedLayerNormalization",
              [ints(7, 2, 3), ints(2, 2, 3), u8(7, 8), u8(5, 8), u8(2, 8), u8(8), u8(8), ints(2, 2, 3), *[scale()] * 5,
               *[zero()] * 5], {"outputs": 2}),
}  # fmt: skip


def compared(folder: Path, case: tuple[str, list[Any], dict[str, Any]]) -> Compared:
    op, inputs, how = case
    return Compared(folder, op, inputs, opset=17, domain="com.microsoft", **how)


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_is_onnxruntimes(name: str, tmp_path: Path) -> None:
    op, inputs, how = ATTENTION[name]
    constants = ("x6",) if op == "GroupQueryAttention" else ()
    compared(tmp_path, (op, inputs, {**how, "constants": constants})).check(1e-3, 1e-4)


@pytest.mark.parametrize("name", OTHERS)
def test_fused_operators_are_onnxruntimes(name: str, tmp_path: Path) -> None:
    compared(tmp_path, OTHERS[name]).check(1e-3, 1e-4)


@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_operators_are_onnxruntimes_within_a_step(name: str, tmp_path: Path) -> None:
    made = compared(tmp_path, QUANTISED[name])
    made.check(1e-3, 1.0 if made.right[0].dtype == np.uint8 else 1e-3)


@pytest.mark.parametrize("axis, opset", [(1, 12), (-1, 13)])
def test_a_quantised_softmax_is_of_the_version_that_it_names(axis: int, opset: int, tmp_path: Path) -> None:
    import onnxruntime  # noqa: F401

    from tests.support.one_node import OneNode, by_onnxruntime, one_node

    inputs = [*numbers(2, 3, 5), scale(1 / 256), zero(0)]
    model = one_node("QLinearSoftmax", inputs, domain="com.microsoft", axis=axis)
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("opset", opset))
    (right,), (found,) = by_onnxruntime(model, inputs), OneNode(model, inputs, ()).run(tmp_path)
    assert found.shape == right.shape
    assert np.abs(found.astype(int) - right.astype(int)).max() <= 1


HEADS = "q : Tensor([2, 4, 5, 8], float32), k : Tensor([2, 4, 6, 8], float32), v : Tensor([2, 4, 6, 8], float32)"
GROUPS = "q : Tensor([2, 1, 8], float32), k : Tensor([2, 1, 8], float32), n : Tensor([2], int32)"
GROUPED = "@onnx.group_query_attention(q, k, k, n, 4"
WRONG = (
    (f"{HEADS}, p : Tensor([2, 3, 2, 8], float32)", "@onnx.attention(q, k, v, past_key=p, past_value=p)",
     "axis 1 of `p` to be 4, but it is 3"),
    (f"{HEADS}, m : Tensor([5, 7], float32)", "@onnx.attention(q, k, v, mask=m)", "axis 1 of `m` to be at most 6, but it is 7"),
    (f"{HEADS}, m : Tensor([3, 6], float32)", "@onnx.attention(q, k, v, mask=m)", "axis 0 of `m` to be 1 or equal to 5"),
    (GROUPS.replace("k : Tensor([2", "k : Tensor([3"), f"{GROUPED})", "axis 0 of `k` (3) and axis 0 of `q` (2) to be equal"),
    (GROUPS.replace("1, 8", "1, 6", 1), f"{GROUPED})", "axis 2 of `q` to be 8, but it is 6"),
    ("q : Tensor([2, 5, 8], float32)", "@onnx.attention(q, q, q, q_heads=3, kv_heads=2)",
     "axis 2 of `q` to be a multiple of 3, but it is 8"),
    ("x : Tensor([4], float32)", "@onnx.split_to_sequence(x, 0)", "`split` (0) to be at least 1"),
    ("c : Tensor([2, 3, 4], float32), u : Tensor([2, 5, 4], float32)", "@onnx.tensor_scatter(c, u, axis=1)",
     "axis 1 of `u` (5) to be at most axis 1 of `c` (3)"),
    (f"{GROUPS}, c : Tensor([4, 9], float32)", f"{GROUPED}, cosines=c, sines=c)", "axis 1 of `c` to be at most 4, but it is 9"),
)  # fmt: skip


@pytest.mark.parametrize(("params", "call", "said"), WRONG)
def test_an_operand_of_another_size_is_told_what_it_has_to_be(params: str, call: str, said: str) -> None:
    import rxlang

    [told] = [d for d in rxlang.check_source(f"@f = fn({params}) {{ {call} }}\n").diagnostics if d.severity == "error"]
    assert said in told.message


def test_keys_beyond_the_room_for_them_are_refused(tmp_path: Path) -> None:
    import rxlang

    from tests.support.one_node import OneNode, one_node

    op, inputs, how = grouped(1, 5, [9, 5], 6)
    model = one_node(op, inputs, domain="com.microsoft", **how)
    with pytest.raises(rxlang.ShapeError, match="there is room for 6 keys"):
        OneNode(model, inputs, ()).run(tmp_path)


def _states(onnxruntime: Any, path: Path, x: Any, held: Any) -> list[tuple[Any, Any]]:
    """The states of an LSTM after each step, the first ones before it, as onnxruntime has them on one thread: on more it
    rounds the states of each row of a batch for themselves."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    found = [tuple(session.run(["Yh", "Yc"], {"X": x[:n], **held})) for n in range(1, len(x) + 1)]
    return [(held["h"], held["c"]), *found]


@pytest.mark.parametrize("gain", [1.0, 4.0])
def test_a_step_of_a_quantised_lstm_is_onnxruntimes_but_where_a_state_is_half_way(gain: float, tmp_path: Path) -> None:
    """A state of float32 has a rounding error of its own: where it is nearer than that to the middle of two steps of its
    scale, either is right, and what follows differs. Of all others each step is the same, however many came before."""
    import onnxruntime
    import rxlang

    width, steps, draw = 24, 40, np.random.default_rng(int(gain))
    weights = {n: draw.integers(1, 256, (1, k, 4 * width)).astype(np.uint8) for n, k in (("W", 4), ("R", width))}
    scales = {n: np.full(1, gain / 127 / width**0.5, np.float32) for n in ("ws", "rs")}
    zeros = {n: np.full(1, 128, np.uint8) for n in ("wz", "rz")}
    held = {**weights, **scales, **zeros}
    node = onnx.helper.make_node(
        "DynamicQuantizeLSTM", ["X", "W", "R", "", "", "h", "c", "", "ws", "wz", "rs", "rz"], ["", "Yh", "Yc"],
        domain="com.microsoft", hidden_size=width,
    )  # fmt: skip
    value, opset = onnx.helper.make_tensor_value_info, onnx.helper.make_opsetid
    inputs = [value("X", 1, ["t", 2, 4]), value("h", 1, [1, 2, width]), value("c", 1, [1, 2, width])]
    kept = [onnx.numpy_helper.from_array(v, n) for n, v in held.items()]
    graph = onnx.helper.make_graph([node], "g", inputs, [value("Yh", 1, None), value("Yc", 1, None)], kept)
    model = onnx.helper.make_model(graph, opset_imports=[opset("", 17), opset("com.microsoft", 1)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    x = draw.uniform(-0.9, 1, (steps, 2, 4)).astype(np.float32)
    x[:, 0, 0], x[:, 1, 1] = 1, -0.9  # one scale for every number of steps
    first = {n: draw.uniform(-1, 1, (1, 2, width)).astype(np.float32) for n in ("h", "c")}
    main, near = rxlang.load(tmp_path / "m.onnx").main, 0
    states = _states(onnxruntime, tmp_path / "m.onnx", x, first)
    for at, ((h, c), right) in enumerate(zip(states, states[1:], strict=False)):
        places = [v.astype(np.float64) / (max(v.max(), 0) - min(v.min(), 0)) * 255 for v in (h, x[at])]
        if min(np.abs(p - np.floor(p) - 0.5).min() for p in places) < 3e-5:
            near += 1
            continue
        for found, there in zip(main(x[at : at + 1], h, c), right, strict=True):
            assert np.abs(found - there).max() < 2e-6 * gain, at
    assert near < steps // 4
