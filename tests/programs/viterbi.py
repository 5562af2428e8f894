"""The most likely path of all paths."""

from itertools import product

import numpy as np

SIZES = [{"t": 5, "k": 3}, {"t": 1, "k": 4}, {"t": 4, "k": 1}]


def inputs(draw, t, k):
    return draw.numbers(k, dtype="float64"), draw.numbers(k, k, dtype="float64"), draw.numbers(t, k, dtype="float64")


def viterbi(start, moves, emits):
    def score(path):
        steps = sum(moves[a, b] for a, b in zip(path, path[1:], strict=False))
        return start[path[0]] + steps + sum(emits[i, state] for i, state in enumerate(path))

    best = max(product(range(len(start)), repeat=len(emits)), key=score)
    return np.array(best), score(best)
