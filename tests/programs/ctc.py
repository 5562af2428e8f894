"""The CTC loss as its definition has it: the sum over all ways to lay the labels out."""

from itertools import groupby, product

import numpy as np
from programs.plain import log_softmax

SIZES = [{"t": 6, "v": 3, "u": 2}, {"t": 4, "v": 2, "u": 0}, {"t": 5, "v": 3, "u": 3}, {"t": 1, "v": 4, "u": 1}]


def inputs(draw, t, v, u):
    return draw.numbers(t, v), 1 + draw.integers(v - 1, u)


def ctc(scores, labels):
    logs = log_softmax(scores.astype(float))
    total = 0.0
    for way in product(range(scores.shape[1]), repeat=len(scores)):
        if [label for label, _ in groupby(way) if label] == labels.tolist():
            total += np.exp(sum(logs[t, label] for t, label in enumerate(way)))
    return -np.log(total) if total else np.float32(1e30)
