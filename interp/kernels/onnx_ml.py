"""Kernels of ai.onnx.ml: features, linear models, support vectors, and transforms of scores, as in onnxruntime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .quiet import quiet
from .registry import Array, BadValue, kernel, rows


@kernel("onnx.impute")
def impute(x: Array, values: Array, replaced: Array) -> Array:
    old = replaced.reshape(())
    return np.asarray(np.where(np.isnan(x) if old != old else x == old, values, x))


@kernel("onnx.normalize_features")
@quiet
def normalize_features(x: Array, norm: str) -> Array:
    wide = x.astype(np.float32)
    if not x.size:
        return wide
    if norm == "MAX":
        by = wide.max(-1, keepdims=True)
    elif norm == "L1":
        by = np.abs(wide).sum(-1, keepdims=True)
    else:
        by = np.sqrt(np.square(wide).sum(-1, keepdims=True))
    return np.asarray(wide / np.where(by == 0, 1, by).astype(np.float32))


@kernel("onnx.features")
def features(x: Array, count: int) -> Array:
    flat = (x.reshape(len(x), -1) if x.size else np.empty((len(x), 0))) if x.ndim > 1 else x[None]
    made = np.zeros((len(flat), count), np.float32)
    kept = min(count, flat.shape[1])
    made[:, :kept] = flat[:, :kept]
    return made


@kernel("onnx.one_hot_encode")
def one_hot_encode(x: Array, categories: Array, zeros: bool) -> Array:
    sought = x if x.dtype == categories.dtype else x.astype(categories.dtype)
    made = np.asarray(sought[..., None] == categories)
    if not zeros and not made.any(-1).all():
        raise BadValue("`x` has an element that is none of the categories")
    return made.astype(np.float32)


# Transforms of scores


def _logistic(x: Array) -> Array:
    made = 1 / (1 + np.exp(-np.abs(x)))
    return np.asarray(np.where(x < 0, 1 - made, made))


def _softmax(x: Array) -> Array:
    made = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(made / made.sum(-1, keepdims=True))


def _softmax_zero(x: Array) -> Array:
    """Softmax over the nonzero elements; zeros stay near 0."""
    most = x.max(-1, keepdims=True)
    there = np.abs(x) > 1e-7
    made = np.where(there, np.exp(x - most), x * np.exp(-most))
    total = made.sum(-1, keepdims=True)
    return np.asarray(made / np.where(total == 0, 1, total))


def _probit(x: Array) -> Array:
    """Winitzki's approximation of the inverse of the error function."""
    y = 2 * x - 1
    log = np.log((1 - y) * (1 + y))
    v = 2 / (np.float32(3.14159) * np.float32(0.147)) + 0.5 * log
    return np.asarray(np.float32(1.41421356) * np.where(y < 0, -1, 1) * np.sqrt(np.sqrt(v * v - log / 0.147) - v))


_POST: dict[str, Callable[[Array], Array]] = {
    "NONE": lambda x: x, "LOGISTIC": _logistic, "SOFTMAX": _softmax, "SOFTMAX_ZERO": _softmax_zero, "PROBIT": _probit,
}  # fmt: skip


@quiet
def told(scores: Array, how: str) -> Array:
    """Transform the scores of rows; PROBIT alone changes a single score."""
    if scores.shape[1] == 1 and how != "PROBIT":
        return scores
    return _POST[how](scores) if scores.size else scores


@quiet
def two(score: Array, how: str, as_share: bool) -> Array:
    """Both scores of rows that have one: a share and its complement, or a number and its opposite."""
    if how == "PROBIT":
        return _probit(np.concatenate((1 - score, score), 1))
    if how == "LOGISTIC":
        return _logistic(np.concatenate((-score, score), 1))
    return np.concatenate((1 - score if as_share else -score, score), 1)


@kernel("onnx.linear_classes")
@quiet
def linear_classes(scores: Array, labels: int, how: str) -> tuple[Array, Array]:
    scores = np.atleast_2d(scores)
    if scores.shape[1] > 1:
        return scores.argmax(1), told(scores, how).astype(scores.dtype)
    chosen = (scores[:, 0] > 0).astype(np.int64)
    if labels != 2:
        return chosen, told(scores, how).astype(scores.dtype)
    share = _logistic(scores) if how == "LOGISTIC" else scores
    made = two(share, "NONE", True)
    return chosen, (_probit(made) if how == "PROBIT" else made).astype(scores.dtype)


# Support vectors


