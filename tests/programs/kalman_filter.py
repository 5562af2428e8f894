"""A Kalman filter in the information form: precisions are added."""

import numpy as np

SIZES = [{"t": 4, "n": 3, "m": 2}, {"t": 1, "n": 1, "m": 1}, {"t": 0, "n": 2, "m": 1}]


def inputs(draw, t, n, m):
    move = draw.numbers(n, n, dtype="float64") / 2
    drift, blur = 0.1 * np.eye(n), 0.5 * np.eye(m)
    look = draw.numbers(m, n, dtype="float64")
    return draw.numbers(t, m, dtype="float64"), draw.numbers(n, dtype="float64"), np.eye(n), move, drift, look, blur


def kalman_filter(seen, mean, covariance, move, drift, look, blur):
    path = []
    for measured in seen:
        guess, spread = move @ mean, np.linalg.inv(move @ covariance @ move.T + drift)
        precision = spread + look.T @ np.linalg.inv(blur) @ look
        covariance = np.linalg.inv(precision)
        mean = covariance @ (spread @ guess + look.T @ np.linalg.inv(blur) @ measured)
        path.append(mean)
    return np.array(path).reshape(len(seen), len(move)), covariance
