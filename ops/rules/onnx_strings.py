"""Operators on strings, which are tensors of dtype string."""

from __future__ import annotations

import re

from ..axes import Shape, known_shape
from ..broadcast import broadcast_tensors
from ..model import Ctx, Dim, TensorInfo
from ..operands import choice
from ..registry import primitive
from ..requirements import Argument, Axis, Is, Number, OfRank, Other


@primitive("onnx.string_concat", "x: tensor, y: tensor", "string, string -> string")
def string_concat(ctx: Ctx, x: TensorInfo, y: TensorInfo) -> Shape:
    """Strings joined element by element, with broadcasting. ONNX StringConcat."""
    return broadcast_tensors(ctx, x=x, y=y)


@primitive("onnx.regex_full_match", "x: tensor, pattern: str", "string -> bool")
def regex_full_match(ctx: Ctx, x: TensorInfo, pattern: str) -> Shape:
    """Whether the pattern, a regular expression, matches each whole string. ONNX RegexFullMatch."""
    if not is_pattern(pattern):
        ctx.fail(Other("a regular expression in {0}", (Argument("pattern"),), blamed=()))
    return known_shape(ctx, x)


@primitive(
    "onnx.string_split",
    "x: tensor, delimiter: str = none, most: int = none",
    "string -> string, int64",
    results="tuple",
)
def string_split(ctx: Ctx, x: TensorInfo, delimiter: str | None, most: int | None) -> list[Shape]:
    """The parts of each string along a new last axis, filled up with empty strings, and their numbers. White space divides
    the parts if no delimiter is given; `most` limits the number of divisions. ONNX StringSplit."""
    dims = ctx.dims(x)
    longest: Dim = ctx.fresh("parts", 0, most + 1 if most is not None and most >= 0 else None)
    return [(*dims, longest), dims]


@primitive(
    "onnx.string_normalizer",
    'x: tensor, stop: tensor = none, case: str = "NONE", sensitive: bool = false',
    "string, string -> string",
)
def string_normalizer(ctx: Ctx, x: TensorInfo, stop: TensorInfo | None, case: str, sensitive: bool) -> Shape:
    """A row of strings without the stop words, all in "LOWER" or "UPPER" case or unchanged; a single empty string if none is
    left. ONNX StringNormalizer."""
    choice(ctx, "case", case, ("NONE", "LOWER", "UPPER"))
    dims = ctx.dims(x)
    if len(dims) not in (1, 2):
        ctx.fail(OfRank("{0} to have one axis or two", (Argument("x"),), f"its rank is {len(dims)}"))
    if len(dims) == 2:
        ctx.require(Is(Axis("x", 0, dims[0]), Number(1)))
    most = dims[-1] if ctx.decide(ctx.le(1, dims[-1])) else ctx.max(dims[-1], 1)
    return (*dims[:-1], most if stop is None else ctx.fresh("left", 1, most))


@primitive(
    "onnx.tokenizer",
    "x: tensor, pad: str, separators: tensor = none, pattern: str = none, least: int = 1, marked: bool = false",
    "string, string -> string",
)
def tokenizer(
    ctx: Ctx, x: TensorInfo, pad: str, separators: TensorInfo | None, pattern: str | None, least: int, marked: bool
) -> Shape:
    """The words of each string along a new last axis, filled up with `pad`: the texts between separators, or the matches of a
    pattern, of at least `least` characters; without either, the characters. Separators and pattern are regular expressions.
    With `marked`, each row has a mark before and after its words, unless no row has words. Tokenizer of onnxruntime."""
    if pattern is not None and not is_pattern(pattern):
        ctx.fail(Other("a regular expression in {0}", (Argument("pattern"),), blamed=()))
    dims = ctx.dims(x)
    if len(dims) not in (1, 2):
        ctx.fail(OfRank("{0} to have one axis or two", (Argument("x"),), f"its rank is {len(dims)}"))
    return (*dims, ctx.fresh("words", 0))


def is_pattern(text: str) -> bool:
    try:
        re.compile(text, re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
