"""Operators of ai.onnx.ml: preparation of features, linear models, support vectors."""

from __future__ import annotations

from ..literals import of_value
from .registry import Reader, Untranslatable, listed, number, operator, quoted, rows

DOMAIN = "ai.onnx.ml"


def list_of(node: Reader, name: str, dtype: str) -> str:
    """A required attribute that lists numbers."""
    found = node.listed(name, dtype)
    if found is None:
        raise Untranslatable(f"its attribute `{name}` is missing")
    return found


def length(node: Reader, name: str) -> int:
    found = node.attribute(name)
    return len(found) if isinstance(found, tuple) else 0


def post(node: Reader, name: str = "post") -> str:
    """The transformation of scores."""
    how = node.string("post_transform", "NONE")
    return "" if how == "NONE" else f", {name}={quoted(how)}"


def labels(node: Reader, suffix: str = "ints") -> tuple[str, int, bool]:
    """The labels of classes, their number, and whether they are texts; two labels by default."""
    texts, numbers = node.attribute("classlabels_strings"), node.integers(f"classlabels_{suffix}")
    if isinstance(texts, tuple) and texts:
        return f"tensor({listed([quoted(str(t)) for t in texts])}, string)", len(texts), True
    found = numbers or (0, 1)
    return f"tensor({listed(found)}, int64)", len(numbers or ()), False


# Features


@operator("Scaler", 1, DOMAIN)
def scaler(node: Reader) -> str:
    offset, scale = (
        node.listed(name, "float32") or f"tensor([{usual}], float32)"
        for name, usual in (("offset", "0.0"), ("scale", "1.0"))
    )
    return f"@onnx.scale_features({node.x(0)}, {offset}, {scale})"


@operator("Imputer", 1, DOMAIN)
def imputer(node: Reader) -> str:
    is_whole = length(node, "imputed_value_int64s") > 0
    kind, suffix = ("int64", "int64s") if is_whole else ("float32", "floats")
    values = list_of(node, f"imputed_value_{suffix}", kind)
    replaced = node.number(f"replaced_value_{suffix.removesuffix('s')}", 0)
    return f"@onnx.impute({node.x(0)}, {values}, {of_value(replaced, kind)})"


@operator("FeatureVectorizer", 1, DOMAIN)
def feature_vectorizer(node: Reader) -> str:
    counts = node.integers("inputdimensions") or ()
    if len(counts) != len(node):
        raise Untranslatable(f"has {len(counts)} inputdimensions for {len(node)} inputs")
    parts = [f"@onnx.features({x}, {count})" for x, count in zip(node.xs(), counts, strict=True)]
    return f"@concat({listed(parts)}, axis=1)"


@operator("OneHotEncoder", 1, DOMAIN)
def one_hot_encoder(node: Reader) -> str:
    texts = node.attribute("cats_strings")
    if isinstance(texts, tuple) and texts:
        categories = f"tensor({listed([quoted(str(t)) for t in texts])}, string)"
    else:
        categories = list_of(node, "cats_int64s", "int64")
    zeros = "" if node.integer("zeros", 1) else ", zeros=false"
    return f"@onnx.one_hot_encode({node.x(0)}, {categories}{zeros})"


# Linear models


