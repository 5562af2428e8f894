"""Makes tests/data/library.npz: random calls of primitives, and what PyTorch, SciPy or ONNX's reference gives for them.

Run it in an environment of its own, with numpy, torch==2.13.0, scipy and onnx: `python tests/support/library_goldens.py`. All
elements of a dtype are one array, in which each tensor is a part: [dtype, shape, where it begins]. Entry "cases" is a JSON list
of [primitive, {name: tensor, or a list of them}, attributes, results].
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parents[1] / "data" / "library.npz"
# A primitive, its tensors, its attributes, and what a peer gives.
Case = tuple[str, dict[str, Any], dict[str, Any], Any]
EACH = 3


class Peer:
    """PyTorch and ONNX's reference over arrays."""

    def __init__(self) -> None:
        self.torch: Any = importlib.import_module("torch")
        self.f = self.torch.nn.functional
        self.onnx: Any = importlib.import_module("onnx")
        self.reference: Any = importlib.import_module("onnx.reference")

    def t(self, x: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(x))

    def node(self, op: str, inputs: dict[str, Any], domain_version: int = 22, **attributes: Any) -> Any:
        """One ONNX operator."""
        helper = self.onnx.helper
        names = [n if v is not None else "" for n, v in inputs.items()]
        given = {n: v for n, v in inputs.items() if v is not None}
        infos = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in given.items()
        ]
        out = helper.make_tensor_value_info("out", self.onnx.TensorProto.UNDEFINED, None)
        graph = helper.make_graph([helper.make_node(op, names, ["out"], **attributes)], "g", infos, [out])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", domain_version)])
        return self.reference.ReferenceEvaluator(model).run(None, given)[0]


def floats(r: np.random.Generator, *shape: int) -> Any:
    return r.standard_normal(shape).astype(np.float32)


def size(r: np.random.Generator, least: int, most: int) -> int:
    return int(r.integers(least, most + 1))


