"""Diffusion, step by step backwards."""

import numpy as np
from programs.plain import sigmoid

SIZES = [{"b": 3, "n": 4, "steps": 5, "h": 6, "d": 2}, {"b": 1, "n": 1, "steps": 1, "h": 2, "d": 3}]


def inputs(draw, b, n, steps, h, d):
    betas = np.linspace(0.1, 0.3, steps, dtype=np.float32)
    weights = draw.numbers(h, n + 2 * d), draw.numbers(n, h)
    return draw.numbers(b, n), betas, draw.numbers(steps, b, n), *weights, d


def noise_of(x, t, w1, w2, d):
    angles = t * np.exp(-np.log(10000) * np.arange(d) / d)
    time = np.tile(np.concatenate([np.sin(angles), np.cos(angles)]), (len(x), 1))
    y = np.concatenate([x, time], axis=1) @ w1.T
    return (y * sigmoid(y)) @ w2.T


def diffusion(start, betas, noise, w1, w2, d):
    kept, x = np.cumprod(1 - betas), start
    for t in range(len(betas) - 1, -1, -1):
        guess = noise_of(x, t, w1, w2, d)
        x = (x - betas[t] / np.sqrt(1 - kept[t]) * guess) / np.sqrt(1 - betas[t])
        if t:
            x = x + np.sqrt(betas[t]) * noise[t]
    noisy = np.sqrt(kept[0]) * start + np.sqrt(1 - kept[0]) * noise[0]
    return x, ((noise_of(noisy, 0, w1, w2, d) - noise[0]) ** 2).mean()
