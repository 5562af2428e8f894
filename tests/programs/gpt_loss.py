"""The loss of a GPT, layer by layer, in double precision."""

import numpy as np
from programs.plain import attention, gelu, layer_norm, log_softmax

SIZES = [{"b": 2, "t": 5, "v": 11, "d": 6, "layers": 2, "h": 3}, {"b": 1, "t": 2, "v": 3, "d": 4, "layers": 0, "h": 1}]


def inputs(draw, b, t, v, d, layers, h):
    shapes = [(d,), (d, 3 * d), (d, d), (d,), (d, 4 * d), (4 * d, d)]
    weights = tuple(draw.numbers(layers, *shape) for shape in shapes)
    return draw.integers(v, b, t), draw.numbers(v, d), draw.numbers(t + 2, d), weights, draw.numbers(d), h


def gpt_loss(tokens, words, places, layers, norm, h):
    length = tokens.shape[1]
    x = words[tokens] + places[:length]
    for norm1, qkv, out, norm2, wide, narrow in zip(*layers, strict=True):
        q, k, v = np.split(layer_norm(x, norm1) @ qkv, 3, axis=-1)
        y = x + attention(q, k, v, h, np.tril(np.ones((length, length), bool))) @ out
        x = y + gelu(layer_norm(y, norm2) @ wide) @ narrow
    logs = log_softmax(layer_norm(x, norm) @ words.T)[:, :-1]
    return -np.take_along_axis(logs, tokens[:, 1:, None], axis=-1).mean()