def signals(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    length, step = size(r, 2, 9), size(r, 1, 4)
    step = min(step, length)
    x, window = floats(r, 2, size(r, 20, 30)), np.hanning(length + 2)[1:-1].astype(np.float32)
    yield "frame", {"x": x}, {"length": length, "step": step}, p.t(x).unfold(-1, length, step)
    for center in (True, False):
        attributes = {"length": length, "step": step, "center": center}
        spectra = p.torch.stft(
            p.t(x), length, step, length, p.t(window), center, "reflect", False, True, return_complex=True
        )
        yield "stft", {"x": x, "window": window}, attributes, spectra
        if center or step == 1:
            signal = p.torch.istft(spectra, length, step, length, p.t(window), center, False, True)
            yield "istft", {"x": spectra.numpy(), "window": window}, attributes, signal
    given: dict[str, Any] = {"kernel_shape": [size(r, 1, 3), size(r, 1, 3)], "strides": [size(r, 1, 3), size(r, 1, 2)]}
    given |= {"dilations": [size(r, 1, 2), 1]}
    pads = (size(r, 0, 2), size(r, 0, 2))
    image = floats(r, 2, 3, size(r, 6, 8), size(r, 5, 7))
    options = (given["dilations"], pads, given["strides"])
    columns = p.f.unfold(p.t(image), given["kernel_shape"], *options)
    given["pads"] = [[pad, pad] for pad in pads]
    yield "unfold", {"x": image}, given, columns
    shape = list(image.shape[2:])
    folded = p.f.fold(columns, shape, given["kernel_shape"], *options)
    yield "fold", {"x": columns.numpy()}, given | {"output_shape": shape}, folded


def pools(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, k, s, norm = (
        np.abs(floats(r, 2, 3, 8, 7)),
        [size(r, 1, 3), size(r, 1, 3)],
        [size(r, 1, 3), 1],
        float(size(r, 1, 3)),
    )
    attributes = {"kernel_shape": k, "strides": s, "p": norm, "ceil_mode": False}
    yield "lp_pool2d", {"x": x}, attributes, p.f.lp_pool2d(p.t(x), norm, k, s)


def quantised(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, axis = floats(r, 3, 4, 5) * 40, size(r, 0, 2)
    for dtype in (np.int8, np.uint8):
        for shape in ((), (x.shape[axis],)):
            scale = (r.random(shape) + 0.1).astype(np.float32)
            low, high = (0, 200) if dtype is np.uint8 else (-90, 90)
            zeros = np.asarray(r.integers(low, high, shape)).astype(dtype)
            made = p.node("QuantizeLinear", {"x": x, "scale": scale, "zero_point": zeros}, axis=axis)
            yield "quantize", {"x": x, "scale": scale, "zero_point": zeros}, {"axis": axis}, made
            back = p.node("DequantizeLinear", {"x": made, "scale": scale, "zero_point": zeros}, axis=axis)
            yield "dequantize", {"x": made, "scale": scale, "zero_point": zeros}, {"axis": axis}, back


def detection(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    corners = r.random((12, 2), np.float32) * 4
    boxes = np.concatenate([corners, corners + r.random((12, 2), np.float32) * 3], 1)
    scores = r.random(12, np.float32)
    limit = float(r.choice([0.2, 0.4, 0.7]))
    chosen = p.node(
        "NonMaxSuppression",
        {
            "boxes": boxes[None][..., [1, 0, 3, 2]],
            "scores": scores[None, None],
            "most": np.array([100], np.int64),
            "iou": np.array([limit], np.float32),
        },
    )
    yield "non_max_suppression", {"boxes": boxes, "scores": scores}, {"iou_threshold": limit}, chosen[:, 2]
    x, grid = floats(r, 2, 3, 4, 5), r.uniform(-1.6, 1.6, (2, 3, 6, 2)).astype(np.float32)
    for mode in ("linear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            corner = bool(r.integers(2))
            theirs = "bilinear" if mode == "linear" else mode
            made = p.f.grid_sample(p.t(x), p.t(grid), theirs, padding, corner)
            attributes = {"mode": mode, "padding": padding, "align_corners": corner}
            yield "grid_sample", {"x": x, "grid": grid}, attributes, made
    rois, batch = boxes[:4] * 1.5 - 1, r.integers(0, 2, 4)
    for aligned in (True, False):
        samples, shape = size(r, 1, 3), [size(r, 1, 3), size(r, 1, 3)]
        made = p.node(
            "RoiAlign", {"x": x, "rois": rois, "batch": batch}, mode="avg", sampling_ratio=samples, spatial_scale=0.75,
            output_height=shape[0], output_width=shape[1],
            coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
        )  # fmt: skip
        attributes = {"output_shape": shape, "scale": 0.75, "samples": samples, "aligned": aligned}
        yield "roi_align", {"x": x, "boxes": rois, "batch_indices": batch}, attributes, made


def sequences(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, lengths = floats(r, 5, 3, 2), r.integers(1, 6, 3)
    made = p.node("ReverseSequence", {"x": x, "lengths": lengths}, time_axis=0, batch_axis=1)
    yield "reverse_sequence", {"x": x, "lengths": lengths}, {}, made
    heads, half = floats(r, 2, 3, 4, 8), size(r, 1, 4)
    cos, sin = floats(r, 4, half), floats(r, 4, half)
    for interleaved in (False, True):
        rotated = p.node(
            "RotaryEmbedding", {"x": heads, "cos": np.stack([cos] * 2), "sin": np.stack([sin] * 2)}, 23,
            interleaved=int(interleaved), rotary_embedding_dim=0 if half == 4 else 2 * half,
        )  # fmt: skip
        yield "rotary_embedding", {"x": heads, "cos": cos, "sin": sin}, {"interleaved": interleaved}, rotated
    groups = size(r, 1, 3)
    q, k, v = floats(r, 2, 2 * groups, 4, 5), floats(r, 2, groups, 6, 5), floats(r, 2, groups, 6, 3)
    mask = r.random((2, 1, 4, 6)) < 0.7
    mask[..., 0] = True
    attend = p.f.scaled_dot_product_attention
    for causal, given in ((False, mask), (True, None), (False, floats(r, 4, 6))):
        theirs = attend(p.t(q), p.t(k), p.t(v), None if given is None else p.t(given), 0.0, causal, enable_gqa=True)
        tensors = {"q": q, "k": k, "v": v} | ({} if given is None else {"mask": given})
        yield "grouped_query_attention", tensors, {"causal": causal}, theirs
    a, b = floats(r, 3, 4, 5), floats(r, 4, 5)
    axis = -size(r, 1, 2)
    yield "cosine_similarity", {"x": a, "y": b}, {"axis": axis}, p.f.cosine_similarity(p.t(a), p.t(b), axis)
    classes, frames, longest = size(r, 3, 6), size(r, 6, 9), size(r, 1, 4)
    chances = p.f.log_softmax(p.t(floats(r, frames, 3, classes)), -1)
    blank = size(r, 0, classes - 1)
    target = (blank + 1 + r.integers(0, classes - 1, (3, longest))) % classes
    counts, sizes = r.integers(1, frames + 1, 3), r.integers(0, longest + 1, 3)
    for reduction in ("none", "mean", "sum"):
        zero = reduction != "none"
        loss = p.f.ctc_loss(chances, p.t(target), p.t(counts), p.t(sizes), blank, reduction, zero)
        tensors = {"x": chances.numpy(), "target": target, "input_lengths": counts, "target_lengths": sizes}
        yield "ctc_loss", tensors, {"blank": blank, "reduction": reduction, "zero_infinity": zero}, loss


def indices(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, ids = floats(r, 7, 2), r.integers(0, 3, 7)
    for name, reduce in (("sum", "sum"), ("mean", "mean"), ("max", "amax"), ("min", "amin")):
        start = p.torch.zeros(3, 2)
        places = p.t(np.broadcast_to(ids[:, None], x.shape))
        made = start.scatter_reduce(0, places, p.t(x), reduce, include_self=False)
        if len(set(ids)) == 3:
            yield f"segment_{name}", {"x": x, "ids": ids}, {"count": 3}, made
    for exclusive in (False, True):
        for reverse in (False, True):
            total = p.node("CumSum", {"x": x, "axis": np.array(0)}, exclusive=int(exclusive), reverse=int(reverse))
            attributes = {"axis": 0, "exclusive": exclusive, "reverse": reverse}
            yield "cumulative_sum", {"x": x}, attributes, total
    yield "cumulative_max", {"x": x}, {"axis": 0}, p.t(x).cummax(0).values
    yield "cumulative_min", {"x": x}, {"axis": -2}, p.t(x).cummin(0).values
    yield "cumulative_logsumexp", {"x": x}, {"axis": 1}, p.t(x).logcumsumexp(1)
    n, w = size(r, 1, 3), size(r, 1, 5)
    operand, starts = floats(r, 4, 5), r.integers(0, 4, (n, 1))
    rows = p.t(operand)[p.t(starts[:, 0])][:, :w]
    yield "gather_slices", {"x": operand, "starts": starts}, {"sizes": [1, w], "collapse": [0]}, rows
    updates = floats(r, n, w)
    added = p.t(operand).clone()
    added[:, :w] = added[:, :w].index_add(0, p.t(starts[:, 0]), p.t(updates))
    tensors = {"x": operand, "starts": starts, "updates": updates}
    yield "scatter_slices", tensors, {"collapse": [0], "reduction": "add"}, added


# Element by element: PyTorch's function where it has another name, and what the elements are.
ELEMENTS = {
    "real": "negative abs sign square exp expm1 sin cos tan atan sinh cosh tanh asinh ceil floor round trunc isnan isinf "
    "isfinite erf sigmoid relu silu selu mish softsign softplus elu leaky_relu gelu hard_swish:hardswish signbit positive",
    "positive": "sqrt rsqrt reciprocal log log1p log2 log10",
    "unit": "asin acos atanh",
    "above one": "acosh",
    "bool": "logical_not",
    "integer": "bitwise_invert:bitwise_not",
}
PAIRS = {
    "real": "add subtract multiply divide maximum minimum atan2 logaddexp hypot copysign less less_equal greater greater_equal "
    "floor_divide remainder nextafter",
    "few": "equal:eq not_equal:ne",
    "bool": "logical_and logical_or logical_xor",
    "integer": "bitwise_and bitwise_or bitwise_xor",
    "small": "bitwise_left_shift bitwise_right_shift pow",
}
DRAWS: dict[str, Callable[..., Any]] = {
    "real": lambda r, *s: floats(r, *s) * 2,
    "positive": lambda r, *s: np.abs(floats(r, *s)) + np.float32(0.1),
    "unit": lambda r, *s: r.uniform(-0.95, 0.95, s).astype(np.float32),
    "above one": lambda r, *s: np.abs(floats(r, *s)) + np.float32(1.1),
    "bool": lambda r, *s: r.random(s) < 0.5,
    "integer": lambda r, *s: r.integers(-50, 50, s),
    "few": lambda r, *s: r.integers(0, 3, s),
    "small": lambda r, *s: r.integers(0, 7, s),
}


def elements(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    for table, arity in ((ELEMENTS, 1), (PAIRS, 2)):
        for kind, names in table.items():
            for name, _, other in (n.partition(":") for n in names.split()):
                function = getattr(p.torch, other or name, None) or getattr(p.f, other or name)
                shapes = ((size(r, 1, 4), 3), (3,))
                given = {k: DRAWS[kind](r, *shape) for k, shape in zip("xy"[:arity], shapes, strict=False)}
                yield name, given, {}, function(*map(p.t, given.values()))
    x, y, low = floats(r, 3, 4), floats(r, 4), float(r.uniform(-1, 0))
    chosen = r.random((3, 1)) < 0.5
    yield "where", {"condition": chosen, "x": x, "y": y}, {}, p.torch.where(p.t(chosen), p.t(x), p.t(y))
    yield "clip", {"x": x}, {"min": low, "max": 0.5}, p.t(x).clip(low, 0.5)
    yield "hard_sigmoid", {"x": x}, {"alpha": 1 / 6, "beta": 0.5}, p.f.hardsigmoid(p.t(x))
    yield "gelu", {"x": x}, {"approximate": "tanh"}, p.f.gelu(p.t(x), approximate="tanh")
    both = p.torch.complex(p.t(x), p.t(x[::-1]))
    yield "complex", {"x": x, "y": x[::-1]}, {}, both
    for name in ("real", "imag", "conj"):
        yield name, {"x": both.numpy()}, {}, getattr(p.torch, name)(both).resolve_conj()


def reductions(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, axis, keep = floats(r, 3, 4, size(r, 1, 5)), size(r, -3, 2), bool(r.integers(2))
    for name, other in (
        ("sum", "sum"),
        ("mean", "mean"),
        ("max", "amax"),
        ("min", "amin"),
        ("logsumexp", "logsumexp"),
        ("prod", "prod"),
    ):
        wanted = getattr(p.torch, other)(p.t(x), axis, keepdim=keep)
        yield name, {"x": x}, {"axis": [axis], "keepdims": keep}, wanted
    for name in ("var", "std"):
        wanted = getattr(p.torch, name)(p.t(x), axis, correction=0, keepdim=keep)
        yield name, {"x": x}, {"axis": [axis], "keepdims": keep}, wanted
    for name in ("argmax", "argmin"):
        yield name, {"x": x}, {"axis": axis, "keepdims": keep}, getattr(p.torch, name)(p.t(x), axis, keep)
    for name in ("all", "any"):
        yield name, {"x": x > -1}, {"axis": [axis]}, getattr(p.torch, name)(p.t(x > -1), axis)
    yield "cumulative_prod", {"x": x}, {"axis": axis}, p.t(x).cumprod(axis)
    for name in ("softmax", "log_softmax"):
        yield name, {"x": x}, {"axis": axis}, getattr(p.f, name)(p.t(x), axis)
    shape = x.shape[axis:] if axis else x.shape
    scale, bias, start = floats(r, *shape), floats(r, *shape), axis if axis else -3
    yield (
        "layer_norm",
        {"x": x, "scale": scale, "bias": bias},
        {"axis": start},
        p.f.layer_norm(p.t(x), shape, p.t(scale), p.t(bias)),
    )
    yield "rms_norm", {"x": x, "scale": scale}, {"axis": start}, p.f.rms_norm(p.t(x), shape, p.t(scale), 1e-6)
    yield "count_nonzero", {"x": np.rint(x)}, {"axis": [axis]}, p.torch.count_nonzero(p.t(np.rint(x)), axis)
    parts = r.random(3).astype(np.float32)
    yield "quantile", {"x": x, "q": parts}, {"axis": [axis]}, p.torch.quantile(p.t(x), p.t(parts), axis)
    times = size(r, 1, 2)
    yield "diff", {"x": x}, {"axis": 1, "n": times}, p.torch.diff(p.t(x), times, 1)
    counted = r.integers(0, 5, 9)
    yield "bincount", {"x": counted}, {"length": 6}, p.torch.bincount(p.t(counted), minlength=6)


def moved(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, y, t = floats(r, 2, 3, 4), floats(r, 2, 3, 4), p.torch
    a, b, axis = p.t(x), p.t(y), size(r, -3, 2)
    yield "concat", {"xs": [x, y]}, {"axis": axis}, t.cat([a, b], axis)
    yield "stack", {"xs": [x, y]}, {"axis": axis}, t.stack([a, b], axis)
    yield "unstack", {"x": x}, {"axis": axis}, t.unbind(a, axis)
    yield "split", {"x": x}, {"sizes": [1, 3], "axis": 2}, t.split(a, [1, 3], 2)
    yield "slice", {"x": x}, {"starts": [1], "stops": [3], "axes": [1]}, a[:, 1:3]
    low, high = size(r, 0, 2), size(r, 0, 2)
    yield (
        "pad",
        {"x": x},
        {"pads": [[0, 0], [1, 2], [low, high]], "value": 0.5},
        p.f.pad(a, (low, high, 1, 2), value=0.5),
    )
    yield (
        "pad",
        {"x": x},
        {"pads": [[0, 0], [0, 0], [low, high]], "mode": "reflect"},
        p.f.pad(a, (low, high), "reflect"),
    )
    yield "flip", {"x": x}, {"axis": [axis]}, t.flip(a, [axis])
    shift = size(r, -3, 3)
    yield "roll", {"x": x}, {"shift": [shift], "axis": [axis]}, t.roll(a, shift, axis)
    for name in ("tril", "triu"):
        yield name, {"x": x}, {"k": 1}, getattr(t, name)(a, 1)
    yield "reshape", {"x": x}, {"shape": [4, 6]}, a.reshape(4, 6)
    yield "flatten", {"x": x}, {"start": 1, "end": 2}, a.flatten(1, 2)
    yield "permute_dims", {"x": x}, {"axes": [2, 0, 1]}, a.permute(2, 0, 1)
    yield "swapaxes", {"x": x}, {"axis1": 0, "axis2": axis}, a.swapaxes(0, axis)
    yield "moveaxis", {"x": x}, {"source": [0], "destination": [axis]}, a.moveaxis(0, axis)
    yield "expand_dims", {"x": x}, {"axis": [axis]}, a.unsqueeze(axis)
    yield "squeeze", {"x": x[:, :1]}, {"axis": [1]}, a[:, :1].squeeze(1)
    yield "broadcast_to", {"x": x[:1]}, {"shape": [5, 3, 4]}, a[:1].broadcast_to(5, 3, 4)
    yield "broadcast_arrays", {"xs": [x[0], y[:, :1]]}, {}, t.broadcast_tensors(a[0], b[:, :1])
    yield "tile", {"x": x}, {"repeats": [2, 1, 3]}, a.tile(2, 1, 3)
    yield "repeat", {"x": x}, {"repeats": 2, "axis": axis}, a.repeat_interleave(2, axis)
    yield "meshgrid", {"xs": [x[0, 0], y[0, :, 0]]}, {"indexing": "ij"}, t.meshgrid(a[0, 0], b[0, :, 0], indexing="ij")
    blocks, image = floats(r, 1, 8, 2, 3), floats(r, 1, 2, 4, 6)
    for name, given in (("depth_to_space", blocks), ("space_to_depth", image)):
        op = "DepthToSpace" if given is blocks else "SpaceToDepth"
        yield name, {"x": given}, {"block": 2}, p.node(op, {"x": given}, blocksize=2)
    yield "pixel_shuffle", {"x": blocks}, {"factor": 2}, p.f.pixel_shuffle(p.t(blocks), 2)
    yield "pixel_unshuffle", {"x": image}, {"factor": 2}, p.f.pixel_unshuffle(p.t(image), 2)


def products(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, y, n = floats(r, 2, 3, 4), floats(r, 2, 4, 5), size(r, -1, 1)
    a, b, t = p.t(x), p.t(y), p.torch
    rows, weight, bias = floats(r, 2, 3, 4), floats(r, 5, 4), floats(r, 5)
    yield "matmul", {"x": x, "y": y}, {}, a @ b
    yield "linear", {"x": rows, "weight": weight, "bias": bias}, {}, p.f.linear(p.t(rows), p.t(weight), p.t(bias))
    yield (
        "dense",
        {"x": rows, "weight": weight.T.copy(), "bias": bias},
        {},
        p.f.linear(p.t(rows), p.t(weight), p.t(bias)),
    )
    for equation, xs in (
        ("bij,bjk->bik", [x, y]),
        ("bij,bjk->ki", [x, y]),
        ("bij->jb", [x]),
        ("bij,kj,k->bi", [x, weight, bias]),
    ):
        yield "einsum", {"xs": xs}, {"equation": equation}, t.einsum(equation, *map(p.t, xs))
    yield "tensordot", {"x": x, "y": y}, {"x_axes": [2, 0], "y_axes": [1, 0]}, t.tensordot(a, b, ([2, 0], [1, 0]))
    yield "vecdot", {"x": x, "y": x[::-1]}, {"axis": 1}, t.linalg.vecdot(a, p.t(x[::-1]), dim=1)
    yield "cross", {"x": x, "y": x[::-1]}, {"axis": 1}, t.linalg.cross(a, p.t(x[::-1]), dim=1)
    yield "diagonal", {"x": x}, {"offset": n}, a.diagonal(n, -2, -1)
    yield "trace", {"x": x}, {"offset": n}, a.diagonal(n, -2, -1).sum(-1)
    square = floats(r, 2, 3, 3)
    positive = square @ square.swapaxes(-1, -2) + np.eye(3, dtype=np.float32)
    m, s = t.linalg, p.t(square)
    yield "det", {"x": square}, {}, m.det(s)
    yield "slogdet", {"x": square}, {}, m.slogdet(s)
    yield "inv", {"x": positive}, {}, m.inv(p.t(positive))
    yield "pinv", {"x": x}, {}, m.pinv(a)
    yield "matrix_power", {"x": positive}, {"n": n}, m.matrix_power(p.t(positive), n)
    yield "matrix_rank", {"x": square}, {}, m.matrix_rank(s)
    yield "solve", {"x": positive, "y": x[:, :, :2]}, {}, m.solve(p.t(positive), a[:, :, :2])
    yield "cholesky", {"x": positive}, {"upper": bool(n % 2)}, m.cholesky(p.t(positive), upper=bool(n % 2))
    yield "svdvals", {"x": x}, {}, m.svdvals(a)
    yield "eigvalsh", {"x": positive}, {}, m.eigvalsh(p.t(positive))
    for order in ("fro", "nuc"):
        yield "matrix_norm", {"x": x}, {"ord": order}, m.matrix_norm(a, order)
    yield "vector_norm", {"x": x}, {"axis": [1], "ord": 3.0}, m.vector_norm(a, 3.0, 1)


def chosen(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, t = floats(r, 4, 5), p.torch
    a, axis = p.t(x), size(r, 0, 1)
    places, many = r.integers(0, 4, 6), r.integers(0, 4, (4, 5))
    yield "take", {"x": x, "indices": places}, {"axis": axis}, a.index_select(axis, p.t(places))
    yield "take_along_axis", {"x": x, "indices": many}, {"axis": axis}, a.take_along_dim(p.t(many), axis)
    yield "gather_elements", {"x": x, "indices": many[:2]}, {"axis": axis}, a.gather(axis, p.t(many[:2]))
    yield "embedding", {"ids": many, "table": x}, {}, p.f.embedding(p.t(many), a)
    yield "filter", {"x": x, "mask": x > 0}, {}, a[p.t(x > 0)]
    updates = floats(r, 4, 5)
    for reduction in ("none", "add", "mul", "max", "min"):
        unique = np.stack([r.permutation(4 if axis == 0 else 5) for _ in range(5 if axis == 0 else 4)], 1 - axis)
        inputs = {"x": x, "indices": unique if reduction == "none" else many, "updates": updates}
        made = p.node("ScatterElements", inputs, axis=axis, reduction=reduction)
        yield "scatter_elements", inputs, {"axis": axis, "reduction": reduction}, made
        parts = {"x": x, "indices": r.permutation(4)[:3, None], "updates": updates[:3]}
        yield "scatter_nd", parts, {"reduction": reduction}, p.node("ScatterND", parts, reduction=reduction)
    pairs = {"x": x, "indices": r.integers(0, 4, (3, 2))}
    yield "gather_nd", pairs, {}, p.node("GatherND", pairs)
    two = r.permutation(4)[:2]
    yield (
        "put",
        {"x": x, "indices": two, "updates": updates[:2]},
        {"axis": 0},
        a.index_copy(0, p.t(two), p.t(updates[:2])),
    )
    yield "nonzero", {"x": many}, {}, t.nonzero(p.t(many), as_tuple=True)
    few = np.rint(x)
    yield "unique_values", {"x": few}, {}, t.unique(p.t(few))
    _, inverse, counts = t.unique(p.t(few), return_inverse=True, return_counts=True)
    yield "unique_inverse", {"x": few}, {}, (t.unique(p.t(few)), inverse)
    yield "unique_counts", {"x": few}, {}, (t.unique(p.t(few)), counts)
    yield "isin", {"x": many, "values": places[:2]}, {}, t.isin(p.t(many), p.t(places[:2]))
    ordered = np.sort(x[0])
    for side in ("left", "right"):
        yield (
            "searchsorted",
            {"x": ordered, "values": x},
            {"side": side},
            t.searchsorted(p.t(ordered), a, right=side == "right"),
        )
    for falling in (False, True):
        yield "sort", {"x": x}, {"axis": axis, "descending": falling}, a.sort(axis, falling).values
        yield "argsort", {"x": x}, {"axis": axis, "descending": falling}, a.argsort(axis, falling)
        yield "topk", {"x": x}, {"k": 3, "axis": axis, "largest": falling}, a.topk(3, axis, falling)
    kinds = r.integers(0, 4, (2, 3))
    yield "one_hot", {"indices": kinds}, {"depth": 4}, p.f.one_hot(p.t(kinds), 4).to(t.float32)


def windows(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    for count in (1, 2, 3):
        suffixes = ("", f"{count}d")
        groups, stride, spread = size(r, 1, 2), size(r, 1, 2), size(r, 1, 2)
        pad, sizes = [size(r, 0, 1) for _ in range(count)], [size(r, 4, 6) for _ in range(count)]
        x, b = floats(r, 2, 4, *sizes), floats(r, 2 * groups)
        w, back = floats(r, 2 * groups, 4 // groups, *[2] * count), floats(r, 4, 2, *[3] * count)
        rest = {
            "strides": [stride] * count,
            "dilations": [spread] * count,
            "groups": groups,
            "pads": [[q, q] for q in pad],
        }
        conv = getattr(p.f, f"conv{count}d")(p.t(x), p.t(w), p.t(b), stride, pad, spread, groups)
        turned = getattr(p.f, f"conv_transpose{count}d")(p.t(x), p.t(back), p.t(b), stride, pad, 0, groups, spread)
        pools = {
            "max_pool": getattr(p.f, f"max_pool{count}d")(p.t(x), 2, stride, pad, 1),
            "average_pool": getattr(p.f, f"avg_pool{count}d")(p.t(x), 2, stride, pad, count_include_pad=True),
            "lp_pool": getattr(p.f, f"lp_pool{count}d")(p.t(np.abs(x)), 2.0, 2, stride),
        }
        steps = {"kernel_shape": [2] * count, "strides": [stride] * count}
        for suffix in suffixes:
            yield f"conv{suffix}", {"x": x, "weight": w, "bias": b}, rest, conv
            yield f"conv_transpose{suffix}", {"x": x, "weight": back, "bias": b}, rest, turned
            for name, wanted in pools.items():
                more: dict[str, Any] = {"p": 2.0} if name == "lp_pool" else {"pads": rest["pads"]}
                more |= {"count_include_pad": True} if name == "average_pool" else {}
                yield f"{name}{suffix}", {"x": np.abs(x) if name == "lp_pool" else x}, steps | more, wanted
        for name, other in (("average", "avg"), ("max", "max")):
            made = getattr(p.f, f"adaptive_{other}_pool{count}d")(p.t(x), [2] * count)
            yield f"adaptive_{name}_pool", {"x": x}, {"output_shape": [2] * count}, made
            whole = getattr(p.f, f"adaptive_{other}_pool{count}d")(p.t(x), 1)
            yield f"global_{name}_pool", {"x": x}, {}, whole


def layers(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, f = floats(r, 2, 4, 3, 5), p.f
    a, scale, bias, slope = p.t(x), floats(r, 4), floats(r, 4), floats(r, 4)
    mean, variance = floats(r, 4), np.abs(floats(r, 4)) + np.float32(0.5)
    both = {"x": x, "scale": scale, "bias": bias}
    s, b = p.t(scale), p.t(bias)
    normal = f.batch_norm(a, p.t(mean), p.t(variance), s, b, eps=1e-5)
    yield "batch_normalization", both | {"mean": mean, "variance": variance}, {"epsilon": 1e-5}, normal
    yield "instance_normalization", both, {"epsilon": 1e-5}, f.instance_norm(a, weight=s, bias=b)
    yield "group_normalization", both, {"num_groups": 2, "epsilon": 1e-5}, f.group_norm(a, 2, s, b)
    yield "prelu", {"x": x, "slope": slope}, {}, f.prelu(a, p.t(slope))
    given = {"size": 3, "alpha": 0.2, "beta": 0.75, "bias": 1.0}
    yield "lrn", {"x": x}, given, f.local_response_norm(a, 3, 0.2, 0.75, 1.0)
    yield "dropout", {"x": x}, {"ratio": 0.5}, f.dropout(a, 0.5, training=False)
    yield "upsample", {"x": x}, {"scales": [2, 3]}, f.interpolate(a, scale_factor=(2.0, 3.0), mode="nearest")
    shape = [size(r, 2, 9), size(r, 2, 9)]
    for mode, theirs in (("nearest", "nearest"), ("linear", "bilinear"), ("cubic", "bicubic")):
        for corners in (False, True)[: 1 if mode == "nearest" else 2]:
            made = f.interpolate(a, shape, mode=theirs, align_corners=None if mode == "nearest" else corners)
            yield "resize", {"x": x}, {"sizes": shape, "mode": mode, "align_corners": corners}, made
    q, k, v = floats(r, 2, 3, 4), floats(r, 2, 5, 4), floats(r, 2, 5, 2)
    mask = r.random((3, 5)) < 0.7
    mask[:, 0] = True
    attend = f.scaled_dot_product_attention
    yield "attention", {"q": q, "k": k, "v": v, "mask": mask}, {}, attend(p.t(q), p.t(k), p.t(v), p.t(mask))
    yield "attention", {"q": k, "k": k, "v": v}, {"causal": True}, attend(p.t(k), p.t(k), p.t(v), is_causal=True)


def recurrent(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    """PyTorch's gates stand in another order than those of ONNX and Rx: i, f, g, o and r, z, n."""
    time, batch, inputs, hidden = size(r, 2, 4), 2, 3, size(r, 2, 4)
    x = floats(r, time, batch, inputs)
    for name, order in (("rnn", (0,)), ("lstm", (0, 3, 1, 2)), ("gru", (1, 0, 2))):
        for ways, direction in ((1, "forward"), (2, "bidirectional")):
            layer = getattr(p.torch.nn, name.upper())(inputs, hidden, bidirectional=ways == 2)

            def part(kind: str, layer: Any = layer, ways: int = ways, order: tuple[int, ...] = order) -> Any:
                found = []
                for suffix in ("", "_reverse")[:ways]:
                    value = getattr(layer, f"{kind}_l0{suffix}").detach().numpy()
                    found.append(np.concatenate([np.split(value, len(order))[i] for i in order]))
                return np.stack(found)

            w, hh = part("weight_ih"), part("weight_hh")
            b = np.concatenate([part("bias_ih"), part("bias_hh")], 1)
            outputs, finals = layer(p.t(x))
            states = outputs.detach().numpy().reshape(time, batch, ways, hidden).swapaxes(1, 2)
            wanted = (states, *(f.detach() for f in (finals if name == "lstm" else (finals,))))
            late = {"linear_before_reset": True} if name == "gru" else {}
            yield name, {"x": x, "w": w, "r": hh, "b": b}, {"direction": direction, **late}, wanted
            if ways == 1:
                zeros = {k: np.zeros((batch, hidden), np.float32) for k in ("h", "c")[: 2 if name == "lstm" else 1]}
                first = layer(p.t(x[:1]))[1]
                after = tuple(f.detach()[0] for f in (first if name == "lstm" else (first,)))
                weights = {"w": w[0], "r": hh[0], "b": b[0]}
                yield f"{name}_cell", {"x": x[0], **zeros, **weights}, late, after if name == "lstm" else after[0]


def losses(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    x, y, chance, target = (
        floats(r, 4, 5),
        floats(r, 4, 5),
        r.random((4, 5)).astype(np.float32),
        r.random((4, 5)).astype(np.float32),
    )
    classes, weight = r.integers(0, 5, 4), r.random(5).astype(np.float32)
    for reduction in ("none", "mean", "sum"):
        for name, given, more in (
            ("mse_loss", (x, y), {}), ("l1_loss", (x, y), {}), ("smooth_l1_loss", (x, y), {"beta": 0.7}),
            ("huber_loss", (x, y), {"delta": 0.7}), ("binary_cross_entropy", (chance, target), {}),
            ("binary_cross_entropy_with_logits", (x, target), {}), ("kl_div", (np.log(chance), target), {}),
        ):  # fmt: skip
            made = getattr(p.f, name)(p.t(given[0]), p.t(given[1]), reduction=reduction, **more)
            yield name, {"x": given[0], "target": given[1]}, {"reduction": reduction, **more}, made
        tensors = {"x": x, "target": classes, "weight": weight}
        theirs = (p.t(x), p.t(classes), p.t(weight))
        smooth = p.f.cross_entropy(*theirs, ignore_index=2, reduction=reduction, label_smoothing=0.1)
        given = {"reduction": reduction, "ignore_index": 2}
        yield "cross_entropy_loss", tensors, given | {"label_smoothing": 0.1}, smooth
        yield "nll_loss", tensors, given, p.f.nll_loss(*theirs, ignore_index=2, reduction=reduction)
        soft = p.f.cross_entropy(p.t(x), p.t(target), reduction=reduction)
        yield "softmax_cross_entropy", {"x": x, "target": target}, {"reduction": reduction}, soft


def transforms(r: np.random.Generator, p: Peer) -> Iterator[Case]:
    scipy: Any = importlib.import_module("scipy.fft")
    x, axis, n = floats(r, 4, 6), size(r, 0, 1), size(r, 3, 7)
    z = (x + 1j * floats(r, 4, 6)).astype(np.complex64)
    for norm in ("backward", "ortho", "forward"):
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
            given = x if name in ("rfft", "ihfft") else z
            yield name, {"x": given}, {"n": n, "axis": axis, "norm": norm}, getattr(scipy, name)(given, n, axis, norm)
        for name in ("fftn", "ifftn", "rfftn", "irfftn"):
            given = x if name == "rfftn" else z
            yield (
                name,
                {"x": given},
                {"axes": [0, 1], "norm": norm},
                getattr(scipy, name)(given, axes=(0, 1), norm=norm),
            )
    yield "fftshift", {"x": x}, {"axes": [axis]}, scipy.fftshift(x, axis)
    yield "ifftshift", {"x": x}, {"axes": [axis]}, scipy.ifftshift(x, axis)
    yield "fftfreq", {}, {"n": n, "d": 0.5}, scipy.fftfreq(n, 0.5).astype(np.float32)
    yield "rfftfreq", {}, {"n": n, "d": 0.5}, scipy.rfftfreq(n, 0.5).astype(np.float32)


FAMILIES: tuple[Callable[[np.random.Generator, Peer], Iterator[Case]], ...] = (
    signals, pools, quantised, detection, sequences, indices, elements, reductions, moved, products, chosen, windows, layers,
    recurrent, losses, transforms,
)  # fmt: skip


class Store:
    """Tensors by their dtypes, each stored once."""

    def __init__(self) -> None:
        self.parts: dict[str, list[Any]] = {}
        self.places: dict[Any, list[Any]] = {}

    def add(self, value: Any) -> list[Any]:
        if isinstance(value, list):
            return [self.add(item) for item in value]
        array = np.asarray(value)
        parts, key = self.parts.setdefault(array.dtype.name, []), (array.dtype.name, array.shape, array.tobytes())
        if key not in self.places:
            self.places[key] = [array.dtype.name, array.shape, sum(part.size for part in parts)]
            parts.append(array.reshape(-1))
        return self.places[key]


def main() -> None:
    store, cases, peer = Store(), [], Peer()
    peer.torch.manual_seed(0)
    for family in FAMILIES:
        for seed in range(EACH):
            for name, tensors, attributes, wanted in family(np.random.default_rng(seed), peer):
                results = list(wanted) if isinstance(wanted, tuple | list) else [wanted]
                given = {n: store.add(v) for n, v in tensors.items()}
                cases.append([name, given, attributes, store.add(results)])
    arrays = {dtype: np.concatenate(parts) for dtype, parts in store.parts.items()}
    np.savez_compressed(PAGE, cases=np.array(json.dumps(cases)), **arrays)


if __name__ == "__main__":
    main()
