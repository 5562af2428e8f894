"""Random nodes, of old and new opsets, with sizes 0, 1 and more: shapes for all sizes and values are those of onnxruntime, and
of onnx.reference where onnxruntime refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import fuzz

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
np = pytest.importorskip("numpy")

from onnx.reference import ReferenceEvaluator  # noqa: E402

from tests.support.node_draws import SIZES, Node  # noqa: E402
from tests.support.one_node import OneNode, agree, by_onnxruntime, fits, one_node  # noqa: E402

REFUSED = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


class Draw:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def shape(self, least: int = 0, most: int = 4) -> tuple[int, ...]:
        return tuple(self.one(*SIZES) for _ in range(int(self.rng.integers(least, most + 1))))

    def floats(self, *shape: int) -> Any:
        return np.asarray(self.rng.standard_normal(shape).round(2), np.float32)

    def odd(self, *shape: int) -> Any:
        """Numbers, some of which are infinite, a zero below 0, or none."""
        one_in_two = self.rng.choice(np.float32([np.inf, -np.inf, -0.0, np.nan]), shape)
        return np.asarray(np.where(self.rng.random(shape) < 0.5, one_in_two, self.floats(*shape)), np.float32)

    def integers(self, low: int, high: int, *shape: int) -> Any:
        return np.asarray(self.rng.integers(low, max(high, low + 1), shape), np.int64)

    def axis(self, rank: int) -> int:
        return int(self.rng.integers(-rank, rank))

    def axes(self, rank: int) -> list[int]:
        chosen = self.rng.permutation(rank)[: int(self.rng.integers(0, rank + 1))]
        return [int(a) - rank * self.one(0, 1) for a in chosen]

    def alike(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts with another."""
        return tuple(self.one(1, size) for size in shape[int(self.rng.integers(0, len(shape) + 1)) :])


def elementwise(d: Draw) -> Node:
    name = d.one("Abs", "Ceil", "Elu", "Erf", "Floor", "HardSwish", "LeakyRelu", "Mish", "Neg", "Round", "Selu", "Sigmoid",
                 "Sign", "Softplus", "Softsign", "Tanh", "Celu", "HardSigmoid", "ThresholdedRelu", "Shrink")  # fmt: skip
    return Node(name, [d.floats(*d.shape())])


def binary(d: Draw) -> Node:
    shape = d.shape()
    name = d.one("Add", "Sub", "Mul", "Max", "Min", "Sum", "Less", "Greater", "Equal", "PRelu", "Where")
    inputs = [d.floats(*shape), d.floats(*d.alike(shape))]
    return Node(name, [d.floats(*d.alike(shape)) > 0, *inputs] if name == "Where" else inputs)


def extreme(d: Draw) -> Node:
    """Attributes, and elements, that are infinite, 0 or negative."""
    name, *names = d.one(
        ("Elu", "alpha"), ("LeakyRelu", "alpha"), ("ThresholdedRelu", "alpha"), ("Selu", "gamma"),
        ("Shrink", "bias", "lambd"), ("Clip", "min", "max"), ("Gemm", "alpha", "beta"),
    )  # fmt: skip
    given = {n: float(d.one(0.0, -1.0, 0.5, np.inf, -np.inf)) for n in names if d.one(True, True, False)}
    if name == "Gemm":
        finite = {n: value for n, value in given.items() if np.isfinite(value)}
        return Node(name, [d.floats(2, 3), d.floats(3, 2), d.odd(d.one(1, 2), 2)], finite)
    return Node(name, [d.odd(*d.shape())], given, opset=d.one(7, 10) if name == "Clip" else 15)


def alike(d: Draw) -> Node:
    """Before opset 8 operands have the same shape."""
    shape = d.shape()
    return Node(d.one("Sum", "Max", "Min", "Mean"), [d.floats(*shape) for _ in range(d.one(1, 2, 3))], opset=7)


def division(d: Draw) -> Node:
    shape = d.shape()
    x, y = d.integers(-9, 9, *shape), d.integers(1, 4, *d.alike(shape)) * d.one(1, -1)
    fmod = d.one(0, 1)
    return d.one(Node("Div", [x, y]), Node("Mod", [x, y], {"fmod": fmod} if fmod else {}))


