"""An LSTM over each sequence by itself, as long as it is."""

import numpy as np
from programs.plain import lstm

SIZES = [{"b": 3, "t": 5, "d": 2, "h": 4}, {"b": 1, "t": 1, "d": 3, "h": 1}, {"b": 2, "t": 0, "d": 3, "h": 2}]


def inputs(draw, b, t, d, h):
    lengths = draw.integers(t + 1, b)
    return draw.numbers(b, t, d), lengths, draw.numbers(4 * h, d), draw.numbers(4 * h, h), draw.numbers(8 * h)


def lstm_by_cell(x, lengths, w, r, bias):
    hidden = r.shape[1]
    states, last = np.zeros((*x.shape[:2], hidden)), np.zeros((len(x), hidden))
    for i, length in enumerate(lengths):
        if length:
            states[i, :length] = lstm(x[i, :length], w, r, bias)
            last[i] = states[i, length - 1]
    return states, last
