"""A vision transformer, patch by patch."""

import numpy as np
from programs.plain import attention, gelu, layer_norm

SIZES = [
    {"b": 2, "c": 3, "h": 2, "w": 3, "p": 4, "d": 6, "m": 5, "classes": 7, "heads": 2},
    {"b": 1, "c": 1, "h": 1, "w": 1, "p": 2, "d": 4, "m": 3, "classes": 2, "heads": 4},
]


def inputs(draw, b, c, h, w, p, d, m, classes, heads):
    return (
        draw.numbers(b, c, h * p, w * p), p, draw.numbers(d, c * p * p), draw.numbers(d), draw.numbers(h * w + 1, d),
        draw.numbers(d), draw.numbers(3 * d, d), draw.numbers(d, d), draw.numbers(d), draw.numbers(m, d),
        draw.numbers(d, m), draw.numbers(classes, d), heads,
    )  # fmt: skip


def vit(image, p, project, cls, places, norm1, qkv, out, norm2, up, down, classify, heads):
    b, _, height, width = image.shape
    cut = [image[:, :, i : i + p, j : j + p].reshape(b, -1) for i in range(0, height, p) for j in range(0, width, p)]
    tokens = np.stack(cut, axis=1) @ project.T
    x = np.concatenate([np.tile(cls, (b, 1, 1)), tokens], axis=1) + places
    q, k, v = np.split(layer_norm(x, norm1) @ qkv.T, 3, axis=-1)
    y = x + attention(q, k, v, heads) @ out.T
    z = y + gelu(layer_norm(y, norm2) @ up.T) @ down.T
    return z[:, 0] @ classify.T
