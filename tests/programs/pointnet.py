"""PointNet, cloud by cloud."""

import numpy as np

SIZES = [
    {"b": 2, "n": 5, "h": 4, "m": 3, "g": 6, "classes": 2, "parts": 7},
    {"b": 3, "n": 1, "h": 1, "m": 2, "g": 1, "classes": 1, "parts": 2},
]


def inputs(draw, b, n, h, m, g, classes, parts):
    shapes = [(b, n, 3), (h, 3), (9, h), (m, 3), (g, m), (classes, g), (parts, m + g)]
    return tuple(draw.numbers(*shape) for shape in shapes)


def pointnet(points, lift, turn, w1, w2, classify, each):
    kinds, parts = [], []
    for cloud in points:
        matrix = (turn @ np.maximum(cloud @ lift.T, 0).max(axis=0)).reshape(3, 3) + np.eye(3)
        local = np.maximum(cloud @ matrix @ w1.T, 0)
        whole = np.maximum(local @ w2.T, 0).max(axis=0)
        kinds.append(classify @ whole)
        parts.append([each @ np.concatenate([point, whole]) for point in local])
    return np.array(kinds), np.array(parts)
