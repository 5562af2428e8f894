"""A selective state space layer, step by step and feature by feature."""

import numpy as np

SIZES = [{"b": 2, "t": 6, "d": 3, "n": 4}, {"b": 1, "t": 1, "d": 2, "n": 1}, {"b": 2, "t": 0, "d": 2, "n": 3}]


def inputs(draw, b, t, d, n):
    return tuple(draw.numbers(*shape) for shape in [(b, t, d), (d, n), (d, d), (n, d), (n, d), (d,)])


def state_space(x, a, to_step, to_in, to_out, direct):
    y = x * direct
    for i, sequence in enumerate(x):
        state = np.zeros(a.shape)
        for t, point in enumerate(sequence):
            step = np.log1p(np.exp(to_step @ point))[:, None]
            state = np.exp(-step * np.exp(a)) * state + step * point[:, None] * (to_in @ point)
            y[i, t] += state @ (to_out @ point)
    return y
