"""Batch normalisation, channel by channel."""

import numpy as np

SIZES = [{"n": 3, "c": 2, "h": 4, "w": 5}, {"n": 2, "c": 3, "h": 1, "w": 1}]


def inputs(draw, n, c, h, w):
    running = draw.numbers(c), np.abs(draw.numbers(c))
    return draw.numbers(n, c, h, w), draw.numbers(c), draw.numbers(c), running


def batch_norm_training(x, scale, shift, running):
    y, mean, var = np.empty_like(x), *(r.copy() for r in running)
    for i, channel in enumerate(np.moveaxis(x, 1, 0)):
        y[:, i] = (channel - channel.mean()) / np.sqrt(channel.var() + 1e-5) * scale[i] + shift[i]
        mean[i] = 0.9 * mean[i] + 0.1 * channel.mean()
        var[i] = 0.9 * var[i] + 0.1 * channel.var(ddof=1)
    return y, (mean, var)
