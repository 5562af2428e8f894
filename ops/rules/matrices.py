"""Primitives that decompose, invert or measure matrices: the last two axes, for each place of the others."""

from __future__ import annotations

import math

from ..axes import Shape, axis_of, is_plain, known_shape, place, same, smaller
from ..broadcast import broadcast
from ..model import Ctx, Dim, TensorInfo
from ..operands import choice, rank_at_least
from ..registry import primitive
from ..requirements import AtLeast, Equal
from .reduce import not_empty, reduced

# The dtypes that LAPACK computes with.
_EXACTLY = "T:{float32, float64, complex64, complex128}"


def _matrix(ctx: Ctx, x: TensorInfo, name: str = "x") -> Shape:
    """The shape of a matrix operand; requires at least two axes, the last two of them known."""
    shape = known_shape(ctx, x)
    rank_at_least(ctx, name, shape, 2)
    place(ctx, shape, -2)
    return shape


def _square(ctx: Ctx, x: TensorInfo) -> tuple[Shape, Dim]:
    """The axes before the last two, and the common size of the last two."""
    shape = _matrix(ctx, x)
    rows, columns = axis_of("x", shape, len(shape) - 2), axis_of("x", shape, len(shape) - 1)
    return shape[:-2], same(ctx, rows, columns)


def _ranks(ctx: Ctx, x: TensorInfo) -> tuple[Shape, Dim, Dim, Dim]:
    """The axes before the last two, the last two, and the smaller of these."""
    shape = _matrix(ctx, x)
    return shape[:-2], shape[-2], shape[-1], smaller(ctx, shape[-2], shape[-1])


# One number for a matrix


@primitive("det", "x: tensor", f"{_EXACTLY} -> T", refuses="x")
def det(ctx: Ctx, x: TensorInfo) -> Shape:
    """The determinants of square matrices: `[*s, n, n]` gives `[*s]`; 1 where n is 0. Array API `linalg.det`."""
    return _square(ctx, x)[0]


@primitive("slogdet", "x: tensor", f"{_EXACTLY} -> T, real(T)", results="tuple", refuses="x")
def slogdet(ctx: Ctx, x: TensorInfo) -> list[Shape]:
    """The sign of the determinants, and the logarithm of their magnitudes: `[*s, n, n]` gives `[*s]` twice.

    The sign of a complex determinant has the magnitude 1; of a singular matrix it is 0, and the logarithm -inf. Array
    API `linalg.slogdet`.
    """
    return [_square(ctx, x)[0]] * 2


@primitive("matrix_rank", "x: tensor, rtol: float = none", f"{_EXACTLY} -> int64", refuses="x")
def matrix_rank(ctx: Ctx, x: TensorInfo, rtol: float | None) -> Shape:
    """The number of singular values above `rtol` times the largest one: `[*s, m, n]` gives `[*s]`.

    If `rtol` is left out, it is max(m, n) times the distance from 1 to the next number of the dtype. Array API
    `linalg.matrix_rank`.
    """
    return _matrix(ctx, x)[:-2]


_NORMS = ("fro", "nuc", "inf", "-inf", "1", "-1", "2", "-2")


@primitive("matrix_norm", 'x: tensor, keepdims: bool = false, ord: str = "fro"', f"{_EXACTLY} -> real(T)", refuses="x")
def matrix_norm(ctx: Ctx, x: TensorInfo, keepdims: bool, ord: str) -> Shape:
    """The norms of matrices: `[*s, m, n]` gives `[*s]`, or `[*s, 1, 1]` with `keepdims`.

    `ord` is "fro" (the root of the sum of squares), "nuc" (the sum of singular values), "1" or "inf" (the largest sum of
    magnitudes of a column or of a row), "2" (the largest singular value), or "-1", "-inf", "-2" for the smallest; an axis of
    size 0 is refused, except for the first two. Array API `linalg.matrix_norm`.
    """
    choice(ctx, "ord", ord, _NORMS)
    shape = _matrix(ctx, x)
    if ord not in ("fro", "nuc"):
        for back in (2, 1):
            ctx.require(AtLeast(axis_of("x", shape, len(shape) - back), 1))
    return (*shape[:-2], 1, 1) if keepdims else shape[:-2]


