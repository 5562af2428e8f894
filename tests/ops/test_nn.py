"""Normalisation, resizing, attention, recurrent layers and losses: what the rules predict is what loops compute."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rxlang.interp.kernels.registry import BadValue
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.model import RankUnknown, Segment, TensorInfo
from support import ops

FLOATING = ("float16", "bfloat16", "float32", "float64")
seeds = st.integers(0, 2**32 - 1)
Array = np.ndarray[Any, Any]


def tensor(*shape: Any, dtype: str = "float32") -> TensorInfo:
    return TensorInfo(shape, DTYPES[dtype])


def wide(*arrays: Array | None) -> tuple[Any, ...]:
    return tuple(None if a is None else a.astype(np.float64) for a in arrays)


def expect(made: Array, expected: Any) -> None:
    ops.close(made, np.asarray(expected).astype(made.dtype))


def last(x: Any) -> Any:
    return np.moveaxis(x, 1, -1)


# Dense layers and normalisation


@pytest.mark.parametrize("dtype", [*FLOATING, "int8"])
@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_dense_is_a_product_and_a_sum(dtype: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    batch, (i, o) = ops.draw_shape(random, most=2), (int(n) for n in random.integers(0, 4, 2))
    x, weight, bias = (ops.draw(random, s, dtype, -3, 3) for s in ((*batch, i), (i, o), (o,)))
    a, b, c = (ops.wide(v) for v in (x, weight, bias))
    expect(ops.call("dense", x=x, weight=weight, bias=bias), a @ b + c)
    expect(ops.call("dense", x=x, weight=weight), a @ b)


@pytest.mark.parametrize("dtype", FLOATING)
@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_normalisation_is_by_channel(dtype: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    n, g, per, h, w = (int(k) for k in random.integers((0, 1, 1, 1, 1), (3, 4, 4, 4, 4)))
    c = g * per
    x = ops.draw(random, (n, c, h, w), dtype)
    scale, bias, mean = (ops.draw(random, (c,), dtype) for _ in range(3))
    variance = ops.draw(random, (c,), dtype, 0, 8)
    wx, *weights = wide(x, scale, bias, mean, variance)
    s, b, m, v = (k.reshape(-1, 1, 1) for k in weights)
    batch = (wx - m) / np.sqrt(v + 1e-5) * s + b
    values = {"scale": scale, "bias": bias, "mean": mean, "variance": variance}
    expect(ops.call("batch_normalization", x=x, **values), batch)
    expect(ops.call("batch_normalization", x=last(x), layout="channels_last", **values), last(batch))

    def over(groups: int) -> Any:
        parts = wx.reshape(n, groups, -1) if n else wx.reshape(0, groups, c // groups * h * w)
        normal = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-2)
        return normal.reshape(x.shape) * s + b

    affine = {"scale": scale, "bias": bias, "epsilon": 1e-2}
    expect(ops.call("group_normalization", x=x, num_groups=g, **affine), over(g))
    expect(ops.call("instance_normalization", x=x, **affine), over(c))
    expect(ops.call("instance_normalization", x=last(x), layout="channels_last", **affine), last(over(c)))


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize("count", [1, 3])
def test_prelu_has_a_slope_for_each_channel_or_for_all(layout: str, count: int) -> None:
    random = np.random.default_rng(count)
    x, slope = ops.draw(random, (2, 3, 5), "float32"), ops.draw(random, (count,), "float32")
    given_x = np.moveaxis(x, 1, -1) if layout == "channels_last" else x
    made = ops.call("prelu", x=given_x, slope=slope, layout=layout)
    expected = np.where(x > 0, x, x * slope[:, None])
    np.testing.assert_array_equal(np.moveaxis(made, -1, 1) if layout == "channels_last" else made, expected)
    assert "axis 0 of `slope` to be 1, or axis 1" in ops.refusal("prelu", x=x, slope=slope.repeat(2))


def test_lrn_divides_by_neighbouring_channels() -> None:
    x = ops.draw(np.random.default_rng(1), (2, 5, 3), "float64")
    for size in (1, 2, 3, 4, 9):
        expected = np.empty_like(x)
        for c in range(5):
            first, end = max(0, c - (size - 1) // 2), min(4, c + size // 2) + 1
            total = np.square(x[:, first:end]).sum(1)
            expected[:, c] = x[:, c] / (2 + 0.5 / size * total) ** 0.75
        made = ops.call("lrn", x=x, size=size, alpha=0.5, bias=2.0)
        np.testing.assert_allclose(made, expected, 1e-12)


def test_dropout_is_the_identity_in_inference() -> None:
    x = ops.draw(np.random.default_rng(1), (2, 5), "int8")
    np.testing.assert_array_equal(ops.call("dropout", x=x, ratio=0.9), x)


# Resizing


def nearest(x: Any, size: int, axis: int) -> Any:
    return np.stack([x.take(i * x.shape[axis] // size, axis) for i in range(size)], axis)


def linear(x: Any, size: int, axis: int) -> Any:
    """PyTorch's half-pixel positions."""
    rows = []
    for i in range(size):
        place = max((i + 0.5) * x.shape[axis] / size - 0.5, 0)
        below = min(int(place), x.shape[axis] - 1)
        above = min(below + 1, x.shape[axis] - 1)
        share = place - below if above > below else 0
        rows.append(x.take(below, axis) * (1 - share) + x.take(above, axis) * share)
    return np.stack(rows, axis)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@given(seed=seeds)
