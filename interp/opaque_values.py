"""A VALUE of the command line that holds other values: `[VALUE; VALUE]`, `none` or a VALUE, `{"key": VALUE; 7: VALUE}`."""

from __future__ import annotations

import json

import numpy as np

from ..lang.dtypes import DType
from .engine_types import RunValue
from .files import ValueProblem
from .values import parse_value


def parse_opaque(text: str, dtype: DType, random: np.random.Generator) -> RunValue:
    """Parse a value to its Python form."""
    text = text.strip()
    match dtype.kind:
        case "sequence":
            return [_part(part, dtype.of[0], random) for part in _inside(text, "[", "]", dtype)]
        case "optional":
            return None if text == "none" else _part(text, dtype.of[0], random)
        case "map":
            return dict(_entry(part, dtype, random) for part in _inside(text, "{", "}", dtype))
    raise ValueProblem(f"there is no value of {dtype} on the command line")


def _part(text: str, dtype: DType, random: np.random.Generator) -> RunValue:
    return parse_opaque(text, dtype, random) if dtype.is_opaque else parse_value(text, random, dtype)


def _entry(text: str, dtype: DType, random: np.random.Generator) -> tuple[RunValue, RunValue]:
    key, colon, value = _split(text, ":")
    try:
        found = json.loads(key)
    except ValueError:
        found = None
    if not colon or not isinstance(found, str | int) or isinstance(found, bool):
        raise ValueProblem(f'{text.strip()!r} is no entry of a map: write "key": VALUE')
    return found, _part(value, dtype.of[1], random)


def _inside(text: str, opening: str, closing: str, dtype: DType) -> list[str]:
    """The texts between the semicolons in brackets."""
    if not (text.startswith(opening) and text.endswith(closing)) or len(text) < 2:
        raise ValueProblem(f"{dtype} is written {opening}VALUE; VALUE{closing}")
    return split_parts(text[1:-1])


def split_parts(text: str) -> list[str]:
    """Split a text at the semicolons outside of brackets and quotes."""
    parts: list[str] = []
    while text.strip():
        first, _, text = _split(text, ";")
        parts.append(first.strip())
    return parts


def _split(text: str, sign: str) -> tuple[str, str, str]:
    """Split a text at the first `sign` outside of brackets and quotes."""
    depth, quoted, before = 0, False, ""
    for at, c in enumerate(text):
        quoted ^= c == '"' and before != "\\"
        depth += 0 if quoted else (c in "[{(") - (c in "]})")
        if c == sign and depth == 0 and not quoted:
            return text[:at], sign, text[at + 1 :]
        before = c
    return text, "", ""
