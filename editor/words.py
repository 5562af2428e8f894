"""The words of the language, from the tables that define them, for completion, highlighting and snippets."""

from __future__ import annotations

from ..grammar.table import LITERALS, PATTERNS
from ..lang.dtypes import DTYPES
from ..ops.registry import names
from .names import SORTS

KEYWORDS = tuple(sorted(word for word in LITERALS if word.isalpha() and word not in ("true", "false")))
CONSTANTS = ("false", "true")
TYPES = tuple(sorted(SORTS))
DTYPE_NAMES = tuple(sorted(DTYPES))
# The regular expressions of tokens.
TOKENS = {name: PATTERNS[name] for name in ("COMMENT", "STRING", "FLOAT", "INT", "FN_NAME", "NAME")}


def primitives() -> tuple[str, ...]:
    return tuple(sorted(names()))
