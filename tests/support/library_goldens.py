"""Makes tests/data/library.npz: random calls of primitives, and what PyTorch or ONNX's reference gives for them.

Run it in an environment of its own, with numpy, torch==2.13.0 and onnx: `python tests/support/library_goldens.py`. Arrays are
stored as `3.x`; entry "cases" is a JSON list of [primitive, attributes, how many results].
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


FAMILIES: tuple[Callable[[np.random.Generator, Peer], Iterator[Case]], ...] = (
    signals, pools, quantised, detection, sequences, indices,
)  # fmt: skip


def main() -> None:
    arrays: dict[str, Any] = {}
    cases: list[Any] = []
    peer = Peer()
    for family in FAMILIES:
        for seed in range(EACH):
            for name, tensors, attributes, wanted in family(np.random.default_rng(seed), peer):
                key = len(cases)
                arrays |= {f"{key}.{n}": v for n, v in tensors.items()} | {f"{key}=": np.asarray(wanted)}
                cases.append([name, attributes])
    np.savez_compressed(PAGE, cases=np.array(json.dumps(cases)), **arrays)


if __name__ == "__main__":
    main()