def reduction(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    some = ("ReduceMax", "ReduceMin") if x.size else ()  # nothing has no largest element
    name = d.one("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", *some)
    keep, axes = {"keepdims": d.one(0, 1)}, d.axes(x.ndim)
    if d.one(True, False):
        since = 11 if name == "ReduceSum" else d.one(11, 13)
        return Node(name, [x], keep | ({"axes": axes} if axes else {}), opset=since)
    noop = {"noop_with_empty_axes": d.one(0, 1)}
    return Node(name, [x, np.array(axes, np.int64)], keep | noop, ("x1",), opset=d.one(18, 21))


def along(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    name = d.one("Softmax", "LogSoftmax", "Hardmax", "LpNormalization", *(("ArgMax", "ArgMin") if x.size else ()))
    return Node(name, [x], {"axis": d.axis(x.ndim)}, opset=d.one(13, 21) if name[0] in "SLH" else d.one(12, 13, 21))


def coerced(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    return Node(d.one("Softmax", "LogSoftmax", "Flatten"), [x], {"axis": int(d.rng.integers(0, x.ndim))}, opset=11)


def product(d: Draw) -> Node:
    m, k, n, batch = d.one(*SIZES), d.one(*SIZES), d.one(*SIZES), d.shape(0, 2)
    if d.one(True, False):
        a, b = d.one(0, 1), d.one(0, 1)
        inputs = [d.floats(*((k, m) if a else (m, k))), d.floats(*((n, k) if b else (k, n)))]
        inputs += [d.floats(*d.one((n,), (1, n), (m, n), ()))] if d.one(True, False) else []
        return Node("Gemm", inputs, {"transA": a, "transB": b, "alpha": 0.5, "beta": d.one(1.0, 2.0)})
    return Node("MatMul", [d.floats(*batch, m, k), d.floats(*d.alike(batch), k, n)])


def reshape(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    target = d.one([-1], [0, -1], [1, -1], list(x.shape), [x.size], [*x.shape, 1], [0] * min(x.ndim, 2) + [-1])
    return Node("Reshape", [x, np.array(target, np.int64)], {}, ("x1",))


def moved(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    order = [int(a) for a in d.rng.permutation(x.ndim)]
    places = sorted({int(a) for a in d.rng.integers(0, x.ndim + 1, 2)})
    return d.one(
        Node("Transpose", [x], d.one({"perm": order}, {})),
        Node("Unsqueeze", [x, np.array(places, np.int64)], {}, ("x1",)),
        Node("Unsqueeze", [x], {"axes": places}, opset=11),
        Node("Squeeze", [d.floats(*x.shape, 1), np.array([-1], np.int64)], {}, ("x1",)),
        Node("Shape", [x], {"start": d.axis(x.ndim), "end": d.axis(x.ndim)}),
        Node("Size", [x]),
    )


def joined(d: Draw) -> Node:
    shape = tuple(max(s, 1) for s in d.shape(1))
    at = d.axis(len(shape))
    parts = [
        d.floats(*(d.one(*SIZES) if i == at % len(shape) else s for i, s in enumerate(shape)))
        for _ in range(d.one(1, 2, 3))
    ]
    return Node("Concat", parts, {"axis": at})


def split(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    at, n = d.axis(x.ndim), d.one(2, 3)
    size = x.shape[at]
    if d.one(True, False) and -(-size // n) * (n - 1) <= size:  # of fewer onnx.reference makes several parts smaller
        return Node("Split", [x], {"axis": at, "num_outputs": n}, outputs=n, opset=18)
    first = int(d.rng.integers(0, size + 1))
    return Node("Split", [x, np.array([first, size - first])], {"axis": at}, ("x1",), outputs=2)


def sliced(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    axes = d.axes(x.ndim)[:2]
    far = (-(2**63), -7, -2, -1, 0, 1, 2, 4, 2**63 - 1)
    starts, ends = (np.array([d.one(*far) for _ in axes], np.int64) for _ in range(2))
    steps = np.array([d.one(1, 2, -1, -2) for _ in axes], np.int64)
    # onnxruntime takes the largest number for the other end where it goes backward.
    ends = np.where((steps < 0) & (ends == 2**63 - 1), 4, ends)
    return Node("Slice", [x, starts, ends, np.array(axes, np.int64), steps], {}, ("x1", "x2", "x3", "x4"))


def gathered(d: Draw) -> Node:
    x = d.floats(*d.shape(1))
    at = d.axis(x.ndim)
    size = x.shape[at]
    shape = d.shape(0, 2) if size else (0,)
    which = d.integers(-size, size, *shape)
    if d.one(True, False):
        return Node("Gather", [x, which], {"axis": at})
    same = tuple((d.one(*SIZES) if size else 0) if i == at % x.ndim else s for i, s in enumerate(x.shape))
    return Node("GatherElements", [x, d.integers(-size, size, *same)], {"axis": at})


def padded(d: Draw) -> Node:
    x = d.floats(*d.shape(1, 3))
    pads = d.integers(-1 if min(x.shape) > 2 else 0, 3, 2 * x.ndim)
    mode = d.one("constant", "edge") if min(x.shape) > 0 else "constant"
    if d.one(True, False):
        value = d.one(0.0, 2.5, -np.inf, np.nan) if mode == "constant" else 0.0
        return Node("Pad", [x], {"mode": mode, "pads": pads.tolist(), "value": value}, opset=d.one(7, 10))
    return Node("Pad", [x, pads] + ([np.float32(2.5).reshape(())] if mode == "constant" else []), {"mode": mode},
                ("x1",), opset=d.one(13, 18, 21))  # fmt: skip


def repeated(d: Draw) -> Node:
    x = d.floats(*d.shape(1, 3))
    target = [d.one(1, s) for s in x.shape]
    return d.one(
        Node("Tile", [x, d.integers(0, 3, x.ndim)], {}, ("x1",)),
        Node("Expand", [x, np.array([d.one(2, 3), *target], np.int64)], {}, ("x1",)),
        Node("ConstantOfShape", [np.array(d.shape(), np.int64)], {}, ("x0",)),
        Node("Range", [np.int64(d.one(0, 5)).reshape(()), np.int64(d.one(0, 4, 9)).reshape(()),
                       np.int64(d.one(1, 2, -1)).reshape(())], {}, ("x0", "x1", "x2")),
    )  # fmt: skip


def cumulative(d: Draw) -> Node:
    x = d.floats(*d.shape(1, 3))
    flags = {"exclusive": d.one(0, 1), "reverse": d.one(0, 1)}
    return Node("CumSum", [x, np.int64(d.axis(x.ndim)).reshape(())], flags, ("x1",))


def chosen(d: Draw) -> Node:
    x = d.floats(*(max(s, 1) for s in d.shape(1, 3)))
    at = d.axis(x.ndim)
    k = np.array([int(d.rng.integers(0, x.shape[at] + 1))])
    return d.one(
        Node("TopK", [x, k], {"axis": at, "largest": d.one(0, 1)}, ("x1",), outputs=2),
        Node("OneHot", [d.integers(0, 3, *x.shape), np.int64(3).reshape(()), np.array([0.0, 1.0], np.float32)],
             {"axis": d.axis(x.ndim + 1)}, ("x1",)),
        Node("Trilu", [d.floats(2, *x.shape[-1:], 3), np.int64(d.one(-2, 0, 1)).reshape(())], {"upper": d.one(0, 1)}, ("x1",)),
        Node("NonZero", [x.round()]),
    )  # fmt: skip


def windows(d: Draw) -> Node:
    spatial, channels = d.one(1, 2), d.one(1, 2, 4)
    kernel = [d.one(1, 2, 3) for _ in range(spatial)]
    how: dict[str, Any] = {"strides": [d.one(1, 2) for _ in kernel]}
    how |= d.one(
        {}, {"pads": [d.one(0, k // 2) for k in kernel * 2]}, {"auto_pad": d.one("SAME_UPPER", "SAME_LOWER", "VALID")}
    )
    how |= {"dilations": [d.one(1, 2) for _ in kernel]} if "auto_pad" not in how else {}
    x = d.floats(d.one(1, 2), channels, *(int(d.rng.integers(5, 9)) for _ in kernel))
    name = d.one("Conv", "ConvTranspose", "MaxPool", "AveragePool")
    if (
        name == "ConvTranspose" and "auto_pad" in how
    ):  # where a stride is larger than the kernel onnxruntime gives fewer
        how["strides"] = [min(step, k) for step, k in zip(how["strides"], kernel, strict=True)]
    if name in ("MaxPool", "AveragePool"):
        ceil = {"ceil_mode": d.one(0, 1)} if "auto_pad" not in how else {}
        return Node(name, [x], how | ceil | {"kernel_shape": kernel}, opset=19)
    group = d.one(1, channels)
    weight = (2 * group, channels // group, *kernel) if name == "Conv" else (channels, 2, *kernel)
    return Node(name, [x, d.floats(*weight), d.floats(2 * group)], how | {"group": group})


def normalised(d: Draw) -> Node:
    n, c, s = d.one(1, 2), d.one(2, 4), d.one(1, 3)
    x, w = d.floats(n, c, s, 3), [d.floats(c) for _ in range(2)]
    return d.one(
        Node("BatchNormalization", [x, *w, d.floats(c), abs(d.floats(c))], opset=15),
        Node("InstanceNormalization", [x, *w]),
        Node("LayerNormalization", [x, d.floats(3), d.floats(3)], {"axis": -1}),
        Node("GroupNormalization", [x, *w], {"num_groups": 2}, opset=21),
        Node("GroupNormalization", [d.floats(n, 4, s), d.floats(2), d.floats(2)], {"num_groups": 2}, opset=18),
        Node("LRN", [x], {"size": d.one(1, 3)}),
        Node("DepthToSpace", [d.floats(n, 8, s, 3)], {"blocksize": 2, "mode": d.one("DCR", "CRD")}),
        Node("SpaceToDepth", [d.floats(n, c, 2 * s, 4)], {"blocksize": 2}),
        Node("GlobalAveragePool", [x]),
    )


def resized(d: Draw) -> Node:
    x = d.floats(1, d.one(1, 2), *(int(d.rng.integers(1, 9)) for _ in range(2)))
    places = d.one("asymmetric", "half_pixel", "align_corners")
    how = {"mode": d.one("nearest", "linear"), "coordinate_transformation_mode": places}
    how |= {"nearest_mode": d.one("floor", "round_prefer_floor")} if how["mode"] == "nearest" else {}
    # onnxruntime rounds the length by which corners are aligned, which the standard does not.
    if places != "align_corners" and d.one(True, False):
        scales = np.array([1, 1, *(d.one(0.5, 0.7, 1.5, 2.0, 2.5) for _ in range(2))], np.float32)
        return Node("Resize", [x, None, scales], how, ("x2",), opset=19)
    return Node(
        "Resize", [x, None, None, np.array([1, x.shape[1], d.one(1, 4, 7), d.one(2, 5)])], how, ("x3",), opset=19
    )


def compressed(d: Draw) -> Node:
    x = d.floats(*d.shape(1, 3))
    at = d.axis(x.ndim)
    along = {} if d.one(True, False, False) else {"axis": at}
    condition = d.integers(0, 2, d.one(*SIZES)).astype(bool)
    return Node("Compress", [x, condition], along, d.one((), ("x1",)), opset=d.one(9, 11))


def scattered(d: Draw) -> Node:
    x = d.floats(*(max(s, 1) for s in d.shape(1, 3)))
    at, n = d.axis(x.ndim), d.one(*SIZES)
    how = d.one({}, {"reduction": d.one("add", "mul", "max", "min")})
    opset = d.one(18, 21) if how else d.one(11, 13, 18)
    if d.one(True, False):
        depth = int(d.rng.integers(1, x.ndim + 1))
        places = np.stack([d.integers(0 if how else -s, s, n) for s in x.shape[:depth]], axis=-1)
        if not how:  # which of two wins is not said
            places = places[:1]
        return Node("ScatterND", [x, places, d.floats(len(places), *x.shape[depth:])], how, opset=max(opset, 18))
    shape = tuple(d.one(1, s) if i != at % x.ndim else (n if how else min(n, 1)) for i, s in enumerate(x.shape))
    places = d.integers(-x.shape[at], x.shape[at], *shape)
    return Node("ScatterElements", [x, places, d.floats(*shape)], {"axis": at} | how, opset=opset)


def picked(d: Draw) -> Node:
    x = d.floats(*(max(s, 1) for s in d.shape(1, 4)))
    batch = int(d.rng.integers(0, min(x.ndim, 2)))
    depth = int(d.rng.integers(1, x.ndim - batch + 1))
    outer = (*x.shape[:batch], *d.shape(0, 2))
    places = np.stack([d.integers(-s, s, *outer) for s in x.shape[batch : batch + depth]], axis=-1)
    return Node("GatherND", [x, places], {"batch_dims": batch}, d.one((), ("x1",)), opset=d.one(12, 13))


def summed(d: Draw) -> Node:
    i, j, k = (d.one(*SIZES) for _ in range(3))
    equation, shapes = d.one(
        ("ij,jk->ik", ((i, j), (j, k))), ("ij,jk", ((i, j), (j, k))), ("ij->ji", ((i, j),)), ("ij->", ((i, j),)),
        ("ii->i", ((i, i),)),
        ("...ij,...jk->...ik", ((2, i, j), (j, k))), ("bij, bjk -> bik", ((3, i, j), (3, j, k))), ("i,j", ((i,), (j,))),
        ("ij,ij->i", ((i, j), (i, j))), ("b...->b...", ((i, j, k),)), ("ba", ((i, j),)),
    )  # fmt: skip
    return Node("Einsum", [d.floats(*shape) for shape in shapes], {"equation": equation})


def bounded(d: Draw) -> Node:
    x, low, high = d.floats(*d.shape()), *(np.float32(v).reshape(()) for v in (-0.5, 0.75))
    return d.one(
        Node("Clip", [x, None, high]), Node("Clip", [x, low]), Node("Clip", [x]), Node("Clip", [x, low, None]),
        Node("IsNaN", [x]),
        Node("Clip", [x], {"max": 0.5}, opset=6), Node("Dropout", [x, None, None], opset=13),
        Node("Dropout", [x], opset=d.one(7, 10, 12), outputs=d.one(1, 2)),
        Node("CastLike", [x, d.integers(0, 2, *d.shape())], opset=19), Node("Identity", [x], opset=d.one(7, 13, 24)),
        Node("IsInf", [x], {"detect_negative": d.one(0, 1)}), Node("Pow", [abs(x), np.array([2], np.int64)]),
    )  # fmt: skip


def quantised(d: Draw) -> Node:
    x = d.floats(*(max(s, 1) for s in d.shape(1, 3)))
    at = d.axis(x.ndim)
    scales, zeros = np.float32([0.5, 0.25, 0.125, 1, 2])[: x.shape[at]], np.uint8([3, 0, 128, 1, 7])[: x.shape[at]]
    whole = d.one(True, False)
    scale, zero = (scales[0], zeros[0]) if whole else (scales, zeros)
    along, opset = {} if whole else {"axis": at}, 13 if d.one(True, False) else 19
    q = d.integers(0, 255, *x.shape).astype(np.uint8)
    return d.one(
        Node("QuantizeLinear", [x, np.asarray(scale), np.asarray(zero)], along, opset=opset),
        Node("DequantizeLinear", [q, np.asarray(scale), np.asarray(zero)], along, opset=opset),
        Node("DequantizeLinear", [q, np.asarray(scale)], along, opset=opset),
        Node("DynamicQuantizeLinear", [x], outputs=3),
    )


def stepped(d: Draw) -> Node:
    kind = d.one("RNN", "GRU", "LSTM")
    gates, directions = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], d.one(1, 2)
    t, b, n, h = d.one(1, 2, 3), d.one(1, 2), d.one(1, 3), d.one(1, 2)
    x, w, r = d.floats(t, b, n), d.floats(directions, gates * h, n), d.floats(directions, gates * h, h)
    bias = d.floats(directions, 2 * gates * h) if d.one(True, False) else None
    first = d.floats(directions, b, h) if d.one(True, False) else None
    how = {"hidden_size": h, "direction": "bidirectional" if directions == 2 else d.one("forward", "reverse")}
    how |= {"linear_before_reset": d.one(0, 1)} if kind == "GRU" else {}
    return Node(kind, [x, w, r, bias, None, first], how, outputs=3 if kind == "LSTM" else 2, opset=d.one(7, 14))


def odd(d: Draw) -> Node:
    x, n = d.floats(*d.shape(2, 2)), d.one(*SIZES)
    return d.one(
        Node("EyeLike", [x], {"k": d.one(-1, 0, 2)}, opset=9), Node("NonZero", [x.round()], opset=9),
        Node("ReverseSequence", [d.floats(3, 2, n), np.array([1, 3])], {"batch_axis": 1, "time_axis": 0}, opset=10),
        Node("Unique", [x.round()], {"sorted": 1}, outputs=4, opset=11),
        Node("Det", [d.floats(n, 2, 2)], opset=11), Node("MeanVarianceNormalization", [d.floats(2, 3, 2, 2)], opset=13),
        Node("BitShift", [d.integers(0, 9, n).astype(np.uint8), d.integers(0, 3, n).astype(np.uint8)],
             {"direction": d.one("LEFT", "RIGHT")}, opset=11),
        Node("CenterCropPad", [x, np.array([d.one(*SIZES), d.one(*SIZES)])], {}, ("x1",), opset=18),
        Node("Compress", [x, np.array([True])], {"axis": 0}, opset=11),
        Node("GlobalMaxPool", [d.floats(2, 2, 3, max(n, 1))]),
        Node("GlobalLpPool", [d.floats(2, 2, 3, max(n, 1))], {"p": 1}),
        Node("Mean", [x, x, x]), Node("Sum", [x]), Node("Max", [x]), Node("Xor", [x > 0, x > 1]), Node("Not", [x > 0]),
        Node("BitwiseNot", [d.integers(-3, 3, n)], opset=18),
        Node("BlackmanWindow", [np.int64(n).reshape(())], {"periodic": d.one(0, 1)}, ("x0",), opset=17),
    )  # fmt: skip


FAMILIES: tuple[Callable[[Draw], Node], ...] = (
    elementwise, binary, extreme, alike, division, reduction, along, coerced, product, reshape, moved, joined, split, sliced,
    gathered, padded, repeated, cumulative, chosen, windows, normalised, resized, compressed, scattered, picked, summed,
    bounded, quantised, stepped, odd,
)  # fmt: skip


def results(model: Any, inputs: list[Any]) -> list[Any] | None:
    """What onnxruntime gives, else what the standard's own implementation does; None where both refuse."""
    try:
        return [np.asarray(r) for r in by_onnxruntime(model, inputs)]
    except REFUSED:
        pass
    except Exception as problem:  # noqa: BLE001 - onnxruntime's own exceptions have no common class
        if "onnxruntime" not in type(problem).__module__:
            raise
    try:
        given = {f"x{at}": data for at, data in enumerate(inputs) if data is not None}
        return [np.asarray(r) for r in ReferenceEvaluator(model).run(None, given)]
    except REFUSED:
        return None


def test_nodes_give_what_the_others_give(tmp_path: Path) -> None:
    for case in fuzz.cases("operators"):
        with case as seed:
            node = FAMILIES[seed % len(FAMILIES)](Draw(seed))
            model = one_node(node.op, node.inputs, node.outputs, node.opset, **node.attributes)
            right = results(model, node.inputs)
            if right is None:
                fuzz.count("operators", "unknown")
                continue
            held = node.constants if seed // len(FAMILIES) % 3 else ()  # all inputs are data once in three times
            one = OneNode(model, [data for data in node.inputs if data is not None], held)
            found = one.run(tmp_path)
            shapes = one.shapes(tmp_path)
            said = (node.op, [np.shape(i) for i in node.inputs], held, node.attributes, node.opset, shapes)
            assert fits(shapes, right, exactly=False), (said, [r.shape for r in right])
            for made, wanted in zip(found, right, strict=True):
                assert agree(made, wanted), (said, made, wanted)


@pytest.mark.parametrize(("value", "count"), [(3.0, 1), (0.0, 0)])
def test_the_positions_in_a_number_have_no_axes(value: float, count: int, tmp_path: Path) -> None:
    """As the standard has it; onnxruntime gives a row."""
    one = OneNode(one_node("NonZero", [np.asarray(value, np.float32)], 1, 13), [np.asarray(value, np.float32)], ())
    (found,) = one.run(tmp_path)
    assert found.shape == (0, count) and one.shapes(tmp_path) in ([[0, None]], [[0, count]])