@primitive(
    "vector_norm",
    "x: tensor, axis: ints = none, keepdims: bool = false, ord: float = 2.0",
    "T:inexact -> real(T)",
)
def vector_norm(ctx: Ctx, x: TensorInfo, axis: tuple[int, ...] | None, keepdims: bool, ord: float) -> Shape:
    """sum(abs(x) ** ord) ** (1 / ord) over `axis`, one axis or several, over all of them if it is left out; `ord` 0 counts
    the elements that are not 0.

    The result has the other axes; with `keepdims` those that are summed stay, with size 1. With `ord` infinite, which is
    written 1e999, it is the largest magnitude, 0 of no elements; with -1e999 the smallest, where an axis of size 0 is
    refused. Array API `linalg.vector_norm`.
    """
    shape, gone = reduced(ctx, x, axis, keepdims)
    if ord == -math.inf:
        not_empty(ctx, x, gone)
    return shape


# Inverses


@primitive("inv", "x: tensor", f"{_EXACTLY} -> T", refuses="x")
def inv(ctx: Ctx, x: TensorInfo) -> Shape:
    """The inverses of square matrices, `[*s, n, n]`. A singular one ends the run. Array API `linalg.inv`."""
    batch, n = _square(ctx, x)
    return (*batch, n, n)


@primitive("pinv", "x: tensor, rtol: float = none", f"{_EXACTLY} -> T", refuses="x")
def pinv(ctx: Ctx, x: TensorInfo, rtol: float | None) -> Shape:
    """The pseudo-inverses of Moore and Penrose: `[*s, m, n]` gives `[*s, n, m]`.

    Singular values up to `rtol` times the largest count as 0; if `rtol` is left out, it is max(m, n) times the distance from
    1 to the next number of the dtype. Array API `linalg.pinv`.
    """
    shape = _matrix(ctx, x)
    return (*shape[:-2], shape[-1], shape[-2])


@primitive("matrix_power", "x: tensor, n: size", f"{_EXACTLY} -> T", refuses="x")
def matrix_power(ctx: Ctx, x: TensorInfo, n: Dim) -> Shape:
    """Square matrices `[*s, m, m]` to the power n: the unit matrix for 0; for a negative n the inverse to the power -n,
    where a singular matrix ends the run. Array API `linalg.matrix_power`.
    """
    batch, size = _square(ctx, x)
    return (*batch, size, size)


