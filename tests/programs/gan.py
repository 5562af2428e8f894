"""The losses of a GAN."""

import numpy as np
from programs.plain import conv2d, conv_transpose2d

SIZES = [{"b": 2, "d": 5, "c": 4, "m": 3}, {"b": 1, "d": 1, "c": 2, "m": 1}]


def inputs(draw, b, d, c, m):
    generator = draw.numbers(16 * c, d), draw.numbers(c, c // 2, 4, 4), draw.numbers(c // 2, 3, 4, 4)
    discriminator = draw.numbers(m, 3, 4, 4), draw.numbers(2 * m, m, 4, 4), draw.numbers(1, 32 * m)
    return draw.numbers(b, 3, 16, 16), draw.numbers(b, d), generator, discriminator


def judged(x, d1, d2, last):
    for kernel in (d1, d2):
        x = conv2d(x, kernel, stride=2, pad=1)
        x = np.where(x > 0, x, 0.2 * x)
    return x.reshape(len(x), -1) @ last[0]


def gan(images, z, generator, discriminator):
    lift, g1, g2 = generator
    x = (z @ lift.T).reshape(len(z), -1, 4, 4)
    x = np.maximum(conv_transpose2d(x, g1, stride=2, pad=1), 0)
    made = judged(np.tanh(conv_transpose2d(x, g2, stride=2, pad=1)), *discriminator)
    real = judged(images, *discriminator)
    return np.log1p(np.exp(-real)).mean() + np.log1p(np.exp(made)).mean(), np.log1p(np.exp(-made)).mean()
