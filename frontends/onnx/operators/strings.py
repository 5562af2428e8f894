"""Operators on strings."""

from __future__ import annotations

import re

from .registry import Reader, Untranslatable, listed, operator, quoted

LEARNED = "ai.onnx.ml"


@operator("StringSplit", 20)
def string_split(node: Reader) -> str:
    delimiter = node.string("delimiter", "")
    given = f", delimiter={quoted(delimiter)}" if delimiter else ""
    given += "" if node.attribute("maxsplit") is None else f", most={node.integer('maxsplit')}"
    return node.first_of(f"@onnx.string_split({node.x(0)}{given})", 2)


@operator("StringNormalizer", 10)
def string_normalizer(node: Reader) -> str:
    words = list(map(quoted, texts(node, "stopwords")))
    given = f", stop=tensor({listed(words)}, string)" if words else ""
    case = quoted(node.string("case_change_action", "NONE"))
    exact = ", sensitive=true" if node.integer("is_case_sensitive", 0) else ""
    return f"@onnx.string_normalizer({node.x(0)}{given}, case={case}{exact})"


# Where several texts match, onnxruntime takes the longest, and Python the first alternative. Groups would be returned by
# `split`.
_AMBIGUOUS = re.compile(r"[|(]|[*+?}]\?")


@operator("Tokenizer", 1, "com.microsoft")
def tokenizer(node: Reader) -> str:
    """Tokens between separators, or that match a pattern; an empty separator and the pattern `.` stand for characters."""
    separators, pattern = texts(node, "separators"), node.string("tokenexp", "")
    least, of_letters = node.integer("mincharnum"), separators == [""] or pattern == "."
    if of_letters and least > 1:
        raise Untranslatable(f"looks for characters of {least} characters")
    if any(_AMBIGUOUS.search(text) for text in (*separators, pattern)):
        raise Untranslatable("looks for a pattern with alternatives or groups, which Rx does not have")
    given = f"pad={quoted(node.string('pad_value', ''))}, least={least}"
    given += ", marked=true" if node.integer("mark") else ""
    if pattern and not of_letters:
        given += f", pattern={quoted(pattern)}"
    elif not of_letters:
        given += f", separators=tensor({listed([quoted(s) for s in separators])}, string)"
    return f"@onnx.tokenizer({node.x(0)}, {given})"


def texts(node: Reader, name: str) -> list[str]:
    """An attribute that is a list of strings; empty if it is absent."""
    found = node.attribute(name)
    return [text for text in found if isinstance(text, str)] if isinstance(found, tuple) else []


@operator("LabelEncoder", 1, LEARNED)
def label_encoder(node: Reader) -> str:
    """Map names to their numbers, or back if the input is declared as int64."""
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
