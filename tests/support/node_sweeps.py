"""Random nodes of every operator over what its versions allow: dtypes, attributes and combinations of them, sizes, corners.

Where onnxruntime is known to differ (docs/onnx-operators.md), or nobody says what comes out, nothing is drawn: no NaN is
compared, no integer is divided by 0 or -1, no window is larger than its image.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from onnx.helper import np_dtype_to_tensor_dtype as numbered

from .node_draws import Draw, Node, has, is_whole

INF = float("inf")
ALPHAS = (0.0, -1.0, 0.5, 1.0, 2.0, INF, -INF, -0.0)
UNARY: dict[str, dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys((
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Cos", "Cosh", "Exp", "Floor", "Erf",
        "HardSwish", "Identity", "IsNaN", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin",
        "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "Size", "NonZero",
    ), {}),
    "Celu": {"alpha": (0.5, 1.0, 2.0)}, "Gelu": {"approximate": ("none", "tanh")}, "Swish": {"alpha": (0.0, 1.0, -1.0)},
    **dict.fromkeys(("Elu", "LeakyRelu", "ThresholdedRelu"), {"alpha": ALPHAS}),
    "HardSigmoid": {"alpha": ALPHAS, "beta": ALPHAS}, "Selu": {"alpha": ALPHAS, "gamma": ALPHAS},
    "Shrink": {"bias": ALPHAS, "lambd": ALPHAS}, "IsInf": {"detect_negative": (0, 1), "detect_positive": (0, 1)},
    "Shape": {},
}  # fmt: skip
BINARY = (
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
    "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Xor",
)  # fmt: skip
MANY = ("Max", "Min", "Sum", "Mean")


def unary(d: Draw) -> Node:
    op = d.one(*UNARY)
    opset = d.opset(op)
    odd = None if op not in ("Gelu", "Acosh", "Sign") else False
    x = d.data(d.dtype(op, opset), d.shape(1 if op == "NonZero" else 0), odd)
    ends = d.some(start=(-9, -2, 0, 1, 9), end=(-9, -1, 0, 2, 9)) if op == "Shape" and opset >= 15 else {}
    how = d.some(**UNARY[op])
    if x.dtype != np.float32:  # the reference multiplies what stays by an infinite alpha as well
        how = {name: value for name, value in how.items() if isinstance(value, str) or np.isfinite(value)}
    return Node(op, [x], how | ends, opset=opset)


def binary(d: Draw) -> Node:
    op = d.one(*BINARY)
    opset, shape = d.opset(op), d.shape()
    dtype, finite = d.dtype(op, opset), False if op in ("Max", "Min", "Mod", "Pow", "BitShift") else None
    alike = op in MANY and opset < 8
    inputs = [d.data(dtype, shape, finite)]
    inputs += [
        d.data(dtype, shape if alike else d.alike(shape), finite) for _ in range(d.one(1, 2) if op in MANY else 1)
    ]
    how: dict[str, Any] = {"direction": d.one("LEFT", "RIGHT")} if op == "BitShift" else {}
    if op == "Mod":
        how = d.some(fmod=(0, 1)) if is_whole(dtype) else {"fmod": 1}
    if op in ("Div", "Mod") and is_whole(dtype):
        inputs[1] = np.asarray(np.where(np.abs(inputs[1].astype(np.float64)) < 2, 2, inputs[1])).astype(dtype)
    if op in ("Pow", "BitShift"):
        inputs[1] = np.asarray(np.clip(inputs[1].astype(np.float64), 0, 3)).astype(dtype)
    return Node(op, inputs, how, d.held("x1"), opset)


def reduction(d: Draw) -> Node:
    op = d.one(
        *(f"Reduce{n}" for n in ("Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"))
    )
    opset = d.opset(op)
    x = d.data(d.dtype(op, opset), d.shape(1), False)
    how, axes = d.some(keepdims=(0, 1)), d.axes(x.ndim)
    if has(op, opset, "axes"):
        return Node(op, [x], how | ({"axes": axes} if axes else {}), opset=opset)
    how |= d.some(noop_with_empty_axes=(0, 1))
    return Node(op, [x, np.array(axes, np.int64)] if d.chance(0.8) else [x], how, d.held("x1"), opset)


def along(d: Draw) -> Node:
    """What goes along one axis."""
    op = d.one("ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "CumSum", "CumProd")
    opset = d.opset(op)
    x = d.data(d.dtype(op, opset), d.shape(1, 4, (1, 2, 3, 5)), False)
    axis = d.axis(x.ndim) if opset >= 11 else d.number(0, x.ndim)
    if op.startswith("Cum"):
        at = np.array(axis, d.one(np.int32, np.int64)).reshape(d.one((), (1,)))
        return Node(op, [x, at], d.some(exclusive=(0, 1), reverse=(0, 1)), ("x1",) if at.ndim else d.held("x1"), opset)
    how = {"axis": axis} | (d.some(keepdims=(0, 1)) if op.startswith("Arg") else {})
    how |= d.some(select_last_index=(0, 1)) if has(op, opset, "select_last_index") else {}
    return Node(op, [x], how | (d.some(p=(1, 2)) if op == "LpNormalization" else {}), opset=opset)


def product(d: Draw) -> Node:
    m, k, n = (d.one(1, 2, 3, 5) for _ in range(3))
    op = d.one("Gemm", "Gemm", "MatMul", "Einsum", "Det")
    opset = d.opset(op)
    dtype, batch = d.dtype(op, opset), d.shape(0, 2, (1, 2, 3))
    new = lambda *shape: d.data(dtype, shape, False)  # noqa: E731
    if op == "Gemm":
        a, b = d.one(0, 1), d.one(0, 1)
        inputs = [new(*((k, m) if a else (m, k))), new(*((n, k) if b else (k, n)))]
        inputs += [new(*d.one((n,), (1, n), (m, n), (), (m, 1)))] if opset < 11 or d.chance() else []
        factors = (1.0, 2.0, 3.0, 0.0) if is_whole(dtype) else (0.5, 1.0, 0.0, -1.0)
        how = {"transA": a, "transB": b} | d.some(alpha=factors, beta=factors)
        return Node(op, inputs, how, d.held("x1"), opset)
    if op == "MatMul":
        return Node(op, [new(*batch, m, k), new(*d.alike(batch), k, n)], {}, d.held("x1"), opset)
    if op == "Det":
        return Node(op, [new(*batch, n, n)], opset=opset)
    equation, shapes = d.one(
        ("ij,jk->ik", ((m, k), (k, n))), ("ij,jk", ((m, k), (k, n))), ("ij->ji", ((m, k),)), ("ij->", ((m, k),)),
        ("ii->i", ((m, m),)), ("ii", ((m, m),)), ("...ij,...jk->...ik", ((2, m, k), (2, k, n))), ("i,j", ((m,), (n,))),
        ("b...->...b", ((m, k, n),)), ("ba", ((m, k),)), ("iij->j", ((m, m, n),)), ("Ab,bA->A", ((m, k), (k, m))),
    )  # fmt: skip
    return Node(op, [new(*shape) for shape in shapes], {"equation": equation}, opset=opset)


def chosen(d: Draw) -> Node:
    """What is clipped, chosen, or cast."""
    op = d.one("Clip", "Where", "Cast", "Cast", "CastLike", "EyeLike", "Trilu", "OneHot", "ConstantOfShape", "Range")
    opset = d.opset(op)
    dtype = d.dtype(op, opset, 1 if op == "Where" else 2 if op == "OneHot" else 0)
    shape = d.shape(2 if op in ("EyeLike", "Trilu") else 0, 2 if op == "EyeLike" else 4)
    if op == "Clip" and opset < 11:
        low = d.one(-INF, -1.0, 0.0)
        return Node(op, [d.data(dtype, shape)], d.some(min=(low,), max=(low + 1.0, 2.0, INF)), opset=opset)
    if op == "Clip":
        bounds = sorted((d.data(dtype, (), False) for _ in range(2)), key=float)
        given = [b if d.chance(0.7) else None for b in bounds]
        inputs = [d.data(dtype, shape, False), *(given if given[1] is not None else given[:1])]
        return Node(op, inputs if inputs[-1] is not None else inputs[:1], {}, d.held("x1", "x2"), opset)
    if op == "Where":
        return Node(
            op, [d.data(bool, d.alike(shape)), d.data(dtype, shape), d.data(dtype, d.alike(shape))], opset=opset
        )
    if op in ("Cast", "CastLike"):
        return _cast(d, op, opset, dtype, shape)
    if op == "EyeLike":
        kinds = tuple(numbered(np.dtype(n)) for n in ("float32", "float64", "int32", "int64", "uint8"))
        return Node(op, [d.data(dtype, shape)], d.some(k=(-7, -1, 0, 2, 9), dtype=kinds), opset=opset)
    if op == "Trilu":  # the reference has numbers beside texts
        dtype = dtype if dtype.kind != "O" else np.dtype(np.int8)
        k = [np.array(d.one(-9, -1, 0, 1, 9, -(2**63), 2**63 - 1))] if d.chance(0.7) else []
        return Node(op, [d.data(dtype, shape), *k], d.some(upper=(0, 1)), d.held("x1"), opset)
    if op == "OneHot":
        where, depth = (
            d.integers(-5, 6, d.shape(1, 3), d.one(np.int64, np.int32)),
            np.array(d.one(1, 2, 4), d.one(np.int64, np.int32)),
        )
        axis = tuple(range(-where.ndim - 1, where.ndim + 1))
        return Node(op, [where, depth, d.data(dtype, (2,), False)], d.some(axis=axis), d.held("x1"), opset)
    if op == "ConstantOfShape":
        return Node(op, [np.array(shape, np.int64)], {}, d.held("x0"), opset)
    return _counted(d, d.one("int16", "int32", "int64", "float32", "float64"))


def _cast(d: Draw, op: str, opset: int, dtype: Any, shape: tuple[int, ...]) -> Node:
    """Not to texts, whose spelling nobody says, and of numbers that the other dtype has."""
    to = d.dtype(op, opset)
    odd = (
        None if not is_whole(to) and to.kind != "O" and to.itemsize >= dtype.itemsize and not is_whole(dtype) else False
    )
    x = d.data(dtype, shape, odd)
    if dtype.kind == "O":
        x = np.array(d.rng.choice(["1", "2", "3", "0"], shape), object).reshape(shape)
    elif is_whole(to) or (is_whole(dtype) and to.name.startswith("float8")):
        x = np.asarray(np.clip(np.nan_to_num(x.astype(np.float64)), 0, 1)).astype(dtype)
    if to.kind == "O":
        to = np.dtype(np.float32) if dtype.kind == "O" else dtype
    return (
        Node(op, [x], {"to": numbered(to)}, opset=opset)
        if op == "Cast"
        else Node(op, [x, d.data(to, d.shape())], opset=opset)
    )


def _counted(d: Draw, name: str) -> Node:
    """From one end of a dtype to the other, in steps of which there are few."""
    dtype = np.dtype(name)
    if dtype.kind == "f":
        first, step = d.one(0.0, -1.5, 3.0), d.one(0.25, 0.5, -2.0)
        numbers = [first, first + step * d.one(-2, 0, 0.5, 3), step]
    else:
        ends = np.iinfo(dtype)
        first, last = (int(d.one(ends.min, ends.max, 0, 7, -3)) for _ in range(2))
        step = d.one(ends.max, ends.min, 2, -1)
        if not -20 < (last - first) // step < 20:
            step = ends.max
        numbers = [first, last, int(step)]
    return Node("Range", [np.array(v, dtype) for v in numbers], {}, d.held("x0", "x1", "x2"), 11)


def normalised(d: Draw) -> Node:
    op = d.one("BatchNormalization", "BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization",
               "RMSNormalization", "LRN", "MeanVarianceNormalization")  # fmt: skip
    opset = d.opset(op)
    dtype, sizes = d.dtype(op, opset), (1, 2, 3, 5)
    channels = d.one(1, 2, 4)
    shape = (d.one(1, 2), channels, *d.shape(1, 2, sizes))
    new = lambda *s, of=dtype: d.data(of, s, False)  # noqa: E731
    x, epsilon = new(*shape), d.some(epsilon=(1e-5, 1e-2, 1.0))
    if op == "BatchNormalization":
        how = epsilon | (d.some(spatial=(0, 1)) if has(op, opset, "spatial") else {})
        trains = has(op, opset, "training_mode") and d.chance(0.3)
        weight = shape[1:] if how.get("spatial", 1) == 0 else (channels,)
        other = dtype if opset < 15 or trains or d.chance() else np.dtype(np.float32)
        inputs = [x, *(new(*weight, of=other) for _ in range(3)), np.abs(new(*weight, of=other))]
        return Node(op, inputs, how | ({"training_mode": 1} if trains else {}), (), opset, 3 if trains else 1)
    if op == "InstanceNormalization":
        return Node(op, [x, new(channels), new(channels)], epsilon, opset=opset)
    if op in ("LayerNormalization", "RMSNormalization"):
        axis = d.axis(x.ndim)
        weights = [
            new(*d.one(x.shape[axis:], d.alike(x.shape[axis:]))) for _ in range(d.one(1, 2) if op[0] == "L" else 1)
        ]
        return Node(op, [x, *weights], {"axis": axis} | epsilon, (), opset, d.one(1, 2, 3) if op[0] == "L" else 1)
    if op == "GroupNormalization":
        return Node(op, [x, new(channels), new(channels)], {"num_groups": d.one(1, channels)} | epsilon, opset=21)
    if op == "LRN":
        return Node(
            op,
            [new(2, channels, 3, 2)],
            {"size": d.one(1, 3, 5)} | d.some(alpha=(0.5,), beta=(0.5,), bias=(2.0,)),
            opset=opset,
        )
    axes = sorted({d.number(0, x.ndim) for _ in range(2)})
    return Node(op, [x], {"axes": [a - x.ndim * d.one(0, 1) for a in axes]}, opset=opset)


def _windows(d: Draw, op: str, opset: int, kernel: list[int]) -> dict[str, Any]:
    """Attributes of windows. Dilated ones are not told to make as many as before, where others mean another number."""
    how: dict[str, Any] = d.some(strides=([d.one(1, 2, 3) for _ in kernel],))
    if d.chance(0.4):
        how["auto_pad"] = d.one("SAME_UPPER", "SAME_LOWER", "VALID")
        how["strides"] = [min(step, k) for step, k in zip(how.get("strides", [1] * len(kernel)), kernel, strict=True)]
    else:
        how |= d.some(pads=([d.number(0, k) for k in kernel * 2],))
        how |= d.some(dilations=([d.one(1, 2) for _ in kernel],)) if has(op, opset, "dilations") else {}
        how |= d.some(ceil_mode=(0, 1)) if has(op, opset, "ceil_mode") else {}
    return how


def windows(d: Draw) -> Node:
    op = d.one("MaxPool", "AveragePool", "LpPool", "Conv", "ConvTranspose")
    opset, kernel = d.opset(op), [d.one(1, 2, 3, 4) for _ in range(d.one(1, 2, 2, 3))]
    dtype, how = d.dtype(op, opset), _windows(d, op, opset, kernel)
    image = [d.number(8, 10) for _ in kernel]
    if op.endswith("Pool"):
        how |= {"kernel_shape": kernel}
        for name, values in (("count_include_pad", (0, 1)), ("p", (1, 2, 3)), ("storage_order", (0, 1))):
            how |= d.some(**{name: values}) if has(op, opset, name) else {}
        outputs = d.one(1, 2) if op == "MaxPool" and opset >= 8 else 1
        return Node(op, [d.data(dtype, (d.one(1, 2), d.one(1, 3), *image), False)], how, (), opset, outputs)
    groups, each, made = d.one(1, 1, 2), d.one(1, 2), d.one(1, 3)
    shape = (groups * made, each, *kernel) if op == "Conv" else (groups * each, made, *kernel)
    inputs = [d.data(dtype, (d.one(1, 2), groups * each, *image), False), d.data(dtype, shape, False)]
    inputs += [d.data(dtype, (groups * made,), False)] if d.chance() else []
    how |= {"group": groups} | d.some(kernel_shape=(kernel,))
    return Node(op, inputs, how, d.held("x1"), opset)


def pooled(d: Draw) -> Node:
    """Over the whole image, and into its depth."""
    op = d.one("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "DepthToSpace", "SpaceToDepth")
    opset, block = d.opset(op), d.one(1, 2, 3)
    dtype = d.dtype(op, opset)
    if op.startswith("Global"):
        x = d.data(dtype, (d.one(1, 2), d.one(1, 3), *d.shape(1, 3, (1, 2, 3))), False)
        return Node(op, [x], d.some(p=(1, 2, 3, 0)) if op == "GlobalLpPool" else {}, opset=opset)
    if op == "DepthToSpace":
        x = d.data(dtype, (d.one(1, 2), block * block * d.one(1, 2), d.one(1, 2), 3))
        return Node(op, [x], {"blocksize": block} | (d.some(mode=("DCR", "CRD")) if opset >= 11 else {}), opset=opset)
    return Node(op, [d.data(dtype, (d.one(1, 2), 3, block * d.one(1, 2), block))], {"blocksize": block}, opset=opset)


SCALES = (0.3, 0.5, 0.7, 1.0, 1.0, 1.5, 2.0, 2.5)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
PLACES = ("half_pixel", "pytorch_half_pixel", "asymmetric")


def resized(d: Draw) -> Node:
    """Of floats: of integers sums that are off by their last bits are other numbers."""
    opset = d.opset(op := d.one("Resize", "Resize", "Resize", "Upsample"))
    x = d.floats(*(d.one(1, 2, 3, 4, 5) for _ in range(4)))
    factors = [1.0, 1.0, d.one(*SCALES), d.one(*SCALES)]
    mode: dict[str, Any] = d.some(mode=("nearest", "linear"))
    if op == "Upsample":
        larger = [max(f, 1.0) for f in factors]
        given = {"scales": larger} if opset < 9 else {}
        return Node(op, [x] if given else [x, np.float32(larger)], mode | given, () if given else ("x1",), opset)
    if opset < 11:
        return Node(op, [x, np.float32(factors)], mode, ("x1",), opset)
    mode = d.some(mode=("nearest", "linear", "cubic"))
    how = mode | d.some(coordinate_transformation_mode=PLACES, nearest_mode=ROUNDINGS)
    if mode.get("mode") == "cubic":
        how |= d.some(cubic_coeff_a=(-0.75, -0.5), exclude_outside=(0, 1))
    if opset >= 18 and mode.get("mode") in ("linear", "cubic"):
        how |= d.some(antialias=(0, 1))
    roi = np.float32([]) if opset < 13 else None
    if d.chance():
        return Node(op, [x, roi, np.float32(factors)], how, ("x1", "x2"), opset)
    sizes = np.array([*x.shape[:2], d.one(1, 2, 4, 7), d.one(1, 3, 5)])
    return Node(op, [x, roi, np.float32([]) if opset < 13 else None, sizes], how, ("x1", "x2", "x3"), opset)


def sampled(d: Draw) -> Node:
    op = d.one("GridSample", "RoiAlign", "MaxRoiPool", "CenterCropPad", "Col2Im", "NonMaxSuppression", "AffineGrid")
    opset, n = d.opset(op), d.one(1, 2)
    x = d.floats(n, 2, d.one(3, 5, 8), d.one(4, 7))
    if op == "GridSample":
        three = opset >= 20 and d.chance(0.3)
        image = d.floats(n, 2, *(d.number(1, 5) for _ in range(3 if three else 2)))
        grid = d.floats(n, *(d.number(1, 4) for _ in range(3 if three else 2)), 3 if three else 2)
        modes = (
            ("nearest", "linear")
            if three
            else ("nearest", "linear", "cubic")
            if opset >= 20
            else ("nearest", "bilinear", "bicubic")
        )
        paddings = ("zeros", "border", "reflection")
        return Node(op, [image, grid], d.some(mode=modes, padding_mode=paddings, align_corners=(0, 1)), opset=opset)
    if op in ("RoiAlign", "MaxRoiPool"):
        low = d.rng.uniform(-1, x.shape[2], (d.one(0, 1, 3), 2))
        boxes = np.float32(np.concatenate([low, low + d.rng.uniform(0, 5, low.shape)], 1))
        which = d.integers(0, n, len(boxes))
        scale = d.some(spatial_scale=(1.0, 0.5, 2.0))
        if op == "MaxRoiPool":
            rows = np.concatenate([np.float32(which)[:, None], boxes.round()], 1)
            return Node(op, [x, rows], {"pooled_shape": [d.one(1, 2), d.one(1, 3)]} | scale, opset=opset)
        how = scale | d.some(
            mode=("avg", "max"), output_height=(1, 2, 3), output_width=(1, 2), sampling_ratio=(0, 1, 2)
        )
        how |= d.some(coordinate_transformation_mode=("half_pixel", "output_half_pixel")) if opset >= 16 else {}
        return Node(op, [x, boxes, which], how, opset=opset)
    if op == "CenterCropPad":
        x = d.data(d.one(np.float32, np.int64), d.shape(1))
        axes = d.axes(x.ndim) or [0]
        how = {"axes": axes} if d.chance() else {}
        return Node(op, [x, d.integers(0, 7, len(axes) if how else x.ndim)], how, d.held("x1"), opset)
    if op == "Col2Im":
        image, block = [d.one(3, 5, 6), d.one(2, 4)], [d.one(1, 2), d.one(1, 2)]
        how = {"strides": [d.one(1, 2) for _ in image], "pads": [d.one(0, 1) for _ in range(4)]}
        pads, steps = how["pads"], how["strides"]
        count = prod((s + pads[i] + pads[i + 2] - block[i]) // steps[i] + 1 for i, s in enumerate(image))
        return Node(
            op, [d.floats(n, 2 * prod(block), count), np.array(image), np.array(block)], how, ("x1", "x2"), opset
        )
    if op == "AffineGrid":
        size = np.array([n, 1, *(d.one(2, 3, 4) for _ in range(d.one(2, 3)))])
        rank = len(size) - 2
        return Node(op, [d.floats(n, rank, rank + 1), size], d.some(align_corners=(0, 1)), d.held("x1"), opset)
    boxes, scores = np.float32(d.rng.uniform(0, 1, (n, 6, 4)).round(1)), np.float32(d.rng.uniform(0, 1, (n, 2, 6)))
    limits = [np.array([d.one(0, 1, 2, 10)]), np.float32([d.one(0.0, 0.3, 1.0)]), np.float32([d.one(0.0, 0.5)])]
    given = limits[: d.number(0, 4)]
    names = tuple(f"x{2 + at}" for at in range(len(given)))
    return Node(op, [boxes, scores, *given], d.some(center_point_box=(0, 1)), d.held(*names) if names else (), opset)


def spectra(d: Draw) -> Node:
    op = d.one("DFT", "DFT", "STFT", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix")
    opset = d.opset(op)
    if op.endswith("Window"):
        return Node(
            op, [np.array(d.one(2, 3, 8), d.one(np.int32, np.int64))], d.some(periodic=(0, 1)), d.held("x0"), opset
        )
    if op == "MelWeightMatrix":
        numbers = [np.array(v) for v in (d.one(1, 4, 8), d.one(8, 16), d.one(8000, 16000))]
        return Node(
            op,
            [*numbers, np.float32(d.one(0, 20)), np.float32(d.one(100, 3000))],
            {},
            ("x0", "x1", "x2", "x3", "x4"),
            opset,
        )
    if op == "STFT":
        frame, length = d.one(3, 4, 8), d.one(8, 11)
        inputs = [d.floats(d.one(1, 2), length, 1), np.array(d.one(1, 2, 3)), d.floats(frame), np.array(frame)]
        return Node(op, inputs, d.some(onesided=(0, 1)), ("x1", "x3"), opset)
    parts, inverse = d.one(1, 2), d.one(0, 1)
    x = d.floats(*d.shape(2, 3, (2, 3, 4, 5)), parts)
    axis = d.one(*range(x.ndim - 1), *range(-x.ndim, -1))
    length = np.array(d.one(2, 3, 6)) if d.chance() else None
    how: dict[str, Any] = {"inverse": inverse} | (d.some(onesided=(0, 1)) if parts == 1 and not inverse else {})
    if opset < 20:
        return Node(op, [x] if length is None else [x, length], how | {"axis": axis}, ("x1",), opset)
    return Node(op, [x, length, np.array(axis)], how, ("x1", "x2"), opset)


FAMILIES: tuple[Callable[[Draw], Node], ...] = (
    unary, binary, reduction, along, product, chosen, normalised, windows, pooled, resized, sampled, spectra,
)  # fmt: skip
