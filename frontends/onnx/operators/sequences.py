"""Sequences, optional values and maps."""

from __future__ import annotations

from ..literals import listed
from ..model import OptionalType, SequenceType, TensorType, ValueType
from ..types import opaque_text
from .registry import Reader, Untranslatable, operator, quoted, rows

LEARNED = "ai.onnx.ml"


@operator("SplitToSequence", 11)
def split_to_sequence(node: Reader) -> str:
    keeps = "" if node.integer("keepdims", 1) else ", keepdims=false"
    return f"@onnx.split_to_sequence({node.x(0)}{node.optional(1, 'split')}, axis={node.integer('axis', 0)}{keeps})"


@operator("ConcatFromSequence", 11)
def concat_from_sequence(node: Reader) -> str:
    new = ", new_axis=true" if node.integer("new_axis", 0) else ""
    return f"@onnx.concat_from_sequence({node.x(0)}, axis={node.integer('axis')}{new})"


@operator("Optional", 15)
def optional(node: Reader) -> str:
    if node.has(0):
        return f"@onnx.optional({node.x(0)})"
    kind = node.attribute("type")
    if not isinstance(kind, TensorType | SequenceType | OptionalType):
        raise Untranslatable("has neither a value nor a type")
    return f"@onnx.empty({_optional(kind, node)})"


def _optional(kind: ValueType, node: Reader) -> str:
    """The optional type for the attribute, which is the type of the content; some exporters write the optional type
    itself."""
    whole = kind if isinstance(kind, OptionalType) else OptionalType(kind)
    return opaque_text(whole, str(node.operation.outputs[0]))


# Maps


def _keys(node: Reader, texts: str, numbers: str) -> tuple[str, str]:
    """The keys in an attribute, as a tensor, and their dtype."""
    for name, dtype in ((texts, "string"), (numbers, "int64")):
        found = node.attribute(name)
        if isinstance(found, tuple) and found:
            return f"tensor({listed([quoted(k) if isinstance(k, str) else k for k in found])}, {dtype})", dtype
    raise Untranslatable(f"has neither `{texts}` nor `{numbers}`")


@operator("ZipMap", 1, LEARNED)
def zip_map(node: Reader) -> str:
    keys, dtype = _keys(node, "classlabels_strings", "classlabels_int64s")
    return f"@onnx.zip_map({node.x(0)}, {keys}, Sequence(Map({dtype}, float32)))"


@operator("DictVectorizer", 1, LEARNED)
def dict_vectorizer(node: Reader) -> str:
    keys, _ = _keys(node, "string_vocabulary", "int64_vocabulary")
    return f"@onnx.dict_vectorizer({node.x(0)}, {keys})"


_CASTS = {"TO_FLOAT": "float32", "TO_STRING": "string", "TO_INT64": "int64"}


@operator("CastMap", 1, LEARNED)
def cast_map(node: Reader) -> str:
    to = _CASTS.get(node.string("cast_to", "TO_FLOAT"))
    if to is None:
        raise Untranslatable("casts to a type that ONNX does not have")
    sparse = node.string("map_form", "DENSE") == "SPARSE"
    length = f", length={node.integer('max_map', 1)}" if sparse else ""
    return f"@onnx.cast_map({node.x(0)}, {to}{length})"


rows(
    {
        "SequenceEmpty@11": lambda node: f"@onnx.empty(Sequence({node.dtype('dtype') or 'float32'}))",
        "OptionalHasElement@15": lambda node: f"@onnx.optional_has({node.x(0)})" if node.has(0) else "tensor(false)",
    }
)
