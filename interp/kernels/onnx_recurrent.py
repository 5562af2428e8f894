"""Kernels of ONNX's recurrent layers in full: a loop over the steps, one direction after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .elementwise import widened
from .onnx_quantised import in_steps
from .quiet import quiet
from .registry import Array, BadValue, kernel
from .windows import narrow

# One step: from the inputs' part of the gates and the states before it to the states after it, the hidden one first.
Step = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]


def _sigmoid(x: Any) -> Any:
    return (np.tanh(x / 2) + 1) / 2


# The functions, with the defaults of their alpha and beta.
ACTIVATIONS: dict[str, tuple[Callable[[Any, float, float], Any], tuple[float, ...]]] = {
    "sigmoid": (lambda x, a, b: _sigmoid(x), ()),
    "tanh": (lambda x, a, b: np.tanh(x), ()),
    "relu": (lambda x, a, b: np.maximum(x, 0), ()),
    "affine": (lambda x, a, b: a * x + b, (1.0, 0.0)),
    "leakyrelu": (lambda x, a, b: np.where(x >= 0, x, a * x), (0.01,)),
    "thresholdedrelu": (lambda x, a, b: np.where(x >= a, x, 0), (1.0,)),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, a, b: np.minimum(np.maximum(a * x + b, 0), 1), (0.2, 0.5)),
    "elu": (lambda x, a, b: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))), (1.0,)),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), ()),
    "softplus": (lambda x, a, b: np.logaddexp(0, x), ()),
}


class _Layer(NamedTuple):
    """The attributes of one call."""

    direction: str
    layout: str
    activations: str
    clip: float | None

    def functions(self, defaults: str, direction: int) -> list[Callable[[Any], Any]]:
        """The activations of a direction; those of gates clip their inputs, and an LSTM's third is no gate."""
        words = self.activations.split() or defaults.split() * 2
        count = len(defaults.split())
        own = words[direction * count : (direction + 1) * count]
        return [self._function(word, None if at == 2 else self.clip) for at, word in enumerate(own)]

    def _function(self, word: str, clip: float | None) -> Callable[[Any], Any]:
        name, *given = word.split(":")
        function, usual = ACTIVATIONS[name.lower()]
        alpha, beta = (*map(float, given), *usual[len(given) :], 0.0, 0.0)[:2]
        limit = np.inf if clip is None else clip
        return lambda x: function(np.clip(x, -limit, limit), alpha, beta).astype(x.dtype, copy=False)


def _run(
    call: _Layer,
    begin: Callable[[int], Step],
    x: Array,
    w: Array,
    lengths: Array | None,
    initial: list[Any],
    hidden: int,
    rounded: Callable[[Array], Array] = np.asarray,
) -> tuple[Array, ...]:
    """The hidden states of all steps and every final state, in the dtype and the layout of x."""
    batch_first = call.layout == "batch_first"
    source = rounded(widened(x.swapaxes(0, 1) if batch_first else x))
    time, batch = source.shape[:2]
    ends = np.full(batch, time) if lengths is None else _within(lengths, time)
    outputs, finals = [], []
    for at, weights in enumerate(widened(w)):
        back = call.direction == "reverse" or at == 1
        order = _order(time, ends, back)
        given = np.matmul(np.take_along_axis(source, order[..., None], 0), weights.T)
        states = tuple(
            np.zeros((batch, hidden), source.dtype) if s is None else widened(s[:, at] if batch_first else s[at])
            for s in initial
        )
        steps, states = _steps(begin(at), given, ends, states)
        # onnxruntime gives the hidden state 0 for a sequence without elements.
        states = (np.where((ends == 0)[:, None], 0, states[0]), *states[1:])
        outputs.append(np.take_along_axis(steps, order[..., None], 0) if time else steps)
        finals.append(states)
    axis = 1 if batch_first else 0
    made = np.stack(outputs, 1)
    every = [made.transpose(2, 0, 1, 3) if batch_first else made]
    every += [np.stack(states, axis) for states in zip(*finals, strict=True)]
    return tuple(narrow(np.ascontiguousarray(a), x.dtype) for a in every)


