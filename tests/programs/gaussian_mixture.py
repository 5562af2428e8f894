"""Expectation and maximisation, Gaussian by Gaussian."""

import numpy as np

SIZES = [
    {"n": 20, "d": 2, "k": 3, "turns": 4},
    {"n": 5, "d": 1, "k": 1, "turns": 1},
    {"n": 4, "d": 3, "k": 2, "turns": 0},
]


def inputs(draw, n, d, k, turns):
    covariances = np.stack([np.eye(d)] * k) * 2
    means = draw.numbers(k, d, dtype="float64")
    return draw.numbers(n, d, dtype="float64"), np.full(k, 1 / k), means, covariances, turns


def density(x, mean, covariance):
    apart = x - mean
    exponent = -0.5 * np.einsum("ni,ij,nj->n", apart, np.linalg.inv(covariance), apart)
    return np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * covariance))


def gaussian_mixture(x, weights, means, covariances, turns):
    likelihood = np.empty(turns)
    for turn in range(turns):
        parts = [w * density(x, m, c) for w, m, c in zip(weights, means, covariances, strict=True)]
        joint = np.stack(parts, axis=1)
        likelihood[turn] = np.log(joint.sum(axis=1)).mean()
        share = joint / joint.sum(axis=1, keepdims=True)
        weights = share.mean(axis=0)
        means = np.stack([np.average(x, axis=0, weights=s) for s in share.T])
        spread = [np.cov(x.T, aweights=s, ddof=0).reshape(x.shape[1], -1) for s in share.T]
        covariances = np.stack(spread) + 1e-6 * np.eye(x.shape[1])
    return weights, means, covariances, likelihood
