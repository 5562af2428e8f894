"""Sinkhorn's algorithm on the weights themselves, until they stay."""

import numpy as np

SIZES = [{"n": 4, "m": 3, "most": 1000}, {"n": 1, "m": 5, "most": 1000}]


def inputs(draw, n, m, most):
    a, b = np.abs(draw.numbers(n, dtype="float64")) + 0.1, np.abs(draw.numbers(m, dtype="float64")) + 0.1
    return draw.numbers(n, m, dtype="float64"), a / a.sum(), b / b.sum(), np.array(0.5), np.array(1e-12), most


def sinkhorn(cost, a, b, epsilon, tolerance, most):
    kernel = np.exp(-cost / epsilon)
    u, v = np.ones(len(a)), np.ones(len(b))
    for _ in range(most):
        u = a / (kernel @ v)
        v = b / (kernel.T @ u)
    return u[:, None] * kernel * v
