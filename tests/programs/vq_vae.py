"""A VQ-VAE, place by place."""

import numpy as np
from programs.plain import conv2d, conv_transpose2d

SIZES = [{"b": 2, "c": 3, "h": 4, "w": 6, "d": 5, "k": 7}, {"b": 1, "c": 1, "h": 2, "w": 2, "d": 1, "k": 1}]


def inputs(draw, b, c, h, w, d, k):
    return tuple(draw.numbers(*shape) for shape in [(b, c, h, w), (d, c, 4, 4), (k, d), (d, c, 4, 4)])


def vq_vae(image, encode, codes, decode):
    z = np.moveaxis(conv2d(image, encode, stride=2, pad=1), 1, -1)
    index = np.apply_along_axis(lambda place: np.argmin(((codes - place) ** 2).sum(axis=1)), -1, z)
    y = conv_transpose2d(np.moveaxis(codes[index], -1, 1), decode, stride=2, pad=1)
    return y, index, ((y - image) ** 2).mean() + 1.25 * ((codes[index] - z) ** 2).mean()
