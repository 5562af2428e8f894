"""Lists of bare numbers, as in weights: the formatter reads each as if it held one number, and lays it out word by word."""

from __future__ import annotations

import re

from ..grammar.table import PATTERNS

_NUMBER = rf"-?\s*+(?:{PATTERNS['FLOAT']}|{PATTERNS['INT']})"
_SKIPPED_OR_ROW = re.compile(
    rf"{PATTERNS['STRING']}|{PATTERNS['COMMENT']}|(\[\s*+)({_NUMBER}(?:\s*+,\s*+{_NUMBER})++)(?=\s*+,?\s*+\])"
)
_LONGEST = 1000
"""Longer numbers stay in the text, so that the parser checks them."""


def folded(text: str) -> tuple[str, dict[int, tuple[str, ...]]]:
    """The text with a single 0 in each list of several bare numbers, and the numbers that each 0 replaces, by its offset.

    `[1, 2, -3]` becomes `[0]`: a list of one number is well formed wherever one of several numbers is.
    """
    parts: list[str] = []
    rows: dict[int, tuple[str, ...]] = {}
    read = size = 0
    for found in _SKIPPED_OR_ROW.finditer(text):
        if found[2] is None:
            continue
        words = tuple("".join(word.split()) for word in found[2].split(","))
        if max(map(len, words)) > _LONGEST:
            continue
        before = text[read : found.start(2)]
        rows[size + len(before)] = words
        parts += [before, "0"]
        size += len(before) + 1
        read = found.end(2)
    return "".join([*parts, text[read:]]), rows