@primitive("solve", "x: tensor, y: tensor", f"{_EXACTLY}, T -> T", refuses="x")
def solve(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Shape:
    """The z with `x @ z == y`: `x : [*s, n, n]` and `y : [n]` give `[*s, n]`, `y : [*s, n, k]` gives `[*s, n, k]`.

    The axes before the last two are broadcast. A singular `x` ends the run. Array API `linalg.solve`.
    """
    batch, n = _square(ctx, x)
    right = known_shape(ctx, y)
    rank_at_least(ctx, "y", right, 1)
    if not is_plain(right):
        place(ctx, right, -2)
    rows = len(right) - min(len(right), 2)
    ctx.require(Equal(axis_of("x", (*batch, n, n), len(batch)), axis_of("y", right, rows)))
    if len(right) == 1:
        return (*batch, n)
    return (*broadcast(ctx, batch, right[:-2], last=-3), n, right[-1])


# Decompositions


@primitive("cholesky", "x: tensor, upper: bool = false", f"{_EXACTLY} -> T", refuses="x")
def cholesky(ctx: Ctx, x: TensorInfo, upper: bool) -> Shape:
    """The lower triangle L with `x == L @ L^H`, for positive definite matrices `[*s, n, n]`; with `upper` the upper one.

    Only that triangle of x is read. A matrix that is not positive definite ends the run. Array API `linalg.cholesky`.
    """
    batch, n = _square(ctx, x)
    return (*batch, n, n)


@primitive("qr", 'x: tensor, mode: str = "reduced"', f"{_EXACTLY} -> T, T", results="tuple", refuses="x")
def qr(ctx: Ctx, x: TensorInfo, mode: str) -> list[Shape]:
    """Matrices Q with orthonormal columns and upper triangles R with `x == Q @ R`: `[*s, m, n]` gives `[*s, m, k]` and
    `[*s, k, n]`, where k is min(m, n), or m where `mode` is "complete".

    Array API `linalg.qr`.
    """
    choice(ctx, "mode", mode, ("reduced", "complete"))
    batch, m, n, k = _ranks(ctx, x)
    inner = m if mode == "complete" else k
    return [(*batch, m, inner), (*batch, inner, n)]


@primitive("svd", "x: tensor, full_matrices: bool = true", f"{_EXACTLY} -> T, real(T), T", results="tuple", refuses="x")
def svd(ctx: Ctx, x: TensorInfo, full_matrices: bool) -> list[Shape]:
    """Singular values S in descending order, and U and Vh with `x == U @ diag(S) @ Vh`: `[*s, m, n]` gives U `[*s, m, m]`,
    S `[*s, k]` and Vh `[*s, n, n]`, where k is min(m, n).

    Without `full_matrices` U is `[*s, m, k]` and Vh `[*s, k, n]`. Array API `linalg.svd`.
    """
    batch, m, n, k = _ranks(ctx, x)
    return [(*batch, m, m if full_matrices else k), (*batch, k), (*batch, n if full_matrices else k, n)]


@primitive("svdvals", "x: tensor", f"{_EXACTLY} -> real(T)", refuses="x")
def svdvals(ctx: Ctx, x: TensorInfo) -> Shape:
    """The singular values in descending order: `[*s, m, n]` gives `[*s, min(m, n)]`. Array API `linalg.svdvals`."""
    batch, _, _, k = _ranks(ctx, x)
    return (*batch, k)


@primitive("eigh", "x: tensor", f"{_EXACTLY} -> real(T), T", results="tuple", refuses="x")
def eigh(ctx: Ctx, x: TensorInfo) -> list[Shape]:
    """The eigenvalues of symmetric or Hermitian matrices in ascending order, and the eigenvectors as columns: `[*s, n, n]`
    gives `[*s, n]` and `[*s, n, n]`.

    Only the lower triangle is read. Array API `linalg.eigh`.
    """
    batch, n = _square(ctx, x)
    return [(*batch, n), (*batch, n, n)]


@primitive("eigvalsh", "x: tensor", f"{_EXACTLY} -> real(T)", refuses="x")
def eigvalsh(ctx: Ctx, x: TensorInfo) -> Shape:
    """The eigenvalues of symmetric or Hermitian matrices in ascending order: `[*s, n, n]` gives `[*s, n]`.

    Only the lower triangle is read. Array API `linalg.eigvalsh`.
    """
    batch, n = _square(ctx, x)
    return (*batch, n)


@primitive("eig", "x: tensor", f"{_EXACTLY} -> complex(T), complex(T)", results="tuple", refuses="x")
def eig(ctx: Ctx, x: TensorInfo) -> list[Shape]:
    """The eigenvalues of square matrices, which may be complex, in no order, and the eigenvectors as columns: `[*s, n, n]`
    gives `[*s, n]` and `[*s, n, n]`.

    Array API `linalg.eig`.
    """
    return eigh(ctx, x)  # type: ignore[no-any-return]


@primitive("eigvals", "x: tensor", f"{_EXACTLY} -> complex(T)", refuses="x")
def eigvals(ctx: Ctx, x: TensorInfo) -> Shape:
    """The eigenvalues of square matrices, which may be complex, in no order: `[*s, n, n]` gives `[*s, n]`.

    Array API `linalg.eigvals`.
    """
    batch, n = _square(ctx, x)
    return (*batch, n)
