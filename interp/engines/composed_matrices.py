"""Kernels that are compositions of others: matrices by elimination, one column per turn."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine_types import EngineArray as Array, EngineSize
from .table import Ops, Refused, composed, composed_rows

_ROWS = """
det | prod(_eliminated(ops, x, x)[0], (0,))
slogdet | (prod(sign(pivots := _eliminated(ops, x, x)[0]), (0,)), sum(log(abs(pivots)), (0,)))
inv | solve(x, eye(x.shape[-1], dtype=x.dtype))
"""
composed_rows(_ROWS, globals())


def _eliminated(ops: Ops, x: Array, y: Array) -> tuple[Array, Array]:
    """The pivots `[n, *s]`, negated for a swapped row, and the z with `x @ z == y`, by Gauss-Jordan elimination."""
    at, last, size = ops.arange(x.shape[-1]), len(x.shape) - 1, x.shape[-1]

    def turn(states: Sequence[Array], rows: Sequence[Array]) -> Sequence[Array]:
        i, rest = rows[0], states[1]
        left = ops.where(ops.less(at, i), -1.0, ops.abs(ops.take(rest, i, last)))
        best = ops.argmax(left, last - 1, True)
        order = ops.where(ops.equal(at, i), best, ops.where(ops.equal(at, best), i, at))
        rest = ops.take_along_axis(rest, ops.expand_dims(order, (-1,)), last - 1)
        row = ops.expand_dims(ops.take(rest, i, last - 1), (last - 1,))
        pivot = ops.take(row, i, last)
        row = ops.divide(row, ops.expand_dims(ops.where(ops.equal(pivot, 0), 1.0, pivot), (-1,)))
        cleared = ops.subtract(rest, ops.multiply(ops.expand_dims(ops.take(rest, i, last), (-1,)), row))
        signed = ops.where(ops.equal(best, i), pivot, ops.negative(pivot))
        return ops.squeeze(signed, (-1,)), ops.where(ops.expand_dims(ops.equal(at, i), (1,)), row, cleared)

    firsts = ops.zeros(x.shape[:-2], x.dtype), ops.concat([x, y], last)
    states, pivots = ops.scan(turn, firsts, (at,))
    return pivots, ops.slice(states[1], (size,), (size + y.shape[-1],), (last,))


def _if_all(ops: Ops, fine: Array, made: Array) -> Array:
    """Return `made` if all pivots `[n, *s]` are fine; otherwise take from a place that is refused."""
    size = made.shape[-2]
    is_fine = ops.expand_dims(ops.all(fine, (0,)), (-1,))
    places = ops.where(is_fine, ops.arange(size), ops.size_to_tensor(size))
    return ops.take_along_axis(made, ops.expand_dims(places, (-1,)), len(made.shape) - 2)


@composed("solve")
def solve(ops: Ops, x: Array, y: Array) -> Array:
    if len(y.shape) == 1:
        return ops.squeeze(ops.solve(x, ops.expand_dims(y, (1,))), (-1,))
    one, other = x.shape[:-2], y.shape[:-2]
    rank = max(len(one), len(other))
    pairs = zip((*(1,) * (rank - len(one)), *one), (*(1,) * (rank - len(other)), *other), strict=True)
    batch = tuple(ops.sizes.common(*pair) for pair in pairs)
    pivots, made = _eliminated(ops, *(ops.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, y)))
    return _if_all(ops, ops.not_equal(pivots, 0), made)


@composed("cholesky")
def cholesky(ops: Ops, x: Array, upper: bool) -> Array:
    if upper:
        return ops.matrix_transpose(ops.cholesky(ops.matrix_transpose(x)))
    at, last = ops.arange(x.shape[-1]), len(x.shape) - 1

    def turn(states: Sequence[Array], rows: Sequence[Array]) -> Sequence[Array]:
        i, made = rows[0], states[1]
        known = ops.matmul(made, ops.expand_dims(ops.take(made, i, last - 1), (-1,)))
        column = ops.subtract(ops.take(x, i, last), ops.squeeze(known, (-1,)))
        pivot = ops.take(column, i, last - 1)
        column = ops.where(ops.less(at, i), 0.0, ops.divide(column, ops.sqrt(ops.expand_dims(pivot, (-1,)))))
        return pivot, ops.where(ops.equal(at, i), ops.expand_dims(column, (-1,)), made)

    states, pivots = ops.scan(turn, (ops.zeros(x.shape[:-2], x.dtype), ops.zeros_like(x)), (at,))
    return _if_all(ops, ops.greater(pivots, 0), states[1])


@composed("matrix_power")
def matrix_power(ops: Ops, x: Array, n: EngineSize) -> Array:
    if not isinstance(n, int):
        raise Refused("powers that are known at a call only")
    base, made = ops.inv(x) if n < 0 else x, ops.broadcast_to(ops.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for digit in bin(abs(n))[2:]:
        made = ops.matmul(made, made)
        made = ops.matmul(made, base) if digit == "1" else made
    return made
