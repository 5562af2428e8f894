"""Operators of training, random numbers and counting."""

from __future__ import annotations

from ..model import StoredInitializer
from .images import numbers
from .registry import Reader, Untranslatable, listed, number, operator, quoted, rows


@operator("BatchNormalization", 7)
def batch_normalization(node: Reader) -> str:
    """Normalise with the given statistics; old versions with further outputs, which train, are refused."""
    epsilon = number(node.number("epsilon", 1e-5))
    given = f"{', '.join(node.xs()[:5])}, epsilon={epsilon}"
    if node.integer("training_mode", 0):
        momentum = number(node.number("momentum", 0.9))
        return node.first_of(f"@onnx.batch_normalization_training({given}, momentum={momentum})", 3)
    if node.outputs() > 1:
        raise Untranslatable("has the outputs of training")
    if not node.integer("spatial", 1):
        return f"@onnx.batch_normalization({given}, spatial=false)"
    alike = len({node.dtype_of(at) for at in range(5)} - {None}) < 2
    return f"@{'' if alike else 'onnx.'}batch_normalization({given})"


@operator("Dropout")
def dropout_of_old(node: Reader) -> str:
    """In inference the operand itself; the mask is all ones, of its dtype."""
    x = node.x(0)
    return f"({x}, @ones_like({x}))" if node.outputs() > 1 else x


@operator("Dropout", 10)
def dropout(node: Reader) -> str:
    """In inference the operand itself; the mask is all true."""
    x = node.x(0)
    return f"({x}, @ones(@shape({x}), bool))" if node.outputs() > 1 else x


@operator("Dropout", 12)
def dropout_training(node: Reader) -> str:
    held = node.scope.constant(node.operation.inputs[2]) if node.has(2) else None
    if not node.has(2) or (held is not None and held.values is not None and not any(held.values)):
        return dropout(node)
    seed = "" if node.attribute("seed") is None else f", seed={node.integer('seed')}"
    return node.first_of(
        f"@onnx.dropout({node.x(0)}{node.optional(1, 'ratio')}{node.optional(2, 'training')}{seed})", 2
    )


@operator("Unique", 11)
def unique(node: Reader) -> str:
    along = "" if node.attribute("axis") is None else f", axis={node.integer('axis')}"
    order = "" if node.integer("sorted", 1) else ", sorted=false"
    return node.first_of(f"@onnx.unique({node.x(0)}{along}{order})", 4)


@operator("TfIdfVectorizer", 9)
def tf_idf(node: Reader) -> str:
    words, whole = node.attribute("pool_strings"), node.integers("pool_int64s")
    if isinstance(words, tuple) and words:
        pool = StoredInitializer("pool", "string", (len(words),), None, words, "")
    else:
        pool = StoredInitializer("pool", "int64", (len(whole or ()),), None, whole or (), "")
    weights = node.attribute("weights")
    own = f", weights={numbers(weights)}" if isinstance(weights, tuple) and weights else ""
    counts = ", ".join(
        f"{ours}={node.integer(name)}"
        for ours, name in (
            ("shortest", "min_gram_length"), ("longest", "max_gram_length"), ("skips", "max_skip_count"),
        )
    )  # fmt: skip
    starts, columns = (listed(node.integers(name) or ()) for name in ("ngram_counts", "ngram_indexes"))
    return (
        f"@onnx.tf_idf({node.x(0)}, {node.scope.literal(pool)}, {starts}, {columns}{own}, {counts}, "
        f"mode={quoted(node.string('mode', 'TF'))})"
    )


def _seeded(node: Reader) -> str:
    """The dtype and the seed, if they are given."""
    dtype, seed = node.dtype("dtype"), node.attribute("seed")
    given = "" if dtype is None else f", dtype={dtype}"
    return given if seed is None else f"{given}, seed={number(float(node.number('seed', 0.0)))}"


@operator("Multinomial", 7)
def multinomial(node: Reader) -> str:
    return f"@onnx.multinomial({node.x(0)}, samples={node.integer('sample_size', 1)}{_seeded(node)})"


def _normal(node: Reader) -> str:
    return f"a={number(float(node.number('mean', 0.0)))}, b={number(float(node.number('scale', 1.0)))}{_seeded(node)}"


def _uniform(node: Reader) -> str:
    low, high = (number(float(node.number(name, usual))) for name, usual in (("low", 0.0), ("high", 1.0)))
    return f'how="uniform", a={low}, b={high}{_seeded(node)}'


rows(
    {
        "Bernoulli@15": lambda node: f"@onnx.bernoulli({node.x(0)}{_seeded(node)})",
        "RandomNormalLike": lambda node: f"@onnx.random_like({node.x(0)}, {_normal(node)})",
        "RandomUniformLike": lambda node: f"@onnx.random_like({node.x(0)}, {_uniform(node)})",
        "RandomNormal": lambda node: f"@onnx.random({listed(node.integers('shape') or ())}, {_normal(node)})",
        "RandomUniform": lambda node: f"@onnx.random({listed(node.integers('shape') or ())}, {_uniform(node)})",
    }
)
