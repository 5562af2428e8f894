"""Operators on strings."""

from __future__ import annotations

from .registry import Reader, Untranslatable, listed, operator, quoted

LEARNED = "ai.onnx.ml"


@operator("StringConcat", 20)
def string_concat(node: Reader) -> str:
    return f"@onnx.string_concat({node.x(0)}, {node.x(1)})"


@operator("RegexFullMatch", 20)
def regex_full_match(node: Reader) -> str:
    return f"@onnx.regex_full_match({node.x(0)}, {quoted(node.string('pattern', ''))})"


@operator("StringSplit", 20)
def string_split(node: Reader) -> str:
    delimiter = node.string("delimiter", "")
    given = f", delimiter={quoted(delimiter)}" if delimiter else ""
    given += "" if node.attribute("maxsplit") is None else f", most={node.integer('maxsplit')}"
    return node.first_of(f"@onnx.string_split({node.x(0)}{given})", 2)


@operator("StringNormalizer", 10)
def string_normalizer(node: Reader) -> str:
    stop = node.attribute("stopwords")
    words = [quoted(w) for w in stop if isinstance(w, str)] if isinstance(stop, tuple) else []
    given = f", stop=tensor({listed(words)}, string)" if words else ""
    case = quoted(node.string("case_change_action", "NONE"))
    exact = ", sensitive=true" if node.integer("is_case_sensitive", 0) else ""
    return f"@onnx.string_normalizer({node.x(0)}{given}, case={case}{exact})"


@operator("LabelEncoder", 1, LEARNED)
def label_encoder(node: Reader) -> str:
    """From names to their numbers where the result is declared as integers, else backwards."""
    found = node.attribute("classes_strings")
    if not isinstance(found, tuple) or not found:
        raise Untranslatable("has no `classes_strings`")
    names = f"tensor({listed([quoted(name) for name in found if isinstance(name, str)])}, string)"
    numbers = f"tensor({listed(range(len(found)))}, int64)"
    kind = node.scope.type(node.operation.inputs[0])
    if getattr(kind, "dtype", None) == "int64":
        other = quoted(node.string("default_string", "_Unused"))
        return f"@onnx.label_encoder({node.x(0)}, {numbers}, {names}, tensor({other}, string))"
    return f"@onnx.label_encoder({node.x(0)}, {names}, {numbers}, tensor({node.integer('default_int64', -1)}, int64))"
