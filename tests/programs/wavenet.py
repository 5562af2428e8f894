"""Dilated causal convolutions, one step of time after the other."""

import numpy as np
from programs.plain import sigmoid

SIZES = [
    {"b": 2, "c": 3, "t": 9, "layers": 4},
    {"b": 1, "c": 2, "t": 1, "layers": 1},
    {"b": 1, "c": 2, "t": 5, "layers": 0},
]


def inputs(draw, b, c, t, layers):
    kernels = draw.numbers(layers, c, c, 2), draw.numbers(layers, c, c, 2), draw.numbers(layers, c, c, 1)
    return draw.numbers(b, c, t), *kernels


def causal(x, kernel, step):
    y = np.empty_like(x)
    for t in range(x.shape[2]):
        before = x[:, :, t - step] if t >= step else np.zeros_like(x[:, :, 0])
        y[:, :, t] = before @ kernel[:, :, 0].T + x[:, :, t] @ kernel[:, :, 1].T
    return y


def wavenet(x, filters, gates, outs):
    skips = np.zeros_like(x)
    for i, (filter, gate, out) in enumerate(zip(filters, gates, outs, strict=True)):
        z = np.tanh(causal(x, filter, 2**i)) * sigmoid(causal(x, gate, 2**i))
        y = np.einsum("oc,bct->bot", out[:, :, 0], z)
        x, skips = x + y, skips + y
    return np.maximum(skips, 0)
