"""Operators of ai.onnx.ml, and writing into caches."""

from __future__ import annotations

from ..literals import of_value, of_values
from ..model import StoredInitializer
from .registry import Reader, Untranslatable, number, operator, rows

DOMAIN = "ai.onnx.ml"


@operator("Binarizer", 1, DOMAIN)
def binarizer(node: Reader) -> str:
    x = node.x(0)
    return f"@cast({x} > {number(node.number('threshold', 0.0))}, {x}.dtype)"


# Suffixes of the attributes for each kind of label, their dtypes, and the default for an unknown label.
_LABELS = (("strings", "string", '"_Unused"'), ("int64s", "int64", "-1"), ("floats", "float32", "-0.0"))


def _labels(node: Reader, side: str) -> tuple[str, str, str]:
    """The labels of one side as an expression, their dtype, and the attribute's suffix."""
    for suffix, dtype, _ in _LABELS:
        found = node.attribute(f"{side}_{suffix}")
        if isinstance(found, tuple) and found:
            return of_values([v for v in found if isinstance(v, str | int | float)], dtype), dtype, suffix
    tensor = node.attribute(f"{side}_tensor")
    if not isinstance(tensor, StoredInitializer):
        raise Untranslatable(f"has no {side}")
    return node.scope.literal(tensor), tensor.dtype, "tensor"


def _encoded(node: Reader, more: str) -> str:
    (keys, _, _), (values, dtype, suffix) = _labels(node, "keys"), _labels(node, "values")
    return f"@onnx.label_encoder({node.x(0)}, {keys}, {values}, {_default(node, dtype, suffix)}{more})"


def _default(node: Reader, dtype: str, suffix: str) -> str:
    given = node.attribute("default_tensor")
    if isinstance(given, StoredInitializer):
        return f"@reshape({node.scope.literal(given)}, [])"
    value = node.attribute(f"default_{suffix.removesuffix('s')}")
    if isinstance(value, str | int | float):
        return of_value(value, dtype)
    return f"tensor({next((d for _, t, d in _LABELS if t == dtype), '0')}, {dtype})"


@operator("TensorScatter", 24)
def tensor_scatter(node: Reader) -> str:
    more = f"{node.optional(2, 'starts')}, axis={node.integer('axis', -2)}"
    more += ", circular=true" if node.word("mode", "linear") == "circular" else ""
    return f"@onnx.tensor_scatter({node.x(0)}, {node.x(1)}{more})"


rows(
    {
        "ArrayFeatureExtractor": lambda node: f"@onnx.feature_extractor({node.x(0)}, {node.x(1)})",
        "LabelEncoder@2": lambda node: _encoded(node, ", finds_nan=false"),
        "LabelEncoder@4": lambda node: _encoded(node, ""),
    },
    DOMAIN,
)