def _kernels(x: Array, support: Array, kernel: str, gamma: float, coef0: float, degree: float) -> Array:
    """[rows, vectors]"""
    products = np.matmul(x, support.T)
    if kernel == "POLY":
        return np.asarray((gamma * products + coef0) ** degree)
    if kernel == "SIGMOID":
        return np.asarray(np.tanh(gamma * products + coef0))
    if kernel == "RBF":
        return np.asarray(np.exp(-gamma * np.square(x[:, None] - support).sum(-1)))
    return np.asarray(products)


@kernel("onnx.svm_scores")
@quiet
def svm_scores(
    x: Array, support: Array, coefficients: Array, rho: Array, kernel: str, gamma: float, coef0: float, degree: float,
    one_class: bool, post: str,
) -> Array:  # fmt: skip
    made = _kernels(np.atleast_2d(x).astype(np.float32), support, kernel, gamma, coef0, degree)
    total = np.matmul(made, coefficients.reshape(-1, 1)) + rho[0]
    if one_class:
        return np.where(total > 0, 1, -1).astype(np.float32)
    return told(np.asarray(total, np.float32), post).astype(np.float32)


@kernel("onnx.svm_classes")
@quiet
def svm_classes(
    x: Array, support: Array, coefficients: Array, rho: Array, kernel: str, gamma: float, coef0: float, degree: float,
    counts: tuple[int, ...], prob_a: Array | None, prob_b: Array | None, post: str,
) -> tuple[Array, Array]:  # fmt: skip
    made = _kernels(np.atleast_2d(x).astype(np.float32), support, kernel, gamma, coef0, degree)
    scores, votes = _by_pairs(made, coefficients.reshape(len(counts) - 1, -1), rho, counts)
    chosen = votes.argmax(1)
    if prob_a is not None and prob_b is not None:
        scores = _shares(scores, prob_a, prob_b, len(counts))
    if scores.shape[1] > 1:
        return chosen, told(scores, post).astype(np.float32)
    return chosen, two(scores, post, post not in ("NONE", "LOGISTIC")).astype(np.float32)


def _by_pairs(made: Array, coefficients: Array, rho: Array, counts: tuple[int, ...]) -> tuple[Array, Array]:
    """A score for each pair of classes, and the number of pairs that each class wins."""
    starts = np.concatenate(([0], np.cumsum(counts)))
    spans = [slice(a, b) for a, b in zip(starts, starts[1:], strict=False)]
    votes = np.zeros((len(made), len(counts)), np.int64)
    scores: list[Array] = []
    for i, one in enumerate(spans):
        for j in range(i + 1, len(spans)):
            other = spans[j]
            score = made[:, one] @ coefficients[j - 1, one] + made[:, other] @ coefficients[i, other] + rho[len(scores)]
            votes[np.arange(len(made)), np.where(score > 0, i, j)] += 1
            scores.append(score)
    return np.stack(scores, 1), votes


def _shares(scores: Array, prob_a: Array, prob_b: Array, count: int) -> Array:
    """The shares of classes that fit the shares of all pairs best, by Wu, Lin and Weng's second method."""
    pairs = np.zeros((len(scores), count, count))
    at = 0
    for i in range(count):
        for j in range(i + 1, count):
            pairs[:, i, j] = np.clip(1 - _logistic(scores[:, at] * prob_a[at] + prob_b[at]), 1e-7, 1 - 1e-7)
            pairs[:, j, i] = 1 - pairs[:, i, j]
            at += 1
    return np.stack([_coupled(one) for one in pairs]) if len(pairs) else np.zeros((0, count))


def _coupled(pairs: Array) -> Array:
    count = len(pairs)
    matrix = -pairs.T * pairs
    np.fill_diagonal(matrix, np.square(pairs).sum(0) - np.square(np.diag(pairs)))
    shares = np.full(count, 1 / count)
    for _ in range(max(100, count)):
        product = matrix @ shares
        whole = float(shares @ product)
        if np.abs(product - whole).max() < 0.005 / count:
            break
        for t in range(count):
            step = (whole - product[t]) / matrix[t, t]
            shares[t] += step
            whole = (whole + step * (step * matrix[t, t] + 2 * product[t])) / (1 + step) ** 2
            product = (product + step * matrix[t]) / (1 + step)
            shares /= 1 + step
    return shares


rows(
    {
        "onnx.rows": lambda x: np.atleast_2d(x),
        "onnx.scale_features": lambda x, offset, scale: np.asarray((x.astype(np.float32) - offset) * scale),
        "onnx.post_transform": lambda x, how: told(np.atleast_2d(x), how).astype(x.dtype),
    }
)
