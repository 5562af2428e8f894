"""The loss of CLIP, pair by pair."""

import numpy as np
from programs.plain import log_softmax

SIZES = [{"b": 4, "i": 3, "t": 5, "d": 2}, {"b": 1, "i": 1, "t": 2, "d": 3}]


def inputs(draw, b, i, t, d):
    return draw.numbers(b, i), draw.numbers(b, t), draw.numbers(d, i), draw.numbers(d, t), np.array(0.7, np.float32)


def contrastive(images, texts, from_image, from_text, heat):
    x, y = images @ from_image.T, texts @ from_text.T
    alike = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in y] for a in x]
    logits = np.array(alike) * np.exp(heat)
    return -(np.diag(log_softmax(logits)).mean() + np.diag(log_softmax(logits.T)).mean()) / 2
