"""ONNX's recurrent layers with all their options: activations, clipping, sequences of several lengths, peepholes."""

from __future__ import annotations

from typing import Any

from ..axes import Shape
from ..model import Ctx, TensorInfo
from ..operands import ranked
from ..registry import primitive
from ..requirements import Argument, Axis, Equal, Is, Number, Other, Times
from .recurrent import layer

_STATES = 'direction: str = "forward", layout: str = "time_first", activations: str = "", clip: float = none, '


def _lengths(ctx: Ctx, x: TensorInfo, lengths: TensorInfo | None, layout: str) -> None:
    """Require a length for each sequence."""
    if lengths is not None:
        axis = 0 if layout == "batch_first" else 1
        (count,), dims = ranked(ctx, "lengths", lengths, 1), ranked(ctx, "x", x, 3)
        ctx.require(Equal(Axis("lengths", 0, count), Axis("x", axis, dims[axis])))
        time = dims[1 - axis]
        for length in dict.fromkeys(lengths.sizes or ()):
            asked = Other("each of {0} to be from 0 to {1}", (Argument("lengths", length), Axis("x", 1 - axis, time)))
            ctx.require(asked, ctx.all_of(ctx.le(0, length), ctx.le(length, time)))


@primitive(
    "onnx.rnn",
    f"x: tensor, w: tensor, r: tensor, b: tensor = none, lengths: tensor = none, initial_h: tensor = none, {_STATES[:-2]}",
    "T:floating, T, T, T, I:{int32}, T -> T, T", results="tuple", refuses="lengths",
)  # fmt: skip
def rnn(
    ctx: Ctx, x: TensorInfo, w: TensorInfo, r: TensorInfo, b: TensorInfo | None, lengths: TensorInfo | None, *rest: Any
) -> list[Shape]:
    """`@rnn` with any activation, inputs of activations clipped, and sequences that end at `lengths`. ONNX RNN."""
    return _layer(ctx, "rnn", x, w, r, b, lengths, *rest)


@primitive(
    "onnx.gru",
    f"x: tensor, w: tensor, r: tensor, b: tensor = none, lengths: tensor = none, initial_h: tensor = none, {_STATES}"
    "linear_before_reset: bool = false",
    "T:floating, T, T, T, I:{int32}, T -> T, T", results="tuple", refuses="lengths",
)  # fmt: skip
def gru(
    ctx: Ctx, x: TensorInfo, w: TensorInfo, r: TensorInfo, b: TensorInfo | None, lengths: TensorInfo | None, *rest: Any
) -> list[Shape]:
    """`@gru` with any activations, inputs of activations clipped, and sequences that end at `lengths`. ONNX GRU."""
    return _layer(ctx, "gru", x, w, r, b, lengths, *rest)


def _layer(
    ctx: Ctx, cell: str, x: TensorInfo, w: TensorInfo, r: TensorInfo, b: TensorInfo | None, lengths: TensorInfo | None,
    initial_h: TensorInfo | None, direction: str, layout: str, *_: Any,
) -> list[Shape]:  # fmt: skip
    _lengths(ctx, x, lengths, layout)
    return layer(ctx, cell, x, w, r, b, direction, layout, initial_h=initial_h)


@primitive(
    "onnx.lstm",
    "x: tensor, w: tensor, r: tensor, b: tensor = none, lengths: tensor = none, initial_h: tensor = none, "
    f"initial_c: tensor = none, peepholes: tensor = none, {_STATES}input_forget: bool = false, quantised: bool = false",
    "T:floating, T, T, T, I:{int32}, T, T, T -> T, T, T", results="tuple", refuses="lengths",
)  # fmt: skip
def lstm(
    ctx: Ctx, x: TensorInfo, w: TensorInfo, r: TensorInfo, b: TensorInfo | None, lengths: TensorInfo | None, *rest: Any
) -> list[Shape]:
    """`@lstm` with any activations, inputs of activations clipped, sequences that end at `lengths`, and gates that see the
    cell: `peepholes : [directions, 3 * hidden]` (input, output, forget). With `quantised` the left operand of each product is
    rounded to one of 256 steps between its least and its greatest element. ONNX LSTM."""
    initial_h, initial_c, peepholes, direction, layout = rest[:5]
    _lengths(ctx, x, lengths, layout)
    made = layer(ctx, "lstm", x, w, r, b, direction, layout, initial_h=initial_h, initial_c=initial_c)
    if peepholes is not None:
        count, width = ranked(ctx, "peepholes", peepholes, 2, "[directions, 3 * hidden]")
        ctx.require(Is(Axis("peepholes", 0, count), Number(2 if direction == "bidirectional" else 1)))
        own = Axis("r", 2, ctx.dims(r)[2])
        ctx.require(Is(Axis("peepholes", 1, width), Times(Number(3), own), "the hidden size"))
    return made
