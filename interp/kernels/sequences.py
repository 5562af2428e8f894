"""NumPy kernels of sequences; the only loop is the one over the frames of `ctc_loss`."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .elementwise import Array, widened
from .index import positions_of
from .nn import weighed
from .quiet import quiet
from .registry import BadValue, kernel
from .windows import narrow


@kernel("reverse_sequence")
def reverse_sequence(x: Array, lengths: Array, time_axis: int, batch_axis: int) -> Array:
    moved = np.moveaxis(x, (time_axis, batch_axis), (0, 1))
    counts = _within(lengths, "lengths", 0, moved.shape[0])
    times = np.arange(moved.shape[0])[:, None]
    chosen = np.where(times < counts, counts - 1 - times, times)
    return np.moveaxis(moved[chosen, np.arange(moved.shape[1])], (0, 1), (time_axis, batch_axis))


def _within(values: Array, name: str, least: int, most: int) -> Array:
    """Check that all integers are in a range."""
    given: Array = np.asarray(positions_of(values)).astype(np.int64, copy=False)
    bad = given[(given < least) | (given > most)]
    if bad.size:
        raise BadValue(f"`{name}` holds {bad.flat[0]}, which is not from {least} to {most}")
    return given


@kernel("rotary_embedding")
@quiet
def rotary_embedding(x: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    source, c, s = widened(x), widened(cos), widened(sin)
    half, result = c.shape[-1], source.copy()
    step = 2 if interleaved else 1
    first, second = slice(0, half * step, step), slice(1 if interleaved else half, 2 * half, step)
    a, b = source[..., first], source[..., second]
    result[..., first] = a * c - b * s
    result[..., second] = b * c + a * s
    return narrow(result, x.dtype)


@kernel("grouped_query_attention")
@quiet
def grouped_query_attention(
    q: Array, k: Array, v: Array, mask: Array | None, causal: bool, past: int, scale: float | None
) -> Array:
    *lead, heads, rows, width = q.shape
    groups, columns = k.shape[-3:-1]
    factor = 1 / sqrt(max(width, 1)) if scale is None else scale
    wide = widened(q)
    # The heads of a group are stacked, so that one product serves them all.
    asked = (wide * np.asarray(factor, wide.dtype)).reshape(*lead, groups, heads // groups * rows, width)
    scores = np.matmul(asked, np.swapaxes(widened(k), -1, -2)).reshape(*lead, heads, rows, columns)
    counts = np.arange(columns) <= np.arange(rows)[:, None] + min(past, columns) if causal else None
    weights = weighed(scores, mask, counts).reshape(*lead, groups, heads // groups * rows, columns)
    return narrow(np.matmul(weights, widened(v)).reshape(*lead, heads, rows, v.shape[-1]), q.dtype)


@kernel("cosine_similarity")
@quiet
def cosine_similarity(x: Array, y: Array, axis: int, epsilon: float) -> Array:
    a, b = np.moveaxis(widened(x), axis, -1), np.moveaxis(widened(y), axis, -1)
    lengths = (np.sqrt(np.add.reduce(np.square(n), axis=-1)) for n in (a, b))
    first, second = (np.maximum(n, np.asarray(epsilon, n.dtype)) for n in lengths)
    return narrow(np.asarray(np.add.reduce(a * b, axis=-1) / (first * second)), x.dtype)


@kernel("ctc_loss")
@quiet
def ctc_loss(
    x: Array,
    target: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    reduction: str,
    zero_infinity: bool,
) -> Array:
    chances = widened(x)
    frames, batch, classes = chances.shape
    counts = _within(input_lengths, "input_lengths", 0, frames)
    sizes = _within(target_lengths, "target_lengths", 0, target.shape[1])
    labels = _within(target, "target", 0, classes - 1)
    losses = -_likelihood(chances, labels, counts, sizes, blank)
    if zero_infinity:
        losses = np.where(np.isinf(losses), 0, losses).astype(chances.dtype)
    if reduction == "none":
        return narrow(losses, x.dtype)
    if reduction == "sum":
        return narrow(np.asarray(np.add.reduce(losses)), x.dtype)
    means = losses / np.maximum(sizes, 1).astype(chances.dtype)
    return narrow(np.asarray(np.add.reduce(means) / np.asarray(batch, chances.dtype)), x.dtype)


def _likelihood(chances: Any, labels: Array, counts: Array, sizes: Array, blank: int) -> Any:
    """[b]: the logarithm of the probability of each text, by the table of its prefixes with blanks between the classes."""
    frames, batch, _ = chances.shape
    spelled = np.full((batch, 2 * labels.shape[1] + 1), blank, np.int64)
    spelled[:, 1::2] = labels
    # A class may follow another one without a blank between them.
    skips = np.zeros(spelled.shape, bool)
    skips[:, 2:] = (spelled[:, 2:] != blank) & (spelled[:, 2:] != spelled[:, :-2])
    rows = np.arange(batch)[:, None]
    least = np.asarray(-np.inf, chances.dtype)
    table = np.full(spelled.shape, least, chances.dtype)
    table[:, 0] = 0  # before the first frame: nothing is spelled
    moved = np.full((3, *spelled.shape), least, chances.dtype)
    for time in range(frames):
        moved[0] = table
        moved[1, :, 1:] = table[:, :-1]
        moved[2, :, 2:] = np.where(skips[:, 2:], table[:, :-2], least)
        made = np.logaddexp.reduce(moved, axis=0) + chances[time][rows, spelled]
        table = np.where((time < counts)[:, None], made, table)
    ends = np.stack([table[rows[:, 0], 2 * sizes], np.where(sizes > 0, table[rows[:, 0], 2 * sizes - 1], least)])
    return np.logaddexp.reduce(ends, axis=0)
