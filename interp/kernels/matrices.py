"""NumPy kernels that decompose, invert or measure matrices: LAPACK's, over all leading axes at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .elementwise import widened
from .quiet import quiet
from .registry import Array, BadValue, kernel, rows
from .totals import total

# NumPy's stubs do not allow the None that these take.
_linalg: Any = np.linalg

SINGULAR = "`x` holds a matrix that has no inverse"
ENDLESS = "`x` holds a matrix whose values LAPACK does not find"


def _lapack(message: str = ENDLESS) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn LAPACK's errors into errors about the values that it was given."""

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any) -> Any:
            try:
                with np.errstate(all="ignore"):
                    return function(*args)
            except np.linalg.LinAlgError as problem:
                raise BadValue(message) from problem

        return run

    return around


@kernel("det")
@_lapack()
def det(x: Array) -> Array:
    return np.asarray(np.linalg.det(x))


# Matrix norms that are the largest or the smallest of sums of magnitudes: the axis of the sums, and whether the largest.
_OF_SUMS = {1.0: (-2, True), -1.0: (-2, False), math.inf: (-1, True), -math.inf: (-1, False)}


@kernel("matrix_norm")
@_lapack()
def matrix_norm(x: Array, keepdims: bool, ord: str) -> Array:
    how: Any = ord if ord in ("fro", "nuc") else float(ord)
    if how in _OF_SUMS:
        axis, most = _OF_SUMS[how]
        sums = total(np.abs(x), axis, True)
        chosen = np.asarray((np.max if most else np.min)(sums, axis=-3 - axis, keepdims=True))
        return chosen if keepdims else np.asarray(chosen[..., 0, 0])
    return np.asarray(np.linalg.matrix_norm(x, keepdims=keepdims, ord=how))


@kernel("vector_norm")
@quiet
def vector_norm(x: Array, axis: tuple[int, ...] | None, keepdims: bool, ord: float) -> Array:
    if ord == math.inf:
        return np.asarray(np.max(np.abs(x), axis=axis, keepdims=keepdims, initial=0))
    if ord in (-math.inf, 0):
        result = np.asarray(_linalg.vector_norm(widened(x), axis=axis, keepdims=keepdims, ord=ord))
    else:
        squares = ord == 2 and x.dtype.kind != "c"
        magnitudes = widened(x) if squares else np.abs(widened(x))
        powers = magnitudes if ord == 1 else np.square(magnitudes) if ord == 2 else magnitudes**ord
        added = total(powers, axis, keepdims)
        result = added if ord == 1 else np.sqrt(added) if ord == 2 else added ** (1 / ord)
    return result if x.dtype.kind == "c" else result.astype(x.dtype, copy=False)


def _as_complex(x: Array) -> Array:
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


rows(
    {
        "slogdet": _lapack()(lambda x: tuple(map(np.asarray, np.linalg.slogdet(x)))),
        "matrix_rank": _lapack()(lambda x, rtol: np.asarray(np.linalg.matrix_rank(x, rtol=rtol), np.int64)),
        "inv": _lapack(SINGULAR)(lambda x: np.linalg.inv(x)),
        "pinv": _lapack()(lambda x, rtol: np.asarray(_linalg.pinv(x, rtol=rtol))),
        "matrix_power": _lapack(SINGULAR)(lambda x, n: np.linalg.matrix_power(x, n)),
        "solve": _lapack(SINGULAR)(lambda x, y: np.linalg.solve(x, y)),
        "qr": _lapack()(lambda x, mode: tuple(np.linalg.qr(x, "complete" if mode == "complete" else "reduced"))),
        "svd": _lapack()(lambda x, full_matrices: tuple(np.linalg.svd(x, full_matrices))),
        "svdvals": _lapack()(lambda x: np.linalg.svd(x, compute_uv=False)),
        "eigh": _lapack()(lambda x: tuple(np.linalg.eigh(x))),
        "eigvalsh": _lapack()(lambda x: np.linalg.eigvalsh(x)),
        "eig": _lapack()(lambda x: tuple(map(_as_complex, np.linalg.eig(x)))),
        "eigvals": _lapack()(lambda x: _as_complex(np.linalg.eigvals(x))),
        "cholesky": _lapack("`x` holds a matrix that is not positive definite")(
            lambda x, upper: np.linalg.cholesky(x, upper=upper)
        ),
    }
)
