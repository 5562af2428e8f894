"""Graph convolutions with a dense matrix of neighbours."""

import numpy as np

SIZES = [
    {"n": 6, "d": 3, "e": 9, "graphs": 3, "h": 4, "o": 2},
    {"n": 1, "d": 2, "e": 0, "graphs": 2, "h": 1, "o": 3},
]


def inputs(draw, n, d, e, graphs, h, o):
    edges, graph = draw.integers(n, 2, e), draw.integers(graphs, n)
    return draw.numbers(n, d), edges, graph, graphs, draw.numbers(h, d), draw.numbers(o, h)


def graph_convolution(x, edges, graph, graphs, w1, w2):
    near = np.eye(len(x))
    np.add.at(near, (edges[1], edges[0]), 1)
    degree = near.sum(axis=1)
    near /= np.sqrt(np.outer(degree, degree))
    y = near @ np.maximum(near @ x @ w1.T, 0) @ w2.T
    return np.stack([y[graph == g].mean(axis=0) if (graph == g).any() else 0 * w2[:, 0] for g in range(graphs)])
