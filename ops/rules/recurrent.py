"""Recurrent layers and their cells: plain, LSTM and GRU, with ONNX's weights and order of gates."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, same
from ..model import Ctx, Dim, TensorInfo
from ..operands import choice, ranked
from ..registry import primitive
from ..requirements import Axis, Is, Number, Times

DIRECTIONS = ("forward", "reverse", "bidirectional")
LAYOUTS = ("time_first", "batch_first")
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


class _Weights:
    """The sizes of one call: each is checked once, and equal sizes become one."""

    def __init__(self, ctx: Ctx, kind: str, lead: int) -> None:
        self.ctx = ctx
        self.gates = GATES[kind]
        self.lead = lead  # how many axes precede those of one direction: 1 for the directions

    def hidden(self, x: Shape, w: TensorInfo, r: TensorInfo, b: TensorInfo | None) -> Dim:
        """The hidden size, which is the last axis of `r`."""
        lead = "directions, " if self.lead else ""
        gates = "" if self.gates == 1 else f"{self.gates} * "
        outer = ranked(self.ctx, "w", w, 2 + self.lead, f"[{lead}{gates}hidden, inputs]")
        inner = ranked(self.ctx, "r", r, 2 + self.lead, f"[{lead}{gates}hidden, hidden]")
        hidden, last, first = inner[-1], self.lead + 1, self.lead
        same(self.ctx, Axis("x", len(x) - 1, x[-1]), Axis("w", last, outer[-1]))
        own = Axis("r", last, hidden)
        self._times(Axis("r", first, inner[-2]), self.gates, own)
        self._times(Axis("w", first, outer[-2]), self.gates, own)
        if b is not None:
            bias = ranked(self.ctx, "b", b, 1 + self.lead, f"[{lead}{2 * self.gates} * hidden]")
            self._times(Axis("b", first, bias[-1]), 2 * self.gates, own)
        size: Dim = hidden
        return size

    def state(self, name: str, x: TensorInfo | None, axes: str, *sizes: Axis | Number) -> None:
        """Require a state, if given, to have these sizes; a Number is the number of directions."""
        if x is not None:
            dims = ranked(self.ctx, name, x, len(sizes), axes)
            for axis, other in enumerate(sizes):
                if isinstance(other, Axis):
                    same(self.ctx, Axis(name, axis, dims[axis]), other)
                else:
                    self._exactly(Axis(name, axis, dims[axis]), other)

    def directions(self, count: int, **weights: TensorInfo | None) -> None:
        for name, weight in weights.items():
            if weight is not None:
                self._exactly(Axis(name, 0, self.ctx.dims(weight)[0]), Number(count))

    def _exactly(self, own: Axis, count: Number) -> None:
        self.ctx.require(Is(own, count, "the number of directions"))

    def _times(self, one: Axis, count: int, two: Axis) -> None:
        if count == 1:
            same(self.ctx, one, two)
        else:
            self.ctx.require(Is(one, Times(Number(count), two), "the hidden size"))


# Cells


def _cell(
    ctx: Ctx, kind: str, x: TensorInfo, w: TensorInfo, r: TensorInfo, b: TensorInfo | None, **states: TensorInfo
) -> Shape:
    source = ranked(ctx, "x", x, 2, "[batch, inputs]")
    weights = _Weights(ctx, kind, 0)
    hidden = weights.hidden(source, w, r, b)
    for name, state in states.items():
        weights.state(name, state, "[batch, hidden]", Axis("x", 0, source[0]), Axis("r", 1, hidden))
    return (source[0], hidden)


@primitive(
    "rnn_cell", 'x: tensor, h: tensor, w: tensor, r: tensor, b: tensor = none, activation: str = "tanh"',
    "T:floating, T, T, T, T -> T",
)  # fmt: skip
def rnn_cell(
    ctx: Ctx, x: TensorInfo, h: TensorInfo, w: TensorInfo, r: TensorInfo, b: TensorInfo | None, activation: str
) -> Shape:
    """One step of `rnn`: the next state tanh(x @ w^T + h @ r^T + biases), `[batch, hidden]`; `activation` may be "relu".

    `x : [batch, inputs]`, `h : [batch, hidden]`, `w : [hidden, inputs]`, `r : [hidden, hidden]`, `b : [2 * hidden]`: the
    biases of `w`, then those of `r`. PyTorch's `RNNCell`.
    """
    choice(ctx, "activation", activation, ("tanh", "relu"))
    return _cell(ctx, "rnn", x, w, r, b, h=h)


@primitive(
    "lstm_cell", "x: tensor, h: tensor, c: tensor, w: tensor, r: tensor, b: tensor = none",
    "T:floating, T, T, T, T, T -> T, T", results="tuple",
)  # fmt: skip
def lstm_cell(
    ctx: Ctx, x: TensorInfo, h: TensorInfo, c: TensorInfo, w: TensorInfo, r: TensorInfo, b: TensorInfo | None
) -> list[Shape]:
    """One step of `lstm`: the next hidden state and the next cell state, both `[batch, hidden]`.

    `x : [batch, inputs]`, `h` and `c` `[batch, hidden]`, `w : [4 * hidden, inputs]`, `r : [4 * hidden, hidden]`, `b : [8 *
    hidden]`: the biases of `w`, then those of `r`. The gates are input, output, forget, cell (as in ONNX; PyTorch's
    `LSTMCell` has input, forget, cell, output).
    """
    return [_cell(ctx, "lstm", x, w, r, b, h=h, c=c)] * 2


@primitive(
    "gru_cell",
    "x: tensor, h: tensor, w: tensor, r: tensor, b: tensor = none, linear_before_reset: bool = false",
    "T:floating, T, T, T, T -> T",
)
def gru_cell(
    ctx: Ctx,
    x: TensorInfo,
    h: TensorInfo,
    w: TensorInfo,
    r: TensorInfo,
    b: TensorInfo | None,
    linear_before_reset: bool,
) -> Shape:
    """One step of `gru`: the next state, `[batch, hidden]`.

    `x : [batch, inputs]`, `h : [batch, hidden]`, `w : [3 * hidden, inputs]`, `r : [3 * hidden, hidden]`, `b : [6 * hidden]`:
    the biases of `w`, then those of `r`. The gates are update, reset, hidden (as in ONNX; PyTorch's `GRUCell` has reset
    first, and `linear_before_reset`).
    """
    return _cell(ctx, "gru", x, w, r, b, h=h)


# Layers


def layer(
    ctx: Ctx,
    kind: str,
    x: TensorInfo,
    w: TensorInfo,
    r: TensorInfo,
    b: TensorInfo | None,
    direction: str,
    layout: str,
    **states: TensorInfo | None,
) -> list[Shape]:
    """The shapes of the outputs of all steps, and of each state after the last one."""
    choice(ctx, "direction", direction, DIRECTIONS)
    choice(ctx, "layout", layout, LAYOUTS)
    batch_first = layout == "batch_first"
    source = ranked(ctx, "x", x, 3, "[batch, time, inputs]" if batch_first else "[time, batch, inputs]")
    count = 2 if direction == "bidirectional" else 1
    weights = _Weights(ctx, kind, 1)
    hidden = weights.hidden(source, w, r, b)
    weights.directions(count, w=w, r=r, b=b)
    time, batch = (1, 0) if batch_first else (0, 1)
    of_batch, of_hidden = Axis("x", batch, source[batch]), Axis("r", 2, hidden)
    lead: list[Axis | Number] = [of_batch, Number(count)] if batch_first else [Number(count), of_batch]
    axes = "[batch, directions, hidden]" if batch_first else "[directions, batch, hidden]"
    for name, state in states.items():
        weights.state(name, state, axes, *lead, of_hidden)
    n, t = source[batch], source[time]
    last: Any = (n, count, hidden) if batch_first else (count, n, hidden)
    steps = (n, t, count, hidden) if batch_first else (t, count, n, hidden)
    return [steps, *[last] * len(states)]


@primitive(
    "rnn",
    'x: tensor, w: tensor, r: tensor, b: tensor = none, initial_h: tensor = none, direction: str = "forward", '
    'activation: str = "tanh", layout: str = "time_first"',
    "T:floating, T, T, T, T -> T, T", results="tuple", onnx=("RNN",),
)  # fmt: skip
def rnn(
    ctx: Ctx,
    x: TensorInfo,
    w: TensorInfo,
    r: TensorInfo,
    b: TensorInfo | None,
    initial_h: TensorInfo | None,
    direction: str,
    activation: str,
    layout: str,
) -> list[Shape]:
    """A recurrent layer: h = tanh(x_t @ w^T + h @ r^T + biases) for each step; `activation` may be "relu".

    `x : [time, batch, inputs]`, `w : [directions, hidden, inputs]`, `r : [directions, hidden, hidden]`, `b : [directions, 2 *
    hidden]` (those of `w`, then those of `r`), `initial_h : [directions, batch, hidden]` (zeros if it is left out) give the
    states of all steps, `[time, directions, batch, hidden]`, and the last one, `[directions, batch, hidden]`. `direction` is
    forward, reverse or bidirectional (2 directions). `layout` "batch_first" puts the batch in front: `x : [batch, time,
    inputs]` gives `[batch, time, directions, hidden]` and `[batch, directions, hidden]`. ONNX RNN.
    """
    choice(ctx, "activation", activation, ("tanh", "relu"))
    return layer(ctx, "rnn", x, w, r, b, direction, layout, initial_h=initial_h)


@primitive(
    "lstm",
    "x: tensor, w: tensor, r: tensor, b: tensor = none, initial_h: tensor = none, initial_c: tensor = none, "
    'direction: str = "forward", layout: str = "time_first"',
    "T:floating, T, T, T, T, T -> T, T, T", results="tuple", onnx=("LSTM",),
)  # fmt: skip
def lstm(
    ctx: Ctx,
    x: TensorInfo,
    w: TensorInfo,
    r: TensorInfo,
    b: TensorInfo | None,
    initial_h: TensorInfo | None,
    initial_c: TensorInfo | None,
    direction: str,
    layout: str,
) -> list[Shape]:
    """A layer of long short-term memory: the hidden states of all steps, the last hidden state and the last cell state.

    `x : [time, batch, inputs]`, `w : [directions, 4 * hidden, inputs]`, `r : [directions, 4 * hidden, hidden]`, `b :
    [directions, 8 * hidden]` (those of `w`, then those of `r`; the gates are input, output, forget, cell), `initial_h` and
    `initial_c` `[directions, batch, hidden]` (zeros if left out) give `[time, directions, batch, hidden]` and twice
    `[directions, batch, hidden]`. `direction` is forward, reverse or bidirectional (2 directions). `layout` "batch_first"
    puts the batch in front: `x : [batch, time, inputs]` gives `[batch, time, directions, hidden]` and twice `[batch,
    directions, hidden]`. ONNX LSTM.

    With `x_t : [batch, inputs]`, h and c the states before, and `w_g`, `r_g`, `b_g` the rows of `w`, `r` and both halves of
    `b` for a gate g: i, o, f = sigmoid(x_t @ w_g^T + h @ r_g^T + b_g), each with its own; then c' = f * c +
    i * tanh(x_t @ w_c^T + h @ r_c^T + b_c) and h' = o * tanh(c').
    """
    return layer(ctx, "lstm", x, w, r, b, direction, layout, initial_h=initial_h, initial_c=initial_c)


@primitive(
    "gru",
    'x: tensor, w: tensor, r: tensor, b: tensor = none, initial_h: tensor = none, direction: str = "forward", '
    'linear_before_reset: bool = false, layout: str = "time_first"',
    "T:floating, T, T, T, T -> T, T", results="tuple", onnx=("GRU",),
)  # fmt: skip
def gru(
    ctx: Ctx,
    x: TensorInfo,
    w: TensorInfo,
    r: TensorInfo,
    b: TensorInfo | None,
    initial_h: TensorInfo | None,
    direction: str,
    linear_before_reset: bool,
    layout: str,
) -> list[Shape]:
    """A layer of gated recurrent units: the states of all steps and the last one.

    `x : [time, batch, inputs]`, `w : [directions, 3 * hidden, inputs]`, `r : [directions, 3 * hidden, hidden]`, `b :
    [directions, 6 * hidden]` (those of `w`, then those of `r`; the gates are update, reset, hidden), `initial_h :
    [directions, batch, hidden]` (zeros if it is left out) give `[time, directions, batch, hidden]` and `[directions, batch,
    hidden]`. With `linear_before_reset` the reset gate is applied to h @ r^T + bias, as in PyTorch. `direction` is forward,
    reverse or bidirectional (2 directions). `layout` "batch_first" puts the batch in front: `x : [batch, time, inputs]` gives
    `[batch, time, directions, hidden]` and `[batch, directions, hidden]`. ONNX GRU.

    With `x_t : [batch, inputs]`, h the state before, and `w_g`, `r_g`, `b_g`, `c_g` the rows of `w`, `r` and the two halves of
    `b` for a gate g: z, r = sigmoid(x_t @ w_g^T + h @ r_g^T + b_g + c_g), each with its own; then n = tanh(x_t @ w_n^T + b_n +
    (r * h) @ r_n^T + c_n), or with `linear_before_reset` tanh(x_t @ w_n^T + b_n + r * (h @ r_n^T + c_n)); and
    h' = (1 - z) * n + z * h.
    """
    return layer(ctx, "gru", x, w, r, b, direction, layout, initial_h=initial_h)
