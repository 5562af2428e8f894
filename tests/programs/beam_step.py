"""A step of beam search by sorting all continuations."""

import numpy as np
from programs.plain import log_softmax

SIZES = [{"b": 2, "k": 3, "v": 5, "t": 4}, {"b": 1, "k": 1, "v": 2, "t": 0}, {"b": 2, "k": 4, "v": 1, "t": 1}]


def inputs(draw, b, k, v, t):
    return draw.numbers(b, k), draw.numbers(b, k, v), draw.integers(v, b, k, t)


def beam_step(scores, logits, texts):
    best, longer = [], []
    for score, logit, text in zip(scores, log_softmax(logits), texts, strict=True):
        ways = [(score[i] + x, [*text[i], w]) for i, row in enumerate(logit) for w, x in enumerate(row)]
        ways = sorted(ways, key=lambda way: -way[0])[: len(score)]
        best.append([s for s, _ in ways])
        longer.append([t for _, t in ways])
    return np.array(best), np.array(longer)
