"""Kernels that are short compositions of others: turns over an axis, and the layers of recurrent networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from ...lang.dtypes import int_range
from ..engine_types import EngineArray as Array, EngineDType, EngineResult
from .table import Ops, Turn, composed, composed_rows

_ROWS = """
cumulative_max | _running(ops, maximum, bound(ops, x, greatest=False), x, axis, reverse)
cumulative_min | _running(ops, minimum, bound(ops, x, greatest=True), x, axis, reverse)
cumulative_logsumexp | _running(ops, logaddexp, bound(ops, x, greatest=False), x, axis, reverse)
rnn_cell | rnn_turn(activation)(ops, r, b)((h,), (with_inputs(ops, x, w, b),))[0]
lstm_cell | lstm_turn(ops, r, b)((h, c), (with_inputs(ops, x, w, b),))
gru_cell | gru_turn(linear_before_reset)(ops, r, b)((h,), (with_inputs(ops, x, w, b),))[0]
rnn | layer(ops, rnn_turn(activation), x, w, r, b, direction, layout, initial_h)
lstm | layer(ops, lstm_turn, x, w, r, b, direction, layout, initial_h, initial_c)
gru | layer(ops, gru_turn(linear_before_reset), x, w, r, b, direction, layout, initial_h)
"""
composed_rows(_ROWS, globals())

# Turns over an axis


def _running(ops: Ops, step: Callable[..., Array], identity: Array, x: Array, axis: int, reverse: bool) -> Array:
    """Accumulate the elements along an axis by `step`."""
    rows = ops.moveaxis(x, (axis,), (0,))
    first = ops.full(rows.shape[1:], identity, x.dtype)
    _, made = ops.scan(lambda states, given: (step(states[0], given[0]),), (first,), (rows,), reverse)
    return ops.moveaxis(made, (0,), (axis,))


def bound(ops: Ops, x: Array, *, greatest: bool) -> EngineResult:
    """The bound below, or above, all elements."""
    dtype = ops.dtype_of(x)
    return int_range(dtype)[greatest] if dtype.kind in ("int", "uint") else inf if greatest else -inf


def _cumulative(name: str, over: str, first: int) -> None:
    @composed(name)
    def cumulative(
        ops: Ops, x: Array, axis: int | None, dtype: EngineDType, include_initial: bool, exclusive: bool, reverse: bool
    ) -> Array:  # fmt: skip
        if include_initial or exclusive:
            given = _shifted(ops, x, first, axis or 0, dtype, include_initial, reverse)
            return getattr(ops, name)(given, axis, reverse=reverse)
        given = x if dtype is None else ops.cast(x, dtype)
        return _running(ops, getattr(ops, over), first, given, axis or 0, reverse)


_cumulative("cumulative_sum", "add", 0)
_cumulative("cumulative_prod", "multiply", 1)


def _shifted(ops: Ops, x: Array, first: int, axis: int, dtype: EngineDType, is_whole: bool, reverse: bool) -> Array:
    """An axis with `first` before it, or behind it if it is read backwards; without its last element unless `is_whole`."""
    x, axis = x if dtype is None else ops.cast(x, dtype), axis % len(x.shape)
    edge = ops.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), first, x.dtype)
    made = ops.concat([x, edge] if reverse else [edge, x], axis)
    size = x.shape[axis]
    return made if is_whole else ops.slice(made, (int(reverse),), (size + int(reverse),), (axis,))


def _rows(ops: Ops, x: Array, at: int) -> Array:
    return ops.squeeze(ops.slice(x, (at,), (at + 1,), (0,)), (0,))


def layer(
    ops: Ops, begin: Callable[..., Turn], x: Array, w: Array, r: Array, b: Array | None, direction: str, layout: str,
    *initial: Array | None,
) -> tuple[Array, ...]:  # fmt: skip
    """The hidden states of all steps, and every final state, in the layout of x."""
    if layout == "batch_first":
        x, initial = ops.swapaxes(x, 0, 1), tuple(s if s is None else ops.swapaxes(s, 0, 1) for s in initial)
    outputs, finals = [], []
    for at in range(2 if direction == "bidirectional" else 1):
        own = [v if v is None else _rows(ops, v, at) for v in (w, r, b)]
        zero = ops.zeros((x.shape[1], r.shape[-1]), x.dtype)
        firsts = tuple(zero if s is None else _rows(ops, s, at) for s in initial)
        given = with_inputs(ops, x, own[0], own[2])
        is_back = direction == "reverse" or at == 1
        last, made = ops.scan(begin(ops, *own[1:]), firsts, (given,), is_back)
        outputs.append(made)
        finals.append(last)
    stacked = [ops.stack(states, 0) for states in zip(*finals, strict=True)]
    if layout == "batch_first":
        return ops.moveaxis(ops.stack(outputs, 1), (2,), (0,)), *(ops.swapaxes(s, 0, 1) for s in stacked)
    return ops.stack(outputs, 1), *stacked


def with_inputs(ops: Ops, x: Array, w: Array, b: Array | None) -> Array:
    """The inputs' part of all gates, with their biases."""
    made = ops.matmul(x, ops.matrix_transpose(w))
    return made if b is None else ops.add(made, ops.split(b, 2)[0])