def _scores(node: Reader, count: int) -> str:
    """Scores `[n, count]`: each row times each target's coefficients, the first ones if there are more than the row needs."""
    flat = node.let("coefficients", list_of(node, "coefficients", "float32"))
    width = min(length(node, "coefficients") // max(count, 1), node.width(0))
    weights = f"@matrix_transpose(@reshape({flat}[:{count * width}], [{count}, {width}]))"
    made = f"@matmul(@cast(@onnx.rows({node.x(0)}), float32), {weights})"
    found = node.listed("intercepts", "float32")
    return made if found is None else f"{made} + {found}"


@operator("LinearClassifier", 1, DOMAIN)
def linear_classifier(node: Reader) -> str:
    texts, count, _ = labels(node)
    scores = node.let("scores", _scores(node, max(length(node, "intercepts"), 1)))
    chosen, told = node.parts(f"@onnx.linear_classes({scores}, {count}{post(node, 'how')})", 2)
    return named(node, texts, chosen, told)


def named(node: Reader, labels: str, chosen: str, scores: str) -> str:
    """The labels of the chosen classes, and the scores if they are used."""
    text = f"@take({labels}, {chosen}, axis=0)"
    return f"({text}, {scores})" if node.outputs() > 1 else text


# Support vectors


def _vectors(node: Reader, name: str, count: int) -> str:
    """A number of vectors, concatenated in an attribute."""
    return f"@reshape({list_of(node, name, 'float32')}, [{count}, {length(node, name) // max(count, 1)}])"


def _kernel(node: Reader, linear: bool) -> str:
    parameters = node.attribute("kernel_params")
    given = [float(p) for p in parameters] if isinstance(parameters, tuple) else []
    gamma, coef0, degree = (given + [0.0] * 3)[:3]
    kind = "LINEAR" if linear else node.string("kernel_type", "LINEAR")
    return f"{quoted(kind)}, {number(gamma)}, {number(coef0)}, {number(degree)}"


@operator("SVMRegressor", 1, DOMAIN)
def svm_regressor(node: Reader) -> str:
    """Without support vectors, the coefficients are the only vector."""
    count = node.integer("n_supports", 0)
    vectors = _vectors(node, "support_vectors" if count else "coefficients", count or 1)
    coefficients = list_of(node, "coefficients", "float32") if count else "tensor([1.0], float32)"
    given = f"{vectors}, {coefficients}, {list_of(node, 'rho', 'float32')}, {_kernel(node, not count)}"
    one = ", one_class=true" if node.integer("one_class", 0) else ""
    return f"@onnx.svm_scores({node.x(0)}, {given}{one}{post(node)})"


@operator("SVMClassifier", 1, DOMAIN)
def svm_classifier(node: Reader) -> str:
    texts, count, _ = labels(node)
    supports = node.integers("vectors_per_class") or ()
    if not supports or len(supports) != count:
        raise Untranslatable("does not have support vectors of each of its classes")
    vectors = _vectors(node, "support_vectors", sum(supports))
    given = f"{list_of(node, 'coefficients', 'float32')}, {list_of(node, 'rho', 'float32')}"
    shares = "".join(
        f", {name}={list_of(node, name, 'float32')}" for name in ("prob_a", "prob_b") if length(node, name)
    )
    call = f"@onnx.svm_classes({node.x(0)}, {vectors}, {given}, {_kernel(node, False)}, {listed(supports)}"
    chosen, told = node.parts(f"{call}{shares}{post(node)})", 2)
    return named(node, texts, chosen, told)


@operator("CategoryMapper", 1, DOMAIN)
def category_mapper(node: Reader) -> str:
    """Map texts to their numbers if the input is texts, else numbers to texts."""
    texts, numbers = node.attribute("cats_strings"), node.integers("cats_int64s")
    if not isinstance(texts, tuple) or numbers is None:
        raise Untranslatable("has no categories")
    both = f"tensor({listed([quoted(str(t)) for t in texts])}, string)", f"tensor({listed(numbers)}, int64)"
    usual = (
        f"tensor({quoted(node.string('default_string', '_Unused'))}, string)",
        f"tensor({node.integer('default_int64', -1)}, int64)",
    )
    keys, values = (0, 1) if node.dtype_of(0) == "string" else (1, 0)
    return f"@onnx.label_encoder({node.x(0)}, {both[keys]}, {both[values]}, {usual[values]})"


rows(
    {
        "Normalizer": lambda node: f"@onnx.normalize_features({node.x(0)}, norm={quoted(node.string('norm', 'MAX'))})",
        "LinearRegressor": lambda node: (
            f"@onnx.post_transform({_scores(node, node.integer('targets', 1))}{post(node, 'how')})"
        ),
    },
    DOMAIN,
)