def _within(lengths: Array, time: int) -> Array:
    """Check the ends of sequences: from 0 to as many steps as there are."""
    wrong = lengths[(lengths < 0) | (lengths > time)]
    if wrong.size:
        raise BadValue(f"`lengths` holds {wrong[0]}, and there are {time} steps")
    return lengths


def _order(time: int, ends: Array, back: bool) -> Array:
    """[time, batch]: the step at each time. Backwards it begins at the end of each sequence."""
    steps = np.arange(time)[:, None]
    return np.where(back & (steps < ends), ends - 1 - steps, steps).astype(np.int64)


def _steps(step: Step, given: Array, ends: Array, states: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...]]:
    """The outputs of all steps, 0 after the end of a sequence, and the states at its end."""
    outputs = np.zeros((*given.shape[:2], states[0].shape[-1]), given.dtype)
    for t, row in enumerate(given):
        goes_on = (t < ends)[:, None]
        after = step(row, states)
        states = tuple(np.where(goes_on, new, old) for new, old in zip(after, states, strict=True))
        outputs[t] = np.where(goes_on, after[0], 0)
    return outputs, states


def _biases(b: Array | None, at: int, parts: int, hidden: int, dtype: Any) -> list[Any]:
    """The biases of a direction by gate: first those of the inputs, then those of the state."""
    row = np.zeros(2 * parts * hidden, dtype) if b is None else widened(b[at])
    return np.split(row, 2 * parts)


@kernel("onnx.rnn")
@quiet
def rnn(
    x: Array, w: Array, r: Array, b: Array | None, lengths: Array | None, initial_h: Array | None, *rest: Any
) -> tuple[Array, ...]:
    call, hidden = _Layer(*rest), r.shape[-1]

    def begin(at: int) -> Step:
        (f,) = call.functions("Tanh", at)
        inner, (wb, rb) = widened(r[at]).T, _biases(b, at, 1, hidden, widened(x).dtype)
        return lambda given, states: (f(given + np.matmul(states[0], inner) + wb + rb),)

    return _run(call, begin, x, w, lengths, [initial_h], hidden)


@kernel("onnx.gru")
@quiet
def gru(
    x: Array, w: Array, r: Array, b: Array | None, lengths: Array | None, initial_h: Array | None, *rest: Any
) -> tuple[Array, ...]:
    *said, linear_before_reset = rest
    call, hidden = _Layer(*said), r.shape[-1]

    def begin(at: int) -> Step:
        f, g = call.functions("Sigmoid Tanh", at)
        to_z, to_r, to_h = (part.T for part in np.split(widened(r[at]), 3))
        wz, wr, wh, rz, rr, rh = _biases(b, at, 3, hidden, widened(x).dtype)

        def step(given: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
            (h,) = states
            of_z, of_r, of_h = np.split(given, 3, -1)
            z, reset = f(of_z + np.matmul(h, to_z) + wz + rz), f(of_r + np.matmul(h, to_r) + wr + rr)
            late = reset * (np.matmul(h, to_h) + rh) if linear_before_reset else np.matmul(reset * h, to_h) + rh
            return ((1 - z) * g(of_h + late + wh) + z * h,)

        return step

    return _run(call, begin, x, w, lengths, [initial_h], hidden)


@kernel("onnx.lstm")
@quiet
def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    lengths: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    peepholes: Array | None,
    *rest: Any,
) -> tuple[Array, ...]:
    *said, input_forget, quantised = rest
    rounded = in_steps if quantised else np.asarray
    call, hidden = _Layer(*said), r.shape[-1]

    def begin(at: int) -> Step:
        f, g, last = call.functions("Sigmoid Tanh Tanh", at)
        inner = widened(r[at]).T
        bias = np.add(*np.split(np.concatenate(_biases(b, at, 4, hidden, widened(x).dtype)), 2))
        see_i, see_o, see_f = (0, 0, 0) if peepholes is None else np.split(widened(peepholes[at]), 3)

        def step(given: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
            h, c = states
            i, o, forget, cell = np.split(given + np.matmul(rounded(h), inner) + bias, 4, -1)
            i = f(i + see_i * c)
            kept = 1 - i if input_forget else f(forget + see_f * c)
            c = kept * c + i * g(cell)
            return f(o + see_o * c) * last(c), c

        return step

    return _run(call, begin, x, w, lengths, [initial_h, initial_c], hidden, rounded)
