"""Random nodes that move, take and count elements, that step over them, that quantise them, and those of the other domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .node_draws import Draw, Node, is_whole

FULL = (1, 2, 3, 5)
FAR = (-(2**63), -(2**31), -7, -2, -1, 0, 1, 2, 4, 9, 2**63 - 1)
LEARNED, FUSED = "ai.onnx.ml", "com.microsoft"


def shaped(d: Draw) -> Node:
    op = d.one("Reshape", "Transpose", "Unsqueeze", "Squeeze", "Flatten", "Expand", "Concat", "Tile")
    opset = d.opset(op)
    dtype = d.dtype(op, opset)
    x = d.data(dtype, d.shape(1))
    if op == "Reshape":
        full = d.data(dtype, d.shape(1, 4, FULL))
        target = d.one(
            [-1], [0, -1], [1, -1], list(full.shape), [full.size], [*full.shape, 1], [0] * full.ndim, [full.size, -1]
        )
        return Node(op, [full, np.array(target)], {}, d.held("x1"), opset)
    if op == "Transpose":
        return Node(op, [x], d.some(perm=([int(a) for a in d.rng.permutation(x.ndim)],)), opset=opset)
    if op in ("Unsqueeze", "Squeeze"):
        return _of_ones(d, op, opset, dtype)
    if op == "Flatten":
        return Node(op, [x], d.some(axis=tuple(range(-x.ndim if opset >= 11 else 0, x.ndim + 1))), opset=opset)
    if op == "Expand":
        own = [d.one(1, size) for size in x.shape]
        return Node(op, [x, np.array(d.one(own, [2, *own], own[-1:], [1], [3, 1, *own]))], {}, d.held("x1"), opset)
    if op == "Tile":
        return Node(op, [x, d.integers(0, 4, x.ndim)], {}, d.held("x1"), opset)
    full = d.shape(1, 4, FULL)  # of an operand without elements others ask nothing
    at = d.axis(len(full)) if opset >= 11 else d.number(0, len(full))
    parts = [
        tuple(d.one(*FULL) if i == at % len(full) else s for i, s in enumerate(full)) for _ in range(d.one(1, 2, 3))
    ]
    return Node(op, [d.data(dtype, part) for part in parts], {"axis": at}, opset=opset)


def _of_ones(d: Draw, op: str, opset: int, dtype: Any) -> Node:
    """Axes of one element come, or go."""
    x = d.data(dtype, tuple(d.one(1, 1, 2, 3, 0) for _ in range(d.one(1, 2, 3, 4))))
    rank = x.ndim
    if op == "Squeeze":
        places = [at for at, size in enumerate(x.shape) if size == 1]
        if not places:
            return Node(op, [x], opset=opset)
    else:
        count = d.one(1, 2, 3)
        rank = x.ndim + count
        places = [int(a) for a in d.rng.permutation(rank)[:count]]
    axes = [a - rank * d.one(0, 1) if opset >= 11 else a for a in sorted(places)]
    return (
        Node(op, [x, np.array(axes)], {}, d.held("x1"), opset)
        if opset >= 13
        else Node(op, [x], {"axes": axes}, opset=opset)
    )


def taken(d: Draw) -> Node:
    """Elements that indices name."""
    op = d.one(
        "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Scatter", "Compress", "ReverseSequence"
    )
    opset = d.opset(op)
    dtype = d.dtype(op, opset)
    x, kind = d.data(dtype, d.shape(1, 3, FULL)), d.one(np.int64, np.int32)
    at = d.axis(x.ndim) if opset >= 11 or op != "Compress" else d.number(0, x.ndim)
    size = x.shape[at]
    if op == "Gather":
        return Node(op, [x, d.integers(-size, size, d.shape(0, 2), kind)], {"axis": at}, d.held("x1"), opset)
    if op == "GatherElements":
        same = tuple(d.one(1, 2, 4) if i == at % x.ndim else d.one(1, s) for i, s in enumerate(x.shape))
        return Node(op, [x, d.integers(-size, size, same, kind)], {"axis": at}, opset=opset)
    if op == "Compress":
        how = d.some(axis=(at,))
        length = size if how else x.size
        return Node(op, [x, d.data(bool, (d.number(0, length + 1),))], how, d.held("x1"), opset)
    if op == "ReverseSequence":
        x = d.data(dtype, (d.one(1, 2, 3), d.one(1, 2, 3), *d.shape(0, 2)))
        how = d.one({}, {"time_axis": 1, "batch_axis": 0}, {"time_axis": 0, "batch_axis": 1})
        lengths = d.integers(1, x.shape[how.get("time_axis", 0)] + 1, x.shape[how.get("batch_axis", 1)])
        return Node(op, [x, lengths], how, d.held("x1"), opset)
    if op == "GatherND":
        batch = d.number(0, min(x.ndim, 2)) if opset >= 12 else 0
        depth, outer = d.number(1, x.ndim - batch + 1), (*x.shape[:batch], *d.shape(0, 2))
        places = np.stack([d.integers(-s, s, outer) for s in x.shape[batch : batch + depth]], axis=-1)
        return Node(op, [x, places], {"batch_dims": batch} if opset >= 12 else {}, d.held("x1"), opset)
    reductions = ("add", "mul", *(("max", "min") if opset >= 18 else ()))
    may = opset >= 16 and op != "Scatter" and dtype.kind not in "Ob"
    how = {"reduction": d.one(*reductions)} if may and d.chance() else {}
    finite = False if how else None
    x = d.data(dtype, x.shape, finite)
    if op == "ScatterND":
        depth = d.number(1, x.ndim + 1)
        places = np.stack([d.integers(-s, s, d.one(0, 1, 3)) for s in x.shape[:1]] * depth, axis=-1)
        places = np.stack([places[:, 0] % s for s in x.shape[:depth]], axis=-1)[: None if how else 1]
        return Node(op, [x, places, d.data(dtype, (len(places), *x.shape[depth:]), finite)], how, opset=opset)
    count = d.one(1, 2, 3) if how else 1
    shape = tuple(d.one(1, s) if i != at % x.ndim else count for i, s in enumerate(x.shape))
    return Node(
        op, [x, d.integers(-size, size, shape, kind), d.data(dtype, shape, finite)], how | {"axis": at}, opset=opset
    )


def cut(d: Draw) -> Node:
    op = d.one("Slice", "Slice", "Split", "Pad", "TopK", "Unique")
    opset = d.opset(op)
    dtype = d.dtype(op, opset)
    x = d.data(
        dtype,
        d.shape(1, 4, FULL if op in ("TopK", "Unique") else (0, *FULL)),
        False if op in ("TopK", "Unique") else None,
    )
    at = d.axis(x.ndim) if opset >= 11 else d.number(0, x.ndim)
    if op == "Slice":
        return _sliced(d, x, opset)
    if op == "Split":
        size, count = x.shape[at], d.one(1, 2, 3)
        ends = sorted(d.number(0, size + 1) for _ in range(count - 1))
        sizes = [b - a for a, b in zip([0, *ends], [*ends, size], strict=True)]
        if opset < 13:
            return Node(op, [x], {"axis": at, "split": sizes}, (), opset, count)
        return Node(op, [x, np.array(sizes)], {"axis": at}, d.held("x1"), opset, count)
    if op == "Pad":
        mode = d.one("constant", "constant", "edge") if min(x.shape) else "constant"
        pads = d.integers(-1 if min(x.shape) > 2 else 0, 3, 2 * x.ndim)
        if opset < 11:
            return Node(op, [x], {"mode": mode, "pads": pads.tolist()} | d.some(value=(0.0, 2.5, -np.inf)), opset=opset)
        return Node(op, [x, pads, *([d.data(dtype, ())] if d.chance() else [])], {"mode": mode}, d.held("x1"), opset)
    if op == "TopK":
        k = d.number(1, x.shape[at] + 1)
        if opset < 10:
            return Node(op, [x], {"axis": at, "k": k}, (), opset, 2)
        return Node(
            op,
            [x, np.array([k])],
            {"axis": at} | (d.some(largest=(0, 1)) if opset >= 11 else {}),
            d.held("x1"),
            opset,
            2,
        )
    return Node(op, [x], d.some(axis=(at,)), (), opset, d.one(1, 2, 3, 4))


def _sliced(d: Draw, x: Any, opset: int) -> Node:
    axes = d.axes(x.ndim)[:2] or [0]
    starts, steps = [d.one(*FAR) for _ in axes], [d.one(1, 2, -1, -2, 3, -7, 2**63 - 1) for _ in axes]
    # Onnxruntime takes the largest number for the other end where it goes backward.
    ends = [d.one(*FAR[:-1]) if step < 0 else d.one(*FAR) for step in steps]
    starts = [4 if step < 0 and start == FAR[-1] else start for start, step in zip(starts, steps, strict=True)]
    if opset < 10:
        return Node("Slice", [x], {"starts": starts, "ends": ends, "axes": [a % x.ndim for a in axes]}, opset=opset)
    inputs = [np.array(values, np.int64) for values in (starts, ends, axes, steps)]
    return Node("Slice", [x, *inputs], {}, d.one((), ("x1", "x2", "x3", "x4"), ("x3", "x4")), opset)


def stepped(d: Draw) -> Node:
    """Onnxruntime has no batch first, another ThresholdedRelu where nobody says its alpha, and no Softplus of large numbers."""
    op = d.one("RNN", "GRU", "LSTM")
    opset, gates, functions = d.opset(op), {"RNN": 1, "GRU": 3, "LSTM": 4}[op], {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
    turns, t, b, n, h = d.one(1, 2), d.one(1, 2, 5), d.one(1, 3), d.one(1, 3), d.one(1, 2, 3)
    state = lambda: d.floats(turns, b, h) if d.chance(0.4) else None  # noqa: E731
    how: dict[str, Any] = {
        "hidden_size": h,
        "direction": "bidirectional" if turns == 2 else d.one("forward", "reverse"),
    }
    if d.chance():
        how["activations"] = [d.one("Relu", "Tanh", "Sigmoid", "Softsign", "Elu") for _ in range(functions * turns)]
    how |= d.some(clip=(0.1, 0.5, 2.0)) if d.chance(0.3) else {}
    how |= d.some(linear_before_reset=(0, 1)) if op == "GRU" else d.some(input_forget=(0, 1)) if op == "LSTM" else {}
    inputs = [d.floats(t, b, n), d.floats(turns, gates * h, n), d.floats(turns, gates * h, h)]
    inputs += [
        d.floats(turns, 2 * gates * h) if d.chance() else None,
        d.integers(1, t + 1, b, np.int32) if d.chance(0.4) else None,
    ]
    inputs += [state(), *([state(), d.floats(turns, 3 * h) if d.chance(0.4) else None] if op == "LSTM" else [])]
    return Node(op, inputs, how, d.held("x1", "x2"), opset, d.one(1, 2, 3) if op == "LSTM" else d.one(1, 2))


def _scale(d: Draw, shape: tuple[int, ...] = (), dtype: Any = np.float32) -> Any:
    """Powers of two: a quotient that lies half way does so for everybody."""
    return np.asarray(d.rng.choice([0.125, 0.25, 0.5, 1.0], shape)).astype(dtype)


def quantised(d: Draw) -> Node:
    op = d.one("QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "DequantizeLinear", "MatMulInteger", "ConvInteger",
               "QLinearMatMul")  # fmt: skip
    opset = d.opset(op)
    kinds = [np.dtype(d.one(np.uint8, np.int8)) for _ in range(2)]
    m, k, n = (d.one(1, 2, 3, 5) for _ in range(3))
    x, y = d.data(kinds[0], (*d.shape(0, 1, (1, 2)), m, k)), d.data(kinds[1], (k, n))
    if op == "MatMulInteger":
        zeros = [d.data(kinds[0], ()), d.data(kinds[1], d.one((), (n,)))][: d.number(0, 3)]
        return Node(op, [x, y, *zeros], {}, d.held("x1"), opset)
    if op == "QLinearMatMul":
        kind, parts = kinds[0], lambda: [_scale(d), d.data(kinds[0], ())]
        inputs = [x, *parts(), d.data(kind, (k, n)), *parts(), *parts()]
        return Node(op, inputs, {}, d.held("x3", "x4", "x5"), opset)
    if op == "ConvInteger":
        filters = d.data(kinds[1], (2, 2, 3, 2))
        how = d.some(strides=([1, 2],), pads=([1, 0, 0, 1],), kernel_shape=([3, 2],))
        return Node(op, [d.data(kinds[0], (1, 2, 5, 4)), filters, d.data(kinds[0], ())], how, d.held("x1"), opset)
    return _in_steps(d, op, opset)


def _in_steps(d: Draw, op: str, opset: int) -> Node:
    """With one scale, one for each entry of an axis, or one for each block of it."""
    shape = d.shape(1, 3, FULL)
    at, block = d.axis(len(shape)), d.one(1, 2, 3)
    form = d.one("one", "axis", *(("block", "block") if opset >= 21 else ()))
    if form == "axis" and opset < 13:
        form = "one"
    blocked = tuple(-(-s // block) if i == at % len(shape) else s for i, s in enumerate(shape))
    scales: tuple[int, ...] = {"one": (), "axis": (shape[at],), "block": blocked}[form]
    how: dict[str, Any] = {"one": {}, "axis": {"axis": at}, "block": {"axis": at, "block_size": block}}[form]
    dtype = d.dtype(op, opset, 2 if op == "QuantizeLinear" else 0)
    kind = d.dtype(op, opset, 0 if op == "QuantizeLinear" else 1)
    kind = kind if not is_whole(kind) else np.dtype(np.float32)
    zero = d.data(dtype, scales, False)
    zero = zero if is_whole(dtype) and dtype != np.int32 else np.zeros(scales, dtype)
    first = d.data(kind, shape, False) if op == "QuantizeLinear" else d.data(dtype, shape, is_whole(dtype))
    return Node(op, [first, _scale(d, scales, kind), zero], how, d.held("x1", "x2"), opset)


def texts(d: Draw) -> Node:
    op = d.one("StringConcat", "RegexFullMatch", "StringNormalizer", "TfIdfVectorizer", "StringSplit")
    words, opset = ("a", "B b", "a,b,,c", "aab", "stop", "zz"), 20
    x = np.array(d.rng.choice(words, d.shape(1, 2, FULL)), object)
    if op == "StringConcat":
        return Node(op, [x, np.array(d.rng.choice(words, d.alike(x.shape)), object)], opset=opset)
    if op == "RegexFullMatch":
        return Node(op, [x], {"pattern": d.one("a+b", "[a-z]*", ".*", "(a|B) ?b", "")}, opset=opset)
    if op == "StringSplit":
        return Node(op, [x], d.some(delimiter=(",", "ab", "b"), maxsplit=(1, 2, 10)), (), opset, 2)
    if op == "StringNormalizer":
        how = d.some(case_change_action=("NONE", "LOWER", "UPPER"), stopwords=(["stop", "a"],)) | {
            "is_case_sensitive": 1
        }
        return Node(op, [x.ravel()], how, opset=opset)
    longest = d.one(1, 2)
    how = {
        "max_gram_length": longest, "min_gram_length": d.number(1, longest + 1), "max_skip_count": d.one(0, 1, 2),
        "mode": d.one("TF", "IDF", "TFIDF"), "ngram_counts": [0, 3], "ngram_indexes": [int(i) for i in d.rng.permutation(5)],
        "pool_int64s": [2, 3, 5, 2, 3, 3, 5],
    } | d.some(weights=([0.5, 1.0, 2.0, 1.5, 3.0],))  # fmt: skip
    return Node(op, [d.integers(1, 6, d.one((4,), (2, 6)))], how, opset=opset)


def learned(d: Draw) -> Node:
    op = d.one("Scaler", "Imputer", "Normalizer", "LabelEncoder", "LinearRegressor", "SVMRegressor", "OneHotEncoder")
    rows, width = d.one(1, 2, 3), d.one(1, 2, 3, 4)
    x = d.floats(rows, width)
    numbers = lambda count: [float(v) for v in d.floats(count)]  # noqa: E731
    how: dict[str, Any] = {}
    if op == "Scaler":
        count = d.one(1, width)
        how = {"offset": numbers(count), "scale": numbers(count)}
    elif op == "Imputer":
        how = {"imputed_value_floats": numbers(d.one(1, width))} | d.some(replaced_value_float=(float("nan"), -1.0))
        x = np.where(d.data(bool, x.shape), np.float32(how.get("replaced_value_float", 0.0)), x)
    elif op == "Normalizer":
        how = d.some(norm=("MAX", "L1", "L2"))
    elif op == "LabelEncoder":
        x = d.data(object, x.shape)
        how = {"keys_strings": ["a", "", "1"], "values_int64s": [0, 1, -2]} | d.some(default_int64=(7,))
        return Node(op, [x], how, (), 18, 1, LEARNED, 2)
    elif op == "LinearRegressor":
        targets = d.one(1, 2, 3)
        how = {"coefficients": numbers(targets * width), "targets": targets} | d.some(intercepts=(numbers(targets),))
        how |= d.some(post_transform=("NONE", "LOGISTIC", "SOFTMAX"))
    elif op == "SVMRegressor":
        how = {"support_vectors": numbers(3 * width), "coefficients": numbers(3), "rho": numbers(1), "n_supports": 3,
               "kernel_params": [0.5, 0.3, 2.0]} | d.some(kernel_type=("LINEAR", "RBF", "POLY", "SIGMOID"))  # fmt: skip
    else:
        x, how = d.integers(0, 4, x.shape), {"cats_int64s": [0, 1, 2]} | d.some(zeros=(1,))
    return Node(op, [x], how, (), 18, 1, LEARNED, 1)


def fused(d: Draw) -> Node:
    op = d.one("FusedGemm", "FusedMatMul", "QuickGelu", "BiasGelu", "Range", "Trilu", "ExpandDims", "SkipLayerNormalization",
               "QLinearWhere", "FusedConv")  # fmt: skip
    m, k, n, width = d.one(1, 2), d.one(1, 3), d.one(1, 2, 5), 4
    x, held = d.floats(*d.shape(1, 2, FULL), width), ()
    how: dict[str, Any] = {}
    if op in ("FusedGemm", "FusedMatMul"):
        how = {"transA": d.one(0, 1), "transB": d.one(0, 1)} | d.some(alpha=(0.5, -1.0))
        inputs = [d.floats(*((k, m) if how["transA"] else (m, k))), d.floats(*((n, k) if how["transB"] else (k, n)))]
        if op == "FusedGemm":
            how |= {"activation": d.one("Relu", "LeakyRelu", "Elu", "Tanh", "Sigmoid", "HardSigmoid", "Softplus")}
            how |= (
                {"activation_alpha": 0.3, "activation_beta": 0.2}
                if d.chance(0.7) or how["activation"][0] in "LEH"
                else {}
            )
    elif op == "QuickGelu":
        inputs, how = [x], d.some(alpha=(1.702, 1.0, -1.0, 0.0))
    elif op == "BiasGelu":
        inputs = [x, d.floats(width)]
    elif op == "Range":
        inputs = [np.array(d.one(0, 2)), np.array(d.one(-2, 5)), np.array(d.one(1, 2, -1))][: d.one(2, 3)]
        held = d.held("x0", "x1")
    elif op == "Trilu":
        inputs, how, held = [x, np.array(d.one(-2, 0, 9))], d.some(upper=(0, 1)), d.held("x1")
    elif op == "ExpandDims":
        inputs, held = [x, np.array(d.axis(x.ndim + 1), np.int32)], ("x1",)
    elif op == "SkipLayerNormalization":
        inputs = [
            d.floats(m, k, width),
            d.floats(*d.one((m, k), (1, k), (k,)), width),
            *(d.floats(width) for _ in range(d.one(1, 2, 3))),
        ]
    elif op == "QLinearWhere":
        kind = d.one(np.uint8, np.int8)
        part = lambda: [_scale(d), d.data(kind, ())]  # noqa: E731
        inputs = [
            d.data(bool, d.alike(x.shape)),
            d.data(kind, x.shape),
            *part(),
            d.data(kind, d.alike(x.shape)),
            *part(),
            *part(),
        ]
    else:
        inputs = [d.floats(1, 2, 5, 4), d.floats(3, 2, 2, 3), d.floats(3)]
        how = d.one({"activation": "Relu"}, {"activation": "Clip", "activation_params": [-0.5, 0.5]},
                    {"activation": "HardSigmoid", "activation_params": [0.2, 0.5]})  # fmt: skip
    return Node(op, inputs, how, held, 18, 1, FUSED, 1)


FAMILIES: tuple[Callable[[Draw], Node], ...] = (shaped, taken, cut, stepped, quantised, texts, learned, fused)
