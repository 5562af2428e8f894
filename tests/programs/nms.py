"""Greedy non-maximum suppression, box by box."""

import numpy as np
from programs.plain import softmax

SIZES = [{"n": 12, "c": 3, "most": 5}, {"n": 7, "c": 1, "most": 20}, {"n": 0, "c": 2, "most": 3}]
DECIDED = True  # how many boxes stay is decided by the data


def inputs(draw, n, c, most):
    corner = 4 * np.abs(draw.numbers(n, 2))
    boxes = np.concatenate([corner, corner + 1 + np.abs(draw.numbers(n, 2))], axis=1)
    return boxes, draw.numbers(n, c), most


def overlap(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    return sides.prod() / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - sides.prod())


def nms(boxes, logits, most):
    scores = softmax(logits)
    best, kind = scores.max(axis=-1), scores.argmax(axis=-1)
    kept: list[int] = []
    for i in np.argsort(-best, kind="stable"):
        if len(kept) < most and all(kind[i] != kind[j] or overlap(boxes[i], boxes[j]) <= 0.5 for j in kept):
            kept.append(int(i))
    return boxes[kept], kind[kept], best[kept]
