"""k-means, centre by centre."""

import numpy as np

SIZES = [
    {"n": 12, "d": 2, "k": 4, "turns": 5},
    {"n": 2, "d": 3, "k": 5, "turns": 3},
    {"n": 0, "d": 1, "k": 2, "turns": 2},
    {"n": 3, "d": 1, "k": 1, "turns": 0},
]


def inputs(draw, n, d, k, turns):
    return draw.numbers(n, d, dtype="float64"), draw.numbers(k, d, dtype="float64"), turns


def k_means(x, start, turns):
    centres, index = start.copy(), np.zeros(len(x), np.int64)
    for _ in range(turns):
        index = np.array([((centres - point) ** 2).sum(axis=1).argmin() for point in x], np.int64)
        for k in set(index.tolist()):
            centres[k] = x[index == k].mean(axis=0)
    return centres, index
