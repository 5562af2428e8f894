"""The loss of a transducer, cell by cell of the grid of frames and labels."""

import numpy as np
from programs.plain import log_softmax

SIZES = [
    {"b": 2, "t": 4, "u": 3, "d": 5, "v": 6},
    {"b": 1, "t": 1, "u": 0, "d": 2, "v": 2},
    {"b": 2, "t": 3, "u": 1, "d": 1, "v": 3},
]


def inputs(draw, b, t, u, d, v):
    return draw.numbers(b, t, d), draw.numbers(b, u + 1, d), draw.integers(v, b, u), draw.numbers(v, d)


def one(scores, labels):
    frames, places, _ = scores.shape
    alpha = np.full((frames, places), -np.inf)
    for t in range(frames):
        for u in range(places):
            ways = [0.0] if t == u == 0 else []
            if t:
                ways.append(alpha[t - 1, u] + scores[t - 1, u, 0])
            if u:
                ways.append(alpha[t, u - 1] + scores[t, u - 1, labels[u - 1]])
            alpha[t, u] = np.logaddexp.reduce(ways)
    return -(alpha[-1, -1] + scores[-1, -1, 0])


def rnnt_joint(frames, labels, targets, out):
    scores = log_softmax(np.tanh(frames[:, :, None] + labels[:, None]) @ out.T)
    return np.array([one(s, t) for s, t in zip(scores, targets, strict=True)])