def _of_state(ops: Ops, r: Array, b: Array | None) -> Callable[[Array], Array]:
    """The state's part of all gates, with their biases."""
    turned, bias = ops.matrix_transpose(r), None if b is None else ops.split(b, 2)[1]
    return lambda h: ops.matmul(h, turned) if bias is None else ops.add(ops.matmul(h, turned), bias)


def rnn_turn(activation: str) -> Callable[..., Turn]:
    def begin(ops: Ops, r: Array, b: Array | None) -> Turn:
        state = _of_state(ops, r, b)

        def turn(states: Sequence[Array], rows: Sequence[Array]) -> Sequence[Array]:
            made = ops.add(rows[0], state(states[0]))
            return (ops.tanh(made) if activation == "tanh" else ops.relu(made),)

        return turn

    return begin


def lstm_turn(ops: Ops, r: Array, b: Array | None) -> Turn:
    state = _of_state(ops, r, b)

    def turn(states: Sequence[Array], rows: Sequence[Array]) -> Sequence[Array]:
        i, o, f, g = ops.split(ops.add(rows[0], state(states[0])), 4, axis=1)
        cell = ops.add(ops.multiply(ops.sigmoid(f), states[1]), ops.multiply(ops.sigmoid(i), ops.tanh(g)))
        return ops.multiply(ops.sigmoid(o), ops.tanh(cell)), cell

    return turn


def gru_turn(is_late: bool) -> Callable[..., Turn]:
    def begin(ops: Ops, r: Array, b: Array | None) -> Turn:
        size = r.shape[-1]
        state = _of_state(ops, r, b)
        inner = ops.matrix_transpose(ops.slice(r, (2 * size,), (3 * size,), (0,)))

        def turn(states: Sequence[Array], rows: Sequence[Array]) -> Sequence[Array]:
            (h,), (zx, rx, nx), (zh, rh, nh) = (
                states,
                ops.split(rows[0], 3, axis=1),
                ops.split(state(states[0]), 3, axis=1),
            )
            z, reset = ops.sigmoid(ops.add(zx, zh)), ops.sigmoid(ops.add(rx, rh))
            if is_late:
                made = ops.multiply(reset, nh)
            else:
                made = ops.matmul(ops.multiply(reset, h), inner)
                made = made if b is None else ops.add(made, ops.slice(b, (5 * size,), (6 * size,), (0,)))
            new = ops.tanh(ops.add(nx, made))
            return (ops.add(new, ops.multiply(z, ops.subtract(h, new))),)

        return turn

    return begin
