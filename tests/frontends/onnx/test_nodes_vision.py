"""Operators of ONNX over images, sequences and signals: node tests of ONNX's own, and random attributes against others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module, reload
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from fractions import Fraction  # noqa: E402

from onnx.reference import ReferenceEvaluator  # noqa: E402
from rxlang.ops.scales import nominal  # noqa: E402
from support import fuzz  # noqa: E402

from tests.support.one_node import OneNode, agree, fits, one_node  # noqa: E402

TRIES = fuzz.tries("nodes of vision models")
Arrays = list[Any]

# ONNX's own tests: by module those that are looked at (those of pooling take long to make), and the inputs that an operator
# reads as sizes and the like.
NODES = {
    "resize": (
        "upsample_scales_nearest", "downsample_scales_cubic_antialias", "upsample_sizes_cubic", "tf_crop_and_resize",
        "upsample_scales_linear_align_corners", "downsample_sizes_nearest_not_larger", "upsample_scales_nearest_axes_3_2",
        "upsample_sizes_nearest_ceil_half_pixel", "downsample_scales_cubic_A_n0p5_exclude_outside",
    ),
    "upsample": ("nearest",),
    "gridsample": ("bicubic", "volumetric_bilinear_align_corners_0", "reflection_padding", "nearest_align_corners_1"),
    "roialign": ("aligned_false", "mode_max"),
    "nonmaxsuppression": ("two_batches", "center_point_box_format", "iou_threshold_boundary"),
    "col2im": ("pads", "5d"), "affinegrid": ("2d", "3d_align_corners"), "center_crop_pad": ("crop_and_pad",),
    "deformconv": ("with_mask_bias", "with_multiple_offset_groups"), "maxunpool": ("export_with_output_shape",),
    "lstm": ("with_peepholes", "defaults"), "gru": ("batchwise",), "rnn": ("with_initial_bias",),
    "dft": ("inverse", "axis"), "stft": ("with_window",), "hannwindow": ("symmetric",), "melweightmatrix": ("",),
    "depthtospace": ("crd_mode_example",), "batch_normalization": ("example_training_mode",),
    "dropout": ("default_mask_ratio",), "unique": ("sorted_without_axis", "not_sorted_without_axis"),
    "tfidfvectorizer": ("batch_uniandbigrams_skip5",), "meanvariancenormalization": ("",), "lpnormalization": ("",),
    "convtranspose": ("output_shape", "dilations", "autopad_same"), "conv": ("with_strides_and_asymmetric_padding",),
    "reduce_log_sum_exp": ("keepdims_random",),
}  # fmt: skip
READ = {
    "Resize": (1, 2, 3), "Upsample": (1,), "Col2Im": (1, 2), "AffineGrid": (1,), "CenterCropPad": (1,), "MaxUnpool": (2,),
    "DFT": (1, 2), "STFT": (1, 3), "HannWindow": (0,), "MelWeightMatrix": (0, 1, 2, 3, 4), "Dropout": (1, 2),
    "NonMaxSuppression": (2, 3, 4), "ReduceLogSumExp": (1,), "Pad": (1,),
}  # fmt: skip
# Those of which the data decides sizes.
DECIDED = ("nonmaxsuppression", "unique")


def node_tests(module: str) -> list[Any]:
    """Those of a module, which makes them when it is loaded: it may have been before."""
    cases = import_module("onnx.backend.test.case.node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = import_module(f"onnx.backend.test.case.node.{module}")
        before, cases._existing_names = len(cases._NodeTestCases), {}
        reload(made)
    added = cases._NodeTestCases[before:]
    return [t for t in added if "_expanded" not in t.name and t.name.endswith(NODES[module])]


@pytest.mark.parametrize("module", NODES)
def test_node_tests_of_onnx_have_the_right_shapes_and_results(module: str, tmp_path: Path) -> None:
    found = node_tests(module)
    assert found
    for test in found:
        inputs, outputs = test.data_sets[0]
        (node,) = test.model.graph.node
        constants = {node.input[at] for at in READ.get(node.op_type, ()) if at < len(node.input)}
        case = OneNode(test.model, inputs, constants)
        assert fits(case.shapes(tmp_path), outputs, exactly=module not in DECIDED), test.name
        results = case.run(tmp_path)
        assert all(agree(*pair, test.rtol, 1e-6) for pair in zip(results, outputs, strict=True)), test.name


# Random attributes

STATES = ort.capi.onnxruntime_pybind11_state
REFUSALS = (STATES.Fail, STATES.RuntimeException, STATES.InvalidArgument, STATES.NotImplemented, STATES.InvalidGraph)


class Try:
    """A node with random attributes."""

    def __init__(self, op: str, inputs: Arrays, outputs: int = 1, opset: int = 21, **attributes: Any) -> None:
        self.constants = {f"x{at}" for at in READ.get(op, ())}
        self.model = one_node(op, inputs, outputs, opset, **attributes)
        self.inputs = [data for data in inputs if data is not None]
        self.said = f"{op} {attributes} {[None if x is None else (x.shape, x.ravel()[:6]) for x in inputs]}"

    def right(self, reference: bool) -> Any:
        """What another says; None where it refuses."""
        names = [value.name for value in self.model.graph.input]
        given = dict(zip(names, self.inputs, strict=True))
        if reference:
            return ReferenceEvaluator(self.model).run(None, given)
        options = ort.SessionOptions()
        options.log_severity_level = 4
        try:
            return ort.InferenceSession(self.model.SerializeToString(), options).run(None, given)
        except REFUSALS:
            return None


def floats(r: Random, *shape: int, low: float = -2.0, high: float = 2.0) -> Any:
    return np.random.RandomState(r.randrange(2**31)).uniform(low, high, shape).astype(np.float32)


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


def resize(r: Random) -> Try:
    x = floats(r, 1, 2, r.randint(1, 7), r.randint(2, 9))
    mode = r.choice(["nearest", "linear", "cubic"])
    places = r.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"])
    more: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": places}
    if mode == "nearest":
        more["nearest_mode"] = r.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    elif r.random() < 0.3 and places == "half_pixel":
        more["antialias"] = 1
    if mode == "cubic":
        more |= {"exclude_outside": r.randint(0, 1), "cubic_coeff_a": r.choice([-0.75, -0.5])}
    if r.random() < 0.5:
        # Of a fractional length the node tests make other corners than onnxruntime.
        places = "half_pixel" if places in ("align_corners", "half_pixel_symmetric") else places
        more["coordinate_transformation_mode"] = places
        scales = [1.0, 1.0, r.choice([0.5, 2.0, 0.7, 1.3, 3.0]), r.choice([0.9, 1.5, 2.25, 0.6])]
        return Try("Resize", [x, None, np.array(scales, np.float32)], **more)
    return Try("Resize", [x, None, None, ints(1, 2, r.randint(1, 9), r.randint(1, 9))], **more)


def proportions(r: Random) -> Try:
    x = floats(r, r.randint(1, 7), r.randint(1, 7))
    policy = r.choice(["not_larger", "not_smaller"])
    sizes = ints(r.randint(1, 11), r.randint(1, 11))
    return Try("Resize", [x, None, None, sizes], keep_aspect_ratio_policy=policy, mode="linear")


def grid_sample(r: Random) -> Try:
    count = r.choice([2, 2, 3])
    modes = ["linear", "nearest", "cubic"] if count == 2 else ["linear", "nearest"]
    x = floats(r, 2, 3, *(r.randint(2, 5) for _ in range(count)))
    grid = floats(r, 2, *(r.randint(1, 3) for _ in range(count)), count, low=-1.6, high=1.6)
    padding = r.choice(["zeros", "border", "reflection"])
    return Try("GridSample", [x, grid], mode=r.choice(modes), padding_mode=padding, align_corners=r.randint(0, 1))


def roi_align(r: Random) -> Try:
    x = floats(r, 2, 3, r.randint(2, 9), r.randint(2, 9), low=0.0)
    corners = np.sort(floats(r, 3, 2, 2, low=0.0, high=9.0), axis=1).reshape(3, 4)
    more = {"output_height": r.randint(1, 3), "output_width": r.randint(1, 3), "sampling_ratio": r.randint(0, 3)}
    places = r.choice(["half_pixel", "output_half_pixel"])
    return Try(
        "RoiAlign", [x, corners, ints(0, 1, 0)], coordinate_transformation_mode=places, spatial_scale=0.5, **more
    )


def pool(r: Random) -> Try:
    count = r.randint(1, 3)
    op = r.choice(["MaxPool", "MaxPool", "AveragePool", "LpPool"])
    x = floats(r, 1, 2, *(r.randint(5, 8) for _ in range(count)))  # no window is larger than that
    kernel = [r.randint(1, 3) for _ in range(count)]
    more: dict[str, Any] = {"kernel_shape": kernel, "strides": [r.randint(1, 3) for _ in range(count)]}
    if r.random() < 0.6:
        more["pads"] = [r.randint(0, k - 1) for k in kernel * 2]
        more["ceil_mode"] = r.randint(0, 1) if op == "MaxPool" else 0
        if op == "MaxPool":
            more["dilations"] = [r.randint(1, 2) for _ in range(count)]
    else:
        more["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if op == "AveragePool":
        more["count_include_pad"] = r.randint(0, 1)
    return Try(op, [x], r.randint(1, 2) if op == "MaxPool" else 1, **more)


def conv_transpose(r: Random) -> Try:
    count, groups = r.randint(1, 2), r.choice([1, 2])
    x = floats(r, 1, 4, *(r.randint(1, 4) for _ in range(count)))
    w = floats(r, 4, 3, *(r.randint(1, 3) for _ in range(count)))
    strides = [r.randint(1, 3) for _ in range(count)]
    more: dict[str, Any] = {"strides": strides, "group": groups}
    full = [(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, w.shape[2:], strict=True)]
    if r.random() < 0.5:
        more |= {"output_shape": [max(n - r.randint(0, 2), 1) for n in full]}
        more["auto_pad"] = r.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER"])
    else:
        more["output_padding"] = [r.randint(0, s - 1) for s in strides]
        if all(s <= k for s, k in zip(strides, w.shape[2:], strict=True)):  # elsewhere onnxruntime has a shorter result
            more["auto_pad"] = r.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER"])
    return Try("ConvTranspose", [x, w, floats(r, 3 * groups)], **more)


ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid", "Softsign", "Elu")


def recurrent(r: Random) -> Try:
    op, gates, functions = r.choice([("RNN", 1, 1), ("GRU", 3, 2), ("LSTM", 4, 3)])
    direction = r.choice(["forward", "reverse", "bidirectional"])
    count, time, batch, inputs, hidden = 1 + (direction == "bidirectional"), r.randint(1, 4), 3, 2, 5
    given: Arrays = [floats(r, time, batch, inputs), floats(r, count, gates * hidden, inputs)]
    given += [floats(r, count, gates * hidden, hidden), r.choice([None, floats(r, count, 2 * gates * hidden)])]
    lengths = np.array([r.randint(0, time) for _ in range(batch)], np.int32)
    given += [r.choice([None, lengths]), r.choice([None, floats(r, count, batch, hidden)])]
    if op == "LSTM":
        given += [r.choice([None, floats(r, count, batch, hidden)]), r.choice([None, floats(r, count, 3 * hidden)])]
    more: dict[str, Any] = {"direction": direction, "hidden_size": hidden}
    if r.random() < 0.5:
        more["activations"] = [r.choice(ACTIVATIONS) for _ in range(functions)] * count
    elif r.random() < 0.5:
        more |= {"activations": ["Affine"] * functions * count, "clip": 0.5}
        more |= {f"activation_{which}": [0.5, 0.25, -0.5][:functions] * count for which in ("alpha", "beta")}
    if op == "GRU":
        more["linear_before_reset"] = r.randint(0, 1)
    return Try(op, given, r.randint(1, 3 if op == "LSTM" else 2), **more)


def suppression(r: Random) -> Try:
    corners = np.sort(floats(r, 2, 6, 2, 2, low=0.0, high=1.0), axis=2).reshape(2, 6, 4)
    most, limits = ints(r.randint(0, 4)), np.array([[0.3], [0.4]], np.float32)
    scores = floats(r, 2, 3, 6, low=0.0, high=1.0)
    return Try("NonMaxSuppression", [corners, scores, most, limits[0], limits[1]], center_point_box=r.randint(0, 1))


def columns(r: Random) -> Try:
    image, block = [r.randint(2, 5), r.randint(2, 5)], [r.randint(1, 2), r.randint(1, 2)]
    pads, strides = [r.randint(0, 1) for _ in range(4)], [r.randint(1, 2), r.randint(1, 2)]
    counts = [(image[i] + pads[i] + pads[i + 2] - block[i]) // strides[i] + 1 for i in range(2)]
    x = floats(r, 2, 3 * block[0] * block[1], counts[0] * counts[1])
    return Try("Col2Im", [x, ints(*image), ints(*block)], pads=pads, strides=strides)


def transform(r: Random) -> Try:
    x = floats(r, 2, r.randint(2, 7), r.randint(2, 5), r.choice([1, 2]))
    length = r.choice([None, np.array(r.randint(2, 8), np.int64)])
    onesided = r.randint(0, 1) if x.shape[-1] == 1 else 0
    return Try("DFT", [x, length, np.array(r.choice([1, 2, -2]), np.int64)], onesided=onesided)


def crop(r: Random) -> Try:
    x = floats(r, r.randint(1, 6), 3, r.randint(1, 6))
    return Try("CenterCropPad", [x, ints(r.randint(1, 7), r.randint(1, 7))], axes=[r.choice([0, -3]), 2])


def pads(r: Random) -> Try:
    sizes, most = [r.randint(2, 4), r.randint(2, 4)], 1
    numbers = [r.randint(-most, most) for _ in range(4)]
    return Try("Pad", [floats(r, *sizes), ints(*numbers)], mode=r.choice(["constant", "constant", "edge"]))


def distinct(r: Random) -> Try:
    x = np.random.RandomState(r.randrange(2**31)).randint(0, 3, (3, 2)).astype(np.float32)
    axis = r.choice([{}, {"axis": 0}, {"axis": -1}])
    return Try("Unique", [x], r.choice([1, 4]), sorted=1, **axis)


def grams(r: Random) -> Try:
    x = np.random.RandomState(r.randrange(2**31)).randint(1, 5, (2, 7)).astype(np.int64)
    more: dict[str, Any] = {
        "ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6], "pool_int64s": [1, 2, 3, 4, 1, 2, 3, 1, 4, 4],
        "min_gram_length": r.randint(1, 2), "max_gram_length": 2, "max_skip_count": r.randint(0, 3),
    }  # fmt: skip
    if r.random() < 0.5:
        more["weights"] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    return Try("TfIdfVectorizer", [x], mode=r.choice(["TF", "IDF", "TFIDF"]), **more)


def norms(r: Random) -> Try:
    x = floats(r, 2, 3, r.randint(1, 4))
    return r.choice(
        [
            Try("LpNormalization", [x], axis=r.choice([0, 1, -1]), p=r.choice([1, 2])),
            Try("GlobalLpPool", [x], p=r.choice([1, 2, 3])),
            Try("LRN", [x[..., None]], size=r.choice([1, 3]), alpha=0.5, beta=0.7, bias=2.0),
        ]
    )


# What each is compared with: onnxruntime, or the reference where that says it.
FAMILIES: dict[str, tuple[Callable[[Random], Try], bool]] = {
    "resize": (resize, False), "proportions": (proportions, True), "grid_sample": (grid_sample, False),
    "roi_align": (roi_align, False), "pool": (pool, False), "conv_transpose": (conv_transpose, False),
    "recurrent": (recurrent, False), "suppression": (suppression, False), "columns": (columns, False),
    "transform": (transform, False), "crop": (crop, True), "distinct": (distinct, False), "grams": (grams, False),
    "norms": (norms, False), "pads": (pads, False),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_random_attributes_mean_what_others_make_of_them(family: str, tmp_path: Path) -> None:
    make, reference = FAMILIES[family]
    random, seen = Random(f"{family} nodes"), 0
    for _ in range(max(TRIES // 12, 2)):
        tried = make(random)
        right = tried.right(reference)
        if right is None:
            continue
        seen += 1
        case = OneNode(tried.model, tried.inputs, tried.constants)
        assert fits(case.shapes(tmp_path), right, exactly=False), tried.said
        found = case.run(tmp_path)
        assert all(agree(f, y, 2e-3, 2e-4) for f, y in zip(found, right, strict=True)), tried.said
    assert seen


def test_a_size_times_a_constant_scale_is_what_a_product_in_float32_is_cut_off_to() -> None:
    random, sizes = Random("scales"), np.arange(4000)
    for _ in range(TRIES):
        scale = np.float32(random.choice([random.randint(1, 400) / 100, random.randint(1, 60) / random.randint(1, 60)]))
        factor, surely = nominal(Fraction(float(scale)))
        away = (sizes.astype(np.float32) * scale).astype(np.int64) - sizes * factor.numerator // factor.denominator
        assert np.abs(away).max() <= (0 if surely else 1), scale
    assert nominal(Fraction(float(np.float32(0.7)))) == (Fraction(7, 10), True)
    assert not nominal(Fraction(float(np.float32(1.3))))[1]
