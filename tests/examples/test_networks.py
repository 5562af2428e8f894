"""The networks among the examples against plain NumPy: images, detection, search and training."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from programs.plain import conv2d, conv_transpose2d, log_softmax, sigmoid, softmax
from support.places import ROOT

EXAMPLES = ROOT / "examples"
Array = np.ndarray[Any, Any]


@cache
def example(name: str) -> rx.Module:
    return rx.load(EXAMPLES / name / f"{name}.rx")


def numbers(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def run(name: str, *arguments: str) -> list[str]:
    command = [sys.executable, str(EXAMPLES / name / "run.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


# U-Net


def double(seed: int, o: int, c: int) -> tuple[Array, Array]:
    return numbers(seed, o, c, 3, 3) / (3 * c), numbers(seed + 1, o, o, 3, 3) / (3 * o)


def convolved(x: Array, weights: tuple[Array, Array]) -> Array:
    return relu(conv2d(relu(conv2d(x, weights[0], pad=1)), weights[1], pad=1))


def halved(x: Array) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


@pytest.mark.parametrize(("n", "c", "h", "w", "f"), [(2, 3, 16, 8, 2), (1, 1, 8, 24, 1)])
def test_the_u_net_is_numpys(n: int, c: int, h: int, w: int, f: int) -> None:
    widths = [f, 2 * f, 4 * f, 8 * f]
    down = tuple(double(i, o, k) for i, (o, k) in enumerate(zip(widths, [c, *widths], strict=False)))
    grow = tuple(numbers(i, 2 * o, o, 2, 2) for i, o in enumerate(widths[2::-1]))
    up = tuple(double(i, o, 2 * o) for i, o in enumerate(widths[2::-1]))
    last, image = numbers(9, 5, f, 1, 1), numbers(7, n, c, h, w)
    kept = [convolved(image, down[0])]
    for weights in down[1:]:
        kept.append(convolved(halved(kept[-1]), weights))
    y = kept[-1]
    for beside, growing, weights in zip(kept[2::-1], grow, up, strict=True):
        y = convolved(np.concatenate([beside, conv_transpose2d(y, growing, stride=2)], axis=1), weights)
    made = example("unet").unet(image, down, grow, up, last)
    np.testing.assert_allclose(made, conv2d(y, last), rtol=1e-3, atol=1e-4)


def test_the_condition_of_the_u_net_is_derived_and_kept_at_its_entry_check() -> None:
    derived, *sizes = run("unet")
    signature = example("unet").unet.signature
    assert derived.split("  # ")[0].split(" = fn")[1] == signature.split(" = fn")[-1]
    assert "image : Tensor([n, c, h * 8, w * 8], float32)" in derived
    assert sizes == [
        "16 x 24: [1, 3, 16, 24]",
        "8 x 8: [1, 3, 8, 8]",
        "20 x 24: @unet needs axis 2 of `image` to be a multiple of 8, but it is 20",
        "4 x 8: @unet needs axis 2 of `image` to be a multiple of 8, but it is 4",
    ]


# ResNet


def weights(seed: int, o: int, c: int, k: int) -> tuple[Array, Array, Array]:
    return numbers(seed, o, c, k, k) / (k * c), numbers(seed + 1, o), numbers(seed + 2, o)


def scaled(x: Array, weights: tuple[Array, Array, Array], stride: int = 1) -> Array:
    weight, scale, shift = weights
    y = conv2d(x, weight, stride, pad=weight.shape[-1] // 2)
    return y * scale[:, None, None] + shift[:, None, None]


def residual(x: Array, block: tuple[Any, ...], stride: int = 1) -> Array:
    side = scaled(x, block[2], stride) if stride == 2 else x
    return relu(side + scaled(relu(scaled(x, block[0], stride)), block[1]))


@pytest.mark.parametrize(("n", "h", "w"), [(2, 32, 20), (1, 17, 33), (1, 1, 1), (2, 5, 2)])
def test_the_residual_network_takes_images_of_any_size(n: int, h: int, w: int) -> None:
    f, c = 2, 3
    stem, stage1 = weights(1, f, c, 7), (weights(2, f, f, 3), weights(3, f, f, 3))
    stages = [
        (
            (weights(i, o, o // 2, 3), weights(i + 1, o, o, 3), weights(i + 2, o, o // 2, 1)),
            (weights(i + 3, o, o, 3), weights(i + 4, o, o, 3)),
        )
        for i, o in ((10, 2 * f), (20, 4 * f))
    ]
    classify, image = numbers(5, 3, 4 * f), numbers(6, n, c, h, w)
    y = relu(scaled(image, stem, 2))
    padded = np.pad(y, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    y = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2].max(axis=(4, 5))
    y = residual(y, stage1)
    for narrower, same in stages:
        y = residual(residual(y, narrower, 2), same)
    made = example("resnet").resnet(image, stem, stage1, *stages, classify)
    np.testing.assert_allclose(made, y.mean(axis=(2, 3)) @ classify.T, rtol=1e-3, atol=1e-4)


def test_the_residual_network_asks_nothing_of_height_and_width() -> None:
    signature = example("resnet").resnet.signature
    assert "image : Tensor([n, c, h, w], float32)" in signature and "where" not in signature


# Detection


def overlap(a: Array, b: Array) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    return float(sides.prod() / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - sides.prod()))


@pytest.mark.parametrize(("h", "w", "classes", "most"), [(5, 6, 3, 8), (2, 1, 1, 20), (3, 3, 2, 0), (0, 4, 2, 5)])
def test_the_boxes_of_a_detector_are_numpys(h: int, w: int, classes: int, most: int) -> None:
    features, head = numbers(1, 4, h, w), numbers(2, 4 + classes, 4, 1, 1)
    found: list[tuple[float, Array, int]] = []
    for i, j in product(range(h), range(w)):
        y = head[:, :, 0, 0] @ features[:, i, j]
        centre, half = (np.array([j, i]) + sigmoid(y[:2])) * 16, np.exp(y[2:4]) * 8
        scores = softmax(y[4:])
        if scores.max() > 0.6:
            found.append((float(scores.max()), np.concatenate([centre - half, centre + half]), int(scores.argmax())))
    kept: list[tuple[float, Array, int]] = []
    for one in sorted(found, key=lambda f: -f[0]):
        if len(kept) < most and all(overlap(one[1], other[1]) <= 0.5 for other in kept):
            kept.append(one)
    boxes, kinds, scores = example("detect").detect(features, head, 16, np.float32(0.6), most)
    np.testing.assert_allclose(boxes, np.array([k[1] for k in kept]).reshape(-1, 4), rtol=1e-3, atol=1e-3)
    assert kinds.tolist() == [k[2] for k in kept]
    np.testing.assert_allclose(scores, [k[0] for k in kept], rtol=1e-4)


def test_the_bound_of_the_number_of_boxes_is_shown() -> None:
    shown = [line for line in run("detect") if "result" in line]
    assert len(shown) == 1
    assert shown[0].count("axis 0 is at most h * w") == 3


# Search


@pytest.mark.parametrize(("v", "most", "beams"), [(3, 3, 27), (2, 4, 16), (4, 0, 3)])
def test_a_beam_that_holds_all_texts_finds_the_likeliest(v: int, most: int, beams: int) -> None:
    model = log_softmax(numbers(v, v, v, v))
    start = np.array([1, v - 1])
    texts, scores = example("search").search(start, model, np.array(0), beams, most)
    ended: dict[tuple[int, ...], float] = {}
    for way in product(range(v), repeat=most):
        text, score = [*start.tolist()], 0.0
        for letter in way:
            if text[-1] != 0:
                score += float(model[text[-2], text[-1], letter])
            text.append(letter if text[-1] != 0 else 0)
        ended[tuple(text)] = score
    best = max(ended, key=lambda text: ended[text])
    assert tuple(texts[0].tolist()) == best[: texts.shape[1]]
    np.testing.assert_allclose(scores[0], ended[best], rtol=1e-4, atol=1e-5)


def test_names_are_found_by_beam_search() -> None:
    lines = run("search")
    assert lines[0].startswith("h: hilda (0.20)")
    assert len(lines) == 3


# Training


def small_gpt(v: int, p: int, d: int, layers: int) -> tuple[Array, ...]:
    blocks = ((d,), (d, 3 * d), (d, d), (d,), (d, 4 * d), (4 * d, d))
    shapes = [(v, d), (p, d), *((layers, *s) for s in blocks), (d,)]
    return tuple(numbers(i, *shape) / 2 for i, shape in enumerate(shapes))


def test_the_gradients_of_the_gpt_are_slopes_of_its_loss() -> None:
    module, weights, ids = example("train"), small_gpt(7, 5, 6, 2), numbers(1, 3, 5)
    ids = (np.abs(ids) * 3).astype(np.int64)[:, :4] % 7
    value, gradients = module.loss_and_gradients(ids, ids[:, ::-1].copy(), weights, 3)
    assert np.isfinite(value)
    for k, gradient in enumerate(gradients):
        way = numbers(k + 20, *gradient.shape)
        ends = [
            float(module.loss(ids, ids[:, ::-1].copy(), (*weights[:k], weights[k] + by * way, *weights[k + 1 :]), 3))
            for by in (np.float32(1e-2), np.float32(-1e-2))
        ]
        np.testing.assert_allclose(np.sum(gradient * way), (ends[0] - ends[1]) / 2e-2, rtol=2e-2, atol=2e-3)


def test_steps_of_adam_are_numpys() -> None:
    module, now = example("train"), [w.astype(float) for w in small_gpt(5, 4, 4, 1)]
    ids = np.array([[1, 2, 0, 3], [4, 4, 2, 0]])
    weights = tuple(w.astype(np.float32) for w in now)
    ours = [weights, *(tuple(np.zeros_like(w) for w in weights) for _ in range(2))]
    means, squares = [np.zeros(p.shape) for p in now], [np.zeros(p.shape) for p in now]
    for t in range(1, 4):
        _, gradients = module.loss_and_gradients(ids, ids, tuple(p.astype(np.float32) for p in now), 2)
        for k, g in enumerate(gradients):
            means[k] = 0.9 * means[k] + 0.1 * g
            squares[k] = 0.999 * squares[k] + 0.001 * g**2
            now[k] -= 0.1 * means[k] / (1 - 0.9**t) / (np.sqrt(squares[k] / (1 - 0.999**t)) + 1e-8)
        _, *ours = module.step(ids, ids, *ours, 2, t - 1, np.float32(0.1))
    for made, wanted in zip(ours[0], now, strict=True):
        np.testing.assert_allclose(made, wanted, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_the_gpt_learns_is_saved_and_writes(engine: str, tmp_path: Path) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    at = ["--engine", engine, "--steps", "25", "--weights", str(tmp_path / "gpt.safetensors")]
    lines = run("train", *at)
    first, last = (float(n) for n in re.findall(r"\d\.\d\d", next(line for line in lines if "first step" in line)))
    assert first > 4 and last < first - 1
    written = lines[lines.index("it writes:") :]
    # With the weights that were saved it writes the same.
    assert run("train", *at) == written


@pytest.mark.parametrize(
    ("name", "function"),
    [("unet", "unet"), ("resnet", "resnet"), ("detect", "detect"), ("search", "search"), ("train", "step")],
)
def test_nothing_is_left_to_check_inside(name: str, function: str) -> None:
    assert getattr(example(name), function).residual == ()
