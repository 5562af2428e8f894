"""Sequences of different lengths, one by one."""

import numpy as np

SIZES = [
    {"lengths": [3, 0, 2], "longest": 4, "d": 3, "h": 2},
    {"lengths": [1], "longest": 1, "d": 1, "h": 4},
    {"lengths": [], "longest": 2, "d": 2, "h": 2},
]
DECIDED = True  # how many rows are packed again is decided by the data


def inputs(draw, lengths, longest, d, h):
    return draw.numbers(sum(lengths), d), np.array(lengths, np.int64), longest, draw.numbers(h, d)


def ragged_batches(packed, lengths, longest, w):
    y = np.tanh(packed @ w.T)
    ends = np.cumsum(lengths)
    parts = [y[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    pooled = [part.mean(axis=0) if len(part) else np.zeros(len(w)) for part in parts]
    return np.array(pooled).reshape(len(lengths), len(w)), y
