"""NumPy kernels of recurrent layers: one product for the inputs of all steps, then a loop over the steps, which takes both
directions at once and writes into memory that all steps share.

A sigmoid is (tanh(x / 2) + 1) / 2: the weights of such gates are halved beforehand, so that one tanh serves all gates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .constants import once
from .elementwise import Array, widened
from .quiet import quiet
from .registry import rows
from .windows import narrow

# One step: from the inputs' part of the gates and the states before it, it puts the next hidden state into the last argument,
# and the next other states into the states themselves.
Step = Callable[[Any, tuple[Any, ...], Any], None]


class Gates(NamedTuple):
    """The number of gates of a layer, and of sigmoids among them, which come first. With `late` the last gate's biases of the
    state are not added to the inputs' part."""

    number: int
    sigmoids: int
    late: bool = False

    def parts(self, w: Array, r: Array, b: Array | None) -> tuple[Any, Any, Any]:
        """The weights and the biases by gate."""
        return once(self.columns, w), once(self.columns, r), None if b is None else self.biases(b)

    def columns(self, weights: Array) -> Array:
        """[directions, gates * hidden, n], or those of one direction, as right operands of products: [gates, directions, n,
        hidden]."""
        rows, n = weights.shape[-2:]
        return self._first(weights.reshape(_directions(weights, 2), self.number, rows // self.number, n).swapaxes(2, 3))

    def biases(self, b: Array) -> Array:
        """[directions, 2 * gates * hidden], or those of one direction, as [gates, directions, 2, hidden]."""
        hidden = b.shape[-1] // (2 * self.number)
        return self._first(b.reshape(_directions(b, 1), 2, self.number, hidden).swapaxes(1, 2))

    def _first(self, parts: Array) -> Array:
        """[directions, gates, ...] as [gates, directions, ...]: a wide copy, the weights of sigmoids halved."""
        result = np.array(widened(parts).swapaxes(0, 1), order="C")
        result[: self.sigmoids] *= 0.5
        return result


def _directions(weights: Array, rank: int) -> int:
    """The number of directions of weights with this rank; those of one direction have no axis for it."""
    return len(weights) if weights.ndim > rank else 1


RNN, LSTM, GRU, RESET_LATE = Gates(1, 0), Gates(4, 3), Gates(3, 2), Gates(3, 2, late=True)
# Makes the step from columns of weights, the biases of the last gate's states, and the shape of a state.
Begin = Callable[[Any, Any, tuple[int, ...]], Step]


def _rnn_step(activation: str, r: Any, bias: Any, shape: tuple[int, ...]) -> Step:
    def step(given: Any, states: tuple[Any, ...], out: Any) -> None:
        np.matmul(states[0], r[0], out)
        np.add(out, given[0], out)
        if activation == "tanh":
            np.tanh(out, out)
        else:
            np.maximum(out, 0, out=out)

    return step


def _lstm_step(r: Any, bias: Any, shape: tuple[int, ...]) -> Step:
    gates, part = np.empty((4, *shape), r.dtype), np.empty(shape, r.dtype)
    sigmoids, (i, o, f, g) = gates[:3], gates

    def step(given: Any, states: tuple[Any, ...], out: Any) -> None:
        h, c = states
        np.matmul(h, r, gates)
        np.add(gates, given, gates)
        np.tanh(gates, gates)
        np.add(sigmoids, 1, sigmoids)
        np.multiply(sigmoids, 0.5, sigmoids)
        np.multiply(c, f, c)
        np.multiply(i, g, part)
        np.add(c, part, c)
        np.tanh(c, part)
        np.multiply(o, part, out)

    return step


def _gru_step(linear_before_reset: bool, r: Any, bias: Any, shape: tuple[int, ...]) -> Step:
    gates, part = np.empty((2, *shape), r.dtype), np.empty(shape, r.dtype)
    (z, reset), outer, inner = gates, r[:2], r[2]

    def step(given: Any, states: tuple[Any, ...], out: Any) -> None:
        (h,) = states
        np.matmul(h, outer, gates)
        np.add(gates, given[:2], gates)
        np.tanh(gates, gates)
        np.add(gates, 1, gates)
        np.multiply(gates, 0.5, gates)
        if linear_before_reset:
            np.matmul(h, inner, out)
            np.add(out, bias, out)
            np.multiply(out, reset, out)
        else:
            np.multiply(h, reset, part)
            np.matmul(part, inner, out)
        np.add(out, given[2], out)
        np.tanh(out, out)
        np.subtract(h, out, part)
        np.multiply(part, z, part)
        np.add(out, part, out)

    return step


def _gru(linear_before_reset: bool) -> tuple[Gates, Begin]:
    return RESET_LATE if linear_before_reset else GRU, partial(_gru_step, linear_before_reset)


def _run(
    gates: Gates, begin: Begin, direction: str, x: Any, parts: tuple[Any, Any, Any], states: list[Any]
) -> tuple[Any, ...]:
    """The hidden states of all steps, [time, directions, batch, hidden], and the states after the last one, which overwrite
    the given ones. x is [time, batch, inputs]."""
    w, r, b = parts
    shape, time = states[0].shape, len(x)
    given = np.matmul(x.reshape(time * shape[1], x.shape[-1]), w).reshape(
        gates.number, len(states[0]), time, *shape[1:]
    )
    bias: Any = 0
    if b is not None:
        if gates.late:
            bias = b[-1, :, 1:].copy()
            b[-1, :, 1] = 0
        given += np.add.reduce(b, axis=2)[:, :, None, None]
    if direction == "bidirectional":
        given[:, 1] = given[:, 1, ::-1]
    back = -1 if direction == "reverse" else 1
    in_order = np.ascontiguousarray(given.transpose(2, 0, 1, 3, 4)[::back])
    outputs = np.empty((time, *shape), given.dtype)
    step, others = begin(r, bias, shape), states[1:]
    for now, out in zip(in_order, outputs, strict=True):
        step(now, (states[0], *others), out)
        states[0] = out
    finals = (np.array(states[0]), *others)
    if direction == "bidirectional":
        outputs[:, 1] = outputs[::-1, 1]
    return outputs[::back], *finals


def _cell(
    gates: Gates, begin: Begin, x: Array, w: Array, r: Array, b: Array | None, *states: Array
) -> tuple[Array, ...]:
    given = [np.array(widened(s))[None] for s in states]
    made = _run(gates, begin, "forward", widened(x)[None], gates.parts(w, r, b), given)
    return tuple(narrow(m[0], x.dtype) for m in made[1:])


def _layer(
    gates: Gates,
    begin: Begin,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    direction: str,
    layout: str,
    *initial: Array | None,
) -> tuple[Array, ...]:
    """The hidden states of all steps, and every final state, in the layout of x."""
    batch_first = layout == "batch_first"
    source = widened(x.swapaxes(0, 1) if batch_first else x)
    shape = (len(w), source.shape[1], r.shape[-1])
    states = [np.zeros(shape, source.dtype) if s is None else _turned(s, batch_first) for s in initial]
    outputs, *finals = _run(gates, begin, direction, source, gates.parts(w, r, b), states)
    if batch_first:
        outputs, finals = outputs.transpose(2, 0, 1, 3), [final.swapaxes(0, 1) for final in finals]
    return tuple(narrow(a, x.dtype) for a in (outputs, *finals))


def _turned(state: Array, batch_first: bool) -> Array:
    """A copy of a state as [directions, batch, hidden]."""
    return np.array(widened(state.swapaxes(0, 1) if batch_first else state), order="C")


rows(
    {
        "rnn_cell": quiet(
            lambda x, h, w, r, b, activation: _cell(RNN, partial(_rnn_step, activation), x, w, r, b, h)[0]
        ),
        "lstm_cell": quiet(lambda x, h, c, w, r, b: _cell(LSTM, _lstm_step, x, w, r, b, h, c)),
        "gru_cell": quiet(
            lambda x, h, w, r, b, linear_before_reset: _cell(*_gru(linear_before_reset), x, w, r, b, h)[0]
        ),
        "rnn": quiet(
            lambda x, w, r, b, initial_h, direction, activation, layout: _layer(
                RNN, partial(_rnn_step, activation), x, w, r, b, direction, layout, initial_h
            )
        ),
        "lstm": quiet(
            lambda x, w, r, b, initial_h, initial_c, direction, layout: _layer(
                LSTM, _lstm_step, x, w, r, b, direction, layout, initial_h, initial_c
            )
        ),
        "gru": quiet(
            lambda x, w, r, b, initial_h, direction, linear_before_reset, layout: _layer(
                *_gru(linear_before_reset), x, w, r, b, direction, layout, initial_h
            )
        ),
    }
)
