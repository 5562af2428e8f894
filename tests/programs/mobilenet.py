"""An inverted residual, channel by channel."""

import numpy as np
from programs.plain import conv2d

SIZES = [
    {"n": 2, "h": 5, "w": 4, "c": 3, "m": 6, "s": 2, "k": 3},
    {"n": 1, "h": 1, "w": 7, "c": 2, "m": 4, "s": 1, "k": 5},
]


def inputs(draw, n, h, w, c, m, s, k):
    shapes = [(n, c, h, w), (m, c, 1, 1), (m, 1, k, k), (s, m), (m, s), (c, m, 1, 1)]
    return tuple(draw.numbers(*shape) for shape in shapes)


def hard_swish(x):
    return x * np.clip(x / 6 + 0.5, 0, 1)


def mobilenet(x, expand, depthwise, squeeze, excite, project):
    wide = hard_swish(conv2d(x, expand))
    pad = depthwise.shape[-1] // 2
    channels = [conv2d(wide[:, [i]], depthwise[[i]], pad=pad) for i in range(wide.shape[1])]
    filtered = hard_swish(np.concatenate(channels, axis=1))
    gates = np.maximum(filtered.mean(axis=(2, 3)) @ squeeze.T, 0) @ excite.T
    return x + conv2d(filtered * np.clip(0.2 * gates + 0.5, 0, 1)[..., None, None], project)
