"""Windowed attention, one window after the other, and the merge of its patches."""

import numpy as np
from programs.plain import layer_norm, softmax

SIZES = [
    {"b": 2, "h": 4, "w": 8, "c": 6, "s": 4, "heads": 3},
    {"b": 1, "h": 6, "w": 6, "c": 2, "s": 3, "heads": 1},
    {"b": 1, "h": 2, "w": 4, "c": 2, "s": 1, "heads": 2},
]


def inputs(draw, b, h, w, c, s, heads):
    return (
        draw.numbers(b, h, w, c), s, heads, draw.numbers(c), draw.numbers(3 * c, c),
        draw.numbers((2 * s - 1) ** 2, heads), draw.numbers(2 * c, 4 * c),
    )  # fmt: skip


def attended(window, heads, qkv, bias):
    b, s, _, c = window.shape
    q, k, v = (part.reshape(b, s * s, heads, c // heads) for part in np.split(window @ qkv.T, 3, axis=-1))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) + bias
    return np.einsum("bhqk,bkhd->bqhd", softmax(scores), v).reshape(b, s, s, c)


def swin(x, s, heads, norm, qkv, table, merge):
    places = [(i, j) for i in range(s) for j in range(s)]
    near = [[table[(a - c + s - 1) * (2 * s - 1) + b - d + s - 1] for c, d in places] for a, b in places]
    bias = np.transpose(np.array(near), (2, 0, 1))
    rolled = np.roll(layer_norm(x, norm), (-(s // 2), -(s // 2)), axis=(1, 2))
    seen = np.empty_like(rolled)
    for i in range(0, x.shape[1], s):
        for j in range(0, x.shape[2], s):
            seen[:, i : i + s, j : j + s] = attended(rolled[:, i : i + s, j : j + s], heads, qkv, bias)
    y = x + np.roll(seen, (s // 2, s // 2), axis=(1, 2))
    return np.concatenate([y[:, i::2, j::2] for j in range(2) for i in range(2)], axis=-1) @ merge.T
