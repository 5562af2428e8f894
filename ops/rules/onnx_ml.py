"""Operators of ai.onnx.ml: features in the columns of a matrix, and models over them."""

from __future__ import annotations

from typing import Any

from ..axes import Shape, axis_of, known_shape, place, product
from ..model import Ctx, Dim, TensorInfo
from ..operands import choice, rank_at_least
from ..registry import primitive
from ..requirements import Argument, Axis, Equal, OfRank, Other

POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def of_rows(ctx: Ctx, x: TensorInfo) -> Shape:
    """`[n, c]`, for one row or several."""
    dims = ctx.dims(x)
    if len(dims) not in (1, 2):
        ctx.fail(OfRank("{0} to have rank 1 or 2", (Argument("x"),), f"its rank is {len(dims)}"))
    return dims if len(dims) == 2 else (1, dims[0])


def _per_feature(ctx: Ctx, x: TensorInfo, **given: TensorInfo) -> Shape:
    """Require each operand to have one entry, or one for each entry of the last axis."""
    shape = known_shape(ctx, x)
    rank_at_least(ctx, "x", shape, 1)
    at = place(ctx, shape, -1)
    for name, entries in given.items():
        count, own = product(ctx.dims(entries)), axis_of("x", shape, at)
        known = ctx.any_of(ctx.eq(count, 1), ctx.eq(count, shape[at]))
        ctx.require(Other("{0} to have 1 entry or as many as {1}", (Argument(name, count), own)), known)
    return shape


@primitive("onnx.rows", "x: tensor", "T:any -> T")
def rows(ctx: Ctx, x: TensorInfo) -> Shape:
    """A vector as a matrix of one row, as operators of ai.onnx.ml treat vectors."""
    return of_rows(ctx, x)


@primitive("onnx.scale_features", "x: tensor, offset: tensor, scale: tensor", "T:real, float32, float32 -> float32")
def scale_features(ctx: Ctx, x: TensorInfo, offset: TensorInfo, scale: TensorInfo) -> Shape:
    """(x - offset) * scale, with an offset and a scale for each column. Scaler of ai.onnx.ml."""
    return _per_feature(ctx, x, offset=offset, scale=scale)


@primitive("onnx.impute", "x: tensor, values: tensor, replaced: tensor", "T:real, T, T -> T")
def impute(ctx: Ctx, x: TensorInfo, values: TensorInfo, replaced: TensorInfo) -> Shape:
    """x with the value of the column in place of the replaced element, which may be NaN. Imputer of ai.onnx.ml."""
    return _per_feature(ctx, x, values=values)


@primitive("onnx.normalize_features", 'x: tensor, norm: str = "MAX"', "T:real -> float32")
def normalize_features(ctx: Ctx, x: TensorInfo, norm: str) -> Shape:
    """Each row divided by its norm. Normalizer of ai.onnx.ml."""
    choice(ctx, "norm", norm, ("MAX", "L1", "L2"))
    of_rows(ctx, x)
    return ctx.dims(x)


@primitive("onnx.features", "x: tensor, count: int", "T:real -> float32")
def features(ctx: Ctx, x: TensorInfo, count: int) -> Shape:
    """The first columns of a matrix, filled up with zeros if it has fewer: an input of FeatureVectorizer of ai.onnx.ml."""
    dims = ctx.dims(x)
    rank_at_least(ctx, "x", dims, 1)
    return (dims[0] if len(dims) > 1 else 1, count)


@primitive("onnx.one_hot_encode", "x: tensor, categories: tensor, zeros: bool = true", "T:any, C:any -> float32")
def one_hot_encode(ctx: Ctx, x: TensorInfo, categories: TensorInfo, zeros: bool) -> Shape:
    """1 at the position of each element among the categories, else 0. OneHotEncoder of ai.onnx.ml."""
    return (*known_shape(ctx, x), product(ctx.dims(categories)))


@primitive("onnx.post_transform", 'x: tensor, how: str = "NONE"', "T:floating -> T")
def post_transform(ctx: Ctx, x: TensorInfo, how: str) -> Shape:
    """Transform the scores of each row for output. The attribute post_transform of ai.onnx.ml."""
    choice(ctx, "how", how, POST)
    return of_rows(ctx, x)


@primitive(
    "onnx.linear_classes", 'scores: tensor, labels: int, how: str = "NONE"', "T:floating -> int64, T", results="tuple"
)
def linear_classes(ctx: Ctx, scores: TensorInfo, labels: int, how: str) -> list[Shape]:
    """The class of each row of scores, and its transformed scores; with one score and two labels the second score is
    computed. LinearClassifier of ai.onnx.ml."""
    choice(ctx, "how", how, POST)
    n, count = of_rows(ctx, scores)
    return [(n,), (n, 2 if isinstance(count, int) and count == 1 and labels == 2 else count)]


_SUPPORT = (
    "x: tensor, support: tensor, coefficients: tensor, rho: tensor, kernel: str, gamma: float, coef0: float, "
    "degree: float"
)


def _supported(ctx: Ctx, x: TensorInfo, support: TensorInfo, kernel: str) -> Dim:
    """The number of rows; requires them to be as wide as the support vectors."""
    choice(ctx, "kernel", kernel, KERNELS)
    n: Dim = of_rows(ctx, x)[0]
    dims = ctx.dims(x)
    ctx.require(Equal(axis_of("x", dims, len(dims) - 1), Axis("support", 1, ctx.dims(support)[1])))
    return n


@primitive(
    "onnx.svm_scores", f'{_SUPPORT}, one_class: bool = false, post: str = "NONE"',
    "T:real, float32, float32, float32 -> float32",
)  # fmt: skip
def svm_scores(
    ctx: Ctx, x: TensorInfo, support: TensorInfo, coefficients: TensorInfo, rho: TensorInfo, kernel: str, *rest: Any
) -> Shape:
    """The score of each row against its support vectors. SVMRegressor of ai.onnx.ml."""
    choice(ctx, "post", rest[-1], POST)
    return _supported(ctx, x, support, kernel), 1


@primitive(
    "onnx.svm_classes",
    f'{_SUPPORT}, counts: ints, prob_a: tensor = none, prob_b: tensor = none, post: str = "NONE"',
    "T:real, float32, float32, float32, float32, float32 -> int64, float32", results="tuple",
)  # fmt: skip
def svm_classes(
    ctx: Ctx, x: TensorInfo, support: TensorInfo, coefficients: TensorInfo, rho: TensorInfo, kernel: str, gamma: float,
    coef0: float, degree: float, counts: tuple[int, ...], prob_a: TensorInfo | None, *rest: Any,
) -> list[Shape]:  # fmt: skip
    """The class of each row by the votes of all pairs of classes, and the scores; `counts` has the number of support vectors
    of each class. SVMClassifier of ai.onnx.ml."""
    choice(ctx, "post", rest[-1], POST)
    n, k = _supported(ctx, x, support, kernel), len(counts)
    return [(n,), (n, k if prob_a is not None or k == 2 else k * (k - 1) // 2)]