def test_resizing_takes_or_mixes_elements_along_each_axis(mode: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    h, w, p, q, factor = (int(n) for n in random.integers(1, 6, 5))
    x = ops.draw(random, (2, 1, h, w), "float64")
    one = nearest if mode == "nearest" else linear
    expect(ops.call("resize", x=x, sizes=(p, q), mode=mode), one(one(x, p, 2), q, 3))
    scaled = one(one(x, h * factor, 2), w * 2, 3)
    expect(ops.call("upsample", x=x, scales=(factor, 2), mode=mode), scaled)
    expect(ops.call("upsample", x=last(x), scales=(factor, 2), mode=mode, layout="channels_last"), last(scaled))
    assert ops.call("resize", x=x, sizes=(0,), mode=mode).shape == (2, 1, 0, 0)


# What PyTorch makes of [1, 4, 2, 8] with 6 elements.
INTERPOLATED = {
    ("linear", False): [1.0, 2.5, 11 / 3, 7 / 3, 5.0, 8.0],
    ("linear", True): [1.0, 2.8, 3.6, 2.4, 4.4, 8.0],
    ("cubic", False): [
        0.7395833333333341, 2.6875, 3.8692129629629655, 1.818287037037039, 4.8125, 8.520833333333336,
    ],
    ("cubic", True): [1.0, 3.052, 3.792, 1.848, 4.112, 8.0],
}  # fmt: skip


@pytest.mark.parametrize(("mode", "align_corners"), INTERPOLATED)
def test_interpolation_is_pytorchs(mode: str, align_corners: bool) -> None:
    x = np.array([[[1.0, 4, 2, 8]]])
    made = ops.call("resize", x=x, sizes=(6,), mode=mode, align_corners=align_corners)
    np.testing.assert_allclose(made[0, 0], INTERPOLATED[mode, align_corners], 1e-12)
    same = ops.call("upsample", x=x, scales=(1,), mode=mode, align_corners=align_corners)
    np.testing.assert_array_equal(same, x)


def test_an_axis_without_elements_is_not_resized_to_one_with_some() -> None:
    empty = np.zeros((1, 2, 0, 3), np.float32)
    assert ops.refusal("resize", x=empty, sizes=(2,)) == "axis 2 of `x` to be at least 1"
    assert ops.call("upsample", x=empty, scales=(2,)).shape == (1, 2, 0, 6)
    assert ops.refusal("upsample", x=empty, scales=(0,)) == "scales to be at least 1, but it is 0"
    assert (
        ops.refusal("resize", x=empty, sizes=(1,), mode="area")
        == 'mode to be "nearest", "linear" or "cubic", but it is "area"'
    )


@given(seeds)
def test_pixel_shuffle_is_its_definition_and_has_an_inverse(seed: int) -> None:
    random = np.random.default_rng(seed)
    c, h, w, f = (int(n) for n in random.integers(1, 4, 4))
    lead = ops.draw_shape(random, most=2)
    x = ops.draw(random, (*lead, c * f * f, h, w), "int64", -99, 99)
    made = ops.call("pixel_shuffle", x=x, factor=f)
    expected = np.empty((*lead, c, h * f, w * f), np.int64)
    for k, i, j in itertools.product(range(c), range(h * f), range(w * f)):
        expected[..., k, i, j] = x[..., k * f * f + (i % f) * f + j % f, i // f, j // f]
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(ops.call("pixel_unshuffle", x=made, factor=f), x)


# Attention


@pytest.mark.parametrize("dtype", FLOATING)
@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_attention_is_its_formula(dtype: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    one, two, three = ops.draw_broadcastable(random, 3)
    m, n, d, e = (int(k) for k in random.integers((0, 1, 0, 0), 4))
    q, k, v = (ops.draw(random, s, dtype) for s in ((*one, m, d), (*two, n, d), (*three, n, e)))
    a, b, c = wide(q, k, v)
    mask = random.random((m, n)) < 0.7
    mask[:, 0] = True
    for chosen in (None, mask, np.where(mask, 0.5, -2).astype(q.dtype)):
        for causal in (False, True):
            scores = a @ b.swapaxes(-1, -2) / np.sqrt(max(d, 1))
            if chosen is not None:
                scores = np.where(chosen, scores, -np.inf) if chosen.dtype == bool else scores + wide(chosen)[0]
            if causal:
                scores = np.where(np.tri(m, n) > 0, scores, -np.inf)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            expected = shares / shares.sum(-1, keepdims=True) @ c
            expect(ops.call("attention", q=q, k=k, v=v, mask=chosen, causal=causal), expected)


def test_attention_to_nothing_is_0() -> None:
    q, k, v = (np.ones(s, np.float32) for s in ((2, 4), (3, 4), (3, 5)))
    mask = np.array([[True, False, True], [False, False, False]])
    made = ops.call("attention", q=q, k=k, v=v, mask=mask)
    np.testing.assert_array_equal(made, [[1] * 5, [0] * 5])


def test_attention_names_what_does_not_fit() -> None:
    q, k, v = (np.zeros(s, np.float32) for s in ((2, 3, 4), (2, 5, 4), (2, 5, 6)))
    assert ops.refusal("attention", q=q, k=v, v=v) == "axis 2 of `q` and axis 2 of `k` to be equal"
    assert ops.refusal("attention", q=q, k=q, v=v) == "axis 1 of `k` and axis 1 of `v` to be equal"
    assert "axis -3 of `q` and axis -3 of `k`" in ops.refusal("attention", q=np.zeros((3, 3, 4), np.float32), k=k, v=v)
    mask = np.zeros((5, 5), bool)
    assert ops.refusal("attention", q=q, k=k, v=v, mask=mask) == (
        "axis -2 of `mask` and axis -2 of `q` to be equal, or the first to be 1"
    )
    assert "rank 3 or less" in ops.refusal("attention", q=q, k=k, v=v, mask=np.zeros((1, 1, 3, 5), bool))


# Recurrent layers


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def naive_rnn(x: Any, states: tuple[Any, ...], w: Any, r: Any, b: Any) -> tuple[Any, ...]:
    return (np.tanh(x @ w.T + states[0] @ r.T + b.reshape(2, -1).sum(0)),)


def naive_relu(x: Any, states: tuple[Any, ...], w: Any, r: Any, b: Any) -> tuple[Any, ...]:
    return (np.maximum(x @ w.T + states[0] @ r.T + b.reshape(2, -1).sum(0), 0),)


def naive_lstm(x: Any, states: tuple[Any, ...], w: Any, r: Any, b: Any) -> tuple[Any, ...]:
    h, c = states
    biases = b.reshape(2, 4, -1).sum(0)
    i, o, f, g = (x @ p.T + h @ q.T + s for p, q, s in zip(np.split(w, 4), np.split(r, 4), biases, strict=True))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def naive_gru(x: Any, states: tuple[Any, ...], w: Any, r: Any, b: Any, before: bool = False) -> tuple[Any, ...]:
    (h,) = states
    (wz, wr, wh), (rz, rr, rh) = np.split(w, 3), np.split(r, 3)
    (bz, br, bh), (cz, cr, ch) = b.reshape(2, 3, -1)
    z, reset = sigmoid(x @ wz.T + h @ rz.T + bz + cz), sigmoid(x @ wr.T + h @ rr.T + br + cr)
    inner = reset * (h @ rh.T + ch) if before else (reset * h) @ rh.T + ch
    return ((1 - z) * np.tanh(x @ wh.T + inner + bh) + z * h,)


def naive_reset_later(x: Any, states: tuple[Any, ...], w: Any, r: Any, b: Any) -> tuple[Any, ...]:
    return naive_gru(x, states, w, r, b, True)


Step = Callable[..., tuple[Any, ...]]
KINDS: list[tuple[str, int, Step, dict[str, Any]]] = [
    ("rnn", 1, naive_rnn, {}),
    ("rnn", 1, naive_relu, {"activation": "relu"}),
    ("lstm", 4, naive_lstm, {}),
    ("gru", 3, naive_gru, {}),
    ("gru", 3, naive_reset_later, {"linear_before_reset": True}),
]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("name", "gates", "step", "attributes"), KINDS)
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_a_recurrent_layer_is_its_steps(
    name: str, gates: int, step: Step, attributes: dict[str, Any], dtype: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    time, batch, inputs, hidden = (int(n) for n in random.integers((0, 0, 0, 1), (4, 3, 4, 4)))
    direction = str(random.choice(["forward", "reverse", "bidirectional"]))
    count = 2 if direction == "bidirectional" else 1
    draw = lambda *shape: (random.standard_normal(shape) / 2).astype(dtype)  # noqa: E731
    x, w = draw(time, batch, inputs), draw(count, gates * hidden, inputs)
    r, b = draw(count, gates * hidden, hidden), draw(count, 2 * gates * hidden)
    begun = [draw(count, batch, hidden) for _ in range(2 if name == "lstm" else 1)]
    given_b, given_states = random.random() < 0.7, random.random() < 0.7
    outputs, finals = np.zeros((time, count, batch, hidden)), [np.zeros((count, batch, hidden)) for _ in begun]
    for way in range(count):
        weights = wide(w[way], r[way], b[way] if given_b else np.zeros_like(b[way]))
        states = wide(*(s[way] if given_states else np.zeros_like(s[way]) for s in begun))
        for t in range(time)[:: -1 if way == 1 or direction == "reverse" else 1]:
            states = step(wide(x[t])[0], states, *weights)
            outputs[t, way] = states[0]
        for final, state in zip(finals, states, strict=True):
            final[way] = state
    values = {"w": w, "r": r, "b": b if given_b else None, "direction": direction, **attributes}
    begun = begun if given_states else []
    initial = dict(zip(("initial_h", "initial_c"), begun, strict=False))
    made = ops.call(name, x=x, **initial, **values)
    for one, expected in zip(made, (outputs, *finals), strict=True):
        expect(one, expected)
    swapped = {k: s.swapaxes(0, 1) for k, s in initial.items()}
    flipped = ops.call(name, x=x.swapaxes(0, 1), layout="batch_first", **swapped, **values)
    np.testing.assert_array_equal(flipped[0], made[0].transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(flipped[1], made[1].swapaxes(0, 1))


@pytest.mark.parametrize(("name", "gates", "step", "attributes"), KINDS)
def test_a_cell_is_one_step(name: str, gates: int, step: Step, attributes: dict[str, Any]) -> None:
    random = np.random.default_rng(7)
    draw = lambda *shape: random.standard_normal(shape)  # noqa: E731
    x, w, r, b = draw(2, 5), draw(gates * 3, 5), draw(gates * 3, 3), draw(2 * gates * 3)
    states = tuple(draw(2, 3) for _ in range(2 if name == "lstm" else 1))
    made = ops.call(f"{name}_cell", x=x, **dict(zip("hc", states, strict=False)), w=w, r=r, b=b, **attributes)
    for one, expected in zip(made if isinstance(made, tuple) else (made,), step(x, states, w, r, b), strict=True):
        np.testing.assert_allclose(one, expected, 1e-12)


@pytest.mark.parametrize(
    ("name", "changed", "what"),
    [
        ("lstm", {"x": (4, 3)}, "`x` to have rank 3, [time, batch, inputs], but its rank is 2"),
        (
            "lstm",
            {"x": (4, 3), "layout": "batch_first"},
            "`x` to have rank 3, [batch, time, inputs], but its rank is 2",
        ),
        ("lstm", {"x": (4, 2, 6)}, "axis 2 of `x` and axis 2 of `w` to be equal"),
        ("lstm", {"w": (1, 9, 5)}, "axis 1 of `w` to be 4 times axis 2 of `r`, the hidden size"),
        ("lstm", {"r": (1, 12, 4)}, "axis 1 of `r` to be 4 times axis 2 of `r`, the hidden size"),
        ("lstm", {"b": (1, 12)}, "axis 1 of `b` to be 8 times axis 2 of `r`, the hidden size"),
        ("lstm", {"initial_h": (1, 4, 3)}, "axis 1 of `initial_h` and axis 1 of `x` to be equal"),
        ("lstm", {"initial_c": (1, 2, 4)}, "axis 2 of `initial_c` and axis 2 of `r` to be equal"),
        ("lstm", {"direction": "bidirectional"}, "axis 0 of `w` to be 2, the number of directions"),
        ("lstm", {"initial_h": (2, 2, 3)}, "axis 0 of `initial_h` to be 1, the number of directions"),
        ("lstm", {"direction": "both"}, 'direction to be "forward", "reverse" or "bidirectional", but it is "both"'),
    ],
)
def test_a_recurrent_layer_names_what_does_not_fit(name: str, changed: dict[str, Any], what: str) -> None:
    shapes: dict[str, Any] = {"x": (4, 2, 5), "w": (1, 12, 5), "r": (1, 12, 3), **changed}
    values = {k: np.zeros(v, np.float32) if isinstance(v, tuple) else v for k, v in shapes.items()}
    assert ops.refusal(name, **values) == what


def test_recurrent_shapes_of_symbols_are_those_of_ints() -> None:
    n, t, h = ops.symbols("n", "t", "h")
    envs = ops.grid("n", "t", "h", sizes=range(3))
    x, r, b = tensor(t, n, 5), tensor(1, h * 4, h), tensor(1, h * 8)
    ops.agrees("lstm", envs, x=x, w=tensor(1, h * 4, 5), r=r, b=b, initial_h=tensor(1, n, h))
    ops.agrees("lstm", envs, x=x, w=tensor(1, 8, 5), r=r, initial_h=tensor(t, n, 2))
    ops.agrees("gru", envs, x=x, w=tensor(n, 6, 5), r=tensor(n, h * 3, 2))
    ops.agrees("rnn_cell", envs, x=tensor(n, t), h=tensor(2, h), w=tensor(h, 1), r=tensor(h, h))


# Losses


def mean_of(values: Any, reduction: str) -> Any:
    with np.errstate(all="ignore"):
        if reduction == "none":
            return values
        return values.sum() if reduction == "sum" else values.sum() / np.float64(values.size)


ELEMENTWISE: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "mse_loss": (lambda x, t: (x - t) ** 2, {}),
    "l1_loss": (lambda x, t: abs(x - t), {}),
    "smooth_l1_loss": (lambda x, t: (x - t) ** 2 if abs(x - t) < 0.5 else abs(x - t) - 0.25, {"beta": 0.5}),
    "huber_loss": (lambda x, t: (x - t) ** 2 / 2 if abs(x - t) <= 2 else 2 * abs(x - t) - 2, {"delta": 2.0}),
    "binary_cross_entropy": (
        lambda x, t: -(t * max(np.log(x), -100) + (1 - t) * max(np.log(1 - x), -100)),
        {},
    ),
    "binary_cross_entropy_with_logits": (lambda x, t: np.log(1 + np.exp(x)) - t * x, {}),
    "kl_div": (lambda x, t: t * (np.log(t) - x) if t else 0.0, {}),
}


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", ELEMENTWISE)
@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_a_loss_by_element_is_its_formula(name: str, dtype: str, seed: int) -> None:
    function, attributes = ELEMENTWISE[name]
    random = np.random.default_rng(seed)
    shape = ops.draw_shape(random)
    least, most = (0, 4) if name in ("binary_cross_entropy", "kl_div") else (-8, 8)
    x, target = ops.draw(random, shape, dtype, least, most), ops.draw(random, shape, dtype, 0, 4)
    a, b = wide(x, target)
    with np.errstate(all="ignore"):
        values = np.array([function(p, q) for p, q in zip(a.flat, b.flat, strict=True)], float).reshape(shape)
    for reduction in ("none", "sum", "mean"):
        made = ops.call(name, x=x, target=target, reduction=reduction, **attributes)
        expect(made, mean_of(values, reduction))


def test_kl_div_takes_logarithms_and_means_over_the_batch() -> None:
    random = np.random.default_rng(0)
    x, target = ops.draw(random, (2, 3), "float64"), ops.draw(random, (2, 3), "float64", 1, 4)
    whole = (target * (np.log(target) - x)).sum()
    logged = ops.call("kl_div", x=x, target=np.log(target), reduction="sum", log_target=True)
    np.testing.assert_allclose(
        [logged, ops.call("kl_div", x=x, target=target, reduction="batchmean")], [whole, whole / 2]
    )
    assert "reduction" in ops.refusal("mse_loss", x=x, target=x, reduction="batchmean")


@pytest.mark.parametrize("dtype", FLOATING)
@given(seed=seeds)
def test_a_loss_by_class_picks_the_target(dtype: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    rest, classes = ops.draw_shape(random, least=1), int(random.integers(1, 5))
    axis = int(random.integers(0, len(rest) + 1))
    x = ops.draw(random, (*rest[:axis], classes, *rest[axis:]), dtype)
    target = random.integers(0, classes, rest)
    weight = ops.draw(random, (classes,), dtype, 1, 8) if random.random() < 0.5 else None
    ignore = int(random.integers(-1, classes)) if random.random() < 0.5 else None
    if ignore is not None:
        target = np.where(random.random(rest) < 0.3, ignore, target)
    smoothing = float(random.choice([0.0, 0.25]))
    wx = wide(x)[0]
    by_class = np.ones(classes) if weight is None else wide(weight)[0]
    logs = wx - np.log(np.exp(wx).sum(axis, keepdims=True))
    for name, values, share in (("nll_loss", wx, 0.0), ("cross_entropy_loss", logs, smoothing)):
        losses, used = np.zeros(rest), np.zeros(rest)
        for place in np.ndindex(rest):
            row = np.moveaxis(values, axis, -1)[place]
            if target[place] != ignore:
                used[place] = by_class[target[place]]
                losses[place] = (
                    -(1 - share) * used[place] * row[target[place]] - share / classes * (row * by_class).sum()
                )
        with np.errstate(all="ignore"):
            mean = losses.sum() / used.sum()
        attributes = {"label_smoothing": share} if share else {}
        for reduction, expected in (("none", losses), ("sum", losses.sum()), ("mean", mean)):
            made = ops.call(
                name, x=x, target=target, weight=weight, reduction=reduction, axis=axis - x.ndim if seed % 2 else axis,
                ignore_index=ignore, **attributes,
            )  # fmt: skip
            expect(made, expected)
    if ignore is None:
        hot = np.moveaxis(np.eye(classes)[target], -1, axis).astype(x.dtype)
        made = ops.call("softmax_cross_entropy", x=x, target=hot, axis=axis, reduction="none")
        expect(made, -(wide(hot)[0] * logs).sum(axis))


def test_a_target_that_names_no_class_is_refused_by_the_kernel() -> None:
    x = np.zeros((2, 3), np.float32)
    for bad in (3, -1):
        with pytest.raises(BadValue, match=f"`target` holds {bad}, but axis 1 of `x` has size 3"):
            ops.compute("nll_loss", x=x, target=np.array([0, bad]))


@pytest.mark.parametrize(
    ("name", "shapes", "what"),
    [
        ("mse_loss", [(4, 3), (4, 1, 3)], "`target` to have rank 2, the rank of `x`, but its rank is 3"),
        ("mse_loss", [(4, 3), (4, 1)], "axis 1 of `x` and axis 1 of `target` to be equal"),
        ("softmax_cross_entropy", [(4, 3), (4, 2)], "axis 1 of `x` and axis 1 of `target` to be equal"),
        ("nll_loss", [(2, 3, 4, 5), (2, 4, 6)], "axis 3 of `x` and axis 2 of `target` to be equal"),
        ("nll_loss", [(2, 3, 4, 5), (3, 4, 5)], "axis 0 of `x` and axis 0 of `target` to be equal"),
        ("nll_loss", [(2, 3, 4, 5), (2, 4, 5), (2,)], "axis 0 of `weight` and axis 1 of `x` (the classes) to be equal"),
        ("cross_entropy_loss", [(10, 2), (10, 2)], "`target` to have rank 1, one less than `x`, but its rank is 2"),
        ("cross_entropy_loss", [(3,), ()], "`x` to have rank 2 or more, but its rank is 1"),
    ],
)
def test_losses_broadcast_nothing(name: str, shapes: list[tuple[int, ...]], what: str) -> None:
    integers = name in ("nll_loss", "cross_entropy_loss")
    operands = [np.zeros(s, np.int64 if integers and i == 1 else np.float32) for i, s in enumerate(shapes)]
    assert ops.refusal(name, **dict(zip(("x", "target", "weight"), operands, strict=False))) == what


@pytest.mark.parametrize(
    ("name", "shapes", "what"),
    [
        ("dense", [(4, 3), (4, 3)], "axis 1 of `x` and axis 0 of `weight` to be equal"),
        ("dense", [(4, 3), (3, 5), (3,)], "axis 0 of `bias` and axis 1 of `weight` to be equal"),
        ("dense", [(4, 3), (3,)], "`weight` to have rank 2, but its rank is 1"),
        (
            "instance_normalization",
            [(2, 3, 4), (3,), (4,)],
            "axis 0 of `bias` and axis 1 of `x` (its channels) to be equal",
        ),
        ("instance_normalization", [(2, 3), (3,), (3,)], "`x` to have rank 3 or more, but its rank is 2"),
        (
            "group_normalization",
            [(2, 3, 4), (3,), (3,)],
            "axis 1 of `x` (its channels) to be a multiple of 2, the groups",
        ),
        ("pixel_shuffle", [(2, 6, 4, 4)], "axis 1 of `x` to be a multiple of 4"),
        ("pixel_unshuffle", [(2, 6, 4, 5)], "axis 3 of `x` to be a multiple of 2"),
    ],
)
def test_layers_name_what_does_not_fit(name: str, shapes: list[tuple[int, ...]], what: str) -> None:
    params = [p.name for p in ops.row_of(name).params]
    values: dict[str, Any] = dict(zip(params, (np.zeros(s, np.float32) for s in shapes), strict=False))
    values |= {"num_groups": 2} if name == "group_normalization" else {}
    values |= {"factor": 2} if name.startswith("pixel") else {}
    assert ops.refusal(name, **values) == what


def test_shapes_of_symbols_are_those_of_ints() -> None:
    n, c = ops.symbols("n", "c")
    envs = ops.grid("n", "c")
    ids = tensor(n, 2, dtype="int64")
    ops.agrees("cross_entropy_loss", envs, x=tensor(n, 3, c), target=ids, reduction="none", weight=tensor(c))
    ops.agrees("cross_entropy_loss", envs, x=tensor(n, 3, c), target=ids, reduction="none", axis=-1)
    ops.agrees("mse_loss", envs, x=tensor(n, c), target=tensor(2, n), reduction="none")
    ops.agrees("group_normalization", envs, x=tensor(n, c, 2), scale=tensor(c), bias=tensor(4), num_groups=n)
    ops.agrees("pixel_shuffle", envs, x=tensor(1, c, n, 2), factor=2)
    ops.agrees("pixel_unshuffle", envs, x=tensor(1, 2, c, n), factor=2)
    ops.agrees("upsample", envs, x=tensor(1, 2, c, n), scales=(2, 3))
    ops.agrees("resize", envs, x=tensor(1, 2, c, 3), sizes=(n, c))
    ops.agrees("dense", envs, x=tensor(n, c), weight=tensor(3, n), bias=tensor(c))
    ops.agrees(
        "attention", envs, q=tensor(n, 2, c), k=tensor(2, n, 3), v=tensor(2, c, 1), mask=tensor(n, c, dtype="bool")
    )


BATCH = Segment("batch")


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("dense", {"x": tensor(BATCH, 3), "weight": tensor(3, 5)}, (BATCH, 5)),
        ("dropout", {"x": tensor(BATCH, 3)}, (BATCH, 3)),
        ("mse_loss", {"x": tensor(BATCH, 3), "target": tensor(BATCH, 3), "reduction": "none"}, (BATCH, 3)),
        ("softmax_cross_entropy", {"x": tensor(BATCH, 3), "target": tensor(BATCH, 3), "reduction": "none"}, (BATCH,)),
        (
            "nll_loss",
            {"x": tensor(BATCH, 2, 3), "target": tensor(BATCH, 2), "reduction": "none", "axis": -1},
            (BATCH, 2),
        ),
        ("pixel_shuffle", {"x": tensor(BATCH, 8, 2, 3), "factor": 2}, (BATCH, 2, 4, 6)),
        ("attention", {"q": tensor(BATCH, 2, 3), "k": tensor(BATCH, 5, 3), "v": tensor(BATCH, 5, 7)}, (BATCH, 2, 7)),
    ],
)
def test_leading_unknown_axes_pass_through(name: str, values: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert ops.opened(name, **values) == expected


def test_losses_of_shapes_that_may_differ_say_nothing() -> None:
    with pytest.raises(RankUnknown):
        ops.opened("mse_loss", tensor(BATCH, 3), tensor(2, 3), "mean")
