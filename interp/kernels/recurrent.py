"""NumPy kernels of recurrent layers: one product for the inputs of all steps, then a loop over the steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import Array, widened
from .registry import kernel
from .windows import narrow

# One step: the inputs' part of the gates, the weights of the state, their biases, and the states, which it gives anew.
Step = Callable[[Any, Any, Any, tuple[Any, ...]], tuple[Any, ...]]


def _sigmoid(x: Array) -> Array:
    return np.tanh(x * 0.5) * 0.5 + 0.5


def _rnn_step(activation: str) -> Step:
    def step(given: Array, r: Array, bias: Array, states: tuple[Any, ...]) -> tuple[Any, ...]:
        total = given + states[0] @ r.T + bias
        return (np.tanh(total) if activation == "tanh" else np.maximum(total, 0),)

    return step


def _lstm_step(given: Array, r: Array, bias: Array, states: tuple[Any, ...]) -> tuple[Any, ...]:
    h, c = states
    i, o, f, g = np.split(given + h @ r.T + bias, 4, axis=-1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _gru_step(linear_before_reset: bool) -> Step:
    def step(given: Array, r: Array, bias: Array, states: tuple[Any, ...]) -> tuple[Any, ...]:
        (h,) = states
        width = h.shape[-1]
        z, reset, new = np.split(given, 3, axis=-1)
        gates = h @ r[: 2 * width].T + bias[: 2 * width]
        z = _sigmoid(z + gates[..., :width])
        reset = _sigmoid(reset + gates[..., width:])
        inner, inner_bias = r[2 * width :].T, bias[2 * width :]
        carried = reset * (h @ inner + inner_bias) if linear_before_reset else (reset * h) @ inner + inner_bias
        return ((1 - z) * np.tanh(new + carried) + z * h,)

    return step


def _biases(b: Array, r: Array) -> tuple[Any, Any]:
    """The biases of the inputs' weights and those of the states'."""
    if b is None:
        zeros = np.zeros(r.shape[0], r.dtype)
        return zeros, zeros
    half = b.shape[0] // 2
    return b[:half], b[half:]


def _one_step(step: Step, x: Array, w: Array, r: Array, b: Array | None, *states: Array) -> tuple[Array, ...]:
    wide_r = widened(r)
    outer, inner = _biases(None if b is None else widened(b), wide_r)
    given = widened(x) @ widened(w).T + outer
    made = step(given, wide_r, inner, tuple(widened(s) for s in states))
    return tuple(narrow(m, x.dtype) for m in made)


@kernel("rnn_cell")
def rnn_cell(x: Array, h: Array, w: Array, r: Array, b: Array | None, activation: str) -> Array:
    return _one_step(_rnn_step(activation), x, w, r, b, h)[0]


@kernel("lstm_cell")
def lstm_cell(x: Array, h: Array, c: Array, w: Array, r: Array, b: Array | None) -> tuple[Array, ...]:
    return _one_step(_lstm_step, x, w, r, b, h, c)


@kernel("gru_cell")
def gru_cell(x: Array, h: Array, w: Array, r: Array, b: Array | None, linear_before_reset: bool) -> Array:
    return _one_step(_gru_step(linear_before_reset), x, w, r, b, h)[0]


def _layer(
    step: Step,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    direction: str,
    layout: str,
    *initial: Array | None,
) -> tuple[Array, ...]:
    """The first state of all steps, [time, directions, batch, hidden], and every state after the last one."""
    batch_first = layout == "batch_first"
    source = widened(x.swapaxes(0, 1) if batch_first else x)
    time, batch, _ = source.shape
    count, _, width = r.shape
    outputs = np.zeros((time, count, batch, width), source.dtype)
    finals = [np.zeros((count, batch, width), source.dtype) for _ in initial]
    for way in range(count):
        wide_r = widened(r[way])
        outer, inner = _biases(None if b is None else widened(b[way]), wide_r)
        given = source @ widened(w[way]).T + outer
        states = tuple(_state(s, way, batch_first, finals[0][way]) for s in initial)
        order = range(time)
        for t in reversed(order) if direction == "reverse" or way == 1 else order:
            states = step(given[t], wide_r, inner, states)
            outputs[t, way] = states[0]
        for final, state in zip(finals, states, strict=True):
            final[way] = state
    if batch_first:
        outputs = outputs.transpose(2, 0, 1, 3)
        finals = [final.swapaxes(0, 1) for final in finals]
    return tuple(narrow(a, x.dtype) for a in (outputs, *finals))


def _state(initial: Array | None, way: int, batch_first: bool, zeros: Array) -> Array:
    if initial is None:
        return zeros
    return widened(initial[:, way] if batch_first else initial[way])


@kernel("rnn")
def rnn(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    initial_h: Array | None,
    direction: str,
    activation: str,
    layout: str,
) -> tuple[Array, ...]:
    return _layer(_rnn_step(activation), x, w, r, b, direction, layout, initial_h)


@kernel("lstm")
def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    direction: str,
    layout: str,
) -> tuple[Array, ...]:
    return _layer(_lstm_step, x, w, r, b, direction, layout, initial_h, initial_c)


@kernel("gru")
def gru(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    initial_h: Array | None,
    direction: str,
    linear_before_reset: bool,
    layout: str,
) -> tuple[Array, ...]:
    return _layer(_gru_step(linear_before_reset), x, w, r, b, direction, layout, initial_h)
