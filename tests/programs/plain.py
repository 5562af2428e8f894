"""What several of the programs are made of, in plain NumPy: arrays in, arrays out, nothing shared with Rx."""

from math import erf

import numpy as np


def softmax(x):
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def log_softmax(x):
    return x - x.max(axis=-1, keepdims=True) - np.log(np.exp(x - x.max(axis=-1, keepdims=True)).sum(-1, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2)))


def layer_norm(x, scale):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * scale


def attention(q, k, v, heads, sees=True):
    """Attention of `[b, t, d]` over `[b, s, d]`, head by head; `sees` says who looks at whom."""
    width, parts = q.shape[-1] // heads, []
    for i in range(0, q.shape[-1], width):
        scores = q[..., i : i + width] @ np.swapaxes(k[..., i : i + width], -1, -2) / np.sqrt(width)
        parts.append(softmax(np.where(sees, scores, -np.inf)) @ v[..., i : i + width])
    return np.concatenate(parts, axis=-1)


def conv2d(x, weight, stride=1, pad=0):
    padded = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows[:, :, ::stride, ::stride], weight)


def conv_transpose2d(x, weight, stride=1, pad=0):
    n, _, height, width = x.shape
    _, o, k, m = weight.shape
    y = np.zeros((n, o, (height - 1) * stride + k, (width - 1) * stride + m))
    for i in range(height):
        for j in range(width):
            spread = np.einsum("nc,coij->noij", x[:, :, i, j], weight)
            y[:, :, i * stride : i * stride + k, j * stride : j * stride + m] += spread
    return y[:, :, pad : y.shape[2] - pad, pad : y.shape[3] - pad]


def lstm(x, w, r, bias):
    """The states of an LSTM over one sequence `[t, d]`; the gates are input, output, forget, cell."""
    hidden = cell = np.zeros(r.shape[1])
    states = []
    for point in x:
        i, o, f, c = np.split(w @ point + r @ hidden + bias[: len(w)] + bias[len(w) :], 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(c)
        hidden = sigmoid(o) * np.tanh(cell)
        states.append(hidden)
    return np.array(states)
