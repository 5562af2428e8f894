"""A feature pyramid of three levels."""

import numpy as np
from programs.plain import conv2d

SIZES = [{"n": 2, "h": 8, "w": 16, "c": 3, "o": 5}, {"n": 1, "h": 24, "w": 8, "c": 1, "o": 2}]


def inputs(draw, n, h, w, c, o):
    down = [draw.numbers(2, c, 3, 3), draw.numbers(3, 2, 3, 3), draw.numbers(4, 3, 3, 3)]
    return draw.numbers(n, c, h, w), *down, *(draw.numbers(o, k, 1, 1) for k in (2, 3, 4))


def doubled(x):
    return x.repeat(2, axis=2).repeat(2, axis=3)


def fpn(x, d1, d2, d3, l1, l2, l3):
    x1 = np.maximum(conv2d(x, d1, stride=2, pad=1), 0)
    x2 = np.maximum(conv2d(x1, d2, stride=2, pad=1), 0)
    x3 = np.maximum(conv2d(x2, d3, stride=2, pad=1), 0)
    p3 = conv2d(x3, l3)
    p2 = conv2d(x2, l2) + doubled(p3)
    return conv2d(x1, l1) + doubled(p2), p2, p3
